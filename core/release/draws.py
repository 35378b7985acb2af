"""Perturbing one record step by step, or the whole table: exact draws on a cryptographic source."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from core.errors import InputError
from core.metric import record_distance
from core.release.columns import to_series
from core.release.plan import Block, ReleasePlan
from core.sampling import RowSampler, Source, SystemSource

Progress = Callable[[float, str], None]

NUMERIC: Final = ("representative", "within")
"""How a released bin is written: its middle, or a uniform draw within it."""
TOLD_EVERY: Final = 250
"""Records between two calls of a progress, some milliseconds."""


@dataclass(frozen=True, eq=False)
class BlockStep:
    """What happens to one block of a record.

    Parameters
    ----------
    block : int
        Position of the block in the plan.
    levels : tuple of int
        The record's true levels.
    state : int
        The state they count as.
    projected : bool
        Whether that is only the nearest state.
    moved : float
        Distance from the levels to that state.
    row : tuple of int
        The channel's row of that state: how many of the equally likely draws release each output.
    drawn : int or None
        The output drawn; None before the draw.
    """

    block: int
    levels: tuple[int, ...]
    state: int
    projected: bool
    moved: float
    row: tuple[int, ...]
    drawn: int | None = None


@dataclass(frozen=True, eq=False)
class RecordRelease:
    """One record perturbed step by step.

    Parameters
    ----------
    steps : tuple of BlockStep
        One per block.
    values : tuple
        What is written per attribute; empty before the draw.
    """

    steps: tuple[BlockStep, ...]
    values: tuple[Any, ...] = ()


@dataclass(frozen=True, eq=False)
class TableRelease:
    """A whole table perturbed once.

    Parameters
    ----------
    frame : DataFrame
        The columns that leave, with the input's names, order and types.
    drawn : ndarray of int (N, B)
        Output of every record and block.
    certified_epsilon : float
        What this release spent of every row.
    numeric : {'representative', 'within'}
        How bins were written.
    withheld, unprotected : tuple of str
        Columns that stayed back, and that left as they are.
    """

    frame: pd.DataFrame
    drawn: NDArray[np.int64]
    certified_epsilon: float
    numeric: str
    withheld: tuple[str, ...]
    unprotected: tuple[str, ...]


def trace_record(plan: ReleasePlan, codes: Sequence[int]) -> RecordRelease:
    """Return a record's way up to the draw: its levels, states and channel rows. Nothing is random, nothing leaves.

    Parameters
    ----------
    plan : ReleasePlan
        The plan.
    codes : sequence of int (L,)
        Level of every attribute.

    Raises
    ------
    InputError
        If a level does not exist.
    """
    _check_codes(plan, codes)
    return RecordRelease(tuple(_trace_block(b, i, codes) for i, b in enumerate(plan.blocks)))


def _check_codes(plan: ReleasePlan, codes: Sequence[int]) -> None:
    sizes = plan.records.sizes
    if len(codes) != len(sizes) or any(not 0 <= c < m for c, m in zip(codes, sizes, strict=True)):
        raise InputError("record", f"A record has {len(sizes)} levels, one within each attribute's range.")


def _trace_block(block: Block, place: int, codes: Sequence[int]) -> BlockStep:
    levels = tuple(int(codes[i]) for i in block.members)
    state, projected = block.state_of(levels)
    there = np.array([levels], dtype=np.int32), block.domain.states[[state]]
    moved = float(record_distance(*there, block.attributes, block.p)[0]) if projected else 0.0
    return BlockStep(place, levels, state, projected, moved, tuple(block.channel.weights[state].tolist()))


def release_record(
    plan: ReleasePlan, codes: Sequence[int], source: Source | None = None, *, numeric: str = NUMERIC[0]
) -> RecordRelease:
    """Perturb one record.

    Parameters
    ----------
    plan : ReleasePlan
        The plan.
    codes : sequence of int (L,)
        Level of every attribute.
    source : Source or None
        Random bits; None takes the operating system's cryptographic generator.
    numeric : {'representative', 'within'}
        How a bin is written.

    Raises
    ------
    InputError
        If a level does not exist or `numeric` is another word.
    """
    bits = SystemSource() if source is None else source
    traced = trace_record(plan, codes)
    drawn = [RowSampler([step.row]).draw(0, bits) for step in traced.steps]
    steps = tuple(
        BlockStep(s.block, s.levels, s.state, s.projected, s.moved, s.row, y)
        for s, y in zip(traced.steps, drawn, strict=True)
    )
    return RecordRelease(steps, tuple(_write(plan, _scatter(plan, drawn), _within(numeric, bits))))


def _within(numeric: str, source: Source) -> Source | None:
    if numeric not in NUMERIC:
        raise InputError("numeric", f"A released bin is written as one of {', '.join(NUMERIC)}, not {numeric!r:.40}.")
    return source if numeric == "within" else None


def _scatter(plan: ReleasePlan, drawn: Sequence[int]) -> list[int]:
    """Return the released level of every attribute from the blocks' outputs."""
    levels = [0] * len(plan.outlets)
    for block, y in zip(plan.blocks, drawn, strict=True):
        for member, level in zip(block.members, block.domain.states[y].tolist(), strict=True):
            levels[member] = level
    return levels


