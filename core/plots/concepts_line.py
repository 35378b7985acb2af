"""The pictures of the line of seven: what every mechanism loses, and what remapping does to one of them."""

from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from core.concepts.line import NAMES, LineComparison, Remapping
from core.concepts.settings import STATES
from core.plots.concepts import HEADLINES, HEIGHT, value_label
from core.plots.palette import DPN, LOOKS, OPT, REMAP, SEQUENTIAL, Look
from core.plots.template import Mark, Picture, axis, heading, note, panel, percent, sig
from core.plots.template import layout as sheet

_LEFT: Final = 40
_LOOKS: Final[dict[str, Look]] = {
    "EM": LOOKS["DPN"], "EM remapped": LOOKS["remapped"], "geometric": LOOKS["DPN"],
    "geometric remapped": LOOKS["remapped"], "OPT": LOOKS["OPT"],
}  # fmt: skip
_SCALE: Final = [[i / (len(SEQUENTIAL) - 1), colour] for i, colour in enumerate(SEQUENTIAL)]
_NOISES: Final = {"line noise": "Geometric noise", "EM": "EM"}
_INK, _CHALK = "#10161B", "#FFFFFF"
_BRIGHT: Final = 0.5
"""Cells above this part of the scale are bright enough for dark numbers."""
Floats = NDArray[np.float64]
_STATES: Final = list(range(1, STATES + 1))
KEY: Final = (("circle", DPN, "noise"), ("triangle", REMAP, "noise, remapped"), ("diamond", OPT, "OPT"),
              ("dash", "@neutral", "zero information"))  # fmt: skip


def plot_line(line: LineComparison) -> Picture:
    """Draw prior and loss at the left and the expected loss of every mechanism at the right.

    Parameters
    ----------
    line : LineComparison
        The comparison.
    """
    names = list(NAMES)
    losses = [line.loss(name) for name in names]
    reach = 1.18 * max(*losses, line.zero_information)
    traces: list[Mark] = [
        {"type": "bar", "x": _STATES, "y": line.problem.prior.tolist(), "marker": {"color": "@neutral"},
         "hovertemplate": "state %{x}: %{y:.4g}<extra></extra>"},
        {"type": "heatmap", "z": line.problem.loss.astype(np.float32), "x": _STATES, "y": _STATES, "xaxis": "x2",
         "yaxis": "y2", "colorscale": _SCALE, "showscale": False, "xgap": 1, "ygap": 1, "zmin": 0,
         "hovertemplate": "truth %{y}, released %{x}: loss %{z:.3g}<extra></extra>"},
    ]  # fmt: skip
    for row, (name, loss) in enumerate(zip(names, losses, strict=True)):
        traces += _lollipop(name, loss, row)
    small = {"size": 13, "color": "@text"}
    zero = line.zero_information
    drawing: Mark = {
        "xaxis": axis(domain=[0, 0.25], anchor="y", dtick=1, showgrid=False, range=[0.5, STATES + 0.5]),
        "yaxis": axis(domain=[0.68, 1], anchor="x", rangemode="tozero", nticks=3, tickformat=".0%"),
        "xaxis2": axis("released state", domain=[0, 0.25], anchor="y2", dtick=1, showgrid=False),
        "yaxis2": axis(domain=[0, 0.47], anchor="x2", dtick=1, showgrid=False, autorange="reversed"),
        "xaxis3": axis("expected loss (steps)", domain=[0.5, 1], anchor="y3", range=[0, reach], nticks=6),
        "yaxis3": axis(anchor="x3", range=[len(names) - 0.4, -0.6], tickvals=list(range(len(names))),
                       ticktext=list(NAMES.values()), showgrid=False,
                       tickfont={"size": 13, "color": "@text"}),
        "shapes": [{"type": "line", "xref": "x3", "yref": "y3 domain", "x0": zero, "x1": zero, "y0": 0, "y1": 1,
                    "layer": "below", "line": {"color": "@neutral", "width": 1.5, "dash": "longdash"}}],
        "annotations": [
            heading("Prior of the states", _LEFT, font=small),
            panel(f"Loss, row = truth (0 to {sig(float(line.problem.loss.max()))})", "x2", "y2", font=small,
                  xshift=-_LEFT),
            panel(f"Expected loss at epsilon {sig(line.epsilon)} per step", "x3", "y3", xshift=-140),
            *[value_label(sig(loss), loss, row, ("x3", "y3")) for row, loss in enumerate(losses)],
            note(f"saying nothing {sig(zero)}", xref="x3", yref="y3 domain", x=zero, y=0,
                 xanchor="right" if zero > 0.5 * reach else "left", yanchor="bottom",
                 xshift=-5 if zero > 0.5 * reach else 5, yshift=2),
        ],
    }  # fmt: skip
    return Picture(
        traces=traces, layout=sheet(left=_LEFT, right=16, **drawing), height=HEIGHT, name="line_of_seven",
        alt=f"Expected losses on a line of seven; OPT {sig(line.loss('OPT'))}, saying nothing {sig(zero)}.",
        table=table_line(line),
    )  # fmt: skip


