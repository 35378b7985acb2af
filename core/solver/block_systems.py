"""The linear algebra of one interior-point step: H_y = B^T diag(w_y) B per output y, and sum_y of their inverses.

Every system offers the same two things after `factor(weights)`: `solve(right)` applies H_y^-1 to column y, and
`schur()` is the n by n sum over outputs of the states' blocks of H_y^-1. Lines and nominal attributes have closed
eliminations that subtract nothing, so that their pivots stay positive however small 1 - exp(-epsilon d) is.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from core.solver.dual_bound import DualBound
from core.solver.reductions import RatioRows

FloatArray = NDArray[np.float64]

TINY: Final = 1e-300
"""Smallest pivot; an underflow to 0 would divide by it."""
_NEAR: Final = 16
"""Points of a line up to this far apart get their mutual entries diagonal by diagonal."""


class Factor(Protocol):
    """Factorised systems H_y of all outputs."""

    def solve(self, right: FloatArray) -> FloatArray:
        """Return H_y^-1 right[:, y] for every column y; shape (variables, m)."""

    def schur(self) -> FloatArray:
        """Return sum_y of the states' block of H_y^-1; shape (n, n), symmetric."""

    def solve_coupled(self, right: FloatArray, sums: FloatArray, schur: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return V and lambda with H V = right + lambda on the states, whose rows add up to `sums` over the outputs.

        `schur` is the lower Cholesky factor of `self.schur()`; `right` may be overwritten.
        """
        aux = len(right) - len(sums)
        potentials = solve_cholesky(schur, sums - self.solve(right)[aux:].sum(axis=1))
        right[aux:] += potentials[:, None]
        return self.solve(right), potentials


def solve_cholesky(factor: FloatArray, right: FloatArray) -> FloatArray:
    """Return x with L L^T x = right for a lower factor L."""
    return np.asarray(lapack.dpotrs(factor, right, lower=1)[0])


class System(Protocol):
    """The pattern of H_y for given rows and budget."""

    def factor(self, weights: FloatArray) -> Factor:
        """Factorise for weights (rows, m) > 0; raises numpy.linalg.LinAlgError where a pivot is not positive."""


@dataclass(frozen=True, eq=False)
class Programme:
    """One linear programme: rows, budget and costs, with the system that solves its steps.

    Parameters
    ----------
    rows : RatioRows
        The rows of one output.
    epsilon : float
        The budget.
    costs : ndarray of float (n, m)
        prior * loss, of any scale.
    system : System
        Linear algebra for the rows.
    """

    rows: RatioRows
    epsilon: float
    costs: FloatArray
    system: System

    @cached_property
    def forward(self) -> Any:
        """B (rows, variables), sparse."""
        return self.rows.matrix(self.epsilon)

    @cached_property
    def backward(self) -> Any:
        """B^T (variables, rows), sparse."""
        return self.forward.T.tocsr()

    @cached_property
    def proof(self) -> DualBound:
        """Lower bounds from multipliers of these rows."""
        return DualBound(self.rows, self.epsilon)


class LineSystem:
    """Tridiagonal H_y of points on a line.

    With t = exp(-epsilon gap), p the weight of z_{k+1} - t z_k >= 0 and q that of z_k - t z_{k+1} >= 0, the pivots
    are D_k = e_k + t^2 p + q and e_{k+1} = ((p + t^2 q) e_k + p q (1 - t^2)^2) / D_k: no subtraction.

    Parameters
    ----------
    rows : RatioRows
        Rows of kind 'line'.
    epsilon : float
        The budget.
    """

    def __init__(self, rows: RatioRows, epsilon: float) -> None:
        gaps = rows.gap[: rows.states - 1, None]
        self._ratio = np.exp(-epsilon * gaps)
        self._square_gap = np.expm1(-2 * epsilon * gaps) ** 2

    def factor(self, weights: FloatArray) -> Factor:
        """Return pivots and multipliers of all outputs."""
        t, half = self._ratio, len(self._ratio)
        p, q = weights[:half], weights[half:]
        low, high, product = t * t * p + q, p + t * t * q, p * q * self._square_gap
        off = -t * (p + q)
        pivots = np.empty((half + 1, weights.shape[1]))
        carried = np.zeros(weights.shape[1])
        for k in range(half):
            pivot = np.add(carried, low[k], out=pivots[k])
            carried *= high[k]
            carried += product[k]
            carried /= pivot
        pivots[half] = carried
        np.maximum(pivots, TINY, out=pivots)
        return _LineFactor(pivots, off / pivots[:-1])


class _LineFactor(Factor):
    """L D L^T of tridiagonal systems: pivots (n, m) and subdiagonal multipliers (n-1, m)."""

    def __init__(self, pivots: FloatArray, multipliers: FloatArray) -> None:
        self._pivots, self._multipliers = pivots, multipliers
        n, m = pivots.shape
        # All outputs as one long tridiagonal system: a zero multiplier separates consecutive outputs.
        chain = np.zeros((m, n))
        chain[:, :-1] = multipliers.T
        self._long_diagonal = np.ascontiguousarray(pivots.T).ravel()
        self._long_multipliers = chain.ravel()[:-1]

    def solve(self, right: FloatArray) -> FloatArray:
        n, m = right.shape
        columns = np.array(right.T, order="C", copy=True).ravel()  # of one output it would be the input itself
        if n * m == 1:
            return right / self._pivots
        solved, _ = lapack.dpttrs(self._long_diagonal, self._long_multipliers, columns, overwrite_b=1)
        return np.ascontiguousarray(solved.reshape(m, n).T)

    def schur(self) -> FloatArray:
        """Sum X[k, j] = -l_k X[k+1, j]: by diagonals near the main one, by products of two halves further off."""
        n = len(self._pivots)
        factor = -self._multipliers
        diagonal = self._inverse_diagonal()
        total = np.zeros((n, n))
        band = diagonal
        for offset in range(min(_NEAR, n)):
            total.ravel()[offset : (n - offset) * n : n + 1] = band.sum(axis=1)
            if offset + 1 < n:
                band = factor[: n - offset - 1] * band[1:]
        self._add_far(total, factor, diagonal, 0, n)
        total += np.triu(total, 1).T
        return total

    def _inverse_diagonal(self) -> FloatArray:
        """Return X[k, k] = 1 / D_k + l_k^2 X[k+1, k+1], one long bidiagonal system for all outputs."""
        n, m = self._pivots.shape
        bands = np.ones((2, n * m))
        np.multiply(self._long_multipliers, -self._long_multipliers, out=bands[0, 1:])
        solved, _ = lapack.dtbtrs(bands, 1 / self._long_diagonal, uplo="U", diag="U")
        return np.ascontiguousarray(solved.reshape(m, n).T)

    def _add_far(self, total: FloatArray, factor: FloatArray, diagonal: FloatArray, low: int, high: int) -> None:
        if high - low <= _NEAR:
            return
        middle = (low + high) // 2
        # X[k, j] = (f_k ... f_{middle-1}) * (f_middle ... f_{j-1} X[j, j]) for k < middle <= j
        left = np.cumprod(factor[low:middle][::-1], axis=0)[::-1]
        right = np.empty((high - middle, diagonal.shape[1]))
        right[0] = 1.0
        np.cumprod(factor[middle : high - 1], axis=0, out=right[1:])
        right *= diagonal[middle:high]
        total[low:middle, middle:high] = left @ right.T
        self._add_far(total, factor, diagonal, low, middle)
        self._add_far(total, factor, diagonal, middle, high)


class NominalSystem:
    """Arrow-shaped H_y of one nominal attribute: the auxiliary m meets every state, states do not meet.

    With t = exp(-epsilon d), p the weight of z_x - m >= 0 and q that of m - t z_x >= 0, what remains of the corner
    after the states are eliminated is sum_x p q (1 - t)^2 / (p + t^2 q): no subtraction.

    Parameters
    ----------
    rows : RatioRows
        Rows of kind 'nominal'.
    epsilon : float
        The budget.
    """

    def __init__(self, rows: RatioRows, epsilon: float) -> None:
        gap = float(rows.gap[-1])
        self._states = rows.states
        self._ratio = float(np.exp(-epsilon * gap))
        self._square_gap = float(np.expm1(-epsilon * gap)) ** 2

    def factor(self, weights: FloatArray) -> Factor:
        """Return inverse diagonals, borders over diagonals and corners of all outputs."""
        t = self._ratio
        p, q = weights[: self._states], weights[self._states :]
        inverse = 1 / np.maximum(p + t * t * q, TINY)
        border = (p + t * q) * inverse
        corner = np.maximum((p * q * inverse).sum(axis=0) * self._square_gap, TINY)
        return _NominalFactor(inverse, border, corner)


class _NominalFactor(Factor):
    def __init__(self, inverse: FloatArray, border: FloatArray, corner: FloatArray) -> None:
        self._inverse, self._border, self._corner = inverse, border, corner

    def solve(self, right: FloatArray) -> FloatArray:
        solved = np.empty_like(right)
        states = right[1:]
        np.divide(right[0] + (self._border * states).sum(axis=0), self._corner, out=solved[0])
        np.multiply(self._border, solved[0], out=solved[1:])
        solved[1:] += self._inverse * states
        return solved

    def solve_coupled(self, right: FloatArray, sums: FloatArray, schur: FloatArray) -> tuple[FloatArray, FloatArray]:
        solved = np.empty_like(right)
        states, corner = right[1:], solved[0]
        np.divide(right[0] + (self._border * states).sum(axis=0), self._corner, out=corner)
        free = np.multiply(self._inverse, states, out=solved[1:]).sum(axis=1)
        free += self._border @ corner
        potentials = solve_cholesky(schur, sums - free)
        corner += (potentials @ self._border) / self._corner
        np.add(states, potentials[:, None], out=solved[1:])
        solved[1:] *= self._inverse
        solved[1:] += self._border * corner
        return solved, potentials

    def schur(self) -> FloatArray:
        total = np.asarray((self._border / self._corner) @ self._border.T)
        total.ravel()[:: len(total) + 1] += self._inverse.sum(axis=1)
        return total
