"""The collusion experiment: recipients pool their answers, and the error of the best combination tells what leaked."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from core.errors import InputError
from core.tiers.budgets import order_budgets
from core.tiers.categories import simulate_categories
from core.tiers.category_simulation import indicator_errors
from core.tiers.chain import chain_mse, check_chain, ideal_subset_mse, optimal_chain
from core.tiers.gradual import RELEASES, gradual_mse
from core.tiers.laws import FloatArray
from core.tiers.noise import independent_mse, multi_tier_mse
from core.tiers.simulation import RUNS, simulate_gradual, simulate_independent, simulate_multi_tier
from core.tiers.subset import check_categories
from core.tiers.template_rules import Tier
from core.tiers.walk import Progress

WEIGHTINGS: Final = ("theory", "held out")
"""Where the weights of a pooled answer come from."""


def tier_covariance(mse: ArrayLike, release: str) -> FloatArray:
    """Return the covariance of the tiers' errors, (m, m), tiers from the largest budget down.

    Independent answers are uncorrelated. In a chain every answer is the next better one plus uncorrelated noise, and
    in gradual release an inverse-variance mean of what better tiers hold too: either way
    Cov(r_i, r_j) = min(MSE_i, MSE_j).

    Raises
    ------
    InputError
        If the release is none of RELEASES.

    Examples
    --------
    >>> tier_covariance([1.0, 4.0], "multi-tier").tolist()
    [[1.0, 1.0], [1.0, 4.0]]
    """
    if release not in RELEASES:
        raise InputError("The release", f"The release must be one of {', '.join(RELEASES)}, not {release!r:.60}.")
    errors = np.asarray(mse, float)
    return np.diag(errors) if release == "independent" else np.minimum.outer(errors, errors)


def pooled_weights(covariance: ArrayLike) -> FloatArray:
    """Return the weights, summing to 1, of the unbiased combination of least variance: S^-1 1 / (1' S^-1 1).

    Equal or nearly equal tiers make S singular; the weights of least norm are taken then.

    Examples
    --------
    >>> pooled_weights([[1.0, 0.0], [0.0, 3.0]]).tolist()
    [0.75, 0.25]
    """
    matrix = np.asarray(covariance, float)
    solved = np.linalg.lstsq(matrix, np.ones(len(matrix)), rcond=None)[0]
    return np.asarray(solved / solved.sum(), float)


@dataclass(frozen=True, eq=False)
class PooledCurve:
    """The pooled error of growing coalitions {1}, {1, 2}, ..., {1..m} under one way of answering.

    Parameters
    ----------
    release : str
        One of RELEASES.
    tier_mse : ndarray (m,)
        Error of every tier alone, by formula.
    theory : ndarray (m,)
        Error of the best linear combination of tiers 1..s, by formula.
    measured, standard_errors : ndarray (m,)
        The same from simulated answers, with its standard error.
    """

    release: str
    tier_mse: FloatArray
    theory: FloatArray
    measured: FloatArray
    standard_errors: FloatArray


def _measure(errors: NDArray[np.float64], covariance: FloatArray, weighting: str) -> tuple[FloatArray, FloatArray]:
    """Return pooled squared errors of coalitions 1..s and standard errors; `errors` is (runs, m, coordinates)."""
    runs, tiers, _ = errors.shape
    fitted, judged = errors[: runs // 2], errors if weighting == "theory" else errors[runs // 2 :]
    means, deviations = np.empty(tiers), np.empty(tiers)
    for size in range(1, tiers + 1):
        if weighting == "theory":
            matrix = covariance[:size, :size]
        else:
            matrix = np.einsum("ric,rjc->ij", fitted[:, :size], fitted[:, :size]) / len(fitted)
        pooled = np.einsum("s,rsc->rc", pooled_weights(matrix), judged[:, :size])
        squares = np.sum(pooled**2, axis=1)
        means[size - 1] = squares.mean()
        deviations[size - 1] = squares.std(ddof=1) / np.sqrt(len(squares))
    return means, deviations


def _curve(release: str, mse: FloatArray, errors: NDArray[np.float64], weighting: str) -> PooledCurve:
    if weighting not in WEIGHTINGS:
        raise InputError("The weights", f"The weights must come from theory or be held out, not {weighting!r:.60}.")
    covariance = tier_covariance(mse, release)
    sizes = range(1, len(mse) + 1)
    weights = [pooled_weights(covariance[:s, :s]) for s in sizes]
    theory = np.array([w @ covariance[:s, :s] @ w for s, w in zip(sizes, weights, strict=True)])
    measured, deviations = _measure(errors, covariance, weighting)
    return PooledCurve(release, mse, theory, measured, deviations)


def pool_noise(
    family: str,
    budgets: Iterable[float],
    *,
    rng: np.random.Generator,
    runs: int,
    delta: float | None = None,
    sensitivity: float = 1,
    weighting: str = "theory",
) -> tuple[PooledCurve, ...]:
    """Simulate a number's answers under all three releases and pool them; tiers from the largest budget down.

    Under independent release the pooled error falls below tier 1's own; under a chain and under gradual release it
    stays at tier 1's. Weights come from theory, or from the first half of the runs and are judged on the second
    (fitted and judged on the same runs they would dip by about m/runs).

    Parameters
    ----------
    family : str
        A noise family.
    budgets : iterable of float (m,)
        The privacy list.
    rng : Generator
        Source of randomness.
    runs : int
        Number of simulated releases.
    delta, sensitivity : float
        As in `noise_law`.
    weighting : {'theory', 'held out'}
        Where the weights come from.

    Raises
    ------
    InputError
        If an argument is out of range.
    """
    ordered, _ = order_budgets(budgets)
    simulations: dict[str, Callable[..., NDArray[np.float64]]] = {
        "multi-tier": simulate_multi_tier,
        "gradual": simulate_gradual,
        "independent": simulate_independent,
    }
    formulas: dict[str, Callable[..., FloatArray]] = {
        "multi-tier": multi_tier_mse,
        "gradual": gradual_mse,
        "independent": independent_mse,
    }
    curves = []
    for release in RELEASES:
        mse = formulas[release](family, ordered, delta=delta, sensitivity=sensitivity)
        answers = simulations[release](family, ordered, rng=rng, runs=runs, delta=delta, sensitivity=sensitivity)
        curves.append(_curve(release, mse, answers[:, :, None], weighting))
    return tuple(curves)


def pool_categories(
    d: int,
    budgets: Iterable[float],
    chain: Sequence[Tier] | None = None,
    *,
    rng: np.random.Generator,
    runs: int,
    weighting: str = "theory",
    progress: Progress | None = None,
) -> tuple[PooledCurve, ...]:
    """Simulate users' answers under a chain and under independent release and pool the estimators, tier by tier.

    The error is that of one user's estimated indicator vector, summed over the d coordinates, so that it compares with
    `subset_mse`. Arguments and errors as `pool_noise`; `chain` is by default the one of least maximum ratio.
    """
    categories = check_categories(d)
    ordered, _ = order_budgets(budgets)
    levels = ordered.tolist()
    count = int(RUNS.check(runs))
    tiers = check_chain(levels, optimal_chain(levels, categories) if chain is None else chain, categories)
    values = rng.integers(categories, size=count)
    chained = simulate_categories(values, categories, levels, tiers, rng=rng, keep_subsets=True, progress=progress)
    errors = [
        indicator_errors(chained.subsets[i], values, chained.plan.probabilities(i), categories)
        for i in range(len(levels))
    ]
    fresh = [_fresh_errors(values, categories, epsilon, rng) for epsilon in levels]
    return (
        _curve("multi-tier", chain_mse(tiers, categories), np.stack(errors, axis=1), weighting),
        _curve("independent", ideal_subset_mse(levels, categories), np.stack(fresh, axis=1), weighting),
    )


def _fresh_errors(values: NDArray[np.int64], d: int, epsilon: float, rng: np.random.Generator) -> FloatArray:
    alone = simulate_categories(values, d, [epsilon], rng=rng, keep_subsets=True)
    return indicator_errors(alone.subsets[0], values, alone.plan.probabilities(0), d)
