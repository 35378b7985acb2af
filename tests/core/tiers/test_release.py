"""Exact releases of counts and categories, tiers added later, and what may be done afterwards."""

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import InputError
from core.sampling import SystemSource
from core.tiers import (
    accuracy_first,
    chain_mse,
    check_chain,
    grid_list,
    insert_count,
    insert_subset,
    joint_law,
    match_templates,
    optimal_chain,
    project_nonnegative,
    project_total,
    release_categories,
    release_count,
    release_histogram,
    residual,
    simulate_between,
    simulate_categories,
    simulate_multi_tier,
    templates,
    wrong_insertion_epsilon,
)
from core.tiers.exact import growth_below, log_above, ratio_above
from core.tiers.insertion import _between, _subset_cases
from core.tiers.joint import step_kernel
from core.tiers.release import plan_counts, zero_weight
from core.tiers.walk import WHOLE, plan_walk
from tests.core.test_sampling import SeededSource, assert_law

BAND = 4.892
RNG = np.random.default_rng(0)


@settings(max_examples=100, deadline=None)
@given(st.floats(1e-6, 250), st.integers(1, 50))
def test_rationals_lie_on_the_private_side(epsilon, sensitivity):
    ratio = ratio_above(epsilon, sensitivity)
    assert 0 < ratio < 1
    assert log_above(1 / ratio, sensitivity) <= epsilon
    if epsilon / sensitivity > 1e-3:
        assert log_above(1 / ratio, sensitivity) == pytest.approx(epsilon, rel=1e-10)
    growth = growth_below(epsilon)
    assert growth.denominator & (growth.denominator - 1) == 0
    assert math.log(growth) == pytest.approx(epsilon, rel=1e-9)
    assert log_above(growth) <= epsilon


def test_logarithms_are_rounded_up():
    for value in (Fraction(2), Fraction(10**9 + 7, 10**9), Fraction(7, 3)):
        above = log_above(value)
        assert above >= math.log(value) - 1e-16
        assert math.nextafter(above, 0) < math.log(value) + 2e-16 * max(above, 1)


def exact_two_sided(ratio, n):
    return (1 - ratio) / (1 + ratio) * ratio ** abs(n)


def test_the_exact_step_turns_one_law_into_the_next():
    plan = plan_counts("geometric", (2.0, 1.0, 0.5), 1)
    for before, after in itertools.pairwise(plan.ratios):
        weight = zero_weight(before, after)
        assert 0 < weight < 1
        for z in (Fraction(1, 3), Fraction(3, 5)):  # generating functions agree exactly as rationals
            transform = [(1 - p) ** 2 / ((1 - p * z) * (1 - p / z)) for p in (before, after)]
            assert transform[0] * (weight + (1 - weight) * transform[1]) == transform[1]
    assert all(certified <= b for certified, b in zip(plan.certified_epsilons, (2.0, 1.0, 0.5), strict=True))


def test_released_counts_follow_their_joint_law():
    source, budgets = SeededSource(1), [1.0, 2.0]
    pairs = Counter(tuple(release_count(10, budgets, "geometric", source)) for _ in range(12_000))
    high, low = (ratio_above(e) for e in (2.0, 1.0))
    step = residual("geometric", 2.0, 1.0)
    law = {
        (10 + a + s, 10 + a): float(exact_two_sided(high, a)) * float(step.pmf(s))
        for a in range(-2, 3)
        for s in range(-3, 4)
    }
    assert_law(pairs, {pair: p for pair, p in law.items() if p * 12_000 > 6})
    lows = Counter(pair[0] for pair in pairs.elements())
    assert_law(lows, {10 + n: float(exact_two_sided(low, n)) for n in range(-5, 6)})


def test_release_of_a_sum_and_of_msdlap_have_their_variance():
    source = SeededSource(2)
    for family in ("geometric", "msdlap"):
        values = np.array([release_count(0, [2.0, 0.7], family, source, sensitivity=3) for _ in range(2000)], float)
        deviations = release_count(0, [2.0, 0.7], family, source, sensitivity=3).standard_deviations
        squares = values**2
        band = BAND * squares.std(axis=0) / math.sqrt(2000)
        assert np.all(np.abs(squares.mean(axis=0) - np.square(deviations)) < band)


def test_a_release_says_what_it_certifies():
    release = release_count(np.int64(5), [0.3, 4.0, 1.0], sensitivity=2)
    assert len(release) == 3
    assert release.budgets == (0.3, 4.0, 1.0)
    assert all(
        c <= b and c == pytest.approx(b, rel=1e-9)
        for c, b in zip(release.certified_epsilons, release.budgets, strict=True)
    )
    assert all(isinstance(value, int) for value in release)
    assert list(release)[1] == release[1] == release.values[1]
    same = release_count(5, [1.0, 1.0])
    assert same[0] == same[1]


