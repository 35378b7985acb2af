"""The frame of the app in a real browser: a deep link on a fresh server, the menu, and a restored scenario."""

from pathlib import Path
from typing import Any

from pages._ui import shell
from tests.browser.conftest import ROOT, running

MENU = "[data-testid=stSidebarNav]"


def test_a_deep_link_to_a_fresh_server_opens_the_whole_app(browser: Any, tmp_path: Path) -> None:
    entries = [entry for section in shell.listed().values() for entry in section]
    name, title = entries[-1]
    with running(ROOT / "app.py", tmp_path / "log.txt") as url:
        context = browser.new_context(viewport={"width": 1280, "height": 800})
        context.set_default_timeout(90_000)
        page = context.new_page()
        errors: list[str] = []
        outside: list[str] = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("request", lambda request: outside.append(request.url))
        page.goto(f"{url}/{name}?data=wine&epsilon=2.5")
        page.locator(f"{MENU} a").first.wait_for()
        page.locator(".st-key-slider_epsilon input").wait_for(state="attached")
        assert page.locator(f"{MENU} a").all_inner_texts() == [shown for _, shown in entries]
        assert page.locator(f"{MENU} a[aria-current=page]").inner_text() == title
        assert page.get_by_role("dialog").count() == 0
        assert page.locator(".st-key-slider_epsilon input").input_value() == "2.5"
        assert "epsilon=2.5" in page.url
        sidebar = page.locator("[data-testid=stSidebar]").bounding_box()
        assert sidebar["width"] == shell.SIDEBAR_WIDTH
        assert not [address for address in outside if not address.startswith((url, "data:", "blob:"))]
        assert not errors
        context.close()
