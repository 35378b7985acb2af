"""Stage 1 and the priors of tables larger than memory: counts of levels, of pairs and of groups, chunk by chunk.

The counts are whole numbers, so that dependence and priors are the same, to the last bit, as from the table in memory.
"""

import dataclasses
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from core.chunk_reading import Source, TypedChunks, open_source
from core.coding import encode_values, to_numbers
from core.domain import Attribute, build_attribute, complete_specs
from core.errors import InputError
from core.inference import LEVEL_MAXIMUM
from core.mutual_information import _blocks, _count_block, _entropies, _normalise, _Table
from core.projection import all_states, unique_rows
from core.reading.dialect import Dialect
from core.scenario import Scenario
from core.table import Table

Progress = Callable[[float, str], None]

ROWS_PER_CHUNK: Final = 200_000
PAIR_LEVELS: Final = 5_000
"""Levels of all attributes together up to which all pairs are counted: 200 MB of whole numbers."""
STATE_LIMIT: Final = 1_000_000
"""Observed or possible states of a group above which its prior is refused."""


@dataclass(frozen=True, eq=False)
class GroupPrior:
    """The states of one group and how often each occurs.

    Parameters
    ----------
    members : tuple of int
        Positions of the group's attributes.
    states : ndarray of int32 (n, k)
        Level of each state and member, in lexicographic order.
    counts : ndarray of int64 (n,)
        Records per state.
    prior : ndarray of float (n,)
        counts / N; uniform for a declared domain.
    """

    members: tuple[int, ...]
    states: NDArray[np.int32]
    counts: NDArray[np.int64]
    prior: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ChunkedCounts:
    """What stage 1 needs of a table that was never in memory.

    Parameters
    ----------
    attributes : tuple of Attribute
        The L attributes that take part, as they would be built in memory.
    rows : int
        Records N that were counted; rows with dropped missing values are not.
    nmi : ndarray (L, L)
        Normalised mutual information of all pairs.
    joint : ndarray of int64 (M, M)
        Records per pair of levels, the levels of all attributes numbered in a row.
    """

    attributes: tuple[Attribute, ...]
    rows: int
    nmi: NDArray[np.float64]
    joint: NDArray[np.int64]
    _chunks: "_CodedChunks"

    def pair_counts(self, i: int, j: int) -> NDArray[np.int64]:
        """Return the records per pair of levels of attributes `i` and `j`, shape (m_i, m_j)."""
        starts = _starts(self.attributes)
        return self.joint[starts[i] : starts[i + 1], starts[j] : starts[j + 1]]

    def prior(self, members: Sequence[int]) -> GroupPrior:
        """Return the prior of one group; see `priors`."""
        return self.priors([members])[0]

    def priors(self, groups: Sequence[Sequence[int]]) -> tuple[GroupPrior, ...]:
        """Return the priors of several groups, reading the file once more for all of them.

        The states are those that `build_group_domain` lists for the scenario's domain.

        Parameters
        ----------
        groups : sequence of sequences of int
            Positions of each group's attributes.

        Raises
        ------
        InputError
            If a group has more than `STATE_LIMIT` states.
        """
        chosen = [tuple(sorted(set(members))) for members in groups]
        found = [_StateCounts([self.attributes[i].size for i in members]) for members in chosen]
        for codes in self._chunks.codes("Counting the states of the groups"):
            for members, states in zip(chosen, found, strict=True):
                states.add(codes[:, list(members)])
        mode = self._chunks.scenario.domain
        return tuple(c.prior(members, mode, self.rows) for members, c in zip(chosen, found, strict=True))


def count_chunks(
    source: str | Path,
    scenario: Scenario,
    *,
    rows_per_chunk: int = ROWS_PER_CHUNK,
    progress: Progress | None = None,
) -> ChunkedCounts:
    """Count levels and pairs of levels of a table in chunks of rows, in memory that does not grow with the rows.

    Passes over the file: one that collects the different texts (only where there is text), one that finds levels and
    bounds, one that counts. Every column is either excluded or described with its kind, as `describe_columns` does
    from the first rows: a kind is never guessed from a part of the table here. What is described takes part, even
    where the table in memory would leave it out by default, such as a constant column.

    Parameters
    ----------
    source : path
        A Parquet file or delimited text, also gzipped.
    scenario : Scenario
        Its attributes and domain are read.
    rows_per_chunk : int
        Rows held at a time; a Parquet file also needs room for one of its row groups.
    progress : callable (fraction, sentence), optional
        Told the fraction of each pass.

    Returns
    -------
    ChunkedCounts
        Counts and dependence, the same numbers as from `build_records` and `compute_nmi`.

    Raises
    ------
    InputError
        Naming the column that is not described or whose bins need all values in memory, or the row that does not fit.
    """
    if rows_per_chunk < 1:
        raise InputError("rows_per_chunk", f"Rows per chunk must be at least 1, not {rows_per_chunk}.")
    opened = open_source(source)
    full = _described(opened.names, scenario)
    chunks = _CodedChunks(opened, full, rows_per_chunk, progress)
    starts = _starts(chunks.attributes)
    if starts[-1] > PAIR_LEVELS:
        raise InputError(
            "attributes",
            f"The columns have {int(starts[-1]):,} levels together; at most {PAIR_LEVELS:,} can be counted in pairs, "
            "so use fewer bins or exclude columns.",
        )
    joint, rows = np.zeros((starts[-1], starts[-1]), dtype=np.int64), 0
    for codes in chunks.codes("Counting pairs of levels"):
        if len(codes):
            joint += _count_block(_Table(codes, starts, np.zeros(starts[-1], np.int64)), 0, codes.shape[1]).astype(int)
            rows += len(codes)
    return ChunkedCounts(chunks.attributes, rows, _nmi(joint, starts, rows), joint, chunks)


