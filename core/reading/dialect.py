"""How a file is written: its format, encoding, separator, header and decimal mark, detected from its bytes."""

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from core.errors import InputError

SAMPLE_BYTES: Final = 65_536
"""Bytes from the start of a text file that the detection of its dialect may see."""
SAMPLE_LINES: Final = 200
"""Lines of that sample that the costlier detection sees: its time grows with every cell."""
DETECTOR_CHARACTERS: Final = 8_192
"""Characters of those lines that it sees: the time limit for hostile text."""
SEPARATORS: Final = (",", ";", "\t", "|")
"""Separators that are detected; any other single character may be given."""
FIRST_OTHER_SCRIPT: Final = "\u0370"
"""Letters from here on are Greek, Cyrillic, Asian and other scripts; before it all are Latin."""
BYTE_ORDER_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
REFUSED: Final = (
    (b"%PDF", "a PDF document", "export the table as CSV or Excel"),
    (b"\xd0\xcf\x11\xe0", "an old or a password-protected Office file", "save it as .xlsx without a password"),
    (b"Rar!", "a RAR archive", "unpack it and give the table inside"),
    (b"7z\xbc\xaf", "a 7z archive", "unpack it and give the table inside"),
    (b"BZh", "a bzip2 archive", "unpack it and give the table inside"),
    (b"\xfd7zXZ", "an XZ archive", "unpack it and give the table inside"),
    (b"(\xb5/\xfd", "a Zstandard archive", "unpack it and give the table inside"),
    (b"\x89PNG", "a picture", "give the table itself"),
    (b"\xff\xd8\xff", "a picture", "give the table itself"),
    (b"GIF8", "a picture", "give the table itself"),
    (b"SQLite format 3", "an SQLite database", "export one of its tables as CSV"),
    (b"ARROW1", "an Arrow file", "save it as Parquet or CSV"),
    (b"ORC", "an ORC file", "save it as Parquet or CSV"),
    (b"{\\rtf", "an RTF document", "export the table as CSV or Excel"),
    (b"\x7fELF", "a program", "give a table"),
    (b"<!doctype", "a web page", "save the table itself as CSV"),
    (b"<html", "a web page", "save the table itself as CSV"),
    (b"<?xml", "an XML document", "export the table as CSV or Excel"),
    (b'{"', "a JSON file", "save the table as CSV or Parquet"),
    (b"[{", "a JSON file", "save the table as CSV or Parquet"),
    (b"[[", "a JSON file", "save the table as CSV or Parquet"),
)
"""First bytes, what they mean, and the remedy."""

SEPARATOR_LINE: Final = re.compile(r'"?sep=."?(?:\r\n|\r|\n)', re.IGNORECASE)
"""A line before the names with which spreadsheets tell one another the separator; it is no row."""

_SPACE = "\u00a0\u202f "
_NUMBER = re.compile(
    rf"[+-]?(\d+([.,]\d*)?|[.,]\d+|\d{{1,3}}([,.'{_SPACE}]\d{{3}})+([.,]\d+)?)(e[+-]?\d+)?\s?%?", re.IGNORECASE
)
_DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([ T]\d.*)?")
_EXPONENT = r"(e[+-]?\d+)?\s?%?"
_COMMA_DECIMAL = re.compile(
    rf"[+-]?(\d{{1,3}}(\.\d{{3}})+,\d+|\d{{1,3}}([{_SPACE}]\d{{3}})*,(\d{{1,2}}|\d{{4,}})|0+,\d+|\d{{4,}},\d+|,\d+"
    rf"|\d{{1,3}}(\.\d{{3}}){{2,}}){_EXPONENT}",
    re.IGNORECASE,
)
_POINT_DECIMAL = re.compile(
    rf"[+-]?(\d{{1,3}}(,\d{{3}})+\.\d*|\d{{1,3}}(,\d{{3}}){{2,}}|\d*\.\d+){_EXPONENT}", re.IGNORECASE
)
_UNDECIDED = re.compile(r"[+-]?[1-9]\d{0,2}[,.]\d{3}\s?%?")
_YEAR = re.compile(r"(19|20)\d\d")


