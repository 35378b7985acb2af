"""The schema as a table that one can edit, what an edit means, and the data in words."""

import dataclasses
import math
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import pandas as pd

from core.domain import Records, build_records, complete_specs
from core.errors import CoreError, InputError
from core.plots.template import shorten, sig
from core.scenario import AttributeSpec, Scenario
from core.table import Table

EDITABLE: Final = ("include", "kind", "binning", "bins", "low", "high", "weight", "missing")
"""Columns of the schema that a person changes; the others are read."""
_LISTED: Final = 4
_SUPERSCRIPT: Final = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def tabulate_schema(table: Table, scenario: Scenario, *, records: Records | None) -> pd.DataFrame:
    """Return one row per column of the table: what is decided about it, its levels, and what was noticed.

    Parameters
    ----------
    table : Table
        The table.
    scenario : Scenario
        What a person decided.
    records : Records or None
        The coded table; None where it cannot be coded, so that the schema can still be corrected.

    Returns
    -------
    DataFrame
        Indexed by the column's position in the table.
    """
    specs = _best_specs(table, scenario)
    sizes = {a.column: a.size for a in records.attributes} if records else {}
    edges = {a.column: a.edges for a in records.attributes if a.edges is not None} if records else {}
    numeric = [s.kind == "numeric" for s in specs]
    names = [str(name) for name in table.frame.columns]
    findings = (*table.findings, *(records.findings if records else ()))
    bins = [len(edges[s.column]) - 1 if s.column in edges else s.bins for s in specs]
    return pd.DataFrame(
        {
            "column": names,
            "include": [bool(s.include) for s in specs],
            "kind": [s.kind for s in specs],
            "levels": pd.array([sizes.get(s.column) for s in specs], dtype="Int64"),
            "binning": [s.binning if n else None for s, n in zip(specs, numeric, strict=True)],
            "bins": pd.array([b if n else None for b, n in zip(bins, numeric, strict=True)], dtype="Int64"),
            "low": pd.array([s.low if n else None for s, n in zip(specs, numeric, strict=True)], dtype="Float64"),
            "high": pd.array([s.high if n else None for s, n in zip(specs, numeric, strict=True)], dtype="Float64"),
            "weight": [float(s.weight) for s in specs],
            "missing": [s.missing for s in specs],
            "note": [_note(name, findings) for name in names],
        },
        index=[s.column for s in specs],
    )


def _best_specs(table: Table, scenario: Scenario) -> tuple[AttributeSpec, ...]:
    """Return complete specs, or those of the columns taken from the data, or what a person wrote."""
    for attempt in (scenario, scenario.replace(domain="observed")):
        try:
            return complete_specs(table, attempt)
        except CoreError:
            continue
    return tuple(scenario.spec(c) for c in range(len(table.frame.columns)))


def _note(name: str, findings: tuple[str, ...]) -> str:
    start = f"Column '{name}' "
    return "; ".join(f.removeprefix(start).removeprefix("is ").rstrip(".") for f in findings if f.startswith(start))


def read_edits(frame: pd.DataFrame, edits: Mapping[Any, Mapping[str, Any]]) -> dict[int, dict[str, Any]]:
    """Return the changes of an edited schema by column: only cells that differ from what was shown.

    Parameters
    ----------
    frame : DataFrame
        The schema as shown.
    edits : mapping of row number to mapping of column to value
        What a person typed; None where a cell was emptied.

    Examples
    --------
    >>> shown = pd.DataFrame({"bins": [5, 5], "weight": [1.0, 1.0]}, index=[3, 4])
    >>> read_edits(shown, {1: {"bins": 7, "weight": 1.0}})
    {4: {'bins': 7}}
    """
    found: dict[int, dict[str, Any]] = {}
    for row, cells in edits.items():
        if int(row) >= len(frame):
            continue
        shown = frame.iloc[int(row)]
        for name, value in cells.items():
            if name in EDITABLE and not _same(shown[name], value):
                found.setdefault(int(frame.index[int(row)]), {})[name] = _typed(name, value)
    return found


