"""Ready privacy lists: the three kinds of the paper's experiments and one list per scenario."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

import numpy as np

from core.errors import InputError
from core.tiers.budgets import TIER_LIMIT, Budgets, check_budget

SMALLEST_DRAWN: Final = 0.01
"""Random lists start here; smaller draws are dropped (Wang et al., section 6)."""


@dataclass(frozen=True)
class ReadyList:
    """A privacy list of one of the paper's three scenarios.

    Parameters
    ----------
    title : str
        The scenario.
    story : str
        Who the recipients are, in one sentence.
    recipients : tuple of str (m,)
        Names, from the largest budget down.
    values : tuple of float (m,)
        Their budgets.
    """

    title: str
    story: str
    recipients: tuple[str, ...]
    values: tuple[float, ...]


READY_LISTS: Final[Mapping[str, ReadyList]] = MappingProxyType(
    {
        "warehouse": ReadyList(
            "Data warehouse",
            "Analysts inside and outside one company ask for the same count and are trusted differently.",
            ("incident desk", "internal dashboards", "partner analysts", "public statistics"),
            (4.0, 2.0, 1.0, 0.25),
        ),
        "mobile": ReadyList(
            "Mobile services",
            "One phone answers the same question for several services that may belong to one company.",
            ("personal maps", "next-word prediction", "word discovery", "exposure statistics", "aggregate trends"),
            (6.0, 3.0, 1.5, 0.8, 0.4),
        ),
        "market": ReadyList(
            "Data market",
            "Buyers get versions of one statistic whose precision follows what they pay.",
            ("platinum", "gold", "silver", "bronze", "sample"),
            (8.0, 4.0, 2.0, 1.0, 0.5),
        ),
    }
)
"""One editable list per scenario of the paper's introduction; the budgets are examples."""


def _check_tiers(count: int) -> int:
    if isinstance(count, bool) or not 1 <= count <= TIER_LIMIT or int(count) != count:
        raise InputError(
            "The number of tiers",
            f"The number of tiers must be a whole number from 1 to {TIER_LIMIT}, not {count!r}; 5 to 20 is usual.",
        )
    return int(count)


def grid_list(step: float, tiers: int) -> Budgets:
    """Return grid(step): tiers * step, ..., 2 step, step.

    Raises
    ------
    InputError
        If the step or the number of tiers is out of range.

    Examples
    --------
    >>> grid_list(0.5, 3).values
    (1.5, 1.0, 0.5)
    """
    check_budget(step, "The step of a grid list")
    count = _check_tiers(tiers)
    check_budget(step * count, "The largest budget of a grid list")
    return Budgets(tuple(step * i for i in range(count, 0, -1)))


def uniform_list(largest: float, tiers: int, *, rng: np.random.Generator) -> Budgets:
    """Draw `tiers` budgets uniformly from [0.01, largest].

    Raises
    ------
    InputError
        If `largest` is not above 0.01 or the number of tiers is out of range.
    """
    check_budget(largest, "The largest budget")
    if largest <= SMALLEST_DRAWN:
        raise InputError("The largest budget", f"The largest budget must be above {SMALLEST_DRAWN:g}, not {largest:g}.")
    return Budgets(tuple(np.sort(rng.uniform(SMALLEST_DRAWN, largest, _check_tiers(tiers)))[::-1].tolist()))


def normal_list(mean: float, variance: float, tiers: int, *, rng: np.random.Generator) -> Budgets:
    """Draw `tiers` budgets from Normal(mean, variance); draws below 0.01 are dropped and drawn again.

    Raises
    ------
    InputError
        If the mean is no budget, the variance is not positive, or the number of tiers is out of range.
    """
    check_budget(mean, "The mean budget")
    if not 0 < variance <= 1e4:
        raise InputError(
            "The variance of the budgets",
            f"The variance of the budgets must be above 0 and up to 10000, not {variance!r}; 1 to 4 is usual.",
        )
    count = _check_tiers(tiers)
    kept: list[float] = []
    while len(kept) < count:
        draws = rng.normal(mean, np.sqrt(variance), 2 * count)
        kept += draws[draws >= SMALLEST_DRAWN].tolist()
    return Budgets(tuple(sorted(kept[:count], reverse=True)))
