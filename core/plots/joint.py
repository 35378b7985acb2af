"""The joint counts of two attributes, small enough to stand beside the graph in which they were clicked."""

from typing import Final

import numpy as np

from core.domain import Records
from core.mutual_information import joint_counts
from core.plots.palette import CIVIDIS
from core.plots.template import Mark, Picture, axis, escape, note, shorten
from core.plots.template import layout as sheet

WIDTH: Final = 200
_TALLEST: Final = 190
_CELL: Final = 24
_LETTERS: Final = 26
_WRITTEN: Final = 40
_ACROSS: Final = 5
"""Largest table, and most columns, whose counts are written into the cells."""


def plot_joint_small(records: Records, pair: tuple[int, int]) -> Picture:
    """Draw the joint counts of two attributes as a small heatmap; levels and counts are under the pointer.

    Parameters
    ----------
    records : Records
        The coded table.
    pair : (int, int)
        Two attributes; the one with more levels is drawn downwards.
    """
    first, second = sorted(pair, key=lambda k: (-records.attributes[k].size, k))
    down, across = records.attributes[first], records.attributes[second]
    counts = joint_counts(records.codes, first, second, shape=(down.size, across.size))
    hover = [
        [f"{escape(a)}, {escape(b)}<br>{counts[r, c]:,} records" for c, b in enumerate(across.levels)]
        for r, a in enumerate(down.levels)
    ]
    tall = int(np.clip(_CELL * down.size, 60, _TALLEST))
    name = {"size": 12, "color": "@text"}
    written: Mark = {}
    if counts.size <= _WRITTEN and across.size <= _ACROSS:
        written = {"text": counts.tolist(), "texttemplate": "%{text:,}", "textfont": {"size": 12}}
    return Picture(
        traces=[
            written
            | {"type": "heatmap", "z": counts.astype(np.float32), "zmin": 0, "colorscale": CIVIDIS, "xgap": 1,
             "ygap": 1, "customdata": hover, "hovertemplate": "%{customdata}<extra></extra>", "showscale": False}
        ],
        layout=sheet(
            left=2,
            right=2,
            top=22,
            bottom=22,
            xaxis=axis(showgrid=False, showticklabels=False),
            yaxis=axis(showgrid=False, showticklabels=False, autorange="reversed"),
            annotations=[
                note(f"↓ {escape(shorten(down.name, _LETTERS))}", xref="paper", yref="paper", x=0, y=1, font=name,
                     xanchor="left", yanchor="bottom", yshift=3),
                note(f"{escape(shorten(across.name, _LETTERS))} →", xref="paper", yref="paper", x=1, y=0, font=name,
                     xanchor="right", yanchor="top", yshift=-3),
            ],
        ),
        height=tall + 44,
        name="joint_counts",
        alt=f"Joint counts of {down.name} and {across.name}.",
    )  # fmt: skip
