"""What each family's noise costs: pure epsilon, Gaussian differential privacy, the exact hockey-stick of Skellam."""

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Final

import numpy as np
from scipy import optimize, special

from core.errors import InputError
from core.limits import Range
from core.tiers.laws import TAIL, SkellamLaw

DELTA: Final = Range("The failure probability (delta)", 1e-12, 0.5, 1e-6, 1e-6, "far below 1 over the records is usual")
CLASSIC_LIMIT: Final = 1.0
"""The classic Gaussian calibration is proved up to this epsilon only."""
SKELLAM_LIMIT: Final = 1e8
"""Largest lambda whose Bessel values keep their digits in double precision."""
PRIVATE_MARGIN: Final = 1e-9
"""Relative step towards more noise after a root is found; far above the rounding of the delta it is checked with."""
SHAPE_TOLERANCE: Final = 1e-13
"""Relative tolerance of the root finder, well inside PRIVATE_MARGIN."""


def gaussian_delta(mu: float, epsilon: float) -> float:
    """Return the delta of mu-Gaussian differential privacy at `epsilon`.

    delta(eps) = Phi(-eps/mu + mu/2) - e^eps Phi(-eps/mu - mu/2); exact for the Gaussian mechanism with
    mu = sensitivity / sigma (Dong, Roth and Su 2022, Corollary 1; Balle and Wang 2018, Theorem 8).
    """
    first = special.log_ndtr(-epsilon / mu + mu / 2)
    second = epsilon + special.log_ndtr(-epsilon / mu - mu / 2)
    # exp(a) - exp(b) with b < a, written so that a close pair keeps its digits.
    return float(-math.exp(first) * math.expm1(min(second - first, 0.0)))


def gaussian_epsilon(mu: float, delta: float) -> float:
    """Return the least epsilon with gaussian_delta(mu, epsilon) <= delta, rounded up."""
    if gaussian_delta(mu, 0.0) <= delta:
        return 0.0
    top = 1.0
    while gaussian_delta(mu, top) > delta:
        top *= 2
    root = optimize.brentq(lambda epsilon: gaussian_delta(mu, epsilon) - delta, 0.0, top, rtol=SHAPE_TOLERANCE)
    return float(root) * (1 + PRIVATE_MARGIN)


def _least_noise(delta_of: Callable[[float], float], delta: float, start: float, top: float = math.inf) -> float:
    """Return a parameter with delta_of(parameter) <= delta, within PRIVATE_MARGIN of the least; delta_of decreases."""
    low = high = start
    while delta_of(high) > delta:
        if high >= top:
            return math.inf
        low, high = high, min(2 * high, top)
    while low == high or delta_of(low) <= delta:
        low /= 2
    log_root = optimize.brentq(lambda x: delta_of(math.exp(x)) - delta, math.log(low), math.log(high), xtol=1e-12)
    root = math.exp(log_root) * (1 + PRIVATE_MARGIN)
    while delta_of(root) > delta:
        root *= 1 + PRIVATE_MARGIN
    return root


@lru_cache(maxsize=4096)
def analytic_sigma(epsilon: float, delta: float, sensitivity: float = 1.0) -> float:
    """Return the least sigma whose Gaussian noise is (epsilon, delta)-DP, rounded up.

    The condition is gaussian_delta(sensitivity/sigma, epsilon) <= delta, necessary and sufficient
    (Balle and Wang 2018, Theorem 8).

    Raises
    ------
    InputError
        If delta is out of range.
    """
    DELTA.check(delta)
    return sensitivity * _least_noise(lambda sigma: gaussian_delta(1 / sigma, epsilon), delta, 1 / epsilon)


def classic_sigma(epsilon: float, delta: float, sensitivity: float = 1.0) -> float:
    """Return sensitivity sqrt(2 ln(1.25/delta)) / epsilon, the classic calibration.

    Its proof (Dwork and Roth 2014, Theorem A.1) needs epsilon <= 1; at epsilon 16 and delta 1e-5 the true delta is 34
    times the stated one.

    Raises
    ------
    InputError
        If epsilon is above 1 or delta out of range.
    """
    DELTA.check(delta)
    if epsilon > CLASSIC_LIMIT:
        raise InputError(
            "The budget (epsilon)",
            f"The classic Gaussian calibration is proved for epsilon up to {CLASSIC_LIMIT:g} only, not {epsilon:g}; "
            "use the analytic calibration.",
        )
    return sensitivity * math.sqrt(2 * math.log(1.25 / delta)) / epsilon


def skellam_delta(intensity: float, epsilon: float, sensitivity: int = 1) -> float:
    """Return the exact hockey-stick divergence of Skellam noise under a shift by `sensitivity`.

    delta(eps) = sum_n [P(n) - e^eps P(n - sensitivity)]_+, from the probabilities themselves. They are log-concave, so
    the largest shift is the worst and the terms are positive below one n only. Skellam noise has delta > 0 at every
    epsilon: it satisfies pure differential privacy for none. The mass outside the window, below 1e-15, is added.

    Raises
    ------
    InputError
        If the intensity is above SKELLAM_LIMIT.
    """
    if intensity > SKELLAM_LIMIT:
        raise InputError(
            "The budget (epsilon)",
            f"Skellam noise of variance {2 * intensity:.1e} is wider than {2 * SKELLAM_LIMIT:.0e}, "
            "the widest that is computed exactly; raise the budget or lower the sensitivity.",
        )
    law = SkellamLaw(intensity)
    n = np.arange(-law.reach - sensitivity, law.reach + 1)
    here, there = law.density(n), law.density(n - sensitivity)
    with np.errstate(divide="ignore"):
        # In logarithms, because e^eps overflows nothing then and 0 - 0 stays 0.
        gain = here - np.exp(np.minimum(epsilon + np.log(there), 700.0))
    return float(np.sum(np.maximum(gain, 0.0))) + TAIL


@lru_cache(maxsize=4096)
def skellam_intensity(epsilon: float, delta: float, sensitivity: int = 1) -> float:
    """Return the least lambda with skellam_delta(lambda, epsilon, sensitivity) <= delta, rounded up.

    Raises
    ------
    InputError
        If delta is out of range, or lambda would be above SKELLAM_LIMIT.
    """
    DELTA.check(delta)
    start = min(analytic_sigma(epsilon, delta, sensitivity) ** 2 / 2, SKELLAM_LIMIT)
    found = _least_noise(lambda x: skellam_delta(x, epsilon, sensitivity), delta, start, SKELLAM_LIMIT)
    if math.isinf(found):
        raise InputError(
            "The budget (epsilon)",
            f"Skellam noise at epsilon {epsilon:g} and delta {delta:g} is wider than can be computed exactly; "
            "raise the budget or lower the sensitivity.",
        )
    return found
