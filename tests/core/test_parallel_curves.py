"""Curves of several groups side by side: the same to the last bit, and only those that are not known yet."""

import pytest

from core import sample_scenario
from core.group_curves import optimal_curve
from core.parallel_curves import CurveTask, missing_tasks, solve_curves
from core.pipeline import Stages
from core.table import load_sample


@pytest.fixture(scope="module")
def curve_tasks():
    stages = Stages(load_sample("heart"), sample_scenario("heart"))
    return [CurveTask(profile, (0.0, 1.0, 2.0), key=i) for i, profile in enumerate(stages.single_profiles[:3])]


@pytest.mark.slow
def test_curves_side_by_side_are_those_one_after_the_other(curve_tasks):
    together = solve_curves(curve_tasks, jobs=2)
    for task, found in zip(curve_tasks, together, strict=True):
        alone = optimal_curve(task.profile, task.grid)
        assert [c.weights.tobytes() for c in found.channels] == [c.weights.tobytes() for c in alone.channels]
        assert (found.upper.tobytes(), found.lower.tobytes()) == (alone.upper.tobytes(), alone.lower.tobytes())


def test_only_what_is_not_remembered_is_left_to_solve(curve_tasks):
    memory = {1: "known"}

    def remember(key, compute):
        if key not in memory:
            memory[key] = compute()
        return memory[key]

    assert [task.key for task in missing_tasks([*curve_tasks, curve_tasks[0]], remember)] == [0, 2]
    assert memory == {1: "known"}
