"""Sweeps of the thresholds, reduced domains against full-record OPT, and the budget that a target error needs."""

import math
from typing import Any, Final

import numpy as np
import pandas as pd

from core.evaluation.paper_tables import REDUCED
from core.evaluation.planner import Plan
from core.evaluation.reduced import summarise_reduced
from core.plots.evaluation_looks import band, line, look_of
from core.plots.palette import TUNED
from core.plots.template import Mark, Picture, axis, escape, heading, note, panel, percent, sig
from core.plots.template import layout as sheet

HEIGHT: Final = 460
_LEFT: Final = 50
_COLUMNS: Final = ((0.0, 0.47), (0.53, 1.0))
_UPPER: Final = (0.47, 1.0)
_LOWER: Final = (0.0, 0.30)
_TITLES: Final = {"groups": "Number of groups", "run_time": "Run time from scratch (seconds)"}
_AXES: Final = {"tau_group": "grouping threshold (tau_group)", "tau_dpn": "score threshold (tau_dpn)"}
_SHOWN: Final = ("group OPT", "DepHDP-m", "DepHDP-r")
_JITTER: Final = 0.16
_NEAR: Final = 0.0125
"""Thresholds that are called the same."""


def plot_sweeps(frame: pd.DataFrame, x: str, *, epsilon: float, own: float, unit: str) -> Picture:
    """Draw the loss of both scores against a threshold, and under it the number of groups or the run time.

    Parameters
    ----------
    frame : DataFrame
        Rows of `core.evaluation.sweeps`, as many as are known.
    x : {'tau_group', 'tau_dpn'}
        What was moved.
    epsilon : float
        Which of the swept budgets is drawn.
    own : float
        The scenario's own threshold.
    unit : str
        Unit of the loss.
    """
    rows = frame[frame["epsilon"] == epsilon]
    parts = [(None, rows)] if x == "tau_group" else list(rows.groupby("tau_dim"))
    below = "groups" if x == "tau_group" else "run_time"
    losses = rows["loss"] + 1.96 * rows["sd"]
    tops = (1.05 * float(np.nanmax(losses)) if losses.notna().any() else 1.0, 1.1 * _highest(rows[below]))
    traces: list[Mark] = []
    axes: dict[str, Any] = {}
    notes: list[Mark] = []
    for i, (size, part) in enumerate(parts):
        upper, lower = 2 * i + 1, 2 * i + 2
        across = [0.0, 1.0] if len(parts) == 1 else list(_COLUMNS[i])
        traces += _lines(part, x, "loss", upper) + _lines(part, x, below, lower)
        for number, domain, top, title in ((upper, _UPPER, tops[0], None), (lower, _LOWER, tops[1], _AXES[x])):
            mark = _mark(number)
            axes[f"xaxis{mark}"] = axis(title, domain=across, anchor=f"y{mark}", range=[-0.02, 1.02], dtick=0.2)
            axes[f"yaxis{mark}"] = axis(domain=list(domain), anchor=f"x{mark}", range=[0, top], nticks=5)
        words = "" if size is None else f", largest domain {int(float(str(size)))}"
        notes += [
            panel(f"Loss ({escape(unit)}), epsilon {epsilon:g}{words}", *_axes(upper)),
            panel(_TITLES[below], *_axes(lower)),
        ]
    shapes = [_rule(_mark(number), own) for number in range(1, 2 * len(parts) + 1)]
    return Picture(
        traces, sheet(left=_LEFT, right=14, annotations=notes, shapes=shapes, **axes), HEIGHT, f"sweep_{x}",
        explain_sweep(frame, x, epsilon=epsilon, own=own).replace("**", ""), table=frame,
    )  # fmt: skip


def _highest(values: pd.Series) -> float:
    found = values.max()
    return 1.0 if math.isnan(found) or found <= 0 else float(found)


def _mark(number: int) -> str:
    return "" if number == 1 else str(number)


def _axes(number: int) -> tuple[str, str]:
    return f"x{_mark(number)}", f"y{_mark(number)}"


