"""The parts of a page, the same everywhere: head with strip, bench, key, sentence, tabs, empty state, refusal."""

import html
import re
import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, NamedTuple
from urllib.parse import quote

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.errors import CoreError, InputError
from core.plots.template import sig
from pages._ui import link, picture_first, state

HEAD_HEIGHT: Final = 118
MEANS_HEIGHT: Final = 50
_LINE_HEIGHT: Final = 24
CONTROLS_WIDTH: Final = 200
LAZY_TABS = True
"""Whether closed tabs stay empty; tests without a browser, which cannot open one, draw them all."""
_STYLED_ROWS: Final = 2000
"""Above this many rows a table shows plain numbers: styling them would be slow."""
_LONG: Final = 40
"""Characters beyond which a column of text gets a width of its own."""
_LONG_WIDTH: Final = 300
NOTHING: Final = "–"
"""What an empty cell of a table shows."""
_TICK: Final = 0.08
"""Seconds between two looks at whether the run was superseded."""
_LONG_WAIT: Final = 0.3
"""Seconds after which the answer to a drag shows that it is being computed, and nothing waits for its picture."""
_PERCENT: Final = re.compile(r"(?<=\d) %")
_BOLD: Final = re.compile(r"\*\*(.+?)\*\*")


class Metric(NamedTuple):
    """One entry of the live strip.

    Parameters
    ----------
    label : str
        What it is.
    value : str
        The number.
    note : str
        Of how many, in which unit, with which gap.
    """

    label: str
    value: str
    note: str = ""


EMPTY_STRIP: Final = (
    Metric("Groups (K)", "–"),
    Metric("Optimised (OPT)", "–"),
    Metric("Predicted loss", "–"),
    Metric("Certified epsilon", "–"),
)
"""The strip before there is a design."""


def _rich(sentence: str) -> str:
    """Return a sentence as HTML: everything is text, only **bold** is markup; no line breaks before a percent sign."""
    return _BOLD.sub(r"<b>\1</b>", _PERCENT.sub("\N{NO-BREAK SPACE}%", html.escape(sentence, quote=False)))


def head(question: str, lede: str, strip: Sequence[Metric] = EMPTY_STRIP) -> None:
    """Show the page's question, one sentence and the live strip, in a box of fixed height."""
    entries = "".join(
        f"<div><dt>{html.escape(m.label)}</dt><dd>{html.escape(m.value)}<small>{html.escape(m.note)}</small></dd></div>"
        for m in strip
    )
    place = st.container(height=HEAD_HEIGHT, border=False, key="head")
    words = f'<h1 class="question">{html.escape(question)}</h1><p class="lede">{_rich(lede)}</p>'
    picture_first.later(lambda: place.html(f'{words}<dl class="strip">{entries}</dl>'))


def bench() -> tuple[DeltaGenerator, DeltaGenerator]:
    """Return the container of the figure and, beside it, the narrow one of its controls, 200 px at every width."""
    with st.container(horizontal=True, gap="medium", wrap=False, key="bench"):
        return st.container(key="bench_figure"), st.container(width=CONTROLS_WIDTH, key="bench_controls")


_SWATCHES: Final = {
    "circle": '<circle cx="8" cy="8" r="6" fill="{c}"/>',
    "tick": '<path d="M8 1V15" stroke="{c}" stroke-width="2.5"/>',
    "hollow diamond": '<path d="M8 2 14 8 8 14 2 8Z" fill="none" stroke="{c}" stroke-width="2"/>',
    "hollow square": '<path d="M3 3H13V13H3Z" fill="none" stroke="{c}" stroke-width="2"/>',
    "hollow triangle": '<path d="M8 3 14 13H2Z" fill="none" stroke="{c}" stroke-width="2"/>',
    "ring": '<circle cx="8" cy="8" r="5" fill="none" stroke="{c}" stroke-width="2"/>',
    "diamond": '<path d="M8 1 15 8 8 15 1 8Z" fill="{c}"/>',
    "square": '<path d="M2 2H14V14H2Z" fill="{c}"/>',
    "triangle": '<path d="M8 2 15 14H1Z" fill="{c}"/>',
    "cross": '<path d="M3 3 13 13M13 3 3 13" stroke="{c}" stroke-width="2.5"/>',
    "star": '<path d="M8 1 9.8 6H15L10.8 9.2 12.4 14.4 8 11.2 3.6 14.4 5.2 9.2 1 6H6.2Z" fill="{c}"/>',
    "hexagon": '<path d="M8 1.5 13.6 4.7V11.3L8 14.5 2.4 11.3V4.7Z" fill="{c}"/>',
    "line": '<path d="M0 8H16" stroke="{c}" stroke-width="3"/>',
    "dash": '<path d="M0 8H16" stroke="{c}" stroke-width="2" stroke-dasharray="6 3"/>',
    "dot": '<path d="M0 8H16" stroke="{c}" stroke-width="2" stroke-dasharray="2 2"/>',
    "dashdot": '<path d="M0 8H16" stroke="{c}" stroke-width="2" stroke-dasharray="7 2 2 2"/>',
    "band": '<rect y="3" width="16" height="10" fill="{c}" opacity=".2"/>'
    '<path d="M0 3H16M0 13H16" stroke="{c}" stroke-dasharray="1.5 2"/>',
    "hatch": '<rect y="2" width="16" height="12" fill="{c}" opacity=".25"/>'
    '<path d="M0 14 12 2M6 14 16 4" stroke="{c}" stroke-width="1.5"/>',
}
_GREY: Final = "#8A9299"
"""A neutral that is seen on both backgrounds; an image cannot read the theme."""


