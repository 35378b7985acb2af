"""What am I protecting: the table, its schema, and the levels that a mechanism sees."""

from pages._ui.shell import guard

guard()

from typing import Final

import streamlit as st

from core.domain import Attribute, Records, complete_specs
from core.errors import CoreError
from core.plots.attribute import plot_column
from core.plots.data import CELLS, HEIGHT, plot_columns, table_levels
from core.plots.schema import declare_specs, explain_column, explain_data, tabulate_schema
from core.scenario import AttributeSpec
from pages._ui import cache, figure, inputs, late, outputs, schema, source, state

ALL: Final = -1
METHOD: Final = r"""
A mechanism never sees a value, only its **level** (section 3, type-specific metrics). Nominal levels are at distance
$d = 1$ from each other; ordinal ones at $|\text{rank}_a - \text{rank}_b|/(m-1)$; numbers fall into bins with mid-points
$u, v$ at $|u - v| / (\text{high} - \text{low})$. A missing value is a level at distance 1 from every other, or its row
is dropped. Records are at $d_p = (\sum_\ell w_\ell\, d_\ell^p)^{1/p}$, and any two of them give every output with
probabilities within a factor $e^{\varepsilon d_p}$. The guarantee is for levels: it may exceed that for raw values by
up to one bin width. Levels, bounds, priors and losses that are taken from the data are **not** protected by epsilon.
"""


def _findings(found: tuple[str, ...]) -> None:
    for sentence in found:
        outputs.remark(sentence.replace("**", "* *"))
    if not found:
        st.html('<p class="means">Nothing unusual was noticed.</p>')


def _choose_column(records: Records) -> int:
    """Show the picker of the column and return its position in the table, `ALL` for all of them."""
    columns = {a.column: a.name for a in records.attributes}
    pages = range(0, len(columns), CELLS)
    several = {ALL - k: f"Columns {s + 1} to {min(s + CELLS, len(columns))}" for k, s in enumerate(pages)}
    options = (several if len(several) > 1 else {ALL: "All columns"}) | columns
    cell = inputs.option("data_column", ALL)
    key = f"column_{state.table().digest[:8]}_{len(columns)}"
    help = "Pick one here or click its histogram: it is drawn large, and its bins or levels can be edited."
    chosen: int = inputs.choice(cell, options=options, label="Column shown", help=help, key=key)
    return chosen


def _position(records: Records, column: int) -> int:
    return next(i for i, a in enumerate(records.attributes) if a.column == column)


def _column(records: Records, column: int) -> tuple[Attribute, AttributeSpec]:
    return records.attributes[_position(records, column)], complete_specs(state.table(), state.scenario())[column]


def _means(records: Records, chosen: int) -> str:
    return explain_column(records, _position(records, chosen)) if chosen > ALL else explain_data(records, state.table())


def _show(records: Records, chosen: int) -> None:
    table = state.table()
    if chosen <= ALL:
        first = (ALL - chosen) * CELLS
        shown = range(len(records.attributes))[first : first + CELLS]
        picture = plot_columns(records, table, shown=shown)
        figure.figure(picture, key="attributes", on_pick=lambda column: state.set_option("data_column", column))
        return
    position = _position(records, chosen)
    edges = records.attributes[position].edges

    def dragged(values: dict[str, float]) -> None:
        moved = [values.get(f"edge{k}", float(edge)) for k, edge in enumerate(edges)]
        state.update_attribute(chosen, kind="numeric", binning="edges", edges=tuple(moved))

    figure.figure(plot_column(records, table, position=position), key="attribute", on_drag=dragged)


def _declare() -> None:
    state.update(attributes=declare_specs(state.table(), state.scenario()))


def _controls(records: Records | None, chosen: int) -> None:
    scenario = state.scenario()
    if records is not None and chosen > ALL:
        schema.edit_column(*_column(records, chosen))
        return
    inputs.choice("domain")
    if scenario.task in ("crowdsourcing", "prediction"):
        columns: dict[int | None, str] = dict(enumerate(map(str, state.table().frame.columns)))
        inputs.choice("target", options=columns if scenario.target is not None else {None: "none yet"} | columns)
    source.uploader()
    outputs.key(("band", "@neutral", "values as read"), ("line", "@neutral", "levels: all a mechanism sees"))


stages = cache.stages() if state.has_table() else None
outputs.head(
    "What am I protecting?",
    "Every attribute becomes a few levels, and a mechanism sees nothing finer. Bins and levels are yours to choose.",
    late.strip(stages) if stages else outputs.EMPTY_STRIP,
)
main, controls = outputs.bench()
if stages is None:
    with main, st.container(height=HEIGHT, key="empty", horizontal_alignment="center", vertical_alignment="center"):
        st.html('<p class="empty">No table is loaded yet: give one here, or pick a sample at the left.</p>')
        source.uploader()
    st.stop()
table, scenario = state.table(), state.scenario()
records, problem = None, ""
try:
    records = stages.records
except CoreError as error:
    problem = str(error)
with controls:
    chosen = _choose_column(records) if records else ALL
    _controls(records, chosen)
with main:
    if records:
        _show(records, chosen)
    else:
        with st.container(height=HEIGHT, border=False, key="problem"):
            outputs.refusal(f"{problem} The schema below can be changed.")
            if scenario.domain == "declared":
                help = "Writes them down as yours: keep only what you knew without this table."
                st.button("Declare the levels and bounds shown", key="declare", on_click=_declare, help=help)
outputs.means(_means(records, chosen) if records else "")
edges = {a.column: a.edges for a in records.attributes} if records else {}
found = (*table.findings, *(records.findings if records else ()))
tabs = {"Schema": lambda: schema.edit_schema(tabulate_schema(table, scenario, records=records), edges)}
if records and chosen > ALL:
    tabs["Distances"] = lambda: schema.show_distances(*_column(records, chosen))
tabs[f"Findings ({len(found)})"] = lambda: _findings(found)
tabs["Source"] = lambda: source.show_format(table)
outputs.tabs(
    first=tabs,
    numbers=table_levels(records) if records else None,
    method=METHOD,
    name="levels",
)
if records:
    late.finish_strip()
