"""What a Bayesian attacker gains: success of guessing the true level before and after seeing a release."""

import math
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from core.channel import TOTAL
from core.curves import AnyChannel
from core.domain import Attribute
from core.evaluation.methods import Method, find_method
from core.evaluation.rows import Evaluation
from core.mechanisms.factorised import FactorisedChannel
from core.pipeline import Stages
from core.profile import GroupProfile

HALF_BITS: Final = 29
"""Weights below 2^58 are split into two halves, so that sums over counts of records stay whole 64-bit numbers."""
COUNT_LIMIT: Final = 1 << 32
"""Records up to which those sums cannot overflow: 2^32 records times a half of 2^29 is 2^61."""

Counts = NDArray[np.int64]


def guessing_success(counts: Counts, weights: NDArray[np.int64], labels: Counts | None = None) -> tuple[float, float]:
    """Return the attacker's chance to guess the truth, before and after seeing the released value.

    Prior success max_v P(v); posterior success sum_y max_v P(v, y), the success of the maximum a posteriori guess.
    Both are sums of whole numbers, exact until the one division at the end.

    Parameters
    ----------
    counts : ndarray of int64 (n,)
        Records per state: the prior times their number.
    weights : ndarray of int64 (n, m)
        Integer channel, rows sum to 2^58.
    labels : ndarray of int64 (n,), optional
        What is guessed, as a number per state (an attribute's level); the state itself unless given.

    Raises
    ------
    ValueError
        If the counts are negative, none is positive, or their sum is 2^32 or more.

    Examples
    --------
    >>> half = 1 << 57
    >>> guessing_success(np.array([3, 1]), np.array([[2 * half, 0], [half, half]]))
    (0.75, 0.875)
    """
    total = int(counts.sum())
    if (counts < 0).any() or not 0 < total < COUNT_LIMIT:
        raise ValueError("the counts of the states must be non-negative with a sum from 1 to 2^32 - 1")
    guessed = np.arange(len(counts)) if labels is None else labels
    size = int(guessed.max()) + 1
    by_label = np.zeros(size, dtype=np.int64)
    np.add.at(by_label, guessed, counts)
    high, low = _joint(counts, weights, guessed, size)
    best_high = high.max(axis=0)
    best_low = np.where(high == best_high, low, -1).max(axis=0)
    success = (sum(best_high.tolist()) << HALF_BITS) + sum(best_low.tolist())
    return int(by_label.max()) / total, success / (total * TOTAL)


def _joint(counts: Counts, weights: NDArray[np.int64], guessed: Counts, size: int) -> tuple[Counts, Counts]:
    """Return sum over states of counts * weights per label and output as (high, low) with low < 2^29."""
    high = np.zeros((size, weights.shape[1]), dtype=np.int64)
    low = np.zeros_like(high)
    np.add.at(high, guessed, counts[:, None] * (weights >> HALF_BITS))
    np.add.at(low, guessed, counts[:, None] * (weights & ((1 << HALF_BITS) - 1)))
    return high + (low >> HALF_BITS), low & ((1 << HALF_BITS) - 1)


def attacker_rows(stages: Stages, method: str) -> Iterator[dict[str, Any]]:
    """Yield the attacker's success for the whole state of every group and for every attribute.

    The attacker knows the configuring prior of the group and sees the group's release. Groups are perturbed
    independently; what other groups would add through the dependence that was cut between them is not counted.

    Parameters
    ----------
    stages : Stages
        A design.
    method : str
        Its name.
    """
    for k, (profile, channel) in enumerate(zip(stages.profiles, stages.channels, strict=True)):
        attributes = [stages.records.attributes[i] for i in profile.domain.members]
        shared = {
            "method": method,
            "epsilon": stages.scenario.epsilon,
            "group": k + 1,
            "mechanism": channel.mechanism,
            "certified_epsilon": channel.certified_epsilon,
        }
        for what, success, diameter in _targets(stages, profile, channel, attributes):
            exponent = channel.certified_epsilon * diameter
            yield {
                **shared,
                "guess": what,
                "prior": success[0],
                "posterior": success[1],
                "diameter": diameter,
                "log_factor": exponent,
                "worst_factor": math.exp(exponent) if exponent < 700.0 else math.inf,
            }


def _targets(
    stages: Stages, profile: GroupProfile, channel: AnyChannel, attributes: list[Attribute]
) -> Iterator[tuple[str, tuple[float, float], float]]:
    """Yield what is guessed, the success before and after, and the largest distance between two candidates."""
    domain, p = profile.domain, stages.scenario.p
    spans = [float(a.distance.max()) * (1.0 if math.isinf(p) else a.weight ** (1.0 / p)) for a in attributes]
    if isinstance(channel, FactorisedChannel):
        for i, attribute in enumerate(attributes):
            counts = np.bincount(stages.records.codes[:, domain.members[i]], minlength=attribute.size)
            yield attribute.name, guessing_success(counts.astype(np.int64), channel.parts[i].weights), spans[i]
        return
    counts = domain.counts if domain.mode != "declared" else np.ones(domain.size, dtype=np.int64)
    if len(attributes) > 1:
        name = " + ".join(a.name for a in attributes)
        yield name, guessing_success(counts, channel.weights), float(domain.distance.max())
    for i, attribute in enumerate(attributes):
        levels = domain.states[:, i].astype(np.int64)
        # The likelihood of a level mixes states, so its ratio is bounded by the group's diameter, not by the span.
        diameter = spans[i] if len(attributes) == 1 else float(domain.distance.max())
        yield attribute.name, guessing_success(counts, channel.weights, levels), diameter


def attack(evaluation: Evaluation, methods: list[str], epsilons: list[float]) -> pd.DataFrame:
    """Return the attacker's success per method, budget, group and attribute.

    Parameters
    ----------
    evaluation : Evaluation
        Table, scenario and memory; the designs are those of its rows.
    methods : list of str
        Methods with channels; bounds and zero information have none and are left out.
    epsilons : list of float
        Total budgets.

    Returns
    -------
    DataFrame
        method, epsilon, group, mechanism, certified_epsilon (of the group), guess (all attributes of the group, or
        one), prior and posterior success, diameter (largest distance between two candidates), log_factor = certified
        epsilon times diameter and worst_factor = exp of it: no release changes the odds of two candidates by more.
    """
    found: list[dict[str, Any]] = []
    for name in methods:
        method = find_method(name)
        if method.measure != "channels":
            continue
        for epsilon in epsilons:
            found += _remembered(evaluation, method, float(epsilon))
    return pd.DataFrame(found)


def _remembered(evaluation: Evaluation, method: Method, epsilon: float) -> list[dict[str, Any]]:
    """Return the rows of one design, computed once."""
    knobs = evaluation.scenario.replace(epsilon=epsilon, **method.changes)
    key = ("attacker rows", *evaluation.key(knobs), method.name, method.split)

    def compute() -> list[dict[str, Any]]:
        return list(attacker_rows(evaluation.stages(knobs, fitted=method.split), method.name))

    return list(evaluation.remember(key, compute))
