"""Subset mechanism, templates, optimal chains, local hashing and randomised response."""

import itertools
import math
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import InputError
from core.tiers import (
    CATEGORY_METHODS,
    best_hash_range,
    best_subset_size,
    brr_mse,
    chain_mse,
    check_chain,
    gradual_subset_mse,
    grid_list,
    grr_mse,
    hashing_chain,
    hashing_chain_mse,
    hashing_mse,
    ideal_subset_mse,
    match_templates,
    max_ratio,
    optimal_chain,
    simulate_category_mse,
    subset_mse,
    templates,
    uniform_list,
)
from core.tiers.hashing import merge_level
from core.tiers.response import flip_probability, keep_bit_probability
from core.tiers.subset import expand_level, inclusion_probabilities, keep_probability, subset_invariant

budget_lists = st.lists(st.floats(0.02, 9), min_size=1, max_size=7)


def brute_mse(epsilon, k, d):
    t = math.exp(epsilon) * k / (math.exp(epsilon) * k + d - k)
    f = (k - t) / (d - 1)
    return (t * (1 - t) + (d - 1) * f * (1 - f)) / (t - f) ** 2


def chain_by_rule(budgets, d, rule):
    return match_templates(budgets, templates(budgets, d, rule))


def test_figures_of_the_subset_mechanism():
    assert subset_mse(1, 3, 10) == pytest.approx(29.104, abs=5e-4)
    assert subset_mse(3, 5, 100) == pytest.approx(20.644, abs=5e-4)
    assert subset_mse(0.1, 2, 4) == pytest.approx(900.75, abs=5e-3)
    assert [best_subset_size(1, 10), best_subset_size(3, 100), best_subset_size(0.1, 4)] == [3, 5, 2]


@settings(max_examples=100, deadline=None)
@given(st.floats(0.01, 20), st.integers(2, 40), st.data())
def test_error_and_best_size_by_brute_force(epsilon, d, data):
    k = data.draw(st.integers(1, d - 1))
    assert subset_mse(epsilon, k, d) == pytest.approx(brute_mse(epsilon, k, d), rel=1e-9)
    by_size = [brute_mse(epsilon, size, d) for size in range(1, d)]
    assert brute_mse(epsilon, best_subset_size(epsilon, d), d) == pytest.approx(min(by_size), rel=1e-9)


def subset_law(x, epsilon, k, d):
    weights = {r: math.exp(epsilon) if x in r else 1.0 for r in itertools.combinations(range(d), k)}
    total = sum(weights.values())
    return {r: w / total for r, w in weights.items()}


def test_expansion_and_rescaling_by_enumeration():
    d, k, epsilon, x = 5, 2, 1.3, 1
    law = subset_law(x, epsilon, k, d)
    t, f = inclusion_probabilities(epsilon, k, d)
    assert sum(p for r, p in law.items() if x in r) == pytest.approx(t)
    assert sum(p for r, p in law.items() if 3 in r) == pytest.approx(f)
    expanded = dict.fromkeys(itertools.combinations(range(d), k + 1), 0.0)
    for r, p in law.items():
        for element in set(range(d)) - set(r):
            expanded[tuple(sorted((*r, element)))] += p / (d - k)
    level = expand_level(epsilon, k)
    assert level == pytest.approx(math.log((math.exp(epsilon) * k + 1) / (k + 1)))
    for r, p in subset_law(x, level, k + 1, d).items():
        assert expanded[r] == pytest.approx(p)
    beta = keep_probability(float(subset_invariant(epsilon, k)), float(subset_invariant(0.4, k)), d)
    for r, p in subset_law(x, 0.4, k, d).items():
        assert beta * law[r] + (1 - beta) / math.comb(d, k) == pytest.approx(p)
    paper = math.log(
        (d * beta * math.exp(epsilon) + (1 - beta) * (k * math.exp(epsilon) + d - k))
        / (d * beta + (1 - beta) * (k * math.exp(epsilon) + d - k))
    )
    assert paper == pytest.approx(0.4)


