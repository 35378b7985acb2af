"""One step of the structured interior point: predictor, centrality correctors, and the system that couples the outputs.

Mehrotra's predictor and corrector (S. Mehrotra, 1992) with centrality correctors (J. Gondzio, 1996), each taken by the
share that lengthens the step most (M. Colombo and J. Gondzio, 2008).
"""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from core.block_systems import Factor, FloatArray, Programme, System
from core.reductions import RatioRows

_STEP_BACK: Final = 0.995
"""Share of the way to the boundary that a step may take."""
_START_WEIGHT: Final = 10.0
"""First complementarity, as a multiple of the first loss: larger starts are more central."""
_CORRECTORS: Final = 3
"""Most centrality correctors per iteration."""
_SUM_TOLERANCE: Final = 1e-13
"""Error of a row sum that is left alone."""
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
        self.forward = programme.rows.matrix(programme.epsilon)
        self.backward = self.forward.T.tocsr()
        if start is None:
            self._start_at_uniform(programme)
        else:
            self.variables = start.variables.copy()
            self.slacks = self.forward @ self.variables
            self.multipliers = start.multipliers / self.scale
            self.potentials = start.potentials / self.scale

    def _start_at_uniform(self, programme: Programme) -> None:
        column = start_column(programme.rows, programme.epsilon) / len(self.outputs)
        self.variables = np.repeat(column[:, None], len(self.outputs), axis=1)
        self.slacks = self.forward @ self.variables
        self.multipliers = (_START_WEIGHT * self.loss / self.slacks.size) / self.slacks
        self.potentials = (self.costs - (self.backward @ self.multipliers)[self.aux :]).mean(axis=1)

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
        self.slacks = self.forward @ self.variables


def start_column(rows: RatioRows, epsilon: float) -> FloatArray:
    """Return one column with all states at 1 and auxiliaries strictly between, B v > 0.

    Heights are squeezed into (-1, 1) by h / (1 + |h|), which keeps their order and never widens a distance.
    """
    heights = epsilon * rows.heights
    return np.concatenate([np.exp(heights / (1 + np.abs(heights))), np.ones(rows.states)])


def _step_length(values: FloatArray, change: FloatArray) -> float:
    worst = float((change / values).min())
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
        primal, dual = _step_length(self._at.slacks, slacks), _step_length(self._at.multipliers, multipliers)
        return Direction(variables, slacks, multipliers, potentials, primal, dual)

    def _solve(self, right: FloatArray, short: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return dV, B dV and dlambda with H dV = right + dlambda and sum_y dz = short; `right` is overwritten."""
        at = self._at
        free = self._factor.solve(right)
        potentials = cho_solve(self._schur, short - free[at.aux :].sum(axis=1), check_finite=False)
        right[at.aux :] += potentials[:, None]
        variables = self._factor.solve(right)
        return variables, at.forward @ variables, potentials

    def add(self, step: Direction, target: FloatArray, shares: tuple[float, ...]) -> Direction:
        """Return the step with S dU + U dS raised by that share of `target` which makes it longest."""
        at = self._at
        scaled = target / at.slacks
        variables, slacks, potentials = self._solve(at.backward @ scaled, np.zeros(len(self._short)))
        multipliers = scaled - self._weights * slacks
        lengths = []
        for share in shares:
            primal = _step_length(at.slacks, step.slacks + share * slacks)
            dual = _step_length(at.multipliers, step.multipliers + share * multipliers)
            lengths.append((primal * dual, share, primal, dual))
        _, share, primal, dual = max(lengths)
        return Direction(
            step.variables + share * variables,
            step.slacks + share * slacks,
            step.multipliers + share * multipliers,
            step.potentials + share * potentials,
            primal,
            dual,
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
        right[at.aux :] = cho_solve(self._schur, short, check_finite=False)[:, None]
        change = self._factor.solve(right)
        slacks = at.forward @ (at.variables + change)
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


def factor_schur(matrix: FloatArray) -> tuple[Any, bool]:
    """Return the Cholesky factor of a symmetric matrix, with its diagonal raised by up to 1e-11 where needed."""
    for raise_by in (0.0, 1e-15, 1e-13):
        raised = matrix.copy()
        raised.ravel()[:: len(matrix) + 1] *= 1 + raise_by
        try:
            return cho_factor(raised, lower=True, overwrite_a=True, check_finite=False)
        except np.linalg.LinAlgError:
            continue
    raised = matrix.copy()
    raised.ravel()[:: len(matrix) + 1] *= 1 + 1e-11
    return cho_factor(raised, lower=True, overwrite_a=True, check_finite=False)
