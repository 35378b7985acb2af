"""The report in a real browser without a network: it draws, follows the theme, asks for nothing, and prints."""

import re
from pathlib import Path
from typing import Any

import pytest

from core.plots.report import draw_exhibits
from core.release import plan_release
from core.report import DEPTHS, Origin, build_report, render
from tests.core.plots.small_case import small_stages

READY = "document.documentElement.dataset.ready === '1'"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    stages = small_stages(rule="DPN", refine=False)
    report = build_report(stages, plan_release(stages), draw_exhibits(stages), origin=Origin(None, "2000-01-01"))
    folder = tmp_path_factory.mktemp("report")
    for depth in DEPTHS:
        (folder / f"{depth}.html").write_bytes(render(report, depth))
    return {depth: folder / f"{depth}.html" for depth in DEPTHS}


def opened(browser: Any, path: Path, errors: list[str], **settings: Any) -> Any:
    """Return a page that looks at a file without a network; what it asks for and what fails is noted."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, **settings)
    context.set_offline(True)
    page = context.new_page()
    page.on("request", lambda r: None if r.url.startswith(("file:", "data:", "blob:")) else errors.append(r.url))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.goto(path.as_uri())
    return page


def count_pages(pdf: bytes) -> int:
    return len(re.findall(rb"/Type\s*/Page\b", pdf))


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_figure_is_drawn_in_the_theme(browser: Any, files: dict[str, Path], theme: str) -> None:
    errors: list[str] = []
    page = opened(browser, files["full"], errors, color_scheme=theme)
    page.wait_for_function(READY, timeout=60_000)
    assert page.locator("figure .main-svg").count() >= 4
    colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert colour == ("rgb(16, 22, 27)" if theme == "dark" else "rgb(255, 255, 255)")
    assert page.locator("figure .main-svg").first.evaluate("e => e.style.background") == colour
    widths = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert widths[0] <= widths[1]
    page.context.close()
    assert not errors


def test_it_prints_light_drawings(browser: Any, files: dict[str, Path]) -> None:
    errors: list[str] = []
    page = opened(browser, files["full"], errors, color_scheme="dark")
    page.wait_for_function(READY, timeout=60_000)
    page.emulate_media(media="print")
    assert not page.locator(".screen").first.is_visible()
    images = page.locator("img.print")
    assert all(images.nth(i).evaluate("e => e.complete && e.naturalWidth > 0") for i in range(images.count()))
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert count_pages(page.pdf(prefer_css_page_size=True)) >= 4
    page.context.close()
    assert not errors


def test_one_page_is_one_page(browser: Any, files: dict[str, Path]) -> None:
    errors: list[str] = []
    page = opened(browser, files["page"], errors)
    assert count_pages(page.pdf(prefer_css_page_size=True)) == 1
    page.context.close()
    assert not errors
