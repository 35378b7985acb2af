"""Beyond which n the residual between two laws with periodic geometric tails is certainly positive.

Both laws are symmetric with p(n + D) = rho p(n) for n >= 0, as the staircase and the two-sided geometric are. Then
P(z) = A(z) / ((1 - rho z^D)(1 - rho z^-D)) with a Laurent polynomial A of degree below D, and the residual
A_2 B_1 / (A_1 B_2), B the denominator, has for n >= 1 the expansion
r(n) = rho_2^(n/D) g(n mod D) + sum over the roots alpha of A_1 outside the unit circle of C_alpha alpha^-n.
"""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from core.tiers.laws import FloatArray

PERIOD_LIMIT: Final = 64
"""Longest period that is looked for."""
SHAPE_TOLERANCE: Final = 1e-9
"""Relative slack of one decay per period; tabulated laws keep their digits far into the tail."""
SMALLEST: Final = 1e-250
"""Entries below are too near the smallest double to be compared."""
ROOT_MARGIN: Final = 1e-6
"""A root nearer to the unit circle counts as lying on it."""
BESIDE: Final = 1e-5
"""Angle beside a root on the circle at which the quotient of the two laws is looked at."""
SHARED: Final = 1e3
"""A quotient below this there is that of a shared root; one not shared gives about 1/BESIDE or more."""
MARGIN: Final = 0.5
"""Share of the leading term that the others may reach; far more than the rounding of either."""
REACH_LIMIT: Final = 100_000
"""Largest n that is tried."""


@dataclass(frozen=True, eq=False)
class PeriodicLaw:
    """A symmetric law whose right half decays by `decay` every `period` integers.

    Parameters
    ----------
    period : int
        D.
    decay : float
        rho.
    numerator : ndarray (2D - 1,)
        A's coefficients of z^-(D-1) .. z^(D-1).
    """

    period: int
    decay: float
    numerator: FloatArray


def find_periodic(values: FloatArray, period: int | None = None) -> PeriodicLaw | None:
    """Return the shape of a centred symmetric list, with the smallest or the given period, or None."""
    half = (len(values) - 1) // 2
    right = values[len(values) // 2 : len(values) // 2 + half + 1]
    left = values[len(values) // 2 - half : len(values) // 2 + 1][::-1]
    if not np.allclose(left, right, rtol=SHAPE_TOLERANCE, atol=0.0):
        return None
    for d in range(1, PERIOD_LIMIT + 1) if period is None else (period,):
        here, there = right[:-d], right[d:]
        used = there > SMALLEST
        if np.count_nonzero(used) < 4 * d:
            return None
        ratios = there[used] / here[used]
        if np.ptp(ratios) <= SHAPE_TOLERANCE * ratios[0] and ratios[0] < 1:
            return _shape(right, d, float(ratios[0]))
    return None


def _shape(right: FloatArray, d: int, decay: float) -> PeriodicLaw:
    n = np.arange(-(d - 1), d)
    coefficients = (1 + decay**2) * right[np.abs(n)] - decay * right[np.abs(n - d)] - decay * right[np.abs(n + d)]
    return PeriodicLaw(d, decay, coefficients)


def _value(law: PeriodicLaw, z: NDArray[np.complex128]) -> NDArray[np.complex128]:
    """Return A(z)."""
    powers = np.arange(-(law.period - 1), law.period)
    return np.asarray((law.numerator * z[:, None] ** powers).sum(axis=1), complex)


def _slope(law: PeriodicLaw, z: NDArray[np.complex128]) -> NDArray[np.complex128]:
    """Return A'(z)."""
    powers = np.arange(-(law.period - 1), law.period)
    return np.asarray((law.numerator * powers * z[:, None] ** (powers - 1.0)).sum(axis=1), complex)


def _denominator(law: PeriodicLaw, z: NDArray[np.complex128]) -> NDArray[np.complex128]:
    """Return B(z)."""
    return np.asarray((1 - law.decay * z**law.period) * (1 - law.decay * z ** (-float(law.period))), complex)


def share_shape(first: PeriodicLaw, second: PeriodicLaw) -> bool:
    """Return whether the numerators are proportional; the residual then is that of two-sided geometric noise on D Z."""
    scale = second.numerator.sum() / first.numerator.sum()
    slack = SHAPE_TOLERANCE * np.abs(second.numerator).max()
    return first.period == second.period and bool(
        np.allclose(second.numerator, scale * first.numerator, rtol=SHAPE_TOLERANCE, atol=slack)
    )


def positive_from(before: FloatArray, after: FloatArray) -> int | None:
    """Return n such that the residual is positive at all |m| >= n, or None if that is not shown.

    Parameters
    ----------
    before, after : ndarray
        Centred lists of the two laws.
    """
    first = find_periodic(before)
    second = find_periodic(after, first.period) if first is not None else None
    if first is None or second is None:
        return None
    d, rho = second.period, second.decay
    poles = rho ** (-1 / d) * np.exp(2j * math.pi * np.arange(d) / d)
    scale = (1 - first.decay / rho) * (1 - first.decay * rho) / (1 - rho**2)
    weights = _value(second, poles) / _value(first, poles) * scale
    turns = np.exp(-2j * math.pi * np.outer(np.arange(d), np.arange(d)) / d)
    leading = (turns @ weights / d).real
    least = float(leading.min())
    roots = _outer_roots(first, second)
    if roots is None or not least > SHAPE_TOLERANCE * float(np.abs(leading).max()):
        return None
    rest = np.abs(_value(second, roots) * _denominator(first, roots) / (_slope(first, roots) * roots))
    rest = rest / np.abs(_denominator(second, roots))
    return _dominated_from(rest, np.abs(roots) ** -1.0 * rho ** (-1 / d), least)


def _outer_roots(first: PeriodicLaw, second: PeriodicLaw) -> NDArray[np.complex128] | None:
    """Return the roots of A_1 outside the unit circle; None if it has one on the circle that A_2 does not share."""
    size = np.abs(first.numerator)
    coefficients = np.trim_zeros(np.where(size > SHAPE_TOLERANCE * size.max(), first.numerator, 0.0))
    roots = np.asarray(np.roots(coefficients), complex)
    on_circle = np.abs(np.abs(roots) - 1) < ROOT_MARGIN
    beside = roots[on_circle] * np.exp(1j * BESIDE)
    if np.any(np.abs(_value(second, beside)) > SHARED * np.abs(_value(first, beside))):
        return None
    return np.asarray(roots[~on_circle & (np.abs(roots) > 1)], complex)


def _dominated_from(rest: FloatArray, shrink: FloatArray, least: float) -> int | None:
    """Return n from which the sum of rest * shrink^n stays below MARGIN * least."""
    if not np.all(np.isfinite(rest)) or np.any(shrink >= 1):
        return None
    share = MARGIN * least / max(len(rest), 1)
    late = rest > share
    needed = np.log(share / rest[late]) / np.log(shrink[late])
    n = max(1, math.ceil(needed.max(initial=0.0)))
    return n if n <= REACH_LIMIT else None
