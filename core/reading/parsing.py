"""Text to named columns, and what all formats share: every bad content is answered by one sentence."""

import csv
import gzip
import io
import itertools
import struct
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pandas as pd
import pyarrow as pa

from core import limits
from core.errors import InputError
from core.reading.cells import convert_text, unique_names
from core.reading.dialect import SEPARATOR_LINE, Dialect

CONTENT_ERRORS: Final = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    EOFError,
    LookupError,
    NotImplementedError,
    OSError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
    struct.error,
    zipfile.BadZipFile,
    zlib.error,
)
"""What the readers of workbooks and Parquet files raise on damaged content."""
END: Final = "\0\0\0"
"""Mark fed to the csv reader after the last line; no text file that is accepted contains it."""
CHUNK: Final = 2_000
"""Rows held as Python strings at a time; columns are packed in between."""
CELL_LIMIT: Final = 50_000_000
"""Rows times columns beyond which a table is refused."""


@dataclass
class Parsed:
    """Columns by name, with what was noticed."""

    names: list[str] = field(default_factory=list)
    columns: list[pd.Series] = field(default_factory=list)
    findings: list[str] = field(default_factory=list)

    @property
    def frame(self) -> pd.DataFrame:
        """The columns as one table."""
        return pd.DataFrame(dict(enumerate(self.columns))).set_axis(self.names, axis=1)


def megabytes(size: int) -> str:
    """Return a size in megabytes for a sentence."""
    return f"{size / (1 << 20):,.0f} MB"


def unzip(content: bytes) -> bytes:
    """Return the content of a gzip file.

    Raises
    ------
    InputError
        If it is damaged or unpacks to more than the upload limit.
    """
    allowed = limits.UPLOAD_LIMIT_MB << 20
    try:
        with gzip.open(io.BytesIO(content)) as stream:
            data = stream.read(allowed + 1)
        if data.startswith(b"\x1f\x8b"):
            raise InputError("file", "The gzip file holds another gzip file; unpack it once and give what is inside.")
    except (OSError, EOFError, zlib.error) as error:
        raise InputError("file", "The gzip file is damaged; pack it again or give it unpacked.") from error
    if len(data) > allowed:
        raise InputError(
            "file", f"The file unpacks to more than {limits.UPLOAD_LIMIT_MB} MB; give fewer rows or columns."
        )
    return data


def check_width(width: int) -> None:
    """Raise an `InputError` if a table has more columns than are allowed."""
    if width > limits.COLUMN_LIMIT:
        raise InputError(
            "file", f"The table has {width:,} columns; at most {limits.COLUMN_LIMIT} are allowed, so leave some out."
        )


def check_cells(rows: int, width: int) -> None:
    """Raise an `InputError` if a table has more cells than are allowed."""
    if rows * width > CELL_LIMIT:
        raise InputError(
            "file", f"The table has over {CELL_LIMIT:,} cells ({rows:,} rows of {width}); give fewer rows or columns."
        )


def read_rows(stream: io.TextIOBase, dialect: Dialect) -> Iterator[tuple[int, list[str]]]:
    """Yield the line at which each record starts and its fields; blank lines, and one naming a separator, are skipped.

    Raises
    ------
    InputError
        If a quote is left open, or a field is longer than the csv module takes, which is what that causes.
    """
    first = stream.readline()
    first = "\n" if SEPARATOR_LINE.fullmatch(first) else first
    lines = itertools.chain((first,), stream, (END,))  # an open quote swallows the end mark, and so gives itself away
    reader = csv.reader(
        lines, delimiter=dialect.separator or ",", quotechar=dialect.quote or '"', escapechar=dialect.escape
    )
    start = 1
    try:
        for row in reader:
            if row and row[-1].endswith(END):
                if row == [END]:
                    return
                break
            if row and (len(row) > 1 or row[0].strip()):
                yield start, row
            start = reader.line_num + 1
        reason = "opens a quote that is never closed"
    except csv.Error:
        reason = f"starts a field of more than {csv.field_size_limit():,} characters, as if a quote were left open"
    raise InputError("file", f"Line {start} {reason}; close it there, or choose another separator.")


