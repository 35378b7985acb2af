"""Sharing the budget: hand-computed cases, optimality by duality, brute force, KKT, and the sandwich."""

import doctest
import itertools
import math
import time
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

import core.allocation
import core.grid_search
from core.allocation import (
    allocate,
    allocate_group_budgets,
    allocate_uniform,
    evaluate,
    relative_error,
)
from core.curves import LossCurve
from core.envelopes import PiecewiseLinear
from core.errors import InputError
from core.grid_search import spend_on_grid
from core.metric import dual_exponent, dual_norm
from core.smallest_epsilon import smallest_epsilon_for

relaxed = settings(deadline=None, max_examples=80)
EXPONENTS = (1.0, 1.0001, 1.5, 2.0, 3.0, 10.0, 1000.0, math.inf)
GRID = np.array([0.0, 0.5, 1.0, 2.0, 3.0, 5.0])


@st.composite
def convex_functions(draw, count=None):
    """A few convex non-increasing functions from budget 0, some constant, and their weights."""
    functions = []
    for _ in range(draw(st.integers(1, 4)) if count is None else count):
        size = draw(st.integers(0, 6))
        gaps = draw(st.lists(st.sampled_from([0.1, 0.5, 1.0, 2.0]), min_size=size, max_size=size))
        slopes = sorted(
            draw(st.lists(st.one_of(st.just(0.0), st.floats(1e-3, 10.0)), min_size=size, max_size=size)), reverse=True
        )
        drops = np.array(slopes) * np.array(gaps)
        knots = np.concatenate([[0.0], np.cumsum(gaps)])
        functions.append(PiecewiseLinear(knots, 0.5 + np.append(np.cumsum(drops[::-1])[::-1], 0.0)))
    beta = draw(st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0]), min_size=len(functions), max_size=len(functions)))
    return functions, np.array(beta)


def make_curve(upper, *, lower=None, grid=GRID, certified=True, stepwise=False):
    upper = np.asarray(upper, dtype=float)
    channels = tuple(SimpleNamespace(mechanism="test") for _ in upper)
    return LossCurve(grid, upper, upper if lower is None else lower, channels, certified, "test", stepwise=stepwise)


@st.composite
def step_curves(draw, most=3):
    """Step functions on GRID, bracketed or exact, and their weights."""
    curves = []
    stepwise = draw(st.booleans())
    for _ in range(draw(st.integers(1, most))):
        drops = draw(st.lists(st.sampled_from([0.0, 0.1, 0.5, 1.0, 3.0]), min_size=6, max_size=6))
        curves.append(make_curve(np.cumsum(drops[::-1])[::-1], stepwise=stepwise))
    beta = draw(st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0]), min_size=len(curves), max_size=len(curves)))
    return curves, np.array(beta)


def total(functions, beta, budgets):
    return sum(b * f(float(e)) for f, b, e in zip(functions, beta, budgets, strict=True))


def test_docstring_examples():
    assert doctest.testmod(core.allocation).failed == 0


