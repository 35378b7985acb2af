"""Privacy lists: checked, sorted, merged, drawn."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import InputError
from core.tiers import READY_LISTS, clean_budgets, grid_list, normal_list, uniform_list
from core.tiers.budgets import order_budgets


def test_sorting_and_merging_leave_notes():
    cleaned = clean_budgets([0.5, 2, 0.5, 1])
    assert cleaned.values == (2.0, 1.0, 0.5)
    assert len(cleaned.notes) == 2
    assert "0.5 appeared more than once" in cleaned.notes[0]
    assert "sorted" in cleaned.notes[1]
    assert clean_budgets([3, 1]).notes == ()
    assert list(clean_budgets(np.array([3, 1]))) == [3.0, 1.0]


@pytest.mark.parametrize("bad", [0, -1, math.nan, math.inf, "1", None, True, 1e-9, 301])
def test_what_is_no_budget(bad):
    with pytest.raises(InputError, match="A budget"):
        clean_budgets([1.0, bad])


def test_the_number_of_tiers():
    assert len(clean_budgets(np.linspace(1, 2, 200))) == 200
    with pytest.raises(InputError, match="not 201"):
        clean_budgets(np.linspace(1, 2, 201))
    with pytest.raises(InputError, match="not 0"):
        clean_budgets([])


@given(st.lists(st.floats(0.01, 20), min_size=1, max_size=30))
def test_order_and_back(values):
    ordered, restore = order_budgets(values)
    assert np.all(np.diff(ordered) <= 0)
    assert restore(ordered).tolist() == values
    cleaned = clean_budgets(values)
    assert set(cleaned.values) == set(values)
    assert np.all(np.diff(cleaned.values) < 0)


def test_lists_of_the_experiments():
    assert grid_list(0.1, 3).values == pytest.approx((0.3, 0.2, 0.1))
    rng = np.random.default_rng(0)
    uniform = np.array(uniform_list(4, 200, rng=rng).values)
    assert np.all(np.diff(uniform) < 0)
    assert 0.01 <= uniform[-1] < 0.2
    assert 3.8 < uniform[0] <= 4
    normal = np.array(normal_list(2, 4, 200, rng=rng).values)
    assert len(normal) == 200
    assert normal.min() >= 0.01
    # the mean of Normal(2, 4) cut at 0.01 is 2.57, its standard deviation below 2
    assert abs(normal.mean() - 2.57) < 4.892 * 2 / math.sqrt(200)
    assert uniform_list(4, 5, rng=np.random.default_rng(1)) == uniform_list(4, 5, rng=np.random.default_rng(1))


@pytest.mark.parametrize(
    "call",
    [
        lambda: grid_list(0, 3),
        lambda: grid_list(0.1, 201),
        lambda: grid_list(0.1, 0),
        lambda: grid_list(100, 4),
        lambda: uniform_list(0.01, 3, rng=np.random.default_rng(0)),
        lambda: normal_list(1, 0, 3, rng=np.random.default_rng(0)),
    ],
)
def test_lists_that_are_refused(call):
    with pytest.raises(InputError):
        call()


def test_ready_lists_are_valid():
    assert set(READY_LISTS) == {"warehouse", "mobile", "market"}
    for ready in READY_LISTS.values():
        assert clean_budgets(ready.values).values == ready.values
        assert len(ready.recipients) == len(ready.values)
