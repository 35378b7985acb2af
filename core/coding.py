"""One column's values to level codes and back: numbers, labels, bins."""

import itertools
import math
from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from core.errors import InputError
from core.reading.cells import MISSING_TOKENS, one_line
from core.scenario import AttributeSpec

MISSING_LABEL: Final = "missing"
"""Display label of the missing level."""
NO_LEVEL: Final = -1
"""Code of a value that has no level."""
DAY: Final = np.timedelta64(1, "D")
LABEL_DIGITS: Final = range(4, 18)
"""Significant digits tried for bin labels until all edges differ."""
QUOTED: Final = 60
"""Characters of a value that a sentence quotes."""


class Coded(Protocol):
    """What coding needs of an attribute."""

    @property
    def name(self) -> str:
        """Column name."""

    @property
    def kind(self) -> str:
        """Kind of comparison."""

    @property
    def levels(self) -> tuple[str, ...]:
        """Display labels."""

    @property
    def values(self) -> NDArray[np.float64] | None:
        """Representatives."""

    @property
    def edges(self) -> NDArray[np.float64] | None:
        """Bin edges."""

    @property
    def has_missing(self) -> bool:
        """Whether the last level is the missing one."""


@dataclass(frozen=True)
class Bins:
    """Bins of a numeric column: b + 1 edges, b mid-points, b labels."""

    edges: NDArray[np.float64]
    midpoints: NDArray[np.float64]
    labels: tuple[str, ...]


def to_numbers(series: pd.Series, name: str) -> NDArray[np.float64]:
    """Return a column as numbers, dates as days since 1970-01-01 and missing values as nan; shape (N,).

    Raises
    ------
    InputError
        Naming the column, the row and the value that is not a number.
    """
    if pd.api.types.is_datetime64_any_dtype(series):
        moments = series.to_numpy(dtype="datetime64[us]")
        return np.where(np.isnat(moments), np.nan, (moments - np.datetime64(0, "us")) / DAY)
    if pd.api.types.is_numeric_dtype(series):
        numbers = series.to_numpy(dtype=float, na_value=np.nan)
        return np.where(np.isfinite(numbers), numbers, np.nan)
    codes, distinct = pd.factorize(series.astype("str"))
    values = [_number(text) for text in distinct]
    for code, value in enumerate(values):
        if value is None:
            row, shown = row_number(series, int(np.argmax(codes == code))), one_line(distinct[code], QUOTED)
            raise InputError(
                name,
                f"Column '{name}' cannot be numeric: row {row} holds '{shown}'; correct it or choose another kind.",
            )
    return np.array([*values, math.nan], dtype=float)[codes]  # a missing value has code -1, the nan at the end


def _number(text: str) -> float | None:
    """Return a text as a finite number, nan where it is missing or infinite, None where it is no number."""
    if text.strip().lower() in MISSING_TOKENS:
        return math.nan
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else math.nan


def row_number(series: pd.Series, position: int) -> int:
    """Return the number from 1 of a row in the table as read, for sentences; subsets of a table keep their index."""
    label = series.index[position]
    return int(label) + 1 if isinstance(label, int | np.integer) else position + 1


def number_label(value: float) -> str:
    """Return a number as a level's label, whole numbers without a point.

    Examples
    --------
    >>> number_label(3.0), number_label(0.25)
    ('3', '0.25')
    """
    value += 0.0  # minus zero is zero
    return f"{value:.0f}" if value == int(value) and abs(value) < 1e15 else repr(float(value))


def to_labels(series: pd.Series) -> "tuple[NDArray[np.int64], list[str]]":
    """Return codes (N,) into the distinct labels of a column, -1 where missing, and the labels in order.

    Numbers and dates are ordered by value, text alphabetically.
    """
    if pd.api.types.is_bool_dtype(series):
        series = series.map({True: "true", False: "false"})
    elif series.dtype == object:  # cells of several types cannot be sorted
        series = series.map(str, na_action="ignore").astype("str")
    codes, distinct = pd.factorize(series, sort=True)
    values = distinct.tolist()
    if pd.api.types.is_datetime64_any_dtype(series):
        labels = [v.isoformat(sep=" ") if v != v.normalize() else str(v.date()) for v in distinct]
    elif pd.api.types.is_numeric_dtype(series):
        labels = [number_label(v) for v in values]
    else:
        labels = [str(v).strip() for v in values]
    return _merge(np.asarray(codes, dtype=np.int64), labels)


def _merge(codes: NDArray[np.int64], labels: list[str]) -> tuple[NDArray[np.int64], list[str]]:
    """Merge labels that are equal as text (stripped) and drop those that read as missing."""
    kept = list(dict.fromkeys(label for label in labels if label.lower() not in MISSING_TOKENS))
    place = {label: i for i, label in enumerate(kept)}
    moved = np.array([place.get(label, NO_LEVEL) for label in labels] + [NO_LEVEL], dtype=np.int64)
    return moved[codes], kept


