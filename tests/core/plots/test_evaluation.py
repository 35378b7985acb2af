"""The pictures of an evaluation draw the rows as they are, and the sentences say their numbers."""

import math

import numpy as np
import pandas as pd
import pytest

from core.evaluation.paper_tables import REDUCTIONS, paper_table
from core.evaluation.planner import Plan, Recommendation
from core.plots.evaluation import EvaluationView, plot_evaluation
from core.plots.evaluation_attacker import SHOWN, explain_attack, plot_attack, table_attack
from core.plots.evaluation_explained import explain_gaps, plot_explained, table_by_group
from core.plots.evaluation_looks import spread
from core.plots.evaluation_reduced import explain_reduced, plot_reduced_study, shown_range, table_summary
from core.plots.evaluation_studies import explain_plan, explain_sweep, plot_plan, plot_sweeps, table_plan, table_sweep
from core.plots.evaluation_thresholds import explain_thresholds, plot_thresholds, table_thresholds
from core.plots.evaluation_words import (
    advise_joint,
    explain_evaluation,
    explain_paper,
    table_beside_paper,
    table_errors,
    table_reductions,
)
from tests.core.plots.small_case import texts, trace

NAN = float("nan")
LOSSES = {"zero information": (10.0, 10.0), "ALC+RMP": (9.0, 8.0), "DepHDP-m": (8.0, 4.0), "Bound-m": (7.0, 3.0)}


def rows() -> pd.DataFrame:
    found = []
    for method, losses in LOSSES.items():
        for epsilon, loss in zip((1.0, 4.0), losses, strict=True):
            found.append(
                {
                    "method": method, "epsilon": epsilon, "loss": loss, "sd": 0.0 if loss == 10.0 else 0.5,
                    "end_task": NAN if method.startswith("Bound") else loss / 10, "end_task_sd": 0.01,
                    "lower_bound": loss - 0.5, "predicted": loss + 1.0, "prior_shift": -0.25,
                    "surrogate_residual": -0.75, "sampling_error": 0.1, "relative_error": 0.1, "optimised": 1.0,
                    "groups": 4.0,
                }
            )  # fmt: skip
    return pd.DataFrame(found)


def view(**changes: object) -> EvaluationView:
    settings = {"frame": rows(), "unit": "bits", "end_unit": "bits", "epsilon": 3.0, "repeats": 5}
    return EvaluationView(**(settings | changes))  # type: ignore[arg-type]


def test_every_line_goes_through_its_rows_and_the_band_is_1_96_deviations() -> None:
    picture = plot_evaluation(view())
    for method, losses in LOSSES.items():
        assert tuple(trace(picture, f"line {method}")["y"]) == losses
    drawn = trace(picture, "band DepHDP-m")
    np.testing.assert_allclose(drawn["y"], [8.98, 4.98, 3.02, 7.02])
    assert not any(t.get("uid") == "band zero information" for t in picture.traces)
    assert any("Bound-m (surrogate)" in words for words in texts(picture))
    assert picture.layout["yaxis"]["range"][1] == pytest.approx(1.04 * 10.0)


def test_bounds_and_the_papers_table_are_drawn_where_asked_for() -> None:
    plain = {t.get("uid") for t in plot_evaluation(view()).traces}
    full = plot_evaluation(view(bounds=True, paper=paper_table("heart")))
    added = {t.get("uid") for t in full.traces} - plain
    assert added == {"bound ALC+RMP", "bound DepHDP-m", "paper ALC+RMP", "paper DepHDP-m", "paper Bound-m"}
    hollow = trace(full, "paper DepHDP-m")
    assert hollow["y"] == [5.56, 3.87, 3.18, 2.64]
    assert hollow["marker"]["symbol"].endswith("-open")
    assert any("as printed in the paper" in words for words in texts(full))


def test_the_end_task_error_has_no_bound() -> None:
    picture = plot_evaluation(view(measure="end_task"))
    assert not any(t.get("uid") == "line Bound-m" for t in picture.traces)
    assert "has the least end-task error, **0.400**" in explain_evaluation(view(measure="end_task"))


def test_the_sentence_names_the_best_its_gain_and_who_is_worse_than_a_constant() -> None:
    assert view().at == 4.0
    said = explain_evaluation(view())
    assert "At epsilon 4 **DepHDP-m** loses least, **4.00** ± 0.980, **50.0 %** less than ALC+RMP (8.00)" in said
    assert "All of them beat zero information (10.0)." in said
    worse = rows()
    worse.loc[worse["method"] == "ALC+RMP", "loss"] = 11.0
    assert "**Worse than zero information (10.0)**: ALC+RMP." in explain_evaluation(view(frame=worse))
    alone = worse[worse["method"] == "ALC+RMP"]
    assert "One method alone" in explain_evaluation(view(frame=alone))


