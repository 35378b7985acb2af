"""Template chains of subsets: the two rules of the paper and the matching of budgets to templates."""

import math
from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np

from core.errors import InputError
from core.tiers.budgets import order_budgets
from core.tiers.subset import check_categories, expand_level

RULES: Final = ("first", "improved")
"""The paper's first rule and its improved one."""
Tier = tuple[float, int]
"""A level and a subset size."""


def _first_templates(budgets: Sequence[float], d: int) -> list[Tier]:
    """Sizes at the levels where they are best; exact budgets above the first and below the last level."""
    half, last = d // 2, (d - 1) // 2
    top = math.log(d - 1)
    chain: list[Tier] = [(epsilon, 1) for epsilon in budgets if epsilon > top]
    chain += [(math.log(d / k - 1), k) for k in range(1, last + 1)]
    level = chain[-1][0] if chain else math.inf
    if last != half and last >= 1:
        level = expand_level(level, last, half - last)
        chain.append((level, half))
    return chain + [(epsilon, half) for epsilon in budgets if epsilon < level]


def _improved_templates(budgets: Sequence[float], d: int) -> list[Tier]:
    """Size k meets every budget in [ln((d-1)/k - 1), ln((d+1)/k - 1)] exactly; the last size all below its top."""
    half = d // 2
    chain: list[Tier] = []
    top = math.inf
    for k in range(1, half):
        bottom = math.log((d - 1) / k - 1)
        chain += [(epsilon, k) for epsilon in budgets if bottom < epsilon < top]
        chain.append((bottom, k))
        top = expand_level(bottom, k)
        chain.append((top, k + 1))
    return chain + [(epsilon, half) for epsilon in budgets if epsilon < top]


def templates(budgets: Iterable[float], d: int, rule: str = "improved") -> list[Tier]:
    """Return the templates (level, subset size) that a rule makes for a privacy list, from the largest level down.

    Both follow Wang et al., sections 5.2 and 5.3; each template comes from the one before by expansions and
    rescalings, which need no data. The interval of the improved rule is derived from the paper's bound.

    Parameters
    ----------
    budgets : iterable of float
        The privacy list, in any order.
    d : int
        Number of categories.
    rule : {'first', 'improved'}
        "first": size k at exactly ln(d/k - 1). "improved": size k meets every budget from ln((d-1)/k - 1) to
        ln((d+1)/k - 1) exactly.

    Raises
    ------
    InputError
        If the rule is neither, or a budget or d is out of range.

    Examples
    --------
    >>> [(round(level, 3), k) for level, k in templates([3.0, 0.1], 4)]
    [(3.0, 1), (0.693, 1), (0.405, 2), (0.1, 2)]
    """
    if rule not in RULES:
        raise InputError("The template rule", f"The template rule must be first or improved, not {rule!r:.60}.")
    categories = check_categories(d)
    ordered, _ = order_budgets(budgets)
    distinct = sorted(set(ordered.tolist()), reverse=True)
    return (_first_templates if rule == "first" else _improved_templates)(distinct, categories)


def match_templates(budgets: Iterable[float], templates: Iterable[Tier]) -> list[Tier]:
    """Return per budget the template of largest level that does not exceed it, in the order given.

    On equal levels the one that comes first in the chain, which is the smaller size, is taken.

    Raises
    ------
    InputError
        If no template is low enough for a budget.

    Examples
    --------
    >>> match_templates([3.0, 0.6], [(3.0, 1), (0.69, 1), (0.4, 2)])
    [(3.0, 1), (0.4, 2)]
    """
    ordered, restore = order_budgets(budgets)
    falling = sorted(templates, key=lambda tier: (-tier[0], tier[1]))
    matched: list[Tier] = []
    position = 0
    for epsilon in ordered.tolist():
        while position < len(falling) and falling[position][0] > epsilon:
            position += 1
        if position == len(falling):
            raise InputError(
                "The templates",
                f"No template has a level of at most {epsilon:g}, the budget of a tier; make templates for this list.",
            )
        matched.append(falling[position])
    back = restore(np.arange(len(matched)))
    return [matched[index] for index in back.tolist()]
