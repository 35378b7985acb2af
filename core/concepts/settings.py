"""Everything one can turn while learning, as one frozen record, and the presets for a class."""

import math
from dataclasses import dataclass
from typing import Final, Literal

from core.errors import InputError

PARTS: Final = 10**9
"""An entry of the three-level channel is a whole number of these parts; every row sums to all of them."""
POINTS: Final = 11
"""Positions of the two points: 0 to 10."""
STATES: Final = 7
"""States of the line on which mechanisms are compared."""
FACES: Final = 6

Rows = tuple[tuple[int, ...], ...]
Metric = Literal["ordinal", "nominal"]
Noise = Literal["EM", "line noise", "window"]
_RANGES: Final = {
    "point_epsilon": (0.05, 3.0),
    "channel_epsilon": (0.05, 5.0),
    "line_epsilon": (0.05, 5.0),
    "peak": (0.0, 1.0),
    "mismatch": (0.0, 1.0),
    "first_budget": (0.0, 6.0),
    "second_budget": (0.0, 6.0),
    "total": (0.25, 6.0),
    "first_point": (0, POINTS - 1),
    "second_point": (0, POINTS - 1),
    "first_faces": (4, FACES - 1),
    "second_faces": (4, FACES - 1),
}


def rows_from(table: tuple[tuple[float, ...], ...]) -> Rows:
    """Return rows of probabilities as whole parts; what rounding leaves goes to the largest entry.

    Examples
    --------
    >>> rows_from(((0.5, 0.25, 0.25),))
    ((500000000, 250000000, 250000000),)
    """
    rows = []
    for row in table:
        parts = [round(value * PARTS) for value in row]
        parts[parts.index(max(parts))] += PARTS - sum(parts)
        rows.append(tuple(parts))
    return tuple(rows)


_KEPT_ROWS: Final = rows_from(((0.6, 0.3, 0.1), (0.25, 0.5, 0.25), (0.1, 0.3, 0.6)))
"""A channel that keeps epsilon 1 on the line of three levels."""


@dataclass(frozen=True)
class Settings:
    """What every concept is set to; distances are in steps.

    Parameters
    ----------
    point_epsilon : float
        Budget per step of the two points.
    first_point, second_point : int
        Where A and B stand, 0 to 10, never on one place.
    noise : {'EM', 'line noise', 'window'}
        Mechanism of the two points; the window releases a place at most one step away and protects nothing.
    rows : tuple of tuple of int
        The three-level channel in parts of `PARTS`, one row per true level.
    channel_epsilon : float
        The budget that the channel should keep.
    metric : {'ordinal', 'nominal'}
        Whether the three levels stand on a line or are all one step apart.
    line_epsilon, peak, mismatch : float
        Budget on the line of seven, how much the prior favours one state, and how little the loss follows distance.
    remapped : {'EM', 'line noise'}
        The noise that is remapped.
    first_budget, second_budget, total, p : float
        Budgets of two groups, the total they may use, and the metric exponent.
    first_faces, second_faces : int
        On how many faces of the first and the second die the answer is kept.

    Raises
    ------
    InputError
        If a number is out of range, a row does not sum to `PARTS`, or both points stand on one place.
    """

    point_epsilon: float = 0.5
    first_point: int = 3
    second_point: int = 5
    noise: str = "line noise"
    rows: Rows = _KEPT_ROWS
    channel_epsilon: float = 1.0
    metric: str = "ordinal"
    line_epsilon: float = 0.5
    peak: float = 0.0
    mismatch: float = 0.0
    remapped: str = "line noise"
    first_budget: float = 2.0
    second_budget: float = 1.5
    total: float = 3.0
    p: float = 2.0
    first_faces: int = 5
    second_faces: int = 5

    def __post_init__(self) -> None:
        for name, (low, high) in _RANGES.items():
            value = getattr(self, name)
            if not low <= value <= high:
                words = name.replace("_", " ").capitalize()
                raise InputError(name, f"{words} must be from {low:g} to {high:g}, not {value:g}; move it back.")
        if self.first_point == self.second_point:
            raise InputError("second_point", "A and B must stand on two places; move one of them by a step.")
        if any(len(row) != len(self.rows) or min(row) < 0 or sum(row) != PARTS for row in self.rows):
            raise InputError("rows", "Every row of the channel must hold probabilities that sum to 1; reset it.")
        if not (self.p >= 1 or math.isinf(self.p)):
            raise InputError("p", f"The metric exponent (p) must be at least 1, not {self.p:g}; 2 is usual.")


@dataclass(frozen=True)
class Preset:
    """A starting point for a class.

    Parameters
    ----------
    title : str
        Its name in the picker.
    purpose : str
        What a class sees with it, one sentence.
    settings : Settings
        What everything is set to.
    """

    title: str
    purpose: str
    settings: Settings


PRESETS: Final[dict[str, Preset]] = {
    "start": Preset("First lesson", "Everything keeps its promise, with room to break it.", Settings()),
    "private": Preset(
        "Very private",
        "Small budgets: laws nearly overlap, and noise loses as much as saying nothing.",
        Settings(
            point_epsilon=0.1,
            rows=rows_from(((0.36, 0.33, 0.31), (0.33, 0.34, 0.33), (0.31, 0.33, 0.36))),
            channel_epsilon=0.1,
            line_epsilon=0.2,
            first_budget=0.4,
            second_budget=0.3,
            total=0.5,
            first_faces=4,
            second_faces=4,
        ),
    ),
    "broken": Preset(
        "Broken promises",
        "A window that hides nothing, a channel with a zero, two budgets that do not fit.",
        Settings(
            noise="window",
            rows=rows_from(((0.9, 0.1, 0.0), (0.2, 0.6, 0.2), (0.05, 0.05, 0.9))),
            first_budget=3.0,
            second_budget=2.0,
        ),
    ),
    "skewed": Preset(
        "One state is common",
        "A peaked prior: remapping answers the common state, and plain noise is worse than a constant.",
        Settings(noise="EM", line_epsilon=0.5, peak=0.5, remapped="EM"),
    ),
    "optimal": Preset(
        "When OPT wins",
        "The task asks for even or odd, which distance knows nothing about.",
        Settings(line_epsilon=1.0, mismatch=1.0),
    ),
}
"""Presets by key, in the order of the picker."""
