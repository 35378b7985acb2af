"""A browser that comes back: what an interrupted run left for it is dropped, since the browser asks for a new run.

Elements are sent relative to their containers. Those that left while the line was down are lost, and the browser shows
a blank page when it receives an element whose container it never saw.
"""

from typing import Any, Final

from streamlit.runtime.websocket_session_manager import WebsocketSessionManager

_resume: Final = WebsocketSessionManager._resume_stored_session


def _resume_without_leftovers(manager: WebsocketSessionManager, *who: Any, **named: Any) -> str | None:
    resumed = _resume(manager, *who, **named)
    found = manager.get_active_session_info(resumed) if resumed else None
    if found is not None:
        found.session.flush_browser_queue()
    return resumed


def prepare() -> None:
    """Let every session that resumes do so without leftovers; the version of Streamlit is pinned, so its inside is."""
    WebsocketSessionManager._resume_stored_session = _resume_without_leftovers  # type: ignore[method-assign]
