"""The report on the Release page: one HTML file in full, or one page for those who decide."""

from collections.abc import Callable
from datetime import date

import streamlit as st

from core.plots.report import draw_exhibits
from core.projection import RARE
from core.release import MergedStages, ReleasePlan, count_rare
from core.report import Origin, build_report, render
from pages._ui import cache, outputs, state
from pages._ui import release_plan as about

_DEPTHS = {
    "full": (
        "Download full report", "report.html", "primary",
        "Scenario, findings, every figure with its numbers, the certificate per group, what is and is not guaranteed, "
        "and how to make it again: one HTML file of 5 MB that works offline and prints.",
    ),
    "page": (
        "Download one page", "report_page.html", "secondary",
        "What it costs, where the privacy budget goes and what is promised, on one A4 page for those who decide.",
    ),
}  # fmt: skip


def report(plan: ReleasePlan) -> None:
    """Draw the tab 'Report'."""
    rare = count_rare(plan, RARE)
    if rare:
        outputs.remark(
            f"This design's states tell of the data: **{rare:,} combinations** were seen fewer than {RARE} times. The "
            "report warns of it; the tab Mechanism pack merges them or takes all combinations."
        )
    with st.container(horizontal=True, gap="small", vertical_alignment="center", key="report_row"):
        for depth, (label, name, kind, help) in _DEPTHS.items():
            st.download_button(
                label, data=_maker(plan, depth), file_name=name, mime="text/html", key=f"download_report_{depth}",
                on_click="ignore", icon=":material/download:", type=kind, help=help,  # type: ignore[arg-type]
            )  # fmt: skip
    st.caption("Figures and counts in a report are computed from the table: it is no private release itself.")


def _maker(plan: ReleasePlan, depth: str) -> Callable[[], bytes]:
    """Return what makes the file when it is asked for; everything that it needs of the session is taken now."""
    stages = cache.stages()
    if about.merged():
        stages = MergedStages.of(stages)
    source = state.source()
    numeric = str(state.option("release_numeric", "representative"))

    def make() -> bytes:
        exhibits = draw_exhibits(stages) if depth == "full" else ()
        origin = Origin(None if source == "upload" else source, date.today().isoformat())
        return render(build_report(stages, plan, exhibits, origin=origin, numeric=numeric), depth)

    return make
