"""A run of the Evaluation page in a real browser: it goes on while one looks at another page, can be stopped, stays."""

from collections.abc import Callable

from tests.browser.conftest import Session

FIGURE = ".st-key-evaluation .figure[data-ready]"


def start(person: Session) -> None:
    """Measure each record fifty times, so that the run outlasts a visit elsewhere, and begin."""
    person.number("number_evaluation_repeats").fill("50")
    person.number("number_evaluation_repeats").press("Enter")
    person.idle()
    person.page.get_by_role("button", name="Run the comparison").click()
    person.page.locator(".st-key-run_stop button").wait_for()


def test_a_run_goes_on_behind_other_pages_is_stopped_and_continued(session: Callable[..., Session]) -> None:
    person = session().open("/evaluation")
    start(person)
    person.page.locator(FIGURE).wait_for()
    assert person.page.get_by_text("Mean loss of test records").count()
    before = float(person.page.locator(".st-key-run_bar [role=progressbar]").get_attribute("aria-valuenow") or 0)
    person.page.get_by_role("link", name="Concepts", exact=True).click()
    person.page.get_by_role("heading", level=1).wait_for()
    person.page.wait_for_timeout(2500)
    person.page.get_by_role("link", name="Evaluation", exact=True).click()
    person.page.locator(FIGURE).wait_for()
    bar = person.page.locator(".st-key-run_bar [role=progressbar]")
    if bar.count():  # it may have come to its end meanwhile
        assert float(bar.get_attribute("aria-valuenow") or 0) > before
    stop = person.page.locator(".st-key-run_stop button")
    if stop.count():
        stop.click()
        person.page.get_by_role("button", name="Continue").wait_for()
        assert person.page.get_by_text("what was found is kept").count()
        assert person.page.locator(FIGURE).count()
        person.page.get_by_role("button", name="Continue").click()
        person.page.locator(".st-key-run_stop button").wait_for()
        person.page.locator(".st-key-run_stop button").click()
        person.page.get_by_role("button", name="Continue").wait_for()
