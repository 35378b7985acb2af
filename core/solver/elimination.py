"""Systems H_y with auxiliary variables, or with no pattern at all: elimination in groups, then a dense rest.

`EliminationSystem` eliminates the auxiliaries group by group and inverts what remains on the states densely.
`FibreSystem` goes the other way round, which is cheaper where few auxiliaries tie many small blocks of states.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import lapack

from core.solver.block_systems import Factor, FloatArray, solve_cholesky
from core.solver.reductions import RatioRows, once_per_rows

_CHUNK_ENTRIES: Final = 500_000
"""Entries of the largest temporary array of systems: outputs are taken in chunks that stay in the cache."""
PASS_WEIGHT: Final = 500.0
"""Operations per row, output and step in element-wise passes."""
_GROUP_OVERHEAD: Final = 20_000.0
"""Operations that pass while one group's arrays are gathered and scattered."""
_NARROW: Final = 12
"""Width up to which many matrices are factorised side by side."""
_MANY: Final = 64
"""Matrices from which that pays."""
_RUNS: Final = 3
"""Evenly spaced runs up to which a group's variables are taken run by run."""
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
        """Write the upper triangles of some outputs from their entries (entries, m) into (m, size, size)."""
        matrices.fill(0.0)
        matrices[:, self.column, self.row] = values.T


def alike(weights: FloatArray) -> bool:
    """Whether all of several outputs have the same weights, as they do at the start: one factorisation will do."""
    return weights.shape[1] > 1 and bool((weights == weights[:, :1]).all())