class TestHandComputed:
    def test_two_lines_share_in_proportion_to_their_slopes(self):
        line = PiecewiseLinear([0, 10], [10, 0])
        found = allocate([line, line], [3, 4], 5.0, 2.0, intercept=2.0)
        assert found.epsilons == pytest.approx([3, 4])
        assert found.value == pytest.approx(2 + 3 * 7 + 4 * 6)
        # One more unit of budget saves sqrt(3^2 + 4^2).
        assert found.multiplier == pytest.approx(5)
        assert found.q == 2

    def test_sum_constraint_fills_the_steepest_segments_first(self):
        a, b = PiecewiseLinear([0, 1, 3], [9, 4, 2]), PiecewiseLinear([0, 2], [6, 0])
        # Slopes 5 (length 1), 3 (length 2), 1: with 2.5 in all, 1 goes to a and 1.5 to b.
        found = allocate([a, b], [1, 1], 2.5, math.inf)
        assert found.epsilons.tolist() == [1.0, 1.5]
        assert found.multiplier == 3
        assert found.value == 4 + 1.5

    def test_a_group_that_holds_the_whole_total_sets_the_multiplier(self):
        steep, gentle = PiecewiseLinear([0, 0.25, 2], [8, 6, 2]), PiecewiseLinear([0, 1], [1, 0.5])
        found = allocate([steep, gentle], [1, 1], 1.0, math.inf)
        assert found.epsilons.tolist() == [1.0, 0.0]
        assert found.multiplier == pytest.approx(4 / 1.75)

    def test_largest_constraint_gives_everyone_everything(self):
        line = PiecewiseLinear([0, 2], [2, 0])
        found = allocate([line, line], [1, 2], 1.5, 1.0)
        assert found.epsilons.tolist() == [1.5, 1.5]
        assert found.multiplier == pytest.approx(3)
        assert found.value == pytest.approx(1.5)

    def test_largest_constraint_is_not_capped_by_the_grid(self):
        assert allocate([PiecewiseLinear([0, 2], [2, 0])], [1], 7.0, 1.0).epsilons.tolist() == [7.0]

    @pytest.mark.parametrize("p", EXPONENTS[1:])
    def test_of_equal_losses_the_smallest_budget_is_taken(self, p):
        flat, constant = PiecewiseLinear([0, 1, 9], [3, 1, 1]), PiecewiseLinear([0, 5], [2, 2])
        found = allocate([flat, constant, flat], [1, 1, 0], 6.0, p)
        assert found.epsilons.tolist() == [1.0, 0.0, 0.0]
        assert found.multiplier == 0

    @pytest.mark.parametrize("p", EXPONENTS)
    def test_no_budget(self, p):
        found = allocate([PiecewiseLinear([0, 1], [3, 1])] * 2, [1, 1], 0.0, p)
        assert found.epsilons.tolist() == [0.0, 0.0]
        assert found.value == found.bound + (found.value - found.bound) == 6.0

    @pytest.mark.parametrize("p", EXPONENTS)
    def test_one_group_gets_exactly_the_total(self, p):
        # Exactly: a unit of rounding less would fall to the grid budget below.
        for epsilon in (0.1, 1.0, 3.0):
            assert allocate([PiecewiseLinear([0, 10], [10, 0])], [0.3], epsilon, p).epsilons.tolist() == [epsilon]

    def test_knots_are_kept_exactly_where_they_fit(self):
        corner = [PiecewiseLinear([0, k, 10], [10 * k, 1, 0]) for k in (3, 4)]
        assert allocate(corner, [1, 1], 5.0, 2.0).epsilons.tolist() == [3.0, 4.0]
        tenths = [PiecewiseLinear([0, 0.1, 0.3, 1], [9, 5, 2, 2]) for _ in range(3)]
        enough = dual_norm([0.3] * 3, math.inf)
        assert allocate(tenths, [1, 1, 1], enough, math.inf).epsilons.tolist() == [0.3] * 3
        # One unit of rounding less: one group gives way, the others stay on their grid budget.
        short = allocate(tenths, [1, 1, 1], math.nextafter(enough, 0), math.inf).epsilons
        assert (short == 0.3).sum() == 2
        assert short == pytest.approx([0.3] * 3)

    @pytest.mark.parametrize(
        ("beta", "message"), [([1], "one weight per group"), ([1, -1], "not negative"), ([1, math.nan], "finite")]
    )
    def test_refuses_wrong_weights(self, beta, message):
        with pytest.raises(ValueError, match=message):
            allocate([PiecewiseLinear([0, 1], [1, 0])] * 2, beta, 1.0, 2.0)

    @pytest.mark.parametrize("epsilon", [-1.0, math.nan, math.inf])
    def test_refuses_wrong_budgets(self, epsilon):
        with pytest.raises(InputError, match="total budget must be"):
            allocate([PiecewiseLinear([0, 1], [1, 0])], [1], epsilon, 2.0)

    def test_refuses_functions_that_start_late(self):
        with pytest.raises(ValueError, match="start at budget 0"):
            allocate([PiecewiseLinear([1, 2], [1, 0])], [1], 1.0, 2.0)

    def test_uniform_split(self):
        assert allocate_uniform(4, 3.0, 2.0).epsilons.tolist() == [1.5] * 4
        assert allocate_uniform(3, 3.0, math.inf).epsilons.tolist() == [1.0] * 3
        assert math.isnan(allocate_uniform(3, 3.0, 1.0).value)


