"""Mutual information that shuffled attributes share by chance, for many attributes at once."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

TAIL_DEVIATIONS: Final = 10.0
TAIL_COUNTS: Final = 40.0
"""Hypergeometric counts further from the mean than 10 deviations + 40 are left out: Bernstein bounds them by 1e-20."""
TERMS: Final = 200_000
"""Terms added up at once; measured, larger batches leave the processor's cache and gain nothing."""


def expected_mutual_information(left: NDArray[np.integer[Any]], right: NDArray[np.integer[Any]]) -> float:
    """Compute the mean mutual information, in nats, of two attributes whose values are shuffled against each other.

    sum_ab E[n/N ln(n N / (a b))], n hypergeometric with margins a and b (Vinh, Epps and Bailey 2010, equation 24a).

    Parameters
    ----------
    left, right : ndarray of int
        Records per level of the two attributes; both sum to N.

    Returns
    -------
    float
        Nats; the tails that are left out weigh less than 1e-20.

    Examples
    --------
    >>> round(expected_mutual_information(np.array([1, 1]), np.array([1, 1])) / np.log(2), 12)
    1.0
    """
    return float(expected_mutual_informations([left, right])[0, 1])


def expected_mutual_informations(
    counts: Sequence[NDArray[np.integer[Any]]], *, progress: Callable[[float], None] | None = None
) -> NDArray[np.float64]:
    """Compute the mean mutual information of all pairs of shuffled attributes.

    The expectation is a sum g(a, b) over pairs of levels that reads only how many records each level has, so every
    pair (a, b) of numbers is looked at once, whichever and however many levels have them.

    Parameters
    ----------
    counts : sequence of L ndarray of int
        Records per level of every attribute; each sums to N.
    progress : callable (fraction), optional
        Told how far it is.

    Returns
    -------
    ndarray (L, L)
        Nats, symmetric, as `expected_mutual_information`; 0 on the diagonal, which no two attributes are.
    """
    values = np.unique(np.concatenate([*counts, np.empty(0, dtype=np.int64)]).astype(np.int64))
    values = values[values > 0]
    times = np.array([np.bincount(np.searchsorted(values, c[c > 0]), minlength=len(values)) for c in counts]).T
    half = np.zeros((len(counts), len(counts)))
    if not half.size:
        return half
    factorials = np.asarray(gammaln(np.arange(int(counts[0].sum()) + 1) + 1.0))
    for k, a in enumerate(values.tolist()):
        others = _met(times > 0, k)
        for part in _batches(a, values[others], len(factorials) - 1):
            if progress is not None:
                progress(1.0 - (1.0 - k / len(values)) ** 2)
            row = _terms(a, values[others[part]], factorials)
            row[others[part] == k] /= 2.0  # the only term that the transpose adds a second time
            half += np.outer(times[k], row @ times[others[part]])
    np.fill_diagonal(half, 0.0)
    return half + half.T


def _met(has: NDArray[np.bool_], k: int) -> NDArray[np.int64]:
    """Return the values from the k-th on that a level of another attribute than one with the k-th has."""
    pairs = has[k].sum() * has[k:].sum(axis=1)
    return k + np.flatnonzero(pairs > (has[k:] & has[k]).sum(axis=1))


def _range(a: int, columns: NDArray[np.int64], total: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the lowest and highest count that levels of `a` and of `columns` records share, but for the tails."""
    mean = a * columns / total
    spread = np.sqrt(mean * (1 - a / total) * (total - columns) / max(total - 1, 1))
    reach = TAIL_DEVIATIONS * spread + TAIL_COUNTS
    low = np.maximum(np.maximum(0, a + columns - total), np.floor(mean - reach)).astype(np.int64)
    return low, np.minimum(np.minimum(a, columns), np.ceil(mean + reach)).astype(np.int64)


def _batches(a: int, columns: NDArray[np.int64], total: int) -> Iterator[NDArray[np.int64]]:
    """Cut the columns so that about TERMS terms are added up at once."""
    if not len(columns):
        return
    low, high = _range(a, columns, total)
    batch = np.cumsum(high - low + 1) // TERMS
    yield from np.split(np.arange(len(columns)), np.flatnonzero(np.diff(batch)) + 1)


def _terms(a: int, columns: NDArray[np.int64], factorials: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return g(a, b) for every b of `columns`: E[n/N ln(n N / (a b))] over the records that the two levels share."""
    total, f = len(factorials) - 1, factorials
    low, high = _range(a, columns, total)
    lengths = high - low + 1
    ends = np.cumsum(lengths)
    cell = np.repeat(np.arange(len(columns)), lengths)
    n = np.arange(int(ends[-1])) + np.repeat(low - (ends - lengths), lengths)
    rest = np.repeat(columns, lengths) - n
    fixed = f[a] + f[total - a] - f[total] + f[columns] + f[total - columns]
    weight = np.exp(np.repeat(fixed, lengths) - f[n] - f[a - n] - f[rest] - f[total - a - rest])
    gain = n / total * np.log(np.maximum(n, 1) * np.repeat(total / (a * columns), lengths))
    share = np.bincount(cell, weights=weight, minlength=len(columns))  # 1 but for rounding
    return np.asarray(np.bincount(cell, weights=weight * gain, minlength=len(columns)) / share)
