"""Systems H_y with auxiliary variables, or with no pattern at all: elimination in groups, then a dense rest.

`EliminationSystem` eliminates the auxiliaries group by group and inverts what remains on the states densely.
`FibreSystem` goes the other way round, which is cheaper where few auxiliaries tie many small blocks of states.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import lapack

from core.block_systems import Factor, FloatArray
from core.reductions import RatioRows

_CHUNK_ENTRIES: Final = 500_000
"""Entries of the largest temporary array of systems: outputs are taken in chunks that stay in the cache."""
PASS_WEIGHT: Final = 1000.0
"""Operations per row, output and step in element-wise passes."""
_GROUP_OVERHEAD: Final = 20_000.0
"""Operations that pass while one group's arrays are gathered and scattered."""
_REGULARISATION: Final = 1e-9
"""Relative increase of a diagonal whose Cholesky factorisation failed by rounding."""


class Assembly:
    """Where the weights of the rows go in H = B^T diag(w) B.

    Parameters
    ----------
    rows : RatioRows
        The rows of one output.
    epsilon : float
        The budget.
    """

    def __init__(self, rows: RatioRows, epsilon: float) -> None:
        size, count = rows.size, len(rows)
        ratio = rows.ratios(epsilon)
        high, low = np.maximum(rows.head, rows.tail), np.minimum(rows.head, rows.tail)
        keys = np.concatenate([rows.head * size + rows.head, rows.tail * size + rows.tail, high * size + low])
        entries, place = np.unique(keys, return_inverse=True)
        values = np.concatenate([np.ones(count), ratio * ratio, -ratio])
        self._sums = sp.csr_array((values, (place, np.tile(np.arange(count), 3))), shape=(len(entries), count))
        self.size = size
        self.row, self.column = entries // size, entries % size

    def entries(self, weights: FloatArray) -> FloatArray:
        """Return the entries of the lower triangles at (row, column); shape (entries, m)."""
        return np.asarray(self._sums @ weights)

    def fill(self, matrices: FloatArray, values: FloatArray) -> None:
        """Write the symmetric matrices of some outputs from their entries (entries, m) into (m, size, size)."""
        matrices.fill(0.0)
        matrices[:, self.row, self.column] = values.T
        matrices[:, self.column, self.row] = values.T


