"""The three-level channel that one drags: which entry moved, and the fields that say the same."""

import streamlit as st

from core.concepts import check_channel, find_moved, mend, set_entry
from core.concepts.settings import Rows
from core.concepts.three_levels import LEVELS, Entry
from core.errors import CoreError
from core.plots.concepts import HEADLINES
from core.plots.concepts_channel import explain_channel, headline_channel, plot_channel, read_handles
from core.plots.palette import BAD
from core.plots.template import Picture
from pages._ui import inputs, outputs, state
from pages._ui.concepts_controls import entry_value, epsilon
from pages._ui.concepts_state import cell, change, settings

_REPORTED, _ENTRY = "concepts_reported", "concepts_entry"
_ENTRIES = {(x, y): f"truth {LEVELS[x]}, released {LEVELS[y]}" for x in range(3) for y in range(3)}


def show_channel() -> tuple[Picture, str, HEADLINES]:
    """Return picture, sentence and strip of the channel as it stands."""
    check = check_channel(settings())
    return plot_channel(check), explain_channel(check), headline_channel(check)


def drag_channel(values: dict[str, float]) -> None:
    """Take the entry that was dragged; its row shares the rest, and the fields show that entry."""
    reported = read_handles(values)
    rows, before = state.option(_REPORTED, ((), {}))
    moved = find_moved(settings().rows, reported, before if rows == settings().rows else {})
    if moved is not None:
        state.set_option(_ENTRY, moved[0])
        _put(set_entry(settings().rows, *moved))
    state.set_option(_REPORTED, (settings().rows, reported))


def _put(rows: Rows) -> None:
    change(rows=rows)


def _set(entry: Entry, value: float) -> None:
    _put(set_entry(settings().rows, entry, value))


def _mend() -> None:
    try:
        _put(mend(settings()))
    except CoreError as error:
        state.tell(str(error))


def channel_controls() -> None:
    """Draw the controls of the channel: budget, metric, one entry as a number, mending."""
    epsilon("channel_epsilon", 3.0, 0.05)
    inputs.segments(
        cell("metric"), options={"ordinal": "On a line", "nominal": "All alike"}, label="Levels (d)",
        help="On a line A and C are two steps apart; otherwise every two levels are one step apart.",
    )  # fmt: skip
    entry: Entry = inputs.choice(
        inputs.option(_ENTRY, (0, 0)), options=_ENTRIES, label="Entry",
        help="Which probability the field below sets; each is also a handle on the picture.",
    )  # fmt: skip
    inputs.number(
        inputs.Cell("concepts_entry_value", entry_value(entry), lambda percent: _set(entry, percent / 100)),
        bounds=(0.0, 100.0), step=1.0, digits=1, label="Its probability in % (Z)", show_ends=False,
        help="The rest of its row shares what is left, in proportion.",
    )  # fmt: skip
    st.button(
        "Mend the channel", key="concepts_mend", on_click=_mend, width="stretch",
        help="Raise every entry until all constraints hold, then rescale: what every mechanism here goes through.",
    )  # fmt: skip
    outputs.key(("band", "@neutral", "allowed"), ("hatch", BAD, "violated"))  # fmt: skip
