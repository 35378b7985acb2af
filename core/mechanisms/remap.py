"""Bayesian remapping: release the best guess for what was drawn (Chatzikokolakis et al., 2017)."""

import numpy as np
from numpy.typing import NDArray


def best_guesses(
    matrix: NDArray[np.float64], prior: NDArray[np.float64], loss: NDArray[np.float64]
) -> NDArray[np.intp]:
    """Return argmin_z sum_x prior[x] Z[x, y] loss[x, z] for every output y.

    Among equal guesses the output itself is kept if it is one of them, else the lowest is taken; an output that the
    prior never leads to stays as it is where it can.

    Parameters
    ----------
    matrix : ndarray (n, m)
        Channel Z.
    prior : ndarray (n,)
        Prior of the true states.
    loss : ndarray (n, k)
        Loss of guessing z when the truth is x.

    Returns
    -------
    ndarray of int (m,)
        Guess per output.
    """
    costs = (prior[:, None] * matrix).T @ loss
    guesses: NDArray[np.intp] = costs.argmin(axis=1)
    own = np.arange(min(costs.shape))
    kept = own[costs[own, own] <= costs[own, guesses[own]]]
    guesses[kept] = kept
    return guesses


def remap(matrix: NDArray[np.float64], prior: NDArray[np.float64], loss: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the channel (n, k) that draws y from `matrix` and releases its best guess.

    Post-processing: the guarantee is unchanged, and under this loss it is never worse than `matrix` (where both
    release states) nor than the best constant.

    Examples
    --------
    >>> half = np.full((2, 2), 0.5)
    >>> remap(half, np.array([0.25, 0.75]), np.array([[0.0, 1.0], [1.0, 0.0]]))
    array([[0., 1.],
           [0., 1.]])
    """
    merged = np.zeros((loss.shape[1], len(matrix)))
    np.add.at(merged, best_guesses(matrix, prior, loss), matrix.T)
    return merged.T
