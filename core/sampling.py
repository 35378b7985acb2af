"""Exact samplers for releases: whole numbers and fractions on a cryptographic source, nothing rounded on the way."""

import itertools
import os
import secrets
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final, Protocol

from core.errors import InputError

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
    """A coin with an exact rational probability, compared with the random bits one by one.

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

    def toss(self, source: Source) -> bool:
        """Return True with probability numerator/denominator exactly; two bits are read on average."""
        if self.numerator == self.denominator:
            return True
        rest = self.numerator
        while rest:
            digit, rest = divmod(2 * rest, self.denominator)
            bit = source.bits(1)
            if bit != digit:
                return bit < digit
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
    return _draw_cumulative(_accumulate(weights), source)


def _accumulate(weights: Iterable[Any]) -> list[int]:
    """Return the partial sums of a row of weights, as Python's unbounded whole numbers."""
    whole = [int(weight) for weight in weights]
    if min(whole, default=0) < 0:
        raise ValueError("a weight is negative")
    return list(itertools.accumulate(whole)) or [0]


def _draw_cumulative(sums: Sequence[int], source: Source) -> int:
    """Return the index whose step of the partial sums holds a uniform draw below the last of them."""
    return bisect_right(sums, draw_below(sums[-1], source))


class RowSampler:
    """Draws outputs of one channel, keeping the partial sums of the rows that were needed.

    Parameters
    ----------
    channel : Channel or table of int (n, m)
        A channel, or its rows.
    """

    def __init__(self, channel: Any) -> None:
        self._table = getattr(channel, "weights", channel)
        self._sums: dict[int, list[int]] = {}

    def draw(self, row: int, source: Source) -> int:
        """Return output y with probability weights[row, y] / sum of the row exactly.

        Raises
        ------
        InputError
            If the row does not exist, holds a negative number, or holds nothing but zeros.
        """
        if row not in self._sums:
            self._sums[row] = self._add_up(row)
        return _draw_cumulative(self._sums[row], source)

    def _add_up(self, row: int) -> list[int]:
        if not 0 <= row < len(self._table):
            raise InputError("rows", f"A channel of {len(self._table):,} rows has no row {row}; rows count from 0.")
        try:
            sums = _accumulate(self._table[row])
        except ValueError as error:
            raise InputError("channel", f"Row {row} of the channel holds a negative weight.") from error
        if sums[-1] == 0:
            raise InputError("channel", f"Row {row} of the channel holds no positive weight, so it releases nothing.")
        return sums


def draw(channel: Any, rows: Iterable[int], source: Source | None = None) -> list[int]:
    """Draw an output for every true state, exactly in proportion to the channel's whole numbers.

    Row x releases y with probability weights[x, y] / sum of row x. One uniform number below that sum is drawn, by
    rejection where the sum is no power of two, and looked up in the partial sums.

    Parameters
    ----------
    channel : Channel or table of int (n, m)
        A channel, or its rows.
    rows : iterable of int (N,)
        True states, from 0.
    source : Source or None
        Random bits; None takes the operating system's cryptographic generator.

    Returns
    -------
    list of int (N,)
        Drawn outputs.

    Raises
    ------
    InputError
        If a row does not exist, holds a negative number, or holds nothing but zeros.

    Examples
    --------
    >>> draw([[1, 3], [0, 4]], [0, 0, 1], ScriptedSource("000101"))
    [0, 1, 1]
    """
    sampler, bits = RowSampler(channel), SystemSource() if source is None else source
    return [sampler.draw(int(row), bits) for row in rows]


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


def two_sided_geometric(numerator: int, denominator: int, source: Source | None = None) -> int:
    """Return n with probability (1 - r)/(1 + r) r^|n| exactly, r = numerator / denominator.

    Added to a count it is exp(epsilon)-private for every epsilon >= ln(denominator / numerator) per unit.

    Parameters
    ----------
    numerator, denominator : int
        The ratio, 0 <= numerator < denominator.
    source : Source or None
        Random bits; None takes the operating system's cryptographic generator.

    Raises
    ------
    InputError
        If the ratio is no rational number in [0, 1).

    Examples
    --------
    >>> two_sided_geometric(1, 2, ScriptedSource("0011"))  # at 1/2 a 0 goes on and a 1 stops: 2 minus 0
    2
    """
    whole = all(isinstance(part, int) and not isinstance(part, bool) for part in (numerator, denominator))
    if not whole or not 0 <= numerator < denominator:
        raise InputError(
            "ratio",
            f"The ratio must be two whole numbers, 0 <= numerator < denominator, not {numerator!r:.40} and "
            f"{denominator!r:.40}.",
        )
    return draw_two_sided_geometric(Fraction(numerator, denominator), SystemSource() if source is None else source)


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
