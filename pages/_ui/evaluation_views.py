"""The views of the Evaluation page; while a run goes on the page looks again every second."""

from collections.abc import Callable
from typing import Final

import streamlit as st

from pages._ui import (
    background,
    evaluation_methods,
    evaluation_planner,
    evaluation_studies,
    evaluation_why,
    outputs,
    state,
)

_WATCH: Final = 1.0
"""Seconds between two pictures while something runs."""
_KEY: Final = "segments_evaluation_view"
_FIRST: Final = "methods"
VIEWS: Final[dict[str, tuple[str, Callable[[], None]]]] = {
    "methods": ("Methods", evaluation_methods.show),
    "explained": ("Explained", evaluation_why.explained),
    "attacker": ("Attacker", evaluation_why.attacker),
    "sweeps": ("Sweeps", evaluation_studies.sweeps),
    "reduced": ("Reduced domains", evaluation_studies.reduced),
    "planner": ("Choosing", evaluation_planner.show),
}


def show() -> None:
    """Show the chosen view, and again every second while something runs."""
    (_watch if background.desk().active is not None else _draw)()


@st.fragment(run_every=_WATCH)
def _watch() -> None:
    if background.desk().active is None:
        st.rerun()
    _draw()


@outputs.guarded()
def _draw() -> None:
    view = _chosen()
    VIEWS[view][1]()


def _chosen() -> str:
    """Show the views side by side, without a label over them: they are what the page consists of."""
    view = str(state.option("evaluation_view", _FIRST))
    view = view if view in VIEWS else _FIRST

    def changed() -> None:
        meant, value = state.reported(_KEY)
        if meant and value in VIEWS:
            state.set_option("evaluation_view", value)

    state.seat(_KEY, view)
    st.segmented_control(
        "View",
        list(VIEWS),
        default=view,
        format_func=lambda name: VIEWS[name][0],
        required=True,
        key=_KEY,
        on_change=changed,
        label_visibility="collapsed",
    )
    return view
