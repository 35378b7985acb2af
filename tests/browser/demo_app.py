"""A page with the figure component and nothing of the real app: two handles, regions, every preview, picks."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np
import pandas as pd
import streamlit as st

from core.plots import Components, Condition, Fade, Handle, Picture, Region, Ride, Sides
from core.plots.palette import DPN, OPT, group_colour
from core.plots.place import place_labels
from core.plots.template import axis, bare, escape, heading, label, layout, panel, sig
from pages._ui import figure, inputs, outputs, state
from pages._ui.shell import ROOT

NAMES = ["age", "marital status", "<b>R&D</b>", "sex", "income", "workclass", "hours", "education"]
SIZES = (5, 7, 5, 2, 12, 90, 160, 280)
SCORES = (0.33, 0.19, 0.14, 1.0, 1.0, 0.74, 0.41, 0.06)
SPOTS = np.array([(0, 0), (1, 0.1), (0.5, 0.7), (0.2, 1), (1.1, 1), (2, 0.2), (2.2, 0.9), (1.7, 0.6)], dtype=float)
EDGES = ((0, 1, 0.31), (0, 2, 0.22), (1, 2, 0.18), (2, 3, 0.12), (4, 6, 0.09), (5, 7, 0.25), (6, 7, 0.15), (0, 5, 0.03))


def plot_thresholds(tau_dim: float, tau_dpn: float, chosen: int) -> Picture:
    """Return the scatter with two draggable thresholds."""
    inside = [n <= tau_dim and s <= tau_dpn for n, s in zip(SIZES, SCORES, strict=True)]
    marks = {
        "type": "scatter",
        "mode": "markers",
        "uid": "groups",
        "x": np.array(SIZES),
        "y": np.array(SCORES),
        "customdata": list(range(len(NAMES))),
        "cliponaxis": False,
        "marker": {
            "size": 15,
            "opacity": 1,
            "color": [OPT if k else DPN for k in inside],
            "symbol": ["diamond" if k else "circle" for k in inside],
            "line": {
                "width": [3 if k == chosen else 1.5 for k in range(len(NAMES))],
                "color": ["@text" if k == chosen else "@bg" for k in range(len(NAMES))],
            },
        },
        "text": [escape(name) for name in NAMES],
        "hovertemplate": "%{text}<br>%{x} states, score %{y:.6f}<extra></extra>",
    }
    bars = {
        "type": "bar",
        "orientation": "h",
        "uid": "bars",
        "xaxis": "x2",
        "yaxis": "y2",
        "x": np.array([10.0 * k for k in range(len(NAMES))]),
        "y": list(range(len(NAMES))),
        "width": 0.5,
        "marker": {"color": [OPT if k else DPN for k in inside]},
        "hovertemplate": "%{x:.6f}<extra></extra>",
    }
    pixels = np.column_stack([(np.log10(SIZES) - 0.3) / 2.7 * 380, (1.05 - np.array(SCORES)) / 1.05 * 354])
    spots = place_labels(pixels, NAMES, radii=9, size=(380, 354))
    labels = [
        label(escape(name), float(np.log10(n)), s, spot)
        for name, n, s, spot in zip(NAMES, SIZES, SCORES, spots, strict=True)
    ]
    rules = (Condition("tau_dim", SIZES), Condition("tau_dpn", SCORES))
    return Picture(
        traces=[marks, bars],
        layout=layout(
            left=60,
            right=24,
            bottom=52,
            xaxis=axis(
                "domain size (n), states, log scale",
                type="log",
                domain=[0, 0.58],
                range=[0.3, 3],
                tickvals=[3, 10, 30, 100, 300, 1000],
            ),
            yaxis=axis(range=[0, 1.05], dtick=0.2, tickformat=".1f"),
            xaxis2=axis("regret, %", domain=[0.72, 1], range=[0, 100], anchor="y2", dtick=25),
            yaxis2=bare(anchor="x2", range=[-0.6, len(NAMES) - 0.4]),
            annotations=[
                heading("Score (S): how well the noise fits the task", 60),
                panel("Regret, %", "x2", "y2"),
                *labels,
            ],
        ),
        height=440,
        name="thresholds",
        alt=f"{sum(inside)} of {len(NAMES)} groups are optimised",
        handles=(
            Handle("tau_dim", tau_dim, 2, 1000, 1, "Largest domain", whole=True, snap=SIZES),
            Handle("tau_dpn", tau_dpn, 0, 1, 0.01, "Score threshold", "y", "yaxis", "xaxis", snap=SCORES),
        ),
        regions=(Region((None, "tau_dim"), (None, "tau_dpn"), fill="@opt", label="OPT region"),),
        previews=(
            Sides("groups", rules, (OPT, "diamond"), (DPN, "circle")),
            Sides("bars", rules, (OPT, "diamond"), (DPN, "circle"), order=tuple(range(len(NAMES)))),
        ),
        table=pd.DataFrame({"group": NAMES, "states": SIZES, "score": SCORES}),
    )


def roots(tau: float) -> list[int]:
    """Return the smallest member of every node's group, by brute force."""
    root = list(range(len(NAMES)))
    for i, j, weight in EDGES:
        if weight > tau:
            low, high = sorted((root[i], root[j]))
            root = [low if k == high else k for k in root]
    return root


