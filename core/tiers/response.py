"""Randomised response at several budgets: generalised (one category) and binary (one bit per category)."""

from collections.abc import Iterable

import numpy as np

from core.tiers.budgets import check_budget, order_budgets
from core.tiers.laws import FloatArray
from core.tiers.subset import check_categories, subset_variance


def grr_mse(budgets: Iterable[float], d: int) -> FloatArray:
    """Return the error of every tier under generalised randomised response, in the order given.

    It is Subset with k = 1; re-sampling the answer meets every smaller budget exactly (Xiao et al. 2009).

    Raises
    ------
    InputError
        If a budget or d is out of range.
    """
    ordered, restore = order_budgets(budgets)
    return restore(subset_variance(ordered, 1, check_categories(d)))


def brr_mse(budgets: Iterable[float], d: int) -> FloatArray:
    """Return the error of every tier under binary randomised response, in the order given.

    Each of the d bits is kept with probability e^(eps/2)/(e^(eps/2) + 1); the error is d e^(eps/2)/(e^(eps/2) - 1)^2
    (Duchi, Jordan and Wainwright 2018). Every smaller budget is met exactly by flipping again.

    Raises
    ------
    InputError
        If a budget or d is out of range.
    """
    ordered, restore = order_budgets(budgets)
    return restore(check_categories(d) * np.exp(-ordered / 2) / np.expm1(-ordered / 2) ** 2)


def keep_bit_probability(epsilon: float) -> float:
    """Return e^(eps/2)/(e^(eps/2) + 1), with which binary randomised response keeps a bit.

    Raises
    ------
    InputError
        If the budget is out of range.
    """
    return float(1 / (1 + np.exp(-check_budget(epsilon) / 2)))


def flip_probability(epsilon_from: float, epsilon_to: float) -> float:
    """Return (p1 - p2)/(2 p1 - 1), with which a kept bit is flipped again to reach a smaller budget.

    Raises
    ------
    InputError
        If a budget is out of range.
    """
    before, after = keep_bit_probability(epsilon_from), keep_bit_probability(epsilon_to)
    return max(before - after, 0.0) / (2 * before - 1)
