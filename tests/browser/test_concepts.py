"""The Concepts page in a real browser: entries dragged, keys of the presenter view, the worksheet."""

from pathlib import Path
from typing import Any

from core.plots.concepts import VALUES
from core.plots.palette import BAD
from tests.browser.conftest import Session
from tests.browser.test_figure import drag, fills, grab, handle, mark, marked, rgb, value

RED = rgb(BAD)


def go(app: Session, concept: str) -> None:
    app.page.locator(".st-key-segments_concept").get_by_text(concept, exact=True).click()
    app.idle()


def label(true: str, released: str) -> str:
    return f"Probability of releasing {released} when the truth is {true} (percent)"


def colour(page: Any, true: str, released: str) -> str:
    return fills(page, "concept_channel", f"bar {true} to {released}")[0]


def until(page: Any, true: str, released: str, wanted: float) -> None:
    """Wait until the server's answer has brought an entry to a value; a busy machine may look idle before."""
    page.wait_for_function(
        """([name, wanted]) => Math.abs(
          document.querySelector(`.handle[aria-label='${name}']`).ariaValueNow - wanted) < 1e-6""",
        arg=[label(true, released), wanted],
    )


def test_an_entry_is_dragged_until_its_constraint_turns_red_and_back(app: Session) -> None:
    app.page.set_viewport_size({"width": 1280, "height": 1000})
    page = app.open("/concepts").page
    go(app, "A channel")
    mark(page)
    drawn = marked(page)
    assert colour(page, "A", "A") == rgb(VALUES[0])
    x, y = grab(page, label("A", "A"))
    page.mouse.move(x, y - 70, steps=8)
    moved = value(page, label("A", "A"))
    assert moved > 75
    # Red while it is dragged, in the browser; once released the other bar of the pair is red too.
    assert colour(page, "A", "A") == RED
    page.mouse.up()
    until(page, "A", "B", (100 - moved) * 0.75)
    app.idle()
    assert value(page, label("A", "A")) == moved
    assert colour(page, "A", "A") == colour(page, "B", "A") == RED
    assert colour(page, "C", "B") == rgb(VALUES[2])
    assert "broken. Worst:" in page.locator(".means").inner_text()
    # The rest of the row shares what is left in proportion: 30 to 10.
    rest = [value(page, label("A", other)) for other in "BC"]
    assert abs(sum(rest) + moved - 100) < 1e-6
    assert abs(rest[0] / rest[1] - 3) < 1e-6
    # The field shows the dragged entry, and brings it back; keys move it by one percent.
    field = app.number("number_concepts_entry_value")
    assert abs(float(field.input_value()) - moved) < 0.06
    # Not the value from before the drag: right after it, that would count as an echo.
    field.fill("59")
    field.press("Enter")
    until(page, "A", "B", 41 * 0.75)
    app.idle()
    assert colour(page, "A", "A") == rgb(VALUES[0])
    handle(page, label("A", "A")).focus()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    until(page, "A", "B", 38 * 0.75)
    app.idle()
    assert value(page, label("A", "A")) == 62
    assert marked(page) == drawn, "the figure was mounted anew"


def test_points_are_dragged_and_never_stand_on_one_place(app: Session) -> None:
    app.page.set_viewport_size({"width": 1280, "height": 1000})
    page = app.open("/concepts").page
    before = page.locator(".means").inner_text()
    drag(page, "Place of B", 190, 0)
    app.idle()
    assert value(page, "Place of B") == 8
    assert float(app.number("number_concepts_second_point").input_value()) == 8
    assert page.locator(".means").inner_text() != before
    drag(page, "Place of B", -315, 0)
    app.idle()
    assert value(page, "Place of B") == 4
    assert value(page, "Place of A") == 3


def test_the_presenter_view_is_stepped_by_keys_and_the_worksheet_comes_down(app: Session, tmp_path: Path) -> None:
    page = app.open("/concepts").page
    page.get_by_role("button", name="For the class").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Worksheet to print").click()
    file = tmp_path / "sheet.html"
    download.value.save_as(file)
    assert "Metric differential privacy by hand" in file.read_text(encoding="utf-8")
    page.get_by_role("button", name="Presenter view").click()
    app.idle()
    assert not page.locator('[data-testid="stSidebar"]').is_visible()
    question = page.locator("h1.question")
    first = question.inner_text()
    page.keyboard.press("n")
    page.wait_for_function("first => document.querySelector('h1.question').innerText !== first", arg=first)
    app.idle()
    # A handle keeps its own keys; letters step also while one has the focus.
    handle(page, label("A", "A")).focus()
    page.keyboard.press("p")
    page.wait_for_function("first => document.querySelector('h1.question').innerText === first", arg=first)
    app.idle()
    page.keyboard.press("Escape")
    app.idle()
    assert page.locator('[data-testid="stSidebar"]').is_visible()
