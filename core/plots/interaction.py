"""What a person can do with a picture, and what the browser shows meanwhile: handles, regions and previews as data."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from core.plots.palette import GROUPS

End = float | str | None
"""One end of a region: a number, the name of the handle that it follows, or None for the end of the axis."""


@dataclass(frozen=True)
class Handle:
    """A threshold that one drags: a rule under the plot and a flag with its value on the axis.

    Parameters
    ----------
    name : str
        Key of its value in what a drag reports.
    value : float
        Where it stands.
    low, high : float
        The range.
    step : float
        One arrow key; on a log axis the arrows move by 5 percent instead.
    label : str
        What a screen reader says, the plain name of the knob.
    along : {'x', 'y'}
        The direction in which it moves.
    axis, across : str
        Its axis and the axis that its rule spans, by their names in the layout ('xaxis2', 'yaxis2').
    digits : int
        Decimals in the flag.
    whole : bool
        Only whole numbers.
    snap : tuple of float
        Values where something changes: a drag stays on one within a few pixels; page up and down go to the next one.
    unit : str
        What stands behind the value in the flag.
    """

    name: str
    value: float
    low: float
    high: float
    step: float
    label: str
    along: Literal["x", "y"] = "x"
    axis: str = "xaxis"
    across: str = "yaxis"
    digits: int = 2
    whole: bool = False
    snap: tuple[float, ...] = ()
    unit: str = ""


@dataclass(frozen=True)
class Region:
    """A tinted or dimmed rectangle, whose ends may follow handles while one drags.

    Parameters
    ----------
    x, y : pair of End
        Its ends along each axis.
    axes : pair of str
        Names of the x and the y axis in the layout.
    fill : str
        Colour or token.
    label : str
        A word inside it.
    place : {'bottom left', 'top left', 'top right', 'beside'}
        Where the word stands; 'beside' is a vertical word at its right edge.
    dim : float
        Instead of a tint: how far what lies under it is faded to the background, 0 to 1.
    hatch : bool
        Draw it hatched (violations only).
    """

    x: tuple[End, End] = (None, None)
    y: tuple[End, End] = (None, None)
    axes: tuple[str, str] = ("xaxis", "yaxis")
    fill: str = "@fill"
    label: str = ""
    place: Literal["bottom left", "top left", "top right", "beside"] = "bottom left"
    dim: float = 0.0
    hatch: bool = False


@dataclass(frozen=True)
class Fade:
    """Preview: traces fade out while `handle` is at or above their weight.

    Parameters
    ----------
    handle : str
        Name of the handle.
    weights : mapping of str to float
        Weight of each trace, by the trace's uid.
    """

    handle: str
    weights: Mapping[str, float]
    kind: ClassVar[str] = "fade"


@dataclass(frozen=True)
class Components:
    """Preview: nodes joined by edges of weight above `handle` take their group's colour (union-find in the browser).

    A group has the colour of its smallest node; a node alone is hollow; an edge below the threshold is grey and faded.

    Parameters
    ----------
    handle : str
        Name of the handle.
    nodes : str
        Uid of the marker trace; its points are the nodes in order.
    edges : tuple of (uid, int, int, float)
        Uid of each edge's trace, the two nodes and the weight.
    colours : tuple of str
        Colour of node i is that at i modulo their number.
    hull : float
        Width in pixels of the soft outline around a group; 0 draws none.
    """

    handle: str
    nodes: str
    edges: tuple[tuple[str, int, int, float], ...]
    colours: tuple[str, ...] = GROUPS
    hull: float = 36.0
    kind: ClassVar[str] = "components"


@dataclass(frozen=True)
class Condition:
    """One rule of a `Sides` preview: a point is inside where its value is at most (or at least) the handle's.

    Parameters
    ----------
    handle : str
        Name of the handle.
    values : tuple of float
        One value per point; a point whose value is not a number is outside.
    most : bool
        True: inside where value <= handle; False: inside where value > handle.
    """

    handle: str
    values: tuple[float | None, ...]
    most: bool = True


@dataclass(frozen=True)
class Sides:
    """Preview: the points of a trace change colour, symbol and size as thresholds pass them.

    Parameters
    ----------
    trace : str
        Uid of the marker (or bar) trace.
    conditions : tuple of Condition
        A point is inside if all hold.
    inside, outside : pair of str
        Colour and symbol ('circle', 'diamond', 'square', 'triangle-up') on each side; bars take the colour only.
    order : tuple of int
        Which point of `conditions` the k-th drawn point is; empty means the same order.
    sizes : tuple of float
        Diameter on each side, in px, inside first; empty where it stays.
    """

    trace: str
    conditions: tuple[Condition, ...]
    inside: tuple[str, str]
    outside: tuple[str, str]
    order: tuple[int, ...] = ()
    sizes: tuple[float, ...] = ()
    kind: ClassVar[str] = "sides"


@dataclass(frozen=True)
class Ride:
    """Preview: a point moves along a curve while `handle` moves.

    Parameters
    ----------
    handle : str
        Name of the handle.
    trace : str
        Uid of the trace.
    at : tuple of float
        Handle values of the track, increasing.
    y : tuple of float
        The point's y at each of `at`.
    x : tuple of float
        The point's x at each of `at`; empty means the handle's own value.
    steps : bool
        True: the value of the last entry of `at` not above the handle; False: linear between them.
    point : int
        Which point of the trace rides.
    bar : str
        Uid of a trace of horizontal bars of which the one at y ends at x; empty means none.
    told : (uid, int) or None
        A trace of texts and the point in it that says x with three significant digits.
    """

    handle: str
    trace: str
    at: tuple[float, ...]
    y: tuple[float, ...]
    x: tuple[float, ...] = ()
    steps: bool = False
    point: int = 0
    bar: str = ""
    told: tuple[str, int] | None = None
    kind: ClassVar[str] = "ride"


@dataclass(frozen=True)
class Words:
    """Preview: a note says one thing while `handle` is at or above a value, and another while it is below.

    Parameters
    ----------
    handle : str
        Name of the handle.
    note : int
        Which of the layout's annotations.
    value : float
        Where it changes.
    above, below : str
        Trusted text on each side.
    """

    handle: str
    note: int
    value: float
    above: str
    below: str
    kind: ClassVar[str] = "words"


@dataclass(frozen=True)
class Dodge:
    """Preview: notes step aside, up or down, while the horizontal rule of `handle` would strike them through.

    Parameters
    ----------
    handle : str
        Name of a handle that moves along y.
    notes : tuple of int
        Which of the layout's annotations.
    """

    handle: str
    notes: tuple[int, ...]
    kind: ClassVar[str] = "dodge"


Preview = Fade | Components | Sides | Ride | Words | Dodge
"""What the browser shows at frame rate while a handle moves, before the server answers."""
