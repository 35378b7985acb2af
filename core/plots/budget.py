"""How the budget is spent: total loss with its handle, shares of epsilon, and the loss-budget curve of every group."""

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
import pandas as pd

from core.plots.budget_view import BudgetView, Floats, draw_loss
from core.plots.interaction import Handle, Ride
from core.plots.palette import DPN, LOOKS, OPT, TUNED, UNIFORM
from core.plots.template import Mark, Picture, axis, bare, escape, heading, note, panel, shorten, sig, small
from core.plots.template import layout as sheet

HEIGHT: Final = 540
SHOWN: Final = 8
"""Groups drawn; the rest are in the table."""
LOWEST: Final = 0.25
"""Smallest total that the handle takes."""
_LEFT: Final = 2
_SPLIT: Final = 0.34
"""Right end of the left column, as a share of the width."""
_BARS: Final = (0.135, _SPLIT - 0.055)
"""Where the bars stand, between their names and their budgets."""
_ROW_FONT: Final[Mark] = {"size": 12.5, "color": "@text"}
_GRID: Final = 0.42
"""Left end of the small multiples."""
_GAP: Final = (0.035, 0.1)
_LABEL: Final = 15
_ROWS: Final = 6
"""Rows for which the bars have room at least, so that two bars are not two blocks."""
_NEUTRAL: Final = "@neutral"
_SAME_TOTAL: Final = 1e-9
"""Difference up to which two totals are one."""

Part = tuple[list[Mark], dict[str, Mark], list[Mark]]
"""Traces, axes and annotations of one part of the picture."""


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
    total, shares = _total(view), _shares(view, shown)
    many, constants = _multiples(view, shown, own_scales=own_scales)
    high, epsilon = float(view.track.totals[-1]), view.design.scenario.epsilon
    handle = Handle("epsilon", min(epsilon, high), min(LOWEST, epsilon), high, 0.25, "Total privacy budget (epsilon)",
                    axis="xaxis20", across="yaxis20")  # fmt: skip
    return Picture(
        traces=[*total[0], *shares[0], *many[0]],
        layout=sheet(
            left=_LEFT,
            right=8,
            top=34,
            bottom=50,
            annotations=[*total[2], *shares[2], *many[2]],
            shapes=constants,
            **(total[1] | shares[1] | many[1]),
        ),
        height=HEIGHT,
        name="budget",
        alt=f"Predicted loss {sig(view.design.predicted_loss)} at a total epsilon of {sig(epsilon)}; "
        f"{view.names[view.most]} receives {sig(view.design.allocation[view.most])}.",
        handles=(handle,),
        previews=_rides(view, shown),
        table=table_budget(view),
    )


def _rides(view: BudgetView, shown: Sequence[int]) -> tuple[Ride, ...]:
    """Let every chosen point follow the handle: on the total, at the end of each share with its bar, on each curve."""
    design = view.design
    at = _with_present(view, view.track.totals, design.scenario.epsilon)
    rides = [Ride("epsilon", "total", at, _with_present(view, view.total, design.predicted_loss))]
    for row, k in enumerate(shown):
        fractions = _with_present(view, view.fractions[:, k], view.chosen[k])
        shares = _with_present(view, view.shares[:, k], design.allocation[k])
        losses = _with_present(view, view.drawn_losses[:, k], view.beta[k] * design.losses[k])
        rides.append(Ride("epsilon", "shares", at, (float(row),) * len(at), fractions, point=row, bar="bars"))
        rides.append(Ride("epsilon", f"point{k}", at, losses, shares, told=("budgets", row)))
    return tuple(rides)


def _with_present(view: BudgetView, values: Floats, now: float) -> tuple[float, ...]:
    """Return what rides through the track's totals, and through the design where it stands at its own total."""
    totals, epsilon = view.track.totals, view.design.scenario.epsilon
    other = np.abs(totals - epsilon) > _SAME_TOTAL
    place = int(np.searchsorted(totals[other], epsilon))
    return tuple(np.insert(values[other], place, now).tolist())


