"""The four stages as one lazy object, each stage remembered under a digest of exactly what it reads.

`Stages` binds a table to a scenario. A stage is computed on first use and handed to `remember`, which may keep it:
dragging the total epsilon re-allocates and nothing more, dragging tau_group recomputes only the groups that changed.
"""

import time
from collections.abc import Callable, Hashable, Sequence
from functools import cached_property
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from core.allocation import GroupBudgets, allocate_group_budgets, allocate_uniform
from core.channel import Channel
from core.curves import LossCurve, monotone_cubic, regret
from core.dependence import (
    NoiseFloor,
    Staircase,
    build_staircase,
    compute_adjusted_nmi,
    compute_nmi,
    estimate_noise_floor,
)
from core.domain import GroupDomain, Records, build_group_domain, build_records
from core.errors import CertificateError
from core.group_curves import (
    FINAL_TOLERANCE,
    FactorisedGroup,
    compare_channels,
    curve_grid,
    noise_curve,
    optimal_curve,
    refine_noise,
    solve_optimal_channel_of,
    tuned_family_curve,
)
from core.limits import EPSILON, FINE_GRID_STATES
from core.mechanisms.factorised import FactorisedChannel
from core.mechanisms.optimal import OptimalSolution
from core.metric import dual_norm, uniform_split
from core.profile import GroupProfile, profile_group
from core.results import BudgetTrack, Design
from core.scenario import Scenario
from core.surrogate import Surrogate, fit_surrogate
from core.table import Table
from core.tasks import Task, check_informative, fit_task

Progress = Callable[[float, str], None]
T = TypeVar("T")
TRACK_POINTS: Final = 40
"""Totals at which the loss against the total budget is drawn."""
Remember = Callable[[Hashable, Callable[[], Any]], Any]


def forget(_key: Hashable, compute: Callable[[], T]) -> T:
    """Keep nothing: the memory of a run without a cache."""
    return compute()


