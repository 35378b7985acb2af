"""One step of the structured interior point: predictor, centrality correctors, and the system that couples the outputs.

Mehrotra's predictor and corrector (S. Mehrotra, 1992) with centrality correctors (J. Gondzio, 1996), each taken by the
share that lengthens the step most (M. Colombo and J. Gondzio, 2008).
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from core.solver.block_systems import Factor, FloatArray, Programme, System
from core.solver.reductions import RatioRows

_STEP_BACK: Final = 0.995
"""Share of the way to the boundary that a step may take."""
_START_WEIGHT: Final = 10.0
"""First complementarity, as a multiple of the first loss: larger starts are more central."""
_CORRECTORS: Final = 3
"""Most centrality correctors per iteration."""
_SUM_TOLERANCE: Final = 1e-13
"""Error of a row sum that is left alone."""
_RAISES: Final = (0.0, 1e-15, 1e-13, 1e-11)
"""Relative increases of the common system's diagonal that are tried in turn."""
_GOOD_STEP: Final = 0.9
"""Steps of at least this length need no corrector."""
_BOX: Final = 30.0
"""Products s u are drawn into [mu / 30, 30 mu]."""
_STRETCH: Final = 1.2
_EXTENSION: Final = 0.5
"""Correctors aim at steps of 1.2 times the present length and 0.5 more."""
_SHARES: Final = (1.0, 0.6, 0.3)
"""Shares of a corrector that are tried."""
_WORTHWHILE: Final = 1.1
"""Gain in the product of both step lengths below which no further corrector is made."""


@dataclass(frozen=True, eq=False)
class Start:
    """An interior iterate to go on from.

    Parameters
    ----------
    variables : ndarray of float (N, k)
        B v > 0 in every column, states summing to 1 over the outputs.
    multipliers : ndarray of float (r, k)
        u > 0.
    potentials : ndarray of float (n,)
        Multipliers of the row sums.
    """

    variables: FloatArray
    multipliers: FloatArray
    potentials: FloatArray

    def restrict(self, kept: NDArray[np.int64]) -> "Start":
        """Return the iterate on fewer outputs; the others' columns are shared out, which stays within the cone."""
        chosen = self.variables[:, kept]
        share = chosen.sum(axis=0) / chosen.sum()
        dropped = self.variables.sum(axis=1) - chosen.sum(axis=1)
        return Start(chosen + dropped[:, None] * share, self.multipliers[:, kept], self.potentials)


@dataclass(eq=False)
class Direction:
    """A step and how far it may be taken on both sides."""

    variables: FloatArray
    slacks: FloatArray
    multipliers: FloatArray
    potentials: FloatArray
    primal_step: float
    dual_step: float

    @property
    def product(self) -> float:
        """Product of both step lengths, by which steps are compared."""
        return self.primal_step * self.dual_step


class Iterate:
    """State of one solve: variables V, slacks S = B V, multipliers U, potentials."""

    def __init__(self, programme: Programme, outputs: NDArray[np.int64], start: Start | None) -> None:
        rows = programme.rows
        self.outputs = outputs
        self.aux = rows.auxiliaries
        self.costs = np.ascontiguousarray(programme.costs[:, outputs])
        self.scale = float(self.costs.sum(axis=0).min()) or 1.0
        self.costs /= self.scale
        self._rows = rows
        self._ratio = rows.ratios(programme.epsilon)[:, None]
        self._transposed = rows.matrix(programme.epsilon).T.tocsr()
        if start is None:
            self._start_at_uniform(programme)
        else:
            self.variables = start.variables.copy()
            self.slacks = self.forward(self.variables)
            self.multipliers = start.multipliers / self.scale
            self.potentials = start.potentials / self.scale

    def _start_at_uniform(self, programme: Programme) -> None:
        column = start_column(programme.rows, programme.epsilon) / len(self.outputs)
        self.variables = np.repeat(column[:, None], len(self.outputs), axis=1)
        self.slacks = self.forward(self.variables)
        self.multipliers = (_START_WEIGHT * self.loss / self.slacks.size) / self.slacks
        self.potentials = (self.costs - self.backward(self.multipliers)[self.aux :]).mean(axis=1)

    def forward(self, variables: FloatArray) -> FloatArray:
        """Return B v of every column; two gathers are quicker than a sparse product."""
        slacks = variables.take(self._rows.tail, axis=0)
        slacks *= self._ratio
        return np.subtract(variables.take(self._rows.head, axis=0), slacks, out=slacks)

    def backward(self, multipliers: FloatArray) -> FloatArray:
        """Return B^T u of every column."""
        return np.asarray(self._transposed @ multipliers)

    @property
    def loss(self) -> float:
        """Loss of the present channel, in the scale of the costs."""
        return float(np.vdot(self.costs, self.variables[self.aux :]))

    @property
    def complementarity(self) -> float:
        """Sum of slacks times multipliers: the gap where the multipliers are feasible."""
        return float(np.vdot(self.slacks, self.multipliers))

    def move(self, step: Direction) -> None:
        """Take the step, each side as far as it may go."""
        self.variables += step.primal_step * step.variables
        self.multipliers += step.dual_step * step.multipliers
        self.potentials = self.potentials + step.dual_step * step.potentials
        self.slacks = self.forward(self.variables)


def start_column(rows: RatioRows, epsilon: float) -> FloatArray:
    """Return one column with all states at 1 and auxiliaries strictly between, B v > 0.

    Heights are squeezed into (-1, 1) by h / (1 + |h|), which keeps their order and never widens a distance.
    """
    heights = epsilon * rows.heights
    return np.concatenate([np.exp(heights / (1 + np.abs(heights))), np.ones(rows.states)])


