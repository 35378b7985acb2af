"""Figures of an evaluation without the app: losses by method, sweeps, reduced domains, the attacker."""

from typing import Final

import pandas as pd

from core.plots.evaluation_looks import line, look_of
from core.plots.palette import CATEGORICAL
from core.plots.template import Mark, Picture, axis, escape, heading, sig
from core.plots.template import layout as sheet

HEIGHT: Final = 460
LEFT: Final = 56
RIGHT: Final = 190
_AXES: Final = {
    "loss": "Loss",
    "groups": "Number of groups",
    "run_time": "Run time from scratch (seconds)",
    "tau_group": "grouping threshold (tau_group)",
    "tau_dpn": "score threshold (tau_dpn)",
}


def _picture(lines: list[Mark], title: str, across: str, *, name: str, alt: str, table: pd.DataFrame) -> Picture:
    frame = sheet(
        left=LEFT,
        right=RIGHT,
        xaxis=axis(across),
        yaxis=axis(rangemode="tozero", nticks=6),
        annotations=[heading(title, LEFT)],
        showlegend=True,
        legend={"x": 1.02, "y": 1, "xanchor": "left", "bgcolor": "rgba(0,0,0,0)", "font": {"color": "@text"}},
    )
    return Picture(lines, frame, HEIGHT, name, alt, table=table)


def plot_methods(frame: pd.DataFrame, unit: str) -> Picture:
    """Draw the loss of every method against the budget, with 1.96 standard deviations between repeats."""
    lines: list[Mark] = []
    for i, (method, part) in enumerate(frame.groupby("method", sort=False)):
        drawn = line(str(method), part["epsilon"].tolist(), part["loss"].tolist(), look_of(str(method), i))
        spread = {"type": "data", "array": (1.96 * part["sd"]).tolist(), "thickness": 1, "width": 3}
        lines.append(drawn | {"error_y": spread})
    last = frame[frame["epsilon"] == frame["epsilon"].max()].sort_values("loss").iloc[0]
    alt = (
        f"Loss by method and epsilon; at epsilon {last['epsilon']:g} {last['method']} loses least, {sig(last['loss'])}."
    )
    return _picture(
        lines, f"Loss of test records ({unit})", "privacy budget (epsilon)", name="evaluation", alt=alt, table=frame
    )


def plot_sweep(frame: pd.DataFrame, x: str, y: str) -> Picture:
    """Draw loss, number of groups or run time against a threshold, one line per method and budget."""
    by = ["method"] if y == "groups" else ["method", "epsilon"]
    lines = []
    for i, (key, part) in enumerate(frame.groupby(by, sort=False)):
        words = key if isinstance(key, tuple) else (key,)
        name = str(words[0]) + (f", epsilon {words[1]:g}" if len(words) > 1 else "")
        colour = CATEGORICAL[i % len(CATEGORICAL)]
        kept = part.drop_duplicates(x)
        dash = "dash" if str(words[0]).endswith("r") else "solid"
        lines.append(line(name, kept[x].tolist(), kept[y].tolist(), (colour, dash, "circle")))
    limit = f", largest domain {int(frame['tau_dim'].iloc[0])}" if "tau_dim" in frame else ""
    alt = f"{_AXES[y]} against the {_AXES[x]}{limit}."
    return _picture(lines, f"{_AXES[y]}{limit}", _AXES[x], name=f"sweep_{x}_{y}", alt=alt, table=frame)


def plot_reduced(frame: pd.DataFrame) -> Picture:
    """Draw how the loss reduction of each design against all-DPN spreads over configurations and budgets."""
    boxes: list[Mark] = []
    for method, part in frame.groupby("method", sort=False):
        colour = look_of(str(method), len(boxes))[0]
        boxes.append(
            {"type": "box", "name": escape(method), "y": part["loss_reduction"].tolist(), "boxpoints": "all",
             "line": {"color": colour}, "marker": {"color": colour, "size": 4}, "jitter": 0.4, "pointpos": 0}
        )  # fmt: skip
    alt = f"Loss reduction against all-DPN on {frame['configuration'].nunique()} reduced domains, in percent."
    return _picture(boxes, "Loss reduction against all-DPN (%)", "", name="reduced", alt=alt, table=frame)


def plot_attacker(frame: pd.DataFrame) -> Picture:
    """Draw the attacker's mean gain over attributes and groups, posterior minus prior success, against the budget."""
    gains = frame.assign(gain=100.0 * (frame["posterior"] - frame["prior"]))
    mean = gains.groupby(["method", "epsilon"], sort=False, as_index=False)["gain"].mean()
    lines = [
        line(str(method), part["epsilon"].tolist(), part["gain"].tolist(), look_of(str(method), i))
        for i, (method, part) in enumerate(mean.groupby("method", sort=False))
    ]
    alt = "What a Bayesian attacker gains over guessing from the prior, mean over attributes and groups."
    return _picture(
        lines, "Gain of the attacker (percentage points)", "privacy budget (epsilon)", name="attacker", alt=alt,
        table=frame,
    )  # fmt: skip
