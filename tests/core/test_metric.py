"""Component and record metrics against hand-computed values, exact arithmetic and the metric axioms."""

import math
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import InputError
from core.metric import (
    METRIC_TOLERANCE,
    add_missing_level,
    component_distance,
    cross_distance,
    dual_exponent,
    dual_norm,
    group_distance,
    record_distance,
    uniform_split,
    verify_metric,
)


def component(distance, weight=1.0):
    return SimpleNamespace(distance=np.asarray(distance, dtype=float), weight=weight)


NOMINAL = component_distance("nominal", 2)
LINE = component_distance("numeric", 3, np.array([0.0, 3.0, 4.0]), 4.0)


@st.composite
def groups(draw):
    """Attributes of every kind with random sizes, values, weights and missing levels, and all their states."""
    attributes = []
    for _ in range(draw(st.integers(1, 3))):
        kind = draw(st.sampled_from(["nominal", "ordinal", "numeric"]))
        missing = draw(st.booleans())
        size = draw(st.integers(1, 4)) + missing
        values = np.cumsum([draw(st.floats(1e-3, 10)) for _ in range(size)])
        span = float(values[-1] - values[0]) + draw(st.floats(0, 1))
        weight = draw(st.sampled_from([1.0, 0.25, 2.0, 3.7, 1e-6, 1e6]))
        attributes.append(component(component_distance(kind, size, values, span, missing), weight))
    sizes = [len(a.distance) for a in attributes]
    states = np.stack(np.unravel_index(np.arange(math.prod(sizes)), sizes), axis=1).astype(np.int32)
    return attributes, states


exponents = st.sampled_from([1.0, 1.5, 2.0, 3.0, 7.3, 200.0, math.inf])


def exact_power(attributes, a, b, p):
    """sum_l w_l d_l^p of two states as a fraction, for whole p."""
    return sum(
        Fraction(t.weight) * Fraction(float(t.distance[i, j])) ** int(p)
        for t, i, j in zip(attributes, a, b, strict=True)
    )


def test_component_nominal_is_the_discrete_metric():
    assert component_distance("nominal", 3).tolist() == [[0, 1, 1], [1, 0, 1], [1, 1, 0]]


def test_component_ordinal_divides_by_the_ranks_without_the_missing_level():
    assert component_distance("ordinal", 4, has_missing=True).tolist() == [
        [0, 0.5, 1, 1],
        [0.5, 0, 0.5, 1],
        [1, 0.5, 0, 1],
        [1, 1, 1, 0],
    ]


def test_component_numeric_divides_by_the_span():
    assert LINE.tolist() == [[0, 0.75, 1], [0.75, 0, 0.25], [1, 0.25, 0]]
    with_missing = component_distance("numeric", 3, np.array([1.0, 2.0, np.nan]), 4.0, has_missing=True)
    assert with_missing.tolist() == [[0, 0.25, 1], [0.25, 0, 1], [1, 1, 0]]


@pytest.mark.parametrize("kind", ["nominal", "ordinal", "numeric"])
def test_component_of_one_level_is_zero(kind):
    assert component_distance(kind, 1, np.array([7.0]), 0.0).tolist() == [[0]]


def test_missing_level_of_an_own_matrix_keeps_the_triangle_inequality():
    near = add_missing_level(np.array([[0, 0.5], [0.5, 0]]))
    far = add_missing_level(np.array([[0, 6.0], [6.0, 0]]))
    assert near[2].tolist() == [1, 1, 0]
    assert far[2].tolist() == [3, 3, 0]
    verify_metric(far, ["a", "b", "missing"])


def test_group_distance_by_hand():
    attributes = [component(NOMINAL), component(LINE)]
    states = np.array([[0, 0], [1, 0], [1, 1]], dtype=np.int32)
    by_hand = np.array([[0, 1, 1.75], [1, 0, 0.75], [1.75, 0.75, 0]])
    assert group_distance(states, attributes, 1.0) == pytest.approx(by_hand, rel=1e-14)
    assert group_distance(states, attributes, 2.0)[0, 2] == pytest.approx(1.25, rel=1e-14)
    assert group_distance(states, attributes, math.inf)[0, 2] == 1.0
    assert group_distance(states, attributes, 3.0)[0, 2] == pytest.approx((1 + 0.75**3) ** (1 / 3), abs=1e-14)


