"""Colour by meaning: one colour, symbol and dash for every concept, the same on every page and in both themes."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

DPN: Final = "#0072B2"
OPT: Final = "#D55E00"
TUNED: Final = "#009E73"
REMAP: Final = "#56B4E9"
UNIFORM: Final = "#999933"
BAD: Final = "#CC3311"
NEUTRAL: Final = "@neutral"
TEXT: Final = "@text"
MUTED: Final = "@muted"


@dataclass(frozen=True)
class Look:
    """How one concept is drawn: a colour and a second code that survives without colour.

    Parameters
    ----------
    colour : str
        A hexadecimal colour or a theme token.
    symbol : str
        The marker, by plotly's name.
    dash : str
        The line, by plotly's name.
    width : float
        Line width in pixels; the pale hues are never thinner than 2.5.
    """

    colour: str
    symbol: str
    dash: str
    width: float = 2.5


LOOKS: Final[dict[str, Look]] = {
    "DPN": Look(DPN, "circle", "solid"),
    "OPT": Look(OPT, "diamond", "solid"),
    "tuned": Look(TUNED, "square", "solid", 3.0),
    "remapped": Look(REMAP, "triangle-up", "dash"),
    "uniform": Look(UNIFORM, "x", "dashdot"),
    "zero information": Look(NEUTRAL, "line-ew", "longdash", 1.5),
    "bound": Look(NEUTRAL, "line-ew", "dot", 1.0),
    "violation": Look(BAD, "x", "solid"),
}
"""The look of every concept that pages draw."""

GROUPS: Final = (
    "#AA4499",
    "#B07D00",
    "#2E8B80",
    "#7A5FC7",
    "#C2527B",
    "#6B8E23",
    "#8C5A3C",
    "#4F7F9F",
    "#9A8F2E",
    "#7D6B8A",
)
"""Ten mid-tones for groups, none a method's hue, each at least 3:1 on both backgrounds; names, links and hulls carry
the grouping too, because ten such hues cannot be colour-blind-safe."""

SEQUENTIAL: Final = (
    "#00204d",
    "#05366e",
    "#31446b",
    "#4e576c",
    "#666970",
    "#7d7c78",
    "#958f78",
    "#aea371",
    "#c8b866",
    "#e4cf5b",
)
"""Ten steps of cividis, for the charts that Streamlit draws itself."""
CATEGORICAL: Final = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#CC79A7",
    "#56B4E9",
    "#D55E00",
    "#882255",
    "#44AA99",
    "#999933",
    "#332288",
)
"""Ten colours for the charts that Streamlit draws itself; fewer than ten are rejected by its template."""
CIVIDIS: Final = "Cividis"
"""The one sequential scale, by plotly's name."""


def group_colour(members: Iterable[int]) -> str:
    """Return the colour of a group: that of its smallest attribute, so that it stays when the group grows or splits.

    Examples
    --------
    >>> group_colour((3, 1)) == group_colour((1, 7)) == GROUPS[1]
    True
    """
    return GROUPS[min(members) % len(GROUPS)]


@dataclass(frozen=True)
class Theme:
    """Text and background of one theme, as in the configuration file; every token is mixed from the two.

    Parameters
    ----------
    text, background : str
        Hexadecimal colours.
    """

    text: str
    background: str


THEMES: Final[dict[str, Theme]] = {"light": Theme("#17222B", "#FFFFFF"), "dark": Theme("#E4E9EC", "#10161B")}
"""The two themes."""


def _channels(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def _mix(theme: Theme, share: float) -> str:
    pairs = zip(_channels(theme.text), _channels(theme.background), strict=True)
    return f"rgb({','.join(str(int(share * a + (1 - share) * b + 0.5)) for a, b in pairs)})"


def _clear(colour: str, alpha: float) -> str:
    return f"rgba({','.join(str(c) for c in _channels(colour))},{alpha:g})"


def tokens(theme: str) -> dict[str, str]:
    """Return what every colour token means in a theme; `theme.js` mixes the same in the browser.

    Parameters
    ----------
    theme : {'light', 'dark'}
        The theme.
    """
    chosen = THEMES[theme]
    dark = sum(_channels(chosen.background)) < 384
    tint = 0.2 if dark else 0.12
    return {
        "@text": chosen.text,
        "@bg": chosen.background,
        "@muted": _mix(chosen, 0.72),
        "@neutral": _mix(chosen, 0.5),
        "@line": _mix(chosen, 0.3),
        "@grid": _clear(chosen.text, 0.1),
        "@fill": _clear(chosen.text, 0.12),
        "@surface": _mix(chosen, 0.1) if dark else chosen.background,
        "@ring": _mix(chosen, 0.75) if dark else chosen.background,
        "@opt": _clear(OPT, tint),
        "@dpn": _clear(DPN, tint),
        "@bad": _clear(BAD, tint),
    }


def resolve(value: object, theme: str) -> object:
    """Return `value` with every token in it, however deep, replaced by the theme's colour."""
    return _swap(value, tokens(theme))


def _swap(value: object, table: dict[str, str]) -> object:
    if isinstance(value, str):
        return table.get(value, value)
    if isinstance(value, dict):
        return {name: _swap(entry, table) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_swap(entry, table) for entry in value]
    return value