def _lollipop(name: str, loss: float, row: int) -> list[Mark]:
    look = _LOOKS[name]
    at = {"type": "scatter", "xaxis": "x3", "yaxis": "y3", "cliponaxis": False}
    line = {"color": look.colour, "width": 3, "dash": look.dash}
    return [
        at | {"mode": "lines", "x": [0, loss], "y": [row, row], "line": line, "hoverinfo": "skip"},
        at | {"mode": "markers", "x": [loss], "y": [row], "uid": f"loss {name}",
              "marker": {"size": 13, "symbol": look.symbol, "color": look.colour,
                         "line": {"width": 1.5, "color": "@bg"}},
              "hovertemplate": f"{NAMES[name]}: {loss:.6g}<extra></extra>"},
    ]  # fmt: skip


def table_line(line: LineComparison) -> pd.DataFrame:
    """Return loss, proven lower bound and certificate of every mechanism."""
    return pd.DataFrame(
        [
            (NAMES[name], c.expected_loss, c.lower_bound if name == "OPT" else np.nan, c.certified_epsilon)
            for name, c in line.channels.items()
        ]
        + [("Saying nothing (constant)", line.zero_information, np.nan, 0.0)],
        columns=["mechanism", "expected loss", "proven lower bound", "certified epsilon"],
    )


def explain_line(line: LineComparison) -> str:
    """Say who wins and by how much, and what is worse than saying nothing."""
    best, optimum = line.best_noise, line.loss("OPT")
    worse = [NAMES[n] for n in NAMES if line.loss(n) > line.zero_information * (1 + 1e-9)]
    verdict = (
        f"OPT loses **{sig(optimum)}**, **{percent(line.saving)}** less than the best noise ({NAMES[best]}, "
        f"{sig(line.loss(best))}): distance explains only part of this loss (score {sig(line.score)})."
        if line.saving > 0
        else f"OPT loses **{sig(optimum)}**, and so does {NAMES[best]}: here noise is already optimal."
    )
    silent = f" {' and '.join(worse)} lose more than saying nothing, **{sig(line.zero_information)}**." if worse else ""
    if len(worse) == 1:
        silent = silent.replace(" lose ", " loses ")
    return verdict + (silent or f" Saying nothing loses **{sig(line.zero_information)}**.")


def headline_line(line: LineComparison) -> HEADLINES:
    """Return the four numbers of the strip."""
    optimum = line.channels["OPT"]
    return (
        ("OPT", sig(optimum.expected_loss), "expected loss"),
        ("OPT saves", percent(line.saving), "of best noise"),
        ("Saying nothing", sig(line.zero_information), "zero information"),
        ("Score (S)", sig(line.score), "of the loss explained by distance"),
    )


