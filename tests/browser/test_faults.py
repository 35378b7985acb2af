"""What fails becomes a sentence: solver, memory, worker, disk and server; the rest of the page stays alive."""

import contextlib
import functools
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from core import parallel
from core.__main__ import main
from core.errors import CoreError, SolverError
from core.mechanisms import optimal
from core.table import load_sample, sample_scenario
from pages._ui import cache
from tests.browser.conftest import ROOT, Session, _wait
from tests.browser.test_many_sessions import own_table
from tests.pages.opening import leave_the_strip_out, opened, pass_through_the_app, words

GONE = "not the table itself"
NOTHING = "No table is loaded yet"


@pytest.fixture
def without_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let pages run without a browser, with nothing remembered from other tests."""
    pass_through_the_app(monkeypatch)
    leave_the_strip_out(monkeypatch)
    monkeypatch.setattr(cache, "_shared", cache._Store())


# --- the solver ------------------------------------------------------------------------------------------------------


def test_a_failing_solver_is_a_sentence_and_the_page_stays_alive(
    without_browser: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    sentence = "The solver did not finish in its time; choose noise for this group."

    def fail(*_: Any, **__: Any) -> Any:
        raise SolverError(sentence)

    with monkeypatch.context() as broken:
        broken.setattr(optimal, "solve_problem", fail)
        app = opened("budget", rule="OPT", tau_dim="8")
        assert not app.exception
        assert sentence in words(app)
        assert app.slider(key="slider_epsilon").value == 4.0
    app = app.switch_page("pages/dependencies.py").run()
    assert not app.exception
    assert sentence not in words(app)
    app = app.switch_page("pages/budget.py").run()
    assert not app.exception
    assert "The predicted loss is <b>" in words(app)


def test_a_solver_without_time_leaves_certified_channels(
    without_browser: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What has been found when the time is over is repaired, certified and shown."""
    monkeypatch.setattr(optimal, "solve_problem", functools.partial(optimal.solve_problem, time_limit=0.0))
    app = opened("budget", rule="OPT", tau_dim="8")
    assert not app.exception
    assert "The predicted loss is <b>" in words(app)


def test_too_little_memory_for_a_group_is_a_sentence(without_browser: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(optimal, "MEMORY_LIMIT_MB", 1e-6)
    app = opened("budget", rule="OPT", tau_dim="60")
    assert not app.exception
    assert "GB of memory" in words(app)
    assert "lower the largest domain (tau_dim)" in words(app)
    app.slider(key="slider_epsilon").set_value(6.0).run()
    assert not app.exception


# --- workers ---------------------------------------------------------------------------------------------------------

die_at_two = lambda x: os.kill(os.getpid(), signal.SIGKILL) if x == 2 else x  # noqa: E731
square = lambda x: x * x  # noqa: E731


def test_a_killed_worker_is_a_sentence_and_the_next_run_works() -> None:
    with pytest.raises(CoreError, match=r"A worker process ended.*\.$"):
        parallel.map_tasks(die_at_two, range(6), jobs=2)
    assert parallel.map_tasks(square, range(4), jobs=2) == [0, 1, 4, 9]


# --- the disk --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "file"), [("run", "curves.csv"), ("run", "design.json"), ("pack", "mechanism.json")]
)
def test_a_full_disk_is_a_sentence(command: str, file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The output is a device that is always full."""
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("this system has no device that is always full")
    table, scenario, out = tmp_path / "t.csv", tmp_path / "s.json", tmp_path / "out"
    table.write_bytes(own_table("alder"))
    scenario.write_text(sample_scenario("heart").replace(attributes=(), rule="DPN", contexts=10).to_json())
    out.mkdir()
    (out / file).symlink_to(full)
    assert main([command, "--table", str(table), "--scenario", str(scenario), "--out", str(out)]) == 2
    said = capsys.readouterr().err.strip().splitlines()[-1]
    assert "cannot be written to" in said
    assert said.endswith("No space left on device.")


# --- the server ------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def server_at(port: int, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run the app at a port of its own; it is killed, not asked, at the end."""
    command = [sys.executable, "-m", "streamlit", "run", str(ROOT / "app.py"), "--server.port", str(port)]
    command += ["--server.address", "127.0.0.1"]
    with log.open("w") as file:
        process = subprocess.Popen(command, cwd=ROOT, stdout=file, stderr=subprocess.STDOUT)
        try:
            _wait(process, f"http://127.0.0.1:{port}", log)
            yield process
        finally:
            process.kill()
            process.wait()


class Line:
    """A line between browser and server that can be cut: bytes are passed on both ways until then."""

    def __init__(self, address: str) -> None:
        self._to = ("127.0.0.1", int(address.rsplit(":", 1)[1]))
        self._ends: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._door = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self._door.getsockname()[1]}"
        self._start(self._accept)

    def _start(self, work: Callable[..., None], *ends: socket.socket) -> None:
        self._threads.append(threading.Thread(target=work, args=ends, daemon=True))
        self._threads[-1].start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):  # the door was shut
            while True:
                near = self._door.accept()[0]
                self._ends.append(near)
                far = socket.create_connection(self._to)
                self._ends.append(far)
                self._start(self._pass_on, near, far)
                self._start(self._pass_on, far, near)

    def _pass_on(self, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):  # the line was cut
            while data := source.recv(1 << 16):
                target.sendall(data)
        shut(source, target)

    def cut(self) -> None:
        """Break every connection that is open; new ones are let through."""
        shut(*self._ends)

    def close(self) -> None:
        shut(self._door, *self._ends)
        for thread in self._threads:
            thread.join()
        for end in (self._door, *self._ends):  # not before: another connection would get its number
            end.close()


