"""The dependence graph beside its exact staircase, and the groups in words and numbers."""

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from core import limits
from core.plots.graph import NAME_LENGTH, X_RANGE, Y_RANGE, Dependence, settle, short_names, shrink, tidy_thresholds
from core.plots.interaction import Components, Handle, Region, Ride
from core.plots.pairs import table_pairs
from core.plots.palette import group_colour
from core.plots.template import Mark, Picture, axis, bare, escape, heading, label, panel, sig
from core.plots.template import layout as sheet

HEIGHT: Final = 480
_LEFT, _RIGHT, _TOP, _BOTTOM = 8, 14, 34, 52
_GRAPH: Final = (0.0, 0.58)
"""Share of the width that the graph takes; the staircase takes what is right of `_STAIRS`."""
_STAIRS: Final = (0.66, 1.0)
_LEAST_TAU: Final = 1e-4
"""Where the log axis ends at the latest; a threshold of 0 stands there and forms the same groups or nearly so."""


# ---- the main picture ----


def plot_groups(view: Dependence, tau: float, *, picked: Sequence[int] = ()) -> Picture:
    """Draw the dependence graph beside the number of groups at every threshold, with tau as a handle.

    Links at or below tau fade and groups recolour while one drags; the axis is logarithmic, because NMI spreads over
    orders of magnitude.

    Parameters
    ----------
    view : Dependence
        What is drawn.
    tau : float
        Grouping threshold.
    picked : sequence of int
        Attributes ringed because they were clicked.

    Returns
    -------
    Picture
        Points carry the attributes that they stand for as `customdata`.
    """
    low, high = tau_range(view, tau)
    at = min(max(tau, low), high)
    groups = view.staircase.groups(tau)
    count = len(view.names)
    heads = [
        heading(f"Shared information between attributes ({view.measure})", _LEFT),
        panel("Number of groups (K)", "x2", "y2", xshift=-26),
    ]
    return Picture(
        traces=[*_graph_traces(view, tau, groups, picked), *_stair_traces(view, at, len(groups), (low, high))],
        layout=sheet(
            left=_LEFT,
            right=_RIGHT,
            top=_TOP,
            bottom=_BOTTOM,
            xaxis=bare(domain=list(_GRAPH), range=list(X_RANGE)),
            yaxis=bare(range=list(Y_RANGE)),
            xaxis2=_tau_axis(low, high, measure=view.measure),
            yaxis2=axis(anchor="x2", range=[0, 1.11 * count], tickvals=_count_ticks(count)),
            annotations=[*heads, *_names(view)],
        ),
        height=HEIGHT,
        name="groups",
        alt=f"{count} attributes form {len(groups)} groups at threshold {sig(tau)}.",
        handles=(_handle(view, at, low=low, high=high),),
        regions=_regions(view, low),
        previews=_previews(view),
        table=table_pairs(view, tau),
    )


def tau_range(view: Dependence, tau: float) -> tuple[float, float]:
    """Return the ends of the threshold axis: around every step and about the noise floor, and what lies beyond.

    It stays while the threshold is dragged on it, and when the noise floor is known. The ends are settled as a dragged
    threshold is, so that one dragged to an end does not come to lie beyond it.
    """
    chance = None if view.corrected else view.graph.chance
    seen = [m for m in (*view.staircase.thresholds.tolist(), chance or 0.0, 0.1) if m > 0]
    ends = max(_LEAST_TAU, 0.7 * min(seen)), min(1.0, max(0.3, 1.25 * max(seen)))
    low, high = (settle(view.staircase, end) for end in ends)
    for mark in (tau, *([view.floor.maximum] if view.floor else [])):
        if mark < low:
            low = max(_LEAST_TAU, 0.7 * mark)
        if mark > high:
            high = min(1.0, 1.25 * mark)
    return low, high


def tau_digits(tau: float) -> int:
    """Return the decimals with which a threshold is shown: three, four where it has more."""
    return 3 if round(tau, 3) == tau or tau == _LEAST_TAU else 4


def _tau_axis(low: float, high: float, *, measure: str) -> Mark:
    marks = (1, 3) if high / low > 40 else (1, 2, 5)
    ticks = [t for k in range(-4, 1) for m in marks if low <= (t := round(m * 10.0**k, 4)) <= high]
    return axis(
        f"threshold (tau_group), {measure}, log scale",
        type="log",
        domain=list(_STAIRS),
        range=[math.log10(low), math.log10(high)],
        anchor="y2",
        showgrid=False,
        tickvals=ticks,
        ticktext=[f"{t:g}" for t in ticks],
    )


