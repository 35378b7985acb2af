"""The pictures of the concepts: what is drawn, and sentences whose every number is the result's and moves with it."""

import dataclasses
import math
import re
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from core.concepts import (
    PRESETS,
    Settings,
    check_channel,
    compare_line,
    compare_points,
    remap_line,
    set_entry,
    throw_dice,
    weigh_budgets,
)
from core.concepts.dice import epsilon_of
from core.plots.concepts import ENLARGED, HEADLINES, enlarge
from core.plots.concepts_budgets import explain_budgets, headline_budgets, plot_budgets
from core.plots.concepts_channel import (
    explain_channel,
    handle_name,
    headline_channel,
    plot_channel,
    read_handles,
)
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
from core.plots.palette import BAD
from core.plots.template import Picture, percent, sig
from tests.core.plots.small_case import small_stages

NUMBER = re.compile(r"−?\d[\d,]*(?:\.\d+)?(?: %)?|∞")
View = tuple[Picture, str, HEADLINES]


def points(s: Settings) -> View:
    result = compare_points(s)
    return plot_points(result), explain_points(result), headline_points(result)


def channel(s: Settings) -> View:
    result = check_channel(s)
    return plot_channel(result), explain_channel(result), headline_channel(result)


def line(s: Settings) -> View:
    result = compare_line(s.line_epsilon, s.peak, s.mismatch)
    return plot_line(result), explain_line(result), headline_line(result)


def remapping(s: Settings) -> View:
    result = remap_line(s.remapped, s.line_epsilon, s.peak, s.mismatch)
    return plot_remapping(result), explain_remapping(result), headline_remapping(result)


def budgets(s: Settings) -> View:
    result = weigh_budgets(s.first_budget, s.second_budget, total=s.total, p=s.p)
    return plot_budgets(result), explain_budgets(result), headline_budgets(result)


def dice(s: Settings) -> View:
    result = throw_dice(s.first_faces, s.second_faces)
    return plot_dice(result), explain_dice(result), headline_dice(result)


VIEWS: dict[str, Callable[[Settings], View]] = {
    "points": points, "channel": channel, "line": line, "remap": remapping, "budgets": budgets, "dice": dice,
}  # fmt: skip


def known(name: str, s: Settings) -> set[str]:
    """Return every number of the result, as a sentence would write it, computed here from the result alone."""
    values: Iterable[float]
    extra: set[str] = set()
    if name == "points":
        p = compare_points(s)
        values = (p.distance, s.point_epsilon, p.bound, p.worst_ratio, p.telling)
        extra = {percent(p.pair_epsilon / s.point_epsilon), str(p.telling), str(p.distance)}
    elif name == "channel":
        c = check_channel(s)
        worst = [c.worst.ratio, c.worst.allowed] if c.worst else []
        values, extra = (s.channel_epsilon, c.certified_epsilon, *worst), {str(len(c.violations))}
    elif name == "line":
        r = compare_line(s.line_epsilon, s.peak, s.mismatch)
        values = (*(r.loss(n) for n in r.channels), r.zero_information, r.score)
        extra = {percent(r.saving)}
    elif name == "remap":
        m = remap_line(s.remapped, s.line_epsilon, s.peak, s.mismatch)
        before, after = m.before, m.after
        values = (before.expected_loss, after.expected_loss, before.certified_epsilon, after.certified_epsilon)
        extra = {str(m.moved), "7", percent(1 - after.expected_loss / before.expected_loss)}
    elif name == "budgets":
        b = weigh_budgets(s.first_budget, s.second_budget, total=s.total, p=s.p)
        values = (b.first, b.second, b.total, b.needed[b.p], b.left, b.first - b.total)
        extra = {f"{b.p:g}", "∞"}
    else:
        d = throw_dice(s.first_faces, s.second_faces)
        values = map(epsilon_of, (d.first_odds, d.second_odds, d.chained_odds, d.apart_odds))
        extra = {"1", "2"}
    return {sig(v) for v in values} | extra


MOVES: list[tuple[str, dict[str, Any]]] = [
    ("points", {"point_epsilon": 0.8}), ("points", {"second_point": 9}), ("points", {"noise": "EM"}),
    ("points", {"noise": "window"}), ("channel", {"channel_epsilon": 0.7}),
    ("channel", {"rows": set_entry(Settings().rows, (0, 0), 0.9)}),
    ("channel", {"rows": PRESETS["broken"].settings.rows}),
    ("line", {"line_epsilon": 1.2}), ("line", {"peak": 0.5}), ("line", {"mismatch": 1.0}),
    ("remap", {"remapped": "EM"}), ("remap", {"peak": 0.3}), ("remap", {"line_epsilon": 2.0}),
    ("budgets", {"p": 1.0}), ("budgets", {"p": math.inf}), ("budgets", {"first_budget": 4.0}),
    ("budgets", {"total": 2.0}),
    ("dice", {"first_faces": 4}), ("dice", {"second_faces": 4}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "change"), MOVES)
