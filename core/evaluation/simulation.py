"""Perturbing test records with the integers of a design, many times over, and what that costs."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.channel import TOTAL, Channel
from core.domain import GroupDomain, Records, project
from core.mechanisms.factorised import FactorisedChannel
from core.task_protocol import Codes, Task

AnyChannel = Channel | FactorisedChannel


@dataclass(frozen=True, eq=False)
class Simulation:
    """Losses of repeated releases of the same records.

    Parameters
    ----------
    losses : ndarray (R,)
        Mean record-level loss over the records, per repeat.
    end_tasks : ndarray (R,)
        End-task error of the whole released table, per repeat.
    """

    losses: NDArray[np.float64]
    end_tasks: NDArray[np.float64]

    @property
    def deviation(self) -> float:
        """Standard deviation of the mean loss between repeats; 0 for a single one."""
        return float(self.losses.std(ddof=1)) if len(self.losses) > 1 else 0.0


def draw_columns(
    channel: Channel, states: NDArray[np.int64], repeats: int, rng: np.random.Generator
) -> NDArray[np.int32]:
    """Draw an output for every true state and repeat, exactly in proportion to the integers.

    Parameters
    ----------
    channel : Channel
        The channel.
    states : ndarray of int64 (N,)
        True states.
    repeats : int
        Draws per state.
    rng : numpy.random.Generator
        Source of the draws: this is a simulation, a release to others takes a cryptographic source.

    Returns
    -------
    ndarray of int32 (N, R)
        Released outputs.
    """
    order = np.argsort(states, kind="stable")
    present, first = np.unique(states[order], return_index=True)
    last = np.append(first[1:], len(states))
    drawn = np.empty((len(states), repeats), dtype=np.int32)
    for x, start, end in zip(present.tolist(), first.tolist(), last.tolist(), strict=True):
        uniform = rng.integers(TOTAL, size=(end - start, repeats))
        drawn[order[start:end]] = np.searchsorted(np.cumsum(channel.weights[x]), uniform, side="right")
    return drawn


@dataclass(frozen=True, eq=False)
class Placed:
    """Test records as the mechanisms of one configuration see them.

    Parameters
    ----------
    codes : ndarray of int32 (N, L)
        Levels; a value without a level is projected to one.
    states : tuple of K ndarray of int64 (N,)
        State of every record in each group, the nearest where it is none; empty for a group that is not enumerated.
    outside : int
        Records that are no state of some group, and hence projected.
    """

    codes: NDArray[np.int32]
    states: tuple[NDArray[np.int64], ...]
    outside: int


def place_records(records: Records, domains: Sequence[GroupDomain], codes: NDArray[np.int32], p: float) -> Placed:
    """Find the state of every test record in every group."""
    states: list[NDArray[np.int64]] = []
    moved = np.zeros(len(codes), dtype=bool)
    for domain in domains:
        if not domain.enumerated:
            states.append(np.zeros(0, dtype=np.int64))
            continue
        columns = list(domain.members)
        attributes = [records.attributes[i] for i in columns]
        states.append(project(domain, attributes, codes[:, columns], p=p))
        moved |= (domain.states[states[-1]] != codes[:, columns]).any(axis=1)
    return Placed(codes, tuple(states), int(moved.sum()))


def simulate(
    task: Task,
    domains: Sequence[GroupDomain],
    channels: Sequence[AnyChannel],
    placed: Placed,
    *,
    repeats: int,
    rng: np.random.Generator,
) -> Simulation:
    """Release every record once per repeat and measure what it costs.

    Parameters
    ----------
    task : Task
        The loss.
    domains, channels : sequences of K
        The groups and their mechanisms.
    placed : Placed
        The test records.
    repeats : int
        R.
    rng : numpy.random.Generator
        Source of the draws.
    """
    codes = placed.codes
    drawn = [
        draw_columns(channel, states, repeats, rng) if isinstance(channel, Channel) else None
        for channel, states in zip(channels, placed.states, strict=True)
    ]
    losses, end_tasks = np.empty(repeats), np.empty(repeats)
    for r in range(repeats):
        released = codes.copy()
        for domain, channel, outputs in zip(domains, channels, drawn, strict=True):
            columns = list(domain.members)
            if isinstance(channel, FactorisedChannel):
                released[:, columns] = channel.draw(codes[:, columns], rng)
            elif outputs is not None:
                released[:, columns] = domain.states[outputs[:, r]]
        losses[r] = task.loss(codes, released).mean()
        end_tasks[r] = task.end_task(codes, released)
    return Simulation(losses, end_tasks)


def release_constant(task: Task, constant: Codes, codes: NDArray[np.int32]) -> Simulation:
    """Measure the release of one record, whatever the truth: it is not random, so one repeat says all."""
    released = np.broadcast_to(constant.astype(np.int32), codes.shape)
    return Simulation(np.array([task.loss(codes, released).mean()]), np.array([task.end_task(codes, released)]))