def _write(plan: ReleasePlan, levels: Sequence[int], source: Source | None) -> list[Any]:
    return [outlet.write(level, source) for outlet, level in zip(plan.outlets, levels, strict=True)]


def release_table(
    plan: ReleasePlan,
    source: Source | None = None,
    *,
    numeric: str = NUMERIC[0],
    progress: Progress | None = None,
) -> TableRelease:
    """Perturb every record once, each on its own.

    Parameters
    ----------
    plan : ReleasePlan
        The plan.
    source : Source or None
        Random bits; None takes the operating system's cryptographic generator.
    numeric : {'representative', 'within'}
        How a bin is written.
    progress : callable (fraction, sentence) or None
        Told some hundred times; it may raise to stop, and nothing has left then.

    Raises
    ------
    InputError
        If `numeric` is another word.
    """
    bits = SystemSource() if source is None else source
    within = _within(numeric, bits)
    states = _states(plan).tolist()
    samplers = [RowSampler(b.channel) for b in plan.blocks]
    released = [[tuple(state) for state in b.domain.states.tolist()] for b in plan.blocks]
    drawn: list[list[int]] = []
    written: list[list[Any]] = []
    levels = [0] * len(plan.outlets)
    for done, row in enumerate(states):
        if progress is not None and done % TOLD_EVERY == 0:
            progress(done / len(states), f"{done:,} of {len(states):,} records")
        outputs = [sampler.draw(x, bits) for sampler, x in zip(samplers, row, strict=True)]
        for block, table, y in zip(plan.blocks, released, outputs, strict=True):
            for member, level in zip(block.members, table[y], strict=True):
                levels[member] = level
        drawn.append(outputs)
        written.append(_write(plan, levels, within))
    return TableRelease(
        _frame(plan, written),
        np.array(drawn, dtype=np.int64).reshape(len(states), len(plan.blocks)),
        plan.certified_epsilon,
        numeric,
        plan.withheld,
        tuple(str(plan.table.frame.columns[c]) for c in plan.unprotected),
    )


def _states(plan: ReleasePlan) -> NDArray[np.int64]:
    """Return the state of every record and block, (N, B)."""
    return np.stack([b.domain.state_of for b in plan.blocks], axis=1)


def _frame(plan: ReleasePlan, written: list[list[Any]]) -> pd.DataFrame:
    original = plan.table.frame.iloc[plan.records.rows]
    outlets = {outlet.column: i for i, outlet in enumerate(plan.outlets)}
    columns = {}
    for column in plan.leaving:
        name = str(original.columns[column])
        if column in outlets:
            i = outlets[column]
            columns[name] = to_series([row[i] for row in written], plan.outlets[i], original.iloc[:, column])
        else:
            columns[name] = original.iloc[:, column].reset_index(drop=True)
    return pd.DataFrame(columns)


__all__ = [
    "NUMERIC",
    "BlockStep",
    "RecordRelease",
    "TableRelease",
    "release_record",
    "release_table",
    "trace_record",
]
