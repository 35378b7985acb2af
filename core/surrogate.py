"""End-to-end loss of a record as a weighted sum of the losses of its groups, fitted and checked on held-out pairs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from core.domain import GroupDomain, Records
from core.errors import InputError
from core.task_protocol import Codes, Task

Floats = NDArray[np.float64]

PAIRS: Final = 6000
"""Pairs (x, y) drawn, unless the quadratic diagnostics need more."""
HELD_OUT: Final = 0.3
"""Share of the pairs that judge the fit."""
LARGEST_BUDGET: Final = 10.0
"""Released states are drawn like the exponential mechanism's at budgets from 0 to 10, so near and far ones occur."""
PAIRS_PER_TERM: Final = 4
"""Quadratic diagnostics need this many fitting pairs per term; with more groups they are left out."""
SHOWN_TERMS: Final = 8
DISTINCT: Final = 1e-9
"""Relative difference above which two losses of a group count as different values."""


@dataclass(frozen=True)
class Term:
    """One term of the quadratic surrogate.

    Parameters
    ----------
    groups : tuple of int
        (i, j) for b_ij, (i, i) for the square d_i.
    coefficient : float
        b_ij or d_i.
    contribution : float
        |coefficient| x standard deviation of the term over the fitting pairs, in the loss's unit.
    """

    groups: tuple[int, int]
    coefficient: float
    contribution: float


@dataclass(frozen=True, eq=False)
class QuadraticSurrogate:
    """Least squares c + sum a_i x_i + sum_{i<j} b_ij x_i x_j + sum d_i x_i^2 on isolated losses x.

    Parameters
    ----------
    intercept : float
        c.
    linear : ndarray (K,)
        a_i; nan for a group that never costs anything.
    interactions : ndarray
        b_ij over the pairs i < j of groups that can cost something.
    squares : ndarray
        d_i over the groups whose square can be told apart.
    r2 : float
        On held-out pairs.
    largest : tuple of Term
        Up to eight interactions and squares by falling contribution.
    left_out : tuple of int
        Groups whose loss takes at most one value besides 0: their square is a multiple of their linear term.
    """

    intercept: float
    linear: Floats
    interactions: Floats
    squares: Floats
    r2: float
    largest: tuple[Term, ...]
    left_out: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Surrogate:
    """Linear surrogate c(y | x) ~ beta_0 + sum_k beta_k c_k(y_k | x_k; rest of x).

    Parameters
    ----------
    intercept : float
        beta_0 >= 0, in the loss's unit.
    beta : ndarray (K,)
        beta_k >= 0; 0 for a group that never costs anything.
    r2 : float
        1 - squared error / variance of the losses of held-out pairs.
    mean_absolute_error : float
        Of held-out pairs, in the loss's unit.
    predicted, actual : ndarray
        Held-out pairs.
    changed : ndarray of int
        Groups changed in each held-out pair.
    quadratic : QuadraticSurrogate or None
        Diagnostics; None where there are too many groups for the pairs drawn.
    """

    intercept: float
    beta: Floats
    r2: float
    mean_absolute_error: float
    predicted: Floats
    actual: Floats
    changed: NDArray[np.int64]
    quadratic: QuadraticSurrogate | None


