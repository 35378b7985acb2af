"""Theorem 1 for two groups, and two dice against the exact laws of tiers."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from core.concepts import throw_dice, weigh_budgets
from core.concepts.dice import epsilon_of
from core.tiers import coalition_epsilon
from core.tiers.joint import chain_law


def test_what_three_and_four_need() -> None:
    pair = weigh_budgets(3.0, 4.0, total=5.0, p=2.0)
    assert pair.needed == {1.0: 4.0, 2.0: 5.0, math.inf: 7.0}
    assert pair.fits
    assert pair.left == pytest.approx(4.0)
    assert weigh_budgets(3.0, 4.0, total=5.0, p=1.0).left == 5.0
    adding = weigh_budgets(3.0, 4.0, total=5.0, p=math.inf)
    assert not adding.fits
    assert adding.left == pytest.approx(2.0)
    assert math.isnan(weigh_budgets(6.0, 0.0, total=5.0, p=2.0).left)


@pytest.mark.parametrize("p", [1.0, 2.0, 3.0, math.inf])
def test_the_bound_of_theorem_1_holds_on_a_grid_of_distances(p: float) -> None:
    pair = weigh_budgets(1.3, 0.4, total=2.0, p=p)
    for a, b in itertools.product(np.linspace(0, 1, 11), repeat=2):
        distance = max(a, b) if math.isinf(p) else (a**p + b**p) ** (1 / p)
        assert 1.3 * a + 0.4 * b <= pair.needed[p] * distance * (1 + 1e-12)


@pytest.mark.parametrize(("one", "two"), [(4, 4), (4, 5), (5, 4), (5, 5)])
def test_laws_are_laws_and_the_second_answer_adds_nothing(one: int, two: int) -> None:
    dice = throw_dice(one, two)
    for law in (dice.chained(True), dice.chained(False), dice.apart(True), dice.apart(False)):
        assert sum(law.values()) == 1
    for truth in (True, False):
        for law in (dice.chained(truth), dice.apart(truth)):
            assert sum(p for (_, b), p in law.items() if b == truth) == dice.second_keep
    assert dice.chained_odds == dice.first_odds == Fraction(one, 6 - one)
    assert dice.apart_odds == dice.first_odds * dice.second_odds
    assert dice.second_odds < min(dice.first_odds, Fraction(two, 6 - two))


def test_the_dice_are_the_multi_tier_chain_of_randomised_response() -> None:
    dice = throw_dice(5, 4)
    budgets = (epsilon_of(dice.first_odds), epsilon_of(dice.second_odds))
    law = chain_law([(budgets[0], 1), (budgets[1], 1)], (0, 1), 2)
    for (a, b), probability in dice.chained(True).items():
        assert law[0][int(not a), int(not b)] == pytest.approx(float(probability))
    chain = [(budget, 1) for budget in budgets]
    assert coalition_epsilon(budgets, 2, chain) == pytest.approx(epsilon_of(dice.chained_odds))
    assert coalition_epsilon(budgets, 2, "independent") == pytest.approx(epsilon_of(dice.apart_odds))
