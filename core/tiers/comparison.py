"""One number at several budgets under every way to release it: errors, simulated errors, and what colluders learn."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from core.tiers.gradual import CollusionCost, collusion_cost, gradual_mse
from core.tiers.laws import FloatArray
from core.tiers.noise import independent_mse, multi_tier_mse, reference_mse
from core.tiers.simulation import measure_mse, simulate_gradual, simulate_independent, simulate_multi_tier
from core.tiers.walk import Progress

GRADUAL_MU: Final = "gradual, mu split"
"""Gradual release of Gaussian noise that divides mu^2 instead of epsilon."""
DRAW_LIMIT: Final = 6_000_000
"""Draws of one simulated release; more runs are cut, and the result says how many were made."""


@dataclass(frozen=True)
class NoiseSettings:
    """What is compared.

    Parameters
    ----------
    family : str
        A noise family.
    budgets : tuple of float (m,)
        The privacy list, from the largest budget down.
    delta : float
        Failure probability, for the families that need one.
    sensitivity : int
        How far one person moves the number.
    runs : int
        Simulated releases.
    seed : int
        Of the simulation.
    """

    family: str
    budgets: tuple[float, ...]
    delta: float = 1e-6
    sensitivity: int = 1
    runs: int = 2000
    seed: int = 0

    @property
    def affordable_runs(self) -> int:
        """Simulated releases that are made: `runs`, or fewer where the list or the sensitivity is large."""
        terms = self.sensitivity if self.family == "msdlap" else 1
        return max(2, min(self.runs, DRAW_LIMIT // (len(self.budgets) * terms)))


@dataclass(frozen=True, eq=False)
class ReleaseCurve:
    """One way to release the number at every budget.

    Parameters
    ----------
    name : str
        'multi-tier', 'gradual', 'independent' or GRADUAL_MU.
    mse : ndarray (m,)
        Error of every tier, by formula.
    measured, standard_errors : ndarray (m,)
        The same from simulated releases.
    coalitions : tuple of CollusionCost (m,)
        What the s best-informed recipients learn together, s = 1..m.
    """

    name: str
    mse: FloatArray
    measured: FloatArray
    standard_errors: FloatArray
    coalitions: tuple[CollusionCost, ...]

    @property
    def together(self) -> CollusionCost:
        """What all recipients learn together."""
        return self.coalitions[-1]


@dataclass(frozen=True, eq=False)
class NoiseComparison:
    """Every release of one number, side by side.

    Parameters
    ----------
    settings : NoiseSettings
        What was compared.
    runs : int
        Simulated releases that were made.
    reference : ndarray (m,)
        MSE*, two-sided geometric noise at every budget: the ideal without protection against collusion.
    curves : tuple of ReleaseCurve
        Multi-tier, gradual, independent; for Gaussian noise also gradual with the mu split.
    """

    settings: NoiseSettings
    runs: int
    reference: FloatArray
    curves: tuple[ReleaseCurve, ...]

    def curve(self, name: str) -> ReleaseCurve:
        """Return the curve called `name`."""
        return next(curve for curve in self.curves if curve.name == name)

    def worst_ratio(self, name: str) -> float:
        """Return max_i MSE_i / MSE*_i of a release; 1 is ideal."""
        return float(np.max(self.curve(name).mse / self.reference))

    def own_ratio(self, name: str) -> float:
        """Return max_i MSE_i over the family's own best error at that budget."""
        return float(np.max(self.curve(name).mse / self.curve("independent").mse))


def compare_releases(settings: NoiseSettings, progress: Progress | None = None) -> NoiseComparison:
    """Return errors, simulated errors and collusion costs of every release of one number.

    Parameters
    ----------
    settings : NoiseSettings
        What is compared.
    progress : callable, optional
        Called between the parts with a fraction and a sentence.

    Raises
    ------
    InputError
        As in `core.tiers.noise_law` and `clean_budgets`.
    """
    budgets = settings.budgets
    known = {"delta": settings.delta, "sensitivity": settings.sensitivity}
    formulas: dict[str, tuple[Callable[..., FloatArray], Callable[..., FloatArray], dict[str, str]]] = {
        "multi-tier": (multi_tier_mse, simulate_multi_tier, {}),
        "gradual": (gradual_mse, simulate_gradual, {}),
        "independent": (independent_mse, simulate_independent, {}),
    }
    if settings.family == "gaussian":
        formulas[GRADUAL_MU] = (gradual_mse, simulate_gradual, {"split": "mu"})
    rng, runs = np.random.default_rng(settings.seed), settings.affordable_runs
    curves = []
    for index, (name, (formula, simulate, more)) in enumerate(formulas.items()):
        if progress is not None:
            progress(index / len(formulas), f"{name} release")
        mse = formula(settings.family, budgets, **known, **more)
        answers = simulate(settings.family, budgets, rng=rng, runs=runs, **known, **more)
        measured, errors = measure_mse(answers)
        curves.append(ReleaseCurve(name, mse, measured, errors, _coalitions(settings, name)))
    return NoiseComparison(settings, runs, reference_mse(budgets, settings.sensitivity), tuple(curves))


def _coalitions(settings: NoiseSettings, name: str) -> tuple[CollusionCost, ...]:
    release = "gradual" if name == GRADUAL_MU else name
    sizes = range(1, len(settings.budgets) + 1)
    if release != "independent":
        # The best-informed member's budget is the cost of any coalition, so one answer serves all sizes.
        first = collusion_cost(
            settings.family,
            settings.budgets,
            release=release,
            delta=settings.delta,
            sensitivity=settings.sensitivity,
        )
        return (first,) * len(settings.budgets)
    return tuple(
        collusion_cost(
            settings.family,
            settings.budgets[:size],
            release=release,
            delta=settings.delta,
            sensitivity=settings.sensitivity,
        )
        for size in sizes
    )
