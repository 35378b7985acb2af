"""A design whose observed domains leave out rare states, so that no domain tells of a person who is alone in one."""

from collections.abc import Callable, Hashable
from dataclasses import replace
from typing import Any

import numpy as np

from core.domain import GroupDomain, Records, project
from core.errors import InputError
from core.pipeline import Progress, Remember, Stages, forget
from core.projection import RARE
from core.scenario import Scenario
from core.table import Table


def merge_rare(domain: GroupDomain, records: Records, p: float, minimum: int = RARE) -> GroupDomain:
    """Return a domain without the states of fewer than `minimum` records; those count to the nearest state kept.

    Parameters
    ----------
    domain : GroupDomain
        An observed domain; any other is returned as it is.
    records : Records
        The coded table.
    p : float
        Exponent of the record metric.
    minimum : int
        Records that a state needs to stay.

    Raises
    ------
    InputError
        If no state has so many records.
    """
    if domain.mode != "observed" or (domain.counts >= minimum).all():
        return domain
    kept = np.flatnonzero(domain.counts >= minimum)
    attributes = [records.attributes[i] for i in domain.members]
    if kept.size == 0:
        names = ", ".join(a.name for a in attributes)
        raise InputError(
            "domain",
            f"No combination of {names:.200} is seen {minimum} times, so none is left after merging; choose all "
            "combinations of levels instead.",
        )
    fewer = replace(
        domain, states=domain.states[kept], counts=domain.counts[kept], prior=domain.prior[kept],
        distance=domain.distance[np.ix_(kept, kept)],
    )  # fmt: skip
    state_of = project(fewer, attributes, domain.states, p=p)[domain.state_of]
    counts = np.bincount(state_of, minlength=len(kept)).astype(np.int64)
    return replace(fewer, state_of=state_of, counts=counts, prior=counts / len(records))


class MergedStages(Stages):
    """The stages of a design on merged domains; nothing else differs, and nothing is remembered in common.

    Parameters
    ----------
    table, scenario, remember, progress
        As for `Stages`.
    minimum : int
        Records that a state needs to stay in an observed domain.
    """

    def __init__(
        self,
        table: Table,
        scenario: Scenario,
        *,
        remember: Remember = forget,
        progress: Progress | None = None,
        minimum: int = RARE,
    ) -> None:
        def apart(key: Hashable, compute: Callable[[], Any]) -> Any:
            return remember(("merged", minimum, key), compute)

        super().__init__(table, scenario, remember=apart, progress=progress)
        self.minimum = minimum

    def domain(self, members: tuple[int, ...]) -> GroupDomain:
        """Return the states of any set of attributes that enough records have."""
        original = super().domain(members)
        return merge_rare(original, self.records, self.scenario.p, self.minimum)

    @classmethod
    def of(cls, stages: Stages) -> "MergedStages":
        """Return the same table, scenario and memory with merged domains."""
        return cls(stages.table, stages.scenario, remember=stages._remember, progress=stages._progress)
