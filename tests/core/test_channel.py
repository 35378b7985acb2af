"""The repair against exact arithmetic: every channel satisfies its budget, whatever matrix went in."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.stats import chi2

from core import channel as channel_module
from core.certificate import certify
from core.channel import (
    EXPECTED_LOSS_ERROR,
    TOTAL,
    Channel,
    compute_expected_loss,
    draw_outputs,
    exact_channel,
    merge_outputs,
)
from core.errors import CertificateError, InputError
from core.mechanisms.exponential import exponential_mechanism
from core.mechanisms.geometric import line_noise
from core.repair import CLOSURE_MARGINS, build_weights
from tests.reference import METRICS, expected_loss, optimum, random_instance, random_metric, satisfies, violations

PAIR = np.array([[0.0, 1.0], [1.0, 0.0]])
LINE = np.abs(np.subtract.outer(np.arange(6.0), np.arange(6.0))) / 5


def random_matrix(rng: np.random.Generator, kind: str, n: int) -> np.ndarray:
    """Draw a stochastic matrix; none of these kinds satisfies a budget on its own."""
    if kind == "identity":
        return np.eye(n)
    if kind == "constant":
        return np.tile(rng.dirichlet(np.ones(n)), (n, 1))
    matrix = rng.dirichlet(np.full(n + 1, 0.05 if kind == "sparse" else 1.0), size=n)
    if kind == "faint":
        matrix[:, 0] *= 1e-300
        matrix /= matrix.sum(axis=1, keepdims=True)
    return matrix


def round_naively(matrix: np.ndarray) -> np.ndarray:
    """Round down and put what is missing into the likeliest output: rows are right, the budget is not looked at."""
    weights = np.floor(matrix * TOTAL).astype(np.int64)
    weights[np.arange(len(weights)), weights.argmax(axis=1)] += TOTAL - weights.sum(axis=1)
    return weights


def solve_line(epsilon: float) -> np.ndarray:
    """Return a solver's optimum on `LINE` for squared loss and a uniform prior."""
    n, rows = len(LINE), []
    for x in range(n):
        for other in (i for i in range(n) if i != x):
            for y in range(n):
                row = np.zeros((n, n))
                row[x, y], row[other, y] = math.exp(-epsilon * LINE[x, other]), -1.0
                rows.append(row.ravel())
    sums = np.kron(np.eye(n), np.ones(n))
    found = linprog((LINE**2 / n).ravel(), A_ub=np.array(rows), b_ub=np.zeros(len(rows)), A_eq=sums, b_eq=np.ones(n))
    return np.maximum(found.x.reshape(n, n), 0.0)


@given(
    st.integers(0, 2**32),
    st.sampled_from(METRICS),
    st.sampled_from(["identity", "constant", "dense", "sparse", "faint", "EM"]),
)
@settings(max_examples=200, deadline=None)
def test_every_matrix_becomes_a_channel_that_satisfies_its_budget(seed, metric, kind):
    rng = np.random.default_rng(seed)
    distance, prior, _, epsilon = random_instance(rng, 5, (metric,))
    matrix = exponential_mechanism(distance, epsilon) if kind == "EM" else random_matrix(rng, kind, len(distance))
    costs = prior[:, None] * rng.random(matrix.shape)
    made = exact_channel(matrix, distance, epsilon, costs, mechanism=kind)
    assert violations(made.weights, distance, epsilon) == []
    assert [sum(row) for row in made.weights.tolist()] == [TOTAL] * len(distance)
    assert made.certified_epsilon == certify(made.weights, distance) <= epsilon
    if made.certified_epsilon > 0:
        assert satisfies(made.weights, distance, made.certified_epsilon)
        assert not satisfies(made.weights, distance, math.nextafter(made.certified_epsilon, 0.0))
    exact = expected_loss(made.weights, costs)
    assert abs(Fraction(made.expected_loss) - exact) <= exact * Fraction(EXPECTED_LOSS_ERROR)
    assert (made.total, made.epsilon, made.mechanism, made.lower_bound) == (TOTAL, epsilon, kind, 0.0)