def _lines(part: pd.DataFrame, x: str, y: str, number: int) -> list[Mark]:
    drawn: list[Mark] = []
    across, up = _axes(number)
    at = {"xaxis": across, "yaxis": up}
    for i, (name, rows) in enumerate(part.groupby("method", sort=False)):
        rows = rows[rows[y].notna()].sort_values(x)  # noqa: PLW2901 - what is left out has no loss
        if rows.empty:
            continue
        look = look_of(str(name), i)
        if y == "loss" and len(rows) > 1:
            drawn.append(band(rows[x].tolist(), rows[y].tolist(), (1.96 * rows["sd"]).tolist(), look[0], **at))
        drawn.append(line(str(name), rows[x].tolist(), rows[y].tolist(), look, uid=f"{y} {name} {number}", **at))
    return drawn


def _rule(mark: str, value: float) -> Mark:
    return {
        "type": "line", "layer": "below", "xref": f"x{mark}", "yref": f"y{mark} domain", "x0": value, "x1": value,
        "y0": 0, "y1": 1, "line": {"color": "@line", "width": 2},
    }  # fmt: skip


def explain_sweep(frame: pd.DataFrame, x: str, *, epsilon: float, own: float) -> str:
    """Return where the loss is least, and how the scenario's own threshold stands to it."""
    rows = frame[(frame["epsilon"] == epsilon) & frame["loss"].notna()]
    if rows.empty:
        return "No threshold was measured at this budget."
    best = rows.iloc[int(rows["loss"].to_numpy().argmin())]
    word = "tau_group" if x == "tau_group" else f"largest domain {int(best.get('tau_dim', 0))} and tau_dpn"
    said = (
        f"At epsilon {epsilon:g} the least loss, **{sig(best['loss'])}**, is that of {best['method']} at {word} "
        f"**{best[x]:g}**"
    )
    same = rows[rows["method"] == best["method"]]
    near = same.iloc[int((same[x] - own).abs().to_numpy().argmin())]
    there = f"the scenario's own {own:g}" if abs(near[x] - own) < _NEAR else f"{near[x]:g}, nearest to its own {own:g},"
    if near["loss"] > best["loss"] * (1 + 1e-9):
        said += f"; {there} loses {percent(near['loss'] / best['loss'] - 1)} more"
    elif abs(near[x] - own) < _NEAR:
        said += ", as with the scenario's own threshold"
    if x == "tau_group":
        return f"{said}. The sweep makes {int(rows['groups'].min())} to {int(rows['groups'].max())} groups."
    left_out = int(frame["loss"].isna().sum())
    return f"{said}. Designs took {sig(rows['run_time'].min())} to {sig(rows['run_time'].max())} seconds" + (
        f"; {left_out} rows were left out as too slow." if left_out else "."
    )


# --- reduced domains -------------------------------------------------------------------------------------------------


def plot_reduced_study(frame: pd.DataFrame) -> Picture:
    """Draw how loss reduction and gap closure spread over configurations and budgets, one point per pair of them."""
    traces: list[Mark] = []
    axes: dict[str, Any] = {}
    notes = [heading("Loss reduction against all-DPN (%)", _LEFT), panel("Gap to full OPT closed (%)", "x2", "y2")]
    for number, column in enumerate(("loss_reduction", "gap_closure"), start=1):
        mark = _mark(number)
        shown = ("full OPT", *_SHOWN) if column == "loss_reduction" else _SHOWN
        for place, name in enumerate(shown):
            traces += _spread(frame[frame["method"] == name], str(name), column, place, number)
        axes[f"xaxis{mark}"] = axis(
            domain=list(_COLUMNS[number - 1]), anchor=f"y{mark}", range=[-0.5, len(shown) - 0.5], showgrid=False,
            tickvals=list(range(len(shown))), ticktext=list(shown),
        )  # fmt: skip
        axes[f"yaxis{mark}"] = axis(anchor=f"x{mark}", nticks=7)
    return Picture(
        traces, sheet(left=_LEFT, right=14, annotations=notes, **axes), HEIGHT, "reduced",
        explain_reduced(frame).replace("**", ""), table=frame,
    )  # fmt: skip


