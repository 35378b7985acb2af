"""What the browser reads of a figure is the same with and without the short way."""

import json
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
