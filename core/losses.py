"""Loss profile of a group: what it costs, on average over the rest of the record, to release state y for state x."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from core import limits
from core.domain import GroupDomain, Records
from core.task_protocol import Codes, Losses, Task

Progress = Callable[[float, str], None]

EXHAUSTIVE_CELLS: Final = 200_000_000
"""Pairs of records times attributes up to which every context is visited: a few seconds of one core."""
CHUNK_CELLS: Final = 2_000_000
"""Codes of paired records held at once."""


@dataclass(frozen=True, eq=False)
class GroupLoss:
    """Loss profile C_k of one group.

    Parameters
    ----------
    matrix : ndarray (n, n)
        Row x, column y: c_k[x, y] >= 0, zero on the diagonal.
    standard_error : ndarray (n, n) or None
        Of sampled means (inf where a single context stands for several); None when exhaustive.
    exhaustive : bool
        Whether every record was visited.
    borrowed : int
        States without a record, whose contexts are those of the nearest states with one.
    contexts : int
        Distinct contexts visited, over all states; 0 where the loss needs none.
    """

    matrix: NDArray[np.float64]
    standard_error: NDArray[np.float64] | None
    exhaustive: bool
    borrowed: int
    contexts: int = 0


@dataclass(frozen=True, eq=False)
class _Contexts:
    """Contexts sorted by state: rows first[x]..first[x+1]-1 of `codes` belong to state x, each `times` over."""

    codes: Codes
    times: NDArray[np.float64]
    first: NDArray[np.int64]
    borrowed: int


def _members_by_state(domain: GroupDomain) -> tuple[list[NDArray[np.int64]], int]:
    """Return the records that give each state its contexts, and how many states borrow them from the nearest."""
    count = len(domain.states)
    order = np.argsort(domain.state_of, kind="stable")
    ends = np.searchsorted(domain.state_of[order], np.arange(count + 1))
    own = [order[ends[x] : ends[x + 1]] for x in range(count)]
    empty = np.diff(ends) == 0
    lenders = np.flatnonzero(~empty)
    for x in np.flatnonzero(empty).tolist():
        reach = domain.distance[x, lenders]
        nearest = lenders[reach <= reach.min()]
        own[x] = np.concatenate([order[ends[z] : ends[z + 1]] for z in nearest.tolist()])
    return own, int(empty.sum())


def _collect(task: Task, records: Records, domain: GroupDomain) -> _Contexts:
    """Gather all contexts; those that agree in every attribute that matters to the task are counted, not repeated."""
    relevant = list(task.context(domain.members))
    own, borrowed = _members_by_state(domain)
    state = np.repeat(np.arange(len(own)), [len(rows) for rows in own])
    rows = np.concatenate(own)
    key = np.column_stack([state, records.codes[rows][:, relevant]])
    order = np.lexsort(key.T[::-1])
    key = key[order]
    new = np.concatenate([[True], (key[1:] != key[:-1]).any(axis=1)])
    start = np.flatnonzero(new)
    times = np.diff(np.concatenate([start, [len(key)]])).astype(np.float64)
    first = np.searchsorted(key[start, 0], np.arange(len(own) + 1))
    return _Contexts(records.codes[rows[order][start]], times, first, borrowed)


def _check_enumerated(domain: GroupDomain) -> None:
    if not domain.enumerated:
        raise ValueError(f"the {domain.product} states of group {domain.members} are not enumerated")


def _additive_loss(tables: Losses, domain: GroupDomain) -> NDArray[np.float64]:
    """Return sum over members of the attribute's loss: no context enters."""
    matrix = np.zeros((len(domain.states), len(domain.states)))
    for position, member in enumerate(domain.members):
        levels = domain.states[:, position]
        matrix += tables[member][np.ix_(levels, levels)]
    return matrix


def _pair_losses(task: Task, domain: GroupDomain, state: int, codes: Codes) -> NDArray[np.float64]:
    """Return gamma for every context (rows) and every released state (columns), the truth being `state`."""
    count = len(domain.states)
    columns = list(domain.members)
    truth = np.repeat(codes, count, axis=0)
    truth[:, columns] = domain.states[state]
    released = truth.copy()
    released[:, columns] = np.tile(domain.states, (len(codes), 1))
    return task.loss(truth, released).reshape(len(codes), count)


