"""Simulated errors of every way to release a category at several budgets, to set points beside the formulas."""

import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from core.errors import InputError
from core.tiers.budgets import SMALLEST_BUDGET, order_budgets
from core.tiers.categories import simulate_categories
from core.tiers.chain import check_chain, optimal_chain
from core.tiers.hashing import hashing_chain
from core.tiers.laws import FloatArray
from core.tiers.response import flip_probability, keep_bit_probability
from core.tiers.simulation import RUNS
from core.tiers.subset import check_categories, ideal_variances
from core.tiers.template_rules import Tier
from core.tiers.walk import BLOCK

Codes = NDArray[np.int64]
Chain = Sequence[Tier] | None


def indicator_errors(
    subsets: NDArray[np.int16], values: Codes, probabilities: tuple[float, float], d: int
) -> FloatArray:
    """Return (1[j in r] - f)/(t - f) - 1[j = x] for every user and category, (users, d)."""
    t, f = probabilities
    held = np.zeros((len(values), d))
    np.put_along_axis(held, subsets.astype(np.int64), 1.0, axis=1)
    return _subtract_truth((held - f) / (t - f), values)


def _subtract_truth(estimates: NDArray[Any], values: Codes) -> FloatArray:
    estimates[np.arange(len(values)), values] -= 1
    return np.asarray(estimates, float)


def _chain_errors(
    values: Codes, d: int, budgets: list[float], chain: Chain, rng: np.random.Generator
) -> list[FloatArray]:
    found = simulate_categories(values, d, budgets, chain, rng=rng, keep_subsets=True)
    probabilities = [found.plan.probabilities(i) for i in found.order]
    return [indicator_errors(s, values, p, d) for s, p in zip(found.subsets, probabilities, strict=True)]


def _independent_errors(
    values: Codes, d: int, budgets: list[float], chain: Chain, rng: np.random.Generator
) -> list[FloatArray]:
    return [_chain_errors(values, d, [epsilon], None, rng)[0] for epsilon in budgets]


def _gradual_errors(
    values: Codes, d: int, budgets: list[float], chain: Chain, rng: np.random.Generator
) -> list[FloatArray]:
    """Return inverse-variance means of fresh answers at the differences of the budgets."""
    errors: list[FloatArray] = []
    weighted, precision = np.zeros((len(values), d)), 0.0
    for step in np.diff(budgets[::-1], prepend=0.0).tolist():
        if step >= SMALLEST_BUDGET:
            weight = 1 / float(ideal_variances(step, d))
            weighted = weighted + weight * _chain_errors(values, d, [step], None, rng)[0]
            precision += weight
        errors.append(weighted / precision)
    return errors[::-1]


def _grr_errors(
    values: Codes, d: int, budgets: list[float], chain: Chain, rng: np.random.Generator
) -> list[FloatArray]:
    return _chain_errors(values, d, budgets, [(epsilon, 1) for epsilon in budgets], rng)


def _brr_errors(
    values: Codes, d: int, budgets: list[float], chain: Chain, rng: np.random.Generator
) -> list[FloatArray]:
    """Flip every bit of the indicator vector once, then again at each step."""
    bits = np.zeros((len(values), d), np.bool_)
    bits[np.arange(len(values)), values] = True
    bits ^= rng.random(bits.shape) >= keep_bit_probability(budgets[0])
    errors = []
    for before, after in zip([budgets[0], *budgets[:-1]], budgets, strict=True):
        bits ^= rng.random(bits.shape) < flip_probability(before, after)
        keep = keep_bit_probability(after)
        errors.append(_subtract_truth((bits - (1 - keep)) / (2 * keep - 1), values))
    return errors


def _hashing_errors(
    values: Codes, d: int, budgets: list[float], chain: Chain, rng: np.random.Generator
) -> list[FloatArray]:
    """Hash with a uniform random function per user, answer in the first range, then merge and redraw."""
    tiers = hashing_chain(budgets, d) if chain is None else list(chain)
    level, g = tiers[0]
    hashes = rng.integers(g, size=(len(values), d))
    users = len(values)
    honest = rng.random(users) < _answer_keep(level, g)
    answers = np.where(honest, hashes[np.arange(users), values], rng.integers(g, size=users))
    errors = [_support_errors(hashes, answers, tiers[0], values)]
    for (level, g), (level_after, g_after) in itertools.pairwise(tiers):
        hashes, answers = hashes // (g // g_after), answers // (g // g_after)
        kept = _answer_keep(level_after, g_after) / _answer_keep(level, g)
        answers = np.where(rng.random(users) < kept, answers, rng.integers(g_after, size=users))
        errors.append(_support_errors(hashes, answers, (level_after, g_after), values))
    return errors


def _answer_keep(level: float, g: int) -> float:
    """Return phi = v/(1 + v), v = (e^eps - 1)/g: the share of answers that are the hash itself and no fresh draw."""
    v = float(np.expm1(level)) / g
    return v / (1 + v)


def _support_errors(hashes: Codes, answers: Codes, tier: Tier, values: Codes) -> FloatArray:
    """Return (1[h(j) = y] - 1/g)/(p - 1/g) - 1[j = x]."""
    level, g = tier
    gap = _answer_keep(level, g) * (1 - 1 / g)
    return _subtract_truth(((hashes == answers[:, None]) - 1 / g) / gap, values)


METHODS: Final[dict[str, Callable[..., list[FloatArray]]]] = {
    "multi-tier": _chain_errors,
    "gradual": _gradual_errors,
    "independent": _independent_errors,
    "GRR": _grr_errors,
    "BRR": _brr_errors,
    "local hashing": _hashing_errors,
}
"""Ways to release a category; each returns one user's estimation errors per tier, (users, d)."""


def simulate_category_mse(
    method: str,
    d: int,
    budgets: Iterable[float],
    *,
    rng: np.random.Generator,
    users: int,
    chain: Chain = None,
) -> tuple[FloatArray, FloatArray]:
    """Return the simulated error of one user's answer per tier, summed over the categories, and its standard error.

    Parameters
    ----------
    method : str
        A key of METHODS.
    d : int
        Number of categories.
    budgets : iterable of float (m,)
        The privacy list; answers come in its order.
    rng : Generator
        Source of randomness.
    users : int
        Number of simulated users.
    chain : sequence of (level, size), optional
        For "multi-tier" and "local hashing", one per budget; by default the chain of least maximum ratio.

    Raises
    ------
    InputError
        If the method is unknown, an argument is out of range or the chain cannot be walked.
    """
    if method not in METHODS:
        raise InputError("The method", f"The method must be one of {', '.join(METHODS)}, not {method!r:.60}.")
    categories = check_categories(d)
    count = int(RUNS.check(users))
    given = [float(epsilon) for epsilon in budgets]
    ordered, restore = order_budgets(given)
    tiers = list(chain) if chain is not None else None
    if method == "multi-tier":
        tiers = check_chain(given, optimal_chain(given, categories) if tiers is None else tiers, categories)
    sums, squares = np.zeros((2, len(given)))
    block = max(1, BLOCK // (categories * len(given)))
    for start in range(0, count, block):
        values = rng.integers(categories, size=min(block, count - start))
        errors = METHODS[method](values, categories, ordered.tolist(), tiers, rng)
        per_user = np.stack([np.sum(error**2, axis=1) for error in errors])
        sums += per_user.sum(axis=1)
        squares += (per_user**2).sum(axis=1)
    mean = sums / count
    deviation = np.sqrt(np.maximum(squares / count - mean**2, 0.0) / count)
    return restore(mean), restore(deviation)
