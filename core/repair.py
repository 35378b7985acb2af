"""From a stochastic matrix to integer rows within the cone of an mDP budget: raise, scale, round down, fill up."""

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components, floyd_warshall

from core.certificate import CHUNK_ELEMENTS

TOTAL_BITS: Final = 58
"""Every row sums to 2^58: it fits 64 bits, and a unit is finer than any double between 2^-6 and 1."""
MERGE_EXPONENT: Final = 2.0**-30
"""States with epsilon d below this share one row: a finer difference would cost more mass than it can carry."""
EXPONENT_LIMIT: Final = 45.0
"""Larger exponents epsilon d count as this: no two positive integers up to 2^58 differ by a factor e^45 anyway."""
CLOSURE_MARGINS: Final = (2.0**-49, 2.0**-44, 2.0**-39)
"""Slacks per unit of exponent, to be tried in turn, that pay for roundings (see `_close`); the first nearly always
does, the others are for long paths, whose sums round more often."""

_TOTAL: Final = 1 << TOTAL_BITS
_RESERVE_MARGIN: Final = 2.0**-48
"""Relative bound on the float roundings in `_required_reserve`."""
_PASSES: Final = 10
_PATH_SCALE: Final = 2.0**40


def build_weights(
    z: NDArray[np.float64],
    d: NDArray[np.float64],
    epsilon: float,
    costs: NDArray[np.float64] | None,
    *,
    margin: float | None,
) -> NDArray[np.int64] | None:
    """Return integer rows that sum to 2^58 and should satisfy the budget, or None where rounding left no room.

    The certificate decides: nothing here is trusted.

    Parameters
    ----------
    z : ndarray (n, m)
        Stochastic matrix.
    d : ndarray (n, n)
        Symmetric distances, 0 on the diagonal; where they break the triangle inequality, shortest paths, the private
        side, take their place.
    epsilon : float
        Budget, at least 0.
    costs : ndarray (n, m) or None
        Losses times prior; without them the most released output takes the remainder.
    margin : float or None
        One of `CLOSURE_MARGINS`; None skips the closure, for a matrix that lies in the cone already.
    """
    # Twice rounded, then lowered by more than that: never above the real epsilon d.
    exponents = np.minimum(epsilon * d * (1 - 2.0**-51), EXPONENT_LIMIT)
    labels, exponents = _merge_states(exponents)
    raised = _average_rows(z, labels, len(exponents))
    if margin is not None:
        raised = _close(raised, exponents, margin)
    integers = _round_rows(raised, exponents)
    if integers is None:
        return None
    remainder = _TOTAL - integers.sum(axis=1)
    integers[:, _cheapest_output(remainder[labels], costs, raised)] += remainder
    return np.ascontiguousarray(integers[labels])