def test_weights_scale_terms_and_infinity_ignores_them():
    attributes = [component(NOMINAL, 4.0), component(NOMINAL, 9.0)]
    states = np.array([[0, 0], [0, 1], [1, 1]], dtype=np.int32)
    assert group_distance(states, attributes, 1.0)[0].tolist() == [0, 9, 13]
    assert group_distance(states, attributes, 2.0)[0, 1] == 3.0
    assert group_distance(states, attributes, 2.0)[0, 2] == pytest.approx(math.sqrt(13), rel=1e-14)
    assert group_distance(states, attributes, math.inf)[0].tolist() == [0, 1, 1]


@pytest.mark.parametrize(("p", "factor"), [(1.0, 5.0), (2.0, math.sqrt(5.0)), (3.0, 5.0 ** (1 / 3)), (math.inf, 1.0)])
def test_a_single_attribute_carries_the_root_of_its_weight(p, factor):
    states = np.arange(3, dtype=np.int32)[:, None]
    assert group_distance(states, [component(LINE, 5.0)], p) == pytest.approx(factor * LINE, rel=1e-13)


@pytest.mark.parametrize("p", [1.0, 2.0, 2.5, math.inf])
def test_a_single_attribute_of_weight_one_keeps_its_distances_exactly(p):
    states = np.arange(3, dtype=np.int32)[:, None]
    assert (group_distance(states, [component(LINE)], p) == LINE).all()


def test_counts_of_changed_attributes_are_exact():
    attributes = [component(NOMINAL)] * 4
    changed = np.array([[0, 0, 0, 0], [1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 1]], dtype=np.int32)
    assert group_distance(changed, attributes, 1.0)[0].tolist() == [0, 1, 2, 4]
    assert group_distance(changed, attributes, 2.0)[0, [1, 3]].tolist() == [1, 2]
    assert Fraction(float(group_distance(changed, attributes, 2.0)[0, 2])) ** 2 < 2


def test_small_distances_do_not_vanish_for_large_exponents():
    attributes = [component([[0, 1e-3], [1e-3, 0]]), component([[0, 1e-9], [1e-9, 0]])]
    states = np.array([[0, 0], [0, 1], [1, 1]], dtype=np.int32)
    assert group_distance(states, attributes, 200.0)[0] == pytest.approx([0, 1e-9, 1e-3], rel=1e-12)


@settings(max_examples=60, deadline=None)
@given(groups(), exponents)
def test_group_distance_is_a_metric(group, p):
    attributes, states = group
    distance = group_distance(states, attributes, p)
    assert (distance == distance.T).all()
    assert (np.diag(distance) == 0).all()
    off = ~np.eye(len(states), dtype=bool)
    assert (distance[off] > 0).all()
    detour = (distance[:, :, None] + distance[None, :, :]).min(axis=1)
    assert (distance <= detour * (1 + METRIC_TOLERANCE)).all()


@settings(max_examples=60, deadline=None)
@given(groups(), st.sampled_from([1.0, 2.0, 3.0]))
def test_group_distance_is_never_above_the_exact_one_and_hardly_below(group, p):
    attributes, states = group
    distance = group_distance(states, attributes, p)
    for i in range(0, len(states), 3):
        for j in range(0, len(states), 2):
            exact = exact_power(attributes, states[i], states[j], p)
            assert Fraction(float(distance[i, j])) ** int(p) <= exact
            assert Fraction(float(distance[i, j]) * (1 + 1e-13)) ** int(p) >= exact