@given(st.integers(0, 2**32))
@settings(max_examples=40, deadline=None)
def test_no_channel_beats_the_exact_optimum(seed):
    rng = np.random.default_rng(seed)
    distance, prior, loss, epsilon = random_instance(rng, 3)
    costs = prior[:, None] * loss
    least, _ = optimum(distance, costs, epsilon)
    matrix = exponential_mechanism(distance, epsilon)
    assert expected_loss(exact_channel(matrix, distance, epsilon, costs).weights, costs) >= least


@pytest.mark.parametrize("epsilon", [0.3, 2.0, 8.0])
def test_the_reference_optimum_has_its_closed_forms(epsilon):
    for n, prior in ((2, [0.5, 0.5]), (3, [0.5, 0.3, 0.2])):
        distance = 1.0 - np.eye(n)
        low, high = optimum(distance, np.array(prior)[:, None] * distance, epsilon)
        kept = [math.exp(epsilon) / (math.exp(epsilon) + k) * sum(prior[: k + 1]) for k in range(n)]
        assert float(low) == pytest.approx(1 - max(kept), rel=1e-12)
        assert 0 <= high - low < Fraction(1, 10**18)


def test_a_good_matrix_hardly_changes_and_keeps_its_budget():
    """The worst ratio and loss increase over seeded instances of every metric whose matrix satisfies the budget."""
    rng = np.random.default_rng(6)
    ratio = increase = 0.0
    for metric in METRICS * 8:
        distance, prior, _, epsilon = random_instance(rng, 5, (metric,))
        exponents = (epsilon * distance)[distance > 0]
        if not exponents.size or exponents.min() < 1e-6:
            continue
        costs = prior[:, None] * distance
        matrix = exponential_mechanism(distance, epsilon)
        made = exact_channel(matrix, distance, epsilon, costs)
        ratio = max(ratio, made.certified_epsilon / epsilon)
        increase = max(increase, float((made.expected_loss - (costs * matrix).sum()) / costs.max()))
    assert ratio <= 1.0
    assert increase < 1e-7


def test_randomised_response_uses_its_budget_to_the_last_digits():
    odds = math.exp(2.0)
    matrix = np.array([[odds, 1.0], [1.0, odds]]) / (odds + 1)
    made = exact_channel(matrix, PAIR, 2.0)
    assert 2.0 * (1 - 1e-12) < made.certified_epsilon <= 2.0
    assert made.matrix == pytest.approx(matrix, abs=1e-14)
    assert math.isnan(made.expected_loss)


def test_naive_rounding_of_float_matrices_fails_where_the_recipe_passes():
    solved = solve_line(2.0)
    odds = math.exp(0.5)
    response = np.array([[odds, 1.0], [1.0, odds]]) / (odds + 1)
    for matrix, distance, epsilon in ((solved, LINE, 2.0), (response, PAIR, 0.5)):
        assert not satisfies(round_naively(matrix), distance, epsilon)
        assert certify(round_naively(matrix), distance) > epsilon
        assert exact_channel(matrix, distance, epsilon).certified_epsilon <= epsilon


def test_a_solved_matrix_keeps_its_loss():
    solved, costs = solve_line(2.0), LINE**2 / len(LINE)
    made = exact_channel(solved, LINE, 2.0, costs)
    assert made.expected_loss == pytest.approx(float((costs * solved).sum()), rel=1e-6)


def test_outputs_may_be_fewer_or_more_than_states():
    for m in (1, 2, 9):
        matrix = np.random.default_rng(7).dirichlet(np.ones(m), size=6)
        made = exact_channel(matrix, LINE, 1.0)
        assert made.weights.shape == (6, m)
        assert violations(made.weights, LINE, 1.0) == []


