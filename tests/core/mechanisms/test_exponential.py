"""The exponential mechanism, plain and calibrated."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.channel import exact_channel
from core.mechanisms.exponential import calibrate_scale, calibrated_exponential, exponential_mechanism
from core.repair import MERGE_EXPONENT
from tests.reference import METRICS, random_instance


def needed_epsilon(matrix: np.ndarray, distance: np.ndarray) -> float:
    """Return the smallest epsilon of a positive float matrix, by all triples."""
    logs = np.log(matrix)
    return max(
        float((logs[x] - logs[other]).max() / distance[x, other])
        for x in range(len(matrix))
        for other in range(len(matrix))
        if distance[x, other] > 0
    )


def test_by_hand():
    distance = np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 1.0], [2.0, 1.0, 0.0]])
    # epsilon / 2 = ln 2: weights 1, 1/2, 1/4 and 1/2, 1, 1/2.
    matrix = exponential_mechanism(distance, 2 * math.log(2))
    assert matrix == pytest.approx(np.array([[4 / 7, 2 / 7, 1 / 7], [1 / 4, 1 / 2, 1 / 4], [1 / 7, 2 / 7, 4 / 7]]))


@pytest.mark.parametrize("epsilon", [1e-6, 0.3, 4.0, 50.0])
@pytest.mark.parametrize("n", [1, 2, 7])
def test_one_nominal_attribute_spends_the_whole_budget(n, epsilon):
    distance = 1.0 - np.eye(n)
    assert calibrate_scale(distance, epsilon) == epsilon
    odds = math.exp(epsilon)
    assert calibrated_exponential(distance, epsilon)[0, 0] == pytest.approx(odds / (odds + n - 1), rel=1e-12)


@given(st.integers(0, 2**32), st.sampled_from(METRICS))
@settings(max_examples=150, deadline=None)
def test_calibration_fits_the_budget_and_never_uses_less_than_the_plain_mechanism(seed, metric):
    rng = np.random.default_rng(seed)
    distance, _, _, epsilon = random_instance(rng, 5, (metric,))
    exponents = (epsilon * distance)[distance > 0]
    if not exponents.size or exponents.min() < MERGE_EXPONENT or exponents.max() > 300:
        return
    scale = calibrate_scale(distance, epsilon)
    assert epsilon / 2 <= scale <= epsilon
    plain, calibrated = exponential_mechanism(distance, epsilon), calibrated_exponential(distance, epsilon)
    rounding = 1e-14 / distance[distance > 0].min()
    assert needed_epsilon(calibrated, distance) <= epsilon * (1 + 1e-12) + rounding
    assert needed_epsilon(calibrated, distance) >= needed_epsilon(plain, distance) * (1 - 1e-9) - rounding
    used = [exact_channel(m, distance, epsilon).certified_epsilon for m in (plain, calibrated)]
    assert used[0] * (1 - 1e-9) - rounding <= used[1] <= epsilon


def test_calibration_reaches_the_budget_where_the_plain_mechanism_leaves_much_of_it():
    points = np.random.default_rng(0).random((20, 3))
    distance = np.sqrt(((points[:, None] - points) ** 2).sum(axis=2))
    plain, calibrated = exponential_mechanism(distance, 2.0), calibrated_exponential(distance, 2.0)
    assert needed_epsilon(plain, distance) < 0.8 * 2.0
    assert needed_epsilon(calibrated, distance) == pytest.approx(2.0, rel=1e-9)
    assert (np.diag(calibrated) > np.diag(plain)).all()