def chunks(count: int, entries: int) -> Iterator[slice]:
    """Yield slices of `count` items so that each chunk times `entries` stays within the limit."""
    step = max(1, _CHUNK_ENTRIES // max(entries, 1))
    for start in range(0, count, step):
        yield slice(start, min(count, start + step))


def root_inverse(matrix: FloatArray) -> FloatArray:
    """Return the inverse of the lower Cholesky factor of a symmetric positive definite matrix.

    Applied from both sides it solves as accurately as substitution, which the inverse of the matrix itself does not.

    Raises
    ------
    numpy.linalg.LinAlgError
        If it is not positive definite even after a relative increase of its diagonal by 1e-9.
    """
    factor, info = lapack.dpotrf(matrix.T, lower=1, clean=1)
    if info:
        raised = matrix + np.diag(np.diagonal(matrix) * _REGULARISATION)
        factor, info = lapack.dpotrf(raised.T, lower=1, clean=1)
        if info:
            raise np.linalg.LinAlgError("not positive definite")
    return np.asarray(lapack.dtrtri(factor, lower=1, overwrite_c=1)[0])


def cholesky_inverses(matrices: FloatArray) -> FloatArray:
    """Return the inverses of the lower Cholesky factors of a stack of matrices."""
    try:
        factors = np.linalg.cholesky(matrices)
    except np.linalg.LinAlgError:
        size = matrices.shape[-1]
        diagonal = np.einsum("yii->yi", matrices)
        factors = np.linalg.cholesky(matrices + (_REGULARISATION * diagonal)[:, :, None] * np.eye(size))
    return np.asarray(np.linalg.inv(factors))


@dataclass(frozen=True, eq=False)
class _Group:
    """Auxiliaries eliminated together, and the later variables that they touch by then."""

    own: slice
    later: NDArray[np.int64]

    def gather(self, matrices: FloatArray) -> FloatArray:
        """Return the rows of the group against the later variables; a run of them needs no copy."""
        run = self._run
        return matrices[:, self.own, self.later] if run is None else matrices[:, self.own, run]

    def subtract(self, matrices: FloatArray, change: FloatArray) -> None:
        """Subtract from the square of the later variables."""
        run = self._run
        if run is None:
            matrices[:, self.later[:, None], self.later] -= change
        else:
            matrices[:, run, run] -= change

    @property
    def _run(self) -> slice | None:
        if len(self.later) and self.later[-1] - self.later[0] + 1 == len(self.later):
            return slice(int(self.later[0]), int(self.later[-1]) + 1)
        return None


class EliminationSystem:
    """Auxiliaries first, group by group; then the dense inverse on the states.

    Parameters
    ----------
    rows : RatioRows
        Any rows; without auxiliaries this is one dense inverse per output.
    epsilon : float
        The budget.
    """

    def __init__(self, rows: RatioRows, epsilon: float) -> None:
        self._assembly = Assembly(rows, epsilon)
        self._auxiliaries = rows.auxiliaries
        self._groups = eliminate_pattern(rows)

    def factor(self, weights: FloatArray) -> Factor:
        """Return the elimination of all outputs."""
        m, size, aux = weights.shape[1], self._assembly.size, self._auxiliaries
        states = size - aux
        roots = np.empty((m, states, states))
        parts = [
            (np.empty((m, w, w)), np.empty((m, w, len(g.later))))
            for g, w in ((g, g.own.stop - g.own.start) for g in self._groups)
        ]
        values = self._assembly.entries(weights)
        space = np.empty((max(1, min(m, _CHUNK_ENTRIES // (size * size))), size, size))
        for piece in chunks(m, size * size):
            matrices = space[: piece.stop - piece.start]
            self._assembly.fill(matrices, values[:, piece])
            for group, (inverse_factor, coupling) in zip(self._groups, parts, strict=True):
                root = cholesky_inverses(matrices[:, group.own, group.own])
                scaled = root @ group.gather(matrices)
                inverse_factor[piece], coupling[piece] = root, scaled
                group.subtract(matrices, scaled.transpose(0, 2, 1) @ scaled)
            for y, matrix in enumerate(matrices[:, aux:, aux:], piece.start):
                roots[y] = root_inverse(matrix)
        return _EliminationFactor(roots, self._groups, parts)


class _EliminationFactor:
    def __init__(self, roots: FloatArray, groups: list[_Group], parts: list[tuple[FloatArray, FloatArray]]) -> None:
        self._roots, self._groups, self._parts = roots, groups, parts

    def solve(self, right: FloatArray) -> FloatArray:
        columns = np.array(right.T, order="C")[:, :, None]
        aux = columns.shape[1] - self._roots.shape[1]
        for group, (root, coupling) in zip(self._groups, self._parts, strict=True):
            own = root @ columns[:, group.own]
            columns[:, group.own] = own
            columns[:, group.later] -= coupling.transpose(0, 2, 1) @ own
        columns[:, aux:] = self._roots.transpose(0, 2, 1) @ (self._roots @ columns[:, aux:])
        for group, (root, coupling) in zip(reversed(self._groups), reversed(self._parts), strict=True):
            rest = columns[:, group.own] - coupling @ columns[:, group.later]
            columns[:, group.own] = root.transpose(0, 2, 1) @ rest
        return np.ascontiguousarray(columns[:, :, 0].T)

    def schur(self) -> FloatArray:
        stacked = self._roots.reshape(-1, self._roots.shape[2])
        return np.asarray(stacked.T @ stacked)


def eliminate_pattern(rows: RatioRows) -> list[_Group]:
    """Return the groups of auxiliaries with the later variables that each touches, fill-in included."""
    size, aux = rows.size, rows.auxiliaries
    touches = np.zeros((size, size), bool)
    touches[rows.head, rows.tail] = touches[rows.tail, rows.head] = True
    bounds = np.concatenate([np.flatnonzero(np.diff(rows.groups, prepend=-1)), [aux]])
    groups = []
    for start, stop in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        later = stop + np.flatnonzero(touches[start:stop, stop:].any(axis=0))
        touches[np.ix_(later, later)] = True
        groups.append(_Group(slice(start, stop), later))
    return groups


def estimate_elimination_work(rows: RatioRows) -> float:
    """Return floating-point operations per output and step: the cost model that chooses between equivalent rows."""
    n = rows.states
    groups = eliminate_pattern(rows)
    eliminated = 0.0
    for group in groups:
        own, later = group.own.stop - group.own.start, len(group.later)
        eliminated += own**3 / 3 + own * own * later + own * later * later + _GROUP_OVERHEAD
    return float(n) ** 3 + eliminated + PASS_WEIGHT * len(rows)
