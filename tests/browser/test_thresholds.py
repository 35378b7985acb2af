"""Thresholds dragged on the real pages: committed once, shown everywhere, and no figure is mounted anew."""

import io
import json
import time
from typing import Any
from urllib.parse import parse_qs, quote, urlparse

import numpy as np
import pytest
from PIL import Image

from core.plots.palette import DPN, OPT
from tests.browser.conftest import Session, idle
from tests.browser.test_figure import drag, fills, grab, handle, mark, marked, rgb, value

DIM, DPN_THRESHOLD, EPSILON = "Largest domain (tau_dim)", "Score threshold (tau_dpn)", "Total privacy budget (epsilon)"

LEFT_OUT = [{"column": column, "include": False} for column in range(14) if column not in (0, 1, 6, 9)]
SMALL = f"?tau_group=0.3&columns={quote(json.dumps(LEFT_OUT))}"
"""Four attributes of Heart, each a group of its own, so that every design takes a moment only."""


def in_link(app: Session, name: str) -> float:
    return float(parse_qs(urlparse(app.page.url).query)[name][0])


def field(app: Session, key: str) -> float:
    return float(app.number(key).input_value())


@pytest.fixture
def no_refit(app: Session) -> Session:
    """Return the app at a width where nothing has to scroll sideways."""
    app.page.set_viewport_size({"width": 1280, "height": 1000})
    return app


def test_both_thresholds_of_the_choice_are_dragged_on_the_chart(no_refit: Session) -> None:
    app, page = no_refit.open(f"/mechanisms{SMALL}"), no_refit.page
    mark(page)
    drawn = marked(page)
    before = fills(page, "mechanisms", "groups")
    # While it is dragged the points change side in the browser alone.
    x, y = grab(page, DPN_THRESHOLD)
    page.mouse.move(x, y - 190, steps=10)
    moved = value(page, DPN_THRESHOLD)
    shown = fills(page, "mechanisms", "groups")
    assert moved > 0.5
    assert shown != before
    assert set(shown) <= {rgb(OPT), rgb(DPN)}
    assert field(app, "number_tau_dpn") < 0.5
    page.mouse.up()
    app.idle()
    assert value(page, DPN_THRESHOLD) == moved
    assert field(app, "number_tau_dpn") == pytest.approx(moved)
    assert in_link(app, "tau_dpn") == pytest.approx(moved)
    assert fills(page, "mechanisms", "groups") == shown
    drag(page, DIM, -250, 0)
    page.wait_for_url("**tau_dim=*")
    app.idle()
    smaller = value(page, DIM)
    assert smaller < 100
    assert field(app, "number_tau_dim") == in_link(app, "tau_dim") == smaller
    assert value(page, DPN_THRESHOLD) == moved
    assert marked(page) == drawn, "a chart was mounted anew"


@pytest.mark.parametrize(
    ("path", "label", "dx", "dy"),
    [
        ("/dependencies?data=adult", "Grouping threshold", -40, 0),
        ("/dependencies?data=adult", "Grouping threshold", 100, 0),
        ("/mechanisms?data=adult", DPN_THRESHOLD, 0, 40),
        ("/mechanisms?data=adult", DPN_THRESHOLD, 0, 75),  # the choice of several groups changes
        ("/mechanisms?data=adult", DIM, -60, 0),
        ("/mechanisms?data=adult", DIM, 55, 0),  # beyond the largest group
    ],
)
def test_what_a_drag_shows_is_the_answer(no_refit: Session, path: str, label: str, dx: int, dy: int) -> None:
    app, page = no_refit.open(path), no_refit.page
    idle(page, quiet=1.5)
    shown = page.locator(".figure[data-ready]").first
    draws = shown.get_attribute("data-ready")
    at_first = picture_of(shown)
    x, y = grab(page, label)
    page.mouse.move(x + dx, y + dy, steps=8)
    page.wait_for_timeout(400)  # what fades has faded
    foretold = picture_of(shown)
    assert differing(at_first, foretold) > 200
    page.mouse.up()
    app.idle()
    end = time.monotonic() + 10
    while differing(foretold, picture_of(shown)) >= 30 and time.monotonic() < end:
        page.wait_for_timeout(200)
    assert differing(foretold, picture_of(shown)) < 30
    assert shown.get_attribute("data-ready") == draws, "the browser drew anew what it showed already"


HOLD = """() => {
  const other = window.setTimeout;
  window.held = [];
  window.setTimeout = (call, wait, ...rest) => wait === 300 ? (window.held.push(call), 0) : other(call, wait, ...rest);
  window.release = () => { window.setTimeout = other; window.held.splice(0).forEach((call) => call()); };
}"""
"""Hold what the figure puts off until nobody drags."""


def test_what_is_moved_in_place_is_what_is_drawn_later(no_refit: Session) -> None:
    app, page = no_refit.open(f"/budget{SMALL}"), no_refit.page
    shown = page.locator(".figure[data-ready]").first
    draws = int(shown.get_attribute("data-ready") or 0)
    at_first = picture_of(shown)
    page.evaluate(HOLD)
    drag(page, EPSILON, 90, 0)
    page.locator(".plot.moved").wait_for()
    for _ in range(2):  # the refined answer comes after the first one
        page.wait_for_timeout(1000)
        page.wait_for_function("document.querySelector('.stApp').dataset.testScriptState === 'notRunning'")
    moved = picture_of(shown)
    assert int(shown.get_attribute("data-ready") or 0) == draws, "the drawing library drew"
    hidden = "getComputedStyle(document.querySelector('.plot.moved .nsewdrag')).pointerEvents"
    assert page.evaluate(hidden) == "none", "hovering would show numbers of before"
    page.evaluate("window.release()")
    app.idle()
    assert int(shown.get_attribute("data-ready") or 0) == draws, "no answer of the server drew"
    assert page.locator(".plot.moved").count() == 0
    assert page.evaluate(
        "document.querySelector('.figure .plot')._fullData.find((t) => t.uid === 'total').x[0]"
    ) == value(page, EPSILON)
    drawn = picture_of(shown)
    assert differing(at_first, moved) > 300
    assert differing(moved, drawn) < 10


