"""Editing what is decided about columns: the schema as a table, and one column's bins, edges and levels."""

from collections.abc import Callable
from typing import Any, Final

import pandas as pd
import streamlit as st

from core import limits
from core.domain import Attribute
from core.errors import CoreError
from core.metric import verify_metric
from core.plots.schema import complete_edit, edges_text, parse_edges, parse_levels, read_edits, set_distances
from core.scenario import CHOICES, AttributeSpec
from pages._ui import inputs, outputs, state

_VERSION: Final = "schema_version"
_BINNING: Final = {"width": "equal width", "quantile": "equal counts", "edges": "own edges"}
_ROW: Final = 35
_DISTANCES: Final = 40
"""Levels up to which the distances between them are shown."""


def edit_schema(frame: pd.DataFrame, edges: dict[int, Any]) -> None:
    """Show the schema as a table that one can edit; every edit is a step of undo.

    Parameters
    ----------
    frame : DataFrame
        From `tabulate_schema`.
    edges : dict of int to ndarray
        Bin edges by column, from which own edges start.
    """
    key = _key(frame)

    def edited() -> None:
        for column, changes in read_edits(frame, state.component(key, "edited_rows")).items():
            shown = frame.loc[column, "binning"]
            state.update_attribute(column, **complete_edit(changes, binning=shown, edges=edges.get(column)))

    st.data_editor(
        frame,
        key=key,
        on_change=edited,
        hide_index=True,
        width="stretch",
        height=_ROW * (min(len(frame), 16) + 1) + 3,
        disabled=["column", "levels", "note"],
        column_config=_columns(),
        placeholder="–",
    )


def _key(frame: pd.DataFrame) -> str:
    """Return the editor's key, a new one where it holds an edit that the scenario refused or took back."""
    version = state.option(_VERSION, 0)
    if read_edits(frame, state.component(f"schema_{version}", "edited_rows")):
        version += 1
        state.set_option(_VERSION, version)
    return f"schema_{version}"


def _columns() -> dict[str, Any]:
    config, words = st.column_config, limits
    return {
        "column": config.TextColumn("column", pinned=True, width=152),
        "include": config.CheckboxColumn("include", help="Whether the column takes part (L attributes).", width=76),
        "kind": config.SelectboxColumn(
            "kind",
            options=list(CHOICES["kind"]),
            required=True,
            width=88,
            help="How two values are compared: nominal d = 1 if different, ordinal by rank, numeric by value.",
        ),
        "levels": config.NumberColumn("levels", help="Domain size m: levels that a mechanism sees.", width=58),
        "binning": config.SelectboxColumn(
            "binning", options=list(CHOICES["binning"]), width=88, help="Bins of equal width, of equal counts, or own."
        ),
        "bins": config.NumberColumn(
            "bins",
            min_value=int(words.BINS.low),
            max_value=int(words.BINS.high),
            step=1,
            width=64,
            help="Number of bins; fewer bins hide more before any noise is added.",
        ),
        "low": config.NumberColumn("low", width=74, help="Lower bound; taken from the data unless declared."),
        "high": config.NumberColumn("high", width=74, help="Upper bound; taken from the data unless declared."),
        "weight": config.NumberColumn(
            "weight",
            min_value=words.WEIGHT.low,
            max_value=words.WEIGHT.high,
            width=76,
            help="Weight w_l of this attribute in the record metric: a larger weight leaves it less private.",
        ),
        "missing": config.SelectboxColumn(
            "missing", options=list(CHOICES["missing"]), width=86, help="A level of its own, or its rows are dropped."
        ),
        "note": config.TextColumn("note", width="large"),
    }