class TestOptimality:
    @relaxed
    @given(convex_functions(), st.floats(1e-3, 20.0), st.sampled_from(EXPONENTS))
    def test_fits_and_no_allocation_is_better_by_weak_duality(self, problem, epsilon, p):
        functions, beta = problem
        found = allocate(functions, beta, epsilon, p)
        assert dual_norm(found.epsilons, p) <= epsilon
        assert (found.epsilons >= 0).all()
        assert found.value == pytest.approx(total(functions, beta, found.epsilons))
        # The bound below is recomputed here from the multiplier alone: for any multiplier it bounds every allocation.
        scale = 1e-9 * (1 + total(functions, beta, np.zeros(len(beta))))
        assert found.bound <= found.value <= found.bound + scale
        if 1 < p < 500 or math.isinf(p):
            assert self.dual_value(functions, beta, found.multiplier, epsilon, p) >= found.bound - scale

    @staticmethod
    def dual_value(functions, beta, multiplier, epsilon, p):
        """Minimise the Lagrangian group by group on knots and on stationary points inside segments."""
        q = dual_exponent(p)
        value = -multiplier * epsilon / q
        for f, b in zip(functions, beta, strict=True):
            points = [*f.knots]
            if q > 1 and multiplier > 0:
                inside = epsilon * (-b * f.slopes / multiplier) ** (p - 1)
                points += [*np.clip(inside, f.knots[:-1], f.knots[1:])]
            candidates = np.array([e for e in points if e <= epsilon] + [epsilon])
            value += (b * f(candidates) + multiplier * epsilon / q * (candidates / epsilon) ** q).min()
        return value

    @relaxed
    @given(convex_functions(count=2), st.sampled_from([0.3, 1.0, 2.5, 6.0]), st.sampled_from(EXPONENTS))
    def test_brute_force_on_the_boundary_of_two_groups(self, problem, epsilon, p):
        functions, beta = problem
        found = allocate(functions, beta, epsilon, p)
        share = np.linspace(0, 1, 2001)
        first = share * epsilon
        q = dual_exponent(p)
        second = np.full_like(first, epsilon) if math.isinf(q) else epsilon * (1 - share**q) ** (1 / q)
        best = (beta[0] * functions[0](first) + beta[1] * functions[1](second)).min()
        assert found.value <= best + 1e-9 * (1 + best)

    @pytest.mark.parametrize("p", [1.5, 2.0, 4.0])
    def test_scipys_general_solver_finds_nothing_better(self, p):
        rng = np.random.default_rng(7)
        q, epsilon = dual_exponent(p), 3.0
        for _ in range(10):
            knots = np.concatenate([[0], np.cumsum(rng.uniform(0.2, 1, 8))])
            functions = [PiecewiseLinear(knots, np.exp(-r * knots)) for r in rng.uniform(0.2, 3, 3)]
            beta = rng.uniform(0.2, 2, 3)
            found = allocate(functions, beta, epsilon, p)
            answer = minimize(
                lambda e, f=functions, b=beta: total(f, b, e),
                np.full(3, epsilon / 3 ** (1 / q)),
                bounds=[(0, epsilon)] * 3,
                constraints={"type": "ineq", "fun": lambda e: epsilon**q - (np.abs(e) ** q).sum()},
                method="SLSQP",
            )
            inside = answer.x * min(1.0, epsilon / dual_norm(answer.x, p))
            assert found.value <= total(functions, beta, inside) + 1e-9

    @relaxed
    @given(convex_functions(), st.floats(0.05, 20.0), st.sampled_from([1.5, 2.0, 3.0, math.inf]))
    def test_the_marginal_savings_are_equal(self, problem, epsilon, p):
        # KKT: saving to the right <= multiplier (eps_k / eps)^(q - 1) <= saving to the left.
        functions, beta = problem
        found, q = allocate(functions, beta, epsilon, p), dual_exponent(p)
        for f, b, e in zip(functions, beta, found.epsilons, strict=True):
            price = found.multiplier * (e / epsilon) ** (q - 1)
            gains, slack = -b * f.slopes, 1e-6 * (1 + found.multiplier)
            near = 1e-9 * (1 + e)
            right = gains[(f.knots[:-1] <= e + near) & (f.knots[1:] > e + near)]
            left = gains[(f.knots[:-1] < e - near) & (f.knots[1:] >= e - near)]
            assert price >= (right.max() if len(right) else 0.0) - slack
            if e > near:
                assert len(left) == 1
                assert price <= left[0] + slack

    def test_takes_a_few_milliseconds(self):
        rng = np.random.default_rng(3)
        knots = np.concatenate([[0], np.cumsum(rng.uniform(0.2, 1, 19))])
        functions = [PiecewiseLinear(knots, np.exp(-r * knots)) for r in rng.uniform(0.2, 3, 15)]
        seconds = []
        for _ in range(20):
            start = time.perf_counter()
            allocate(functions, np.ones(15), 4.0, 2.0)
            seconds.append(time.perf_counter() - start)
        assert min(seconds) < 0.02


