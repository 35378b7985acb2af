"""One step of the structured interior point: predictor, centrality correctors, and the system that couples the outputs.

Mehrotra's predictor and corrector (S. Mehrotra, 1992) with centrality correctors (J. Gondzio, 1996), each taken by the
share that lengthens the step most (M. Colombo and J. Gondzio, 2008).
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import lapack

from core.solver.block_systems import Factor, FloatArray, Programme, System, solve_cholesky

_STEP_BACK: Final = 0.995
"""Share of the way to the boundary that a step may take."""
_START_WEIGHT: Final = 0.5
"""First complementarity, as a multiple of the first loss: larger starts are more central."""
_CENTRING_STEPS: Final = 12
"""Most Newton steps towards the analytic centre of the first column."""
_CENTRING_STEP: Final = 0.9
"""Share of the way to the boundary that each of them may take."""
_CENTRED: Final = 0.1
"""Squared Newton decrement below which the column is central enough."""
_CORRECTORS: Final = 3
"""Most centrality correctors per iteration."""
_SUM_TOLERANCE: Final = 1e-13
"""Error of a row sum that is left alone."""
_RAISES: Final = (0.0, 1e-15, 1e-13, 1e-11)
"""Relative increases of the common system's diagonal that are tried in turn."""
_GOOD_STEP: Final = 0.9
"""Steps of at least this length need no corrector."""
_BOX: Final = 10.0
"""Products s u are drawn into [mu / 10, 10 mu]."""
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
    """A step and how far it may be taken on both sides; slacks and multipliers relative to the present ones."""

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
        self._transposed = programme.backward
        self.spare = np.empty((len(rows), len(outputs)))
        if start is None:
            self._start_at_uniform(programme)
        else:
            self.variables = start.variables.copy()
            self.slacks = self.forward(self.variables)
            self.multipliers = start.multipliers / self.scale
            self.potentials = start.potentials / self.scale

    def _start_at_uniform(self, programme: Programme) -> None:
        column = start_column(programme) / len(self.outputs)
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

    @property
    def masses(self) -> FloatArray:
        """Sum of every output's column."""
        return np.asarray(self.variables[self.aux :].sum(axis=0))

    def move(self, step: Direction) -> None:
        """Take the step, each side as far as it may go."""
        self.variables += step.primal_step * step.variables
        self.multipliers *= 1 + step.dual_step * step.multipliers
        self.potentials = self.potentials + step.dual_step * step.potentials
        self.slacks = self.forward(self.variables)


def start_column(programme: Programme) -> FloatArray:
    """Return one column with all states at 1 and the auxiliaries near the analytic centre of what that leaves them.

    With the same column in every output, B^T (1 / s) is the same for all states' costs, so multipliers mu / s leave no
    dual residual but the spread of the costs: the central path begins here. The heights, squeezed into (-1, 1) by
    h / (1 + |h|), which keeps their order and never widens a distance, give a first column strictly inside.
    """
    rows, epsilon = programme.rows, programme.epsilon
    heights = epsilon * rows.heights
    column = np.concatenate([np.exp(heights / (1 + np.abs(heights))), np.ones(rows.states)])
    if rows.kind == "nominal":
        column[0] = (1 + np.exp(-epsilon * rows.gap[-1])) / 2
    if rows.kind != "envelope":
        return column
    free = sp.csr_array(programme.forward[:, : rows.auxiliaries])
    backward, weighted = free.T.tocsr(), free.copy()
    row_of_entry = np.repeat(np.arange(len(rows)), np.diff(free.indptr))
    slacks = programme.forward @ column
    for _ in range(_CENTRING_STEPS):
        inverse = 1 / slacks
        gradient = backward @ inverse
        weighted.data = free.data * (inverse * inverse)[row_of_entry]
        curvature = (backward @ weighted).toarray()
        change, failed = lapack.dposv(curvature, gradient)[1:]
        relative = (free @ change) * inverse
        if failed or not np.isfinite(relative).all():
            break
        length = min(1.0, _CENTRING_STEP / max(-float(relative.min()), 1e-300))
        column[: rows.auxiliaries] += length * change
        slacks = programme.forward @ column
        if gradient @ change < _CENTRED:
            break
    return column


