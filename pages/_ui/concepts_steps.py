"""The seven concepts: question, controls, and what is shown for the settings as they stand."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from core.concepts import compare_line, compare_points, remap_line, throw_dice, weigh_budgets
from core.plots.concepts import HEADLINES, HEIGHT
from core.plots.concepts_budgets import explain_budgets, headline_budgets, plot_budgets
from core.plots.concepts_dice import explain_dice, headline_dice, plot_dice
from core.plots.concepts_line import (
    explain_line,
    explain_remapping,
    headline_line,
    headline_remapping,
    plot_line,
    plot_remapping,
)
from core.plots.concepts_points import explain_points, headline_points, plot_points
from core.plots.concepts_stages import explain_stages, headline_stages, plot_stages
from core.plots.template import Picture
from pages._ui import cache, concepts_controls, outputs, state
from pages._ui.concepts_channel import channel_controls, drag_channel, show_channel
from pages._ui.concepts_state import change, settings


@dataclass(frozen=True)
class Shown:
    """What a concept shows now.

    Parameters
    ----------
    picture : Picture
        The one figure.
    sentence : str
        What it means.
    headline : tuple of (str, str, str)
        The strip.
    """

    picture: Picture
    sentence: str
    headline: HEADLINES


@dataclass(frozen=True)
class Step:
    """One concept.

    Parameters
    ----------
    question, lede : str
        Head of the page.
    controls : callable
        Draws its controls.
    show : callable
        Computes what is shown.
    drag : callable or None
        Takes what the handles report.
    """

    question: str
    lede: str
    controls: Callable[[], None]
    show: Callable[[], Shown]
    drag: Callable[[dict[str, float]], None] | None = None


def _points() -> Shown:
    points = compare_points(settings())
    return Shown(plot_points(points), explain_points(points), headline_points(points))


def drag_points(values: dict[str, float]) -> None:
    """Take the places of A and B; a point that is dragged onto the other one stops beside it."""
    now = settings()
    first, second = int(values.get("A", now.first_point)), int(values.get("B", now.second_point))
    if first == second and first != now.first_point:
        first += 1 if now.first_point > second else -1
    elif first == second:
        second += 1 if now.second_point > first else -1
    change(first_point=first, second_point=second)


def _line() -> Shown:
    now = settings()
    line = compare_line(now.line_epsilon, now.peak, now.mismatch)
    return Shown(plot_line(line), explain_line(line), headline_line(line))


def _remap() -> Shown:
    now = settings()
    remapping = remap_line(now.remapped, now.line_epsilon, now.peak, now.mismatch)
    return Shown(plot_remapping(remapping), explain_remapping(remapping), headline_remapping(remapping))


def _budgets() -> Shown:
    now = settings()
    pair = weigh_budgets(now.first_budget, now.second_budget, total=now.total, p=now.p)
    return Shown(plot_budgets(pair), explain_budgets(pair), headline_budgets(pair))


def drag_budgets(values: dict[str, float]) -> None:
    """Take the two budgets from their handles."""
    now = settings()
    change(first_budget=values.get("first", now.first_budget), second_budget=values.get("second", now.second_budget))


def _dice() -> Shown:
    dice = throw_dice(settings().first_faces, settings().second_faces)
    return Shown(plot_dice(dice), explain_dice(dice), headline_dice(dice))


def _channel() -> Shown:
    return Shown(*show_channel())


def _stages() -> Shown:
    token = f"concepts {state.table().digest} {state.scenario().digest()}"
    with outputs.working("Designing the mechanism", token=token, height=HEIGHT) as progress:
        design = cache.stages(progress).design
    return Shown(plot_stages(design), explain_stages(design), headline_stages(design))


STEPS: Final[dict[str, Step]] = {
    "points": Step(
        "How much may one output give away?",
        "Drag A and B. The nearer two true values are, the less an output may tell them apart.",
        concepts_controls.points, _points, drag_points,
    ),
    "channel": Step(
        "When does a table of probabilities keep the promise?",
        "Drag a bar's top. Bars of one output must stay within a factor e^(epsilon × distance) of each other.",
        channel_controls, _channel, drag_channel,
    ),
    "line": Step(
        "When is an optimal channel worth it?",
        "Seven states on a line. Turn the prior and the loss until noise that follows distance no longer fits.",
        concepts_controls.line, _line,
    ),
    "remap": Step(
        "Why is remapping free?",
        "Replace every output by the best guess at the truth. Nobody looks at the truth again.",
        concepts_controls.remap, _remap,
    ),
    "budgets": Step(
        "How do budgets of groups add up?",
        "Drag the two budgets. Which pairs fit a total depends on how distances of groups combine.",
        concepts_controls.budgets, _budgets, drag_budgets,
    ),
    "dice": Step(
        "Can two recipients get different answers safely?",
        "A yes or no, told with one die to the first and with a second die to the next.",
        concepts_controls.dice, _dice,
    ),
    "stages": Step(
        "How does a whole table get its mechanism?",
        "Group, measure, choose, spend: the four stages on the table that is loaded now.",
        concepts_controls.stages, _stages,
    ),
}  # fmt: skip
"""Concepts by key."""


def metrics(headline: HEADLINES) -> tuple[outputs.Metric, ...]:
    """Return the strip."""
    return tuple(outputs.Metric(*entry) for entry in headline)
