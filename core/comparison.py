"""Two designs side by side: which knobs differ, how the groups moved, who is optimised, and what it costs."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Final

from core.pipeline import Stages
from core.results import Design
from core.scenario import Scenario

KINDS: Final = ("same", "split", "merged", "regrouped", "only A", "only B")
"""What may happen to groups that share attributes."""
_NAN: Final = float("nan")


@dataclass(frozen=True, eq=False)
class Snapshot:
    """A design with what a comparison needs beside it.

    Parameters
    ----------
    design : Design
        The certified design.
    table : str
        Digest of the table that it was fitted on.
    sizes : tuple of int
        States per group.
    scores : tuple of float
        Adequacy score per group, of the scenario's kind.
    tau_dpn : float
        The score threshold in force: the scenario's, or the task's own.
    unit : str
        Unit of the loss.
    members : tuple of tuple of int
        Positions of the attributes per group.
    """

    design: Design
    table: str
    sizes: tuple[int, ...]
    scores: tuple[float, ...]
    tau_dpn: float
    unit: str
    members: tuple[tuple[int, ...], ...] = ()

    @property
    def attributes(self) -> tuple[str, ...]:
        """Names of all attributes, group by group."""
        return tuple(name for group in self.design.groups for name in group)

    @property
    def weighted_losses(self) -> tuple[float, ...]:
        """Contribution beta_k L_k of every group to the predicted loss."""
        return tuple(b * loss for b, loss in zip(self.design.beta, self.design.losses, strict=True))

    @property
    def optimised(self) -> int:
        """Number of groups with the optimised channel."""
        return self.design.choices.count("OPT")


def take_snapshot(stages: Stages) -> Snapshot:
    """Return what a comparison needs of a design; everything is remembered by the stages."""
    kind = stages.scenario.score
    return Snapshot(
        design=stages.design,
        table=stages.table.digest,
        sizes=tuple(p.domain.size for p in stages.profiles),
        scores=tuple(p.score(kind) for p in stages.profiles),
        tau_dpn=stages.tau_dpn,
        unit=stages.task.unit,
        members=stages.groups,
    )


@dataclass(frozen=True)
class KnobDifference:
    """One knob whose value differs.

    Parameters
    ----------
    name : str
        The knob, as in `Scenario`.
    a, b : object
        Both values; for 'attributes' the number of columns that are described differently, None and that number.
    """

    name: str
    a: Any
    b: Any


@dataclass(frozen=True)
class Block:
    """Groups of both designs that share attributes, directly or through one another.

    Parameters
    ----------
    kind : str
        One of `KINDS`.
    a, b : tuple of int
        Positions of the groups in either design.
    """

    kind: str
    a: tuple[int, ...]
    b: tuple[int, ...]


@dataclass(frozen=True)
class Row:
    """One set of attributes that is a group in one design or in both.

    Parameters
    ----------
    members : tuple of str
        Names of its attributes.
    a, b : int or None
        Position of the group in either design; None where these attributes are no group.
    """

    members: tuple[str, ...]
    a: int | None
    b: int | None


@dataclass(frozen=True, eq=False)
class Comparison:
    """Design A beside design B.

    Parameters
    ----------
    a, b : Snapshot
        The two designs.
    knobs : tuple of KnobDifference
        Knobs that differ.
    blocks : tuple of Block
        How groups correspond, in the order of A, then what only B has.
    rows : tuple of Row
        Every group once, block by block: those of A, then those that only B has.
    """

    a: Snapshot
    b: Snapshot
    knobs: tuple[KnobDifference, ...]
    blocks: tuple[Block, ...]
    rows: tuple[Row, ...]

    @property
    def same_table(self) -> bool:
        """Whether both were fitted on the same table."""
        return self.a.table == self.b.table

    @property
    def comparable(self) -> bool:
        """Whether the two predicted losses measure the same thing: one table, task, target and set of attributes."""
        one, other = self.a.design.scenario, self.b.design.scenario
        same_task = (one.task, one.target) == (other.task, other.target)
        return self.same_table and same_task and set(self.a.attributes) == set(self.b.attributes)

    @property
    def change(self) -> float:
        """Relative change of the predicted loss, (L_B - L_A) / L_A; nan where the losses are not comparable."""
        before, after = self.a.design.predicted_loss, self.b.design.predicted_loss
        return (after - before) / before if self.comparable and before > 0 else _NAN

    @property
    def regrouped(self) -> tuple[Block, ...]:
        """The blocks whose groups differ."""
        return tuple(block for block in self.blocks if block.kind != "same")

    @property
    def switched(self) -> tuple[Row, ...]:
        """Groups of both designs whose choice of mechanism differs."""
        return tuple(row for row in self.rows if row.a is not None and row.b is not None and self._switched(row))

    def _switched(self, row: Row) -> bool:
        assert row.a is not None and row.b is not None
        return self.a.design.choices[row.a] != self.b.design.choices[row.b]


def compare_scenarios(a: Scenario, b: Scenario) -> tuple[KnobDifference, ...]:
    """Return the knobs that differ, in the order of the scenario's fields.

    Parameters
    ----------
    a, b : Scenario
        Two scenarios.

    Examples
    --------
    >>> compare_scenarios(Scenario(epsilon=1.0), Scenario(epsilon=2.0))
    (KnobDifference(name='epsilon', a=1.0, b=2.0),)
    """
    found = []
    for knob in fields(Scenario):
        one, other = getattr(a, knob.name), getattr(b, knob.name)
        if one == other:
            continue
        if knob.name == "attributes":
            columns = {spec.column for spec in (*one, *other)}
            changed = sum(a.spec(column) != b.spec(column) for column in columns)
            if changed:
                found.append(KnobDifference(knob.name, None, changed))
        else:
            found.append(KnobDifference(knob.name, one, other))
    return tuple(found)


def compare_designs(a: Snapshot, b: Snapshot) -> Comparison:
    """Compare two designs: settings, groups, choices, budgets and losses.

    Groups are the same where they have the same attributes, by name. Groups that share attributes form a block, from
    which it is read whether they split, merged or were rearranged.

    Parameters
    ----------
    a, b : Snapshot
        From `take_snapshot`; they may belong to different tables, then nothing but totals compares.

    Returns
    -------
    Comparison
        Everything that differs.
    """
    return Comparison(a, b, _effective_knobs(a, b), *_align(a.design.groups, b.design.groups))


def _effective_knobs(a: Snapshot, b: Snapshot) -> tuple[KnobDifference, ...]:
    """Return the knobs that differ, with the score threshold as it is in force rather than as it was written."""
    knobs = [k for k in compare_scenarios(a.design.scenario, b.design.scenario) if k.name != "tau_dpn"]
    if a.tau_dpn != b.tau_dpn:
        knobs.append(KnobDifference("tau_dpn", a.tau_dpn, b.tau_dpn))
    order = [knob.name for knob in fields(Scenario)]
    return tuple(sorted(knobs, key=lambda k: order.index(k.name)))


Groups = Sequence[tuple[str, ...]]


def _align(a: Groups, b: Groups) -> tuple[tuple[Block, ...], tuple[Row, ...]]:
    """Return blocks of groups that share attributes, and one row per distinct set of attributes."""
    blocks: list[Block] = []
    taken: set[int] = set()
    for start in range(len(a)):
        if start in taken:
            continue
        mine, theirs = _reach(start, a, b)
        taken |= set(mine)
        blocks.append(Block(_kind(mine, theirs, a, b), mine, theirs))
    reached = {k for block in blocks for k in block.b}
    blocks += [Block("only B", (), (k,)) for k in range(len(b)) if k not in reached]
    rows: list[Row] = []
    for block in blocks:
        sets = {frozenset(b[k]): k for k in block.b}
        rows += [Row(a[k], k, sets.pop(frozenset(a[k]), None)) for k in block.a]
        rows += [Row(b[k], None, k) for k in block.b if frozenset(b[k]) in sets]
    return tuple(blocks), tuple(rows)


def _reach(start: int, a: Groups, b: Groups) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the groups of A and of B that are tied to one group of A by shared attributes, however indirectly."""
    mine, theirs = {start}, set[int]()
    while True:
        names = {name for k in mine for name in a[k]} | {name for k in theirs for name in b[k]}
        more_a = {k for k in range(len(a)) if names & set(a[k])}
        more_b = {k for k in range(len(b)) if names & set(b[k])}
        if more_a == mine and more_b == theirs:
            return tuple(sorted(mine)), tuple(sorted(theirs))
        mine, theirs = more_a, more_b


def _kind(mine: tuple[int, ...], theirs: tuple[int, ...], a: Groups, b: Groups) -> str:
    if not theirs:
        return "only A"
    left, right = {name for k in mine for name in a[k]}, {name for k in theirs for name in b[k]}
    if left != right:
        return "regrouped"
    if len(mine) == len(theirs) == 1:
        return "same"
    if len(mine) == 1:
        return "split"
    return "merged" if len(theirs) == 1 else "regrouped"


def share_of_zero_information(snapshot: Snapshot) -> float:
    """Return predicted loss / zero information: what is left of the loss of a constant, comparable across tasks.

    nan where a group is too large for its zero information to be known.
    """
    zero = snapshot.design.zero_information
    return snapshot.design.predicted_loss / zero if not math.isnan(zero) and zero > 0 else _NAN
