"""A tier added later: the answer at a budget between two released ones, drawn given both, without the data.

With steps f_an and f_nb that compose to f_ab, p(n | a, b) = f_an(n - a) f_nb(b - n) / f_ab(b - a): the joint law is as
if the tier had been there from the start. Drawn from the higher answer alone it is not (see `core.tiers.bridge`).
"""

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Final

from core.errors import InputError
from core.sampling import (
    Coin,
    Source,
    SystemSource,
    draw_below,
    draw_geometric,
    draw_subset,
    draw_weighted,
)
from core.tiers.budgets import check_budget
from core.tiers.exact import log_above, ratio_above
from core.tiers.noise import noise_law
from core.tiers.release import CountRelease, zero_weight
from core.tiers.subset import subset_invariant
from core.tiers.template_rules import Tier

FIELD: Final = "The new budget"


def _neighbours(budgets: Sequence[float], budget: float) -> tuple[int, int | None]:
    """Return the positions of the next larger and next smaller budget; None below all."""
    check_budget(budget, FIELD)
    above = [i for i, epsilon in enumerate(budgets) if epsilon >= budget]
    below = [i for i, epsilon in enumerate(budgets) if epsilon < budget]
    if not above:
        raise InputError(
            FIELD,
            f"{FIELD} is {budget:g}, above every released one ({max(budgets):g}); an answer that good needs the data "
            "again and would add to what was spent. Choose a smaller budget.",
        )
    high = min(above, key=lambda i: budgets[i])
    return high, (max(below, key=lambda i: budgets[i]) if below else None)


def _steps(source: Source, near: Fraction, far: Fraction, distance: int) -> int:
    """Draw i in 0..distance with weight near^i far^(distance - i), near <= far: geometric modulo distance + 1."""
    if near == far:
        return draw_below(distance + 1, source)
    return draw_geometric(near / far, source) % (distance + 1)


def _mixed_powers(near: Fraction, far: Fraction, distance: int) -> Fraction:
    """Return the sum of near^i far^(distance - i) over i = 0..distance."""
    if near == far:
        return (distance + 1) * near**distance
    return (far ** (distance + 1) - near ** (distance + 1)) / (far - near)


@lru_cache(maxsize=1024)
def _between_cases(ratios: tuple[Fraction, Fraction, Fraction], gap: int) -> tuple[int, ...]:
    """Return integer weights of where the middle answer lies, given the distance of its neighbours.

    Both steps added nothing; the first alone; the second alone; both moved, with the answer between the neighbours,
    beyond the higher tier's, or beyond the lower tier's.
    """
    before, middle, after = ratios
    first, second = zero_weight(before, middle), zero_weight(middle, after)
    mass_middle, mass_after = ((1 - p) / (1 + p) for p in (middle, after))
    both = (1 - first) * (1 - second) * mass_middle * mass_after
    outside = middle * after / (1 - middle * after)
    return _whole(
        [
            first * second if gap == 0 else Fraction(0),
            first * (1 - second) * mass_after * after**gap,
            (1 - first) * second * mass_middle * middle**gap,
            both * _mixed_powers(middle, after, gap),
            both * outside * after**gap,
            both * outside * middle**gap,
        ]
    )


def _whole(weights: list[Fraction]) -> tuple[int, ...]:
    """Return integers in the proportion of the weights."""
    scale = math.lcm(*(weight.denominator for weight in weights))
    return tuple(int(weight * scale) for weight in weights)


def _between(high: int, low: int, ratios: tuple[Fraction, Fraction, Fraction], source: Source) -> int:
    """Draw the middle answer exactly, given the answers above and below it and the p of all three."""
    _, middle, after = ratios
    gap = abs(low - high)
    sign = 1 if low >= high else -1
    case = draw_weighted(_between_cases(ratios, gap), source)
    if case in (0, 1):
        return high
    if case == 2:
        return low
    if case == 3:
        return high + sign * _steps(source, middle, after, gap)
    beyond = 1 + draw_geometric(middle * after, source)
    return high - sign * beyond if case == 4 else low + sign * beyond


