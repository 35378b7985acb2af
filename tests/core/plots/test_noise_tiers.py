"""The pictures and sentences of the noise tiers page, and the comparison behind them."""

import math

import numpy as np
import pytest

from core.plots.noise_tiers import HEIGHT, TierView, explain_noise_tiers, plot_noise_tiers, table_noise_tiers
from core.plots.palette import BAD, NEUTRAL, TUNED
from core.plots.tier_collusion import explain_collusion, plot_collusion, table_accounts, table_collusion
from core.plots.tier_looks import TIER_LOOKS, log_ticks, spread_labels
from core.plots.tier_release import (
    AnswerView,
    HistogramView,
    explain_accuracy,
    explain_answers,
    plot_accuracy,
    plot_answers,
    plot_histogram,
    table_answers,
    table_histogram,
)
from core.plots.tier_steps import explain_step, plot_step, view_check, view_residual
from core.tiers import READY_LISTS, accuracy_first, check_step, multi_tier_mse, pool_noise, residual
from core.tiers.comparison import NoiseSettings, compare_releases

MARKET = READY_LISTS["market"]


def compare(family="geometric", budgets=(4.0, 2.0, 1.0), **settings):
    return compare_releases(NoiseSettings(family, tuple(budgets), **settings))


# ---- the main picture ----


def test_the_picture_has_theory_as_lines_and_simulation_as_points_for_every_release():
    view = TierView(compare(runs=50))
    picture = plot_noise_tiers(view)
    assert picture.height == HEIGHT
    for name in ("multi-tier", "gradual", "independent"):
        curve, look = view.comparison.curve(name), TIER_LOOKS[name]
        lines = [t for t in picture.traces if t["mode"] == "lines" and t["y"] == curve.mse.tolist()]
        points = [t for t in picture.traces if t["mode"] == "markers" and t["y"] == curve.measured.tolist()]
        assert any(t["line"]["color"] == look.colour for t in lines)
        assert points[0]["error_y"]["array"] == pytest.approx((1.96 * curve.standard_errors).tolist())
        assert points[0]["customdata"] == [0, 1, 2]


def test_lines_that_coincide_share_one_label():
    notes = [n["text"] for n in plot_noise_tiers(TierView(compare(runs=10))).layout["annotations"]]
    assert "multi-tier<br>independent<br>ideal" in notes
    apart = [n["text"] for n in plot_noise_tiers(TierView(compare("laplace", runs=10))).layout["annotations"]]
    assert {"multi-tier<br>independent", "ideal, geometric", "gradual"} <= set(apart)


def test_names_stand_by_their_points_and_are_escaped():
    result = compare(budgets=(2.0, 1.0), runs=10)
    view = TierView(result, ("<b>A</b>", "b"))
    texts = [n["text"] for n in plot_noise_tiers(view).layout["annotations"]]
    assert "&lt;b&gt;A&lt;/b&gt;" in texts
    assert not any("<b>A" in str(trace) for trace in plot_noise_tiers(view).traces)


@pytest.mark.parametrize("log", [True, False])
@pytest.mark.parametrize("budgets", [(1.0,), tuple(np.linspace(8, 0.05, 40)), (300.0, 1e-3)])
def test_every_list_is_drawn_inside_its_axes(budgets, log):
    view = TierView(compare(budgets=budgets, runs=20), log=log)
    picture = plot_noise_tiers(view)
    low, high = (10**e if log else e for e in picture.layout["xaxis"]["range"])
    y_low, y_high = (10**e for e in picture.layout["yaxis"]["range"])
    for trace in picture.traces:
        if "xaxis" not in trace:
            assert low <= min(trace["x"]) and max(trace["x"]) <= high
            if trace["mode"] == "lines":
                assert y_low <= min(trace["y"]) and max(trace["y"]) <= y_high
    assert explain_noise_tiers(view)


