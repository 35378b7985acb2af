"""The whole table on the Release page: release, download, and estimates from what was released."""

import time
from typing import Final

import numpy as np
import streamlit as st

from core.estimation import MarginalEstimate, estimate_marginal
from core.plots.release import explain_ledger
from core.plots.release_estimates import EstimateView, explain_estimates, plot_estimates
from core.plots.template import sig
from core.release import ReleasePlan, excluded_columns, release_table, to_csv, type_of
from pages._ui import figure, inputs, outputs, state
from pages._ui import release_plan as about

PREVIEW: Final = 200
"""Released records shown; all are in the download."""
_CONTROLS: Final = 420
_ASKED: Final = "release_asked"


def table(plan: ReleasePlan) -> None:
    """Draw the tab 'Whole table'."""
    _unprotected(plan)
    with st.container(horizontal=True, gap="medium", vertical_alignment="center", key="release_row"):
        st.button(
            "Release the table", key="release_table", type="primary",
            on_click=lambda: state.set_option(_ASKED, time.monotonic()),
            help="Perturbs every record once, exactly, on the operating system's cryptographic source.",
        )  # fmt: skip
        outputs.remark(explain_ledger(about.ledger(), plan.metric_digest))
    asked = state.option(_ASKED)
    if asked is not None:
        state.set_option(_ASKED, None)  # an abandoned run releases nothing and is not taken up again
        with outputs.working("Releasing", token=f"release {asked}", height=110, name="release") as progress:
            made = release_table(
                plan, numeric=str(state.option("release_numeric", "representative")), progress=progress
            )
        about.keep_table(plan, made)
        st.rerun()
    _show(plan)


def _unprotected(plan: ReleasePlan) -> None:
    """Offer to let excluded columns leave as they are, which is never the default."""
    possible = excluded_columns(plan.table, plan.records)
    if not possible:
        return
    chosen = tuple(name for name in about.unprotected() if name in possible)
    key = f"unprotected_{plan.table.digest[:8]}"

    def changed() -> None:
        meant, names = state.reported(key)
        if meant:
            about.set_unprotected(tuple(names or ()))

    state.seat(key, list(chosen))
    with st.container(width=_CONTROLS, key="unprotected_row"):
        st.multiselect(
            "Columns that leave unprotected", options=list(possible), default=list(chosen), key=key,
            on_change=changed, placeholder="none",
            help="Excluded columns never leave unless they are named here. They leave as they are, and nothing above "
            "holds for them.",
        )  # fmt: skip
    if chosen:
        outputs.refusal(f"{', '.join(chosen)} will leave **without any protection**: true values, row by row.")


def _show(plan: ReleasePlan) -> None:
    """Show what was released last, whatever the design is now."""
    last = about.last_table()
    if last is None:
        st.caption("Released records are shown here, and can be downloaded. Nothing is written to disk by the app.")
        return
    release, old = last.release, last.token != about.token()
    types = tuple(type_of(last.plan, c) for c in last.plan.leaving)
    words = f"{len(release.frame):,} records, {len(release.frame.columns)} columns"
    if last.plan.dropped:
        words += f"; {last.plan.dropped:,} rows with a missing value were left out"
    if release.withheld:
        words += f"; withheld: {', '.join(release.withheld)}"
    if old:
        words += f". Released under an earlier design, at epsilon {sig(release.certified_epsilon)}"
    with st.container(horizontal=True, gap="medium", vertical_alignment="center", key="download_row"):
        st.download_button(
            "Download released table", data=lambda: to_csv(release.frame, types), file_name="released.csv",
            mime="text/csv", key="download_release", on_click="ignore", icon=":material/download:",
            help="Columns in the order and form of the table; cells that a spreadsheet would run are defused.",
        )  # fmt: skip
        st.caption(f"{words}.")
    st.dataframe(release.frame.head(PREVIEW), hide_index=True, width="stretch", key="released_rows")


def estimates() -> None:
    """Draw the tab 'Estimates': what the released table tells of one attribute."""
    last = about.last_table()
    if last is None:
        st.caption("Release the table first: estimates are made from what was released, and from nothing else.")
        return
    attributes = last.plan.records.attributes
    names = {i: a.name for i, a in enumerate(attributes)}
    telling = max(last.plan.blocks, key=lambda b: b.channel.certified_epsilon)
    with st.container(width=_CONTROLS // 2, key="estimate_row"):
        chosen = int(
            inputs.choice(
                inputs.option(f"release_estimated {last.plan.table.digest[:8]}", telling.members[0]), options=names,
                label="Attribute", help="Whose shares are estimated from the released table.",
            )
        )  # fmt: skip
    codes = last.plan.records.codes[:, chosen]
    truth = np.bincount(codes, minlength=attributes[chosen].size) / len(codes)
    view = EstimateView(attributes[chosen].name, attributes[chosen].levels, _estimate(last, chosen), truth)
    figure.figure(plot_estimates(view), key="estimates")
    outputs.remark(explain_estimates(view))
    outputs.table(plot_estimates(view).table, name="estimates")


def _estimate(last: about.Released, attribute: int) -> MarginalEstimate:
    """Return the estimate of an attribute, computed once per release."""
    if attribute not in last.estimates:
        k, block = next((k, b) for k, b in enumerate(last.plan.blocks) if attribute in b.members)
        levels = block.domain.states[:, block.members.index(attribute)]
        size = block.attributes[block.members.index(attribute)].size
        token = f"estimate {attribute} {id(last)}"
        with outputs.working("Estimating", token=token, height=110, name="estimate") as progress:
            last.estimates[attribute] = estimate_marginal(
                block.channel.matrix, last.release.drawn[:, k], levels,
                size=size, rng=np.random.default_rng(state.scenario().seed), progress=progress,
            )  # fmt: skip
    return last.estimates[attribute]
