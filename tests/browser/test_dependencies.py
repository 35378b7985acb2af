"""The Dependencies page in a real browser: the threshold dragged on the staircase, and a link clicked in the graph."""

import re
from typing import Any

import pytest

from core.plots.palette import GROUPS
from tests.browser.conftest import Session

HANDLE = '.st-key-dependence .handle[aria-label="Grouping threshold"]'
FIGURE = ".st-key-dependence .figure"


@pytest.fixture
def page(app: Session) -> Any:
    # Without optimisation the design behind the live strip is quick; the picture is the same.
    page = app.open("/dependencies?rule=DPN").page
    page.locator(f"{FIGURE}[data-ready]").wait_for(timeout=60_000)
    # The noise floor comes last and may draw the figure once more.
    page.locator(".st-key-dependence").get_by_text("noise floor", exact=True).last.wait_for(timeout=60_000)
    app.idle()
    return page


def value(page: Any) -> float:
    return float(page.locator(HANDLE).last.get_attribute("aria-valuenow"))


def coloured(page: Any) -> int:
    """Return how many nodes have a group's colour now."""
    hues = [f"rgb({int(h[1:3], 16)}, {int(h[3:5], 16)}, {int(h[5:7], 16)})" for h in GROUPS]
    return page.evaluate(
        """hues => {
          const traces = [...document.querySelectorAll('.st-key-dependence g.trace.scatter')];
          const nodes = traces.findLast(t => t.__data__[0].trace.uid === 'nodes');
          return [...nodes.querySelectorAll('path.point')].filter(p => hues.includes(getComputedStyle(p).fill)).length;
        }""",
        hues,
    )


LINKS = """(() => {
  window.seen = [];
  const look = () => {
    const traces = [...document.querySelectorAll('.st-key-dependence g.trace.scatter')];
    if (traces.length) window.seen.push(traces.filter((trace) => getComputedStyle(trace).opacity > 0.5).length);
    requestAnimationFrame(look);
  };
  look();
})()"""


def test_links_below_the_threshold_do_not_flash_when_the_page_opens(app: Session) -> None:
    app.page.add_init_script(LINKS)
    app.open("/dependencies?data=adult&rule=DPN")
    app.page.locator(f"{FIGURE}[data-ready]").wait_for()
    app.page.wait_for_timeout(400)
    seen = app.page.evaluate("window.seen")
    assert max(seen) == seen[-1]
    assert seen[-1] > 0


def test_groups_follow_the_threshold_before_the_server_answers(page: Any, app: Session) -> None:
    before, place = coloured(page), page.locator(FIGURE).bounding_box()
    page.evaluate("[...document.querySelectorAll('.st-key-dependence .main-svg')].at(-1).marked = true")
    flag = page.locator(f"{HANDLE} .flag").last.bounding_box()
    x, y = flag["x"] + flag["width"] / 2, flag["y"] + flag["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 200, y, steps=10)
    assert before == 7
    assert coloured(page) == 0
    assert page.locator(".st-key-number_tau_group input").input_value() == "0.100"
    page.mouse.up()
    page.wait_for_url("**tau_group=*")
    app.idle()
    shown = value(page)
    assert shown > 0.16
    assert float(page.locator(".st-key-number_tau_group input").input_value()) == pytest.approx(shown, abs=6e-4)
    assert float(re.search(r"tau_group=([\d.]+)", page.url)[1]) == shown
    assert "every attribute is perturbed alone" in page.locator(".means").inner_text()
    assert page.locator(FIGURE).bounding_box() == place
    assert page.evaluate("[...document.querySelectorAll('.st-key-dependence .main-svg')].at(-1).marked")


def test_page_keys_go_from_step_to_step(page: Any, app: Session) -> None:
    figure, before = page.locator(FIGURE).last, coloured(page)
    drawings = figure.get_attribute("data-ready")
    page.locator(HANDLE).last.focus()
    page.keyboard.press("PageUp")
    page.get_by_text("10 groups", exact=True).wait_for()
    app.idle()
    assert value(page) == 0.103
    # What the browser showed at once is not drawn a second time.
    assert coloured(page) < before
    assert figure.get_attribute("data-ready") == drawings
    page.keyboard.press("PageDown")
    page.keyboard.press("PageDown")
    page.get_by_text("8 groups", exact=True).wait_for()
    assert value(page) == 0.081


def test_a_click_on_a_link_shows_its_joint_counts(page: Any, app: Session) -> None:
    spot = page.evaluate(
        """() => {
          const plot = [...document.querySelectorAll('.st-key-dependence .plot')].at(-1);
          const {xaxis, yaxis} = plot._fullLayout;
          const middle = plot._fullData.find(t => t.customdata?.[0].length === 2);
          const last = middle.customdata.length - 1, box = plot.getBoundingClientRect();
          return {x: box.left + xaxis._offset + xaxis.d2p(middle.x[last]),
                  y: box.top + yaxis._offset + yaxis.d2p(middle.y[last]), pair: middle.customdata[last]};
        }"""
    )
    page.mouse.move(spot["x"] - 30, spot["y"] - 30)
    page.mouse.move(spot["x"], spot["y"], steps=4)
    page.mouse.click(spot["x"], spot["y"])
    found = page.locator(".st-key-bench_controls .key", has_text="NMI 0.151")
    found.wait_for()
    said = found.inner_text()
    app.idle()
    page.get_by_role("tab", name="Joint counts").click()
    page.locator(".st-key-joint .figure").wait_for()
    first, second = (name.strip() for name in said.split(":")[0].split("–"))
    shown = page.locator(".st-key-joint .annotation-text").first.text_content()
    assert first in shown
    assert second in shown


def test_a_hidden_heatmap_has_its_full_width_when_its_tab_opens(page: Any, app: Session) -> None:
    page.get_by_role("tab", name="Heatmap").click()
    page.locator(".st-key-matrix .figure[data-ready]").wait_for()
    app.idle()
    box = page.locator(".st-key-matrix .figure").bounding_box()
    drawn = page.locator(".st-key-matrix .main-svg").first.bounding_box()
    assert drawn["width"] == pytest.approx(box["width"], abs=2)
    assert box["width"] > 760


def test_a_download_has_the_soft_outlines_of_the_groups(page: Any, tmp_path: Any) -> None:
    page.locator(FIGURE).hover()
    with page.expect_download() as waiting:
        page.locator(f"{FIGURE} .save button").nth(1).click()
    waiting.value.save_as(tmp_path / "graph.svg")
    drawn = (tmp_path / "graph.svg").read_text()
    outlines = len(re.findall(r"opacity: 0\.15", drawn))
    groups = page.evaluate("document.querySelectorAll('.st-key-dependence path[data-root]').length")
    assert groups >= 3
    assert outlines == groups
