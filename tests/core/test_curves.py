"""Loss-budget curves from real channels: brackets, step functions, refining, comparing, drawing."""

import doctest
import math
from dataclasses import replace

import numpy as np
import pytest

import core.curves
from core.channel import Channel
from core.curves import LossCurve, monotone_cubic, refine, regret, solve_curve, tuned_curve
from core.errors import CertificateError, InputError
from core.mechanisms import Problem, build_channel
from core.mechanisms.constant import zero_information_loss

GRID = (0.0, 0.5, 1.0, 2.0, 4.0)


def make_problem(seed=1, size=5):
    rng = np.random.default_rng(seed)
    points = np.sort(rng.uniform(0, 1, size))
    prior = rng.dirichlet(np.ones(size))
    loss = rng.uniform(0, 1, (size, size))
    np.fill_diagonal(loss, 0)
    return Problem(np.abs(points[:, None] - points), prior, loss)


PROBLEM = make_problem()


def builder(name, problem=PROBLEM, remap="none"):
    return lambda epsilon, _hint: build_channel(name, problem, epsilon, remap=remap)


def fake_channel(epsilon, loss, *, bound=0.0, certified=None, name="fake"):
    certified = epsilon if certified is None else certified
    return Channel(np.zeros((1, 1), dtype=np.int64), certified, loss, bound, epsilon, name)


def fake_builder(losses, bounds=None):
    table = dict(losses)
    return lambda e, _hint: fake_channel(e, table[e], bound=0.0 if bounds is None else dict(bounds)[e])


def curve_of(upper, lower=None, epsilons=None, **traits):
    epsilons = range(len(upper)) if epsilons is None else epsilons
    traits = {"certified": True, "mechanism": "fake", **traits}
    channels = tuple(fake_channel(float(e), u, name=traits["mechanism"]) for e, u in zip(epsilons, upper, strict=True))
    return LossCurve(np.array(epsilons, dtype=float), upper, upper if lower is None else lower, channels, **traits)


@pytest.fixture(scope="module")
def optimal():
    return solve_curve(builder("OPT"), GRID, mechanism="OPT")


@pytest.fixture(scope="module")
def noise():
    return solve_curve(builder("EM"), GRID, mechanism="EM")


def test_docstring_examples():
    assert doctest.testmod(core.curves).failed == 0


class TestRealChannels:
    def test_the_optimised_curve_is_a_tight_bracket_that_starts_at_zero_information(self, optimal):
        assert optimal.upper[0] == pytest.approx(zero_information_loss(PROBLEM.prior, PROBLEM.loss))
        assert (optimal.lower <= optimal.upper).all()
        assert optimal.upper - optimal.lower == pytest.approx(np.zeros(len(GRID)), abs=1e-5)
        assert (np.diff(optimal.upper) <= 0).all()
        assert optimal.upper[-1] < optimal.upper[0]

    def test_the_noise_curve_is_exact_and_starts_with_the_uniform_channel(self, noise):
        assert noise.upper.tolist() == noise.lower.tolist()
        assert noise.upper[0] == pytest.approx((PROBLEM.prior @ PROBLEM.loss).mean())
        assert noise.channels[0].certified_epsilon == 0.0
        for channel, loss in zip(noise.channels, noise.upper, strict=True):
            assert channel.expected_loss == loss

    def test_optimising_never_loses_to_noise(self, optimal, noise):
        remapped = solve_curve(builder("EM", remap="task"), GRID, mechanism="EM, remapped")
        assert (optimal.lower <= remapped.upper).all()
        assert (remapped.upper <= noise.upper).all()
        assert (remapped.upper <= optimal.upper[0] + 1e-12).all()

    def test_regret_is_what_optimising_saves(self, optimal, noise):
        for epsilon in (0.5, 3.0):
            saved = noise.loss_at(epsilon) - optimal.loss_at(epsilon)
            assert regret(noise, optimal, epsilon) == pytest.approx(saved / noise.loss_at(epsilon))
        assert regret(noise, noise, 1.0) == 0.0
        assert regret(optimal, noise, 1.0) == 0.0

    def test_every_channel_is_certified_for_the_budgets_it_serves(self, optimal, noise):
        for curve in (optimal, noise, tuned_curve([noise, optimal])):
            for epsilon in (*GRID, 0.7, 3.9, 9.0):
                assert curve.channel_at(epsilon).certified_epsilon <= epsilon

    def test_refining_agrees_with_solving_at_once(self, optimal):
        finer = refine(optimal, 1.5, builder("OPT"))
        assert finer.epsilons.tolist() == [0.0, 0.5, 1.0, 1.5, 2.0, 4.0]
        whole = solve_curve(builder("OPT"), finer.epsilons, mechanism="OPT")
        assert finer.upper == pytest.approx(whole.upper)
        assert finer.lower == pytest.approx(whole.lower)

    def test_the_hint_is_the_neighbours_channel(self):
        hints = []

        def build(epsilon, hint):
            hints.append(hint)
            return build_channel("EM", PROBLEM, epsilon)

        curve = solve_curve(build, (0.0, 1.0, 2.0), mechanism="EM")
        assert hints[0] is None
        assert [h.epsilon for h in hints[1:]] == [0.0, 1.0]
        refine(curve, 1.5, build)
        assert hints[-1] is curve.channel_at(1.5)


