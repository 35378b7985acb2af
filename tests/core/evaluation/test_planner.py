"""Plans and recommendations."""

import math

import numpy as np
import pytest

from core.errors import InputError
from core.evaluation.planner import calibration, first_crossing, plan_epsilon, recommend_thresholds
from core.evaluation.rows import Evaluation
from tests.core.evaluation.small_table import small_scenario, small_table


@pytest.fixture(scope="module")
def evaluation():
    return Evaluation(small_table(), small_scenario(task="frequency"), repeats=3)


def test_crossings_by_hand():
    grid = np.array([1.0, 2.0, 3.0])
    assert first_crossing(grid, np.array([5.0, 4.0, 2.0]), 3.0) == 2.5
    assert first_crossing(grid, np.array([5.0, 4.0, 2.0]), 6.0) == 1.0
    assert first_crossing(grid, np.array([5.0, 4.0, 2.0]), 1.0) == math.inf


def test_a_weaker_target_needs_less_and_the_interval_holds_the_answer(evaluation):
    plans = [plan_epsilon(evaluation, t, 100, epsilons=(1, 3, 6, 10), repeats=20) for t in (0.3, 0.6, 1e6)]
    needed = [plan.epsilon for plan in plans]
    assert needed == sorted(needed, reverse=True)
    assert needed[-1] == 1.0
    for plan in plans:
        low, high = plan.epsilon_interval
        assert low <= plan.epsilon <= high
        assert plan.epsilon <= plan.confident_epsilon
        assert (plan.frame["low"] <= plan.frame["high"]).all()


def test_more_records_give_less_spread(evaluation):
    few, many = (plan_epsilon(evaluation, 0.5, n, epsilons=(6,), repeats=30).frame.iloc[0] for n in (20, 2000))
    assert many["high"] - many["low"] < few["high"] - few["low"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [((0.0, 10), "positive number"), ((1.0, 0), "1 to 10,000,000"), ((math.nan, 10), "positive number")],
)
def test_impossible_plans_are_refused(evaluation, arguments, words):
    with pytest.raises(InputError, match=words):
        plan_epsilon(evaluation, *arguments)
    with pytest.raises(InputError, match="with mechanisms"):
        plan_epsilon(evaluation, 1.0, 10, method="Bound-m")


def test_calibration_never_looks_at_the_test_rows(evaluation):
    inner = calibration(evaluation)
    used = {*inner.split.fitting.tolist(), *inner.split.test.tolist()}
    assert used == set(evaluation.split.fitting.tolist())


def test_the_least_loss_within_the_time_is_recommended(evaluation):
    found = recommend_thresholds(evaluation, 60.0, taus=(0.1, 0.9), dimensions=(300,))
    assert found.tried == found.candidates == len(found.frame)
    assert found.best["loss"] == found.frame["loss"].min()
    changed = evaluation.scenario.replace(**found.changes)
    assert changed.tau_group == found.best["tau_group"]


def test_time_over_stops_after_the_first(evaluation):
    ticks = iter(range(0, 100_000, 10))
    found = recommend_thresholds(evaluation, 5.0, taus=(0.1, 0.9), dimensions=(300,), clock=lambda: float(next(ticks)))
    assert found.tried == 1 < found.candidates
    with pytest.raises(InputError, match="positive number of seconds"):
        recommend_thresholds(evaluation, 0.0)


def test_a_candidate_that_would_outlast_the_time_is_not_begun(evaluation, monkeypatch):
    monkeypatch.setattr(
        "core.evaluation.planner._solve_seconds", lambda _e, method, _s: 99.0 * (method.name[-3] == "m")
    )
    found = recommend_thresholds(evaluation, 60.0, taus=(0.1, 0.9), dimensions=(300,), clock=lambda: 0.0)
    assert 1 < found.tried < found.candidates
    assert "DepHDP-m-s" not in set(found.frame["method"][1:])


def test_a_candidate_that_outlasts_the_time_is_given_up(evaluation):
    now = [0.0]

    def slow(_fraction, words):
        now[0] += 10.0 * words.startswith(("Trying thresholds 2", "Trying thresholds 3"))

    fresh = Evaluation(evaluation.table, evaluation.scenario, repeats=1, progress=slow)
    found = recommend_thresholds(fresh, 60.0, taus=(0.1, 0.9), dimensions=(300,), clock=lambda: now[0])
    assert found.tried == found.candidates - 2 == len(found.frame)
    now[0] = 0.0
    hurried = recommend_thresholds(fresh, 15.0, taus=(0.1, 0.9), dimensions=(300,), clock=lambda: now[0])
    assert 1 <= hurried.tried < found.tried
