"""Is it worth it? Methods against each other on records that nobody fitted, the attacker, sweeps and plans."""

from pages._ui.shell import guard

guard()

import streamlit as st

from pages._ui import cache, compare, evaluation_views, late, outputs, state

stages = cache.stages() if state.has_table() else None
outputs.head(
    "Is it worth it?",
    "Every method perturbs the same test records at the same budgets; what each loses is measured, not predicted.",
    late.strip(stages) if stages else outputs.EMPTY_STRIP,
)
if stages is None:
    outputs.empty("No table is loaded yet.", "Use the sample Heart", lambda: state.choose_source("heart"))
    st.stop()
compare.beside()
evaluation_views.show()
late.finish_strip()
compare.finish()