def _count_ticks(count: int) -> list[int]:
    step = next((s for s in (1, 2, 5, 10, 20, 50) if count / s <= 6), 100)
    inner = [t for t in range(step, count, step) if t > 1 and count - t >= 0.6 * step]
    return sorted({1, *inner, count})


def _handle(view: Dependence, at: float, *, low: float, high: float) -> Handle:
    return Handle(
        "tau_group",
        at,
        low,
        high,
        limits.TAU_GROUP.step,
        "Grouping threshold",
        axis="xaxis2",
        across="yaxis2",
        digits=tau_digits(at),
        snap=tuple(t for t in tidy_thresholds(view.staircase) if low <= t <= high),
    )


def _regions(view: Dependence, low: float) -> tuple[Region, ...]:
    panel_axes = ("xaxis2", "yaxis2")
    # The strip above the last step stays clear, so that the word in it is never dimmed.
    dimmed = Region((None, "tau_group"), (None, 1.03 * len(view.names)), axes=panel_axes, dim=0.55)
    if view.floor is None or view.floor.maximum <= low:
        return (dimmed,)
    band = Region((None, view.floor.maximum), axes=panel_axes, label="noise floor", place="top left")
    return (dimmed, band)


def _previews(view: Dependence) -> tuple[Components | Ride, ...]:
    edges = tuple((_uid(i, j), i, j, float(view.nmi[i, j])) for i, j in view.graph.edges)
    steps = (_LEAST_TAU, *view.staircase.thresholds.tolist())
    counts = tuple(float(c) for c in view.staircase.counts)
    hull = max(14.0, 36.0 * shrink(len(view.names)))
    return (
        Components("tau_group", "nodes", edges, hull=hull),
        Ride("tau_group", "here", steps, counts, steps=True),
    )


def _uid(i: int, j: int) -> str:
    return f"e{i}_{j}"


def _graph_traces(view: Dependence, tau: float, groups: Sequence[Sequence[int]], picked: Sequence[int]) -> list[Mark]:
    group_of = {i: members for members in groups for i in members}
    points = view.graph.points
    thin = shrink(len(view.names))
    lines = []
    for i, j in view.graph.edges:
        weight = float(view.nmi[i, j])
        line: Mark = {"width": thin * (1 + 7 * min(1.0, max(0.0, weight) / 0.5) ** 0.8)}
        line["color"] = group_colour(group_of[i]) if weight > tau else "@neutral"
        ends = points[[i, j]]
        lines.append(_line(_uid(i, j), ends, line=line))
    middles = np.array([(points[i] + points[j]) / 2 for i, j in view.graph.edges]).reshape(-1, 2)
    middle = {
        "type": "scatter",
        "mode": "markers",
        "x": middles[:, 0],
        "y": middles[:, 1],
        "marker": {"size": 14, "opacity": 0},
        "customdata": [list(edge) for edge in view.graph.edges],
        "text": [_describe_pair(view, edge) for edge in view.graph.edges],
        "hovertemplate": "%{text}<br>click for the joint counts<extra></extra>",
    }
    return [*lines, middle, _nodes(view, group_of), *([_rings(view, picked)] if picked else [])]


def _line(uid: str, ends: NDArray[np.float64], *, line: Mark) -> Mark:
    return {
        "type": "scatter",
        "mode": "lines",
        "uid": uid,
        "x": ends[:, 0],
        "y": ends[:, 1],
        "line": line,
        "hoverinfo": "skip",
    }


def _nodes(view: Dependence, group_of: dict[int, Sequence[int]]) -> Mark:
    alone = [len(group_of[i]) == 1 for i in range(len(view.names))]
    return {
        "type": "scatter",
        "mode": "markers",
        "uid": "nodes",
        "x": view.graph.points[:, 0],
        "y": view.graph.points[:, 1],
        "cliponaxis": False,
        "customdata": [[i] for i in range(len(view.names))],
        "marker": {
            "size": view.graph.sizes,
            "opacity": 1,
            "color": ["@bg" if a else group_colour(group_of[i]) for i, a in enumerate(alone)],
            "line": {"width": 2, "color": ["@neutral" if a else "@ring" for a in alone]},
        },
        "text": [f"{escape(n)}<br>{m} levels{_partner_text(view, i)}" for i, (n, m) in enumerate(_named(view))],
        "hovertemplate": "%{text}<extra></extra>",
    }


def _named(view: Dependence) -> list[tuple[str, int]]:
    return list(zip(view.names, view.levels, strict=True))


