"""Methods against budgets: losses of test records with bands between repeats, zero information, bounds, the paper's."""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd

from core.evaluation.methods import ZERO_INFORMATION, find_method
from core.evaluation.paper_tables import LABEL
from core.plots.evaluation_looks import band, brief_unit, line, look_of, name_at_end, spread
from core.plots.template import Mark, Picture, axis, escape, heading, note, sig
from core.plots.template import layout as sheet

HEIGHT: Final = 460
_LEFT: Final = 50
_RIGHT: Final = 142
_TOP: Final = 34
_BOTTOM: Final = 48
_Z: Final = 1.96
MEASURES: Final = {"loss": "Loss", "end_task": "End task"}
_DEVIATION: Final = {"loss": "sd", "end_task": "end_task_sd"}


@dataclass(frozen=True, eq=False)
class EvaluationView:
    """What is shown of an evaluation.

    Parameters
    ----------
    frame : DataFrame
        Rows of `core.evaluation.rows.to_frame`, as many as are known.
    unit, end_unit : str
        Units of the record loss and of the end-task error.
    epsilon : float
        The scenario's own budget.
    repeats : int
        Releases of every test record.
    measure : {'loss', 'end_task'}
        What is drawn.
    bounds : bool
        Whether every method's lower bound is drawn.
    paper : DataFrame or None
        The paper's own table, drawn where it is given.
    """

    frame: pd.DataFrame
    unit: str
    end_unit: str
    epsilon: float
    repeats: int
    measure: str = "loss"
    bounds: bool = False
    paper: pd.DataFrame | None = None

    @property
    def methods(self) -> list[str]:
        """Methods in the order of the rows."""
        return list(dict.fromkeys(self.frame["method"]))

    @property
    def at(self) -> float:
        """The compared budget that is nearest to the scenario's own."""
        budgets = np.array(sorted(set(self.frame["epsilon"])))
        return float(budgets[np.argmin(np.abs(np.log(budgets / self.epsilon)))])

    @property
    def title(self) -> str:
        """What the picture shows, with its unit."""
        if self.measure == "loss":
            return f"Mean loss of test records ({self.unit})"
        return f"End-task error ({brief_unit(self.end_unit)})"


def plot_evaluation(view: EvaluationView) -> Picture:
    """Draw one line per method over the budgets, with 1.96 standard deviations between repeats as a band."""
    bands, lines, ends = _drawn(view)
    tops = [max(mark["y"]) for mark in (*bands, *lines)]
    if view.paper is not None and view.measure == "loss":
        lines += _paper(view)
        tops.append(float(view.paper["loss"].max()))
    top = 1.04 * max(tops, default=0.0) or 1.0
    low, high = float(view.frame["epsilon"].min()), float(view.frame["epsilon"].max())
    pad = 0.02 * (high - low) or 0.5
    plot_height = HEIGHT - _TOP - _BOTTOM
    shifts = spread([y for _, y, _ in ends], plot_height / top)
    notes = [heading(escape(view.title), _LEFT)]
    for (name, y, look), shift in zip(ends, shifts, strict=True):
        words = f"{name} (surrogate)" if find_method(name).measure == "bound" else name
        notes.append(name_at_end(name, y, shift, look, words=words))
    if low <= view.epsilon <= high:
        notes.append(_own_note(view, (low + high) / 2))
    if view.paper is not None and view.measure == "loss":
        notes.append(note(f"hollow: {LABEL}", xref="paper", yref="paper", x=1, y=1, xanchor="right", yanchor="bottom",
                          yshift=9))  # fmt: skip
    return Picture(
        traces=[*bands, *lines],
        layout=sheet(
            left=_LEFT, right=_RIGHT, top=_TOP, bottom=_BOTTOM, annotations=notes,
            xaxis=axis("privacy budget (epsilon) per unit of distance", range=[low - pad, high + pad], nticks=12),
            yaxis=axis(range=[0, top], nticks=7),
            shapes=[_own_budget(view, low, high)],
        ),
        height=HEIGHT,
        name="evaluation",
        alt=_alt(view),
        table=view.frame,
    )  # fmt: skip


def _drawn(view: EvaluationView) -> tuple[list[Mark], list[Mark], list[tuple[str, float, tuple[str, str, str]]]]:
    """Return bands, lines, and per line its name, the value at its end and its look."""
    bands: list[Mark] = []
    lines: list[Mark] = []
    ends = []
    for i, name in enumerate(view.methods):
        part = view.frame[view.frame["method"] == name].sort_values("epsilon")
        part = part[part[view.measure].notna()]
        if part.empty:
            continue
        look, x, y = look_of(name, i), part["epsilon"].tolist(), part[view.measure].tolist()
        half = (_Z * part[_DEVIATION[view.measure]]).tolist()
        if any(h > 0 for h in half) and len(x) > 1:
            bands.append(band(x, y, half, look[0], uid=f"band {name}"))
        lines.append(line(name, x, y, look, uid=f"line {name}", customdata=half, hovertemplate=_hover(name, half)))
        if view.bounds and view.measure == "loss" and find_method(name).measure == "channels":
            lines.append(_bound(name, part, look[0]))
        ends.append((name, y[-1], look))
    return bands, lines, ends


