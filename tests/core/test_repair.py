"""The steps of the repair: closure, reserve, merging."""

import math
from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from core import repair
from tests.reference import METRICS, exp_enclosure, random_metric

MARGIN = repair.CLOSURE_MARGINS[0]


@given(st.integers(0, 2**32), st.sampled_from([m for m in METRICS if m != "near"]), st.floats(0.01, 5))
@settings(max_examples=60, deadline=None)
def test_the_closure_is_the_least_matrix_above_within_the_cone(seed, metric, epsilon):
    rng = np.random.default_rng(seed)
    exponents = np.minimum(epsilon * random_metric(rng, metric, 5), repair.EXPONENT_LIMIT)
    if exponents[~np.eye(5, dtype=bool)].min() < repair.MERGE_EXPONENT:
        return
    z = rng.dirichlet(np.full(4, 0.3), size=5)
    raised = repair._close(z, exponents, MARGIN)
    least = np.array([(np.exp(-exponents[x])[:, None] * z).max(axis=0) for x in range(5)])
    assert (raised >= z).all()
    np.testing.assert_allclose(raised, least, rtol=1e-12)
    for x in range(5):
        for other in (i for i in range(5) if i != x):
            factor = exp_enclosure(Fraction(float(exponents[x, other])))[1]
            assert all(
                Fraction(b) >= factor * Fraction(a)
                for a, b in zip(raised[x].tolist(), raised[other].tolist(), strict=True)
            )


def test_the_slack_grows_with_the_steps_of_a_path_not_with_its_length():
    """Points a few 1e-9 apart beside points 30 apart: the far factors keep their digits."""
    points = np.array([0.0, 2e-9, 10.0, 30.0])
    exponents = np.abs(np.subtract.outer(points, points))
    raised = repair._close(np.eye(4), exponents, MARGIN)
    np.testing.assert_allclose(raised, np.exp(-exponents), rtol=4 * MARGIN * 31)


@given(st.lists(st.integers(0, 2**57), min_size=2, max_size=5), st.integers(0, 2**32))
@settings(max_examples=100, deadline=None)
def test_the_reserve_is_enough_and_hardly_more(sums, seed):
    exponents = random_metric(np.random.default_rng(seed), "l1", len(sums)) * 3
    reserve = repair._required_reserve(np.array(sums), exponents)
    missing = [max(sums) - s for s in sums]

    def fits(amount: int) -> bool:
        return all(
            missing[other] + amount >= exp_enclosure(Fraction(float(exponents[x, other])))[1] * (missing[x] + amount)
            for x in range(len(sums))
            for other in range(len(sums))
            if x != other
        )

    assert fits(reserve)
    if reserve > 1:
        assert not fits(reserve - 3 - (reserve + max(missing)) // 2**40)


def test_states_are_merged_through_chains_and_keep_their_least_exponents():
    near = repair.MERGE_EXPONENT / 2
    points = np.array([0.0, 5.0, near, 2 * near, 5.0 + near])
    labels, exponents = repair._merge_states(np.abs(np.subtract.outer(points, points)))
    assert labels.tolist() == [0, 1, 0, 0, 1]
    np.testing.assert_array_equal(exponents, [[0.0, 5.0 - 2 * near], [5.0 - 2 * near, 0.0]])
    rows = repair._average_rows(np.array([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0], [0.5, 0.5], [0.1, 0.9]]), labels, 2)
    np.testing.assert_allclose(rows, [[0.5, 0.5], [0.3, 0.7]])


def test_integer_rows_leave_room_for_the_lift_even_where_states_nearly_coincide():
    exponents = np.array([[0.0, repair.MERGE_EXPONENT], [repair.MERGE_EXPONENT, 0.0]])
    raised = repair._close(np.full((2, 3), 1 / 3), exponents, MARGIN)
    weights = repair._round_rows(raised, exponents)
    assert weights is not None
    assert weights.min() >= 1 / -math.expm1(-repair.MERGE_EXPONENT)
    assert (weights.sum(axis=1) <= 1 << repair.TOTAL_BITS).all()
    assert weights.sum(axis=1).min() > (1 - 1e-6) * (1 << repair.TOTAL_BITS)
