"""Column generation over outputs with HiGHS, for lines and one nominal attribute.

Few outputs are used at small budgets. The master programme holds those found so far; the sweeps of `pricing` say
exactly which others would lower the loss, and prove the bound when none would.
"""

import time
from typing import Final

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from core.linear_program import HighsSession, LinearProgram, LinearSolution
from core.solver.block_systems import FloatArray, Programme
from core.solver.dual_bound import lower_bound
from core.solver.output_pruning import Bracketed, Limits
from core.solver.pricing import price

_ROUND_LIMIT: Final = 200
"""Rounds after which the bracket reached is returned."""
_SHORT: Final = 1e-12
"""Share of the best constant's loss by which an output must promise to lower the loss."""


class ColumnMaster:
    """The programme restricted to a growing set of outputs, warm-started by the dual simplex method."""

    def __init__(self, programme: Programme, limits: Limits) -> None:
        self._programme = programme
        self._block = sp.csr_array(programme.rows.matrix(programme.epsilon))
        self.scale = float(programme.costs.sum(axis=0).min()) or 1.0
        self.outputs: list[int] = []
        n = programme.rows.states
        self._session = HighsSession("simplex", progress=limits.progress)
        self._session.load(LinearProgram(np.zeros(0), sp.csr_array((n, 0)), np.ones(n), np.ones(n)))

    def add(self, output: int) -> None:
        """Give the master the variables and rows of one more output."""
        rows, held = self._programme.rows, len(self.outputs)
        cost = np.concatenate([np.zeros(rows.auxiliaries), self._programme.costs[:, output] / self.scale])
        top = sp.hstack([sp.csr_array((rows.states, rows.auxiliaries)), sp.eye_array(rows.states)])
        below = sp.csr_array((held * len(rows), rows.size))
        self._session.add_columns(cost, sp.vstack([top, below]))
        left = sp.csr_array((len(rows), held * rows.size))
        self._session.add_rows(np.zeros(len(rows)), np.full(len(rows), np.inf), sp.hstack([left, self._block]))
        self.outputs.append(output)

    def solve(self, time_limit: float | None) -> tuple[LinearSolution, FloatArray, FloatArray, FloatArray]:
        """Return the solution, the channel on the held outputs, their multipliers and the potentials."""
        rows, held = self._programme.rows, len(self.outputs)
        found = self._session.run(time_limit)
        matrix = np.maximum(found.values.reshape(held, rows.size)[:, rows.auxiliaries :].T, 0.0)
        duals = found.row_duals * self.scale
        multipliers = np.maximum(duals[rows.states :].reshape(held, len(rows)).T, 0.0)
        return found, matrix, multipliers, duals[: rows.states]


def solve_by_columns(
    programme: Programme, limits: Limits | None = None, *, outputs: NDArray[np.int64] | None = None
) -> Bracketed:
    """Solve a line or one nominal attribute by column generation over outputs.

    Parameters
    ----------
    programme : Programme
        Its rows must be of kind 'line' or 'nominal'; its linear algebra is not used.
    limits : Limits, optional
        Tolerance, deadline and progress.
    outputs : ndarray of int64, optional
        First outputs; the two best constants if not given.

    Returns
    -------
    Bracketed
        Certified whatever its status.
    """
    limits = limits or Limits()
    costs, rows, epsilon = programme.costs, programme.rows, programme.epsilon
    master = ColumnMaster(programme, limits)
    for output in np.argsort(costs.sum(axis=0), kind="stable")[:2] if outputs is None else outputs:
        master.add(int(output))
    best_bound, best_multipliers = -1.0, np.zeros((len(rows), costs.shape[1]))
    status, loss, spread = "stalled", 0.0, np.zeros(costs.shape)
    for _ in range(_ROUND_LIMIT):
        left = None if limits.deadline is None else limits.deadline - time.monotonic()
        _, matrix, held, potentials = master.solve(left)
        reduced = costs - potentials[:, None]
        multipliers = price(rows, epsilon, reduced)
        multipliers[:, master.outputs] = held
        bound = lower_bound(rows, epsilon, costs, multipliers)
        if bound > best_bound:
            best_bound, best_multipliers = bound, multipliers
        spread = np.zeros(costs.shape)
        spread[:, master.outputs] = matrix
        loss = float((spread * costs).sum())
        if loss - best_bound <= limits.tolerance * loss:
            status = "optimal"
            break
        value = _shortfall(programme, reduced, multipliers)
        value[master.outputs] = 0.0
        wanted = np.argsort(value, kind="stable")[: max(2, len(master.outputs) // 4)]
        wanted = wanted[value[wanted] < -_SHORT * master.scale]
        if limits.expired or not len(wanted):
            status = "time limit" if limits.expired else "stalled"
            break
        for output in wanted.tolist():
            master.add(output)
    return Bracketed(spread, best_multipliers, loss, best_bound, status, 0)


def _shortfall(programme: Programme, reduced: FloatArray, multipliers: FloatArray) -> FloatArray:
    """Return per output how much its best use would lower the loss: what no multiplier pays for, at most 0."""
    rows = programme.rows
    paid = (rows.matrix(programme.epsilon).T @ multipliers)[rows.auxiliaries :]
    return np.asarray(np.minimum(reduced - paid, 0.0).sum(axis=0))