def _add_share(step: FloatArray, change: FloatArray, share: float, out: FloatArray) -> FloatArray:
    """Return step + share * change, written to `out`: large fresh arrays cost more than what is done in them."""
    np.multiply(change, share, out=out)
    return np.add(step, out, out=out)


def _length(relative: FloatArray) -> float:
    """Return how far a step may be taken whose changes are `relative` to the present values."""
    worst = float(relative.min())
    return min(1.0, -_STEP_BACK / worst) if worst < 0 else 1.0


class Newton:
    """Directions at one iterate from one factorisation.

    With p = dS / S and q = dU / U, the rows S dU + U dS = target read p + q = target / (S U).
    """

    def __init__(self, iterate: Iterate, system: System) -> None:
        self._at = iterate
        self._inverse_slacks = 1 / iterate.slacks
        self._products = iterate.slacks * iterate.multipliers
        self._factor: Factor = system.factor(iterate.multipliers * self._inverse_slacks)
        self._schur = factor_schur(self._factor.schur())

    def _solve(self, right: FloatArray, short: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return dV, dS / S and dlambda with H dV = right + dlambda and sum_y dz = short."""
        variables, potentials = self._factor.solve_coupled(right, short, self._schur)
        slacks = self._at.forward(variables)
        slacks *= self._inverse_slacks
        return variables, slacks, potentials

    def predict(self) -> Direction:
        """Return the direction towards S U = 0: p + q = -1, B^T dU + dlambda = dual residual, and the sums."""
        at = self._at
        right = np.zeros_like(at.variables)
        np.subtract(at.potentials[:, None], at.costs, out=right[at.aux :])
        variables, slacks, potentials = self._solve(right, 1 - at.variables[at.aux :].sum(axis=1))
        multipliers = -1 - slacks
        return Direction(variables, slacks, multipliers, potentials, _length(slacks), _length(multipliers))

    def add(self, step: Direction, target: FloatArray, shares: tuple[float, ...]) -> Direction:
        """Return the step with p + q raised by that share of `target` which makes it longest."""
        at = self._at
        variables, slacks, potentials = self._solve(at.backward(target * at.multipliers), np.zeros(len(at.potentials)))
        multipliers = np.subtract(target, slacks, out=target)
        trials = []
        for share in shares:
            primal = _length(_add_share(step.slacks, slacks, share, at.spare))
            dual = _length(_add_share(step.multipliers, multipliers, share, at.spare))
            trials.append((primal * dual, share, primal, dual))
        _, share, primal, dual = max(trials)
        return Direction(
            _add_share(step.variables, variables, share, variables),
            _add_share(step.slacks, slacks, share, slacks),
            _add_share(step.multipliers, multipliers, share, multipliers),
            _add_share(step.potentials, potentials, share, potentials),
            primal,
            dual,
        )

    def step(self) -> Direction:
        """Return the predictor-corrector direction, improved by centrality correctors while they lengthen it."""
        mean = float(self._products.mean())
        guess = self.predict()
        left = (1 + guess.primal_step * guess.slacks) * (1 + guess.dual_step * guess.multipliers)
        after = float(np.vdot(self._products, left)) / left.size
        # How many times the present products the centre is: the target of every product.
        centre = mean * min(max((after / mean) ** 3, 1e-8), 1.0) / self._products
        best = self.add(guess, centre - guess.slacks * guess.multipliers, (1.0,))
        for _ in range(_CORRECTORS):
            if min(best.primal_step, best.dual_step) > _GOOD_STEP:
                break
            trial = self.add(best, _correction(best, centre), _SHARES)
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
        right[at.aux :] = solve_cholesky(self._schur, short)[:, None]
        change = self._factor.solve(right)
        slacks = at.forward(at.variables + change)
        if np.isfinite(slacks).all() and slacks.min() > 0:
            at.variables += change
            at.slacks = slacks


def _correction(step: Direction, centre: FloatArray) -> FloatArray:
    """Return what draws the products after a longer step into the box; all relative to the present products."""
    product = 1 + min(1.0, _STRETCH * step.primal_step + _EXTENSION) * step.slacks
    product *= 1 + min(1.0, _STRETCH * step.dual_step + _EXTENSION) * step.multipliers
    high, drawn = centre * _BOX, centre / _BOX
    np.clip(product, drawn, high, out=drawn)
    drawn -= product
    return np.clip(drawn, np.negative(high, out=product), high, out=drawn)


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
