"""What a column is, where a person has not said so: kind, bounds, levels, and whether it takes part."""

import dataclasses
import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from core import limits
from core.coding import to_labels, to_numbers
from core.errors import InputError
from core.scenario import AttributeSpec, Scenario
from core.table import Table

ORDINAL_LIMIT: Final = 10
"""Range of whole numbers, each seen twice on average, up to which they are grades, ordinal rather than binned."""
ID_ROWS: Final = 10
"""Rows from which a column whose values all differ is taken for an identifier."""
LEVEL_MAXIMUM: Final = limits.ENUMERATION_LIMIT
"""Levels above which an included column is refused: its distances would not fit."""


@dataclass(frozen=True, eq=False)
class Inference:
    """Every column decided.

    Parameters
    ----------
    specs : tuple of AttributeSpec
        One per column; levels and bounds are filled in for included columns.
    kept : ndarray of bool (N,)
        Rows without a missing value in a column that drops them.
    findings : tuple of str
        Why, as sentences.
    """

    specs: tuple[AttributeSpec, ...]
    kept: NDArray[np.bool_]
    findings: tuple[str, ...]


def infer(table: Table, scenario: Scenario) -> Inference:
    """Return every column's complete spec with the reasons.

    Text, truth values and columns of two values are nominal; whole numbers within a range of 10, each seen twice on
    average, are ordinal (grades or counts, for which a level each is finer than 5 bins, and rank distance is numeric
    distance where none is left out); other numbers, and dates as days, are numeric in 5 bins of equal width. Constant
    columns, identifiers, the target and nominal columns of more than `limits.LEVEL_LIMIT` levels do not take part
    unless they are included explicitly. Missing values are a level of their own. With
    `scenario.domain == 'declared'` levels and bounds come from the specs alone.

    Raises
    ------
    InputError
        Naming the column whose spec contradicts the data, or is not declared where it must be.
    """
    _check_columns(table, scenario)
    findings: list[str] = []
    basic = []
    for column, name in enumerate(table.frame.columns):
        series, spec = table.frame.iloc[:, column], scenario.spec(column)
        decide = _decide_declared if scenario.domain == "declared" else _decide
        decided, note = decide(series, spec, str(name), scenario)
        basic.append(decided)
        if note:
            findings.append(f"Column '{name}' {note}.")
    kept = _keep_rows(table.frame, basic, findings)
    frame = table.frame[kept]
    specs = [_fill(frame.iloc[:, s.column], s, str(frame.columns[s.column])) if s.include else s for s in basic]
    findings += _note_bounds(table.frame, scenario, specs)
    return Inference(tuple(specs), kept, tuple(findings))


def _check_columns(table: Table, scenario: Scenario) -> None:
    count = len(table.frame.columns)
    for column in [*(a.column for a in scenario.attributes), *([] if scenario.target is None else [scenario.target])]:
        if column >= count:
            raise InputError(
                "attributes",
                f"The scenario describes column {column + 1}, but the table has {count}; open the scenario with the "
                "table it was made for.",
            )


def infer_kind(series: pd.Series) -> str:
    """Return the kind of a column that nobody has declared."""
    dates = pd.api.types.is_datetime64_any_dtype(series)
    numbers = pd.api.types.is_numeric_dtype(series) and not pd.api.types.is_bool_dtype(series)
    if not (dates or numbers):
        return "nominal"
    present = series.dropna()
    distinct = present.unique()
    if len(distinct) <= 2:
        return "nominal"
    grades = (
        numbers
        and bool(np.all(distinct == np.floor(distinct)))
        and distinct.max() - distinct.min() < ORDINAL_LIMIT
        and 2 * len(distinct) <= len(present)
    )
    return "ordinal" if grades else "numeric"


