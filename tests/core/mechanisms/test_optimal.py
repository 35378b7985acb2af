import itertools
import math
import time

import numpy as np
import pytest

from core import limits
from core.certificate import certify
from core.channel import TOTAL
from core.errors import InputError, SolverError
from core.mechanisms import optimal
from core.mechanisms.optimal import bracket_between, solve_optimal, solve_optimal_channel, solve_problem
from core.solver.channel_problem import check_problem
from core.solver.closed_forms import solve_constant, solve_top_response
from core.solver.cost import estimate_cost
from core.solver.interior_point import solve
from core.solver.output_pruning import Bracketed
from core.solver.reductions import Structure
from tests.benchmarks.instances import line, nominal, product, references
from tests.core.mechanisms.exact_optimum import BITS, exact_optimum

GAP = 1e-5
"""Largest relative bracket on the reference list."""
REFERENCES = list(references())


def gap(channel):
    return (channel.expected_loss - channel.lower_bound) / channel.expected_loss


def solve_instance(instance, epsilon, **keywords):
    return solve_optimal(instance.distance, instance.prior, instance.loss, epsilon, **keywords)


class TestReferences:
    @pytest.mark.parametrize(
        ("instance", "epsilon", "lower", "upper"),
        REFERENCES,
        ids=[f"{instance.name}-{epsilon:g}" for instance, epsilon, _, _ in REFERENCES],
    )
    def test_brackets_meet_and_are_narrow(self, instance, epsilon, lower, upper):
        channel = solve_instance(instance, epsilon).channel
        assert channel.lower_bound <= upper * (1 + 1e-12)
        assert channel.expected_loss >= lower * (1 - 1e-12)
        assert 0 <= gap(channel) <= GAP
        assert certify(channel.weights, instance.distance) <= epsilon
        assert (channel.weights.astype(object).sum(axis=1) == TOTAL).all()


def small_metric(kind, n, rng):
    if kind == "nominal":
        return 1.0 - np.eye(n)
    if kind == "line":
        points = np.sort(rng.random(n))
        return np.abs(points[:, None] - points)
    if kind == "plane":
        points = rng.random((n, 2))
        return np.sqrt(((points[:, None] - points) ** 2).sum(axis=2))
    points = rng.integers(0, 2, (n, 2))  # with duplicates
    return np.abs(points[:, None] - points).sum(axis=2).astype(float)


class TestAgainstExactIntegers:
    @pytest.mark.parametrize("kind", ["nominal", "line", "plane", "duplicates"])
    @pytest.mark.parametrize("seed", range(12))
    def test_the_exact_optimum_is_inside_the_bracket(self, kind, seed):
        rng = np.random.default_rng([seed, len(kind)])
        n = int(rng.integers(2, 5))
        distance = small_metric(kind, n, rng)
        epsilon = float(np.exp(rng.uniform(math.log(1e-3), math.log(20))))
        loss = rng.integers(0, 64, (n, n)) / 64
        if seed % 2:
            np.fill_diagonal(loss, 0.0)
        prior = np.round(rng.dirichlet(np.ones(n)) * 2**18) / 2**18
        if seed % 3 == 0:
            prior[0] = 0.0
        prior[-1] += 1 - prior.sum()
        costs = prior[:, None] * loss
        exact = np.exp(-epsilon * distance)
        looser, tighter = np.floor(exact * 2.0**BITS) / 2.0**BITS, np.ceil(exact * 2.0**BITS) / 2.0**BITS
        at_least, at_most = exact_optimum(looser, costs), exact_optimum(np.minimum(tighter, 1.0), costs)
        channel = solve_optimal_channel(distance, prior, loss, epsilon)
        assert channel.lower_bound <= float(at_most)
        assert channel.expected_loss >= float(at_least) * (1 - 1e-13)
        assert channel.expected_loss - channel.lower_bound <= 2e-6 * channel.expected_loss + 1e-12
        assert channel.certified_epsilon <= epsilon

    def test_the_exact_optimum_by_hand(self):
        # Two states, equal priors, 0/1 loss: randomised response loses 1 / (1 + e^epsilon).
        assert exact_optimum(np.array([[1, 0.25], [0.25, 1]]), np.array([[0, 0.5], [0.5, 0]])) == pytest.approx(0.2)