@dataclass(frozen=True)
class Dialect:
    """How a table was written, as detected or as given.

    Parameters
    ----------
    format : {'text', 'excel', 'parquet'}
        Kind of file.
    separator : str or None
        Character between fields of a text file.
    quote : str or None
        Character around fields that contain a separator.
    encoding : str or None
        Character encoding of a text file.
    header : bool
        Whether the first row holds the column names.
    decimal : {'.', ','}
        Decimal mark of numbers written as text.
    sheet : str or None
        Sheet of a workbook.
    escape : str or None
        Character that takes the meaning from the next one.
    """

    format: str
    separator: str | None = None
    quote: str | None = None
    encoding: str | None = None
    header: bool = True
    decimal: str = "."
    sheet: str | None = None
    escape: str | None = None


def refuse_known_formats(content: bytes) -> None:
    """Raise an `InputError` naming what the file is, if its first bytes are those of another known format."""
    start = content[:64].lstrip(b"\xef\xbb\xbf \t\r\n")
    for magic, what, remedy in REFUSED:
        if content.startswith(magic) or start.lower().startswith(magic):
            raise InputError("file", f"This is {what}, not a table; {remedy}.")


def detect_encoding(content: bytes) -> str:
    """Return the encoding of a text: by its byte-order mark, else UTF-8 if it is valid, else the likeliest other.

    Raises
    ------
    InputError
        If the bytes are no text in any encoding.
    """
    for mark, name in BYTE_ORDER_MARKS:
        if content.startswith(mark):
            return name
    sample = content[:SAMPLE_BYTES]
    if b"\0" in sample:
        return _detect_wide(sample)
    if _decodes(content, "utf-8"):
        return "utf-8"
    name = "cp1252"
    sample = _around_first_foreign_byte(content)
    if _has_foreign_words(sample):
        import charset_normalizer  # noqa: PLC0415 - only rare encodings need it

        best = charset_normalizer.from_bytes(sample).best()
        foreign = [c for c in str(best) if not c.isascii() and c.isalpha()]
        # Short samples do not tell the Latin encodings apart, so the commonest stands for them all.
        if best is not None and sum(c >= FIRST_OTHER_SCRIPT for c in foreign) > len(foreign) / 2:
            name = best.encoding
    # Five bytes have no meaning in cp1252; latin-1 gives every byte one.
    return next(n for n in (name, "cp1252", "latin-1") if _decodes(content, n))


def _detect_wide(sample: bytes) -> str:
    """Tell UTF-16 without a mark by where its zero bytes stand; other zero bytes are refused later, by line."""
    even, odd = sample[0::2].count(0), sample[1::2].count(0)
    half = len(sample) / 2
    if odd > 0.4 * half and even < 0.05 * half:
        return "utf-16-le"
    if even > 0.4 * half and odd < 0.05 * half:
        return "utf-16-be"
    return "utf-8"


