"""Time and memory of a solve, estimated before it starts."""

from dataclasses import dataclass
from typing import Final

from core.solver.block_systems import Programme
from core.solver.channel_problem import estimate_work

MEMORY_LIMIT_MB: Final = 6000.0
"""Programmes that need more memory are refused with a sentence."""
_SECONDS_PER_OPERATION: Final = 5.5e-9
"""Measured on one core of a 2-core cloud machine: a whole solve over the operations of one step of all outputs."""
_SECONDS_AT_LEAST: Final = 0.02
_LIVE_ROW_ARRAYS: Final = 16
"""Arrays of rows by outputs alive at once: slacks, multipliers, weights, targets and two directions."""
_LIVE_STATE_ARRAYS: Final = 12
"""Arrays of variables by outputs alive at once."""
_FACTOR_SHARE: Final = 1.5
"""Entries of the factors per squared number of states and output, for systems with a dense rest."""


@dataclass(frozen=True)
class CostEstimate:
    """What a solve will take, within a factor of about three.

    Parameters
    ----------
    seconds : float
        On one core, to a gap of 1e-6.
    megabytes : float
        Memory beyond that of the program.
    rows : int
        Constraints per output after reduction.
    kind : str
        Which linear algebra is used.
    """

    seconds: float
    megabytes: float
    rows: int
    kind: str


def estimate_cost(programme: Programme) -> CostEstimate:
    """Estimate a solve on all outputs.

    Parameters
    ----------
    programme : Programme
        As `ChannelProblem.reduce` returns it.
    """
    rows, outputs = programme.rows, programme.costs.shape[1]
    entries = _LIVE_ROW_ARRAYS * len(rows) + _LIVE_STATE_ARRAYS * rows.size
    if rows.kind not in ("line", "nominal"):
        entries += int(_FACTOR_SHARE * rows.states**2)
    seconds = _SECONDS_AT_LEAST + _SECONDS_PER_OPERATION * estimate_work(rows) * outputs
    return CostEstimate(seconds, 8e-6 * entries * outputs, len(rows), rows.kind)