def test_reductions_stand_beside_the_papers_and_are_explained_where_they_differ() -> None:
    table = table_reductions(rows(), "heart")
    ours = table[(table["method"] == "DepHDP-m") & (table["against"] == "ALC+RMP")].iloc[0]
    assert ours["mean, %"] == pytest.approx((100 / 9 + 50) / 2)
    assert [ours[f"paper's {what}, %"] for what in ("least", "mean", "largest")] == [47.6, 56.6, 66.7]
    said = explain_paper(rows(), "heart", remapped=False)
    assert "47.6 to 66.7 % less" in said
    assert "DepHDP-m optimises 1 of 4 groups here; the others keep noise that is not remapped" in said
    good = rows()
    good.loc[good["method"] == "DepHDP-m", "loss"] = [9 * 0.45, 8 * 0.45]
    assert REDUCTIONS["heart"]["ALC+RMP"][0] < 55 < REDUCTIONS["heart"]["ALC+RMP"][2]
    assert "optimises" not in explain_paper(good, "heart", remapped=True)
    beside = table_beside_paper(rows(), "heart").set_index("method")
    assert (beside.loc["DepHDP-m", "4 ours"], beside.loc["DepHDP-m", "4 paper"]) == (4.0, 2.64)
    assert math.isnan(beside.loc["zero information", "4 paper"])


def test_the_way_from_prediction_to_measurement_adds_up() -> None:
    picture = plot_explained(rows(), 4.0, "bits")
    measured = trace(picture, "measured DepHDP-m")
    assert measured["x"] == [4.0]
    steps = [t["x"] for t in picture.traces if t["mode"] == "lines" and t["x"][0] in (5.0, 4.75)]
    assert steps == [[5.0, 4.75], [4.75, 4.0]]
    assert not any("Bound-m" in words for words in texts(picture))
    said = explain_gaps(rows(), 4.0)
    assert "loses 1.00 less than predicted" in said
    assert "mostly the surrogate's residual" in said
    assert "for 3 of 3 methods" in said


def attacks(guesses: int = 2) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {
                "method": method, "epsilon": 4.0, "group": g + 1, "mechanism": "EM", "certified_epsilon": 2.0,
                "guess": f"a<{g}>", "prior": 0.5, "posterior": 0.5 + gain / (g + 1), "diameter": 1.0, "log_factor": 2.0,
                "worst_factor": math.exp(2.0),
            }
            for method, gain in (("ALC+RMP", 0.1), ("DepHDP-m", 0.3))
            for g in range(guesses)
        ]
    )  # fmt: skip


def test_the_attacker_stands_before_and_after() -> None:
    picture = plot_attack(attacks(), 4.0)
    assert trace(picture, "before")["x"] == [50.0, 50.0]
    np.testing.assert_allclose(trace(picture, "after DepHDP-m")["x"], [80.0, 65.0])
    assert "a&lt;0&gt;" in texts(picture)
    said = explain_attack(attacks(), 4.0)
    assert "**a<0>** under DepHDP-m: **50.0 % to 80.0 %**, odds changed at most 7.39 times" in said
    assert "Mean gain: ALC+RMP 7.5 to DepHDP-m 22.5 percentage points." in said
    many = plot_attack(attacks(SHOWN + 5), 4.0)
    assert len(trace(many, "before")["x"]) == SHOWN
    assert any(f"{SHOWN} of {SHOWN + 5} guesses" in words for words in texts(many))


def sweep(x: str) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {x: tau, "tau_dim": size, "groups": 1 + round(4 * tau), "method": method, "epsilon": 4.0,
             "loss": NAN if size == 300 and tau == 1.0 and x == "tau_dpn" else 10.0 - 4 * tau + (method[-1] == "r"),
             "sd": 0.1, "run_time": 1.0 + tau}
            for size in ((100,) if x == "tau_group" else (100, 300))
            for method in ("DepHDP-m", "DepHDP-r")
            for tau in (0.0, 0.5, 1.0)
        ]
    )  # fmt: skip


@pytest.mark.parametrize("x", ["tau_group", "tau_dpn"])
def test_a_sweep_shows_the_loss_and_what_lies_under_it(x: str) -> None:
    frame = sweep(x)
    picture = plot_sweeps(frame, x, epsilon=4.0, own=0.5, unit="bits")
    assert trace(picture, "loss DepHDP-m 1")["y"] == [10.0, 8.0, 6.0]
    below = trace(picture, "groups 2" if x == "tau_group" else "run_time DepHDP-m 2")["y"]
    assert below == ([1, 3, 5] if x == "tau_group" else [1.0, 1.5, 2.0])
    said = explain_sweep(frame, x, epsilon=4.0, own=0.5)
    assert "the least loss, **6.00**, is that of DepHDP-m" in said
    assert "the scenario's own 0.5 loses 33.3 % more" in said
    if x == "tau_dpn":
        assert len(trace(picture, "loss DepHDP-m 3")["y"]) == 2
        assert "2 rows were left out as too slow" in said


