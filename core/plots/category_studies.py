"""Bounds of the template rules as heatmaps, random privacy lists against the paper's claims, exact coalitions."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd

from core.plots.categorical_tiers import CATEGORY_LOOKS
from core.plots.palette import CIVIDIS
from core.plots.template import Mark, Picture, axis, heading, note, panel, sig
from core.plots.template import layout as sheet
from core.plots.tier_looks import log_ticks
from core.tiers.experiments import CLAIMS, ListStudy
from core.tiers.laws import FloatArray

HEIGHT: Final = 340
STUDY_HEIGHT: Final = 320
_LEFT: Final = 40
_GAP: Final = 0.055


@dataclass(frozen=True, eq=False)
class BoundView:
    """What the heatmaps draw.

    Parameters
    ----------
    categories : tuple of int (D,)
        Rows.
    epsilons : ndarray (E,)
        Columns.
    first, improved : ndarray (D, E)
        Bounds of the two rules.
    reached_categories : tuple of int (R,)
        Rows of `reached`.
    steps : tuple of float (S,)
        Its columns: steps of grid lists.
    reached : ndarray (R, S) or None
        Largest ratio of the optimal chain on those lists, if computed.
    """

    categories: tuple[int, ...]
    epsilons: FloatArray
    first: FloatArray
    improved: FloatArray
    reached_categories: tuple[int, ...] = ()
    steps: tuple[float, ...] = ()
    reached: FloatArray | None = None


def plot_bounds(view: BoundView) -> Picture:
    """Draw both bounds, and what the optimal chain reaches, on one logarithmic colour scale."""
    count = 2 if view.reached is None else 3
    width = (1 - _GAP * (count - 1)) / count
    high = math.log10(float(view.first.max()))
    traces, notes = [], []
    axes: dict[str, Mark] = {}
    parts = [("templates 1", view.first), ("templates 2", view.improved)]
    for cell, (title, values) in enumerate(parts):
        number = "" if cell == 0 else str(cell + 1)
        left = cell * (width + _GAP)
        traces.append(_heat(values, view.epsilons.tolist(), list(view.categories), number, high, scale=cell == 0))
        axes[f"xaxis{number}"] = axis("privacy budget (epsilon)", domain=[left, left + width], anchor=f"y{number}",
                                      showgrid=False, nticks=6)  # fmt: skip
        axes[f"yaxis{number}"] = axis(domain=[0, 1], anchor=f"x{number}", showgrid=False, nticks=6,
                                      showticklabels=cell == 0)  # fmt: skip
        text = f"Categories d, {title}: ≤ {sig(float(values.max()))}"
        notes.append(heading(text, _LEFT) if cell == 0 else panel(text, f"x{number}", f"y{number}"))
    if view.reached is not None:
        _add_reached(view, (traces, axes, notes), (2 * (width + _GAP), 1.0), high)
    return Picture(
        traces=traces,
        layout=sheet(left=_LEFT, right=64, top=34, bottom=48, annotations=notes, **axes),
        height=HEIGHT,
        name="bounds",
        alt=f"Bounds on the error ratio: at most {sig(float(view.first.max()))} for the first rule and "
        f"{sig(float(view.improved.max()))} for the improved one.",
    )


def _heat(
    values: FloatArray, x: Sequence[object], y: Sequence[object], number: str, high: float, *, scale: bool
) -> Mark:
    ticks = log_ticks(1.0, 10**high)
    return {
        "type": "heatmap", "x": list(x), "y": list(y), "z": np.log10(values).astype(np.float32), "zmin": 0,
        "zmax": high, "colorscale": CIVIDIS, "customdata": values.astype(np.float32), "xaxis": f"x{number}",
        "yaxis": f"y{number}", "showscale": scale,
        "hovertemplate": "%{y} categories, epsilon %{x:.4g}<br>ratio %{customdata:.4g}<extra></extra>",
        "colorbar": {"title": {"text": "ratio", "font": {"size": 12, "color": "@muted"}}, "thickness": 12,
                     "outlinewidth": 0, "x": 1.005, "xpad": 6,
                     "tickvals": np.log10(ticks["tickvals"]).tolist(), "ticktext": ticks["ticktext"],
                     "tickfont": {"size": 12, "color": "@muted"}},
    }  # fmt: skip


def _add_reached(
    view: BoundView, drawn: tuple[list[Mark], dict[str, Mark], list[Mark]], domain: tuple[float, float], high: float
) -> None:
    traces, axes, notes = drawn
    assert view.reached is not None
    steps = [f"{step:g}" for step in view.steps]
    rows = [str(d) for d in view.reached_categories]
    heat = _heat(view.reached, steps, rows, "3", high, scale=False)
    heat |= {"text": [[sig(v) for v in row] for row in view.reached.tolist()], "texttemplate": "%{text}",
             "hovertemplate": "%{y} categories, grid step %{x}<br>ratio %{customdata:.4g}<extra></extra>"}  # fmt: skip
    traces.append(heat)
    axes["xaxis3"] = axis("step of a grid list of 20", domain=list(domain), anchor="y3", type="category",
                          showgrid=False)  # fmt: skip
    axes["yaxis3"] = axis(domain=[0, 1], anchor="x3", type="category", showgrid=False, tickfont={"size": 11,
                          "color": "@muted"})  # fmt: skip
    notes.append(panel(f"Categories d, optimal chain: ≤ {sig(float(view.reached.max()))}", "x3", "y3"))


def plot_study(study: ListStudy) -> Picture:
    """Draw mean and largest ratio of every method over random lists on a logarithmic axis, best first."""
    summary = study.summary()
    order = sorted(summary, key=lambda name: -summary[name][0])
    high = max(worst for _, worst, _ in summary.values())
    edge = 0.05 * max(math.log10(high), 0.1)
    x_range = [-edge, math.log10(high) + edge]
    traces: list[Mark] = []
    for row, name in enumerate(order):
        mean, worst, _ = summary[name]
        look = CATEGORY_LOOKS[name]
        at: Mark = {"type": "scatter", "y": [row, row], "cliponaxis": False}
        low = float(study.ratios[study.methods.index(name)].min())
        traces.append(at | {"mode": "lines", "x": [low, worst], "line": {"color": look.colour, "width": 2.5},
                            "hoverinfo": "skip"})  # fmt: skip
        traces.append(
            {"type": "scatter", "mode": "markers", "x": [mean, worst], "y": [row, row], "cliponaxis": False,
             "marker": {"size": [12, 8], "symbol": [look.symbol, "line-ns-open"], "color": look.colour,
                        "line": {"width": 2, "color": look.colour}},
             "text": ["mean", "largest"], "hovertemplate": f"{name}<br>%{{text}} %{{x:.5g}}<extra></extra>"}
        )  # fmt: skip
    axes = {
        "xaxis": axis("largest ratio of a list, log scale", type="log", range=x_range,
                      **log_ticks(10 ** x_range[0], 10 ** x_range[1])),
        "yaxis": axis(range=[-0.6, len(order) - 0.4], tickvals=list(range(len(order))), ticktext=order, showgrid=False,
                      tickfont={"size": 12.5, "color": "@text"}),
    }  # fmt: skip
    lists = study.ratios.shape[1]
    title = heading(f"Worst tier of {lists:,} random lists: mean (mark), smallest to largest (line)", 100)
    return Picture(
        traces=traces,
        layout=sheet(left=100, right=24, top=34, bottom=48, annotations=[title], **axes),
        height=STUDY_HEIGHT,
        name="random_lists",
        alt="; ".join(f"{name} {sig(summary[name][0])} on average" for name in reversed(order)),
    )


def table_study(study: ListStudy) -> pd.DataFrame:
    """Return one row per method with what the paper claims beside what was measured."""
    summary = study.summary()
    names = sorted(summary, key=lambda name: summary[name][0])
    return pd.DataFrame(
        {
            "method": names,
            "mean largest ratio": [summary[name][0] for name in names],
            "largest ratio": [summary[name][1] for name in names],
            "mean total over ideal": [summary[name][2] for name in names],
            "the paper says": [CLAIMS.get(name, "") for name in names],
        }
    )


def explain_study(study: ListStudy) -> str:
    """Return how the measured figures compare with the paper's claim, as a sentence."""
    summary = study.summary()
    mean, worst, _ = summary["templates 2"]
    ours, ours_worst, _ = summary["optimal chain"]
    held = "within" if worst <= 1.4 else "only on average within" if mean <= 1.4 else "above"
    return (
        f"The improved templates, as they are read here, reach **{sig(mean)}** on average and {sig(worst)} at most, "
        f"{held} the paper's 1.40; the optimal chain reaches **{sig(ours)}** and {sig(ours_worst)}."
    )