def _own_budget(view: EvaluationView, low: float, high: float) -> Mark:
    """Return a quiet rule at the scenario's own budget."""
    return {
        "type": "line", "layer": "below", "xref": "x", "yref": "paper", "x0": view.epsilon, "x1": view.epsilon,
        "y0": 0, "y1": 1, "line": {"color": "@line", "width": 2}, "visible": low <= view.epsilon <= high,
    }  # fmt: skip


def _own_note(view: EvaluationView, middle: float) -> Mark:
    """Name that rule, on the side where there is more room."""
    left = view.epsilon > middle
    return note(
        f"the scenario's {view.epsilon:g}", xref="x", yref="paper", x=view.epsilon, y=0, yanchor="bottom",
        xanchor="right" if left else "left", xshift=-5 if left else 5, yshift=3,
    )  # fmt: skip


def _hover(name: str, half: list[float]) -> str:
    spread_words = " ± %{customdata:.3g}" if any(h > 0 for h in half) else ""
    return f"{escape(name)}<br>epsilon %{{x:g}}<br>%{{y:.6g}}{spread_words}<extra></extra>"


def _bound(name: str, part: pd.DataFrame, colour: str) -> Mark:
    return {
        "type": "scatter", "mode": "lines", "uid": f"bound {name}", "x": part["epsilon"].tolist(),
        "y": part["lower_bound"].tolist(), "line": {"color": colour, "dash": "dot", "width": 1.5},
        "hovertemplate": f"lower bound of {escape(name)}<br>epsilon %{{x:g}}<br>%{{y:.6g}}<extra></extra>",
    }  # fmt: skip


def _paper(view: EvaluationView) -> list[Mark]:
    """Return the paper's own losses as hollow markers in the colours of the methods that are shown."""
    assert view.paper is not None
    drawn: list[Mark] = []
    low, high = view.frame["epsilon"].min(), view.frame["epsilon"].max()
    inside = view.paper[view.paper["epsilon"].between(low, high)]
    for i, name in enumerate(view.methods):
        part = inside[inside["method"] == name]
        if part.empty:
            continue
        colour, _, symbol = look_of(name, i)
        hollow = symbol.removesuffix("-open") + "-open"
        drawn.append(
            {
                "type": "scatter", "mode": "markers+lines", "uid": f"paper {name}", "x": part["epsilon"].tolist(),
                "y": part["loss"].tolist(), "line": {"color": colour, "width": 0.75, "dash": "dot"},
                "marker": {"symbol": hollow, "size": 10, "color": colour, "line": {"width": 1.5, "color": colour}},
                "hovertemplate": f"{escape(name)}, paper<br>epsilon %{{x:g}}<br>%{{y:.4g}}<extra></extra>",
            }
        )  # fmt: skip
    return drawn


def _alt(view: EvaluationView) -> str:
    kept = view.frame[(view.frame["epsilon"] == view.at) & view.frame[view.measure].notna()]
    kept = kept[[find_method(name).measure != "bound" for name in kept["method"]]]
    if kept.empty:
        return f"{view.title} by method and epsilon."
    best = kept.sort_values(view.measure).iloc[0]
    return (
        f"{view.title} by method and epsilon; at epsilon {view.at:g} {best['method']} has the least, "
        f"{sig(best[view.measure])}."
    )


def table_evaluation(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with the columns that a person reads first, under plain names."""
    names = {
        "method": "method", "epsilon": "epsilon", "loss": "loss", "sd": "sd between repeats",
        "end_task": "end-task error", "end_task_sd": "sd of the error", "lower_bound": "lower bound",
        "relative_error": "relative error", "predicted": "predicted loss", "prior_shift": "prior shift",
        "surrogate_residual": "surrogate residual", "sampling_error": "sampling error",
        "certified_epsilon": "certified epsilon", "optimised": "groups optimised", "groups": "groups",
        "seconds": "seconds",
    }  # fmt: skip
    return frame[[c for c in names if c in frame]].rename(columns=names)


def zero_information(frame: pd.DataFrame) -> float:
    """Return the loss of releasing constants, nan where it was not measured."""
    rows = frame[frame["method"] == ZERO_INFORMATION]
    return float(rows["loss"].iloc[0]) if len(rows) else math.nan
