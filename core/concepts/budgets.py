"""Theorem 1 for two groups: which pairs of budgets a total allows, and how the metric decides."""

import math
from dataclasses import dataclass
from typing import Final

from core.metric import dual_exponent, dual_norm

EXPONENTS: Final = (1.0, 2.0, math.inf)


@dataclass(frozen=True)
class BudgetPair:
    """Two budgets under a total.

    Parameters
    ----------
    first, second, total : float
        Budgets of the two groups and what the record may use.
    p : float
        Metric exponent.
    needed : dict of float to float
        The total that the pair needs under every exponent shown: ||(first, second)||_q, rounded up.
    """

    first: float
    second: float
    total: float
    p: float
    needed: dict[float, float]

    @property
    def q(self) -> float:
        """The dual exponent, 1/p + 1/q = 1."""
        return dual_exponent(self.p)

    @property
    def fits(self) -> bool:
        """Whether the pair fits the total under the chosen metric."""
        return self.needed[self.p] <= self.total

    @property
    def left(self) -> float:
        """The largest second budget beside the first one; nan where the first alone is too large."""
        if self.first > self.total:
            return math.nan
        if math.isinf(self.q):
            return self.total
        share = max(1.0 - (self.first / self.total) ** self.q, 0.0)
        return float(self.total * share ** (1.0 / self.q))


def weigh_budgets(first: float, second: float, *, total: float, p: float) -> BudgetPair:
    """Return what two budgets need under the metrics 1, 2, infinity and the chosen one.

    sum_k epsilon_k d_k <= ||epsilon||_q (sum_k d_k^p)^(1/p) (paper, Theorem 1).

    Raises
    ------
    InputError
        If a budget is negative or p below 1.
    """
    needed = {own: dual_norm([first, second], own) for own in sorted({*EXPONENTS, p})}
    return BudgetPair(first, second, total, p, needed)
