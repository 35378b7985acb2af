"""The channel of least expected loss for a budget: solved, repaired to exact integers, and bounded from below."""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from core import limits
from core.channel import Channel, exact_channel
from core.errors import SolverError
from core.linear_program import Progress
from core.solver.block_systems import Programme
from core.solver.channel_problem import ChannelProblem, FloatArray, Reduced, check_problem, estimate_work
from core.solver.closed_forms import solve_constant, solve_top_response
from core.solver.cost import MEMORY_LIMIT_MB, estimate_cost
from core.solver.dual_bound import lower_bound
from core.solver.highs_channel import solve_with_highs
from core.solver.highs_columns import solve_by_columns
from core.solver.output_pruning import Bracketed, Limits, solve_pruned
from core.solver.reductions import RatioRows, Structure

MECHANISM: Final = "OPT"
USED_SHARE: Final = 1e-4
"""Outputs with less than this share of the largest mass are not handed on as a hint."""
_SHARE_OF_TOLERANCE: Final = 0.5
"""What the solver may use up; the rest is for the repair to integers."""
_MIXES: Final = (0.9, 0.75, 0.5, 0.25, 0.1)
"""Mixes of two neighbouring solutions that are tried for a budget in between."""
_FALLBACK_GAP: Final = 1e-4
"""A stall with a larger gap is handed to HiGHS, if the programme is small enough for it."""
_FALLBACK_ENTRIES: Final = 400_000
"""Rows of all outputs up to which HiGHS is tried."""


@dataclass(frozen=True, eq=False)
class Multipliers:
    """A dual solution on the rows of the reduced programme.

    Parameters
    ----------
    rows : RatioRows
        The rows, on representatives of merged points.
    values : ndarray of float (r, m)
        u >= 0, one column per output.
    """

    rows: RatioRows
    values: FloatArray


@dataclass(frozen=True, eq=False)
class OptimalSolution:
    """An optimal channel with what the loss-budget curve needs from its dual.

    Parameters
    ----------
    channel : Channel
        The exact integer channel with its proven lower bound.
    derivative : float
        dL/d epsilon <= 0 at the budget, from the dual.
    outputs : ndarray of int64
        Outputs that carry mass; usable as `hint` at a neighbouring budget.
    multipliers : Multipliers
        The dual solution.
    status : {'optimal', 'stalled', 'time limit'}
        'optimal' where the solver's certified gap is within the tolerance.
    iterations : int
        Interior-point iterations.
    """

    channel: Channel
    derivative: float
    outputs: NDArray[np.int64]
    multipliers: Multipliers
    status: str
    iterations: int


Hint = Sequence[int] | NDArray[np.int64] | OptimalSolution


def solve_optimal_channel(  # noqa: PLR0917 - the agreed public form
    distance: FloatArray,
    prior: FloatArray,
    loss: FloatArray,
    epsilon: float,
    tolerance: float = 1e-6,
    progress: Progress | None = None,
    *,
    structure: Structure | None = None,
    hint: Hint | None = None,
    time_limit: float | None = None,
) -> Channel:
    """Return the channel of least expected loss under a metric and a budget.

    It minimises sum_x prior[x] sum_y loss[x, y] Z[x, y] over row-stochastic Z with
    Z[x, y] <= exp(epsilon d(x, x')) Z[x', y] for all x, x', y, and is then repaired to integers that satisfy every
    constraint exactly. Its optimality is for this prior and this loss only.

    Parameters
    ----------
    distance : array_like (n, n)
        A metric between the states; zero between different states makes their rows equal.
    prior : array_like (n,)
        Probabilities of the states.
    loss : array_like (n, m)
        Loss >= 0 of releasing output y for state x.
    epsilon : float
        Budget per unit of distance.
    tolerance : float
        Relative gap (expected_loss - lower_bound) / expected_loss asked for; what was reached is in the channel.
    progress : callable, optional
        Called between iterations with a fraction and a sentence; what it raises stops the solve.
    structure : Structure, optional
        Coordinates of the states, verified before use; without it lines, nominal attributes and full products are
        found from the distances.
    hint : sequence of int or OptimalSolution, optional
        Outputs used at a neighbouring budget, or its whole solution.
    time_limit : float, optional
        Seconds after which the certified bracket reached so far is returned.

    Returns
    -------
    Channel
        Certified integers, their exact expected loss, and a proven lower bound on that of every channel.

    Raises
    ------
    InputError
        If the distance is no metric, the prior no distribution, the loss negative, or the budget out of range.

    Notes
    -----
    The linear programme is that of N. E. Bordenabe, K. Chatzikokolakis and C. Palamidessi, CCS 2014, equation 3.

    Examples
    --------
    >>> channel = solve_optimal_channel([[0, 1], [1, 0]], [0.5, 0.5], [[0, 1], [1, 0]], math.log(3))
    >>> round(channel.expected_loss, 6), round(channel.lower_bound, 6)
    (0.25, 0.25)
    """
    problem = check_problem(distance, prior, loss, structure)
    return solve_problem(problem, epsilon, tolerance, progress=progress, hint=hint, time_limit=time_limit).channel