def shut(*ends: socket.socket) -> None:
    for end in ends:
        with contextlib.suppress(OSError):  # shut already
            end.shutdown(socket.SHUT_RDWR)


DRAWS = """(question) => document.querySelector('[data-testid="stApp"]').dataset.testScriptState !== 'notRunning'
  || document.querySelector('h1')?.innerText.includes(question)"""
STATE = "document.querySelector('[data-testid=\"stApp\"]').dataset.testConnectionState"
WATCH = f"""() => {{
  window.lost = 0;
  setInterval(() => {{ if ({STATE} !== 'CONNECTED') window.lost += 1; }}, 5);
}}"""


def until(page: Any, expression: str, seconds: float = 90.0) -> None:
    end = time.monotonic() + seconds
    while not page.evaluate(expression):
        assert time.monotonic() < end, f"never came true: {expression}"
        page.wait_for_timeout(200)


def send_table(person: Session, word: str) -> None:
    """Upload a table on the Data page and wait until it is shown."""
    person.page.locator(".st-key-upload input[type=file]").first.set_input_files(
        files=[{"name": f"{word}.csv", "mimeType": "text/csv", "buffer": own_table(word)}]
    )
    person.page.get_by_text(f"{word}_name").first.wait_for(state="attached")


def change(person: Session, key: str, value: str) -> None:
    """Enter a number and wait for what comes of it."""
    person.number(key).fill(value)
    person.number(key).press("Enter")
    person.page.wait_for_timeout(500)
    person.idle()


def cut_and_wait(person: Session, line: Line) -> None:
    """Cut the line and wait until the browser has come back and whatever was interrupted is done."""
    person.page.evaluate("() => { window.lost = 0; }")
    line.cut()
    until(person.page, f"() => window.lost > 0 && {STATE} === 'CONNECTED'")
    person.page.wait_for_timeout(1000)
    person.idle()


@pytest.fixture
def line(serve: Callable[[str], str]) -> Iterator[Line]:
    """Return a line to the server of the app."""
    with contextlib.closing(Line(serve("app.py"))) as made:
        yield made


