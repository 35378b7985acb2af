"""Simulated releases of one number at every tier, to set points beside the formulas; not for real data."""

import itertools
from collections.abc import Iterable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from core.limits import Range
from core.tiers.budgets import order_budgets
from core.tiers.gradual import gradual_answers, gradual_laws
from core.tiers.laws import FloatArray
from core.tiers.noise import noise_law, residual

RUNS: Final = Range("The number of simulated releases", 2, 1_000_000, 2000, 100, "2000 is usual", True)


def simulate_multi_tier(
    family: str,
    budgets: Iterable[float],
    *,
    rng: np.random.Generator,
    runs: int,
    value: float = 0.0,
    delta: float | None = None,
    sensitivity: float = 1,
) -> NDArray[np.float64]:
    """Return simulated answers of the chain, (runs, m), columns in the order of `budgets`.

    Parameters
    ----------
    family : str
        A noise family.
    budgets : iterable of float (m,)
        The privacy list.
    rng : Generator
        Source of randomness.
    runs : int
        Number of repetitions.
    value : float
        The truth.
    delta, sensitivity : float
        As in `noise_law`.

    Raises
    ------
    InputError
        As in `noise_law` and `order_budgets`, or if `runs` is out of range.
    """
    count = int(RUNS.check(runs))
    ordered, restore = order_budgets(budgets)
    levels = ordered.tolist()
    answer = value + noise_law(family, levels[0], delta=delta, sensitivity=sensitivity).draw(rng, count)
    columns = [answer]
    for before, after in itertools.pairwise(levels):
        answer = answer + residual(family, before, after, delta, sensitivity).draw(rng, count)
        columns.append(answer)
    return restore(np.stack(columns, axis=1).astype(float))


def simulate_independent(
    family: str,
    budgets: Iterable[float],
    *,
    rng: np.random.Generator,
    runs: int,
    value: float = 0.0,
    delta: float | None = None,
    sensitivity: float = 1,
) -> NDArray[np.float64]:
    """Return simulated fresh answers at every budget, (runs, m); arguments and errors as `simulate_multi_tier`."""
    count = int(RUNS.check(runs))
    ordered, restore = order_budgets(budgets)
    laws = [noise_law(family, epsilon, delta=delta, sensitivity=sensitivity) for epsilon in ordered.tolist()]
    return restore(np.stack([value + law.draw(rng, count) for law in laws], axis=1).astype(float))


def simulate_gradual(
    family: str,
    budgets: Iterable[float],
    *,
    rng: np.random.Generator,
    runs: int,
    value: float = 0.0,
    delta: float | None = None,
    sensitivity: float = 1,
    split: str = "epsilon",
) -> NDArray[np.float64]:
    """Return simulated answers of gradual release, (runs, m); arguments and errors as `gradual_mse`."""
    count = int(RUNS.check(runs))
    ordered, restore = order_budgets(budgets)
    laws = gradual_laws(family, ordered, delta=delta, sensitivity=sensitivity, split=split)
    return restore(gradual_answers(laws, value, rng, count))


def measure_mse(answers: NDArray[np.float64], value: float = 0.0) -> tuple[FloatArray, FloatArray]:
    """Return the mean squared error of every column and its standard error.

    Parameters
    ----------
    answers : ndarray (runs, m)
        Simulated answers.
    value : float
        The truth.

    Examples
    --------
    >>> measure_mse(np.array([[1.0], [-1.0]]))[0].tolist()
    [1.0]
    """
    squares = (answers - value) ** 2
    return squares.mean(axis=0), squares.std(axis=0, ddof=1) / np.sqrt(len(answers))
