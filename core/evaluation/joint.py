"""Channels of all groups refined together on the end-to-end loss, where the surrogate adds up what does not add up."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from core.channel import Channel, compute_expected_loss
from core.curves import AnyChannel
from core.errors import CertificateError
from core.evaluation.simulation import Placed, draw_columns, simulate
from core.group_curves import CURVE_TOLERANCE
from core.limits import EPSILON
from core.mechanisms import Problem, build_channel, remap_channel
from core.mechanisms.optimal import solve_optimal
from core.metric import dual_norm
from core.pipeline import Stages
from core.profile import GroupProfile
from core.task_protocol import Task

STARTS: Final = ("DepHDP tuned", "DepHDP-m", "DepHDP-r", "ALC+RMP")
"""Designs among which the start is chosen by their loss on the configuring records."""
SWEEPS: Final = 3
"""Times that every group is refined in turn."""
CELLS: Final = 20_000_000
"""Codes visited per refined group; decides how many records and draws a conditional loss rests on."""
DRAWS: Final = 8
"""Releases of the other groups per record, at most."""
TRIALS: Final = 5
"""Releases of the configuring records by which designs are judged."""
_STREAM: Final = 13

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class JointDesign:
    """Channels refined on the end-to-end loss.

    Parameters
    ----------
    channels : tuple of K channels
        Certified; the dual norm of their certificates is within the total.
    start : str
        The design that they were refined from.
    before, after : float
        Mean record-level loss of the configuring records, of the start and of the result, on the same draws.
    """

    channels: tuple[AnyChannel, ...]
    start: str
    before: float
    after: float


@dataclass(frozen=True, eq=False)
class Start:
    """A design that may be refined, with what refining it reads: it travels to another process.

    Parameters
    ----------
    name : str
        The method.
    task : Task
        Whose loss is refined.
    codes : ndarray (N, L)
        The configuring records.
    profiles : tuple of K GroupProfile
        The groups.
    channels : tuple of K channels
        The design.
    epsilons : tuple of K float
        Budget of every group.
    tunable : tuple of K bool
        Which groups may be optimised.
    total, p : float
        Total budget, and exponent of the record metric.
    seed : int
        Seed of the scenario.
    """

    name: str
    task: Task
    codes: NDArray[np.int32]
    profiles: tuple[GroupProfile, ...]
    channels: tuple[AnyChannel, ...]
    epsilons: tuple[float, ...]
    tunable: tuple[bool, ...]
    total: float
    p: float
    seed: int

    @cached_property
    def placed(self) -> Placed:
        """The configuring records in their states."""
        return Placed(self.codes, tuple(profile.domain.state_of for profile in self.profiles), 0)


def start_from(name: str, stages: Stages) -> Start:
    """Return the design of some stages, solved as far as it is not yet."""
    scenario = stages.scenario
    return Start(
        name, stages.task, stages.records.codes, stages.profiles, stages.channels,
        tuple(stages.budgets.epsilons.tolist()), tuple(stages.tunable(profile) for profile in stages.profiles),
        scenario.epsilon, scenario.p, scenario.seed,
    )  # fmt: skip


def starts_of(stages_of: Callable[[str], Stages]) -> tuple[Start, ...]:
    """Return the designs among which the start is chosen.

    Parameters
    ----------
    stages_of : callable (method) -> Stages
        The design of a method by its name; all on the same table, task, grouping and total budget.
    """
    return tuple(start_from(name, stages_of(name)) for name in STARTS)


def refine_jointly(starts: Sequence[Start]) -> JointDesign:
    """Return the best start, refined group by group on the end-to-end loss of the configuring records.

    With all other channels fixed, the expected record-level loss is linear in one group's channel:
    sum_x prior[x] sum_y Z[x, y] c[x, y], c[x, y] = E gamma(U(x, rest), U(y, released rest)). Its optimum at the
    group's budget is one linear programme, and each step lowers the estimated loss; budgets stay as allocated. The
    result is kept only where it loses less than its start on fresh draws.

    Parameters
    ----------
    starts : sequence of Start
        From `starts_of`.

    Raises
    ------
    CertificateError
        If the refined channels certify more than the total; nothing is released then.
    """
    with threadpool_limits(1):  # sums then round alike in whatever process this runs
        return _refine_best(starts)


def _refine_best(starts: Sequence[Start]) -> JointDesign:
    tried = [(judge(start, start.channels), start) for start in starts]
    before, start = min(tried, key=lambda entry: entry[0])
    if start.task.attribute_losses is not None:
        return JointDesign(start.channels, start.name, before, before)
    channels = _descend(start)
    certified = dual_norm([c.certified_epsilon for c in channels], start.p)
    if not certified <= start.total:
        raise CertificateError(
            f"The joint design certifies epsilon {certified:.17g}, above the {start.total:g} asked for."
        )
    after = judge(start, channels)
    if after >= before:
        return JointDesign(start.channels, start.name, before, before)
    return JointDesign(tuple(channels), start.name, before, after)


def judge(start: Start, channels: Sequence[AnyChannel]) -> float:
    """Return the mean loss of the configuring records over a few releases; all designs meet the same random numbers."""
    rng = np.random.default_rng([start.seed, _STREAM])
    domains = [p.domain for p in start.profiles]
    found = simulate(start.task, domains, channels, start.placed, repeats=TRIALS, rng=rng)
    return float(found.losses.mean())


def _descend(start: Start) -> list[AnyChannel]:
    channels = list(start.channels)
    for sweep in range(SWEEPS):
        for k, profile in enumerate(start.profiles):
            current = channels[k]
            if not profile.domain.enumerated or not isinstance(current, Channel):
                continue
            rng = np.random.default_rng([start.seed, _STREAM, sweep, k])
            problem = Problem(profile.domain.distance, profile.domain.prior, conditional_loss(start, channels, k, rng))
            channels[k] = _better(start, k, current, problem)
    return channels


def _better(start: Start, k: int, current: Channel, problem: Problem) -> Channel:
    """Return the channel of least conditional loss among the current one, its remapping, the constant and OPT."""
    epsilon, structure = start.epsilons[k], start.profiles[k].structure
    kept = replace(current, expected_loss=compute_expected_loss(current.weights, problem.loss_weights))
    candidates = [kept, remap_channel(current, problem, "task"), build_channel("constant", problem, epsilon)]
    if epsilon >= EPSILON.low and start.tunable[k]:
        found = solve_optimal(
            problem.distance, problem.prior, problem.loss, epsilon, CURVE_TOLERANCE, structure=structure
        )
        candidates.append(found.channel)
    return min(candidates, key=lambda channel: channel.expected_loss)


def conditional_loss(
    start: Start, channels: Sequence[AnyChannel], k: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return c[x, y] (n, n): mean loss of releasing state y of group k for state x while the others are perturbed.

    Estimated over the configuring records of each state; a state without one keeps its loss with true contexts.

    Parameters
    ----------
    start : Start
        Groups, task and records.
    channels : sequence of K channels
        Channels of all groups; that of group k is not used.
    k : int
        The group.
    rng : numpy.random.Generator
        Source of the draws.
    """
    profile, codes = start.profiles[k], start.codes
    domain, count = profile.domain, len(profile.domain.states)
    affordable = max(1, CELLS // (count * codes.shape[1]))
    rows = np.arange(len(codes))
    if len(rows) > affordable:
        rows = rng.choice(rows, affordable, replace=False)
    draws = int(np.clip(affordable // len(rows), 1, DRAWS))
    total = np.zeros((count, count))
    columns = list(domain.members)
    for _ in range(draws):
        released = _release_others(start, channels, k, rows, rng)
        for y in range(count):
            released[:, columns] = domain.states[y]
            loss = start.task.loss(codes[rows], released)
            total[:, y] += np.bincount(domain.state_of[rows], weights=loss, minlength=count)
    seen = np.bincount(domain.state_of[rows], minlength=count)
    isolated = profile.problem.loss
    found: Floats = np.where(seen[:, None] > 0, total / np.maximum(seen[:, None] * draws, 1), isolated)
    return found


def _release_others(
    start: Start, channels: Sequence[AnyChannel], k: int, rows: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int32]:
    released = start.codes[rows].copy()
    for j, (profile, channel) in enumerate(zip(start.profiles, channels, strict=True)):
        if j == k:
            continue
        columns = list(profile.domain.members)
        if isinstance(channel, Channel):
            drawn = draw_columns(channel, profile.domain.state_of[rows], 1, rng)[:, 0]
            released[:, columns] = profile.domain.states[drawn]
        else:
            released[:, columns] = channel.draw(released[:, columns], rng)
    return released