def cut_bins(numbers: NDArray[np.float64], spec: AttributeSpec, *, dates: bool = False) -> Bins:
    """Return the bins of a numeric column from a complete spec.

    Equal width: edges low + i (high - low) / b. Quantile: the i / b quantiles of the numbers within [low, high], equal
    ones merged; equal width where there are none. Own edges: as given. A column of one value has one bin of no width.

    Parameters
    ----------
    numbers : ndarray (N,)
        Present values of the fitting data; read by quantile bins only.
    spec : AttributeSpec
        With `binning`, `bins`, `low` and `high`, or `edges`.
    dates : bool
        Whether labels are dates.
    """
    constant = numbers[0] if spec.low is None else spec.low
    low, high = constant, constant if spec.high is None else spec.high
    count = spec.bins or 1
    if spec.binning == "edges" and spec.edges is not None:
        edges = np.array(spec.edges, dtype=float)
    elif low == high:
        edges = np.array([low, high])
    elif spec.binning == "quantile" and len(numbers):
        inner = np.quantile(np.clip(numbers, low, high), np.linspace(0, 1, count + 1)[1:-1])
        edges = np.unique(np.concatenate([[low], inner, [high]]))
    else:
        edges = np.unique(np.linspace(low, high, count + 1))
    return Bins(edges, edges[:-1] + np.diff(edges) / 2, _bin_labels(edges, dates))


def _bin_labels(edges: NDArray[np.float64], dates: bool) -> tuple[str, ...]:
    """Return "a to b" per bin, with as few digits as tell the edges apart."""
    if dates:
        days = np.round(edges).astype("int64").astype("datetime64[D]")
        texts = [str(day) for day in days]
    else:
        for digits in LABEL_DIGITS:
            texts = [f"{e:.{digits}g}" for e in edges]
            if len(set(texts)) == len(set(edges.tolist())):
                break
    if len(edges) == 2 and edges[0] == edges[1]:
        return (texts[0],)
    labels = [f"{a} to {b}" for a, b in itertools.pairwise(texts)]
    return tuple(labels if len(set(labels)) == len(labels) else [f"{t} ({i + 1})" for i, t in enumerate(labels)])


def encode_values(attribute: Coded, series: pd.Series, *, unknown: str = "error") -> NDArray[np.int32]:
    """Return the level codes (N,) of a column's values, also of rows that were not fitted.

    A bin holds its upper edge, not its lower one; numbers outside the bounds fall into the outer bins. A value without
    a level is a missing one where the attribute has no missing level, or a label that is not among the levels.

    Parameters
    ----------
    attribute : Attribute
        A fitted attribute.
    series : Series (N,)
        The column's values.
    unknown : {'error', 'mark', 'project'}
        What a value without a level becomes: an error, the code -1, or the nearest level (an ordinal number: by value;
        else the missing level, or the first where there is none).

    Raises
    ------
    InputError
        Naming the column, the row and the value, if `unknown` is 'error'.
    """
    if attribute.kind == "numeric" and attribute.edges is not None:
        numbers = to_numbers(series, attribute.name)
        missing = np.isnan(numbers)
        codes = np.searchsorted(attribute.edges[1:-1], numbers, side="left")
    else:
        raw, labels = to_labels(series)
        proper = attribute.levels[: len(attribute.levels) - attribute.has_missing]
        place = {label: i for i, label in enumerate(proper)}
        missing = raw == NO_LEVEL
        codes = np.array([place.get(label, NO_LEVEL) for label in labels] + [0])[raw]
        strange = (codes == NO_LEVEL) & ~missing
        if unknown != "mark" and strange.any():
            codes = _place_unknown(attribute, series, codes, strange, unknown)
    if attribute.has_missing:
        codes = np.where(missing, len(attribute.levels) - 1, codes)
    elif missing.any():
        codes = _place_missing(attribute, series, codes, missing, unknown)
    return codes.astype(np.int32)


def _place_missing(
    attribute: Coded, series: pd.Series, codes: NDArray[Any], missing: NDArray[np.bool_], unknown: str
) -> NDArray[Any]:
    if unknown == "error":
        raise InputError(
            attribute.name,
            f"Row {row_number(series, int(np.argmax(missing)))} has no value in column '{attribute.name}', which has "
            "no missing level; fill it in, leave the row out, or choose missing = level.",
        )
    return np.where(missing, NO_LEVEL if unknown == "mark" else 0, codes)


def _place_unknown(
    attribute: Coded, series: pd.Series, codes: NDArray[Any], strange: NDArray[np.bool_], unknown: str
) -> NDArray[Any]:
    raw, labels = to_labels(series)
    if unknown == "error":
        first = int(np.argmax(strange))
        shown = one_line(", ".join(attribute.levels[:8]), 200) + (", ..." if len(attribute.levels) > 8 else "")
        raise InputError(
            attribute.name,
            f"Row {row_number(series, first)} has the value '{one_line(labels[raw[first]], QUOTED)}' in column "
            f"'{attribute.name}', which is none of its {len(attribute.levels)} levels ({shown}); declare it as a "
            "level or correct the row.",
        )
    nearest = {label: _nearest_level(attribute, labels[label]) for label in set(raw[strange].tolist())}
    placed = codes.copy()
    placed[strange] = [nearest[label] for label in raw[strange].tolist()]
    return placed


def _nearest_level(attribute: Coded, label: str) -> int:
    """Return the level for an unknown label: the nearest by value where an ordinal attribute's levels are numbers."""
    proper = len(attribute.levels) - attribute.has_missing
    if attribute.kind == "ordinal":
        levels = [_number(level) for level in attribute.levels[:proper]]
        value = _number(label)
        if value is not None and not math.isnan(value) and None not in levels:
            return int(np.argmin([abs(level - value) for level in levels if level is not None]))
    return proper if attribute.has_missing else 0


def decode(attribute: Coded, codes: NDArray[Any]) -> NDArray[Any]:
    """Return what codes (N,) stand for: bin mid-points (float, nan where missing) or labels (object, None)."""
    if attribute.kind == "numeric" and attribute.values is not None:
        return np.asarray(attribute.values[codes])
    labels = np.array(attribute.levels, dtype=object)
    if attribute.has_missing:
        labels[-1] = None
    return np.asarray(labels[codes])
