"""What stages 2 and 3 know about one group: states, loss, scores, and what the solver may exploit."""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from core.adequacy import QuadraticFit, RadialFit, fit_mse, fit_radial
from core.domain import GroupDomain, Records
from core.errors import InputError
from core.losses import GroupLoss, group_loss
from core.mechanisms import Problem
from core.mechanisms.constant import zero_information_loss
from core.metric import record_distance
from core.scenario import Scenario
from core.solver.reductions import Structure, build_structure
from core.tasks import Task

SAMPLED_PAIRS: Final = 4000
"""Pairs of records that judge a group too large to enumerate."""


@dataclass(frozen=True, eq=False)
class GroupProfile:
    """Domain, loss and scores of one group.

    Parameters
    ----------
    domain : GroupDomain
        Its states, prior and distances.
    structure : Structure or None
        What the solver may exploit; None when the domain is not enumerated.
    loss : GroupLoss or None
        c_k on the states; None when the domain is not enumerated.
    pair_distance, pair_loss : ndarray
        Distance and loss of the judged pairs: all ordered pairs of states, or sampled pairs of records.
    radial : RadialFit
        Isotonic fit of loss on distance, and its score.
    quadratic : QuadraticFit
        Fit a d^2 + b, and its score.
    zero_information : float
        Loss of the best constant release, min_y sum_x prior_x c[x, y]; nan when the domain is not enumerated.
    """

    domain: GroupDomain
    structure: Structure | None
    loss: GroupLoss | None
    pair_distance: NDArray[np.float64]
    pair_loss: NDArray[np.float64]
    radial: RadialFit
    quadratic: QuadraticFit
    zero_information: float

    @property
    def problem(self) -> Problem:
        """The inputs of every mechanism on this group.

        Raises
        ------
        InputError
            If the domain is not enumerated.
        """
        if self.loss is None:
            raise InputError(
                "group",
                f"A group of {self.domain.product:,} states has no channel on its joint states; raise the grouping "
                "threshold (tau_group) or use fewer bins.",
            )
        return Problem(self.domain.distance, self.domain.prior, self.loss.matrix)

    def score(self, kind: str) -> float:
        """Return the adequacy score of the given kind, 'radial' or 'mse'."""
        return self.radial.score if kind == "radial" else self.quadratic.score


def profile_group(records: Records, domain: GroupDomain, task: Task, scenario: Scenario) -> GroupProfile:
    """Profile one group: exact or estimated losses on its states, or sampled pairs where they are not enumerated."""
    if not domain.enumerated:
        return _profile_huge(records, domain, task, scenario)
    rng = np.random.default_rng([scenario.seed, 1])
    loss = group_loss(task, records, domain, contexts=scenario.contexts, rng=rng)
    return GroupProfile(
        domain=domain,
        structure=build_structure(domain, records.attributes, scenario.p),
        loss=loss,
        pair_distance=domain.distance.ravel(),
        pair_loss=loss.matrix.ravel(),
        radial=fit_radial(domain.distance, loss.matrix),
        quadratic=fit_mse(domain.distance, loss.matrix),
        zero_information=zero_information_loss(domain.prior, loss.matrix),
    )


def _profile_huge(records: Records, domain: GroupDomain, task: Task, scenario: Scenario) -> GroupProfile:
    """Judge a group that is not enumerated on pairs of records that differ in this group alone."""
    codes, columns = records.codes, list(domain.members)
    rng = np.random.default_rng([scenario.seed, 2])
    left = codes[rng.integers(len(codes), size=SAMPLED_PAIRS)]
    right = left.copy()
    right[:, columns] = codes[rng.integers(len(codes), size=SAMPLED_PAIRS)][:, columns]
    attributes = tuple(records.attributes[i] for i in domain.members)
    distance = record_distance(left[:, columns], right[:, columns], attributes, scenario.p)
    loss = task.loss(left, right)
    return GroupProfile(
        domain=domain,
        structure=None,
        loss=None,
        pair_distance=distance,
        pair_loss=loss,
        radial=fit_radial(distance, loss),
        quadratic=fit_mse(distance, loss),
        zero_information=float("nan"),
    )
