"""Pinned scenarios beside each other, or beside the present one: rows under the strip, and a tab on every page.

Nothing here costs anything while nothing is pinned.
"""

import html
import math
from collections.abc import Callable, Hashable
from typing import Final, NamedTuple

import streamlit as st

from core.comparison import Comparison, Snapshot, compare_designs, take_snapshot
from core.errors import CoreError
from core.pipeline import Progress
from core.plots.comparison import plot_grouping, plot_pairs
from core.plots.comparison_words import explain_comparison, table_comparison, table_knobs
from core.plots.template import percent, sig
from pages._ui import cache, figure, late, outputs, picture_first, soon, state, text

PRESENT: Final = "the present"
_LABELS: Final = {name: words.label for name, words in text.KNOBS.items()} | {"attributes": "Columns"}
_BADGE: Final = (
    '<b style="display:inline-block;min-width:1.35em;margin-right:.55em;padding:0 .25em;border:1.5px solid;'
    'border-radius:3px;font-size:.8rem;line-height:1.3;text-align:center;vertical-align:.12em">{}</b>'
)
_ROW: Final = 'style="margin:0;padding:.2rem 0 0!important;border-top:0"'
_FIGURE: Final = 'style="font-size:1.05rem"'


class _Side(NamedTuple):
    """One of the two compared: what it is called, its scenario, and its design once that is known."""

    name: str
    pin: state.Pin
    token: Hashable
    lost: bool

    @property
    def kept(self) -> Snapshot | str | None:
        """The design, or why there is none, or None while it is not known."""
        found: Snapshot | str | None = late.recall(f"design of {self.name}", self.token)
        return found

    def design(self, progress: Progress) -> Snapshot | str:
        """Return the design, or the sentence why there is none."""
        try:
            return take_snapshot(cache.stages(progress, scenario=self.pin.scenario, source=self.pin.source))
        except CoreError as error:
            return str(error)


def _side(pin: state.Pin, name: str) -> _Side:
    return _Side(name, pin, (pin.source, pin.table, pin.scenario.digest()), state.is_lost(pin))


def _pair() -> tuple[_Side, ...]:
    """Return the two compared: A and B, or the only pin and the present scenario; empty if nothing is pinned."""
    pins = list(state.pins().values())
    if not pins or not state.has_table():
        return ()
    if len(pins) == 1:
        pins.append(state.Pin(PRESENT, state.source(), state.scenario(), state.table().digest))
    return tuple(_side(pin, pin.slot) for pin in pins)


def beside() -> None:
    """Show each pinned design as a row under the live strip, with the change of the loss; nothing without a pin."""
    sides = _pair()
    if not sides:
        return
    present = sides[1]
    if present.name == PRESENT and present.kept is None and late.designed():
        soon.attempt(f"design of {PRESENT}", present.token, present.design)
    found = _compared(sides)
    pinned = [side for side in sides if side.name != PRESENT]
    rows = "".join(_row(side, found, first=side is sides[0], against=sides[1].name) for side in pinned)
    place = st.container(key="beside", gap=None)
    picture_first.later(lambda: place.html(rows))


def _compared(sides: tuple[_Side, ...]) -> Comparison | None:
    one, other = (side.kept for side in sides)
    return compare_designs(one, other) if isinstance(one, Snapshot) and isinstance(other, Snapshot) else None


def _row(side: _Side, found: Comparison | None, *, first: bool, against: str) -> str:
    """Return one design as HTML on the columns of the live strip."""
    kept, badge = side.kept, _BADGE.format(html.escape(side.name))
    if side.lost or isinstance(kept, str):
        why = "its table is no longer loaded" if side.lost else str(kept)
        return f'<p class="pinned" style="padding:.3rem 0 0">{badge}There is no design: {html.escape(why)}</p>'
    if kept is None:
        cells = [("–", _describe(side)), ("–", ""), ("–", "being computed"), ("–", "")]
    else:
        design = kept.design
        note = "" if found is None else _change(found, first=first, against=against)
        cells = [
            (str(len(design.groups)), f"of {len(kept.attributes)}"),
            (str(kept.optimised), f"of {len(design.groups)}"),
            (sig(design.predicted_loss), note),
            (sig(design.certified_epsilon), _describe(side)),
        ]
    entries = "".join(
        f"<div><dd {_FIGURE}>{badge if not i else ''}{html.escape(value)}<small>{html.escape(note)}</small></dd></div>"
        for i, (value, note) in enumerate(cells)
    )
    return f'<dl class="strip" {_ROW}>{entries}</dl>'


def _describe(side: _Side) -> str:
    """Name what a pin does not share with the present scenario at first sight: its data set and its task."""
    task = dict(text.KNOBS["task"].options)[side.pin.scenario.task]
    return f"{text.SOURCES[side.pin.source]}, {task.lower()}"


def _change(found: Comparison, *, first: bool, against: str) -> str:
    if not found.comparable:
        return "another table" if not found.same_table else "another task or attributes"
    if math.isnan(found.change) or abs(found.change) < 5e-4:
        return "the same loss" if first and against == PRESENT else ""
    if first:
        return f"{against} loses {percent(abs(found.change))} {'less' if found.change < 0 else 'more'}"
    return f"{percent(abs(found.change))} {'less' if found.change < 0 else 'more'} than A"


def tabs(aspect: str) -> dict[str, Callable[[], None]]:
    """Return the tab that compares two designs on a page, for `outputs.tabs(first=...)`; empty without a pin.

    Parameters
    ----------
    aspect : {'groups', 'losses', 'choices', 'budget'}
        What the page is about.
    """
    sides = _pair()
    if not sides:
        return {}
    one, other = sides
    return {f"{one.name} beside {other.name}": lambda: _show(sides, aspect)}


def _show(sides: tuple[_Side, ...], aspect: str) -> None:
    for side in sides:
        if side.lost:
            outputs.remark(
                f"**{side.name}** was pinned on an upload that is no longer loaded, so it cannot be compared; "
                "upload that table again, or pin another scenario in its place."
            )
            return
        if isinstance(side.kept, str):
            outputs.remark(f"**{side.name}** has no design: {side.kept}")
            return
    found = _compared(sides)
    if found is None:
        st.caption("The designs are being computed below.")
        return
    names = (sides[0].name, sides[1].name)
    outputs.remark(explain_comparison(found, names))
    picture = plot_grouping(found, names) if aspect == "groups" else plot_pairs(found, aspect, names)
    if picture is not None:
        figure.figure(picture, key=f"comparison_{aspect}")
    knobs = table_knobs(found, names, _LABELS)
    if knobs.empty:
        st.caption("All settings are the same.")
    else:
        st.dataframe(knobs, hide_index=True, width=520, key=f"knobs_{aspect}")
    outputs.table(table_comparison(found, names), name=f"comparison_{aspect}")


def finish() -> None:
    """Compute at the end of a page the designs that are compared and not yet known; pinned ones first."""
    for side in _pair():
        if not side.lost and side.kept is None:
            sentence = "Designing the present scenario" if side.name == PRESENT else f"Designing pin {side.name}"
            late.finish(f"design of {side.name}", side.token, sentence, side.design)
