"""The frame of the app: page table, sidebar with what is global, and the guard against deep links."""

from pathlib import Path
from typing import Any, Final

import streamlit as st
from streamlit.navigation.page import StreamlitPage

from pages._ui import departure, evaluation_running, figure, inputs, outputs, picture_first, reconnect, state, text

ROOT: Final = Path(__file__).resolve().parents[2]
_HERE: Final = Path(__file__).parent
SIDEBAR_WIDTH: Final = 240
SECTIONS: Final = {
    "Design a mechanism": (
        ("data", "Data"),
        ("dependencies", "Dependencies"),
        ("losses", "Loss"),
        ("mechanisms", "Mechanisms"),
        ("budget", "Budget"),
        ("evaluation", "Evaluation"),
        ("release", "Release"),
    ),
    "Release at several budgets": (
        ("noise_tiers", "Noise tiers"),
        ("categorical_tiers", "Categorical tiers"),
    ),
    "Learn": (("concepts", "Concepts"),),
}
"""File and title of every page; a page is in the menu when its file exists."""
_SOURCE_HELP: Final = "A bundled table, or your upload. Each keeps a scenario of its own."
_EPSILON_SLIDER: Final = (0.25, 10.0)
_EXPONENTS: Final = {1.0: "1", 2.0: "2", float("inf"): "∞", 0.0: "other"}
_OTHER: Final = 0.0
_OTHER_START: Final = 3.0

_started = False


def listed() -> dict[str, list[tuple[str, str]]]:
    """Return name and title of the pages whose files exist, by section."""
    there = {
        section: [(name, title) for name, title in entries if (ROOT / "pages" / f"{name}.py").is_file()]
        for section, entries in SECTIONS.items()
    }
    return {section: entries for section, entries in there.items() if entries}


def pages() -> dict[str, list[StreamlitPage]]:
    """Return the menu; the first page opens. No icons: the browser would fetch a font from outside."""
    section, entries = next(iter(listed().items()))
    first = entries[0]
    menu = {
        section: [
            st.Page(
                ROOT / "pages" / f"{name}.py", title=title, url_path=_path(name, first[0]), default=name == first[0]
            )
            for name, title in entries
        ]
        for section, entries in listed().items()
    }
    # The page that opens has the bare address only; by its own name it would be "not found".
    menu[section].append(st.Page(_to_first, title=first[1], url_path=first[0], visibility="hidden"))
    return menu


def _path(name: str, first: str) -> str:
    """Return the address of a page; the first has the bare one, and leaves its own to the page that leads to it."""
    return "first" if name == first else name


def _to_first() -> None:
    """Go on to the first page."""
    st.switch_page(f"pages/{next(iter(listed().values()))[0][0]}.py")


def guard() -> None:
    """Start the app where a deep link on a fresh server runs a page file alone; the first line of every page."""
    if not _started:
        _navigate()
        st.rerun()


def _navigate() -> StreamlitPage:
    """Return the chosen page; the menu is off until here, so that file names never show as one (nor set its width)."""
    st.set_page_config(page_title="mDP Explorer", layout="wide", initial_sidebar_state=SIDEBAR_WIDTH)
    st.set_option("client.showSidebarNavigation", True)
    return st.navigation(pages(), expanded=True)


def main() -> None:
    """Run the app: set up, sidebar, and the chosen page inside the one error handler."""
    global _started  # noqa: PLW0603 - the deep-link guard asks once per process
    _started = True
    with picture_first.run():
        # The address goes out before the menu: the browser moves to the page when it has the menu, with what it then
        # knows of the address. Sent afterwards, the bare address of the page would be a step of its own for back and
        # forward. The answer to a drag moves to no page.
        state.follow_history()
        picture_first.later(state.write_link)
        chosen = _navigate()
        st.html(_HERE / "style.css")
        st.logo(str(_HERE / "mark.svg"), size="medium")
        figure.prepare(ROOT / "static")
        reconnect.prepare()
        departure.prepare()
        reconnect.ask_on_return()
        for sentence in state.notices():
            outputs.remark(sentence)
        picture_first.later(sidebar)
        with outputs.guarded():
            chosen.run()


