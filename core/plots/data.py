"""Histograms of the attributes as read, with the levels that a mechanism sees drawn over them."""

import math
import re
from collections.abc import Sequence
from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from core.coding import to_numbers
from core.domain import Attribute, Records
from core.plots.graph import short_names
from core.plots.template import MINUS, Mark, Picture, bare, escape, heading, layout, note, percent, shorten, sig, small
from core.table import Table

HEIGHT: Final = 440
CELLS: Final = 15
"""Attributes shown at a time as small multiples."""
SLOTS: Final = 6
"""Bars for which a small histogram of levels leaves room at least, so that two levels are no walls."""
FINE: Final = 48
"""Bars of the histogram of values as read."""
_PEAK: Final = 2.2
"""Where the fine histogram is cut off, in heights of the tallest bin: a spike must not flatten everything else."""
MISSING_GAP: Final = 0.05
MISSING_WIDTH: Final = 0.07
_LONGEST_NAME: Final = 15
_GRID: Final = ((1, 1), (2, 2), (3, 3), (4, 2), (6, 3), (8, 4), (CELLS, 5))
"""Up to how many cells stand in how many columns."""
_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d")


# ---- what is drawn of one attribute ----


def level_counts(records: Records, position: int) -> NDArray[np.int64]:
    """Return the records per level of the attribute at `position`."""
    counts: NDArray[np.int64] = np.bincount(
        records.codes[:, position], minlength=records.attributes[position].size
    ).astype(np.int64)
    return counts


def table_levels(records: Records) -> pd.DataFrame:
    """Return one row per attribute and level: how many records have it."""
    parts = [
        pd.DataFrame(
            {
                "attribute": a.name,
                "level": list(a.levels),
                "records": (counts := level_counts(records, i)),
                "share": counts / max(len(records), 1),
            }
        )
        for i, a in enumerate(records.attributes)
    ]
    return pd.concat(parts, ignore_index=True)


def bin_count(attribute: Attribute) -> int:
    """Return the number of levels without the missing one."""
    return attribute.size - attribute.has_missing


def is_binned(attribute: Attribute) -> bool:
    """Return whether an attribute has bins of some width."""
    return attribute.edges is not None and bool(attribute.edges[-1] > attribute.edges[0])


def present_values(records: Records, table: Table, *, attribute: Attribute) -> NDArray[np.float64]:
    """Return the numbers of a column as read, in the records kept, without missing ones."""
    numbers = to_numbers(table.frame.iloc[records.rows, attribute.column], attribute.name)
    return numbers[~np.isnan(numbers)]


def _fine_edges(values: NDArray[np.float64], *, low: float, high: float, most: int) -> NDArray[np.float64]:
    """Return the edges of the histogram of values as read: one bar per whole number where these are few."""
    if values.size and high - low <= 2 * most and bool((values == np.floor(values)).all()):
        return np.arange(math.ceil(low), math.floor(high) + 2, dtype=np.float64) - 0.5
    return np.linspace(low, high, most + 1, dtype=np.float64)


def _density(counts: NDArray[np.int64], widths: NDArray[np.float64], *, total: int, span: float) -> NDArray[np.float64]:
    """Return heights whose areas are shares: 1 everywhere if the values were spread evenly."""
    return np.asarray(counts / max(total, 1) / (widths / span), dtype=np.float64)


def numeric_traces(records: Records, table: Table, *, position: int, axes: Mark, fine: int) -> tuple[list[Mark], float]:
    """Return the bars of the values as read, the outlines of the bins over them, and the top of the axis."""
    attribute = records.attributes[position]
    edges = attribute.edges if attribute.edges is not None else np.array([0.0, 1.0])
    low, span = float(edges[0]), float(edges[-1] - edges[0])
    counts = level_counts(records, position)
    heights = _density(counts[: bin_count(attribute)], np.diff(edges), total=len(records), span=span)
    values = present_values(records, table, attribute=attribute)
    cuts = _fine_edges(values, low=low, high=float(edges[-1]), most=fine)
    raw = _density(
        np.histogram(np.clip(values, cuts[0], cuts[-1]), cuts)[0], np.diff(cuts), total=len(records), span=span
    )
    top = max(float(heights.max(initial=0.0)), 1e-9)
    as_read = {
        **axes,
        "type": "bar",
        "x": (cuts[:-1] + cuts[1:]) / 2,
        "y": np.minimum(raw, _PEAK * top).astype(np.float32),
        "width": np.diff(cuts),
        "marker": {"color": "@line", "line": {"width": 0}},
        "hoverinfo": "skip",
        "customdata": [attribute.column] * (len(cuts) - 1),
    }
    bins = _outlined(attribute, axes, counts=counts[: bin_count(attribute)], total=len(records))
    bins |= {"x": (edges[:-1] + edges[1:]) / 2, "y": heights, "width": np.diff(edges)}
    traces = [as_read, bins]
    if attribute.has_missing:
        hollow = _outlined(attribute, axes, counts=counts[-1:], total=len(records), missing=True)
        at, width = float(edges[-1]) + (MISSING_GAP + MISSING_WIDTH / 2) * span, MISSING_WIDTH * span
        share = _density(counts[-1:], np.array([width]), total=len(records), span=span)
        traces.append(hollow | {"x": [at], "y": np.minimum(share, _PEAK * top), "width": [width]})
    return traces, 1.06 * max(float(np.max(trace["y"], initial=top)) for trace in traces)