def test_every_number_of_a_sentence_is_the_results_and_changes_with_it(name: str, change: dict[str, Any]) -> None:
    before, after = Settings(), dataclasses.replace(Settings(), **change)
    sentences = []
    for settings in (before, after):
        picture, sentence, _ = VIEWS[name](settings)
        spoken = sentence.replace("e^(", "(")
        found = NUMBER.findall(spoken)
        assert found
        assert set(found) <= known(name, settings), sentence
        assert picture.table is not None
        sentences.append(found)
    assert sentences[0] != sentences[1]


@pytest.mark.parametrize("preset", list(PRESETS))
@pytest.mark.parametrize("name", list(VIEWS))
def test_every_preset_draws_in_both_themes_and_enlarged(name: str, preset: str) -> None:
    picture, sentence, headline = VIEWS[name](PRESETS[preset].settings)
    assert len(headline) == 4
    assert "nan" not in sentence
    assert picture.alt
    for theme in ("light", "dark"):
        assert picture.to_figure(theme).data
    large = enlarge(picture)
    assert large.to_figure().data
    assert large.layout["font"]["size"] == round(ENLARGED * picture.layout["font"]["size"])
    assert large.layout["margin"]["l"] == round(ENLARGED * picture.layout["margin"]["l"])
    assert large.handles == picture.handles
    assert picture.layout["font"]["size"] == 13, "the original is left alone"


def bar(picture: Picture, entry: tuple[int, int]) -> dict[str, Any]:
    return next(t for t in picture.traces if t.get("uid") == f"bar {handle_name(entry)}")


def test_a_broken_pair_is_red_hatched_joined_and_named() -> None:
    settings = dataclasses.replace(Settings(), rows=set_entry(Settings().rows, (0, 0), 0.8))
    check = check_channel(settings)
    assert (0, 0) in check.broken
    picture = plot_channel(check)
    for entry in ((x, y) for x in range(3) for y in range(3)):
        marker = bar(picture, entry)["marker"]
        broken = entry in check.broken
        assert (marker["color"] == BAD) == broken
        assert (marker["pattern"]["shape"] == "/") == broken
    assert len(picture.layout["shapes"]) == len({v.released for v in check.violations})
    notes = [note["text"] for note in picture.layout["annotations"]]
    assert sum("✕" in text and "allowed" in text for text in notes) == len({v.released for v in check.violations})
    calm = plot_channel(check_channel(Settings()))
    assert not calm.layout["shapes"]
    assert not any("✕" in note["text"] for note in calm.layout["annotations"])


def test_nine_handles_have_their_own_axis_and_turn_red_at_the_limit() -> None:
    check = check_channel(Settings())
    picture = plot_channel(check)
    assert len({handle.across for handle in picture.handles}) == 9
    assert all(handle.across in picture.layout for handle in picture.handles)
    values = {handle.name: handle.value for handle in picture.handles}
    assert read_handles(values) == {
        (x, y): pytest.approx(float(check.matrix[x, y])) for x in range(3) for y in range(3)
    }
    for preview in picture.previews:
        low, high = (condition.values[0] for condition in preview.conditions)
        assert low <= values[preview.conditions[0].handle] < high


def test_a_ratio_out_of_the_band_is_a_red_cross() -> None:
    picture, _, _ = points(dataclasses.replace(Settings(), noise="window"))
    marker = next(t for t in picture.traces if t.get("uid") == "ratios")["marker"]
    assert [k for k, symbol in enumerate(marker["symbol"]) if symbol == "x"] == [2, 3, 5, 6]
    calm, _, _ = points(Settings())
    assert set(next(t for t in calm.traces if t.get("uid") == "ratios")["marker"]["symbol"]) == {"circle"}


def test_the_four_stages_tell_the_design() -> None:
    design = small_stages().design
    picture, sentence = plot_stages(design), explain_stages(design)
    attributes, optimised = sum(map(len, design.groups)), sum(choice == "OPT" for choice in design.choices)
    allowed = {str(attributes), str(len(design.groups)), str(optimised), sig(design.scenario.epsilon),
               sig(design.predicted_loss), percent(1 - design.predicted_loss / design.zero_information)}  # fmt: skip
    assert set(NUMBER.findall(sentence)) <= allowed
    assert len(headline_stages(design)) == 4
    assert picture.table is not None
    assert len(picture.table) == len(design.groups)
    assert picture.to_figure("dark").data
