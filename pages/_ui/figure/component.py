"""Python's side of the figure component: what is sent to the browser and what comes back."""

import base64
import dataclasses
import json
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
import streamlit as st

from core.plots import Picture
from pages._ui import picture_first, state
from pages._ui.figure import files

_HERE: Final = Path(__file__).parent
_PACKED: Final = {
    "float64": "f8",
    "float32": "f4",
    "int32": "i4",
    "int16": "i2",
    "int8": "i1",
    "uint8": "u1",
    "uint16": "u2",
    "uint32": "u4",
}
"""Kinds of numbers that plotly.js reads as packed bytes."""

# The whole script goes with every message, so it is only a door to the modules that the browser keeps.
_DOOR: Final = """
let doors = {};
export default function ({ parentElement, data, setStateValue }) {
  const address = new URL(data.module, document.baseURI).href;
  const door = (doors[address] ??= import(address));
  const sorry = (error) => { delete doors[address]; console.error(error);
    parentElement.querySelector(".figure").textContent =
      "The figure could not be loaded; check the server's static folder and reload."; };
  door.then((figure) => figure.show(parentElement, data, setStateValue)).catch(sorry);
  // While the first call is in flight a change of data runs this on a box that is still in use: leave it alone then.
  return () => parentElement.isConnected || door.then((figure) => figure.close(parentElement)).catch(() => undefined);
}
"""

_component: Final = st.components.v2.component(
    "mdp_figure",
    html='<div class="figure"></div>',
    css=(_HERE / "figure.css").read_text(encoding="utf-8"),
    js=_DOOR,
    isolate_styles=False,
)


def figure(
    picture: Picture,
    *,
    key: str,
    on_drag: Callable[[dict[str, float]], None] | None = None,
    on_pick: Callable[[Any], None] | None = None,
    live: bool = False,
) -> None:
    """Show a picture; callbacks run before the next run of the page.

    Parameters
    ----------
    picture : Picture
        What to draw.
    key : str
        Its name on the page.
    on_drag : callable or None
        Called with the values of all handles by name when one is released or moved by a key.
    on_pick : callable or None
        Called with the `customdata` of a clicked point.
    live : bool
        Also report while dragging; only for pages that answer within a frame or two.
    """
    served = files.current()
    if served.problem:
        st.html(f'<div class="refusal" role="alert">{served.problem}</div>')
        return

    def dragged() -> None:
        values = state.component(key, "drag").get("values")
        if on_drag is not None and isinstance(values, dict):
            on_drag({str(name): float(value) for name, value in values.items()})
            if not live:  # there the next value comes before the rest would be seen
                picture_first.dragged(key)

    def chosen() -> None:
        if on_pick is not None:
            on_pick(picked(key))

    data = payload(picture) | {
        "ack": _count(key, "drag"),
        "picks": _count(key, "pick"),
        "live": live,
        "plotly": served.plotly,
        "module": served.module,
    }
    _component(
        key=key,
        height=picture.height,
        data=data | {"turn": _turn(key, data)},
        default={"drag": {"n": 0}, "pick": {"n": 0}},
        on_drag_change=dragged,
        on_pick_change=chosen,
    )
    picture_first.sent(key)


def picked(key: str) -> Any:
    """Return the `customdata` of the point clicked last in the figure `key`, or None."""
    return state.component(key, "pick").get("id")


def _count(key: str, name: str) -> int:
    count = state.component(key, name).get("n", 0)
    return int(count) if isinstance(count, int | float) else 0


def _turn(key: str, data: dict[str, Any]) -> int:
    """Return a number that grows whenever the figure `key` changes: the browser may be handed an older one later."""
    content, name = hash(repr(data)), f"turn_{key}"
    before, turn = state.option(name, (None, 0))
    if content != before:
        # The clock, not a count: the server may have been started again since the browser drew the figure.
        turn = max(turn + 1, time.time_ns() // 1_000_000)
        state.set_option(name, (content, turn))
    return int(turn)


def payload(picture: Picture) -> dict[str, Any]:
    """Return what the browser needs of a picture; numeric arrays are packed, other values are plain."""
    return {
        "figure": _text({"data": picture.traces, "layout": picture.layout}),
        "height": picture.height,
        "name": picture.name,
        "alt": picture.alt,
        "handles": [pack(handle) for handle in picture.handles],
        "regions": [pack(region) for region in picture.regions],
        "previews": [{"kind": preview.kind, **pack(preview)} for preview in picture.previews],
    }


def _text(value: Any) -> str:
    """Return `pack(value)` as JSON, without going through every number where all are finite."""
    try:
        return json.dumps(value, default=pack, allow_nan=False)
    except ValueError:
        return json.dumps(pack(value), allow_nan=False)


def pack(value: Any) -> Any:
    """Return `value` as plain data for JSON: arrays packed, tuples as lists, not-a-number and infinities as null."""
    if isinstance(value, str | float):  # by far the most frequent
        return None if isinstance(value, float) and not math.isfinite(value) else value
    if isinstance(value, list | tuple):
        return [pack(entry) for entry in value]
    if isinstance(value, np.ndarray | pd.Series | pd.Index):
        return _pack_array(np.asarray(value))
    if isinstance(value, np.generic):
        return pack(value.item())
    if dataclasses.is_dataclass(value):
        value = {entry.name: getattr(value, entry.name) for entry in dataclasses.fields(value)}
    return {str(name): pack(entry) for name, entry in value.items()} if isinstance(value, dict) else value


def _pack_array(array: np.ndarray[Any, Any]) -> Any:
    kind = _PACKED.get(array.dtype.name)
    if kind is None or array.size == 0:
        return pack(array.tolist())
    shape = {"shape": ",".join(str(n) for n in array.shape)} if array.ndim > 1 else {}
    packed = np.ascontiguousarray(array.astype(array.dtype.newbyteorder("<")))
    return {"dtype": kind, "bdata": base64.b64encode(packed.tobytes()).decode("ascii"), **shape}
