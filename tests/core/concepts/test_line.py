"""The line of seven: orderings of losses, where OPT wins, and remapping that costs nothing."""

import numpy as np
import pytest

from core.certificate import certify
from core.concepts import compare_line, remap_line
from core.concepts.line import NAMES, line_problem
from core.mechanisms.remap import remap


@pytest.mark.parametrize("peak", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_remapped_geometric_noise_is_optimal_while_the_loss_is_the_distance(peak: float, epsilon: float) -> None:
    line = compare_line(epsilon, peak, 0.0)
    assert line.score == pytest.approx(1.0)
    assert line.saving == 0.0
    assert line.loss("OPT") == pytest.approx(line.loss("geometric remapped"), rel=1e-5)


def test_opt_wins_where_the_task_asks_for_even_or_odd() -> None:
    line = compare_line(1.0, 0.0, 1.0)
    assert line.score < 0.2
    assert line.saving > 0.2
    assert line.loss("OPT") < line.loss(line.best_noise) * 0.8


@pytest.mark.parametrize(("epsilon", "peak", "mismatch"), [(0.3, 0.2, 0.4), (1.0, 0.5, 0.0), (2.0, 0.0, 0.75)])
def test_losses_are_ordered_and_every_channel_is_certified(epsilon: float, peak: float, mismatch: float) -> None:
    line = compare_line(epsilon, peak, mismatch)
    optimum = line.channels["OPT"]
    assert optimum.lower_bound <= optimum.expected_loss
    for noise in ("EM", "geometric"):
        assert line.loss(f"{noise} remapped") <= line.loss(noise)
        assert line.loss(f"{noise} remapped") <= line.zero_information * (1 + 1e-12)
        assert optimum.lower_bound <= line.loss(f"{noise} remapped")
    for name in NAMES:
        assert certify(line.channels[name].weights, line.problem.distance) <= epsilon


def test_plain_noise_may_be_worse_than_saying_nothing() -> None:
    line = compare_line(0.5, 0.5, 0.0)
    assert line.loss("EM") > line.loss("geometric") > line.zero_information


def test_the_line_by_hand() -> None:
    problem = line_problem(0.0, 0.25)
    assert problem.prior == pytest.approx(np.full(7, 1 / 7))
    assert problem.loss[0, 1] == pytest.approx(0.75 * 1 + 0.25 * 3)
    assert problem.loss[0, 2] == pytest.approx(0.75 * 2)
    assert np.argmax(line_problem(0.4, 0.0).prior) == 2


@pytest.mark.parametrize("noise", ["EM", "line noise"])
def test_remapping_is_free(noise: str) -> None:
    remapping = remap_line(noise, 0.7, 0.3, 0.2)
    assert remapping.after.certified_epsilon <= remapping.before.certified_epsilon <= 0.7
    assert remapping.after.expected_loss <= remapping.before.expected_loss
    expected = remap(remapping.before.matrix, remapping.problem.prior, remapping.problem.loss)
    assert remapping.after.matrix == pytest.approx(expected)
    assert remapping.moved == sum(z != y for y, z in enumerate(remapping.guesses)) > 0
