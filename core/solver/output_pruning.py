"""Few outputs are used: solve on the promising ones, prove the rest unused, and add back where the proof fails."""

import math
import time
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from core.linear_program import Progress
from core.solver.block_systems import FloatArray, Programme
from core.solver.dual_bound import lower_bound
from core.solver.interior_point import Solution, solve
from core.solver.newton_step import Start
from core.solver.pricing import fit_multipliers, price

COARSE_GAP: Final = 0.1
"""Relative gap of the first solve on all outputs, which shows those that matter."""
STAGES: Final = ((0.1, 0.05), (0.01, 0.01))
"""Relative gaps at which outputs with less than the given share of the largest mass are dropped."""
HINT_ROUNDS: Final = 3
"""Rounds given to the outputs of a neighbouring budget before they are forgotten."""
ROUND_LIMIT: Final = 6
"""Rounds of adding outputs back after which all are used."""
_FULL_WORK: Final = 2e7
"""Operations per step of a solve on all outputs below which pruning does not pay."""
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
    ) -> Solution:
        """Solve by the interior point under these limits, reporting the share of the whole that is done."""
        part = math.log(max(tolerance, self.tolerance)) / math.log(self.tolerance)
        report = None if self.progress is None else _scaled(self.progress, part)
        return solve(
            programme, outputs=outputs, tolerance=tolerance, start=start, deadline=self.deadline, progress=report
        )

    @property
    def expired(self) -> bool:
        """Whether the deadline has passed."""
        return self.deadline is not None and time.monotonic() > self.deadline


def _scaled(progress: Progress, part: float) -> Progress:
    return lambda fraction, sentence: progress(min(max(part * fraction, 0.0), 1.0), sentence)


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
    if work * programme.costs.shape[1] <= _FULL_WORK:
        return _on_all(programme, limits, search.iterations)
    coarse = limits.run(programme, max(COARSE_GAP, limits.tolerance))
    search.begin(coarse)
    if coarse.gap <= limits.tolerance or coarse.status != "optimal":
        return _spread(programme, coarse, coarse.multipliers, coarse.lower_bound, search.iterations)
    return search.run(massive(coarse, STAGES[0][1]), ROUND_LIMIT)


def massive(found: Solution, share: float) -> NDArray[np.int64]:
    """Return the positions, among the outputs of a solution, of those with at least a share of the largest mass."""
    mass = found.matrix.sum(axis=0)
    return np.flatnonzero(mass >= share * mass.max())


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
        self._guess = None if multipliers is None else multipliers.copy()
        self._coarse: Start | None = None
        self.iterations = 0

    def begin(self, coarse: Solution) -> None:
        """Go on from a coarse solution on all outputs in every round."""
        self._coarse, self._guess = coarse.last, coarse.last.multipliers.copy()
        self.iterations += coarse.iterations

    def run(self, outputs: NDArray[np.int64], rounds: int) -> Bracketed:
        """Return the bracket on all outputs; 'stalled' where the rounds did not do."""
        best: Bracketed | None = None
        for attempt in range(rounds):
            # An output that was dropped and came back would be dropped again: later rounds keep what they are given.
            found = self._descend(outputs, STAGES if attempt == 0 else ())
            multipliers, missing = self._complete(found)
            bound = lower_bound(self._programme.rows, self._programme.epsilon, self._programme.costs, multipliers)
            now = _spread(self._programme, found, multipliers, bound, self.iterations)
            best = now if best is None else _better(best, now)
            if best.loss - best.lower_bound <= self._limits.tolerance * best.loss:
                return _with_status(best, "optimal")
            if self._limits.expired or not len(missing):
                return _with_status(best, found.status if found.status != "optimal" else "stalled")
            self._guess = multipliers
            outputs = np.union1d(found.outputs, missing)
        if rounds < ROUND_LIMIT and best is not None:
            return _with_status(best, "stalled")
        everything = _on_all(self._programme, self._limits, self.iterations)
        return everything if best is None else _better(best, everything)

    def _descend(self, outputs: NDArray[np.int64], stages: tuple[tuple[float, float], ...]) -> Solution:
        """Solve on the outputs, dropping those that turn out to carry little mass on the way."""
        start = None if self._coarse is None else self._coarse.restrict(outputs)
        for gap, share in stages[1:] if start else stages:
            found = self._limits.run(self._programme, gap, outputs, start)
            self.iterations += found.iterations
            if found.status != "optimal" or found.gap <= 0.5 * self._limits.tolerance:
                return found
            if self._guess is not None:
                self._guess[:, outputs] = found.last.multipliers
            kept = massive(found, share)
            outputs, start = outputs[kept], found.last.restrict(kept)
        found = self._limits.run(self._programme, 0.5 * self._limits.tolerance, outputs, start)
        self.iterations += found.iterations
        return found

    def _complete(self, found: Solution) -> tuple[FloatArray, NDArray[np.int64]]:
        """Return multipliers of all outputs, and the outputs whose proof failed, worst first."""
        rows, epsilon, costs = self._programme.rows, self._programme.epsilon, self._programme.costs
        aux = rows.auxiliaries
        backward = rows.matrix(epsilon).T.tocsr()
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
            complete[:, rest], closed = fit_multipliers(rows, epsilon, reduced, start, self._programme.system)
        short = (potentials[:, None] - costs[:, rest] + (backward @ complete[:, rest])[aux:]).max(axis=0, initial=0.0)
        failed = np.flatnonzero(~closed | (short > max(_SHORT, _SPARE if not self._exact else 0.0) * allowed))
        failed = failed[np.argsort(-short[failed], kind="stable")]
        return complete, rest[failed[: max(4, len(found.outputs) // 2)]]

    def _first_guess(self, found: Solution, rest: NDArray[np.int64]) -> FloatArray:
        if self._guess is not None:
            return np.maximum(self._guess[:, rest], _LEAST_GUESS)
        costs = self._programme.costs
        distance = ((costs[:, rest, None] - costs[:, None, found.outputs]) ** 2).sum(axis=0)
        near = found.multipliers[:, distance.argmin(axis=1)]
        return np.asarray(near + 1e-3 * near.mean(axis=0))


def _better(first: Bracketed, second: Bracketed) -> Bracketed:
    """Combine the smaller loss with the larger bound."""
    matrix, loss = (first.matrix, first.loss) if first.loss < second.loss else (second.matrix, second.loss)
    proof = first if first.lower_bound > second.lower_bound else second
    return Bracketed(matrix, proof.multipliers, loss, proof.lower_bound, second.status, second.iterations)


def _with_status(found: Bracketed, status: str) -> Bracketed:
    return Bracketed(found.matrix, found.multipliers, found.loss, found.lower_bound, status, found.iterations)