@pytest.mark.slow
def test_a_browser_that_reconnects_finds_its_session(browser: Any, line: Line) -> None:
    """Its line is cut at rest and while the server draws: the upload, its settings and undo are kept."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    person = Session(context.new_page(), line.address).open("/?data=upload&epsilon=3")
    person.page.on("pageerror", lambda error: person.errors.append(str(error)))
    send_table(person, "birch")
    person.page.evaluate(WATCH)
    person.idle()
    cut_and_wait(person, line)
    for delay in (50, 150, 300, 500, 800):  # milliseconds into the drawing of another page
        for name, question in (("Budget", "How is the privacy budget spent?"), ("Dependencies", "Which attributes")):
            person.page.get_by_role("link", name=name, exact=True).click()
            # From when the server draws: what never left the browser is no part of this.
            person.page.wait_for_function(DRAWS, arg=question)
            person.page.wait_for_timeout(delay)
            cut_and_wait(person, line)
            assert question in person.page.inner_text("h1")
            assert person.page.locator(".figure[data-ready]").count() >= 1
    change(person, "number_tau_group", "0.3")
    change(person, "number_tau_group", "0.6")
    assert "tau_group=0.6" in person.page.url
    person.page.get_by_role("button", name="Undo", exact=True).click()
    person.page.wait_for_timeout(500)
    person.idle()
    assert "tau_group=0.3" in person.page.url
    assert "epsilon=3" in person.page.url
    assert "birch_name" in person.page.content()
    assert not person.page.locator(".refusal").count()
    assert not person.errors
    context.close()


@pytest.mark.slow
def test_a_server_that_is_killed_and_comes_back(browser: Any, tmp_path: Path) -> None:
    """A sample is there again with every setting; of an upload the page says that it is gone; nothing crashes."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    sample, upload = (Session(context.new_page(), address) for _ in range(2))
    with server_at(port, tmp_path / "first.txt"):
        sample.open("/dependencies?epsilon=3&tau_group=0.2")
        upload.open("/?data=upload")
        send_table(upload, "alder")
        upload.page.get_by_role("link", name="Dependencies", exact=True).click()
        upload.page.wait_for_timeout(500)
        upload.idle()
        assert "alder" in upload.page.content()
    for person in (sample, upload):
        until(person.page, f"() => {STATE} !== 'CONNECTED'")
    assert "Which attributes" in sample.page.inner_text("body")  # what was drawn stays to be read
    with server_at(port, tmp_path / "second.txt"):
        for person in (sample, upload):
            until(person.page, f"() => {STATE} === 'CONNECTED'")
            person.page.wait_for_timeout(1000)
            person.idle()
        for sentence in (GONE, NOTHING):  # nobody changed anything: it is said at once
            upload.page.get_by_text(sentence).first.wait_for()
        assert "alder" not in upload.page.inner_text("body")
        assert "tau_group=0.2" in sample.page.url
        assert float(sample.number("number_tau_group").input_value()) == 0.2
        assert not sample.page.get_by_text(NOTHING).count()
        change(sample, "number_tau_group", "0.25")
        upload.page.locator(".st-key-slider_epsilon input[type=range]").first.press("ArrowRight")
        upload.page.wait_for_timeout(500)
        upload.idle()
        assert "epsilon=3" in sample.page.url
        assert sample.page.locator(".figure[data-ready]").count() >= 1
        sample.page.get_by_role("link", name="Budget", exact=True).click()
        sample.page.get_by_text("How is the privacy budget spent?").first.wait_for()
        sample.idle()
        assert float(sample.number("number_epsilon").input_value()) == 3
        body = upload.page.inner_text("body")
        assert GONE in body or NOTHING in body, body
        assert "alder_name" not in body
        assert not upload.page.locator(".refusal", has_text="Traceback").count()
        upload.page.get_by_role("link", name="Data", exact=True).click()
        upload.idle()
        send_table(upload, "alder")
        upload.idle()
        assert not upload.page.get_by_text(NOTHING).count()
        assert "epsilon=4.25" in upload.page.url
        log = (tmp_path / "second.txt").read_text()
        assert "Traceback" not in log, log
        assert "alder" not in log
    context.close()


def test_the_samples_survive_a_fault_because_they_are_files() -> None:
    assert len(load_sample("heart").frame) == 303