def plot_remapping(remapping: Remapping) -> Picture:
    """Draw the noise, what is released in place of each of its outputs, and the result, on shared columns.

    Parameters
    ----------
    remapping : Remapping
        The noise before and after.
    """
    top = float(max(remapping.before.matrix.max(), remapping.after.matrix.max()))
    x: Mark = {"range": [0.5, STATES + 0.5], "dtick": 1, "showgrid": False}
    rows = axis(dtick=1, showgrid=False, range=[STATES + 0.5, 0.5])
    arrows = [
        {"type": "scatter", "mode": "lines+markers", "x": [y + 1, z + 1], "y": [1, 0], "xaxis": "x2", "yaxis": "y2",
         "line": {"color": REMAP if y != z else "@neutral", "width": 3 if y != z else 1.5},
         "marker": {"size": [6, 11], "symbol": ["circle", "triangle-down"], "color": REMAP if y != z else "@neutral"},
         "cliponaxis": False, "hovertemplate": f"output {y + 1} becomes {z + 1}<extra></extra>"}
        for y, z in enumerate(remapping.guesses)
    ]  # fmt: skip
    drawing: Mark = {
        "xaxis": axis(anchor="y", **x, showticklabels=False),
        "yaxis": rows | {"domain": [0.62, 1], "anchor": "x"},
        "xaxis2": axis(anchor="y2", **x, showticklabels=False),
        "yaxis2": axis(domain=[0.485, 0.605], anchor="x2", range=[-0.35, 1.2], showgrid=False, showticklabels=False),
        "xaxis3": axis("released state", anchor="y3", **x),
        "yaxis3": rows | {"domain": [0, 0.38], "anchor": "x3"},
        "annotations": [
            heading(f"{_NOISES[remapping.before.mechanism]}, row = truth, in %: epsilon "
                    f"{sig(remapping.before.certified_epsilon)}, loss {sig(remapping.before.expected_loss)}", _LEFT),
            panel(f"After: epsilon {sig(remapping.after.certified_epsilon)}, loss {sig(remapping.after.expected_loss)}",
                  "x3", "y3", xshift=-_LEFT, yshift=4),
            note("best guess", xref="x2 domain", yref="y2 domain", x=0, y=0.5, xanchor="right", xshift=14),
        ],
    }  # fmt: skip
    return Picture(
        traces=[*_heat(remapping.before.matrix, "", top), *arrows, *_heat(remapping.after.matrix, "3", top)],
        layout=sheet(left=_LEFT, right=16, **drawing), height=HEIGHT + 40, name="remapping",
        alt=f"A channel before and after remapping; {remapping.moved} of {STATES} outputs are replaced.",
        table=table_remapping(remapping),
    )  # fmt: skip


def _heat(matrix: Floats, number: str, top: float) -> list[Mark]:
    """Draw a channel with its numbers, dark on bright cells and bright on dark ones."""
    at = {"xaxis": f"x{number}", "yaxis": f"y{number}"}
    cells = [(x, y, float(matrix[x, y])) for x in range(STATES) for y in range(STATES)]
    return [
        at | {"type": "heatmap", "z": matrix.astype(np.float32), "x": _STATES, "y": _STATES, "zmin": 0, "zmax": top,
              "colorscale": _SCALE, "showscale": False, "xgap": 1, "ygap": 1,
              "hovertemplate": "truth %{y}, released %{x}: %{z:.4g}<extra></extra>"},
        at | {"type": "scatter", "mode": "text", "x": [y + 1 for _, y, _ in cells], "y": [x + 1 for x, _, _ in cells],
              "text": [f"{100 * p:.0f}" for _, _, p in cells], "hoverinfo": "skip",
              "textfont": {"size": 12, "color": [_INK if p > _BRIGHT * top else _CHALK for _, _, p in cells]}},
    ]  # fmt: skip


def table_remapping(remapping: Remapping) -> pd.DataFrame:
    """Return what every output becomes, and how often it is drawn."""
    prior = remapping.problem.prior
    return pd.DataFrame(
        {
            "output": _STATES,
            "released instead": [z + 1 for z in remapping.guesses],
            "drawn": prior @ remapping.before.matrix,
            "released": prior @ remapping.after.matrix,
        }
    )


def explain_remapping(remapping: Remapping) -> str:
    """Say what remapping changed and what it cost."""
    before, after = remapping.before, remapping.after
    saved = 1 - after.expected_loss / before.expected_loss if before.expected_loss > 0 else 0.0
    change = (
        f"{remapping.moved} of {STATES} outputs are replaced by a better guess: the loss falls from "
        f"**{sig(before.expected_loss)}** to **{sig(after.expected_loss)}** ({percent(saved)} less)."
        if remapping.moved
        else f"Every output is already its own best guess, so the loss stays **{sig(before.expected_loss)}**."
    )
    return (
        f"{change} The guess never looks at the truth, so it is free: the certificate goes from "
        f"**{sig(before.certified_epsilon)}** to **{sig(after.certified_epsilon)}**, never up."
    )


def headline_remapping(remapping: Remapping) -> HEADLINES:
    """Return the four numbers of the strip."""
    before, after = remapping.before, remapping.after
    return (
        ("Loss before", sig(before.expected_loss), ""),
        ("Loss after", sig(after.expected_loss), ""),
        ("Certified epsilon", sig(after.certified_epsilon), f"after; {sig(before.certified_epsilon)} before"),
        ("Saying nothing", sig(remapping.zero_information), "zero information"),
    )
