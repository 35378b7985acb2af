"""Gradual release, the baseline: every larger budget adds a fresh answer, and recipients average what they hold."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from core.errors import InputError
from core.tiers.accounting import gaussian_epsilon
from core.tiers.budgets import SMALLEST_BUDGET, order_budgets
from core.tiers.laws import FloatArray, GaussianLaw, Law
from core.tiers.noise import get_family, noise_law

SPLITS: Final = ("epsilon", "mu")
"""What gradual release divides: epsilon (and delta, evenly), or the square of Gaussian DP's mu."""
RELEASES: Final = ("multi-tier", "gradual", "independent")
"""The three ways to answer every tier."""


@dataclass(frozen=True)
class CollusionCost:
    """What colluders learn together.

    Parameters
    ----------
    epsilon : float
        The budget that their joint answer satisfies.
    delta : float
        Its failure probability; 0 for pure epsilon.
    mu : float or None
        The joint Gaussian DP parameter, for Gaussian noise.
    rule : str
        The composition rule that was used, as a sentence.
    """

    epsilon: float
    delta: float
    mu: float | None
    rule: str


def gradual_laws(
    family: str,
    budgets: FloatArray,
    *,
    delta: float | None = None,
    sensitivity: float = 1,
    split: str = "epsilon",
) -> list[Law | None]:
    """Return the noise of every fresh answer, from the smallest budget up; None where a step releases nothing.

    The first answer spends the smallest budget, every further one the difference to the next budget. With
    split="mu" (Gaussian noise only) the answers spend mu_m^2 and mu_j^2 - mu_(j+1)^2 instead. A difference too small
    for any use releases nothing, which is only more private.

    Parameters
    ----------
    family : str
        A noise family.
    budgets : ndarray (m,)
        From the largest down.
    delta, sensitivity : float
        As in `noise_law`; with split="epsilon" every answer gets an equal share of delta.
    split : {'epsilon', 'mu'}
        What is divided.

    Raises
    ------
    InputError
        If the split does not fit the family, or as in `noise_law`.
    """
    if split not in SPLITS or (split == "mu" and family != "gaussian"):
        raise InputError(
            "The split", f"The split must be epsilon, or mu for Gaussian noise, not {split!r:.60} for {family} noise."
        )
    rising = budgets[::-1]
    if split == "mu":
        laws = [noise_law(family, epsilon, delta=delta, sensitivity=sensitivity) for epsilon in rising.tolist()]
        precisions = np.diff([0.0, *(1 / law.variance for law in laws)])
        return [GaussianLaw(float(precision) ** -0.5) if precision > 0 else None for precision in precisions]
    steps = np.diff(rising, prepend=0.0)
    share = None if delta is None else delta / int(np.count_nonzero(steps >= SMALLEST_BUDGET))
    return [_step_law(family, step, share, sensitivity, index > 0) for index, step in enumerate(steps.tolist())]


def _step_law(family: str, step: float, delta: float | None, sensitivity: float, optional: bool) -> Law | None:
    if optional and step < SMALLEST_BUDGET:
        return None
    try:
        return noise_law(family, step, delta=delta, sensitivity=sensitivity)
    except InputError:
        # Skellam noise for a tiny difference may be too wide to compute; only the first answer is indispensable.
        if optional and family == "skellam":
            return None
        raise


def gradual_mse(
    family: str,
    budgets: Iterable[float],
    *,
    delta: float | None = None,
    sensitivity: float = 1,
    split: str = "epsilon",
) -> FloatArray:
    """Return the error (variance) of every tier under gradual release, in the order given.

    Tier j weighs the answers it holds by inverse variance: MSE_j = 1 / sum 1/var (Wang et al., section 6).

    Raises
    ------
    InputError
        As in `gradual_laws` and `order_budgets`.

    Examples
    --------
    >>> gradual_mse("laplace", [2.0, 1.0]).tolist()
    [1.0, 2.0]
    """
    ordered, restore = order_budgets(budgets)
    laws = gradual_laws(family, ordered, delta=delta, sensitivity=sensitivity, split=split)
    precisions = np.cumsum([0.0 if law is None else 1 / law.variance for law in laws])
    return restore(1 / precisions[::-1])


def collusion_cost(
    family: str,
    budgets: Iterable[float],
    *,
    release: str = "multi-tier",
    delta: float | None = None,
    sensitivity: float = 1,
) -> CollusionCost:
    """Return what the recipients with these budgets learn together, by the family's own accounting.

    Parameters
    ----------
    family : str
        A noise family.
    budgets : iterable of float
        Budgets of the colluders.
    release : {'multi-tier', 'gradual', 'independent'}
        How the answers were made.
    delta, sensitivity : float
        As in `noise_law`.

    Raises
    ------
    InputError
        If `release` is none of RELEASES, or as in `noise_law`.
    """
    if release not in RELEASES:
        raise InputError("The release", f"The release must be one of {', '.join(RELEASES)}, not {release!r:.60}.")
    kind = get_family(family)
    ordered, _ = order_budgets(budgets)
    noise_law(family, float(ordered[0]), delta=delta, sensitivity=sensitivity)
    failure = float(delta) if kind.needs_delta and delta is not None else 0.0
    mus = None
    if family == "gaussian":
        mus = sensitivity / np.sqrt(
            [noise_law(family, e, delta=delta, sensitivity=sensitivity).variance for e in ordered.tolist()]
        )
    if release != "independent":
        what = "every answer is a post-processing of the best one" if release == "multi-tier" else "the parts add up"
        mu = None if mus is None else float(mus[0])
        return CollusionCost(float(ordered[0]), failure, mu, f"The largest budget among them: {what}.")
    if mus is not None:
        mu = float(np.sqrt(np.sum(mus**2)))
        rule = "Gaussian DP composes exactly: the squares of mu add up; epsilon is read off its curve at delta."
        return CollusionCost(gaussian_epsilon(mu, failure), failure, mu, rule)
    total = float(np.sum(ordered))
    if failure:
        return CollusionCost(total, failure * len(ordered), None, "Epsilons and deltas add up (an upper bound).")
    return CollusionCost(total, 0.0, None, "The epsilons add up.")


def gradual_answers(laws: list[Law | None], value: float, rng: np.random.Generator, runs: int) -> NDArray[np.float64]:
    """Return simulated answers (runs, m), tier m (smallest budget) in the last column.

    Parameters
    ----------
    laws : list of Law or None (m,)
        As from `gradual_laws`.
    value : float
        The truth.
    rng : Generator
        Source of randomness.
    runs : int
        Number of repetitions.
    """
    answers = np.empty((runs, len(laws)))
    weighted, precision = np.zeros(runs), 0.0
    for position, law in enumerate(laws):
        if law is not None:
            weighted += law.draw(rng, runs) / law.variance
            precision += 1 / law.variance
        answers[:, -1 - position] = value + weighted / precision
    return answers
