"""What the browser reads of a figure is the same with and without the short way."""

import json
import time
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from core.plots.interaction import Handle
from pages._ui.figure import component

PLAIN: dict[str, Any] = {
    "x": np.arange(4.0),
    "y": (np.float64(1.5), np.int64(2), np.bool_(True), None),
    "words": np.array(["a", "b"]),
    "nested": [{"handle": Handle("tau", 0.5, 0.0, 1.0, 0.1, "Tau")}, {1: "one"}],
}


@pytest.mark.parametrize("odd", [None, float("nan"), [float("inf")], np.float32("nan")])
def test_the_short_way_gives_the_same_text(odd: Any) -> None:
    value = PLAIN | {"odd": odd}
    text = component._text(value)
    assert text == json.dumps(component.pack(value), allow_nan=False)
    assert "NaN" not in text
    assert "Infinity" not in text
    assert json.loads(text)["odd"] in (None, [None])
    assert set(json.loads(text)["x"]) == {"dtype", "bdata"}


def test_what_json_does_not_know_is_not_left_out() -> None:
    with pytest.raises(TypeError):
        component._text({"x": object()})


def test_the_turn_of_a_figure_grows_exactly_when_it_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: dict[str, Any] = {}
    monkeypatch.setattr(component.state, "option", kept.get)
    monkeypatch.setattr(component.state, "set_option", kept.__setitem__)
    contents = [1, 1, 2, 2, 1, 3]
    turns = [component._turn("chart", {"figure": content}) for content in contents]
    assert turns == sorted(turns)
    assert [b > a for a, b in pairwise(turns)] == [b != a for a, b in pairwise(contents)]
    # A server that is started again goes on above what browsers have drawn.
    kept.clear()
    time.sleep(0.01)
    assert component._turn("chart", {"figure": 9}) > turns[-1]
    assert component._turn("other", {"figure": 9}) > turns[-1]
