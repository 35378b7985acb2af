"""The structured interior point for the channel's linear programme, certified at every step.

Minimise sum_y <costs_y, z_y> over columns v_y = (auxiliaries, z_y) with B v_y >= 0 and sum_y z_y = 1. Every iterate
has strictly positive slacks and rows that sum to 1, so it is a channel; its multipliers give a proven lower bound by
`dual_bound`. The outputs meet in one n by n system only.
"""

import time
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from core.linear_program import Progress
from core.solver.block_systems import FloatArray, Programme
from core.solver.newton_step import Iterate, Newton, Start

ITERATION_LIMIT: Final = 200
"""Iterations after which a solve counts as stalled; 10 to 60 are usual."""
ABSOLUTE_GAP: Final = 2e-13
"""Gap, as a share of the best constant's loss, that counts as closed: costs of that size cancel in the bound."""
_STALL_PATIENCE: Final = 8
"""Iterations without progress after which a solve counts as stalled."""
_PROGRESS: Final = 0.98
"""Factor by which the gap, the complementarity or the dual's infeasibility must fall to count as progress."""
_FEASIBLE: Final = 1e-3
"""Share of the first infeasibility below which the rest of it is no progress."""
_BOUND_WITHIN: Final = 3.0
"""Multiple of the tolerance below which the complementarity makes a bound worth computing at every iteration."""
_BOUND_EVERY: Final = 3
"""Iterations after which the bound is computed anyway: for the best so far, and to notice stalls."""
_WATCH: Final = (0.7, 0.03)
"""Complementarities, as shares of the loss, between which fading outputs are looked for."""
_LIGHT: Final = 0.7
"""Share of the mean mass below which an output may fade."""
_FALLEN: Final = 0.8
"""Share of its former value that the complementarity must be below for masses to tell anything."""
_FADING: Final = 0.4
"""An output fades where its mass falls at least like this power of the complementarity: unused 1, used 0 in the end."""


@dataclass(frozen=True, eq=False)
class Solution:
    """What the interior point reached.

    Parameters
    ----------
    matrix : ndarray of float (n, k)
        Channel on the outputs that took part, rows summing to 1 up to rounding.
    multipliers : ndarray of float (r, k)
        u > 0 of the iterate with the best bound.
    potentials : ndarray of float (n,)
        Multipliers of the row sums of that iterate.
    loss, lower_bound : float
        Loss of the matrix, and proven bound over channels on these outputs.
    outputs : ndarray of int64 (k,)
        The outputs that took part.
    iterations : int
        Iterations run.
    status : {'optimal', 'paused', 'stalled', 'time limit'}
        'optimal' where the gap is within the tolerance, 'paused' where enough outputs fade.
    fading : ndarray of bool (k,)
        Outputs whose mass falls with the complementarity and is less than the mean: probably unused.
    last : Start
        The last iterate, from which a solve on fewer outputs may go on.
    """

    matrix: FloatArray
    multipliers: FloatArray
    potentials: FloatArray
    loss: float
    lower_bound: float
    outputs: NDArray[np.int64]
    iterations: int
    status: str
    fading: NDArray[np.bool_]
    last: Start

    @property
    def gap(self) -> float:
        """(loss - lower_bound) / loss, 0 where the loss is 0."""
        return (self.loss - self.lower_bound) / self.loss if self.loss > 0 else 0.0


def solve(
    programme: Programme,
    *,
    outputs: NDArray[np.int64] | None = None,
    tolerance: float = 1e-6,
    pause: float = 1.0,
    start: Start | None = None,
    deadline: float | None = None,
    progress: Progress | None = None,
) -> Solution:
    """Solve the programme on the given outputs to a certified relative gap.

    Parameters
    ----------
    programme : Programme
        What is solved.
    outputs : ndarray of int64, optional
        The outputs that take part; all if not given.
    tolerance : float
        Relative gap between loss and proven bound at which it stops.
    pause : float
        Share of the outputs that must fade for it to stop as well.
    start : Start, optional
        Interior iterate on these outputs; uniform if not given.
    deadline : float, optional
        Value of `time.monotonic()` after which it stops with what it has.
    progress : callable, optional
        Called between iterations; may raise to stop.

    Returns
    -------
    Solution
        Its gap is certified whatever the status.
    """
    every = np.arange(programme.costs.shape[1])
    chosen = every if outputs is None else np.asarray(outputs, dtype=np.int64)
    run = _Run(Iterate(programme, chosen, start), programme, tolerance)
    while run.status is None:
        if run.fading.mean() > pause:
            run.status = "paused"
            break
        if deadline is not None and time.monotonic() > deadline:
            run.status = "time limit"
            break
        if progress is not None:
            progress(run.fraction, f"Solving: iteration {run.iterations}, gap {run.gap:.1e}.")
        run.advance()
    return run.result()


