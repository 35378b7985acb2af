"""What is kept of a scenario that was put aside."""

from dataclasses import dataclass

from core.scenario import Scenario


@dataclass(frozen=True)
class Pin:
    """A scenario put aside for comparison.

    Parameters
    ----------
    slot : {'A', 'B'}
        Which pin.
    source : str
        Its data set.
    scenario : Scenario
        Its knobs.
    table : str
        Digest of the table that was looked at, empty if there was none.
    """

    slot: str
    source: str
    scenario: Scenario
    table: str = ""
