"""Exact release of a whole number at several budgets: integers, fractions and a cryptographic source."""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

import numpy as np

from core.errors import InputError
from core.sampling import Coin, Source, SystemSource, draw_two_sided_geometric
from core.tiers.budgets import order_budgets
from core.tiers.exact import log_above, ratio_above
from core.tiers.noise import get_family, multi_tier_mse

EXACT_FAMILIES: Final = ("geometric", "msdlap")
"""Families whose chain is drawn exactly."""
REFUSALS: Final = {
    "laplace": "Laplace noise lives on the reals, and floating-point draws of it reveal the data in their low bits "
    "(Mironov 2012); it is for simulation and teaching. Release with geometric instead.",
    "gaussian": "Gaussian noise lives on the reals, and floating-point draws of it reveal the data in their low bits "
    "(Mironov 2012); it is for simulation and teaching. Release with geometric instead.",
    "skellam": "Skellam noise is not drawn exactly here; it is for simulation. Release with geometric instead.",
}
"""Why the other families are not released."""


@dataclass(frozen=True)
class CountRelease(Sequence[int]):
    """A whole number released at several budgets; the sequence of its values.

    Parameters
    ----------
    family : str
        'geometric' or 'msdlap'.
    sensitivity : int
        How far one person moves the number.
    budgets : tuple of float (m,)
        In the order given.
    values : tuple of int (m,)
        What each recipient gets.
    ratios : tuple of Fraction (m,)
        The exact p of each tier's noise.
    certified_epsilons : tuple of float (m,)
        The budget each answer satisfies, and any coalition whose largest it is; rounded up, never above the budget.
    standard_deviations : tuple of float (m,)
        Of the noise of each tier.
    """

    family: str
    sensitivity: int
    budgets: tuple[float, ...]
    values: tuple[int, ...]
    ratios: tuple[Fraction, ...]
    certified_epsilons: tuple[float, ...]
    standard_deviations: tuple[float, ...]

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[int]:
        return iter(self.values)

    def __getitem__(self, index: Any) -> Any:
        return self.values[index]


@dataclass(frozen=True)
class CountPlan:
    """The exact parameters of a chain of two-sided geometric noise, before any data is touched.

    Parameters
    ----------
    ratios : tuple of Fraction (m,)
        p of every tier, not decreasing.
    coins : tuple of Coin (m - 1,)
        Of every step: does it add nothing?
    certified_epsilons : tuple of float (m,)
        What every tier satisfies.
    standard_deviations : tuple of float (m,)
        Of the noise of each tier.
    order : tuple of int (m,)
        Position here of every budget in the order given.
    """

    ratios: tuple[Fraction, ...]
    coins: tuple[Coin, ...]
    certified_epsilons: tuple[float, ...]
    standard_deviations: tuple[float, ...]
    order: tuple[int, ...]


def zero_weight(before: Fraction, after: Fraction) -> Fraction:
    """Return (1-p2)^2 p1 / ((1-p1)^2 p2), the exact weight of "the step adds nothing".

    Examples
    --------
    >>> zero_weight(Fraction(1, 4), Fraction(1, 2))
    Fraction(2, 9)
    """
    return (1 - after) ** 2 * before / ((1 - before) ** 2 * after)


@lru_cache(maxsize=256)
def plan_counts(family: str, budgets: tuple[float, ...], sensitivity: int) -> CountPlan:
    """Return the exact parameters of a chain; tiers from the largest budget down.

    Raises
    ------
    InputError
        If the family is not drawn exactly, or a budget or the sensitivity is out of range.
    """
    check_exact_family(family)
    ordered, restore = order_budgets(budgets)
    deviations = np.sqrt(multi_tier_mse(family, ordered, sensitivity=sensitivity))
    # MSDLap draws one noise of sensitivity 1 per multiple; the others divide the budget by the sensitivity.
    divisor = 1 if family == "msdlap" else int(sensitivity)
    ratios = tuple(itertools.accumulate((ratio_above(epsilon, divisor) for epsilon in ordered.tolist()), max))
    weights = [zero_weight(before, after) for before, after in itertools.pairwise(ratios)]
    return CountPlan(
        ratios,
        tuple(Coin(weight.numerator, weight.denominator) for weight in weights),
        tuple(log_above(1 / ratio, divisor) for ratio in ratios),
        tuple(deviations.tolist()),
        tuple(restore(np.arange(len(ratios))).tolist()),
    )


