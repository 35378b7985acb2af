"""What a release needs of a design: blocks of attributes with their states and whole numbers, and the columns."""

import hashlib
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from core.channel import Channel
from core.domain import Attribute, GroupDomain, Records, project
from core.errors import InputError
from core.metric import group_distance
from core.pipeline import Stages
from core.release.columns import Outlet, build_outlet, column_type
from core.results import Design
from core.table import Table


@dataclass(frozen=True, eq=False)
class Block:
    """Attributes that one channel perturbs together: a group, or one attribute of a group that is not enumerated.

    Parameters
    ----------
    group : int
        Position of its group in the design.
    domain : GroupDomain
        Its states and their distances.
    attributes : tuple of Attribute
        Its members, in the order of the states' columns.
    channel : Channel
        The integers that are drawn from; output y releases state y.
    p : float
        Exponent of the metric between its states.
    """

    group: int
    domain: GroupDomain
    attributes: tuple[Attribute, ...]
    channel: Channel
    p: float

    @property
    def members(self) -> tuple[int, ...]:
        """Positions of its attributes among the records'."""
        return self.domain.members

    @cached_property
    def _places(self) -> dict[tuple[int, ...], int]:
        return {tuple(state): i for i, state in enumerate(self.domain.states.tolist())}

    def state_of(self, levels: tuple[int, ...]) -> tuple[int, bool]:
        """Return the state of a record's levels, and whether it is only the nearest one (ties: the lowest)."""
        place = self._places.get(levels)
        if place is None:
            codes = np.array([levels], dtype=np.int32)
            place = self._places[levels] = int(project(self.domain, self.attributes, codes, p=self.p)[0])
        return place, tuple(self.domain.states[place].tolist()) != levels

    def label(self, state: int) -> tuple[str, ...]:
        """Return the levels of a state in words."""
        return tuple(a.levels[c] for a, c in zip(self.attributes, self.domain.states[state].tolist(), strict=True))


@dataclass(frozen=True, eq=False)
class ReleasePlan:
    """A design bound to a table, ready to perturb its records.

    Parameters
    ----------
    table : Table
        The table as read.
    records : Records
        Its coded records.
    design : Design
        The certified design.
    blocks : tuple of Block
        In the order of the groups; every attribute is in exactly one.
    outlets : tuple of Outlet
        How each attribute is written.
    unprotected : tuple of int
        Positions of columns that leave as they are, because a person said that they need no protection.
    domain : str
        Where the groups' states come from, for example 'observed'.
    """

    table: Table
    records: Records
    design: Design
    blocks: tuple[Block, ...]
    outlets: tuple[Outlet, ...]
    unprotected: tuple[int, ...]
    domain: str

    @property
    def certified_epsilon(self) -> float:
        """The record-level certificate of one release."""
        return self.design.certified_epsilon

    @cached_property
    def leaving(self) -> tuple[int, ...]:
        """Positions of the columns that leave, in the order of the table."""
        return tuple(sorted({o.column for o in self.outlets} | set(self.unprotected)))

    @cached_property
    def withheld(self) -> tuple[str, ...]:
        """Names of the columns that never leave."""
        return tuple(str(name) for c, name in enumerate(self.table.frame.columns) if c not in self.leaving)

    @property
    def dropped(self) -> int:
        """Rows that are left out because a value is missing where the design drops such rows."""
        return len(self.table.frame) - len(self.records)

    @cached_property
    def metric_digest(self) -> str:
        """Hash of what epsilon is measured in: attributes, level distances, weights, p. Only equal ones add up."""
        described = [
            (a.column, a.levels, float(a.weight), hashlib.sha256(a.distance.tobytes()).hexdigest())
            for a in self.records.attributes
        ]
        return hashlib.sha256(json.dumps([str(self.design.scenario.p), described]).encode()).hexdigest()[:16]