def test_a_label_steps_aside_for_the_score_threshold(no_refit: Session) -> None:
    app, page = no_refit.open(f"/mechanisms{SMALL}&tau_dpn=0.9"), no_refit.page
    app.idle()
    x, y = grab(page, DPN_THRESHOLD)
    struck, stepped = set(), set()
    for step in range(45):
        page.mouse.move(x, y + 6 * step)
        page.wait_for_timeout(140)  # the step is a transition
        for name, at, rule, shift in page.evaluate(LABELS):
            if abs(at - rule) < 4:
                struck.add(name)
            if shift:
                stepped.add(name)
    page.mouse.up()
    assert stepped
    assert not struck


LABELS = """() => {
  const rules = [...document.querySelectorAll('.figure .rule')].map((rule) => rule.getBoundingClientRect());
  const rule = rules.find((box) => box.width > box.height);
  const over = [];
  for (const note of document.querySelectorAll('.figure .annotation')) {
    const word = note.querySelector('.annotation-text'), box = word.getBoundingClientRect();
    const shift = new DOMMatrix(getComputedStyle(note).transform).f;
    if (box.right < rule.right) over.push([word.textContent, box.y + box.height / 2, rule.y, shift]);
  }
  return over;
}"""
"""Text, middle and step aside of every label over the rule, and where the rule is."""


def picture_of(figure: Any) -> Image.Image:
    return Image.open(io.BytesIO(figure.screenshot())).convert("RGB")


def differing(one: Image.Image, other: Image.Image) -> int:
    """Return the number of pixels that a person would see change."""
    change = np.abs(np.asarray(one, dtype=int) - np.asarray(other, dtype=int)).max(axis=2)
    return int((change > 24).sum())


def test_the_total_is_dragged_on_the_budget_page_and_by_keys(no_refit: Session) -> None:
    app, page = no_refit.open(f"/budget{SMALL}"), no_refit.page
    mark(page)
    drawn = marked(page)
    drag(page, EPSILON, 60, 0)
    app.idle()
    dragged = value(page, EPSILON)
    assert dragged > 5
    assert dragged % 0.25 == 0
    assert field(app, "number_epsilon") == field(app, "slider_epsilon") == in_link(app, "epsilon") == dragged
    handle(page, EPSILON).focus()
    page.keyboard.press("ArrowLeft")
    page.wait_for_url(f"**epsilon={dragged - 0.25:g}*")
    app.idle()
    assert value(page, EPSILON) == field(app, "number_epsilon") == in_link(app, "epsilon") == dragged - 0.25
    # The numeric field moves the handle.
    app.number("number_epsilon").fill("3")
    app.number("number_epsilon").press("Enter")
    page.wait_for_url("**epsilon=3*")
    app.idle()
    assert value(page, EPSILON) == 3
    assert marked(page) == drawn, "a chart was mounted anew"


SHARES = """() => {
  const plot = document.querySelector('.st-key-budget .plot, .figure .plot');
  const node = (uid) => [...plot.querySelectorAll('g.trace')].find((g) => g.__data__?.[0]?.trace?.uid === uid);
  const right = (e) => e.getBoundingClientRect().right;
  return {
    bars: [...node('bars').querySelectorAll('.point > path')].map(right),
    ends: [...node('shares').querySelectorAll('path.point')].map((e) => right(e) - e.getBoundingClientRect().width / 2),
    told: [...node('budgets').querySelectorAll('.textpoint text')]
      .map((e) => (e.checkVisibility() ? Number(e.textContent) : -1)),
  };
}"""


def test_bars_and_budgets_follow_the_total_while_it_is_dragged(no_refit: Session) -> None:
    page = no_refit.open(f"/budget{SMALL}&p=inf").page
    before = page.evaluate(SHARES)
    # The server's own words stand where the handle rests: it rounds ties otherwise than the browser.
    assert (
        page.evaluate(
            "() => { const { _fullData } = document.querySelector('.figure .plot');"
            " return _fullData.find((t) => t.uid === 'budgets').text.map(Number); }"
        )
        == before["told"]
    )
    assert sum(before["told"]) == pytest.approx(value(page, EPSILON), abs=0.02)
    x, y = grab(page, EPSILON)
    page.mouse.move(x - 75, y, steps=10)
    during = page.evaluate(SHARES)
    # Between two totals of the track shares are read off linearly, so they add up; nothing was asked of the server.
    assert sum(during["told"]) == pytest.approx(value(page, EPSILON), abs=0.02)
    assert during["told"] != before["told"]
    assert during["bars"] == pytest.approx(during["ends"], abs=1.5)
    page.mouse.up()
    no_refit.idle()
    after = page.evaluate(SHARES)
    assert after["bars"] == pytest.approx(after["ends"], abs=1.5)
    assert sum(after["told"]) == pytest.approx(value(page, EPSILON), abs=0.02)