def table_coalitions(
    budgets: Sequence[float], coalitions: Sequence[Sequence[int]], found: dict[str, Sequence[float]]
) -> pd.DataFrame:
    """Return the exact epsilon of every coalition under every release.

    Parameters
    ----------
    budgets : sequence of float (m,)
        The tiers' budgets.
    coalitions : sequence of sequence of int
        Positions of the members.
    found : dict of str to sequence of float
        Exact epsilon of each coalition, by release.
    """
    return pd.DataFrame(
        {
            "coalition": [" + ".join(sig(budgets[i]) for i in members) for members in coalitions],
            "largest budget": [max(budgets[i] for i in members) for members in coalitions],
            **{f"exact epsilon, {name}": list(values) for name, values in found.items()},
        }
    )


def plot_coalitions(
    budgets: Sequence[float], coalitions: Sequence[Sequence[int]], found: dict[str, Sequence[float]]
) -> Picture:
    """Draw the exact epsilon of every coalition against its largest budget: above the diagonal is a breach."""
    allowed = [max(budgets[i] for i in members) for members in coalitions]
    names = [" + ".join(sig(budgets[i]) for i in members) for members in coalitions]
    places = range(len(names))
    looks = {"optimal chain": CATEGORY_LOOKS["optimal chain"], "gradual": CATEGORY_LOOKS["gradual"]}
    traces: list[Mark] = [
        {"type": "scatter", "mode": "lines", "x": [x for i in places for x in (i - 0.36, i + 0.36, None)],
         "y": [y for value in allowed for y in (value, value, None)], "hoverinfo": "skip",
         "line": {"color": "@neutral", "dash": "dot", "width": 2}},
    ]  # fmt: skip
    for step, (name, values) in enumerate(found.items()):
        look = looks.get(name, CATEGORY_LOOKS["GRR"])
        traces.append(
            {"type": "scatter", "mode": "markers", "x": [i + 0.1 * (step - 1) for i in places],
             "y": list(values), "cliponaxis": False,
             "marker": {"size": 11, "symbol": look.symbol, "color": look.colour,
                        "line": {"width": 2 if look.symbol.endswith("open") else 0, "color": look.colour}},
             "hovertemplate": f"{name}<br>exact epsilon %{{y:.6g}}<extra></extra>"}
        )  # fmt: skip
    top = max(max(values) for values in found.values())
    axes = {
        "xaxis": axis("coalition (budgets of its members)", range=[-0.5, len(names) - 0.5], tickvals=list(places),
                      ticktext=names, showgrid=False),
        "yaxis": axis(range=[0, 1.1 * top], nticks=6),
    }  # fmt: skip
    notes = [
        heading("Exact epsilon of every coalition; dotted: the largest budget among its members", _LEFT),
        note("○ independent   ▲ gradual   ■ chain", xref="paper", yref="paper", x=1, y=1, xanchor="right",
             yanchor="bottom", yshift=8),
    ]  # fmt: skip
    return Picture(
        traces=traces,
        layout=sheet(left=_LEFT, right=16, top=34, bottom=48, annotations=notes, **axes),
        height=STUDY_HEIGHT - 40,
        name="coalitions",
        alt=f"Exact epsilon of {len(names)} coalitions; independent release goes up to {sig(top)}.",
    )
