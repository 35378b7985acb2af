"""Draws follow the integers, and what is measured is the loss of what is drawn."""

import numpy as np
import pytest
from scipy.stats import chi2

from core.channel import TOTAL, exact_channel
from core.evaluation.measured import best_constant
from core.evaluation.rows import Evaluation
from core.evaluation.simulation import draw_columns, release_constant, simulate
from tests.core.evaluation.small_table import small_scenario, small_table

FALSE_ALARM = 1e-6


def test_draws_follow_the_integers():
    matrix = np.array([[0.7, 0.2, 0.1], [0.2, 0.5, 0.3], [0.1, 0.3, 0.6]])
    channel = exact_channel(matrix, 1.0 - np.eye(3), 3.0)
    states = np.array([2, 0, 2, 1, 0])
    drawn = draw_columns(channel, states, 40_000, np.random.default_rng(1))
    assert drawn.shape == (5, 40_000)
    for row, x in zip(drawn, states, strict=True):
        expected = channel.weights[x] / TOTAL * drawn.shape[1]
        statistic = ((np.bincount(row, minlength=3) - expected) ** 2 / expected).sum()
        assert statistic < chi2.isf(FALSE_ALARM / 5, 2)


def test_an_impossible_output_is_never_drawn():
    channel = exact_channel(np.array([[1.0, 0.0], [1.0, 0.0]]), 1.0 - np.eye(2), 0.0)
    assert not draw_columns(channel, np.array([0, 1]), 1000, np.random.default_rng(0)).any()


def test_the_mean_over_draws_is_the_expected_loss_of_the_integers():
    evaluation = Evaluation(small_table(), small_scenario(task="frequency"), repeats=400)
    stages = evaluation.stages(small_scenario(task="frequency", rule="DPN", epsilon=3.0))
    placed = evaluation.placed(stages, fitted=False)
    domains = [p.domain for p in stages.profiles]
    found = simulate(stages.task, domains, stages.channels, placed, repeats=400, rng=np.random.default_rng(2))
    exact = sum(
        float((c.matrix * p.problem.loss).sum(axis=1)[s].mean())
        for p, c, s in zip(stages.profiles, stages.channels, placed.states, strict=True)
    )
    assert abs(found.losses.mean() - exact) < 5 * found.deviation / np.sqrt(400)
    assert placed.outside == 0


def test_the_constant_is_the_best_of_every_group():
    stages = Evaluation(small_table(), small_scenario(task="frequency")).stages(small_scenario(task="frequency"))
    record = best_constant(stages)
    modes = [int(np.bincount(column).argmax()) for column in stages.records.codes.T]
    single = [members for members in stages.groups if len(members) == 1]
    assert single
    for (i,) in single:
        assert record[i] == modes[i]
    found = release_constant(stages.task, record, stages.records.codes)
    assert found.losses[0] == pytest.approx(stages.zero_information)
    assert found.deviation == 0.0
