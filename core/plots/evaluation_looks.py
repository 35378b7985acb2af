"""How the compared methods look, and what the figures of an evaluation share: lines, bands, names at their ends."""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import pandas as pd

from core.plots.palette import CATEGORICAL, LOOKS
from core.plots.template import Mark, escape, note, shorten

GREY: Final = "#8A9299"
"""A neutral that is seen on both backgrounds, for glyphs inside a label: a token is not resolved there."""
_JOINT: Final = "#AA4499"
_SPLIT: Final = "#882255"
LOOK: Final[Mapping[str, tuple[str, str, str]]] = {
    "SPL+DPN": (LOOKS["DPN"].colour, "dot", "circle-open"),
    "ALC+DPN": (LOOKS["DPN"].colour, "solid", "circle"),
    "SPL+RMP": (LOOKS["remapped"].colour, "dot", "triangle-up-open"),
    "ALC+RMP": (LOOKS["remapped"].colour, "dash", "triangle-up"),
    "DepHDP-m": (LOOKS["OPT"].colour, "solid", "diamond"),
    "DepHDP-r": (LOOKS["OPT"].colour, "dash", "diamond-open"),
    "DepHDP-m-s": (_SPLIT, "solid", "cross"),
    "DepHDP-r-s": (_SPLIT, "dash", "cross-open"),
    "DepHDP tuned": (LOOKS["tuned"].colour, "solid", "square"),
    "DepHDP joint": (_JOINT, "solid", "star"),
    "Bound-m": ("@neutral", "dot", "line-ew-open"),
    "Bound-r": ("@neutral", "dashdot", "line-ew-open"),
    "zero information": ("@neutral", "longdash", "line-ew"),
    "full OPT": ("@text", "solid", "star"),
    "group OPT": (LOOKS["OPT"].colour, "solid", "hexagon"),
    "all-DPN": (LOOKS["DPN"].colour, "solid", "circle"),
}
"""Colour, dash and symbol per method; other methods take the next free colour."""
_GLYPHS: Final = {
    "circle": "●", "circle-open": "○", "triangle-up": "▲", "triangle-up-open": "△", "diamond": "◆", "square": "■",
    "diamond-open": "◇", "cross": "✚", "cross-open": "✛", "star": "★", "line-ew-open": "┈", "hexagon": "⬢",
    "line-ew": "╌",
}  # fmt: skip
_UNIT: Final = 48
"""Characters of a unit in a heading."""
_ROUNDING: Final = 1e-12
GAP: Final = 17.0
"""Pixels between two names at the ends of lines."""


def look_of(name: str, position: int) -> tuple[str, str, str]:
    """Return colour, dash and symbol of a method."""
    return LOOK.get(name, (CATEGORICAL[position % len(CATEGORICAL)], "solid", "circle"))


def brief_unit(unit: str) -> str:
    """Return a unit as it fits a heading: without what is counted in it, and no longer than a few words.

    Examples
    --------
    >>> brief_unit("bits: changes of the marginal entropies"), brief_unit("share of records")
    ('bits', 'share of records')
    """
    return shorten(unit.split(":", maxsplit=1)[0], _UNIT)


def settle(values: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """Return a table in which what is but a rounding error of its row is 0.

    Parameters
    ----------
    values : DataFrame
        The table.
    columns : sequence of str
        Losses and parts of them; the largest of a row says what is small.

    Examples
    --------
    >>> settle(pd.DataFrame({"loss": [8.0], "shift": [1e-15]}), ["loss", "shift"])["shift"].tolist()
    [0.0]
    """
    parts = values[list(columns)].astype(float)
    scale = parts.abs().max().max()
    return values.assign(**parts.mask(parts.abs() <= _ROUNDING * scale, 0.0))


def line(name: str, x: Sequence[float], y: Sequence[float], look: tuple[str, str, str], **settings: object) -> Mark:
    """Return a method's line with its markers."""
    colour, dash, symbol = look
    drawn: Mark = {
        "type": "scatter",
        "mode": "lines" if symbol.startswith("line") else "lines+markers",
        "name": escape(name),
        "x": list(x),
        "y": list(y),
        "line": {"color": colour, "dash": dash, "width": 1.5 if colour.startswith("@") else 2.5},
        "marker": {"color": colour, "symbol": symbol, "size": 8},
        "hovertemplate": f"{escape(name)}<br>%{{x:.6g}}<br>%{{y:.6g}}<extra></extra>",
    }
    return drawn | settings


def band(x: Sequence[float], middle: Sequence[float], half: Sequence[float], colour: str, **settings: object) -> Mark:
    """Return the tinted band middle +- half around a line."""
    across, centre, reach = np.asarray(x), np.asarray(middle), np.nan_to_num(np.asarray(half))
    fill = (
        "@fill"
        if colour.startswith("@")
        else f"rgba({','.join(str(int(colour[i : i + 2], 16)) for i in (1, 3, 5))},0.18)"
    )
    drawn: Mark = {
        "type": "scatter",
        "mode": "lines",
        "x": np.concatenate([across, across[::-1]]).tolist(),
        "y": np.concatenate([centre + reach, (centre - reach)[::-1]]).tolist(),
        "fill": "toself",
        "fillcolor": fill,
        "line": {"width": 0, "color": colour},
        "hoverinfo": "skip",
    }
    return drawn | settings


def spread(values: Sequence[float], scale: float, gap: float = GAP) -> list[float]:
    """Return shifts in pixels, upwards, that keep labels at these values apart.

    Parameters
    ----------
    values : sequence of float
        Where the labels belong.
    scale : float
        Pixels per unit.
    gap : float
        Least distance of two labels in pixels.

    Examples
    --------
    >>> spread([1.0, 1.0, 5.0], 10.0, gap=10.0)
    [-5.0, 5.0, 0.0]
    """
    order = sorted(range(len(values)), key=lambda i: values[i])
    blocks: list[tuple[float, int]] = []  # where the lowest label of a block stands, and how many it holds
    for i in order:
        low, count = values[i] * scale, 1
        while blocks and low < blocks[-1][0] + blocks[-1][1] * gap:
            below, many = blocks.pop()
            low, count = (below * many + (low - many * gap) * count) / (many + count), many + count
        blocks.append((low, count))
    placed = [low + gap * k for low, count in blocks for k in range(count)]
    shifts = [0.0] * len(values)
    for i, place in zip(order, placed, strict=True):
        shifts[i] = place - values[i] * scale
    return shifts


def name_at_end(name: str, y: float, shift: float, look: tuple[str, str, str], *, words: str = "") -> Mark:
    """Return a method's name at the right end of its line, its glyph in its colour."""
    colour = GREY if look[0].startswith("@") else look[0]
    glyph = f'<span style="color:{colour}">{_GLYPHS.get(look[2], "●")}</span>'
    return note(
        f"{glyph} {escape(words or name)}", xref="paper", yref="y", x=1, y=y, xanchor="left", yanchor="middle",
        xshift=8, yshift=shift, font={"size": 12.5, "color": "@text"},
    )  # fmt: skip