@settings(max_examples=30, deadline=None)
@given(groups(), exponents, st.randoms(use_true_random=False))
def test_row_wise_cross_and_subset_distances_agree_with_the_product(group, p, random):
    attributes, states = group
    full = group_distance(states, attributes, p)
    chosen = sorted(random.sample(range(len(states)), max(1, len(states) // 2)))
    assert (group_distance(states[chosen], attributes, p) == full[np.ix_(chosen, chosen)]).all()
    assert (cross_distance(states[chosen], states, attributes, p) == full[chosen]).all()
    other = np.roll(np.arange(len(states)), 1)
    assert (record_distance(states, states[other], attributes, p) == full[np.arange(len(states)), other]).all()


@pytest.mark.parametrize("p", [0.5, -1.0, math.nan])
def test_an_exponent_below_one_is_refused(p):
    with pytest.raises(InputError, match="metric exponent"):
        group_distance(np.zeros((2, 1), dtype=np.int32), [component(NOMINAL)], p)


@pytest.mark.parametrize(("p", "q"), [(1.0, math.inf), (2.0, 2.0), (math.inf, 1.0), (3.0, 1.5), (1.5, 3.0)])
def test_dual_exponent(p, q):
    assert dual_exponent(p) == q


def test_dual_norm_by_hand():
    assert dual_norm([3.0, 4.0], 2.0) == 5.0
    assert dual_norm([3.0, 4.0], 1.0) == 4.0
    assert dual_norm([3.0, 4.0], math.inf) == 7.0
    assert dual_norm([3.0, 4.0], 1.5) == pytest.approx(91 ** (1 / 3), rel=1e-12)
    assert dual_norm([], 2.0) == 0.0
    assert dual_norm([0.0, 0.1, 0.0], 2.0) == 0.1
    assert dual_norm([1.0, math.inf], 2.0) == math.inf


budgets = st.lists(st.floats(1e-6, 50), min_size=1, max_size=8)


@settings(max_examples=80, deadline=None)
@given(budgets)
def test_dual_norm_is_the_least_float_at_or_above_the_exact_norm(values):
    exact = sum(Fraction(v) ** 2 for v in values)
    found = dual_norm(values, 2.0)
    assert Fraction(found) ** 2 >= exact > Fraction(math.nextafter(found, 0)) ** 2
    total = dual_norm(values, math.inf)
    assert Fraction(total) >= sum(map(Fraction, values)) > Fraction(math.nextafter(total, 0))
    assert dual_norm(values, 1.0) == max(values)


@settings(max_examples=40, deadline=None)
@given(budgets)
def test_dual_norm_of_general_exponents_is_rounded_up(values):
    exact = sum(Fraction(v) ** 3 for v in values)
    assert Fraction(dual_norm(values, 1.5)) ** 3 >= exact
    assert Fraction(dual_norm(values, 1.5) * (1 - 1e-13)) ** 3 <= exact


@settings(max_examples=60, deadline=None)
@given(st.floats(1e-6, 50), st.integers(1, 12), exponents)
def test_uniform_split_fits_the_total_and_wastes_nothing(epsilon, count, p):
    share = uniform_split(epsilon, count, p)
    assert dual_norm([share] * count, p) <= epsilon
    assert dual_norm([share] * count, p) >= epsilon * (1 - 1e-13)


@settings(max_examples=40, deadline=None)
@given(groups(), st.sampled_from([1.0, 2.0, 3.0, math.inf]), st.lists(st.floats(0, 9), min_size=3, max_size=3))
def test_independent_groups_compose_to_the_dual_norm(group, p, epsilons):
    attributes, states = group
    budgets = epsilons[: len(attributes)]
    singles = [group_distance(states[:, [i]], [a], p) for i, a in enumerate(attributes)]
    spent = sum(e * d for e, d in zip(budgets, singles, strict=True))
    assert (spent <= dual_norm(budgets, p) * group_distance(states, attributes, p) * (1 + 1e-12) + 1e-300).all()


@pytest.mark.parametrize("bad", [[-1.0, 2.0], [math.nan]])
def test_budgets_that_are_no_budgets_are_refused(bad):
    with pytest.raises(InputError, match="at least 0"):
        dual_norm(bad, 2.0)


def test_splitting_among_no_groups_is_refused():
    with pytest.raises(InputError, match="one group or more"):
        uniform_split(1.0, 0, 2.0)


def test_verify_metric_accepts_a_metric():
    verify_metric(LINE, ["a", "b", "c"])
    verify_metric(np.array([[0, 0.1, 0.3], [0.1, 0, 0.2], [0.3, 0.2, 0]]), ["a", "b", "c"])  # 0.1 + 0.2 > 0.3 in floats


@pytest.mark.parametrize(
    ("matrix", "sentence"),
    [
        ([[0, 1, 3], [1, 0, 1], [3, 1, 0]], r"red to blue is 3, longer than the 2 through green"),
        ([[0, 1, 1], [1, 0.5, 1], [1, 1, 0]], r"green to green is 0.5 but must be 0"),
        ([[0, 1, 1], [2, 0, 1], [1, 1, 0]], r"red to green is 1 but must be the same in both directions"),
        ([[0, 0, 1], [0, 0, 1], [1, 1, 0]], r"red to green is 0 but must be above 0"),
        ([[0, -1, 1], [-1, 0, 1], [1, 1, 0]], r"red to green is -1 but must be above 0"),
        ([[0, math.nan, 1], [math.nan, 0, 1], [1, 1, 0]], r"red to green is nan but must be a finite number"),
        ([[0, 1], [1, 0]], r"must be 3 x 3, not 2 x 2"),
    ],
)
def test_verify_metric_names_what_is_wrong(matrix, sentence):
    with pytest.raises(InputError, match=sentence):
        verify_metric(np.array(matrix, dtype=float), ["red", "green", "blue"])