class TestGridSearch:
    @relaxed
    @given(step_curves(), st.sampled_from([0.6, 1.7, 4.0]), st.sampled_from([1.5, 2.0, math.inf]))
    def test_never_loses_to_its_start_and_two_groups_are_near_the_best_pair(self, problem, epsilon, p):
        curves, beta = problem
        start = allocate_uniform(len(curves), epsilon, p).epsilons
        losses = [b * c.upper for c, b in zip(curves, beta, strict=True)]
        found = spend_on_grid([GRID] * len(curves), losses, start, epsilon, p)
        assert dual_norm(found, p) <= epsilon
        assert evaluate(curves, beta, found) <= evaluate(curves, beta, start) + 1e-12
        if len(curves) == 2:
            # With two groups, one exchange reaches every other pair: what it stops at is the best pair.
            pairs = [pair for pair in itertools.product(GRID, repeat=2) if dual_norm(pair, p) <= epsilon * (1 - 1e-12)]
            best = min(evaluate(curves, beta, pair) for pair in pairs)
            assert evaluate(curves, beta, found) <= best + 1e-9

    def test_an_exchange_pays_for_a_better_rise(self):
        # Start at (2, 0): both at 1.5 would be less; only by stepping down can the second group rise.
        grid = np.array([0.0, 1.5, 2.0])
        losses = [np.array([4.0, 1.0, 0.9]), np.array([5.0, 2.0, 1.9])]
        found = spend_on_grid([grid, grid], losses, np.array([2.0, 0.0]), 2.2, 2.0)
        assert found.tolist() == [1.5, 1.5]

    def test_docstring_examples(self):
        assert doctest.testmod(core.grid_search).failed == 0


