"""After a drag the picture comes first: what stands around it is sent when the browser has had time to draw it.

Server and browser share the machine of whoever tries the app, and both hold everything up while they work: the browser
draws each element that arrives, in the order of arrival, before it draws the picture. So the run that answers a drag
sends the sidebar, which a drag hardly changes, and the tabs after a short breath.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from streamlit.runtime.scriptrunner import StopException

from pages._ui import state

BREATH: Final = 0.1
"""Seconds in which a browser draws a picture; measured by `tests/benchmarks/latency`, where more gains nothing."""
_DRAGGED: Final = "dragged"
_DRAWING: Final = "drawing"
_REST: Final = "rest"


def dragged(key: str) -> None:
    """Note that the run that follows answers a drag in the figure `key`."""
    state.set_option(_DRAGGED, key)


def answering() -> bool:
    """Return whether this run answers a drag and its picture was not sent yet."""
    return bool(state.option(_DRAGGED)) and not state.option(_DRAWING)


def sent(key: str) -> None:
    """Note that the figure `key` was sent."""
    if state.option(_DRAGGED) == key:
        state.set_option(_DRAWING, True)


@contextmanager
def around(draw: Callable[[], None]) -> Iterator[None]:
    """Draw what stands around the page: before it, or where a drag is answered behind the picture.

    Parameters
    ----------
    draw : callable
        Draws it; called exactly once unless a newer change ends the run first.
    """
    state.set_option(_REST, draw)
    if not state.option(_DRAGGED):
        rest()
    try:
        yield
    except StopException:  # a page may end early, and still has something around it
        rest()
        raise
    else:
        rest()
    finally:  # the run that abandons this one is no answer to this drag
        _forget()


def breathe() -> None:
    """Let the browser draw the picture, if it answers a drag and was just sent, then go on with the rest."""
    if state.option(_DRAWING):
        time.sleep(BREATH)
    rest()


def rest() -> None:
    """Draw what is left of what stands around the page."""
    draw = state.option(_REST)
    _forget()
    if draw is not None:
        draw()


def _forget() -> None:
    for name in (_DRAGGED, _DRAWING, _REST):
        state.set_option(name, None)
