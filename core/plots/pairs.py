"""Two attributes at a time: the triangle of all dependences, and the joint counts of one pair beside independence."""

from collections.abc import Sequence
from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from core.dependence import Staircase, joint_counts
from core.domain import Records
from core.plots.graph import Dependence
from core.plots.palette import CIVIDIS, group_colour
from core.plots.template import Mark, Picture, axis, bare, escape, heading, layout, note, panel, shorten, sig

NAMED: Final = 40
"""Attributes or levels up to which a heatmap names every row."""
WRITTEN: Final = 16
"""Attributes up to which a heatmap writes every value."""
CELLS_WRITTEN: Final = 150
"""Cells up to which the joint counts are written."""
_CHARACTER: Final = 6.4
_ROW: Final = 26
_BAR: Final = {"thickness": 10, "outlinewidth": 0, "tickfont": {"size": 12, "color": "@muted"}}


# ---- all pairs ----


def leaf_order(staircase: Staircase) -> tuple[int, ...]:
    """Return an order of the attributes in which every group is contiguous at every threshold.

    Groups are the single-linkage clusters of the tree, so joining the tree's edges by falling weight, each time the two
    runs end to end, gives the leaves of its dendrogram.

    Examples
    --------
    >>> from core.dependence import build_staircase
    >>> leaf_order(build_staircase(np.array([[1.0, 0.1, 0.5], [0.1, 1.0, 0.0], [0.5, 0.0, 1.0]])))
    (0, 2, 1)
    """
    run = {i: [i] for i in range(staircase.count)}
    for i, j in staircase.edges:
        first, second = sorted((run[i], run[j]), key=min)
        joined = first + second
        for member in joined:
            run[member] = joined
    found: list[int] = []
    for i in range(staircase.count):
        if i not in found:
            found += run[i]
    return tuple(found)


def plot_matrix(view: Dependence, groups: Sequence[Sequence[int]]) -> Picture:
    """Draw all dependences as a triangle with the groups outlined; the colour follows the square root.

    Parameters
    ----------
    view : Dependence
        What is drawn; the dendrogram of its staircase orders the attributes.
    groups : sequence of sequence of int
        The groups to outline.
    """
    names, nmi, measure = view.names, view.nmi, view.measure
    order = list(leaf_order(view.staircase))
    count = len(order)
    ordered = nmi[np.ix_(order, order)]
    below = np.tril(np.ones((count, count), dtype=bool), -1)
    top = max(float(ordered[below].max(initial=0.0)), 1e-6)
    return Picture(
        traces=[_triangle(ordered, below, names=[names[i] for i in order], top=top)],
        layout=layout(
            left=8,
            right=int(min(150, _CHARACTER * max(len(shorten(names[i], 22)) for i in order[-3:]))) + 60,
            top=34,
            bottom=12,
            xaxis=bare(range=[-0.5, count - 0.5]),
            yaxis=bare(range=[count - 0.5, -0.5]),
            annotations=[heading(f"{measure} of every pair, square-root colour scale", 8), *_diagonal(names, order)],
            shapes=[_outline(order, members) for members in groups if len(members) > 1],
        ),
        height=int(min(640, max(220, _ROW * count + 50))),
        name="dependences",
        alt=f"{measure} of all {count * (count - 1) // 2} pairs of attributes, from 0 to {sig(top)}.",
    )


def _triangle(ordered: NDArray[np.float64], below: NDArray[np.bool_], *, names: list[str], top: float) -> Mark:
    shown = np.where(below, np.sqrt(np.maximum(ordered, 0.0)), np.nan)
    hover = [
        [f"{escape(a)} – {escape(b)}<br>{ordered[r, c]:.6f}" for c, b in enumerate(names)] for r, a in enumerate(names)
    ]
    ticks = np.linspace(0, np.sqrt(top), 5)
    trace: Mark = {
        "type": "heatmap",
        "z": shown.astype(np.float32),
        "zmin": 0,
        "zmax": float(np.sqrt(top)),
        "colorscale": CIVIDIS,
        "xgap": int(len(names) <= NAMED),
        "ygap": int(len(names) <= NAMED),
        "hoverongaps": False,
        "text": hover,
        "hovertemplate": "%{text}<extra></extra>",
        "colorbar": _BAR
        | {"tickvals": ticks, "ticktext": [sig(t**2, 2) for t in ticks], "len": 0.9, "x": 1.0, "xpad": 40},
    }
    if len(names) <= WRITTEN:
        values = [
            [f"{v:.2f}" if b else "" for v, b in zip(*row, strict=True)] for row in zip(ordered, below, strict=True)
        ]
        trace |= {"text": values, "customdata": hover, "texttemplate": "%{text}", "textfont": {"size": 12}}
        trace["hovertemplate"] = "%{customdata}<extra></extra>"
    return trace


def _diagonal(names: Sequence[str], order: Sequence[int]) -> list[Mark]:
    """Return the names, each at the end of its row, which is also the head of its column."""
    if len(order) > NAMED:
        return []
    return [
        note(
            escape(shorten(names[i], 22)),
            x=k - 0.45,
            y=k,
            xanchor="left",
            yanchor="middle",
            font={"size": 12.5, "color": "@text"},
        )
        for k, i in enumerate(order)
    ]