class _Run:
    """Book-keeping of one solve: the best bound, stalls, the stop."""

    def __init__(self, iterate: Iterate, programme: Programme, tolerance: float) -> None:
        self._programme, self._tolerance = programme, tolerance
        self._at = iterate
        self._bound = 0.0
        self._best = (self._at.multipliers.copy(), self._at.potentials)
        self._lowest, self._since_better = (np.inf, np.inf, np.inf), 0
        self._infeasible = 1.0
        self.iterations = 0
        self.status: str | None = None
        self.fading = np.zeros(len(iterate.outputs), bool)
        self._before = (iterate.masses, iterate.complementarity)
        self._judge()

    @property
    def gap(self) -> float:
        loss = self._at.loss
        return (loss - self._bound) / loss if loss > 0 else 0.0

    @property
    def fraction(self) -> float:
        reached = np.log(max(min(self.gap, 1.0), 1e-300)) / np.log(min(self._tolerance, 0.5))
        return float(min(max(reached, 0.0), 1.0))

    def advance(self) -> None:
        """Take one step, or give up where the linear algebra fails."""
        try:
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                newton = Newton(self._at, self._programme.system)
                step = newton.step()
        except (np.linalg.LinAlgError, ValueError):
            self.status = "stalled"
            return
        if not (np.isfinite(step.variables).all() and np.isfinite(step.multipliers).all()):
            self.status = "stalled"
            return
        kept = self._at.variables.copy(), self._at.slacks
        self._at.move(step)
        self._infeasible *= 1 - step.dual_step
        self.iterations += 1
        if self._at.slacks.min() <= 0:
            self._at.variables, self._at.slacks = kept
            self.status = "stalled"
            return
        newton.restore_sums()
        self._watch()
        self._judge()

    def _watch(self) -> None:
        """Find the outputs that fade: on the central path an unused output's mass is proportional to mu in the end."""
        masses, complementarity = self._at.masses, self._at.complementarity
        before, higher = self._before
        self.fading = np.zeros(len(masses), bool)
        if complementarity > _FALLEN * higher:
            return
        self._before = (masses, complementarity)
        if _WATCH[0] * self._at.loss > complementarity > _WATCH[1] * self._at.loss:
            fallen = (masses / before) < (complementarity / higher) ** _FADING
            self.fading = fallen & (masses < _LIGHT * masses.mean())

    def _judge(self) -> None:
        at = self._at
        promising = at.complementarity <= _BOUND_WITHIN * self._tolerance * at.loss
        if promising or (self.iterations and self.iterations % _BOUND_EVERY == 0):
            bound = self._programme.proof.bound(at.costs, at.multipliers)
            if bound > self._bound:
                self._bound, self._best = bound, (at.multipliers.copy(), at.potentials)
        if self.gap <= self._tolerance or at.loss - self._bound <= ABSOLUTE_GAP:
            self.status = "optimal"
            return
        # The first steps close in on the dual's equations, of which `_infeasible` is the share still open.
        reached = (self.gap, at.complementarity, max(self._infeasible, _FEASIBLE))
        if any(now < _PROGRESS * lowest for now, lowest in zip(reached, self._lowest, strict=True)):
            self._lowest, self._since_better = reached, 0
        else:
            self._since_better += 1
        if self._since_better > _STALL_PATIENCE or self.iterations >= ITERATION_LIMIT:
            self.status = "stalled"

    def result(self) -> Solution:
        """Return what was reached, in the scale of the costs."""
        at = self._at
        matrix = at.variables[at.aux :].copy()
        return Solution(
            matrix,
            self._best[0] * at.scale,
            self._best[1] * at.scale,
            at.loss * at.scale,
            self._bound * at.scale,
            at.outputs,
            self.iterations,
            self.status or "stalled",
            self.fading,
            Start(at.variables, at.multipliers * at.scale, at.potentials * at.scale),
        )
