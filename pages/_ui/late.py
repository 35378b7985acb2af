"""What a page computes after its picture is there: remembered for the session, shown by a second run of the page."""

import html
import time
from collections.abc import Callable, Hashable
from typing import Any, Final

import streamlit as st
from cachetools import LRUCache

from core.errors import CoreError
from core.pipeline import Progress, Stages
from pages._ui import cache, outputs, state
from pages._ui.outputs import Metric
from pages._ui.strip import live_strip

_TICK: Final = 0.08
"""Seconds between two looks at whether the run was superseded."""
_GRACE: Final = 0.6
"""Seconds of quiet before late work begins: the browser still loads, or a person still drags."""
_STRIP: Final = "strip"
_KEPT: Final = 12
"""Values kept per name: a threshold that goes to and fro finds what it showed before."""


def recall(name: str, token: Hashable) -> Any:
    """Return what was kept under a name for this token, else None."""
    kept = state.option(f"late_{name}")
    return None if kept is None else kept.get(token)


def keep(name: str, token: Hashable, value: Any) -> Any:
    """Keep a value under a name in the session, where the least recently used leave first, and return it."""
    kept = state.option(f"late_{name}")
    if kept is None:
        kept = LRUCache(_KEPT)
        state.set_option(f"late_{name}", kept)
    kept[token] = value
    return value


def finish(name: str, token: Hashable, sentence: str, compute: Callable[[Progress], Any]) -> None:
    """Compute what is not yet kept, at the end of a page, then run the page again with it.

    Parameters
    ----------
    name, token
        As for `recall`.
    sentence : str
        What is being done.
    compute : callable (progress) -> value
        Not None; while it runs, any change that a person makes abandons it.
    """
    if recall(name, token) is not None:
        return
    place = st.empty()
    last = 0.0

    def progress(fraction: float, words: str) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= _TICK:
            last = now
            place.progress(
                min(1.0, max(0.0, fraction)), text=html.escape(f"{sentence}: {words}" if words else sentence)
            )

    quiet = time.monotonic() + _GRACE
    while time.monotonic() < quiet:
        progress(0.0, "")
        time.sleep(_TICK / 2)
    keep(name, token, compute(progress))
    st.rerun()


def designed() -> bool:
    """Return whether the design of the present scenario is known, so that asking for it takes a moment only."""
    known = recall(_STRIP, _token()) if state.has_table() else None
    return known is not None and not known[1]


def _token() -> Hashable:
    return state.source(), state.table().digest, state.scenario().digest()


def strip(stages: Stages) -> tuple[Metric, ...]:
    """Return the live strip if the design is known, else the number of groups and what is still being computed."""
    try:
        known = recall(_STRIP, _token())
        if known is not None and not known[1]:
            strip: tuple[Metric, ...] = known[0]
            return strip
        groups = Metric("Groups (K)", str(len(stages.groups)), f"of {len(stages.records.attributes)} attributes")
        wait = "see below" if known else "being computed"
        return (groups, *(Metric(m.label, "–", wait) for m in outputs.EMPTY_STRIP[1:]))
    except CoreError:
        return outputs.EMPTY_STRIP


def finish_strip() -> None:
    """Compute the design for the live strip at the end of a page; why there is none is said where this is called."""

    def compute(progress: Progress) -> tuple[tuple[Metric, ...], str]:
        try:
            return live_strip(cache.stages(progress)), ""
        except CoreError as error:
            return (), str(error)

    finish(_STRIP, _token(), "Designing the mechanism for the figures at the top", compute)
    sentence = recall(_STRIP, _token())[1]
    if sentence:
        outputs.remark(f"There is no design yet: {sentence}")