def solve_optimal(  # noqa: PLR0917 - as above
    distance: FloatArray,
    prior: FloatArray,
    loss: FloatArray,
    epsilon: float,
    tolerance: float = 1e-6,
    progress: Progress | None = None,
    *,
    structure: Structure | None = None,
    hint: Hint | None = None,
    time_limit: float | None = None,
) -> OptimalSolution:
    """Return what `solve_optimal_channel` returns, with the derivative, used outputs and multipliers."""
    problem = check_problem(distance, prior, loss, structure)
    return solve_problem(problem, epsilon, tolerance, progress=progress, hint=hint, time_limit=time_limit)


def solve_problem(
    problem: ChannelProblem,
    epsilon: float,
    tolerance: float = 1e-6,
    *,
    progress: Progress | None = None,
    hint: Hint | None = None,
    time_limit: float | None = None,
) -> OptimalSolution:
    """Solve a checked problem at one budget; its reductions are reused at the next.

    Parameters
    ----------
    problem : ChannelProblem
        From `check_problem`.
    epsilon, tolerance, progress, hint, time_limit
        As in `solve_optimal_channel`.
    """
    epsilon = limits.EPSILON.check(epsilon)
    deadline = None if time_limit is None else time.monotonic() + time_limit
    stop = Limits(_SHARE_OF_TOLERANCE * tolerance, deadline, progress)
    reduced = problem.reduce(epsilon)
    # Many small factorisations: a second thread of the linear algebra only gets in the way.
    with _threads().limit(limits=1, user_api="blas"):
        found, rows = _solve_reduced(reduced.programme, stop, hint)
        solution = _finish(problem, reduced, found, rows)
        if _needs_fallback(solution, reduced.programme, stop):
            other = _solve_again(reduced.programme, stop)
            solution = _combine(solution, _finish(problem, reduced, other, reduced.programme.rows))
        if solution.channel.expected_loss > float(reduced.programme.costs.sum(axis=0).min()):
            # An optimum below what integers resolve: the constant needs no resolution.
            constant = _finish(problem, reduced, *solve_constant(reduced.programme))
            solution = replace(_combine(solution, constant), status=solution.status)
    channel = solution.channel
    closed = channel.expected_loss - channel.lower_bound <= tolerance * channel.expected_loss
    return replace(solution, status="optimal") if closed else solution


def bracket_between(
    problem: ChannelProblem, first: OptimalSolution, second: OptimalSolution, epsilon: float
) -> Channel:
    """Return a channel and a proven bound at a budget between two solved ones, without solving again.

    The channel is the repair of a mix of both matrices, the bound is that of a mix of both multipliers.

    Parameters
    ----------
    problem : ChannelProblem
        The problem of both solutions.
    first, second : OptimalSolution
        Solutions at the budgets around `epsilon`.
    epsilon : float
        The budget in between.

    Returns
    -------
    Channel
        Certified at `epsilon`; its bracket is wider than a solve's.
    """
    reduced = problem.reduce(limits.EPSILON.check(epsilon))
    proofs = [(s.multipliers.rows, s.multipliers.values) for s in (first, second)]
    if proofs[0][1].shape == proofs[1][1].shape and proofs[0][0].kind == proofs[1][0].kind:
        proofs += [(proofs[0][0], share * proofs[0][1] + (1 - share) * proofs[1][1]) for share in _MIXES]
    costs = reduced.programme.costs
    bound = max(lower_bound(rows, epsilon, costs, values) for rows, values in proofs) * _bound_factor(reduced)
    bound = max(bound, second.channel.lower_bound if second.channel.epsilon >= epsilon else 0.0)
    mixes = [share * first.channel.matrix + (1 - share) * second.channel.matrix for share in (1.0, *_MIXES)]
    channels = [exact_channel(m, problem.distance, epsilon, problem.costs, mechanism=MECHANISM) for m in mixes]
    best = min(channels, key=lambda c: c.expected_loss)
    return replace(best, lower_bound=min(bound, best.expected_loss))


def _needs_fallback(solution: OptimalSolution, programme: Programme, stop: Limits) -> bool:
    """Whether the interior point stalled well short of the tolerance on a programme that HiGHS can hold."""
    if solution.status != "stalled" or stop.expired:
        return False
    small = len(programme.rows) * programme.costs.shape[1] <= _FALLBACK_ENTRIES
    gap = solution.channel.expected_loss - solution.channel.lower_bound
    return small and gap > _FALLBACK_GAP * solution.channel.expected_loss


