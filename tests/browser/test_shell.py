"""The frame of the app in a real browser: a deep link on a fresh server, the menu, and a restored scenario."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from pages._ui import shell
from tests.browser.conftest import ROOT, Session, running

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


def test_the_first_page_has_an_address_of_its_own_too(session: Callable[..., Session]) -> None:
    person = session()
    person.page.goto(f"{person.url}/data?data=wine&epsilon=3")
    person.page.get_by_role("heading", name="What am I protecting?").wait_for()
    person.idle()
    assert person.page.get_by_role("dialog").count() == 0
    assert person.page.locator(".st-key-slider_epsilon input").input_value() == "3"
    assert person.page.locator(f"{MENU} a[aria-current=page]").inner_text() == "Data"


def test_the_open_tab_is_in_the_address_and_there_on_coming_back(session: Callable[..., Session]) -> None:
    person = session().open("/budget")
    person.page.get_by_role("tab", name="Method").click()
    person.idle()
    person.page.get_by_role("link", name="Concepts", exact=True).click()
    person.idle()
    person.page.get_by_role("link", name="Budget", exact=True).click()
    person.idle()
    assert "tab_budget=method" in person.page.url
    other = session()
    other.page.goto(person.page.url)
    for one in (person, other):
        one.idle()
        assert one.page.get_by_role("tab", name="Method").get_attribute("aria-selected") == "true"
    other.page.get_by_role("tab").first.click()
    other.idle()
    assert "tab_budget" not in other.page.url


def test_back_and_forward_take_changes_back_and_pages_in_turn(session: Callable[..., Session]) -> None:
    person = session().open("/dependencies?data=wine")
    field = person.number("number_tau_group")
    first = field.input_value()
    for value in ("0.3", "0.4"):
        field.fill(value)
        field.press("Enter")
        person.page.wait_for_url(f"**tau_group={value}*")
        person.idle()
    steps = person.page.evaluate("history.length")
    person.page.get_by_role("link", name="Loss", exact=True).click()
    person.page.get_by_role("heading", name="How does perturbing a group hurt the task?").wait_for()
    assert "/losses?data=wine&tau_group=0.4" in person.page.url
    person.idle()
    assert person.page.evaluate("history.length") == steps + 1, "the bare address of the page is a step of its own"

    def step(direction: str, shown: str) -> None:
        getattr(person.page, direction)()
        inside = "(shown) => document.querySelector('.st-key-number_tau_group input')?.value === shown"
        person.page.wait_for_function(inside, arg=shown)
        person.idle()

    step("go_back", "0.400")
    step("go_back", "0.300")
    step("go_back", first)
    step("go_forward", "0.300")
    assert "tau_group=0.3" in person.page.url
    person.page.get_by_role("button", name="Undo").click()
    person.page.wait_for_url(lambda address: "tau_group" not in address)
    person.idle()
    assert field.input_value() == first


def test_what_is_computed_anew_fades_late_and_without_transitions_of_its_own(session: Callable[..., Session]) -> None:
    page = session().open("/concepts").page
    means = page.locator("[data-testid=stElementContainer]:has(.means)").first
    look = "(e) => { const s = getComputedStyle(e); return [s.opacity, s.transitionDuration]; }"
    assert means.evaluate(look)[0] == "1"
    means.evaluate("(e) => { e.dataset.stale = 'true'; e.closest('.stApp').dataset.testScriptState = 'running'; }")
    assert means.evaluate(look) == ["1", "0s"]
    page.wait_for_function("(e) => getComputedStyle(e).opacity === '0.4'", arg=means.element_handle())
