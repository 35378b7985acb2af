"""Every release of one number or one category, side by side."""

import numpy as np
import pytest

from core.tiers import grid_list
from core.tiers.category_comparison import CategorySettings, compare_categories
from core.tiers.comparison import GRADUAL_MU, NoiseSettings, compare_releases


def compare(family="geometric", budgets=(4.0, 2.0, 1.0), **settings):
    return compare_releases(NoiseSettings(family, tuple(budgets), **settings))


# ---- one number ----


def test_the_comparison_holds_the_laplace_figures_by_hand():
    result = compare("laplace", (2.0, 1.0), runs=50)
    assert result.curve("multi-tier").mse == pytest.approx([0.5, 2.0])
    assert result.curve("gradual").mse == pytest.approx([1.0, 2.0])
    assert result.own_ratio("gradual") == pytest.approx(2.0)
    assert [cost.epsilon for cost in result.curve("independent").coalitions] == pytest.approx([2.0, 3.0])
    assert [cost.epsilon for cost in result.curve("multi-tier").coalitions] == [2.0, 2.0]


@pytest.mark.parametrize("family", ["geometric", "laplace", "gaussian", "skellam", "msdlap"])
def test_simulated_errors_agree_with_theory_within_six_standard_errors(family):
    result = compare(family, runs=4000, sensitivity=2 if family == "msdlap" else 1)
    for curve in result.curves:
        # Six standard errors of a mean with this many runs: far below a false-alarm rate of 1e-6 for light tails.
        assert np.all(np.abs(curve.measured - curve.mse) < 6 * curve.standard_errors), curve.name
        assert len(curve.coalitions) == 3
    assert (GRADUAL_MU in [curve.name for curve in result.curves]) == (family == "gaussian")


def test_gaussian_gradual_release_is_ideal_only_when_it_splits_mu():
    result = compare("gaussian", runs=10)
    assert result.own_ratio(GRADUAL_MU) == pytest.approx(1.0)
    assert result.own_ratio("gradual") > 1.5


def test_runs_are_cut_where_the_list_is_long_and_the_result_says_so():
    settings = NoiseSettings("msdlap", tuple(np.linspace(4, 0.1, 200)), sensitivity=100, runs=20_000)
    assert settings.affordable_runs == 300


# ---- one category ----


@pytest.mark.parametrize(
    ("d", "step", "worst"),
    [
        (15, 0.1, {"templates 1": 9.104, "templates 2": 1.447, "optimal chain": 1.162, "gradual": 30.5, "GRR": 3.69}),
        (10, 0.8, {"templates 1": 4.105, "templates 2": 1.164, "optimal chain": 1.000, "GRR": 1.58}),
    ],
)
def test_the_comparison_holds_the_known_figures(d, step, worst):
    result = compare_categories(CategorySettings(d, grid_list(step, 20).values))
    for name, figure in worst.items():
        assert result.worst(name) == pytest.approx(figure, rel=2e-3), name
    assert (result.together, result.apart) == pytest.approx((20 * step, 210 * step))


def test_the_optimal_chain_never_loses_to_the_rules():
    for objective in ("max_ratio", "total"):
        result = compare_categories(CategorySettings(7, (3.0, 1.2, 0.9, 0.3), objective))
        measure = result.worst if objective == "max_ratio" else lambda name, r=result: r.errors[name].sum()
        assert measure("optimal chain") <= min(measure("templates 1"), measure("templates 2")) * (1 + 1e-9)


def test_progress_is_told():
    told = []
    compare_categories(CategorySettings(4, (1.0,)), lambda fraction, words: told.append((fraction, words)))
    assert told == [(0.5, "local hashing")]
