"""What does metric differential privacy mean? One concept at a time, by hand."""

from pages._ui.shell import guard

guard()

from typing import Final

import streamlit as st

from core.errors import CoreError
from core.plots.concepts import enlarge
from pages._ui import (
    concepts_class,
    concepts_exercise,
    concepts_state,
    concepts_steps,
    concepts_text,
    figure,
    outputs,
    state,
)

PRESENTED_HEIGHT: Final = 500

presenting = concepts_state.presenting()
place = st.container(key="head_place")
concept = concepts_class.presenter() if presenting else concepts_class.stepper()
step = concepts_steps.STEPS[concept]
main, controls = outputs.bench()
with controls:
    step.controls()
shown = None
with main:
    try:
        shown = step.show() if concept != "stages" or state.has_table() else None
    except CoreError as error:
        outputs.refusal(str(error))
    else:
        if shown is None:
            outputs.empty("No table is loaded yet.", "Use the sample Heart", lambda: state.choose_source("heart"))
with place:
    outputs.head(step.question, step.lede, concepts_steps.metrics(shown.headline) if shown else outputs.EMPTY_STRIP)
if shown is None:
    st.stop()
with main:
    figure.figure(
        enlarge(shown.picture, height=PRESENTED_HEIGHT) if presenting else shown.picture,
        key=f"concept_{concept}",
        on_drag=step.drag,
    )
outputs.means(shown.sentence)
if not presenting:
    concepts_exercise.exercise(concept)
    outputs.tabs(numbers=shown.picture.table, method=concepts_text.METHODS[concept], name=f"concept_{concept}")