def _outline(order: Sequence[int], members: Sequence[int]) -> Mark:
    """Return the outline of a group's cells below the diagonal."""
    spots = sorted(order.index(i) for i in members)
    start, end = spots[0] - 0.5, spots[-1] + 0.5
    steps = "".join(f"H{k + 0.5}V{k + 1.5}" for k in range(spots[0], spots[-1]))
    path = f"M{start},{end}V{spots[0] + 0.5}{steps}H{start}Z"
    return {
        "type": "path",
        "path": path,
        "line": {"width": 2.5 if len(order) <= NAMED else 1.5, "color": group_colour(members)},
        "layer": "above",
    }


def table_pairs(view: Dependence, tau: float) -> pd.DataFrame:
    """Return every pair with its dependence and its noise floor, the strongest first."""
    names, nmi, floor = view.names, view.nmi, view.floor
    rows, columns = np.triu_indices(len(names), 1)
    order = np.argsort(-nmi[rows, columns], kind="stable")
    rows, columns = rows[order], columns[order]
    frame = pd.DataFrame(
        {
            "attribute": [names[i] for i in rows.tolist()],
            "other attribute": [names[j] for j in columns.tolist()],
            view.measure: nmi[rows, columns],
            "linked": np.where(nmi[rows, columns] > tau, "yes", "no"),
        }
    )
    if floor is not None:
        frame.insert(3, "noise floor, 95 %", floor.per_pair[rows, columns])
    return frame


# ---- one pair ----


def plot_joint(records: Records, pair: tuple[int, int]) -> Picture:
    """Draw how often each two levels occur together, beside what independence would give, on one colour scale.

    Parameters
    ----------
    records : Records
        The coded table.
    pair : (int, int)
        Two attributes; the one with more levels is drawn downwards.
    """
    first, second = sorted(pair, key=lambda k: (-records.attributes[k].size, k))
    down, across = records.attributes[first], records.attributes[second]
    counts = joint_counts(records.codes, first, second, shape=(down.size, across.size))
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / max(counts.sum(), 1)
    left = int(min(170, 12 + _CHARACTER * max(len(t) for t in _level_names(down.levels))))
    head = f"{escape(shorten(down.name))} by {escape(shorten(across.name))}"
    shared: Mark = {"tickvals": list(range(across.size)), "ticktext": _level_names(across.levels, 12)}
    sides: Mark = {"autorange": "reversed", "tickvals": list(range(down.size)), "ticktext": _level_names(down.levels)}
    return Picture(
        traces=[
            _cells(counts.astype(np.float64), counts, x="x", levels=(down.levels, across.levels)),
            _cells(expected, counts, x="x2", levels=(down.levels, across.levels)),
        ],
        layout=layout(
            left=left,
            right=66,
            bottom=44,
            xaxis=axis(escape(shorten(across.name)), domain=[0, 0.47], showgrid=False, **shared),
            xaxis2=axis(escape(shorten(across.name)), domain=[0.53, 1], showgrid=False, anchor="y", **shared),
            yaxis=axis(showgrid=False, **sides),
            annotations=[heading(f"Records: {head}", left), panel("If the two were independent", "x2", "y")],
        ),
        height=int(min(640, max(220, 26 * down.size + 90))),
        name="joint_counts",
        alt=f"Joint counts of {down.name} and {across.name} beside those expected under independence.",
        table=_joint_table(down.levels, across.levels, counts=counts, expected=expected),
    )


def _level_names(levels: Sequence[str], limit: int = 24) -> list[str]:
    if len(levels) > NAMED:
        return [""] * len(levels)
    return [escape(shorten(level, limit)) for level in levels]


def _cells(
    shown: NDArray[np.float64], counts: NDArray[np.int64], *, x: str, levels: tuple[Sequence[str], Sequence[str]]
) -> Mark:
    top = float(counts.max(initial=1))
    hover = [
        [
            f"{escape(a)}, {escape(b)}<br>{sig(shown[r, c]) if x == 'x2' else f'{counts[r, c]:,}'} records"
            for c, b in enumerate(levels[1])
        ]
        for r, a in enumerate(levels[0])
    ]
    trace: Mark = {
        "type": "heatmap",
        "xaxis": x,
        "yaxis": "y",
        "z": shown.astype(np.float32),
        "zmin": 0,
        "zmax": max(top, float(shown.max(initial=0.0))),
        "colorscale": CIVIDIS,
        "xgap": 1,
        "ygap": 1,
        "customdata": hover,
        "hovertemplate": "%{customdata}<extra></extra>",
        "showscale": x == "x",
        "colorbar": _BAR | {"len": 0.95},
    }
    if shown.size <= CELLS_WRITTEN:
        trace |= {"text": np.round(shown).astype(int).tolist(), "texttemplate": "%{text:,}", "textfont": {"size": 12}}
    return trace


def _joint_table(
    down: Sequence[str], across: Sequence[str], *, counts: NDArray[np.int64], expected: NDArray[np.float64]
) -> pd.DataFrame:
    rows, columns = np.indices(counts.shape).reshape(2, -1)
    return pd.DataFrame(
        {
            "level": [down[r] for r in rows.tolist()],
            "other level": [across[c] for c in columns.tolist()],
            "records": counts.ravel(),
            "if independent": expected.ravel(),
        }
    )
