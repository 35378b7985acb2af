"""Drive the real app in Chromium and save one screenshot per page for the README: ``make shots``."""

import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "docs" / "screenshots"
PAGES = (
    *("data", "dependencies", "losses", "mechanisms", "budget", "evaluation", "release"),
    *("noise_tiers", "categorical_tiers", "concepts"),
)
READY = """() => {
  const app = document.querySelector('[data-testid="stApp"]');
  return !!app && app.dataset.testConnectionState === 'CONNECTED' && app.dataset.testScriptState === 'notRunning'
    && !document.querySelector('[data-testid="stSkeleton"], [data-stale="true"]');
}"""
FLAGS = ("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync")


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for(url: str, seconds: float = 60.0) -> None:
    """Wait until the server answers."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            urllib.request.urlopen(f"{url}/_stcore/health", timeout=2).close()
        except OSError:
            time.sleep(0.3)
        else:
            return
    raise SystemExit("The app did not start.")


def settle(page: Page, quiet: float = 2.0, seconds: float = 180.0) -> None:
    """Wait until the page has been idle for `quiet` seconds."""
    end, since = time.monotonic() + seconds, 0.0
    while time.monotonic() < end:
        if not page.evaluate(READY):
            since = 0.0
        elif not since:
            since = time.monotonic()
        elif time.monotonic() - since > quiet:
            return
        page.wait_for_timeout(100)
    raise SystemExit("The page did not come to rest.")


def main() -> None:
    """Start the app, visit every page in the light theme at 1280 x 800, and save what is seen."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    browser_path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser_path is None:
        raise SystemExit("No Chromium found; install it and run this again.")
    OUT.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port), "--server.headless=true"]
    server = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for(url)
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=browser_path, args=list(FLAGS))
            for name in PAGES:
                if not (ROOT / "pages" / f"{name}.py").is_file():
                    continue
                page = browser.new_page(viewport={"width": 1280, "height": 800}, color_scheme="light")
                page.goto(f"{url}/{name}")
                settle(page)
                page.screenshot(path=str(OUT / f"{name}.png"))
                page.close()
                sys.stdout.write(f"{name}\n")
            browser.close()
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    main()