def test_the_failing_example():
    assert [best_subset_size(math.log(6.4), 10), best_subset_size(math.log(5), 10)] == [1, 2]
    assert math.exp(expand_level(math.log(6.4), 1)) == pytest.approx(3.7)
    with pytest.raises(InputError, match="cannot be made from the tier before"):
        check_chain([math.log(6.4), math.log(5)], [(math.log(6.4), 1), (math.log(5), 2)], 10)
    assert check_chain([math.log(6.4), math.log(5)], [(math.log(6.4), 1), (math.log(3.7), 2)], 10)


@pytest.mark.parametrize(
    ("d", "step", "measured"),
    [
        (15, 0.1, (9.104, 1.447, 1.162, 30.5, 3.69)),
        (15, 0.4, (9.104, 1.893, 1.354, 1706, 2.88)),
        (10, 0.8, (4.105, 1.164, 1.000, 1.16e6, 1.58)),
        (50, 0.2, (2.194, 2.139, 1.244, 89.3, 10.5)),
        (4, 0.2, (2.581, 2.215, 1.084, 97.2, 1.20)),
    ],
)
def test_the_measured_table(d, step, measured):
    first, improved, best, gradual, grr = measured
    budgets = grid_list(step, 20)
    ideal = ideal_subset_mse(budgets, d)
    assert max_ratio(chain_mse(chain_by_rule(budgets, d, "first"), d), ideal) == pytest.approx(first, abs=5e-4)
    assert max_ratio(chain_mse(chain_by_rule(budgets, d, "improved"), d), ideal) == pytest.approx(improved, abs=5e-4)
    assert max_ratio(chain_mse(optimal_chain(budgets, d), d), ideal) == pytest.approx(best, abs=5e-4)
    assert max_ratio(gradual_subset_mse(budgets, d), ideal) == pytest.approx(gradual, rel=4e-3)
    assert max_ratio(grr_mse(budgets, d), ideal) == pytest.approx(grr, rel=4e-3)
    for objective in ("max_ratio", "total"):
        total = chain_mse(optimal_chain(budgets, d, objective), d).sum()
        assert 1 <= total / ideal.sum() < 1.02