def _same(shown: object, value: object) -> bool:
    empty = shown is None or shown is pd.NA or (isinstance(shown, float) and math.isnan(shown))
    return value is None if empty else bool(shown == value)


def _typed(name: str, value: Any) -> Any:
    if name == "weight":
        return 1.0 if value is None else float(value)
    if name in ("low", "high"):
        return None if value is None else float(value)
    return int(value) if name == "bins" and value is not None else value


def complete_edit(
    changes: Mapping[str, Any], *, binning: str | None, edges: "np.ndarray[Any, Any] | None"
) -> dict[str, Any]:
    """Return an edit with what it implies: own edges start from the bins shown, new bounds or bins end own edges.

    Parameters
    ----------
    changes : mapping of str to object
        Fields of an `AttributeSpec`.
    binning : str or None
        How the bins were cut before.
    edges : ndarray or None
        The bin edges before.

    Examples
    --------
    >>> complete_edit({"bins": 7}, binning="edges", edges=np.array([0.0, 1.0]))
    {'bins': 7, 'binning': 'width', 'edges': None}
    """
    meant = dict(changes)
    if meant.get("binning") == "edges" and "edges" not in meant and edges is not None:
        meant["edges"] = tuple(float(e) for e in edges)
    if binning == "edges" and {"bins", "low", "high"} & set(meant) and not {"binning", "edges"} & set(meant):
        meant |= {"binning": "width", "edges": None}
    return meant


def declare_specs(table: Table, scenario: Scenario) -> tuple[AttributeSpec, ...]:
    """Return specs that declare the levels, bounds and bins shown, as if a person had typed them.

    Quantile bins become own edges; only columns with missing values keep a level for them.

    Parameters
    ----------
    table : Table
        The table.
    scenario : Scenario
        What a person decided; its domain is ignored.

    Raises
    ------
    InputError
        If the table cannot be coded at all.
    """
    shown = scenario.replace(domain="observed")
    attributes = {a.column: a for a in build_records(table, shown).attributes}
    declared = []
    for spec in complete_specs(table, shown):
        attribute = attributes.get(spec.column)
        if attribute is None:
            declared.append(dataclasses.replace(spec, include=False))
            continue
        changes: dict[str, Any] = {"missing": spec.missing if attribute.has_missing else None}
        if attribute.edges is not None and len(attribute.edges) > 2:
            changes |= {"binning": "edges", "edges": tuple(float(e) for e in attribute.edges)}
        declared.append(dataclasses.replace(spec, **changes))
    return tuple(declared)


def set_distances(distance: "np.ndarray[Any, Any]", edits: Mapping[Any, Mapping[str, Any]]) -> "np.ndarray[Any, Any]":
    """Return a distance matrix with typed cells, each mirrored across the diagonal; an emptied cell counts as 1.

    Parameters
    ----------
    distance : ndarray (m, m)
        Distances before.
    edits : mapping of row number to mapping of column number (as text) to value
        What a person typed.

    Examples
    --------
    >>> set_distances(1.0 - np.eye(3), {0: {"2": 0.5}}).tolist()
    [[0.0, 1.0, 0.5], [1.0, 0.0, 1.0], [0.5, 1.0, 0.0]]
    """
    changed = np.array(distance, dtype=float)
    for row, cells in edits.items():
        for column, value in cells.items():
            i, j = int(row), int(column)
            if i != j:
                changed[i, j] = changed[j, i] = 1.0 if value is None else float(value)
    return changed


def parse_edges(text: str, name: str) -> tuple[float, ...]:
    """Return bin edges typed as numbers separated by spaces or semicolons (or commas and spaces).

    Raises
    ------
    InputError
        Naming the word that is no number.

    Examples
    --------
    >>> parse_edges("0; 10 25.5", "age")
    (0.0, 10.0, 25.5)
    """
    words = text.replace(";", " ").replace(", ", " ").split()
    found = []
    for word in words:
        try:
            found.append(float(word))
        except ValueError as error:
            raise InputError(
                name, f"Bin edges of '{name}' must be numbers with spaces between, as in 0 10 25.5, not {word!r:.40}."
            ) from error
    return tuple(found)


