"""A released table as text: types kept, formulas defused, missing values empty."""

import csv
import io
import math
import re
from typing import Any, Final

import pandas as pd

DANGEROUS: Final = ("=", "+", "-", "@", "\t", "\r", "\n")
"""First characters with which a spreadsheet takes a cell for a formula, or hides that it is one."""
NUMBER: Final = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
"""A plain number is no formula and stays as it is."""


def defuse(text: str) -> str:
    """Return a cell that no spreadsheet runs: an apostrophe before what would begin a formula.

    Examples
    --------
    >>> defuse("=1+1"), defuse("-3.5"), defuse("- none")
    ("'=1+1", '-3.5', "'- none")
    """
    return f"'{text}" if text.startswith(DANGEROUS) and not NUMBER.fullmatch(text) else text


def cell(value: Any, *, whole: bool = False) -> str:
    """Return one value as the text of a cell; missing is empty, a date is year-month-day.

    Parameters
    ----------
    value : object
        The value.
    whole : bool
        Whether its column holds whole numbers, which are written without a point.
    """
    if value is None or value is pd.NaT or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, pd.Timestamp):
        plain = value == value.normalize()
        return value.date().isoformat() if plain else value.isoformat(sep=" ")
    if isinstance(value, float):
        return str(int(value)) if whole and value.is_integer() else repr(value)
    return defuse(str(value))


def to_csv(frame: pd.DataFrame, types: tuple[str, ...], *, separator: str = ",") -> bytes:
    """Return a released table as CSV in UTF-8 with a line of names.

    Parameters
    ----------
    frame : DataFrame
        The released columns.
    types : tuple of str
        What each column holds, as in `core.release.columns.column_type`.
    separator : str
        Between cells.
    """
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter=separator, lineterminator="\n")
    writer.writerow([defuse(str(name)) for name in frame.columns])
    whole = [kind == "integer" for kind in types]
    for row in zip(*(frame.iloc[:, i].tolist() for i in range(frame.shape[1])), strict=True):
        writer.writerow([cell(value, whole=w) for value, w in zip(row, whole, strict=True)])
    return out.getvalue().encode("utf-8")
