"""The four stages of a design as a picture (Fig. 2), with the numbers of a real one."""

import math
from typing import Final

import pandas as pd

from core.plots.concepts import HEADLINES, HEIGHT
from core.plots.palette import DPN, OPT
from core.plots.template import Mark, Picture, bare, escape, heading, note, percent, shorten, sig
from core.plots.template import layout as sheet
from core.results import Design

TITLES: Final = ("1  Group", "2  Measure loss", "3  Choose", "4  Spend")
_WHAT: Final = (
    "dependent attributes<br>stay together",
    "what perturbing a group<br>costs the task",
    "noise where distance<br>explains the loss",
    "budgets where they<br>save most",
)
_LEFT: Final = 8
_DRAWN: Final = 7


def plot_stages(design: Design) -> Picture:
    """Draw four boxes with what each stage decided for this design, one row per group.

    Parameters
    ----------
    design : Design
        The design.
    """
    shapes: list[Mark] = []
    notes = [heading("From a table to a mechanism", _LEFT)]
    for k in range(4):
        shapes.append({"type": "rect", "x0": k + 0.04, "x1": k + 0.9, "y0": 0, "y1": 10, "layer": "below",
                       "fillcolor": "@fill", "line": {"width": 0}})  # fmt: skip
        notes.append(note(f"<b>{TITLES[k]}</b>", x=k + 0.09, y=9.8, xanchor="left", yanchor="top",
                          font={"size": 15, "color": "@text"}))  # fmt: skip
        notes.append(note(_WHAT[k], x=k + 0.09, y=9.0, xanchor="left", yanchor="top", align="left"))
        notes.append(note(f"<b>{_total(design, k)}</b>", x=k + 0.09, y=0.3, xanchor="left", yanchor="bottom",
                          font={"size": 13, "color": "@text"}))  # fmt: skip
        if k < 3:
            notes.append(note("▸", x=k + 0.97, y=5, font={"size": 18, "color": "@text"}))
    traces: list[Mark] = []
    for row, k in enumerate(_rows(design)):
        y = 6.9 - 0.8 * row
        marks, words = _row(design, k, y)
        traces += marks
        notes += words
    more = len(design.groups) - _DRAWN
    if more > 0:
        notes.append(note(f"and {more} more", x=0.1, y=6.9 - 0.8 * _DRAWN, xanchor="left"))
    drawing: Mark = {
        "xaxis": bare(range=[0, 3.95]), "yaxis": bare(range=[0, 10]), "shapes": shapes, "annotations": notes,
    }  # fmt: skip
    return Picture(
        traces=traces, layout=sheet(left=_LEFT, right=4, bottom=8, **drawing), height=HEIGHT, name="four_stages",
        alt=f"The four stages of a design with {len(design.groups)} groups.", table=table_stages(design),
    )  # fmt: skip


def _rows(design: Design) -> list[int]:
    """Return the groups that are drawn: the costliest first."""
    weight = [b * loss for b, loss in zip(design.beta, design.losses, strict=True)]
    return sorted(range(len(weight)), key=lambda k: -weight[k])[:_DRAWN]


def _row(design: Design, k: int, y: float) -> tuple[list[Mark], list[Mark]]:
    names = design.groups[k]
    label = escape(shorten(names[0] if len(names) == 1 else f"{names[0]} +{len(names) - 1}", 18))
    share = design.allocation[k] / max(design.allocation) if max(design.allocation) > 0 else 0.0
    cost = [b * loss for b, loss in zip(design.beta, design.losses, strict=True)]
    part = cost[k] / max(cost) if max(cost) > 0 else 0.0
    optimised = design.choices[k] == "OPT"
    text = {"size": 12.5, "color": "@text"}
    bars: list[Mark] = [
        {"type": "scatter", "mode": "lines", "x": [x0, x0 + 0.42 * size], "y": [y, y], "hoverinfo": "text",
         "hovertext": f"{label}: {value:.6g}", "line": {"width": 9, "color": "@neutral"}}
        for x0, size, value in ((1.1, part, cost[k]), (3.1, share, design.allocation[k]))
    ]  # fmt: skip
    dot = {"type": "scatter", "mode": "markers", "x": [2.14], "y": [y], "hoverinfo": "skip",
           "marker": {"size": 12, "symbol": "diamond" if optimised else "circle",
                      "color": OPT if optimised else DPN}}  # fmt: skip
    mechanism = design.mechanisms[k] if len(design.mechanisms[k]) < 14 else design.choices[k]
    words = [
        note(label, x=0.1, y=y, xanchor="left", font=text),
        note(sig(cost[k]), x=1.1 + 0.42 * part, y=y, xanchor="left", xshift=6, font=text),
        note(mechanism, x=2.2, y=y, xanchor="left", font=text),
        note(sig(design.allocation[k]), x=3.1 + 0.42 * share, y=y, xanchor="left", xshift=6, font=text),
    ]  # fmt: skip
    return [*bars, dot], words


def _total(design: Design, stage: int) -> str:
    attributes = sum(len(group) for group in design.groups)
    return (
        f"{attributes} attributes, {len(design.groups)} groups",
        f"predicted loss {sig(design.predicted_loss)}",
        f"{sum(c == 'OPT' for c in design.choices)} of {len(design.groups)} optimised",
        f"epsilon {sig(design.scenario.epsilon)} in all",
    )[stage]


def table_stages(design: Design) -> pd.DataFrame:
    """Return what every stage decided, per group."""
    return pd.DataFrame(
        {
            "group": [", ".join(names) for names in design.groups],
            "weighted loss": [b * loss for b, loss in zip(design.beta, design.losses, strict=True)],
            "choice": design.choices,
            "mechanism": design.mechanisms,
            "epsilon": design.allocation,
        }
    )


def explain_stages(design: Design) -> str:
    """Say what the stages made of the loaded table."""
    attributes, groups = sum(len(group) for group in design.groups), len(design.groups)
    optimised = sum(choice == "OPT" for choice in design.choices)
    against = (
        f", {percent(1 - design.predicted_loss / design.zero_information)} below saying nothing"
        if math.isfinite(design.zero_information) and design.zero_information > 0
        else ""
    )
    return (
        f"On the loaded table {attributes} attributes form **{groups}** groups, **{optimised}** of them optimised; "
        f"epsilon **{sig(design.scenario.epsilon)}** gives a predicted loss of **{sig(design.predicted_loss)}**"
        f"{against}."
    )


def headline_stages(design: Design) -> HEADLINES:
    """Return the four numbers of the strip."""
    groups = len(design.groups)
    return (
        ("Groups (K)", str(groups), f"of {sum(len(group) for group in design.groups)} attributes"),
        ("Optimised (OPT)", str(sum(c == "OPT" for c in design.choices)), f"of {groups}"),
        ("Predicted loss", sig(design.predicted_loss), f"zero information {sig(design.zero_information)}"),
        ("Certified epsilon", sig(design.certified_epsilon), "per unit of distance"),
    )
