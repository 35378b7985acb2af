"""Local search over grid budgets: what a convex bound leaves unspent between the steps of a loss-budget curve."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from core.metric import dual_exponent
from core.waterfilling import fits

GAIN_TOLERANCE: Final = 1e-12
"""Saving, relative to the loss, below which a move is taken for rounding and not made."""
MAXIMUM_SWAPS: Final = 25
"""Exchanges between two groups tried after the greedy pass; in practice fewer than five are found."""

Vector = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class _Steps:
    """Grid budgets of K groups, (K, N), padded with budgets that cannot be paid.

    `cost` is (e / epsilon)^q, so that costs of an allocation that fits add up to at most 1; `loss` is weighted.
    """

    budget: Vector
    cost: Vector
    loss: Vector

    def at(self, level: NDArray[np.intp]) -> tuple[Vector, Vector]:
        """Return cost and loss (K, 1) at the chosen grid positions (K,)."""
        rows = np.arange(len(level))
        return self.cost[rows, level][:, None], self.loss[rows, level][:, None]


def spend_on_grid(grids: Sequence[Vector], losses: Sequence[Vector], start: Vector, epsilon: float, p: float) -> Vector:
    """Return grid budgets (K,) reached from `start` by single and paired moves that each lower the total loss.

    From the grid budgets at or below `start`, first the single rise that saves most loss per unit of
    (e / epsilon)^q is repeated while one fits, then exchanges: one group steps down to pay for another's rise.

    Parameters
    ----------
    grids : sequence of K ndarray
        Increasing grid budgets from 0 of each group.
    losses : sequence of K ndarray
        Weighted non-increasing loss at each of them.
    start : ndarray (K,)
        An allocation with ||start||_q <= epsilon.
    epsilon, p : float
        Total budget > 0 and exponent of the record metric, p > 1.

    Returns
    -------
    ndarray (K,)
        Budgets with ||.||_q, rounded up, at most epsilon; `start` itself where rounding leaves no such answer.
    """
    steps = _tabulate(grids, losses, epsilon, dual_exponent(p))
    level = np.array([np.searchsorted(g, e, side="right") - 1 for g, e in zip(grids, start, strict=True)])
    while _rise(steps, level):
        pass
    for _ in range(MAXIMUM_SWAPS):
        if not _exchange(steps, level):
            break
    budgets = steps.budget[np.arange(len(level)), level]
    return budgets if fits(budgets, epsilon, p) else start


def _tabulate(grids: Sequence[Vector], losses: Sequence[Vector], epsilon: float, q: float) -> _Steps:
    width = max(len(g) for g in grids)
    budget, loss = np.zeros((len(grids), width)), np.full((len(grids), width), math.inf)
    cost = np.full((len(grids), width), math.inf)
    for k, (g, values) in enumerate(zip(grids, losses, strict=True)):
        count = int(np.searchsorted(g, epsilon, side="right"))
        budget[k, :count], loss[k, :count] = g[:count], values[:count]
        cost[k, :count] = (g[:count] / epsilon) ** q
    return _Steps(budget, cost, loss)


def _rise(steps: _Steps, level: NDArray[np.intp]) -> bool:
    """Make the affordable rise that saves most loss per cost; return whether there was one."""
    cost, loss = steps.at(level)
    extra, saved = steps.cost - cost, np.where(np.isfinite(steps.loss), loss - steps.loss, -math.inf)
    good = (saved > GAIN_TOLERANCE * loss.sum()) & (extra <= 1.0 - cost.sum())
    if not good.any():
        return False
    rate = np.where(good, saved, 0.0) / np.maximum(np.where(good, extra, 1.0), 1e-300)
    k, j = np.unravel_index(int(rate.argmax()), rate.shape)
    level[k] = j
    return True


def _exchange(steps: _Steps, level: NDArray[np.intp]) -> bool:
    """Make the best move of two groups at once, one down and one up; return whether one saves loss."""
    cost, loss = steps.at(level)
    possible = np.isfinite(steps.loss)
    extra, saved = (steps.cost - cost)[possible], (loss - steps.loss)[possible]
    group, column = np.nonzero(possible)
    down, up = np.flatnonzero(extra < 0), np.flatnonzero(saved > 0)
    if not len(down) or not len(up):
        return False
    net = saved[down][:, None] + saved[up][None, :]
    fits = extra[down][:, None] + extra[up][None, :] <= 1.0 - cost.sum()
    net = np.where(fits & (group[down][:, None] != group[up][None, :]), net, 0.0)
    best = int(net.argmax())
    if net.flat[best] <= GAIN_TOLERANCE * loss.sum():
        return False
    for chosen in (down[best // len(up)], up[best % len(up)]):
        level[group[chosen]] = column[chosen]
    return True
