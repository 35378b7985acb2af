"""Mutual information of all pairs of attributes from joint counts, normalised, and adjusted for chance."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from core.chance import expected_mutual_informations
from core.errors import InputError

Progress = Callable[[float, str], None]

DENSE_LEVELS: Final = 15
"""Mean levels per attribute up to which counting multiplies dense blocks; measured, sparse blocks win above."""
CHUNK_CELLS: Final = 4_000_000
"""Cells of a one-hot block of records held at once; also keeps float32 counts of a block below 2**24, so exact."""
SPARSE_CODES: Final = 1000
"""Codes above this plus the number of records, or below 0, are numbered anew."""
SPARSE_BLOCKS: Final = 8
BLOCK_CELLS: Final = 20_000_000
"""Cells of the joint count matrix held at once."""
LEAST_ROOM: Final = 1e-12
"""Relative room between expected and largest mutual information below which nothing can be adjusted."""


# ---- counting ----


def joint_counts(
    codes: NDArray[np.integer[Any]], i: int, j: int, *, shape: tuple[int, int] | None = None
) -> NDArray[np.int64]:
    """Count how often each pair of levels of attributes `i` and `j` occurs.

    Parameters
    ----------
    codes : ndarray of int (N, L)
        Level of every record and attribute, from 0.
    i, j : int
        Two attributes.
    shape : tuple of int, optional
        Levels of the two; the highest codes + 1 unless given.

    Returns
    -------
    ndarray of int64 (m_i, m_j)
        Records per pair of levels.

    Examples
    --------
    >>> joint_counts(np.array([[0, 1], [0, 1], [1, 0]]), 0, 1).tolist()
    [[0, 2], [1, 0]]
    """
    left, right = codes[:, i].astype(np.int64), codes[:, j].astype(np.int64)
    rows, columns = shape or (int(left.max(initial=-1)) + 1, int(right.max(initial=-1)) + 1)
    return np.bincount(left * columns + right, minlength=rows * columns).reshape(rows, columns).astype(np.int64)


@dataclass(frozen=True, eq=False)
class _Table:
    """Codes from 0, the number at which each attribute's levels start when all are numbered in a row, their counts."""

    codes: NDArray[np.integer[Any]]
    starts: NDArray[np.int64]
    counts: NDArray[np.int64]

    @property
    def sizes(self) -> NDArray[np.int64]:
        return np.diff(self.starts)

    @property
    def owner(self) -> NDArray[np.int64]:
        """Attribute of every level."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    def levels(self, i: int) -> NDArray[np.int64]:
        """Return the records per level of attribute `i`."""
        return self.counts[self.starts[i] : self.starts[i + 1]]


def _tabulate(codes: NDArray[np.integer[Any]]) -> _Table:
    codes = np.asarray(codes)
    if codes.ndim != 2 or not np.issubdtype(codes.dtype, np.integer) or len(codes) == 0:
        raise InputError(
            "codes",
            f"Dependence needs a two-dimensional array of whole-number codes with at least one record, not "
            f"{codes.dtype} of shape {codes.shape}; drop fewer rows or choose other columns.",
        )
    low, high = codes.min(axis=0), codes.max(axis=0)
    sparse = np.flatnonzero((low < 0) | (high > SPARSE_CODES + len(codes)))
    if len(sparse):
        renumbered = codes.astype(np.int64)
        for column in sparse.tolist():
            renumbered[:, column] = np.unique(codes[:, column], return_inverse=True)[1]
        codes, high = renumbered, renumbered.max(axis=0)
    starts = np.concatenate([[0], np.cumsum(high.astype(np.int64) + 1)])
    counts = [np.bincount(column, minlength=size) for column, size in zip(codes.T, np.diff(starts), strict=True)]
    return _Table(codes, starts, np.concatenate([*counts, np.empty(0, dtype=np.int64)]).astype(np.int64))


def _one_hot(flat: NDArray[np.int64], width: int) -> csr_array:
    rows, columns = flat.shape
    ends = np.arange(0, rows * columns + 1, columns)
    return csr_array((np.ones(flat.size, dtype=np.float32), flat.ravel(), ends), shape=(rows, width))


def _count_block(table: _Table, first: int, last: int) -> NDArray[np.float64]:
    """Count levels of attributes first..last-1 (rows) against levels of attributes first.. (columns)."""
    offsets = table.starts[first:] - table.starts[first]
    width, kept, columns = int(offsets[-1]), int(offsets[last - first]), len(offsets) - 1
    dense = width <= DENSE_LEVELS * columns
    step = max(1, CHUNK_CELLS // (width if dense else columns))
    total = np.zeros((kept, width))
    for start in range(0, len(table.codes), step):
        chunk = _one_hot(table.codes[start : start + step, first:] + offsets[:-1], width)
        if dense:
            block = chunk.toarray()
            # the product of an array with its own transpose is recognised and costs half
            total += block.T @ block if kept == width else block[:, :kept].T @ block
        else:
            total += (chunk[:, :kept].T @ chunk).toarray()
    return total


def _blocks(table: _Table) -> Iterator[tuple[int, int]]:
    """Cut the attributes so that no block of counts exceeds BLOCK_CELLS, one attribute at least.

    Where sparse blocks are multiplied, smaller ones leave out most of the symmetric half.
    """
    first, count, levels = 0, len(table.sizes), int(table.starts[-1])
    while first < count:
        width = levels - int(table.starts[first])
        largest = BLOCK_CELLS // max(width, 1)
        if width > DENSE_LEVELS * (count - first):
            largest = min(largest, levels // SPARSE_BLOCKS)
        last = first + 1
        while last < count and table.starts[last + 1] - table.starts[first] <= largest:
            last += 1
        yield first, last
        first = last


def _mutual_information(table: _Table) -> NDArray[np.float64]:
    """Return MI of all pairs in nats, sum n_ab/N ln(n_ab N / (n_a n_b)); exactly 0 where the counts factorise."""
    count, total = len(table.sizes), float(len(table.codes))
    result = np.zeros((count, count))
    for first, last in _blocks(table):
        joint = _count_block(table, first, last)
        rows, columns = np.nonzero(joint)
        seen = joint[rows, columns]
        low = table.starts[first]
        expected = table.counts[rows + low].astype(float) * table.counts[columns + low]
        # the ratio of equal integers is exactly 1, so independence gives exactly 0
        terms = seen / total * np.log(seen * total / expected)
        pair = table.owner[rows + low] * count + table.owner[columns + low]
        result += np.bincount(pair, weights=terms, minlength=count * count).reshape(count, count)
    result = np.maximum(np.triu(result), 0.0)
    return result + np.triu(result, 1).T


def _information_of_entropies(table: _Table) -> NDArray[np.float64]:
    """Return MI of all pairs in nats as H_i + H_j - H_ij: a look-up per pair of levels in place of a logarithm."""
    count, total = len(table.sizes), len(table.codes)
    seen = np.arange(total + 1)
    terms = seen / total * np.log(total / np.maximum(seen, 1))
    result, entropies = np.zeros((count, count)), _entropies(table)
    for first, last in _blocks(table):
        cells = terms[_count_block(table, first, last).astype(np.intp)]
        starts = table.starts[first:-1] - table.starts[first]
        joint = np.add.reduceat(np.add.reduceat(cells, starts, axis=1), starts[: last - first], axis=0)
        result[first:last, first:] = entropies[first:last, None] + entropies[None, first:] - joint
    result = np.maximum(np.triu(result), 0.0)
    return result + np.triu(result, 1).T


def _entropies(table: _Table) -> NDArray[np.float64]:
    seen, total = table.counts.astype(float), float(len(table.codes))
    terms = np.where(seen > 0, seen / total * np.log(total / np.maximum(seen, 1.0)), 0.0)
    return np.asarray(np.bincount(table.owner, weights=terms, minlength=len(table.sizes)), dtype=np.float64)


def _normalise(information: NDArray[np.float64], entropies: NDArray[np.float64]) -> NDArray[np.float64]:
    mean = (entropies[:, None] + entropies[None, :]) / 2.0
    nmi = np.divide(information, mean, out=np.zeros_like(information), where=mean > 0)
    np.fill_diagonal(nmi, np.where(entropies > 0, 1.0, 0.0))
    return np.clip(nmi, 0.0, 1.0)


def compute_mutual_information(codes: NDArray[np.integer[Any]]) -> NDArray[np.float64]:
    """Compute the mutual information of all pairs of attributes from the empirical joint counts.

    Parameters
    ----------
    codes : ndarray of int (N, L)
        Level of every record and attribute.

    Returns
    -------
    ndarray (L, L)
        Nats, symmetric, >= 0, exactly 0 where the joint counts factorise; the diagonal is the entropy.

    Raises
    ------
    InputError
        If there is no record, or the codes are not whole numbers in two dimensions.
    """
    return _mutual_information(_tabulate(codes))


def compute_nmi(codes: NDArray[np.integer[Any]], *, exact: bool = True) -> NDArray[np.float64]:
    """Compute the normalised mutual information of all pairs of attributes.

    I_ij = 2 MI(X_i; X_j) / (H(X_i) + H(X_j)) from the empirical joint counts, all pairs in one pass.

    Parameters
    ----------
    codes : ndarray of int (N, L)
        Level of every record and attribute.
    exact : bool
        Whether independent attributes give exactly 0; else they may give some 1e-15, in a fraction of the time.

    Returns
    -------
    ndarray (L, L)
        Symmetric, in [0, 1]; 0 where both entropies are 0, else 1 on the diagonal.

    Raises
    ------
    InputError
        If there is no record, or the codes are not whole numbers in two dimensions.

    Notes
    -----
    Section 3.3 of the DepHDP paper. Independent attributes give exactly 0.

    Examples
    --------
    >>> compute_nmi(np.array([[0, 0, 0], [0, 0, 1], [1, 1, 0], [1, 1, 1]])).tolist()
    [[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    table = _tabulate(codes)
    many = int(table.starts[-1]) > DENSE_LEVELS * len(table.sizes)  # most pairs of levels are never seen
    information = _mutual_information(table) if exact or many else _information_of_entropies(table)
    return _normalise(information, _entropies(table))


# ---- adjustment for chance ----


def compute_adjusted_nmi(codes: NDArray[np.integer[Any]], *, progress: Progress | None = None) -> NDArray[np.float64]:
    """Compute the mutual information of all pairs, normalised and adjusted for chance (AMI).

    AMI = (MI - E[MI]) / ((H_i + H_j)/2 - E[MI]), with the hypergeometric expectation under fixed margins.

    Parameters
    ----------
    codes : ndarray of int (N, L)
        Level of every record and attribute.
    progress : callable, optional
        Told the fraction done.

    Returns
    -------
    ndarray (L, L)
        Symmetric, at most 1 and never above the plain NMI; negative where a pair shares less than chance would give.
        0 where the denominator is not positive (a constant attribute, or one whose values are all different).

    Raises
    ------
    InputError
        If there is no record, or the codes are not whole numbers in two dimensions.

    Notes
    -----
    Vinh, Epps and Bailey (2010), arithmetic mean.
    """
    table = _tabulate(codes)
    information, entropies, count = _mutual_information(table), _entropies(table), len(table.sizes)
    adjusted: NDArray[np.float64] = np.diag(np.where(entropies > 0, 1.0, 0.0))

    def told(fraction: float) -> None:
        if progress is not None:
            progress(fraction, "Adjusting the dependence for chance")

    expected = expected_mutual_informations([table.levels(i) for i in range(count)], progress=told)
    mean = (entropies[:, None] + entropies[None, :]) / 2.0
    room = mean - expected
    varied = np.minimum(entropies[:, None], entropies[None, :]) > 0
    pairs = varied & (room > LEAST_ROOM * mean) & ~np.eye(count, dtype=bool)
    adjusted[pairs] = (information[pairs] - expected[pairs]) / room[pairs]
    return np.asarray(np.minimum(adjusted, 1.0), dtype=np.float64)
