"""The one template of every figure: axes, headings, labels, numbers as text, and the picture that pages show."""

import html
import math
import re
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import pandas as pd
import plotly.graph_objects as go

from core.plots.interaction import Components, End, Fade, Handle, Preview, Region
from core.plots.palette import resolve
from core.plots.place import Placement

Mark = dict[str, Any]
"""One plotly trace, annotation or axis as a plain dictionary; colours may be tokens."""

FONT: Final = 13
"""Base size in pixels; ticks are 12, labels 12.5, headings bold 14."""
FAINT: Final = 0.1
"""Opacity of what a threshold has removed; `preview.js` says the same."""
MINUS: Final = "\N{MINUS SIGN}"
_SCIENTIFIC_BELOW: Final = 1e-4
"""Smaller numbers are written with a power of ten."""
_EXPONENT: Final = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
_BLANKS: Final = re.compile(r"[\x00-\x1f\x7f]+")


@dataclass(frozen=True)
class Picture:
    """A figure as data: what is drawn, what can be dragged, what the browser previews, and the numbers behind it.

    Parameters
    ----------
    traces : list of dict
        Plain plotly traces; arrays may be numpy arrays (float32 halves what is sent).
    layout : dict
        Plain plotly layout, from `layout`.
    height : int
        Height in pixels, fixed.
    name : str
        File name of a download, without ending.
    alt : str
        What the picture shows, for those who cannot see it.
    handles, regions, previews : tuple
        See `core.plots.interaction`.
    table : pandas.DataFrame or None
        The numbers drawn, at full precision.
    """

    traces: list[Mark]
    layout: Mark
    height: int
    name: str
    alt: str
    handles: tuple[Handle, ...] = ()
    regions: tuple[Region, ...] = ()
    previews: tuple[Preview, ...] = ()
    table: pd.DataFrame | None = field(default=None, compare=False)

    def to_figure(self, theme: Literal["light", "dark"] = "light") -> go.Figure:
        """Return the picture as a plotly figure with the theme's colours; handles and regions become shapes.

        Parameters
        ----------
        theme : {'light', 'dark'}
            Which meaning the tokens take.
        """
        frame = {**self.layout, "height": self.height, "paper_bgcolor": "@bg", "plot_bgcolor": "@bg"}
        frame["font"] = {"color": "@text", "family": "Arial, Helvetica, sans-serif", **frame.get("font", {})}
        frame["shapes"] = [*frame.get("shapes", ()), *(self._rectangle(r) for r in self.regions)]
        frame["annotations"] = list(frame.get("annotations", ()))
        frame |= {name: _within(part) for name, part in frame.items() if isinstance(part, dict) and "domain" in part}
        for handle in self.handles:
            frame["shapes"].append(_rule(handle))
            frame["annotations"].append(self._flag(handle))
        gone = self._faded()
        traces = [trace | {"opacity": FAINT} if trace.get("uid") in gone else trace for trace in self.traces]
        drawn: Any = resolve({"data": traces, "layout": frame}, theme)
        return go.Figure(data=drawn["data"], layout=drawn["layout"])

    def _faded(self) -> set[str]:
        """Return the uids of the traces that a threshold has removed, as the browser fades them."""
        at = {handle.name: handle.value for handle in self.handles}
        gone: set[str] = set()
        for preview in self.previews:
            if isinstance(preview, Fade):
                gone |= {uid for uid, weight in preview.weights.items() if weight <= at[preview.handle]}
            elif isinstance(preview, Components):
                gone |= {uid for uid, _, _, weight in preview.edges if weight <= at[preview.handle]}
        return gone

    def _is_log(self, axis: str) -> bool:
        return bool(self.layout.get(axis, {}).get("type") == "log")

    def _edge(self, end: End, axis: str, side: int) -> float:
        """Return an end of a region in data units; shapes take data values on log axes too."""
        if end is None:
            edge = float(self.layout[axis]["range"][side])
            return 10.0**edge if self._is_log(axis) else edge
        if isinstance(end, str):
            return next(h.value for h in self.handles if h.name == end)
        return end

    def _rectangle(self, region: Region) -> Mark:
        (x, y), (x_axis, y_axis) = (region.x, region.y), region.axes
        return {
            "type": "rect",
            "layer": "above" if region.dim else "below",
            "xref": _reference(x_axis),
            "yref": _reference(y_axis),
            **{f"x{i}": self._edge(x[i], x_axis, i) for i in (0, 1)},
            **{f"y{i}": self._edge(y[i], y_axis, i) for i in (0, 1)},
            "fillcolor": "@bg" if region.dim else region.fill,
            "opacity": region.dim or 1,
            "line": {"width": 0},
        }

    def _flag(self, handle: Handle) -> Mark:
        along_x = handle.along == "x"
        at = math.log10(handle.value) if self._is_log(handle.axis) else handle.value
        axis, across = _reference(handle.axis), f"{_reference(handle.across)} domain"
        return {
            "text": f"<b>{handle_text(handle)}</b>",
            **({"xref": axis, "yref": across, "x": at, "y": 0} if along_x else {}),
            **({} if along_x else {"xref": across, "yref": axis, "x": 0, "y": at}),
            "xanchor": "center" if along_x else "right",
            "yanchor": "top" if along_x else "middle",
            "showarrow": False,
            "bgcolor": "@text",
            "borderpad": 3,
            "font": {"size": FONT, "color": "@bg"},
        }


