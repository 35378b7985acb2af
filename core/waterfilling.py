"""Water-filling: how a budget with a dual norm is spent on the segments of convex piecewise linear losses."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from core.envelopes import PiecewiseLinear
from core.metric import dual_exponent, dual_norm

SNAP: Final = 1e-12
"""Relative distance to the end of a segment below which a budget is meant to be that end (a budget of the grid)."""

SCREEN: Final = 2.0**-44
"""Relative distance of a float norm from the total beyond which its rounding cannot change the comparison."""

Vector = NDArray[np.float64]


def fits(budgets: Vector, epsilon: float, p: float) -> bool:
    """Return whether `dual_norm(budgets, p) <= epsilon`; exact arithmetic is only needed close to equality."""
    q = dual_exponent(p)
    if math.isinf(q) or epsilon == 0.0:
        return bool(budgets.max() <= epsilon)
    used, screen = float(((budgets / epsilon) ** q).sum()), SCREEN * q
    return used < 1.0 - screen or (used <= 1.0 + screen and dual_norm(budgets, p) <= epsilon)


@dataclass(frozen=True, eq=False)
class Segments:
    """Segments (K, J) of K convex functions: from `start` to `stop`, each saving `gain` >= 0 loss per unit budget."""

    start: Vector
    stop: Vector
    gain: Vector

    @property
    def useful(self) -> NDArray[np.bool_]:
        """Segments that save loss and have a length."""
        return (self.gain > 0) & (self.stop > self.start)


def gather_segments(envelopes: Sequence[PiecewiseLinear], weights: Vector, epsilon: float) -> Segments:
    """Return all segments, cut at the total budget, padded with segments of no length."""
    width = max(max(len(f.knots) for f in envelopes) - 1, 1)
    start, stop, gain = (np.zeros((len(weights), width)) for _ in range(3))
    for k, f in enumerate(envelopes):
        count = len(f.knots) - 1
        start[k, :count], stop[k, :count] = f.knots[:-1], f.knots[1:]
        gain[k, :count] = -weights[k] * f.slopes
    return Segments(np.minimum(start, epsilon), np.minimum(stop, epsilon), gain)


def gain_at(segments: Segments, epsilon: float) -> float:
    """Return what the last unit of budget saves when every group has all of it."""
    last = (segments.start < epsilon) & (segments.stop >= epsilon)
    return float(segments.gain[last].sum())


def _gain_of_holder(segments: Segments, budgets: Vector, epsilon: float) -> float | None:
    """Return what more budget saves in a group that holds the whole total, None if no group does."""
    k = int(budgets.argmax())
    if budgets[k] < epsilon:
        return None
    return float(segments.gain[k, (segments.start[k] < epsilon) & (segments.stop[k] >= epsilon)].max(initial=0.0))


def fill_by_slope(segments: Segments, epsilon: float) -> tuple[Vector, float]:
    """Fill segments by steepest slope until the sum of budgets is `epsilon`."""
    useful = segments.useful
    group, column = np.nonzero(useful)
    order = np.argsort(-segments.gain[useful], kind="stable")
    group, column = group[order], column[order]
    used = np.cumsum(segments.stop[group, column] - segments.start[group, column])
    count = int(np.searchsorted(used, epsilon * (1.0 + SNAP), side="right"))
    budgets = np.zeros(len(segments.gain))
    np.maximum.at(budgets, group[:count], segments.stop[group[:count], column[:count]])
    held = _gain_of_holder(segments, budgets, epsilon)
    if held is not None or count == len(used):
        return budgets, held or 0.0
    rest = max(epsilon - math.fsum(budgets), 0.0)
    budgets[group[count]] = max(budgets[group[count]], segments.start[group[count], column[count]] + rest)
    return budgets, float(segments.gain[group[count], column[count]])


@dataclass(frozen=True, eq=False)
class _Logs:
    """Segments in logarithms, relative to the total budget: every p stays in range."""

    segments: Segments
    start: Vector
    stop: Vector
    gain: Vector
    p: float

    @classmethod
    def of(cls, segments: Segments, epsilon: float, p: float) -> "_Logs":
        """Take logarithms; segments that save nothing get a gain of -infinity."""
        with np.errstate(divide="ignore"):
            start, stop = np.log(segments.start / epsilon), np.log(segments.stop / epsilon)
            gain = np.where(segments.useful, np.log(segments.gain), -np.inf)
        return cls(segments, start, stop, gain, p)

    def reach(self, log_mu: float) -> Vector:
        """Return ln (m / mu)^(p - 1): where slope -m alone would put the relative budget."""
        return (self.p - 1.0) * (self.gain - log_mu)

    def active(self, log_mu: float) -> NDArray[np.bool_]:
        """Return the segments, at most one per group, that end inside themselves."""
        reach = self.reach(log_mu)
        return self.segments.useful & (reach > self.start) & (reach < self.stop)

    def held(self, log_mu: float) -> Vector:
        """Return the end of the last full segment of each group (K,), exactly a knot."""
        full = self.segments.useful & (self.reach(log_mu) >= self.stop)
        return np.asarray(np.where(full, self.segments.stop, 0.0).max(axis=1))

    def inside(self, log_mu: float, active: NDArray[np.bool_], epsilon: float) -> Vector:
        """Return the budget of each group (K,) inside its active segment, 0 where there is none."""
        budgets = np.exp(np.minimum(self.reach(log_mu), 0.0)) * epsilon
        clipped = np.clip(budgets, self.segments.start, self.segments.stop)
        return np.asarray(np.where(active, clipped, 0.0).max(axis=1))


def equalise_slopes(segments: Segments, epsilon: float, p: float) -> tuple[Vector, float]:
    """Find mu with sum_k (eps_k(mu) / epsilon)^q = 1 for 1 < p < inf."""
    q, logs, useful = dual_exponent(p), _Logs.of(segments, epsilon, p), segments.useful

    def used(log_mu: float) -> float:
        budgets = np.maximum(logs.held(log_mu), logs.inside(log_mu, logs.active(log_mu), epsilon))
        return float(((budgets / epsilon) ** q).sum())

    ends = np.concatenate([logs.gain[useful] - (q - 1.0) * edge[useful] for edge in (logs.start, logs.stop)])
    ends = np.unique(ends[np.isfinite(ends)])
    if not len(ends) or used(ends[0] - 1.0) <= 1.0:
        budgets = np.where(useful, segments.stop, 0.0).max(axis=1)
        return budgets, _gain_of_holder(segments, budgets, epsilon) or 0.0
    low, high = _bracket(ends, lambda log_mu: used(log_mu) <= 1.0)
    middle = low + 1.0 if math.isinf(high) else 0.5 * (low + high)
    active = logs.active(middle)
    # Within the bracket the active segments stay the same and every other group rests on a knot.
    held = np.where(active.any(axis=1), 0.0, logs.held(middle))
    room = 1.0 - float(((held / epsilon) ** q).sum())
    log_mu = high
    if active.any() and room > 0.0:
        # sum over active of (m / mu)^p = room, as q (p - 1) = p.
        log_mu = min(max((float(logsumexp(p * logs.gain[active])) - math.log(room)) / p, low), high)
    return np.maximum(held, logs.inside(log_mu, active, epsilon)), math.exp(log_mu)


def _bracket(ends: Vector, fits: Callable[[float], bool]) -> tuple[float, float]:
    """Return neighbouring ends (low, high), high possibly infinite, where low uses too much and high fits."""
    below, above = -1, len(ends)
    while above - below > 1:
        middle = (below + above) // 2
        below, above = (below, middle) if fits(float(ends[middle])) else (middle, above)
    # Rounding may let even the first end fit; the bracket then begins just below it.
    low = float(ends[below]) if below >= 0 else float(ends[0]) - 1.0
    return low, float(ends[above]) if above < len(ends) else math.inf


def snap_to_knots(budgets: Vector, segments: Segments, epsilon: float, p: float) -> Vector:
    """Move budgets that rounding left just beside a knot onto it, where the total allows it exactly."""
    near = np.abs(segments.stop - budgets[:, None]) <= SNAP * segments.stop
    knots = np.where(near & segments.useful, segments.stop, 0.0).max(axis=1)
    moved = np.where(knots > 0.0, knots, budgets)
    return moved if fits(moved, epsilon, p) else budgets


def shrink_to_fit(budgets: Vector, segments: Segments, epsilon: float, p: float) -> Vector:
    """Shrink by so few units of rounding that nothing is seen of it, until the dual norm, rounded up, fits.

    Budgets inside a segment give way first; then the largest, alone, so that the others stay on their knots.
    """
    off_knot = (segments.stop != budgets[:, None]).all(axis=1)
    if 1.0 < dual_exponent(p) < math.inf:
        # Twice the screen at once: then the exact comparison, slow with squares, is rarely needed.
        budgets = np.where(off_knot, budgets * (1.0 - 2.0 * SCREEN), budgets)
    for movable in (off_knot, np.arange(len(budgets)) == budgets.argmax(), np.ones(len(budgets), dtype=bool)):
        shrink = 2.0**-52
        while shrink <= SNAP:
            if fits(budgets, epsilon, p):
                return budgets
            budgets = np.where(movable, budgets * (1.0 - shrink), budgets)
            shrink *= 2.0
    return budgets * (epsilon / dual_norm(budgets, p)) * (1.0 - SNAP)
