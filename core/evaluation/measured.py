"""What a released table costs, and why: prediction, prior shift and the residual of the surrogate."""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.channel import Channel
from core.curves import AnyChannel
from core.evaluation.methods import Method
from core.evaluation.simulation import Placed, Simulation
from core.metric import dual_norm
from core.pipeline import Stages
from core.profile import GroupProfile
from core.scenario import Scenario

Row = dict[str, Any]


@dataclass(frozen=True)
class Measured:
    """The figures of one row, as explained in `core.evaluation.rows.evaluate`."""

    loss: float
    sd: float
    end_task: float
    lower_bound: float
    predicted: float
    end_task_sd: float = 0.0
    prior_shift: float = 0.0
    residual: float = 0.0
    sampling_error: float = 0.0


def measure(found: Simulation, predicted: float, bound: float, shift: float) -> Measured:
    """Return the figures of a simulation; the residual is what prediction and prior shift leave over."""
    loss = float(found.losses.mean())
    spread = float(found.end_tasks.std(ddof=1)) if len(found.end_tasks) > 1 else 0.0
    error = 1.96 * found.deviation / math.sqrt(len(found.losses))
    return Measured(
        loss, found.deviation, float(found.end_tasks.mean()), bound, predicted, spread, shift,
        loss - predicted - shift, error,
    )  # fmt: skip


def make_row(method: Method, scenario: Scenario, found: Measured, start: float) -> Row:
    """Return the row of a method at a budget, timed from `start`."""
    excess = max(found.predicted - found.lower_bound, 0.0)
    return {
        "method": method.name,
        "epsilon": scenario.epsilon,
        "loss": found.loss,
        "sd": found.sd,
        "end_task": found.end_task,
        "lower_bound": found.lower_bound,
        "predicted": found.predicted,
        "prior_shift": found.prior_shift,
        "surrogate_residual": found.residual,
        "sampling_error": found.sampling_error,
        "end_task_sd": found.end_task_sd,
        "relative_error": excess / found.lower_bound if found.lower_bound > 0 else excess,
        "seconds": time.perf_counter() - start,
    }


def describe_release(stages: Stages, channels: Sequence[AnyChannel]) -> Row:
    """Return the certificate of what was released, and how much of it is optimised; a constant has no channel."""
    certified = dual_norm([c.certified_epsilon for c in channels], stages.scenario.p) if channels else 0.0
    optimised = sum(c.mechanism == "OPT" for c in channels)
    return {"certified_epsilon": certified, "optimised": optimised, "groups": len(stages.groups)}


def constant_state(profile: GroupProfile) -> int:
    """Return the state whose release costs least on average."""
    return int((profile.domain.prior @ profile.problem.loss).argmin())


def best_constant(stages: Stages) -> NDArray[np.int32]:
    """Return the record that releases every group's best constant; the most frequent levels of a huge group."""
    record = np.zeros(len(stages.records.attributes), dtype=np.int32)
    for profile in stages.profiles:
        columns = list(profile.domain.members)
        if profile.domain.enumerated:
            record[columns] = profile.domain.states[constant_state(profile)]
        else:
            record[columns] = [int(np.bincount(stages.records.codes[:, c]).argmax()) for c in columns]
    return record


def predicted_loss(stages: Stages, channels: Sequence[AnyChannel]) -> float:
    """Return the surrogate objective of a design's channels, or of other channels on the same groups."""
    if channels is stages.channels:
        return stages.design.predicted_loss
    losses = [
        float(profile.domain.prior @ by_state)
        for profile, by_state in zip(stages.profiles, expected_by_state(stages, channels), strict=True)
    ]
    return float(stages.surrogate.intercept + np.dot(stages.surrogate.beta, losses))


def expected_by_state(stages: Stages, channels: Sequence[AnyChannel]) -> list[NDArray[np.float64]]:
    """Return sum_y Z[x, y] c_k[x, y] for every state of every enumerated group."""
    return [
        np.einsum("xy,xy->x", channel.matrix, profile.loss.matrix)
        for profile, channel in zip(stages.profiles, channels, strict=True)
        if profile.loss is not None and isinstance(channel, Channel)
    ]


def shift_prior(stages: Stages, placed: Placed, by_state: list[NDArray[np.float64]]) -> float:
    """Return by how much the surrogate objective changes when the test records' own prior replaces the fitted.

    nan where a group is not enumerated.
    """
    if len(by_state) < len(stages.profiles):
        return math.nan
    total = 0.0
    for profile, states, losses, beta in zip(
        stages.profiles, placed.states, by_state, stages.surrogate.beta, strict=True
    ):
        share = np.bincount(states, minlength=len(losses)) / max(len(states), 1)
        total += float(beta * ((share - profile.domain.prior) @ losses))
    return total
