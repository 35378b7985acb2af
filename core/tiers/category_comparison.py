"""One category at several budgets under every way to release it: chains, errors, and what colluders learn."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

import numpy as np

from core.tiers.chain import chain_mse, ideal_subset_mse, optimal_chain
from core.tiers.hashing import hashing_chain, hashing_chain_mse
from core.tiers.laws import FloatArray
from core.tiers.response import brr_mse, grr_mse
from core.tiers.subset import best_sizes, gradual_subset_mse
from core.tiers.template_rules import Tier, match_templates, templates
from core.tiers.walk import Progress

CHAINS: Final = ("optimal chain", "templates 2", "templates 1")
"""Chains of subsets: the best one, the paper's improved rule and its first one."""


@dataclass(frozen=True)
class CategorySettings:
    """What is compared.

    Parameters
    ----------
    d : int
        Number of categories.
    budgets : tuple of float (m,)
        The privacy list, from the largest budget down.
    objective : {'max_ratio', 'total'}
        What the optimal chain minimises.
    """

    d: int
    budgets: tuple[float, ...]
    objective: str = "max_ratio"


@dataclass(frozen=True, eq=False)
class CategoryComparison:
    """Every release of one category, side by side.

    Parameters
    ----------
    settings : CategorySettings
        What was compared.
    reference : ndarray (m,)
        MSE*, Subset at its best size at every budget: the ideal without protection, and independent release.
    sizes : ndarray of int (m,)
        That best size.
    chains : mapping of str to tuple of (level, size)
        Of every kind of CHAINS, one per tier.
    hashing : tuple of (level, range)
        The best chain of local-hashing answers.
    errors : mapping of str to ndarray (m,)
        MSE of every tier, by method.
    """

    settings: CategorySettings
    reference: FloatArray
    sizes: tuple[int, ...]
    chains: Mapping[str, tuple[Tier, ...]]
    hashing: tuple[Tier, ...]
    errors: Mapping[str, FloatArray]

    def ratios(self, method: str) -> FloatArray:
        """Return MSE over MSE* of every tier."""
        return np.asarray(self.errors[method] / self.reference, float)

    def worst(self, method: str) -> float:
        """Return the largest ratio of a method; 1 is ideal."""
        return float(self.ratios(method).max())

    @property
    def together(self) -> float:
        """What all recipients learn together under a chain or gradual release: the largest budget."""
        return self.settings.budgets[0]

    @property
    def apart(self) -> float:
        """What they learn together from independent answers: the sum."""
        return float(sum(self.settings.budgets))


def compare_categories(settings: CategorySettings, progress: Progress | None = None) -> CategoryComparison:
    """Return chains and errors of every release of one category.

    Parameters
    ----------
    settings : CategorySettings
        What is compared.
    progress : callable, optional
        Called between the methods with a fraction and a sentence.

    Raises
    ------
    InputError
        If a budget, the number of categories or the objective is out of range.
    """
    d, budgets = settings.d, settings.budgets
    reference = ideal_subset_mse(budgets, d)
    chains = {
        "optimal chain": tuple(optimal_chain(budgets, d, settings.objective)),
        "templates 2": tuple(match_templates(budgets, templates(budgets, d, "improved"))),
        "templates 1": tuple(match_templates(budgets, templates(budgets, d, "first"))),
    }
    if progress is not None:
        progress(0.5, "local hashing")
    hashing = tuple(hashing_chain(budgets, d, settings.objective))
    others: dict[str, Callable[[], FloatArray]] = {
        "local hashing": lambda: hashing_chain_mse(hashing, d),
        "BRR": lambda: brr_mse(budgets, d),
        "GRR": lambda: grr_mse(budgets, d),
        "gradual": lambda: gradual_subset_mse(budgets, d),
    }
    errors = {name: chain_mse(chain, d) for name, chain in chains.items()}
    errors |= {name: method() for name, method in others.items()}
    sizes = tuple(int(k) for k in best_sizes(np.asarray(budgets), d))
    return CategoryComparison(
        settings, reference, sizes, MappingProxyType(chains), hashing, MappingProxyType(errors)
    )  # fmt: skip
