"""Seconds from starting the server to the first page with its numbers, in a real browser, cold each time.

    python -m tests.benchmarks.first_paint [runs]

Cold means a new server process and a new browser profile; the files are in the system's cache. The clock starts with
the server, and stops when the server answers, when the first figure is drawn, and when the strip of the design has its
last number.
"""

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

from tests.browser.conftest import FLAGS, ROOT, find_chromium, running

RUNS = 5
PATIENCE = 180.0
MARKS = {
    "first figure": "() => document.querySelector('.figure[data-ready]') !== null",
    "design complete": """() => {
      const values = [...document.querySelectorAll('dl.strip dd')].map((value) => value.firstChild.textContent);
      return values.length > 0 && !values.includes('–');
    }""",
}
"""What must be true of the page, in this order."""
IMPORTED = "import time, core.pipeline; print(time.process_time())"


def measure(browser: Any) -> dict[str, float]:
    """Return the seconds to each mark for one new server and one new profile."""
    with tempfile.TemporaryDirectory() as folder:
        start = time.monotonic()
        with running(ROOT / "app.py", Path(folder) / "log.txt") as url:
            seconds = {"server answers": time.monotonic() - start}
            context = browser.new_context(viewport={"width": 1280, "height": 900})
            page: Page = context.new_page()
            page.goto(url)
            for name, true in MARKS.items():
                page.wait_for_function(true, timeout=PATIENCE * 1000, polling=20)
                seconds[name] = time.monotonic() - start
            context.close()
    return seconds


def imported() -> float:
    """Return the processor seconds that a process needs to import the whole computation."""
    run = subprocess.run([sys.executable, "-c", IMPORTED], cwd=ROOT, capture_output=True, text=True, check=True)
    return float(run.stdout)


def run(runs: int = RUNS) -> dict[str, float]:
    """Return the median seconds to each mark."""
    path = find_chromium()
    assert path is not None, "no Chromium"
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=FLAGS)
        found = [measure(browser) for _ in range(runs)]
        browser.close()
    medians = {name: statistics.median(seconds[name] for seconds in found) for name in found[0]}
    return medians | {"import of the computation (processor)": min(imported() for _ in range(runs))}


if __name__ == "__main__":
    for name, seconds in run(int(sys.argv[1]) if len(sys.argv) > 1 else RUNS).items():
        sys.stdout.write(f"{name}: {seconds:.2f} s\n")
