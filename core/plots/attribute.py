"""One attribute large: its bins with edges that can be dragged, or its levels by name."""

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from core.domain import Records
from core.plots.data import (
    HEIGHT,
    MISSING_GAP,
    MISSING_WIDTH,
    edge_texts,
    is_binned,
    level_counts,
    level_order,
    level_traces,
    numeric_traces,
    present_values,
    table_levels,
)
from core.plots.interaction import Handle
from core.plots.template import Mark, Picture, axis, bare, escape, heading, layout, note, percent, shorten, sig
from core.table import Table

FINE_LARGE: Final = 96
ROWS: Final = 18
"""Levels that fit as named bars."""
UPRIGHT: Final = 8
"""Levels up to which short names stand under upright bars."""
HANDLES: Final = 8
"""Inner bin edges up to which each is a handle, where they are far enough apart for their flags."""
_FLAG_ROOM: Final = 0.085
"""Share of the axis that a flag needs."""
_CHARACTER: Final = 6.4
_LEFT: Final = 12


def plot_column(records: Records, table: Table, *, position: int) -> Picture:
    """Draw one attribute large; the inner edges of a numeric one are handles named 'edge1', 'edge2' and so on.

    Parameters
    ----------
    records : Records
        The coded table.
    table : Table
        The same table as read.
    position : int
        Position of the attribute in `records.attributes`.
    """
    attribute = records.attributes[position]
    if is_binned(attribute):
        return _plot_bins(records, table, position)
    return _plot_levels(records, position)


def _plot_bins(records: Records, table: Table, position: int) -> Picture:
    attribute = records.attributes[position]
    edges = attribute.edges if attribute.edges is not None else np.array([0.0, 1.0])
    low, high = float(edges[0]), float(edges[-1])
    axes = {"xaxis": "x", "yaxis": "y"}
    traces, top = numeric_traces(records, table, position=position, axes=axes, fine=FINE_LARGE)
    counts = level_counts(records, position)
    extra = (MISSING_GAP + MISSING_WIDTH) * (high - low) if attribute.has_missing else 0.0
    shares = [percent(c / max(len(records), 1)) for c in counts.tolist()]
    words = [heading(f"{escape(shorten(attribute.name))}: share of the records in each of {len(edges) - 1} bins", 12)]
    words += [
        note(
            text,
            x=float(x),
            y=float(y),
            xanchor="center",
            yanchor="bottom",
            yshift=2,
            font={"size": 12, "color": "@text"},
        )
        for x, y, text in zip(traces[1]["x"], traces[1]["y"], shares[: len(edges) - 1], strict=True)
        if len(edges) - 1 <= ROWS
    ]
    if attribute.has_missing:
        words.append(note("missing", x=high + extra, y=0, xanchor="right", yanchor="top", yshift=-6))
    return Picture(
        traces=traces,
        layout=layout(
            left=12,
            right=30,
            bottom=52,
            barmode="overlay",
            bargap=0,
            xaxis=axis(
                escape(attribute.name),
                range=[low, high + extra],
                showgrid=False,
                tickvals=edges,
                ticktext=[escape(t) for t in edge_texts(attribute)],
            ),
            yaxis=bare(range=[0, 1.08 * top]),
            annotations=words,
        ),
        height=HEIGHT,
        name="attribute",
        alt=f"Histogram of {attribute.name} with {len(edges) - 1} bins from {sig(low)} to {sig(high)}.",
        handles=_edge_handles(edges, present_values(records, table, attribute=attribute)),
        table=table_levels(records).query("attribute == @attribute.name"),
    )


def _edge_handles(edges: NDArray[np.float64], values: NDArray[np.float64]) -> tuple[Handle, ...]:
    """Return the inner edges as handles, none where their flags would cover each other."""
    span = float(edges[-1] - edges[0])
    inner = edges[1:-1].tolist()
    near = len(inner) > 1 and float(np.diff(edges[1:-1]).min()) < _FLAG_ROOM * span
    if not inner or len(inner) > HANDLES or near:
        return ()
    whole = bool((values == np.floor(values)).all()) and span >= 4 * len(edges)
    digits = max(0, 2 - math.floor(math.log10(span)))
    step = 1.0 if whole else 10.0**-digits
    room = 2 * step
    return tuple(
        Handle(
            f"edge{k}",
            value,
            float(edges[k - 1]) + room,
            float(edges[k + 1]) - room,
            step,
            f"Bin edge {k}",
            digits=min(digits, 6),
        )
        for k, value in enumerate(inner, start=1)
        if float(edges[k + 1]) - float(edges[k - 1]) > 4 * room
    )


def _plot_levels(records: Records, position: int) -> Picture:
    attribute = records.attributes[position]
    counts = level_counts(records, position)
    order = level_order(attribute, counts)
    words = [heading(f"{escape(shorten(attribute.name))}: share of the records in each of {attribute.size} levels", 12)]
    names = [shorten(attribute.levels[k], 30) for k in order]
    upright = len(order) <= UPRIGHT and max(len(n) for n in names) * _CHARACTER < 700 / len(order)
    drawn = order if upright else order[:ROWS]
    (bars,), top = level_traces(records, position, axes={"xaxis": "x", "yaxis": "y"}, order=drawn)
    shares = [f"{percent(counts[k] / max(len(records), 1))}" for k in drawn]
    if len(drawn) < len(order):
        rest = int(counts[order[ROWS:]].sum())
        words.append(
            note(
                f"{len(order) - ROWS} more levels with {rest:,} records are in the table below",
                xref="paper",
                yref="paper",
                x=1,
                y=1,
                xanchor="right",
                yanchor="bottom",
                yshift=10,
            )
        )
    across = axis(range=[-0.6, len(drawn) - 0.4], showgrid=False, tickvals=list(range(len(drawn))))
    across["ticktext"] = [escape(n) for n in names[: len(drawn)]]
    along = bare(range=[0, 1.1 * top])
    bars["width"] = 0.5 if upright else 0.7
    left = 12
    if not upright:
        bars |= {"x": bars["y"], "y": bars["x"], "orientation": "h"}
        across |= {"range": across["range"][::-1]}
        left = int(14 + _CHARACTER * max(len(n) for n in names[: len(drawn)]))
        words[0]["xshift"] = -left
    words += [
        _share_text(k, float(counts[code]) / max(len(records), 1), text, upright)
        for k, (code, text) in enumerate(zip(drawn, shares, strict=True))
    ]
    return Picture(
        traces=[bars],
        layout=layout(
            left=left,
            right=60 if not upright else 12,
            bottom=36 if upright else 12,
            bargap=0,
            xaxis=across if upright else along,
            yaxis=along if upright else across,
            annotations=words,
        ),
        height=HEIGHT,
        name="attribute",
        alt=f"Records per level of {attribute.name}.",
        table=table_levels(records).query("attribute == @attribute.name"),
    )


def _share_text(index: int, share: float, text: str, upright: bool) -> Mark:
    place = {"x": index, "y": share, "xanchor": "center", "yanchor": "bottom", "yshift": 2}
    if not upright:
        place = {"x": share, "y": index, "xanchor": "left", "yanchor": "middle", "xshift": 6}
    return note(text, font={"size": 12, "color": "@text"}, **place)
