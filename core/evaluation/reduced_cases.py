"""Reduced domains: two groups cut down to their most frequent states, with everything on their joint product."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from core.domain import GroupDomain, Records
from core.errors import InputError
from core.losses import group_loss
from core.metric import group_distance
from core.pipeline import Stages

TOP_STATES: Final = (4, 6, 8, 10)
"""How many of a group's most frequent states a configuration may keep."""
STATES: Final = (16, 64)
"""Least and most joint states of a configuration."""
CONFIGURATIONS: Final = 10

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ReducedCase:
    """Two groups cut down to their most frequent states, and everything on their joint product.

    Parameters
    ----------
    name : str
        For example "G1x6 G3x8".
    distances : pair of ndarray
        Metric of each group.
    joint_distance : ndarray (n, n)
        d_p on the n = n_1 n_2 joint states, the second group's state running fastest.
    prior : ndarray (n,)
        Joint prior of the reduced records.
    loss : ndarray (n, n)
        Record-level loss, averaged over the other attributes.
    priors, losses : pairs of ndarray
        Prior and isolated loss of each group, averages of the joint ones.
    intercept, beta : float, ndarray (2,)
        Surrogate fitted on all pairs of joint states, weighted by the prior.
    p : float
        Exponent of the metric.
    """

    name: str
    distances: tuple[Floats, Floats]
    joint_distance: Floats
    prior: Floats
    loss: Floats
    priors: tuple[Floats, Floats]
    losses: tuple[Floats, Floats]
    intercept: float
    beta: Floats
    p: float

    @property
    def sizes(self) -> tuple[int, int]:
        """States of the two groups."""
        return len(self.priors[0]), len(self.priors[1])


def choose_cases(stages: Stages, count: int = CONFIGURATIONS) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Return evenly chosen pairs of groups and how many states each keeps, joint domains of 16 to 64 states.

    Raises
    ------
    InputError
        If no pair of groups gives such a domain.
    """
    sizes = [p.domain.size for p in stages.profiles]
    usable = [k for k, p in enumerate(stages.profiles) if p.domain.enumerated and p.domain.size > 1]
    found: list[tuple[tuple[int, int], tuple[int, int]]] = []
    for i, j in itertools.combinations(usable, 2):
        tops = itertools.product(*({min(t, sizes[k]) for t in TOP_STATES} for k in (i, j)))
        found += [((i, j), (a, b)) for a, b in sorted(tops) if STATES[0] <= a * b <= STATES[1]]
    if not found:
        raise InputError(
            "tau_group",
            f"No two groups give a joint domain of {STATES[0]} to {STATES[1]} states; a reduced study needs at least "
            "two groups of more than one state, so raise the grouping threshold.",
        )
    places = np.unique(np.linspace(0, len(found) - 1, min(count, len(found))).round().astype(int))
    return [found[i] for i in places.tolist()]


def build_case(stages: Stages, pair: tuple[int, int], tops: tuple[int, int]) -> ReducedCase:
    """Cut two groups down to their most frequent states and compute the joint prior, metric and losses."""
    domains = [stages.profiles[k].domain for k in pair]
    kept = [np.sort(np.argsort(-d.counts, kind="stable")[:t]) for d, t in zip(domains, tops, strict=True)]
    records, joint = _reduce(stages.records, domains, kept, stages.scenario.p)
    rng = np.random.default_rng([stages.scenario.seed, 12])
    loss = group_loss(stages.task, records, joint, contexts=stages.scenario.contexts, rng=rng).matrix
    shape = (tops[0], tops[1])
    priors, losses = _isolate(joint.prior, loss, shape)
    intercept, beta = _fit_surrogate(joint.prior, loss, shape)
    attributes = stages.records.attributes
    distances = [
        group_distance(d.states[k], [attributes[m] for m in d.members], stages.scenario.p)
        for d, k in zip(domains, kept, strict=True)
    ]
    name = " ".join(f"G{k + 1}x{t}" for k, t in zip(pair, tops, strict=True))
    return ReducedCase(
        name, (distances[0], distances[1]), joint.distance, joint.prior, loss, priors, losses, intercept, beta,
        stages.scenario.p,
    )  # fmt: skip


def _reduce(
    records: Records, domains: Sequence[GroupDomain], kept: Sequence[NDArray[np.int64]], p: float
) -> tuple[Records, GroupDomain]:
    """Return the records whose two states are kept, and the product of the kept states as their joint domain."""
    places = []
    for domain, states in zip(domains, kept, strict=True):
        place = np.full(domain.size, -1, dtype=np.int64)
        place[states] = np.arange(len(states))
        places.append(place[domain.state_of])
    inside = (places[0] >= 0) & (places[1] >= 0)
    if not inside.any():
        raise InputError("tau_group", "No record has frequent states in both groups; the domains cannot be reduced.")
    second = len(kept[1])
    state_of = places[0][inside] * second + places[1][inside]
    first, other = domains[0].states[kept[0]], domains[1].states[kept[1]]
    combined = np.hstack([np.repeat(first, second, axis=0), np.tile(other, (len(first), 1))]).astype(np.int32)
    members = (*domains[0].members, *domains[1].members)
    order = np.argsort(members)
    counts = np.bincount(state_of, minlength=len(combined))
    codes = records.codes[inside]
    part = Records(records.attributes, codes, records.rows[inside], None, ())
    distance = group_distance(combined, [records.attributes[m] for m in members], p)
    return part, GroupDomain(
        tuple(members[i] for i in order), combined[:, order], counts, counts / counts.sum(), state_of, distance,
        "product", int((counts > 0).sum()), len(combined),
    )  # fmt: skip


def _isolate(
    prior: Floats, loss: Floats, shape: tuple[int, int]
) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
    """Return prior and isolated loss of each group; a state that no record has weighs its partners evenly."""
    joint, table = prior.reshape(shape), loss.reshape(*shape, *shape)
    first, second = joint.sum(axis=1), joint.sum(axis=0)
    given_first = np.where(first[:, None] > 0, joint / np.maximum(first[:, None], 1e-300), 1.0 / shape[1])
    given_second = np.where(second[None, :] > 0, joint / np.maximum(second[None, :], 1e-300), 1.0 / shape[0])
    one = np.einsum("ab,abcb->ac", given_first, table)
    two = np.einsum("ab,abad->bd", given_second, table)
    return (first, second), (one, two)


def _fit_surrogate(prior: Floats, loss: Floats, shape: tuple[int, int]) -> tuple[float, Floats]:
    """Fit the joint loss on the isolated losses in the record's own context, all coefficients non-negative."""
    table = loss.reshape(*shape, *shape)
    one = np.einsum("abcb->abc", table)[:, :, :, None]
    two = np.einsum("abad->abd", table)[:, :, None, :]
    columns = [np.ones(table.size), *(np.broadcast_to(x, table.shape).ravel() for x in (one, two))]
    weight = np.sqrt(np.repeat(prior, len(prior)))
    solution = nnls(np.column_stack(columns) * weight[:, None], table.ravel() * weight)[0]
    return float(solution[0]), solution[1:]