def _outlined(
    attribute: Attribute, axes: Mark, *, counts: NDArray[np.int64], total: int, missing: bool = False
) -> Mark:
    """Return the bars of levels, without positions: hollow outlines that tell their records under the pointer."""
    names = attribute.levels[-1:] if missing else attribute.levels[: len(counts)]
    return {
        **axes,
        "type": "bar",
        "marker": {
            "color": "rgba(0,0,0,0)",
            "line": {"width": 1.5, "color": "@neutral" if missing else "@text"},
        },
        "customdata": [attribute.column] * len(counts),
        "text": [
            f"{escape(attribute.name)}: {escape(name)}<br>{count:,} records, {percent(count / max(total, 1))}"
            for name, count in zip(names, counts.tolist(), strict=True)
        ],
        "textposition": "none",
        "hovertemplate": "%{text}<extra></extra>",
    }


def level_traces(records: Records, position: int, *, axes: Mark, order: Sequence[int]) -> tuple[list[Mark], float]:
    """Return one bar per level in the given order, a missing level hollow, and the top of the axis."""
    attribute = records.attributes[position]
    counts = level_counts(records, position)[list(order)]
    bars = _outlined(attribute, axes, counts=level_counts(records, position), total=len(records))
    hollow = [attribute.has_missing and k == attribute.size - 1 for k in order]
    bars |= {
        "x": list(range(len(order))),
        "y": counts / max(len(records), 1),
        "width": 0.8,
        "text": [bars["text"][k] for k in order],
        "customdata": [attribute.column] * len(order),
        "marker": {
            "color": ["rgba(0,0,0,0)" if h else "@line" if len(order) <= CELLS else "@neutral" for h in hollow],
            "line": {
                "width": 1.5 if len(order) <= CELLS else 0,
                "color": ["@neutral" if h else "@text" for h in hollow],
            },
        },
    }
    return [bars], 1.06 * float(counts.max(initial=1)) / max(len(records), 1)


def level_order(attribute: Attribute, counts: NDArray[np.int64]) -> list[int]:
    """Return ordered levels as they are, others by falling count, the missing level last."""
    proper = list(range(bin_count(attribute)))
    if attribute.kind == "nominal":
        proper.sort(key=lambda k: (-int(counts[k]), k))
    return proper + list(range(bin_count(attribute), attribute.size))


# ---- all attributes ----


def plot_columns(records: Records, table: Table, *, shown: Sequence[int]) -> Picture:
    """Draw small histograms of some attributes; a click on one tells its column.

    Grey is the table as read, the outlines are the levels: all that a mechanism sees. Areas are shares of the records.

    Parameters
    ----------
    records : Records
        The coded table.
    table : Table
        The same table as read.
    shown : sequence of int
        Positions of the attributes, at most `CELLS`.
    """
    across = next(a for most, a in _GRID if len(shown) <= most)
    rows = max(math.ceil(len(shown) / across), 1)
    traces: list[Mark] = []
    axes: Mark = {}
    words: list[Mark] = [heading("Share of the records, by value (grey) and by level (outlined)", 2, yshift=30)]
    names = short_names([records.attributes[i].name for i in shown], _LONGEST_NAME if across == 5 else 24)
    for cell, position in enumerate(shown):
        number = "" if cell == 0 else str(cell + 1)
        drawn, x_axis, y_axis, text = _cell(records, table, position=position, name=names[cell], number=number)
        row, column = divmod(cell, across)
        x_axis["domain"], y_axis["domain"] = _place(column, across, gap=0.1), _place(row, rows, gap=0.46, down=True)
        axes |= {f"xaxis{number}": x_axis, f"yaxis{number}": y_axis}
        traces += drawn
        words += text
    return Picture(
        traces=traces,
        layout=layout(left=2, right=2, top=58, bottom=22, barmode="overlay", bargap=0, annotations=words, **axes),
        height=HEIGHT,
        name="attributes",
        alt=f"Histograms of {len(shown)} attributes with their levels.",
        table=table_levels(records),
    )


