"""Seconds from letting a threshold go to the updated picture, in a real browser, beside a page that echoes a slider.

    python -m tests.benchmarks.latency [sample]

Every threshold is dragged to a few new values (cold) and then to and fro between them (warm). All servers run on
this machine, and the echo page is measured before and after, so that the load of the machine shows in both. The echo
page runs as Streamlit comes, with a collection of garbage after every run, which is what the ratios count; and once
more with this project's settings, where that is off.
"""

import json
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

from tests.browser.conftest import FLAGS, ROOT, find_chromium, idle, running
from tests.browser.test_figure import grab, mark, marked

BUDGET = json.loads(Path(__file__).with_name("latency_budget.json").read_text())
COLD, WARM = 6, 25
STEPS = 8
AS_IT_COMES = {"STREAMLIT_RUNNER_POST_SCRIPT_GC": "true"}
PATIENCE = 120.0
"""Seconds that a page may take until it has nothing left to do."""
THRESHOLDS = {
    "tau_group": ("/dependencies", "Grouping threshold", (1, 0)),
    "tau_dim": ("/mechanisms", "Largest domain (tau_dim)", (1, 0)),
    "tau_dpn": ("/mechanisms", "Score threshold (tau_dpn)", (0, 1)),
    "epsilon": ("/budget", "Total privacy budget (epsilon)", (1, 0)),
}
"""Page, name of the handle, and direction of the drag."""
PROBE = """(what) => {
  const probe = window.probe = {up: 0, done: 0, frames: [], last: 0, dragging: false};
  const answer = () => what === 'figure' ? NaN : document.querySelector('#answer').textContent;
  document.addEventListener('pointerdown', () => { probe.dragging = true; probe.last = 0; }, true);
  document.addEventListener('pointerup', () => {
    probe.up = performance.now(); probe.done = 0; probe.dragging = false; probe.before = answer();
  }, true);
  const seen = () => {
    if (probe.up && !probe.done && answer() !== probe.before) probe.done = performance.now();
  };
  new MutationObserver(seen).observe(document.body, what === 'figure'
    ? {subtree: true, attributes: true, attributeFilter: ['data-ready']}
    : {subtree: true, childList: true, characterData: true});
  const frame = (now) => {
    if (probe.dragging && probe.last) probe.frames.push(now - probe.last);
    probe.last = now;
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
}"""


def wait(page: Page) -> float:
    """Return the milliseconds from letting go to the change."""
    page.wait_for_function("window.probe.up && window.probe.done", timeout=PATIENCE * 1000)
    return float(page.evaluate("window.probe.done - window.probe.up"))


def summary(milliseconds: list[float]) -> dict[str, float]:
    ordered = sorted(milliseconds)
    return {
        "median": statistics.median(ordered) / 1000,
        "p95": ordered[min(len(ordered) - 1, round(0.95 * (len(ordered) - 1)))] / 1000,
        "count": len(ordered),
    }


def measure_echo(browser: Any, url: str) -> list[float]:
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(url)
    idle(page, timeout=PATIENCE)
    page.evaluate(PROBE, "echo")
    thumb = page.locator('[data-testid="stSliderThumbValue"]').first.locator("xpath=..")
    found = []
    for turn in range(WARM):
        box = thumb.bounding_box()
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        page.mouse.move(x, y)
        page.mouse.down()
        page.mouse.move(x + (60 if turn % 2 else -60), y, steps=STEPS)
        page.mouse.up()
        found.append(wait(page))
        idle(page, timeout=PATIENCE)
    page.close()
    return found