def test_the_sentence_takes_its_numbers_from_the_result():
    view = TierView(compare("laplace", (2.0, 1.0), runs=10))
    assert explain_noise_tiers(view) == (
        "A chain gives every recipient the error of a single Laplace answer; gradual release is up to **2.00** times "
        "worse. If all 2 collude, the chain gives away epsilon **2.00**, the budget of the best-informed; independent "
        "answers give away **3.00**."
    )
    assert "one tier only" in explain_noise_tiers(TierView(compare(budgets=(1.0,), runs=10)))
    assert "with delta" in explain_noise_tiers(TierView(compare("skellam", (2.0, 1.0), runs=10)))


def test_the_table_has_every_number_of_the_picture():
    table = table_noise_tiers(TierView(compare("laplace", (2.0, 1.0), runs=10), ("a", "b")))
    assert table["recipient"].tolist() == ["a", "b"]
    assert table["gradual MSE"].tolist() == pytest.approx([1.0, 2.0])
    assert table["epsilon of tiers 1 to this one, independent"].tolist() == pytest.approx([2.0, 3.0])


# ---- ticks and labels ----


@pytest.mark.parametrize(("low", "high"), [(0.01, 0.03), (0.2, 9.0), (1e-9, 1e7), (3e-4, 8e5)])
def test_log_ticks_lie_inside_and_are_few(low, high):
    ticks = log_ticks(low, high)
    assert all(low <= tick <= high for tick in ticks["tickvals"])
    assert 1 <= len(ticks["tickvals"]) <= 12
    assert len(ticks["tickvals"]) == len(ticks["ticktext"])
    assert "10⁻⁶" in log_ticks(1e-9, 1e7)["ticktext"]


def test_labels_are_spread_in_order():
    placed = spread_labels([50.0, 10.0, 51.0, 52.0], 15)
    order = np.argsort(placed).tolist()
    assert order == [1, 0, 2, 3]
    assert np.all(np.diff(np.sort(placed)) > 15 - 0.1)


# ---- residual steps ----


def test_a_step_of_a_family_shows_its_atom():
    view = view_residual(residual("laplace", 2.0, 1.0))
    assert (view.verdict, view.discrete) == ("valid", False)
    assert view.atom == pytest.approx(0.25)
    assert "25.0 %" in explain_step(view, "Laplace")
    assert any(trace["x"] == [0, 0] for trace in plot_step(view).traces)
    whole = view_residual(residual("geometric", 2.0, 1.0))
    bars = plot_step(whole).traces[0]
    assert bars["type"] == "bar"
    assert sum(bars["y"]) == pytest.approx(1.0, abs=1e-4)


def test_negative_mass_is_red_hatched_and_in_words():
    view = view_check(check_step("discrete gaussian", 1.0, 2.0))
    picture = plot_step(view)
    marker = picture.traces[0]["marker"]
    at = dict(zip(view.x.tolist(), zip(marker["color"], marker["pattern"]["shape"], strict=True), strict=True))
    assert at[4.0] == at[-4.0] == (BAD, "/")
    assert at[0.0] == (TUNED, "")
    assert any("negative mass 0.00081" in note["text"] for note in picture.layout["annotations"])
    said = explain_step(view, "Discrete Gaussian")
    assert "**invalid**, negative mass 0.000810, first at |s| = 4" in said
    assert "-" not in said.replace("non-", "")


def test_what_cannot_be_decided_is_grey():
    view = view_check(check_step("discrete gaussian", 10.0, 20.0))
    assert view.verdict == "undecided"
    assert NEUTRAL in plot_step(view).traces[0]["marker"]["color"]
    assert "**undecided**" in explain_step(view, "Wide")


# ---- collusion ----


