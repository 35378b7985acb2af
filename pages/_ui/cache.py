"""What is kept between reruns: stage results, by content, in memory only.

Samples are the same for everybody, so their results are shared by all sessions; an upload's results live in its own
session and leave with it.
"""

import threading
from collections.abc import Callable, Hashable
from typing import Any, Final

from cachetools import LRUCache

from core.pipeline import Progress, Remember, Stages
from core.scenario import Scenario
from pages._ui import state
from pages._ui.link import UPLOAD

_KEPT: Final = 4000
"""Stage results kept per store; the least recently used leave first."""
_ROWS: Final = 60_000
"""Measured rows kept per store: they are small, and a long study must not push the stages out."""
_SMALL: Final = frozenset({"evaluation row", "attacker rows", "reduced rows", "sample errors", "cost"})
"""First words of the keys under which rows are kept."""

_lock = threading.Lock()


class _Store:
    """Results by key: stages and, apart from them, rows."""

    def __init__(self) -> None:
        self._stages: LRUCache[Hashable, Any] = LRUCache(_KEPT)
        self._rows: LRUCache[Hashable, Any] = LRUCache(_ROWS)

    def shelf(self, key: Hashable) -> LRUCache[Hashable, Any]:
        """Return where a key belongs."""
        return self._rows if isinstance(key, tuple) and key and key[0] in _SMALL else self._stages


_shared: Final = _Store()


def _store(source: str) -> _Store:
    if source != UPLOAD:
        return _shared
    own: _Store | None = state.option("stage_results")
    if own is None:
        own = _Store()
        state.set_option("stage_results", own)
    return own


def _remember(results: _Store) -> Remember:
    def remember(key: Hashable, compute: Callable[[], Any]) -> Any:
        store = results.shelf(key)
        with _lock:
            if key in store:
                return store[key]
        result = compute()  # outside the lock: two sessions may compute the same, none waits for another
        with _lock:
            store[key] = result
        return result

    return remember


def memory(source: str | None = None) -> Remember:
    """Return the memory of the session's data set, or of another: a thread may use it, since it asks for no session.

    Parameters
    ----------
    source : str, optional
        Another data set than the session's.
    """
    return _remember(_store(source or state.source()))


def stages(progress: Progress | None = None, *, scenario: Scenario | None = None, source: str | None = None) -> Stages:
    """Return the stages of the session's table and scenario, with everything already computed remembered.

    Parameters
    ----------
    progress : callable (fraction, sentence), optional
        From `outputs.working`; told while something is computed.
    scenario : Scenario, optional
        Another scenario than the session's, for example a pinned one.
    source : str, optional
        Another data set than the session's, for example a pin's.
    """
    table = state.table(source)
    return Stages(table, scenario or state.scenario(), remember=memory(source), progress=progress)
