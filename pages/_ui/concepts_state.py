"""What the Concepts page remembers: one record of settings, which concept is shown, what was answered."""

import dataclasses
from collections.abc import Callable
from typing import Any, Final

from core.concepts import PRESETS, Exercise, Settings, check_answer
from core.errors import InputError
from pages._ui import inputs, state

CONCEPTS: Final = {
    "points": "Two points",
    "channel": "A channel",
    "line": "A line",
    "remap": "Remapping",
    "budgets": "Budgets",
    "dice": "Two dice",
    "stages": "Stages",
}
"""Concepts in their order, with their names in the stepper."""
_SETTINGS, _PRESET, _CONCEPT, _ANSWERS = "concepts_settings", "concepts_preset", "concept", "concepts_answers"
PRESENTING: Final = "concepts_presenting"


def settings() -> Settings:
    """Return what everything is set to."""
    known: Settings = state.option(_SETTINGS, PRESETS["start"].settings)
    return known


def change(**changes: Any) -> None:
    """Change settings; a value out of range changes nothing and becomes a sentence on the page."""
    try:
        state.set_option(_SETTINGS, dataclasses.replace(settings(), **changes))
    except InputError as error:
        state.tell(str(error))


def cell(name: str, write: Callable[[Any], None] | None = None) -> inputs.Cell:
    """Return the cell of one setting."""
    return inputs.Cell(f"concepts_{name}", getattr(settings(), name), write or (lambda value: change(**{name: value})))


def preset() -> str:
    """Return the key of the preset that was chosen last."""
    return str(state.option(_PRESET, "start"))


def use_preset(key: str) -> None:
    """Set everything as a preset says and forget all answers."""
    state.set_option(_PRESET, key)
    state.set_option(_SETTINGS, PRESETS[key].settings)
    state.set_option(_ANSWERS, {})


def concept() -> str:
    """Return the concept that is shown."""
    return str(state.option(_CONCEPT, next(iter(CONCEPTS))))


def show(key: str) -> None:
    """Show a concept."""
    state.set_option(_CONCEPT, key)


def step(by: int) -> None:
    """Go to a concept before or after the one that is shown, if there is one."""
    keys = list(CONCEPTS)
    show(keys[min(max(keys.index(concept()) + by, 0), len(keys) - 1)])


def presenting() -> bool:
    """Return whether the page is shown in front of a class."""
    return bool(state.option(PRESENTING, False))


def answers() -> dict[str, tuple[str, float | str, bool]]:
    """Return, by exercise, the question as it was, what was answered, and whether it was right."""
    return dict(state.option(_ANSWERS, {}))


def answer(exercise: Exercise, given: float | str) -> None:
    """Keep an answer with the question that it answers, since moving a control asks another one."""
    right = check_answer(exercise, given).right
    state.set_option(_ANSWERS, {**answers(), exercise.key: (exercise.question, given, right)})
