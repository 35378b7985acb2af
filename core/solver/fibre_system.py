"""Systems H_y whose states fall into small blocks tied together by few auxiliary variables: blocks first."""

from typing import Final

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from core.solver.block_systems import Factor, FloatArray
from core.solver.elimination import PASS_WEIGHT, Assembly, alike, cholesky_inverses, chunks
from core.solver.reductions import RatioRows, once_per_rows

_BLOCK_OVERHEAD: Final = 2000.0
"""Operations that pass while one small block is factorised."""


class FibreSystem:
    """Blocks of states first, then the auxiliaries.

    With H = [[D, E], [E^T, A]], D block-diagonal on the states, the states' block of H^-1 is
    D^-1 + F (A - E^T F)^-1 F^T with F = D^-1 E: a block diagonal plus as many columns as there are auxiliaries.

    Parameters
    ----------
    rows : RatioRows
        Rows with few auxiliaries whose rows between states form small blocks.
    epsilon : float
        The budget.
    """

    def __init__(self, rows: RatioRows, epsilon: float) -> None:
        self._assembly = Assembly(rows, epsilon)
        aux = self._aux = rows.auxiliaries
        self._states = rows.states
        self._place = fibre_blocks(rows)
        row, column = self._assembly.row, self._assembly.column
        width = self._place.shape[1]
        at = np.empty(rows.states, np.int64)  # position of every state in the padded blocks
        present = self._place >= 0
        at[self._place[present]] = np.flatnonzero(present.ravel())
        self._at = at
        self._pads = np.flatnonzero(~present.ravel())
        self._inner = np.flatnonzero(column >= aux)
        first, second = at[row[self._inner] - aux], at[column[self._inner] - aux]
        self._inner_low = first * width + second % width
        self._inner_high = second * width + first % width
        self._cross = np.flatnonzero((row >= aux) & (column < aux))
        self._cross_at = at[row[self._cross] - aux] * max(aux, 1) + column[self._cross]
        self._corner = np.flatnonzero(row < aux)
        self._corner_row, self._corner_column = row[self._corner], column[self._corner]

    def factor(self, weights: FloatArray) -> Factor:
        """Return the block factors of all outputs."""
        if alike(weights):
            return self._factor(weights[:, :1]).repeat(weights.shape[1])
        return self._factor(weights)

    def _factor(self, weights: FloatArray) -> "_FibreFactor":
        blocks, width = self._place.shape
        padded, m, aux = blocks * width, weights.shape[1], self._aux
        values = self._assembly.entries(weights).T
        inner = np.zeros((m, padded * width))
        inner[:, self._inner_low] = inner[:, self._inner_high] = values[:, self._inner]
        inner[:, self._pads * width + self._pads % width] = 1.0
        roots = cholesky_inverses(inner.reshape(m, blocks, width, width))
        cross = np.zeros((m, padded * aux))
        cross[:, self._cross_at] = values[:, self._cross]
        half = (roots @ cross.reshape(m, blocks, width, aux)).reshape(m, padded, aux)
        corner = np.zeros((m, aux, aux))
        corner[:, self._corner_row, self._corner_column] = values[:, self._corner]
        corner[:, self._corner_column, self._corner_row] = values[:, self._corner]
        corner -= half.transpose(0, 2, 1) @ half
        return _FibreFactor(roots, half, cholesky_inverses(corner), self._at)


class _FibreFactor(Factor):
    """Inverse Cholesky roots of the blocks and of the corner, and roots @ E between them."""

    def __init__(self, roots: FloatArray, half: FloatArray, corner: FloatArray, at: NDArray[np.int64]) -> None:
        self._roots, self._half, self._corner, self._at = roots, half, corner, at

    def repeat(self, m: int) -> "_FibreFactor":
        """Return m outputs that are all the only one of this factor."""
        roots, half, corner = (np.repeat(part, m, axis=0) for part in (self._roots, self._half, self._corner))
        return _FibreFactor(roots, half, corner, self._at)

    def solve(self, right: FloatArray) -> FloatArray:
        m, blocks, width, _ = self._roots.shape
        aux = self._corner.shape[1]
        states = np.zeros((m, blocks * width))
        states[:, self._at] = right[aux:].T
        forward = (self._roots @ states.reshape(m, blocks, width, 1)).reshape(m, -1, 1)
        rest = right[:aux].T[:, :, None] - self._half.transpose(0, 2, 1) @ forward
        corner = self._corner.transpose(0, 2, 1) @ (self._corner @ rest)
        forward -= self._half @ corner
        back = self._roots.transpose(0, 1, 3, 2) @ forward.reshape(m, blocks, width, 1)
        solved = np.empty_like(right)
        solved[:aux] = corner[:, :, 0].T
        solved[aux:] = back.reshape(m, -1)[:, self._at].T
        return solved

    def schur(self) -> FloatArray:
        m, blocks, width, _ = self._roots.shape
        padded, aux = blocks * width, self._corner.shape[1]
        total = np.zeros((padded, padded))
        for piece in chunks(m, padded * aux):
            back = self._roots[piece].transpose(0, 1, 3, 2)
            half = self._half[piece] @ self._corner[piece].transpose(0, 2, 1)
            spread = (back @ half.reshape(-1, blocks, width, aux)).reshape(-1, padded, aux)
            wide = np.ascontiguousarray(spread.transpose(1, 0, 2)).reshape(padded, -1)
            total += wide @ wide.T
        inner = np.einsum("yfki,yfkj->fij", self._roots, self._roots, optimize=True)
        for block in range(blocks):
            at = slice(block * width, (block + 1) * width)
            total[at, at] += inner[block]
        return np.asarray(total[np.ix_(self._at, self._at)])


@once_per_rows
def fibre_blocks(rows: RatioRows) -> NDArray[np.int64]:
    """Return the states of every block that rows between states form, padded with -1; shape (blocks, width)."""
    aux, n = rows.auxiliaries, rows.states
    inner = (rows.head >= aux) & (rows.tail >= aux)
    ties = sp.csr_array((np.ones(int(inner.sum())), (rows.head[inner] - aux, rows.tail[inner] - aux)), shape=(n, n))
    count, label = connected_components(ties, directed=False)
    sizes = np.bincount(label, minlength=count)
    order = np.argsort(label, kind="stable")
    place = np.full((count, int(sizes.max())), -1, np.int64)
    start = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    place[label[order], np.arange(n) - start[label[order]]] = order
    return place


def estimate_fibre_work(rows: RatioRows) -> float:
    """Return floating-point operations per output and step of this elimination, comparable with the other's."""
    blocks, width = fibre_blocks(rows).shape
    n, aux = blocks * width, rows.auxiliaries
    ties = n * width * aux + 3 * n * aux * aux + aux**3 + n * n * aux
    return float(blocks * (width**3 + _BLOCK_OVERHEAD) + 0.5 * ties + PASS_WEIGHT * len(rows))
