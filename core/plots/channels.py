"""The channels of one group: two heatmaps on one scale, and what is released for a chosen true state."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from core.certificate import locate_tight
from core.channel import Channel
from core.mechanisms.factorised import FactorisedChannel
from core.plots.palette import LOOKS, NEUTRAL, SEQUENTIAL
from core.plots.template import Mark, Picture, axis, escape, panel, percent, shorten, sig
from core.plots.template import layout as sheet

CHANNEL_HEIGHT: Final = 380
DRAWN_STATES: Final = 60
"""States up to which a channel is drawn whole."""
FREQUENT_STATES: Final = 40
"""States drawn of a larger group: the most frequent ones."""
TIGHT: Final = 6
_SCALE: Final = [[(i / (len(SEQUENTIAL) - 1)) ** 2, colour] for i, colour in enumerate(SEQUENTIAL)]
"""Cividis by the square root of the probability, so that small ones are seen too."""
_COLUMNS: Final = ((0.0, 0.31), (0.355, 0.665))
_LABEL: Final = 44


@dataclass(frozen=True, eq=False)
class ChannelView:
    """What the picture of a group's channels draws.

    Parameters
    ----------
    channels : tuple of Channel
        All compared channels of the group.
    labels : tuple of str
        Label per state, as plain text.
    row : int
        The true state whose row is shown.
    loss, distance : ndarray (n, n)
        Loss and distance of the group.
    prior : ndarray (n,)
        Share of each state.
    pair : pair of str
        Mechanisms of the two heatmaps.
    zero_information : float
        Loss of the best constant.
    """

    channels: tuple[Channel, ...]
    labels: tuple[str, ...]
    row: int
    loss: NDArray[np.float64]
    distance: NDArray[np.float64]
    prior: NDArray[np.float64]
    pair: tuple[str, str]
    zero_information: float

    @cached_property
    def drawn(self) -> NDArray[np.int64]:
        """Positions of the states that are drawn: all, or the most frequent and the chosen one."""
        if len(self.labels) <= DRAWN_STATES:
            return np.arange(len(self.labels))
        frequent = np.argsort(-self.prior, kind="stable")[:FREQUENT_STATES]
        return np.unique(np.append(frequent, self.row))

    def named(self, mechanism: str) -> Channel:
        """Return the channel of a mechanism."""
        return next(c for c in self.channels if c.mechanism == mechanism)


def plot_channels(view: ChannelView) -> Picture:
    """Draw two channels as heatmaps on one scale, and beside them their rows for the chosen true state."""
    pair = [view.named(name) for name in view.pair]
    drawn = view.drawn
    top = max(float(c.matrix[np.ix_(drawn, drawn)].max()) for c in pair)
    at, names = _state_ticks(drawn)
    ticks: Mark = {"tickvals": at, "ticktext": names, "showgrid": False}
    traces: list[Mark] = []
    axes: dict[str, Mark] = {}
    notes: list[Mark] = []
    size = len(drawn) + 0.5
    small = {"size": 13, "color": "@text"}
    for i, channel in enumerate(pair):
        number = "" if i == 0 else "2"
        traces += _heatmap(view, channel, number, top)
        axes[f"xaxis{number}"] = axis(
            "released state", domain=list(_COLUMNS[i]), anchor=f"y{number}", range=[0.5, size], **ticks
        )
        axes[f"yaxis{number}"] = axis(anchor=f"x{number}", range=[size, 0.5], **ticks, showticklabels=i == 0)
        title = f"{escape(channel.mechanism)}, loss {sig(channel.expected_loss)}"
        notes.append(panel(title, f"x{number}", f"y{number}", font=small))
    bars, highest = _bars(view, pair)
    axes["xaxis3"] = axis("released state", domain=[0.77, 1], anchor="y3", range=[0.3, size + 0.2], **ticks)
    axes["yaxis3"] = axis(anchor="x3", range=[0, 1.25 * highest], nticks=5)
    notes.append(panel(f"Probability when the truth is {view.row + 1}", "x3", "y3", font=small, xshift=-30))
    legend = {"x": 1, "y": 1, "xanchor": "right", "yanchor": "top", "orientation": "v"}
    drawing: Mark = {"annotations": notes, "barmode": "group", "bargap": 0.15, "showlegend": True, **axes}
    base = sheet(left=34, right=8, bottom=44, **drawing)
    return Picture(
        traces=[*traces, *bars],
        layout=base | {"legend": base["legend"] | legend},
        height=CHANNEL_HEIGHT,
        name="channels",
        alt=f"Channels {view.pair[0]} and {view.pair[1]} on {len(view.labels)} states.",
        table=table_row(view),
    )


def _heatmap(view: ChannelView, channel: Channel, number: str, top: float) -> list[Mark]:
    """Draw one channel; a click on a row makes its state the true one."""
    drawn = view.drawn
    names = [f"{k + 1}: {escape(shorten(view.labels[k], _LABEL))}" for k in drawn.tolist()]
    row = int(np.flatnonzero(drawn == view.row)[0])
    at: Mark = {"xaxis": f"x{number}", "yaxis": f"y{number}", "showlegend": False}
    left, right, high, low = 0.5, len(drawn) + 0.5, row + 0.5, row + 1.5
    return [
        at | {"type": "heatmap", "z": channel.matrix[np.ix_(drawn, drawn)].astype(np.float32),
              "x0": 1, "dx": 1, "y0": 1, "dy": 1, "zmin": 0, "zmax": top, "colorscale": _SCALE,
              "customdata": [[k] * len(drawn) for k in drawn.tolist()],
              "text": [[f"{x}<br>released {y}" for y in names] for x in names],
              "showscale": number != "",
              "colorbar": {"x": 0.672, "xanchor": "left", "thickness": 8, "outlinewidth": 0, "nticks": 4,
                           "tickfont": {"size": 12, "color": "@muted"}},
              "hovertemplate": "true state %{text}<br>probability %{z:.6g}<extra></extra>"},
        at | {"type": "scatter", "mode": "lines", "hoverinfo": "skip",
              "x": [left, right, right, left, left], "y": [high, high, low, low, high],
              "line": {"color": "#FFFFFF", "width": 1.5}},
    ]  # fmt: skip


def _bars(view: ChannelView, pair: Sequence[Channel]) -> tuple[list[Mark], float]:
    drawn = view.drawn
    names = [escape(shorten(view.labels[k], _LABEL)) for k in drawn.tolist()]
    colours = [_colour(c.mechanism) for c in pair]
    alike = colours[0] == colours[1]
    bars: list[Mark] = [
        {"type": "bar", "xaxis": "x3", "yaxis": "y3", "x": list(range(1, len(drawn) + 1)),
         "name": escape(shorten(channel.mechanism, 22)), "y": channel.matrix[view.row, drawn].tolist(),
         "marker": {"color": colour, **({"pattern": {"shape": "/", "size": 4}} if i and alike else {})},
         "text": names, "textposition": "none", "customdata": view.loss[view.row, drawn].tolist(),
         "hovertemplate": "%{text}<br>probability %{y:.6g}<br>loss %{customdata:.6g}<extra></extra>"}
        for i, (channel, colour) in enumerate(zip(pair, colours, strict=True))
    ]  # fmt: skip
    return bars, max(max(bar["y"]) for bar in bars)


def _colour(mechanism: str) -> str:
    if mechanism == "OPT":
        return LOOKS["OPT"].colour
    if mechanism == "constant":
        return NEUTRAL
    return LOOKS["remapped" if "remap" in mechanism else "DPN"].colour


def _state_ticks(drawn: NDArray[np.int64]) -> tuple[list[int], list[str]]:
    """Return positions and numbers of the states that are written at an axis, some ten of them."""
    step = 1 if len(drawn) <= 10 else 5 * math.ceil(len(drawn) / 50)
    at = [1, *range(step, len(drawn) + 1, step)] if step > 1 else list(range(1, len(drawn) + 1))
    return at, [str(int(drawn[i - 1]) + 1) for i in at]


def table_row(view: ChannelView) -> pd.DataFrame:
    """Return what every mechanism releases for the chosen true state, with the loss of each release."""
    released: dict[str, object] = {
        "true state": view.labels[view.row],
        "released state": list(view.labels),
        "loss": view.loss[view.row],
    }
    return pd.DataFrame(released | {c.mechanism: c.matrix[view.row] for c in view.channels})


def table_channels(view: ChannelView) -> pd.DataFrame:
    """Return loss, saving and certificate of every compared mechanism of a group."""
    channels, zero = view.channels, view.zero_information
    optimal = next((c.expected_loss for c in channels if c.mechanism == "OPT"), math.nan)
    losses = [c.expected_loss for c in channels]
    return pd.DataFrame(
        {
            "mechanism": [c.mechanism for c in channels],
            "expected loss": losses,
            "OPT would save": [max(1 - optimal / loss, 0.0) if loss > 0 else 0.0 for loss in losses],
            "against zero information": [_above(loss, zero) for loss in losses],
            "certified epsilon": [c.certified_epsilon for c in channels],
            "declared epsilon": [c.epsilon for c in channels],
        }
    )


def table_tight(view: ChannelView, mechanism: str) -> pd.DataFrame:
    """Return where the certificate of a mechanism is tight: two true states and what is released."""
    names = [f"{k + 1}: {label}" for k, label in enumerate(view.labels)]
    places = locate_tight(view.named(mechanism).weights, view.distance, TIGHT)
    return pd.DataFrame(
        {
            "true state": [names[x] for x, _, _, _ in places],
            "against": [names[z] for _, z, _, _ in places],
            "when released": [names[y] for _, _, y, _ in places],
            "epsilon": [float(e) for _, _, _, e in places],
        }
    )


def explain_channels(view: ChannelView, epsilon: float) -> str:
    """Return what the two channels say: their losses at the group's budget, and how much of them is drawn."""
    left, right = (view.named(name) for name in view.pair)
    if epsilon <= 0:
        return (
            "This group receives no budget at this total, so every channel forgets the truth: all rows are equal. "
            "Its best constant is all that is released."
        )
    said = f"At this group's budget, epsilon {sig(epsilon)}, **{left.mechanism}** loses {sig(left.expected_loss)}"
    if right is not left:
        said += f" and **{right.mechanism}** {sig(right.expected_loss)}"
    said += f"; a constant would lose {sig(view.zero_information)}."
    bound = next((c.lower_bound for c in view.channels if c.mechanism == "OPT"), math.nan)
    if bound >= 0:
        said += f" No mechanism at this budget loses less than {sig(bound)}."
    if len(view.drawn) < len(view.labels):
        share = float(view.prior[view.drawn].sum())
        said += f" Drawn: {len(view.drawn)} of {len(view.labels)} states, {percent(share)} of the records."
    return said


def table_factorised(channel: FactorisedChannel, names: Sequence[str]) -> pd.DataFrame:
    """Return the parts of a channel that perturbs a huge group attribute by attribute."""
    return pd.DataFrame(
        {
            "attribute": list(names),
            "levels": [len(part.weights) for part in channel.parts],
            "mechanism": [part.mechanism for part in channel.parts],
            "epsilon": [part.epsilon for part in channel.parts],
            "certified epsilon": [part.certified_epsilon for part in channel.parts],
        }
    )


def _above(loss: float, zero: float) -> float:
    """Return loss / zero - 1, with 0 for what is rounding only; nan where zero information loses nothing."""
    if zero <= 0:
        return math.nan
    return 0.0 if math.isclose(loss, zero, rel_tol=1e-12) else loss / zero - 1
