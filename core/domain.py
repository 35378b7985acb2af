"""Attributes, levels, priors: from a table and a scenario to coded records and group domains."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from core import limits
from core.coding import MISSING_LABEL, QUOTED, cut_bins, decode, encode_values, to_numbers
from core.errors import InputError
from core.inference import infer
from core.metric import add_missing_level, component_distance, group_distance, verify_metric
from core.projection import all_states, compute_expansion, count_rare_states, project, unique_rows
from core.reading.cells import one_line
from core.scenario import AttributeSpec, Scenario
from core.table import Table

__all__ = [
    "Attribute",
    "GroupDomain",
    "Records",
    "build_attribute",
    "build_group_domain",
    "build_records",
    "complete_specs",
    "compute_expansion",
    "count_rare_states",
    "decode",
    "encode_table",
    "encode_values",
    "infer",
    "project",
]


@dataclass(frozen=True, eq=False)
class Attribute:
    """One included column with its finite domain of m levels.

    Parameters
    ----------
    name : str
        The column's name, as read.
    column : int
        Its position in the table.
    kind : {'nominal', 'ordinal', 'numeric'}
        How levels are compared.
    levels : tuple of str
        m display labels; the last one is "missing" if `has_missing`.
    values : ndarray of float or None
        Representative of each level (numeric: bin mid-point, ordinal: rank), nan for the missing level; None if
        nominal.
    edges : ndarray of float or None
        Bin edges of a numeric attribute.
    distance : ndarray (m, m)
        Component metric d_l, unweighted, within [0, 1] unless it is an own matrix.
    weight : float
        Weight w_l in the record metric.
    has_missing : bool
        Whether the last level stands for a missing value.
    """

    name: str
    column: int
    kind: str
    levels: tuple[str, ...]
    values: NDArray[np.float64] | None
    edges: NDArray[np.float64] | None
    distance: NDArray[np.float64]
    weight: float = 1.0
    has_missing: bool = False

    @property
    def size(self) -> int:
        """Number of levels m."""
        return len(self.levels)


@dataclass(frozen=True, eq=False)
class Records:
    """The coded table that everything downstream reads.

    Parameters
    ----------
    attributes : tuple of Attribute
        The L included attributes.
    codes : ndarray of int32 (N, L)
        Level of every record and attribute.
    rows : ndarray of int64 (N,)
        Position of each record in the table as read (rows with dropped missing values are absent).
    target : ndarray of float (N,) or None
        Values of the scenario's target column, for tasks that need one; of a text, positions in `target_labels`.
    findings : tuple of str
        What was noticed while coding, as sentences.
    target_labels : tuple of str
        Distinct texts of a target that does not hold numbers, sorted; empty otherwise.
    """

    attributes: tuple[Attribute, ...]
    codes: NDArray[np.int32]
    rows: NDArray[np.int64]
    target: NDArray[np.float64] | None = None
    findings: tuple[str, ...] = ()
    target_labels: tuple[str, ...] = ()

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of levels per attribute."""
        return tuple(a.size for a in self.attributes)

    def __len__(self) -> int:
        return len(self.codes)


@dataclass(frozen=True, eq=False)
class GroupDomain:
    """The states X_k of one group, jointly perturbed.

    Parameters
    ----------
    members : tuple of int
        Positions of the group's attributes in `Records.attributes`, increasing.
    states : ndarray of int32 (n, k)
        Level of each state and member, in lexicographic order; empty when the domain is not enumerated.
    counts : ndarray of int64 (n,)
        Records per state.
    prior : ndarray of float (n,)
        counts / N.
    state_of : ndarray of int64 (N,)
        State of every record (its projection where the record is not a state); -1 when not enumerated.
    distance : ndarray (n, n)
        d_p between states; square roots are rounded down.
    mode : {'observed', 'product', 'declared', 'factorised'}
        Where the states come from; 'factorised' is too large to enumerate.
    observed, product : int
        Number of observed combinations and size of the full product.
    """

    members: tuple[int, ...]
    states: NDArray[np.int32]
    counts: NDArray[np.int64]
    prior: NDArray[np.float64]
    state_of: NDArray[np.int64]
    distance: NDArray[np.float64]
    mode: str
    observed: int
    product: int

    @property
    def size(self) -> int:
        """Number of states n, or the product's size when they are not enumerated."""
        return len(self.states) if self.enumerated else self.product

    @property
    def enumerated(self) -> bool:
        """Whether the states are listed."""
        return self.mode != "factorised"


def complete_specs(table: Table, scenario: Scenario) -> tuple[AttributeSpec, ...]:
    """Return one spec per column with everything that is not decided inferred; `infer` gives the reasons too.

    Raises
    ------
    InputError
        Naming the column whose spec contradicts the data.
    """
    return infer(table, scenario).specs


def build_attribute(series: pd.Series, spec: AttributeSpec, name: str, *, has_missing: bool) -> Attribute:
    """Return the attribute of one column from its complete spec.

    Raises
    ------
    InputError
        If its own distance matrix does not fit its levels or is no metric.
    """
    extra = (MISSING_LABEL,) if has_missing else ()
    shared: dict[str, Any] = {
        "name": name,
        "column": spec.column,
        "kind": spec.kind,
        "weight": spec.weight,
        "has_missing": has_missing,
    }
    if spec.kind == "numeric":
        numbers = to_numbers(series, name)
        dates = pd.api.types.is_datetime64_any_dtype(series)
        bins = cut_bins(numbers[~np.isnan(numbers)], spec, dates=dates)
        values = np.append(bins.midpoints, [np.nan] * has_missing)
        span = float(bins.edges[-1] - bins.edges[0])
        distance = component_distance("numeric", len(values), values, span, has_missing)
        return Attribute(levels=(*bins.labels, *extra), values=values, edges=bins.edges, distance=distance, **shared)
    levels = spec.levels or ()
    if has_missing and MISSING_LABEL in levels:
        extra = (f"{MISSING_LABEL} value",)
    if spec.distance is not None:
        own = np.array(spec.distance, dtype=float)
        verify_metric(own, [one_line(level, QUOTED) for level in levels])
        distance = add_missing_level(own) if has_missing else own
    else:
        distance = component_distance(str(spec.kind), len(levels) + has_missing, has_missing=has_missing)
    ranks = np.append(np.arange(len(levels), dtype=float), [np.nan] * has_missing) if spec.kind == "ordinal" else None
    return Attribute(levels=(*levels, *extra), values=ranks, edges=None, distance=distance, **shared)


