"""The Data page in a real browser: a real upload, the schema edited in place, a bin edge dragged."""

from typing import Any

import pytest

from tests.browser.conftest import Session

CSV = b"age;town;score\n20;Rome;1,5\n30;Oslo;2,25\n40;Rome;3,5\n60;;2,5\n25;<b>R&D</b>;9,5\n"


@pytest.fixture
def page(app: Session) -> Any:
    # Without optimisation the design behind the live strip is quick; the picture is the same.
    page = app.open("/?rule=DPN").page
    page.locator(".st-key-attributes .figure[data-ready]").wait_for(timeout=60_000)
    app.idle()
    return page


def means(page: Any) -> str:
    return page.locator(".means").first.inner_text()


def test_an_upload_replaces_the_sample_and_stays_in_its_session(page: Any, app: Session) -> None:
    page.locator(".st-key-upload input[type=file]").set_input_files(
        {"name": "people.csv", "mimeType": "text/csv", "buffer": CSV}
    )
    page.get_by_text("5 records", exact=True).wait_for()
    app.idle()
    assert "5 records with 3 attributes" in means(page)
    assert page.locator(".st-key-attributes .annotation-text").first.is_visible()
    assert "R&D" not in page.url
    page.get_by_role("tab", name="Source").click()
    assert page.locator(".st-key-choice_format_separator input").input_value() == "semicolon ;"


def test_a_click_on_a_histogram_shows_the_column_and_its_edges_are_dragged(page: Any, app: Session) -> None:
    box = page.locator(".st-key-attributes .figure").bounding_box()
    page.mouse.move(box["x"] + 90, box["y"] + 110)
    page.mouse.click(box["x"] + 95, box["y"] + 125)
    handle = page.locator('.st-key-attribute .handle[aria-label="Bin edge 1"]').last
    handle.wait_for()
    assert float(handle.get_attribute("aria-valuenow")) == pytest.approx(38.6)
    flag = handle.locator(".flag").bounding_box()
    x, y = flag["x"] + flag["width"] / 2, flag["y"] + flag["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 60, y, steps=6)
    page.mouse.up()
    page.wait_for_url("**columns=*")
    app.idle()
    shown = float(handle.get_attribute("aria-valuenow"))
    assert shown > 40
    typed = page.locator(".st-key-text_edges_0 input").input_value()
    assert [float(e) for e in typed.split()] == pytest.approx([29, shown, 48.2, 57.8, 67.4, 77])
    assert "5 bins" in means(page)


def test_the_schema_is_edited_in_place_and_undone(page: Any, app: Session) -> None:
    grid = page.locator('[data-testid="stDataFrame"]').first
    grid.scroll_into_view_if_needed()
    box = grid.bounding_box()
    row, include = 35, 152 + 38
    page.mouse.click(box["x"] + include, box["y"] + row * 1.5)
    page.get_by_text("12 attributes").first.wait_for()
    app.idle()
    assert "Left out: age, narrowing." in means(page)
    page.get_by_role("button", name="Undo").click()
    page.get_by_text("13 attributes").first.wait_for()
    app.idle()
    assert "Left out: narrowing." in means(page)
