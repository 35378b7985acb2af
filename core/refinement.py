"""Adaptive refinement: more budgets on the loss-budget curves, where the allocation looks, until the gap closes."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from core.allocation import GroupBudgets, bound_by_steps, relative_error
from core.curves import LossCurve

Vector = NDArray[np.float64]
Progress = Callable[[float, str], None]
Allocate = Callable[[Sequence[LossCurve]], GroupBudgets]
Refine = Callable[[int, LossCurve, float], LossCurve]

TARGET: Final = 0.01
"""Error at which refinement ends: 1 % above the bound."""
ROUNDS: Final = 24
"""Rounds of refinement at most; every round halves the steps that hold the gap."""
SHARE: Final = 0.5
"""A group's step is divided while it holds more than this multiple of the gap allowed to the average group."""
NARROWEST: Final = 1.0 / 256.0
"""Width of a step, as a share of the total budget, below which it is not divided any further."""


@dataclass(frozen=True, eq=False)
class Refinement:
    """Curves with further budgets, and the allocation under them.

    Parameters
    ----------
    curves : tuple of K LossCurve
        The curves, refined.
    budgets : GroupBudgets
        The allocation under them.
    before, after : float
        Error (L - bound) / bound before and after, the bound being that over all budgets, those between the built
        ones included. For noise it supposes that between two budgets it loses no less than at the larger one.
    added : int
        Channels built on the way.
    """

    curves: tuple[LossCurve, ...]
    budgets: GroupBudgets
    before: float
    after: float
    added: int


@dataclass(frozen=True)
class RefinementProblem:
    """What the curves compete for.

    Parameters
    ----------
    intercept : float
        beta_0 of the surrogate.
    epsilon, p : float
        Total budget, exponent of the record metric.
    fixed : frozenset of int
        Groups that stay as they are, because one more channel of theirs takes too long.
    """

    intercept: float
    epsilon: float
    p: float
    fixed: frozenset[int] = frozenset()

    def judge(self, curves: Sequence[LossCurve], weights: Vector, loss: float) -> tuple[float, Vector]:
        """Return the error against the bound over all budgets, and where the steps that give the bound begin."""
        between = [replace(c, stepwise=False) for c in curves]
        bound, starts = bound_by_steps(between, weights, self.epsilon, self.p, intercept=self.intercept)
        return relative_error(loss, min(bound, loss))[0], starts


def refine_curves(
    curves: Sequence[LossCurve],
    beta: ArrayLike,
    problem: RefinementProblem,
    *,
    allocate: Allocate,
    refine: Refine,
    progress: Progress | None = None,
) -> Refinement:
    """Divide the steps that hold the gap until the error is at most `TARGET` or they are too narrow to matter.

    Each round allocates, bounds every allocation by the best choice of one step per curve (`bound_by_steps`), and
    builds a channel in the middle of those chosen steps whose fall beta_k (L_k(e_i) - l_k(e_{i+1})) holds more than
    its share of the gap. The loss never rises, as the budgets of before stay on offer.

    Parameters
    ----------
    curves : sequence of K LossCurve
        Loss-budget curves on their grids; those that are not certified stay as they are.
    beta : array_like (K,)
        Weights of the surrogate, >= 0.
    problem : RefinementProblem
        What they compete for. For p = 1 nothing is refined: every group may spend the total.
    allocate : callable (curves) -> GroupBudgets
        The allocation of the total budget.
    refine : callable (k, curve, epsilon) -> LossCurve
        Returns group k's curve with one more budget.
    progress : callable (fraction, sentence), optional
        Told before every channel; it may raise to stop.
    """
    weights = np.asarray(beta, dtype=float)
    present, tell = list(curves), progress or (lambda _fraction, _sentence: None)
    budgets = allocate(present)
    error, starts = problem.judge(present, weights, budgets.loss)
    before, added = error, 0
    for turn in range(ROUNDS if problem.p > 1.0 else 0):
        widths, allowed = NARROWEST * problem.epsilon, SHARE * TARGET * budgets.loss / max(len(present), 1)
        wanted = _choose(present, weights, starts, widths, allowed) if error > TARGET else []
        wanted = [(k, middle) for k, middle in wanted if k not in problem.fixed]
        if not wanted:
            break
        for i, (k, middle) in enumerate(wanted):
            tell(_reached(before, error, i / len(wanted)), f"round {turn + 1}, {error:.1%} above the bound")
            present[k] = refine(k, present[k], middle)
        added += len(wanted)
        budgets = allocate(present)
        error, starts = problem.judge(present, weights, budgets.loss)
    return Refinement(tuple(present), budgets, before, error, added)


def _reached(before: float, error: float, part: float) -> float:
    """Return how far refinement is, on a logarithmic scale from the first error to the target."""
    whole = math.log(max(before / TARGET, 1.001))
    return min(0.99, max(0.0, math.log(max(before, TARGET) / max(error, TARGET)) / whole + 0.05 * part))


def _choose(
    curves: Sequence[LossCurve], weights: Vector, starts: Vector, narrowest: float, allowed: float
) -> list[tuple[int, float]]:
    """Return (group, middle of the step) where the fall over the step is more than what is allowed."""
    found = []
    for k, (curve, weight) in enumerate(zip(curves, weights, strict=True)):
        grid = curve.epsilons
        at = int(np.searchsorted(grid, starts[k], side="right")) - 1
        if not curve.certified or at + 1 >= len(grid) or grid[at + 1] - grid[at] <= narrowest:
            continue
        if weight * (curve.upper[at] - curve.lower[at + 1]) > allowed:
            found.append((k, 0.5 * float(grid[at] + grid[at + 1])))
    return found