def test_nearly_equal_and_extreme_budgets():
    release = release_count(0, [1.0, math.nextafter(1.0, 0), 1e-6, 300.0])
    assert release[0] == release[1] or release.ratios[0] != release.ratios[1]
    assert release[3] == 0
    assert all(c <= b for c, b in zip(release.certified_epsilons, release.budgets, strict=True))


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: release_count(5, [1.0], "laplace"), "Mironov 2012"),
        (lambda: release_count(5, [1.0], "gaussian"), "simulation and teaching"),
        (lambda: release_count(5, [1.0], "skellam"), "not drawn exactly"),
        (lambda: release_count(5, [1.0], "cauchy"), "must be one of"),
        (lambda: release_count(5.5, [1.0]), "whole number, not 5.5"),
        (lambda: release_count("5", [1.0]), "whole number"),
        (lambda: release_count(5, []), "not 0"),
        (lambda: release_count(5, [1.0], sensitivity=1.5), "sensitivity"),
        (lambda: release_categories([], 4, [1.0]), "categories must be one list"),
        (lambda: release_categories([4], 4, [1.0]), "from 0 to 3"),
        (lambda: release_categories([0.5], 4, [1.0]), "whole numbers"),
        (lambda: release_categories([0], 4, [1.0], [(2.0, 1)]), "exceeds its budget"),
        (lambda: insert_count(release_count(5, [1.0]), 2.0), "above every released one"),
        (lambda: insert_count(release_count(5, [1.0], "msdlap"), 0.5), "geometric release only"),
        (
            lambda: simulate_between("laplace", [0], [0], (1.0, 2.0, 0.5), rng=np.random.default_rng(0)),
            "strictly between",
        ),
        (lambda: simulate_between("msdlap", [0], [0], (3.0, 2.0, 1.0), rng=np.random.default_rng(0)), "can be added"),
        (lambda: insert_subset([0], [1], ((2.0, 2), (1.0, 2), (0.5, 2)), 4), "must fit the released"),
        (lambda: accuracy_first([1.0], [1.0], 0), "target error must be above 0"),
        (lambda: accuracy_first([1.0, 2.0], [1.0], 1), "one error per budget"),
        (lambda: project_total([1.0], 0), "above 0"),
    ],
)
def test_what_is_refused(call, sentence):
    with pytest.raises(InputError, match=sentence):
        call()


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(0.05, 40), min_size=1, max_size=6), st.integers(2, 20))
def test_walks_are_private_by_exact_arithmetic(values, d):
    budgets = sorted(values, reverse=True)
    chain = check_chain(budgets, optimal_chain(budgets, d), d)
    plan = plan_walk(chain, d)
    u = Fraction(0)
    for tier, (level, k) in enumerate(chain):
        if tier == 0:
            t = Fraction(plan.include, WHOLE)
            # e^eps = odds of one subset that holds x against one that does not
            odds = t / math.comb(d - 1, k - 1) / ((1 - t) / math.comb(d - 1, k))
            u = k * (odds - 1)
        else:
            phi = Fraction(plan.keep[tier - 1], WHOLE) * u / (u + d)
            u = d * phi / (1 - phi)
        assert u == plan.invariants[tier]
        assert plan.certified_epsilons[tier] <= level * (1 + 1e-15)
        if budgets[0] < 15:  # beyond, 1 - t is no longer large against 2^-62 and the level drops a little
            assert plan.certified_epsilons[tier] == pytest.approx(level, rel=1e-9)


@pytest.mark.parametrize("make", ["exact", "simulated"])
def test_released_categories_follow_the_exact_joint_law(make):
    d, budgets, chain = 4, [2.5, 1.4, 0.5], [(2.5, 1), (1.2, 1), (0.5, 2)]
    users = np.full(30_000, 2)
    if make == "exact":
        found = release_categories(users, d, budgets, chain, SeededSource(3))
    else:
        found = simulate_categories(users, d, budgets, chain, rng=np.random.default_rng(3), keep_subsets=True)
    law = joint_law(budgets, d, chain)[2]
    places = [list(itertools.combinations(range(d), k)) for _, k in chain]
    seen = Counter(
        tuple(place.index(tuple(row)) for place, row in zip(places, rows, strict=True))
        for rows in zip(*(s.tolist() for s in found.subsets), strict=True)
    )
    cells = {tuple(int(i) for i in index): p for index, p in np.ndenumerate(law) if p * 30_000 > 6}
    assert len(cells) > 50
    assert_law(seen, cells)


