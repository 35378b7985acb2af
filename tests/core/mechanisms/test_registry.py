"""Mechanisms by name: certified integers, and the orderings between them."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import InputError
from core.mechanisms import NOISES, REMAPS, Problem, build_channel
from core.mechanisms.constant import zero_information_loss
from core.mechanisms.geometric import line_noise
from tests.reference import METRICS, random_instance, violations

LINE = np.abs(np.subtract.outer(np.arange(5.0), np.arange(5.0))) / 4
PROBLEM = Problem(LINE, np.array([0.1, 0.2, 0.4, 0.2, 0.1]), LINE**2)


@given(st.integers(0, 2**32), st.sampled_from(METRICS))
@settings(max_examples=60, deadline=None)
def test_every_name_gives_a_certified_channel_in_the_right_order_of_losses(seed, metric):
    distance, prior, loss, epsilon = random_instance(np.random.default_rng(seed), 5, (metric,))
    problem = Problem(distance, prior, loss)
    constant = build_channel("constant", problem, epsilon)
    assert constant.certified_epsilon == 0.0
    assert constant.expected_loss == pytest.approx(zero_information_loss(prior, loss), rel=1e-12, abs=1e-300)
    for noise in NOISES:
        made = {remap: build_channel(noise, problem, epsilon, remap=remap) for remap in REMAPS}
        for channel in made.values():
            assert violations(channel.weights, distance, epsilon) == []
            assert channel.certified_epsilon <= made["none"].certified_epsilon <= epsilon
        for other in (made["none"], made["distance"], constant):
            assert made["task"].expected_loss <= other.expected_loss * (1 + 1e-9)
        by_distance = [float((prior[:, None] * c.matrix * distance).sum()) for c in (made["distance"], made["none"])]
        assert by_distance[0] <= by_distance[1] * (1 + 1e-9)


def test_names_say_exactly_what_was_built():
    assert build_channel("EM", PROBLEM, 2.0).mechanism == "EM"
    assert build_channel("EM", PROBLEM, 2.0, remap="distance").mechanism == "EM, remapped (distance)"
    assert build_channel("calibrated EM", PROBLEM, 2.0, remap="task").mechanism == "calibrated EM, remapped (task)"
    assert build_channel("line noise", PROBLEM, 2.0).mechanism == "line noise"
    assert build_channel("constant", PROBLEM, 2.0, remap="task").mechanism == "constant"
    flat = Problem(1.0 - np.eye(5), PROBLEM.prior, PROBLEM.loss)
    assert build_channel("line noise", flat, 2.0, remap="task").mechanism == "calibrated EM, remapped (task)"


def test_line_noise_spends_the_whole_budget_and_calibration_at_least_as_much_as_the_plain_mechanism():
    used = {noise: build_channel(noise, PROBLEM, 2.0).certified_epsilon for noise in NOISES}
    assert 2.0 * (1 - 1e-11) <= used["line noise"] <= 2.0
    assert used["EM"] <= used["calibrated EM"] <= 2.0
    assert build_channel("line noise", PROBLEM, 2.0).matrix == pytest.approx(line_noise(LINE, 2.0), abs=1e-12)


def test_distance_remapping_may_have_a_loss_of_its_own():
    # A loss under which releasing state 4 is free draws every output there.
    free = np.ones((5, 5))
    free[:, 4] = 0.0
    problem = Problem(LINE, PROBLEM.prior, PROBLEM.loss, metric_loss=free)
    made = build_channel("EM", problem, 1.0, remap="distance")
    assert (made.matrix[:, 4] == 1.0).all()
    assert build_channel("EM", PROBLEM, 1.0, remap="distance").matrix[:, 4].max() < 0.5


def test_the_optimised_channel_is_reached_by_name():
    made = build_channel("OPT", PROBLEM, 2.0)
    assert made.mechanism == "OPT"
    assert violations(made.weights, LINE, 2.0) == []
    for noise in NOISES:
        assert made.lower_bound <= build_channel(noise, PROBLEM, 2.0, remap="task").expected_loss


def test_at_budget_zero_everything_is_constant_and_the_optimum_is_proven():
    zero = zero_information_loss(PROBLEM.prior, PROBLEM.loss)
    for name in ("EM", "calibrated EM", "line noise", "constant", "OPT"):
        assert build_channel(name, PROBLEM, 0.0).certified_epsilon == 0.0
    made = build_channel("OPT", PROBLEM, 0.0)
    assert made.expected_loss == pytest.approx(zero, rel=1e-14)
    assert zero * (1 - 1e-14) < made.lower_bound <= zero
    assert build_channel("OPT", PROBLEM, 5e-7).lower_bound == 0.0


@pytest.mark.parametrize(("name", "remap"), [("Gauss", "none"), ("EM", "twice")])
def test_an_unknown_name_is_refused(name, remap):
    with pytest.raises(InputError, match="must be one of"):
        build_channel(name, PROBLEM, 1.0, remap=remap)


def test_a_budget_out_of_range_is_refused():
    for epsilon in (-1.0, math.nan, 51.0):
        with pytest.raises(InputError):
            build_channel("EM", PROBLEM, epsilon)
