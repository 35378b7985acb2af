"""Optimal channels that need no solver: the best constant at small budgets, 0/1 loss on one nominal attribute."""

import math
from typing import Final

import numpy as np

from core.solver.block_systems import FloatArray, Programme
from core.solver.dual_bound import lower_bound
from core.solver.output_pruning import Bracketed
from core.solver.pricing import price
from core.solver.reductions import RatioRows, nominal_rows

_EQUAL: Final = 1e-15
"""Relative spread of losses that count as one loss."""


def solve_constant(programme: Programme) -> tuple[Bracketed, RatioRows]:
    """Return the best constant release, what a sweep proves about it, and the rows of that proof.

    Below some budget epsilon_0 the best constant is optimal. Its potentials are its own costs; on a line and on one
    nominal attribute the sweep decides, elsewhere all distances are taken as the largest, which proves a little less.

    Parameters
    ----------
    programme : Programme
        Any; its linear algebra is not used.
    """
    costs, rows, epsilon = programme.costs, programme.rows, programme.epsilon
    best = int(costs.sum(axis=0).argmin())
    if rows.kind not in ("line", "nominal"):
        rows = nominal_rows(float(rows.gap.max(initial=0.0)), rows.states)
    multipliers = price(rows, epsilon, costs - costs[:, [best]])
    matrix = np.zeros(costs.shape)
    matrix[:, best] = 1.0
    bound = lower_bound(rows, epsilon, costs, multipliers)
    return Bracketed(matrix, multipliers, float(costs[:, best].sum()), bound, "optimal", 0), rows


def solve_top_response(programme: Programme) -> Bracketed | None:
    """Return the optimum of 0/1 loss on one nominal attribute, or None where the programme is another.

    With weights w_x = costs[x, y] for all y != x, the optimum is sum_x w_x - max_k S_k e / (e + k - 1), where
    e = exp(epsilon d) and S_k is the sum of the k largest weights: randomised response among the k heaviest states,
    any of them uniformly for the others. Its potentials lambda_y = t (A - w_y) / (1 - t) on those k states, w_x on the
    others, with t = 1 / e and A = S_k / (1 + t (k - 1)), prove it.

    Parameters
    ----------
    programme : Programme
        Its rows must be of kind 'nominal'.
    """
    rows, costs = programme.rows, programme.costs
    weights = _zero_one_weights(costs) if rows.kind == "nominal" else None
    if weights is None:
        return None
    n = len(weights)
    order = np.argsort(-weights, kind="stable")
    heaviest = np.cumsum(weights[order])
    ratio = float(rows.ratios(programme.epsilon)[-1])
    gained = heaviest / (1 + ratio * np.arange(n))  # S_k e / (e + k - 1)
    count = int(gained.argmax()) + 1
    top = order[:count]
    matrix = np.zeros((n, n))
    matrix[:, top] = 1 / count
    matrix[top[:, None], top] = ratio / (1 + ratio * (count - 1))
    matrix[top, top] = 1 / (1 + ratio * (count - 1))
    potentials = weights.copy()
    if count > 1:
        fall = -math.expm1(-programme.epsilon * float(rows.gap[-1]))
        potentials[top] = (gained[count - 1] - weights[top]) * ratio / fall
    else:
        potentials[top] = 0.0
    multipliers = price(rows, programme.epsilon, costs - potentials[:, None])
    bound = lower_bound(rows, programme.epsilon, costs, multipliers)
    return Bracketed(matrix, multipliers, float((matrix * costs).sum()), bound, "optimal", 0)


def _zero_one_weights(costs: FloatArray) -> FloatArray | None:
    """Return w with costs[x, y] = w_x for y != x and 0 for y = x, or None."""
    n = len(costs)
    if costs.shape != (n, n) or n < 2 or np.diagonal(costs).any():
        return None
    others = costs[~np.eye(n, dtype=bool)].reshape(n, n - 1)
    spread = others.max(axis=1) - others.min(axis=1)
    return others.max(axis=1) if (spread <= _EQUAL * others.max(axis=1)).all() else None