def check_exact_family(family: str) -> str:
    """Return the family.

    Raises
    ------
    InputError
        If it is unknown or not drawn exactly.
    """
    get_family(family)
    if family not in EXACT_FAMILIES:
        raise InputError("The noise family", REFUSALS[family])
    return family


def check_count(value: object) -> int:
    """Return a whole number as an int.

    Raises
    ------
    InputError
        If it is none.
    """
    good = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not good and not (isinstance(value, float | np.floating) and float(value).is_integer()):
        raise InputError(
            "The value to release", f"The value to release must be a whole number, not {value!r:.60}; round it first."
        )
    return int(value)  # type: ignore[call-overload, no-any-return]


def _walk(value: int, plan: CountPlan, source: Source) -> list[int]:
    """Return value plus the noise of every tier, from the largest budget down."""
    answer = value + draw_two_sided_geometric(plan.ratios[0], source)
    answers = [answer]
    for coin, ratio in zip(plan.coins, plan.ratios[1:], strict=True):
        if not coin.toss(source):
            answer += draw_two_sided_geometric(ratio, source)
        answers.append(answer)
    return answers


def release_count(
    value: int,
    budgets: Iterable[float],
    family: str = "geometric",
    source: Source | None = None,
    *,
    sensitivity: int = 1,
) -> CountRelease:
    """Release a whole number at every budget so that colluders learn no more than the best-informed of them.

    The answer at the largest budget is the number plus exact two-sided geometric noise; every next one adds 0 with
    the exact rational weight `zero_weight`, else noise at its own budget. MSDLap does so for sensitivity D with D
    independent noises of weights 1..D. p is a rational slightly above e^-epsilon.

    Parameters
    ----------
    value : int
        The true count or whole-numbered sum.
    budgets : iterable of float
        The privacy list; answers come in its order.
    family : {'geometric', 'msdlap'}
        The noise; continuous families are refused.
    source : Source, optional
        Random bits; the operating system's by default.
    sensitivity : int
        How far one person moves the value.

    Raises
    ------
    InputError
        If the family is not drawn exactly, the value is not whole, or another argument is out of range.
    """
    number = check_count(value)
    given = tuple(float(epsilon) for epsilon in budgets)
    plan = plan_counts(family, given, sensitivity)
    bits = SystemSource() if source is None else source
    answers = _walk(number, plan, bits)
    for multiple in range(2, sensitivity + 1) if family == "msdlap" else ():
        answers = [answer + multiple * noise for answer, noise in zip(answers, _walk(0, plan, bits), strict=True)]
    return CountRelease(
        family=family,
        sensitivity=int(sensitivity),
        budgets=given,
        values=tuple(answers[i] for i in plan.order),
        ratios=tuple(plan.ratios[i] for i in plan.order),
        certified_epsilons=tuple(plan.certified_epsilons[i] for i in plan.order),
        standard_deviations=tuple(plan.standard_deviations[i] for i in plan.order),
    )


def release_histogram(
    counts: Iterable[int],
    budgets: Iterable[float],
    source: Source | None = None,
) -> tuple[CountRelease, ...]:
    """Release every cell of a histogram at every budget with two-sided geometric noise.

    A person sits in one cell, so adding or removing one person changes one count by 1 and the whole histogram costs
    the budget of one count.

    Raises
    ------
    InputError
        As in `release_count`.
    """
    listed = [float(epsilon) for epsilon in budgets]
    bits = SystemSource() if source is None else source
    return tuple(release_count(count, listed, "geometric", bits) for count in counts)
