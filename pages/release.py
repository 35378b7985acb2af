"""What leaves: one record step by step, the whole table, estimates from it, and the mechanism itself."""

from pages._ui.shell import guard

guard()

from typing import Final

import streamlit as st

from core.plots.release import explain_record, plot_record, table_record
from pages._ui import (
    cache,
    figure,
    late,
    outputs,
    release_pack,
    release_plan,
    release_record,
    release_report,
    release_table,
    state,
)

HEIGHT: Final = 484
METHOD: Final = r"""
A record is coded into levels; its levels in a group are a **state** $x$, or count as the nearest state $Px$ (ties: the
lowest). The group's **channel row** $Z[x, \cdot]$ is a list of whole numbers that sum to $2^{58}$; one uniform whole
number below $2^{58}$ from the operating system's cryptographic source is looked up in its partial sums, so every output
is drawn with exactly its probability. No rounded number stands between source and output. Groups are drawn
independently; their certificates compose to $\|\epsilon\|_q$ (Theorem 1). Releases of the same record add up.

**Estimates.** With the released shares $o$ of a group's states, the share of a level is $\sum_y f(y)\, o_y$ with
$Z f = 1[x \text{ has the level}]$, which has no bias; where no such $f$ exists the share is not told. **Iterative
Bayes** repeats $p(x) \leftarrow \sum_y o_y\, p(x) Z[x,y] / \sum_{x'} p(x') Z[x',y]$ from uniform shares (Agrawal and
Aggarwal, 2001). Bars are 95 % intervals.
"""

stages = cache.stages() if state.has_table() else None
outputs.head(
    "What leaves, and what does it tell?",
    "A release draws every group of a record from its channel. Nothing has left before a button here is pressed.",
    late.strip(stages) if stages else outputs.EMPTY_STRIP,
)
if stages is None:
    outputs.empty("No table is loaded yet.", "Use the sample Heart", lambda: state.choose_source("heart"))
    st.stop()
main, controls = outputs.bench()
with (
    main,
    outputs.working("Designing the mechanism", token=f"release {release_plan.token()}", height=HEIGHT) as progress,
):
    plan = release_plan.plan(progress)
with controls:
    view = release_record.controls(plan)
with main:
    figure.figure(plot_record(view), key="record")
outputs.means(explain_record(view))
outputs.tabs(
    first={
        "Whole table": lambda: release_table.table(plan),
        "Estimates": release_table.estimates,
        "Mechanism pack": lambda: release_pack.pack(plan),
        "Report": lambda: release_report.report(plan),
        "Ledger": lambda: release_pack.ledger(plan),
    },
    numbers=table_record(view),
    method=METHOD,
    details=lambda: release_pack.details(plan),
    name="record",
)
late.finish_strip()