def sidebar() -> None:
    """Show what is global: data set, task, epsilon, metric, undo, pins, save and open."""
    with st.sidebar:
        _globals()


def _globals() -> None:
    evaluation_running.line()
    source = inputs.Cell("source", state.source(), state.choose_source)
    inputs.choice(source, options=text.SOURCES, label="Data set", help=_SOURCE_HELP)
    inputs.choice("task")
    inputs.slider("epsilon", bounds=_EPSILON_SLIDER, step=0.25)
    _exponent()
    with st.container(horizontal=True, gap="small", key="history"):
        _button("Undo", ":material/undo:", state.undo, "undo",
                "Takes the last change of a knob back, as the browser's back does.",
                disabled=not state.can_undo())  # fmt: skip
        _button("Redo", ":material/redo:", state.redo, "redo", "Makes the change that was taken back again.",
                disabled=not state.can_redo())  # fmt: skip
    with st.container(horizontal=True, gap="small", key="pins"):
        for slot in ("A", "B"):
            _pin(slot)
    _save()


def _button(label: str, icon: str, action: Any, key: str, help: str, *, disabled: bool) -> None:
    st.button(
        label, icon=icon, key=key, on_click=action, type="tertiary", help=help, disabled=disabled, width="stretch"
    )


def _exponent() -> None:
    p = state.scenario().p
    other = p not in _EXPONENTS or state.option("own_p", False)

    def write(chosen: float) -> None:
        state.set_option("own_p", chosen == _OTHER)
        state.update(p=_OTHER_START if chosen == _OTHER else chosen)

    cell = inputs.Cell("p", _OTHER if other else p, write)
    inputs.segments(cell, options=_EXPONENTS)
    if other:
        inputs.number(
            "p",
            step=0.5,
            label="Exponent",
            help="Any number from 1; at the same epsilon a larger one is more private.",
            show_ends=False,
        )


def _pin(slot: str) -> None:
    pinned = state.pins().get(slot)
    if pinned is None:
        help = "Keep this scenario aside and compare it on every results page."
        st.button(f"Pin {slot}", key=f"pin_{slot}", on_click=state.pin, args=(slot,), help=help, width="stretch")
        return
    with st.popover(
        f"{slot} pinned", key=f"pinned_{slot}", width="stretch", help="What is kept aside, to open or drop."
    ):
        st.html(f'<p class="pinned">{_summary(pinned)}</p>')
        for word, key, action, help in (
            ("Open it", f"open_{slot}", state.open_pin, "Makes the pinned scenario the present one."),
            ("Pin this instead", f"repin_{slot}", state.pin, "Keeps the present scenario aside in its place."),
            ("Unpin", f"unpin_{slot}", state.unpin, "Forgets the pinned scenario; the present one stays."),
        ):
            st.button(word, key=key, on_click=action, args=(slot,), help=help, width="stretch")


def _summary(pinned: state.Pin) -> str:
    task = dict(text.KNOBS["task"].options)[pinned.scenario.task]
    source = text.SOURCES[pinned.source]
    return f"{source}, {task.lower()}, epsilon {pinned.scenario.epsilon:g}, tau {pinned.scenario.tau_group:g}"


def _save() -> None:
    scenario = state.scenario()
    with st.container(horizontal=True, gap="small", key="files"):
        st.download_button(
            "Save",
            data=scenario.to_json().encode("utf-8"),
            file_name="scenario.json",
            mime="application/json",
            key="save_scenario",
            on_click="ignore",
            help="Every knob as a file, to open again here or to run without the app.",
            width="stretch",
        )
        with st.popover("Open", key="open_popover", width="stretch", help="Opens a scenario that was saved as a file."):
            st.file_uploader(
                "Saved scenario", type="json", key="open_scenario", max_upload_size=1, on_change=_opened,
                help="A file that Save wrote: it sets every knob; the table stays.",
            )  # fmt: skip


def _opened() -> None:
    file = state.uploaded("open_scenario")
    if file is not None:
        state.open_scenario(file.getvalue())