def test_reduced_domains_show_every_case_and_the_papers_figures() -> None:
    saved = {"full OPT": 50.0, "group OPT": 40.0, "DepHDP-m": 30.0, "DepHDP-r": 20.0, "all-DPN": 0.0}
    frame = pd.DataFrame(
        [
            {"configuration": f"G1x{i}", "epsilon": e, "method": m, "loss": 100 - s, "loss_reduction": s,
             "gap_closure": 2 * s}
            for i in (4, 6) for e in (1.0, 2.0) for m, s in saved.items()
        ]
    )  # fmt: skip
    picture = plot_reduced_study(frame)
    assert trace(picture, "loss_reduction DepHDP-m")["y"] == [30.0] * 4
    assert trace(picture, "gap_closure DepHDP-r")["y"] == [40.0] * 4
    assert "**DepHDP-m** saves 30.0 % and closes **60.0 %** (paper 58.4, 85.1)" in explain_reduced(frame)


def test_a_plan_marks_where_the_mean_meets_the_target() -> None:
    frame = pd.DataFrame(
        {"epsilon": [1.0, 2.0, 4.0], "mean": [3.0, 2.0, 1.0], "low": [2.5, 1.5, 0.5], "high": [3.5, 2.5, 1.5],
         "upper": [3.4, 2.4, 1.4]}
    )  # fmt: skip
    plan = Plan(1.5, 1000, frame, 3.0, (2.8, math.inf), 4.0)
    picture = plot_plan(plan, "DepHDP tuned", "bits")
    assert (trace(picture, "answer")["x"], trace(picture, "answer")["y"]) == ([3.0], [1.5])
    assert "needs **epsilon 3.00** [2.80, above 4] with 1,000 records; from **4** on" in explain_plan(plan)
    bent = Plan(2.45, 1000, frame.assign(upper=[2.4, 2.5, 1.4]), 1.0, (1.0, 1.0), 1.0)
    assert "at **1** 95 % of the releases stay below it, but not at 2." in explain_plan(bent)
    never = Plan(0.1, 10, frame, math.inf, (math.inf, math.inf), math.inf)
    assert "No budget up to 4 reaches" in explain_plan(never)
    assert not any(t.get("uid") == "answer" for t in plot_plan(never, "DepHDP tuned", "bits").traces)


def test_names_at_the_ends_of_lines_keep_their_distance_and_their_order() -> None:
    values = [3.0, 3.1, 3.05, 9.0, 9.0]
    shifts = spread(values, 10.0, gap=17.0)
    places = sorted(v * 10.0 + s for v, s in zip(values, shifts, strict=True))
    assert min(np.diff(places)) >= 17.0 - 1e-9
    assert sum(shifts[:3]) == pytest.approx(0.0, abs=1e-9)
    order = np.argsort([v * 10.0 + s for v, s in zip(values, shifts, strict=True)])
    assert list(order[:3]) == [0, 2, 1]


def test_where_tuned_is_beaten_beyond_sampling_error_the_joint_design_is_recommended() -> None:
    frame = rows()
    tuned = frame[frame["method"] == "ALC+RMP"].assign(method="DepHDP tuned", loss=[7.0, 4.2])
    beaten = pd.concat([frame, tuned], ignore_index=True)
    assert "loses 0.200 more than DepHDP-m, beyond the sampling error (± 0.141)" in advise_joint(beaten, 4.0)
    assert advise_joint(beaten, 1.0) == ""
    assert advise_joint(frame, 4.0) == ""
    joint = pd.concat([beaten, tuned.assign(method="DepHDP joint")], ignore_index=True)
    assert advise_joint(joint, 4.0) == ""


