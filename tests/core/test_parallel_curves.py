"""Curves of several groups side by side: the same to the last bit, and only those that are not known yet."""

from dataclasses import replace

import pytest

from core import sample_scenario
from core.group_curves import optimal_curve
from core.parallel_curves import CurveTask, _Share, missing_tasks, solve_curves
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


def test_the_share_that_is_done_counts_estimated_seconds_and_grows_before_the_first_curve_is_there(curve_tasks):
    tasks = [replace(task, seconds=seconds) for task, seconds in zip(curve_tasks, (60.0, 30.0, 10.0), strict=True)]
    told, now = [], [0.0]
    share = _Share(tasks, lambda fraction, words: told.append((round(fraction, 3), words)), lambda: now[0])
    for seconds, task in ((0.0, None), (20.0, None), (500.0, None), (500.0, tasks[0]), (510.0, tasks[1])):
        now[0] = seconds
        if task is not None:
            share.note(task)
        share(0.0, "")
    words = [f"Solving 3 curves side by side, {done} done" for done in (0, 0, 0, 1, 2)]
    assert told == list(zip((0.0, 0.2, 0.57, 0.6, 0.9), words, strict=True))
