"""What the optimal channel is measured against: the whole linear programme in general-purpose solvers."""

import math
import time

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

from core.linear_program import solve_linear_program
from core.solver.channel_problem import check_problem
from core.solver.highs_channel import build_program
from core.solver.highs_columns import solve_by_columns
from core.solver.output_pruning import Limits
from tests.benchmarks.instances import Instance


def linprog_all_rows(instance: Instance, epsilon: float, *, scaled: bool = False) -> tuple[float, float]:
    """Return (optimum, seconds) of scipy.optimize.linprog with one row per ordered pair and output.

    The rows are Z[x, y] - exp(epsilon d) Z[x', y] <= 0 as the programme is written, or divided by exp(epsilon d) if
    `scaled`. Its tolerance is the default of HiGHS, 1e-7. Column y * n + x holds Z[x, y].
    """
    start = time.process_time()
    n = instance.size
    x, other = np.nonzero(~np.eye(n, dtype=bool))
    pairs = len(x)
    factor = np.exp(epsilon * instance.distance[x, other])
    entries = np.concatenate([1 / factor, -np.ones(pairs)] if scaled else [np.ones(pairs), -factor])
    block = sp.csr_array((entries, (np.tile(np.arange(pairs), 2), np.concatenate([x, other]))), shape=(pairs, n))
    costs = (instance.prior[:, None] * instance.loss).T.ravel()
    found = linprog(
        costs,
        A_ub=sp.csr_matrix(sp.block_diag([block] * n)),
        b_ub=np.zeros(n * pairs),
        A_eq=sp.csr_matrix(sp.hstack([sp.eye_array(n)] * n)),
        b_eq=np.ones(n),
        method="highs",
    )
    assert found.status == 0, found.message
    return float(found.fun), time.process_time() - start


def highs_forms(instance: Instance, epsilon: float, time_limit: float) -> dict[str, tuple[float, float]]:
    """Return (seconds, optimum) per HiGHS form on the reduced rows, one thread each; inf where the time ran out.

    'simplex' and 'interior point' solve the whole programme; 'column generation' over outputs with exact pricing, on
    lines and nominal attributes, is an algorithm of its own around HiGHS.
    """
    problem = check_problem(instance.distance, instance.prior, instance.loss)
    programme = problem.reduce(epsilon).programme
    results = {}
    scale = float(programme.costs.sum(axis=0).min())
    program = build_program(programme, scale)
    for method in ("simplex", "interior point"):
        start = time.process_time()
        answer = solve_linear_program(program, method=method, time_limit=time_limit)
        done = answer.status == "optimal"
        results[method] = (time.process_time() - start if done else math.inf, answer.objective * scale)
    if programme.rows.kind in ("line", "nominal"):
        start = time.process_time()
        found = solve_by_columns(programme, Limits(1e-6))
        results["column generation"] = (time.process_time() - start, found.loss)
    return results
