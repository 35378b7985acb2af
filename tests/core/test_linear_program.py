import math

import numpy as np
import pytest
import scipy.sparse as sp

from core.errors import SolverError
from core.linear_program import HighsSession, LinearProgram, solve_linear_program


def program(cost, matrix, lower, upper):
    return LinearProgram(*(np.asarray(a, float) for a in (cost,)), sp.csr_array(np.asarray(matrix, float)),
                         np.asarray(lower, float), np.asarray(upper, float))  # fmt: skip


SMALL = program([-1, -2], [[1, 1], [1, 3]], [-math.inf, -math.inf], [4, 6])
"""max x + 2 y with x + y <= 4, x + 3 y <= 6: x = 3, y = 1."""


@pytest.mark.parametrize("method", ["choose", "simplex", "interior point"])
def test_small_optimum_by_every_method(method):
    found = solve_linear_program(SMALL, method=method)
    assert found.status == "optimal"
    assert found.objective == pytest.approx(-5)
    assert found.values == pytest.approx([3, 1], abs=1e-6)
    assert found.row_duals == pytest.approx([-0.5, -0.5], abs=1e-6)


def test_duals_of_lower_bounds_are_not_negative():
    found = solve_linear_program(program([1, 1], [[1, 2]], [3], [math.inf]))
    assert found.row_duals == pytest.approx([0.5])


def test_infeasible_and_unbounded_raise():
    with pytest.raises(SolverError, match="infeasible"):
        solve_linear_program(program([1], [[1], [1]], [2, -math.inf], [math.inf, 1]))
    with pytest.raises(SolverError, match="unbounded"):
        solve_linear_program(program([-1], [[1]], [0], [math.inf]))


def test_small_entries_are_kept():
    # x >= 1e10 forced by 1e-10 x >= 1: dropping the entry would make the row infeasible.
    found = solve_linear_program(program([1], [[1e-10]], [1], [math.inf]))
    assert found.objective == pytest.approx(1e10)


def test_an_option_that_highs_does_not_know_raises():
    session = HighsSession()
    with pytest.raises(SolverError, match="no_such_option"):
        session._set("no_such_option", 1)


def test_rows_and_columns_may_be_added():
    session = HighsSession("simplex")
    session.load(program([1], [[1]], [1], [1]))
    session.add_columns(np.array([0.5]), sp.csr_array([[1.0]]))
    assert session.run().objective == pytest.approx(0.5)
    session.add_rows(np.array([0.25]), np.array([math.inf]), sp.csr_array([[1.0, 0.0]]))
    assert session.run().objective == pytest.approx(0.625)


@pytest.mark.parametrize("method", ["simplex", "interior point"])
def test_progress_may_raise_to_stop(method):
    class StopNowError(Exception):
        pass

    calls = []

    def progress(fraction, sentence):
        assert 0 <= fraction <= 1
        assert sentence
        calls.append(fraction)
        raise StopNowError

    rng = np.random.default_rng(0)
    rows = rng.random((150, 150))
    hard = program(-rng.random(150), rows, np.full(150, -math.inf), np.ones(150))
    with pytest.raises(StopNowError):
        solve_linear_program(hard, method=method, progress=progress)
    assert len(calls) == 1


def test_time_limit_is_a_status_not_an_error():
    rng = np.random.default_rng(0)
    rows = rng.random((300, 300))
    hard = program(-rng.random(300), rows, np.full(300, -math.inf), np.ones(300))
    assert solve_linear_program(hard, method="simplex", time_limit=0.0).status in ("time limit", "optimal")
