"""Bounds of the template rules over categories and budgets, and the ratios that chains reach on grid lists."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from core.errors import InputError
from core.tiers.chain import chain_mse, ideal_subset_mse, max_ratio, optimal_chain
from core.tiers.laws import FloatArray
from core.tiers.lists import grid_list
from core.tiers.subset import check_categories, subset_variance
from core.tiers.template_rules import RULES
from core.tiers.walk import Progress


def _level_variance(growth: ArrayLike, k: ArrayLike, d: int) -> FloatArray:
    """Return V(ln growth, k)."""
    return subset_variance(np.log(np.asarray(growth, float)), k, d)


def template_bound(rule: str, epsilons: ArrayLike, d: int) -> FloatArray:
    """Return the proven bound on MSE / MSE* of a template rule at every budget (Wang et al., theorems 5.3 and 5.4).

    With k = ceil(d/(e^eps + 1)) and h = floor(d/2), the larger of
    V(ln(d/k - 1), k)/V(ln(d/(k-1) - 1), k-1) for 2 <= k <= floor((d-1)/2), where the improved rule has
    V(ln((d+1)/k - 1), k)/V(ln((d-1)/(k-1) - 1), k-1) for 2 <= k <= h, and, for even d >= 4,
    V(ln((d+2)/h - 1), h)/V(ln(d/floor((d-1)/2) - 1), floor((d-1)/2)); 1 where no term applies.

    Parameters
    ----------
    rule : {'first', 'improved'}
        The template rule.
    epsilons : array_like
        Budgets.
    d : int
        Number of categories.

    Raises
    ------
    InputError
        If the rule is neither or d is out of range.

    Examples
    --------
    >>> round(float(template_bound("first", [1.0], 5)[0]), 3)
    15.545
    """
    if rule not in RULES:
        raise InputError("The template rule", f"The template rule must be first or improved, not {rule!r:.60}.")
    categories = check_categories(d)
    growth = np.exp(np.asarray(epsilons, float))
    size = np.ceil(categories / (growth + 1))
    half, last = categories // 2, (categories - 1) // 2
    bound = np.ones_like(growth)
    inside = (size >= 2) & (size <= (last if rule == "first" else half))
    k = size[inside]
    if k.size:
        up, down = (0, 0) if rule == "first" else (1, 1)
        above = _level_variance((categories + up) / k - 1, k, categories)
        bound[inside] = above / _level_variance((categories - down) / (k - 1) - 1, k - 1, categories)
    if categories % 2 == 0 and categories >= 4:
        end = _level_variance((categories + 2) / half - 1, half, categories)
        bound = np.maximum(bound, end / _level_variance(categories / last - 1, last, categories))
    return np.asarray(bound, float)


def bound_heatmap(rule: str, categories: Sequence[int], epsilons: ArrayLike) -> FloatArray:
    """Return `template_bound` for every number of categories (rows) and budget (columns).

    Raises
    ------
    InputError
        As in `template_bound`.
    """
    return np.stack([template_bound(rule, epsilons, d) for d in categories])


def chain_heatmap(
    categories: Sequence[int], steps: Sequence[float], tiers: int = 20, *, progress: Progress | None = None
) -> FloatArray:
    """Return the maximum ratio that the best chain reaches on grid(step) with `tiers` tiers, (categories, steps).

    Raises
    ------
    InputError
        If d, a step or the number of tiers is out of range.
    """
    reached = np.empty((len(categories), len(steps)))
    for row, d in enumerate(categories):
        for column, step in enumerate(steps):
            budgets = grid_list(step, tiers)
            reached[row, column] = max_ratio(chain_mse(optimal_chain(budgets, d), d), ideal_subset_mse(budgets, d))
            if progress is not None:
                done = (row * len(steps) + column + 1) / reached.size
                progress(done, f"Best chains for {d} categories.")
    return reached