def _length(relative: FloatArray) -> float:
    """Return how far a step may be taken whose changes are `relative` to the present values."""
    worst = float(relative.min())
    return min(1.0, -_STEP_BACK / worst) if worst < 0 else 1.0


class Newton:
    """Directions at one iterate from one factorisation."""

    def __init__(self, iterate: Iterate, system: System) -> None:
        self._at = iterate
        self._weights = iterate.multipliers / iterate.slacks
        self._factor: Factor = system.factor(self._weights)
        self._schur = factor_schur(self._factor.schur())
        aux, states = iterate.aux, iterate.variables[iterate.aux :]
        self._short = 1 - states.sum(axis=1)
        self._gradient = np.zeros_like(iterate.variables)
        self._gradient[aux:] = iterate.costs - iterate.potentials[:, None]

    def predict(self) -> Direction:
        """Return the direction towards S U = 0: S dU + U dS = -S U, B^T dU + dlambda = dual residual, and the sums."""
        variables, slacks, potentials = self._solve(-self._gradient, self._short)
        multipliers = -self._at.multipliers - self._weights * slacks
        primal, dual = _length(slacks / self._at.slacks), _length(multipliers / self._at.multipliers)
        return Direction(variables, slacks, multipliers, potentials, primal, dual)

    def _solve(self, right: FloatArray, short: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return dV, B dV and dlambda with H dV = right + dlambda and sum_y dz = short; `right` is overwritten."""
        at = self._at
        free = self._factor.solve(right)
        potentials = lapack.dpotrs(self._schur, short - free[at.aux :].sum(axis=1), lower=1)[0]
        right[at.aux :] += potentials[:, None]
        variables = self._factor.solve(right)
        return variables, at.forward(variables), potentials

    def add(self, step: Direction, target: FloatArray, shares: tuple[float, ...]) -> Direction:
        """Return the step with S dU + U dS raised by that share of `target` which makes it longest."""
        at = self._at
        scaled = target / at.slacks
        variables, slacks, potentials = self._solve(at.backward(scaled), np.zeros(len(self._short)))
        multipliers = scaled - self._weights * slacks
        primal, dual = (step.slacks / at.slacks, step.multipliers / at.multipliers)
        more_primal, more_dual = (slacks / at.slacks, multipliers / at.multipliers)
        lengths = []
        for share in shares:
            lengths.append((_length(primal + share * more_primal), _length(dual + share * more_dual), share))
        primal_step, dual_step, share = max(lengths, key=lambda length: length[0] * length[1])
        return Direction(
            step.variables + share * variables,
            step.slacks + share * slacks,
            step.multipliers + share * multipliers,
            step.potentials + share * potentials,
            primal_step,
            dual_step,
        )

    def step(self) -> Direction:
        """Return the predictor-corrector direction, improved by centrality correctors while they lengthen it."""
        at = self._at
        mean = at.complementarity / at.slacks.size
        guess = self.predict()
        after = np.vdot(
            at.slacks + guess.primal_step * guess.slacks, at.multipliers + guess.dual_step * guess.multipliers
        )
        centre = mean * min(max((float(after) / at.slacks.size / mean) ** 3, 1e-8), 1.0)
        best = self.add(guess, centre - guess.slacks * guess.multipliers, (1.0,))
        for _ in range(_CORRECTORS):
            if min(best.primal_step, best.dual_step) > _GOOD_STEP:
                break
            trial = self.add(best, self._correction(best, centre), _SHARES)
            gain = trial.product / best.product
            best = trial if gain > 1 else best
            if gain < _WORTHWHILE:
                break
        return best

    def restore_sums(self) -> None:
        """Bring the rows back to 1 after a step, where the common system lost digits, and stay strictly inside."""
        at = self._at
        short = 1 - at.variables[at.aux :].sum(axis=1)
        if np.abs(short).max() <= _SUM_TOLERANCE:
            return
        right = np.zeros_like(at.variables)
        right[at.aux :] = lapack.dpotrs(self._schur, short, lower=1)[0][:, None]
        change = self._factor.solve(right)
        slacks = at.forward(at.variables + change)
        if np.isfinite(slacks).all() and slacks.min() > 0:
            at.variables += change
            at.slacks = slacks

    def _correction(self, step: Direction, centre: float) -> FloatArray:
        at = self._at
        product = at.slacks + min(1.0, _STRETCH * step.primal_step + _EXTENSION) * step.slacks
        product *= at.multipliers + min(1.0, _STRETCH * step.dual_step + _EXTENSION) * step.multipliers
        drawn = np.clip(product, centre / _BOX, centre * _BOX)
        drawn -= product
        return np.asarray(np.clip(drawn, -_BOX * centre, _BOX * centre, out=drawn))


def factor_schur(matrix: FloatArray) -> FloatArray:
    """Return the lower Cholesky factor of the common system, its diagonal raised by up to 1e-11 where needed.

    Raises
    ------
    numpy.linalg.LinAlgError
        If it is not positive definite even so.
    """
    for raise_by in _RAISES:
        raised = matrix.copy()
        raised.ravel()[:: len(matrix) + 1] *= 1 + raise_by
        factor, info = lapack.dpotrf(raised.T, lower=1, overwrite_a=1, clean=0)
        if info == 0 and np.isfinite(factor[-1, -1]):
            return np.asarray(factor)
    raise np.linalg.LinAlgError("the common system is not positive definite")