def chains_by_brute_force(budgets, d):
    for sizes in itertools.combinations_with_replacement(range(1, max(d // 2, 1) + 1), len(budgets)):
        level, before, chain = math.inf, 1, []
        for epsilon, k in zip(budgets, sizes, strict=True):
            if chain:
                level = math.log((before * math.exp(level) + k - before) / k)
            level, before = min(level, epsilon), k
            chain.append((level, k))
        yield chain


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(0.05, 6), min_size=1, max_size=5), st.integers(2, 11))
def test_optimal_chain_by_brute_force(values, d):
    budgets = sorted(values, reverse=True)
    ideal = ideal_subset_mse(budgets, d)
    errors = [np.array([brute_mse(e, k, d) for e, k in chain]) for chain in chains_by_brute_force(budgets, d)]
    least_ratio = min(max_ratio(e, ideal) for e in errors)
    least_total = min(e.sum() for e in errors)
    by_ratio = chain_mse(optimal_chain(budgets, d), d)
    by_total = chain_mse(optimal_chain(budgets, d, "total"), d)
    assert max_ratio(by_ratio, ideal) == pytest.approx(least_ratio, rel=1e-9)
    assert by_total.sum() == pytest.approx(least_total, rel=1e-9)
    among_best = min(e.sum() for e in errors if max_ratio(e, ideal) <= least_ratio * (1 + 1e-11))
    assert by_ratio.sum() == pytest.approx(among_best, rel=1e-9)


@settings(max_examples=40, deadline=None)
@given(budget_lists, st.integers(2, 30))
def test_optimal_chain_never_loses_and_every_chain_can_be_walked(budgets, d):
    ideal = ideal_subset_mse(budgets, d)
    by_ratio, by_total = optimal_chain(budgets, d), optimal_chain(budgets, d, "total")
    for chain in (by_ratio, by_total, chain_by_rule(budgets, d, "first"), chain_by_rule(budgets, d, "improved")):
        check_chain(budgets, chain, d)
        errors = chain_mse(chain, d)
        assert all(level <= epsilon for (level, _), epsilon in zip(chain, budgets, strict=True))
        assert max_ratio(chain_mse(by_ratio, d), ideal) <= max_ratio(errors, ideal) * (1 + 1e-12)
        assert chain_mse(by_total, d).sum() <= errors.sum() * (1 + 1e-12)
        assert np.all(errors >= ideal * (1 - 1e-12))


@settings(max_examples=60, deadline=None)
@given(budget_lists, st.integers(2, 40), st.sampled_from(["first", "improved"]))
def test_templates_form_one_chain(budgets, d, rule):
    made = templates(budgets, d, rule)
    levels = [level for level, _ in made]
    assert levels == sorted(levels, reverse=True)
    check_chain(levels, made, d)
    assert len(made) <= len(set(budgets)) + 2 * (d // 2)
    if d <= 3:
        assert [level for level, _ in match_templates(budgets, made)] == budgets


def test_size_of_the_first_rule_is_within_the_stated_bound():
    budgets = grid_list(0.1, 40).values
    for d in range(2, 60):
        assert len(templates(budgets, d, "first")) <= len(budgets) + d // 2


def test_matching():
    assert match_templates([3.0, 0.6, 0.69], [(3.0, 1), (0.69, 1), (0.4, 2)]) == [(3.0, 1), (0.4, 2), (0.69, 1)]
    assert match_templates([1.0], [(1.0, 2), (1.0, 1)]) == [(1.0, 1)]
    with pytest.raises(InputError, match="No template has a level of at most"):
        match_templates([0.1], [(0.2, 1)])


def test_answers_follow_the_order_given():
    budgets = [0.5, 3.0, 1.0]
    falling = optimal_chain([3.0, 1.0, 0.5], 12)
    assert optimal_chain(budgets, 12) == [falling[2], falling[0], falling[1]]
    assert check_chain(budgets, optimal_chain(budgets, 12), 12) == falling
    assert gradual_subset_mse(budgets, 12).tolist() == gradual_subset_mse([3.0, 1.0, 0.5], 12)[[2, 0, 1]].tolist()


def test_time_of_a_long_chain():
    budgets = uniform_list(8, 200, rng=np.random.default_rng(0))
    start = time.process_time()
    chain = optimal_chain(budgets, 1000)
    assert time.process_time() - start < 3, "measured 0.4 s; three leave room for a slow machine"
    check_chain(budgets, chain, 1000)


def test_gradual_by_hand():
    first, second = (min(brute_mse(e, k, 6) for k in range(1, 6)) for e in (0.5, 1.0))
    assert gradual_subset_mse([1.5, 0.5], 6) == pytest.approx([1 / (1 / first + 1 / second), first])


def hashing_by_hand(epsilon, g, d):
    p, q = math.exp(epsilon) / (math.exp(epsilon) + g - 1), 1 / g
    return (p * (1 - p) + (d - 1) * q * (1 - q)) / (p - q) ** 2


def test_local_hashing_by_hand():
    assert hashing_mse(1.2, 5, 40) == pytest.approx(hashing_by_hand(1.2, 5, 40), rel=1e-12)
    assert best_hash_range(math.log(15), 1000) == 16
    assert best_hash_range(9.0, 1000) == 1024
    # merging 6 buckets in classes of 3 by enumeration
    p, q = (w / (math.exp(1.2) + 5) for w in (math.exp(1.2), 1.0))
    assert merge_level(1.2, 3) == pytest.approx(math.log((p + 2 * q) / (3 * q)))


@settings(max_examples=25, deadline=None)
@given(st.lists(st.floats(0.1, 2.4), min_size=1, max_size=3), st.sampled_from(["max_ratio", "total"]))
def test_hashing_chain_by_brute_force(values, objective):
    budgets, d = sorted(values, reverse=True), 30
    ideal = ideal_subset_mse(budgets, d)
    top = int(max(8.0, 4 * math.exp(budgets[0])))
    best = math.inf
    for sizes in itertools.product(range(2, top + 1), repeat=len(budgets)):
        if any(a % b for a, b in itertools.pairwise(sizes)):
            continue
        level, before, errors = math.inf, sizes[0], []
        for epsilon, g in zip(budgets, sizes, strict=True):
            c = before // g
            level = min(level if math.isinf(level) else math.log((math.exp(level) + c - 1) / c), epsilon)
            before = g
            errors.append(hashing_by_hand(level, g, d))
        best = min(best, max_ratio(np.array(errors), ideal) if objective == "max_ratio" else sum(errors))
    errors = hashing_chain_mse(hashing_chain(budgets, d, objective), d)
    found = max_ratio(errors, ideal) if objective == "max_ratio" else errors.sum()
    assert found == pytest.approx(best, rel=1e-9)


def test_hashing_chain_divides_and_never_beats_its_own_optimum():
    budgets = grid_list(0.3, 12).values
    chain = hashing_chain(budgets, 100, reference="own")
    assert all(a[1] % b[1] == 0 for a, b in itertools.pairwise(chain))
    own = np.array([hashing_mse(e, best_hash_range(e, 100), 100) for e in budgets])
    errors = hashing_chain_mse(chain, 100)
    assert np.all(errors >= own * (1 - 1e-12))
    assert max_ratio(errors, own) < max_ratio(hashing_chain_mse(hashing_chain(budgets, 100), 100), own) + 1e-12


def test_binary_randomised_response():
    p = math.exp(0.5) / (math.exp(0.5) + 1)
    assert keep_bit_probability(1.0) == pytest.approx(p)
    assert brr_mse([1.0], 7)[0] == pytest.approx(7 * p * (1 - p) / (2 * p - 1) ** 2)
    flip, after = flip_probability(1.0, 0.3), keep_bit_probability(0.3)
    assert p * (1 - flip) + (1 - p) * flip == pytest.approx(after)
    assert flip_probability(1.0, 1.0) == 0


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: subset_mse(1, 0, 10), "from 1 to 9, not 0"),
        (lambda: subset_mse(1, 10, 10), "not 10"),
        (lambda: subset_mse(0, 1, 10), "A budget"),
        (lambda: subset_mse(1, 1, 1), "number of categories"),
        (lambda: best_subset_size(1, 2.5), "whole number"),
        (lambda: templates([1], 5, "second"), "first or improved"),
        (lambda: optimal_chain([1], 5, "mean"), "max_ratio or total"),
        (lambda: optimal_chain([], 5), "not 0"),
        (lambda: check_chain([1.0], [], 5), "one .* per budget"),
        (lambda: check_chain([1.0], [(1.5, 1)], 5), "exceeds its budget"),
        (lambda: check_chain([2.0, 1.0], [(2.0, 2), (1.0, 1)], 5), "sizes only grow"),
        (lambda: hashing_mse(1, 1, 5), "hash range"),
        (lambda: hashing_chain([1], 5, reference="best"), "query or own"),
    ],
)
def test_what_is_refused(call, sentence):
    with pytest.raises(InputError, match=sentence):
        call()


