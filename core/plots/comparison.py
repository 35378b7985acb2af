"""Two designs side by side: how the groups moved, and two numbers of every group as pairs of marks."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from core.comparison import Comparison, Row, Snapshot
from core.plots.grouping import group_label
from core.plots.palette import LOOKS, group_colour
from core.plots.template import Mark, Picture, axis, bare, escape, heading, note, shorten
from core.plots.template import layout as sheet

ASPECTS: Final = ("groups", "losses", "choices", "budget")
"""What is compared, one per page."""
SHOWN: Final = 12
"""Rows of a picture; the rest are in the table."""
ATTRIBUTES: Final = 26
_ROW: Final = 30
_LEFT: Final = 190
_COLUMNS: Final = ((0.355, 0.38), (0.62, 0.645))
"""Where the two columns of groups stand."""
Pair = tuple[str, str]
"""What the two designs are called on screen."""


@dataclass(frozen=True, eq=False)
class Quantity:
    """A number of every group, for both designs.

    Parameters
    ----------
    title : str
        What it is, with its unit.
    a, b : tuple of float
        Value per group of either design.
    log : bool
        Whether its axis is logarithmic.
    """

    title: str
    a: Sequence[float]
    b: Sequence[float]
    log: bool = False

    def of(self, row: Row) -> tuple[float, float]:
        """Return both values of a row; nan where the row is no group of that design."""
        return (
            math.nan if row.a is None else float(self.a[row.a]),
            math.nan if row.b is None else float(self.b[row.b]),
        )


def quantities(found: Comparison, aspect: str) -> tuple[Quantity, Quantity]:
    """Return the two numbers of an aspect: what the page is about, and beside it what it costs or depends on."""
    a, b = found.a, found.b
    score = Quantity("score (S)", a.scores, b.scores)
    if aspect == "choices":
        return score, Quantity("domain size (n), states, log scale", a.sizes, b.sizes, log=True)
    unit = a.unit if a.unit == b.unit else f"{a.unit}; {b.unit}"
    loss = Quantity(f"weighted loss ({unit})", a.weighted_losses, b.weighted_losses)
    if aspect == "losses":
        return score, loss
    return Quantity("epsilon given to the group", a.design.allocation, b.design.allocation), loss


def telling_rows(found: Comparison, aspect: str) -> tuple[Row, ...]:
    """Return the rows that differ in an aspect: regrouped ones first, then by the size of the larger difference."""
    pair = quantities(found, aspect)
    tops = [max([1e-300, *(abs(v) for v in (*q.a, *q.b))]) for q in pair]

    def difference(row: Row) -> float:
        if row.a is None or row.b is None:
            return math.inf
        sizes = [abs(x - y) / top for (x, y), top in ((q.of(row), top) for q, top in zip(pair, tops, strict=True))]
        known = [size for size in sizes if not math.isnan(size)]
        return max([float(row in found.switched), *known])

    order = {row: (difference(row), -i) for i, row in enumerate(found.rows)}
    return tuple(sorted((row for row in found.rows if order[row][0] > 1e-9), key=lambda r: order[r], reverse=True))


def plot_pairs(found: Comparison, aspect: str, names: Pair) -> Picture | None:
    """Draw two numbers of every group that differs: hollow for the first design, filled for the second.

    Parameters
    ----------
    found : Comparison
        The two designs.
    aspect : {'losses', 'choices', 'budget'}
        Which numbers.
    names : pair of str
        What the designs are called.

    Returns
    -------
    Picture or None
        None where no group differs.
    """
    rows = telling_rows(found, aspect)[:SHOWN]
    if not rows:
        return None
    pair = quantities(found, aspect)
    count = max(len(rows), 3)
    traces: list[Mark] = []
    axes: dict[str, Mark] = {}
    notes: list[Mark] = [heading(f"Groups that differ: {names[0]} hollow, {names[1]} filled", _LEFT, yshift=14)]
    for number, (quantity, domain) in enumerate(zip(pair, ((0.0, 0.47), (0.53, 1.0)), strict=True), start=1):
        mark = "" if number == 1 else str(number)
        traces += _marks(found, quantity, rows, mark, names)
        axes[f"xaxis{mark}"] = axis(quantity.title, domain=list(domain), anchor=f"y{mark}", **_range(quantity, rows))
        axes[f"yaxis{mark}"] = bare(domain=[0, 1], anchor=f"x{mark}", range=[count - 0.4, -0.6])
    font = {"size": 12.5, "color": "@text"}
    for row, entry in enumerate(rows):
        text = escape(shorten(group_label(entry.members), 26))
        notes.append(
            note(text, xref="paper", yref="y", x=0, y=row, xanchor="left", xshift=-_LEFT, font=font)
        )  # fmt: skip
    return Picture(
        traces=traces,
        layout=sheet(left=_LEFT, right=16, top=48, bottom=48, annotations=notes, **axes),
        height=96 + _ROW * count,
        name=f"comparison_{aspect}",
        alt=f"{len(rows)} groups that differ between {names[0]} and {names[1]}.",
    )


def _range(quantity: Quantity, rows: Sequence[Row]) -> dict[str, Any]:
    """Return the range and ticks of an axis around the values drawn; an ordinary axis shows 0."""
    values = [v for row in rows for v in quantity.of(row) if not math.isnan(v)] or [1.0]
    if quantity.log:
        low, high = math.log10(max(min(values), 1)) - 0.2, math.log10(max(*values, 10)) + 0.2
        steps = [m * 10**k for k in range(12) for m in (1, 3) if low <= math.log10(m * 10**k) <= high]
        return {"type": "log", "range": [low, high], "tickvals": steps, "tickformat": ",d"}
    low, high = min(0.0, *values), max(0.0, *values)
    room = 0.06 * (high - low or 1.0)
    return {"range": [low - room, high + room], "nticks": 6}


def _marks(found: Comparison, quantity: Quantity, rows: Sequence[Row], axis_mark: str, names: Pair) -> list[Mark]:
    """Return the lines between both values and the marks of either design, in the look of its choice."""
    at: Mark = {"type": "scatter", "xaxis": f"x{axis_mark}", "yaxis": f"y{axis_mark}", "cliponaxis": False}
    x: list[float | None] = []
    y: list[float | None] = []
    for position, row in enumerate(rows):
        one, other = quantity.of(row)
        if not math.isnan(one) and not math.isnan(other):
            x += [one, other, None]
            y += [position, position, None]
    traces: list[Mark] = [
        at | {"mode": "lines", "x": x, "y": y, "line": {"color": "@line", "width": 3}, "hoverinfo": "skip"}
    ]
    for side, (design, hollow) in enumerate(((found.a.design, True), (found.b.design, False))):
        shown = [(i, row, k) for i, row in enumerate(rows) if (k := row.b if side else row.a) is not None]
        looks = [LOOKS[design.choices[k]] for _, _, k in shown]
        traces.append(
            at
            | {
                "mode": "markers",
                "x": [quantity.of(row)[side] for _, row, _ in shown],
                "y": [i for i, _, _ in shown],
                "text": [f"{escape(names[side])}: {escape(', '.join(row.members))}<br>{design.choices[k]}"
                         for _, row, k in shown],
                "hovertemplate": "%{text}<br>%{x:.6g}<extra></extra>",
                "marker": {
                    "size": [15 if look.symbol == "diamond" else 13 for look in looks] if hollow else 11,
                    "symbol": [look.symbol + ("-open" if hollow else "") for look in looks],
                    "color": [look.colour for look in looks],
                    "line": {"width": 2.5, "color": [look.colour for look in looks]} if hollow
                    else {"width": 1, "color": "@bg"},
                },
            }
        )  # fmt: skip
    return traces


def plot_grouping(found: Comparison, names: Pair) -> Picture | None:
    """Draw the attributes whose group differs as rows, with the groups of either design as blocks beside them.

    Returns
    -------
    Picture or None
        None where both group all attributes alike.
    """
    listed = _regrouped_attributes(found)[:ATTRIBUTES]
    if not listed:
        return None
    shapes: list[Mark] = []
    notes: list[Mark] = []
    for side, snapshot in enumerate((found.a, found.b)):
        drawn, words = _column(listed, snapshot, side)
        shapes += drawn
        notes += words
    font = {"size": 12.5, "color": "@text"}
    notes += [
        note(escape(shorten(name, 34)), xref="x", yref="y", x=0.5, y=row, xanchor="center", font=font)
        for row, name in enumerate(listed)
    ]
    more = len(_regrouped_attributes(found)) - len(listed)
    title = "Attributes whose group differs" + (f"; {more} more in the table" if more else "")
    for side, name in enumerate(names):
        left, right = _COLUMNS[side]
        notes.append(
            note(f"<b>{escape(name)}</b>", xref="x", yref="paper", x=left if side else right, y=1, yanchor="bottom",
                 xanchor="left" if side else "right", yshift=4, font={"size": 13, "color": "@text"})
        )  # fmt: skip
    count = max(len(listed), 3)
    return Picture(
        # A figure without a trace would not be drawn: one point that nobody sees.
        traces=[{"type": "scatter", "x": [0.5], "y": [0], "mode": "markers", "marker": {"opacity": 0},
                 "hoverinfo": "skip"}],
        layout=sheet(
            left=0,
            right=0,
            top=58,
            bottom=8,
            xaxis=bare(domain=[0, 1], range=[0, 1], anchor="y"),
            yaxis=bare(domain=[0, 1], range=[count - 0.4, -0.6], anchor="x"),
            shapes=shapes,
            annotations=[heading(title, 0, yshift=28), *notes],
        ),
        height=66 + 24 * count,
        name="comparison_groups",
        alt=f"{len(listed)} attributes are grouped differently in {names[0]} and {names[1]}.",
    )  # fmt: skip


def _regrouped_attributes(found: Comparison) -> list[str]:
    """Return the attributes of the blocks that differ, groups of either design together where that is possible."""
    listed: list[str] = []
    for block in found.regrouped:
        first = {n: k for k in block.a for n in found.a.design.groups[k]}
        second = {n: k for k in block.b for n in found.b.design.groups[k]}
        listed += sorted({**first, **second}, key=lambda n: (first.get(n, 10**6), second.get(n, 10**6)))
    return listed


def _column(listed: Sequence[str], snapshot: Snapshot, side: int) -> tuple[list[Mark], list[Mark]]:
    """Return one design's groups as blocks over runs of rows, with their names; single attributes are hollow."""
    design = snapshot.design
    home = {name: k for k, group in enumerate(design.groups) for name in group}
    left, right = _COLUMNS[side]
    shapes, notes = [], []
    start = 0
    while start < len(listed):
        k = home.get(listed[start])
        end = start
        while end + 1 < len(listed) and home.get(listed[end + 1]) == k is not None:
            end += 1
        if k is not None:
            alone = len(design.groups[k]) == 1
            colour = "@neutral" if alone else group_colour(snapshot.members[k])
            shapes.append(
                {"type": "rect", "xref": "x", "yref": "y", "x0": left, "x1": right, "y0": start - 0.38,
                 "y1": end + 0.38, "fillcolor": "@bg" if alone else colour,
                 "line": {"color": colour, "width": 1.5 if alone else 0}}
            )  # fmt: skip
            choice = LOOKS[design.choices[k]].colour
            text = f"{escape(shorten(group_label(design.groups[k]), 20))}, <b>{design.choices[k]}</b>"
            notes.append(
                note(text, xref="x", yref="y", x=right if side else left, y=(start + end) / 2,
                     xanchor="left" if side else "right", xshift=8 if side else -8,
                     font={"size": 12, "color": "@text"}, bordercolor=choice)
            )  # fmt: skip
        start = end + 1
    return shapes, notes