def test_pooling_moves_independent_answers_only():
    curves = pool_noise("geometric", MARKET.values, rng=np.random.default_rng(3), runs=2000)
    picture = plot_collusion(curves)
    lines = {name: trace["y"] for name, trace in zip([c.release for c in curves], picture.traces[::2], strict=True)}
    assert lines["multi-tier"] == pytest.approx([1.0] * 5)
    assert lines["independent"][-1] < 1
    low, high = picture.layout["yaxis"]["range"]
    assert all(low <= y <= high for trace in picture.traces for y in trace["y"])
    said = explain_collusion(curves)
    assert "Pooling all 5 independent answers" in said and "does not move" in said
    assert table_collusion(curves)["colluders"].tolist() == [1, 2, 3, 4, 5]


def test_one_recipient_has_nobody_to_pool_with():
    curves = pool_noise("laplace", [1.0], rng=np.random.default_rng(0), runs=10)
    assert explain_collusion(curves) == "One recipient has nobody to pool with."
    assert plot_collusion(curves).traces


def test_accounts_name_the_rule_of_the_family():
    accounts = table_accounts(compare("gaussian", runs=10).curves).set_index("release")
    assert accounts.loc["multi-tier", "epsilon together"] == 4.0
    assert "squares of mu" in accounts.loc["independent", "rule"]
    assert math.isnan(table_accounts(compare(runs=10).curves)["mu together"][0])


# ---- answers and accuracy first ----

ANSWERS = AnswerView("Rows with <i>", 10, (2.0, 1.0), (10.0, 13.0), (0.5, 2.0), (math.nan,) * 2)


def test_a_simulation_is_hollow_and_says_that_it_is_no_release():
    picture = plot_answers(ANSWERS)
    assert picture.traces[1]["marker"]["symbol"] == "square-open"
    texts = " ".join(n["text"] for n in picture.layout["annotations"])
    assert "no release" in texts and "&lt;i&gt;" in texts and "<i>" not in texts
    assert "simulated answer" in table_answers(ANSWERS)
    assert "**0**" in explain_answers(ANSWERS) and "**3.00**" in explain_answers(ANSWERS)


def test_a_release_is_solid_and_its_table_never_holds_the_truth():
    view = AnswerView("Q", 10, (2.0, 1.0), (11, 13), (0.5, 2.0), (2.0, 1.0), ("a", "b"), simulated=False)
    assert plot_answers(view).traces[1]["marker"]["symbol"] == "square"
    table = table_answers(view)
    assert list(table) == ["recipient", "epsilon", "answer", "standard deviation", "certified epsilon"]
    assert 10 not in table["answer"].tolist()


def test_a_histogram_shows_truth_as_bars_and_answers_as_points():
    view = HistogramView("<x>", ("a", "<b>"), (3, 5), (2.0, 7.0), (1.5, 2.0), 1.0)
    picture = plot_histogram(view)
    assert picture.traces[0]["y"] == [3, 5] and picture.traces[1]["y"] == [2.0, 7.0]
    assert picture.traces[1]["error_y"]["array"] == pytest.approx([2.94, 3.92])
    assert picture.layout["xaxis"]["ticktext"] == ["a", "&lt;b&gt;"]
    table = table_histogram(("a", "b"), (2.0, 1.0), [(3, 4), (5, 6)])
    assert table["epsilon 1"].tolist() == [4, 6]


def test_accuracy_first_marks_what_was_opened():
    budgets = (2.0, 1.0, 0.5)
    mse = multi_tier_mse("laplace", budgets)
    found = accuracy_first(budgets, mse, 1.5)
    picture = plot_accuracy(budgets, np.sqrt(mse).tolist(), found, 1.5)
    assert picture.traces[0]["marker"]["symbol"] == ["square-open", "square", "square"]
    assert picture.handles[0].value == 1.5
    assert picture.handles[0].low <= 1.5 <= picture.handles[0].high
    said = explain_accuracy(budgets, found, 1.5)
    assert "**1.00** is the first within 1.50" in said and "would have cost 1.50" in said
    never = accuracy_first(budgets, mse, 0.1)
    assert "No tier reaches an error of 0.100" in explain_accuracy(budgets, never, 0.1)
