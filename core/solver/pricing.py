"""Proofs that outputs need not be used: multipliers u_y >= 0 with B^T u_y <= costs_y - potentials.

On a line and on one nominal attribute the cheapest such multipliers follow from one sweep. Elsewhere they are found by
Newton steps from multipliers that are nearly right.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from core.solver.block_systems import FloatArray, Programme
from core.solver.reductions import RatioRows

NEWTON_STEPS: Final = 12
"""Most Newton steps of a fit; an output that takes more is used instead."""
_STEP_BACK: Final = 0.95
"""Share of the way to the boundary that a Newton step may take."""
_DEAREST: Final = 1e250
"""Largest multiplier of a sweep: sums of such still are numbers."""


def _afford(want: FloatArray, ratio: float) -> FloatArray:
    """Return want / ratio, bounded where the ratio vanishes: what costs so much proves nothing, but stays a number."""
    with np.errstate(over="ignore"):
        return np.minimum(want / max(ratio, np.finfo(float).tiny), _DEAREST)


def price_line(rows: RatioRows, epsilon: float, reduced: FloatArray) -> FloatArray:
    """Return the multipliers of a line's rows that carry every surplus and every want to the last point.

    With f_0 = g_0 and t = exp(-epsilon gap), a surplus f_k > 0 arrives at k + 1 as t f_k and a want f_k < 0 as f_k / t.
    All of g is then paid but g_n + ..., so an output is proven unused if and only if what arrives last is >= 0.

    Parameters
    ----------
    rows : RatioRows
        Rows of kind 'line'.
    epsilon : float
        The budget.
    reduced : ndarray of float (n, m)
        g = costs - potentials.
    """
    count = rows.states - 1
    ratio = rows.ratios(epsilon)[:count]
    multipliers = np.zeros((2 * count, reduced.shape[1]))
    carried = reduced[0].copy()
    for k in range(count):
        surplus, want = np.maximum(carried, 0.0), np.maximum(-carried, 0.0)
        multipliers[count + k] = surplus
        multipliers[k] = _afford(want, ratio[k])
        carried = reduced[k + 1] + ratio[k] * surplus - multipliers[k]
    return multipliers


def price_nominal(rows: RatioRows, epsilon: float, reduced: FloatArray) -> FloatArray:
    """Return the multipliers of nominal rows that pay every want from the surpluses, as far as they go.

    A want g_x < 0 draws |g_x| exp(epsilon d) from the auxiliary; surpluses give it. An output is proven unused if and
    only if sum_x min(g, 0) + exp(-epsilon d) sum_x max(g, 0) >= 0.

    Parameters
    ----------
    rows : RatioRows
        Rows of kind 'nominal'.
    epsilon : float
        The budget.
    reduced : ndarray of float (n, m)
        g = costs - potentials.
    """
    ratio = float(rows.ratios(epsilon)[-1])
    wanted = _afford(np.maximum(-reduced, 0.0), ratio)
    surplus = np.maximum(reduced, 0.0)
    given, drawn = surplus.sum(axis=0), wanted.sum(axis=0)
    short = np.minimum(1.0, given / np.where(drawn > 0, drawn, 1.0))
    return np.concatenate([surplus, np.where(drawn > 0, short, 1.0) * wanted])


def price(rows: RatioRows, epsilon: float, reduced: FloatArray) -> FloatArray:
    """Return the cheapest multipliers on a line or one nominal attribute; see `price_line` and `price_nominal`."""
    return price_line(rows, epsilon, reduced) if rows.kind == "line" else price_nominal(rows, epsilon, reduced)


def fit_multipliers(
    programme: Programme, reduced: FloatArray, start: FloatArray
) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Return multipliers u > 0 with B^T u = (0, reduced) by Newton steps, and which outputs were closed.

    Each step is the change of least norm relative to u itself, cut short of the boundary.

    Parameters
    ----------
    programme : Programme
        Rows of any kind, with their budget and linear algebra.
    reduced : ndarray of float (n, m)
        costs - potentials of the outputs to prove, preferably with a little to spare.
    start : ndarray of float (r, m)
        First multipliers > 0.

    Returns
    -------
    multipliers : ndarray of float (r, m)
        Positive; only closed outputs satisfy the equation.
    closed : ndarray of bool (m,)
        Whether the last step was a full one.
    """
    forward, backward = programme.forward, programme.backward
    goal = np.concatenate([np.zeros((programme.rows.auxiliaries, reduced.shape[1])), reduced])
    multipliers = start.copy()
    closed = np.zeros(reduced.shape[1], bool)
    for _ in range(NEWTON_STEPS):
        todo = np.flatnonzero(~closed)
        if not len(todo):
            break
        u = multipliers[:, todo]
        weights = u * u
        try:
            factor = programme.system.factor(weights)
        except np.linalg.LinAlgError:
            break
        change = weights * (forward @ factor.solve(goal[:, todo] - backward @ u))
        worst = (change / u).min(axis=0)
        full = worst > -_STEP_BACK
        length = np.where(full, 1.0, _STEP_BACK / np.maximum(-worst, _STEP_BACK))
        if not np.isfinite(change).all():
            break
        multipliers[:, todo] = u + length * change
        closed[todo[full]] = True
    return multipliers, closed