def measure_threshold(browser: Any, url: str, sample: str, name: str) -> dict[str, Any]:
    path, label, (right, down) = THRESHOLDS[name]
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    received: list[int] = []
    page.on("websocket", lambda socket: socket.on("framereceived", lambda data: received.append(len(data))))
    page.goto(f"{url}{path}?data={sample}")
    idle(page, quiet=2.0, timeout=3 * PATIENCE)
    page.evaluate(PROBE, "figure")
    mark(page)
    drawn = marked(page)
    shifts = [(40 + 14 * k) * (1 if k % 2 else -1) for k in range(COLD)]

    def drag(shift: int) -> float:
        x, y = grab(page, label)
        page.mouse.move(x + right * shift, y + down * shift, steps=STEPS)
        page.mouse.up()
        return wait(page)

    cold = []
    for shift in shifts:
        cold.append(drag(shift))
        idle(page, quiet=1.2, timeout=3 * PATIENCE)
    received.clear()
    warm = []
    for turn in range(WARM):
        # To and fro between the last two places: everything there has been computed.
        warm.append(drag(shifts[-2] if turn % 2 == 0 else -shifts[-2]))
        idle(page, quiet=0.5, timeout=3 * PATIENCE)
        if turn == 1:
            warm.clear()
            received.clear()
    frames = page.evaluate("window.probe.frames")
    record = {
        "cold": summary(cold),
        "warm": summary(warm),
        "remounts": drawn - marked(page),
        "bytes_per_drag": sum(received) / max(len(warm), 1),
        "frame_milliseconds": {
            "median": statistics.median(frames),
            "p95": sorted(frames)[int(0.95 * (len(frames) - 1))],
        },
    }
    page.close()
    return record


def run(sample: str = "adult") -> dict[str, Any]:
    """Return the latencies of the four thresholds, the echo page's, and whether each keeps its budget."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        logs = Path(folder)
        browser = driver.chromium.launch(executable_path=find_chromium(), args=FLAGS)
        script = ROOT / "tests/benchmarks/echo_app.py"
        with running(script, logs / "echo.txt", **AS_IT_COMES) as echo, running(script, logs / "own.txt") as own:
            echoes, tuned = measure_echo(browser, echo), measure_echo(browser, own)
            with running(ROOT / "app.py", logs / "app.txt") as url:
                found = {name: measure_threshold(browser, url, sample, name) for name in THRESHOLDS}
            echoes += measure_echo(browser, echo)
            tuned += measure_echo(browser, own)
        browser.close()
    base, base_tuned = summary(echoes), summary(tuned)
    for name, record in found.items():
        ratio = record["warm"]["p95"] / base["p95"]
        record["warm_p95_over_echo_p95"] = ratio
        record["warm_p95_over_tuned_echo_p95"] = record["warm"]["p95"] / base_tuned["p95"]
        record["met"] = {
            "ratio": ratio <= BUDGET["warm_p95_over_echo_p95"],
            "seconds": record["warm"]["p95"] <= BUDGET["warm_p95_seconds"],
            "remounts": record["remounts"] <= BUDGET["remounts"],
            "frames": record["frame_milliseconds"]["p95"] <= BUDGET["frame_p95_milliseconds"],
        }
        sys.stdout.write(
            f"{name}: cold median {record['cold']['median']:.2f} s, p95 {record['cold']['p95']:.2f} s; "
            f"warm median {record['warm']['median']:.2f} s, p95 {record['warm']['p95']:.2f} s "
            f"({ratio:.2f}x echo, {record['warm_p95_over_tuned_echo_p95']:.2f}x tuned echo); "
            f"re-mounts {record['remounts']}; {record['bytes_per_drag'] / 1000:.0f} kB per drag; "
            f"frames {record['frame_milliseconds']['median']:.1f} / {record['frame_milliseconds']['p95']:.1f} ms\n"
        )
    for name, found_echo in (("echo", base), ("tuned echo", base_tuned)):
        sys.stdout.write(f"{name}: median {found_echo['median']:.3f} s, p95 {found_echo['p95']:.3f} s\n")
    return {"sample": sample, "echo": base, "tuned_echo": base_tuned, "thresholds": found, "budget": BUDGET}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(run(*sys.argv[1:]), indent=1) + "\n")
