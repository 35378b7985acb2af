"""What may be done to released counts without touching the data: non-negative, and summing to a known total."""

import numpy as np
from numpy.typing import ArrayLike

from core.errors import InputError
from core.tiers.laws import FloatArray


def project_nonnegative(estimates: ArrayLike) -> FloatArray:
    """Return the estimates with negative ones set to 0."""
    return np.asarray(np.maximum(np.asarray(estimates, float), 0.0), float)


def project_total(estimates: ArrayLike, total: float) -> FloatArray:
    """Return the nearest non-negative vector (least squares) that sums to `total`.

    Every entry is lowered or raised by one amount and cut at 0 (Duchi et al. 2008, projection onto the simplex).

    Parameters
    ----------
    estimates : array_like (..., d)
        Estimated counts; the last axis is projected.
    total : float
        What they should sum to, > 0; it must be public.

    Raises
    ------
    InputError
        If the total is not positive.

    Examples
    --------
    >>> project_total([3.0, 1.0, -2.0], 3.0).tolist()
    [2.5, 0.5, 0.0]
    """
    if not total > 0:
        raise InputError("The total", f"The total that estimates are projected to must be above 0, not {total!r:.60}.")
    values = np.asarray(estimates, float)
    falling = -np.sort(-values, axis=-1)
    places = np.arange(1, values.shape[-1] + 1)
    shifts = (np.cumsum(falling, axis=-1) - total) / places
    kept = np.sum(falling > shifts, axis=-1, keepdims=True)
    shift = np.take_along_axis(shifts, kept - 1, axis=-1)
    return np.asarray(np.maximum(values - shift, 0.0), float)