class TestStepFunction:
    rising = ((0.0, 5.0), (1.0, 3.0), (2.0, 4.0), (3.0, 1.0), (4.0, 1.0))

    def test_a_loss_that_rises_with_budget_is_replaced_by_the_best_before(self):
        curve = solve_curve(fake_builder(self.rising), [e for e, _ in self.rising], mechanism="fake")
        assert curve.upper.tolist() == curve.lower.tolist() == [5, 3, 3, 1, 1]
        # Of equal losses the channel of the smaller budget stays.
        assert [c.epsilon for c in curve.channels] == [0, 1, 1, 3, 3]
        assert [curve.loss_at(e) for e in (0.0, 0.99, 1.0, 2.5, 3.0, 99.0)] == [5, 5, 3, 3, 1, 1]
        assert curve.channel_at(2.9).epsilon == 1.0

    @pytest.mark.parametrize("epsilon", [-0.1, math.nan])
    def test_refuses_budgets_that_are_none(self, epsilon):
        with pytest.raises(InputError, match="number from 0"):
            curve_of([1.0, 0.5]).loss_at(epsilon)

    def test_bounds_between_budgets_come_from_the_next_one(self):
        curve = curve_of([5.0, 3.0, 1.0], [4.0, 2.0, 0.5], mechanism="OPT")
        assert [curve.lower_at(e) for e in (0.0, 0.1, 1.0, 1.5, 2.0, 2.1)] == [4, 2, 2, 0.5, 0.5, 0.0]
        stepwise = curve_of([5.0, 3.0, 1.0], stepwise=True)
        assert [stepwise.lower_at(e) for e in (0.0, 0.9, 1.0, 9.0)] == [5, 5, 3, 1]

    @pytest.mark.parametrize("stepwise", [False, True])
    def test_envelopes_hold_the_curve_between_them(self, stepwise):
        curve = curve_of([5.0, 5.0, 4.5, 2.0, 1.9, 0.3], stepwise=stepwise)
        for epsilon in np.linspace(0, 5, 501):
            assert curve.lower_envelope(epsilon) <= curve.lower_at(epsilon) + 1e-12
            assert curve.upper_envelope(epsilon) >= curve.loss_at(epsilon) - 1e-12

    def test_a_stepwise_envelope_touches_the_steps(self):
        upper = [5.0, 3.0, 2.0]
        assert curve_of(upper, stepwise=True).lower_envelope.values.tolist() == upper
        assert curve_of(upper).lower_envelope(0.0) == 3.0


