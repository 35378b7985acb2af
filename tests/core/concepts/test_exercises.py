"""Exercises: every answer against another way to compute it, typical mistakes recognised, numbers never fixed."""

import dataclasses
import html
import math
import re

import pytest

from core.concepts import EXERCISES, PRESETS, Settings, build_exercises, check_answer, write_worksheet
from core.concepts.line import compare_line, line_problem
from core.concepts.words import say
from core.mechanisms import Problem, build_channel

CASES = [preset.settings for preset in PRESETS.values()]


def named(settings: Settings) -> dict[str, object]:
    return {exercise.key: exercise.answer for exercise in build_exercises(settings)}


@pytest.mark.parametrize("settings", CASES)
def test_there_are_eight_in_the_order_of_the_concepts(settings: Settings) -> None:
    exercises = build_exercises(settings)
    assert [e.concept for e in exercises] == ["points", "channel", "line", "line", "remap", "budgets", "dice", "stages"]
    assert [e.key for e in exercises] == list(EXERCISES)
    assert {e.key: e.concept for e in exercises} == EXERCISES
    assert len(EXERCISES) == 8
    assert all(e.question and e.hint and e.reason and e.mistakes for e in exercises)


@pytest.mark.parametrize("settings", CASES)
def test_right_answers_and_every_typical_wrong_one_get_their_reply(settings: Settings) -> None:
    for exercise in build_exercises(settings):
        reply = check_answer(exercise, exercise.answer)
        assert reply.right
        assert exercise.reason in reply.sentence
        for mistake in exercise.mistakes:
            wrong = check_answer(exercise, mistake.value)
            assert not wrong.right
            assert wrong.sentence == mistake.reply
        if isinstance(exercise.answer, float):
            assert check_answer(exercise, exercise.answer * 1.004).right
            assert exercise.hint in check_answer(exercise, 12345.0).sentence


def test_answers_are_those_of_another_computation() -> None:
    settings = Settings(point_epsilon=0.4, first_point=2, second_point=5, total=4.0, p=math.inf, first_faces=4,
                        second_faces=4)  # fmt: skip
    answers = named(settings)
    assert answers["twice"] == pytest.approx(math.exp(0.4 * 6))
    assert answers["entry"] == pytest.approx(min(0.25 * math.e, 0.1 * math.e**2, 1.0))
    # Constant 4 of 1..7: (3 + 2 + 1 + 0 + 1 + 2 + 3) / 7.
    assert answers["nothing"] == pytest.approx(12 / 7)
    assert answers["free"] == 0.5
    assert answers["share"] == pytest.approx(1.0)
    assert answers["together"] == pytest.approx(math.log(5))
    problem = line_problem(0.0, 0.0)
    gap = (
        build_channel("line noise", problem, 0.5, remap="task").expected_loss
        - build_channel("OPT", Problem(problem.distance, problem.prior, problem.loss), 0.5).expected_loss
    )
    assert (answers["wins"] == "Both lose the same") == (abs(gap) < 1e-5)
    assert str(answers["stage"]).startswith("OPT") == (compare_line(0.5, 0.0, 1.0).score <= 0.2)


@pytest.mark.parametrize(
    ("key", "change"),
    [
        ("twice", {"point_epsilon": 0.7}),
        ("twice", {"second_point": 8}),
        ("entry", {"channel_epsilon": 0.6}),
        ("entry", {"metric": "nominal"}),
        ("free", {"line_epsilon": 1.1}),
        ("share", {"p": 1.0}),
        ("share", {"total": 5.0}),
        ("together", {"first_faces": 4}),
    ],
)
def test_answers_move_with_the_settings(key: str, change: dict[str, float]) -> None:
    before, after = Settings(), dataclasses.replace(Settings(), **change)
    assert named(before)[key] != named(after)[key]
    asked = {e.key: e.question for e in build_exercises(after)}
    assert asked[key] != {e.key: e.question for e in build_exercises(before)}[key]


def test_the_worksheet_is_self_contained_and_holds_questions_room_and_answers() -> None:
    settings = PRESETS["broken"].settings
    sheet = write_worksheet(settings)
    asked, answered = sheet.split('<section class="answers">')
    for exercise in build_exercises(settings):
        assert html.escape(exercise.question) in asked
        assert html.escape(exercise.reason) in answered
        assert html.escape(exercise.reason) not in asked
        assert html.escape(exercise.spoken) in answered
    assert asked.count('class="room"') == 8
    assert "break-before:page" in sheet
    assert not re.search(r"https?://|<script|<link|<img|url\(", sheet)
    assert write_worksheet(PRESETS["private"].settings) != sheet


@pytest.mark.parametrize(("value", "words"), [(0.0, "0"), (0.5, "0.5"), (403.43, "403"), (1e-7, "1 × 10^−7")])
def test_numbers_as_words(value: float, words: str) -> None:
    assert say(value) == words
