"""What only real sessions show: stale work is abandoned, sessions do not see each other, a link restores the view."""

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import ROOT, Session, running

FIRST, SECOND = 0.12, 0.15
CHOSEN = ".st-key-bench_controls .key"


@pytest.fixture
def watched(browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Any, Path]]:
    """Return a page of the app on a server of its own, and the file in which it writes down its stages."""
    log = tmp_path / "stages.txt"
    monkeypatch.setenv("WATCHED_LOG", str(log))
    monkeypatch.setenv("WATCHED_HELD", str(FIRST))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))
    with running(ROOT / "tests/browser/watched_app.py", tmp_path / "server.txt") as url:
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        page = context.new_page()
        page.goto(f"{url}/dependencies?data=adult&tau_group=0.5")
        yield page, log
        context.close()


def begun(log: Path, tau: float) -> list[str]:
    lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
    mine = [line for line in lines if line.startswith("begin ") and line.endswith(f" {tau:g}")]
    return [line.removeprefix("begin ").rsplit(" ", 1)[0] for line in mine]


def test_a_second_change_stops_what_the_first_began(watched: tuple[Any, Path]) -> None:
    page, log = watched
    field = page.locator(".st-key-number_tau_group input").first
    field.wait_for(timeout=60_000)
    # The first change starts the whole design for the strip; the second comes while its groups are being profiled.
    field.fill(str(FIRST))
    field.press("Enter")
    end = time.monotonic() + 60
    while "group losses" not in begun(log, FIRST) and time.monotonic() < end:
        page.wait_for_timeout(20)
    assert "group losses" in begun(log, FIRST)
    field.fill(str(SECOND))
    field.press("Enter")
    while not begun(log, SECOND) and time.monotonic() < end:
        page.wait_for_timeout(20)
    settled = begun(log, FIRST)
    while "surrogate" not in begun(log, SECOND) + begun(log, FIRST) and time.monotonic() < end + 60:
        page.wait_for_timeout(50)
    # Nothing of the first began after the second, and its last stages never ran at all.
    assert begun(log, FIRST) == settled
    assert "surrogate" not in settled
    assert {"group losses", "surrogate"} <= set(begun(log, SECOND))


def own_table(word: str) -> bytes:
    rows = "".join(f"{word}{i % 3},{'pq'[i % 2]},{i % 7}\n" for i in range(80))
    return f"{word}_name,kind,number\n{rows}".encode()


def test_two_sessions_never_see_each_others_table(session: Callable[..., Session]) -> None:
    people = {word: session() for word in ("alder", "birch")}
    for word, person in people.items():
        person.open("/?data=upload")
        person.page.locator(".st-key-upload input[type=file]").set_input_files(
            files=[{"name": f"{word}.csv", "mimeType": "text/csv", "buffer": own_table(word)}]
        )
        person.page.get_by_text(f"{word}_name").first.wait_for()
    for path in ("Dependencies", "Budget"):
        for word, person in people.items():
            person.page.get_by_role("link", name=path, exact=True).click()
            person.idle()
            other = next(w for w in people if w != word)
            html = person.page.content()
            assert f"{word}_name" in html
            assert other not in html
            assert word not in person.page.url
    # The sample of one is not the other's choice either.
    people["alder"].number("number_epsilon").fill("7")
    people["alder"].number("number_epsilon").press("Enter")
    people["alder"].idle()
    assert "epsilon=7" in people["alder"].page.url
    people["birch"].idle()
    assert "epsilon=7" not in people["birch"].page.url
    # A third person who opens the first one's link gets the settings and no table.
    third = session()
    third.open(people["alder"].page.url.removeprefix(third.url))
    assert "alder" not in third.page.content()
    assert third.page.get_by_text("not the table itself").count()


def test_a_link_brings_back_the_clicked_pair(session: Callable[..., Session]) -> None:
    person = session().open("/dependencies?rule=DPN&pair=1-12&loss_own_scales=yes")
    found = person.page.locator(CHOSEN, has_text="sex – thal")
    found.wait_for()
    assert person.page.locator(".st-key-joint_small .figure[data-ready]").count() == 1
    assert "pair=1-12" in person.page.url
    person.page.get_by_role("link", name="Loss", exact=True).click()
    person.idle()
    assert person.page.locator(".st-key-toggle_loss_own_scales input").is_checked()
