"""Exact draws by the array, for many users at once: whole numbers of 64 bits on any source of bits."""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from core.sampling import Source

PROBABILITY_BITS: Final = 62
"""Coins have probability n / 2^62."""


def _draw_words(width: int, count: int, source: Source) -> NDArray[np.uint64]:
    """Return `count` uniform integers below 2^width, width <= 64."""
    kind = next(k for k in (np.uint8, np.uint16, np.uint32, np.uint64) if np.dtype(k).itemsize * 8 >= width)
    words: NDArray[Any] = np.frombuffer(source.read(count * np.dtype(kind).itemsize), kind)
    return words.astype(np.uint64) >> np.uint64(np.dtype(kind).itemsize * 8 - width)


def draw_below_many(bound: int, count: int, source: Source) -> NDArray[np.int64]:
    """Return `count` independent uniform integers in [0, bound), bound <= 2^63.

    Raises
    ------
    ValueError
        If the bound is out of range.
    """
    if not 1 <= bound <= 1 << 63:
        raise ValueError(f"the bound must be from 1 to 2^63, not {bound}")
    width = (bound - 1).bit_length()
    drawn = np.zeros(count, np.int64)
    open_places = np.arange(count if width else 0)
    while open_places.size:
        words = _draw_words(width, open_places.size, source)
        good = words < np.uint64(bound)
        drawn[open_places[good]] = words[good].astype(np.int64)
        open_places = open_places[~good]
    return drawn


def draw_bernoulli_many(numerator: int, count: int, source: Source) -> NDArray[np.bool_]:
    """Return `count` independent coins of probability numerator / 2^62 exactly.

    Raises
    ------
    ValueError
        If the numerator is not in [0, 2^62].
    """
    if not 0 <= numerator <= 1 << PROBABILITY_BITS:
        raise ValueError(f"the numerator must be from 0 to 2^{PROBABILITY_BITS}, not {numerator}")
    return _draw_words(PROBABILITY_BITS, count, source) < np.uint64(numerator)


def draw_permutations(count: int, size: int, source: Source) -> NDArray[np.int64]:
    """Return `count` independent uniform permutations of range(size) as rows (Fisher and Yates)."""
    rows = np.tile(np.arange(size, dtype=np.int64), (count, 1))
    every = np.arange(count)
    for last in range(size - 1, 0, -1):
        pick = draw_below_many(last + 1, count, source)
        rows[every, pick], rows[:, last] = rows[:, last].copy(), rows[every, pick]
    return rows