def test_expansions_alone_nest_every_users_subsets():
    budgets = [math.log(13.0), math.log(7.0), math.log(4.0)]
    chain = [(math.log(13.0), 1), (math.log(7.0) - 1e-12, 2), (math.log(4.0) - 1e-12, 4)]
    found = release_categories(np.arange(3000) % 9, 9, budgets, chain, SeededSource(4))
    for small, large in itertools.pairwise(found.subsets):
        assert all(set(a) <= set(b) for a, b in zip(small.tolist(), large.tolist(), strict=True))


@pytest.mark.parametrize("make", ["exact", "simulated"])
@pytest.mark.parametrize("d", [2, 3, 9])
def test_estimates_are_unbiased_with_their_stated_errors(make, d):
    budgets = [0.5, 3.0, 1.0]
    values = np.random.default_rng(0).integers(d, size=20_000) // 2
    truth = np.bincount(values, minlength=d)
    if make == "exact":
        found = release_categories(values, d, budgets, source=SystemSource() if d == 2 else SeededSource(5))
    else:
        found = simulate_categories(values, d, budgets, rng=np.random.default_rng(5))
        assert found.subsets == ()
    chain = optimal_chain(budgets, d)
    assert found.sizes == tuple(k for _, k in chain)
    assert np.all(np.abs(found.estimates - truth) < (BAND + 1) * found.standard_errors)
    total = np.sum(found.standard_errors**2, axis=1) / len(values)
    np.testing.assert_allclose(total, chain_mse(chain, d), rtol=0.1)


def test_release_by_templates_and_with_progress():
    seen = []
    budgets = grid_list(0.4, 10).values
    chain = match_templates(budgets, templates(budgets, 12))
    found = release_categories(
        np.zeros(500, int), 12, budgets, chain, progress=lambda share, text: seen.append((share, text))
    )
    assert found.sizes == tuple(k for _, k in chain)
    assert seen[-1][0] == 1
    assert [share for share, _ in seen] == sorted(share for share, _ in seen)
    assert found.counts.sum(axis=1).tolist() == [500 * k for k in found.sizes]


def stop(share, text):
    raise KeyboardInterrupt


def test_progress_may_stop_a_release():
    with pytest.raises(KeyboardInterrupt):
        release_categories([0, 1], 4, [1.0], progress=stop)


def test_release_of_a_histogram():
    found = release_histogram([5, 0, 100], [2.0, 1.0], SeededSource(6))
    assert [len(cell) for cell in found] == [2, 2, 2]
    assert abs(found[2][0] - 100) < 20


def conditional_law(ratios, gap, reach):
    """P(n | a = 0, b = gap) by multiplying exact step laws."""
    before, middle, after = ratios

    def step(p, q, n):
        weight = zero_weight(p, q)
        return weight * (n == 0) + (1 - weight) * exact_two_sided(q, n)

    law = {n: step(before, middle, n) * step(middle, after, gap - n) for n in range(-reach, gap + reach + 1)}
    total = step(before, after, gap)
    assert abs(sum(law.values()) - total) < total * Fraction(1, 10**5)
    return {n: float(p / total) for n, p in law.items()}


@pytest.mark.parametrize("gap", [0, 1, 4, -3])
def test_a_tier_added_between_follows_its_conditional_law(gap):
    ratios = tuple(ratio_above(epsilon) for epsilon in (2.0, 1.3, 0.6))
    source = SeededSource(7)
    law = conditional_law(ratios, abs(gap), 12)
    drawn = Counter(_between(50, 50 + gap, ratios, source) for _ in range(3000))
    sign = 1 if gap >= 0 else -1
    assert_law(drawn, {50 + sign * n: p for n, p in law.items() if p * 3000 > 6})
    simulated = simulate_between(
        "geometric", np.full(20_000, 50), np.full(20_000, 50 + gap), (2.0, 1.3, 0.6), rng=np.random.default_rng(8)
    )
    assert_law(Counter(simulated.astype(int).tolist()), {50 + sign * n: p for n, p in law.items() if p * 20_000 > 6})


def test_inserted_counts_as_if_they_had_been_there():
    release = release_count(40, [2.0, 0.6], source=SeededSource(9))
    more = insert_count(insert_count(release, 1.3, SeededSource(10)), 0.1, SeededSource(11))
    assert more.budgets == (2.0, 0.6, 1.3, 0.1)
    assert more.values[:2] == release.values
    assert all(c <= b for c, b in zip(more.certified_epsilons, more.budgets, strict=True))
    again = insert_count(release, 2.0, SeededSource(12))
    assert again.values[2] == release.values[0]


def test_an_inserted_count_between_far_answers():
    ratios = tuple(ratio_above(epsilon) for epsilon in (2.0, 0.011, 0.01))
    assert 0 <= _between(0, 5000, ratios, SeededSource(0)) <= 6000
    equal = (ratio_above(2.0), ratio_above(1.0), ratio_above(1.0))
    assert _between(0, 3, equal, SeededSource(0)) == 3


