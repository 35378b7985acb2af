"""Noise families for one number at several budgets: law, residual of a step, errors, and what each costs."""

import itertools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from core.errors import InputError
from core.tiers.accounting import analytic_sigma, classic_sigma, skellam_intensity
from core.tiers.budgets import check_budget, order_budgets
from core.tiers.laws import (
    FloatArray,
    GaussianLaw,
    GeometricLaw,
    LaplaceLaw,
    Law,
    SkellamLaw,
    WeightedSumLaw,
    ZeroInflatedLaw,
)

CALIBRATIONS: Final = ("analytic", "classic")
"""Ways to size Gaussian noise."""
SENSITIVITY_LIMIT: Final = 1e6
"""Largest sensitivity of a query."""
TERMS_LIMIT: Final = 100
"""Largest sensitivity of MSDLap, which sums that many variables."""


@dataclass(frozen=True)
class Family:
    """A family of noise.

    Parameters
    ----------
    name, title : str
        The word functions take, and the one a person reads.
    accounting : str
        What its budget means.
    discrete : bool
        Whether it lives on the integers; only then may it be released.
    needs_delta : bool
        Whether an epsilon needs a delta beside it.
    """

    name: str
    title: str
    accounting: str
    discrete: bool
    needs_delta: bool


FAMILIES: Final[Mapping[str, Family]] = MappingProxyType(
    {
        family.name: family
        for family in (
            Family("geometric", "Two-sided geometric", "pure epsilon", True, False),
            Family("laplace", "Laplace", "pure epsilon", False, False),
            Family("gaussian", "Gaussian", "Gaussian DP (mu) with its (epsilon, delta) curve", False, True),
            Family("skellam", "Skellam", "exact (epsilon, delta) from the probabilities", True, True),
            Family("msdlap", "Multi-scale discrete Laplace", "pure epsilon", True, False),
        )
    }
)
"""The families whose residual is a law for every pair of budgets, by name."""


@dataclass(frozen=True)
class Residual:
    """The law of s in r_to = r_from + s, which turns the answer at one budget into that at a smaller one.

    Parameters
    ----------
    family : str
        Name of the noise family.
    epsilon_from, epsilon_to : float
        The larger and the smaller budget.
    zero_weight : float
        Weight of the point mass in the mixture "0 with probability w, else noise at the smaller budget"; for MSDLap
        that all its parts are 0 that way, 0 where the residual is no such mixture.
    law : Law
        The whole law of s.
    """

    family: str
    epsilon_from: float
    epsilon_to: float
    zero_weight: float
    law: Law

    @property
    def discrete(self) -> bool:
        """Whether s is a whole number."""
        return self.law.discrete

    @property
    def atom(self) -> float:
        """P(s = 0); on the integers it includes the zeros of the second part of the mixture."""
        return self.law.atom

    @property
    def variance(self) -> float:
        """Var(s), what the step adds to the error."""
        return self.law.variance

    def pmf(self, n: ArrayLike) -> FloatArray:
        """Return P(s = n) on whole numbers.

        Raises
        ------
        ValueError
            If the family is continuous.
        """
        if not self.discrete:
            raise ValueError(f"{self.family} noise is continuous: it has a pdf and an atom, no pmf")
        return self.law.density(n)

    def pdf(self, x: ArrayLike) -> FloatArray:
        """Return the density of s beside its atom.

        Raises
        ------
        ValueError
            If the family is discrete.
        """
        if self.discrete:
            raise ValueError(f"{self.family} noise is discrete: it has a pmf, no pdf")
        return self.law.density(x)

    def cdf(self, x: ArrayLike) -> FloatArray:
        """Return P(s <= x)."""
        return self.law.cdf(x)

    def characteristic(self, t: ArrayLike) -> FloatArray:
        """Return E cos(t s), which is Phi_to(t) / Phi_from(t)."""
        return self.law.characteristic(t)

    def draw(self, rng: np.random.Generator, size: int | tuple[int, ...]) -> NDArray[Any]:
        """Draw s for simulation; releases use `core.tiers.release_count`."""
        return self.law.draw(rng, size)


