"""Users who walk down a chain of subsets, exactly for a release or quickly for a simulation."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from core.errors import InputError
from core.sampling import Source
from core.tiers.exact import growth_below, log_above
from core.tiers.template_rules import Tier
from core.vector_sampling import (
    PROBABILITY_BITS,
    draw_below_many,
    draw_bernoulli_many,
    draw_permutations,
)

WHOLE: Final = 1 << PROBABILITY_BITS
"""Denominator of every probability of a walk."""
BLOCK: Final = 1 << 22
"""Cells (users times categories) handled at a time; it bounds memory and the time between progress calls."""
Codes = NDArray[np.int64]
Progress = Callable[[float, str], None]


class Dice(Protocol):
    """Independent random draws by the array."""

    def below(self, bound: int, count: int) -> Codes:
        """Return uniform integers in [0, bound)."""

    def coins(self, numerator: int, count: int) -> NDArray[np.bool_]:
        """Return coins of probability numerator / 2^62."""

    def orders(self, count: int, size: int) -> Codes:
        """Return uniform permutations of range(size), one per row."""


@dataclass(frozen=True)
class ExactDice:
    """Draws for a release: exact, on a cryptographic source.

    Parameters
    ----------
    source : Source
        Random bits.
    """

    source: Source

    def below(self, bound: int, count: int) -> Codes:
        """Return uniform integers in [0, bound)."""
        return draw_below_many(bound, count, self.source)

    def coins(self, numerator: int, count: int) -> NDArray[np.bool_]:
        """Return coins of probability numerator / 2^62."""
        return draw_bernoulli_many(numerator, count, self.source)

    def orders(self, count: int, size: int) -> Codes:
        """Return uniform permutations of range(size), one per row."""
        return draw_permutations(count, size, self.source)


@dataclass(frozen=True)
class SeededDice:
    """Draws for a simulation.

    Parameters
    ----------
    rng : Generator
        Source of randomness.
    """

    rng: np.random.Generator

    def below(self, bound: int, count: int) -> Codes:
        """Return uniform integers in [0, bound)."""
        return self.rng.integers(bound, size=count)

    def coins(self, numerator: int, count: int) -> NDArray[np.bool_]:
        """Return coins of probability numerator / 2^62."""
        return self.rng.random(count) < numerator / WHOLE

    def orders(self, count: int, size: int) -> Codes:
        """Return uniform permutations of range(size), one per row."""
        return self.rng.permuted(np.tile(np.arange(size), (count, 1)), axis=1)


@dataclass(frozen=True)
class WalkPlan:
    """The exact probabilities of a chain of subsets, before any data is touched.

    Parameters
    ----------
    d : int
        Number of categories.
    sizes : tuple of int (m,)
        Subset sizes, not decreasing.
    include : int
        P(true category in the first subset) * 2^62.
    keep : tuple of int (m - 1,)
        Probability of keeping the subset at every step, times 2^62.
    invariants : tuple of Fraction (m,)
        u = size (e^level - 1), exact.
    certified_epsilons : tuple of float (m,)
        ln(1 + u/size) rounded up: what every tier satisfies, and any coalition whose largest it is.
    """

    d: int
    sizes: tuple[int, ...]
    include: int
    keep: tuple[int, ...]
    invariants: tuple[Fraction, ...]
    certified_epsilons: tuple[float, ...]

    def probabilities(self, tier: int) -> tuple[float, float]:
        """Return t = P(x in r) and f = P(x' in r) of a tier: t = (u + k)/(u + d)."""
        t = float((self.invariants[tier] + self.sizes[tier]) / (self.invariants[tier] + self.d))
        return t, (self.sizes[tier] - t) / (self.d - 1)


def plan_walk(chain: list[Tier], d: int) -> WalkPlan:
    """Return the exact probabilities of a checked chain, every one rounded to the private side.

    t and the keep probabilities are multiples of 2^-62 rounded down, so each level is a rational at or below the one
    asked for.
    """
    sizes = tuple(k for _, k in chain)
    targets = [k * (growth_below(level) - 1) for level, k in chain]
    wanted = (targets[0] + sizes[0]) / (targets[0] + d)
    include = min(int(wanted * WHOLE), WHOLE - 1)
    t = Fraction(include, WHOLE)
    invariants = [max((t * d - sizes[0]) / (1 - t), Fraction(0))]
    keep = []
    for target in targets[1:]:
        before = invariants[-1]
        aim = min(target, before)
        share = int(aim * (before + d) / (before * (aim + d)) * WHOLE)
        keep.append(share)
        phi = Fraction(share, WHOLE) * before / (before + d)
        invariants.append(d * phi / (1 - phi))
    certified = tuple(log_above(1 + u / k) for u, k in zip(invariants, sizes, strict=True))
    return WalkPlan(d, sizes, include, tuple(keep), tuple(invariants), certified)


def check_codes(values: ArrayLike, d: int) -> Codes:
    """Return category codes as integers.

    Raises
    ------
    InputError
        If they are no list of whole numbers from 0 to d - 1, or empty.
    """
    codes = np.asarray(values)
    good = codes.ndim == 1 and codes.size > 0 and np.issubdtype(codes.dtype, np.integer)
    if not good or codes.min() < 0 or codes.max() >= d:
        raise InputError("The categories", f"The categories must be one list of whole numbers from 0 to {d - 1}.")
    return codes.astype(np.int64)


def _first_orders(codes: Codes, plan: WalkPlan, dice: Dice) -> NDArray[np.int16]:
    """Return per user an order of the categories whose first k_1 form a Subset answer and whose rest is uniform.

    The true category stands among the first k_1 with probability t, at a uniform place there or behind.
    """
    users, first = len(codes), plan.sizes[0]
    inside = dice.coins(plan.include, users)
    place = np.where(inside, dice.below(first, users), first + dice.below(plan.d - first, users))
    others = dice.orders(users, plan.d - 1)
    others += others >= codes[:, None]
    orders = np.empty((users, plan.d), np.int16)
    free = np.ones((users, plan.d), np.bool_)
    free[np.arange(users), place] = False
    orders[free] = others.ravel()
    orders[np.arange(users), place] = codes
    return orders


def walk(codes: Codes, plan: WalkPlan, dice: Dice) -> Iterator[NDArray[np.int16]]:
    """Yield for every tier the users' subsets (users, k), as views that the next step may overwrite.

    One order of the categories per user serves all tiers: expanding a subset lengthens its prefix, because the rest of
    the order is uniform; a rescaling that does not keep the subset draws a new uniform order.
    """
    orders = _first_orders(codes, plan, dice)
    yield orders[:, : plan.sizes[0]]
    for size, keep in zip(plan.sizes[1:], plan.keep, strict=True):
        redrawn = np.flatnonzero(~dice.coins(keep, len(codes)))
        if redrawn.size:
            orders[redrawn] = dice.orders(redrawn.size, plan.d)
        yield orders[:, :size]


def blocks(users: int, d: int) -> Iterator[slice]:
    """Yield slices of users small enough for one block of memory."""
    step = max(1, BLOCK // d)
    for start in range(0, users, step):
        yield slice(start, min(start + step, users))


def count_walk(
    codes: Codes, plan: WalkPlan, dice: Dice, *, keep: bool = False, progress: Progress | None = None
) -> tuple[NDArray[np.int64], list[NDArray[np.int16]]]:
    """Return how many users' subsets hold each category per tier (m, d), and the sorted subsets if `keep`."""
    tiers = len(plan.sizes)
    counts = np.zeros((tiers, plan.d), np.int64)
    kept: list[list[NDArray[np.int16]]] = [[] for _ in range(tiers)]
    for part in blocks(len(codes), plan.d):
        for tier, subsets in enumerate(walk(codes[part], plan, dice)):
            counts[tier] += np.bincount(subsets.ravel(), minlength=plan.d)
            if keep:
                kept[tier].append(np.sort(subsets, axis=1))
            if progress is not None:
                done = (part.start + (part.stop - part.start) * (tier + 1) / tiers) / len(codes)
                progress(done, f"Answered {part.start:,} of {len(codes):,} users.")
    return counts, [np.concatenate(parts) for parts in kept if parts]


def estimate_counts(counts: NDArray[np.int64], users: int, plan: WalkPlan) -> tuple[NDArray[np.float64], ...]:
    """Return estimated category counts (m, d) and their standard errors.

    Category j of tier i: (C_ij - users f)/(t - f). Its variance given the true count c is
    (c t(1-t) + (users - c) f(1-f))/(t - f)^2, with the estimate, cut to [0, users], in the place of c.
    """
    t, f = (np.array(column)[:, None] for column in zip(*map(plan.probabilities, range(len(plan.sizes))), strict=True))
    estimates = (counts - users * f) / (t - f)
    held = np.clip(estimates, 0, users)
    return estimates, np.sqrt(held * t * (1 - t) + (users - held) * f * (1 - f)) / (t - f)
