"""What is shown at once if it takes a moment, else computed behind the picture: warm results never make it blink."""

import time
from collections.abc import Callable, Hashable
from typing import Any, Final

from core.pipeline import Progress
from pages._ui import late

MOMENT: Final = 0.25
"""Seconds that a picture may wait for it."""


class _TooLong(Exception):  # noqa: N818 - no error: it takes the slower way
    """The moment is over."""


def attempt(name: str, token: Hashable, compute: Callable[[Progress], Any]) -> Any:
    """Return what is kept for this token, or compute it if that takes a moment only; else None.

    Parameters
    ----------
    name, token
        As for `late.recall`; finish with `late.finish` under the same name and token.
    compute : callable (progress) -> value
        Not None. Stages that it completes stay remembered even when the moment is over.
    """
    known = late.recall(name, token)
    if known is not None:
        return known
    end = time.monotonic() + MOMENT

    def progress(_fraction: float, _words: str) -> None:
        if time.monotonic() > end:
            raise _TooLong

    try:
        return late.keep(name, token, compute(progress))
    except _TooLong:
        return None