class TestBrackets:
    def test_a_bound_from_a_larger_budget_holds_at_a_smaller_one(self):
        losses = ((0.0, 5.0), (1.0, 4.0), (2.0, 3.0))
        build = fake_builder(losses, ((0.0, 1.0), (1.0, 2.5), (2.0, 2.0)))
        curve = solve_curve(build, (0.0, 1.0, 2.0), mechanism="OPT")
        assert curve.lower.tolist() == [2.5, 2.5, 2.0]
        assert curve.certified

    def test_a_bound_above_a_reached_loss_is_refused_unless_it_is_rounding(self):
        with pytest.raises(CertificateError, match="exceeds a loss"):
            solve_curve(fake_builder(((0.0, 1.0),), ((0.0, 1.001),)), (0.0,), mechanism="OPT")
        bound = math.nextafter(1.0, 2.0)
        curve = solve_curve(fake_builder(((0.0, 1.0),), ((0.0, bound),)), (0.0,), mechanism="OPT")
        assert curve.lower.tolist() == [1.0]

    def test_what_the_lower_curve_is(self):
        losses, bounds = ((0.0, 2.0), (1.0, 1.0)), ((0.0, 1.5), (1.0, 0.5))
        build = fake_builder(losses, bounds)
        exact = solve_curve(build, (0.0, 1.0), mechanism="EM")
        bracket = solve_curve(build, (0.0, 1.0), mechanism="EM", certified_lower=True)
        sampled = solve_curve(build, (0.0, 1.0), mechanism="EM", certified_lower=False)
        assert exact.lower.tolist() == [2, 1]
        assert bracket.lower.tolist() == [1.5, 0.5]
        assert sampled.lower.tolist() == [0, 0]
        assert (exact.certified, bracket.certified, sampled.certified) == (True, True, False)

    def test_a_channel_that_certifies_more_than_its_budget_is_refused(self):
        build = lambda e, _hint: fake_channel(e, 1.0, certified=math.nextafter(e, 9))  # noqa: E731
        with pytest.raises(CertificateError, match="above its budget"):
            solve_curve(build, (0.0, 1.0), mechanism="fake")

    def test_progress_is_told_before_every_budget_and_may_stop(self):
        told = []

        def progress(fraction, sentence):
            told.append((fraction, sentence))
            if fraction >= 0.5:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            solve_curve(fake_builder(((0.0, 1.0), (1.0, 1.0))), (0.0, 1.0), mechanism="fake", progress=progress)
        assert told == [(0.0, "Solving fake at epsilon 0"), (0.5, "Solving fake at epsilon 1")]

    @pytest.mark.parametrize(
        ("upper", "lower", "epsilons"),
        [
            ([1.0, 2.0], [0.0, 0.0], (0.0, 1.0)),
            ([2.0, 1.0], [0.0, 0.5], (0.0, 1.0)),
            ([2.0, 1.0], [1.0, 0.5], (0.5, 1.0)),
            ([2.0, 1.0], [1.0, 0.5], (0.0, 0.0)),
            ([2.0, math.nan], [1.0, 0.5], (0.0, 1.0)),
        ],
    )
    def test_refuses_what_is_no_curve(self, upper, lower, epsilons):
        with pytest.raises(ValueError, match="curve"):
            curve_of(upper, lower, epsilons)

    def test_refuses_a_wrong_number_of_channels(self):
        with pytest.raises(ValueError, match="one channel per grid budget"):
            replace(curve_of([2.0, 1.0]), channels=())


class TestRefine:
    base = curve_of([5.0, 3.0, 1.0], [4.5, 2.0, 0.5], mechanism="OPT", derivative=np.array([-1.0, -2.0, -0.5]))

    def test_a_new_budget_takes_its_place(self):
        finer = refine(self.base, 1.5, lambda e, _h: fake_channel(e, 2.0, bound=1.5))
        assert finer.epsilons.tolist() == [0, 1, 1.5, 2]
        assert finer.upper.tolist() == [5, 3, 2, 1]
        assert finer.lower.tolist() == [4.5, 2, 1.5, 0.5]
        assert [c.epsilon for c in finer.channels] == [0, 1, 1.5, 2]
        assert finer.derivative.tolist()[:2] == [-1, -2]
        assert math.isnan(finer.derivative[2])

    def test_a_very_good_channel_serves_larger_budgets_too(self):
        finer = refine(self.base, 0.5, lambda e, _h: fake_channel(e, 0.75, bound=0.7))
        assert finer.upper.tolist() == [5, 0.75, 0.75, 0.75]
        assert finer.channel_at(2.0).epsilon == 0.5

    def test_a_bound_can_tighten_smaller_budgets(self):
        assert refine(self.base, 3.0, lambda e, _h: fake_channel(e, 0.9, bound=0.8)).lower.tolist() == [
            4.5,
            2,
            0.8,
            0.8,
        ]

    def test_a_known_budget_keeps_the_better_of_both(self):
        better = refine(self.base, 1.0, lambda e, _h: fake_channel(e, 2.5, bound=2.25))
        assert better.epsilons.tolist() == [0, 1, 2]
        assert (better.upper.tolist(), better.lower.tolist()) == ([5, 2.5, 1], [4.5, 2.25, 0.5])
        worse = refine(self.base, 1.0, lambda e, _h: fake_channel(e, 3.5, bound=1.0))
        assert (worse.upper.tolist(), worse.lower.tolist()) == ([5, 3, 1], [4.5, 2, 0.5])
        assert worse.channels[1] is self.base.channels[1]

    def test_an_exact_curve_stays_exact(self):
        finer = refine(curve_of([5.0, 3.0]), 0.5, lambda e, _h: fake_channel(e, 2.0))
        assert finer.upper.tolist() == finer.lower.tolist() == [5, 2, 2]

    @pytest.mark.parametrize("epsilon", [0.0, -1.0, math.inf, math.nan])
    def test_refuses_other_budgets(self, epsilon):
        with pytest.raises(InputError, match="positive budget"):
            refine(self.base, epsilon, lambda e, _h: fake_channel(e, 1.0))


