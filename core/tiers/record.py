"""Tiers of a record: a metric-DP channel degraded budget by budget, each step the best post-processing there is.

Z_1 is a certified channel at the largest budget. Z_(i+1) = Z_i R_i, where R_i is the row-stochastic matrix of least
expected loss for which Z_i R_i satisfies the next budget: a linear programme, since the constraints are linear in R_i.
Later recipients get post-processings of earlier answers, so a coalition learns no more than its best-informed member,
in the metric sense too.
"""

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize, sparse

from core.errors import CertificateError, InputError, SolverError
from core.limits import Range
from core.sampling import Source, SystemSource, draw_weighted
from core.tiers.budgets import clean_budgets
from core.tiers.exact import log_above
from core.tiers.laws import FloatArray
from core.tiers.walk import Progress

STATES: Final = Range("The number of states", 2, 30, 10, 1, "take a smaller group", True)
STEP_TOTAL: Final = 1 << 58
"""Every row of a step sums to this."""
MARGIN: Final = 1e-9
"""Share of the budget that the programme leaves unused, above the tolerance of its solver."""
BLENDS: Final = (0.0, *(10.0**-power for power in range(11, 0, -1)))
"""Shares of a constant step mixed in, smallest first, until the integers satisfy the budget."""
CLOSE: Final = 1e-12
"""Relative distance to the largest ratio within which doubles may err; those entries are evaluated exactly."""
CELL_LIMIT: Final = 1_000_000
"""Most cells of a joint law that is enumerated."""
Integers = NDArray[np.object_]


@dataclass(frozen=True, eq=False)
class RecordTiers:
    """One record's channel at several budgets.

    Parameters
    ----------
    budgets : tuple of float (m,)
        From the largest down.
    first : ndarray of int (n, u)
        Z_1, the channel of the first tier.
    steps : tuple of ndarray of int (u, n)
        R_1, ..., R_(m-1), rows summing to 2^58; an answer y is degraded by drawing from row y.
    certified_epsilons : tuple of float (m,)
        Smallest epsilon of Z_1 R_1 ... R_(i-1), from products of integers, rounded up.
    losses : tuple of float (m,)
        Expected loss of every tier.
    distance : ndarray (n, n)
        Metric between the states.
    """

    budgets: tuple[float, ...]
    first: Integers
    steps: tuple[Integers, ...]
    certified_epsilons: tuple[float, ...]
    losses: tuple[float, ...]
    distance: FloatArray

    def channel(self, tier: int) -> Integers:
        """Return the integer channel of a tier, Z_1 R_1 ... R_(tier-1)."""
        product = self.first
        for step in self.steps[:tier]:
            product = product @ step
        return product

    def matrix(self, tier: int) -> FloatArray:
        """Return the channel of a tier as probabilities, for display."""
        return _probabilities(self.channel(tier))


def _probabilities(weights: Integers) -> FloatArray:
    totals = weights.sum(axis=1)
    return np.array([[int(w) / int(total) for w in row] for row, total in zip(weights, totals, strict=True)])


def exact_certificate(weights: Integers, distance: FloatArray) -> float:
    """Return max over x, x', o of ln(P(o|x)/P(o|x'))/distance[x, x'], from integers of any length, rounded up.

    Rows must share one sum. Doubles find the entries near the maximum, integers decide among them. Infinite where
    zero meets a positive number.

    Parameters
    ----------
    weights : ndarray of int (n, ...)
        How often each outcome o comes from x.
    distance : ndarray (n, n)
        Metric between the states.
    """
    flat = weights.reshape(len(weights), -1)
    positive = flat > 0
    used = positive.any(axis=0)
    if not positive[:, used].all():
        return math.inf
    flat = flat[:, used]
    logs = np.array([[math.log(int(w)) for w in row] for row in flat])
    best, cases = 0.0, []
    for x, other in itertools.permutations(range(len(flat)), 2):
        ratios = (logs[x] - logs[other]) / distance[x, other]
        column = int(np.argmax(ratios))
        best = max(best, float(ratios[column]))
        near = np.flatnonzero(ratios >= ratios[column] - CLOSE * (1 + abs(logs).max()) / distance[x, other])
        cases.append((float(ratios[column]), x, other, near))
    slack = CLOSE * (1 + abs(logs).max()) / distance[distance > 0].min()
    exact = [0.0]
    for ratio, x, other, near in cases:
        if ratio >= best - slack:
            largest = max(Fraction(int(flat[x, o]), int(flat[other, o])) for o in near)
            if largest > 1:
                exact.append(math.nextafter(log_above(largest) / float(distance[x, other]), math.inf))
    return max(exact)