def edit_column(attribute: Attribute, spec: AttributeSpec) -> None:
    """Show the controls of one column: kind, bins and edges, or levels in order.

    Parameters
    ----------
    attribute : Attribute
        The column as coded.
    spec : AttributeSpec
        Its complete spec.
    """

    def cell(name: str, value: Any) -> inputs.Cell:
        return inputs.Cell(f"{name}_{spec.column}", value, lambda new: _write(attribute, spec, {name: new}))

    inputs.choice(
        cell("kind", attribute.kind),
        options=CHOICES["kind"],
        label="Kind",
        help="How two values are compared: nominal d = 1 if different, ordinal by rank, numeric by value.",
    )
    if attribute.kind == "numeric":
        count = attribute.size - attribute.has_missing
        bounds = (limits.BINS.low, limits.BINS.high)
        help = "Number of bins; fewer bins hide more before any noise is added."
        inputs.number(cell("bins", count), bounds=bounds, step=1, digits=0, label="Bins", help=help)
        inputs.choice(
            cell("binning", spec.binning), options=_BINNING, label="Cut", help="How the edges of the bins are chosen."
        )
        words = "Numbers with spaces between; the first and the last are the bounds."
        _text(cell("edges", edges_text(attribute.edges)), st.text_input, "Edges", words, _edges(attribute, spec))
    else:
        shown = "\n".join(attribute.levels[: attribute.size - attribute.has_missing])
        words = (
            "One level per line; the order counts where the kind is ordinal. Declared levels may go beyond the data."
        )
        _text(cell("levels", shown), st.text_area, "Levels in order", words, _levels(attribute, spec))


def show_distances(attribute: Attribute, spec: AttributeSpec) -> None:
    """Show how far any two levels are apart; those of a nominal column can be typed, one at a time.

    Parameters
    ----------
    attribute : Attribute
        The column as coded.
    spec : AttributeSpec
        Its complete spec.
    """
    proper = attribute.size - attribute.has_missing
    if proper > _DISTANCES:
        outputs.remark(f"The column has {proper} levels; distances are shown up to {_DISTANCES}.")
        return
    matrix = attribute.distance[:proper, :proper]
    names = list(attribute.levels[:proper])
    # Levels may repeat a word of the table's own, so columns are numbers under the hood.
    frame = pd.DataFrame(matrix, index=names, columns=[str(k) for k in range(proper)])
    config = {str(k): st.column_config.NumberColumn(name, format="%.4g", min_value=0) for k, name in enumerate(names)}
    if attribute.kind != "nominal":
        st.dataframe(frame, column_config=config, key="distances_shown")
        return
    # A new matrix is a new table, so that no typed cell outlives an undo.
    key = f"distances_{spec.column}_{hash(matrix.tobytes())}"

    def edited() -> None:
        changed = set_distances(matrix, state.component(key, "edited_rows"))
        try:
            verify_metric(changed, tuple(names))
        except CoreError as error:
            state.tell(str(error))
            return
        own = tuple(tuple(float(v) for v in row) for row in changed)
        state.update_attribute(spec.column, kind="nominal", levels=tuple(names), distance=own)

    st.data_editor(frame, key=key, on_change=edited, column_config=config)


def _write(attribute: Attribute, spec: AttributeSpec, changes: dict[str, Any]) -> None:
    state.update_attribute(spec.column, **complete_edit(changes, binning=spec.binning, edges=attribute.edges))


def _edges(attribute: Attribute, spec: AttributeSpec) -> Callable[[str], None]:
    def write(text: str) -> None:
        _write(attribute, spec, {"kind": "numeric", "binning": "edges", "edges": parse_edges(text, attribute.name)})

    return write


def _levels(attribute: Attribute, spec: AttributeSpec) -> Callable[[str], None]:
    return lambda text: _write(attribute, spec, {"levels": parse_levels(text)})


def _text(cell: inputs.Cell, widget: Any, label: str, help: str, write: Callable[[str], None]) -> None:
    """Show a field of text that is parsed when it is left; what cannot be read becomes a sentence."""
    key = f"text_{cell.name}"
    state.seat(key, cell.value)

    def changed() -> None:
        meant, value = state.reported(key)
        if not meant:
            return
        try:
            write(value)
        except CoreError as error:
            state.tell(str(error))

    widget(label, key=key, on_change=changed, help=help)
