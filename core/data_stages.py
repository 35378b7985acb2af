"""Stages 1 and 2: records, dependence, groups, task, group losses, surrogate, each remembered by what it reads."""

import time
from collections.abc import Callable, Hashable, Sequence
from functools import cached_property
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from core.dependence import (
    NoiseFloor,
    Staircase,
    build_staircase,
    compute_adjusted_nmi,
    compute_nmi,
    estimate_noise_floor,
)
from core.domain import GroupDomain, Records, build_group_domain, build_records
from core.profile import GroupProfile, profile_group
from core.scenario import Scenario
from core.surrogate import Surrogate, fit_surrogate
from core.table import Table
from core.tasks import Task, check_informative, fit_task

Progress = Callable[[float, str], None]
T = TypeVar("T")
Remember = Callable[[Hashable, Callable[[], Any]], Any]

_ROUGH_PERMUTATIONS: Final = 4


def forget(_key: Hashable, compute: Callable[[], T]) -> T:
    """Keep nothing: the memory of a run without a cache."""
    return compute()


class DataStages:
    """A table bound to a scenario, up to what is known of its groups; parameters as for `core.pipeline.Stages`."""

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
    def rough_floor(self) -> float:
        """About the noise floor's maximum, at once: to leave room for it in a picture, not to judge a pair by."""
        rng = np.random.default_rng([self.scenario.seed, 0])
        return estimate_noise_floor(self.records.codes, rng=rng, permutations=_ROUGH_PERMUTATIONS).maximum

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
