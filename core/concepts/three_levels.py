"""A channel on three levels whose entries one moves: which constraints it keeps, which it breaks."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Final

import numpy as np
from numpy.typing import NDArray

from core.certificate import certify
from core.channel import exact_channel
from core.concepts.settings import PARTS, Rows, Settings

LEVELS: Final = ("A", "B", "C")
_DISTANCES: Final = {
    "ordinal": ((0.0, 1.0, 2.0), (1.0, 0.0, 1.0), (2.0, 1.0, 0.0)),
    "nominal": ((0.0, 1.0, 1.0), (1.0, 0.0, 1.0), (1.0, 1.0, 0.0)),
}
_MEND_MARGIN: Final = 1e-5
"""Relative part of the budget that mending leaves for the rounding to parts."""
_MOVED: Final = 1e-9
"""A change of a probability below this is rounding on its way through the browser."""

Entry = tuple[int, int]


@dataclass(frozen=True)
class Violation:
    """One broken constraint: P(released | true) > exp(epsilon d) P(released | other).

    Parameters
    ----------
    true, other, released : int
        Positions of the two true levels and the released one.
    ratio : float
        The likelihood ratio; infinite over zero.
    allowed : float
        exp(epsilon d).
    """

    true: int
    other: int
    released: int
    ratio: float
    allowed: float


@dataclass(frozen=True, eq=False)
class ChannelCheck:
    """What a three-level channel satisfies.

    Parameters
    ----------
    settings : Settings
        What was asked for.
    distance : ndarray (3, 3)
        Steps between the levels.
    violations : tuple of Violation
        Every broken constraint; empty exactly where certified_epsilon <= the budget.
    certified_epsilon : float
        Smallest epsilon that the whole channel satisfies, rounded up.
    """

    settings: Settings
    distance: NDArray[np.float64]
    violations: tuple[Violation, ...]
    certified_epsilon: float

    @property
    def matrix(self) -> NDArray[np.float64]:
        """Return the probabilities, row = true level."""
        return np.array(self.settings.rows) / PARTS

    @property
    def broken(self) -> set[Entry]:
        """Entries (true, released) that take part in a violation."""
        return {(true, v.released) for v in self.violations for true in (v.true, v.other)}

    @property
    def worst(self) -> Violation | None:
        """The violation with the largest ratio against what is allowed."""
        return max(self.violations, key=lambda v: v.ratio / v.allowed, default=None)

    def allowed(self, true: int, released: int) -> tuple[float, float]:
        """Return the smallest and the largest value that one entry may have, given the others of its column."""
        factors = [math.exp(self.settings.channel_epsilon * d) for d in self.distance[true].tolist()]
        column = self.matrix[:, released].tolist()
        others = [k for k in range(len(column)) if k != true]
        return max(column[k] / factors[k] for k in others), min(1.0, *(column[k] * factors[k] for k in others))


def check_channel(settings: Settings) -> ChannelCheck:
    """Check every constraint on the integers of the channel."""
    weights = np.array(settings.rows, dtype=np.int64)
    distance = np.array(_DISTANCES[settings.metric])
    found = []
    for true, other, released in product(range(len(weights)), repeat=3):
        above, below = int(weights[true, released]), int(weights[other, released])
        if above <= below:
            continue
        apart = float(distance[true, other])
        # A zero under a positive number satisfies no budget, and is no weight that a certificate takes.
        pair = certify([[above], [below]], [[0.0, apart], [apart, 0.0]]) if below else math.inf
        if pair > settings.channel_epsilon:
            ratio = above / below if below else math.inf
            found.append(Violation(true, other, released, ratio, math.exp(settings.channel_epsilon * apart)))
    return ChannelCheck(settings, distance, tuple(found), certify(weights, distance))


def set_entry(rows: Rows, entry: Entry, value: float) -> Rows:
    """Return the channel with one entry set; the rest of its row shares what is left in proportion.

    Parameters
    ----------
    rows : tuple of tuple of int
        The channel in parts.
    entry : (int, int)
        True and released level.
    value : float
        Its new probability, cut to [0, 1]. Where the rest of the row is 0 it is shared evenly.

    Examples
    --------
    >>> set_entry(((500_000_000, 300_000_000, 200_000_000),), (0, 0), 0.0)
    ((0, 600000000, 400000000),)
    """
    true, released = entry
    new = round(min(max(value, 0.0), 1.0) * PARTS)
    row, left = list(rows[true]), PARTS - new
    others = [k for k in range(len(row)) if k != released]
    total = sum(row[k] for k in others)
    shares = {k: left * row[k] // total if total else left // len(others) for k in others}
    shares[others[-1]] += left - sum(shares.values())
    changed = tuple(new if k == released else shares[k] for k in range(len(row)))
    return (*rows[:true], changed, *rows[true + 1 :])


def find_moved(
    rows: Rows, reported: Mapping[Entry, float], before: Mapping[Entry, float]
) -> tuple[Entry, float] | None:
    """Return which entry a person moved, and to what, or None.

    While one entry is moved fast, the others are reported as they were before their row was shared out anew. So the
    moved one differs both from the channel and from the last report; where none does, the farthest from the channel.
    A report that only repeats the last one, as on letting go, moves nothing.

    Parameters
    ----------
    rows : tuple of tuple of int
        The channel as it is.
    reported, before : mapping of entry to float
        What was reported now, and the time before if nothing else has changed the channel since, else empty.
    """
    away = {entry: abs(value - rows[entry[0]][entry[1]] / PARTS) for entry, value in reported.items()}
    fresh = [e for e, value in reported.items() if e not in before or abs(value - before[e]) > _MOVED]
    if not fresh:
        return None
    chosen = max([e for e in fresh if away[e] > _MOVED] or away, key=lambda e: away[e], default=None)
    return None if chosen is None or away[chosen] <= _MOVED else (chosen, reported[chosen])


def mend(settings: Settings) -> Rows:
    """Return the channel raised until it keeps the budget and rescaled, as every mechanism of a design is.

    Raises
    ------
    CertificateError
        If no exact channel was found.
    """
    matrix = np.array(settings.rows) / PARTS
    budget = settings.channel_epsilon * (1 - _MEND_MARGIN)
    mended = exact_channel(matrix, np.array(_DISTANCES[settings.metric]), budget).matrix
    rows = []
    for row in mended.tolist():
        parts = [math.floor(value * PARTS) for value in row]
        parts[parts.index(max(parts))] += PARTS - sum(parts)
        rows.append(tuple(parts))
    return tuple(rows)
