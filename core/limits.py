"""Bounds of every knob, shared by the widgets and by the checks, so that both say the same."""

import math
import sys
from dataclasses import dataclass
from numbers import Real
from typing import Final

from core.errors import InputError


@dataclass(frozen=True)
class Range:
    """A closed interval for one numeric knob.

    Parameters
    ----------
    field : str
        The knob's name in a sentence.
    low, high : float
        Smallest and largest allowed value, both included.
    default : float
        Value of a fresh scenario.
    step : float
        Step of its widget.
    remedy : str
        What to do with a value outside.
    integer : bool
        Whether only whole numbers are allowed.
    """

    field: str
    low: float
    high: float
    default: float
    step: float
    remedy: str
    integer: bool = False

    def check(self, value: object) -> float:
        """Return `value` as a float.

        Raises
        ------
        InputError
            If it is not a real number in [low, high], or not whole where only whole numbers are allowed.
        """
        number = _number(value)
        # Compared before any conversion: a whole number may be too large for a float.
        good = number is not None and self.low <= number <= self.high and _fits_float(number)
        if number is None or not good or (self.integer and number != int(number)):
            kind = "a whole number" if self.integer else "a number"
            raise InputError(
                self.field,
                f"{self.field} must be {kind} from {self.low:g} to {self.high:g}, not {value!r:.60}; {self.remedy}.",
            )
        return float(number)


def _fits_float(number: float) -> bool:
    """Tell whether a number is a float or may become one; a whole number in a file may have any length."""
    return number == math.inf or abs(number) <= sys.float_info.max


def _number(value: object) -> int | float | None:
    """Return a real number as Python's own type, None for anything else, truth values included."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return value
    return float(value) if isinstance(value, Real) else None  # numpy's own numbers


EPSILON: Final = Range(
    "The privacy budget (epsilon)", 1e-6, 50.0, 4.0, 0.25, "smaller is more private, 1 to 10 is usual", False
)
METRIC_EXPONENT: Final = Range(
    "The metric exponent (p)", 1.0, math.inf, 2.0, 0.5, "1, 2 and infinity are the usual choices"
)
TAU_GROUP: Final = Range("The grouping threshold (tau_group)", 0.0, 1.0, 0.1, 0.005, "0.1 is usual")
TAU_DIM: Final = Range(
    "The largest domain (tau_dim)", 1, 1000, 300, 1, "300 is usual; larger domains cannot be optimised here", True
)
TAU_DPN: Final = Range("The score threshold (tau_dpn)", -1.0, 1.0, 0.2, 0.01, "0.1 to 0.3 is usual")
TAU_REGRET: Final = Range("The regret threshold", 0.0, 1.0, 0.1, 0.01, "0.1 means: optimise where 10% is saved")
WEIGHT: Final = Range("The weight of an attribute", 1e-6, 1e6, 1.0, 0.1, "1 is usual")
BINS: Final = Range("The number of bins", 2, 100, 5, 1, "5 is usual", True)
CONTEXTS: Final = Range(
    "The number of sampled contexts", 1, 1_000_000, 2000, 100, "more contexts give smaller error bars", True
)
SEED: Final = Range("The seed", 0, 2**32 - 1, 0, 1, "any whole number will do", True)

ENUMERATION_LIMIT: Final = 1000
"""States above which a group's domain is not enumerated and the group is perturbed attribute by attribute."""
UPLOAD_LIMIT_MB: Final = 200
"""Largest upload in megabytes; the server setting and the sentence share it."""
COLUMN_LIMIT: Final = 500
"""Columns above which a table is refused."""
LEVEL_LIMIT: Final = 200
"""Levels above which a nominal attribute is excluded by default."""
LOSS_BUDGET_GRID: Final = (
    *(0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0),
    *(5.5, 6.0, 7.0, 8.0, 9.0, 10.0),
)
"""Budgets at which loss-budget curves are solved; a total above 10 extends it by multiples of 5 up to the total."""
COARSE_LOSS_BUDGET_GRID: Final = (0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0)
"""The same for groups of more than `FINE_GRID_STATES` states, where a channel takes seconds."""
FIRST_LOSS_BUDGET_GRID: Final = (0.0, 0.5, 1.0, 2.0, 3.0, 4.5, 7.0, 10.0)
"""The same where optimising takes many seconds per budget; refinement adds what the allocation needs."""
FINE_GRID_STATES: Final = 100