class TestSandwich:
    @relaxed
    @given(step_curves(), st.sampled_from([0.6, 1.7, 4.0, 9.0]), st.sampled_from([1.0, 1.5, 2.0, math.inf]))
    def test_the_true_optimum_lies_between(self, problem, epsilon, p):
        curves, beta = problem
        found = allocate_group_budgets(curves, beta, 0.25, epsilon, p)
        fitting = (e for e in itertools.product(GRID, repeat=len(curves)) if dual_norm(e, p) <= epsilon)
        best = min(evaluate(curves, beta, e, intercept=0.25) for e in fitting)
        assert found.lower_bound <= best + 1e-12
        assert found.loss >= best - 1e-12
        assert dual_norm(found.epsilons, p) <= epsilon
        assert found.loss == evaluate(curves, beta, found.epsilons, intercept=0.25)
        assert found.loss <= allocate_group_budgets(curves, beta, 0.25, epsilon, p, uniform=True).loss

    @relaxed
    @given(step_curves(), st.sampled_from([1.7, 4.0]), st.sampled_from([1.5, 2.0, math.inf]))
    def test_the_bound_holds_for_every_curve_inside_the_bracket(self, problem, epsilon, p):
        # Unless curves are stepwise, the channel at a budget just below the next one may already reach its loss.
        curves, beta = problem
        if curves[0].stepwise:
            return
        found = allocate_group_budgets(curves, beta, 0.0, epsilon, p)
        rng = np.random.default_rng(0)
        for _ in range(20):
            budgets = rng.dirichlet(np.ones(len(curves))) * epsilon
            budgets *= epsilon / dual_norm(budgets, p)
            least = sum(b * c.lower_at(float(e)) for b, c, e in zip(beta, curves, budgets, strict=True))
            assert found.lower_bound <= least + 1e-9

    def test_stepwise_curves_get_the_tighter_bound(self):
        upper = [4, 2, 1, 0.5, 0.25, 0.1]
        plain, tight = ([make_curve(upper, stepwise=s)] * 3 for s in (False, True))
        bounds = [allocate_group_budgets(c, [1, 1, 1], 0.0, 3.0, 2.0).lower_bound for c in (plain, tight)]
        assert bounds[0] < bounds[1]

    def test_the_equal_split_is_evaluated_when_asked_for(self):
        curves = [make_curve([4, 2, 1, 0.5, 0.25, 0.1]), make_curve([9, 9, 9, 9, 9, 9])]
        equal = allocate_group_budgets(curves, [1, 1], 0.0, 3.0, 2.0, uniform=True)
        assert equal.source == "uniform split"
        assert equal.epsilons == pytest.approx([3 / math.sqrt(2)] * 2)
        assert equal.loss == 0.5 + 9
        best = allocate_group_budgets(curves, [1, 1], 0.0, 3.0, 2.0)
        assert best.loss == 0.25 + 9
        assert equal.lower_bound == best.lower_bound

    def test_nothing_is_claimed_beyond_the_grid(self):
        curve = make_curve([4, 2, 1, 0.5, 0.25, 0.1])
        inside, beyond = (allocate_group_budgets([curve], [1], 0.0, e, 2.0) for e in (5.0, 6.0))
        assert inside.lower_bound == pytest.approx(0.1)
        assert beyond.lower_bound == 0.0
        assert (beyond.relative_error, beyond.relative) == (0.1, False)

    def test_sampled_curves_leave_the_bound_uncertified(self):
        upper = [4, 2, 1, 0.5, 0.25, 0.1]
        curves = [make_curve(upper), make_curve(upper, certified=False)]
        assert not allocate_group_budgets(curves, [1, 1], 0.0, 3.0, 2.0).lower_certified
        assert allocate_group_budgets(curves, [1, 0], 0.0, 3.0, 2.0).lower_certified

    def test_edge_cases_of_the_relative_error(self):
        assert relative_error(0.0, 0.0) == (0.0, True)
        assert relative_error(0.3, 0.0) == (0.3, False)
        assert relative_error(3.0, 2.0) == (0.5, True)
        assert relative_error(1.0, 1.0 + 1e-15) == (0.0, True)

    @pytest.mark.parametrize("p", [1.0, 2.0, math.inf])
    def test_zero_loss_everywhere_has_no_error(self, p):
        found = allocate_group_budgets([make_curve(np.zeros(6))] * 2, [1, 1], 0.0, 2.0, p)
        assert (found.loss, found.lower_bound, found.relative_error) == (0, 0, 0)

    def test_sequential_and_parallel_composition_of_more_budget_never_cost_more(self):
        rng = np.random.default_rng(5)
        curves = [make_curve(np.sort(rng.uniform(0, 3, 6))[::-1]) for _ in range(6)]
        losses = [allocate_group_budgets(curves, np.ones(6), 0.0, e, 2.0).lower_bound for e in (1, 2, 4, 8)]
        assert losses == sorted(losses, reverse=True)


class TestSmallestEpsilon:
    curves = (make_curve([4, 2, 1, 0.5, 0.25, 0.1]), make_curve([3, 2.5, 1, 1, 0.5, 0.1]))

    @pytest.mark.parametrize("p", [1.0, 2.0, math.inf])
    @pytest.mark.parametrize("target", [6.5, 3.0, 1.7, 0.3])
    def test_reaches_the_target_and_nothing_much_smaller_does(self, p, target):
        found = smallest_epsilon_for(target, self.curves, beta=[1, 1], intercept=0.1, p=p)
        target *= 1 + 1e-12
        assert found.budgets.loss <= target
        assert dual_norm(found.budgets.epsilons, p) <= found.epsilon
        fitting = [
            dual_norm(e, p)
            for e in itertools.product(GRID, repeat=2)
            if evaluate(self.curves, [1, 1], e, intercept=0.1) <= target
        ]
        assert found.at_least <= min(fitting) <= found.epsilon * (1 + 1e-12)
        assert found.epsilon <= min(fitting) * (1 + 2e-4)

    def test_a_loose_target_needs_nothing(self):
        found = smallest_epsilon_for(7.2, self.curves, beta=[1, 1], intercept=0.1, p=2.0)
        assert (found.epsilon, found.at_least) == (0.0, 0.0)
        assert found.budgets.epsilons.tolist() == [0.0, 0.0]

    def test_an_unreachable_target_is_refused_with_what_is_reachable(self):
        with pytest.raises(InputError, match=r"loss of 0\.1 is not reached.*go down to 0\.3"):
            smallest_epsilon_for(0.1, self.curves, beta=[1, 1], intercept=0.1, p=2.0)
