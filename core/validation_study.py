"""Does a low adequacy score announce a gain? Random instances: score against regret, with their correlation."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.stats import pearsonr, spearmanr

from core.adequacy import fit_mse, fit_radial
from core.mechanisms import Problem, build_channel
from core.mechanisms.optimal import solve_optimal_channel

Progress = Callable[[float, str], None]
Floats = NDArray[np.float64]

INSTANCES: Final = 500
POINTS: Final = 15
EPSILON: Final = 5.0
"""Budget per unit of distance; distances reach 1."""
TOLERANCE: Final = 1e-4
"""Relative gap of the optimised channel, far below any regret that matters in the picture."""
SEED: Final = 20
"""Seed of the published study: fixed before its correlation was looked at."""
NOISES: Final = (("EM", "none"), ("calibrated EM", "none"), ("EM", "distance"))
"""Predefined noise and remapping whose regret is measured."""
NAMES: Final = ("EM", "calibrated EM", "EM, remapped")
"""What they are called, in the same order."""
_EXPONENTS: Final = (0.5, 3.0)
_LEAST: Final = 3
"""Instances below which a correlation says nothing."""


@dataclass(frozen=True)
class Instance:
    """One random group: how well distance explains its loss, and what optimising saves.

    Parameters
    ----------
    radial, mse : float
        Both adequacy scores.
    regrets : tuple of float
        (L_DPN - L_OPT) / L_DPN for each of `NOISES`.
    """

    radial: float
    mse: float
    regrets: tuple[float, ...]


@dataclass(frozen=True)
class Correlation:
    """How score and regret go together.

    Parameters
    ----------
    pearson, spearman : float
        Correlation of the values and of their ranks; nan for fewer than three instances.
    pearson_p, spearman_p : float
        Two-sided p-values against no correlation.
    slope, intercept : float
        Least-squares line of regret on score.
    """

    pearson: float
    spearman: float
    pearson_p: float
    spearman_p: float
    slope: float
    intercept: float


@dataclass(frozen=True, eq=False)
class ValidationStudy:
    """All instances so far.

    Parameters
    ----------
    instances : tuple of Instance
        In the order of their seeds.
    seconds : float
        Time spent on them.
    """

    instances: tuple[Instance, ...]
    seconds: float

    def regrets(self, noise: int = 0) -> Floats:
        """Return the regret per instance of the noise at a position of `NOISES`."""
        return np.array([i.regrets[noise] for i in self.instances])

    def scores(self, kind: str) -> Floats:
        """Return the score per instance, of kind 'radial' or 'mse'."""
        return np.array([i.radial if kind == "radial" else i.mse for i in self.instances])

    def correlation(self, kind: str, noise: int = 0) -> Correlation:
        """Return how the score of a kind and the regret of a noise go together."""
        score, regret = self.scores(kind), self.regrets(noise)
        if len(score) < _LEAST or np.ptp(score) == 0 or np.ptp(regret) == 0:
            return Correlation(*[float("nan")] * 6)
        linear, ranks = pearsonr(score, regret), spearmanr(score, regret)
        slope, intercept = np.polyfit(score, regret, 1)
        return Correlation(
            float(linear.statistic), float(ranks.statistic), float(linear.pvalue), float(ranks.pvalue),
            float(slope), float(intercept),
        )  # fmt: skip


def draw_instance(rng: np.random.Generator) -> Problem:
    """Draw a random group of 15 points: their metric, a uniform prior, and a loss between radial and arbitrary.

    Points are uniform in the unit square, their Euclidean distances scaled to a diameter of 1. The loss is
    (1 - w) d^g + w R off the diagonal and 0 on it, with g uniform on [1/2, 3], w uniform on [0, 1], and R of
    independent uniform entries: w = 0 is explained by distance entirely, w = 1 not at all.

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of the instance.
    """
    points = rng.random((POINTS, 2))
    distance = np.sqrt(((points[:, None] - points[None]) ** 2).sum(axis=-1))
    distance /= distance.max()
    exponent, weight = rng.uniform(*_EXPONENTS), rng.random()
    loss = (1 - weight) * distance**exponent + weight * rng.random((POINTS, POINTS))
    np.fill_diagonal(loss, 0.0)
    return Problem(distance, np.full(POINTS, 1.0 / POINTS), loss)


def study_instance(number: int, seed: int = SEED) -> Instance:
    """Score instance `number` and measure what the optimised channel saves against each noise."""
    problem = draw_instance(np.random.default_rng([seed, number]))
    optimal = solve_optimal_channel(problem.distance, problem.prior, problem.loss, EPSILON, tolerance=TOLERANCE)
    losses = [build_channel(noise, problem, EPSILON, remap=remap).expected_loss for noise, remap in NOISES]
    return Instance(
        radial=fit_radial(problem.distance, problem.loss).score,
        mse=fit_mse(problem.distance, problem.loss).score,
        regrets=tuple(max(0.0, (loss - optimal.expected_loss) / loss) for loss in losses),
    )


def extend_study(
    study: ValidationStudy, count: int, *, clock: Callable[[], float], progress: Progress | None = None
) -> ValidationStudy:
    """Return the study with up to `count` more instances, never beyond `INSTANCES`.

    Parameters
    ----------
    study : ValidationStudy
        What was found so far; the next instance is the one after its last.
    count : int
        How many to add.
    clock : callable
        Seconds, monotone.
    progress : callable (fraction, sentence), optional
        Told before every instance; it may raise to stop.
    """
    start, first = clock(), len(study.instances)
    found: list[Instance] = []
    for number in range(first, min(first + count, INSTANCES)):
        if progress is not None:
            progress(number / INSTANCES, f"instance {number + 1} of {INSTANCES}")
        found.append(study_instance(number))
    return ValidationStudy((*study.instances, *found), study.seconds + clock() - start)
