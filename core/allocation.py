"""Sharing one record-level budget among groups: minimise beta_0 + sum_k beta_k L_k(eps_k), ||eps||_q <= eps."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from core.curves import LossCurve
from core.envelopes import PiecewiseLinear, lower_envelope
from core.errors import InputError
from core.grid_search import spend_on_grid
from core.knapsack import count_units, solve_knapsack
from core.metric import dual_exponent, uniform_split
from core.waterfilling import (
    equalise_slopes,
    fill_by_slope,
    fits,
    gain_at,
    gather_segments,
    shrink_to_fit,
    snap_to_knots,
)

ROUNDING: Final = 2.0**-44
"""Relative pad of a lower bound: far above the rounding of sums of a few dozen terms, far below anything shown."""

Vector = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Allocation:
    """A budget per group.

    Parameters
    ----------
    epsilons : ndarray (K,)
        Budget of each group; ||epsilons||_q, rounded up, never exceeds the total.
    value : float
        beta_0 + sum_k beta_k L_k(eps_k) for the functions that were allocated to, in units of loss.
    multiplier : float
        Loss saved per unit of total budget at the optimum, -d value / d epsilon.
    q : float
        Exponent of the budget's norm, 1/p + 1/q = 1.
    bound : float
        Lagrangian lower bound on the value of every allocation that fits the total; equals `value` up to rounding.
    """

    epsilons: Vector
    value: float
    multiplier: float
    q: float
    bound: float


def allocate(
    envelopes: Sequence[PiecewiseLinear], beta: ArrayLike, epsilon: float, p: float, *, intercept: float = 0.0
) -> Allocation:
    """Minimise intercept + sum_k beta_k L_k(eps_k) over eps >= 0 with ||eps||_q <= epsilon, 1/p + 1/q = 1.

    p = 1 (q = inf) gives every group the whole budget. p = inf (q = 1) fills segments by steepest slope and stops
    inside the last. In between, the multiplier mu of the constraint is found among the values at which a segment
    begins or ends, then in closed form: inside a segment of slope -m, eps_k = epsilon (m / mu)^(p - 1).
    Of equal losses the smallest budget is chosen (except for p = 1, where nothing is shared).

    Parameters
    ----------
    envelopes : sequence of K PiecewiseLinear
        Convex non-increasing L_k from budget 0, constant after their last knot.
    beta : array_like (K,)
        Weights >= 0.
    epsilon : float
        Total budget >= 0.
    p : float
        Exponent of the record metric, 1 <= p <= inf.
    intercept : float
        beta_0.

    Raises
    ------
    InputError
        If the budget or p is out of range.
    ValueError
        If there is no group, a weight is negative, or a function does not start at budget 0.

    Notes
    -----
    "Beyond Monolithic Perturbation", eq. 34 and appendices B.1 and C.

    Examples
    --------
    >>> line = PiecewiseLinear([0.0, 10.0], [10.0, 0.0])
    >>> allocate([line, line], [3.0, 4.0], 5.0, 2.0).epsilons.round(9).tolist()
    [3.0, 4.0]
    """
    weights = _check(envelopes, beta, epsilon)
    q = dual_exponent(p)
    segments = gather_segments(envelopes, weights, epsilon)
    if math.isinf(q) or epsilon == 0.0:
        budgets, multiplier = np.full(len(weights), float(epsilon)), gain_at(segments, epsilon)
    elif q == 1.0:
        budgets, multiplier = fill_by_slope(segments, epsilon)
    else:
        budgets, multiplier = equalise_slopes(segments, epsilon, p)
    excess = 0.0 if math.isinf(q) or epsilon == 0.0 else float(((budgets / epsilon) ** q).sum() - 1.0) / q
    bound = _value(envelopes, weights, budgets) + multiplier * epsilon * excess
    bound -= ROUNDING * (abs(intercept) + abs(bound) + multiplier * epsilon)
    budgets = shrink_to_fit(snap_to_knots(budgets, segments, epsilon, p), segments, epsilon, p)
    return Allocation(budgets, intercept + _value(envelopes, weights, budgets), multiplier, q, intercept + bound)


def _check(envelopes: Sequence[PiecewiseLinear], beta: ArrayLike, epsilon: float) -> Vector:
    if not 0.0 <= epsilon < math.inf:
        raise InputError("epsilon", f"The total budget must be a number from 0, not {epsilon:g}.")
    weights = np.asarray(beta, dtype=float)
    if not len(envelopes) or weights.shape != (len(envelopes),):
        raise ValueError("an allocation needs one weight per group and at least one group")
    if not (np.isfinite(weights).all() and (weights >= 0).all()):
        raise ValueError("the weights of the groups must be finite and not negative")
    if any(f.knots[0] != 0.0 for f in envelopes):
        raise ValueError("every loss function must start at budget 0")
    return weights


def _value(envelopes: Sequence[PiecewiseLinear], weights: Vector, budgets: Vector) -> float:
    return math.fsum(w * float(f(e)) for f, w, e in zip(envelopes, weights, budgets, strict=True))


def allocate_uniform(count: int, epsilon: float, p: float) -> Allocation:
    """Return the equal split eps_k = epsilon / count^(1/q); its value and multiplier are nan, as no loss is looked at.

    Examples
    --------
    >>> allocate_uniform(4, 2.0, 2.0).epsilons.tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    budgets = np.full(count, uniform_split(epsilon, count, p))
    return Allocation(budgets, math.nan, math.nan, dual_exponent(p), math.nan)