def plan_release(stages: Stages, *, unprotected: Iterable[str] = (), domain: str | None = None) -> ReleasePlan:
    """Return what is needed to release the records of a table under its design.

    Parameters
    ----------
    stages : Stages
        The table bound to its scenario.
    unprotected : iterable of str
        Names of excluded columns that leave as they are; every other excluded column stays back.
    domain : str, optional
        Name of the domain where it is not the scenario's own.

    Raises
    ------
    InputError
        If an unprotected column does not exist or takes part in the design, or the design cannot be made.
    """
    design, records, frame = stages.design, stages.records, stages.table.frame
    outlets = tuple(build_outlet(a, frame.iloc[:, a.column]) for a in records.attributes)
    return ReleasePlan(
        stages.table,
        records,
        design,
        build_blocks(stages),
        outlets,
        _unprotected(stages.table, records, tuple(unprotected)),
        domain or stages.scenario.domain,
    )


def build_blocks(stages: Stages) -> tuple[Block, ...]:
    """Return the blocks of a design, attribute by attribute where a group is not enumerated."""
    blocks: list[Block] = []
    records, p = stages.records, stages.scenario.p
    for k, (profile, channel) in enumerate(zip(stages.profiles, stages.channels, strict=True)):
        members = profile.domain.members
        attributes = tuple(records.attributes[i] for i in members)
        if isinstance(channel, Channel):
            blocks.append(Block(k, profile.domain, attributes, channel, p))
            continue
        for member, attribute, part in zip(members, attributes, channel.parts, strict=True):
            blocks.append(Block(k, _level_domain(records, member, p), (attribute,), part, p))
    return tuple(blocks)


def _level_domain(records: Records, member: int, p: float) -> GroupDomain:
    """Return one attribute's levels as the states of a block."""
    attribute = records.attributes[member]
    states = np.arange(attribute.size, dtype=np.int32)[:, None]
    codes = records.codes[:, member]
    counts: NDArray[np.int64] = np.bincount(codes, minlength=attribute.size).astype(np.int64)
    distance = group_distance(states, (attribute,), p)
    return GroupDomain(
        (member,), states, counts, counts / len(records), codes.astype(np.int64), distance, "product",
        int((counts > 0).sum()), attribute.size,
    )  # fmt: skip


def excluded_columns(table: Table, records: Records) -> tuple[str, ...]:
    """Return the names of the columns that do not take part."""
    taking_part = {a.column for a in records.attributes}
    return tuple(str(name) for c, name in enumerate(table.frame.columns) if c not in taking_part)


def _unprotected(table: Table, records: Records, names: Sequence[str]) -> tuple[int, ...]:
    possible = excluded_columns(table, records)
    for name in names:
        if name not in possible:
            listed = ", ".join(possible[:12]) or "none"
            raise InputError(
                "unprotected",
                f"Column '{name:.60}' cannot be marked unprotected; only columns that do not take part can: {listed}.",
            )
    columns = [str(name) for name in table.frame.columns]
    return tuple(sorted({columns.index(name) for name in names}))


def count_rare(plan: ReleasePlan, below: int) -> int:
    """Return how many states of observed domains fewer than `below` records have: the domain itself tells of them."""
    if plan.domain in ("product", "declared"):
        return 0
    joint = [b.domain for b in plan.blocks if b.domain.mode == "observed"]
    return int(sum(((d.counts > 0) & (d.counts < below)).sum() for d in joint))


def worst_factor(plan: ReleasePlan) -> float:
    """Return ln of the largest factor between two records' probabilities, epsilon times the record diameter.

    By blocks: sum of certified epsilon times the block's diameter, which no pair of records exceeds.
    """
    return math.fsum(b.channel.certified_epsilon * float(b.domain.distance.max(initial=0.0)) for b in plan.blocks)


def type_of(plan: ReleasePlan, column: int) -> str:
    """Return what a column that leaves holds."""
    outlet = next((o for o in plan.outlets if o.column == column), None)
    return outlet.type if outlet else column_type(plan.table.frame.iloc[:, column])
