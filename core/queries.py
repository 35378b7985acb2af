"""One whole number asked of a table: how many rows hold a level, or a sum between public bounds."""

from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from core.domain import Records
from core.errors import InputError

BOUND_LIMIT: Final = 10_000
"""Largest bound of a summed value: beyond it the noise of one person drowns every sum."""


@dataclass(frozen=True)
class TableQuery:
    """A whole number computed from a table.

    Parameters
    ----------
    title : str
        What is asked, in plain words with names as in the table.
    value : int
        The true answer; whoever runs the query knows it, nobody else should.
    sensitivity : int
        How far one row more or less moves it.
    rows : int
        Rows that were read.
    """

    title: str
    value: int
    sensitivity: int
    rows: int


def count_rows(records: Records, attribute: int, level: int) -> TableQuery:
    """Return how many rows have `level` of `attribute`; one row moves it by 1.

    Parameters
    ----------
    records : Records
        The coded table.
    attribute, level : int
        Positions of an attribute and of one of its levels.

    Raises
    ------
    InputError
        If there is no such attribute or level.
    """
    if not 0 <= attribute < len(records.attributes) or not 0 <= level < records.attributes[attribute].size:
        raise InputError("The query", "The query names a column or level that the table does not have; pick another.")
    chosen = records.attributes[attribute]
    value = int(np.count_nonzero(records.codes[:, attribute] == level))
    return TableQuery(f"Rows with {chosen.name} = {chosen.levels[level]}", value, 1, len(records))


def count_levels(records: Records, attribute: int) -> NDArray[np.int64]:
    """Return how many rows have each level of an attribute, (m,)."""
    return np.bincount(records.codes[:, attribute], minlength=records.attributes[attribute].size).astype(np.int64)


def numeric_columns(frame: pd.DataFrame) -> tuple[str, ...]:
    """Return the columns of a table whose values are numbers."""
    return tuple(
        str(name)
        for name in frame.columns
        if pd.api.types.is_numeric_dtype(frame[name]) and not pd.api.types.is_bool_dtype(frame[name])
    )


def sum_column(frame: pd.DataFrame, column: str, low: int, high: int) -> TableQuery:
    """Return the sum of a column whose values are moved into [low, high] and rounded, missing ones left out.

    One row more or less moves it by at most max(|low|, |high|). The bounds must be public: bounds chosen after a look
    at the data reveal something of them.

    Parameters
    ----------
    frame : DataFrame
        The table.
    column : str
        One of `numeric_columns`.
    low, high : int
        Public bounds, whole numbers.

    Raises
    ------
    InputError
        If the column holds no numbers, or the bounds are out of range, equal or in the wrong order.
    """
    if column not in numeric_columns(frame):
        raise InputError("The column", "Only a column of numbers can be summed; pick another column.")
    if not -BOUND_LIMIT <= low < high <= BOUND_LIMIT:
        raise InputError(
            "The bounds of the sum",
            f"The bounds of the sum must be whole numbers from {-BOUND_LIMIT} to {BOUND_LIMIT} with the lower one "
            f"first, not {low} and {high}; take what the values can be, not what they are.",
        )
    values = frame[column].to_numpy(dtype=float, na_value=np.nan)
    known = values[np.isfinite(values)]
    total = int(np.rint(np.clip(known, low, high)).astype(np.int64).sum())
    return TableQuery(f"Sum of {column}, each from {low} to {high}", total, max(abs(low), abs(high)), len(known))