def describe_columns(source: str | Path, scenario: Scenario) -> Scenario:
    """Return the scenario with every column excluded or described with the kind that the first rows suggest.

    Levels and bounds stay open, unless they were given: `count_chunks` finds them in the whole file.
    """
    specs = complete_specs(open_source(source).head(), scenario)
    for inferred in specs:
        own = scenario.spec(inferred.column)
        described = dataclasses.replace(own, include=inferred.include, kind=own.kind or inferred.kind)
        scenario = scenario.with_spec(described)
    return scenario


def _described(names: Sequence[str], scenario: Scenario) -> Scenario:
    """Return the scenario with every described column included and every other one excluded."""
    for column, name in enumerate(names):
        spec = scenario.spec(column)
        include = spec.include is not False and column != scenario.target
        kind = spec.kind or ("nominal" if spec.levels or spec.distance else "numeric" if spec.edges else None)
        if include and kind is None:
            raise InputError(
                name, f"Column '{name}' is not described: declare its kind, or exclude it, before counting in chunks."
            )
        if include and spec.binning == "quantile":
            raise InputError(
                name,
                f"Quantile bins of column '{name}' need all its values in memory; choose equal width, or own edges.",
            )
        scenario = scenario.with_spec(dataclasses.replace(spec, include=include, kind=kind if include else spec.kind))
    return scenario.replace(target=None)


class _CodedChunks:
    """The level codes of a source, chunk by chunk, and the attributes that they belong to."""

    def __init__(self, source: Source, scenario: Scenario, rows: int, progress: Progress | None) -> None:
        self.scenario = scenario
        self._specs = [spec for spec in scenario.attributes if spec.include]
        numeric = frozenset(spec.column for spec in self._specs if spec.kind == "numeric")
        columns = [spec.column for spec in self._specs]
        if not columns:
            raise InputError("include", "No column takes part; include at least one that is not constant.")
        self._chunks = TypedChunks(source, columns, numeric=numeric, rows=rows, progress=progress)
        self._dropping = [spec.column for spec in self._specs if spec.missing == "drop"]
        self.attributes = self._fit(self._witness(source.names))

    def _kept(self, what: str) -> Iterator[pd.DataFrame]:
        for frame in self._chunks.frames(what):
            yield frame.dropna(subset=self._dropping) if self._dropping else frame

    def codes(self, what: str) -> Iterator[NDArray[np.int32]]:
        """Yield the codes (rows, L) of every chunk."""
        for frame in self._kept(what):
            yield np.stack([encode_values(a, frame[a.column]) for a in self.attributes], axis=1)

    def _fit(self, witness: Table) -> tuple[Attribute, ...]:
        """Return the attributes of a small table as `build_records` would build them, without coding its rows."""
        declared, found = self.scenario.domain == "declared", []
        for spec in complete_specs(witness, self.scenario):
            if spec.include:
                series, name = witness.frame.iloc[:, spec.column], str(witness.frame.columns[spec.column])
                has_missing = spec.missing == "level" and (declared or bool(series.isna().any()))
                found.append(build_attribute(series, spec, name, has_missing=has_missing))
        return tuple(found)

    def _witness(self, names: Sequence[str]) -> Table:
        """Return a small table with the same attributes as the whole one.

        It holds every level, or the least and the greatest number, and a missing cell where there is one.
        """
        seen = {spec.column: _Seen(spec.kind == "numeric") for spec in self._specs}
        for frame in self._kept("Finding levels and bounds"):
            for column, values in seen.items():
                values.add(frame[column], names[column])
        cells = {column: values.cells() for column, values in seen.items()}
        length = max(len(series) for series in cells.values())
        if length == 0:
            raise InputError(
                "missing", "Every row has a missing value in a column that drops such rows, or there is no row at all."
            )
        filled = {c: s.take(np.minimum(np.arange(length), len(s) - 1)).reset_index(drop=True) for c, s in cells.items()}
        blank = pd.Series(np.zeros(length))
        frame = pd.DataFrame({column: filled.get(column, blank) for column in range(len(names))})
        return Table(frame.set_axis(list(names), axis=1), (), "", Dialect("text"), "")