def get_family(name: str) -> Family:
    """Return the family called `name`.

    Raises
    ------
    InputError
        If there is none.
    """
    if name not in FAMILIES:
        raise InputError(
            "The noise family", f"The noise family must be one of {', '.join(FAMILIES)}, not {name!r:.60}."
        )
    return FAMILIES[name]


def _check_sensitivity(family: Family, sensitivity: float) -> float:
    top = TERMS_LIMIT if family.name == "msdlap" else SENSITIVITY_LIMIT
    whole = family.discrete
    good = isinstance(sensitivity, int | float | np.number) and 0 < sensitivity <= top
    if not good or (whole and sensitivity != int(sensitivity)):
        kind = "a whole number from 1" if whole else "a number above 0 and up"
        raise InputError(
            "The sensitivity",
            f"The sensitivity of {family.title} noise must be {kind} to {top:g}, not {sensitivity!r:.60}.",
        )
    return float(sensitivity)


def noise_law(
    family: str, epsilon: float, *, delta: float | None = None, sensitivity: float = 1, calibration: str = "analytic"
) -> Law:
    """Return the noise that `family` adds at one budget.

    Parameters
    ----------
    family : str
        A key of FAMILIES.
    epsilon : float
        The budget.
    delta : float, optional
        Needed by Gaussian and Skellam noise, ignored by the others.
    sensitivity : float
        How far one person moves the query; a whole number for noise on the integers.
    calibration : {'analytic', 'classic'}
        How Gaussian noise is sized.

    Raises
    ------
    InputError
        If any of them is out of range or delta is missing.
    """
    kind = get_family(family)
    check_budget(epsilon)
    reach = _check_sensitivity(kind, sensitivity)
    if calibration not in CALIBRATIONS:
        raise InputError("The calibration", f"The calibration must be analytic or classic, not {calibration!r:.60}.")
    if kind.needs_delta and delta is None:
        raise InputError(
            "The failure probability (delta)",
            f"{kind.title} noise satisfies no pure epsilon; state delta as well, for example 1e-6.",
        )
    if family == "laplace":
        return LaplaceLaw(reach / epsilon)
    if family == "geometric":
        return GeometricLaw(epsilon / reach)
    if family == "msdlap":
        return WeightedSumLaw(int(reach), GeometricLaw(epsilon), epsilon)
    assert delta is not None
    if family == "skellam":
        return SkellamLaw(skellam_intensity(float(epsilon), float(delta), int(reach)))
    return GaussianLaw((analytic_sigma if calibration == "analytic" else classic_sigma)(epsilon, delta, reach))


def _geometric_zero_weight(rate_from: float, rate_to: float) -> float:
    """Return (1-p2)^2 p1 / ((1-p1)^2 p2) for p = exp(-rate)."""
    return math.exp(rate_to - rate_from) * (math.expm1(-rate_to) / math.expm1(-rate_from)) ** 2


def residual_law(before: Law, after: Law) -> Law:
    """Return the law that added to noise `before` gives noise `after` of the same family and no smaller variance."""
    return _step(before, after)[1]


def _step(before: Law, after: Law) -> tuple[float, Law]:
    """Return the mixture's zero weight and the whole law of the residual between two laws of one family.

    Wang et al., Table 1: the law with characteristic function Phi_after / Phi_before.
    """
    if isinstance(before, LaplaceLaw) and isinstance(after, LaplaceLaw):
        weight = (before.scale / after.scale) ** 2
        return weight, ZeroInflatedLaw(weight, after)
    if isinstance(before, GeometricLaw) and isinstance(after, GeometricLaw):
        weight = _geometric_zero_weight(before.rate, after.rate)
        return weight, ZeroInflatedLaw(weight, after)
    if isinstance(before, WeightedSumLaw) and isinstance(after, WeightedSumLaw):
        weight, part = _step(before.law, after.law)
        return weight**after.terms, WeightedSumLaw(after.terms, part, after.decay)
    if isinstance(before, GaussianLaw) and isinstance(after, GaussianLaw):
        gap = (after.sigma - before.sigma) * (after.sigma + before.sigma)
        return (0.0, GaussianLaw(math.sqrt(gap))) if gap > 0 else (1.0, ZeroInflatedLaw(1.0, after))
    assert isinstance(before, SkellamLaw) and isinstance(after, SkellamLaw)
    rise = after.intensity - before.intensity
    return (0.0, SkellamLaw(rise)) if rise > 0 else (1.0, ZeroInflatedLaw(1.0, after))


