"""The smallest epsilon that an integer channel satisfies, computed from its integers alone."""

import decimal
import itertools
import math
from collections.abc import Iterator
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from core.errors import InputError

WEIGHT_LIMIT: Final = 1 << 61
"""Integers must stay below this, so that a logarithm in units of 2^-57 and every difference of two fit 64 bits."""
CHUNK_ELEMENTS: Final = 1 << 18
"""Numbers per temporary array: two megabytes stay in the cache, and memory stays flat as n grows."""
DECIMAL_DIGITS: Final = 60
"""Digits of the final evaluation; a ratio as near to 1 as 1 + 2^-61 still keeps 40 of them."""

_UNIT_BITS: Final = 57
_NODE_BITS: Final = 10
_MANTISSA_BITS: Final = 61
_UNIT_ERROR: Final = 2
"""Bound in units on a difference of two logarithms whose fractions, each in [0, 1), were left away."""
_FRACTION_ERROR: Final = 2.0**-12
"""Bound in units on a difference of two logarithms; each has an error below 2^-14 (see `_log_units`)."""
_FLOAT_MARGIN: Final = 2.0**-49
"""Relative bound on the few float roundings between such a difference and its quotient by a distance."""
_DECIMAL_MARGIN: Final = Decimal("1e-36")
"""Relative bound on the rounding of the final evaluation, which keeps 40 digits."""

Triple = tuple[int, int, int, float]


def certify(weights: ArrayLike, distance: ArrayLike) -> float:
    """Return the smallest epsilon for which the integers are an mDP channel.

    max over x != x' and y of ln(weights[x, y] / weights[x', y]) / distance[x, x'], rounded up to the next double.
    So `certify(w, d) <= epsilon` holds exactly when w[x, y] <= exp(epsilon d[x, x']) w[x', y] for all of them.

    Parameters
    ----------
    weights : array_like of int (n, m)
        Row x, column y: how many of the equally likely draws release y when the truth is x.
    distance : array_like (n, n)
        Metric between the true values; different rows at distance 0 satisfy no epsilon.

    Returns
    -------
    float
        Never below the true value, above it by less than one step of a double; inf where zero meets a positive
        number; 0 for a constant channel and for n = 1.

    Raises
    ------
    InputError
        If the weights are not whole numbers from 0 to 2^61 or the distances not finite, non-negative and n x n.

    Notes
    -----
    All n^2 m triples are screened on logarithms in units of 2^-57, whose differences are exact 64-bit integers;
    those within the proven error of the largest are evaluated with 60 digits.

    Examples
    --------
    >>> certify([[3, 1], [1, 3]], [[0, 1], [1, 0]])  # ln 3 = 1.09861228866810969...
    1.0986122886681098
    """
    w, d = _check_channel(weights, distance)
    if _find_unbounded(w, d) is not None:
        return math.inf
    # Selecting columns leaves them column by column in memory, and rows are what is compared.
    w = np.ascontiguousarray(w[:, w.max(axis=0) > w.min(axis=0)])
    if w.size == 0:
        return 0.0
    logs = _log_units(w)
    maxima = _pair_maxima(logs[0])
    cases = _tightest_cases(w, logs, d, maxima, _likely_pairs(maxima, d))
    return max(_evaluate(*case) for case in cases)


def locate_tight(weights: ArrayLike, distance: ArrayLike, count: int) -> list[Triple]:
    """Return the triples that decide the certificate.

    Parameters
    ----------
    weights, distance : array_like
        As for `certify`.
    count : int
        How many to return at most.

    Returns
    -------
    list of (x, x', y, epsilon)
        epsilon = ln(weights[x, y] / weights[x', y]) / distance[x, x'], rounded up, largest first; the first one's
        is the certificate. A pair (x, x') stands with its tightest outputs only. Empty for a constant channel.

    Raises
    ------
    InputError
        As `certify`.
    """
    w, d = _check_channel(weights, distance)
    unbounded = _find_unbounded(w, d)
    if unbounded is not None:
        return [(*unbounded, math.inf)][:count]
    columns = np.flatnonzero(w.max(axis=0) > w.min(axis=0))
    if columns.size == 0:
        return []
    w = np.ascontiguousarray(w[:, columns])
    logs = _log_units(w)
    maxima = _pair_maxima(logs[0])
    triples = set(_tightest_cases(w, logs, d, maxima, _likely_pairs(maxima, d)).values())
    upper = _quotients(maxima + float(_UNIT_ERROR), d)
    for x, other in zip(*np.unravel_index(np.argsort(-upper, axis=None)[: 2 * count], upper.shape), strict=True):
        if np.isfinite(upper[x, other]):
            refined = (logs[0][x] - logs[0][other]) + (logs[1][x] - logs[1][other])
            triples.add((int(x), int(other), int(refined.argmax())))
    found = [
        (x, other, int(columns[y]), _evaluate(int(w[x, y]), int(w[other, y]), float(d[x, other])))
        for x, other, y in sorted(triples)
    ]
    return sorted(found, key=lambda triple: -triple[3])[:count]


