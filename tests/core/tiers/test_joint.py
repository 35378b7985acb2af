"""Joint laws by enumeration, exact coalition epsilons, and the collusion experiment."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import InputError
from core.tiers import (
    coalition_epsilon,
    count_coalition_epsilon,
    gradual_mse,
    joint_law,
    match_templates,
    multi_tier_mse,
    optimal_chain,
    pool_categories,
    pool_noise,
    pooled_weights,
    templates,
    tier_covariance,
)
from core.tiers.chain import chain_mse
from core.tiers.joint import count_joint_law, law_epsilon

BAND = 4.892
LISTS = ([2.0, 1.3, 0.6], [4.0, 2.0, 1.0, 0.25], [3.0, 1.5, 0.8, 0.4])


def coalitions(tiers):
    return [m for size in range(1, tiers + 1) for m in itertools.combinations(range(tiers), size)]


@pytest.mark.parametrize("d", [4, 5])
@pytest.mark.parametrize("budgets", LISTS)
def test_a_chain_gives_a_coalition_its_best_members_level(d, budgets):
    for chain in (optimal_chain(budgets, d), match_templates(budgets, templates(budgets, d, "first"))):
        for members in coalitions(len(budgets)):
            epsilon = coalition_epsilon(budgets, d, chain, members)
            assert epsilon == pytest.approx(chain[members[0]][0], abs=1e-12)
            assert epsilon <= budgets[members[0]] + 1e-12


@pytest.mark.parametrize("d", [4, 5])
@pytest.mark.parametrize("budgets", LISTS)
def test_independent_release_adds_up_and_gradual_does_not(d, budgets):
    for members in coalitions(len(budgets)):
        if len(members) <= 3:
            assert coalition_epsilon(budgets, d, "independent", members) == pytest.approx(
                sum(budgets[i] for i in members)
            )
        assert coalition_epsilon(budgets, d, "gradual", members) == pytest.approx(budgets[members[0]])


def brute_chain_law(chain, d):
    """P(r_1..r_m | x) by walking expansions one by one and then rescaling, with plain dictionaries."""
    law = {}
    for x in range(d):
        level, k = chain[0]
        weights = {r: math.exp(level) if x in r else 1.0 for r in itertools.combinations(range(d), k)}
        paths = {(r,): w / sum(weights.values()) for r, w in weights.items()}
        for (level, k), (level_to, k_to) in itertools.pairwise(chain):
            reached, size = level, k
            for path in list(paths):
                paths[(*path, path[-1])] = paths.pop(path)
            while size < k_to:
                grown = {}
                for path, p in paths.items():
                    for element in set(range(d)) - set(path[-1]):
                        key = (*path[:-1], tuple(sorted((*path[-1], element))))
                        grown[key] = grown.get(key, 0.0) + p / (d - size)
                paths = grown
                reached = math.log((size * math.exp(reached) + 1) / (size + 1))
                size += 1
            phi = [(math.exp(e) - 1) / (k_to * math.exp(e) + d - k_to) for e in (level_to, reached)]
            keep = phi[0] / phi[1]
            fresh = {}
            for path, p in paths.items():
                for r in itertools.combinations(range(d), k_to):
                    key = (*path[:-1], r)
                    fresh[key] = fresh.get(key, 0.0) + p * (1 - keep) / math.comb(d, k_to)
                fresh[path] = fresh.get(path, 0.0) + p * keep
            paths = fresh
        law[x] = paths
    return law


@pytest.mark.parametrize("d", [4, 5])
def test_joint_law_of_a_chain_by_brute_force(d):
    budgets = [2.5, 1.4, 0.5]
    chain = [(2.5, 1), (1.2, 1), (0.3, 2)]
    law, brute = joint_law(budgets, d, chain), brute_chain_law(chain, d)
    places = [{r: i for i, r in enumerate(itertools.combinations(range(d), k))} for _, k in chain]
    assert law.sum() == pytest.approx(d)
    for x, paths in brute.items():
        for path, p in paths.items():
            assert law[(x, *(place[r] for place, r in zip(places, path, strict=True)))] == pytest.approx(p, abs=1e-15)
    # leaving a tier out is summing it out: the steps compose
    np.testing.assert_allclose(joint_law(budgets, d, chain, [0, 2]), law.sum(axis=2), atol=1e-15)
    np.testing.assert_allclose(joint_law(budgets, d, chain, [1, 2]), law.sum(axis=1), atol=1e-15)


def test_expansions_alone_nest_the_subsets():
    d, top = 5, math.log(6.0)
    chain = [(top, 1), (math.log(3.5), 2)]  # one expansion, nothing redrawn
    law = joint_law([top, math.log(3.5)], d, chain)
    pairs = list(itertools.combinations(range(d), 2))
    for r, (j, pair) in itertools.product(range(d), enumerate(pairs)):
        assert (law[:, r, j].max() < 1e-15) == (r not in pair)


def test_a_joint_law_of_ones_own():
    budgets, d = [2.0, 1.0], 4
    law = joint_law(budgets, d, "independent")
    assert coalition_epsilon(budgets, d, law) == pytest.approx(3.0)
    assert coalition_epsilon(budgets, d, law, [1]) == pytest.approx(1.0)
    sure = np.zeros((2, 2))
    sure[[0, 1], [0, 1]] = 1.0
    assert law_epsilon(sure) == math.inf
    assert law_epsilon(np.full((3, 4), 0.25)) == 0


def test_members_are_positions_in_the_list_given():
    assert coalition_epsilon([0.6, 2.0, 1.3], 4, "independent", [0, 2]) == pytest.approx(1.9)
    assert coalition_epsilon([0.6, 2.0], 4, [(0.6, 1), (2.0, 1)], [0]) == pytest.approx(0.6)


@settings(max_examples=20, deadline=None)
@given(st.lists(st.floats(0.1, 4), min_size=2, max_size=3), st.integers(2, 5))
def test_no_coalition_exceeds_its_largest_budget(values, d):
    budgets = sorted(values, reverse=True)
    chain = optimal_chain(budgets, d)
    for members in coalitions(len(budgets)):
        assert coalition_epsilon(budgets, d, chain, members) <= budgets[members[0]] * (1 + 1e-9) + 1e-9


def test_counts():
    budgets = [2.0, 1.3, 0.6]
    for members in coalitions(3):
        largest, total = budgets[members[0]], sum(budgets[i] for i in members)
        for release, expected in (("multi-tier", largest), ("gradual", largest), ("independent", total)):
            found = count_coalition_epsilon(budgets, release, members, window=25)
            assert found == pytest.approx(expected, abs=1e-9)


def test_counts_of_larger_sensitivity():
    # MSDLap comes near its budget in the tail only, and its table is exact to 1e-17: a window between the two.
    budgets = [2.0, 1.3, 0.6]
    for members in coalitions(3):
        largest, total = budgets[members[0]], sum(budgets[i] for i in members)
        for release, expected in (("multi-tier", largest), ("gradual", largest), ("independent", total)):
            options = {"family": "msdlap", "sensitivity": 2, "window": 6}
            assert expected * 0.9 < count_coalition_epsilon(budgets, release, members, **options) < expected + 1e-9


def test_count_chain_steps_compose():
    both = count_joint_law("geometric", [2.0, 1.3, 0.6], "multi-tier", window=60)
    ends = count_joint_law("geometric", [2.0, 1.3, 0.6], "multi-tier", [0, 2], window=60)
    np.testing.assert_allclose(both.sum(axis=2)[:, 40:81, 40:81], ends[:, 40:81, 40:81], atol=1e-13)


def test_pooled_weights_by_hand():
    assert pooled_weights([[1.0, 0.0], [0.0, 3.0]]) == pytest.approx([0.75, 0.25])
    chain = tier_covariance([1.0, 2.0, 5.0], "multi-tier")
    np.testing.assert_allclose(chain, [[1, 1, 1], [1, 2, 2], [1, 2, 5]])
    np.testing.assert_allclose(pooled_weights(chain), [1, 0, 0], atol=1e-12)
    assert pooled_weights(tier_covariance([2.0, 2.0], "multi-tier")) == pytest.approx([0.5, 0.5])


@pytest.mark.parametrize("weighting", ["theory", "held out"])
def test_pooling_counts(weighting):
    budgets = [2.0, 1.3, 1.0, 0.6]
    curves = pool_noise("geometric", budgets, rng=np.random.default_rng(4), runs=40_000, weighting=weighting)
    by_name = {curve.release: curve for curve in curves}
    assert set(by_name) == {"multi-tier", "gradual", "independent"}
    for curve in curves:
        assert np.all(np.abs(curve.measured - curve.theory) < BAND * curve.standard_errors)
    for name in ("multi-tier", "gradual"):
        np.testing.assert_allclose(by_name[name].theory, by_name[name].tier_mse[0], rtol=1e-9)
    alone = by_name["independent"]
    assert alone.theory[-1] == pytest.approx(1 / np.sum(1 / alone.tier_mse))
    assert alone.measured[-1] + BAND * alone.standard_errors[-1] < alone.measured[0]
    np.testing.assert_allclose(by_name["multi-tier"].tier_mse, multi_tier_mse("geometric", budgets))
    np.testing.assert_allclose(by_name["gradual"].tier_mse, gradual_mse("geometric", budgets))


@pytest.mark.parametrize("weighting", ["theory", "held out"])
def test_pooling_categories(weighting):
    budgets = [2.0, 1.3, 0.6]
    chain, fresh = pool_categories(8, budgets, rng=np.random.default_rng(5), runs=20_000, weighting=weighting)
    for curve in (chain, fresh):
        assert np.all(np.abs(curve.measured - curve.theory) < BAND * curve.standard_errors)
    np.testing.assert_allclose(chain.theory, chain_mse(optimal_chain(budgets, 8), 8)[0])
    assert fresh.theory[-1] < 0.8 * fresh.theory[0]


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: coalition_epsilon([2.0, 1.0], 4, "together"), "a chain, independent"),
        (lambda: coalition_epsilon([2.0, 1.0], 4, "independent", []), "name tiers from 0 to 1"),
        (lambda: coalition_epsilon([2.0, 1.0], 4, "independent", [2]), "name tiers"),
        (lambda: coalition_epsilon([1.0] * 9, 5, "independent"), "fewer tiers or fewer categories"),
        (lambda: coalition_epsilon([1.0], 60, [(1.0, 30)]), "fewer tiers or fewer categories"),
        (lambda: coalition_epsilon([1.0], 2, np.ones((2, 2))), "sum to 1 per row"),
        (lambda: count_coalition_epsilon([2.0, 1.0], "together"), "must be one of multi-tier"),
        (lambda: tier_covariance([1.0], "together"), "must be one of"),
        (lambda: pool_noise("laplace", [1.0], rng=np.random.default_rng(0), runs=10, weighting="fit"), "held out"),
    ],
)
def test_what_is_refused(call, sentence):
    with pytest.raises(InputError, match=sentence):
        call()
