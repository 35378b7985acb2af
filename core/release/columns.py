"""What a released value looks like: the type of the input's column, a representative or a draw within the bin."""

import itertools
import math
from dataclasses import dataclass
from datetime import date, timedelta
from fractions import Fraction
from typing import Any, Final

import numpy as np
import pandas as pd

from core.domain import Attribute
from core.reading.cells import FALSE_WORDS, TRUE_WORDS
from core.sampling import Source, draw_below

Grid = tuple[int, int]
"""First point and number of points of a bin, in units of 10^-decimals."""
FINE: Final = 1000
"""Points that a bin of a column with decimals holds at least, so that a draw within it looks like a value."""
DECIMALS_LIMIT: Final = 15
"""Most decimals of such a point: what a double can tell apart."""
DAY_ZERO: Final = date(1970, 1, 1)


@dataclass(frozen=True)
class Outlet:
    """How the released levels of one attribute are written, in the type of its column.

    Parameters
    ----------
    name : str
        The column's name.
    column : int
        Its position in the table.
    type : {'integer', 'number', 'date', 'boolean', 'text'}
        What the column holds.
    values : tuple
        What is written per level: the representative of a bin or the label; None for a missing value. Dates are text,
        year-month-day.
    grids : tuple of (int, int) or None
        Per level of a numeric attribute the points of its bin, None elsewhere.
    decimals : int
        Decimals of those points.
    """

    name: str
    column: int
    type: str
    values: tuple[Any, ...]
    grids: tuple[Grid | None, ...]
    decimals: int = 0

    def write(self, level: int, source: Source | None = None) -> Any:
        """Return what stands for a released level; with a source, a uniform point of its bin where it has one.

        The draw depends on the released level alone, so it is post-processing.
        """
        grid = self.grids[level]
        if source is None or grid is None:
            return self.values[level]
        return write_point(grid[0] + draw_below(grid[1], source), self.decimals, self.type)


def write_point(point: int, decimals: int, kind: str) -> Any:
    """Return a point of a bin as a value of a column's type.

    Examples
    --------
    >>> write_point(1234, 2, "number"), write_point(366, 0, "date")
    (12.34, '1971-01-02')
    """
    if kind == "date":
        return (DAY_ZERO + timedelta(days=point)).isoformat()
    return point if decimals == 0 and kind == "integer" else point / 10**decimals


def column_type(series: pd.Series) -> str:
    """Return what a column of a table holds: 'integer', 'number', 'date', 'boolean' or 'text'."""
    if pd.api.types.is_bool_dtype(series):
        return "boolean"
    if pd.api.types.is_datetime64_any_dtype(series):
        return "date"
    if not pd.api.types.is_numeric_dtype(series):
        return "text"
    present = series.dropna().to_numpy(dtype=float)
    whole = present.size > 0 and bool((present == np.floor(present)).all()) and bool((np.abs(present) < 2**53).all())
    return "integer" if whole else "number"


def build_outlet(attribute: Attribute, series: pd.Series) -> Outlet:
    """Return how an attribute's levels are written in the type of its column."""
    kind = column_type(series)
    if attribute.edges is None:
        return _label_outlet(attribute, kind)
    if kind == "text":  # numbers in a text column, read as numeric because a person said so
        kind = "number"
    edges = [Fraction(float(edge)) for edge in attribute.edges]
    decimals = 0 if kind in ("integer", "date") else _decimals(edges)
    grids = [_grid(low, high, decimals, first=i == 0) for i, (low, high) in enumerate(itertools.pairwise(edges))]
    values = []
    for (low, high), grid in zip(itertools.pairwise(edges), grids, strict=True):
        middle = round((low + high) / 2 * 10**decimals)
        values.append(write_point(min(max(middle, grid[0]), grid[0] + grid[1] - 1), decimals, kind))
    missing = [None] * attribute.has_missing
    return Outlet(attribute.name, attribute.column, kind, (*values, *missing), (*grids, *missing), decimals)


def _decimals(edges: list[Fraction]) -> int:
    """Return the fewest decimals with which the narrowest bin holds `FINE` points."""
    narrowest = min((high - low for low, high in itertools.pairwise(edges) if high > low), default=Fraction(1))
    return next((d for d in range(DECIMALS_LIMIT) if narrowest * 10**d >= FINE), DECIMALS_LIMIT)


def _grid(low: Fraction, high: Fraction, decimals: int, *, first: bool) -> Grid:
    """Return the points of the bin (low, high], or [low, high] for the first one; the nearest point where it has none.

    A bin holds its upper edge and not its lower one, as in coding, so that a released table codes as it was drawn.
    """
    start = math.ceil(low * 10**decimals) if first else math.floor(low * 10**decimals) + 1
    count = math.floor(high * 10**decimals) - start + 1
    return (start, count) if count > 0 else (round((low + high) / 2 * 10**decimals), 1)


def _label_outlet(attribute: Attribute, kind: str) -> Outlet:
    proper = attribute.levels[: attribute.size - attribute.has_missing]
    values = [_parse_label(label, kind) for label in proper]
    if any(value is None for value in values):  # declared levels need not be of the column's type
        kind, values = "text", list(proper)
    missing = (None,) * attribute.has_missing
    return Outlet(attribute.name, attribute.column, kind, (*values, *missing), (None,) * attribute.size)


def _parse_label(label: str, kind: str) -> Any:
    """Return a label as a value of a column's type; None where it is none."""
    try:
        if kind == "integer":
            whole = Fraction(label)
            return int(whole) if whole.denominator == 1 else None
        if kind == "number":
            number = float(label)
            return number if math.isfinite(number) else None
        if kind == "date":
            return None if pd.isna(pd.Timestamp(label)) else label
    except ValueError:
        return None
    if kind == "boolean":
        word = label.lower()
        return word in TRUE_WORDS if word in TRUE_WORDS | FALSE_WORDS else None
    return label


def to_series(values: list[Any], outlet: Outlet, original: pd.Series) -> pd.Series:
    """Return released values as a column with the dtype of the input's, where it can hold them."""
    kind = outlet.type
    if kind == "date":
        return pd.Series(pd.to_datetime(pd.Series(values, dtype="str"))).astype(original.dtype)
    if kind in ("integer", "number") and pd.api.types.is_numeric_dtype(original):
        numbers = pd.Series([math.nan if v is None else v for v in values], dtype="float64")
        whole = pd.api.types.is_integer_dtype(original) and not numbers.isna().any()
        return numbers.astype(original.dtype) if whole else numbers
    if kind == "boolean" and None not in values:
        return pd.Series(values, dtype=original.dtype)
    if kind == "text":
        return pd.Series([math.nan if v is None else v for v in values], dtype="str")
    return pd.Series(values, dtype="object")
