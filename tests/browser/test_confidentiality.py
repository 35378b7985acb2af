"""Nothing of an upload leaves the session: no request goes out, no log, file or address repeats it, markup is text."""

import csv
import io
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.browser.conftest import ROOT, Session, running

CANARY = "quokka"
"""A word of the uploaded table that occurs nowhere in the project."""
OUTSIDE = "evil.test"
NAMES = (
    f'<img src="http://{OUTSIDE}/a.png" onerror="window.broken=1">{CANARY}1',
    f"![{CANARY}2](http://{OUTSIDE}/b.png)",
    f"[{CANARY}3](http://{OUTSIDE}/c)",
    f"<script>window.broken=1</script><svg onload=window.broken=1>{CANARY}4",
    f'=HYPERLINK("http://{OUTSIDE}") {CANARY}5',
)
"""Names of the columns; their values begin alike."""
PAGES = (
    "Data", "Dependencies", "Loss", "Mechanisms", "Budget", "Evaluation", "Release", "Noise tiers",
    "Categorical tiers", "Concepts",
)  # fmt: skip
INSIDE = {"127.0.0.1", "localhost", ""}


def hostile_table() -> bytes:
    """Two dependent pairs and a fifth column, every name and value with markup and the canary."""
    out = io.StringIO()
    rows = csv.writer(out)
    rows.writerow(NAMES)
    for i in range(90):
        levels = (i % 3, (i + i // 30) % 3, i % 2, (i % 2 + i // 60) % 2, i * 7 % 11 % 4)
        rows.writerow([f"{name} v{level}" for name, level in zip(NAMES, levels, strict=True)])
    return out.getvalue().encode()


@pytest.fixture
def alone(browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Session, Path, list[str]]]:
    """Return a session at a server of its own, the folder of its log and temporary files, and what it requested."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    for name in ("TMPDIR", "TEMP", "TMP", "HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(temporary))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))
    asked: list[str] = []
    with running(ROOT / "app.py", tmp_path / "server.txt") as url:
        context = browser.new_context(viewport={"width": 1280, "height": 900}, accept_downloads=True)
        context.set_default_timeout(60_000)
        context.on("request", lambda request: asked.append(request.url))
        context.route(lambda address: urlsplit(address).hostname == OUTSIDE, lambda route: route.abort())
        person = Session(context.new_page(), url)
        person.page.on("pageerror", lambda error: person.errors.append(str(error)))
        yield person, tmp_path, asked
        context.close()


def upload(person: Session, name: str, content: bytes) -> None:
    person.page.locator(".st-key-upload input[type=file]").first.set_input_files(
        files=[{"name": name, "mimeType": "text/csv", "buffer": content}]
    )


def go(person: Session, title: str) -> None:
    person.page.get_by_role("link", name=title, exact=True).click()
    person.page.wait_for_timeout(300)
    person.idle()


def check(person: Session, asked: list[str], title: str) -> None:
    """What must hold on every page whatever the table is called."""
    outside = [url for url in asked if urlsplit(url).scheme != "data" and urlsplit(url).hostname not in {*INSIDE, None}]
    assert not outside, f"{title} requested {outside}"
    assert not person.page.evaluate("() => window.broken"), f"{title} ran a name"
    drawn = person.page.locator(f'img[src*="{OUTSIDE}"], a[href*="{OUTSIDE}"], svg[onload], image[href*="{OUTSIDE}"]')
    assert drawn.count() == 0, f"{title} made markup of a name: {drawn.first.evaluate('e => e.outerHTML')}"
    assert CANARY not in person.page.url
    assert not person.page.locator('[data-testid="stException"]').count(), title


def test_no_page_that_embeds_the_app_may_steer_it(app: Session) -> None:
    """Messages of a page around the app could rerun it, clear what it computed, or change its address."""
    assert app.page.request.get(f"{app.url}/_stcore/host-config").json()["allowedOrigins"] == []


@pytest.mark.slow
def test_nothing_of_an_upload_leaves_its_session(alone: tuple[Session, Path, list[str]]) -> None:
    person, folder, asked = alone
    person.open("/?data=upload")
    upload(person, f"{CANARY}.csv", hostile_table())
    person.page.get_by_text(f"{CANARY}1").first.wait_for(state="attached")
    person.idle()
    shown = set()
    for title in PAGES:
        go(person, title)
        check(person, asked, title)
        text = person.page.inner_text("body")
        shown |= {name for name in ("<img src=", "![", "<script>") if name in text}
    assert shown, "no name is shown as text on any page"
    # A table that cannot be read, and one that cannot be designed: their sentences are no leak either.
    go(person, "Data")
    upload(person, f"{CANARY}2.csv", f'"{CANARY}",b\n1,2,3\n'.encode())
    person.page.get_by_text("Line 2 has 3 fields").first.wait_for()
    person.idle()
    upload(person, f"{CANARY}3.csv", f"{CANARY},b\n1,{CANARY}\n1,{CANARY}\n".encode())
    person.page.wait_for_timeout(1500)
    person.idle()
    check(person, asked, "Data")
    go(person, "Budget")
    check(person, asked, "Budget")
    assert "No column takes part" in person.page.inner_text("body"), person.page.inner_text("body")
    assert not person.errors
    log = (folder / "server.txt").read_text(encoding="utf-8")
    assert CANARY not in log, log[-2000:]
    assert "Traceback" not in log, log[-4000:]
    held = [path for path in folder.rglob("*") if path.is_file() and CANARY.encode() in path.read_bytes()]
    assert held == []
    written = [path for path in (ROOT / "static").rglob("*") if path.is_file() and CANARY.encode() in path.read_bytes()]
    assert written == []
    assert not re.search(CANARY, " ".join(asked))