def strongest_partner(nmi: NDArray[np.float64], i: int) -> int | None:
    """Return the attribute that shares most with attribute `i`, None where there is no other."""
    others = np.where(np.arange(len(nmi)) == i, -np.inf, nmi[i])
    return int(np.argmax(others)) if len(nmi) > 1 else None


def _partner_text(view: Dependence, i: int) -> str:
    j = strongest_partner(view.nmi, i)
    return "" if j is None else f"<br>shares most with {escape(view.names[j])}, {view.measure} {view.nmi[i, j]:.6f}"


def _describe_pair(view: Dependence, edge: tuple[int, int]) -> str:
    i, j = edge
    names = f"{escape(view.names[i])} – {escape(view.names[j])}<br>{view.measure} {view.nmi[i, j]:.6f}"
    return names if view.floor is None else f"{names}<br>noise floor {view.floor.per_pair[i, j]:.6f}"


def _rings(view: Dependence, picked: Sequence[int]) -> Mark:
    chosen = list(picked)
    return {
        "type": "scatter",
        "mode": "markers",
        "x": view.graph.points[chosen, 0],
        "y": view.graph.points[chosen, 1],
        "cliponaxis": False,
        "marker": {
            "symbol": "circle-open",
            "size": view.graph.sizes[chosen] + 8,
            "opacity": 1,
            "color": "@text",
            "line": {"width": 2.5, "color": "@text"},
        },
        "hoverinfo": "skip",
    }


def _names(view: Dependence) -> list[Mark]:
    spots = view.graph.places.items()
    short = short_names(view.names, NAME_LENGTH)
    points = view.graph.points
    return [label(escape(short[i]), float(points[i, 0]), float(points[i, 1]), spot) for i, spot in spots]


def _stair_traces(view: Dependence, at: float, count: int, ends: tuple[float, float]) -> list[Mark]:
    axes = {"type": "scatter", "xaxis": "x2", "yaxis": "y2"}
    thresholds, counts = view.staircase.thresholds, view.staircase.counts
    inside = (thresholds > ends[0]) & (thresholds < ends[1])
    first = int((thresholds <= ends[0]).sum())
    stairs = {
        **axes,
        "mode": "lines",
        "x": np.concatenate([[ends[0]], thresholds[inside], [ends[1]]]),
        "y": np.concatenate([counts[first : first + 1], counts[1:][inside], counts[1:][inside][-1:]])
        if inside.any()
        else np.repeat(counts[first], 2),
        "line": {"shape": "hv", "width": 2.5, "color": "@text"},
        "hovertemplate": "threshold %{x:.6f}<br>%{y} groups<extra></extra>",
    }
    here = {
        **axes,
        "mode": "markers",
        "uid": "here",
        "x": [at],
        "y": [count],
        "marker": {"size": 12, "opacity": 1, "color": "@text", "line": {"width": 2, "color": "@bg"}},
        "hoverinfo": "skip",
    }
    return [stairs, _rug(view, axes, ends), here]


def _rug(view: Dependence, axes: Mark, ends: tuple[float, float]) -> Mark:
    """Return a tick for every link drawn; those at which a group falls apart are taller and dark."""
    tree = set(view.staircase.edges)
    shown = [edge for edge in view.graph.edges if ends[0] < view.nmi[edge] < ends[1]]
    return {
        **axes,
        "mode": "markers",
        "x": [float(view.nmi[edge]) for edge in shown],
        "y": [0.028 * len(view.names)] * len(shown),
        "customdata": [list(edge) for edge in shown],
        "marker": {
            "symbol": "line-ns",
            "size": [12 if edge in tree else 6 for edge in shown],
            "opacity": 1,
            "line": {"width": 1.4, "color": ["@text" if edge in tree else "@neutral" for edge in shown]},
        },
        "text": [_describe_pair(view, edge) for edge in shown],
        "hovertemplate": "%{text}<extra></extra>",
    }


def explain_pair(view: Dependence, pair: Sequence[int]) -> str:
    """Return the dependence of a clicked pair in one line, as plain text."""
    if len(pair) != 2:
        return view.names[pair[0]]
    value = float(view.nmi[pair[0], pair[1]])
    words = f"{view.names[pair[0]]} – {view.names[pair[1]]}: {view.measure} {sig(value)}"
    floor = 0.0 if view.floor is None else float(view.floor.per_pair[pair[0], pair[1]])
    if floor <= 0:
        return words
    return (
        f"{words}, {sig(value / floor, 2)} times its noise floor"
        if value > floor
        else f"{words}, below its noise floor"
    )
