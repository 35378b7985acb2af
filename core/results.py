"""The result of a run: one certified mechanism and one budget per group."""

import json
import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from core.channel import Channel
from core.mechanisms.factorised import FactorisedChannel
from core.scenario import Scenario


@dataclass(frozen=True, eq=False)
class Design:
    """A certified design.

    Parameters
    ----------
    groups : tuple of tuple of str
        Attribute names per group.
    choices : tuple of str
        "OPT" or "DPN" per group.
    mechanisms : tuple of str
        Exact mechanism name per group.
    allocation : tuple of float
        Budget per group, ||allocation||_q <= epsilon.
    channels : tuple of Channel or FactorisedChannel
        The integers that would be sampled.
    losses : tuple of float
        Loss per group: exact for the integers under the fitting prior, sampled for a factorised group.
    beta : tuple of float
        Surrogate weight per group.
    certified_epsilon : float
        ||certified epsilons||_q, rounded up; never above the scenario's epsilon.
    predicted_loss : float
        beta_0 + sum_k beta_k losses_k.
    lower_bound : float
        Lower bound of the sandwich (Proposition 2) for the chosen mechanism families.
    bound_certified : bool
        Whether `lower_bound` is proven; sampled losses and factorised groups make it an estimate.
    zero_information : float
        Predicted loss of releasing a constant; nan when a group is not enumerated.
    scenario : Scenario
        Everything that was asked for.
    timings : dict of str to float
        Seconds per stage, as computed in this run.
    """

    groups: tuple[tuple[str, ...], ...]
    choices: tuple[str, ...]
    mechanisms: tuple[str, ...]
    allocation: tuple[float, ...]
    channels: tuple[Channel | FactorisedChannel, ...]
    losses: tuple[float, ...]
    beta: tuple[float, ...]
    certified_epsilon: float
    predicted_loss: float
    lower_bound: float
    bound_certified: bool
    zero_information: float
    scenario: Scenario
    timings: dict[str, float]

    @property
    def gap(self) -> float:
        """Relative distance to the lower bound, (loss - bound) / bound; absolute when the bound is 0."""
        excess = max(self.predicted_loss - self.lower_bound, 0.0)
        return excess / self.lower_bound if self.lower_bound > 0 else excess

    def to_dict(self) -> dict[str, object]:
        """Return everything but the channels' integers, ready for JSON."""
        return {
            "groups": self.groups,
            "choices": self.choices,
            "mechanisms": self.mechanisms,
            "allocation": self.allocation,
            "certified_epsilons": [c.certified_epsilon for c in self.channels],
            "losses": self.losses,
            "beta": self.beta,
            "certified_epsilon": self.certified_epsilon,
            "predicted_loss": self.predicted_loss,
            "lower_bound": self.lower_bound,
            "bound_certified": self.bound_certified,
            "relative_gap": self.gap,
            "zero_information": None if math.isnan(self.zero_information) else self.zero_information,
            "seconds": {name: round(value, 4) for name, value in self.timings.items()},
            "scenario": json.loads(self.scenario.to_json()),
        }


@dataclass(frozen=True, eq=False)
class BudgetTrack:
    """Predicted loss and allocation against the total budget.

    Parameters
    ----------
    totals : ndarray (T,)
        Total budgets, increasing.
    losses, bounds : ndarray (T,)
        Loss under the curves of the best allocation, and the sandwich's lower bound.
    epsilons : ndarray (T, K)
        Budget of every group.
    uniform : ndarray (T,)
        Loss of the equal split, read off the curves as drawn (monotone cubic through the grid).
    """

    totals: NDArray[np.float64]
    losses: NDArray[np.float64]
    bounds: NDArray[np.float64]
    epsilons: NDArray[np.float64]
    uniform: NDArray[np.float64]


METHODS: Final[dict[str, dict[str, object]]] = {
    "SPL+DPN": {"rule": "DPN", "noise": "EM", "remap": "none", "allocation": "uniform"},
    "SPL+RMP": {"rule": "DPN", "noise": "EM", "remap": "distance", "allocation": "uniform"},
    "ALC+DPN": {"rule": "DPN", "noise": "EM", "remap": "none", "allocation": "optimal"},
    "ALC+RMP": {"rule": "DPN", "noise": "EM", "remap": "distance", "allocation": "optimal"},
    "DepHDP-m": {"rule": "score", "score": "mse", "allocation": "optimal"},
    "DepHDP-r": {"rule": "score", "score": "radial", "allocation": "optimal"},
    "DepHDP tuned": {"rule": "tuned", "allocation": "optimal"},
}
"""The compared methods as changes to a scenario; DepHDP keeps the scenario's own noise and remapping."""
