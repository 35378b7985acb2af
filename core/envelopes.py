"""Convex bounds of a loss-budget curve: shift first, then convexify, on any increasing grid of budgets."""

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from core.errors import SolverError
from core.linear_program import LinearProgram, solve_linear_program

SHAPE_TOLERANCE: Final = 1e-9
"""Departure from convexity or monotonicity, relative to the range of values, that is taken for rounding."""

Vector = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PiecewiseLinear:
    """A convex, non-increasing, piecewise linear function on [knots[0], infinity), constant after the last knot.

    Parameters
    ----------
    knots : ndarray (n,)
        Increasing budgets, epsilon per unit of distance.
    values : ndarray (n,)
        Value at each knot, in units of loss.

    Raises
    ------
    ValueError
        If the knots do not increase, or the values are not finite, non-increasing and convex.

    Examples
    --------
    >>> f = PiecewiseLinear([0.0, 1.0, 3.0], [4.0, 2.0, 1.0])
    >>> f(2.0)
    1.5
    >>> f.slopes.tolist()
    [-2.0, -0.5]
    """

    knots: Vector
    values: Vector

    def __post_init__(self) -> None:
        knots, values = np.array(self.knots, dtype=float), np.array(self.values, dtype=float)
        check_points(knots, values)
        slack = SHAPE_TOLERANCE * (np.ptp(values) + np.abs(values).max() * 1e-3)
        if np.any(np.diff(values) > slack):
            raise ValueError("the values of a loss bound must not increase")
        if len(knots) > 2:
            left = (knots[2:] - knots[1:-1]) / (knots[2:] - knots[:-2])
            if np.any(values[1:-1] - left * values[:-2] - (1.0 - left) * values[2:] > slack):
                raise ValueError("the values of a loss bound must be convex")
        for name, array in (("knots", knots), ("values", values)):
            array.flags.writeable = False
            object.__setattr__(self, name, array)

    def __call__(self, epsilon: ArrayLike) -> float | Vector:
        """Return the value at one budget or at an array of budgets, none below the first knot."""
        result = np.interp(np.asarray(epsilon, dtype=float), self.knots, self.values)
        return float(result) if np.ndim(epsilon) == 0 else result

    @cached_property
    def slopes(self) -> Vector:
        """Slope of each of the n - 1 segments, non-decreasing and never positive (rounding is removed)."""
        raw = np.diff(self.values) / np.diff(self.knots)
        return np.minimum(np.maximum.accumulate(raw), 0.0) if len(raw) else raw

    @property
    def breakpoints(self) -> Vector:
        """Inner knots at which the slope changes."""
        slopes = self.slopes
        return self.knots[1:-1][np.diff(slopes) > SHAPE_TOLERANCE * np.abs(slopes[:-1])]


def check_points(knots: Vector, values: Vector) -> None:
    """Check that points of a curve are finite and their budgets increasing.

    Raises
    ------
    ValueError
        If they are not.
    """
    if knots.ndim != 1 or knots.shape != values.shape or not len(knots):
        raise ValueError("a curve needs as many values as budgets, at least one")
    if not (np.isfinite(knots).all() and np.isfinite(values).all()):
        raise ValueError("the budgets and values of a curve must be finite")
    if np.any(np.diff(knots) <= 0):
        raise ValueError("the budgets of a curve must increase")


def greatest_convex_minorant(knots: ArrayLike, values: ArrayLike) -> PiecewiseLinear:
    """Return the greatest convex function below the points, which is their lower convex hull.

    The function solves LP 36 (maximise the sum of values under convexity and u_i <= values_i). Only the vertices of
    the hull are kept as knots, with their values unchanged.

    Parameters
    ----------
    knots, values : array_like (n,)
        Points of a non-increasing curve, budgets increasing.

    Examples
    --------
    >>> greatest_convex_minorant([0, 1, 2, 3], [4.0, 3.5, 1.0, 1.0]).knots.tolist()
    [0.0, 2.0, 3.0]
    """
    x, y = np.asarray(knots, dtype=float), np.asarray(values, dtype=float)
    check_points(x, y)
    hull: list[int] = []
    for i in range(len(x)):
        # Drop the last vertex while it lies on or above the chord from the one before it to point i.
        while len(hull) > 1 and not _turns_up(x, y, (hull[-2], hull[-1], i)):
            hull.pop()
        hull.append(i)
    return PiecewiseLinear(x[hull], y[hull])


def _turns_up(x: Vector, y: Vector, triple: tuple[int, int, int]) -> bool:
    a, b, c = triple
    return bool((y[b] - y[a]) * (x[c] - x[b]) < (y[c] - y[b]) * (x[b] - x[a]))