def _around_first_foreign_byte(content: bytes) -> bytes:
    """Return a bounded sample of lines that starts at the first line with a byte beyond ASCII."""
    match = re.search(rb"[\x80-\xff]", content)
    position = match.start() if match else 0
    start = content.rfind(b"\n", max(0, position - SAMPLE_BYTES // 4), position) + 1
    return content[max(start, position - SAMPLE_BYTES // 4) :][: SAMPLE_BYTES // 4]


def _has_foreign_words(sample: bytes) -> bool:
    """Tell whether most bytes beyond ASCII stand side by side, as in words of another script; accents stand alone."""
    runs = re.findall(rb"[\x80-\xff]+", sample)
    return sum(len(r) for r in runs if len(r) > 1) > sum(map(len, runs)) / 2


def _decodes(content: bytes, encoding: str) -> bool:
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        for start in range(0, len(content), 1 << 20):
            decoder.decode(content[start : start + (1 << 20)])
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def sample_text(content: bytes, encoding: str) -> str:
    """Return the start of a text, at most `SAMPLE_BYTES` long and cut at a line end where it has one.

    A line that only names the separator is left out: what follows tells it too.
    """
    text = content[:SAMPLE_BYTES].decode(encoding, errors="ignore").replace("\r\n", "\n").replace("\r", "\n")
    named = SEPARATOR_LINE.match(text)
    text = text[named.end() :] if named else text
    if len(content) <= SAMPLE_BYTES or "\n" not in text:
        return text
    return text[: text.rindex("\n") + 1]


def detect_separator(sample: str) -> tuple[str, str, str | None]:
    """Return the separator, quote and escape characters of a text sample.

    A separator that alone cuts every line into the same number of fields, two or more, is taken; where none or several
    do, the pattern and type scores of clevercsv decide (van den Burg, Nazabal, Sutton 2019).
    """
    present = [s for s in SEPARATORS if s in sample]
    if not present:
        return ",", '"', None
    regular = [s for s in present if _is_regular(sample, s)]
    if len(regular) == 1 and "\\" not in sample:
        return regular[0], '"', None
    import clevercsv  # noqa: PLC0415 - only separators in doubt need it

    lines = "".join(sample.splitlines(keepends=True)[:SAMPLE_LINES])[:DETECTOR_CHARACTERS]
    try:
        found = clevercsv.Detector().detect(lines, delimiters=present)
    except (clevercsv.Error, ValueError, KeyError, IndexError, TypeError):  # hostile text may defeat the detector
        found = None
    if found is None or not found.delimiter:
        most = max(present, key=lambda s: (s in regular, sample.count(s)))
        return most, '"', None
    return found.delimiter, found.quotechar or '"', found.escapechar or None


def _is_regular(sample: str, separator: str) -> bool:
    try:
        widths = {len(row) for row in csv.reader(io.StringIO(sample, newline=""), delimiter=separator) if row}
    except csv.Error:
        return False
    return len(widths) == 1 and widths.pop() >= 2


def detect_decimal(cells: Iterable[str], separator: str | None) -> tuple[str, bool]:
    """Return the decimal mark that the cells of a sample bear out, and whether it had to be guessed.

    "1.234,5", "0,5" and "12,75" speak for a comma, "1,234.5" and "0.5" for a point; "1,234" alone for neither: it is a
    decimal comma in a file separated by semicolons or tabs (where a comma needs no quotes) and else a thousand.
    """
    counts: Counter[str] = Counter()
    for cell in cells:
        if _UNDECIDED.fullmatch(cell):
            counts["?" if "," in cell else "point?"] += 1
        elif _COMMA_DECIMAL.fullmatch(cell):
            counts[","] += 1
        elif _POINT_DECIMAL.fullmatch(cell):
            counts["."] += 1
    if counts[","] != counts["."]:
        return ("," if counts[","] > counts["."] else "."), False
    return ("," if counts["?"] and separator in (";", "\t") else "."), bool(counts["?"])


def looks_like_value(cell: str) -> bool:
    """Tell whether a cell reads as a number or a date rather than as a name."""
    return bool(_NUMBER.fullmatch(cell) or _DATE.fullmatch(cell))


def detect_header(rows: Sequence[Sequence[str]]) -> bool:
    """Tell whether the first of some rows holds names.

    It does not if one of its cells is a number or a date (years above a table of other numbers excepted), or if most of
    its cells appear again below in their own columns.
    """
    if not rows:
        return True
    first, below = [c.strip() for c in rows[0]], rows[1:]
    values = [c for c in first if looks_like_value(c)]
    if values:
        years = all(_YEAR.fullmatch(c) for c in values) and len(set(values)) == len(values)
        columns = [[r[i].strip() for r in below if i < len(r)] for i, c in enumerate(first) if c in values]
        return years and bool(below) and not any(all(_YEAR.fullmatch(v) for v in column) for column in columns)
    again = sum(any(i < len(r) and r[i].strip() == c for r in below) for i, c in enumerate(first) if c)
    return not again or again < len([c for c in first if c]) / 2
