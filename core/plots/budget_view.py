"""What the budget pictures draw: names, curves, shares and totals of one design."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from core.allocation import GroupBudgets
from core.curves import LossCurve
from core.refinement import Refinement
from core.results import BudgetTrack, Design

Floats = NDArray[np.float64]
_DIGITS: Final = 9
"""Decimals to which mean shares are compared."""


@dataclass(frozen=True, eq=False)
class BudgetView:
    """What the budget picture draws.

    Parameters
    ----------
    names : tuple of str
        Short label per group.
    choices : tuple of str
        "OPT" or "DPN" per group.
    curves : tuple of LossCurve
        The chosen family's curve per group.
    beta : tuple of float
        Surrogate weight per group; curves are drawn as beta_k L_k, so that they add up.
    intercept : float
        beta_0 of the surrogate.
    constants : tuple of float
        Zero-information loss per group, nan where unknown.
    budgets : GroupBudgets
        The allocation under the curves.
    track : BudgetTrack
        The best allocation of every total.
    design : Design
        The certified design at the scenario's total.
    uniform_loss : float
        Predicted loss of the same mechanisms under the equal split, from their channels.
    unit : str
        Unit of the loss.
    refinement : Refinement or None
        How the curves were refined; None for a draft on the common grid of budgets.
    """

    names: tuple[str, ...]
    choices: tuple[str, ...]
    curves: tuple[LossCurve, ...]
    beta: tuple[float, ...]
    intercept: float
    constants: tuple[float, ...]
    budgets: GroupBudgets
    track: BudgetTrack
    design: Design
    uniform_loss: float
    unit: str
    refinement: Refinement | None = None

    @cached_property
    def order(self) -> list[int]:
        """Groups by their mean share over all totals, largest first, so that no row moves while one drags the total.

        Of equal shares the one that receives more now, then the one that loses more with no budget.
        """
        mean = np.round(self.fractions.mean(axis=0), _DIGITS)
        now, lost = self.design.allocation, [b * float(c.upper[0]) for b, c in zip(self.beta, self.curves, strict=True)]
        return sorted(range(len(self.names)), key=lambda k: (-mean[k], -now[k], -lost[k], k))

    @cached_property
    def most(self) -> int:
        """The group that receives the most now; of equal ones the first in order."""
        return max(self.order, key=lambda k: self.design.allocation[k])

    @property
    def split(self) -> float:
        """K^(1/q), by which the equal split divides every total."""
        q = self.budgets.allocation.q
        return 1.0 if math.isinf(q) else float(len(self.names) ** (1.0 / q))

    @property
    def equal(self) -> float:
        """Budget of every group under the equal split."""
        return self.design.scenario.epsilon / self.split

    @property
    def is_uniform(self) -> bool:
        """Whether the scenario asks for the equal split."""
        return self.design.scenario.allocation == "uniform"

    @cached_property
    def shares(self) -> Floats:
        """Budget of every group (T, K) at the track's totals, by the scenario's own allocation."""
        if self.is_uniform:
            return np.repeat(self.track.totals[:, None] / self.split, len(self.names), axis=1)
        return self.track.epsilons

    @cached_property
    def fractions(self) -> Floats:
        """Budget of every group (T, K) as a share of the track's total."""
        part: Floats = self.shares / self.track.totals[:, None]
        return part

    @cached_property
    def chosen(self) -> tuple[float, ...]:
        """Share of the scenario's total that each group receives in the design."""
        return tuple(share / self.design.scenario.epsilon for share in self.design.allocation)

    @cached_property
    def drawn_losses(self) -> Floats:
        """Weighted loss of every group (T, K) at those budgets, read off the curves as drawn."""
        return np.column_stack([draw_loss(self, k, self.shares[:, k]) for k in range(len(self.names))])

    @cached_property
    def total(self) -> Floats:
        """Total loss (T,) at the track's totals, read off the curves as drawn; never below the bound."""
        added: Floats = np.maximum(self.intercept + self.drawn_losses.sum(axis=1), self.track.bounds)
        return added

    @cached_property
    def total_uniform(self) -> Floats:
        """The same (T,) for the equal split."""
        drawn: Floats = np.maximum(self.track.uniform, self.track.bounds)
        return drawn


def draw_loss(view: BudgetView, k: int, epsilons: Floats) -> Floats:
    """Return beta_k L_k as it is drawn between solved budgets; constant beyond them."""
    curve = view.curves[k]
    values = np.asarray(curve.smooth(np.minimum(epsilons, curve.epsilons[-1])), dtype=np.float64)
    weighted: Floats = view.beta[k] * np.clip(values, 0.0, None)
    return weighted
