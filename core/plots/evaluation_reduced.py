"""Reduced domains against full-record OPT: how reduction and gap closure spread, cut where a few lie far beyond."""

from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from core.evaluation.paper_tables import REDUCED
from core.evaluation.reduced import METHODS, summarise_reduced
from core.plots.evaluation_looks import look_of
from core.plots.template import MINUS, Mark, Picture, axis, escape, heading, note, panel, percent
from core.plots.template import layout as sheet

HEIGHT: Final = 460
_LEFT: Final = 56
_COLUMNS: Final = ((0.0, 0.46), (0.55, 1.0))
_PANELS: Final = ("loss_reduction", "gap_closure")
_SHOWN: Final = ("full OPT", "group OPT", "DepHDP-m", "DepHDP-r")
_JITTER: Final = 0.16
_FENCE: Final = 2.0
"""Interquartile ranges beyond the box that are still drawn; what lies further away is counted at the edge."""
_LEAST: Final = 10.0
"""Percentage points that an axis spans beyond its boxes at least."""
_PAD: Final = 0.06

Floats = NDArray[np.float64]


def shown_range(groups: list[Floats]) -> tuple[float, float]:
    """Return the range of an axis that shows every box with its neighbourhood, and not the few far beyond.

    Each group reaches from its quartiles outwards by two interquartile ranges, at most to its ends; zero is shown.

    Parameters
    ----------
    groups : list of (n,) arrays
        Values of every box, none empty.

    Examples
    --------
    >>> low, high = shown_range([np.array([0.0, 10.0, 20.0, 30.0, -500.0])])
    >>> round(low), round(high)
    (-44, 34)
    """
    ends = []
    for values in groups:
        first, third = np.quantile(values, [0.25, 0.75])
        reach = max(_FENCE * (third - first), _LEAST)
        ends.append((max(values.min(), first - reach), min(values.max(), third + reach)))
    low, high = min([0.0, *(e[0] for e in ends)]), max([0.0, *(e[1] for e in ends)])
    pad = _PAD * max(high - low, 1.0)
    return low - pad, high + pad


def plot_reduced_study(frame: pd.DataFrame) -> Picture:
    """Draw how loss reduction and gap closure spread over configurations and budgets, one point per pair of them."""
    traces: list[Mark] = []
    axes: dict[str, Any] = {}
    shapes: list[Mark] = []
    notes = [heading("Loss reduction against all-DPN (%)", _LEFT)]
    notes.append(panel("Gap to full OPT closed (%)", "x2", "y2", xshift=-_LEFT + 12))
    for number, column in enumerate(_PANELS, start=1):
        mark = "" if number == 1 else str(number)
        parts = {name: frame[(frame["method"] == name) & frame[column].notna()] for name in _SHOWN[number - 1 :]}
        parts = {name: part for name, part in parts.items() if len(part)}
        ends = shown_range([part[column].to_numpy(float) for part in parts.values()]) if parts else (0.0, 100.0)
        for place, (name, part) in enumerate(parts.items()):
            traces += _spread(part, name, column, place, ends)
            notes += _beyond(part[column].to_numpy(float), place, ends, f"x{mark}", f"y{mark}")
        axes[f"xaxis{mark}"] = axis(
            domain=list(_COLUMNS[number - 1]), anchor=f"y{mark}", range=[-0.5, len(parts) - 0.5], showgrid=False,
            tickvals=list(range(len(parts))), ticktext=list(parts), tickfont={"size": 12.5, "color": "@text"},
        )  # fmt: skip
        axes[f"yaxis{mark}"] = axis(anchor=f"x{mark}", nticks=8, range=list(ends))
        shapes.append(
            {"type": "line", "layer": "below", "xref": f"x{mark} domain", "yref": f"y{mark}", "x0": 0, "x1": 1,
             "y0": 0, "y1": 0, "line": {"color": "@line", "width": 2}}
        )  # fmt: skip
    return Picture(
        traces, sheet(left=_LEFT, right=14, annotations=notes, shapes=shapes, **axes), HEIGHT, "reduced",
        explain_reduced(frame).replace("**", ""), table=frame,
    )  # fmt: skip


