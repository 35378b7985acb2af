"""The Evaluation page without a browser: a run in the background, what is known stays, every view, and its refusals."""

import dataclasses

import pytest
from streamlit.testing.v1 import AppTest

from core.evaluation.rows import evaluate
from core.table import load_sample, sample_scenario
from pages._ui import evaluation_views
from pages._ui.background import Desk, Job, Run
from pages._ui.evaluation_command import write_command
from pages._ui.evaluation_runs import Ahead
from tests.pages.opening import opened, start_by_the_main_page, words

METHODS = ("zero information", "SPL+DPN", "ALC+RMP")
EPSILONS = (2.0, 4.0)


@pytest.fixture(autouse=True)
def _frame(monkeypatch: pytest.MonkeyPatch) -> None:
    start_by_the_main_page(monkeypatch)


def options(app: AppTest) -> dict:
    return app.session_state["mdp_session"].options


def desk(app: AppTest) -> Desk:
    return options(app)["background"]


def small(app: AppTest, **more: object) -> AppTest:
    options(app).update(evaluation_methods=METHODS, evaluation_epsilons=EPSILONS, evaluation_repeats=1, **more)
    return app.run()


def measured(app: AppTest) -> AppTest:
    """Run what is not known; samples are remembered for all sessions, and tests are sessions too."""
    if any(button.key == "run_start" for button in app.button):
        app.button(key="run_start").click().run()
        finished(app)
    return app


def finished(app: AppTest) -> AppTest:
    desk(app).run.wait(100)
    return app.run()


@pytest.fixture
def app() -> AppTest:
    return small(opened("evaluation"))


def test_a_run_fills_the_page_and_its_rows_are_those_of_the_core(app: AppTest) -> None:
    assert not app.exception
    assert "3 methods at 2 budgets" in words(app)
    app.button(key="empty_button").click().run()
    assert not app.exception
    finished(app)
    assert not app.exception
    assert "At epsilon 4 <b>ALC+RMP</b> loses least" in words(app)
    assert "Worse than zero information" in words(app)
    assert not any(button.key in ("run_start", "run_stop") for button in app.button)
    shown = next(f.value for f in app.dataframe if "sd between repeats" in f.value)
    expected = evaluate(load_sample("heart"), sample_scenario("heart"), METHODS, EPSILONS, repeats=1)
    assert shown["loss"].tolist() == expected["loss"].tolist()
    reductions = next(f.value for f in app.dataframe if "against" in f.value)
    assert reductions.columns[-1] == "paper's largest, %"
    beside = next(f.value for f in app.dataframe if "2 paper" in f.value)
    assert beside.set_index("method").loc["ALC+RMP", "2 paper"] == 11.26
    assert "as printed in the paper, on its own preparation" in words(app)
    command = next(code.value for code in app.get("code"))
    assert command.startswith("python -m core evaluate --sample heart --methods 'zero information,SPL+DPN,ALC+RMP' ")
    assert "--epsilons 2,4 --repeats 1" in command


def test_what_is_known_is_there_at_once_whatever_the_total_and_in_another_view(app: AppTest) -> None:
    options(app)["evaluation_repeats"] = 2
    app.run()
    app.button(key="run_start").click().run()
    finished(app)
    rows = list(desk(app).run.items)
    app.slider(key="slider_epsilon").set_value(2.0).run()
    assert "At epsilon 2 <b>" in words(app)
    for view, sentence in (("explained", "than predicted"), ("attacker", "The attacker gains most on")):
        app.segmented_control(key="segments_evaluation_view").set_value(view).run()
        assert not app.exception
        assert sentence in words(app)
    app.selectbox(key="choice_evaluation_at").set_value(4.0).run()
    assert not app.exception
    app.switch_page("pages/budget.py").run()
    app.switch_page("pages/evaluation.py").run()
    assert "The attacker gains most on" in words(app)
    assert desk(app).run.items == rows