def _merge_states(exponents: NDArray[np.float64]) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Join states closer than `MERGE_EXPONENT`; return a label per state and the least exponents between labels."""
    n = len(exponents)
    near = exponents < MERGE_EXPONENT
    if int(near.sum()) == n:
        return np.arange(n), exponents
    count, labels = connected_components(near, directed=False)
    order = np.argsort(labels, kind="stable")
    starts = np.searchsorted(labels[order], np.arange(count))
    least = np.minimum.reduceat(exponents[np.ix_(order, order)], starts, axis=0)
    least = np.minimum.reduceat(least, starts, axis=1)
    np.fill_diagonal(least, 0.0)
    return labels.astype(np.intp), least


def _average_rows(z: NDArray[np.float64], labels: NDArray[np.intp], count: int) -> NDArray[np.float64]:
    if count == len(z):
        return z
    sums = np.zeros((count, z.shape[1]))
    np.add.at(sums, labels, z)
    return sums / np.bincount(labels, minlength=count)[:, None]


def _least_exponent(exponents: NDArray[np.float64]) -> float:
    n = len(exponents)
    return float(exponents[~np.eye(n, dtype=bool)].min()) if n > 1 else math.inf


def _close(z: NDArray[np.float64], exponents: NDArray[np.float64], margin: float) -> NDArray[np.float64]:
    """Return Y[x, y] = max_x' exp(-B[x, x']) Z[x', y], the least matrix above Z within a slightly smaller cone.

    B is the shortest path for the steps A - slack: a metric with B <= A - slack, from which a chain of k steps loses
    only k slacks. By its triangle inequality ln Y[x, y] - ln Y[x', y] <= B[x, x']. The roundings of A, of the paths,
    the exponential and the product change that difference by a few 2^-53 (A_max + 1) per step of a path; the slack,
    margin (A_max + 1), keeps it below A[x, x'].
    """
    if len(z) == 1:
        return z.copy()
    slack = margin * (float(exponents.max()) + 1.0)
    steps = np.maximum(exponents - slack, 0.0)
    # Scaling is exact; without it the routine takes steps below 1e-8 for missing ones.
    factors = np.exp(-floyd_warshall(steps * _PATH_SCALE) / _PATH_SCALE)
    raised = np.zeros_like(z)
    used = np.flatnonzero(z.max(axis=0) > 0)
    width = max(1, CHUNK_ELEMENTS // (8 * len(z)))
    for start in range(0, len(used), width):
        columns = used[start : start + width]
        part = np.ascontiguousarray(z[:, columns])
        for x in range(len(z)):
            raised[x, columns] = (factors[x][:, None] * part).max(axis=0)
    return raised


def _round_rows(raised: NDArray[np.float64], exponents: NDArray[np.float64]) -> NDArray[np.int64] | None:
    """Return whole rows within the cone whose shortfalls from 2^58 lie within it too, or None.

    With w = floor(S Y) + c, c >= 1 / (1 - t), t = exp(-A): w' - t w >= S (Y' - t Y) - 1 + c (1 - t) >= 0. The scale S
    leaves the shortfalls at least the reserve that keeps them in the cone; it is measured on the integers, so it is
    found by repetition: the first pass learns it, the second usually meets it.
    """
    gap = -math.expm1(-_least_exponent(exponents))
    lift = math.ceil(1.0 / gap) + 1 if len(raised) > 1 else 0
    # An output below the lift everywhere would gain more mass than it has; its mass goes to the remainder instead.
    used = raised.max(axis=0) * _TOTAL >= lift
    width = int(used.sum())
    # Two roundings of a row sum differ by up to about `width` units, and by 64 more where doubles are coarser.
    noise = 0.25 * width / gap
    largest = float(raised[:, used].sum(axis=1).max())
    share = 0.0
    for _ in range(_PASSES):
        noise *= 2.0
        room = _TOTAL - lift * width - noise
        if room <= 0:
            return None
        scale = room / (largest + share)
        weights = np.zeros(raised.shape, dtype=np.int64)
        weights[:, used] = np.floor(raised[:, used] * scale).astype(np.int64)
        sums = weights.sum(axis=1)
        reserve = _required_reserve(sums, exponents)
        if int(sums.max()) + lift * width + reserve <= _TOTAL:
            weights[:, used] += lift
            return weights
        share = max(share, reserve / scale)
    return None


def _required_reserve(sums: NDArray[np.int64], exponents: NDArray[np.float64]) -> int:
    """Return R >= 0 for which a + R lies in the cone, a = max(sums) - sums: R >= (a - a') / (1 - t) - a for all pairs.

    From a' + R >= t (a + R), with t = exp(-A[x, x']).
    """
    if len(sums) == 1:
        return 0
    missing = sums.max() - sums
    rise = (missing[:, None] - missing[None, :]).astype(np.float64)
    gaps = -np.expm1(-exponents)
    np.fill_diagonal(gaps, 1.0)
    needed = np.maximum(rise / gaps, 0.0) * (1 + _RESERVE_MARGIN) - missing[:, None] * (1 - _RESERVE_MARGIN)
    return max(0, math.ceil(float(needed.max()))) + 1


def _cheapest_output(
    remainder: NDArray[np.int64], costs: NDArray[np.float64] | None, raised: NDArray[np.float64]
) -> int:
    """Return the output where the remainders cost least; without losses, the one that is released most."""
    if costs is None:
        return int(raised.sum(axis=0).argmax())
    return int((remainder.astype(np.float64) @ costs).argmin())