def _decide(series: pd.Series, spec: AttributeSpec, name: str, scenario: Scenario) -> tuple[AttributeSpec, str]:
    """Return a spec with everything but levels and bounds, and a note on what is not obvious."""
    kind = spec.kind or ("nominal" if spec.levels or spec.distance else "numeric" if spec.edges else infer_kind(series))
    note = ""
    include = spec.include
    if include is None:
        note = _reason_to_exclude(series, dataclasses.replace(spec, kind=kind), name)
        if spec.column == scenario.target:
            note = "is the target and does not take part itself"
        include = not note
    if include and kind == "ordinal" and spec.kind is None:
        note = f"holds {series.nunique()} different whole numbers and is read as ordered levels"
    if include and kind == "ordinal" and spec.levels is None and infer_kind(series) == "nominal":
        note = "is ordered alphabetically; declare its levels in order if that is wrong"
    return _with_defaults(spec, kind=kind, include=include, missing=spec.missing or "level"), note


def _with_defaults(spec: AttributeSpec, **changes: Any) -> AttributeSpec:
    """Return a spec with kind and the like set, and the bins of a numeric column."""
    if changes["kind"] == "numeric":
        changes["binning"] = spec.binning or ("edges" if spec.edges else "width")
        changes["bins"] = spec.bins or int(limits.BINS.default)
    return dataclasses.replace(spec, **changes)


def _reason_to_exclude(series: pd.Series, spec: AttributeSpec, name: str) -> str:
    """Return why a column does not take part by default, empty if it does."""
    distinct, present = series.nunique(), int(series.notna().sum())
    if present == 0:
        return "has no values and does not take part"
    if distinct + (present < len(series) and spec.missing != "drop") == 1:
        return "is constant and does not take part"
    if distinct == present >= ID_ROWS and _is_identifier(series, name):
        return "differs in every row, like an identifier, and does not take part"
    if spec.kind != "numeric" and spec.levels is None and distinct > limits.LEVEL_LIMIT:
        return f"has {distinct:,} levels, over {limits.LEVEL_LIMIT}, and does not take part; bin or merge them first"
    return ""


def _is_identifier(series: pd.Series, name: str) -> bool:
    """Tell whether a column whose values all differ is text, a running number, or a whole number called id."""
    if pd.api.types.is_datetime64_any_dtype(series):
        return False
    if not pd.api.types.is_numeric_dtype(series):
        return True
    numbers = series.dropna()
    if not bool((numbers == np.floor(numbers)).all()):
        return False
    return bool(numbers.max() - numbers.min() == len(numbers) - 1) or name.lower().rstrip("s").endswith(
        ("id", "_nr", "_no")
    )


def _decide_declared(
    series: pd.Series, spec: AttributeSpec, name: str, scenario: Scenario
) -> tuple[AttributeSpec, str]:
    """Return a spec for a declared domain, which takes nothing from the data."""
    include = spec.include if spec.include is not None else spec.column != scenario.target
    if not include:
        return _with_defaults(spec, kind=spec.kind or "nominal", include=False, missing=spec.missing or "level"), ""
    kind = spec.kind or ("nominal" if spec.levels else "numeric" if spec.edges or spec.low is not None else None)
    bounded = spec.edges is not None or (spec.low is not None and spec.high is not None)
    if kind is None or (kind != "numeric" and spec.levels is None) or (kind == "numeric" and not bounded):
        needed = "its low and high bound or its bin edges" if kind == "numeric" else "its levels, or bounds and bins"
        raise InputError(
            name, f"The domain is declared, but column '{name}' is not: declare {needed}, or exclude the column."
        )
    if kind == "numeric" and spec.binning == "quantile":
        raise InputError(
            name,
            f"Quantile bins of column '{name}' need the data, but the domain is declared; choose equal width or edges.",
        )
    # Whether there is a missing level must not depend on the data either: it is there if it is declared.
    return _with_defaults(spec, kind=kind, include=True, missing=spec.missing), ""


