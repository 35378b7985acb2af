"""Local hashing at several budgets: buckets that merge, and the best chain of hash ranges.

The paper treats local hashing in an appendix that was not at hand; the merging step below is derived here.
"""

from collections.abc import Iterable
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from core.errors import InputError
from core.tiers.budgets import check_budget, order_budgets
from core.tiers.chain import check_objective, solve_ladder
from core.tiers.ladder import Ladder
from core.tiers.laws import FloatArray
from core.tiers.subset import check_categories, ideal_variances
from core.tiers.template_rules import Tier

RANGE_LIMIT: Final = 1024
"""Largest hash range; the best one is about e^epsilon + 1, so budgets up to ln 1023 = 6.9 are unaffected."""

REFERENCES: Final = ("query", "own")
"""What errors are compared with: the best mechanism for the query, or the best of the family."""


def _check_range(g: int) -> int:
    if isinstance(g, bool) or not 2 <= g <= RANGE_LIMIT or int(g) != g:
        raise InputError(
            "The hash range", f"The hash range must be a whole number from 2 to {RANGE_LIMIT}, not {g!r:.60}."
        )
    return int(g)


def hashing_coefficients(g: ArrayLike, d: int) -> FloatArray:
    """Return (c0, c1, c2) with MSE = c0 + c1/v + c2/v^2, v = (e^eps - 1)/g, stacked on the last axis.

    (p(1-p) + (d-1) q(1-q))/(p-q)^2 with q = 1/g, p = (1+vg)/(g(1+v)) and p-q = v(g-1)/(g(1+v)) becomes
    ((1 + vg) + (d-1)(1+v)^2)/(v^2 (g-1)).
    """
    sizes = np.asarray(g, float)
    parts = np.stack([np.full_like(sizes, d - 1), sizes + 2 * (d - 1), np.full_like(sizes, d)], axis=-1)
    return np.asarray(parts / (sizes - 1)[..., None], float)


def hashing_mse(epsilon: float, g: int, d: int) -> float:
    """Return the mean squared error of one local-hashing answer, summed over the d coordinates.

    The category is hashed to [g] and passed through generalised randomised response there: p = e^eps/(e^eps + g - 1),
    q = 1/g, MSE = (p(1-p) + (d-1) q(1-q))/(p-q)^2 (Wang et al. 2017). Privacy holds for any hash; this error is that
    of an ideal pairwise-independent one.

    Raises
    ------
    InputError
        If an argument is out of range.
    """
    size = _check_range(g)
    inverse = size / np.expm1(check_budget(epsilon))
    c0, c1, c2 = hashing_coefficients(size, check_categories(d))
    return float(c0 + inverse * (c1 + inverse * c2))


def best_hash_range(epsilon: float, d: int) -> int:
    """Return the hash range of least error, at most RANGE_LIMIT; about e^epsilon + 1.

    Raises
    ------
    InputError
        If an argument is out of range.

    Examples
    --------
    >>> best_hash_range(np.log(3), 1000)
    4
    """
    sizes = np.arange(2, RANGE_LIMIT + 1)
    inverse = sizes / np.expm1(check_budget(epsilon))
    c = hashing_coefficients(sizes, check_categories(d))
    return int(sizes[np.argmin(c[:, 0] + inverse * (c[:, 1] + inverse * c[:, 2]))])


def merge_level(epsilon: float, merged: int) -> float:
    """Return the level after merging the buckets in equal classes of `merged`: e^eps' = (e^eps + merged - 1)/merged.

    Examples
    --------
    >>> round(float(np.exp(merge_level(np.log(9), 4))), 9)
    3.0
    """
    return float(np.log1p(np.expm1(epsilon) / merged))


def hashing_chain(
    budgets: Iterable[float], d: int, objective: str = "max_ratio", *, reference: str = "query"
) -> list[Tier]:
    """Return per tier the level and hash range of the best chain of local-hashing answers, in the order given.

    A range g becomes g/c by merging its buckets in classes of c, so v = (e^eps - 1)/g stays as it is; adding noise
    lowers v. Among all chains of ranges that divide each other the best is found exactly.

    Parameters
    ----------
    budgets : iterable of float
        The privacy list.
    d : int
        Number of categories.
    objective : {'max_ratio', 'total'}
        What is minimised; the other one breaks ties.
    reference : {'query', 'own'}
        What ratios are taken to: Subset at its best size, or local hashing at its best range.

    Raises
    ------
    InputError
        If the objective or the reference is unknown, or a budget or d is out of range.
    """
    check_objective(objective)
    if reference not in REFERENCES:
        raise InputError("The reference", f"The reference must be query or own, not {reference!r:.60}.")
    categories = check_categories(d)
    ordered, restore = order_budgets(budgets)
    top = int(min(RANGE_LIMIT, max(8.0, 4 * np.exp(min(float(ordered[0]), 7.0)))))
    sizes = np.arange(top, 1, -1)
    ladder = Ladder(sizes, 1.0 / sizes, hashing_coefficients(sizes, categories), divides=True)
    own = ladder.errors(np.outer(np.expm1(ordered), ladder.scale)).min(axis=1)
    chain = solve_ladder(
        ladder, ordered, ideal_variances(ordered, categories) if reference == "query" else own, objective
    )
    return [chain[index] for index in restore(np.arange(len(chain))).tolist()]


def hashing_chain_mse(chain: Iterable[Tier], d: int) -> FloatArray:
    """Return the error of every tier of a chain of local-hashing answers.

    Raises
    ------
    InputError
        If a level, a range or d is out of range.
    """
    return np.array([hashing_mse(level, g, d) for level, g in chain])
