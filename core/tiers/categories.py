"""Every user's category at several budgets: exact release under local privacy, and its simulation."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from core.sampling import Source, SystemSource
from core.tiers.budgets import order_budgets
from core.tiers.chain import check_chain, optimal_chain
from core.tiers.laws import FloatArray
from core.tiers.subset import check_categories
from core.tiers.template_rules import Tier
from core.tiers.walk import (
    ExactDice,
    Progress,
    SeededDice,
    WalkPlan,
    check_codes,
    count_walk,
    estimate_counts,
    plan_walk,
)


@dataclass(frozen=True, eq=False)
class CategoryRelease:
    """Users' categories released through a chain of subsets; tiers are in the order of the budgets given.

    Parameters
    ----------
    budgets : tuple of float (m,)
        The privacy list.
    plan : WalkPlan
        The exact probabilities, tiers from the largest budget down.
    order : tuple of int (m,)
        Position of each tier in the plan.
    users : int
        Number of users.
    counts : ndarray of int (m, d)
        How many users' subsets hold each category.
    estimates, standard_errors : ndarray (m, d)
        Unbiased estimates of the category counts and their standard errors.
    subsets : tuple of ndarray of int16 (users, k_i)
        Every user's sorted subset per tier; empty if they were not kept.
    """

    budgets: tuple[float, ...]
    plan: WalkPlan
    order: tuple[int, ...]
    users: int
    counts: NDArray[np.int64]
    estimates: FloatArray
    standard_errors: FloatArray
    subsets: tuple[NDArray[np.int16], ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        """Subset size of every tier."""
        return tuple(self.plan.sizes[i] for i in self.order)

    @property
    def certified_epsilons(self) -> tuple[float, ...]:
        """What every tier satisfies, from the exact probabilities, rounded up."""
        return tuple(self.plan.certified_epsilons[i] for i in self.order)


def _release(
    codes: NDArray[np.int64],
    budgets: Sequence[float],
    plan: WalkPlan,
    dice: ExactDice | SeededDice,
    *,
    keep: bool,
    progress: Progress | None,
) -> CategoryRelease:
    counts, subsets = count_walk(codes, plan, dice, keep=keep, progress=progress)
    estimates, errors = estimate_counts(counts, len(codes), plan)
    _, restore = order_budgets(budgets)
    order = restore(np.arange(len(budgets)))
    return CategoryRelease(
        budgets=tuple(budgets),
        plan=plan,
        order=tuple(order.tolist()),
        users=len(codes),
        counts=counts[order],
        estimates=estimates[order],
        standard_errors=errors[order],
        subsets=tuple(subsets[i] for i in order.tolist()) if keep else (),
    )


def release_categories(
    values: ArrayLike,
    d: int,
    budgets: Iterable[float],
    chain: Sequence[Tier] | None = None,
    source: Source | None = None,
    *,
    keep_subsets: bool = True,
    progress: Progress | None = None,
) -> CategoryRelease:
    """Release every user's category at every budget through one chain of subsets.

    Each user's answer at a smaller budget is a post-processing of that at a larger one, drawn with exact integers; the
    probabilities are multiples of 2^-62 on the private side of the chain's levels.

    Parameters
    ----------
    values : array_like of int (users,)
        Category codes from 0 to d - 1.
    d : int
        Number of categories.
    budgets : iterable of float (m,)
        The privacy list.
    chain : sequence of (level, size), optional
        One per budget; by default the chain of least maximum ratio.
    source : Source, optional
        Random bits; the operating system's by default.
    keep_subsets : bool
        Whether to return every user's subsets beside the estimates.
    progress : callable, optional
        Called with a fraction and a sentence.

    Raises
    ------
    InputError
        If an argument is out of range or the chain cannot be walked.
    """
    categories = check_categories(d)
    codes = check_codes(values, categories)
    given = [float(epsilon) for epsilon in budgets]
    tiers = check_chain(given, optimal_chain(given, categories) if chain is None else chain, categories)
    dice = ExactDice(SystemSource() if source is None else source)
    return _release(codes, given, plan_walk(tiers, categories), dice, keep=keep_subsets, progress=progress)


def simulate_categories(
    values: ArrayLike,
    d: int,
    budgets: Iterable[float],
    chain: Sequence[Tier] | None = None,
    *,
    rng: np.random.Generator,
    keep_subsets: bool = False,
    progress: Progress | None = None,
) -> CategoryRelease:
    """Simulate `release_categories` with a seeded generator; for figures, never for real releases.

    Raises
    ------
    InputError
        As in `release_categories`.
    """
    categories = check_categories(d)
    codes = check_codes(values, categories)
    given = [float(epsilon) for epsilon in budgets]
    tiers = check_chain(given, optimal_chain(given, categories) if chain is None else chain, categories)
    return _release(codes, given, plan_walk(tiers, categories), SeededDice(rng), keep=keep_subsets, progress=progress)
