"""What the rows of a table have released so far: releases of the same rows add up."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction


@dataclass(frozen=True)
class Entry:
    """One release.

    Parameters
    ----------
    what : str
        "table", "record" or another word.
    epsilon : float
        Its record-level certificate per unit of distance.
    metric : str
        Digest of the metric that epsilon is measured in.
    row : int or None
        The row it was about, from 0; None for all rows.
    """

    what: str
    epsilon: float
    metric: str
    row: int | None = None


@dataclass
class Ledger:
    """The releases of one table's rows in one session.

    Independent releases compose: under one metric their epsilons add up; under several, the statement is the sum of
    each epsilon times its own distance, so a total is kept per metric.
    """

    entries: list[Entry] = field(default_factory=list)

    def add(self, entry: Entry) -> None:
        """Enter a release."""
        self.entries.append(entry)

    @property
    def metrics(self) -> tuple[str, ...]:
        """Metrics that occur, in the order of their first release."""
        return tuple(dict.fromkeys(e.metric for e in self.entries))

    def of_every_row(self, metric: str) -> float:
        """Return what every row has released under a metric, rounded up."""
        return _add_up(e.epsilon for e in self.entries if e.metric == metric and e.row is None)

    def of_row(self, metric: str, row: int) -> float:
        """Return what one row has released under a metric: with the table, and on its own; rounded up."""
        return _add_up(e.epsilon for e in self.entries if e.metric == metric and e.row in (None, row))

    def most(self, metric: str) -> float:
        """Return what the row that released most has released under a metric."""
        rows = {e.row for e in self.entries if e.metric == metric and e.row is not None}
        return max((self.of_row(metric, row) for row in rows), default=self.of_every_row(metric))


def _add_up(parts: Iterable[float]) -> float:
    total = sum(map(Fraction, parts), Fraction(0))
    value = float(total)
    return value if Fraction(value) >= total else math.nextafter(value, math.inf)
