"""How the budget is spent: total loss with its handle, shares of epsilon, and the loss-budget curve of every group."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd

from core.allocation import GroupBudgets
from core.curves import LossCurve, monotone_cubic
from core.results import BudgetTrack, Design
from core.plots.interaction import Handle, Ride
from core.plots.palette import DPN, LOOKS, OPT, TUNED, UNIFORM
from core.plots.template import Mark, Picture, axis, bare, escape, heading, note, panel, percent, shorten, sig, small
from core.plots.template import layout as sheet

HEIGHT: Final = 540
SHOWN: Final = 8
"""Groups drawn; the rest are in the table."""
_LEFT: Final = 2
_SPLIT: Final = 0.34
"""Right end of the left column, as a share of the width."""
_GRID: Final = 0.42
"""Left end of the small multiples."""
_GAP: Final = (0.035, 0.1)
_LABEL: Final = 15
_NEUTRAL: Final = "@neutral"


@dataclass(frozen=True, eq=False)
class BudgetView:
    """What the budget picture draws.

    Parameters
    ----------
    names : tuple of str
        Short label per group.
    choices : tuple of str
        "OPT" or "DPN" per group.
    curves : tuple of LossCurve
        The chosen family's curve per group.
    beta : tuple of float
        Surrogate weight per group; curves are drawn as beta_k L_k, so that they add up.
    constants : tuple of float
        Zero-information loss per group, nan where unknown.
    budgets : GroupBudgets
        The allocation under the curves.
    track : BudgetTrack
        The same for every total.
    design : Design
        The certified design at the scenario's total.
    uniform_loss : float
        Predicted loss of the same mechanisms under the equal split, from their channels.
    unit : str
        Unit of the loss.
    """

    names: tuple[str, ...]
    choices: tuple[str, ...]
    curves: tuple[LossCurve, ...]
    beta: tuple[float, ...]
    constants: tuple[float, ...]
    budgets: GroupBudgets
    track: BudgetTrack
    design: Design
    uniform_loss: float
    unit: str

    @property
    def order(self) -> list[int]:
        """Groups by share of epsilon, largest first."""
        shares = self.design.allocation
        return sorted(range(len(self.names)), key=lambda k: (-shares[k], k))

    @property
    def equal(self) -> float:
        """Budget of every group under the equal split, epsilon / K^(1/q)."""
        q = self.budgets.allocation.q
        return float(self.design.scenario.epsilon / len(self.names) ** (0.0 if math.isinf(q) else 1.0 / q))


def plot_budget(view: BudgetView, *, own_scales: bool = False) -> Picture:
    """Draw total loss against total epsilon with its handle, the shares, and the loss-budget curves.

    Parameters
    ----------
    view : BudgetView
        What is drawn.
    own_scales : bool
        Give every small multiple its own loss axis.
    """
    shown = view.order[:SHOWN]
    total, shares, many = _total(view), _shares(view, shown), _multiples(view, shown, own_scales=own_scales)
    high = float(view.track.totals[-1])
    epsilon = view.design.scenario.epsilon
    return Picture(
        traces=[*total[0], *shares[0], *many[0]],
        layout=sheet(
            left=_LEFT,
            right=8,
            top=34,
            bottom=50,
            annotations=[*total[2], *shares[2], *many[2]],
            **total[1],
            **shares[1],
            **many[1],
        ),
        height=HEIGHT,
        name="budget",
        alt=f"Predicted loss {sig(view.design.predicted_loss)} at a total epsilon of {sig(epsilon)}; "
        f"{view.names[shown[0]]} receives most.",
        handles=(
            Handle(
                "epsilon", min(epsilon, high), 0.25, high, 0.25, "Total privacy budget", axis="xaxis20",
                across="yaxis20",
            ),
        ),
        previews=_rides(view, shown),
        table=table_budget(view),
    )  # fmt: skip


def _rides(view: BudgetView, shown: Sequence[int]) -> tuple[Ride, ...]:
    """Let every chosen point follow the handle: on the total, at the end of each share, on each curve."""
    at = tuple(float(t) for t in view.track.totals)
    rides = [Ride("epsilon", "total", at, tuple(view.track.losses.tolist()))]
    for row, k in enumerate(shown):
        shares = tuple(view.track.epsilons[:, k].tolist())
        losses = tuple(view.beta[k] * view.curves[k].loss_at(e) for e in shares)
        rides.append(Ride("epsilon", f"share{k}", at, (float(row),) * len(at), shares))
        rides.append(Ride("epsilon", f"point{k}", at, losses, shares))
    return tuple(rides)


Part = tuple[list[Mark], dict[str, Mark], list[Mark]]
"""Traces, axes and annotations of one part of the picture."""


def _total(view: BudgetView) -> Part:
    track, zero, here = view.track, view.design.zero_information, view.design.scenario.epsilon
    x = track.totals.tolist()
    at: Mark = {"type": "scatter", "mode": "lines", "xaxis": "x20", "yaxis": "y20"}
    tuned, equal = LOOKS["tuned"], LOOKS["uniform"]
    traces: list[Mark] = [
        at | {"x": x, "y": track.bounds.tolist(), "line": {"width": 1, "dash": "dot", "color": _NEUTRAL},
              "hovertemplate": "lower bound %{y:.6g}<extra></extra>"},
        at | {"x": x, "y": track.losses.tolist(), "fill": "tonexty", "fillcolor": "@fill",
              "line": {"width": 0, "color": _NEUTRAL}, "hoverinfo": "skip"},
        at | {"x": x, "y": track.uniform.tolist(), "line": {"width": 2.5, "dash": equal.dash, "color": UNIFORM},
              "hovertemplate": "uniform split<br>total epsilon %{x:.6g}<br>loss %{y:.6g}<extra></extra>"},
        at | {"x": x, "y": track.losses.tolist(), "line": {"width": tuned.width, "color": TUNED},
              "hovertemplate": "total epsilon %{x:.6g}<br>loss %{y:.6g}<extra></extra>"},
    ]  # fmt: skip
    notes = [heading(f"Total loss ({view.unit})", _LEFT)]
    top = max(float(track.uniform.max()), float(track.losses.max()))
    if not math.isnan(zero):
        top = max(top, zero)
        traces.append(at | {"x": [0, x[-1]], "y": [zero, zero], "hoverinfo": "skip", "line": _zero_line()})
        below = zero > 0.8 * top
        notes.append(
            note("zero information", xref="x20", yref="y20", x=0, y=zero, xanchor="left",
                 yanchor="top" if below else "bottom", yshift=-2 if below else 1)
        )  # fmt: skip
    traces.append(
        at | {"mode": "markers", "uid": "total", "x": [here], "y": [float(np.interp(here, track.totals, track.losses))],
              "marker": {"size": 12, "symbol": "square", "color": TUNED, "line": {"width": 2, "color": "@bg"}},
              "hoverinfo": "skip", "cliponaxis": False}
    )  # fmt: skip
    axes = {
        "xaxis20": axis("total epsilon", domain=[0.035, _SPLIT], anchor="y20", range=[0, x[-1]], nticks=6),
        "yaxis20": axis(domain=[0.66, 1], anchor="x20", range=[0, top * 1.1], nticks=5),
    }
    return traces, axes, notes


def _zero_line() -> Mark:
    look = LOOKS["zero information"]
    return {"width": look.width, "dash": look.dash, "color": look.colour}


def _shares(view: BudgetView, shown: Sequence[int]) -> Part:
    shares, equal = view.design.allocation, view.equal
    rows = list(range(len(shown)))
    colours = [OPT if view.choices[k] == "OPT" else DPN for k in shown]
    traces: list[Mark] = [
        {"type": "bar", "orientation": "h", "x": [shares[k] for k in shown], "y": rows, "width": 0.58,
         "marker": {"color": colours}, "customdata": list(shown),
         "text": [escape(view.names[k]) for k in shown], "textposition": "none",
         "hovertemplate": "%{text}<br>epsilon %{x:.6g}<extra></extra>"},
        {"type": "scatter", "mode": "lines", "x": [equal, equal], "y": [-0.6, len(shown) - 0.4],
         "line": {"color": UNIFORM, "width": 2.5, "dash": LOOKS["uniform"].dash},
         "hovertemplate": f"uniform split {sig(equal)}<extra></extra>"},
    ]  # fmt: skip
    for row, k in enumerate(shown):
        look = LOOKS[view.choices[k]]
        traces.append(
            {"type": "scatter", "mode": "markers", "uid": f"share{k}", "x": [shares[k]], "y": [row],
             "marker": {"size": 9, "symbol": look.symbol, "color": look.colour, "line": {"width": 1.5, "color": "@bg"}},
             "hoverinfo": "skip", "cliponaxis": False}
        )  # fmt: skip
    notes = [panel("Share of epsilon", xref="paper", yref="paper", xshift=-_LEFT) | {"y": 0.445}]
    font = {"size": 12.5, "color": "@text"}
    for row, k in enumerate(shown):
        name = escape(shorten(view.names[k], _LABEL))
        notes.append(note(name, xref="paper", yref="y", x=0, y=row, xanchor="left", xshift=-_LEFT, font=font))
        notes.append(note(sig(shares[k]), xref="paper", yref="y", x=_SPLIT, y=row, xanchor="right", font=font))
    right = max(max(shares) * 1.06, equal * 1.2)
    axes = {
        "xaxis": axis("epsilon given to the group", domain=[0.135, _SPLIT - 0.055], anchor="y", range=[0, right],
                      nticks=4),
        "yaxis": bare(domain=[0, 0.445], anchor="x", range=[len(shown) - 0.4, -0.6]),
    }  # fmt: skip
    return traces, axes, notes


def _multiples(view: BudgetView, shown: Sequence[int], *, own_scales: bool) -> Part:
    columns = 3 if len(shown) > 2 else max(len(shown), 1)
    rows = math.ceil(len(shown) / columns)
    width = (1 - _GRID - _GAP[0] * (columns - 1)) / columns
    height = (0.955 - _GAP[1] * (rows - 1)) / rows
    tops = [_top(view, k) for k in shown]
    traces: list[Mark] = []
    axes: dict[str, Mark] = {}
    notes = [
        panel(f"Loss of each group ({view.unit}) against its epsilon", xref="paper", yref="paper", xshift=-20)
        | {"x": _GRID}
    ]
    for cell, k in enumerate(shown):
        row, column = divmod(cell, columns)
        left, upper = _GRID + column * (width + _GAP[0]), 0.955 - row * (height + _GAP[1])
        number = cell + 2
        traces += _curve(view, k, number)
        last = cell + columns >= len(shown)
        right = float(view.curves[k].epsilons[-1])
        axes[f"xaxis{number}"] = axis(
            "epsilon" if last else None, domain=[left, left + width], anchor=f"y{number}", range=[0, right], nticks=4,
            showticklabels=last,
        )  # fmt: skip
        top = tops[cell] if own_scales else max(tops)
        axes[f"yaxis{number}"] = axis(
            domain=[upper - height, upper], anchor=f"x{number}", range=[0, top], nticks=4,
            showticklabels=own_scales or column == 0,
        )  # fmt: skip
        notes.append(small(escape(shorten(view.names[k], 22)), f"x{number}", f"y{number}"))
    return traces, axes, notes


def _top(view: BudgetView, k: int) -> float:
    constant = view.constants[k]
    highest = max(float(view.curves[k].upper[0]), 0.0 if math.isnan(constant) else constant)
    return max(1.12 * view.beta[k] * highest, 1e-9)


def _curve(view: BudgetView, k: int, number: int) -> list[Mark]:
    """Draw one loss-budget curve: envelopes, certified band, the curve, zero information, the chosen point."""
    curve, weight, look = view.curves[k], view.beta[k], LOOKS[view.choices[k]]
    at: Mark = {"type": "scatter", "mode": "lines", "xaxis": f"x{number}", "yaxis": f"y{number}", "hoverinfo": "skip"}
    edge: Mark = {"width": 1, "dash": "dot", "color": _NEUTRAL}
    upper, lower = curve.upper_envelope, curve.lower_envelope
    x = np.linspace(0, float(curve.epsilons[-1]), 81)
    traces: list[Mark] = [
        at | {"x": upper.knots.tolist(), "y": (weight * upper.values).tolist(), "line": edge},
        at | {"x": lower.knots.tolist(), "y": (weight * lower.values).tolist(), "line": edge, "fill": "tonexty",
              "fillcolor": "@fill"},
    ]  # fmt: skip
    constant = view.constants[k]
    if not math.isnan(constant):
        traces.append(at | {"x": [0, float(x[-1])], "y": [weight * constant] * 2, "line": _zero_line()})
    drawn = np.clip(monotone_cubic(curve.epsilons, curve.upper, curve.derivative)(x), 0, None)
    traces.append(
        at | {"x": x.tolist(), "y": (weight * drawn).tolist(), "line": {"width": look.width, "color": look.colour},
              "hoverinfo": "all", "hovertemplate": "epsilon %{x:.6g}<br>loss %{y:.6g}<extra></extra>"}
    )  # fmt: skip
    share, loss = view.design.allocation[k], weight * view.design.losses[k]
    traces.append(
        at | {"mode": "markers", "uid": f"point{k}", "x": [share], "y": [loss], "cliponaxis": False,
              "marker": {"size": 12 if look.symbol == "diamond" else 11, "symbol": look.symbol, "color": look.colour,
                         "line": {"width": 2, "color": "@bg"}},
              "hoverinfo": "all", "hovertemplate": "chosen: epsilon %{x:.6g}<br>loss %{y:.6g}<extra></extra>"}
    )  # fmt: skip
    return traces


def table_budget(view: BudgetView) -> pd.DataFrame:
    """Return the numbers behind the picture, one row per group, by share of epsilon."""
    design = view.design
    return pd.DataFrame(
        {
            "group": [" + ".join(design.groups[k]) for k in view.order],
            "mechanism": [design.mechanisms[k] for k in view.order],
            "epsilon": [design.allocation[k] for k in view.order],
            "certified epsilon": [design.channels[k].certified_epsilon for k in view.order],
            "uniform split": view.equal,
            "loss": [design.losses[k] for k in view.order],
            "weight (beta)": [design.beta[k] for k in view.order],
            "zero information": [view.constants[k] for k in view.order],
        }
    )


def explain_budget(view: BudgetView) -> str:
    """Return what the picture means, every number from the result."""
    design, first = view.design, view.order[0]
    saved = 1 - design.predicted_loss / view.uniform_loss if view.uniform_loss > 0 else 0.0
    compared = (
        f", **{percent(saved)}** below the uniform split ({sig(view.uniform_loss)})" if saved > 5e-4 else
        ", as low as the uniform split"
    )  # fmt: skip
    said = f"The predicted loss is **{sig(design.predicted_loss)}**{compared}; "
    said += f"**{view.names[first]}** receives the most, {sig(design.allocation[first])}."
    if design.predicted_loss > design.zero_information * (1 + 1e-9):
        worse = sum(loss > constant * (1 + 1e-9) for loss, constant in zip(design.losses, view.constants, strict=True))
        groups = "1 group does" if worse == 1 else f"{worse} groups do"
        said += f" That is **above zero information ({sig(design.zero_information)})**: {groups} worse than a constant."
    return said
