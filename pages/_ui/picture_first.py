"""After a drag the picture comes first: what stands around it is sent when the browser has had time to draw it.

Server and browser share the machine of whoever tries the app, and both hold everything up while they work: the browser
draws each element that arrives, in the order of arrival, before it draws the picture. So the run that answers a drag
takes a short breath behind the picture, and sends address, head, sidebar, controls and tabs after it.
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
_REST: Final = "rest"


def dragged(key: str) -> None:
    """Note that the run that follows answers a drag in the figure `key`."""
    state.set_option(_DRAGGED, key)


def answering() -> bool:
    """Return whether this run answers a drag and its picture was not sent yet."""
    return bool(state.option(_DRAGGED))


@contextmanager
def run() -> Iterator[None]:
    """Run the app inside: what it puts off with `later` is drawn behind the picture, at the latest at its end."""
    state.set_option(_REST, [])
    try:
        yield
    except StopException:  # a page may end early, and still has something around it
        rest()
        raise
    else:
        rest()
    finally:  # the run that abandons this one is no answer to this drag
        _forget()


def later(draw: Callable[[], None]) -> None:
    """Call `draw` now, or where a drag is answered behind the picture; once, unless a newer change ends the run first.

    Parameters
    ----------
    draw : callable
        Draws the same wherever it is called from.
    """
    waiting = state.option(_REST)
    if answering() and waiting is not None:
        waiting.append(draw)
    else:
        draw()


def sent(key: str) -> None:
    """Note that the figure `key` was sent: if it answers a drag, let the browser draw it, then draw what waited."""
    if state.option(_DRAGGED) == key:
        time.sleep(BREATH)
        rest()


def rest() -> None:
    """Draw what waited for the picture."""
    waiting = state.option(_REST) or ()
    _forget()
    for draw in waiting:
        draw()


def _forget() -> None:
    state.set_option(_DRAGGED, None)
    state.set_option(_REST, None)