@pytest.mark.parametrize("family", ["geometric", "laplace", "gaussian", "skellam"])
def test_simulated_insertion_restores_the_chain(family):
    options = {"delta": 1e-5} if family in ("gaussian", "skellam") else {}
    rng, runs = np.random.default_rng(13), 60_000
    epsilons = (2.0, 1.3, 0.6)
    full = simulate_multi_tier(family, epsilons, rng=rng, runs=runs, **options)
    ends = simulate_multi_tier(family, (2.0, 0.6), rng=rng, runs=runs, **options)
    middle = simulate_between(family, ends[:, 0], ends[:, 1], epsilons, rng=rng, **options)
    added = np.column_stack([ends[:, 0], middle, ends[:, 1]])
    for i, j in itertools.combinations_with_replacement(range(3), 2):
        products = [full[:, i] * full[:, j], added[:, i] * added[:, j]]
        band = BAND * math.sqrt(sum(p.var() for p in products) / runs)
        assert abs(products[0].mean() - products[1].mean()) < band
    for first, second in ((0, 1), (1, 2)):
        shares = [np.mean(a[:, first] == a[:, second]) for a in (full, added)]
        assert abs(shares[0] - shares[1]) < BAND * math.sqrt(0.5 / runs)
    for n in (-1.0, 0.0, 2.0):
        shares = [np.mean((a[:, 0] <= n) & (a[:, 1] <= n) & (a[:, 2] <= n)) for a in (full, added)]
        assert abs(shares[0] - shares[1]) < BAND * math.sqrt(0.5 / runs)


def test_equal_laplace_neighbours_force_the_new_answer():
    answers = np.array([1.5, -2.0])
    same = simulate_between("laplace", answers, answers, (2.0, 1.3, 0.6), rng=np.random.default_rng(0))
    np.testing.assert_array_equal(same, answers)


def test_the_wrong_insertion_breaks_the_maximum():
    epsilon = wrong_insertion_epsilon((2.0, 1.3, 0.6))
    assert 1.85 <= epsilon < 1.9 + 1e-9
    assert wrong_insertion_epsilon((2.0, 1.3, 0.6), 10) < epsilon, "a wider window shows more of it"


def test_an_inserted_subset_follows_bayes_rule():
    d, tiers = 4, ((2.5, 1), (1.2, 1), (0.4, 2))
    first, second = step_kernel(tiers[0], tiers[1], d), step_kernel(tiers[1], tiers[2], d)
    singles, pairs = list(itertools.combinations(range(d), 1)), list(itertools.combinations(range(d), 2))
    for low in (0, 5):  # {0, 1} holds category 0, {2, 3} does not
        law = first[0] * second[:, low]
        law = law / law.sum()
        weights = _subset_cases(tiers, d, low == 0)
        assert (weights[0] > 0) == (low == 0)
        source = SeededSource(14 + low)
        drawn = Counter(insert_subset(singles[0], pairs[low], tiers, d, source) for _ in range(3000))
        assert_law(drawn, dict(zip(singles, law.tolist(), strict=True)))


def test_accuracy_first():
    budgets, mse = [2.0, 1.0, 0.5], [0.5, 2.0, 8.0]
    assert accuracy_first(budgets, mse, 3.0).tier == 2
    found = accuracy_first(budgets, mse, 1.0)
    assert (found.tier, found.spent, found.opened) == (0, 2.0, 3)
    missed = accuracy_first(budgets, mse, 0.1)
    assert (missed.tier, missed.spent, missed.opened) == (None, 2.0, 3)
    assert accuracy_first(budgets[::-1], mse[::-1], 1.5).tier == 1
    by_value = accuracy_first(budgets, mse, 0.2, released=[10.0, 12.0, 3.0])
    assert (by_value.tier, by_value.error) == (1, pytest.approx(math.sqrt(2) / 12))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(-50, 50), min_size=1, max_size=12), st.floats(0.1, 200))
def test_projection_to_a_total(values, total):
    projected = project_total(values, total)
    assert projected.sum() == pytest.approx(total)
    assert projected.min() >= 0
    # optimality: every kept entry moved by one shift, every cut one by at least it
    shift = np.array(values) - projected
    kept = projected > 0
    assert np.ptp(shift[kept]) < 1e-9
    assert np.all(shift[~kept] <= shift[kept].min() + 1e-9)


def test_projections_of_many_rows():
    rows = project_total([[3.0, 1.0, -2.0], [1.0, 1.0, 1.0]], 3.0)
    np.testing.assert_allclose(rows, [[2.5, 0.5, 0.0], [1.0, 1.0, 1.0]])
    assert project_nonnegative([-1.0, 2.0]).tolist() == [0.0, 2.0]