BAND = 4.892
"""Two-sided normal quantile at a false-alarm rate of 1e-6."""


@pytest.mark.parametrize("method", list(CATEGORY_METHODS))
@pytest.mark.parametrize("d", [3, 12])
def test_simulated_errors_within_their_band(method, d):
    budgets = [0.8, 3.0, 1.5]
    theory = {
        "multi-tier": chain_mse(optimal_chain(budgets, d), d),
        "gradual": gradual_subset_mse(budgets, d),
        "independent": ideal_subset_mse(budgets, d),
        "GRR": grr_mse(budgets, d),
        "BRR": brr_mse(budgets, d),
        "local hashing": hashing_chain_mse(hashing_chain(budgets, d), d),
    }
    measured, deviation = simulate_category_mse(method, d, budgets, rng=np.random.default_rng(7), users=20_000)
    assert np.all(np.abs(measured - theory[method]) < BAND * deviation)
    assert np.all(deviation < 0.05 * measured)


def test_a_simulated_chain_of_ones_own():
    chain = [(3.0, 1), (1.0, 2)]
    measured, deviation = simulate_category_mse(
        "multi-tier", 8, [3.0, 1.5], rng=np.random.default_rng(8), users=20_000, chain=chain
    )
    assert np.all(np.abs(measured - chain_mse(chain, 8)) < BAND * deviation)
    with pytest.raises(InputError, match="one of multi-tier"):
        simulate_category_mse("OUE", 8, [1.0], rng=np.random.default_rng(0), users=10)
