"""Tiers of a record on one group: every tier's loss beside that of a separately optimised channel."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from core.errors import InputError
from core.group_curves import FINAL_TOLERANCE, solve_optimal_channel_of
from core.profile import GroupProfile
from core.tiers.budgets import clean_budgets
from core.tiers.record import STATES, RecordTiers, record_coalition_epsilon, solve_record_tiers

COALITION: Final = 3
"""Tiers whose joint law is enumerated, the best-informed first."""


@dataclass(frozen=True, eq=False)
class RecordStudy:
    """One group's channel at several budgets.

    Parameters
    ----------
    tiers : RecordTiers
        The chain: every tier a post-processing of the one before, certified on products of integers.
    optimal : tuple of float (m,)
        Expected loss of the channel optimised for each budget alone, which protects against no collusion.
    together : float
        Smallest epsilon of what the first `COALITION` tiers say together, from the exact joint law.
    members : int
        How many tiers that is.
    """

    tiers: RecordTiers
    optimal: tuple[float, ...]
    together: float
    members: int

    @property
    def worst(self) -> float:
        """Largest ratio of a tier's loss to the separately optimal one; 1 where both are 0."""
        pairs = zip(self.tiers.losses, self.optimal, strict=True)
        return max((tier / alone if alone > 0 else 1.0) for tier, alone in pairs)


def study_record_tiers(
    profile: GroupProfile, budgets: Sequence[float], progress: Callable[[float, str], None] | None = None
) -> RecordStudy:
    """Solve the chain of one group over a privacy list, and each budget alone for comparison.

    Raises
    ------
    InputError
        If the group has more states than the chain's programme takes, or the budgets are no privacy list.
    """
    if not profile.domain.enumerated or profile.domain.size > STATES.high:
        raise InputError(
            "The group", f"Tiers of a record need a group of at most {STATES.high:g} states, not "
            f"{profile.domain.size:,}; choose a smaller group.",
        )  # fmt: skip
    values = clean_budgets(budgets).values
    alone = []
    for i, epsilon in enumerate(values):
        if progress is not None:
            progress(i / (2 * len(values)), f"Optimising for epsilon {epsilon:g} alone")
        alone.append(solve_optimal_channel_of(profile, epsilon, FINAL_TOLERANCE, progress=progress).channel)
    problem = profile.problem
    tiers = solve_record_tiers(
        np.asarray(alone[0].weights), problem.distance, problem.prior, problem.loss, values, progress=progress
    )
    members = min(COALITION, len(values))
    return RecordStudy(
        tiers, tuple(c.expected_loss for c in alone), record_coalition_epsilon(tiers, range(members)), members
    )