@dataclass(frozen=True, eq=False)
class GroupBudgets:
    """The chosen budget per group, with the sandwich around the optimum (Proposition 2).

    Parameters
    ----------
    epsilons : ndarray (K,)
        Budget of each group; ||epsilons||_q, rounded up, never exceeds the total.
    loss : float
        beta_0 + sum_k beta_k L_k(epsilons_k) under the curves, in units of loss.
    lower_bound : float
        Llower: no allocation of the total to these curves loses less.
    lower_certified : bool
        Whether every curve that Llower rests on is certified; otherwise it is an estimate.
    relative_error : float
        RelErr = (loss - lower_bound) / lower_bound; the plain difference where the bound is 0 (see `relative`).
    relative : bool
        Whether `relative_error` is a ratio.
    sandwich_error : float
        The same error against the bound of the convex envelopes alone, as the paper measures it.
    source : str
        Which candidate won: "lower envelope", "upper envelope", "grid" or "uniform split".
    allocation : Allocation
        The optimum of the lower envelopes; its multiplier is the loss saved per unit of total budget.
    """

    epsilons: Vector
    loss: float
    lower_bound: float
    lower_certified: bool
    relative_error: float
    relative: bool
    sandwich_error: float
    source: str
    allocation: Allocation


def allocate_group_budgets(
    curves: Sequence[LossCurve], beta: ArrayLike, intercept: float, epsilon: float, p: float, *, uniform: bool = False
) -> GroupBudgets:
    """Return the best of the candidate allocations under the curves, and the bound on how much better any could be.

    Candidates are the optimum of the upper envelopes, that of the lower envelopes, the equal split, and each of
    them, and the knapsack over grid budgets, moved to the grid by `spend_on_grid`. Llower is the larger of the lower
    envelopes' optimal value (the sandwich) and the knapsack over steps, which does not suffer from curves that are
    not convex.

    Parameters
    ----------
    curves : sequence of K LossCurve
        The loss-budget curve of each group.
    beta : array_like (K,)
        Weights of the surrogate, >= 0.
    intercept : float
        beta_0 >= 0.
    epsilon, p : float
        Total budget and exponent of the record metric.
    uniform : bool
        Take the equal split instead; Llower stays that of the best allocation.

    Raises
    ------
    InputError
        If the budget or p is out of range.

    Notes
    -----
    "Beyond Monolithic Perturbation", section 3.6 and Proposition 2.
    """
    weights = np.asarray(beta, dtype=float)
    lowest = allocate([_lower_function(c, epsilon) for c in curves], weights, epsilon, p, intercept=intercept)
    candidates = {"uniform split": allocate_uniform(len(curves), epsilon, p).epsilons}
    if not uniform:
        highest = allocate([c.upper_envelope for c in curves], weights, epsilon, p, intercept=intercept)
        candidates = {"upper envelope": highest.epsilons, "lower envelope": lowest.epsilons, **candidates}
    losses = {name: evaluate(curves, weights, e, intercept=intercept) for name, e in candidates.items()}
    if not uniform and p > 1.0 and epsilon > 0.0:
        starts = [*candidates.values(), _knapsack_start(curves, weights, epsilon, p)]
        moved = [_move_to_grid(curves, weights, e, epsilon, p) for e in starts]
        reached = [evaluate(curves, weights, e, intercept=intercept) for e in moved]
        best = int(np.argmin(reached))
        candidates["grid"], losses["grid"] = moved[best], reached[best]
    source = min(losses, key=lambda name: losses[name])
    # No group ever gets more than the total, so the curves' own bounds there are a second lower bound.
    alone = intercept + math.fsum(w * c.lower_at(epsilon) for c, w in zip(curves, weights, strict=True))
    sandwich = min(max(lowest.bound, alone * (1.0 - ROUNDING)), losses[source])
    bound = min(max(sandwich, bound_by_steps(curves, weights, epsilon, p, intercept=intercept)[0]), losses[source])
    error, relative = relative_error(losses[source], bound)
    certified = all(c.certified for c, w in zip(curves, weights, strict=True) if w > 0)
    return GroupBudgets(
        epsilons=candidates[source],
        loss=losses[source],
        lower_bound=bound,
        lower_certified=certified,
        relative_error=error,
        relative=relative,
        sandwich_error=relative_error(losses[source], sandwich)[0],
        source=source,
        allocation=lowest,
    )