def _needed_pairs(distance: FloatArray) -> list[tuple[int, int]]:
    """Return the pairs whose constraint no third state implies; d(x, x') = d(x, z) + d(z, x') would."""
    states = range(len(distance))
    between = 1 - 1e-12
    return [
        (x, other)
        for x, other in itertools.permutations(states, 2)
        if not any(
            z not in (x, other)
            and distance[x, z] > 0
            and distance[z, other] > 0
            and (distance[x, z] + distance[z, other]) * between <= distance[x, other]
            for z in states
        )
    ]


def solve_step(channel: FloatArray, distance: FloatArray, costs: FloatArray, epsilon: float) -> FloatArray:
    """Return the row-stochastic R of least sum(costs * (channel R)) such that channel R is epsilon-mDP.

    Parameters
    ----------
    channel : ndarray (n, u)
        Probabilities of the tier before.
    distance : ndarray (n, n)
        Metric.
    costs : ndarray (n, v)
        prior[x] * loss[x, y].
    epsilon : float
        Budget of the tier.

    Raises
    ------
    SolverError
        If the programme was not solved.
    """
    outputs, releases = channel.shape[1], costs.shape[1]
    pairs = np.array(_needed_pairs(distance))
    heads, tails = channel[pairs[:, 0]], channel[pairs[:, 1]]
    # Divided by the larger side, so that coefficients stay at or below 1.
    rows = np.exp(-epsilon * (1 - MARGIN) * distance[pairs[:, 0], pairs[:, 1]])[:, None] * heads - tails
    blocks = sparse.block_diag([sparse.csr_matrix(rows)] * releases, format="csr")
    sums = sparse.hstack([sparse.identity(outputs)] * releases, format="csr")
    linprog: Any = optimize.linprog  # its stubs know no sparse constraints
    found = linprog(
        (channel.T @ costs).T.ravel(),
        A_ub=blocks,
        b_ub=np.zeros(blocks.shape[0]),
        A_eq=sums,
        b_eq=np.ones(outputs),
        method="highs",
    )
    if found.status != 0:
        raise SolverError(f"The step to budget {epsilon:g} was not solved ({found.message}); take fewer states.")
    step = np.maximum(found.x.reshape(releases, outputs).T, 0.0)
    return np.asarray(step / step.sum(axis=1, keepdims=True), float)


def _to_integers(step: FloatArray) -> Integers:
    """Return rows of integers that sum to STEP_TOTAL, rounded down, the rest going to the largest entry."""
    rows = np.array([[int(Fraction(float(p)) * STEP_TOTAL) for p in row] for row in step], object)
    for row in rows:
        row[int(np.argmax(row))] += STEP_TOTAL - sum(row)
    return rows


def _certified_step(
    before: Integers, step: FloatArray, distance: FloatArray, epsilon: float
) -> tuple[Integers, Integers, float]:
    """Return integers of the step, of the channel after it, and its certificate, at most `epsilon`.

    Mixing in a step that ignores its input adds one constant per column of the product, which brings ratios nearer 1.
    """
    shares = _probabilities(before).mean(axis=0) @ step
    constant = (shares + shares.mean()) / (shares + shares.mean()).sum()
    for blend in BLENDS:
        rows = _to_integers((1 - blend) * step + blend * constant)
        after = before @ rows
        certified = exact_certificate(after, distance)
        if certified <= epsilon:
            return rows, after, certified
    raise CertificateError(f"No exact step to budget {epsilon:g} was found; take budgets that are further apart.")


def _check_problem(
    weights: ArrayLike, distance: ArrayLike, prior: ArrayLike, loss: ArrayLike
) -> tuple[Integers, FloatArray, FloatArray]:
    first = np.array(weights, object)
    metric, shares, losses = (np.asarray(part, float) for part in (distance, prior, loss))
    states = int(STATES.check(len(first)))
    if first.ndim != 2 or not all(isinstance(w, int | np.integer) and w >= 0 for w in first.ravel()):
        raise InputError("The first channel", "The first channel must be a table of whole numbers from 0 up.")
    first = np.array([[int(w) for w in row] for row in first], object)
    if len({sum(row) for row in first}) != 1:
        raise InputError("The first channel", "The rows of the first channel must share one sum.")
    if metric.shape != (states, states) or not np.all(metric + np.eye(states) > 0) or not np.all(np.isfinite(metric)):
        raise InputError("The distances", f"The distances must be {states} x {states}, positive between states.")
    if shares.shape != (states,) or losses.ndim != 2 or len(losses) != states or losses.min() < 0:
        raise InputError("The loss", f"The prior and the loss must have one entry and one row per state, {states}.")
    return first, metric, shares[:, None] * losses


