"""The pictures and sentences of the categorical tiers page, and the comparison behind them."""

import math

import numpy as np
import pytest

from core.plots.categorical_tiers import (
    CATEGORY_LOOKS,
    HEIGHT,
    SWATCHES,
    CategoryView,
    explain_categorical_tiers,
    explain_step,
    key_rows,
    plot_categorical_tiers,
    table_categorical_tiers,
    table_chains,
)
from core.plots.category_studies import (
    BoundView,
    explain_study,
    plot_bounds,
    plot_coalitions,
    plot_study,
    table_coalitions,
    table_study,
)
from core.plots.palette import TUNED
from core.plots.tier_looks import log_ticks
from core.plots.tier_release import table_estimates
from core.tiers import bound_heatmap, grid_list
from core.tiers.category_comparison import CHAINS, CategorySettings, compare_categories
from core.tiers.experiments import ListStudy

GRID = grid_list(0.2, 20).values


def view_of(d=15, budgets=(4.0, 2.0, 1.0), **more):
    return CategoryView(compare_categories(CategorySettings(d, tuple(budgets), **more)))


# ---- the main picture ----


def test_the_picture_draws_every_method_and_every_chain():
    view = view_of(budgets=GRID)
    picture = plot_categorical_tiers(view)
    assert picture.height == HEIGHT
    for name in view.comparison.errors:
        drawn = [t for t in picture.traces if t["y"] == view.comparison.ratios(name).tolist()]
        assert drawn and drawn[0]["line"]["color"] == CATEGORY_LOOKS[name].colour
    for name in CHAINS:
        sizes = [k for _, k in view.comparison.chains[name]]
        assert any(t["y"] == sizes and t.get("yaxis") == "y2" for t in picture.traces)


def test_each_method_is_labelled_with_its_worst_ratio():
    picture = plot_categorical_tiers(view_of(budgets=GRID))
    texts = [n["text"] for n in picture.layout["annotations"]]
    assert "templates 1 9.10" in texts
    assert "gradual up to 109" in texts
    top = 10 ** picture.layout["yaxis"]["range"][1]
    assert top < 109


@pytest.mark.parametrize("budgets", [(1.0,), GRID, (math.log(6.4), math.log(5)), tuple(np.linspace(9, 0.05, 90))])
@pytest.mark.parametrize("d", [2, 3, 10, 1000])
def test_every_list_and_domain_is_drawn_inside_the_axes(d, budgets):
    view = view_of(d, budgets)
    picture = plot_categorical_tiers(view)
    low, high = picture.layout["xaxis2"]["range"]
    for trace in picture.traces:
        xs = [math.log10(x) for x in trace["x"] if x is not None]
        assert low - 1e-9 <= min(xs) and max(xs) <= high + 1e-9
        if trace.get("yaxis") == "y2":
            assert max(y for y in trace["y"] if y is not None) < picture.layout["yaxis2"]["range"][1]
    assert len(picture.layout["xaxis2"]["tickvals"]) >= 2
    assert explain_categorical_tiers(view) and explain_step(view)


def test_methods_that_are_worst_at_the_largest_budget_are_named_beside_their_last_point():
    picture = plot_categorical_tiers(view_of(budgets=(4.0, 2.0, 1.0, 0.25)))
    for name in ("BRR", "local hashing"):
        (note,) = [n for n in picture.layout["annotations"] if n["text"].startswith(name)]
        assert note["x"] == pytest.approx(math.log10(4.0))
        assert note["xanchor"] == "left" and note["yanchor"] == "middle"


def test_names_are_escaped():
    view = CategoryView(view_of(budgets=(2.0, 1.0)).comparison, ("<b>", "x"))
    assert not any("<b>," in str(trace.get("text")) for trace in plot_categorical_tiers(view).traces)
    assert "&lt;b&gt;" in str([trace.get("text") for trace in plot_categorical_tiers(view).traces])


def test_the_sentence_takes_its_numbers_from_the_result():
    said = explain_categorical_tiers(view_of(15, grid_list(0.1, 20).values))
    assert "at most **1.16** times the ideal error (the paper's rules 1.45 and 9.10, gradual 30.5)" in said
    assert "epsilon **2.00**, independent answers **21.0**" in said
    assert "one tier only" in explain_categorical_tiers(view_of(budgets=(1.0,)))


def test_the_failing_example_says_where_the_expansion_lands():
    said = explain_step(view_of(10, (math.log(6.4), math.log(5))))
    assert f"lands on **{math.log(3.7):.2f}**, below the second budget {math.log(5):.2f}" in said
    assert explain_step(view_of(budgets=(1.0,))) == "A list of one tier has no step."