class TestTuned:
    def test_the_least_loss_wins_at_each_budget_and_is_remembered(self):
        a = curve_of([5.0, 2.0, 1.9], epsilons=(0.0, 1.0, 4.0), mechanism="A")
        b = curve_of([3.0, 3.0, 1.0], [2.5, 0.5, 0.5], epsilons=(0.0, 2.0, 3.0), mechanism="B")
        best = tuned_curve([a, b])
        assert best.epsilons.tolist() == [0, 1, 2, 3, 4]
        assert best.upper.tolist() == [3, 2, 2, 1, 1]
        assert best.mechanisms == ("B", "A", "A", "B", "B")
        # At 1 the family B is only known to be above its bound at 2; beyond 3 nothing is known of it.
        assert best.lower.tolist() == [2.5, 0.5, 0.5, 0.5, 0.0]
        assert best.mechanism == "tuned"

    def test_of_equal_losses_the_first_family_stays(self):
        best = tuned_curve([curve_of([1.0, 0.5], mechanism="A"), curve_of([1.0, 0.5], mechanism="B")])
        assert best.mechanisms == ("A", "A")

    def test_is_certified_only_where_all_are(self):
        curves = [curve_of([1.0]), curve_of([1.0], certified=False)]
        assert not tuned_curve(curves).certified
        assert tuned_curve(curves[:1]).certified

    def test_never_loses_to_any_of_its_families(self, optimal, noise):
        best = tuned_curve([noise, optimal])
        for epsilon in np.linspace(0, 5, 51):
            assert best.loss_at(epsilon) == min(noise.loss_at(epsilon), optimal.loss_at(epsilon))


class TestRegret:
    def test_hand_computed(self):
        assert regret(curve_of([4.0, 2.0]), curve_of([4.0, 1.0]), 1.5) == 0.5

    def test_no_loss_no_regret(self):
        assert regret(curve_of([0.0]), curve_of([0.0]), 1.0) == 0.0


class TestDrawing:
    epsilons = np.array([0.0, 0.5, 1.0, 2.0, 4.0, 8.0])
    losses = np.array([5.0, 5.0, 4.5, 1.0, 0.9, 0.9])

    @pytest.mark.parametrize("derivative", [None, np.full(6, -100.0), np.array([1.0, math.nan, -2, -1, 0, -5])])
    def test_passes_through_the_points_and_never_rises(self, derivative):
        drawn = monotone_cubic(self.epsilons, self.losses, derivative)
        assert drawn(self.epsilons) == pytest.approx(self.losses)
        assert (np.diff(drawn(np.linspace(0, 8, 4001))) <= 1e-12).all()

    def test_uses_the_derivatives_it_may_use(self):
        drawn = monotone_cubic([0.0, 1.0, 2.0], [3.0, 2.0, 1.5], [-1.2, -0.7, math.nan])
        assert drawn.derivative()(np.array([0.0, 1.0])) == pytest.approx([-1.2, -0.7])

    def test_reproduces_a_smooth_curve_from_its_derivatives(self):
        x = np.linspace(0, 3, 7)
        drawn = monotone_cubic(x, np.exp(-x), -np.exp(-x))
        fine = np.linspace(0, 3, 301)
        assert np.abs(drawn(fine) - np.exp(-fine)).max() < 5e-4

    @pytest.mark.parametrize(("x", "y"), [([0.0], [1.0]), ([0.0, 1.0], [1.0, 2.0])])
    def test_refuses_what_cannot_be_drawn(self, x, y):
        with pytest.raises(ValueError, match="drawn curve"):
            monotone_cubic(x, y)
