"""A tier added later in simulation, for every family with a bridge, and the wrong way as a negative control."""

import itertools
import math
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from core.errors import InputError
from core.tiers.budgets import check_budget
from core.tiers.joint import WINDOW, law_epsilon
from core.tiers.laws import FloatArray, GaussianLaw, LaplaceLaw, SkellamLaw
from core.tiers.noise import noise_law, residual

FIELD: Final = "The new budget"
SIMULATED_FAMILIES: Final = ("geometric", "laplace", "gaussian", "skellam")
"""Families whose conditional release is simulated."""


def _check_order(epsilons: tuple[float, float, float]) -> None:
    high, middle, low = (check_budget(epsilon) for epsilon in epsilons)
    if not high > middle > low:
        raise InputError(
            FIELD, f"{FIELD} must lie strictly between its neighbours {high:g} and {low:g}, but is {middle:g}."
        )


def simulate_between(
    family: str,
    high: ArrayLike,
    low: ArrayLike,
    epsilons: tuple[float, float, float],
    *,
    rng: np.random.Generator,
    delta: float | None = None,
    sensitivity: float = 1,
) -> FloatArray:
    """Simulate the answers of a tier added between two released ones, given both.

    Parameters
    ----------
    family : {'geometric', 'laplace', 'gaussian', 'skellam'}
        The noise.
    high, low : array_like (runs,)
        Answers at the larger and the smaller neighbouring budget.
    epsilons : tuple of float
        Budgets of the larger neighbour, the new tier and the smaller neighbour, decreasing.
    rng : Generator
        Source of randomness.
    delta, sensitivity : float
        As in `noise_law`.

    Raises
    ------
    InputError
        If the budgets are not decreasing, the family has no conditional release, or as in `noise_law`.
    """
    _check_order(epsilons)
    if family not in SIMULATED_FAMILIES:
        known = ", ".join(SIMULATED_FAMILIES)
        raise InputError("The noise family", f"A tier can be added between two for {known}, not for {family!r:.60}.")
    before, middle, after = (noise_law(family, e, delta=delta, sensitivity=sensitivity) for e in epsilons)
    start, end = np.asarray(high, float), np.asarray(low, float)
    if isinstance(middle, GaussianLaw):
        share = (middle.variance - before.variance) / (after.variance - before.variance)
        deviation = math.sqrt(share * (after.variance - middle.variance))
        return np.asarray(start + share * (end - start) + rng.normal(0, deviation, start.shape), float)
    if isinstance(middle, SkellamLaw):
        share = (middle.variance - before.variance) / (after.variance - before.variance)
        return _skellam_between(start, end, share, after.variance - before.variance, rng)
    first, second = (residual(family, a, b, delta, sensitivity) for a, b in itertools.pairwise(epsilons))
    weights = first.zero_weight, second.zero_weight
    rates = tuple(epsilon / sensitivity for epsilon in epsilons[1:])
    continuous = isinstance(middle, LaplaceLaw)
    return _two_sided_between(start, end, (weights[0], weights[1]), (rates[0], rates[1]), continuous, rng=rng)


def _skellam_between(
    start: FloatArray, end: FloatArray, share: float, variance: float, rng: np.random.Generator
) -> FloatArray:
    """Draw the up- and down-steps of the whole bridge given their difference, then thin both binomially."""
    gap = np.rint(end - start).astype(np.int64)
    total = np.empty(gap.shape, np.int64)
    for distance in np.unique(np.abs(gap)):
        # downs n and ups n + distance, both Poisson(variance/2): P(n) proportional to x^(2n)/(n! (n+distance)!).
        half = variance / 2
        n = np.arange(int(half + 12 * math.sqrt(half + 1) + 30))
        logs = 2 * n * math.log(half) - np.cumsum(np.log(np.maximum(n, 1)))
        logs -= np.cumsum(np.log(np.maximum(n + distance, 1))) if distance else np.cumsum(np.log(np.maximum(n, 1)))
        weights = np.exp(logs - logs.max())
        chosen = np.abs(gap) == distance
        total[chosen] = rng.choice(n, size=int(chosen.sum()), p=weights / weights.sum())
    ups = rng.binomial(total + np.maximum(gap, 0), share)
    downs = rng.binomial(total + np.maximum(-gap, 0), share)
    return np.asarray(start + ups - downs, float)