def _spread(part: pd.DataFrame, name: str, column: str, place: int, number: int) -> list[Mark]:
    values = part[column].dropna()
    if values.empty:
        return []
    colour, _, symbol = look_of(name, place)
    x, y = _axes(number)
    steps = (np.arange(len(values)) * 0.618) % 1.0 - 0.5
    points: Mark = {
        "type": "scatter", "mode": "markers", "xaxis": x, "yaxis": y, "uid": f"{column} {name}",
        "x": (place + 2 * _JITTER * steps).tolist(), "y": values.tolist(), "cliponaxis": False,
        "marker": {"symbol": symbol, "size": 7, "color": colour, "opacity": 0.7},
        "text": [f"{c}, epsilon {e:g}" for c, e in zip(part.loc[values.index, "configuration"],
                                                       part.loc[values.index, "epsilon"], strict=True)],
        "hovertemplate": f"{escape(name)}<br>%{{text}}<br>%{{y:.4g}} %<extra></extra>",
    }  # fmt: skip
    box: Mark = {
        "type": "box", "xaxis": x, "yaxis": y, "x": [place] * len(values), "y": values.tolist(), "width": 0.6,
        "boxpoints": False, "fillcolor": "rgba(0,0,0,0)", "line": {"color": "@text", "width": 1.25},
        "hoverinfo": "skip",
    }  # fmt: skip
    return [box, points]


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
                f"**{name}** saves {mean:.1f} % and closes **{median:.1f} %** (paper {theirs[0]:.1f}, {theirs[1]:.1f})"
            )
    return (
        f"{cases} reduced domains at {budgets} budgets, mean reduction and median closure of the gap to full OPT: "
        f"{'; '.join(words)}."
    )


# --- the planner -----------------------------------------------------------------------------------------------------


def plot_plan(plan: Plan, method: str, unit: str) -> Picture:
    """Draw the end-task error against the budget with the range of 95 % of the releases, and the target."""
    frame, colour = plan.frame, look_of(method, 0)[0]
    colour = TUNED if colour.startswith("@") else colour
    x = frame["epsilon"].tolist()
    fill = band(x, ((frame["low"] + frame["high"]) / 2).tolist(), ((frame["high"] - frame["low"]) / 2).tolist(), colour)
    top = 1.05 * max(float(frame["high"].max()), plan.target)
    low, high = x[0], x[-1]
    pad = 0.02 * (high - low) or 0.5
    target: Mark = {
        "type": "scatter", "mode": "lines", "uid": "target", "x": [low - pad, high + pad], "y": [plan.target] * 2,
        "line": {"color": "@text", "width": 1.5, "dash": "dash"}, "hoverinfo": "skip",
    }  # fmt: skip
    traces = [fill, line(method, x, frame["mean"].tolist(), look_of(method, 0), uid="mean"), target]
    if math.isfinite(plan.epsilon):
        traces.append(
            {
                "type": "scatter", "mode": "markers", "uid": "answer", "x": [plan.epsilon], "y": [plan.target],
                "marker": {"symbol": "circle-open", "size": 15, "color": "@text", "line": {"width": 2.5}},
                "hovertemplate": "epsilon %{x:.6g}<extra></extra>",
            }
        )  # fmt: skip
    notes = [
        heading(f"End-task error of {plan.sample_size:,} released records ({escape(unit)})", _LEFT),
        note("target", xref="paper", yref="y", x=1, y=plan.target, xanchor="right", yanchor="bottom"),
    ]
    return Picture(
        traces,
        sheet(
            left=_LEFT, right=14, annotations=notes,
            xaxis=axis("privacy budget (epsilon) per unit of distance", range=[low - pad, high + pad], nticks=12),
            yaxis=axis(range=[0, top], nticks=7),
        ),
        HEIGHT, "plan", explain_plan(plan).replace("**", ""), table=frame,
    )  # fmt: skip


def explain_plan(plan: Plan) -> str:
    """Return which budget the target needs, with its uncertainty."""
    if math.isinf(plan.epsilon):
        least = float(plan.frame["mean"].min())
        return (
            f"No budget up to {plan.frame['epsilon'].max():g} reaches an error of {sig(plan.target)} with "
            f"{plan.sample_size:,} records; the least is **{sig(least)}**. Allow more error or release more records."
        )
    low, high = plan.epsilon_interval
    end = sig(high) if math.isfinite(high) else f"above {plan.frame['epsilon'].max():g}"
    said = (
        f"An error of {sig(plan.target)} on average needs **epsilon {sig(plan.epsilon)}** [{sig(low)}, {end}] with "
        f"{plan.sample_size:,} records"
    )
    if math.isinf(plan.confident_epsilon):
        return f"{said}; in 95 % of the releases no simulated budget reaches it."
    return f"{said}; from **{plan.confident_epsilon:g}** on, 95 % of the releases stay below it."