def residual(
    family: str,
    epsilon_from: float,
    epsilon_to: float,
    delta: float | None = None,
    sensitivity: float = 1,
    *,
    calibration: str = "analytic",
) -> Residual:
    """Return the residual that turns noise at `epsilon_from` into noise at the smaller `epsilon_to`.

    Its characteristic function is Phi_to(t) / Phi_from(t), so the answer at `epsilon_to` is a post-processing of the
    answer at `epsilon_from` and colluders learn nothing beyond the better of their answers (Wang et al., section 4).

    Raises
    ------
    InputError
        If `epsilon_to` exceeds `epsilon_from`, or as in `noise_law`.

    Examples
    --------
    >>> round(residual("laplace", 2.0, 1.0).atom, 6)
    0.25
    """
    before, after = (
        noise_law(family, epsilon, delta=delta, sensitivity=sensitivity, calibration=calibration)
        for epsilon in (epsilon_from, epsilon_to)
    )
    if epsilon_to > epsilon_from:
        raise InputError(
            "The smaller budget",
            f"The smaller budget must not exceed the larger one, {epsilon_from:g}, but is {epsilon_to:g}; "
            "an answer can only be degraded without the data.",
        )
    weight, law = _step(before, after)
    return Residual(family, float(epsilon_from), float(epsilon_to), weight, law)


def independent_mse(
    family: str,
    budgets: Iterable[float],
    *,
    delta: float | None = None,
    sensitivity: float = 1,
    calibration: str = "analytic",
) -> FloatArray:
    """Return the error (variance) of a fresh release at every budget, in the order given.

    It is also the family's own optimum at each budget; what independent releases cost together is
    `collusion_cost(..., release="independent")`.

    Raises
    ------
    InputError
        As in `noise_law` and `order_budgets`.
    """
    ordered, restore = order_budgets(budgets)
    laws = [
        noise_law(family, epsilon, delta=delta, sensitivity=sensitivity, calibration=calibration)
        for epsilon in ordered.tolist()
    ]
    return restore(np.array([law.variance for law in laws]))


def multi_tier_mse(
    family: str,
    budgets: Iterable[float],
    *,
    delta: float | None = None,
    sensitivity: float = 1,
    calibration: str = "analytic",
) -> FloatArray:
    """Return the error (variance) of every tier of the chain r_(i+1) = r_i + s_i, in the order given.

    It is the variance at the largest budget plus those of the residuals; for these families it equals
    `independent_mse`: a chain costs no accuracy.

    Raises
    ------
    InputError
        As in `noise_law` and `order_budgets`.

    Examples
    --------
    >>> multi_tier_mse("laplace", [2.0, 1.0]).round(6).tolist()
    [0.5, 2.0]
    """
    ordered, restore = order_budgets(budgets)
    laws = [
        noise_law(family, epsilon, delta=delta, sensitivity=sensitivity, calibration=calibration)
        for epsilon in ordered.tolist()
    ]
    added = [_step(before, after)[1].variance for before, after in itertools.pairwise(laws)]
    return restore(np.cumsum([laws[0].variance, *added]))


def reference_mse(budgets: Iterable[float], sensitivity: float = 1) -> FloatArray:
    """Return MSE*, the one reference of a count: two-sided geometric noise at every budget, in the order given.

    It is the least variance among all mechanisms for a count of sensitivity 1 (Ghosh, Roughgarden and Sundararajan
    2012), and is the yardstick of Laplace noise too.

    Raises
    ------
    InputError
        As in `noise_law` and `order_budgets`.
    """
    return independent_mse("geometric", budgets, sensitivity=sensitivity)