def _within(axis: Mark) -> Mark:
    """Return an axis whose domain lies in [0, 1]: sums of gaps and widths may miss the ends by a rounding."""
    return axis | {"domain": [min(max(end, 0.0), 1.0) for end in axis["domain"]]}


def _reference(axis: str) -> str:
    return axis.replace("axis", "")


def _rule(handle: Handle) -> Mark:
    axis, across = _reference(handle.axis), f"{_reference(handle.across)} domain"
    line = {"type": "line", "layer": "below", "line": {"color": "@text", "width": 2}}
    if handle.along == "x":
        return {**line, "xref": axis, "yref": across, "x0": handle.value, "x1": handle.value, "y0": 0, "y1": 1}
    return {**line, "xref": across, "yref": axis, "x0": 0, "x1": 1, "y0": handle.value, "y1": handle.value}


def handle_text(handle: Handle) -> str:
    """Return what a handle's flag says, as the browser writes it."""
    number = f"{handle.value:,.0f}" if handle.whole else f"{handle.value:,.{handle.digits}f}"
    return number.replace("-", MINUS) + handle.unit


def axis(title: str | None = None, **settings: Any) -> Mark:
    """Return an axis: quiet ticks, one grid weight, a title with symbol and unit below (never rotated).

    Parameters
    ----------
    title : str or None
        For x axes; a y axis is named by its panel's heading instead.
    **settings
        Anything of plotly's axis; overrides what is set here.
    """
    quiet: Mark = {
        "tickfont": {"size": 12, "color": "@muted"},
        "gridcolor": "@grid",
        "gridwidth": 1,
        "zeroline": False,
        "showline": False,
        "ticks": "",
        "fixedrange": True,
        "automargin": False,
        "ticklabelstandoff": 4,
    }
    if title:
        quiet["title"] = {"text": title, "font": {"size": FONT, "color": "@text"}, "standoff": 8}
    return quiet | settings


def bare(**settings: Any) -> Mark:
    """Return an axis of which nothing is seen, for graphs and for bars that are named by annotations."""
    return axis(showgrid=False, showticklabels=False) | settings


def layout(*, left: int = 52, right: int = 12, top: int = 34, bottom: int = 48, **settings: Any) -> Mark:
    """Return the layout that all figures share; margins in pixels (60 on the left for a y handle's flag).

    Parameters
    ----------
    left, right, top, bottom : int
        Margins in pixels.
    **settings
        Axes, annotations, shapes and anything else of plotly's layout.
    """
    shared: Mark = {
        "template": "none",
        "margin": {"l": left, "r": right, "t": top, "b": bottom, "pad": 0},
        "showlegend": False,
        "hovermode": "closest",
        "dragmode": False,
        "font": {"size": FONT, "color": "@text"},
        "hoverlabel": {
            "bgcolor": "@surface",
            "bordercolor": "@line",
            "align": "left",
            "font": {"size": FONT, "color": "@text"},
        },
        "legend": {
            "orientation": "h",
            "x": 0,
            "y": 1,
            "xanchor": "left",
            "yanchor": "bottom",
            "font": {"size": 12, "color": "@text"},
            "bgcolor": "rgba(0,0,0,0)",
            "itemclick": False,
            "itemdoubleclick": False,
        },
    }
    return shared | settings


def note(text: str, **settings: Any) -> Mark:
    """Return a quiet label without an arrow; `text` is trusted markup, so `escape` names first."""
    plain: Mark = {
        "text": text,
        "showarrow": False,
        "borderpad": 0,
        "borderwidth": 0,
        "font": {"size": 12, "color": "@muted"},
    }
    return plain | settings


