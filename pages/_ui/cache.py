"""What is kept between reruns: stage results, by content, in memory only.

Samples are the same for everybody, so their results are shared by all sessions; an upload's results live in its own
session and leave with it.
"""

import threading
from collections.abc import Callable, Hashable
from typing import Any, Final

from cachetools import LRUCache

from core.pipeline import Progress, Stages
from core.scenario import Scenario
from pages._ui import state
from pages._ui.link import UPLOAD

_KEPT: Final = 4000
"""Stage results kept per store; the least recently used leave first."""

_lock = threading.Lock()
_shared: LRUCache[Hashable, Any] = LRUCache(_KEPT)


def _store(source: str) -> LRUCache[Hashable, Any]:
    if source != UPLOAD:
        return _shared
    own: LRUCache[Hashable, Any] | None = state.option("stage_results")
    if own is None:
        own = LRUCache(_KEPT)
        state.set_option("stage_results", own)
    return own


def _remember(store: LRUCache[Hashable, Any]) -> Callable[[Hashable, Callable[[], Any]], Any]:
    def remember(key: Hashable, compute: Callable[[], Any]) -> Any:
        with _lock:
            if key in store:
                return store[key]
        result = compute()  # outside the lock: two sessions may compute the same, none waits for another
        with _lock:
            store[key] = result
        return result

    return remember


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
    return Stages(
        table, scenario or state.scenario(), remember=_remember(_store(source or state.source())), progress=progress
    )
