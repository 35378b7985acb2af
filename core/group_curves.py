"""Loss-budget curves of one group, one function per family: noise, optimised, sampled, tuned."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from core import limits
from core.channel import Channel
from core.curves import LossCurve, refine, solve_curve
from core.domain import Records
from core.mechanisms import build_channel, remap_channel
from core.mechanisms.factorised import FactorisedChannel, factorised_mechanism, remap_factorised
from core.mechanisms.optimal import OptimalSolution, solve_optimal
from core.profile import GroupProfile
from core.scenario import Scenario
from core.solver.channel_problem import check_problem
from core.solver.cost import estimate_cost
from core.tasks import Task

Progress = Callable[[float, str], None]

SAMPLED_RECORDS: Final = 2000
"""Records perturbed to estimate the loss of a group too large to enumerate."""
CURVE_TOLERANCE: Final = 1e-4
"""Relative gap asked of the optimised channel at grid budgets; the bracket is certified whatever it is."""
FINAL_TOLERANCE: Final = 1e-6
"""Relative gap asked of the optimised channel that leaves the design."""
TUNED_FAMILIES: Final = tuple(
    (noise, remap) for noise in ("EM", "calibrated EM", "line noise") for remap in ("none", "distance", "task")
)
"""Noise and remapping that the tuned rule considers beside OPT; remapped for the task, each is the constant at 0."""
BASELINE_NOISE: Final = "EM"
"""The noise of the baselines, whose equal split gets a budget of its own in the tuned rule too."""
QUICK_SECONDS: Final = 10.0
"""Estimated seconds per budget up to which the tuned rule optimises a group that no score rule would optimise."""


def curve_grid(epsilon: float, size: int, *, first: bool = False) -> tuple[float, ...]:
    """Return the budgets of a group's loss-budget curve: finer for small groups, coarse where a solve is dear.

    Parameters
    ----------
    epsilon : float
        Total budget; the grid goes beyond 10 only as far as it asks.
    size : int
        States of the group.
    first : bool
        Begin with a handful of budgets.

    Examples
    --------
    >>> curve_grid(12.0, 500)[-2:]
    (10.0, 15.0)
    """
    usual = limits.LOSS_BUDGET_GRID if size <= limits.FINE_GRID_STATES else limits.COARSE_LOSS_BUDGET_GRID
    grid = list(limits.FIRST_LOSS_BUDGET_GRID if first else usual)
    while grid[-1] < epsilon:
        grid.append(grid[-1] + 5.0)
    return tuple(grid)


def solve_optimal_channel_of(
    profile: GroupProfile,
    epsilon: float,
    tolerance: float,
    *,
    hint: NDArray[np.int64] | None = None,
    progress: Progress | None = None,
) -> OptimalSolution:
    """Solve the optimised channel of a group at one budget."""
    problem = profile.problem
    return solve_optimal(
        problem.distance,
        problem.prior,
        problem.loss,
        epsilon,
        tolerance=tolerance,
        structure=profile.structure,
        hint=None if hint is None else hint.tolist(),
        progress=progress,
    )


def estimate_solve_seconds(profile: GroupProfile) -> float:
    """Return the estimated seconds of optimising an enumerated group at one budget, without solving."""
    problem = profile.problem
    checked = check_problem(problem.distance, problem.prior, problem.loss, profile.structure)
    return estimate_cost(checked.reduce(limits.EPSILON.default).programme).seconds


def optimal_curve(profile: GroupProfile, grid: Sequence[float], progress: Progress | None = None) -> LossCurve:
    """Return the certified bracket of the optimised channel's loss over the grid, with the slopes of its dual.

    Each solve starts from the outputs that its neighbour used: few outputs are used, and they change slowly.
    """
    last: list[OptimalSolution] = []
    slopes = dict.fromkeys(grid, np.nan)

    def build(epsilon: float, _hint: Channel | None) -> Channel:
        if epsilon < limits.EPSILON.low:
            return build_channel("OPT", profile.problem, epsilon)
        hint = last[-1].outputs if last else None
        solution = solve_optimal_channel_of(profile, epsilon, CURVE_TOLERANCE, hint=hint, progress=progress)
        last[:] = [solution]
        slopes[epsilon] = solution.derivative
        return solution.channel

    curve = solve_curve(build, grid, mechanism="OPT", progress=progress)
    return replace(curve, derivative=np.array([slopes[epsilon] for epsilon in grid]))


def noise_channels(
    profile: GroupProfile, grid: Sequence[float], noise: str, progress: Progress | None = None
) -> tuple[Channel, ...]:
    """Return the predefined noise of every grid budget, not remapped: every remapping starts from the same channels."""
    channels = []
    for i, epsilon in enumerate(grid):
        if progress is not None:
            progress(i / len(grid), f"Building {noise} at epsilon {epsilon:g}")
        channels.append(build_channel(noise, profile.problem, epsilon))
    return tuple(channels)


def noise_curve(
    profile: GroupProfile,
    grid: Sequence[float],
    channels: Sequence[Channel],
    *,
    noise: str,
    remap: str,
    progress: Progress | None = None,
) -> LossCurve:
    """Return the loss of predefined noise over the grid, exact on the integers of each channel.

    Parameters
    ----------
    profile : GroupProfile
        The group.
    grid : sequence of float (N,)
        Budgets.
    channels : sequence of N Channel
        From `noise_channels`.
    noise, remap : str
        Family, as in `build_channel`.
    progress : callable, optional
        Told before every budget.
    """
    plain = dict(zip(grid, channels, strict=True))

    def build(epsilon: float, _hint: Channel | None) -> Channel:
        channel = plain[epsilon]
        return channel if remap == "none" else remap_channel(channel, profile.problem, remap)

    # Only channels of the grid are ever used, which makes the curve a step function and its lower bound tight.
    return replace(solve_curve(build, grid, mechanism=noise, progress=progress), stepwise=True)


def refine_noise(profile: GroupProfile, curve: LossCurve, epsilon: float, *, noise: str, remap: str) -> LossCurve:
    """Return a noise curve with one more budget, where the budget is not one of its own already."""
    if epsilon < limits.EPSILON.low or np.isclose(curve.epsilons, epsilon, rtol=1e-12, atol=0).any():
        return curve
    return refine(curve, epsilon, lambda e, _hint: build_channel(noise, profile.problem, e, remap=remap))


class FactorisedGroup:
    """A group too large to enumerate: perturbed attribute by attribute, its loss estimated over sampled records.

    Parameters
    ----------
    profile : GroupProfile
        Of the group; its domain is not enumerated.
    records : Records
        The coded table, which gives priors and contexts.
    task : Task
        Whose loss is estimated.
    scenario : Scenario
        Metric, noise and seed.
    """

    def __init__(self, profile: GroupProfile, records: Records, task: Task, scenario: Scenario) -> None:
        self.columns = list(profile.domain.members)
        self.records, self.task, self.scenario = records, task, scenario
        self.attributes = [records.attributes[i] for i in self.columns]
        self.priors = [
            np.bincount(records.codes[:, i], minlength=records.attributes[i].size) / len(records) for i in self.columns
        ]

    def channel(self, epsilon: float) -> FactorisedChannel:
        """Return the certified product mechanism at a group budget, remapped attribute by attribute if asked.

        Task remapping needs a loss per attribute, which additive tasks have; else distances stand in.
        """
        s = self.scenario
        channel = factorised_mechanism(self.attributes, self.priors, s.p, epsilon, family=s.noise)
        if s.remap == "none":
            return channel
        tables = self.task.attribute_losses if s.remap == "task" else None
        return remap_factorised(channel, self.priors, None if tables is None else [tables[i] for i in self.columns])

    def loss(self, channel: FactorisedChannel) -> float:
        """Estimate the mean loss of perturbing only this group, over `SAMPLED_RECORDS` records."""
        rng = np.random.default_rng([self.scenario.seed, 4])
        raw = self.records.codes[rng.integers(len(self.records), size=SAMPLED_RECORDS)]
        released = raw.copy()
        released[:, self.columns] = channel.draw(raw[:, self.columns], rng)
        return float(self.task.loss(raw, released).mean())

    def curve(self, grid: Sequence[float], progress: Progress | None = None) -> LossCurve:
        """Return the sampled, hence uncertified, loss-budget curve."""
        losses: list[float] = []
        channels: list[FactorisedChannel] = []
        for i, epsilon in enumerate(grid):
            if progress is not None:
                progress(i / len(grid), f"Sampling a group of {len(self.columns)} attributes at epsilon {epsilon:g}")
            channels.append(self.channel(epsilon))
            losses.append(self.loss(channels[-1]))
        best = np.minimum.accumulate(losses)
        attained = [int(np.argmin(losses[: i + 1])) for i in range(len(losses))]
        return LossCurve(
            epsilons=np.array(grid),
            upper=best,
            lower=best,
            channels=tuple(channels[i] for i in attained),
            certified=False,
            mechanism="factorised",
        )


COMPARED: Final = (
    ("EM", "none"),
    ("calibrated EM", "none"),
    ("line noise", "none"),
    ("EM", "distance"),
    ("EM", "task"),
)
"""Noise and remapping shown side by side with OPT and the constant."""


def compare_channels(
    profile: GroupProfile, epsilon: float, *, optimise: bool, progress: Progress | None = None
) -> tuple[Channel, ...]:
    """Return the certified channels of all mechanisms on one group at one budget, predefined noise first.

    Line noise is left out where the metric is not a line; OPT is the last but one, the constant the last.
    """
    found = [build_channel(noise, profile.problem, epsilon, remap=remap) for noise, remap in COMPARED]
    channels = list({c.mechanism: c for c in found}.values())
    if optimise and epsilon >= limits.EPSILON.low:
        channels.append(solve_optimal_channel_of(profile, epsilon, FINAL_TOLERANCE, progress=progress).channel)
    return (*channels, build_channel("constant", profile.problem, epsilon))
