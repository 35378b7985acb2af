"""One record perturbed step by step: its states, the channel rows, the draws; and what the rows released so far."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import pandas as pd

from core.plots.palette import LOOKS
from core.plots.template import Mark, Picture, bare, escape, note, percent, shorten, sig, small
from core.plots.template import layout as sheet
from core.release import Block, BlockStep, Ledger, RecordRelease, ReleasePlan

PANELS: Final = 8
"""Blocks drawn, those of the most states; the rest are in the table."""
_ACROSS: Final = 4
_SHOWN: Final = 5
"""States named in a panel; what is left is one line."""
_ROW: Final = 31
"""Pixels of one state: its name over its bar."""
_HEAD: Final = 50
"""Pixels of a panel's heading."""
_BAR: Final = 0.2
_FAINT: Final = 0.4
"""Opacity of what was not drawn."""
_LABEL: Final = 24
_WIDE_LABEL: Final = 60


@dataclass(frozen=True, eq=False)
class RecordView:
    """What the picture of one record draws.

    Parameters
    ----------
    plan : ReleasePlan
        The design bound to its table.
    record : RecordRelease
        The record's way through the blocks, drawn or not.
    row : int
        Row of the table, from 0.
    """

    plan: ReleasePlan
    record: RecordRelease
    row: int

    @property
    def drawn(self) -> bool:
        """Whether the record was released."""
        return bool(self.record.values)

    @property
    def panels(self) -> tuple[BlockStep, ...]:
        """The blocks that are drawn, in the order of the groups."""
        largest = sorted(self.record.steps, key=lambda s: -len(s.row))[:PANELS]
        return tuple(sorted(largest, key=lambda s: s.block))

    def block(self, step: BlockStep) -> Block:
        """Return the block of a step."""
        return self.plan.blocks[step.block]

    def name(self, step: BlockStep) -> str:
        """Return the attributes of a step's block."""
        return ", ".join(a.name for a in self.block(step).attributes)

    def is_optimised(self, step: BlockStep) -> bool:
        """Return whether the block's channel is an optimised one."""
        return self.block(step).channel.mechanism == "OPT"

    def label(self, step: BlockStep, state: int, limit: int) -> str:
        """Return a short name of a state: its level, or what is written for several, each cut to its share."""
        block = self.block(step)
        if len(block.members) == 1:
            return shorten(block.label(state)[0], limit)
        levels = block.domain.states[state].tolist()
        written = [
            _written(self.plan.outlets[member].values[level])
            for member, level in zip(block.members, levels, strict=True)
        ]
        return squeeze(written, limit)

    def probability(self, step: BlockStep, state: int) -> float:
        """Return how likely a state is released."""
        return step.row[state] / sum(step.row)


def record_height(plan: ReleasePlan) -> int:
    """Return the height of the picture, which only the number of blocks decides."""
    return _rows(min(len(plan.blocks), PANELS)) * (_HEAD + (_SHOWN + 1) * _ROW) + 12


