"""Numbers as text, names as text, and a picture as a plotly figure in either theme."""

import html
import math

import numpy as np
import plotly.graph_objects as go
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.plots import Components, Fade, Handle, Picture, Region
from core.plots.place import Placement
from core.plots.template import (
    axis,
    bare,
    escape,
    handle_text,
    heading,
    interval,
    label,
    layout,
    note,
    panel,
    percent,
    shorten,
    sig,
    small,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (-0.0, "0"),
        (1, "1.00"),
        (9.996, "10.0"),
        (0.0999951, "0.100"),
        (123.4, "123"),
        (15358.2, "15,358"),
        (-0.001234, "−0.00123"),
        (0.00001234, "1.23 × 10⁻⁵"),
        (math.inf, "∞"),
        (-math.inf, "−∞"),
        (math.nan, "–"),
    ],
)
def test_three_significant_digits(value: float, text: str) -> None:
    assert sig(value) == text


@given(st.floats(1e-3, 1e6), st.booleans())
def test_significant_digits_are_near_the_value(size: float, negative: bool) -> None:
    value = -size if negative else size
    shown = sig(value)
    assert "-" not in shown
    assert float(shown.replace("−", "-").replace(",", "")) == pytest.approx(value, rel=0.00501)


def test_percent_and_interval() -> None:
    assert percent(0.00349) == "0.3 %"
    assert percent(-0.0186) == "−1.9 %"
    assert interval(12.4, 12.1, 12.7) == "12.4 [12.1, 12.7]"


@given(st.text())
def test_escaped_names_hold_no_markup_and_say_the_same(name: str) -> None:
    escaped = escape(name)
    assert "<" not in escaped
    assert ">" not in escaped
    assert [c for c in html.unescape(escaped) if c in "<>&"] == [c for c in name if c in "<>&"]


def test_escape_and_shorten() -> None:
    assert escape("<b>R&D</b>\n%{x}") == "&lt;b&gt;R&amp;D&lt;/b&gt; %{x}"
    assert escape(3) == "3"
    assert shorten("a" * 28) == "a" * 28
    assert shorten("a" * 29) == "a" * 27 + "…"


def test_parts_may_be_overridden() -> None:
    assert axis("x")["title"]["text"] == "x"
    assert "title" not in axis()
    assert axis(showgrid=False)["showgrid"] is False
    assert bare()["showticklabels"] is False
    assert layout(left=60)["margin"]["l"] == 60
    assert note("n", x=1)["showarrow"] is False
    assert panel("P", "x2", "y2")["xref"] == "x2 domain"
    assert heading("H", 60)["xshift"] == -60
    assert small("s")["text"] == "s"


def test_label_with_and_without_leader() -> None:
    beside = label("a", 1, 2, Placement(12, 0, "left", "middle"))
    assert (beside["xshift"], beside["yshift"], beside["showarrow"]) == (12, 0, False)
    pulled = label("a", 1, 2, Placement(30, 20, "left", "bottom", leader=True, standoff=9))
    assert (pulled["ax"], pulled["ay"], pulled["showarrow"], pulled["standoff"]) == (30, -20, True, 9)


def picture() -> Picture:
    return Picture(
        traces=[{"type": "scatter", "uid": "a", "x": np.array([1.0, 10.0]), "y": [0, 1], "line": {"color": "@text"}}],
        layout=layout(xaxis=axis(type="log", range=[0, 2]), yaxis=axis(range=[0, 1]), annotations=[note("n")]),
        height=300,
        name="p",
        alt="two points",
        handles=(
            Handle("n", 10, 1, 100, 1, "Largest", whole=True, unit=" states"),
            Handle("s", -0.25, -1, 1, 0.01, "Score", "y", "yaxis", "xaxis"),
        ),
        regions=(Region((None, "n"), ("s", None), fill="@opt"), Region((None, None), (0.5, None), dim=0.5)),
    )


@pytest.mark.parametrize(
    ("theme", "text", "background"), [("light", "#17222B", "#FFFFFF"), ("dark", "#E4E9EC", "#10161B")]
)
def test_a_picture_becomes_a_figure_of_the_theme(theme: str, text: str, background: str) -> None:
    figure = picture().to_figure(theme)  # type: ignore[arg-type]
    assert isinstance(figure, go.Figure)
    assert figure.data[0].line.color == text
    assert figure.layout.paper_bgcolor == background
    assert "@" not in figure.to_json()
    tint, dim, down, across = figure.layout.shapes
    assert (tint.x0, tint.x1, tint.y0, tint.y1) == (1, 10, -0.25, 1)  # data units on the log axis
    assert (dim.x0, dim.x1, dim.y0, dim.y1, dim.layer, dim.opacity) == (1, 100, 0.5, 1, "above", 0.5)
    assert (down.x0, down.x1, across.y0, across.y1) == (10, 10, -0.25, -0.25)
    flags = figure.layout.annotations[1:]
    assert [flag.text for flag in flags] == ["<b>10 states</b>", "<b>−0.25</b>"]
    assert flags[0].x == 1  # the power of ten, as annotations want it
    assert [flag.bgcolor for flag in flags] == [text, text]


def test_what_a_threshold_removed_is_faint() -> None:
    traces = [{"type": "scatter", "uid": uid, "x": [0], "y": [0]} for uid in "abc"]
    previews = (Fade("t", {"a": 0.5}), Components("t", "n", (("b", 0, 1, 0.4), ("c", 0, 2, 0.6))))
    handles = (Handle("t", 0.5, 0, 1, 0.1, "T"),)
    frame = layout(xaxis=axis(range=[0, 1]), yaxis=axis(range=[0, 1]))
    figure = Picture(traces, frame, 300, "p", "alt", handles=handles, previews=previews).to_figure()
    assert [trace.opacity for trace in figure.data] == [0.1, 0.1, None]


def test_a_picture_is_not_changed_by_drawing_it() -> None:
    one = picture()
    one.to_figure("dark")
    assert len(one.layout["annotations"]) == 1
    assert one.traces[0]["line"]["color"] == "@text"
    assert handle_text(one.handles[0]) == "10 states"