def _two_sided_between(
    start: FloatArray,
    end: FloatArray,
    zero_weights: tuple[float, float],
    rates: tuple[float, float],
    continuous: bool,
    *,
    rng: np.random.Generator,
) -> FloatArray:
    """Draw n given a and b for steps "0 with weight w, else two-sided exponential or geometric"."""
    (w1, w2), (r1, r2) = zero_weights, rates
    gap, sign = np.abs(end - start), np.where(end >= start, 1.0, -1.0)
    near, far = np.exp(-r1 * gap), np.exp(-r2 * gap)
    if continuous:
        peak1, peak2 = r1 / 2, r2 / 2
        outside = 1 / (r1 + r2)
        inner = (far - near) / (r1 - r2)
    else:
        peak1, peak2 = math.tanh(r1 / 2), math.tanh(r2 / 2)
        outside = 1 / math.expm1(r1 + r2)
        inner = (far - near * math.exp(r2 - r1)) / -math.expm1(r2 - r1)
    both = (1 - w1) * (1 - w2) * peak1 * peak2
    weights = np.stack(
        [
            np.where(gap == 0, w1 * w2, 0.0),
            w1 * (1 - w2) * peak2 * far,
            (1 - w1) * w2 * peak1 * near,
            both * inner,
            both * outside * far,
            both * outside * near,
        ]
    )
    if continuous:
        # Equal answers happen only when both steps were 0; every other case then has density, not mass.
        weights[1:, gap == 0] = 0.0
    edges = np.cumsum(weights, axis=0)
    case = np.sum(rng.random(gap.shape) * edges[-1] >= edges, axis=0)
    beyond = rng.exponential(1 / (r1 + r2), gap.shape)
    inside = -np.log1p(-rng.random(gap.shape) * -np.expm1((r2 - r1) * (gap if continuous else gap + 1))) / (r1 - r2)
    if not continuous:
        beyond, inside = np.floor(beyond) + 1, np.minimum(np.floor(inside), gap)
    moved = np.select([case <= 1, case == 2, case == 3, case == 4], [0 * gap, gap, inside, -beyond], gap + beyond)
    return np.asarray(start + sign * moved, float)


def wrong_insertion_law(epsilons: tuple[float, float, float], window: int = WINDOW) -> FloatArray:
    """Return P(new answer, lower answer | count) for two neighbouring counts if the new one is drawn wrongly.

    Wrongly means: from the higher answer alone, forgetting the lower one, (2, 2 window + 1, 2 window + 1).

    Parameters
    ----------
    epsilons : tuple of float
        Budgets of the higher, the new and the lower tier, decreasing.
    window : int
        Half-width around the first count.

    Raises
    ------
    InputError
        If the budgets are not decreasing.
    """
    _check_order(epsilons)
    high, middle, low = epsilons
    grid = np.arange(-window, window + 1)
    # The higher answer is summed out over a window wider by the width of its own noise.
    wide = np.arange(-3 * window, 3 * window + 1)
    first = noise_law("geometric", high).density(np.stack([wide, wide - 1]))
    steps = [residual("geometric", high, e).pmf(grid[None, :] - wide[:, None]) for e in (middle, low)]
    return np.asarray(np.einsum("xa,an,ab->xnb", first, *steps), float)


def wrong_insertion_epsilon(epsilons: tuple[float, float, float], window: int = WINDOW) -> float:
    """Return a lower bound on the epsilon of {new, lower} when the new tier is drawn from the higher one alone.

    Drawn given both neighbours the pair would cost the new budget. At 2, 1.3 and 0.6 it costs at least 1.85 instead.

    Raises
    ------
    InputError
        If the budgets are not decreasing.
    """
    return law_epsilon(wrong_insertion_law(epsilons, window))