def _keep_rows(frame: pd.DataFrame, specs: list[AttributeSpec], findings: list[str]) -> NDArray[np.bool_]:
    """Return the rows that no column drops, and note the counts."""
    kept = np.ones(len(frame), dtype=bool)
    for spec in specs:
        if not spec.include:
            continue
        missing = frame.iloc[:, spec.column].isna().to_numpy()
        name, count = frame.columns[spec.column], int(missing.sum())
        if spec.missing == "drop" and count:
            findings.append(f"{count:,} of {len(frame):,} rows are dropped because column '{name}' is missing there.")
            kept &= ~missing
        elif spec.missing == "level" and count:
            findings.append(f"Column '{name}' is missing in {count:,} of {len(frame):,} rows: a level of its own.")
    if not kept.any():
        raise InputError(
            "missing", "Every row has a missing value in a column that drops such rows; let missing be a level instead."
        )
    return kept


def _fill(series: pd.Series, spec: AttributeSpec, name: str) -> AttributeSpec:
    """Return an included column's spec with its levels or its bounds."""
    if spec.distance is not None and spec.kind != "nominal":
        raise InputError(
            name,
            f"Column '{name}' has an own distance matrix but is {spec.kind}; make it nominal or remove the matrix.",
        )
    if spec.kind == "numeric":
        return _fill_bounds(series, spec, name)
    levels = spec.levels if spec.levels is not None else tuple(to_labels(series)[1]) or None
    if levels is None:
        return spec  # nothing but missing values
    if len(levels) > LEVEL_MAXIMUM:
        raise InputError(
            name,
            f"Column '{name}' has {len(levels):,} levels; at most {LEVEL_MAXIMUM:,} can be perturbed together, so "
            "merge them, make the column numeric, or exclude it.",
        )
    return dataclasses.replace(spec, levels=levels)


def _fill_bounds(series: pd.Series, spec: AttributeSpec, name: str) -> AttributeSpec:
    """Return a numeric column's spec with low, high and the number of bins."""
    if spec.binning == "edges":
        if spec.edges is None:
            raise InputError(
                name, f"Column '{name}' has own bin edges but none are given; type them or choose equal width."
            )
        _refuse_far(name, spec.edges[0], spec.edges[-1])
        return dataclasses.replace(spec, low=spec.edges[0], high=spec.edges[-1], bins=None)
    low, high = spec.low, spec.high
    if low is None or high is None:
        numbers = to_numbers(series, name)
        present = numbers[~np.isnan(numbers)]
        if len(present) == 0:
            raise InputError(name, f"Column '{name}' has no values to take bounds from; declare them or exclude it.")
        declared = low is not None or high is not None
        low = float(present.min()) if low is None else low
        high = float(present.max()) if high is None else high
        if declared and low >= high:
            raise InputError(
                name, f"Column '{name}' would reach from {low:g} to {high:g}; declare both bounds, the low one first."
            )
    _refuse_far(name, low, high)
    if low == high:
        return spec  # constant: one bin of no width, which a spec cannot state
    return dataclasses.replace(spec, low=low, high=high)


def _refuse_far(name: str, low: float, high: float) -> None:
    if not math.isfinite(high - low):
        raise InputError(name, f"Column '{name}' reaches from {low:g} to {high:g}, too far to measure; rescale it.")


def _note_bounds(frame: pd.DataFrame, scenario: Scenario, specs: list[AttributeSpec]) -> list[str]:
    """Say which columns take bounds or levels from the fitting data."""
    if scenario.domain == "declared":
        return ["All levels and bounds are declared; the data only counts."]
    notes = []
    bounds = [
        str(frame.columns[s.column])
        for s in specs
        if s.include
        and s.kind == "numeric"
        and s.edges is None
        and None in (_own(scenario, s).low, _own(scenario, s).high)
    ]
    levels = [
        str(frame.columns[s.column])
        for s in specs
        if s.include and s.kind != "numeric" and _own(scenario, s).levels is None
    ]
    for what, names in (("bounds", bounds), ("levels", levels)):
        if names:
            listed = ", ".join(names[:12]) + (f" and {len(names) - 12} more" if len(names) > 12 else "")
            notes.append(f"Taken from the fitting data, not declared: the {what} of {listed}.")
    return notes


def _own(scenario: Scenario, spec: AttributeSpec) -> AttributeSpec:
    return scenario.spec(spec.column)