def bound_by_steps(
    curves: Sequence[LossCurve], weights: Vector, epsilon: float, p: float, *, intercept: float = 0.0
) -> tuple[float, Vector]:
    """Return a bound below the loss of every allocation, and the budgets (K,) at which the steps that give it begin.

    A budget on the step from e_i costs at least (e_i / epsilon)^q and loses at least the bound at the step's end. So
    the knapsack over steps, costs rounded down, is a bound that no convexity has weakened: it closes as steps shrink.

    Parameters
    ----------
    curves : sequence of K LossCurve
        The loss-budget curves.
    weights : ndarray (K,)
        beta, >= 0.
    epsilon, p, intercept : float
        Total budget, exponent of the record metric, beta_0.

    Returns
    -------
    (float, ndarray)
        For p = 1 every group may spend the total: the bound is then 0, and the budgets the total.
    """
    if not (p > 1.0 and epsilon > 0.0):
        return 0.0, np.full(len(curves), epsilon)
    costs, values, grids = [], [], []
    for curve, weight in zip(curves, weights, strict=True):
        grid = curve.epsilons[curve.epsilons <= epsilon]
        # A step function is what it is up to its next step; another curve is only known at that next budget.
        ends = (
            curve.lower[: len(grid)]
            if curve.stepwise
            else np.append(curve.lower[1 : len(grid)], curve.lower_at(epsilon))
        )
        grids.append(grid)
        costs.append(count_units(grid, epsilon, dual_exponent(p), up=False))
        values.append(weight * ends)
    found, chosen = solve_knapsack(costs, values)
    return (intercept + found) * (1.0 - ROUNDING), np.array([g[i] for g, i in zip(grids, chosen, strict=True)])


def _knapsack_start(curves: Sequence[LossCurve], weights: Vector, epsilon: float, p: float) -> Vector:
    """Return the best grid budgets whose costs, each rounded up, add up to at most the total."""
    q = dual_exponent(p)
    grids = [c.epsilons[c.epsilons <= epsilon] for c in curves]
    losses = [w * c.upper[: len(g)] for c, g, w in zip(curves, grids, weights, strict=True)]
    _, chosen = solve_knapsack([count_units(g, epsilon, q, up=True) for g in grids], losses)
    budgets = np.array([g[i] for g, i in zip(grids, chosen, strict=True)])
    return budgets if fits(budgets, epsilon, p) else np.zeros(len(curves))


def _lower_function(curve: LossCurve, epsilon: float) -> PiecewiseLinear:
    """Return the convex function below a curve up to the total budget; beyond its grid only 0 is known."""
    if curve.stepwise or epsilon <= curve.epsilons[-1]:
        return curve.lower_envelope
    return lower_envelope(np.append(curve.epsilons, epsilon), np.append(curve.lower, 0.0))


def _move_to_grid(curves: Sequence[LossCurve], weights: Vector, start: Vector, epsilon: float, p: float) -> Vector:
    """Return grid budgets that lose no more than `start`; what stays unspent goes to curves that may use it.

    A channel can be solved between grid budgets unless its curve is stepwise; so all others with a weight are scaled
    up by one factor until the total is spent, which never raises the loss under the curves.
    """
    losses = [w * c.upper for c, w in zip(curves, weights, strict=True)]
    budgets = spend_on_grid([c.epsilons for c in curves], losses, start, epsilon, p)
    q = dual_exponent(p)
    open_ended = np.array([not c.stepwise for c in curves]) & (weights > 0)
    cost = (budgets / epsilon) ** q
    spent, room = float(cost[open_ended].sum()), 1.0 - float(cost.sum())
    if spent <= 0.0 or room <= 0.0:
        return budgets
    factor = ((spent + room) / spent) ** (1.0 / q) * (1.0 - 1e-12)
    scaled = np.where(open_ended, budgets * max(factor, 1.0), budgets)
    return scaled if fits(scaled, epsilon, p) else budgets


def evaluate(curves: Sequence[LossCurve], beta: ArrayLike, epsilons: ArrayLike, *, intercept: float = 0.0) -> float:
    """Return intercept + sum_k beta_k L_k(epsilons_k), each L_k as the step function of its curve."""
    pairs = zip(curves, np.asarray(beta, dtype=float), np.asarray(epsilons, dtype=float), strict=True)
    return intercept + math.fsum(w * curve.loss_at(float(e)) for curve, w, e in pairs)


def relative_error(loss: float, bound: float) -> tuple[float, bool]:
    """Return ((loss - bound) / bound, True), or the plain difference and False where the bound is 0.

    Examples
    --------
    >>> relative_error(1.5, 1.0), relative_error(0.0, 0.0), relative_error(0.25, 0.0)
    ((0.5, True), (0.0, True), (0.25, False))
    """
    excess = max(loss - bound, 0.0)
    if excess == 0.0:
        return 0.0, True
    return (excess / bound, True) if bound > 0 else (excess, False)
