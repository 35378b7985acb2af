"""The certificate against exact arithmetic: never below the truth, above it by less than one step of a double."""

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core import certificate
from core.certificate import certify, locate_tight
from core.channel import TOTAL, exact_channel
from core.errors import InputError
from tests.reference import METRICS, least_partner, random_metric, satisfies

PAIR = np.array([[0.0, 1.0], [1.0, 0.0]])


def assert_smallest(weights: np.ndarray, distance: np.ndarray, value: float) -> None:
    """Check that `value` satisfies the integers and the next smaller double does not."""
    assert satisfies(weights, distance, value)
    assert not satisfies(weights, distance, math.nextafter(value, 0.0))


@st.composite
def integer_channels(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    """Positive integers of very different sizes, many of them nearly equal, on any metric without double points."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n, m = draw(st.integers(2, 5)), draw(st.integers(1, 6))
    base = np.array([draw(st.sampled_from([1, 7, 2**20, 2**52, 2**53 + 1, 2**57 - 1, 2**60])) for _ in range(m)])
    jitter = rng.integers(0, draw(st.sampled_from([2, 5, 1000, 2**40])), (n, m))
    return np.minimum(base + jitter, 2**61 - 1), random_metric(rng, draw(st.sampled_from(METRICS)), n)


@given(integer_channels())
@settings(max_examples=150, deadline=None)
def test_it_is_the_smallest_double_that_the_integers_satisfy(case):
    weights, distance = case
    value = certify(weights, distance)
    if value == 0.0:
        assert (weights == weights[0]).all()
    elif math.isfinite(value):
        assert_smallest(weights, distance, value)
    else:
        assert ((distance == 0) & (weights[:, None] != weights[None]).any(axis=2)).any()


def test_by_hand():
    # ln 3 = 1.098612288668109691395...; the doubles around it are 1.0986122886681096 and 1.0986122886681098.
    assert certify([[3, 1], [1, 3]], PAIR) == 1.0986122886681098
    # ln 2 = 0.693147180559945309417..., the nearest double is below it, so the next one is due.
    assert certify([[2, 1], [1, 2]], PAIR) == math.nextafter(math.log(2), 1.0)
    assert certify([[4, 1], [1, 4]], 2 * PAIR) == certify([[2, 1], [1, 2]], PAIR)


def test_a_zero_over_a_positive_weight_is_infinite_and_a_zero_column_is_not():
    assert certify([[TOTAL - 1, 1], [TOTAL, 0]], PAIR) == math.inf
    assert certify([[3, 0, 1], [1, 0, 3]], PAIR) == certify([[3, 1], [1, 3]], PAIR)


def test_states_at_distance_zero_need_equal_rows():
    distance = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 1.0], [1.0, 1.0, 0.0]])
    assert certify([[3, 1], [3, 1], [1, 3]], distance) == certify([[3, 1], [1, 3]], PAIR)
    assert certify([[TOTAL - 1, 1], [TOTAL - 2, 2], [5, TOTAL - 5]], distance) == math.inf


def test_one_state_and_equal_rows_reveal_nothing():
    assert certify([[5, 7]], [[0.0]]) == 0.0
    assert certify([[5, 7], [5, 7]], PAIR) == 0.0


@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 2.0, 17.3, 39.0])
def test_at_the_bound_passes_and_one_unit_below_it_fails(epsilon):
    weight = TOTAL // 3
    bound = least_partner(weight, 1.0, epsilon)
    for partner, good in ((bound + 1, True), (bound, True), (bound - 1, False)):
        table = np.array([[weight, TOTAL - weight], [partner, TOTAL - weight]])
        assert (certify(table, PAIR) <= epsilon) is good


@pytest.mark.parametrize("kind", METRICS)
def test_a_tight_integer_of_a_channel_may_not_move_beyond_its_bound(kind):
    rng = np.random.default_rng(3)
    distance, epsilon = random_metric(rng, kind, 5), 1.5
    channel = exact_channel(np.eye(5), distance, epsilon)
    x, other, y, value = locate_tight(channel.weights, distance, 1)[0]
    assert value == channel.certified_epsilon <= epsilon
    altered = channel.weights.copy()
    bound = least_partner(int(altered[x, y]), float(distance[x, other]), epsilon)
    altered[other, y] = bound - 1
    assert certify(altered, distance) > epsilon
    altered[other, y] = bound
    assert certify(altered, distance) <= epsilon


def test_logarithms_keep_their_proven_error():
    rng = np.random.default_rng(4)
    powers = np.array([1 << k for k in range(61)])
    random = rng.integers(1, 1 << 61, 500) >> rng.integers(0, 60, 500)
    weights = np.unique(np.concatenate([np.arange(1, 1100), powers, powers + 1, powers[2:] - 1, random, [2**61 - 1]]))
    weights = weights[weights > 0]
    whole, fraction = certificate._log_units(weights)
    assert fraction.min() >= 0 and fraction.max() < 1
    with localcontext() as context:
        context.prec = 50
        for w, a, b in zip(weights.tolist(), whole.tolist(), fraction.tolist(), strict=True):
            assert abs(Decimal(w).ln() * 2**57 - a - Decimal(b)) < Decimal(2) ** -14


def test_large_tables_are_read_in_parts_without_a_difference():
    rng = np.random.default_rng(5)
    for n, m in ((3, certificate.CHUNK_ELEMENTS + 7), (600, 500)):
        weights = rng.integers(1 << 40, 1 << 45, (n, m))
        distance = random_metric(rng, "line", n) + 1.0 - np.eye(n)
        logs = np.log(weights.astype(float))
        expected = max(
            float(((logs[x] - logs).max(axis=1) / np.where(distance[x] > 0, distance[x], np.inf)).max())
            for x in range(n)
        )
        assert certify(weights, distance) == pytest.approx(expected, rel=1e-13)


def test_many_exact_ties_cost_one_evaluation(monkeypatch):
    seen = []
    evaluate = certificate._evaluate
    monkeypatch.setattr(certificate, "_evaluate", lambda *case: seen.append(case) or evaluate(*case))
    weights = np.full((60, 60), 10**15)
    np.fill_diagonal(weights, 2 * 10**15)
    assert certify(weights, 1.0 - np.eye(60)) == math.nextafter(math.log(2), 1.0)
    assert len(seen) == 1


def test_the_tightest_triples_come_first_and_are_evaluated_exactly():
    distance = np.abs(np.subtract.outer([0.0, 1.0, 3.0], [0.0, 1.0, 3.0]))
    weights = np.array([[8, 2, 3], [4, 4, 4], [3, 3, 6]])
    found = locate_tight(weights, distance, 3)
    # ln(8/4) / 1 and ln(4/2) / 1 tie; next is ln(8/3) / 3 = 0.327.
    assert [triple[:3] for triple in found] == [(0, 1, 0), (1, 0, 1), (0, 2, 0)]
    assert found[0][3] == certify(weights, distance) == math.nextafter(math.log(2), 1.0)
    assert found[2][3] == pytest.approx(math.log(8 / 3) / 3, rel=1e-15)
    assert locate_tight([[5, 7], [5, 7]], PAIR, 4) == []
    assert locate_tight([[5, 7, 0], [5, 0, 7]], PAIR, 4) == [(0, 1, 1, math.inf)]


@pytest.mark.parametrize(
    ("weights", "distance", "field"),
    [
        ([[0.5, 0.5], [0.5, 0.5]], PAIR, "weights"),
        ([[1, -1], [1, 1]], PAIR, "weights"),
        ([[2**61, 1], [1, 1]], PAIR, "weights"),
        ([[0, 0], [1, 1]], PAIR, "weights"),
        ([1, 2], PAIR, "weights"),
        ([[1, 1], [1, 1]], [[0.0]], "distance"),
        ([[1, 1], [1, 1]], [[0.0, math.inf], [math.inf, 0.0]], "distance"),
        ([[1, 1], [1, 1]], [[0.0, -1.0], [-1.0, 0.0]], "distance"),
        ([[1, 1], [1, 1]], [[1.0, 1.0], [1.0, 0.0]], "distance"),
        ([[1, 1], [1, 1]], [[0.0, math.nan], [math.nan, 0.0]], "distance"),
    ],
)
def test_what_is_no_channel_is_refused_by_name(weights, distance, field):
    with pytest.raises(InputError) as error:
        certify(weights, distance)
    assert error.value.field == field