def build_records(table: Table, scenario: Scenario) -> Records:
    """Return the coded table: every included column's levels, and every kept row's codes.

    Raises
    ------
    InputError
        Naming the column and row that do not fit what is declared, or saying that no column takes part.
    """
    inference = infer(table, scenario)
    included = [s for s in inference.specs if s.include]
    if not included:
        raise InputError("include", "No column takes part; include at least one that is not constant.")
    frame = table.frame[inference.kept]
    findings = list(inference.findings)
    attributes = tuple(_fit_attribute(frame, spec, scenario, findings) for spec in included)
    target, labels = _target(frame, scenario, findings)
    return Records(
        attributes, encode_table(attributes, frame), np.flatnonzero(inference.kept), target, tuple(findings), labels
    )


def _fit_attribute(frame: pd.DataFrame, spec: AttributeSpec, scenario: Scenario, findings: list[str]) -> Attribute:
    series, name = frame.iloc[:, spec.column], str(frame.columns[spec.column])
    declared = scenario.domain == "declared"
    has_missing = spec.missing == "level" and (declared or bool(series.isna().any()))
    attribute = build_attribute(series, spec, name, has_missing=has_missing)
    if attribute.edges is not None:
        numbers = to_numbers(series, name)
        outside = int(((numbers < attribute.edges[0]) | (numbers > attribute.edges[-1])).sum())
        if outside:
            findings.append(
                f"{outside:,} values of column '{name}' lie outside its bounds {attribute.edges[0]:g} to "
                f"{attribute.edges[-1]:g} and count to the outer bins."
            )
    return attribute


def _target(
    frame: pd.DataFrame, scenario: Scenario, findings: list[str]
) -> tuple[NDArray[np.float64] | None, tuple[str, ...]]:
    """Return the target as numbers; a column of texts as positions in its sorted labels, with the labels."""
    if scenario.target is None:
        return None, ()
    series, name = frame.iloc[:, scenario.target], str(frame.columns[scenario.target])
    labels: tuple[str, ...] = ()
    try:
        values = to_numbers(series, name)
    except InputError:
        present = series.notna().to_numpy()
        codes, distinct = pd.factorize(series[present].astype("str"), sort=True)
        values, labels = np.full(len(series), np.nan), tuple(map(str, distinct))
        values[present] = codes
    missing = int(np.isnan(values).sum())
    if missing:
        findings.append(f"The target '{name}' is missing in {missing:,} rows, which do not count towards its means.")
    return values, labels


def encode_table(attributes: Sequence[Attribute], frame: pd.DataFrame, *, unknown: str = "error") -> NDArray[np.int32]:
    """Return the codes (N, L) of a frame with the columns of the fitted one; `unknown` as in `encode_values`."""
    columns = [encode_values(a, frame.iloc[:, a.column], unknown=unknown) for a in attributes]
    return np.stack(columns, axis=1) if columns else np.zeros((len(frame), 0), dtype=np.int32)


def build_group_domain(
    records: Records,
    members: Sequence[int],
    *,
    p: float,
    mode: str = "observed",
    limit: int = limits.ENUMERATION_LIMIT,
) -> GroupDomain:
    """Return the states of a group of attributes, their prior and their distances.

    'observed' lists the combinations of the records, 'product' and 'declared' all combinations of levels. The prior is
    the share of the records; of a declared domain, which takes nothing from the data, it is uniform.

    Parameters
    ----------
    records : Records
        The coded table.
    members : sequence of int
        Positions of the group's attributes.
    p : float
        Exponent of the record metric.
    mode : {'observed', 'product', 'declared'}
        Where the states come from.
    limit : int
        More states than this are not listed: the mode is then 'factorised' and the arrays are empty.
    """
    chosen = tuple(sorted(set(members)))
    attributes = [records.attributes[i] for i in chosen]
    sizes = [a.size for a in attributes]
    product = math.prod(sizes)
    seen, counts, state_of = unique_rows(records.codes[:, list(chosen)], sizes)
    observed = len(seen)
    if (observed if mode == "observed" else product) > limit:
        nothing = np.zeros(0)
        return GroupDomain(
            chosen,
            np.zeros((0, len(chosen)), dtype=np.int32),
            np.zeros(0, dtype=np.int64),
            nothing,
            np.full(len(records), -1, dtype=np.int64),
            np.zeros((0, 0)),
            "factorised",
            observed,
            product,
        )
    states = seen
    if mode != "observed":
        states = all_states(sizes)
        place = np.ravel_multi_index(tuple(seen.T), sizes)
        state_of = place[state_of]
        counts = np.bincount(state_of, minlength=product)
    prior = np.full(product, 1.0 / product) if mode == "declared" else counts / len(records)
    distance = group_distance(states, attributes, p)
    return GroupDomain(chosen, states, counts, prior, state_of, distance, mode, observed, product)
