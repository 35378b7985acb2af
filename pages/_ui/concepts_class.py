"""For the class: the stepper, presets, the worksheet, and the presenter view with its keys."""

from typing import Final

import streamlit as st

from core.concepts import PRESETS, write_worksheet
from pages._ui import concepts_state, inputs, state

NEXT_KEY, BACK_KEY, LEAVE_KEY = "N", "P", "Esc"
"""Letters: page and arrow keys move a focused handle."""
_HIDDEN_LABEL: Final = """<style>
.st-key-segments_concept [data-testid="stWidgetLabel"]{position:absolute;width:1px;height:1px;overflow:hidden;
  clip-path:inset(50%)}
.exercise h2{font-size:1rem;font-weight:600;margin:0 0 .2rem;padding:0}
.exercise p{margin:0 0 .35rem;max-width:50rem;font-size:.95rem;line-height:1.45}
.exercise .right,.exercise .wrong{padding:.35rem .7rem;border-radius:4px;max-width:48rem;
  border:1px solid var(--st-border-color,#8883);border-left:4px solid #CC3311}
.exercise .right{border-left-color:#009E73}
</style>"""
_PRESENTER: Final = """<style>
[data-testid="stSidebar"],[data-testid="stSidebarCollapsedControl"],[data-testid="stExpandSidebarButton"]{display:none}
[data-testid="stMainBlockContainer"]{padding-top:2.2rem;max-width:1800px}
h1.question{font-size:2.1rem}.lede{font-size:1.25rem}
.st-key-head_place{margin-bottom:-36px}.st-key-head .strip{display:none}
.means{font-size:1.45rem;max-width:none}
.figure .flag{font-size:17px;line-height:26px}
.figure .region div{font-size:16px}
</style>"""


def stepper() -> str:
    """Show the concepts side by side, with what a teacher needs beside them, and return the chosen one."""
    st.html(_HIDDEN_LABEL)
    with st.container(horizontal=True, horizontal_alignment="distribute", key="concept_bar"):
        chosen = inputs.segments(
            inputs.Cell("concept", concepts_state.concept(), concepts_state.show),
            options=concepts_state.CONCEPTS,
            label="Concept",
            help="Which idea is shown; every one keeps its own settings.",
        )
        with st.popover("For the class", key="for_the_class", help="Presets, the worksheet, the presenter view."):
            _for_the_class()
    return str(chosen)


def _for_the_class() -> None:
    now = concepts_state.preset()
    inputs.choice(
        inputs.Cell("concepts_preset", now, concepts_state.use_preset),
        options={key: preset.title for key, preset in PRESETS.items()},
        label="Preset",
        help="Sets every concept of this page at once and forgets all answers.",
    )
    st.caption(PRESETS[now].purpose)
    st.button(
        "Reset to this preset", key="concepts_reset", on_click=concepts_state.use_preset, args=(now,),
        help="Puts every concept back and forgets all answers.",
    )  # fmt: skip
    st.download_button(
        "Worksheet to print",
        data=lambda: write_worksheet(concepts_state.settings()).encode("utf-8"),
        file_name="worksheet.html",
        mime="text/html",
        key="concepts_worksheet",
        on_click="ignore",
        help="The eight exercises for these settings with room to write, and the answers on a page of their own.",
    )
    st.button(
        "Presenter view",
        key="concepts_present",
        on_click=state.set_option,
        args=(concepts_state.PRESENTING, True),
        help="Large type and one picture; N and P step through the concepts, Esc leaves.",
    )


def presenter() -> str:
    """Show the keys of the presenter view and return the concept."""
    st.html(_PRESENTER)
    keys = list(concepts_state.CONCEPTS)
    chosen = concepts_state.concept()
    at = keys.index(chosen)
    with st.container(horizontal=True, gap="small", key="presenter_keys", vertical_alignment="center"):
        st.button("Back", key="present_back", on_click=concepts_state.step, args=(-1,), shortcut=BACK_KEY,
                  disabled=at == 0, help="The concept before; the key P.")  # fmt: skip
        st.button("Next", key="present_next", on_click=concepts_state.step, args=(1,), shortcut=NEXT_KEY,
                  disabled=at == len(keys) - 1, help="The next concept; the key N.")  # fmt: skip
        st.button("Leave", key="present_leave", on_click=state.set_option, args=(concepts_state.PRESENTING, False),
                  shortcut=LEAVE_KEY, help="Back to the page with its controls; the key Esc.")  # fmt: skip
        st.html(f"<span>{at + 1} of {len(keys)}: {concepts_state.CONCEPTS[chosen]}</span>", width="content")
    return chosen