def insert_count(release: CountRelease, budget: float, source: Source | None = None) -> CountRelease:
    """Return the release with one more tier, drawn from the stored answers alone.

    Between two tiers the new answer is drawn exactly from its law given both; below all tiers the last answer is
    degraded; no coalition then learns more than its best-informed member.

    Parameters
    ----------
    release : CountRelease
        A release with two-sided geometric noise.
    budget : float
        Budget of the new recipient.
    source : Source, optional
        Random bits; the operating system's by default.

    Raises
    ------
    InputError
        If the budget is above every released one, or the release is not two-sided geometric.
    """
    if release.family != "geometric":
        raise InputError(
            "The noise family", f"A tier can be added to a geometric release only, not to {release.family}."
        )
    bits = SystemSource() if source is None else source
    high, low = _neighbours(release.budgets, budget)
    ratio = max(ratio_above(budget, release.sensitivity), release.ratios[high])
    if low is None:
        weight = zero_weight(release.ratios[high], ratio)
        stays = Coin(weight.numerator, weight.denominator).toss(bits)
        value = release.values[high]
        if not stays:
            value += draw_geometric(ratio, bits) - draw_geometric(ratio, bits)
    else:
        ratio = min(ratio, release.ratios[low])
        value = _between(
            release.values[high], release.values[low], (release.ratios[high], ratio, release.ratios[low]), bits
        )
    deviation = math.sqrt(noise_law("geometric", budget, sensitivity=release.sensitivity).variance)
    return CountRelease(
        release.family,
        release.sensitivity,
        (*release.budgets, float(budget)),
        (*release.values, value),
        (*release.ratios, ratio),
        (*release.certified_epsilons, log_above(1 / ratio, release.sensitivity)),
        (*release.standard_deviations, deviation),
    )


def insert_subset(
    high: Sequence[int], low: Sequence[int], tiers: tuple[Tier, Tier, Tier], d: int, source: Source | None = None
) -> tuple[int, ...]:
    """Draw one user's subset of a tier added between two released ones, given both, by Bayes' rule.

    Each of the two steps either kept and expanded the subset or drew it afresh, which gives four cases: a superset of
    the higher one inside the lower one, any superset of the higher one, any subset of the lower one, any subset.

    Parameters
    ----------
    high, low : sequence of int
        The user's subsets at the larger and the smaller budget.
    tiers : tuple of (level, size)
        Of the larger neighbour, the new tier and the smaller neighbour; they form a chain.
    d : int
        Number of categories.
    source : Source, optional
        Random bits; the operating system's by default.

    Raises
    ------
    InputError
        If a size does not fit its subset.
    """
    (_, k_a), (_, k), (_, k_b) = tiers
    above, below = set(high), set(low)
    if len(above) != k_a or len(below) != k_b or not k_a <= k <= k_b:
        raise InputError("The subset size", f"Sizes {k_a}, {k}, {k_b} must not fall and must fit the released subsets.")
    bits = SystemSource() if source is None else source
    case = draw_weighted(_subset_cases(tiers, d, above <= below), bits)
    base, pool = [
        (above, below - above),
        (above, set(range(d)) - above),
        (set[int](), below),
        (set[int](), set(range(d))),
    ][case]
    choices = sorted(pool)
    picked = draw_subset(k - len(base), len(choices), bits)
    return tuple(sorted(base | {choices[i] for i in picked}))


@lru_cache(maxsize=1024)
def _subset_cases(tiers: tuple[Tier, Tier, Tier], d: int, nested: bool) -> tuple[int, ...]:
    """Return integer weights of the four cases: (kept, kept), (kept, fresh), (fresh, kept), (fresh, fresh)."""
    (_, k_a), (_, k), (_, k_b) = tiers
    u = [Fraction(float(subset_invariant(level, size))) for level, size in tiers]
    keep = [min(after * (before + d) / (before * (after + d)), Fraction(1)) for before, after in itertools.pairwise(u)]
    fresh_low = Fraction(1, math.comb(d, k_b))
    inside = Fraction(math.comb(k_b - k_a, k - k_a), math.comb(d - k_a, k - k_a) * math.comb(d - k, k_b - k))
    return _whole(
        [
            keep[0] * keep[1] * inside if nested else Fraction(0),
            keep[0] * (1 - keep[1]) * fresh_low,
            (1 - keep[0]) * keep[1] * Fraction(math.comb(k_b, k), math.comb(d, k) * math.comb(d - k, k_b - k)),
            (1 - keep[0]) * (1 - keep[1]) * fresh_low,
        ]
    )
