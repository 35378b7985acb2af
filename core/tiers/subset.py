"""The Subset mechanism for one category: error, best subset size, and the two steps that degrade an answer blindly."""

import math
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from core.errors import InputError
from core.limits import Range
from core.tiers.budgets import SMALLEST_BUDGET, check_budget, order_budgets
from core.tiers.laws import FloatArray

CATEGORIES: Final = Range("The number of categories", 2, 2000, 15, 1, "merge or split categories", True)
IntArray = NDArray[np.int64]


def check_categories(d: object) -> int:
    """Return the number of categories as an int.

    Raises
    ------
    InputError
        If it is not a whole number in its range.
    """
    return int(CATEGORIES.check(d))


def check_size(k: int, d: int) -> int:
    """Return the subset size as an int.

    Raises
    ------
    InputError
        If it is not a whole number from 1 to d - 1.
    """
    if isinstance(k, bool) or not 1 <= k <= d - 1 or int(k) != k:
        raise InputError("The subset size", f"The subset size must be a whole number from 1 to {d - 1}, not {k!r:.60}.")
    return int(k)


def subset_invariant(epsilon: ArrayLike, k: ArrayLike) -> FloatArray:
    """Return u = k (e^epsilon - 1), which an expansion leaves as it is and a rescaling lowers.

    Examples
    --------
    >>> round(float(subset_invariant(math.log(6.4), 1)), 9)  # one expansion: size 2 at ln 3.7
    5.4
    >>> round(float(subset_invariant(math.log(3.7), 2)), 9)
    5.4
    """
    return np.asarray(np.asarray(k) * np.expm1(np.asarray(epsilon, float)), float)


def mse_coefficients(k: ArrayLike, d: int) -> FloatArray:
    """Return (c0, c1, c2) with V = c0 + c1/u + c2/u^2, u = k (e^eps - 1), stacked on the last axis.

    V = (t(1-t) + (d-1) f(1-f))/(t-f)^2 with t = (u+k)/(u+d) and t-f = u(d-k)/((u+d)(d-1)) becomes
    (d-1)/(d-k) ((k-1) + 2k(d-1)/u + k d (d-1)/u^2).
    """
    sizes = np.asarray(k, float)
    parts = np.stack([sizes - 1, 2 * sizes * (d - 1), sizes * d * (d - 1)], axis=-1)
    return np.asarray((d - 1) / (d - sizes)[..., None] * parts, float)


def subset_variance(epsilon: ArrayLike, k: ArrayLike, d: int) -> FloatArray:
    """Return V(epsilon, k) for arrays, without checks; see `subset_mse`."""
    inverse = 1 / subset_invariant(epsilon, k)
    c = mse_coefficients(k, d)
    return np.asarray(c[..., 0] + inverse * (c[..., 1] + inverse * c[..., 2]), float)


def subset_mse(epsilon: float, k: int, d: int) -> float:
    """Return the mean squared error of one Subset answer, summed over the d coordinates.

    The answer is a k-subset r of d categories with weight e^epsilon if it holds the true one, else 1. With
    t = P(x in r) = e^eps k/(e^eps k + d - k) and f = (k - t)/(d - 1), the estimator (1[i in r] - f)/(t - f) of
    coordinate i is unbiased, and V = (t(1-t) + (d-1) f(1-f))/(t-f)^2 (Wang et al. 2019; Ye and Barg 2018).

    Raises
    ------
    InputError
        If an argument is out of range.

    Examples
    --------
    >>> round(subset_mse(1.0, 3, 10), 3)
    29.104
    """
    categories = check_categories(d)
    return float(subset_variance(check_budget(epsilon), check_size(k, categories), categories))


def best_sizes(epsilons: ArrayLike, d: int) -> IntArray:
    """Return the subset size of least error for every budget, without checks; the smaller one on a tie."""
    budgets = np.asarray(epsilons, float)
    middle = d * np.exp(-budgets) / (1 + np.exp(-budgets))
    low = np.clip(np.floor(middle), 1, max(d // 2, 1))
    high = np.clip(np.ceil(middle), 1, max(d // 2, 1))
    better = subset_variance(budgets, high, d) < subset_variance(budgets, low, d)
    return np.asarray(np.where(better, high, low), np.int64)


def best_subset_size(epsilon: float, d: int) -> int:
    """Return the subset size of least error: floor or ceil of d/(e^epsilon + 1), at least 1.

    Raises
    ------
    InputError
        If an argument is out of range.

    Examples
    --------
    >>> best_subset_size(1.0, 10)
    3
    """
    return int(best_sizes(check_budget(epsilon), check_categories(d)))


def ideal_variances(epsilons: ArrayLike, d: int) -> FloatArray:
    """Return V(epsilon, best k), the reference MSE* of a category, for every budget, without checks."""
    return subset_variance(epsilons, best_sizes(epsilons, d), d)


def inclusion_probabilities(epsilon: float, k: int, d: int) -> tuple[float, float]:
    """Return t = P(x in r) and f = P(x' in r) for a category x' other than the true x."""
    u = float(subset_invariant(epsilon, k))
    t = 1 / (1 + (d - k) / (u + k))
    return t, (k - t) / (d - 1)


def expand_level(epsilon: float, k: int, times: int = 1) -> float:
    """Return the level after adding `times` uniform elements: e^eps' = (k e^eps + times)/(k + times).

    Examples
    --------
    >>> round(math.exp(expand_level(math.log(6.4), 1)), 9)
    3.7
    """
    return math.log1p(k * math.expm1(epsilon) / (k + times))


def keep_probability(u_from: float, u_to: float, d: int) -> float:
    """Return beta of the rescaling from invariant `u_from` to `u_to`: keep the subset, else draw a uniform one.

    beta = phi(eps')/phi(eps), phi = (e^eps - 1)/(k e^eps + d - k) = u/(k (u + d)): the size cancels, so rescaling and
    expanding commute.
    """
    return u_to * (u_from + d) / (u_from * (u_to + d))


def gradual_subset_mse(budgets: Any, d: int) -> FloatArray:
    """Return the error of every tier under gradual release of a category, in the order given.

    Every difference of neighbouring budgets buys a fresh Subset answer at its own best size; tier j weighs what it
    holds by inverse variance.

    Raises
    ------
    InputError
        If a budget or d is out of range.
    """
    categories = check_categories(d)
    ordered, restore = order_budgets(budgets)
    steps = np.diff(ordered[::-1], prepend=0.0)
    used = steps >= SMALLEST_BUDGET
    precisions = np.zeros(len(steps))
    precisions[used] = 1 / ideal_variances(steps[used], categories)
    return restore(1 / np.cumsum(precisions)[::-1])
