"""Few outputs are used: solve on the promising ones, prove the rest unused, and add back where the proof fails."""

import time
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from core.linear_program import Progress
from core.solver.block_systems import FloatArray, Programme
from core.solver.interior_point import Solution, solve
from core.solver.newton_step import Start
from core.solver.pricing import fit_multipliers, price

_DROP: Final = 0.2
"""Share of the outputs that must fade for a solve to be gone on with on the others."""
HINT_ROUNDS: Final = 3
"""Rounds given to the outputs of a neighbouring budget before they are forgotten."""
ROUND_LIMIT: Final = 6
"""Rounds of adding outputs back after which all are used."""
_FULL_WORK: Final = 1e7
"""Operations per step of a solve on all outputs below which pruning does not pay."""
_SOLVED: Final = 0.7
"""Share of the tolerance to which the outputs that take part are solved; with `_SPARE` it stays below 1."""
_SPARE: Final = 0.25
"""Share of the tolerance given away so that multipliers of unused outputs exist with room to spare."""
_LEAST_GUESS: Final = 1e-80
"""Multipliers of a first guess are at least this."""
_SHORT: Final = 0.05
"""Share of the tolerance by which an output may miss its proof before it is added back."""


@dataclass(frozen=True, eq=False)
class Bracketed:
    """A channel matrix on all outputs, with multipliers of all outputs and what they prove.

    Parameters
    ----------
    matrix : ndarray of float (n, m)
        The channel before its repair to integers.
    multipliers : ndarray of float (r, m)
        u >= 0.
    loss, lower_bound : float
        Loss of the matrix and proven lower bound over all channels.
    status : {'optimal', 'stalled', 'time limit'}
        'optimal' where the gap is within the tolerance.
    iterations : int
        Interior-point iterations in total.
    """

    matrix: FloatArray
    multipliers: FloatArray
    loss: float
    lower_bound: float
    status: str
    iterations: int


@dataclass(frozen=True, eq=False)
class Limits:
    """When to stop.

    Parameters
    ----------
    tolerance : float
        Relative gap asked for.
    deadline : float or None
        Value of `time.monotonic()` after which the bracket reached so far is returned.
    progress : callable or None
        Called between iterations; may raise to stop.
    """

    tolerance: float = 1e-6
    deadline: float | None = None
    progress: Progress | None = None

    def run(
        self,
        programme: Programme,
        tolerance: float,
        outputs: NDArray[np.int64] | None = None,
        start: Start | None = None,
        *,
        pause: float = 1.0,
    ) -> Solution:
        """Solve by the interior point under these limits."""
        return solve(
            programme,
            outputs=outputs,
            tolerance=tolerance,
            pause=pause,
            start=start,
            deadline=self.deadline,
            progress=self.progress,
        )

    @property
    def expired(self) -> bool:
        """Whether the deadline has passed."""
        return self.deadline is not None and time.monotonic() > self.deadline


def solve_pruned(
    programme: Programme,
    limits: Limits,
    *,
    work: float,
    hint: NDArray[np.int64] | None = None,
    multipliers: FloatArray | None = None,
) -> Bracketed:
    """Solve on few outputs and prove the others unused.

    Parameters
    ----------
    programme : Programme
        What is solved.
    limits : Limits
        Tolerance, deadline and progress.
    work : float
        Operations per output and step.
    hint : ndarray of int64, optional
        Outputs that are probably used, from a neighbouring budget.
    multipliers : ndarray of float (r, m), optional
        Multipliers of all outputs at a neighbouring budget.

    Returns
    -------
    Bracketed
        Certified whatever its status.
    """
    search = _Search(programme, limits, multipliers)
    if hint is not None and (multipliers is not None or programme.rows.kind in ("line", "nominal")):
        found = search.run(np.unique(hint), HINT_ROUNDS)
        if found.status != "stalled":
            return found
    every = np.arange(programme.costs.shape[1])
    if work * len(every) <= _FULL_WORK:
        return _on_all(programme, limits, search.iterations)
    return search.run(every, ROUND_LIMIT)


def _on_all(programme: Programme, limits: Limits, spent: int) -> Bracketed:
    found = limits.run(programme, limits.tolerance)
    return _spread(programme, found, found.multipliers, found.lower_bound, spent + found.iterations)


def _spread(programme: Programme, found: Solution, multipliers: FloatArray, bound: float, iterations: int) -> Bracketed:
    matrix = np.zeros(programme.costs.shape)
    matrix[:, found.outputs] = found.matrix
    return Bracketed(matrix, multipliers, found.loss, bound, found.status, iterations)