def _total(view: BudgetView) -> Part:
    track, zero = view.track, view.design.zero_information
    x, shown, uniform = track.totals.tolist(), view.total, view.total_uniform
    at: Mark = {"type": "scatter", "mode": "lines", "xaxis": "x20", "yaxis": "y20"}
    tuned, equal = LOOKS["tuned"], LOOKS["uniform"]
    lines = [uniform, shown]
    traces: list[Mark] = [
        at | {"x": x, "y": track.bounds.tolist(), "line": {"width": 1, "dash": "dot", "color": _NEUTRAL},
              "hovertemplate": "lower bound %{y:.6g}<extra></extra>"},
        # One outline, to and back: the browser moves it by itself.
        at | {"x": [*x, *x[::-1]], "y": [*track.bounds.tolist(), *shown[::-1].tolist()], "fill": "toself",
              "fillcolor": "@fill", "line": {"width": 0, "color": _NEUTRAL}, "hoverinfo": "skip"},
        at | {"x": x, "y": uniform.tolist(), "line": {"width": 2.5, "dash": equal.dash, "color": UNIFORM},
              "hovertemplate": "uniform split<br>total epsilon %{x:.6g}<br>loss %{y:.6g}<extra></extra>"},
        at | {"x": x, "y": shown.tolist(), "line": {"width": tuned.width, "color": TUNED},
              "hovertemplate": "total epsilon %{x:.6g}<br>loss %{y:.6g}<extra></extra>"},
    ]  # fmt: skip
    notes = [heading(f"Total loss ({view.unit})", _LEFT)]
    top = max(float(line.max()) for line in lines)
    if not math.isnan(zero):
        top = max(top, zero)
        traces.append(at | {"x": [0, x[-1]], "y": [zero, zero], "hoverinfo": "skip", "line": _zero_line()})
        notes.append(_name_zero(track.totals, [*lines, track.bounds], zero, 1.12 * top))
    traces.append(
        at | {"mode": "markers", "uid": "total", "x": [min(view.design.scenario.epsilon, x[-1])],
              "y": [view.design.predicted_loss], "hoverinfo": "skip", "cliponaxis": False,
              "marker": {"size": 12, "symbol": "square", "color": TUNED, "line": {"width": 2, "color": "@bg"}}}
    )  # fmt: skip
    axes = {
        "xaxis20": axis("total epsilon", domain=[0.035, _SPLIT], anchor="y20", range=[0, x[-1]], nticks=6),
        "yaxis20": axis(domain=[0.66, 1], anchor="x20", range=[0, max(1.12 * top, 1e-9)], nticks=5),
    }
    return traces, axes, notes


def _name_zero(x: Floats, lines: Sequence[Floats], zero: float, top: float) -> Mark:
    """Name the zero-information line on the side, above or below it, where the other lines are farthest."""
    part = len(x) // 2
    rooms = {}
    for side, half in (("left", slice(0, part)), ("right", slice(-part, None))):
        others = np.concatenate([line[half] for line in lines]) - zero
        rooms[side, "bottom"] = min([top - zero, *others[others >= 0]])
        rooms[side, "top"] = min([zero, *-others[others <= 0]])
    side, anchor = max(rooms, key=lambda place: rooms[place])
    return note(
        "zero information", xref="x20", yref="y20", x=0 if side == "left" else float(x[-1]), y=zero, xanchor=side,
        yanchor=anchor, yshift=1 if anchor == "bottom" else -2,
    )  # fmt: skip


def _zero_line() -> Mark:
    look = LOOKS["zero information"]
    return {"width": look.width, "dash": look.dash, "color": look.colour}


def _shares(view: BudgetView, shown: Sequence[int]) -> Part:
    shares, equal = view.design.allocation, 1 / view.split
    height, rows = max(len(shown), _ROWS), list(range(len(shown)))
    # The same range at every total, so that the axis stays while bars grow; only a refined share may need more.
    right = max(1.06 * float(view.fractions[:, list(shown)].max()), 1.06 * max(view.chosen), 1.2 * equal)
    traces: list[Mark] = [
        {"type": "bar", "orientation": "h", "uid": "bars", "x": [view.chosen[k] for k in shown], "y": rows,
         "width": 0.58, "marker": {"color": [OPT if view.choices[k] == "OPT" else DPN for k in shown]},
         "text": [escape(view.names[k]) for k in shown], "textposition": "none",
         "customdata": [shares[k] for k in shown],
         "hovertemplate": "%{text}<br>epsilon %{customdata:.6g}, %{x:.1%} of the total<extra></extra>"},
        {"type": "scatter", "mode": "lines", "x": [equal, equal], "y": [-0.6, len(shown) - 0.4],
         "line": {"color": UNIFORM, "width": 2.5, "dash": LOOKS["uniform"].dash},
         "hovertemplate": f"uniform split {sig(view.equal)}<extra></extra>"},
        {"type": "scatter", "mode": "text", "uid": "budgets", "xaxis": "x21", "x": [1] * len(shown), "y": rows,
         "text": [sig(shares[k]) for k in shown], "textposition": "middle left", "hoverinfo": "skip",
         "textfont": _ROW_FONT, "cliponaxis": False},
    ]  # fmt: skip
    notes = [panel("Share of the total epsilon", xref="paper", yref="paper", xshift=-_LEFT) | {"y": 0.445}]
    traces.append(_ends_of_shares(view, shown))
    for row, k in enumerate(shown):
        name = escape(shorten(view.names[k], _LABEL))
        notes.append(note(name, xref="paper", yref="y", x=0, y=row, xanchor="left", xshift=-_LEFT, font=_ROW_FONT))
    axes = {
        "xaxis": axis(_how_shares_combine(view), domain=list(_BARS), anchor="y", range=[0, right], nticks=4,
                      tickformat=".0%"),
        "xaxis21": bare(domain=[_BARS[1], _SPLIT], anchor="y", range=[0, 1]),
        "yaxis": bare(domain=[0, 0.445], anchor="x", range=[height - 0.4, -0.6]),
    }  # fmt: skip
    return traces, axes, notes


