"""One grid budget per group at a common cost: the multiple-choice knapsack, solved by dynamic programming."""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

UNITS: Final = 4096
"""The total (epsilon / epsilon)^q = 1 is counted in this many units; K groups lose at most K units to rounding."""

Vector = NDArray[np.float64]
Whole = NDArray[np.int64]


def solve_knapsack(costs: Sequence[Whole], losses: Sequence[Vector], units: int = UNITS) -> tuple[float, list[int]]:
    """Return the least total loss, and the choices that reach it, with one choice per group and bounded total cost.

    min sum_k losses[k][i_k] subject to sum_k costs[k][i_k] <= units.

    Parameters
    ----------
    costs : sequence of K ndarray of int64
        Cost of every choice of each group, >= 0; at least one choice of each group costs 0.
    losses : sequence of K ndarray
        Loss of every choice.
    units : int
        What may be spent.

    Raises
    ------
    ValueError
        If a group has no choice at cost 0.

    Notes
    -----
    H. Kellerer, U. Pferschy and D. Pisinger (2004), "Knapsack Problems", section 11.5: K N units steps.

    Examples
    --------
    >>> solve_knapsack([np.array([0, 2, 3]), np.array([0, 2])], [np.array([5.0, 3.0, 1.0]), np.array([4.0, 1.0])], 4)
    (4.0, [1, 1])
    """
    best = np.zeros(units + 1)
    taken: list[Whole] = []
    for cost, loss in zip(costs, losses, strict=True):
        if not (cost == 0).any():
            raise ValueError("every group needs a choice that costs nothing")
        reached, choice = np.full(units + 1, np.inf), np.zeros(units + 1, dtype=np.int64)
        for i in np.flatnonzero(cost <= units).tolist():
            spent = int(cost[i])
            offered = best[: units + 1 - spent] + loss[i]
            better = offered < reached[spent:]
            reached[spent:][better] = offered[better]
            choice[spent:][better] = i
        best = reached
        taken.append(choice)
    left, chosen = units, []
    for cost, choice in zip(reversed(costs), reversed(taken), strict=True):
        chosen.append(int(choice[left]))
        left -= int(cost[chosen[-1]])
    return float(best[units]), chosen[::-1]


def count_units(grid: Vector, epsilon: float, q: float, *, up: bool, units: int = UNITS) -> Whole:
    """Return (grid / epsilon)^q in units, rounded up or down past the rounding of the power itself.

    Parameters
    ----------
    grid : ndarray (N,)
        Budgets from 0.
    epsilon, q : float
        Total budget > 0 and dual exponent, finite.
    up : bool
        Up: choices that fit in units fit the budget. Down: budgets that fit, fit in units.
    units : int
        What the total counts.
    """
    with np.errstate(over="ignore"):
        share = np.minimum((grid / epsilon) ** q, 2.0) * units
    margin = 1e-12 * units
    rounded = np.ceil(share + margin) if up else np.floor(np.maximum(share - margin, 0.0))
    return np.where(grid == 0.0, 0.0, rounded).astype(np.int64)
