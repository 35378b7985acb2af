"""The best channel that reveals nothing: the value of every mechanism at budget 0."""

import numpy as np
from numpy.typing import NDArray


def constant_mechanism(prior: NDArray[np.float64], loss: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the channel (n, m) that always releases argmin_y sum_x prior[x] loss[x, y] (ties: the lowest output).

    Parameters
    ----------
    prior : ndarray (n,)
        Prior of the true states.
    loss : ndarray (n, m)
        Loss of releasing y when the truth is x.

    Examples
    --------
    >>> constant_mechanism(np.array([0.25, 0.75]), np.array([[0.0, 1.0], [1.0, 0.0]]))
    array([[0., 1.],
           [0., 1.]])
    """
    matrix = np.zeros(loss.shape)
    matrix[:, int((prior @ loss).argmin())] = 1.0
    return matrix


def zero_information_loss(prior: NDArray[np.float64], loss: NDArray[np.float64]) -> float:
    """Return min_y sum_x prior[x] loss[x, y], the least loss of a release that ignores the record.

    Examples
    --------
    >>> zero_information_loss(np.array([0.25, 0.75]), np.array([[0.0, 1.0], [1.0, 0.0]]))
    0.25
    """
    return float((prior @ loss).min())
