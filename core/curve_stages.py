"""Stage 4 up to the curves: what every family of mechanisms loses on a group at every budget, each solved once."""

import time
from collections.abc import Hashable, Iterable
from functools import cached_property
from typing import Final

from threadpoolctl import threadpool_limits

from core.curves import LossCurve, tuned_curve
from core.data_stages import DataStages
from core.group_curves import (
    BASELINE_NOISE,
    QUICK_SECONDS,
    TUNED_FAMILIES,
    FactorisedGroup,
    curve_grid,
    estimate_solve_seconds,
    noise_channels,
    noise_curve,
    optimal_curve,
    refine_noise,
)
from core.limits import FINE_GRID_STATES
from core.mechanisms.geometric import line_order
from core.metric import uniform_split
from core.parallel_curves import CurveTask, solve_ahead
from core.profile import GroupProfile

DEAR_SECONDS: Final = 0.5
"""Estimated seconds per budget above which an optimised group of many states begins with a handful of budgets."""
OPTIMAL_CURVES: Final = "optimal curves"
"""First word of the keys under which optimised curves are kept."""


class CurveStages(DataStages):
    """A table bound to a scenario, up to its groups' curves; parameters as for `core.pipeline.Stages`."""

    @cached_property
    def tau_dpn(self) -> float:
        """The score threshold: the scenario's, or else the task's own."""
        return self.task.tau_dpn if self.scenario.tau_dpn is None else self.scenario.tau_dpn

    def affordable(self, profile: GroupProfile) -> bool:
        """Return whether a group may be optimised at all: enumerated, with at most tau_dim states."""
        return profile.domain.enumerated and profile.domain.size <= self.scenario.tau_dim

    def grid(self, profile: GroupProfile) -> tuple[float, ...]:
        """Return the budgets at which a group's curves are solved."""
        return curve_grid(self.scenario.epsilon, profile.domain.size)

    def optimal_curve(self, profile: GroupProfile) -> LossCurve:
        """Return the certified bracket of the optimised channel's loss over the grid; few budgets where each is dear.

        Refinement adds those that the allocation needs.
        """
        grid, key = self._optimal_grid(profile), self._optimal_key(profile)

        def compute() -> LossCurve:
            found = self._solved_ahead.get(key)
            if found is not None:
                return found
            # One thread of linear algebra, as for curves that are solved side by side: sums round alike.
            with threadpool_limits(1):
                return optimal_curve(profile, grid, self._progress)

        return self._stage(OPTIMAL_CURVES, key, compute)

    def _optimal_grid(self, profile: GroupProfile) -> tuple[float, ...]:
        first = profile.domain.size > FINE_GRID_STATES and self._solve_seconds(profile) > DEAR_SECONDS
        return curve_grid(self.scenario.epsilon, profile.domain.size, first=True) if first else self.grid(profile)

    def _optimal_key(self, profile: GroupProfile) -> tuple[Hashable, ...]:
        return (*self._profile_key(profile.domain.members), self._optimal_grid(profile))

    def curve_tasks(self, profiles: Iterable[GroupProfile]) -> tuple[CurveTask, ...]:
        """Return what has to be solved for the optimised curves of these groups, under the keys they are kept under."""
        grids = [(profile, self._optimal_grid(profile)) for profile in profiles]
        return tuple(
            CurveTask(p, g, (OPTIMAL_CURVES, *self._optimal_key(p)), self._solve_seconds(p) * len(g)) for p, g in grids
        )

    def _solve_ahead(self, profiles: Iterable[GroupProfile]) -> None:
        """Solve optimised curves side by side where that is worth it; `optimal_curve` then finds them."""

        def keep(task: CurveTask, curve: LossCurve, _seconds: float) -> None:
            assert isinstance(task.key, tuple)
            self._solved_ahead[task.key[1:]] = curve
            self.optimal_curve(task.profile)

        start = time.perf_counter()
        solve_ahead(self.curve_tasks(profiles), self._remember, keep, self._progress)
        if self._solved_ahead:
            self.timings[OPTIMAL_CURVES] = self.timings.get(OPTIMAL_CURVES, 0.0) + time.perf_counter() - start

    @cached_property
    def _solved_ahead(self) -> dict[Hashable, LossCurve]:
        return {}

    def noise_curve(self, profile: GroupProfile) -> LossCurve:
        """Return the loss of the scenario's noise over the grid (sampled for a huge group)."""
        s, grid = self.scenario, self.grid(profile)
        if not profile.domain.enumerated:
            key = (*self._profile_key(profile.domain.members), grid, s.noise, s.remap)
            return self._stage("noise curves", key, lambda: self._huge(profile).curve(grid, self._progress))
        fine = s.allocation == "uniform" or profile.domain.size <= FINE_GRID_STATES
        return self._family_curve(profile, s.noise, s.remap, equal_split=fine)

    def _family_curve(self, profile: GroupProfile, noise: str, remap: str, *, equal_split: bool) -> LossCurve:
        """Return the curve of one family; every remapping of one noise starts from the same channels.

        Noise is a step function of grid budgets, so the equal split needs its own budget to be judged fairly.
        """
        grid = self.grid(profile)
        group = (*self._profile_key(profile.domain.members), grid, noise)
        key = (*group, remap)

        def compute() -> LossCurve:
            plain = self._stage("noise channels", group, lambda: noise_channels(profile, grid, noise, self._progress))
            return noise_curve(profile, grid, plain, noise=noise, remap=remap)

        curve = self._stage("noise curves", key, compute)
        if not equal_split:
            return curve
        share = self._share
        return self._stage(
            "equal split", (*key, share), lambda: refine_noise(profile, curve, share, noise=noise, remap=remap)
        )

    @cached_property
    def _share(self) -> float:
        return uniform_split(self.scenario.epsilon, len(self.groups), self.scenario.p)

    def _huge(self, profile: GroupProfile) -> FactorisedGroup:
        return FactorisedGroup(profile, self.records, self.task, self.scenario)

    def _tuned_curve(self, profile: GroupProfile) -> LossCurve:
        """Return the pointwise least loss over the tuned families, OPT among them where it is quick or wanted."""
        if not profile.domain.enumerated:
            return self.noise_curve(profile)
        families, optimise = self._tuned_families(profile), self.tunable(profile)

        def compute() -> LossCurve:
            curves = [
                self._family_curve(profile, noise, remap, equal_split=noise == BASELINE_NOISE)
                for noise, remap in families
            ]
            return tuned_curve([*curves, self.optimal_curve(profile)] if optimise else curves)

        key = (*self._profile_key(profile.domain.members), self.grid(profile), self._share, optimise)
        return self._stage("tuned curves", key, compute)

    def _tuned_families(self, profile: GroupProfile) -> tuple[tuple[str, str], ...]:
        line = line_order(profile.domain.distance) is not None
        return tuple((noise, remap) for noise, remap in TUNED_FAMILIES if line or noise != "line noise")

    def tunable(self, profile: GroupProfile) -> bool:
        """Return whether the tuned rule optimises a group: affordable, and quick or wanted by either score."""
        if not self.affordable(profile):
            return False
        if min(profile.score("radial"), profile.score("mse")) <= self.tau_dpn:
            return True
        return self._solve_seconds(profile) <= QUICK_SECONDS

    def _solve_seconds(self, profile: GroupProfile) -> float:
        key = self._profile_key(profile.domain.members)
        return self._stage("solve cost", key, lambda: estimate_solve_seconds(profile))