def test_the_measure_the_bounds_and_the_papers_table_are_drawn(app: AppTest) -> None:
    measured(app)
    app.toggle(key="toggle_evaluation_bounds").set_value(True).run()
    app.toggle(key="toggle_evaluation_paper").set_value(True).run()
    app.segmented_control(key="segments_evaluation_measure").set_value("end_task").run()
    assert not app.exception
    assert "has the least end-task error" in words(app)


def test_no_method_and_another_task_than_the_papers(app: AppTest) -> None:
    options(app)["evaluation_methods"] = ()
    app.run()
    assert "No method or no budget is chosen." in words(app)
    app.button(key="empty_button").click().run()
    assert len(options(app)["evaluation_methods"]) > 5
    app.selectbox(key="choice_task").set_value("frequency").run()
    assert not app.exception
    assert not any(toggle.key == "toggle_evaluation_paper" for toggle in app.toggle)
    assert "--scenario scenario.json" in next(code.value for code in app.get("code"))


def test_a_table_too_short_is_refused_with_a_sentence(monkeypatch: pytest.MonkeyPatch, app: AppTest) -> None:
    table = load_sample("heart")
    short = dataclasses.replace(table, frame=table.frame.head(12), digest="short")
    monkeypatch.setattr("pages._ui.state._sample", lambda _name: short)
    app.run()
    assert "needs at least 16 rows to split, not 12" in words(app)
    assert not app.exception


def test_without_a_table_one_button_brings_a_sample() -> None:
    app = opened("evaluation", data="upload")
    assert "No table is loaded yet." in words(app)
    assert not app.exception


def test_every_view_opens_before_anything_has_run() -> None:
    app = opened("evaluation")
    for view in evaluation_views.VIEWS:
        app.segmented_control(key="segments_evaluation_view").set_value(view).run()
        assert not app.exception, view


def test_a_command_quotes_the_name_of_an_upload() -> None:
    command = write_command("sweep", "upload", "my table; rm.csv", saved=True, options=[("repeats", "3")])
    assert "--table 'my table; rm.csv' --scenario scenario.json --repeats 3 --out results" in command


def test_a_sweep_and_a_plan_run_and_answer() -> None:
    app = small(opened("evaluation", task="frequency"), evaluation_view="sweeps", sweep_epsilons=(4.0,))
    app.button(key="run_start").click().run()
    finished(app)
    assert not app.exception
    assert "At epsilon 4 the least loss, <b>" in words(app)
    assert len(desk(app).run.items) == 11 * 2
    app.segmented_control(key="segments_evaluation_view").set_value("planner").run()
    app.selectbox(key="choice_plan_method").set_value("ALC+RMP").run()
    app.button(key="run_start").click().run()
    finished(app)
    assert not app.exception
    assert (desk(app).run.status, desk(app).run.problem) == ("done", "")
    assert "An error of" in words(app), [c.value for c in app.caption]
    target = app.number_input(key="number_plan_target")
    target.set_value(target.value / 1e3).run()
    assert "No budget up to 4 reaches an error of" in words(app)
    assert not any(button.key == "run_start" for button in app.button)


def test_every_number_is_also_the_default_of_its_field_so_that_no_browser_shows_the_lower_end() -> None:
    app = small(opened("evaluation"), evaluation_view="planner")
    for _ in range(2):
        field = app.number_input(key="number_plan_size")
        assert (field.value, field.proto.default) == (303, 303)
        app.run()


def test_a_run_that_solves_ahead_tells_its_share_from_the_first_curve_on() -> None:
    told: list[tuple[float, str]] = []
    teller = Run(Job("t", "t", lambda _: iter(())))
    teller.reach = lambda fraction, words: told.append((round(fraction, 3), words))  # type: ignore[method-assign]
    ahead = Ahead(teller, 0.6)
    ahead(0.5, "Solving curves")
    ahead.rest(0.5, "a row")
    alone = Ahead(teller, 0.6)
    alone.rest(0.5, "a row")
    assert told == [(0.3, "Solving curves"), (0.8, "a row"), (0.5, "a row")]