def _solve_again(programme: Programme, stop: Limits) -> Bracketed:
    if programme.rows.kind in ("line", "nominal"):
        return solve_by_columns(programme, stop)
    return solve_with_highs(programme, stop)


def _combine(first: OptimalSolution, second: OptimalSolution) -> OptimalSolution:
    """Return the better integers with the larger of both proven bounds."""
    chosen = min(first, second, key=lambda s: s.channel.expected_loss)
    bound = min(max(first.channel.lower_bound, second.channel.lower_bound), chosen.channel.expected_loss)
    return replace(chosen, channel=replace(chosen.channel, lower_bound=bound))


_controllers: list[ThreadpoolController] = []


def _threads() -> ThreadpoolController:
    if not _controllers:
        _controllers.append(ThreadpoolController())
    return _controllers[0]


def _solve_reduced(programme: Programme, stop: Limits, hint: Hint | None) -> tuple[Bracketed, RatioRows]:
    constant, rows = solve_constant(programme)
    if constant.loss - constant.lower_bound <= stop.tolerance * constant.loss or not len(programme.rows):
        return constant, rows  # also where all points are one
    closed = solve_top_response(programme)
    if closed is not None:
        return closed, programme.rows
    cost = estimate_cost(programme)
    if cost.megabytes > MEMORY_LIMIT_MB:
        raise SolverError(
            f"Optimising {programme.rows.states} states would need about {cost.megabytes / 1000:.1f} GB of memory, and "
            f"at most {MEMORY_LIMIT_MB / 1000:g} GB are allowed; lower the largest domain (tau_dim), use fewer bins, "
            "or choose noise for this group."
        )
    outputs, start = _read_hint(hint, programme)
    work = estimate_work(programme.rows)
    return solve_pruned(programme, stop, work=work, hint=outputs, multipliers=start), programme.rows


def _read_hint(hint: Hint | None, programme: Programme) -> tuple[NDArray[np.int64] | None, FloatArray | None]:
    if hint is None:
        return None, None
    start = None
    if isinstance(hint, OptimalSolution):
        if hint.multipliers.values.shape == (len(programme.rows), programme.costs.shape[1]):
            start = hint.multipliers.values
        hint = hint.outputs
    outputs = np.unique(np.asarray(hint, dtype=np.int64))
    outputs = outputs[(outputs >= 0) & (outputs < programme.costs.shape[1])]
    return (outputs, start) if len(outputs) else (None, None)


def _bound_factor(reduced: Reduced) -> float:
    """Return what a bound on merged points is worth for the original ones, rounded down."""
    return math.exp(-reduced.slack) * (1 - 2.0**-50)


def _finish(problem: ChannelProblem, reduced: Reduced, found: Bracketed, rows: RatioRows) -> OptimalSolution:
    epsilon = reduced.programme.epsilon
    bound = found.lower_bound * _bound_factor(reduced)
    matrix = np.maximum(found.matrix, 0.0)
    matrix /= matrix.sum(axis=1, keepdims=True)
    channel = exact_channel(
        matrix[reduced.place], problem.distance, epsilon, problem.costs, mechanism=MECHANISM, lower_bound=bound
    )
    if channel.lower_bound > channel.expected_loss:  # both are exact up to the last bits of a float sum
        channel = replace(channel, lower_bound=channel.expected_loss)
    mass = matrix.sum(axis=0)
    outputs = np.flatnonzero(mass > USED_SHARE * mass.max()).astype(np.int64)
    derivative = _derivative(rows, epsilon, found.multipliers, matrix)
    return OptimalSolution(
        channel, derivative, outputs, Multipliers(rows, found.multipliers), found.status, found.iterations
    )


def _derivative(rows: RatioRows, epsilon: float, multipliers: FloatArray, matrix: FloatArray) -> float:
    """Return -sum u gap exp(-epsilon gap) v[tail]: auxiliaries take the value of the envelope that they stand for."""
    values = np.concatenate([np.zeros((rows.auxiliaries, matrix.shape[1])), matrix])
    for _ in range(rows.auxiliaries):
        before = values[: rows.auxiliaries].copy()
        links = (rows.gap == 0) & (rows.head < rows.auxiliaries)
        np.maximum.at(values, rows.head[links], values[rows.tail[links]])
        if np.array_equal(before, values[: rows.auxiliaries]):
            break
    tail = values[rows.tail]
    return -float((multipliers * (rows.gap * rows.ratios(epsilon))[:, None] * tail).sum())
