"""The optimal channel by HiGHS: the fallback of the structured interior point and its independent check."""

import time
from typing import Final

import numpy as np
import scipy.sparse as sp

from core.linear_program import LinearProgram, solve_linear_program
from core.solver.block_systems import Programme
from core.solver.dual_bound import lower_bound
from core.solver.output_pruning import Bracketed, Limits

SIMPLEX_LIMIT: Final = 1000
"""Variables up to which the simplex method is quicker than the interior point of HiGHS."""


def solve_with_highs(programme: Programme, limits: Limits | None = None, *, method: str | None = None) -> Bracketed:
    """Solve the whole programme with HiGHS.

    Parameters
    ----------
    programme : Programme
        What is solved; its linear algebra is not used.
    limits : Limits, optional
        Deadline and progress; HiGHS has tolerances of its own.
    method : str, optional
        As in `linear_program`; by size if not given.

    Returns
    -------
    Bracketed
        Certified whatever HiGHS claims: 'optimal' only where the proven gap is within the tolerance.
    """
    limits = limits or Limits()
    rows, costs = programme.rows, programme.costs
    (n, m), r, size, aux = costs.shape, len(rows), rows.size, rows.auxiliaries
    scale = float(costs.sum(axis=0).min()) or 1.0
    if method is None:
        method = "simplex" if size * m <= SIMPLEX_LIMIT else "interior point"
    left = None if limits.deadline is None else limits.deadline - time.monotonic()
    found = solve_linear_program(
        build_program(programme, scale), method=method, time_limit=left, progress=limits.progress
    )
    matrix = np.maximum(found.values.reshape(m, size)[:, aux:].T, 0.0)
    totals = matrix.sum(axis=1, keepdims=True)
    matrix = np.where(totals > 0.5, matrix / np.maximum(totals, 0.5), 1.0 / m)
    multipliers = np.maximum(found.row_duals[n:].reshape(m, r).T, 0.0) * scale
    bound = lower_bound(rows, programme.epsilon, costs, multipliers)
    loss = float((matrix * costs).sum())
    status = "optimal" if loss - bound <= limits.tolerance * loss else "stalled"
    return Bracketed(matrix, multipliers, loss, bound, status, 0)


def build_program(programme: Programme, scale: float) -> LinearProgram:
    """Return the linear programme over all outputs' variables, output by output; costs divided by `scale`."""
    rows, costs = programme.rows, programme.costs
    (n, m), r, size, aux = costs.shape, len(rows), rows.size, rows.auxiliaries
    one = sp.hstack([sp.csr_array((n, aux)), sp.eye_array(n)], format="csr")
    sums = sp.hstack([one] * m, format="csr")
    block = rows.matrix(programme.epsilon)
    cost = np.zeros((m, size))
    cost[:, aux:] = costs.T / scale
    return LinearProgram(
        cost.ravel(),
        sp.vstack([sums, sp.block_diag([block] * m, format="csr")]) if r else sums,
        np.concatenate([np.ones(n), np.zeros(r * m)]),
        np.concatenate([np.ones(n), np.full(r * m, np.inf)]),
    )