def plot_graph(tau: float) -> Picture:
    """Return a graph whose edges fade and whose nodes recolour, beside its staircase."""
    root = roots(tau)
    alone = [root.count(r) == 1 for r in root]
    lines = [
        {
            "type": "scatter",
            "mode": "lines",
            "uid": f"e{i}_{j}",
            "x": SPOTS[[i, j], 0],
            "y": SPOTS[[i, j], 1],
            "line": {"width": 2 + 16 * w, "color": group_colour([root[i]]) if w > tau else "@neutral"},
            "hoverinfo": "skip",
        }
        for i, j, w in EDGES
    ]
    nodes = {
        "type": "scatter",
        "mode": "markers+text",
        "uid": "nodes",
        "x": SPOTS[:, 0],
        "y": SPOTS[:, 1],
        "text": [escape(name) for name in NAMES],
        "textposition": "bottom center",
        "marker": {
            "size": 20,
            "opacity": 1,
            "color": ["@bg" if a else group_colour([r]) for a, r in zip(alone, root, strict=True)],
            "line": {"width": 2, "color": ["@neutral" if a else "@ring" for a in alone]},
        },
        "hovertemplate": "%{text}<extra></extra>",
    }
    cuts = [0.0, *sorted(w for *_, w in EDGES)]
    counts = [len(set(roots(t))) for t in cuts]
    at = max(k for k, t in enumerate(cuts) if t <= tau)
    stairs = {
        "type": "scatter",
        "mode": "lines",
        "xaxis": "x2",
        "yaxis": "y2",
        "x": [*cuts, 0.4],
        "y": [*counts, counts[-1]],
        "line": {"shape": "hv", "width": 2.5, "color": "@text"},
    }
    dot = {
        "type": "scatter",
        "mode": "markers",
        "uid": "dot",
        "xaxis": "x2",
        "yaxis": "y2",
        "x": [tau],
        "y": [counts[at]],
        "marker": {"size": 12, "color": "@text", "line": {"width": 2, "color": "@bg"}},
        "hoverinfo": "skip",
    }
    ticks = [w for *_, w in EDGES]
    return Picture(
        traces=[*lines, nodes, stairs, dot],
        layout=layout(
            left=8,
            right=10,
            xaxis=bare(domain=[0, 0.58], range=[-0.3, 2.5]),
            yaxis=bare(range=[-0.2, 1.2]),
            xaxis2=axis(
                "threshold (tau), NMI", domain=[0.66, 1], range=[0, 0.4], anchor="y2", showgrid=False, dtick=0.1
            ),
            yaxis2=axis(range=[0, 9], anchor="x2", dtick=2),
            annotations=[heading("Shared information (NMI)", 8), panel("Number of groups (K)", "x2", "y2", xshift=-26)],
        ),
        height=360,
        name="graph",
        alt=f"{len(set(root))} groups at threshold {sig(tau)}",
        handles=(
            Handle(
                "tau",
                tau,
                0,
                0.4,
                0.005,
                "Grouping threshold",
                axis="xaxis2",
                across="yaxis2",
                digits=3,
                snap=tuple(ticks),
            ),
        ),
        regions=(
            Region((None, "tau"), axes=("xaxis2", "yaxis2"), dim=0.55),
            Region((None, 0.02), axes=("xaxis2", "yaxis2"), label="noise floor", place="beside"),
        ),
        previews=(
            Components("tau", "nodes", tuple((f"e{i}_{j}", i, j, w) for i, j, w in EDGES)),
            Fade("tau", {}),
            Ride("tau", "dot", tuple(cuts), tuple(float(c) for c in counts), steps=True),
        ),
    )


st.set_page_config(layout="wide", initial_sidebar_state=240)
st.html(ROOT / "pages" / "_ui" / "style.css")
figure.prepare(Path(__file__).parent / "static")
with st.sidebar:
    inputs.slider("epsilon", bounds=(0.25, 10.0), step=0.25)
scenario = state.scenario()
tau_dpn = 0.3 if scenario.tau_dpn is None else scenario.tau_dpn
chosen = state.option("chosen", 0)

outputs.head(
    "Which groups deserve an optimal mechanism?",
    "Small domain and low score: plain distance noise fits the task badly there, and the optimum is affordable.",
)
main, controls = outputs.bench()
with main:
    figure.figure(
        plot_thresholds(scenario.tau_dim, tau_dpn, chosen),
        key="thresholds",
        on_drag=lambda v: state.update(tau_dim=int(v["tau_dim"]), tau_dpn=v["tau_dpn"]),
        on_pick=lambda k: state.set_option("chosen", int(k)),
    )
with controls:
    inputs.number("tau_dim")
    inputs.number(inputs.knob("tau_dpn", 0.3))
    outputs.key(("diamond", OPT, "OPT, optimal channel"), ("circle", DPN, "DPN, distance noise"))
outputs.means(f"The chosen group is **{NAMES[chosen]}**; tau_dim is **{scenario.tau_dim}**, tau_dpn **{tau_dpn:.2f}**.")
figure.figure(plot_graph(scenario.tau_group), key="graph", on_drag=lambda v: state.update(tau_group=v["tau"]))
st.text(f"values {scenario.tau_dim} {tau_dpn:g} {scenario.tau_group:g} {chosen}")
outputs.tabs(
    numbers=plot_thresholds(scenario.tau_dim, tau_dpn, chosen).table,
    method="Optimised where $n \\le \\tau_{dim}$ and $S \\le \\tau_{dpn}$.",
)
