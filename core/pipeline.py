"""The four stages as one lazy object, each stage remembered under a digest of exactly what it reads.

`Stages` binds a table to a scenario. A stage is computed on first use and handed to `remember`, which may keep it:
dragging the total epsilon re-allocates and nothing more, dragging tau_group recomputes only the groups that changed.
"""

from collections.abc import Hashable, Sequence
from functools import cached_property
from typing import Final

import numpy as np

from core.allocation import GroupBudgets, allocate_group_budgets, allocate_uniform
from core.channel import Channel
from core.curve_stages import CurveStages
from core.curves import LossCurve, refine, regret
from core.data_stages import Progress, Remember, forget
from core.errors import CertificateError
from core.group_curves import (
    CURVE_TOLERANCE,
    FINAL_TOLERANCE,
    compare_channels,
    curve_grid,
    solve_optimal_channel_of,
)
from core.limits import EPSILON
from core.mechanisms import build_channel
from core.mechanisms.factorised import FactorisedChannel
from core.metric import dual_norm
from core.profile import GroupProfile
from core.refinement import Refinement, RefinementProblem, refine_curves
from core.results import BudgetTrack, Design
from core.scenario import Scenario
from core.table import Table

__all__ = ["Progress", "Remember", "Stages", "design", "forget"]

TRACK_POINTS: Final = 40
"""Totals at which the loss against the total budget is drawn."""
REFINED_SECONDS: Final = 3.0
"""Estimated seconds per budget up to which an optimised group's curve is refined."""