def _place(index: int, count: int, *, gap: float, down: bool = False) -> list[float]:
    """Return the share of the figure that cell `index` of `count` takes, with gaps of `gap` cells between."""
    size = 1 / (count + gap * (count - 1))
    start = index * size * (1 + gap)
    return [max(0.0, 1 - start - size), 1 - start] if down else [start, min(1.0, start + size)]


def _cell(
    records: Records, table: Table, *, position: int, name: str, number: str
) -> tuple[list[Mark], Mark, Mark, list[Mark]]:
    """Return the traces, the two axes and the words of one small histogram."""
    attribute = records.attributes[position]
    names = {"xaxis": f"x{number}", "yaxis": f"y{number}"}
    counts = level_counts(records, position)
    if is_binned(attribute) and attribute.edges is not None:
        traces, top = numeric_traces(records, table, position=position, axes=names, fine=FINE)
        low, high = float(attribute.edges[0]), float(attribute.edges[-1])
        extra = (MISSING_GAP + MISSING_WIDTH) * (high - low) if attribute.has_missing else 0.0
        ends, below = [low, high + extra], _ends_text(attribute, names)
        unit = "bins"
    else:
        order = level_order(attribute, counts)
        traces, top = level_traces(records, position, axes=names, order=order)
        ends, below = [-0.6, max(len(order), SLOTS) - 0.4], [_commonest(attribute, counts, names=names)]
        unit = "levels"
    title = small(escape(name), names["xaxis"], names["yaxis"])
    size = _corner(f"{attribute.size} {unit}", names) | {"y": 1, "yanchor": "bottom", "yshift": 3}
    x_axis = bare(range=ends, anchor=names["yaxis"])
    y_axis = bare(range=[0, top], anchor=names["xaxis"])
    return traces, x_axis, y_axis, [title, size, *below]


def _corner(text: str, names: Mark, *, right: bool = True) -> Mark:
    """Return a quiet word under a cell, at its left or right end."""
    return note(
        text,
        xref=f"{names['xaxis']} domain",
        yref=f"{names['yaxis']} domain",
        x=1 if right else 0,
        y=0,
        xanchor="right" if right else "left",
        yanchor="top",
        yshift=-2,
    )


def _ends_text(attribute: Attribute, names: Mark) -> list[Mark]:
    low, *_, high = edge_texts(attribute, digits=4)
    # The missing level's bar stands right of the highest value.
    place = 1 / (1 + MISSING_GAP + MISSING_WIDTH) if attribute.has_missing else 1
    return [_corner(escape(low), names, right=False), _corner(escape(high), names) | {"x": place}]


def edge_texts(attribute: Attribute, *, digits: int = 6) -> list[str]:
    """Return the bin edges as text: dates as the labels of the bins write them, numbers with few digits."""
    edges = [] if attribute.edges is None else attribute.edges.tolist()
    labels = attribute.levels[: bin_count(attribute)]
    if _DATE.match(labels[0]) and " to " in labels[0]:
        return [labels[0].split(" to ")[0], *(label.split(" to ")[1] for label in labels)]
    return [_number_text(edge, digits) for edge in edges]


def _number_text(value: float, digits: int) -> str:
    """Return a number without trailing zeros, whole from four digits on."""
    if abs(value) >= 10 ** (digits - 1):
        return f"{value:,.0f}".replace("-", MINUS) if abs(value) < 1e9 else sig(value)
    return f"{value:.{digits}g}".replace("-", MINUS)


def _commonest(attribute: Attribute, counts: NDArray[np.int64], *, names: Mark) -> Mark:
    best = int(np.argmax(counts))
    share = percent(counts[best] / max(counts.sum(), 1))
    return _corner(f"{escape(shorten(attribute.levels[best], 14))} · {share}", names, right=False)