def _spread(part: pd.DataFrame, name: str, column: str, place: int, ends: tuple[float, float]) -> list[Mark]:
    """Return the box of one design and its points; those beyond the axis stand at its edge, with their own value."""
    values = part[column].to_numpy(float)
    colour, _, symbol = look_of(name, place)
    x, y = ("x", "y") if column == _PANELS[0] else ("x2", "y2")
    steps = (np.arange(len(values)) * 0.618) % 1.0 - 0.5
    under, over = values < ends[0], values > ends[1]
    edge = 0.012 * (ends[1] - ends[0])
    symbols = np.where(under, "triangle-down", np.where(over, "triangle-up", symbol))
    points: Mark = {
        "type": "scatter", "mode": "markers", "xaxis": x, "yaxis": y, "uid": f"{column} {name}",
        "x": (place + 2 * _JITTER * steps).tolist(),
        "y": np.where(under, ends[0] + edge, np.where(over, ends[1] - edge, values)).tolist(),
        "cliponaxis": False,
        "marker": {"symbol": symbols.tolist(), "size": 7, "color": colour, "opacity": 0.7},
        "text": [f"{escape(c)}, epsilon {e:g}" for c, e in zip(part["configuration"], part["epsilon"], strict=True)],
        "customdata": values.tolist(),
        "hovertemplate": f"{escape(name)}<br>%{{text}}<br>%{{customdata:.4g}} %<extra></extra>",
    }  # fmt: skip
    first, middle, third = np.quantile(values, [0.25, 0.5, 0.75])
    inside = values[~under & ~over]
    box: Mark = {
        "type": "box", "xaxis": x, "yaxis": y, "x": [place], "q1": [first], "median": [middle], "q3": [third],
        "lowerfence": [float(min(inside.min(initial=first), first))],
        "upperfence": [float(max(inside.max(initial=third), third))],
        "width": 0.6, "fillcolor": "rgba(0,0,0,0)", "line": {"color": "@text", "width": 1.25}, "hoverinfo": "skip",
    }  # fmt: skip
    return [box, points]


def _beyond(values: Floats, place: int, ends: tuple[float, float], x: str, y: str) -> list[Mark]:
    """Say at the edge of the axis how many points lie beyond it, and how far the furthest."""
    said = []
    for out, furthest, edge, anchor, shift, arrow in (
        (values < ends[0], values.min(), ends[0], "bottom", 9, "↓"),
        (values > ends[1], values.max(), ends[1], "top", -9, "↑"),
    ):
        if out.any():
            words = f"{int(out.sum())} {arrow} to {furthest:,.0f} %".replace("-", MINUS)
            said.append(note(words, xref=x, yref=y, x=place, y=edge, xanchor="center", yanchor=anchor, yshift=shift,
                             bgcolor="@bg", font={"size": 12, "color": "@text"}))  # fmt: skip
    return said


def explain_reduced(frame: pd.DataFrame) -> str:
    """Return what grouping and choosing keep of full-record OPT, beside the paper's own figures."""
    found = summarise_reduced(frame).set_index("method")
    cases, budgets = frame["configuration"].nunique(), frame["epsilon"].nunique()
    words = []
    for name in ("DepHDP-m", "DepHDP-r"):
        if name in found.index:
            mean = float(found["mean_loss_reduction"][name])
            median, theirs = float(found["median_gap_closure"][name]), REDUCED[name]
            words.append(
                f"**{name}** saves {percent(mean / 100)} and closes **{percent(median / 100)}** "
                f"(paper {theirs[0]:.1f}, {theirs[1]:.1f})"
            )
    return (
        f"{cases} reduced domains at {budgets} budgets, mean reduction and median closure of the gap to full OPT: "
        f"{'; '.join(words)}."
    )


_COLUMN_NAMES: Final = {
    "configuration": "configuration", "states": "states", "epsilon": "epsilon", "method": "method", "loss": "loss",
    "surrogate": "surrogate loss", "full_lower_bound": "lower bound of full OPT", "optimised": "groups optimised",
    "loss_reduction": "loss reduction, %", "gap_closure": "gap closed, %",
}  # fmt: skip


def table_reduced(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows under plain names."""
    return frame.rename(columns=_COLUMN_NAMES)


def table_summary(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the summary of every design under plain names, in the usual order."""
    found = summarise_reduced(frame)
    order = {name: i for i, name in enumerate(METHODS)}
    found = found.sort_values("method", key=lambda names: names.map(order))
    return found.rename(
        columns={
            "mean_loss": "mean loss", "mean_loss_reduction": "mean loss reduction, %",
            "median_gap_closure": "median gap closed, %",
        }
    )  # fmt: skip
