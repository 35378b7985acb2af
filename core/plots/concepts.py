"""What all pictures of the concepts share: their height, the colours of true values, and the enlarged form."""

import dataclasses
from typing import Any, Final

from core.plots.palette import GROUPS
from core.plots.template import Mark, Picture, note

HEIGHT: Final = 380
VALUES: Final = (GROUPS[0], GROUPS[2], GROUPS[1])
"""Colours of the first, second and third true value, none a method's hue; letters carry the meaning too."""
ENLARGED: Final = 1.4
"""How much larger type, marks and lines are in front of a class."""
HEADLINES = tuple[tuple[str, str, str], ...]
"""Four of (what, number, note) for the strip of a page."""
_LENGTHS: Final = {"l", "r", "t", "b", "xshift", "yshift", "ax", "ay", "borderpad", "standoff", "ticklabelstandoff",
                   "thickness", "size"}  # fmt: skip
"""Names of values in pixels."""


def enlarge(picture: Picture, factor: float = ENLARGED, *, height: int | None = None) -> Picture:
    """Return a picture with larger type, marks and margins, for reading from the last row.

    Parameters
    ----------
    picture : Picture
        Any picture whose lengths are plain numbers.
    factor : float
        How much larger.
    height : int or None
        Its new height; None scales the old one.
    """
    return dataclasses.replace(
        picture,
        traces=[_grown(trace, factor) for trace in picture.traces],
        layout=_grown(picture.layout, factor),
        height=height or round(factor * picture.height),
    )


def _grown(part: Any, factor: float, name: str = "") -> Any:
    if isinstance(part, dict):
        return {key: _grown(value, factor, key) for key, value in part.items()}
    if isinstance(part, list) and name in {"annotations", "shapes"}:
        return [_grown(entry, factor) for entry in part]
    if name in _LENGTHS and isinstance(part, list):
        return [_grown(entry, factor, name) for entry in part]
    if name in _LENGTHS and isinstance(part, int | float):
        return round(factor * part)  # some lengths of plotly are whole
    return part


def value_label(text: str, x: float, y: float, axes: tuple[str, str], **settings: Any) -> Mark:
    """Return a number beside the end of a bar, on the background so that no line runs through it.

    Parameters
    ----------
    text : str
        The number.
    x, y : float
        The end of the bar.
    axes : pair of str
        References of the axes ('x2', 'y2').
    **settings
        Anything of plotly's annotation.
    """
    placed: Mark = {
        "x": x, "y": y, "xref": axes[0], "yref": axes[1], "xanchor": "left", "xshift": 11, "bgcolor": "@bg",
        "borderpad": 1, "font": {"size": 13, "color": "@text"},
    }  # fmt: skip
    return note(text, **(placed | settings))
