"""Which groups deserve optimisation: domain size against score with both thresholds, regret, and channels."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from core import limits
from core.channel import Channel
from core.plots.interaction import Condition, Handle, Region, Sides
from core.plots.palette import CIVIDIS, DPN, LOOKS, OPT
from core.plots.place import place_labels
from core.plots.template import Mark, Picture, axis, bare, escape, heading, label, note, panel, percent, shorten, sig
from core.plots.template import layout as sheet

HEIGHT: Final = 440
CHANNEL_HEIGHT: Final = 380
_LEFT: Final = 60
_SPLIT: Final = 0.55
_BARS: Final = (0.76, 1.0)
_BAR_COUNT: Final = 12
_REGION: Final = "rgba(213, 94, 0, 0.13)"


@dataclass(frozen=True, eq=False)
class MechanismView:
    """What the chart of choices draws.

    Parameters
    ----------
    names : tuple of str
        Label per group (or single attribute).
    sizes : tuple of int
        States per group.
    scores : tuple of float
        Adequacy score per group.
    choices : tuple of str
        "OPT" or "DPN" per group.
    regrets : tuple of float
        Fraction that OPT saves at the group's budget, nan where it was not solved.
    tau_dim : int
        Largest domain that is optimised.
    tau_dpn : float
        Largest score that is optimised.
    picked : int or None
        The group whose channels are shown.
    kind : str
        Name of the score.
    thresholds : bool
        Whether the rule reads the two thresholds, so that they can be dragged.
    """

    names: tuple[str, ...]
    sizes: tuple[int, ...]
    scores: tuple[float, ...]
    choices: tuple[str, ...]
    regrets: tuple[float, ...]
    tau_dim: int
    tau_dpn: float
    picked: int | None
    kind: str
    thresholds: bool = True


def plot_mechanisms(view: MechanismView) -> Picture:
    """Draw domain size against score with both thresholds as handles, the OPT region, and the regret of every group."""
    low, high = _size_range(view)
    bottom = min(0.0, 1.1 * min([s for s in view.scores if not math.isnan(s)], default=0.0))
    scatter, labels = _scatter(view, (low, high), bottom)
    bars, bar_notes, count = _regret_bars(view)
    handles: tuple[Handle, ...] = ()
    if view.thresholds:
        sizes = tuple(sorted({float(s) for s in view.sizes if s <= limits.TAU_DIM.high}))
        scores = tuple(sorted({math.ceil(s * 1000) / 1000 for s in view.scores if not math.isnan(s)}))
        handles = (
            Handle("tau_dim", min(float(view.tau_dim), limits.TAU_DIM.high), max(1.0, low), limits.TAU_DIM.high, 1.0,
                   "Largest domain that is optimised", whole=True, digits=0, snap=sizes),
            Handle("tau_dpn", view.tau_dpn, bottom, 1.0, 0.01, "Largest score that is optimised", along="y",
                   axis="yaxis", across="xaxis", snap=scores),
        )  # fmt: skip
    region = Region(x=(None, "tau_dim"), y=(None, "tau_dpn"), fill=_REGION, label="OPT region")
    return Picture(
        traces=[scatter, *bars],
        layout=sheet(
            left=_LEFT,
            right=40,
            bottom=52,
            xaxis=axis("domain size (n), states, log scale", domain=[0, _SPLIT], type="log",
                       range=[math.log10(low), math.log10(high)], tickvals=_ticks(low, high), tickformat=",d"),
            yaxis=axis(range=[bottom - 0.02, 1.04], dtick=0.2, anchor="x"),
            xaxis2=axis("regret, % of the noise's loss", domain=list(_BARS), range=[0, 100], anchor="y2", dtick=25),
            yaxis2=bare(domain=[0, 1], range=[-0.6, max(count, 4) - 0.4], anchor="x2"),
            annotations=[
                heading(f"Score (S): how well plain noise fits, {view.kind}", _LEFT),
                panel("Loss saved by OPT (regret), %", "x2", "y2", xshift=-130),
                *labels,
                *bar_notes,
            ],
        ),
        height=HEIGHT,
        name="mechanisms",
        alt=f"{view.choices.count('OPT')} of {len(view.names)} groups are optimised.",
        handles=handles,
        regions=(region,) if view.thresholds else (),
        previews=_sides(view) if view.thresholds else (),
        table=table_mechanisms(view),
    )  # fmt: skip


def _size_range(view: MechanismView) -> tuple[float, float]:
    largest = max(max(view.sizes, default=10), view.tau_dim if view.thresholds else 1)
    return 1.6, 1.9 * min(float(largest), 1e9)


def _ticks(low: float, high: float) -> list[int]:
    marks = (1, 3) if high / low < 3e4 else (1,)
    return [m * 10**k for k in range(10) for m in marks if low <= m * 10**k <= high]


def _scatter(view: MechanismView, ends: tuple[float, float], bottom: float) -> tuple[Mark, list[Mark]]:
    drawn = [k for k in range(len(view.names)) if not math.isnan(view.scores[k])]
    at = [min(float(view.sizes[k]), 1e9) for k in drawn]
    looks = [LOOKS[view.choices[k]] for k in drawn]
    picked = [k == view.picked for k in drawn]
    mark: Mark = {
        "type": "scatter",
        "mode": "markers",
        "uid": "groups",
        "x": at,
        "y": [view.scores[k] for k in drawn],
        "customdata": drawn,
        "cliponaxis": False,
        "text": [
            f"{escape(view.names[k])}<br>{view.sizes[k]:,} states, score {view.scores[k]:.6g}<br>{view.choices[k]}"
            for k in drawn
        ],
        "hovertemplate": "%{text}<extra></extra>",
        "marker": {
            "size": [18 if look.symbol == "diamond" else 15 for look in looks],
            "symbol": [look.symbol for look in looks],
            "color": [look.colour for look in looks],
            "opacity": 1,
            "line": {"width": [3 if p else 1.5 for p in picked], "color": ["@text" if p else "@bg" for p in picked]},
        },
    }
    # Pixels at the narrowest figure, for label placement only.
    wide, tall = (762 - _LEFT - 40) * _SPLIT, HEIGHT - 34 - 52
    low, high = (math.log10(e) for e in ends)
    points = np.array(
        [
            [(math.log10(x) - low) / (high - low) * wide, (1.04 - view.scores[k]) / (1.06 - bottom) * tall]
            for x, k in zip(at, drawn, strict=True)
        ]
    ).reshape(-1, 2)
    texts = [escape(shorten(view.names[k], 22)) for k in drawn]
    placed = place_labels(points, texts, radii=10.0, size=(wide, tall))
    labels = [
        label(f"<b>{text}</b>" if p else text, math.log10(x), view.scores[k], spot)
        for text, p, x, k, spot in zip(texts, picked, at, drawn, placed, strict=True)
    ]
    return mark, labels


def _sides(view: MechanismView) -> tuple[Sides, ...]:
    drawn = [k for k in range(len(view.names)) if not math.isnan(view.scores[k])]
    size = Condition("tau_dim", tuple(float(view.sizes[k]) for k in drawn))
    score = Condition("tau_dpn", tuple(view.scores[k] for k in drawn))
    return (Sides("groups", (size, score), (OPT, "diamond"), (DPN, "circle")),)


def _regret_bars(view: MechanismView) -> tuple[list[Mark], list[Mark], int]:
    solved = [k for k in range(len(view.names)) if not math.isnan(view.regrets[k])]
    order = sorted(solved, key=lambda k: view.regrets[k])[-_BAR_COUNT:]
    font = {"size": 12.5, "color": "@text"}
    notes = [
        note(
            f"<b>{escape(shorten(view.names[k], 18))}</b>" if k == view.picked else escape(shorten(view.names[k], 18)),
            xref="x2 domain", yref="y2", x=0, y=row, xanchor="left", xshift=-130, font=font,
        )
        for row, k in enumerate(order)
    ]  # fmt: skip
    notes += [
        note(sig(100 * view.regrets[k]), xref="x2", yref="y2", x=max(100 * view.regrets[k], 0.0), y=row,
             xanchor="left", xshift=4, font={"size": 12, "color": "@text"})
        for row, k in enumerate(order)
    ]  # fmt: skip
    if not order:
        notes.append(note("no group is small enough to solve", xref="x2 domain", yref="y2 domain", x=0.5, y=0.5))
    bars: Mark = {
        "type": "bar",
        "orientation": "h",
        "xaxis": "x2",
        "yaxis": "y2",
        "x": [100 * view.regrets[k] for k in order],
        "y": list(range(len(order))),
        "customdata": order,
        "width": 0.5,
        "marker": {
            "color": [LOOKS[view.choices[k]].colour for k in order],
            "line": {"width": [2.5 if k == view.picked else 0 for k in order], "color": "@text"},
        },
        "hovertext": [f"{escape(view.names[k])}<br>regret {100 * view.regrets[k]:.4g} %" for k in order],
        "hovertemplate": "%{hovertext}<extra></extra>",
    }
    return [bars], notes, len(order)


def plot_channels(
    channels: Sequence[Channel], labels: Sequence[str], row: int, *, loss: NDArray[np.float64], shown: tuple[str, str]
) -> Picture:
    """Draw two channels as heatmaps on one scale, and beside them their row for a true state.

    Parameters
    ----------
    channels : sequence of Channel
        All compared channels of the group.
    labels : sequence of str
        Label per state, not yet escaped.
    row : int
        The true state whose row is shown.
    loss : ndarray (n, n)
        Loss, for the hover of the bars.
    shown : pair of str
        Mechanisms of the two heatmaps.
    """
    named = {c.mechanism: c for c in channels}
    pair = [named[name] for name in shown]
    top = max(float(c.matrix.max()) for c in pair)
    ticks = _state_ticks(len(labels))
    names = [escape(shorten(text, 30)) for text in labels]
    columns = ((0.0, 0.31), (0.355, 0.665))
    traces: list[Mark] = []
    axes: dict[str, Mark] = {}
    notes: list[Mark] = []
    for i, (channel, domain) in enumerate(zip(pair, columns, strict=True)):
        number = "" if i == 0 else str(i + 1)
        # Labels are categories of the hover alone; the axes count states, which always fit.
        traces.append(
            {"type": "heatmap", "z": channel.matrix.astype(np.float32), "x0": 1, "dx": 1, "y0": 1, "dy": 1,
             "xaxis": f"x{number}", "yaxis": f"y{number}", "zmin": 0, "zmax": top, "colorscale": CIVIDIS,
             "showscale": i == 1, "colorbar": {"x": 0.672, "xanchor": "left", "thickness": 8, "outlinewidth": 0,
                                               "tickfont": {"size": 12, "color": "@muted"}, "nticks": 3},
             "hovertemplate": "true state %{y}, released %{x}<br>probability %{z:.6g}<extra></extra>"}
        )  # fmt: skip
        axes[f"xaxis{number}"] = axis("released state", domain=list(domain), anchor=f"y{number}", tickvals=ticks,
                                      showgrid=False)  # fmt: skip
        axes[f"yaxis{number}"] = axis(anchor=f"x{number}", autorange="reversed", tickvals=ticks, showgrid=False,
                                      showticklabels=i == 0)  # fmt: skip
        notes.append(
            panel(f"{escape(channel.mechanism)}, loss {sig(channel.expected_loss)}", f"x{number}", f"y{number}",
                  font={"size": 13, "color": "@text"})
        )  # fmt: skip
        axes[f"yaxis{number}"] |= {"range": [len(labels) + 0.5, 0.5], "autorange": False}
        traces.append(
            {"type": "scatter", "mode": "lines", "xaxis": f"x{number}", "yaxis": f"y{number}", "hoverinfo": "skip",
             "x": [0.5, len(labels) + 0.5, len(labels) + 0.5, 0.5, 0.5],
             "y": [row + 0.5, row + 0.5, row + 1.5, row + 1.5, row + 0.5], "line": {"color": "@bg", "width": 1.5}}
        )  # fmt: skip
        look = LOOKS["OPT"] if channel.mechanism == "OPT" else LOOKS["DPN"]
        colour = LOOKS["remapped"].colour if i == 1 and look is LOOKS["DPN"] else look.colour
        traces.append(
            {"type": "bar", "xaxis": "x3", "yaxis": "y3", "x": list(range(1, len(labels) + 1)),
             "name": channel.mechanism,
             "y": channel.matrix[row].tolist(), "marker": {"color": colour}, "text": names, "textposition": "none",
             "customdata": loss[row].tolist(),
             "hovertemplate": "%{text}<br>probability %{y:.6g}<br>loss %{customdata:.6g}<extra></extra>"}
        )  # fmt: skip
    axes["xaxis3"] = axis("released state", domain=[0.77, 1], anchor="y3", tickvals=ticks, showgrid=False)
    axes["yaxis3"] = axis(anchor="x3", rangemode="tozero", nticks=5)
    notes.append(panel(f"Row of state {row + 1}", "x3", "y3", font={"size": 13, "color": "@text"}))
    return Picture(
        traces=traces,
        layout=sheet(left=34, right=8, bottom=44, annotations=notes, barmode="group", bargap=0.15) | axes,
        height=CHANNEL_HEIGHT,
        name="channels",
        alt=f"Channels {shown[0]} and {shown[1]} on {len(labels)} states.",
        table=pd.DataFrame(
            {"true state": labels[row], "released state": list(labels)} | {c.mechanism: c.matrix[row] for c in channels}
        ),
    )


def _state_ticks(count: int) -> list[int]:
    step = max(1, 5 * math.ceil(count / 25)) if count > 8 else 1
    return [1, *range(step, count + 1, step)] if step > 1 else list(range(1, count + 1))


def table_mechanisms(view: MechanismView) -> pd.DataFrame:
    """Return size, score, choice and regret, one row per group."""
    return pd.DataFrame(
        {
            "group": list(view.names),
            "states": list(view.sizes),
            f"score ({view.kind})": list(view.scores),
            "choice": list(view.choices),
            "regret": list(view.regrets),
        }
    )


def table_channels(channels: Sequence[Channel], zero: float) -> pd.DataFrame:
    """Return loss, certificate and bound of every compared mechanism of a group."""
    return pd.DataFrame(
        {
            "mechanism": [c.mechanism for c in channels],
            "expected loss": [c.expected_loss for c in channels],
            "certified epsilon": [c.certified_epsilon for c in channels],
            "declared epsilon": [c.epsilon for c in channels],
            "lower bound": [c.lower_bound for c in channels],
            "against zero information": [c.expected_loss / zero - 1 if zero > 0 else float("nan") for c in channels],
        }
    )


def explain_mechanisms(view: MechanismView) -> str:
    """Return what the picture means: who is optimised, and where most is left on the table."""
    chosen = [view.names[k] for k, c in enumerate(view.choices) if c == "OPT"]
    listed = ", ".join(chosen[:4]) + (f" and {len(chosen) - 4} more" if len(chosen) > 4 else "")
    groups = f"{len(chosen)} of {len(view.names)} groups"
    said = f"**{groups}** {'is' if len(chosen) == 1 else 'are'} optimised" + (f": {listed}." if chosen else ".")
    missed = [
        k for k, c in enumerate(view.choices) if c == "DPN" and not math.isnan(view.regrets[k]) and view.regrets[k] > 0
    ]
    if missed:
        worst = max(missed, key=lambda k: view.regrets[k])
        said += (
            f" The most left on the table is **{view.names[worst]}**, where the optimum would save "
            f"**{percent(view.regrets[worst])}** of its loss."
        )
    elif chosen:
        best = max(
            (k for k, c in enumerate(view.choices) if c == "OPT"),
            key=lambda k: -1.0 if math.isnan(view.regrets[k]) else view.regrets[k],
        )
        said += f" It saves most on **{view.names[best]}**, {percent(view.regrets[best])} of the noise's loss."
    return said
