"""The reverse question: the smallest total budget that reaches a target loss."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from numpy.typing import ArrayLike

from core import limits
from core.allocation import ROUNDING, GroupBudgets, allocate_group_budgets
from core.curves import LossCurve
from core.errors import InputError
from core.metric import dual_norm

REVERSE_TOLERANCE: Final = 1e-4
"""Relative width at which the search for the smallest budget stops."""


@dataclass(frozen=True, eq=False)
class SmallestEpsilon:
    """Answer to "how much budget does this loss need?".

    Parameters
    ----------
    epsilon : float
        A total budget whose allocation reaches the target loss under the curves.
    at_least : float
        No smaller total can reach it, by the lower bound of the sandwich.
    budgets : GroupBudgets
        The allocation at `epsilon`.
    """

    epsilon: float
    at_least: float
    budgets: GroupBudgets


def smallest_epsilon_for(
    target_loss: float, curves: Sequence[LossCurve], *, beta: ArrayLike, intercept: float, p: float
) -> SmallestEpsilon:
    """Return a total budget that reaches `target_loss`, found by bisection to a relative 1e-4, and a bound below it.

    Parameters
    ----------
    target_loss : float
        Largest acceptable beta_0 + sum_k beta_k L_k, in units of loss.
    curves, beta, intercept, p
        As for `allocate_group_budgets`.

    Raises
    ------
    InputError
        If the curves do not reach the target at any budget on offer; the sentence says what they do reach.
    """
    high = min(dual_norm([c.epsilons[-1] for c in curves], p), limits.EPSILON.high)

    def at(epsilon: float, *, uniform: bool = False) -> GroupBudgets:
        return allocate_group_budgets(curves, beta, intercept, epsilon, p, uniform=uniform)

    # A target read off a screen or added up in another order may miss the loss it names by rounding.
    target = target_loss + ROUNDING * abs(target_loss)
    reached = at(high).loss
    if not reached <= target:
        raise InputError(
            "target loss",
            f"A loss of {target_loss:g} is not reached: at a total epsilon of {high:g} the curves go down to "
            f"{reached:g}; ask for no less than that or choose mechanisms that lose less.",
        )
    _, epsilon = _bisect(lambda e: at(e).loss <= target, high)
    # The bound does not depend on the split that is evaluated, and the equal one costs least.
    at_least, _ = _bisect(lambda e: at(e, uniform=True).lower_bound <= target, epsilon)
    return SmallestEpsilon(epsilon, at_least, at(epsilon))


def _bisect(holds: Callable[[float], bool], high: float) -> tuple[float, float]:
    """Return close budgets (low, high): it holds at high and not at low; both are 0 if it holds there.

    A condition that fails at 0 alone would be chased for ever; budgets below the smallest on offer are all one.
    """
    if holds(0.0):
        return 0.0, 0.0
    low = 0.0
    while high - low > REVERSE_TOLERANCE * high and high > limits.EPSILON.low:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if holds(middle) else (middle, high)
    return low, high