def test_an_axis_of_reduced_domains_is_cut_where_few_lie_far_beyond_and_says_how_many() -> None:
    inside = [float(v) for v in range(20, 60)]
    values = {"full OPT": [60.0] * 42, "group OPT": inside + [50.0] * 2, "DepHDP-m": [*inside, -500.0, -420.0]}
    frame = pd.DataFrame(
        [
            {"configuration": f"G1x{i}", "epsilon": 1.0, "method": m, "loss": 1.0, "loss_reduction": v,
             "gap_closure": v}
            for m, found in values.items() for i, v in enumerate(found)
        ]
    )  # fmt: skip
    picture = plot_reduced_study(frame)
    low, high = picture.layout["yaxis"]["range"]
    assert (low, high) == shown_range([np.array(found) for found in values.values()])
    assert -60.0 < low < 0.0
    assert 60.0 < high < 80.0
    drawn = trace(picture, "loss_reduction DepHDP-m")
    assert drawn["customdata"] == values["DepHDP-m"]
    assert low <= min(drawn["y"]) < 0.0
    assert drawn["marker"]["symbol"][-2:] == ["triangle-down"] * 2
    assert any("2 ↓ to −500 %" in words for words in texts(picture))
    boxes = [t for t in picture.traces if t["type"] == "box"]
    assert all(low <= box["lowerfence"][0] <= box["q1"][0] <= box["median"][0] for box in boxes)
    assert table_summary(frame)["method"].tolist() == ["full OPT", "group OPT", "DepHDP-m"]


def test_tables_have_plain_names_and_no_rounding_errors() -> None:
    by_group = pd.DataFrame([{"method": "m", "epsilon": 1.0, "group": "a", "mechanism": "EM", "budget": 1.0,
                              "predicted": 1.0, "prior_shift": 0.0, "residual": 0.0, "sampling_error": 0.0,
                              "alone": 1.0}])  # fmt: skip
    plan = Plan(1.5, 10, pd.DataFrame({"epsilon": [1.0], "mean": [1.0], "low": [0.5], "high": [2.0]}), 1.0, (1, 1), 1.0)
    tables = (table_by_group(by_group), table_sweep(sweep("tau_dpn")), table_attack(attacks(), 4.0), table_plan(plan))
    for table in tables:
        assert not [name for name in table.columns if "_" in name.replace("tau_", "")]
    assert tables[2]["success after, %"].tolist() == pytest.approx([60.0, 80.0, 55.0, 65.0])
    assert tables[3].iloc[0, -1] == "yes"
    equal = rows().assign(relative_error=1e-14)
    assert set(table_errors(equal, None)["largest RelErr, %"]) == {0.0}


def test_losses_that_differ_little_get_an_axis_of_their_own_and_the_own_threshold_is_named() -> None:
    frame = sweep("tau_group")
    assert plot_sweeps(frame, "tau_group", epsilon=4.0, own=0.5, unit="bits").layout["yaxis"]["range"][0] > 4.0
    wide = frame.assign(loss=frame["loss"] - 5.5)
    picture = plot_sweeps(wide, "tau_group", epsilon=4.0, own=0.5, unit="bits")
    assert picture.layout["yaxis"]["range"][0] == 0.0
    assert "the scenario's 0.5" in texts(picture)
    assert "the scenario's 3" in texts(plot_evaluation(view()))
    left_out = frame.assign(loss=[NAN, *frame["loss"].tolist()[1:]])
    assert "; 1 rows were left out as too slow." in explain_sweep(left_out, "tau_group", epsilon=4.0, own=0.5)


def test_the_thresholds_that_were_tried_stand_by_grouping_and_the_best_is_ringed() -> None:
    frame = pd.DataFrame(
        [
            {"tau_group": 0.1, "tau_dim": 100, "tau_dpn": -1.0, "method": "DepHDP-r-s", "loss": 4.0, "sd": 0.1,
             "seconds": 1.0},
            {"tau_group": 0.2, "tau_dim": 300, "tau_dpn": 0.5, "method": "DepHDP-m-s", "loss": 2.0, "sd": 0.1,
             "seconds": 2.0},
            {"tau_group": 0.1, "tau_dim": 100, "tau_dpn": None, "method": "DepHDP tuned-s", "loss": 3.0, "sd": 0.1,
             "seconds": 3.0},
        ]
    )  # fmt: skip
    found = Recommendation(frame, frame.iloc[1].to_dict(), {}, 3, 5)
    picture = plot_thresholds(found, "bits")
    assert trace(picture, "best")["x"] == trace(picture, "tried DepHDP-m")["x"] == [1.0]
    assert picture.layout["xaxis"]["ticktext"] == ["0.1", "0.2"]
    assert trace(picture, "tried DepHDP tuned")["text"] == ["tau_dim 100, mechanisms chosen by predicted loss"]
    said = explain_thresholds(found)
    assert "Of 3 candidates tried, of 5, **DepHDP-m** with tau_group 0.2, tau_dim 300 and tau_dpn 0.5" in said
    assert "**2.00**, 50.0 % less than the worst tried" in said
    assert table_thresholds(found)["method"].tolist() == ["DepHDP-m", "DepHDP tuned", "DepHDP-r"]