class TestClosedForms:
    @pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 3.0, 10.0, 30.0])
    def test_top_response_equals_its_formula_and_the_solver(self, epsilon):
        rng = np.random.default_rng(2)
        prior = rng.dirichlet(np.ones(9))
        problem = check_problem(1 - np.eye(9), prior, 1 - np.eye(9))
        programme = problem.reduce(epsilon).programme
        found = solve_top_response(programme)
        heaviest = np.cumsum(np.sort(prior)[::-1])
        e = math.exp(epsilon)
        formula = 1 - (e / (e + np.arange(9)) * heaviest).max()
        assert found.loss == pytest.approx(formula, abs=1e-14)
        assert found.lower_bound <= found.loss
        assert found.loss - found.lower_bound <= 1e-9 * found.loss + 1e-12
        if epsilon < 20:
            assert solve(programme, tolerance=1e-7).loss == pytest.approx(found.loss, rel=1e-6)

    def test_other_losses_are_left_to_the_solver(self):
        problem = check_problem(1 - np.eye(4), np.full(4, 0.25), np.random.default_rng(0).random((4, 4)))
        assert solve_top_response(problem.reduce(1.0).programme) is None

    def test_constant_is_proven_below_some_budget_and_not_above(self):
        instance = line(20)
        problem = check_problem(instance.distance, instance.prior, instance.loss)
        gaps = []
        for epsilon in (0.02, 0.1, 0.3, 1.0):
            constant, _ = solve_constant(problem.reduce(epsilon).programme)
            best = solve(problem.reduce(epsilon).programme, tolerance=1e-7)
            assert constant.lower_bound <= best.loss
            gaps.append((constant.loss - constant.lower_bound) / constant.loss)
        assert gaps[0] < 1e-12
        assert gaps[-1] > 1e-3
        assert solve_problem(problem, 0.02).iterations == 0
        assert np.count_nonzero(solve_problem(problem, 0.02).channel.weights.any(axis=0)) == 1


class TestEdges:
    def test_one_state(self):
        channel = solve_optimal_channel([[0.0]], [1.0], [[3.0, 1.0]], 1.0)
        assert channel.weights.tolist() == [[0, TOTAL]]
        assert channel.expected_loss == 1.0
        assert channel.lower_bound == pytest.approx(1.0)

    def test_no_loss_at_all(self):
        channel = solve_optimal_channel(1 - np.eye(3), np.full(3, 1 / 3), np.zeros((3, 3)), 1.0)
        assert channel.expected_loss == channel.lower_bound == 0.0

    def test_equal_points_get_equal_rows(self):
        distance = np.array([[0, 0, 1], [0, 0, 1], [1, 1, 0]], float)
        loss = np.array([[0, 1, 2], [1, 0, 2], [2, 1, 0]], float)
        channel = solve_optimal_channel(distance, [0.2, 0.5, 0.3], loss, 2.0)
        assert (channel.weights[0] == channel.weights[1]).all()
        assert gap(channel) <= 1e-6

    def test_nearly_equal_points_keep_a_valid_bound(self):
        distance = np.array([[0, 1e-10, 1], [1e-10, 0, 1], [1, 1, 0]], float)
        channel = solve_optimal_channel(distance, [0.2, 0.5, 0.3], 1 - np.eye(3), 1.0)
        apart = np.array([[0, 0.01, 1], [0.01, 0, 1], [1, 1, 0]], float)
        assert channel.lower_bound <= channel.expected_loss
        # points further apart leave more freedom, hence no larger an optimum
        assert solve_optimal_channel(apart, [0.2, 0.5, 0.3], 1 - np.eye(3), 1.0).lower_bound <= channel.expected_loss

    def test_all_points_equal(self):
        channel = solve_optimal_channel(np.zeros((3, 3)), [0.2, 0.5, 0.3], 1 - np.eye(3), 1.0)
        assert channel.expected_loss == pytest.approx(0.5)
        assert channel.lower_bound == pytest.approx(0.5)

    def test_states_that_never_occur(self):
        channel = solve_optimal_channel(line(8).distance, np.eye(8)[3], line(8).loss, 1.0)
        assert channel.expected_loss == pytest.approx(0.0, abs=1e-15)

    def test_more_outputs_than_states(self):
        rng = np.random.default_rng(0)
        channel = solve_optimal_channel(line(6).distance, line(6).prior, rng.random((6, 15)), 3.0)
        assert channel.weights.shape == (6, 15)
        assert gap(channel) <= 1e-6

    def test_order_of_states_does_not_matter(self):
        instance = product("n3 o4")
        order = np.random.default_rng(1).permutation(12)
        plain = solve_instance(instance, 2.0).channel
        mixed = solve_optimal_channel(
            instance.distance[np.ix_(order, order)], instance.prior[order], instance.loss[np.ix_(order, order)], 2.0
        )
        assert mixed.lower_bound <= plain.expected_loss
        assert plain.lower_bound <= mixed.expected_loss

    @pytest.mark.parametrize("p", [1.0, math.inf])
    def test_observed_subset_with_its_structure(self, p):
        instance = product("n4 o3 n3", p=p, loss="random")
        states = np.array(list(itertools.product(range(4), range(3), range(3))))
        kept = np.sort(np.random.default_rng(5).choice(36, 20, replace=False))
        prior = instance.prior[kept] / instance.prior[kept].sum()
        inside = np.ix_(kept, kept)
        structure = Structure(states[kept].astype(np.int32), ("nominal", "line", "nominal"), p)
        arguments = instance.distance[inside], prior, instance.loss[inside], 2.0
        hinted, plain = solve_optimal_channel(*arguments, structure=structure), solve_optimal_channel(*arguments)
        assert gap(hinted) <= 1e-6
        assert hinted.lower_bound <= plain.expected_loss
        assert plain.lower_bound <= hinted.expected_loss

    def test_every_budget_of_the_range(self):
        instance = nominal(6)
        losses = []
        for epsilon in (limits.EPSILON.low, 1e-3, 0.5, 5.0, 15.0, 40.0, limits.EPSILON.high):
            channel = solve_instance(instance, epsilon).channel
            assert channel.certified_epsilon <= epsilon
            assert channel.expected_loss - channel.lower_bound <= 1e-6 * channel.expected_loss + 1e-12
            losses.append(channel.expected_loss)
        assert losses == sorted(losses, reverse=True)