def _weighted_row(
    task: Task, domain: GroupDomain, state: int, codes: Codes, times: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return sum and sum of squares of gamma over the contexts, per released state, in chunks."""
    count = len(domain.states)
    total, squares = np.zeros(count), np.zeros(count)
    step = max(1, CHUNK_CELLS // (count * codes.shape[1]))
    for start in range(0, len(codes), step):
        pairs = _pair_losses(task, domain, state, codes[start : start + step])
        total += times[start : start + step] @ pairs
        squares += times[start : start + step] @ pairs**2
    return total, squares


def _exhaust(task: Task, domain: GroupDomain, contexts: _Contexts, progress: Progress | None) -> GroupLoss:
    count = len(domain.states)
    matrix = np.zeros((count, count))
    for x in range(count):
        if progress is not None:
            progress(x / count, f"Computing losses of state {x + 1} of {count}")
        rows = slice(contexts.first[x], contexts.first[x + 1])
        times = contexts.times[rows]
        matrix[x] = _weighted_row(task, domain, x, contexts.codes[rows], times)[0] / times.sum()
    return GroupLoss(matrix, None, True, contexts.borrowed, len(contexts.codes))


def compute_group_loss(
    task: Task, records: Records, domain: GroupDomain, *, progress: Progress | None = None
) -> GroupLoss:
    """Compute the loss profile of a group from every record.

    c_k[x, y] = mean over the records with X_k = x of gamma(U(x, rest of the record), U(y, rest of the record)).

    Parameters
    ----------
    task : Task
        The fitted task.
    records : Records
        Records that give the contexts.
    domain : GroupDomain
        The group's states, enumerated; a record counts for the state it is projected to.
    progress : callable, optional
        Told the fraction done after every state.

    Returns
    -------
    GroupLoss
        Exhaustive, without error bars. A state without a record borrows the contexts of the nearest states that have
        one (all of them at the least distance).

    Raises
    ------
    ValueError
        If the states are not enumerated.

    Notes
    -----
    Equations 16 and 17 of the DepHDP paper. Additive losses need no context; others visit each distinct context once.
    """
    _check_enumerated(domain)
    if task.attribute_losses is not None:
        return GroupLoss(_additive_loss(task.attribute_losses, domain), None, True, 0)
    return _exhaust(task, domain, _collect(task, records, domain), progress)


def estimate_group_loss(
    task: Task,
    records: Records,
    domain: GroupDomain,
    *,
    contexts: int,
    rng: np.random.Generator,
    progress: Progress | None = None,
) -> GroupLoss:
    """Estimate the loss profile of a group from sampled contexts.

    Per state up to `contexts` of its records are drawn without replacement and shared by all released states, so
    every distance is met equally often and differences along a row are not blurred by the draw.

    Parameters
    ----------
    task, records, domain
        As in `compute_group_loss`.
    contexts : int
        Records drawn per state.
    rng : numpy.random.Generator
        Source of the draw.
    progress : callable, optional
        Told the fraction done after every state.

    Returns
    -------
    GroupLoss
        With the standard error of every mean, corrected for the finite number of records: 0 where all were drawn, inf
        where one stands for several.

    Raises
    ------
    InputError
        If `contexts` is out of range.
    ValueError
        If the states are not enumerated.
    """
    _check_enumerated(domain)
    contexts = int(limits.CONTEXTS.check(contexts))
    own, borrowed = _members_by_state(domain)
    count, visited = len(own), 0
    matrix, error = np.zeros((count, count)), np.zeros((count, count))
    for x, rows in enumerate(own):
        if progress is not None:
            progress(x / count, f"Sampling losses of state {x + 1} of {count}")
        drawn = rows if len(rows) <= contexts else rng.choice(rows, contexts, replace=False)
        total, squares = _weighted_row(task, domain, x, records.codes[drawn], np.ones(len(drawn)))
        matrix[x] = total / len(drawn)
        error[x] = _standard_error(total, squares, len(drawn), len(rows))
        visited += len(drawn)
    np.fill_diagonal(error, 0.0)
    return GroupLoss(matrix, error, False, borrowed, visited)


def _standard_error(
    total: NDArray[np.float64], squares: NDArray[np.float64], drawn: int, population: int
) -> NDArray[np.float64]:
    """Return the standard error of a mean of `drawn` from `population` values, drawn without replacement."""
    if drawn == population:
        return np.zeros_like(total)
    if drawn == 1:
        return np.full_like(total, np.inf)
    variance = np.maximum(squares - total**2 / drawn, 0.0) / (drawn - 1)
    return np.sqrt(variance / drawn * (1.0 - drawn / population))


def group_loss(
    task: Task,
    records: Records,
    domain: GroupDomain,
    *,
    contexts: int,
    rng: np.random.Generator,
    progress: Progress | None = None,
) -> GroupLoss:
    """Compute the loss profile from every record where that is affordable, otherwise estimate it.

    Parameters
    ----------
    task, records, domain, contexts, rng, progress
        As in `compute_group_loss` and `estimate_group_loss`; for very many states fewer contexts are drawn, at least
        two per state, so that the work stays bounded.

    Returns
    -------
    GroupLoss
        `exhaustive` says which it was.

    Raises
    ------
    InputError
        If `contexts` is out of range.
    ValueError
        If the states are not enumerated.
    """
    _check_enumerated(domain)
    if task.attribute_losses is not None:
        return compute_group_loss(task, records, domain)
    collected = _collect(task, records, domain)
    width = len(domain.states) * len(records.sizes)
    if len(collected.codes) * width <= EXHAUSTIVE_CELLS:
        return _exhaust(task, domain, collected, progress)
    affordable = max(2, EXHAUSTIVE_CELLS // (width * len(domain.states)))
    return estimate_group_loss(task, records, domain, contexts=min(contexts, affordable), rng=rng, progress=progress)
