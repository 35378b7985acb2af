"""Exact samplers for releases: integers and fractions on a cryptographic source, never floating point."""

import os
import secrets
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

WORD: Final = 64
"""Bits compared at a time; a draw needs more with probability 2^-64."""
PROBABILITY_BITS: Final = 62
"""Vectorised coins have probability n / 2^62."""
DIGIT_LIMIT: Final = 12
"""Binary digits of a geometric variable drawn one by one; the powers of its ratio grow with 2^digits."""


class Source(Protocol):
    """A source of independent fair bits."""

    def bits(self, count: int) -> int:
        """Return a uniform integer below 2^count."""

    def read(self, count: int) -> bytes:
        """Return `count` uniform bytes."""


class SystemSource:
    """The operating system's cryptographic generator."""

    def bits(self, count: int) -> int:
        """Return a uniform integer below 2^count."""
        return secrets.randbits(count)

    def read(self, count: int) -> bytes:
        """Return `count` uniform bytes."""
        return os.urandom(count)


class ScriptedSource:
    """A fixed sequence of bits, first bit first, to check samplers by enumeration; it runs out loudly.

    Parameters
    ----------
    script : iterable of int or str
        The bits, 0 or 1.

    Examples
    --------
    >>> ScriptedSource("101").bits(3)
    5
    """

    def __init__(self, script: Iterable[int] | str) -> None:
        self._script: Iterator[int] = iter([int(bit) for bit in script])

    def bits(self, count: int) -> int:
        """Return the next `count` bits as an integer, the first one highest.

        Raises
        ------
        EOFError
            If the script is used up.
        """
        value = 0
        for _ in range(count):
            bit = next(self._script, None)
            if bit is None:
                raise EOFError("the scripted bits are used up")
            value = 2 * value + bit
        return value

    def read(self, count: int) -> bytes:
        """Return the next 8 * count bits as bytes."""
        return self.bits(8 * count).to_bytes(count, "big")


@dataclass(frozen=True)
class Coin:
    """A coin with an exact rational probability, compared with the random bits word by word.

    Parameters
    ----------
    numerator, denominator : int
        The probability, 0 <= numerator <= denominator, denominator > 0.
    """

    numerator: int
    denominator: int

    def __post_init__(self) -> None:
        if not 0 <= self.numerator <= self.denominator or self.denominator < 1:
            raise ValueError(f"a probability lies in [0, 1], not {self.numerator}/{self.denominator}")
        head, rest = divmod(self.numerator << WORD, self.denominator)
        object.__setattr__(self, "_head", head)
        object.__setattr__(self, "_rest", rest)

    def toss(self, source: Source) -> bool:
        """Return True with probability numerator/denominator exactly."""
        if self.numerator == self.denominator:
            return True
        head: int = self._head  # type: ignore[attr-defined]
        rest: int = self._rest  # type: ignore[attr-defined]
        while head or rest:
            word = source.bits(WORD)
            if word != head:
                return word < head
            head, rest = divmod(rest << WORD, self.denominator)
        return False


def draw_below(bound: int, source: Source) -> int:
    """Return a uniform integer in [0, bound), by rejection.

    Raises
    ------
    ValueError
        If bound < 1.

    Examples
    --------
    >>> draw_below(3, ScriptedSource("1101"))
    1
    """
    if bound < 1:
        raise ValueError(f"the bound must be at least 1, not {bound}")
    width = (bound - 1).bit_length()
    while True:
        value = source.bits(width) if width else 0
        if value < bound:
            return value


def draw_bernoulli(numerator: int, denominator: int, source: Source) -> bool:
    """Return True with probability numerator/denominator exactly.

    Raises
    ------
    ValueError
        If that is no probability.
    """
    return Coin(numerator, denominator).toss(source)


def draw_weighted(weights: Sequence[int], source: Source) -> int:
    """Return index i with probability weights[i] / sum(weights) exactly.

    Raises
    ------
    ValueError
        If a weight is negative or all are 0.
    """
    whole = [int(weight) for weight in weights]
    if min(whole, default=0) < 0:
        raise ValueError("a weight is negative")
    left = draw_below(sum(whole), source)
    for index, weight in enumerate(whole):
        left -= weight
        if left < 0:
            return index
    raise AssertionError("unreachable: the draw lies below the sum")


@lru_cache(maxsize=256)
def _digit_coins(ratio: Fraction) -> tuple[tuple[Coin, ...], Coin]:
    """Return the coins of the low binary digits of a geometric variable, and the one of its high part."""
    numerator, denominator = ratio.numerator, ratio.denominator
    digits: list[Coin] = []
    while 2 * numerator > denominator and len(digits) < DIGIT_LIMIT:
        digits.append(Coin(numerator, numerator + denominator))
        numerator, denominator = numerator**2, denominator**2
    return tuple(digits), Coin(numerator, denominator)


def draw_geometric(ratio: Fraction, source: Source) -> int:
    """Return n >= 0 with probability (1 - ratio) ratio^n exactly.

    The binary digits of n are independent, digit j being 1 with probability r/(1 + r), r = ratio^(2^j); the part above
    the drawn digits is geometric again, with a ratio of at most 1/2 unless the ratio is very near 1.

    Raises
    ------
    ValueError
        If not 0 <= ratio < 1.
    """
    if not 0 <= ratio < 1:
        raise ValueError(f"the ratio of a geometric variable lies in [0, 1), not {ratio}")
    digits, above = _digit_coins(ratio)
    value = sum(coin.toss(source) << place for place, coin in enumerate(digits))
    while above.toss(source):
        value += 1 << len(digits)
    return value


def draw_two_sided_geometric(ratio: Fraction, source: Source) -> int:
    """Return n with probability (1 - ratio)/(1 + ratio) ratio^|n| exactly, the difference of two geometric draws.

    Raises
    ------
    ValueError
        If not 0 <= ratio < 1.
    """
    return draw_geometric(ratio, source) - draw_geometric(ratio, source)


def draw_subset(size: int, domain: int, source: Source) -> tuple[int, ...]:
    """Return a uniform `size`-subset of range(domain), increasing (Floyd's method).

    Raises
    ------
    ValueError
        If not 0 <= size <= domain.
    """
    if not 0 <= size <= domain:
        raise ValueError(f"a subset of {domain} elements has 0 to {domain} of them, not {size}")
    chosen: set[int] = set()
    for last in range(domain - size, domain):
        pick = draw_below(last + 1, source)
        chosen.add(last if pick in chosen else pick)
    return tuple(sorted(chosen))


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