def _how_shares_combine(view: BudgetView) -> str:
    """Return how the groups' budgets make up the total: ||epsilon||_q <= total, 1/p + 1/q = 1."""
    q = view.budgets.allocation.q
    if math.isinf(q):
        return "share; each may be the total"
    if q == 1.0:
        return "share; they add up to the total"
    powers = "squares" if q == 2.0 else f"powers {q:.3g}"
    return f"share; {powers} add up to 100 %"


def _ends_of_shares(view: BudgetView, shown: Sequence[int]) -> Mark:
    looks = [LOOKS[view.choices[k]] for k in shown]
    marker = {
        "size": 9,
        "symbol": [look.symbol for look in looks],
        "color": [look.colour for look in looks],
        "line": {"width": 1.5, "color": "@bg"},
    }
    return {
        "type": "scatter", "mode": "markers", "uid": "shares",
        "x": [view.chosen[k] for k in shown],
        "y": list(range(len(shown))), "marker": marker, "hoverinfo": "skip", "cliponaxis": False,
    }  # fmt: skip


def _multiples(view: BudgetView, shown: Sequence[int], *, own_scales: bool) -> tuple[Part, list[Mark]]:
    """Return the small multiples, and the line of zero information in each as a shape: shapes are drawn faster."""
    columns = min(3, len(shown))
    rows = math.ceil(len(shown) / columns)
    width = (1 - _GRID - _GAP[0] * (columns - 1)) / columns
    height = (0.955 - _GAP[1] * (rows - 1)) / rows
    tops = [_top(view, k) for k in shown]
    traces: list[Mark] = []
    axes: dict[str, Mark] = {}
    lines: list[Mark] = []
    more = f"; {len(shown)} of {len(view.names)}" if len(shown) < len(view.names) else ""
    title = f"Loss of each group ({view.unit}) against its epsilon{more}"
    notes = [panel(title, xref="paper", yref="paper", xshift=-20) | {"x": _GRID}]
    for cell, k in enumerate(shown):
        row, column = divmod(cell, columns)
        left, upper = _GRID + column * (width + _GAP[0]), 0.955 - row * (height + _GAP[1])
        number = cell + 2
        traces += _curve(view, k, number)
        if not math.isnan(view.constants[k]):
            lines.append(_constant_line(view, k, number))
        last = cell + columns >= len(shown)
        right = float(view.curves[k].epsilons[-1])
        axes[f"xaxis{number}"] = axis(
            "epsilon" if last else None, domain=[left, left + width], anchor=f"y{number}", range=[0, right], nticks=4,
            showticklabels=last,
        )  # fmt: skip
        axes[f"yaxis{number}"] = axis(
            domain=[upper - height, upper], anchor=f"x{number}", range=[0, tops[cell] if own_scales else max(tops)],
            nticks=4, showticklabels=own_scales or column == 0,
        )  # fmt: skip
        notes.append(small(escape(shorten(view.names[k], 22)), f"x{number}", f"y{number}"))
    return (traces, axes, notes), lines


def _constant_line(view: BudgetView, k: int, number: int) -> Mark:
    at = view.beta[k] * view.constants[k]
    return {
        "type": "line", "layer": "below", "xref": f"x{number} domain", "yref": f"y{number}", "x0": 0, "x1": 1,
        "y0": at, "y1": at, "line": _zero_line(),
    }  # fmt: skip


def _top(view: BudgetView, k: int) -> float:
    constant = view.constants[k]
    highest = max(float(view.curves[k].upper[0]), 0.0 if math.isnan(constant) else constant)
    return max(1.12 * view.beta[k] * highest, 1e-9)


def _curve(view: BudgetView, k: int, number: int) -> list[Mark]:
    """Draw one loss-budget curve: the band between its envelopes, the curve, the chosen point."""
    curve, weight, look = view.curves[k], view.beta[k], LOOKS[view.choices[k]]
    at: Mark = {"type": "scatter", "mode": "lines", "xaxis": f"x{number}", "yaxis": f"y{number}", "hoverinfo": "skip"}
    edge: Mark = {"width": 1, "dash": "dot", "color": _NEUTRAL}
    upper, lower = curve.upper_envelope, curve.lower_envelope
    x = np.linspace(0, float(curve.epsilons[-1]), 81)
    # One outline, to and back: every trace costs the browser milliseconds at each change of the total.
    around = np.concatenate([upper.knots, lower.knots[::-1]])
    band = weight * np.concatenate([upper.values, lower.values[::-1]])
    traces: list[Mark] = [
        at | {"x": around.tolist(), "y": band.tolist(), "line": edge, "fill": "toself", "fillcolor": "@fill"},
        at | {"x": x.tolist(), "y": draw_loss(view, k, x).tolist(), "line": {"width": look.width, "color": look.colour},
              "hoverinfo": "all", "hovertemplate": "epsilon %{x:.6g}<br>loss %{y:.6g}<extra></extra>"},
    ]  # fmt: skip
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
            "weighted loss": [design.beta[k] * design.losses[k] for k in view.order],
            "zero information": [view.constants[k] for k in view.order],
        }
    )
