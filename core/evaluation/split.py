"""Which rows configure a mechanism and which are perturbed, and the table of the former."""

import dataclasses
import hashlib
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from core.domain import complete_specs
from core.errors import InputError
from core.scenario import AttributeSpec, Scenario
from core.table import Table

FITTING_SHARE: Final = 0.625
"""Share of the rows that configure (paper, section 4.1)."""
LEAST_ROWS: Final = 16
"""Rows below which a split leaves nothing to judge on."""
_STREAM: Final = 10
"""Separates the split's random numbers from those of the design."""


@dataclass(frozen=True, eq=False)
class Split:
    """Rows of a table, each in increasing order.

    Parameters
    ----------
    fitting : ndarray of int64
        Rows that configure.
    test : ndarray of int64
        Rows that are perturbed; nothing is configured on them.
    """

    fitting: NDArray[np.int64]
    test: NDArray[np.int64]


def split_rows(rows: NDArray[np.int64], seed: int, *, share: float = FITTING_SHARE, stream: int = _STREAM) -> Split:
    """Split rows at random, reproducibly.

    Parameters
    ----------
    rows : ndarray of int64 (N,)
        Rows to share out.
    seed : int
        Seed of the scenario.
    share : float
        Share that configures.
    stream : int
        Another stream gives another, independent split.

    Raises
    ------
    InputError
        If there are too few rows.

    Examples
    --------
    >>> split = split_rows(np.arange(16), 0)
    >>> len(split.fitting), len(split.test), sorted({*split.fitting.tolist(), *split.test.tolist()}) == list(range(16))
    (10, 6, True)
    """
    if len(rows) < LEAST_ROWS:
        raise InputError(
            "table", f"An evaluation needs at least {LEAST_ROWS} rows to split, not {len(rows)}; bring a longer table."
        )
    order = np.random.default_rng([seed, stream]).permutation(rows)
    count = round(share * len(rows))
    return Split(np.sort(order[:count]), np.sort(order[count:]))


def fitting_table(table: Table, rows: NDArray[np.int64]) -> Table:
    """Return the table of some rows, with a digest of its own."""
    digest = f"{table.digest}/{len(rows)}/{hashlib.sha256(rows.tobytes()).hexdigest()[:16]}"
    return dataclasses.replace(table, frame=table.frame.iloc[rows].reset_index(drop=True), digest=digest)


def pin_columns(table: Table, scenario: Scenario) -> Scenario:
    """Return the scenario with what a column *is* fixed as the whole table says, but nothing of what it holds.

    Whether a column takes part, its kind and what becomes of its missing values are public decisions about a table; a
    part of its rows must not change them. Bounds, bins, levels, priors and losses are still taken from the rows.
    """
    for spec in complete_specs(table, scenario):
        own = scenario.spec(spec.column)
        scenario = scenario.with_spec(
            AttributeSpec(
                **{f.name: getattr(own, f.name) for f in dataclasses.fields(own)}
                | {"include": spec.include, "kind": spec.kind, "missing": spec.missing}
            )
        )
    return scenario