class Stages:
    """A table bound to a scenario: every stage of the design, computed when asked for.

    Parameters
    ----------
    table : Table
        The table to protect.
    scenario : Scenario
        Every knob.
    remember : callable (key, compute) -> result
        Keeps results between runs; keys are hashable and depend on content only.
    progress : callable (fraction, sentence) or None
        Told what is being done; it may raise to stop.
    """

    def __init__(
        self, table: Table, scenario: Scenario, *, remember: Remember = forget, progress: Progress | None = None
    ) -> None:
        self.table = table
        self.scenario = scenario
        self.timings: dict[str, float] = {}
        self._remember = remember
        self._progress = progress or (lambda _fraction, _sentence: None)

    def _stage(self, name: str, key: Sequence[Hashable], compute: Callable[[], T]) -> T:
        def timed() -> T:
            start = time.perf_counter()
            result = compute()
            self.timings[name] = self.timings.get(name, 0.0) + time.perf_counter() - start
            return result

        result: T = self._remember((name, *key), timed)
        return result

    def _each(self, what: str, items: Sequence[Any], compute: Callable[[Any], T]) -> tuple[T, ...]:
        """Compute item by item, telling the progress between them."""
        results: list[T] = []
        for i, item in enumerate(items):
            self._progress(i / max(len(items), 1), f"{what} group {i + 1} of {len(items)}")
            results.append(compute(item))
        return tuple(results)

    # ---- stage 1: records, dependence, groups ----

    @cached_property
    def _data_key(self) -> tuple[Hashable, ...]:
        return (self.table.digest, self.scenario.digest("attributes", "target", "domain"))

    @cached_property
    def records(self) -> Records:
        """The coded table."""
        return self._stage("records", self._data_key, lambda: build_records(self.table, self.scenario))

    @cached_property
    def nmi(self) -> NDArray[np.float64]:
        """Normalised mutual information of all pairs (adjusted for chance if the scenario asks for it)."""
        corrected = self.scenario.corrected_nmi
        measure = compute_adjusted_nmi if corrected else compute_nmi
        return self._stage("nmi", (*self._data_key, corrected), lambda: measure(self.records.codes))

    @cached_property
    def noise_floor(self) -> NoiseFloor:
        """What NMI independent attributes would show by chance."""
        seed = self.scenario.seed
        return self._stage(
            "noise floor",
            (*self._data_key, seed),
            lambda: estimate_noise_floor(self.records.codes, rng=np.random.default_rng([seed, 0])),
        )

    @cached_property
    def staircase(self) -> Staircase:
        """Number of groups against tau_group, exact."""
        return build_staircase(self.nmi)

    @cached_property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """Attribute positions per group, in order of the smallest."""
        return self.staircase.groups(self.scenario.tau_group)

    @cached_property
    def group_names(self) -> tuple[tuple[str, ...], ...]:
        """Attribute names per group."""
        return tuple(tuple(self.records.attributes[i].name for i in members) for members in self.groups)

    # ---- stage 2: task, group losses, surrogate ----

    @cached_property
    def task(self) -> Task:
        """The fitted task; refused when it tells nothing about this table."""

        def fit() -> Task:
            task = fit_task(self.scenario.task, self.records)
            check_informative(task, self.records)
            return task

        return self._stage("task", (*self._data_key, self.scenario.task), fit)

    def domain(self, members: tuple[int, ...]) -> GroupDomain:
        """Return the states of any set of attributes."""
        s = self.scenario
        return self._stage(
            "domains",
            (*self._data_key, members, s.p),
            lambda: build_group_domain(self.records, members, p=s.p, mode=s.domain),
        )

    def _profile_key(self, members: tuple[int, ...]) -> tuple[Hashable, ...]:
        return (*self._data_key, members, self.scenario.digest("p", "task", "contexts", "seed"))

    def profile(self, members: tuple[int, ...]) -> GroupProfile:
        """Return domain, loss and scores of any set of attributes."""
        return self._stage(
            "group losses",
            self._profile_key(members),
            lambda: profile_group(self.records, self.domain(members), self.task, self.scenario),
        )

    @cached_property
    def profiles(self) -> tuple[GroupProfile, ...]:
        """Profiles of the groups."""
        return self._each("Profiling the loss of", self.groups, self.profile)

    @cached_property
    def single_profiles(self) -> tuple[GroupProfile, ...]:
        """Profiles of every attribute on its own (the paper's Fig. 1)."""
        return self._each("Profiling the loss of", [(i,) for i in range(len(self.records.attributes))], self.profile)

    @cached_property
    def surrogate(self) -> Surrogate:
        """End-to-end loss as a weighted sum of group losses, fitted and checked on held-out pairs."""
        seed = self.scenario.seed
        return self._stage(
            "surrogate",
            (*self._data_key, self.groups, self.scenario.task, seed),
            lambda: fit_surrogate(
                self.task,
                self.records,
                [self.domain(members) for members in self.groups],
                rng=np.random.default_rng([seed, 3]),
            ),
        )

    @cached_property
    def zero_information(self) -> float:
        """Predicted loss of releasing a constant in every group; nan when a group is not enumerated."""
        return self._total([p.zero_information for p in self.profiles])

    def _total(self, losses: Sequence[float]) -> float:
        return float(self.surrogate.intercept + np.dot(self.surrogate.beta, losses))

    # ---- stage 3: choosing between noise and the optimised channel ----

    @cached_property
    def tau_dpn(self) -> float:
        """The score threshold: the scenario's, or else the task's own."""
        return self.task.tau_dpn if self.scenario.tau_dpn is None else self.scenario.tau_dpn

    def affordable(self, profile: GroupProfile) -> bool:
        """Return whether a group may be optimised at all: enumerated, with at most tau_dim states."""
        return profile.domain.enumerated and profile.domain.size <= self.scenario.tau_dim

    @cached_property
    def choices(self) -> tuple[str, ...]:
        """Return "OPT" or "DPN" per group, by the scenario's rule."""
        rule, kind = self.scenario.rule, self.scenario.score
        if rule == "tuned":
            return tuple("OPT" if c.mechanism == "OPT" else "DPN" for c in self.channels)
        if rule == "regret":
            wanted = [r > self.scenario.tau_regret for r in self.regrets]
        else:
            wanted = [rule == "OPT" or (rule == "score" and p.score(kind) <= self.tau_dpn) for p in self.profiles]
        pairs = zip(self.profiles, wanted, strict=True)
        return tuple("OPT" if optimise and self.affordable(profile) else "DPN" for profile, optimise in pairs)

    @cached_property
    def regrets(self) -> tuple[float, ...]:
        """Fraction of the noise's loss that OPT saves at the group's budget when every group uses noise.

        nan where the group may not be optimised.
        """
        budgets = self._allocate([self.noise_curve(p) for p in self.profiles]).epsilons
        return tuple(
            regret(self.noise_curve(p), self.optimal_curve(p), float(e)) if self.affordable(p) else float("nan")
            for p, e in zip(self.profiles, budgets, strict=True)
        )

    def compare(self, k: int) -> tuple[Channel, ...]:
        """Return every mechanism's certified channel on group `k` at the group's allocated budget."""
        profile, epsilon = self.profiles[k], float(self.budgets.epsilons[k])
        optimise = self.affordable(profile)
        return self._stage(
            "comparison",
            (*self._profile_key(profile.domain.members), epsilon, optimise),
            lambda: compare_channels(profile, epsilon, optimise=optimise, progress=self._progress),
        )

    def saving(self, k: int) -> float:
        """Return the regret of noise on group `k` at its allocated budget; nan where it may not be optimised."""
        profile = self.profiles[k]
        if not self.affordable(profile):
            return float("nan")
        return regret(self.noise_curve(profile), self.optimal_curve(profile), float(self.budgets.epsilons[k]))

    # ---- stage 4: loss-budget curves, allocation, channels, certificate ----

    def grid(self, profile: GroupProfile) -> tuple[float, ...]:
        """Return the budgets at which a group's curves are solved."""
        return curve_grid(self.scenario.epsilon, profile.domain.size)

    def optimal_curve(self, profile: GroupProfile) -> LossCurve:
        """Return the certified bracket of the optimised channel's loss over the grid."""
        key = (*self._profile_key(profile.domain.members), self.grid(profile))
        return self._stage("optimal curves", key, lambda: optimal_curve(profile, self.grid(profile), self._progress))

    def noise_curve(self, profile: GroupProfile) -> LossCurve:
        """Return the loss of the scenario's noise over the grid (sampled for a huge group)."""
        s, grid = self.scenario, self.grid(profile)
        key = (*self._profile_key(profile.domain.members), grid, s.noise, s.remap)
        if not profile.domain.enumerated:
            return self._stage("noise curves", key, lambda: self._huge(profile).curve(grid, self._progress))
        curve = self._stage("noise curves", key, lambda: noise_curve(profile, grid, noise=s.noise, remap=s.remap))
        if s.allocation != "uniform" and profile.domain.size > FINE_GRID_STATES:
            return curve
        # Noise is a step function of grid budgets, so the equal split needs its own budget to be judged fairly.
        share = uniform_split(s.epsilon, len(self.groups), s.p)
        return self._stage(
            "equal split", (*key, share), lambda: refine_noise(profile, curve, share, noise=s.noise, remap=s.remap)
        )

    def _huge(self, profile: GroupProfile) -> FactorisedGroup:
        return FactorisedGroup(profile, self.records, self.task, self.scenario)

    def _tuned_curve(self, profile: GroupProfile) -> LossCurve:
        if not profile.domain.enumerated:
            return self.noise_curve(profile)
        optimise = self.affordable(profile)
        grid = self.grid(profile)
        key = (*self._profile_key(profile.domain.members), grid, optimise)
        return self._stage(
            "tuned curves",
            key,
            lambda: tuned_family_curve(profile, grid, optimise=optimise, progress=self._progress),
        )

    @cached_property
    def curves(self) -> tuple[LossCurve, ...]:
        """The chosen family's loss-budget curve per group."""
        if self.scenario.rule == "tuned":
            return self._each("Comparing mechanisms for", self.profiles, self._tuned_curve)
        pairs = list(zip(self.profiles, self.choices, strict=True))
        return self._each(
            "Solving the curve of",
            pairs,
            lambda pair: self.optimal_curve(pair[0]) if pair[1] == "OPT" else self.noise_curve(pair[0]),
        )

    def _allocate(self, curves: Sequence[LossCurve]) -> GroupBudgets:
        s, surrogate = self.scenario, self.surrogate
        return allocate_group_budgets(
            curves, surrogate.beta, surrogate.intercept, s.epsilon, s.p, uniform=s.allocation == "uniform"
        )

    @cached_property
    def budgets(self) -> GroupBudgets:
        """Budget per group under the scenario's allocation, with the sandwich bound."""
        return self._allocate(self.curves)

    @cached_property
    def uniform_loss(self) -> float:
        """Predicted loss of the same mechanisms under the equal split, from channels built at those budgets."""
        if self.scenario.allocation == "uniform":
            return self.design.predicted_loss
        scenario = self.scenario.replace(allocation="uniform")
        return Stages(self.table, scenario, remember=self._remember, progress=self._progress).design.predicted_loss

    @cached_property
    def track(self) -> BudgetTrack:
        """What every total on the grid would give: the answer under a hand that drags epsilon.

        It does not read the scenario's epsilon, so a drag finds it remembered.
        """
        s, surrogate = self.scenario, self.surrogate
        highest = curve_grid(s.epsilon, 1)[-1]
        totals = np.linspace(highest / TRACK_POINTS, highest, TRACK_POINTS)

        def compute() -> BudgetTrack:
            found = []
            for i, total in enumerate(totals):
                self._progress(i / TRACK_POINTS, f"Allocating epsilon {total:.3g}")
                found.append(
                    allocate_group_budgets(self.curves, surrogate.beta, surrogate.intercept, float(total), s.p)
                )
            drawn = [monotone_cubic(c.epsilons, c.upper, c.derivative) for c in self.curves]
            shares = [float(allocate_uniform(len(self.curves), float(t), s.p).epsilons[0]) for t in totals]
            equal = [self._total([float(curve(e)) for curve in drawn]) for e in shares]
            return BudgetTrack(
                totals,
                np.array([b.loss for b in found]),
                np.array([b.lower_bound for b in found]),
                np.array([b.epsilons for b in found]),
                np.array(equal),
            )

        families = tuple((c.mechanism, float(c.upper[-1])) for c in self.curves)
        key = (*self._data_key, self.groups, families, highest, s.digest("p", "task", "contexts", "seed"))
        return self._stage("track", (*key, s.noise, s.remap), compute)

    @cached_property
    def channels(self) -> tuple[Channel | FactorisedChannel, ...]:
        """The certified channel of every group at its allocated budget."""
        items = list(zip(self.profiles, self.curves, self.budgets.epsilons, strict=True))
        return self._each("Building the channel of", items, lambda item: self._channel(*item))

    def _channel(self, profile: GroupProfile, curve: LossCurve, epsilon: float) -> Channel | FactorisedChannel:
        """Return the grid's channel for noise; solve OPT at the allocated budget and keep the better of the two."""
        epsilon = float(epsilon)
        fallback = curve.channel_at(epsilon)
        tuned = curve.mechanism == "tuned" and self.affordable(profile)
        if not isinstance(fallback, Channel) or epsilon < EPSILON.low or not (tuned or curve.mechanism == "OPT"):
            return fallback
        key = (*self._profile_key(profile.domain.members), curve.mechanism, epsilon)
        solution: OptimalSolution = self._stage(
            "channels",
            key,
            lambda: solve_optimal_channel_of(profile, epsilon, FINAL_TOLERANCE, progress=self._progress),
        )
        return min(solution.channel, fallback, key=lambda c: c.expected_loss)

    @cached_property
    def group_losses(self) -> tuple[float, ...]:
        """Loss of every group's channel: exact for integers on states, sampled for a factorised group."""
        return tuple(
            self._huge(p).loss(c) if isinstance(c, FactorisedChannel) else c.expected_loss
            for p, c in zip(self.profiles, self.channels, strict=True)
        )

    @cached_property
    def design(self) -> Design:
        """The certified design.

        Raises
        ------
        CertificateError
            If the dual norm of the certified epsilons exceeds the total; nothing is released then.
        """
        s = self.scenario
        certified = dual_norm([c.certified_epsilon for c in self.channels], s.p)
        if not certified <= s.epsilon:
            raise CertificateError(
                f"The design certifies epsilon {certified:.17g}, above the {s.epsilon:g} asked for; it is refused."
            )
        return Design(
            groups=self.group_names,
            choices=self.choices,
            mechanisms=tuple(c.mechanism for c in self.channels),
            allocation=tuple(float(e) for e in self.budgets.epsilons),
            channels=self.channels,
            losses=self.group_losses,
            beta=tuple(float(b) for b in self.surrogate.beta),
            certified_epsilon=certified,
            predicted_loss=self._total(self.group_losses),
            lower_bound=self.budgets.lower_bound,
            bound_certified=all(p.loss is not None and p.loss.exhaustive for p in self.profiles),
            zero_information=self.zero_information,
            scenario=s,
            timings=dict(self.timings),
        )


def design(table: Table, scenario: Scenario, progress: Progress | None = None) -> Design:
    """Design a certified mechanism for `table`: group, profile, choose, allocate, certify.

    Parameters
    ----------
    table : Table
        From `read_table` or `load_sample`.
    scenario : Scenario
        Every knob.
    progress : callable (fraction, sentence), optional
        Told what is being done; it may raise to stop.

    Raises
    ------
    InputError
        If the table or the scenario cannot be used as asked.
    """
    return Stages(table, scenario, progress=progress).design
