"""The knapsack over grid budgets against every combination, and units that round to the side they promise."""

import doctest
import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import core.knapsack
from core.knapsack import count_units, solve_knapsack

choices = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 50)), min_size=1, max_size=4)


@given(st.lists(choices, min_size=1, max_size=4), st.integers(0, 15))
def test_knapsack_equals_the_best_of_all_combinations(groups, units):
    groups = [[(0, 60), *group] for group in groups]
    costs = [np.array([c for c, _ in group]) for group in groups]
    losses = [np.array([float(v) for _, v in group]) for group in groups]
    found, chosen = solve_knapsack(costs, losses, units)
    every = [
        sum(v for _, v in combination)
        for combination in itertools.product(*groups)
        if sum(c for c, _ in combination) <= units
    ]
    assert found == min(every)
    assert sum(c[i] for c, i in zip(costs, chosen, strict=True)) <= units
    assert sum(v[i] for v, i in zip(losses, chosen, strict=True)) == found


def test_a_group_without_a_free_choice_is_refused():
    with pytest.raises(ValueError, match="costs nothing"):
        solve_knapsack([np.array([1, 2])], [np.array([1.0, 0.0])], 5)


@given(st.floats(0.01, 50), st.lists(st.floats(0, 60), min_size=1, max_size=5), st.sampled_from([1.0, 2.0]))
def test_units_round_to_their_side(epsilon, budgets, q):
    grid = np.array([0.0, *budgets])
    up, down = (count_units(grid, epsilon, q, up=side) for side in (True, False))
    for budget, above, below in zip(grid.tolist(), up.tolist(), down.tolist(), strict=True):
        exact = (Fraction(budget) / Fraction(epsilon)) ** int(q) * core.knapsack.UNITS
        assert below <= exact
        assert above >= min(exact, 2 * core.knapsack.UNITS)
        assert above - below <= 2


def test_examples_hold():
    assert doctest.testmod(core.knapsack, extraglobs={"np": np}).failed == 0