class Stages(CurveStages):
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

    # ---- stage 3: choosing between noise and the optimised channel ----

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
        self._solve_ahead([p for p in self.profiles if self.affordable(p)])
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

    # ---- stage 4: allocation, channels, certificate ----

    @property
    def optimised(self) -> tuple[GroupProfile, ...]:
        """The groups whose optimised curve the grid curves are made of."""
        if self.scenario.rule == "tuned":
            return tuple(p for p in self.profiles if self.tunable(p))
        return tuple(p for p, choice in zip(self.profiles, self.choices, strict=True) if choice == "OPT")

    @cached_property
    def grid_curves(self) -> tuple[LossCurve, ...]:
        """The chosen family's loss-budget curve per group, on the grid that all totals share."""
        self._solve_ahead(self.optimised)
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

    @property
    def refines(self) -> bool:
        """Whether budgets are added where the allocation looks; the equal split looks at one budget only."""
        return self.scenario.refine and self.scenario.allocation != "uniform"

    @cached_property
    def refinement(self) -> Refinement:
        """Curves with more budgets around the allocation, as far as they are worth building."""

        def compute() -> Refinement:
            s, surrogate = self.scenario, self.surrogate
            return refine_curves(
                self.grid_curves,
                surrogate.beta,
                RefinementProblem(surrogate.intercept, s.epsilon, s.p, self._dear_groups()),
                allocate=self._allocate,
                refine=self._with_budget,
                progress=self._progress,
            )

        return self._stage("refinement", self._allocation_key, compute)

    def _dear_groups(self) -> frozenset[int]:
        """Return the groups whose optimised channel takes longer than anybody waits for one per cent."""
        solved = [k for k, curve in enumerate(self.grid_curves) if curve.certified and not curve.stepwise]
        return frozenset(k for k in solved if self._solve_seconds(self.profiles[k]) > REFINED_SECONDS)

    @cached_property
    def _allocation_key(self) -> tuple[Hashable, ...]:
        """What an allocation reads: the curves, whichever thresholds led to them, and the total."""
        families = tuple((c.mechanism, c.stepwise, float(c.upper[-1])) for c in self.grid_curves)
        knobs = self.scenario.digest("epsilon", "p", "task", "contexts", "seed", "noise", "remap", "allocation")
        return (*self._data_key, self.groups, families, knobs)

    def _with_budget(self, k: int, curve: LossCurve, epsilon: float) -> LossCurve:
        """Return group k's curve with one more budget; a step function stays one."""
        profile = self.profiles[k]
        if not curve.stepwise:
            return refine(
                curve, epsilon, lambda e, _hint: self._solve(profile, e, CURVE_TOLERANCE), certified_lower=True
            )
        s, tuned = self.scenario, curve.mechanism == "tuned"
        families = self._tuned_families(profile) if tuned else ((s.noise, s.remap),)
        key = (*self._profile_key(profile.domain.members), families, epsilon)

        def build(e: float, _hint: Channel | None) -> Channel:
            built = (build_channel(noise, profile.problem, e, remap=remap) for noise, remap in families)
            return min(built, key=lambda channel: channel.expected_loss)

        channel = self._stage("refined channels", key, lambda: build(epsilon, None))
        return refine(curve, epsilon, lambda _e, _hint: channel)

    def _solve(self, profile: GroupProfile, epsilon: float, tolerance: float) -> Channel:
        """Return the optimised channel at one budget, solved once."""
        key = (*self._profile_key(profile.domain.members), epsilon, tolerance)
        return self._stage(
            "channels", key, lambda: solve_optimal_channel_of(profile, epsilon, tolerance, progress=self._progress)
        ).channel

    @cached_property
    def curves(self) -> tuple[LossCurve, ...]:
        """The chosen family's loss-budget curve per group, refined if the scenario asks for it."""
        return self.refinement.curves if self.refines else self.grid_curves

    @cached_property
    def budgets(self) -> GroupBudgets:
        """Budget per group under the scenario's allocation, with the bound on any other."""
        if self.refines:
            return self.refinement.budgets
        return self._stage("allocation", self._allocation_key, lambda: self._allocate(self.grid_curves))

    @property
    def draft(self) -> "Stages":
        """The same stages before refinement: what can be shown at once while a budget is dragged."""
        plain = self.scenario.replace(refine=False)
        return (
            self
            if plain == self.scenario
            else Stages(self.table, plain, remember=self._remember, progress=self._progress)
        )

    @cached_property
    def uniform_loss(self) -> float:
        """Predicted loss of the same mechanisms under the equal split, from channels built at those budgets."""
        share = self._share
        channels = [
            self._channel(profile, self._equal_curve(profile, curve), share)
            for profile, curve in zip(self.profiles, self.grid_curves, strict=True)
        ]
        return self._total([self._loss(p, c) for p, c in zip(self.profiles, channels, strict=True)])

    def _equal_curve(self, profile: GroupProfile, curve: LossCurve) -> LossCurve:
        """Return a curve whose noise was built at the equal split too."""
        noise = curve.stepwise and curve.mechanism != "tuned" and profile.domain.enumerated
        s = self.scenario
        return self._family_curve(profile, s.noise, s.remap, equal_split=True) if noise else curve

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
                    allocate_group_budgets(self.grid_curves, surrogate.beta, surrogate.intercept, float(total), s.p)
                )
            drawn = [curve.smooth for curve in self.grid_curves]
            shares = [float(allocate_uniform(len(drawn), float(t), s.p).epsilons[0]) for t in totals]
            equal = [self._total([float(curve(e)) for curve in drawn]) for e in shares]
            return BudgetTrack(
                totals,
                np.array([b.loss for b in found]),
                np.array([b.lower_bound for b in found]),
                np.array([b.epsilons for b in found]),
                np.array(equal),
            )

        families = tuple((c.mechanism, float(c.upper[-1])) for c in self.grid_curves)
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
        tuned = curve.mechanism == "tuned" and self.tunable(profile)
        if not isinstance(fallback, Channel) or epsilon < EPSILON.low or not (tuned or curve.mechanism == "OPT"):
            return fallback
        return min(self._solve(profile, epsilon, FINAL_TOLERANCE), fallback, key=lambda c: c.expected_loss)

    @cached_property
    def group_losses(self) -> tuple[float, ...]:
        """Loss of every group's channel: exact for integers on states, sampled for a factorised group."""
        return tuple(self._loss(p, c) for p, c in zip(self.profiles, self.channels, strict=True))

    def _loss(self, profile: GroupProfile, channel: Channel | FactorisedChannel) -> float:
        return self._huge(profile).loss(channel) if isinstance(channel, FactorisedChannel) else channel.expected_loss

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