class _Seen:
    """The different values of a column, or its least and greatest, and whether any is missing."""

    def __init__(self, numeric: bool) -> None:
        self._numeric = numeric
        self._values = pd.Series(dtype=float)
        self._missing = False

    def add(self, series: pd.Series, name: str) -> None:
        present = series.dropna()
        self._missing |= len(present) < len(series)
        if self._numeric and isinstance(present.dtype, pd.StringDtype):
            present = pd.Series(to_numbers(present, name))  # names the row that holds no number
        if self._numeric and len(present):
            present = pd.Series([present.min(), present.max()], dtype=present.dtype)
        new = pd.Series(present.unique(), dtype=present.dtype)
        held = self._values
        self._values = pd.concat([held, new], ignore_index=True).drop_duplicates() if len(held) else new
        if not self._numeric and len(self._values) > LEVEL_MAXIMUM:
            raise InputError(
                name,
                f"Column '{name}' has more than {LEVEL_MAXIMUM:,} levels; merge them, make the column numeric, or "
                "exclude it.",
            )

    def cells(self) -> pd.Series:
        """Return the values, with a missing one at the end where there was one."""
        kept = self._values.reset_index(drop=True)
        return kept.reindex(range(len(kept) + 1)) if self._missing else kept


class _StateCounts:
    """Records per state of one group, the states as numbers in lexicographic order."""

    def __init__(self, sizes: Sequence[int]) -> None:
        self._sizes = tuple(sizes)
        self._states = np.zeros((0, len(sizes)), dtype=np.int32)
        self._counts = np.zeros(0, dtype=np.int64)

    def add(self, codes: NDArray[np.int32]) -> None:
        states, counts, _ = unique_rows(codes, self._sizes)
        together, _, place = unique_rows(np.concatenate([self._states, states]), self._sizes)
        merged = np.zeros(len(together), dtype=np.int64)
        np.add.at(merged, place, np.concatenate([self._counts, counts]))
        self._states, self._counts = together, merged
        self._check(len(together))

    def _check(self, size: int) -> None:
        if size > STATE_LIMIT:
            raise InputError(
                "group",
                f"A group has more than {STATE_LIMIT:,} states; raise the grouping threshold (tau_group) or use fewer "
                "bins.",
            )

    def prior(self, members: tuple[int, ...], mode: str, rows: int) -> GroupPrior:
        """Return the states of a domain mode with their counts and prior."""
        states, counts, product = self._states, self._counts, math.prod(self._sizes)
        if mode != "observed":
            self._check(product)
            states = all_states(self._sizes)
            places = np.ravel_multi_index(tuple(self._states.T), self._sizes)
            counts = np.bincount(places, weights=self._counts, minlength=product).astype(np.int64)
        prior = np.full(product, 1.0 / product) if mode == "declared" else counts / rows
        return GroupPrior(members, states, counts, prior)


def _starts(attributes: Sequence[Attribute]) -> NDArray[np.int64]:
    """Return the number at which each attribute's levels start, and the number of all."""
    return np.concatenate([[0], np.cumsum([a.size for a in attributes])]).astype(np.int64)


def _nmi(joint: NDArray[np.int64], starts: NDArray[np.int64], rows: int) -> NDArray[np.float64]:
    """Return the NMI of all pairs from their counts, the terms summed in the order of `compute_nmi`."""
    count, total = len(starts) - 1, float(rows)
    counts = np.diagonal(joint).copy()
    # an array without columns has its length and takes no room
    table = _Table(np.zeros((rows, 0), dtype=np.int64), starts, counts)
    information = np.zeros((count, count))
    for first, last in _blocks(table):
        block = joint[starts[first] : starts[last], starts[first] :]
        left, right = np.nonzero(block)
        seen = block[left, right].astype(float)
        left, right = left + starts[first], right + starts[first]
        terms = seen / total * np.log(seen * total / (counts[left].astype(float) * counts[right]))
        pair = table.owner[left] * count + table.owner[right]
        information += np.bincount(pair, weights=terms, minlength=count * count).reshape(count, count)
    information = np.maximum(np.triu(information), 0.0)
    return _normalise(information + np.triu(information, 1).T, _entropies(table))
