"""The tab on tiers of a record: one group of the loaded table at the budgets of the list."""

from collections.abc import Hashable, Sequence
from typing import Final

import streamlit as st

from core.plots.grouping import group_label
from core.plots.record_tiers import HEIGHT, explain_record_tiers, plot_record_tiers, table_record_tiers
from core.record_study import study_record_tiers
from core.tiers.record import STATES
from pages._ui import cache, figure, inputs, late, outputs, state

TIERS: Final = 6
"""Budgets of the list that are solved, spread over it."""


def record_tiers(budgets: Sequence[float]) -> None:
    """Show what the same record costs at several budgets when its group is released by metric-DP channels."""
    if not state.has_table():
        outputs.remark("No table is loaded yet; upload one on the Data page, or pick a sample at the left.")
        return
    stages = cache.stages()
    small = [k for k, group in enumerate(stages.groups) if _fits(stages.domain(group).size)]
    if not small:
        outputs.remark(f"No group has at most {STATES.high:g} states; raise tau_group on the Dependencies page.")
        return
    names = {k: f"{group_label(stages.group_names[k])}, {stages.domain(stages.groups[k]).size} states" for k in small}
    start = max(small, key=lambda k: stages.domain(stages.groups[k]).size)
    cell = inputs.Cell("record_group", state.option("record_group", start), _choose)
    with st.container(width=360, key="record_row"):
        chosen = inputs.choice(
            inputs.Cell("record_group", cell.value if cell.value in small else start, _choose), options=names,
            label="Group", help="The group whose joint states are released; at most 30 states.",
        )  # fmt: skip
    step = max(1, -(-len(budgets) // TIERS))
    listed = tuple(budgets[::step])
    token: Hashable = ("record", state.table().digest, stages.scenario.digest(), chosen, listed)
    study = late.recall("record_tiers", token)
    if study is None:
        with outputs.working("Solving the chain", token=str(token), height=HEIGHT, name="record") as progress:
            profile = cache.stages(progress).profile(stages.groups[chosen])
            study = late.keep("record_tiers", token, study_record_tiers(profile, listed, progress))
    figure.figure(plot_record_tiers(study, stages.task.unit), key="record_tiers")
    outputs.remark(explain_record_tiers(study, group_label(stages.group_names[chosen])))
    outputs.table(table_record_tiers(study), name="record_tiers")


def _fits(size: int) -> bool:
    return STATES.low <= size <= STATES.high


def _choose(k: int) -> None:
    state.set_option("record_group", k)