def test_states_at_distance_zero_or_nearly_so_share_one_row():
    points = np.array([0.0, 0.0, 1e-12, 0.5, 1.0])
    distance = np.abs(np.subtract.outer(points, points))
    made = exact_channel(np.eye(5), distance, 1.0)
    assert (made.weights[:3] == made.weights[0]).all()
    assert (made.weights[3] != made.weights[0]).any()
    assert violations(made.weights, distance, 1.0) == []


def test_budget_zero_leaves_equal_rows():
    made = exact_channel(np.eye(6), LINE, 0.0)
    assert (made.weights == made.weights[0]).all()
    assert made.certified_epsilon == 0.0


def test_far_states_are_separated_as_far_as_integers_reach():
    distance = 1e6 * PAIR
    made = exact_channel(np.eye(2), distance, 50.0)
    assert violations(made.weights, distance, 50.0) == []
    assert 0 < made.weights[0, 1] < 10


def test_a_wider_margin_is_tried_where_the_first_fails(monkeypatch):
    tried = []

    def first_one_short(*inputs, margin):
        weights = build_weights(*inputs, margin=margin)
        tried.append(margin)
        if len(tried) == 1:
            weights[0] += np.array([TOTAL // 4, -(TOTAL // 4)]) * np.sign(weights[0, 1] - TOTAL // 4)
        return weights

    monkeypatch.setattr(channel_module, "build_weights", first_one_short)
    made = exact_channel(np.full((2, 2), 0.5), PAIR, 0.1)
    assert tried == list(CLOSURE_MARGINS[:2])
    assert violations(made.weights, PAIR, 0.1) == []


def test_long_lines_round_often_and_still_pass():
    rng = np.random.default_rng(10)
    for epsilon in (0.5, 5.0, 50.0):
        points = np.sort(rng.random(150))
        distance = np.abs(np.subtract.outer(points, points))
        made = exact_channel(line_noise(distance, epsilon), distance, epsilon)
        assert epsilon * (1 - 1e-5) < made.certified_epsilon <= epsilon


def test_a_table_that_is_no_metric_still_gives_a_certified_channel():
    distance = LINE**2
    matrix = exponential_mechanism(distance, 4.0)
    assert violations(exact_channel(matrix, distance, 4.0).weights, distance, 4.0) == []


def test_the_remainder_goes_to_the_output_that_costs_least():
    # States 0 and 1 are near and told apart, so their rows are raised to twice the mass; state 2 is far and keeps its
    # own: after halving, half of its row is missing, and the cheapest output for it is 1.
    points = np.array([0.0, 0.01, 40.0])
    bad = np.array([[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]])
    for cheapest in range(4):
        costs = np.full((3, 4), 3.0)
        costs[:, cheapest] = 1.0
        made = exact_channel(bad, np.abs(np.subtract.outer(points, points)), 1.0, costs)
        assert made.matrix[2, cheapest] == pytest.approx(1.0 if cheapest == 3 else 0.5, abs=0.01)


def test_integers_are_read_only():
    made = exact_channel(np.eye(2), PAIR, 1.0)
    with pytest.raises(ValueError, match="read-only"):
        made.weights[0, 0] = 0


@pytest.mark.parametrize("flaw", ["budget", "sum"])
def test_an_uncertified_channel_is_never_returned(monkeypatch, flaw):
    def flawed(matrix, *_, margin):
        weights = round_naively(matrix)
        return weights if flaw == "budget" else weights // 2

    monkeypatch.setattr(channel_module, "build_weights", flawed)
    with pytest.raises(CertificateError):
        exact_channel(np.eye(2) if flaw == "budget" else np.full((2, 2), 0.5), PAIR, 1.0)


@pytest.mark.parametrize(
    ("matrix", "distance", "epsilon", "losses", "field"),
    [
        ([[0.5, 0.4], [0.5, 0.5]], PAIR, 1.0, None, "matrix"),
        ([[1.1, -0.1], [0.5, 0.5]], PAIR, 1.0, None, "matrix"),
        ([[math.nan, 1.0], [0.5, 0.5]], PAIR, 1.0, None, "matrix"),
        ([0.5, 0.5], PAIR, 1.0, None, "matrix"),
        (np.eye(2), np.zeros((3, 3)), 1.0, None, "distance"),
        (np.eye(2), [[0.0, 1.0], [2.0, 0.0]], 1.0, None, "distance"),
        (np.eye(2), [[0.0, math.nan], [math.nan, 0.0]], 1.0, None, "distance"),
        (np.eye(2), PAIR, -1.0, None, "epsilon"),
        (np.eye(2), PAIR, 50.1, None, "epsilon"),
        (np.eye(2), PAIR, math.nan, None, "epsilon"),
        (np.eye(2), PAIR, True, None, "epsilon"),
        (np.eye(2), PAIR, 1.0, np.ones((3, 2)), "loss_weights"),
        (np.eye(2), PAIR, 1.0, -np.eye(2), "loss_weights"),
        (np.eye(2), PAIR, 1.0, np.full((2, 2), math.inf), "loss_weights"),
    ],
)
def test_bad_input_is_refused_by_name(matrix, distance, epsilon, losses, field):
    with pytest.raises(InputError) as error:
        exact_channel(matrix, distance, epsilon, losses)
    assert error.value.field == field


def test_what_solvers_leave_is_mended():
    made = exact_channel([[1.0 + 1e-9, -1e-9], [0.5, 0.5 + 1e-8]], PAIR, 1.0)
    assert violations(made.weights, PAIR, 1.0) == []


def test_merging_outputs_adds_integers_and_never_weakens():
    rng = np.random.default_rng(8)
    for metric in METRICS:
        distance = random_metric(rng, metric, 4)
        made = exact_channel(rng.dirichlet(np.ones(4), size=4), distance, 3.0)
        merged = merge_outputs(made, [2, 0, 2, 0], distance, np.ones((4, 3)), mechanism="merged")
        columns = made.weights[:, [1, 0]] + made.weights[:, [3, 2]]
        assert (merged.weights == np.stack([columns[:, 0], np.zeros(4, np.int64), columns[:, 1]], axis=1)).all()
        assert merged.certified_epsilon <= made.certified_epsilon
        assert merged.mechanism == "merged"
        assert merged.expected_loss == 1.0 * 4


@pytest.mark.parametrize("targets", [[0], [0, 2], [-1, 0], [0.0, 1.0]])
def test_merging_needs_a_target_for_every_output(targets):
    made = exact_channel(np.eye(2), PAIR, 1.0)
    with pytest.raises(InputError):
        merge_outputs(made, targets, PAIR, np.ones((2, 2)), mechanism="merged")


def test_expected_loss_by_hand():
    weights = np.array([[TOTAL // 4, 3 * TOTAL // 4], [TOTAL // 2, TOTAL // 2]])
    assert compute_expected_loss(weights, [[0.0, 0.5], [1.0, 0.25]]) == 0.375 + 0.5 + 0.125


def test_drawn_outputs_follow_the_integers():
    """Chi-square over three states; false alarm 1e-6 per run, and the seed is fixed."""
    weights = np.array([[TOTAL // 2, TOTAL // 4, TOTAL // 4], [0, TOTAL, 0], [TOTAL // 8, 0, TOTAL - TOTAL // 8]])
    made = Channel(weights, math.inf, math.nan, 0.0, 1.0, "test")
    rows = np.repeat([0, 1, 2], 20000)
    released = draw_outputs(made, rows, np.random.default_rng(9))
    counts = np.array([np.bincount(released[rows == x], minlength=3) for x in range(3)])
    expected = weights / TOTAL * 20000
    possible = expected > 0
    assert (counts[~possible] == 0).all()
    statistic = ((counts - expected)[possible] ** 2 / expected[possible]).sum()
    assert statistic < chi2.isf(1e-6, df=3)
