"""One line in the sidebar while something runs behind the pages: what, how far, and where to look."""

from typing import Final

import streamlit as st

from pages._ui import background

_WATCH: Final = 2.0
"""Seconds between two looks while something runs."""
_PAGE: Final = "pages/evaluation.py"
_STYLE: Final = """<style>
[data-testid="stLayoutWrapper"]:has(> .st-key-running) { height: 1.2rem; margin: -1.5rem 0 -0.4rem; }
.st-key-running a { padding: 0; font-size: 0.8rem; line-height: 1.2; min-height: 0; position: relative; top: 0.45rem; }
</style>"""
"""In the gap above the sidebar's controls, so that nothing moves when a run begins or ends."""


def line() -> None:
    """Show what runs, if anything, and how far it is; it leads to the Evaluation page."""
    if background.desk().active is not None:
        st.html(_STYLE)
        with st.container(key="running"):
            _watch()


@st.fragment(run_every=_WATCH)
def _watch() -> None:
    run = background.desk().active
    if run is not None:
        words = f"{run.title}: {run.fraction:.0%}" if run.status == "running" else f"{run.title}: waiting"
        st.page_link(_PAGE, label=words, help="It goes on while you visit other pages; this leads to it.")
