"""Real-browser tests: servers and one browser per test process, one fresh session per test."""

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
START_SECONDS = 180
IDLE = """() => {
  const app = document.querySelector('[data-testid="stApp"]');
  return Boolean(app) && app.dataset.testConnectionState === 'CONNECTED' && app.dataset.testScriptState === 'notRunning'
    && !document.querySelector('[data-testid="stSkeleton"], [data-stale="true"], .plot.moved')
    && ![...document.querySelectorAll('.figure')].some((f) => !f.dataset.ready || f.ariaBusy === 'true');
}"""


def find_chromium() -> str | None:
    """Return the system's Chromium, or what CHROMIUM names."""
    named = os.environ.get("CHROMIUM")
    if named:
        return named if os.path.exists(named) else None
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def idle(page: Any, quiet: float = 0.25, timeout: float = 150.0) -> None:
    """Wait until the app has been idle for `quiet` seconds: a slider reports late, so one idle look proves nothing."""
    end, since = time.monotonic() + timeout, None
    while time.monotonic() < end:
        now = time.monotonic()
        if page.evaluate(IDLE):
            since = since or now
            if now - since >= quiet:
                return
        else:
            since = None
        page.wait_for_timeout(40)
    raise AssertionError("the app is still running")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(item.path).parent == Path(__file__).parent:
            item.add_marker(pytest.mark.browser)


@contextlib.contextmanager
def running(script: Path, log_path: Path, **settings: str) -> Iterator[str]:
    """Run a Streamlit server on a free port, with more settings from the environment, and yield its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", str(script), "--server.port", str(port)]
    command += ["--server.address", "127.0.0.1", "--server.headless", "true"]
    with log_path.open("w+") as log:
        process = subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=subprocess.STDOUT, env=os.environ | settings)
        try:
            _wait(process, f"http://127.0.0.1:{port}", log_path)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _wait(process: subprocess.Popen[bytes], url: str, log_path: Path) -> None:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        with contextlib.suppress(OSError), urllib.request.urlopen(f"{url}/_stcore/health", timeout=2) as answer:
            if answer.read() == b"ok":
                return
        time.sleep(0.1)
    pytest.fail(f"the server did not start:\n{log_path.read_text()}")


@pytest.fixture(scope="session")
def serve(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], str]]:
    """Return the address of a server for a script; one server per script and test process."""
    addresses: dict[str, str] = {}
    with contextlib.ExitStack() as stack:

        def start(script: str) -> str:
            if script not in addresses:
                log = tmp_path_factory.mktemp("server") / "log.txt"
                addresses[script] = stack.enter_context(running(ROOT / script, log))
            return addresses[script]

        yield start


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Return the browser; without a Chromium every browser test is skipped, with a line that cannot be missed."""
    path = find_chromium()
    if path is None:
        print("\n*** NO CHROMIUM: BROWSER TESTS ARE SKIPPED ***", file=sys.__stderr__, flush=True)
        pytest.skip("no Chromium: install it (scripts/ensure_chromium.sh) or name it in CHROMIUM")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        running_browser = driver.chromium.launch(executable_path=path, args=FLAGS)
        yield running_browser
        running_browser.close()


@dataclass
class Session:
    """One session of a person: a fresh browser context at one server."""

    page: Any
    url: str
    errors: list[str] = field(default_factory=list)

    def open(self, path: str = "/") -> "Session":
        """Go to a page of the app and wait until it is idle."""
        self.page.goto(self.url + path)
        self.idle()
        return self

    def idle(self) -> None:
        """Wait until the app is idle."""
        idle(self.page)

    def number(self, key: str) -> Any:
        """Return the input of the numeric field `key`."""
        return self.page.locator(f".st-key-{key} input").first


@pytest.fixture
def session(browser: Any, serve: Callable[[str], str]) -> Iterator[Callable[..., Session]]:
    """Return a maker of sessions; a page error in any of them fails the test."""
    made: list[tuple[Any, Session]] = []

    def make(script: str = "app.py", **settings: Any) -> Session:
        url = serve(script)
        context = browser.new_context(
            **({"viewport": {"width": 1280, "height": 900}, "accept_downloads": True} | settings)
        )
        context.set_default_timeout(30_000)
        person = Session(context.new_page(), url)
        person.page.on("pageerror", lambda error: person.errors.append(str(error)))
        made.append((context, person))
        return person

    yield make
    for context, _ in made:
        context.close()
    assert not [error for _, person in made for error in person.errors]


@pytest.fixture
def app(session: Callable[..., Session]) -> Session:
    """Return one session of the real app, not yet opened."""
    return session("app.py")
