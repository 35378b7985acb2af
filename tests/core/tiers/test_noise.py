"""Noise families: laws, residuals, calibrations and errors."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from core.errors import InputError
from core.tiers import (
    FAMILIES,
    analytic_sigma,
    classic_sigma,
    collusion_cost,
    gaussian_delta,
    gaussian_epsilon,
    gradual_mse,
    independent_mse,
    measure_mse,
    multi_tier_mse,
    noise_law,
    reference_mse,
    residual,
    simulate_gradual,
    simulate_independent,
    simulate_multi_tier,
    skellam_delta,
    skellam_intensity,
)

BAND = 4.892
"""Two-sided normal quantile at a false-alarm rate of 1e-6."""
OPTIONS = {
    "geometric": {"sensitivity": 1},
    "laplace": {"sensitivity": 1},
    "gaussian": {"sensitivity": 1, "delta": 1e-5},
    "skellam": {"sensitivity": 1, "delta": 1e-5},
    "msdlap": {"sensitivity": 3},
}
LIST = [2.0, 1.0, 0.4]
rates = st.floats(0.05, 8.0)


def test_the_options_cover_every_family():
    assert set(OPTIONS) == set(FAMILIES)


def test_variances_by_hand():
    p = math.exp(-1)
    assert noise_law("laplace", 0.5).variance == 8.0
    assert noise_law("laplace", 0.5, sensitivity=2).variance == 32.0
    assert noise_law("geometric", 1).variance == pytest.approx(2 * p / (1 - p) ** 2, rel=1e-14)
    assert noise_law("geometric", 2, sensitivity=2).variance == pytest.approx(2 * p / (1 - p) ** 2, rel=1e-14)
    assert noise_law("msdlap", 1, sensitivity=3).variance == pytest.approx(14 * 2 * p / (1 - p) ** 2, rel=1e-14)


@pytest.mark.parametrize("family", [name for name, kind in FAMILIES.items() if kind.discrete])
def test_lattice_laws_sum_to_one_and_have_their_variance(family):
    law = noise_law(family, 0.7, **OPTIONS[family])
    n = np.arange(-400, 401)
    pmf = law.density(n)
    assert pmf.sum() == pytest.approx(1, abs=1e-12)
    assert (pmf * n**2).sum() == pytest.approx(law.variance, rel=1e-10)
    assert law.atom == pytest.approx(pmf[400], rel=1e-12)
    np.testing.assert_allclose(law.cdf(n), np.cumsum(pmf), atol=1e-12)
    np.testing.assert_allclose(law.cdf(n[:-1] + 0.5), law.cdf(n[:-1]), atol=0)
    assert law.density([0.5])[0] == 0
    for t in (0.0, 0.3, 2.0, math.pi):
        assert law.characteristic(t) == pytest.approx((pmf * np.cos(t * n)).sum(), abs=1e-12)


def test_skellam_law_against_scipy():
    law = noise_law("skellam", 1, delta=1e-6)
    n = np.arange(-12, 13)
    np.testing.assert_allclose(law.density(n), stats.skellam.pmf(n, law.variance / 2, law.variance / 2), rtol=1e-9)


def test_continuous_laws_against_scipy():
    x = np.linspace(-6, 6, 41)
    laplace, gaussian = noise_law("laplace", 0.5), noise_law("gaussian", 0.5, delta=1e-5)
    np.testing.assert_allclose(laplace.density(x), stats.laplace.pdf(x, scale=2), rtol=1e-13)
    np.testing.assert_allclose(laplace.cdf(x), stats.laplace.cdf(x, scale=2), rtol=1e-13)
    scale = math.sqrt(gaussian.variance)
    np.testing.assert_allclose(gaussian.density(x), stats.norm.pdf(x, scale=scale), rtol=1e-12)
    np.testing.assert_allclose(gaussian.cdf(x), stats.norm.cdf(x, scale=scale), rtol=1e-12)


@pytest.mark.parametrize("family", list(FAMILIES))
@pytest.mark.parametrize(("before", "after"), [(2.0, 1.0), (1.0, 0.9), (8.0, 0.3), (1.0, 1.0)])
def test_residual_turns_one_law_into_the_other(family, before, after):
    step = residual(family, before, after, **OPTIONS[family])
    laws = [noise_law(family, epsilon, **OPTIONS[family]) for epsilon in (before, after)]
    t = np.linspace(0, math.pi, 50)
    product = step.characteristic(t) * laws[0].characteristic(t)
    np.testing.assert_allclose(product, laws[1].characteristic(t), rtol=1e-9, atol=1e-14)
    assert step.variance + laws[0].variance == pytest.approx(laws[1].variance, rel=1e-9)


@pytest.mark.parametrize("family", ["geometric", "skellam", "msdlap"])
def test_convolving_the_residual_by_brute_force(family):
    step = residual(family, 2.0, 1.2, **OPTIONS[family])
    n = np.arange(-150, 151)
    laws = [noise_law(family, epsilon, **OPTIONS[family]).density(n) for epsilon in (2.0, 1.2)]
    both = np.convolve(laws[0], step.pmf(n))[150:-150]
    np.testing.assert_allclose(both[100:201], laws[1][100:201], atol=1e-14)


def test_atoms_by_hand():
    assert residual("laplace", 2, 1).atom == 0.25
    p1, p2 = math.exp(-2), math.exp(-1)
    weight = (1 - p2) ** 2 * p1 / ((1 - p1) ** 2 * p2)
    step = residual("geometric", 2, 1)
    assert step.zero_weight == pytest.approx(weight, rel=1e-13)
    assert 1 - weight == pytest.approx((p2 - p1) * (1 - p1 * p2) / ((1 - p1) ** 2 * p2), rel=1e-12)
    assert step.atom == pytest.approx(weight + (1 - weight) * (1 - p2) / (1 + p2), rel=1e-13)
    assert step.pmf(0) == pytest.approx(step.atom)
    assert residual("geometric", 1, 1).atom == 1
    assert residual("gaussian", 1, 1, 1e-6).variance == 0
    assert residual("gaussian", 2, 1, 1e-6).zero_weight == 0


def test_pdf_and_pmf_belong_to_their_kind():
    step = residual("laplace", 2, 1)
    assert step.pdf(0.0) == pytest.approx(0.75 * 0.5)
    assert step.cdf(0.0) == pytest.approx(0.25 + 0.75 / 2)
    assert step.cdf(-1e-12) == pytest.approx(0.75 / 2)
    with pytest.raises(ValueError, match="continuous"):
        step.pmf(0)
    with pytest.raises(ValueError, match="discrete"):
        residual("geometric", 2, 1).pdf(0)


@settings(max_examples=60, deadline=None)
@given(rates, rates, rates)
def test_geometric_steps_compose(first, second, third):
    high, middle, low = sorted((first, second, third), reverse=True)
    n = np.arange(-6, 7)
    whole = residual("geometric", high, low).characteristic(n / 2)
    parts = residual("geometric", high, middle).characteristic(n / 2) * residual(
        "geometric", middle, low
    ).characteristic(n / 2)
    np.testing.assert_allclose(parts, whole, rtol=1e-10)


@settings(max_examples=60, deadline=None)
@given(rates, rates)
def test_residual_weights_are_probabilities(first, second):
    high, low = max(first, second), min(first, second)
    for family in ("geometric", "laplace"):
        step = residual(family, high, low)
        assert 0 < step.zero_weight <= 1
        assert step.variance >= 0


def test_draws_follow_the_residual():
    rng = np.random.default_rng(3)
    size = 200_000
    for family in FAMILIES:
        step = residual(family, 2.0, 0.8, **OPTIONS[family])
        drawn = step.draw(rng, size)
        zeros = np.mean(drawn == 0)
        assert abs(zeros - step.atom) < BAND * math.sqrt(step.atom * (1 - step.atom) / size) + 1e-12
        for x in (-1.5, 0.5, 2.5):
            share = float(step.cdf(x))
            assert abs(np.mean(drawn <= x) - share) < BAND * math.sqrt(share * (1 - share) / size)


def test_analytic_gaussian_is_tight_and_private():
    for epsilon, delta in itertools.product((0.01, 0.5, 1, 4, 16, 50), (1e-9, 1e-5, 0.1)):
        sigma = analytic_sigma(epsilon, delta)
        assert gaussian_delta(1 / sigma, epsilon) <= delta
        assert gaussian_delta(1.000001 / sigma, epsilon) > delta
        assert gaussian_epsilon(1 / sigma, delta) == pytest.approx(epsilon, rel=1e-6)
    assert analytic_sigma(1, 1e-5, 3) == pytest.approx(3 * analytic_sigma(1, 1e-5))


def test_gaussian_delta_against_integration():
    x = np.linspace(-30, 30, 600_001)
    sigma, epsilon = 1.7, 0.8
    gain = np.maximum(stats.norm.pdf(x, 1, sigma) - math.exp(epsilon) * stats.norm.pdf(x, 0, sigma), 0)
    assert gaussian_delta(1 / sigma, epsilon) == pytest.approx(np.trapezoid(gain, x), rel=1e-6)


def test_classic_calibration_is_refused_where_it_fails():
    assert classic_sigma(1, 1e-5) == pytest.approx(math.sqrt(2 * math.log(1.25e5)))
    assert gaussian_delta(1 / classic_sigma(1, 1e-5), 1) < 1e-5
    with pytest.raises(InputError, match="up to 1 only, not 16"):
        noise_law("gaussian", 16, delta=1e-5, calibration="classic")
    unproved = math.sqrt(2 * math.log(1.25e5)) / 16
    assert gaussian_delta(1 / unproved, 16) / 1e-5 == pytest.approx(34, abs=0.5)


def test_skellam_delta_by_brute_force_and_over_smaller_shifts():
    n = np.arange(-200, 201)
    for intensity, epsilon, reach in ((1.5, 1.0, 1), (20.0, 0.5, 3)):
        here = stats.skellam.pmf(n, intensity, intensity)
        by_shift = []
        for shift in range(1, reach + 1):
            there = stats.skellam.pmf(n - shift, intensity, intensity)
            by_shift.append(np.maximum(here - math.exp(epsilon) * there, 0).sum())
        assert skellam_delta(intensity, epsilon, reach) == pytest.approx(max(by_shift), rel=1e-7)
        assert max(by_shift) == by_shift[-1]


def test_skellam_calibration_is_tight_private_and_refuses_what_it_cannot_compute():
    for epsilon, delta, reach in ((0.1, 1e-6, 1), (1, 1e-5, 1), (2, 1e-9, 4)):
        intensity = skellam_intensity(epsilon, delta, reach)
        assert skellam_delta(intensity, epsilon, reach) <= delta
        assert skellam_delta(intensity * 0.99999, epsilon, reach) > delta
    pmf = noise_law("skellam", 2.0, delta=1e-5).density(np.arange(60))
    assert np.all(np.diff(pmf[:-1] / pmf[1:]) > 0), "neighbouring probabilities have no largest ratio: no pure epsilon"
    with pytest.raises(InputError, match="wider than"):
        skellam_intensity(1e-5, 1e-6)


@pytest.mark.parametrize("family", list(FAMILIES))
def test_a_chain_costs_no_accuracy(family):
    chain = multi_tier_mse(family, LIST, **OPTIONS[family])
    np.testing.assert_allclose(chain, independent_mse(family, LIST, **OPTIONS[family]), rtol=1e-9)
    assert np.all(np.diff(chain) > 0)
    np.testing.assert_array_equal(multi_tier_mse(family, LIST[::-1], **OPTIONS[family]), chain[::-1])


def test_gradual_by_hand():
    # 0.4, then 0.6, then 1: precisions of Laplace are epsilon^2 / 2.
    expected = [2 / (0.16 + 0.36 + 1), 2 / (0.16 + 0.36), 2 / 0.16]
    np.testing.assert_allclose(gradual_mse("laplace", LIST), expected, rtol=1e-12)
    tiers = 10
    equal = gradual_mse("laplace", [2.0 * i / tiers for i in range(tiers, 0, -1)])
    assert equal[0] == pytest.approx(2 * tiers / 2.0**2), "averaging m answers at eps/m costs 2m/eps^2"


def test_gradual_gaussian_loses_when_epsilon_is_split_and_not_when_mu_is():
    best = multi_tier_mse("gaussian", LIST, delta=1e-5)
    np.testing.assert_allclose(gradual_mse("gaussian", LIST, delta=1e-5, split="mu"), best, rtol=1e-12)
    assert np.all(gradual_mse("gaussian", LIST, delta=1e-5) > 1.05 * best)
    with pytest.raises(InputError, match="mu for Gaussian"):
        gradual_mse("laplace", LIST, split="mu")


def test_equal_and_nearly_equal_budgets_release_nothing_more():
    for family in FAMILIES:
        errors = gradual_mse(family, [1.0, 1.0 - 1e-9, 0.5], **OPTIONS[family])
        assert errors[0] == errors[1] < errors[2]
        chain = multi_tier_mse(family, [1.0, 1.0], **OPTIONS[family])
        assert chain[0] == chain[1]


def test_reference_is_the_geometric():
    np.testing.assert_array_equal(reference_mse(LIST), multi_tier_mse("geometric", LIST))
    assert np.all(multi_tier_mse("laplace", LIST) > reference_mse(LIST))


@pytest.mark.parametrize("family", list(FAMILIES))
def test_simulation_within_its_band(family):
    rng = np.random.default_rng(11)
    options = {"rng": rng, "runs": 40_000, "value": 100.0, **OPTIONS[family]}
    budgets = [0.4, 2.0, 1.0]
    for simulate, theory in (
        (simulate_multi_tier, multi_tier_mse),
        (simulate_gradual, gradual_mse),
        (simulate_independent, independent_mse),
    ):
        answers = simulate(family, budgets, **options)
        assert answers.shape == (40_000, 3)
        measured, standard_error = measure_mse(answers, 100.0)
        expected = theory(family, budgets, **OPTIONS[family])
        assert np.all(np.abs(measured - expected) < BAND * standard_error), (simulate, measured, expected)


def test_the_chain_moves_by_its_atom():
    answers = simulate_multi_tier("laplace", [2.0, 1.0], rng=np.random.default_rng(0), runs=40_000)
    stayed = np.mean(answers[:, 0] == answers[:, 1])
    assert abs(stayed - 0.25) < BAND * math.sqrt(0.25 * 0.75 / 40_000)


def test_collusion_costs():
    assert collusion_cost("laplace", LIST).epsilon == 2
    assert collusion_cost("laplace", LIST, release="gradual").epsilon == 2
    assert collusion_cost("geometric", LIST, release="independent").epsilon == pytest.approx(3.4)
    assert collusion_cost("skellam", LIST, release="independent", delta=1e-6).delta == pytest.approx(3e-6)
    joint = collusion_cost("gaussian", [1.0, 1.0], release="independent", delta=1e-6)
    single = collusion_cost("gaussian", [1.0], delta=1e-6)
    assert joint.mu == pytest.approx(math.sqrt(2) * single.mu)
    assert gaussian_delta(joint.mu, joint.epsilon) == pytest.approx(1e-6, rel=1e-5)
    assert 1 < joint.epsilon < 2
    with pytest.raises(InputError, match="The release must be one of"):
        collusion_cost("laplace", LIST, release="together")


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: residual("cauchy", 2, 1), "must be one of geometric"),
        (lambda: residual("laplace", 1, 2), "must not exceed the larger one, 1, but is 2"),
        (lambda: residual("gaussian", 2, 1), "state delta"),
        (lambda: residual("gaussian", 2, 1, 0.7), "failure probability"),
        (lambda: residual("geometric", 2, 1, None, 1.5), "a whole number from 1"),
        (lambda: residual("laplace", 2, 1, None, 0), "above 0"),
        (lambda: residual("msdlap", 2, 1, None, 101), "to 100, not 101"),
        (lambda: noise_law("laplace", math.inf), "from 1e-06 to 300"),
        (lambda: noise_law("gaussian", 1, delta=1e-5, calibration="fast"), "analytic or classic"),
        (lambda: noise_law("msdlap", 1e-4, sensitivity=100).atom, "raise the budget or lower the sensitivity"),
        (lambda: multi_tier_mse("laplace", []), "1 to 200 budgets, not 0"),
        (lambda: multi_tier_mse("laplace", [1.0] * 201), "not 201"),
        (lambda: simulate_multi_tier("laplace", [1.0], rng=np.random.default_rng(0), runs=0), "simulated releases"),
    ],
)
def test_what_is_refused(call, sentence):
    with pytest.raises(InputError, match=sentence):
        call()
