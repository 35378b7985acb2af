"""Noise on a line: the Laplace plug-in for one ordinal or numeric attribute."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

LINE_TOLERANCE: Final = 1e-12
"""How far, relative to the diameter, a distance may differ from that of two positions on a line."""


def line_order(distance: NDArray[np.float64]) -> NDArray[np.intp] | None:
    """Return the states in the order of their positions on a line, or None where the metric is not a line.

    A metric is a line when d(x, x') = |u(x) - u(x')|, u the distance from the state farthest from the first one.

    Parameters
    ----------
    distance : ndarray (n, n)
        Metric between states.

    Examples
    --------
    >>> line_order(np.array([[0.0, 2.0, 1.0], [2.0, 0.0, 3.0], [1.0, 3.0, 0.0]]))
    array([1, 0, 2])
    """
    end = int(distance[0].argmax())
    positions = distance[end]
    differences = np.abs(positions[:, None] - positions)
    if np.abs(differences - distance).max() > LINE_TOLERANCE * distance.max():
        return None
    return np.argsort(positions, kind="stable")


def line_noise(distance: NDArray[np.float64], epsilon: float) -> NDArray[np.float64]:
    """Return the two-sided exponential noise on the points of a line, exactly epsilon-mDP at any spacing.

    Z[x, y] = w_y exp(-epsilon d(x, y)), w_y = (tanh(epsilon g / 2) + tanh(epsilon g' / 2)) / 2 with g, g' the gaps
    from y to its neighbours, infinite at the ends. For equal gaps it is the clamped geometric mechanism (Ghosh,
    Roughgarden and Sundararajan, 2012); rows sum to 1 because the terms between two points telescope.

    Parameters
    ----------
    distance : ndarray (n, n)
        Metric between states; `line_order` must not be None.
    epsilon : float
        Budget per unit of distance, at least 0.

    Returns
    -------
    ndarray (n, n)
        Row-stochastic.

    Raises
    ------
    ValueError
        If the metric is not a line; callers ask `line_order` first.

    Examples
    --------
    >>> line_noise(np.array([[0.0, 1.0], [1.0, 0.0]]), np.log(3))  # randomised response
    array([[0.75, 0.25],
           [0.25, 0.75]])
    """
    order = line_order(distance)
    if order is None:
        raise ValueError("line noise needs a metric that is a line")
    gaps = distance[order[:-1], order[1:]]
    halves = np.concatenate(([1.0], np.tanh(epsilon * gaps / 2), [1.0]))
    weights = np.empty(len(order))
    weights[order] = (halves[:-1] + halves[1:]) / 2
    noise = weights * np.exp(-epsilon * distance)
    # The formula sums to 1; this removes the last digits' rounding only.
    return noise / noise.sum(axis=1, keepdims=True)  # type: ignore[no-any-return]