def swatch(symbol: str) -> str:
    """Return the kind of swatch that looks like a marker symbol of the drawing library."""
    open, kind = symbol.endswith("-open"), symbol.removesuffix("-open").removesuffix("-up")
    if open:
        return f"hollow {kind}" if f"hollow {kind}" in _SWATCHES else "ring"
    return kind if kind in _SWATCHES else "cross"


def key(*rows: tuple[str, str, str]) -> None:
    """Show the key of a figure under its controls.

    Parameters
    ----------
    *rows : (kind, colour, text)
        Kind of swatch ('circle', 'ring', 'diamond', 'square', 'triangle', the last three also after 'hollow ', 'cross',
        'star', 'hexagon', 'tick', 'line', 'dash', 'dot', 'dashdot', 'band', 'hatch'), colour (tokens become a neutral
        grey) and what it stands for, as plain text.
    """
    st.html('<p class="key">' + "".join(_swatch(*row) for row in rows) + "</p>")


def _swatch(kind: str, colour: str, meaning: str) -> str:
    mark = _SWATCHES[kind].replace("{c}", _GREY if colour.startswith("@") else colour)
    image = quote(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16">{mark}</svg>')
    # st.html drops inline drawings but keeps an image in a style.
    return f"<span><i style=\"background-image:url('data:image/svg+xml,{image}')\"></i>{html.escape(meaning)}</span>"


def means(sentence: str, *, more: bool = False) -> None:
    """Show what the picture means in one or two sentences; **bold** is the only markup, names are shown as text.

    Parameters
    ----------
    sentence : str
        What it means.
    more : bool
        Keep room for a third line.
    """
    with st.container(height=MEANS_HEIGHT + more * _LINE_HEIGHT, border=False, key="means"):
        st.html(f'<p class="means">{_rich(sentence)}</p>')


def tabs(
    *,
    numbers: pd.DataFrame | None = None,
    method: str = "",
    details: Callable[[], None] | None = None,
    first: Mapping[str, Callable[[], None]] | None = None,
    name: str = "numbers",
) -> None:
    """Show the tabs under a figure: Numbers with its CSV, Method, Details.

    Parameters
    ----------
    numbers : pandas.DataFrame or None
        Shown with three significant digits, downloaded at full precision.
    method : str
        Markdown: formula, symbol, source. Never put names of a table into it.
    details : callable or None
        Draws the third tab.
    first : mapping of str to callable, or None
        Tabs before the three.
    name : str
        File name of the CSV, without ending.
    """
    parts: dict[str, Callable[[], None]] = dict(first or {})
    if numbers is not None:
        parts["Numbers"] = lambda: table(numbers, name=name)
    if method:
        parts["Method"] = lambda: _method(method)
    if details is not None:
        parts["Details"] = details
    if not parts:
        return
    # Only the open tab is drawn: what is hidden would still be computed, sent and laid out after every drag.
    opened = _open_tabs(list(parts), name) if LAZY_TABS else st.tabs(list(parts), key=f"tabs_{name}")
    for tab, draw in zip(opened, parts.values(), strict=True):
        if tab.open is not False:
            with tab:
                draw()


def _open_tabs(labels: list[str], name: str) -> Sequence[Any]:
    """Return the tabs; the open one is remembered, so that it is there again on coming back and in a shared link."""
    key, option = f"tabs_{name}", link.tab_option(name)
    words = {link.tab_word(label): label for label in labels}
    state.seat(key, words.get(state.option(option, ""), labels[0]))

    def changed() -> None:
        meant, label = state.reported(key)
        if meant and label in labels:
            state.set_option(option, None if label == labels[0] else link.tab_word(label))

    return st.tabs(labels, key=key, on_change=changed)


def _method(method: str) -> None:
    with st.container(key="method"):
        st.markdown(method)


def table(frame: pd.DataFrame, *, name: str) -> None:
    """Show a table with three significant digits and offer it as CSV at full precision."""
    st.dataframe(
        _styled(frame), hide_index=True, width="stretch", key=f"table_{name}", placeholder=NOTHING,
        column_config={column: st.column_config.Column(width=_LONG_WIDTH) for column in _long_columns(frame)},
    )  # fmt: skip
    st.download_button(
        "Download CSV",
        data=lambda: to_csv(frame),
        file_name=f"{name}.csv",
        mime="text/csv",
        key=f"csv_{name}",
        on_click="ignore",
        type="tertiary",
        icon=":material/download:",
        help="The table above as CSV, at full precision.",
    )


def _long_columns(frame: pd.DataFrame) -> list[str]:
    """Return the columns of text so long that it would push the numbers out of sight."""
    texts = [name for name in frame.columns if isinstance(name, str) and not pd.api.types.is_numeric_dtype(frame[name])]
    head = frame.head(_STYLED_ROWS)
    return [name for name in texts if head[name].astype(str).str.len().max() > _LONG]


def _number(value: Any) -> str:
    return sig(float(value))


def _styled(frame: pd.DataFrame) -> Any:
    if len(frame) > _STYLED_ROWS or not frame.columns.is_unique:
        return frame
    columns: list[Hashable] = [name for name in frame.columns if pd.api.types.is_float_dtype(frame[name])]
    return frame.style.format(_number, subset=columns) if columns else frame


def to_csv(frame: pd.DataFrame) -> bytes:
    """Return a table as CSV in UTF-8 at full precision."""
    return frame.to_csv(index=False, lineterminator="\n").encode("utf-8")


def empty(sentence: str, button: str, on_click: Callable[[], None], *, height: int = 480) -> None:
    """Show the empty state where the figure will be: one sentence and the button that fills it."""
    with st.container(height=height, key="empty", horizontal_alignment="center", vertical_alignment="center"):
        st.html(f'<p class="empty">{_rich(sentence)}</p>', width="content")
        st.button(button, key="empty_button", on_click=on_click, help="Fills this page; it can be undone.")


def refusal(sentence: str) -> None:
    """Show why something is refused and what to do; the sentence is plain text."""
    st.html(f'<div class="refusal" role="alert">{_rich(sentence)}</div>')


def remark(sentence: str) -> None:
    """Show something worth knowing that stops nothing; **bold** is the only markup."""
    st.html(f'<div class="remark" role="status">{_rich(sentence)}</div>')


@contextmanager
def guarded() -> Iterator[None]:
    """Show an error that a person can cause as its sentence and stop the page; also usable as a decorator."""
    try:
        yield
    except CoreError as error:
        refusal(str(error))
        if isinstance(error, InputError) and error.field == "target":
            st.page_link("pages/data.py", label="Choose the target on the Data page")
        st.stop()


@contextmanager
def working(
    sentence: str, *, token: str, height: int = 480, name: str = "page"
) -> Iterator[Callable[[float, str], None]]:
    """Show what is being done, how far it is, and a button that stops it, while a long computation runs.

    Parameters
    ----------
    sentence : str
        What is being done.
    token : str
        Digest of what is computed; a stopped computation stays stopped until its token changes or one continues.
    height : int
        Height of the figure that will stand there, so that nothing jumps.
    name : str
        Part of its widgets' keys, needed where a page has more than one.

    Yields
    ------
    callable
        The progress callback for core functions. Calling it lets a newer change abandon this run.
    """
    if state.option("stopped") == token:
        empty("Stopped.", "Continue", lambda: state.set_option("stopped", None), height=height)
        st.stop()
    place = st.empty()

    def start() -> DeltaGenerator:
        with place.container(height=height, border=False, key=f"working_{name}"):
            started = st.progress(0.0, text=html.escape(sentence))
            st.button(
                "Stop", key=f"working_stop_{name}", on_click=lambda: state.set_option("stopped", token),
                help="Stops this computation; what was done so far is kept.",
            )  # fmt: skip
        return started

    # A drag is answered in a moment where the result is known: nothing is mounted only to leave again.
    bar = None if picture_first.answering() else start()
    last, done = 0.0, False
    long = time.monotonic() + _LONG_WAIT

    def progress(fraction: float, words: str) -> None:
        nonlocal last, bar
        now = time.monotonic()
        # Stages may keep this beyond the block; writing to a bar that is gone would break the page in the browser.
        if done or now - last < _TICK or (bar is None and now < long):
            return
        last = now
        if bar is None:
            picture_first.rest()
            bar = start()
        bar.progress(min(1.0, max(0.0, fraction)), text=html.escape(f"{sentence}: {words}" if words else sentence))

    try:
        yield progress
    except CoreError:
        # Nothing is being done any more; what is wrong stands where the figure would.
        place.empty()
        raise
    finally:
        done = True
    place.empty()