def chunks(count: int, entries: int) -> Iterator[slice]:
    """Yield slices of `count` items so that each chunk times `entries` stays within the limit."""
    step = max(1, _CHUNK_ENTRIES // max(entries, 1))
    for start in range(0, count, step):
        yield slice(start, min(count, start + step))


def root_inverse(matrix: FloatArray) -> FloatArray:
    """Return the inverse of the lower Cholesky factor of a positive definite matrix, from its upper triangle.

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
    """Return the inverses of the lower Cholesky factors of a stack of matrices, from their upper triangles.

    Raises
    ------
    numpy.linalg.LinAlgError
        If one is not positive definite even after a relative increase of its diagonal by 1e-9.
    """
    size = matrices.shape[-1]
    if size <= _NARROW and matrices.size >= _MANY * size * size:
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            inverses = _eliminate_side_by_side(matrices)
        if np.isfinite(inverses).all():
            return inverses
    try:
        factors = np.linalg.cholesky(matrices, upper=True)
    except np.linalg.LinAlgError:
        diagonal = np.einsum("...ii->...i", matrices)
        factors = np.linalg.cholesky(matrices + (_REGULARISATION * diagonal)[..., None] * np.eye(size), upper=True)
    return np.ascontiguousarray(np.swapaxes(np.linalg.inv(factors), -1, -2))


def _eliminate_side_by_side(matrices: FloatArray) -> FloatArray:
    """Return L^-1 of every matrix L L^T by elimination on (matrix, identity), one step for all at once.

    For many narrow matrices this is faster than one by one. A pivot that is not positive leaves NaN behind.
    """
    size = matrices.shape[-1]
    stack = matrices.reshape(-1, size, size)
    work = np.zeros((size, 2 * size, len(stack)))
    work[:, :size] = stack.transpose(1, 2, 0)
    work[range(size), range(size, 2 * size)] = 1.0
    for k in range(size):
        row = work[k, k : size + k + 1]
        row /= np.sqrt(row[0])
        work[k + 1 :, k + 1 : size + k + 1] -= work[k, k + 1 : size, None] * row[1:]
    return np.ascontiguousarray(work[:, size:].transpose(2, 0, 1)).reshape(matrices.shape)


@dataclass(frozen=True, eq=False)
class _Level:
    """Groups of auxiliaries of one size that do not touch one another, eliminated side by side.

    `own` (groups, width) are their variables, consecutive; `later` (groups, k) what each touches by then.
    """

    own: NDArray[np.int64]
    later: NDArray[np.int64]

    @cached_property
    def span(self) -> slice:
        """All own variables."""
        return slice(int(self.own[0, 0]), int(self.own[-1, -1]) + 1)

    @cached_property
    def runs(self) -> list[list[tuple[slice | NDArray[np.int64], slice]]]:
        """What each group touches, in evenly spaced runs where those are few (slices need no copies), with places."""
        return [_runs(later) for later in self.later]

    def eliminate(self, matrices: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Eliminate in the upper triangles, in place; return the inverse Cholesky roots and roots @ couplings."""
        roots = cholesky_inverses(matrices[:, self.own[:, :, None], self.own[:, None, :]])
        couplings = roots @ matrices[:, self.own[:, :, None], self.later[:, None, :]]
        change = couplings.transpose(0, 1, 3, 2) @ couplings
        for group, runs in enumerate(self.runs):
            for first, (high, row) in enumerate(runs):
                for low, column in runs[first:]:
                    where = (high[:, None], low) if isinstance(high, np.ndarray) else (high, low)
                    matrices[:, *where] -= change[:, group, row, column]
        return roots, couplings


def _runs(later: NDArray[np.int64]) -> list[tuple[slice | NDArray[np.int64], slice]]:
    found: list[tuple[slice | NDArray[np.int64], slice]] = []
    start = 0
    while start < len(later):
        steps = np.diff(later[start:])
        step = int(steps[0]) if len(steps) else 1
        length = 1 + int(np.cumprod(steps == step).sum())
        stop = start + length
        found.append((slice(int(later[start]), int(later[stop - 1]) + 1, step), slice(start, stop)))
        start = stop
    return found if len(found) <= _RUNS else [(later, slice(None))]


class EliminationSystem:
    """Auxiliaries first, level by level; then the dense rest on the states.

    Parameters
    ----------
    rows : RatioRows
        Any rows; without auxiliaries this is one dense factorisation per output.
    epsilon : float
        The budget.
    """

    def __init__(self, rows: RatioRows, epsilon: float) -> None:
        self._assembly = Assembly(rows, epsilon)
        self._auxiliaries = rows.auxiliaries
        self._levels = eliminate_pattern(rows)
        # One space for all steps: fresh pages would cost a tenth of a solve.
        self._space = np.empty((0, rows.size, rows.size))

    def factor(self, weights: FloatArray) -> Factor:
        """Return the elimination of all outputs."""
        if alike(weights):
            return self._factor(weights[:, :1]).repeat(weights.shape[1])
        return self._factor(weights)

    def _factor(self, weights: FloatArray) -> "_EliminationFactor":
        m, size, aux = weights.shape[1], self._assembly.size, self._auxiliaries
        roots = np.empty((m, size - aux, size - aux))
        parts = [
            (np.empty((m, count, width, width)), np.empty((m, count, width, level.later.shape[1])))
            for level, (count, width) in ((level, level.own.shape) for level in self._levels)
        ]
        values = self._assembly.entries(weights)
        together = max(1, min(m, _CHUNK_ENTRIES // (size * size)))
        if len(self._space) < together:
            self._space = np.empty((together, size, size))
        for piece in chunks(m, size * size):
            matrices = self._space[: piece.stop - piece.start]
            self._assembly.fill(matrices, values[:, piece])
            for level, (inverse_roots, couplings) in zip(self._levels, parts, strict=True):
                inverse_roots[piece], couplings[piece] = level.eliminate(matrices)
            for y, matrix in enumerate(matrices[:, aux:, aux:], piece.start):
                roots[y] = root_inverse(matrix)
        return _EliminationFactor(roots, self._levels, parts)


class _EliminationFactor(Factor):
    def __init__(self, roots: FloatArray, levels: list[_Level], parts: list[tuple[FloatArray, FloatArray]]) -> None:
        self._roots, self._levels, self._parts = roots, levels, parts

    def repeat(self, m: int) -> "_EliminationFactor":
        """Return m outputs that are all the only one of this factor."""
        parts = [(np.repeat(roots, m, axis=0), np.repeat(couplings, m, axis=0)) for roots, couplings in self._parts]
        return _EliminationFactor(np.repeat(self._roots, m, axis=0), self._levels, parts)

    def solve(self, right: FloatArray) -> FloatArray:
        columns, states = self._forward(right)
        return self._backward(columns, np.matvec(self._roots, states))

    def solve_coupled(self, right: FloatArray, sums: FloatArray, schur: FloatArray) -> tuple[FloatArray, FloatArray]:
        columns, states = self._forward(right)
        free = np.matvec(self._roots, states).ravel() @ self._roots.reshape(-1, len(sums))
        potentials = solve_cholesky(schur, sums - free)
        states += potentials
        return self._backward(columns, np.matvec(self._roots, states)), potentials

    def _forward(self, right: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the columns (m, variables) with the auxiliaries eliminated, and what that left of the states."""
        columns = np.array(right.T, order="C")
        m = len(columns)
        for level, (roots, couplings) in zip(self._levels, self._parts, strict=True):
            own = np.matvec(roots, columns[:, level.span].reshape(m, *level.own.shape))
            columns[:, level.span] = own.reshape(m, -1)
            change = np.vecmat(own, couplings)
            for group, runs in enumerate(level.runs):
                for run, at in runs:
                    columns[:, run] -= change[:, group, at]
        return columns, columns[:, columns.shape[1] - self._roots.shape[1] :]

    def _backward(self, columns: FloatArray, half: FloatArray) -> FloatArray:
        """Return the solution (variables, m) from the forward columns and roots @ states."""
        m, aux = len(columns), columns.shape[1] - self._roots.shape[1]
        columns[:, aux:] = np.vecmat(half, self._roots)
        for level, (roots, couplings) in zip(reversed(self._levels), reversed(self._parts), strict=True):
            own = columns[:, level.span].reshape(m, *level.own.shape) - np.matvec(couplings, columns[:, level.later])
            columns[:, level.span] = np.vecmat(own, roots).reshape(m, -1)
        return np.ascontiguousarray(columns.T)

    def schur(self) -> FloatArray:
        stacked = self._roots.reshape(-1, self._roots.shape[2])
        return np.asarray(stacked.T @ stacked)


@once_per_rows
def eliminate_pattern(rows: RatioRows) -> list[_Level]:
    """Return the levels of auxiliaries in order, with the later variables that each group touches, fill-in included."""
    size, aux = rows.size, rows.auxiliaries
    touches = np.zeros((size, size), bool)
    touches[rows.head, rows.tail] = touches[rows.tail, rows.head] = True
    bounds = np.concatenate([np.flatnonzero(np.diff(rows.groups, prepend=-1)), [aux]])
    levels: list[tuple[list[NDArray[np.int64]], list[NDArray[np.int64]]]] = []
    for start, stop in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        own, later = np.arange(start, stop), stop + np.flatnonzero(touches[start:stop, stop:].any(axis=0))
        touches[np.ix_(later, later)] = True
        joins = levels and len(levels[-1][0][0]) == len(own) and len(levels[-1][1][0]) == len(later)
        if not joins or any(np.intersect1d(own, before).size for before in levels[-1][1]):
            levels.append(([], []))
        levels[-1][0].append(own)
        levels[-1][1].append(later)
    return [_Level(np.array(own), np.array(later)) for own, later in levels]


def estimate_elimination_work(rows: RatioRows) -> float:
    """Return floating-point operations per output and step: the cost model that chooses between equivalent rows."""
    eliminated = 0.0
    for level in eliminate_pattern(rows):
        (count, own), later = level.own.shape, level.later.shape[1]
        eliminated += count * (own**3 / 3 + own * own * later + own * later * later + _GROUP_OVERHEAD)
    return float(rows.states) ** 3 + eliminated + PASS_WEIGHT * len(rows)