def _draw_changes(domains: Sequence[GroupDomain], count: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Draw which groups change, (count, K): how many is uniform on 1..K, then which; one state cannot change."""
    movable = np.flatnonzero([domain.size > 1 for domain in domains])
    changes = np.zeros((count, len(domains)), dtype=np.bool_)
    if len(movable):
        rank = rng.permuted(np.tile(np.arange(len(movable)), (count, 1)), axis=1)
        changes[:, movable] = rank < rng.integers(1, len(movable) + 1, size=count)[:, None]
    return changes


def _draw_states(domain: GroupDomain, truth: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw a different state for each true one, ~ exp(-(e/2) d) with e uniform on 0..10."""
    count = len(domain.states)
    budget = rng.uniform(0.0, LARGEST_BUDGET, size=len(truth))
    released = np.empty_like(truth)
    for rows in np.array_split(np.arange(len(truth)), max(1, len(truth) * count // 2_000_000)):
        score = -0.5 * budget[rows, None] * domain.distance[truth[rows]] + rng.gumbel(size=(len(rows), count))
        score[np.arange(len(rows)), truth[rows]] = -np.inf
        released[rows] = score.argmax(axis=1)
    return released


def _draw_pairs(
    records: Records, domains: Sequence[GroupDomain], count: int, rng: np.random.Generator
) -> tuple[Codes, Codes, NDArray[np.bool_]]:
    """Draw records x, changed records y, and which groups changed."""
    rows = rng.integers(len(records), size=count)
    truth = records.codes[rows].copy()
    changes = _draw_changes(domains, count, rng)
    released = truth.copy()
    for k, domain in enumerate(domains):
        columns, moved = np.array(domain.members), np.flatnonzero(changes[:, k])
        if domain.enumerated:
            state = domain.state_of[rows]
            truth[:, columns] = released[:, columns] = domain.states[state]
            released[np.ix_(moved, columns)] = domain.states[_draw_states(domain, state[moved], rng)]
        else:
            # too many states to weigh: take the combination of another record
            released[np.ix_(moved, columns)] = records.codes[rng.integers(len(records), size=len(moved))][:, columns]
    return truth, released, changes


def _evaluate(task: Task, domains: Sequence[GroupDomain], truth: Codes, released: Codes) -> tuple[Floats, Floats]:
    """Return the losses of the pairs, and of the same records with one group changed at a time."""
    isolated = np.zeros((len(truth), len(domains)))
    for k, domain in enumerate(domains):
        columns = list(domain.members)
        plugged = truth.copy()
        plugged[:, columns] = released[:, columns]
        isolated[:, k] = task.loss(truth, plugged)
    return task.loss(truth, released), isolated


def fit_surrogate(
    task: Task,
    records: Records,
    domains: Sequence[GroupDomain],
    *,
    rng: np.random.Generator,
    pairs: int | None = None,
) -> Surrogate:
    """Fit the end-to-end loss as a non-negative combination of isolated group losses.

    Pairs (x, y) with 1 to K groups changed; c(y | x) is regressed on the losses of changing one group at a time in
    the record's own context, all coefficients non-negative; 30% of the pairs are held out.

    Parameters
    ----------
    task : Task
        The fitted task.
    records : Records
        Records that give the x.
    domains : sequence of GroupDomain
        The K groups.
    rng : numpy.random.Generator
        Source of the pairs and of the split.
    pairs : int, optional
        Pairs drawn; 6,000 unless given.

    Returns
    -------
    Surrogate
        Fitted on 70% of the pairs, judged on the others.

    Raises
    ------
    InputError
        If there is no group, or fewer than 10 pairs are asked for.

    Notes
    -----
    Equations 16 and 18 to 20 of the DepHDP paper; equation 84 for the quadratic diagnostics.
    """
    count = PAIRS if pairs is None else pairs
    if not domains or count < 10:
        raise InputError("pairs", f"The surrogate needs a group and at least 10 pairs, not {len(domains)} and {count}.")
    truth, released, changes = _draw_pairs(records, domains, count, rng)
    loss, isolated = _evaluate(task, domains, truth, released)
    held = rng.permutation(count) < HELD_OUT * count
    solution = nnls(np.column_stack([np.ones((~held).sum()), isolated[~held]]), loss[~held])[0]
    predicted = solution[0] + isolated[held] @ solution[1:]
    return Surrogate(
        intercept=float(solution[0]),
        beta=solution[1:],
        r2=_r2(loss[held], predicted),
        mean_absolute_error=float(np.abs(loss[held] - predicted).mean()),
        predicted=predicted,
        actual=loss[held],
        changed=changes[held].sum(axis=1),
        quadratic=_fit_quadratic(isolated, loss, held),
    )


def _r2(actual: Floats, predicted: Floats) -> float:
    """Return 1 - squared error / variance; 1 for a constant met exactly, else 0 where there is no variance."""
    error, variance = float(((actual - predicted) ** 2).mean()), float(actual.var())
    if variance == 0.0:
        return 1.0 if error == 0.0 else 0.0
    return 1.0 - error / variance


def _fit_quadratic(isolated: Floats, loss: Floats, held: NDArray[np.bool_]) -> QuadraticSurrogate | None:
    values = [np.unique(np.round(column / max(column.max(), 1e-300) / DISTINCT)) for column in isolated.T]
    live = [k for k, v in enumerate(values) if len(v) > 1]
    squared = [k for k, v in enumerate(values) if len(v) > 2]
    crossed = [(i, j) for at, i in enumerate(live) for j in live[at + 1 :]]
    terms = [*crossed, *((k, k) for k in squared)]
    if PAIRS_PER_TERM * (1 + len(live) + len(terms)) > (~held).sum():
        return None
    products = [isolated[:, i] * isolated[:, j] for i, j in terms]
    design = np.column_stack([np.ones(len(loss)), *(isolated[:, k] for k in live), *products])
    scale = np.maximum(np.abs(design[~held]).max(axis=0), 1e-300)
    solution = np.linalg.lstsq(design[~held] / scale, loss[~held], rcond=None)[0] / scale
    linear = np.full(isolated.shape[1], np.nan)
    linear[live] = solution[1 : 1 + len(live)]
    second = solution[1 + len(live) :]
    spread = design[~held][:, 1 + len(live) :].std(axis=0)
    found = [Term(t, float(b), float(abs(b) * s)) for t, b, s in zip(terms, second, spread, strict=True)]
    return QuadraticSurrogate(
        intercept=float(solution[0]),
        linear=linear,
        interactions=second[: len(crossed)],
        squares=second[len(crossed) :],
        r2=_r2(loss[held], design[held] @ solution),
        largest=tuple(sorted(found, key=lambda t: -t.contribution)[:SHOWN_TERMS]),
        left_out=tuple(k for k in range(isolated.shape[1]) if k not in squared),
    )