def _check_channel(weights: ArrayLike, distance: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    w = np.asarray(weights)
    if w.ndim != 2 or w.size == 0 or w.dtype.kind not in "iu":
        raise InputError("weights", "A channel's weights must be a table of whole numbers with at least one entry.")
    if int(w.min()) < 0 or int(w.max()) >= WEIGHT_LIMIT:
        raise InputError("weights", f"A channel's weights must lie from 0 to 2^61, not {w.min()} to {w.max()}.")
    if not (w > 0).any(axis=1).all():
        raise InputError("weights", "Every row of a channel needs a positive weight; a row of zeros releases nothing.")
    return w.astype(np.int64), check_distance(distance, len(w))


def check_distance(distance: ArrayLike, size: int) -> NDArray[np.float64]:
    """Return the distances as an array of doubles.

    Raises
    ------
    InputError
        If they are not size x size, finite, non-negative and 0 on the diagonal.
    """
    d = np.asarray(distance, dtype=np.float64)
    if d.shape != (size, size):
        raise InputError(
            "distance", f"The distances must be a {size} x {size} table, one row per state, not {d.shape}."
        )
    if not np.isfinite(d).all() or (d < 0).any() or d.diagonal().any():
        raise InputError("distance", "Distances must be finite, at least 0, and 0 from a state to itself.")
    return d


def _find_unbounded(w: NDArray[np.int64], d: NDArray[np.float64]) -> tuple[int, int, int] | None:
    """Return a triple that no finite epsilon satisfies, or None."""
    mixed = np.flatnonzero((w.max(axis=0) > 0) & (w.min(axis=0) == 0))
    if mixed.size:
        y = int(mixed[0])
        return int(w[:, y].argmax()), int(w[:, y].argmin()), y
    for x, other in np.argwhere(d == 0).tolist():
        above = np.flatnonzero(w[x] > w[other])
        if above.size:
            return x, other, int(above[0])
    return None


@lru_cache(maxsize=1)
def _log_tables() -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64], NDArray[np.float64]]:
    """Return whole and fractional units of ln j, j = 2^10..2^11, and of k ln 2, k = 0..61."""
    unit = 1 << _UNIT_BITS
    with decimal.localcontext() as context:
        context.prec = 40
        nodes = [Decimal(j).ln() * unit for j in range(1 << _NODE_BITS, (2 << _NODE_BITS) + 1)]
        powers = [k * Decimal(2).ln() * unit for k in range(_MANTISSA_BITS + 1)]

    def split(values: list[Decimal]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        return np.array([int(v) for v in values]), np.array([float(v - int(v)) for v in values])

    return *split(nodes), *split(powers)


def _log_units(w: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return ln w in units of 2^-57 as a whole number plus a fraction in [0, 1), with an error below 2^-14 units.

    With w = j 2^k (1 + r), j a whole number of 11 bits and |r| <= 2^-11: ln w = ln j + k ln 2 + ln(1 + r).
    r is kept as an exact quotient. The series stops at r^7 (rest below 2^-90); rounding its terms from r^2 on, which
    stay below 2^-23, in doubles costs less than 2^-73, and the sum of the fractions, below 2^35, less than 2^-17.
    """
    node_whole, node_fraction, power_whole, power_fraction = _log_tables()
    # A weight just below a power of two may round up to it here; then r is slightly negative, which is as good.
    shift = (_MANTISSA_BITS + 1) - np.frexp(w.astype(np.float64))[1].astype(np.int64)
    mantissa = np.left_shift(w, shift)
    step = _MANTISSA_BITS - _NODE_BITS
    node = (mantissa + (1 << (step - 1))) >> step
    quotient, rest = np.divmod(mantissa - (node << step), node)
    part = rest / node
    r = np.ldexp(quotient + part, -step)
    tail = r * r * (-1 / 2 + r * (1 / 3 + r * (-1 / 4 + r * (1 / 5 + r * (-1 / 6 + r / 7)))))
    scale = 1 << (_UNIT_BITS - step)
    # mantissa = w 2^shift and node counts 2^step, so k = step - shift; it is looked up shifted by the node bits.
    power = (_MANTISSA_BITS - shift).astype(np.int64)
    whole = node_whole[node - (1 << _NODE_BITS)] + power_whole[power] + quotient * scale
    whole -= power_whole[_NODE_BITS]
    fraction = node_fraction[node - (1 << _NODE_BITS)] + power_fraction[power] - power_fraction[_NODE_BITS]
    fraction += part * scale + np.ldexp(tail, _UNIT_BITS)
    carry = np.floor(fraction)
    return whole + carry.astype(np.int64), fraction - carry


def _pair_maxima(whole: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return max_y whole[x, y] - whole[x', y] for all pairs, exactly."""
    n, m = whole.shape
    maxima = np.zeros((n, n), dtype=np.int64)
    rows = max(1, CHUNK_ELEMENTS // m)
    buffer = np.empty((min(rows, n), m), dtype=np.int64)
    for x in range(n - 1):
        for start in range(x + 1, n, rows):
            stop = min(start + rows, n)
            part = np.subtract(whole[x], whole[start:stop], out=buffer[: stop - start])
            maxima[x, start:stop] = part.max(axis=1)
            maxima[start:stop, x] = -part.min(axis=1)
    return maxima


def _quotients(units: NDArray[Any], d: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return units / d where d > 0, else -inf (such pairs bind nothing: their rows are equal)."""
    quotients = np.full(d.shape, -np.inf)
    with np.errstate(over="ignore"):
        np.divide(units, d, out=quotients, where=d > 0)
    return quotients


def _likely_pairs(maxima: NDArray[np.int64], d: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the pairs that may hold the largest quotient, ordered by row."""
    lowest = _quotients(maxima - float(_UNIT_ERROR), d).max()
    upper = _quotients(maxima + float(_UNIT_ERROR), d)
    rows, others = np.nonzero(upper >= lowest - _FLOAT_MARGIN * abs(lowest))
    return rows, others


def _tightest_cases(
    w: NDArray[np.int64],
    logs: tuple[NDArray[np.int64], NDArray[np.float64]],
    d: NDArray[np.float64],
    maxima: NDArray[np.int64],
    pairs: tuple[NDArray[np.int64], NDArray[np.int64]],
) -> dict[tuple[int, int, float], tuple[int, int, int]]:
    """Return the different (numerator, denominator, distance) that may give the largest quotient, with a triple."""
    cases: dict[tuple[int, int, float], tuple[int, int, int]] = {}
    best = -math.inf
    whole, fraction = logs
    reach = whole - whole.min(axis=0)
    for x, others in _row_chunks(pairs, max(1, CHUNK_ELEMENTS // w.shape[1])):
        least = maxima[x, others] - _UNIT_ERROR
        # No partner is further below x in an output than the lowest row: most outputs drop out at once.
        columns = np.flatnonzero(reach[x] >= least.min())
        difference = whole[x, columns] - whole[others[:, None], columns]
        k, c = np.nonzero(difference >= least[:, None])
        y = columns[c]
        refined = difference[k, c] + (fraction[x, y] - fraction[others[k], y])
        error = _FRACTION_ERROR + _FLOAT_MARGIN * np.abs(refined)
        spans = d[x, others[k]]
        with np.errstate(over="ignore"):
            lower, upper = (refined - error) / spans, (refined + error) / spans
        best = max(best, float(lower.max()))
        near = np.flatnonzero(upper >= best - _FLOAT_MARGIN * abs(best))
        y, partners = y[near], others[k[near]]
        keys = zip(w[x, y].tolist(), w[partners, y].tolist(), spans[near].tolist(), strict=True)
        triples = zip(itertools.repeat(x), partners.tolist(), y.tolist(), strict=False)
        cases.update(zip(keys, triples, strict=True))
    return cases


def _row_chunks(
    pairs: tuple[NDArray[np.int64], NDArray[np.int64]], size: int
) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Yield a row and at most `size` of its partners; the pairs come ordered by row."""
    rows, others = pairs
    starts = np.flatnonzero(np.diff(rows, prepend=-1))
    for start, stop in zip(starts.tolist(), [*starts[1:].tolist(), len(rows)], strict=True):
        for low in range(start, stop, size):
            yield int(rows[start]), others[low : min(low + size, stop)]


def _evaluate(numerator: int, denominator: int, span: float) -> float:
    """Return ln(numerator / denominator) / span rounded up to a double."""
    if numerator == denominator:
        return 0.0
    with decimal.localcontext() as context:
        context.prec = DECIMAL_DIGITS
        exact = (Decimal(numerator) / Decimal(denominator)).ln() / Decimal(span)
        bound = exact + abs(exact) * _DECIMAL_MARGIN
        value = float(bound)
        return value if Decimal(value) >= bound else math.nextafter(value, math.inf)