def _rows(count: int) -> int:
    return -(-count // _ACROSS)


def squeeze(parts: Sequence[str], limit: int) -> str:
    """Return parts joined by commas within about `limit` characters, the longest ones cut first.

    Examples
    --------
    >>> squeeze(["137", "0.62", "upsloping"], 17)
    '137, 0.62, upslo…'
    """
    width = max((len(part) for part in parts), default=0)
    while width > 2 and sum(min(len(part), width) + 2 for part in parts) - 2 > limit:
        width -= 1
    return ", ".join(shorten(part, width) for part in parts)


def listed_states(step: BlockStep) -> list[int]:
    """Return the states named in a panel: the true one, the drawn one and the likeliest, likeliest first."""
    order = sorted(range(len(step.row)), key=lambda y: (-step.row[y], y))
    wanted = [step.state] + ([step.drawn] if step.drawn is not None else [])
    chosen = list(dict.fromkeys([*wanted, *order]))[:_SHOWN]
    return sorted(chosen, key=order.index)


def plot_record(view: RecordView) -> Picture:
    """Draw one panel per block: the likeliest releases with their probabilities, the true state, the draw."""
    steps = view.panels
    across = min(len(steps), _ACROSS)
    down = _rows(len(steps))
    height = record_height(view.plan)
    traces: list[Mark] = []
    notes: list[Mark] = []
    axes: dict[str, Mark] = {}
    gap = 0.035
    width = (1 - gap * (across - 1)) / across
    for i, step in enumerate(steps):
        column, line = i % across, i // across
        number = "" if i == 0 else str(i + 1)
        left = column * (width + gap)
        top = 1 - line / down - _HEAD / height
        bottom = 1 - (line + 1) / down + 4 / height
        axes[f"xaxis{number}"] = bare(domain=[left, left + width], anchor=f"y{number}", range=[0, 1])
        axes[f"yaxis{number}"] = bare(domain=[bottom, top], anchor=f"x{number}", range=[_SHOWN + 1, 0])
        limit = _LABEL if across == _ACROSS else _WIDE_LABEL
        traces += _panel(view, step, number, notes, limit)
    return Picture(
        traces=traces,
        layout=sheet(left=4, right=4, top=2, bottom=2, annotations=notes, barmode="overlay", **axes),
        height=height,
        name="record",
        alt=f"Record {view.row + 1} perturbed: {len(steps)} of {len(view.record.steps)} channel rows"
        + (" with what was drawn." if view.drawn else "; nothing is drawn yet."),
        table=table_record(view),
    )


def _panel(view: RecordView, step: BlockStep, number: str, notes: list[Mark], limit: int) -> list[Mark]:
    """Return the traces of one panel and add its words to the notes."""
    block, axes = view.block(step), {"xaxis": f"x{number}", "yaxis": f"y{number}"}
    look = LOOKS["OPT" if view.is_optimised(step) else "DPN"]
    shown = listed_states(step)
    x, y = f"x{number}", f"y{number}"
    subtitle = f"{block.channel.mechanism.split(',')[0]}, certified {sig(block.channel.certified_epsilon)}"
    if step.projected:
        subtitle = f"nearest state, {sig(step.moved)} away"
    notes.append(small(f"<b>{escape(shorten(view.name(step), limit))}</b>", x, y, yshift=20))
    notes.append(small(escape(subtitle), x, y, yshift=3, font={"size": 12, "color": "@muted"}))
    places = {"xref": x, "yref": y, "yanchor": "bottom"}
    for i, state in enumerate(shown):
        mark = _mark(step, state)
        label = view.label(step, state, limit - 7 - (2 if mark else 0))
        at = places | {"y": i + 0.66}
        notes.append(note(mark + escape(label), x=0, xanchor="left", font={"size": 12, "color": "@text"}, **at))
        notes.append(note(percent(view.probability(step, state)), x=1, xanchor="right", **at))
    rest = len(step.row) - len(shown)
    left = max(0.0, 1 - sum(view.probability(step, s) for s in shown))
    if rest:
        at = places | {"y": _SHOWN + 0.66}
        notes.append(note(f"{rest} other state{'s' if rest > 1 else ''}", x=0, xanchor="left", **at))
        notes.append(note(percent(left), x=1, xanchor="right", **at))
    names = [escape(", ".join(block.label(s))) for s in shown] + (["all other states"] if rest else [])
    shares = [view.probability(step, s) for s in shown] + ([left] if rest else [])
    rows = [*range(len(shown)), *([_SHOWN] if rest else [])]
    strong = [not view.drawn or s == step.drawn for s in shown] + ([not view.drawn] if rest else [])
    colours = [look.colour] * len(shown) + (["@neutral"] if rest else [])
    track: Mark = axes | {
        "type": "bar", "orientation": "h", "y": [r + 0.78 for r in rows], "x": [1] * len(rows), "width": _BAR,
        "marker": {"color": "@grid"}, "hoverinfo": "skip",
    }  # fmt: skip
    bars: Mark = axes | {
        "type": "bar", "orientation": "h", "y": [r + 0.78 for r in rows], "x": shares, "width": _BAR, "text": names,
        "textposition": "none", "marker": {"color": colours, "opacity": [1.0 if s else _FAINT for s in strong]},
        "hovertemplate": "%{text}<br>probability %{x:.6g}<extra></extra>",
    }  # fmt: skip
    return [track, bars]


def _mark(step: BlockStep, state: int) -> str:
    """Return the sign before a state's name: a ring for the true one, a filled diamond for the drawn one."""
    signs = ("○" if state == step.state else "") + ("<b>◆</b>" if state == step.drawn else "")
    return f"{signs} " if signs else ""


def table_record(view: RecordView) -> pd.DataFrame:
    """Return one row per attribute: its true level, its state's level, how likely that stays, what was released."""
    rows = []
    for step in view.record.steps:
        block = view.block(step)
        true = [a.levels[c] for a, c in zip(block.attributes, step.levels, strict=True)]
        drawn = (None,) * len(true) if step.drawn is None else block.label(step.drawn)
        for member, attribute, level, state, released in zip(
            block.members, block.attributes, true, block.label(step.state), drawn, strict=True
        ):
            rows.append(
                {
                    "attribute": attribute.name,
                    "true level": level,
                    "level of its state": state,
                    "group stays": view.probability(step, step.state),
                    "drawn level": released,
                    "released value": None if released is None else _exact(view.record.values[member]),
                    "mechanism": block.channel.mechanism,
                    "certified epsilon": block.channel.certified_epsilon,
                }
            )
    return pd.DataFrame(rows)


def _exact(value: object) -> str:
    return "missing" if value is None else str(value)


def _written(value: object) -> str:
    if value is None:
        return "missing"
    return f"{value:g}" if isinstance(value, float) else str(value)


def explain_record(view: RecordView) -> str:
    """Return what the picture says: how likely the record stays as it is, or what came out."""
    stays = [view.probability(step, step.state) for step in view.record.steps]
    count = len(stays)
    moved = sum(step.projected for step in view.record.steps)
    near = f" In {moved} group{'s' if moved > 1 else ''} it counts as the nearest state." if moved else ""
    groups = "group" if count == 1 else "groups"
    unseen = count - len(view.panels)
    near += (
        f" The {unseen} smallest groups are under Numbers."
        if unseen > 1
        else " The smallest group is under Numbers." * unseen
    )
    if view.drawn:
        same = sum(step.drawn == step.state for step in view.record.steps)
        return (
            f"**{same} of {count} {groups}** came out true, {sig(sum(stays))} are expected to. This release cost "
            f"epsilon **{sig(view.plan.certified_epsilon)}** per unit of distance.{near}"
        )
    blind = sum(view.block(step).channel.certified_epsilon == 0 for step in view.record.steps)
    constant = f" {blind} got no budget and leave the same whatever the truth is." if blind else ""
    return (
        f"Of record {view.row + 1}, **{sig(sum(stays))} of {count} {groups}** are expected to come out true; nothing "
        f"is drawn yet.{constant}{near}"
    )


def table_ledger(ledger: Ledger, metric: str) -> pd.DataFrame:
    """Return the releases in order, with what every row has released after each, under the metric of today."""
    rows = []
    seen = Ledger()
    for i, entry in enumerate(ledger.entries, start=1):
        seen.add(entry)
        rows.append(
            {
                "release": i,
                "what": "whole table" if entry.row is None else f"record {entry.row + 1}",
                "epsilon": entry.epsilon,
                "of every row so far": seen.of_every_row(entry.metric),
                "of the most released row": seen.most(entry.metric),
                "metric": "as now" if entry.metric == metric else "another",
            }
        )
    return pd.DataFrame(rows)


def explain_ledger(ledger: Ledger, metric: str) -> str:
    """Return what whoever holds all releases has learned at most, as a sentence."""
    count = len(ledger.entries)
    if not count:
        return "Nothing of these rows was released in this session."
    every, most = ledger.of_every_row(metric), ledger.most(metric)
    times = "once" if count == 1 else f"{count} times"
    said = f"Released {times} in this session. Whoever holds it all has learned at most epsilon **{sig(every)}** "
    said += "per unit of distance about every row"
    said += f", and **{sig(most)}** about the row released most." if most > every else "."
    others = len([m for m in ledger.metrics if m != metric])
    if others:
        said += (
            f" Releases under {others} other metric{'s' if others > 1 else ''} are not in that sum; what they tell "
            "comes on top."
        )
    return said