def test_tables_hold_what_is_drawn():
    view = view_of(budgets=(2.0, 1.0))
    table = table_categorical_tiers(view)
    assert table["optimal chain over ideal"].tolist() == view.comparison.ratios("optimal chain").tolist()
    chains = table_chains(view)
    assert chains["ideal size"].tolist() == list(view.comparison.sizes)
    assert chains["templates 1 level"].tolist() == [level for level, _ in view.comparison.chains["templates 1"]]


def test_the_key_names_every_method():
    assert set(SWATCHES) == set(CATEGORY_LOOKS)
    assert key_rows(["optimal chain"]) == [("square", TUNED, "optimal chain")]


def test_a_narrow_log_axis_still_has_ticks():
    ticks = log_ticks(1.37, 1.88)["tickvals"]
    assert len(ticks) >= 2 and all(1.37 <= tick <= 1.88 for tick in ticks)


# ---- bounds, random lists, coalitions ----


def test_both_bounds_share_one_scale_and_name_their_largest_value():
    categories, epsilons = (4, 5, 6), np.array([0.5, 1.0, 2.0])
    first, improved = (bound_heatmap(rule, categories, epsilons) for rule in ("first", "improved"))
    picture = plot_bounds(BoundView(categories, epsilons, first, improved))
    one, two = picture.traces
    assert (one["zmin"], one["zmax"]) == (two["zmin"], two["zmax"])
    assert one["z"].max() == pytest.approx(math.log10(171 / 11))
    texts = [n["text"] for n in picture.layout["annotations"]]
    assert any("templates 1: ≤ 15.5" in text for text in texts)
    reached = np.array([[1.0, 1.25], [1.5, 1.0]])
    full = plot_bounds(BoundView(categories, epsilons, first, improved, (4, 5), (0.1, 0.2), reached))
    assert full.traces[2]["text"] == [["1.00", "1.25"], ["1.50", "1.00"]]


STUDY = ListStudy(
    ("templates 2", "optimal chain", "GRR"),
    np.array([[1.2, 1.8], [1.0, 1.1], [3.0, 4.0]]),
    np.array([[1.1, 1.1], [1.0, 1.0], [2.0, 2.0]]),
)


def test_the_study_is_drawn_best_first_and_set_beside_the_claim():
    picture = plot_study(STUDY)
    assert picture.layout["yaxis"]["ticktext"] == ["GRR", "templates 2", "optimal chain"]
    assert [1.5, 1.8] in [pytest.approx(t["x"]) for t in picture.traces if t["mode"] == "markers"]
    table = table_study(STUDY)
    assert table["method"].tolist() == ["optimal chain", "templates 2", "GRR"]
    assert "1.4" in table["the paper says"][1] and table["the paper says"][0] == ""
    said = explain_study(STUDY)
    assert "**1.50** on average and 1.80 at most, above the paper's 1.40" in said and "**1.05** and 1.10" in said


@pytest.mark.parametrize(("ratios", "word"), [([1.0, 1.3], "within"), ([1.0, 1.6], "only on average within")])
def test_the_claim_is_judged_by_what_was_measured(ratios, word):
    study = ListStudy(("templates 2", "optimal chain"), np.array([ratios, [1.0, 1.0]]), np.ones((2, 2)))
    assert f"at most, {word} the paper's 1.40" in explain_study(study)


def test_coalitions_stand_against_their_largest_budget():
    budgets, coalitions = (2.0, 1.0), [(0,), (1,), (0, 1)]
    found = {"independent": [2.0, 1.0, 3.0], "optimal chain": [2.0, 1.0, 2.0]}
    picture = plot_coalitions(budgets, coalitions, found)
    assert picture.traces[0]["y"] == [2.0, 2.0, None, 1.0, 1.0, None, 2.0, 2.0, None]
    assert picture.layout["xaxis"]["ticktext"] == ["2.00", "1.00", "2.00 + 1.00"]
    table = table_coalitions(budgets, coalitions, found)
    assert table["exact epsilon, independent"].tolist() == [2.0, 1.0, 3.0]
    assert table["largest budget"].tolist() == [2.0, 1.0, 2.0]


def test_estimates_are_given_without_the_truth():
    table = table_estimates(("a", "b"), (2.0, 1.0), np.array([[1.0, 2.0], [3.0, 4.0]]), np.ones((2, 2)))
    assert list(table) == ["level", "epsilon 2", "standard error, epsilon 2", "epsilon 1", "standard error, epsilon 1"]
    assert table["epsilon 1"].tolist() == [3.0, 4.0]
