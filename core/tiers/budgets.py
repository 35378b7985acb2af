"""The privacy list: budgets of the recipients of one query, checked and in order."""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from core.errors import InputError

FIELD: Final = "The privacy list"
"""The list's name in a sentence."""
TIER_LIMIT: Final = 200
"""Most tiers of one list."""
SMALLEST_BUDGET: Final = 1e-6
"""Below this the errors, of order 1/epsilon^2, drown every figure."""
LARGEST_BUDGET: Final = 300.0
"""Above this e^epsilon squared would no longer be a double; the truth is as good as public long before."""
Order = Callable[[NDArray[Any]], NDArray[Any]]


@dataclass(frozen=True)
class Budgets(Sequence[float]):
    """A checked privacy list eps_1 > eps_2 > ... > eps_m.

    Parameters
    ----------
    values : tuple of float (m,)
        The budgets, strictly decreasing.
    notes : tuple of str
        What was changed to get there, as sentences.
    """

    values: tuple[float, ...]
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[float]:
        return iter(self.values)

    def __getitem__(self, index: Any) -> Any:
        return self.values[index]


def check_budget(value: object, field: str = "A budget (epsilon)") -> float:
    """Return `value` as a float.

    Raises
    ------
    InputError
        If it is not a number from SMALLEST_BUDGET to LARGEST_BUDGET.
    """
    good = isinstance(value, Real | np.number) and not isinstance(value, bool | np.bool_)
    number = float(value) if good else math.nan  # type: ignore[arg-type]
    if not SMALLEST_BUDGET <= number <= LARGEST_BUDGET:
        raise InputError(
            field,
            f"{field} must be a number from {SMALLEST_BUDGET:g} to {LARGEST_BUDGET:g}, not {value!r:.60}; "
            "0.1 to 8 is usual.",
        )
    return number


def _check_count(count: int) -> None:
    if not 1 <= count <= TIER_LIMIT:
        raise InputError(FIELD, f"{FIELD} must hold 1 to {TIER_LIMIT} budgets, not {count}; shorten or fill the list.")


def clean_budgets(values: Iterable[float]) -> Budgets:
    """Check a privacy list, sort it from the largest budget down and merge duplicates.

    Raises
    ------
    InputError
        If it is empty, longer than TIER_LIMIT, or holds something that is no budget.

    Examples
    --------
    >>> clean_budgets([0.5, 2, 0.5]).values
    (2.0, 0.5)
    """
    listed = list(values)
    _check_count(len(listed))
    checked = [check_budget(value) for value in listed]
    ordered = sorted(set(checked), reverse=True)
    notes = []
    if len(ordered) < len(checked):
        repeated = sorted({value for value in checked if checked.count(value) > 1}, reverse=True)
        named = ", ".join(f"{value:g}" for value in repeated[:5]) + (", ..." if len(repeated) > 5 else "")
        notes.append(f"Recipients with the same budget get the same answer: {named} appeared more than once, now once.")
    if any(low < high for low, high in itertools.pairwise(checked)):
        notes.append("The list was sorted from the largest budget to the smallest.")
    return Budgets(tuple(ordered), tuple(notes))


def order_budgets(budgets: Iterable[float]) -> tuple[NDArray[np.float64], Order]:
    """Return the budgets from the largest down, and the map that puts an answer per tier back in the order given.

    Equal budgets stay separate tiers: the step between them adds nothing.

    Raises
    ------
    InputError
        As in `clean_budgets`.
    """
    listed = list(budgets)
    _check_count(len(listed))
    checked = np.array([check_budget(value) for value in listed])
    order = np.argsort(-checked, kind="stable")
    back = np.argsort(order, kind="stable")
    return checked[order], lambda answer: answer[..., back]
