"""Noise on the integers that has no closed residual: discrete Gaussian and staircase, tabulated for the checker."""

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

import numpy as np

from core.errors import InputError
from core.tiers.checker import LENGTH_LIMIT, SHORTEST_CIRCLE, ResidualCheck, check_residual
from core.tiers.laws import TAIL, FloatArray

LATTICE_FAMILIES: Final[Mapping[str, str]] = MappingProxyType(
    {"discrete gaussian": "variance sigma^2", "staircase": "budget epsilon"}
)
"""Families that only the checker can judge, and the parameter of each."""


def _tabulate(log_weight: Callable[[FloatArray], FloatArray], length: int) -> FloatArray:
    n = np.arange(-(length // 2), length - length // 2).astype(float)
    logs = log_weight(np.abs(n))
    weights = np.exp(logs - logs.max())
    return np.asarray(weights / weights.sum(), float)


def discrete_gaussian_pmf(variance: float, length: int = SHORTEST_CIRCLE) -> FloatArray:
    """Return probabilities proportional to exp(-n^2/(2 variance)) at n = -(length//2), ...

    Raises
    ------
    InputError
        If the variance is not positive.

    Examples
    --------
    >>> pmf = discrete_gaussian_pmf(1.0, 9)
    >>> round(float(pmf[5] / pmf[4]), 6) == round(math.exp(-0.5), 6)
    True
    """
    if not 0 < variance < math.inf:
        raise InputError(
            "The variance", f"The variance of discrete Gaussian noise must be above 0, not {variance!r:.60}."
        )
    return _tabulate(lambda n: -(n**2) / (2 * variance), length)


def staircase_pmf(epsilon: float, sensitivity: int = 1, step: int = 1, length: int = SHORTEST_CIRCLE) -> FloatArray:
    """Return the discrete staircase noise: a factor e^-epsilon per `sensitivity` integers, taken after `step` of them.

    P(n) is proportional to exp(-epsilon (|n| // sensitivity + [|n| mod sensitivity >= step])) (Geng and Viswanath
    2015).

    Raises
    ------
    InputError
        If epsilon is not positive, or the sensitivity and step are not whole with 1 <= step <= sensitivity.
    """
    if not 0 < epsilon < math.inf:
        raise InputError("The budget (epsilon)", f"The budget of staircase noise must be above 0, not {epsilon!r:.60}.")
    if int(sensitivity) != sensitivity or int(step) != step or not 1 <= step <= sensitivity:
        raise InputError(
            "The step", f"The step must be a whole number from 1 to the sensitivity {sensitivity}, not {step!r:.60}."
        )
    return _tabulate(lambda n: -epsilon * (n // sensitivity + (n % sensitivity >= step)), length)


def check_step(family: str, before: float, after: float, *, sensitivity: int = 1, step: int = 1) -> ResidualCheck:
    """Check one step of a family that has no closed residual, on a window that leaves less than 1e-15 outside.

    Parameters
    ----------
    family : {'discrete gaussian', 'staircase'}
        The noise.
    before, after : float
        Its parameter at the larger and the smaller budget: the variance, or the budget of the staircase.
    sensitivity, step : int
        Shape of the staircase.

    Raises
    ------
    InputError
        If the family is unknown, a parameter is out of range, or the noise is too wide to check.
    """
    if family == "discrete gaussian":
        pmfs = [lambda length, v=v: discrete_gaussian_pmf(v, length) for v in (before, after)]
        reach = math.sqrt(2 * max(before, after) * (-math.log(TAIL) + 3)) + 1
    elif family == "staircase":
        pmfs = [lambda length, e=e: staircase_pmf(e, sensitivity, step, length) for e in (before, after)]
        reach = sensitivity * (-math.log(TAIL) + 3) / min(before, after) if min(before, after) > 0 else 1.0
    else:
        known = ", ".join(LATTICE_FAMILIES)
        raise InputError("The noise family", f"The noise family to check must be one of {known}, not {family!r:.60}.")
    length = 1 << max(SHORTEST_CIRCLE - 1, math.ceil(2 * reach)).bit_length()
    if length > LENGTH_LIMIT:
        raise InputError(
            "The noise distribution", f"This noise spreads over {length} values, more than {LENGTH_LIMIT}; narrow it."
        )
    return check_residual(pmfs[0](length), pmfs[1](length))
