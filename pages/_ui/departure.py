"""A session that does not come back: what it held is given back soon after, whether or not anybody else comes.

A browser whose line broke may return for `server.disconnectedSessionTTL` seconds. Streamlit looks for sessions whose
time is over only when the next one leaves, so the last visitor's upload would stay in an idle server for ever. Here
every departure is followed by a look of its own.
"""

import asyncio
import contextlib
import ctypes
import gc
from typing import Any, Final

from streamlit import config
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.state import SessionState
from streamlit.runtime.websocket_session_manager import WebsocketSessionManager

_MARGIN: Final = 1.0
"""Seconds after the time is over at which is looked: the clock of the storage began a moment later."""
_disconnect: Final = WebsocketSessionManager.disconnect_session


def sweep(manager: Any) -> None:
    """End the sessions whose time to come back is over and give their memory back.

    Parameters
    ----------
    manager : WebsocketSessionManager
        Whose sessions; on the server's event loop, as everything that it does.
    """
    if _end_expired(manager):
        gc.collect()  # sessions hold themselves in circles
        _trim()


def _end_expired(manager: Any) -> bool:
    """End the sessions whose time is over, and return whether there were any; none of them is held afterwards."""
    with manager._storage_lock:
        ended = [info.session for _, info in manager._session_storage._cache.expire()]
    for session in ended:
        _empty(session)
    return bool(ended)


def _empty(session: AppSession) -> None:
    """End a session and take out what it held: the server's loop keeps the last session itself until another comes."""
    session.shutdown()
    session.flush_browser_queue()
    session._session_state = SessionState()
    session._fragment_storage.clear()
    session._client_state = ClientState()


def _trim() -> None:
    """Hand freed memory back to the system, where the C library can."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def _disconnect_and_look_later(manager: WebsocketSessionManager, session_id: str) -> None:
    sweep(manager)  # first: storing another session would drop those whose time is over without ending them
    _disconnect(manager, session_id)
    with contextlib.suppress(RuntimeError):  # no loop runs while the server itself ends
        seconds = float(config.get_option("server.disconnectedSessionTTL")) + _MARGIN
        asyncio.get_running_loop().call_later(seconds, sweep, manager)


def prepare() -> None:
    """Let every departure be followed by a look; the version of Streamlit is pinned, so its inside is."""
    WebsocketSessionManager.disconnect_session = _disconnect_and_look_later  # type: ignore[method-assign]
