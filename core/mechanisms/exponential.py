"""The exponential mechanism on a finite metric domain, plain and calibrated."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from core.repair import MERGE_EXPONENT

NORMALISER_ROUNDING: Final = 2.0**-49
"""Bound on the rounding of a difference of two logarithms of normalisers, which lie from 0 to ln n."""
_SCALES: Final = 17
_BISECTIONS: Final = 40


def exponential_mechanism(distance: NDArray[np.float64], epsilon: float) -> NDArray[np.float64]:
    """Return Z[x, y] = exp(-(epsilon / 2) d[x, y]) / N(x), N the row's normaliser (McSherry and Talwar, 2007).

    N(x) <= exp((epsilon / 2) d(x, x')) N(x') costs the other half of the budget.

    Parameters
    ----------
    distance : ndarray (n, n)
        Metric between states.
    epsilon : float
        Budget per unit of distance, at least 0.

    Returns
    -------
    ndarray (n, n)
        Row-stochastic.

    Examples
    --------
    >>> exponential_mechanism(np.array([[0.0, 1.0], [1.0, 0.0]]), 2 * np.log(3))
    array([[0.75, 0.25],
           [0.25, 0.75]])
    """
    return _normalised(distance, epsilon / 2)


def calibrated_exponential(distance: NDArray[np.float64], epsilon: float) -> NDArray[np.float64]:
    """Return Z[x, y] proportional to exp(-s d[x, y]) with the scale s of `calibrate_scale`.

    It is the exponential mechanism that spends the budget which the normalisers of this domain leave unused.
    """
    return _normalised(distance, calibrate_scale(distance, epsilon))


def calibrate_scale(distance: NDArray[np.float64], epsilon: float) -> float:
    """Return a large s in [epsilon / 2, epsilon] at which exp(-s d) / N satisfies the budget.

    The channel satisfies exactly cert(s) = s + max |ln N(x) - ln N(x')| / d(x, x'), reached at y = x. One nominal
    attribute has equal normalisers, so s = epsilon. cert is not monotone: the largest good scale of an even grid is
    refined by bisection towards its bad neighbour.

    Parameters
    ----------
    distance : ndarray (n, n)
        Metric between states.
    epsilon : float
        Budget per unit of distance, at least 0.
    """
    above = epsilon
    for scale in np.linspace(epsilon, epsilon / 2, _SCALES).tolist():
        if _fits(distance, scale, epsilon):
            break
        above = scale
    else:
        return epsilon / 2  # The plain mechanism always fits; only rounding of the normalisers can say otherwise.
    low = scale
    for _ in range(_BISECTIONS if above > scale else 0):
        middle = (low + above) / 2
        low, above = (middle, above) if _fits(distance, middle, epsilon) else (low, middle)
    return float(low)


def _normalised(distance: NDArray[np.float64], scale: float) -> NDArray[np.float64]:
    weights = np.exp(-scale * distance)
    normalised: NDArray[np.float64] = weights / weights.sum(axis=1, keepdims=True)
    return normalised


def _fits(distance: NDArray[np.float64], scale: float, epsilon: float) -> bool:
    """Tell whether cert(scale) <= epsilon, written |ln N(x) - ln N(x')| <= (epsilon - scale) d(x, x')."""
    normalisers = np.log(np.exp(-scale * distance).sum(axis=1))
    differences = np.abs(normalisers[:, None] - normalisers)
    if differences.max() <= NORMALISER_ROUNDING:
        return True  # All equal, as for one nominal attribute: nothing is spent on them.
    apart = epsilon * distance >= MERGE_EXPONENT  # Closer states will share one row.
    allowed = (epsilon - scale) * distance - NORMALISER_ROUNDING
    return bool((differences <= allowed)[apart].all())
