"""Sweeps of the thresholds, and the budget that a target error needs."""

import math
from typing import Any, Final

import pandas as pd

from core.evaluation.planner import Plan
from core.plots.evaluation_looks import band, brief_unit, line, look_of
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
_NEAR: Final = 0.0125
"""Thresholds that are called the same."""
_FAR: Final = 0.5
"""Losses above this share of the largest need no axis from 0: their differences are what a sweep shows."""
_PAD: Final = 0.12


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
    ends = (_loss_range(rows), (0.0, 1.1 * _highest(rows[below])))
    traces: list[Mark] = []
    axes: dict[str, Any] = {}
    notes: list[Mark] = []
    for i, (size, part) in enumerate(parts):
        upper, lower = 2 * i + 1, 2 * i + 2
        across = [0.0, 1.0] if len(parts) == 1 else list(_COLUMNS[i])
        traces += _lines(part, x, "loss", upper) + _lines(part, x, below, lower)
        for number, domain, span, title in ((upper, _UPPER, ends[0], None), (lower, _LOWER, ends[1], _AXES[x])):
            mark = _mark(number)
            axes[f"xaxis{mark}"] = axis(title, domain=across, anchor=f"y{mark}", range=[-0.02, 1.02], dtick=0.2)
            axes[f"yaxis{mark}"] = axis(domain=list(domain), anchor=f"x{mark}", range=list(span), nticks=5)
        words = f", epsilon {epsilon:g}" if size is None else f", tau_dim {int(float(str(size)))}"
        notes += [
            panel(f"Loss ({escape(brief_unit(unit))}){words}", *_axes(upper), xshift=-_LEFT if not i else -28),
            panel(_TITLES[below], *_axes(lower), xshift=-_LEFT if not i else -28),
            _own_note(own, *_axes(upper)),
            *_left_out(part, x, *_axes(upper)),
        ]
    shapes = [_rule(_mark(number), own) for number in range(1, 2 * len(parts) + 1)]
    return Picture(
        traces, sheet(left=_LEFT, right=14, annotations=notes, shapes=shapes, **axes), HEIGHT, f"sweep_{x}",
        explain_sweep(frame, x, epsilon=epsilon, own=own).replace("**", ""), table=frame,
    )  # fmt: skip


def _loss_range(rows: pd.DataFrame) -> tuple[float, float]:
    """Return the range of the losses with their bands; from 0 unless all of them lie far above it."""
    low, high = rows["loss"] - 1.96 * rows["sd"], rows["loss"] + 1.96 * rows["sd"]
    if not high.notna().any():
        return 0.0, 1.0
    least, most = max(float(low.min()), 0.0), float(high.max())
    if least <= _FAR * most:
        return 0.0, 1.05 * most or 1.0
    pad = _PAD * max(most - least, 0.05 * most)
    return least - pad, most + pad


def _own_note(own: float, x: str, y: str) -> Mark:
    """Name the quiet rule at the scenario's own threshold, on the side where there is room."""
    left = own > 0.5
    return note(
        f"the scenario's {own:.3g}", xref=x, yref=f"{y} domain", x=own, y=0, yanchor="bottom",
        xanchor="right" if left else "left", xshift=-5 if left else 5, yshift=3,
    )  # fmt: skip


def _left_out(part: pd.DataFrame, x: str, across: str, up: str) -> list[Mark]:
    """Mark the thresholds of which every design was left out as too slow."""
    gone = part.groupby(x)["loss"].apply(lambda losses: bool(losses.isna().all()))
    return [
        note("too<br>slow", xref=across, yref=f"{up} domain", x=float(str(tau)), y=1, yanchor="top", bgcolor="@bg")
        for tau, is_gone in gone.items() if is_gone
    ]  # fmt: skip


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
    at = {"xaxis": across, "yaxis": up, "cliponaxis": False}
    if y == "groups":  # the same for every method
        rows = part.drop_duplicates(x).sort_values(x)
        look = ("@text", "solid", "circle")
        return [line("groups", rows[x].tolist(), rows[y].tolist(), look, uid=f"groups {number}", **at)]
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
    left_out = int(frame["loss"].isna().sum())
    slow = f"; {left_out} rows were left out as too slow." if left_out else "."
    if x == "tau_group":
        fewest, most = int(rows["groups"].min()), int(rows["groups"].max())
        return f"{said}. The sweep makes {f'{fewest} to ' if fewest < most else ''}{most} groups{slow}"
    return f"{said}. Designs took {sig(rows['run_time'].min())} to {sig(rows['run_time'].max())} seconds{slow}"


def table_sweep(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of a sweep under plain names, by threshold, what was moved first."""
    names = {
        "tau_dim": "tau_dim", "tau_group": "tau_group", "tau_dpn": "tau_dpn", "epsilon": "epsilon", "method": "method",
        "loss": "loss", "sd": "sd between repeats", "predicted": "predicted loss", "lower_bound": "lower bound",
        "groups": "groups", "optimised": "groups optimised", "largest": "states of the largest",
        "run_time": "run time, s",
    }  # fmt: skip
    kept = [name for name in names if name in frame]
    order = [name for name in ("tau_dim", "tau_group", "tau_dpn", "epsilon", "method") if name in kept]
    return frame[kept].sort_values(order, kind="stable").rename(columns=names)


def table_plan(plan: Plan) -> pd.DataFrame:
    """Return what was simulated under plain names, with whether the target is met."""
    frame = plan.frame
    named = {
        "epsilon": "epsilon", "mean": "mean error", "mean_error": "± of the mean", "low": "2.5 % of releases below",
        "upper": "95 % of releases below", "high": "97.5 % of releases below",
    }  # fmt: skip
    table = frame[[name for name in named if name in frame]].rename(columns=named)
    return table.assign(**{"mean reaches the target": ["yes" if m <= plan.target else "no" for m in frame["mean"]]})


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
        heading(f"End-task error of {plan.sample_size:,} released records ({escape(brief_unit(unit))})", _LEFT),
        note(
            f"target {sig(plan.target)}",
            xref="paper",
            yref="y",
            x=1,
            y=plan.target,
            xanchor="right",
            yanchor="bottom",
            yshift=3,
            xshift=-4,
            font={"size": 12.5, "color": "@text"},
        ),
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
        return f"{said}; at no simulated budget do 95 % of the releases stay below it."
    later = plan.frame[plan.frame["epsilon"] > plan.confident_epsilon]
    above = later.loc[later["upper"] > plan.target, "epsilon"]
    if len(above):
        again = ", ".join(f"{epsilon:g}" for epsilon in above)
        return f"{said}; at **{plan.confident_epsilon:g}** 95 % of the releases stay below it, but not at {again}."
    return f"{said}; from **{plan.confident_epsilon:g}** on, 95 % of the releases stay below it."