class TestDual:
    @pytest.mark.parametrize("instance", [line(20), nominal(12), product("n3 o4")], ids=lambda i: i.name)
    def test_derivative_equals_differences(self, instance):
        step = 1e-3
        low, middle, high = (solve_instance(instance, 2.0 + change, tolerance=1e-9) for change in (-step, 0.0, step))
        difference = (high.channel.expected_loss - low.channel.expected_loss) / (2 * step)
        assert middle.derivative == pytest.approx(difference, rel=0.01)
        assert middle.derivative < 0

    @pytest.mark.parametrize("instance", [line(20), nominal(12), product("n3 o4")], ids=lambda i: i.name)
    def test_bracket_between_contains_the_optimum(self, instance):
        problem = check_problem(instance.distance, instance.prior, instance.loss)
        first, second = solve_problem(problem, 1.5), solve_problem(problem, 1.7)
        between = bracket_between(problem, first, second, 1.6)
        best = solve_problem(problem, 1.6).channel
        assert between.certified_epsilon <= 1.6
        assert second.channel.lower_bound <= between.lower_bound <= best.expected_loss
        assert best.lower_bound <= between.expected_loss <= first.channel.expected_loss * (1 + 1e-9)
        assert gap(between) < 0.05

    @pytest.mark.parametrize("instance", [line(30), nominal(20), product("n4 o4")], ids=lambda i: i.name)
    def test_hints_do_not_change_the_answer(self, instance):
        problem = check_problem(instance.distance, instance.prior, instance.loss)
        before = solve_problem(problem, 1.0)
        plain = solve_problem(problem, 1.3).channel
        for hint in (before, before.outputs, [0], [10**9]):
            hinted = solve_problem(problem, 1.3, hint=hint).channel
            assert gap(hinted) <= 1e-6
            assert hinted.lower_bound <= plain.expected_loss
            assert plain.lower_bound <= hinted.expected_loss

    def test_used_outputs_carry_the_mass(self):
        solution = solve_instance(line(30), 1.0)
        assert 1 < len(solution.outputs) < 30
        assert solution.channel.matrix[:, solution.outputs].sum(axis=1) == pytest.approx(1.0, abs=1e-2)


