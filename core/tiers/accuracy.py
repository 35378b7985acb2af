"""Accuracy first: open tiers from the smallest budget up and stop at the first that is accurate enough."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from core.errors import InputError
from core.tiers.budgets import order_budgets


@dataclass(frozen=True)
class AccuracyFirst:
    """Where the walk stopped.

    Parameters
    ----------
    tier : int or None
        Position, in the order given, of the tier that met the target; None if none did.
    spent : float
        Budget of the last tier opened: what all opened answers together satisfy, because they form one chain.
    opened : int
        Number of tiers opened.
    error : float
        The known error of the last tier opened, in the target's unit.
    """

    tier: int | None
    spent: float
    opened: int
    error: float


def accuracy_first(
    budgets: Iterable[float], mse: ArrayLike, target: float, released: ArrayLike | None = None
) -> AccuracyFirst:
    """Walk a list from its smallest budget up and stop at the first tier whose known error meets the target.

    The error is the standard deviation sqrt(MSE), which depends on no data; with `released` it is divided by
    max(|released value|, 1), which uses the answer but never the truth. Stopping by the truth would leak it.

    Parameters
    ----------
    budgets : iterable of float (m,)
        The privacy list of one chain.
    mse : array_like (m,)
        Error of every tier, in the same order.
    target : float
        Largest acceptable error; a share of the value if `released` is given.
    released : array_like (m,), optional
        The answers of the tiers.

    Raises
    ------
    InputError
        If the target is not positive, a budget is out of range or the lengths differ.

    Examples
    --------
    >>> accuracy_first([2.0, 1.0, 0.5], [0.5, 2.0, 8.0], 1.5)
    AccuracyFirst(tier=1, spent=1.0, opened=2, error=1.4142135623730951)
    """
    given = [float(epsilon) for epsilon in budgets]
    order_budgets(given)
    errors = np.sqrt(np.asarray(mse, float))
    if released is not None:
        errors = errors / np.maximum(np.abs(np.asarray(released, float)), 1.0)
    if errors.shape != (len(given),):
        raise InputError("The errors", f"There must be one error per budget, {len(given)}, not {errors.size}.")
    if not target > 0:
        raise InputError("The target error", f"The target error must be above 0, not {target!r:.60}.")
    rising = np.argsort(given, kind="stable")
    for opened, tier in enumerate(rising.tolist(), start=1):
        if errors[tier] <= target:
            return AccuracyFirst(tier, given[tier], opened, float(errors[tier]))
    last = int(rising[-1])
    return AccuracyFirst(None, given[last], len(given), float(errors[last]))
