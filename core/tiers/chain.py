"""Chains of subsets: the best chain for a privacy list, what a chain may be, and its errors."""

from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np

from core.errors import InputError
from core.tiers.budgets import check_budget, order_budgets
from core.tiers.ladder import RATIO_TOLERANCE, Ladder, Path, solve_least_ratio, solve_least_total
from core.tiers.laws import FloatArray
from core.tiers.subset import (
    check_categories,
    check_size,
    ideal_variances,
    mse_coefficients,
    subset_invariant,
    subset_variance,
)
from core.tiers.template_rules import Tier

OBJECTIVES: Final = ("max_ratio", "total")
"""What a best chain minimises; the other one breaks ties."""
LEVEL_TOLERANCE: Final = 1e-9
"""Relative rounding allowed when a chain given in decimals is checked for being reachable."""


def check_objective(objective: str) -> str:
    """Return the objective.

    Raises
    ------
    InputError
        If it is none of OBJECTIVES.
    """
    if objective not in OBJECTIVES:
        raise InputError("The objective", f"The objective must be max_ratio or total, not {objective!r:.60}.")
    return objective


def solve_ladder(ladder: Ladder, epsilons: FloatArray, reference: FloatArray, objective: str) -> list[Tier]:
    """Return the best chain on a ladder for budgets from the largest down, as (level, size) per tier."""
    gains = np.expm1(epsilons)
    unlimited = np.full(len(gains), np.inf)
    path, ratio = solve_least_ratio(ladder, gains, reference)
    ceilings = ratio * (1 + RATIO_TOLERANCE) * reference if objective == "max_ratio" else unlimited
    return _to_tiers(ladder, epsilons, solve_least_total(ladder, gains, reference, ceilings, path))


def _to_tiers(ladder: Ladder, epsilons: FloatArray, path: Path) -> list[Tier]:
    levels = np.log1p(path.levels / ladder.scale[path.index])
    exact = path.levels >= ladder.scale[path.index] * np.expm1(epsilons)
    levels = np.where(exact, epsilons, np.minimum(levels, epsilons))
    return list(zip(levels.tolist(), ladder.sizes[path.index].tolist(), strict=True))


def optimal_chain(budgets: Iterable[float], d: int, objective: str = "max_ratio") -> list[Tier]:
    """Return per tier the level and subset size of the best chain of subsets, in the order given.

    Sizes never decrease and levels follow eps'_i = min(eps_i, level reached from the tier before by expansions); among
    all such chains with sizes up to floor(d/2) the one of least max_i V_i / V(eps_i, best size), or of least total
    error, is found exactly. Either template rule is such a chain, so it never beats this one.

    Parameters
    ----------
    budgets : iterable of float
        The privacy list.
    d : int
        Number of categories.
    objective : {'max_ratio', 'total'}
        What is minimised; the other one breaks ties.

    Raises
    ------
    InputError
        If the objective is neither, or a budget or d is out of range.

    Examples
    --------
    >>> optimal_chain([4.0, 1.0], 2)
    [(4.0, 1), (1.0, 1)]
    """
    check_objective(objective)
    categories = check_categories(d)
    ordered, restore = order_budgets(budgets)
    sizes = np.arange(1, max(categories // 2, 1) + 1)
    ladder = Ladder(sizes, sizes.astype(float), mse_coefficients(sizes, categories))
    chain = solve_ladder(ladder, ordered, ideal_variances(ordered, categories), objective)
    return [chain[index] for index in restore(np.arange(len(chain))).tolist()]


def check_chain(budgets: Iterable[float], chain: Sequence[Tier], d: int) -> list[Tier]:
    """Return the chain for budgets sorted from the largest down, after checking that it can be walked.

    Raises
    ------
    InputError
        If its length differs, a level exceeds its budget, a size is out of range or shrinks, or a level is above the
        one that expansions of the tier before reach.
    """
    categories = check_categories(d)
    listed = list(budgets)
    ordered, _ = order_budgets(listed)
    if len(chain) != len(ordered):
        raise InputError(
            "The chain", f"The chain must have one (level, size) per budget: {len(ordered)}, not {len(chain)}."
        )
    order = np.argsort(-np.asarray(listed, float), kind="stable")
    tiers = [(check_budget(chain[i][0], "A level"), check_size(chain[i][1], categories)) for i in order.tolist()]
    before = np.inf
    size = 1
    for epsilon, (level, k) in zip(ordered.tolist(), tiers, strict=True):
        reached = float(subset_invariant(level, k))
        if level > epsilon * (1 + LEVEL_TOLERANCE):
            raise InputError("The chain", f"The level {level:g} exceeds its budget {epsilon:g}; lower it.")
        if k < size or reached > before * (1 + LEVEL_TOLERANCE):
            raise InputError(
                "The chain",
                f"Size {k} at level {level:g} cannot be made from the tier before it: sizes only grow, and expanding "
                "leaves size * (e^level - 1) as it is; use a larger size or a lower level.",
            )
        before, size = reached, k
    return tiers


def chain_mse(chain: Iterable[Tier], d: int) -> FloatArray:
    """Return the error of every tier of a chain of subsets.

    Raises
    ------
    InputError
        If a level, a size or d is out of range.
    """
    categories = check_categories(d)
    tiers = [(check_budget(level, "A level"), check_size(k, categories)) for level, k in chain]
    return subset_variance([level for level, _ in tiers], [k for _, k in tiers], categories)


def ideal_subset_mse(budgets: Iterable[float], d: int) -> FloatArray:
    """Return MSE* of every tier, each at its own best size and with no protection against collusion.

    Raises
    ------
    InputError
        If a budget or d is out of range.
    """
    ordered, restore = order_budgets(budgets)
    return restore(ideal_variances(ordered, check_categories(d)))


def max_ratio(mse: FloatArray, reference: FloatArray) -> float:
    """Return max_i MSE_i / MSE*_i, the figure of merit; 1 is ideal.

    Examples
    --------
    >>> max_ratio(np.array([2.0, 3.0]), np.array([1.0, 2.0]))
    2.0
    """
    return float(np.max(mse / reference))