def solve_record_tiers(
    weights: ArrayLike,
    distance: ArrayLike,
    prior: ArrayLike,
    loss: ArrayLike,
    budgets: Iterable[float],
    *,
    progress: Progress | None = None,
) -> RecordTiers:
    """Return a record's channel at every budget, each tier a post-processing of the one before.

    Parameters
    ----------
    weights : array_like of int (n, u)
        Z_1, an integer channel at the largest budget; rows share one sum.
    distance : array_like (n, n)
        Metric between the states.
    prior : array_like (n,)
        How often each state occurs.
    loss : array_like (n, v)
        loss[x, y] >= 0 of releasing y for x; Z_1's outputs are the columns y, so u = v.
    budgets : iterable of float
        The privacy list; the first channel must satisfy the largest.
    progress : callable, optional
        Called between the steps.

    Raises
    ------
    InputError
        If an argument is out of range or Z_1 does not satisfy the largest budget.
    SolverError, CertificateError
        If a step was not solved or not made exact.
    """
    first, metric, costs = _check_problem(weights, distance, prior, loss)
    levels = clean_budgets(budgets).values
    if first.shape != costs.shape:
        raise InputError("The loss", f"The loss must be {first.shape[0]} x {first.shape[1]}, one column per output.")
    certified = [exact_certificate(first, metric)]
    if certified[0] > levels[0]:
        raise InputError(
            "The first channel",
            f"The first channel satisfies epsilon {certified[0]:g} only, not the largest budget {levels[0]:g}.",
        )
    product, steps, losses = first, [], [float(np.sum(costs * _probabilities(first)))]
    for done, epsilon in enumerate(levels[1:], start=1):
        if progress is not None:
            progress((done - 1) / len(levels), f"Degrading to budget {epsilon:g}.")
        solved = solve_step(_probabilities(product), metric, costs, epsilon)
        step, product, level = _certified_step(product, solved, metric, epsilon)
        steps.append(step)
        certified.append(level)
        losses.append(float(np.sum(costs * _probabilities(product))))
    if progress is not None:
        progress(1.0, "Every tier is certified.")
    return RecordTiers(levels, first, tuple(steps), tuple(certified), tuple(losses), metric)


def record_coalition_epsilon(tiers: RecordTiers, members: Sequence[int]) -> float:
    """Return the smallest epsilon of what a coalition's answers say together, from the exact joint law, rounded up.

    Parameters
    ----------
    tiers : RecordTiers
        The channels.
    members : sequence of int
        Positions of the tiers.

    Raises
    ------
    InputError
        If the coalition is empty, names no tier, or its joint law is too large to enumerate.
    """
    chosen = sorted(set(members))
    if not chosen or chosen[0] < 0 or chosen[-1] >= len(tiers.budgets):
        raise InputError("The coalition", f"The coalition must name tiers from 0 to {len(tiers.budgets) - 1}.")
    law: Any = tiers.channel(chosen[0])
    for before, after in itertools.pairwise(chosen):
        kernel = tiers.steps[before]
        for step in tiers.steps[before + 1 : after]:
            kernel = kernel @ step
        if law.size * kernel.shape[1] > CELL_LIMIT:
            raise InputError("The coalition", "The joint law of these tiers is too large; take fewer tiers or states.")
        law = law[..., None] * kernel
    return exact_certificate(law, tiers.distance)


def draw_record(tiers: RecordTiers, state: int, source: Source | None = None) -> tuple[int, ...]:
    """Release one record at every tier: a draw from its row of Z_1, then from the row of each step.

    Parameters
    ----------
    tiers : RecordTiers
        The channels.
    state : int
        The true state, from 0.
    source : Source, optional
        Random bits; the operating system's by default.

    Raises
    ------
    InputError
        If the state is out of range.
    """
    if not 0 <= state < len(tiers.first):
        raise InputError("The state", f"The state must be from 0 to {len(tiers.first) - 1}, not {state!r:.60}.")
    bits = SystemSource() if source is None else source
    answers = [draw_weighted(list(tiers.first[state]), bits)]
    for step in tiers.steps:
        answers.append(draw_weighted(list(step[answers[-1]]), bits))
    return tuple(answers)
