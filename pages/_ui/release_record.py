"""One record on the Release page: which row, another value for trial, the draw."""

from collections.abc import Hashable

import streamlit as st

from core.errors import CoreError
from core.plots.palette import DPN, OPT
from core.plots.release import RecordView
from core.release import ReleasePlan, release_record, trace_record
from pages._ui import inputs, outputs, state
from pages._ui import release_plan as about

_AS_IT_IS = -1


def controls(plan: ReleasePlan) -> RecordView:
    """Show the controls of the picture and return what it draws."""
    rows = plan.records.rows.tolist()
    place = min(int(state.option("release_place", 1)), len(rows))
    cell = inputs.Cell("release_place", place, lambda value: state.set_option("release_place", int(value)))
    inputs.number(
        cell, bounds=(1, len(rows)), step=1, digits=0, label="Record",
        help="Which record is perturbed step by step, counted in the order of the table.", show_ends=False,
    )  # fmt: skip
    codes = _try_another(plan, list(plan.records.codes[place - 1].tolist()))
    inputs.segments(
        inputs.option("release_numeric", "representative"), options=about.NUMERIC, label="Bins",
        help="How a released bin of a numeric column is written: its middle, or a uniform draw within it. Either way "
        "only the bin was released, so privacy is the same.",
    )  # fmt: skip
    if plan.design.scenario.domain == "observed":
        inputs.choice(
            inputs.option("release_states", "designed"), options=about.STATES, label="States",
            help="Combinations that fewer than 5 records have may be merged into their nearest neighbours before "
            "anything leaves: the design is then solved anew without them.",
        )  # fmt: skip
    token: Hashable = (about.token(), place, tuple(codes), state.option("release_numeric", "representative"))
    st.button(
        "Perturb this record", key="perturb_record", type="primary", width="stretch", on_click=_perturb,
        args=(plan, tuple(codes), rows[place - 1], token),
        help="Exact draws from the operating system's cryptographic source. It is a release and enters the ledger.",
    )  # fmt: skip
    _key(plan)
    record = about.last_record(token) or trace_record(plan, codes)
    return RecordView(plan, record, place - 1)


def _try_another(plan: ReleasePlan, codes: list[int]) -> list[int]:
    """Offer another level for one attribute, to see where a record outside the states goes."""
    attributes = plan.records.attributes
    help = "See where a record that the table may not hold would go."
    with st.popover("Try another value", width="stretch", key="try_value", help=help):
        names = {_AS_IT_IS: "none", **{i: a.name for i, a in enumerate(attributes)}}
        changed = inputs.choice(
            inputs.option(f"release_changed {plan.table.digest[:8]}", _AS_IT_IS), options=names, label="Attribute",
            help="Change one value of the record, to see a combination that the table may not hold.",
        )  # fmt: skip
        if changed is None or changed == _AS_IT_IS:
            return codes
        levels = dict(enumerate(attributes[changed].levels))
        level = inputs.choice(
            inputs.option(f"release_level {plan.table.digest[:8]} {changed}", codes[changed]), options=levels,
            label="Value", help="The level that takes its place.",
        )  # fmt: skip
    codes[changed] = int(level)
    return codes


def _key(plan: ReleasePlan) -> None:
    optimised = any(b.channel.mechanism == "OPT" for b in plan.blocks)
    noise = any(b.channel.mechanism != "OPT" for b in plan.blocks)
    outputs.key(
        ("ring", "@text", "true state"),
        ("diamond", "@text", "drawn state"),
        *((("line", DPN, "probability, noise"),) if noise else ()),
        *((("line", OPT, "probability, OPT"),) if optimised else ()),
    )


def _perturb(plan: ReleasePlan, codes: tuple[int, ...], row: int, token: Hashable) -> None:
    """Release one record; the data leave here."""
    try:
        made = release_record(plan, codes, numeric=str(state.option("release_numeric", "representative")))
    except CoreError as error:
        state.tell(str(error))
        return
    about.keep_record(token, plan, made, row)
