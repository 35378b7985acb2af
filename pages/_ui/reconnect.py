"""A browser that comes back asks for a new run, and what an interrupted run left for it is dropped.

Elements are sent relative to their containers. Those that left while the line was down are lost, and the browser shows
a blank page when it receives an element whose container it never saw. A server that was restarted knows nothing of
what the browser still shows: the page must say at once that an upload is gone, not at the next change.
"""

from datetime import timedelta
from typing import Any, Final

import streamlit as st
from streamlit.runtime.websocket_session_manager import WebsocketSessionManager

_RARELY: Final = timedelta(hours=12)
_resume: Final = WebsocketSessionManager._resume_stored_session


@st.fragment(run_every=_RARELY)
def ask_on_return() -> None:
    """Let the browser ask for a run whenever it is connected again; the first thing of every run.

    A browser with nothing to be repeated asks only where a run was interrupted. What is repeated here does nothing.
    """


def _resume_without_leftovers(manager: WebsocketSessionManager, *who: Any, **named: Any) -> str | None:
    resumed = _resume(manager, *who, **named)
    found = manager.get_active_session_info(resumed) if resumed else None
    if found is not None:
        found.session.flush_browser_queue()
    return resumed


def prepare() -> None:
    """Let every session that resumes do so without leftovers; the version of Streamlit is pinned, so its inside is."""
    WebsocketSessionManager._resume_stored_session = _resume_without_leftovers  # type: ignore[method-assign]