class _Search:
    """Rounds of solving on fewer and fewer outputs and proving the others unused."""

    def __init__(self, programme: Programme, limits: Limits, multipliers: FloatArray | None) -> None:
        self._programme, self._limits = programme, limits
        self._exact = programme.rows.kind in ("line", "nominal")
        outputs = programme.costs.shape[1]
        self._guess = np.zeros((len(programme.rows), outputs)) if multipliers is None else multipliers.copy()
        self._guessed = np.full(outputs, multipliers is not None)
        self._paused: list[tuple[NDArray[np.int64], Start]] = []
        self.iterations = 0

    def run(self, outputs: NDArray[np.int64], rounds: int) -> Bracketed:
        """Return the bracket on all outputs; 'stalled' where the rounds did not do."""
        best: Bracketed | None = None
        self._paused.clear()
        start: Start | None = None
        for attempt in range(rounds):
            # An output that was dropped and came back would be dropped again: later rounds keep what they are given.
            found = self._descend(outputs, start, _DROP if attempt == 0 else 1.0)
            multipliers, missing = self._complete(found)
            bound = self._programme.proof.bound(self._programme.costs, multipliers)
            now = _spread(self._programme, found, multipliers, bound, self.iterations)
            best = now if best is None else _better(best, now)
            if best.loss - best.lower_bound <= self._limits.tolerance * best.loss:
                return _with_status(best, "optimal")
            if self._limits.expired or not (len(missing) or found.status == "optimal"):
                return _with_status(best, found.status if found.status != "optimal" else "stalled")
            if not len(missing):  # every proof closed, yet together they lost digits
                break
            self._guess[:] = multipliers
            self._guessed[:] = True
            outputs = np.union1d(found.outputs, missing)
            start = self._resume(outputs)
        if rounds < ROUND_LIMIT and best is not None:
            return _with_status(best, "stalled")
        everything = _on_all(self._programme, self._limits, self.iterations)
        return everything if best is None else _better(best, everything)

    def _resume(self, outputs: NDArray[np.int64]) -> Start | None:
        """Return the latest iterate before one of these outputs was dropped; None where one never took part."""
        for taking_part, start in reversed(self._paused):
            if np.isin(outputs, taking_part).all():
                return start.restrict(np.flatnonzero(np.isin(taking_part, outputs)))
        return None

    def _descend(self, outputs: NDArray[np.int64], start: Start | None, pause: float) -> Solution:
        """Solve on the outputs, dropping those that fade on the way."""
        while True:
            found = self._limits.run(self._programme, _SOLVED * self._limits.tolerance, outputs, start, pause=pause)
            self.iterations += found.iterations
            if found.status != "paused":
                return found
            self._guess[:, outputs] = found.last.multipliers
            self._guessed[outputs] = True
            self._paused.append((outputs, found.last))
            kept = np.flatnonzero(~found.fading)
            outputs, start = outputs[kept], found.last.restrict(kept)

    def _complete(self, found: Solution) -> tuple[FloatArray, NDArray[np.int64]]:
        """Return multipliers of all outputs, and the outputs whose proof failed, worst first."""
        rows, epsilon, costs = self._programme.rows, self._programme.epsilon, self._programme.costs
        aux = rows.auxiliaries
        backward = self._programme.backward
        rest = np.setdiff1d(np.arange(costs.shape[1]), found.outputs)
        potentials = (costs[:, found.outputs] - (backward @ found.multipliers)[aux:]).min(axis=1)
        allowed = self._limits.tolerance * max(found.loss, 0.0)
        complete = np.empty((len(rows), costs.shape[1]))
        complete[:, found.outputs] = found.multipliers
        reduced = costs[:, rest] - potentials[:, None]
        if self._exact:
            complete[:, rest] = price(rows, epsilon, reduced)
            closed = np.ones(len(rest), bool)
        else:
            share = costs.max(axis=1)
            reduced += (_SPARE * allowed * share / share.sum())[:, None]
            start = self._first_guess(found, rest)
            complete[:, rest], closed = fit_multipliers(self._programme, reduced, start)
        short = (potentials[:, None] - costs[:, rest] + (backward @ complete[:, rest])[aux:]).max(axis=0, initial=0.0)
        failed = np.flatnonzero(~closed | (short > max(_SHORT, _SPARE if not self._exact else 0.0) * allowed))
        failed = failed[np.argsort(-short[failed], kind="stable")]
        return complete, rest[failed[: max(4, len(found.outputs) // 2)]]

    def _first_guess(self, found: Solution, rest: NDArray[np.int64]) -> FloatArray:
        """Return the multipliers that outputs had last; for the others, those of the output with the nearest costs."""
        guess = np.maximum(self._guess[:, rest], _LEAST_GUESS)
        costs, new = self._programme.costs, np.flatnonzero(~self._guessed[rest])
        distance = ((costs[:, rest[new], None] - costs[:, None, found.outputs]) ** 2).sum(axis=0)
        near = found.multipliers[:, distance.argmin(axis=1)]
        guess[:, new] = near + 1e-3 * near.mean(axis=0)
        return guess


def _better(first: Bracketed, second: Bracketed) -> Bracketed:
    """Combine the smaller loss with the larger bound."""
    matrix, loss = (first.matrix, first.loss) if first.loss < second.loss else (second.matrix, second.loss)
    proof = first if first.lower_bound > second.lower_bound else second
    return Bracketed(matrix, proof.multipliers, loss, proof.lower_bound, second.status, second.iterations)


def _with_status(found: Bracketed, status: str) -> Bracketed:
    return Bracketed(found.matrix, found.multipliers, found.loss, found.lower_bound, status, found.iterations)
