"""Sheets of .xlsx workbooks to named columns."""

import io
import re
import warnings
import zipfile
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from core import limits
from core.errors import InputError
from core.reading.cells import cell_text, convert_cells, unique_names
from core.reading.dialect import detect_decimal, detect_header
from core.reading.parsing import CONTENT_ERRORS, Parsed, check_cells, check_width, megabytes

if TYPE_CHECKING:
    import openpyxl

EXPANSION_LIMIT: Final = 8 * limits.UPLOAD_LIMIT_MB << 20
"""Bytes to which a workbook's parts may unpack."""
PROBE_ROWS: Final = 200
"""Rows of a workbook that the detection of its header and decimal mark sees."""


def open_workbook(content: bytes) -> "openpyxl.Workbook":
    """Open an .xlsx workbook.

    Raises
    ------
    InputError
        If the content is another ZIP archive, is damaged, or unpacks to too much.
    """
    import openpyxl  # noqa: PLC0415 - only workbooks need it

    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            names = archive.namelist()
            unpacked = sum(part.file_size for part in archive.infolist())
        if not any(name.startswith("xl/") for name in names):
            raise InputError("file", "This is a ZIP archive, not a table; unpack it and give the table inside.")
        if unpacked > EXPANSION_LIMIT:
            raise InputError("file", f"The workbook unpacks to {megabytes(unpacked)}; save the sheet as CSV instead.")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return openpyxl.load_workbook(io.BytesIO(content), read_only=True, data_only=True)
    except CONTENT_ERRORS as error:
        raise InputError(
            "file", "The workbook is damaged; save it again as .xlsx or export the sheet as CSV."
        ) from error


def parse_sheet(
    workbook: "openpyxl.Workbook", sheet: str, header: bool | None, decimal: str | None
) -> tuple[Parsed, bool, str]:
    """Read one sheet of a workbook; return it with the header and the decimal mark that were used.

    Raises
    ------
    InputError
        If the sheet holds no values, only a header, or too much, or is damaged.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            lines, rows = _sheet_rows(workbook[sheet])
    except CONTENT_ERRORS as error:
        raise InputError("sheet", f"The sheet '{sheet}' is damaged; save the workbook again.") from error
    if not rows:
        raise InputError("sheet", f"The sheet '{sheet}' is empty; choose another sheet.")
    titles = _count_titles(rows) if header is not False else 0
    lines, rows = lines[titles:], rows[titles:]
    probe = [[cell_text(c) for c in row] for row in rows[:PROBE_ROWS]]
    header = detect_header(probe) if header is None else header
    decimal = decimal or detect_decimal((c for row in probe for c in row), None)[0]
    raw = probe[0] if header else [f"column {i + 1}" for i in range(len(rows[0]))]
    if header:
        lines, rows = lines[1:], rows[1:]
    if not rows:
        raise InputError("sheet", f"The sheet '{sheet}' holds only a header; give at least one row of values below it.")
    names, findings = unique_names(raw)
    if not header:
        findings.append("The first row holds values, not names; the columns are numbered.")
    if titles:
        findings.append(f"The first {titles} row(s) of the sheet hold a single cell each and are skipped as titles.")
    parsed = Parsed(names, [], findings)
    for name, cells in zip(names, zip(*rows, strict=True), strict=True):
        column, notes = convert_cells(cells, name, decimal, np.array(lines))
        parsed.columns.append(column)
        parsed.findings += notes
    return parsed, header, decimal


def _count_titles(rows: list[list[object]]) -> int:
    """Return how many rows at the top hold one cell only although the table is wider."""
    cells = [sum(c is not None for c in row) for row in rows]
    return next((i for i, count in enumerate(cells) if count > 1), 0)


def _sheet_rows(sheet: Any) -> tuple[list[int], list[list[object]]]:
    """Return the non-empty rows of a sheet, padded to one width, and their line numbers."""
    sheet.reset_dimensions()  # the declared size of a sheet need not be true
    lines: list[int] = []
    rows: list[list[object]] = []
    width = 0
    for line, cells in enumerate(sheet.iter_rows(values_only=True), start=1):
        row = [None if isinstance(c, str) and not c.strip() else c for c in cells]
        while row and row[-1] is None:
            row.pop()
        if not row:
            continue
        width = max(width, len(row))
        check_width(width)
        rows.append(row)
        lines.append(line)
        check_cells(len(rows), width)
    for row in rows:
        row.extend([None] * (width - len(row)))
    empty = next((i for i in range(width) if any(r[i] is not None for r in rows)), 0)
    return lines, [row[empty:] for row in rows]


def has_merged_cells(content: bytes) -> bool:
    """Tell whether a sheet of a workbook merges cells; only their first one carries the value."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        sheets = [n for n in archive.namelist() if re.fullmatch(r"xl/worksheets/[^/]+\.xml", n)]
        return any(b"<mergeCell " in archive.read(n) for n in sheets)