def edges_text(edges: "np.ndarray[Any, Any] | None") -> str:
    """Return bin edges as `parse_edges` reads them back."""
    return "" if edges is None else " ".join(f"{e:.6g}" for e in edges)


def parse_levels(text: str) -> tuple[str, ...] | None:
    """Return levels typed one per line, None if there is none."""
    lines = tuple(line.strip() for line in text.splitlines() if line.strip())
    return lines or None


# ---- words ----


def count_combinations(records: Records) -> tuple[int, int]:
    """Return how many combinations of levels occur, and how many records are alone in theirs."""
    key = np.zeros(len(records), dtype=np.int64)
    for column, size in zip(records.codes.T, records.sizes, strict=True):
        key = np.asarray(pd.factorize(key * size + column)[0], dtype=np.int64)
    counts = np.bincount(key)
    return len(counts), int((counts == 1).sum())


def explain_data(records: Records, table: Table) -> str:
    """Return what is protected, in three sentences."""
    total = math.prod(records.sizes)
    occur, alone = count_combinations(records)
    span = f"{total:,}" if total < 10**6 else _large(total)
    single = "record has one to itself" if alone == 1 else "records have one to themselves"
    first = (
        f"**{len(records):,} records** with **{len(records.attributes)} attributes** are protected. Of {span} "
        f"combinations of levels {occur:,} occur, and **{alone:,} {single}**."
    )
    taken = {a.column for a in records.attributes}
    out = [shorten(str(n), 24) for c, n in enumerate(table.frame.columns) if c not in taken]
    if not out:
        return f"{first} Every column takes part."
    listed = ", ".join(out[:_LISTED]) + (f" and {len(out) - _LISTED} more" if len(out) > _LISTED else "")
    return f"{first} Left out: {listed}."


def explain_column(records: Records, position: int) -> str:
    """Return what one attribute's levels hide and how rare its rarest level is, in two sentences."""
    attribute = records.attributes[position]
    counts = np.bincount(records.codes[:, position], minlength=attribute.size)
    proper = attribute.size - attribute.has_missing
    name = f"**{shorten(attribute.name)}**"
    if attribute.edges is not None and attribute.edges[-1] > attribute.edges[0]:
        widths = np.diff(attribute.edges)
        low, high = float(widths.min()), float(widths.max())
        width = f"{sig(low)} wide" if high - low <= 1e-9 * high else f"{sig(low)} to {sig(high)} wide"
        first = f"{name} becomes **{proper} bins**, {width}: a mechanism sees no difference within a bin."
    elif attribute.kind == "ordinal":
        first = f"{name} has **{proper} ordered levels**; neighbours are at distance {sig(1 / max(proper - 1, 1))}."
    else:
        first = f"{name} has **{proper} levels**, each at distance 1 from every other."
    rare = np.flatnonzero(counts[:proper] > 0)
    rarest = int(rare[np.argmin(counts[rare])]) if len(rare) else 0
    level, count = shorten(attribute.levels[rarest], 30), int(counts[rarest])
    second = f"The rarest, {level}, holds **{count:,} record{'' if count == 1 else 's'}**"
    if not attribute.has_missing:
        return f"{first} {second}."
    return f"{first} {second}; {counts[-1]:,} {'is' if counts[-1] == 1 else 'are'} missing."


def _large(total: int) -> str:
    for power, word in ((12, "trillion"), (9, "billion"), (6, "million")):
        if 10**power <= total < 10 ** (power + 3):
            return f"{sig(total / 10**power)} {word}"
    return f"over 10{str(len(str(total)) - 1).translate(_SUPERSCRIPT)}"
