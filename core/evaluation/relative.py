"""Figures that summarise a comparison: relative reductions, their range and mean, and the largest relative error."""

from collections.abc import Sequence
from typing import Final

import pandas as pd

from core.evaluation.methods import find_method

PAIRS: Final = (
    ("ALC+RMP", "SPL+RMP"),
    ("DepHDP-m", "ALC+RMP"),
    ("DepHDP-m", "SPL+DPN"),
    ("DepHDP-r", "ALC+RMP"),
    ("DepHDP tuned", "ALC+RMP"),
    ("DepHDP tuned", "DepHDP-m"),
    ("DepHDP tuned", "zero information"),
    ("DepHDP-m-s", "DepHDP-m"),
    ("DepHDP-r-s", "DepHDP-r"),
)
"""(method, reference) whose losses are compared; the first seven are reductions, the last two the cost of a split."""


def reductions(frame: pd.DataFrame, method: str, reference: str, column: str = "loss") -> pd.Series:
    """Return 100 (reference - method) / reference per epsilon, in percent; nan where the reference loses nothing.

    Parameters
    ----------
    frame : DataFrame
        From `evaluate`, or any table with method, epsilon and the column.
    method, reference : str
        Methods in it.
    column : str
        What is compared.

    Examples
    --------
    >>> frame = pd.DataFrame({"method": ["a", "b"], "epsilon": [1.0, 1.0], "loss": [3.0, 4.0]})
    >>> reductions(frame, "a", "b").tolist()
    [25.0]
    """
    wide = frame.pivot(index="epsilon", columns="method", values=column)
    base = wide[reference].where(wide[reference] > 0)
    return 100.0 * (base - wide[method]) / base


def compare_pairs(frame: pd.DataFrame, pairs: Sequence[tuple[str, str]] = PAIRS, column: str = "loss") -> pd.DataFrame:
    """Return least, mean and largest reduction over the budgets, for the pairs whose methods are both there.

    Returns
    -------
    DataFrame
        method, reference, least, mean, largest; percent, positive where the method loses less.
    """
    present = set(frame["method"])
    rows = []
    for method, reference in pairs:
        if {method, reference} <= present:
            found = reductions(frame, method, reference, column)
            rows.append((method, reference, found.min(), found.mean(), found.max()))
    return pd.DataFrame(rows, columns=["method", "reference", "least", "mean", "largest"])


def largest_relative_error(frame: pd.DataFrame) -> pd.Series:
    """Return the largest RelErr = (L - Llower) / Llower over the budgets per method with channels, in percent."""
    kept = frame[[find_method(name).measure == "channels" for name in frame["method"]]]
    return 100.0 * kept.groupby("method", sort=False)["relative_error"].max()