def least_convex_majorant(knots: ArrayLike, values: ArrayLike) -> PiecewiseLinear:
    """Return the convex function above the points whose values at the knots have the least sum (LP 37).

    Pointwise there is no least one, as the minimum of two convex functions need not be convex; the sum decides.
    The function is written u(e) = a + sum_j s_j max(e_j - e, 0) with s >= 0, so that it is convex and non-increasing
    by construction; neither costs anything, since the running minimum of a convex majorant of non-increasing points
    is one too. What the solver's tolerance leaves below a point is lifted, so no value is ever under its point.

    Parameters
    ----------
    knots, values : array_like (n,)
        Points of a non-increasing curve, budgets increasing.

    Raises
    ------
    ValueError
        If the values increase.
    SolverError
        If HiGHS does not report an optimum.

    Examples
    --------
    >>> least_convex_majorant([0, 1, 3], [3.0, 3.0, 1.0]).values.round(9).tolist()
    [4.0, 3.0, 1.0]
    """
    x, y = np.asarray(knots, dtype=float), np.asarray(values, dtype=float)
    check_points(x, y)
    if np.any(np.diff(y) > 0):
        raise ValueError("the values of a curve to be majorised must not increase")
    span = float(y[0] - y[-1])
    if span == 0.0:
        return PiecewiseLinear(x, y)
    hinge = np.maximum(x[None, 1:] - x[:, None], 0.0) / (x[-1] - x[0])
    basis = np.column_stack([np.ones(len(x)), hinge])
    fitted = basis @ _least_coefficients(basis, (y - y[-1]) / span)
    lifted = y[-1] + span * fitted
    lifted = lifted + max(0.0, float((y - lifted).max()))
    return PiecewiseLinear(x, np.maximum(lifted, y))


def _least_coefficients(basis: Vector, target: Vector) -> Vector:
    """Minimise the sum of basis @ c over c >= 0 with basis @ c >= target; everything is scaled to [0, 1]."""
    unbounded = np.full(len(target), np.inf)
    program = LinearProgram(basis.sum(axis=0), sp.csr_array(basis), target, unbounded)
    answer = solve_linear_program(program, method="simplex")
    if answer.status != "optimal":
        raise SolverError(f"The convex upper bound of a loss curve was not found (HiGHS stopped: {answer.status}).")
    return np.maximum(answer.values, 0.0)


def lower_envelope(epsilons: ArrayLike, lower: ArrayLike) -> PiecewiseLinear:
    """Return a convex function below every non-increasing curve L with L(e_i) >= lower_i.

    On [e_i, e_{i+1}] such a curve is at least lower_{i+1}; so the envelope is the lower convex hull of the points
    (e_i, lower_{i+1}), i < N, and (e_N, lower_N): shifted left by one budget, then convexified. Up to e_N only.

    Parameters
    ----------
    epsilons : array_like (N + 1,)
        Increasing budgets.
    lower : array_like (N + 1,)
        Lower bounds; a bound proven at a larger budget also holds at a smaller one and is used there.

    Notes
    -----
    Appendix B.2 of "Beyond Monolithic Perturbation" shifts the discrete minorant on a uniform grid; shifting first
    is valid on every grid and keeps the result convex.
    """
    x, y = np.asarray(epsilons, dtype=float), np.asarray(lower, dtype=float)
    check_points(x, y)
    monotone = np.maximum.accumulate(y[::-1])[::-1]
    return greatest_convex_minorant(x, np.append(monotone[1:], monotone[-1]))


def upper_envelope(epsilons: ArrayLike, upper: ArrayLike) -> PiecewiseLinear:
    """Return a convex function above every non-increasing curve L with L(e_i) <= upper_i.

    On [e_i, e_{i+1}] such a curve is at most upper_i; so the envelope is the least convex majorant (LP 37) of the
    points (e_{i+1}, upper_i), shifted right by one budget, then convexified. Its first segment is carried on to e_0,
    which is at or above upper_0 and on a uniform grid is the boundary 2 l_0 - l_1 of appendix B.2; the value at e_0
    stays out of the sum that LP 37 minimises, since lowering it would lift the bound at the budgets that follow.

    Parameters
    ----------
    epsilons : array_like (N + 1,)
        Increasing budgets.
    upper : array_like (N + 1,)
        Upper bounds; what is reached at a smaller budget is also reached at a larger one and is used there.
    """
    x, y = np.asarray(epsilons, dtype=float), np.asarray(upper, dtype=float)
    check_points(x, y)
    monotone = np.minimum.accumulate(y)
    if len(x) < 3:
        return PiecewiseLinear(x, np.full(len(x), monotone[0]))
    majorant = least_convex_majorant(x[1:], monotone[:-1])
    first = majorant.values[0] - majorant.slopes[0] * (x[1] - x[0])
    return PiecewiseLinear(x, np.insert(majorant.values, 0, first))