def parse_text(content: bytes, dialect: Dialect) -> Parsed:
    """Read delimited text.

    Raises
    ------
    InputError
        Naming the line where a row has another number of fields than the first, or what else is wrong.
    """
    _refuse_zero_bytes(content, dialect.encoding or "utf-8")
    stream = io.TextIOWrapper(io.BytesIO(content), encoding=dialect.encoding, newline="")
    try:
        return _parse_stream(stream, dialect)
    except UnicodeError as error:
        line = _first_undecodable_line(content, dialect.encoding or "utf-8")
        raise InputError(
            "encoding",
            f"Line {line} is not valid {dialect.encoding} text; choose another encoding, for example cp1252.",
        ) from error


def _first_undecodable_line(content: bytes, encoding: str) -> int:
    try:
        content.decode(encoding)
    except UnicodeDecodeError as error:
        return content.count(b"\n", 0, error.start) + 1
    except UnicodeError:
        return 1
    return 1


def _refuse_zero_bytes(content: bytes, encoding: str) -> None:
    if encoding.startswith(("utf-16", "utf-32", "utf_16", "utf_32")):
        return
    position = content.find(b"\0")
    if position >= 0:
        line = content.count(b"\n", 0, position) + 1
        raise InputError(
            "file",
            f"Line {line} holds a zero byte, so this is not plain text in {encoding}; choose UTF-16 as encoding if it "
            "is, or export the table as CSV again.",
        )


def _parse_stream(stream: io.TextIOBase, dialect: Dialect) -> Parsed:
    rows = read_rows(stream, dialect)
    first_line, first = next(rows, (0, []))
    if not first:
        raise InputError("file", "The file is empty; give a table with a row of names and at least one row of values.")
    check_width(len(first))
    named = len(first)
    while dialect.header and named > 1 and not first[named - 1].strip():
        named -= 1
    if not dialect.header:
        rows = itertools.chain([(first_line, first)], rows)
    columns, lines = _pack(rows, len(first), named)
    if len(lines) == 0:
        raise InputError("file", "The file holds only a header; give at least one row of values below it.")
    return _convert(columns, first if dialect.header else None, named, lines, dialect.decimal)


def _pack(rows: Iterator[tuple[int, list[str]]], width: int, named: int) -> tuple[list[pd.Series], np.ndarray]:
    """Return the columns as packed text and the line of every row; rows must have `width` fields.

    Nameless fields at the end may be absent, and empty ones beyond the end are ignored: trailing separators are common.
    """
    lines: list[int] = []
    held: list[list[str]] = []
    parts: list[list[Any]] = [[] for _ in range(width)]
    for line, row in rows:
        if len(row) != width:
            _fit_row(row, width, named, line)
        held.append(row)
        lines.append(line)
        if len(held) == CHUNK:
            check_cells(len(lines), width)
            _flush(held, parts)
    _flush(held, parts)
    check_cells(len(lines), width)
    columns = [pa.chunked_array(p, pa.large_string()).to_pandas().astype("str") for p in parts]
    return columns, np.array(lines, dtype=np.int64)


def _flush(held: list[list[str]], parts: list[list[Any]]) -> None:
    for part, values in zip(parts, zip(*held, strict=True), strict=False):
        part.append(pa.array(values, pa.large_string()))
    held.clear()


def _fit_row(row: list[str], width: int, named: int, line: int) -> None:
    """Trim or pad nameless empty fields in place; refuse any other difference."""
    found = len(row)
    while len(row) > width and not row[-1].strip():
        row.pop()
    if named <= len(row) < width:
        row.extend([""] * (width - len(row)))
    if len(row) != width:
        hint = "close a quote left open there" if "\n" in row[-1] else "correct that line"
        raise InputError(
            "file",
            f"Line {line} has {found} field{'s' if found > 1 else ''} where the first has {width}; {hint}, or choose "
            "another separator.",
        )


def _convert(columns: list[pd.Series], header: list[str] | None, named: int, lines: Any, decimal: str) -> Parsed:
    """Return typed columns under distinct names; nameless empty columns at the end are dropped."""
    while len(columns) > named and not columns[-1].str.strip().ne("").any():
        columns.pop()
    raw = header[: len(columns)] if header is not None else [f"column {i + 1}" for i in range(len(columns))]
    names, findings = unique_names(raw)
    if header is None:
        findings.append("The first row holds values, not names; the columns are numbered.")
    if len(names) == 1:
        findings.append("Only one column was found; choose another separator if there should be more.")
    parsed = Parsed(names, [], findings)
    for name, cells in zip(names, columns, strict=True):
        column, notes = convert_text(cells, name, decimal, lines)
        parsed.columns.append(column)
        parsed.findings += notes
    return parsed
