"""Best chains over a ladder of sizes: exact dynamic programmes for the largest ratio and for the total error.

A tier is a size and an invariant u = scale(size) (e^eps - 1). Changing the size leaves u as it is, adding noise lowers
it, and the error is c0 + c1/u + c2/u^2, so at one size a larger u is never worse. Subset (scale k, sizes grow) and
local hashing (scale 1/g, sizes divide each other) are both of this form.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from core.tiers.laws import FloatArray

RATIO_TOLERANCE: Final = 1e-12
"""Relative slack on the largest ratio when the total error decides among its optima: the rounding of one error."""
BOUND_SLACK: Final = 1e-13
"""Relative slack when states are pruned against a known total: the rounding of a sum of 200 errors."""
BEAMS: Final = (8, 64)
"""States kept per tier by the quick passes that find a good chain, whose total prunes the exact pass."""
BISECTIONS: Final = 200
"""Far more halvings of a ratio than a double has digits; the search stops earlier by itself."""


@dataclass(frozen=True, eq=False)
class Ladder:
    """The sizes of a chain and what they cost.

    Parameters
    ----------
    sizes : ndarray of int (K,)
        Subset sizes or hash ranges, an earlier one never reachable from a later one.
    scale : ndarray (K,)
        u = scale (e^eps - 1).
    coefficients : ndarray (K, 3)
        Error c0 + c1/u + c2/u^2.
    divides : bool
        Whether a size can be made only from its multiples; else from every earlier one.
    """

    sizes: NDArray[np.int64]
    scale: FloatArray
    coefficients: FloatArray
    divides: bool = False

    @cached_property
    def edges(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Pairs (from, to) of positions where the size at `from` is a multiple of that at `to`, grouped by `to`."""
        target, source = np.nonzero(self.sizes[None, :] % self.sizes[:, None] == 0)
        return source, target

    def errors(self, levels: FloatArray, index: NDArray[np.int64] | slice = slice(None)) -> FloatArray:
        """Return the errors at invariants `levels`; u = 0 counts as infinite."""
        c = self.coefficients[index]
        with np.errstate(divide="ignore", over="ignore"):
            inverse = 1 / levels
            return np.asarray(c[..., 0] + inverse * (c[..., 1] + inverse * c[..., 2]), float)

    def best_before(self, levels: FloatArray) -> FloatArray:
        """Return for every size the largest of `levels` (K,) among the sizes it can be made from."""
        if not self.divides:
            return np.maximum.accumulate(levels)
        source, target = self.edges
        return np.asarray(np.maximum.reduceat(levels[source], _group_starts(target)), float)

    def least_after(self, costs: FloatArray) -> FloatArray:
        """Return for every tier and size the least of `costs` (m, K) among the sizes that can be made from it."""
        if not self.divides:
            return np.minimum.accumulate(costs[:, ::-1], axis=1)[:, ::-1]
        source, target = self.edges
        order = np.argsort(source, kind="stable")
        return np.asarray(np.minimum.reduceat(costs[:, target[order]], _group_starts(source[order]), axis=1), float)

    def reachable(self, index: NDArray[np.int64], targets: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which of `targets` (T,) can be made from each of `index` (F,), (F, T)."""
        if not self.divides:
            return np.asarray(index[:, None] <= targets, np.bool_)
        return np.asarray(self.sizes[index][:, None] % self.sizes[targets] == 0, np.bool_)


def _group_starts(labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where each run of equal labels starts."""
    return np.flatnonzero(np.diff(labels, prepend=-1))


@dataclass(frozen=True, eq=False)
class Path:
    """One chain on a ladder.

    Parameters
    ----------
    index : ndarray of int (m,)
        Positions in the ladder's sizes.
    levels : ndarray (m,)
        Invariants u.
    """

    index: NDArray[np.int64]
    levels: FloatArray


def _least_levels(ladder: Ladder, ceilings: FloatArray) -> FloatArray:
    """Return for every tier and size the least u whose error is at most the tier's ceiling, (m, K)."""
    c0, c1, c2 = ladder.coefficients.T
    room = ceilings[:, None] - c0
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        # 1/u is the root of c2 x^2 + c1 x = room, in the form that does not cancel.
        least = (c1 + np.sqrt(c1**2 + 4 * c2 * np.maximum(room, 0.0))) / (2 * room)
    return np.where(room > 0, np.where(np.isfinite(room), least, 0.0), np.inf)


def _feasible(ladder: Ladder, gains: FloatArray, ceilings: FloatArray) -> Path | None:
    """Return a chain whose errors stay below `ceilings` (m,), or None; keeps the largest u per size."""
    levels = np.full(len(ladder.sizes), np.inf)
    reached = np.outer(gains, ladder.scale)
    least = _least_levels(ladder, ceilings)
    for exact, needed in zip(reached, least, strict=True):
        np.minimum(ladder.best_before(levels), exact, out=exact)
        exact[exact < needed] = 0.0
        levels = exact
    # A tier that no size serves leaves nothing for the last one.
    return _trace(ladder, gains, reached) if levels.any() else None


def _trace(ladder: Ladder, gains: FloatArray, reached: FloatArray) -> Path:
    """Walk back from the size that is best at the last tier, then let every tier keep all it can."""
    index = np.empty(len(gains), np.int64)
    index[-1] = int(np.argmin(ladder.errors(reached[-1])))
    everything = np.arange(len(ladder.sizes))
    for tier in range(len(gains) - 1, 0, -1):
        allowed = ladder.reachable(everything, index[tier : tier + 1])[:, 0]
        index[tier - 1] = int(np.argmax(np.where(allowed, reached[tier - 1], 0.0)))
    return Path(index, np.minimum.accumulate(ladder.scale[index] * gains))


def solve_least_ratio(ladder: Ladder, gains: FloatArray, reference: FloatArray) -> tuple[Path, float]:
    """Return the chain of least maximum ratio error / reference, and that ratio.

    Halving the ratio with a feasibility pass; every feasible pass lowers the upper end to a ratio that is attained, so
    the search ends at an exact optimum of the computed errors.

    Parameters
    ----------
    ladder : Ladder
        Sizes and errors.
    gains : ndarray (m,)
        e^eps - 1 of every tier, not increasing.
    reference : ndarray (m,)
        What the errors are compared with.
    """
    found = _feasible(ladder, gains, np.full(len(gains), np.inf))
    assert found is not None
    best, high = found, _largest_ratio(ladder, found, reference)
    low = float(np.max(np.min(ladder.errors(np.outer(gains, ladder.scale)), axis=1) / reference))
    target = low
    for _ in range(BISECTIONS):
        trial = _feasible(ladder, gains, target * reference) if target < high else None
        if trial is not None and _largest_ratio(ladder, trial, reference) < high:
            best, high = trial, _largest_ratio(ladder, trial, reference)
        else:
            low = max(low, target)
        if high <= low or np.nextafter(low, np.inf) >= high:
            break
        target = (low + high) / 2
    return best, high


def _largest_ratio(ladder: Ladder, path: Path, reference: FloatArray) -> float:
    return float(np.max(ladder.errors(path.levels, path.index) / reference))


@dataclass(eq=False)
class _States:
    """Undominated ways to reach one tier: size index, u, cost so far, largest ratio so far, parent state."""

    index: NDArray[np.int64]
    levels: FloatArray
    costs: FloatArray
    ratios: FloatArray
    parents: NDArray[np.int64]

    def take(self, chosen: NDArray[np.int64] | NDArray[np.bool_]) -> "_States":
        return _States(
            self.index[chosen], self.levels[chosen], self.costs[chosen], self.ratios[chosen], self.parents[chosen]
        )

    def undominated(self) -> "_States":
        """Drop a state if another of its size has at least its u and at most its cost; the ratio breaks ties."""
        count = len(self.index)
        order = np.lexsort((self.ratios, self.costs, -self.levels, self.index))
        # A running minimum per size: later sizes are shifted below all earlier ones, which starts it anew.
        rank = np.empty(count, np.int64)
        _, rank[:] = np.unique(self.costs, return_inverse=True)
        shifted = rank[order] - count * self.index[order]
        least = np.minimum.accumulate(shifted)
        return self.take(order[np.concatenate(([True], shifted[1:] < least[:-1]))])


def _extend(
    ladder: Ladder, states: _States, exact: FloatArray, allowed: NDArray[np.int64], *, ceiling: float, reference: float
) -> _States:
    """Return every step from `states` to the sizes in `allowed`, at most at `exact`, with errors below the ceiling."""
    possible = ladder.reachable(states.index, allowed)
    levels = np.minimum(states.levels[:, None], exact[allowed])
    errors = ladder.errors(levels, allowed)
    rows, columns = np.nonzero(possible & (errors <= ceiling))
    step = errors[rows, columns]
    return _States(
        allowed[columns],
        levels[rows, columns],
        states.costs[rows] + step,
        np.maximum(states.ratios[rows], step / reference),
        rows,
    )


def _least_total(
    ladder: Ladder,
    gains: FloatArray,
    reference: FloatArray,
    ceilings: FloatArray,
    *,
    bound: float,
    width: int | None,
) -> Path | None:
    """Return the chain of least total error at most `bound`, under per-tier ceilings; exact unless `width` is given.

    Forward over tiers. States that even with the unconstrained best of the remaining tiers exceed `bound` are dropped.
    """
    exact = np.outer(gains, ladder.scale)
    alone = ladder.errors(exact)
    alone[alone > ceilings[:, None]] = np.inf
    after = np.cumsum(ladder.least_after(alone)[::-1], axis=0)[::-1]
    after = np.vstack([after[1:], np.zeros(len(ladder.sizes))])
    spent = np.cumsum([0.0, *alone.min(axis=1)])
    everything = np.arange(len(ladder.sizes))
    nothing = np.zeros(len(everything))
    states = _States(everything, np.full(len(everything), np.inf), nothing, nothing, everything)
    history: list[_States] = []
    for tier in range(len(gains)):
        allowed = np.flatnonzero(spent[tier] + alone[tier] + after[tier] <= bound)
        states = _extend(
            ladder, states, exact[tier], allowed, ceiling=float(ceilings[tier]), reference=float(reference[tier])
        )
        promise = states.costs + after[tier, states.index]
        states = states.take(promise <= bound)
        if not len(states.index):
            return None
        if width is not None and len(states.index) > width:
            # Cut before dominance is checked: a quick pass needs a good chain, not all of them.
            promise = states.costs + after[tier, states.index]
            states = states.take(np.argpartition(promise, width)[:width])
        states = states.undominated()
        history.append(states)
    return _follow(history)


def _follow(history: list[_States]) -> Path:
    place = int(np.lexsort((history[-1].ratios, history[-1].costs))[0])
    index, levels = [], []
    for states in reversed(history):
        index.append(states.index[place])
        levels.append(states.levels[place])
        place = int(states.parents[place])
    return Path(np.array(index[::-1], np.int64), np.array(levels[::-1]))


def solve_least_total(
    ladder: Ladder, gains: FloatArray, reference: FloatArray, ceilings: FloatArray, start: Path
) -> Path:
    """Return the chain of least total error whose tiers stay below `ceilings` (m,), exactly.

    Narrow passes find a good chain; its total prunes the exact pass.

    Parameters
    ----------
    ladder, gains, reference
        As in `solve_least_ratio`.
    ceilings : ndarray (m,)
        Largest error allowed per tier; infinity for none.
    start : Path
        Some chain that respects the ceilings.
    """
    bound = float(np.sum(ladder.errors(start.levels, start.index))) * (1 + BOUND_SLACK)
    for width in BEAMS:
        quick = _least_total(ladder, gains, reference, ceilings, bound=bound, width=width)
        if quick is not None:
            bound = min(bound, float(np.sum(ladder.errors(quick.levels, quick.index))) * (1 + BOUND_SLACK))
    exact = _least_total(ladder, gains, reference, ceilings, bound=bound, width=None)
    assert exact is not None
    return exact
