"""The Concepts page without a browser: every concept, exercises, presets, the presenter view, no table."""

import re

import pytest
from streamlit.testing.v1 import AppTest

from core.concepts import PRESETS, Settings, build_exercise, compare_points
from core.plots.template import sig
from pages._ui import concepts_class
from pages._ui.concepts_state import CONCEPTS
from pages._ui.concepts_steps import STEPS
from pages._ui.concepts_text import METHODS
from tests.pages.opening import opened, start_by_the_main_page, words


@pytest.fixture(autouse=True)
def _frame(monkeypatch: pytest.MonkeyPatch) -> None:
    start_by_the_main_page(monkeypatch)


def go(app: AppTest, concept: str) -> AppTest:
    return app.segmented_control(key="segments_concept").set_value(concept).run()


def means(app: AppTest) -> str:
    return re.findall(r'<p class="means">(.*?)</p>', words(app))[-1]


def test_every_concept_opens_with_question_sentence_exercise_numbers_and_method() -> None:
    app = opened("concepts")
    assert list(CONCEPTS) == list(STEPS) == list(METHODS)
    seen = set()
    for concept in CONCEPTS:
        go(app, concept)
        assert not app.exception
        assert STEPS[concept].question in words(app)
        assert "Exercise " in words(app)
        assert len(app.dataframe) == 1
        seen.add(means(app))
    assert len(seen) == len(CONCEPTS)


def test_a_control_moves_the_sentence_and_stays_when_one_comes_back() -> None:
    app = opened("concepts")
    before = means(app)
    app.slider(key="slider_concepts_point_epsilon").set_value(1.0).run()
    assert means(app) != before
    bound = compare_points(Settings(point_epsilon=1.0)).bound
    assert f"<b>{sig(bound)}</b>" in means(app)
    go(go(app, "dice"), "points")
    assert app.slider(key="slider_concepts_point_epsilon").value == 1.0
    app.number_input(key="number_concepts_second_point").set_value(3).run()
    assert "A and B must stand on two places" in words(app)
    assert "<b>2</b> steps apart" in means(app)


def test_an_entry_is_set_broken_and_mended() -> None:
    app = go(opened("concepts"), "channel")
    assert "Every bar stays in its grey range" in means(app)
    app.number_input(key="number_concepts_entry_value").set_value(95.0).run()
    assert not app.exception
    assert "broken. Worst:" in means(app)
    app.button(key="concepts_mend").click().run()
    assert "Every bar stays in its grey range" in means(app)


def test_answers_get_their_replies_hint_and_solution() -> None:
    app = opened("concepts")
    exercise = build_exercise("twice", Settings())
    field = "number_exercise_twice"
    app.number_input(key=field).set_value(float(exercise.mistakes[0].value)).run()
    assert exercise.mistakes[0].reply in words(app)
    app.button(key="exercise_answer").click().run()
    assert "<i>Answer.</i>" in words(app)
    app.number_input(key=field).set_value(round(float(exercise.answer), 3)).run()
    assert "Right: " in words(app)
    assert "(1 solved)" in words(app)
    # Another budget asks another question, so the old answer no longer counts as one to it.
    app.slider(key="slider_concepts_point_epsilon").set_value(1.0).run()
    assert "Right: " not in words(app)
    app.button(key="exercise_hint").click().run()
    assert "<i>Hint.</i>" in words(app)


def test_a_choice_is_checked_and_the_line_has_two_exercises() -> None:
    app = go(opened("concepts"), "line")
    app.segmented_control(key="segments_exercise_line").set_value("wins").run()
    exercise = build_exercise("wins", Settings())
    box = "choice_exercise_wins"
    app.selectbox(key=box).set_value(str(exercise.mistakes[0].value)).run()
    assert exercise.mistakes[0].reply in words(app)
    app.selectbox(key=box).set_value(str(exercise.answer)).run()
    assert "Right: " in words(app)
    app.slider(key="slider_concepts_mismatch").set_value(1.0).run()
    assert "less than the best noise" in means(app)


def test_presets_set_everything_and_reset_forgets() -> None:
    app = opened("concepts")
    app.number_input(key="number_exercise_twice").set_value(7.389).run()
    assert "(1 solved)" in words(app)
    app.selectbox(key="choice_concepts_preset").set_value("broken").run()
    assert "no budget covers the window" in means(app)
    assert "(0 solved)" in words(app)
    app.number_input(key="number_concepts_first_point").set_value(0).run()
    app.button(key="concepts_reset").click().run()
    assert app.number_input(key="number_concepts_first_point").value == PRESETS["broken"].settings.first_point


def test_the_presenter_view_steps_and_leaves() -> None:
    app = opened("concepts")
    app.button(key="concepts_present").click().run()
    assert not app.exception
    assert not app.dataframe
    assert "Exercise" not in words(app)
    app.button(key="present_next").click().run()
    assert STEPS["channel"].question in words(app)
    app.button(key="present_back").click().run()
    assert STEPS["points"].question in words(app)
    app.button(key="present_leave").click().run()
    assert "Exercise 1" in words(app)
    assert len({concepts_class.NEXT_KEY, concepts_class.BACK_KEY, concepts_class.LEAVE_KEY}) == 3


def test_without_a_table_only_the_stages_ask_for_one() -> None:
    app = opened("concepts", data="upload")
    assert not app.exception
    assert "No table is loaded yet." not in words(app)
    go(app, "stages")
    assert "No table is loaded yet." in words(app)
    app.button(key="empty_button").click().run()
    assert not app.exception
    assert "On the loaded table" in means(app)