class TestLimits:
    def test_progress_may_stop(self):
        class StopNowError(Exception):
            pass

        def progress(fraction, sentence):
            assert 0 <= fraction <= 1
            raise StopNowError(sentence)

        with pytest.raises(StopNowError):
            solve_instance(line(20), 2.0, progress=progress)

    def test_progress_is_called_often(self):
        times = [time.monotonic()]
        solve_instance(product("n4 o4 n4"), 2.0, progress=lambda *_: times.append(time.monotonic()))
        assert len(times) > 10

    @pytest.mark.parametrize("seconds", [0.0, 0.05])
    def test_time_limit_returns_a_certified_bracket(self, seconds):
        instance = product("n4 o4 n4")
        solution = solve_instance(instance, 2.0, time_limit=seconds)
        best = solve_instance(instance, 2.0).channel
        assert solution.channel.certified_epsilon <= 2.0
        assert solution.channel.lower_bound <= best.expected_loss
        assert best.lower_bound <= solution.channel.expected_loss
        if seconds == 0:
            assert solution.status == "time limit"

    def test_too_large_is_a_sentence(self, monkeypatch):
        monkeypatch.setattr(optimal, "MEMORY_LIMIT_MB", 0.1)
        with pytest.raises(SolverError, match="tau_dim"):
            solve_instance(product("n4 o4 n4"), 2.0)


class TestFallback:
    @pytest.mark.parametrize(
        "instance", [line(12), nominal(9), product("n3 o3"), product("o3 o3")], ids=lambda i: i.name
    )
    def test_a_stall_is_handed_to_highs(self, instance, monkeypatch):
        best = solve_instance(instance, 2.0).channel

        def stall(programme, stop, **_):
            uniform = np.full(programme.costs.shape, 1 / programme.costs.shape[1])
            nothing = np.zeros((len(programme.rows), programme.costs.shape[1]))
            return Bracketed(uniform, nothing, float((uniform * programme.costs).sum()), 0.0, "stalled", 3)

        monkeypatch.setattr(optimal, "solve_pruned", stall)
        rescued = solve_instance(instance, 2.0)
        assert rescued.status == "optimal"
        assert rescued.channel.lower_bound <= best.expected_loss
        assert best.lower_bound <= rescued.channel.expected_loss

    def test_without_a_rescue_the_gap_says_so(self, monkeypatch):
        monkeypatch.setattr(optimal, "_FALLBACK_ENTRIES", 0)
        monkeypatch.setattr("core.solver.interior_point.ITERATION_LIMIT", 2)
        solution = solve_instance(product("n3 o4"), 2.0)
        assert solution.status == "stalled"
        assert gap(solution.channel) > 1e-3
        assert solution.channel.lower_bound <= solution.channel.expected_loss


class TestCost:
    def test_estimates_grow_with_states_and_know_the_kinds(self):
        def estimate(instance):
            problem = check_problem(instance.distance, instance.prior, instance.loss)
            return estimate_cost(problem.reduce(1.0).programme)

        small, large, flat = estimate(product("o4 o4")), estimate(product("o8 o8")), estimate(line(64))
        assert (small.kind, large.kind, flat.kind) == ("general", "general", "line")
        assert small.seconds < large.seconds
        assert small.megabytes < large.megabytes
        assert flat.seconds < large.seconds / 10
        assert flat.megabytes < large.megabytes / 10


class TestInputs:
    GOOD = (1 - np.eye(3), np.full(3, 1 / 3), 1 - np.eye(3), 1.0)

    @pytest.mark.parametrize(
        ("position", "value", "field", "words"),
        [
            (0, np.eye(3), "distance", "to itself"),
            (0, np.array([[0, 1, 1], [2, 0, 1], [1, 1, 0]]), "distance", "both directions"),
            (0, np.array([[0, 1, 5], [1, 0, 1], [5, 1, 0]]), "distance", "triangle"),
            (0, -(1 - np.eye(3)), "distance", "at least 0"),
            (0, (1 - np.eye(3)) * math.nan, "distance", "finite"),
            (0, 1 - np.eye(4), "distance", "3 by 3"),
            (1, [0.5, 0.6, 0.1], "prior", "sum to 1"),
            (1, [1.5, -0.5, 0.0], "prior", "probabilities"),
            (1, [math.nan, 0.5, 0.5], "prior", "probabilities"),
            (1, np.full((3, 1), 1 / 3), "prior", "one number per state"),
            (1, np.full(1001, 1 / 1001), "prior", "1000 states"),
            (2, np.eye(3) - 1, "loss", "at least 0"),
            (2, np.full((3, 3), math.inf), "loss", "finite"),
            (2, np.ones((2, 3)), "loss", "3 states"),
            (3, 0.0, "The privacy budget (epsilon)", "from 1e-06 to 50"),
            (3, math.nan, "The privacy budget (epsilon)", "must be a number"),
        ],
    )
    def test_bad_inputs_are_sentences(self, position, value, field, words):
        arguments = list(self.GOOD)
        arguments[position] = value
        with pytest.raises(InputError, match=words) as error:
            solve_optimal_channel(*arguments)
        assert error.value.field == field
