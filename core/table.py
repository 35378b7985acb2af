"""Reading a table from a file, its bytes or a bundled sample, and saying what was noticed."""

import codecs
import csv
import hashlib
import io
import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO, Final

import pandas as pd

from core import limits
from core.errors import InputError
from core.reading.dialect import (
    Dialect,
    detect_decimal,
    detect_encoding,
    detect_header,
    detect_separator,
    refuse_known_formats,
    sample_text,
)
from core.reading.parquet import parse_parquet
from core.reading.parsing import Parsed, megabytes, parse_text, unzip
from core.reading.workbook import has_merged_cells, open_workbook, parse_sheet
from core.scenario import AttributeSpec, Scenario

SAMPLE_DIRECTORY: Final = Path(__file__).resolve().parent.parent / "sample_data"
PROBE_ROWS: Final = 200
"""Rows of the sample from which the header and the decimal mark are told."""
NO_FILE_ENCODINGS: Final = frozenset(
    {
        "idna",
        "punycode",
        "unicode-escape",
        "raw-unicode-escape",
        "unicode_escape",
        "raw_unicode_escape",
        "undefined",
        "utf-7",
    }
)
"""Encodings of names and literals, in which no file is written."""
SEPARATOR_WORDS: Final[Mapping[str, str]] = MappingProxyType(
    {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|", "space": " "}
)


@dataclass(frozen=True, eq=False)
class Table:
    """A table as read.

    Parameters
    ----------
    frame : DataFrame (N, C)
        Columns of numbers, text or dates under distinct names; missing cells are nan. Not to be changed.
    findings : tuple of str
        What was noticed while reading, as sentences.
    name : str
        Name of the file or sample.
    dialect : Dialect
        How the file was written, as detected or as given.
    digest : str
        Hash of the content and the dialect, for use as a cache key.
    sheets : tuple of str
        Sheets of a workbook, empty for other files.
    """

    frame: pd.DataFrame
    findings: tuple[str, ...]
    name: str
    dialect: Dialect
    digest: str
    sheets: tuple[str, ...] = field(default=())


@dataclass(frozen=True)
class Sample:
    """A bundled table.

    Parameters
    ----------
    title : str
        What it is called on screen.
    file : str
        Its file in the sample directory.
    attribution : str
        Source and licence, to be shown with it.
    note : str
        Provenance in a sentence: what the rows are and what was done to them.
    """

    title: str
    file: str
    attribution: str
    note: str


SAMPLES: Final[Mapping[str, Sample]] = MappingProxyType(
    {
        "heart": Sample(
            "Heart disease (Cleveland)",
            "heart.csv",
            "A. Janosi, W. Steinbrunn, M. Pfisterer, R. Detrano: Heart Disease, UCI Machine Learning Repository, 1989; "
            "CC BY 4.0.",
            "303 patients of the Cleveland clinic, 13 attributes and whether a vessel is narrowed; category codes are "
            "written out as words, empty cells are missing.",
        ),
        "adult": Sample(
            "Adult (census income)",
            "adult.csv.gz",
            "B. Becker, R. Kohavi: Adult, UCI Machine Learning Repository, 1996; CC BY 4.0.",
            "16,619 rows, a part of the 48,842 of the 1994 US census extract, all 15 columns; '?' is written as an "
            "empty cell.",
        ),
        "wine": Sample(
            "Wine quality (vinho verde)",
            "wine_quality.csv.gz",
            "P. Cortez, A. Cerdeira, F. Almeida, T. Matos, J. Reis: Wine Quality, UCI Machine Learning Repository, "
            "2009; CC BY 4.0.",
            "6,497 red and white wines in one table: 11 measurements, a quality grade from 3 to 9 and the colour.",
        ),
    }
)
"""The bundled tables by name."""


def load_sample(name: str) -> Table:
    """Return a bundled table.

    Raises
    ------
    InputError
        If there is no sample of that name.
    """
    if name not in SAMPLES:
        raise InputError("sample", f"There is no sample called {name!r:.40}; choose one of {', '.join(SAMPLES)}.")
    return read_table(SAMPLE_DIRECTORY / SAMPLES[name].file, name=name)


def sample_scenario(name: str) -> Scenario:
    """Return the scenario with which a sample opens: its task and what is known about its columns.

    heart: entropy, without the diagnosis. adult: frequency, all 15 columns. wine: crowdsourcing, five measurements in
    five quantile bins each, ordered by mean quality, at tau_group 0.15, which gives the paper's four groups.
    """
    if name == "heart":
        return Scenario(
            task="entropy",
            score="mse",
            remap="distance",
            attributes=(AttributeSpec(11, kind="ordinal"), AttributeSpec(13, include=False)),
        )
    if name == "adult":
        return Scenario(task="frequency", score="mse", remap="distance")
    if name == "wine":
        voters = (1, 4, 7, 9, 10)  # volatile acidity, chlorides, density, sulphates, alcohol
        specs = tuple(
            AttributeSpec(c, include=True, kind="numeric", bins=5, binning="quantile")
            if c in voters
            else AttributeSpec(c, include=False)
            for c in range(13)
        )
        # Five quantile bins tie chlorides to density at an NMI of 0.131; above it are the four groups of the paper.
        return Scenario(
            task="crowdsourcing", target=11, tau_group=0.15, score="mse", remap="distance", attributes=specs
        )
    raise InputError("sample", f"There is no sample called {name!r:.40}; choose one of {', '.join(SAMPLES)}.")


def read_table(
    source: str | Path | bytes | BinaryIO,
    *,
    name: str | None = None,
    separator: str | None = None,
    encoding: str | None = None,
    header: bool | None = None,
    decimal: str | None = None,
    sheet: str | int | None = None,
) -> Table:
    """Read delimited text (also gzipped), an .xlsx workbook or a Parquet file.

    Parameters
    ----------
    source : path, bytes or binary file object
        The file, or its content.
    name : str, optional
        What to call the table; the file's name by default.
    separator, encoding, header, decimal : optional
        How a text file is written; each is detected where it is not given.
    sheet : str or int, optional
        Sheet of a workbook by name or position from 0; the first one by default.

    Returns
    -------
    Table
        Nothing is logged or written, and `source` is left as it is.

    Raises
    ------
    InputError
        If the content is no table; the sentence names the line and column where it can. No other exception is raised
        for bad content.
    """
    _check_overrides(encoding, header, decimal)
    content, name = _load(source, name)
    if content.startswith(b"\x1f\x8b"):
        content = unzip(content)
    if not content.strip(b" \t\r\n"):
        raise InputError("file", "The file is empty; give a table with a row of names and at least one row of values.")
    sheets: tuple[str, ...] = ()
    if content.startswith(b"PK\x03\x04"):
        parsed, dialect, sheets = _read_workbook(content, sheet, header, decimal)
    elif content.startswith(b"PAR1"):
        parsed, dialect = parse_parquet(content), Dialect("parquet")
    else:
        parsed, dialect = _read_text(content, _separator(separator), encoding, header, decimal)
    digest = hashlib.sha256(repr(dialect).encode("utf-8", "replace") + content).hexdigest()[:32]
    return Table(parsed.frame, tuple(parsed.findings), name, dialect, digest, sheets)


def _check_overrides(encoding: str | None, header: bool | None, decimal: str | None) -> None:
    if encoding is not None:
        try:
            found = codecs.lookup(encoding)
            usable = found._is_text_encoding and found.name not in NO_FILE_ENCODINGS
        except (LookupError, ValueError, TypeError):
            usable = False
        if not usable:
            raise InputError("encoding", f"There is no encoding called {encoding!r:.40}; utf-8 and cp1252 are usual.")
    if header is not None and not isinstance(header, bool):
        raise InputError("header", f"Whether there is a header must be true or false, not {header!r:.40}.")
    if decimal not in (None, ".", ","):
        raise InputError("decimal", f"The decimal mark must be a point or a comma, not {decimal!r:.40}.")


def _separator(separator: str | None) -> str | None:
    if separator is None:
        return None
    found = SEPARATOR_WORDS.get(separator.lower(), separator) if isinstance(separator, str) else ""
    if len(found) != 1 or found in '"\r\n\0':
        raise InputError(
            "separator",
            f"The separator must be one character, but no quote or line end, not {separator!r:.40}; comma, semicolon, "
            "tab and | are usual.",
        )
    return found


def _load(source: str | Path | bytes | BinaryIO, name: str | None) -> tuple[bytes, str]:
    """Return the content of a source, refusing what is too large before it is read, and the table's name."""
    allowed = limits.UPLOAD_LIMIT_MB << 20
    try:
        if isinstance(source, bytes | bytearray | memoryview):
            content, found = bytes(source), "table"
        elif isinstance(source, str | Path):
            path = Path(source)
            found = path.name
            size = path.stat().st_size
            content = path.read_bytes() if size <= allowed else b""
            if size > allowed:
                raise _too_large(size)
        else:
            data = source.read(allowed + 1)
            content = bytes(data)
            found = Path(str(getattr(source, "name", "table"))).name
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise InputError("file", "The file cannot be opened; check that it exists and may be read.") from error
    if len(content) > allowed:
        raise _too_large(len(content))
    return content, name if name is not None else found


def _too_large(size: int) -> InputError:
    return InputError(
        "file",
        f"The file has over {megabytes(size - 1)}; at most {limits.UPLOAD_LIMIT_MB} MB are allowed, so give fewer rows "
        "or columns.",
    )


def _read_text(
    content: bytes, separator: str | None, encoding: str | None, header: bool | None, decimal: str | None
) -> tuple[Parsed, Dialect]:
    """Read delimited text in the dialect given, detecting what is not."""
    if encoding is None:
        refuse_known_formats(content)
    findings = []
    if encoding is None:
        encoding = detect_encoding(content)
        if not encoding.startswith("utf"):
            findings.append(f"The encoding is guessed to be {encoding}; choose another if letters look wrong.")
    sample = sample_text(content, encoding)
    found, quote, escape = detect_separator(sample) if separator is None else (separator, '"', None)
    rows = _probe(sample, found, quote, escape)
    header = detect_header(rows) if header is None else header
    if decimal is None:
        decimal, guessed = detect_decimal((cell.strip() for row in rows for cell in row), found)
        if guessed:
            meaning = "decimal mark" if decimal == "," else "separator of thousands"
            findings.append(
                f"A comma before three digits, as in 1,234, is read as a {meaning}; choose otherwise if not."
            )
    dialect = Dialect("text", found, quote, encoding, header, decimal, None, escape)
    parsed = parse_text(content, dialect)
    parsed.findings[:0] = findings
    return parsed, dialect


def _probe(sample: str, separator: str, quote: str, escape: str | None) -> list[list[str]]:
    """Return the first records of a text sample; a damaged one gives what could be read."""
    reader = csv.reader(io.StringIO(sample, newline=""), delimiter=separator, quotechar=quote, escapechar=escape)
    rows: list[list[str]] = []
    try:
        rows.extend(row for row in itertools.islice(reader, PROBE_ROWS) if row)
    except csv.Error:
        return rows
    return rows


def _read_workbook(
    content: bytes, sheet: str | int | None, header: bool | None, decimal: str | None
) -> tuple[Parsed, Dialect, tuple[str, ...]]:
    """Read one sheet of a workbook."""
    workbook = open_workbook(content)
    sheets = tuple(s.title for s in workbook.worksheets)
    if isinstance(sheet, int) and not isinstance(sheet, bool) and 0 <= sheet < len(sheets):
        sheet = sheets[sheet]
    chosen = sheet if sheet is not None else next(iter(sheets), None)
    if chosen not in sheets or not isinstance(chosen, str):
        listed = ", ".join(f"'{s}'" for s in sheets[:10]) or "none"
        raise InputError("sheet", f"The workbook has no sheet {sheet!r:.60}; its sheets are {listed}.")
    parsed, header, decimal = parse_sheet(workbook, chosen, header, decimal)
    if len(sheets) > 1:
        others = ", ".join(f"'{s}'" for s in sheets if s != chosen)
        parsed.findings.insert(0, f"Sheet '{chosen}' is read; the workbook also has {others:.200}.")
    if has_merged_cells(content):
        parsed.findings.insert(0, "The workbook has merged cells; only the first cell of each holds the value.")
    return parsed, Dialect("excel", header=header, decimal=decimal, sheet=chosen), sheets