def panel(text: str, x: str = "x", y: str = "y", **settings: Any) -> Mark:
    """Return a panel's heading, at the top left of the axes `x` and `y`: quantity and unit, bold 14.

    Parameters
    ----------
    text : str
        Trusted markup.
    x, y : str
        Axis references as in traces ('x2', 'y2').
    **settings
        Anything of plotly's annotation; `xshift` moves it left over the tick labels.
    """
    placed: Mark = {
        "xref": f"{x} domain",
        "yref": f"{y} domain",
        "x": 0,
        "y": 1,
        "xanchor": "left",
        "yanchor": "bottom",
        "yshift": 8,
        "align": "left",
        "font": {"size": 14, "color": "@text"},
    }
    return note(f"<b>{text}</b>", **(placed | settings))


def heading(text: str, left: int, **settings: Any) -> Mark:
    """Return the first panel's heading, flush with the text of the page: `left` is the figure's left margin."""
    placed: Mark = {"xref": "paper", "yref": "paper", "xshift": -left}
    return panel(text, **(placed | settings))


def small(text: str, x: str = "x", y: str = "y", **settings: Any) -> Mark:
    """Return the name over one of several small multiples: regular 12.5."""
    placed: Mark = {"yshift": 3, "font": {"size": 12.5, "color": "@text"}}
    return panel(text, x, y, **(placed | settings)) | {"text": text}


def label(text: str, x: float, y: float, placement: Placement, **settings: Any) -> Mark:
    """Return the label of a point where `place_labels` put it, with a leader line where it is not beside its point.

    Parameters
    ----------
    text : str
        Trusted markup.
    x, y : float
        The point in axis units; on a log axis the power of ten.
    placement : Placement
        Where the label goes.
    **settings
        Anything of plotly's annotation.
    """
    drawn: Mark = {
        "x": x,
        "y": y,
        "xanchor": placement.x_anchor,
        "yanchor": placement.y_anchor,
        "font": {"size": 12.5, "color": "@text"},
    }
    if placement.leader:
        drawn |= {
            "showarrow": True,
            "arrowhead": 0,
            "arrowwidth": 1,
            "arrowcolor": "@neutral",
            "ax": placement.x_shift,
            "ay": -placement.y_shift,
            "standoff": placement.standoff,
        }
    else:
        drawn |= {"xshift": placement.x_shift, "yshift": placement.y_shift}
    return note(text, **(drawn | settings))


def escape(text: object) -> str:
    """Return a name as text that no chart reads as markup: &, < and > are written out, control characters dropped.

    Examples
    --------
    >>> escape("<b>R&D</b>")
    '&lt;b&gt;R&amp;D&lt;/b&gt;'
    """
    return html.escape(_BLANKS.sub(" ", str(text)), quote=False)


def shorten(text: object, limit: int = 28) -> str:
    """Return a name of at most `limit` characters, cut with an ellipsis; not yet escaped."""
    words = str(text)
    return words if len(words) <= limit else words[: limit - 1].rstrip() + "…"


def sig(value: float, digits: int = 3) -> str:
    """Return a number with three significant digits and a real minus sign.

    Examples
    --------
    >>> sig(15.8342), sig(0.06531), sig(-2), sig(15358.2)
    ('15.8', '0.0653', '−2.00', '15,358')
    """
    number = float(value)
    if math.isnan(number):
        return "–"
    sign = MINUS if number < 0 else ""
    size = abs(number)
    if math.isinf(size):
        return f"{sign}∞"
    if size == 0:
        return "0"
    if size < _SCIENTIFIC_BELOW:
        mantissa, power = f"{size:.{digits - 1}e}".split("e")
        return f"{sign}{mantissa} × 10{str(int(power)).translate(_EXPONENT)}"
    # Rounded first, so that 9.996 counts as 10.0 and not as 10.00.
    rounded = float(f"{size:.{digits - 1}e}")
    decimals = max(0, digits - 1 - math.floor(math.log10(rounded)))
    return f"{sign}{size:,.{decimals}f}"


def percent(fraction: float) -> str:
    """Return a fraction as a percentage with one decimal.

    Examples
    --------
    >>> percent(0.1234), percent(-0.5)
    ('12.3 %', '−50.0 %')
    """
    return f"{100 * fraction:.1f} %".replace("-", MINUS)


def interval(value: float, low: float, high: float) -> str:
    """Return a value with its interval.

    Examples
    --------
    >>> interval(12.4, 12.1, 12.7)
    '12.4 [12.1, 12.7]'
    """
    return f"{sig(value)} [{sig(low)}, {sig(high)}]"
