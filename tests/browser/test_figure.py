"""The figure component in a real browser: handles, previews, picks, themes, downloads, no re-mounts."""

import struct
from collections.abc import Callable
from typing import Any

import pytest

from core.plots.palette import DPN, GROUPS, OPT, tokens
from tests.browser.conftest import Session

DEMO = "tests/browser/demo_app.py"
EDGES = ((0, 1, 0.31), (0, 2, 0.22), (1, 2, 0.18), (2, 3, 0.12), (4, 6, 0.09), (5, 7, 0.25), (6, 7, 0.15), (0, 5, 0.03))
SIZES = (5, 7, 5, 2, 12, 90, 160, 280)
SCORES = (0.33, 0.19, 0.14, 1.0, 1.0, 0.74, 0.41, 0.06)


@pytest.fixture
def demo(session: Callable[..., Session]) -> Session:
    return session(DEMO).open()


def box_of(key: str) -> str:
    return f".st-key-{key} .figure"


def handle(page: Any, label: str) -> Any:
    return page.locator(f'.handle[aria-label="{label}"]')


def value(page: Any, label: str) -> float:
    return float(handle(page, label).get_attribute("aria-valuenow"))


def grab(page: Any, label: str) -> tuple[float, float]:
    handle(page, label).locator(".flag").scroll_into_view_if_needed()
    flag = handle(page, label).locator(".flag").bounding_box()
    x, y = flag["x"] + flag["width"] / 2, flag["y"] + flag["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    return x, y


def drag(page: Any, label: str, dx: float, dy: float) -> None:
    x, y = grab(page, label)
    page.mouse.move(x + dx, y + dy, steps=8)
    page.mouse.up()


def answered(page: Any) -> list[float]:
    """Return what the server's last run saw: tau_dim, tau_dpn, tau_group and the chosen group."""
    return [float(word) for word in page.get_by_text("values ").inner_text().split()[1:]]


def mark(page: Any) -> None:
    page.evaluate("document.querySelectorAll('.figure .main-svg').forEach((svg) => { svg.marked = true; })")


def marked(page: Any) -> int:
    return page.evaluate("[...document.querySelectorAll('.figure .main-svg')].filter((svg) => svg.marked).length")


def fills(page: Any, key: str, uid: str) -> list[str]:
    """Return the fill of every drawn point of a trace."""
    return page.evaluate(
        """([box, uid]) => [...document.querySelectorAll(box + ' g.trace')]
          .filter((node) => node.__data__[0].trace.uid === uid)
          .flatMap((node) => [...node.querySelectorAll('path.point, .point > path')])
          .map((point) => getComputedStyle(point).fill)""",
        [box_of(key), uid],
    )


def rgb(colour: str) -> str:
    if colour.startswith("#"):
        return f"rgb({int(colour[1:3], 16)}, {int(colour[3:5], 16)}, {int(colour[5:7], 16)})"
    return colour.replace(",", ", ")


def expected_sides(tau_dim: float, tau_dpn: float) -> list[str]:
    return [rgb(OPT if n <= tau_dim and s <= tau_dpn else DPN) for n, s in zip(SIZES, SCORES, strict=True)]


def expected_groups(tau: float, theme: str) -> list[str]:
    root = list(range(8))
    for i, j, weight in EDGES:
        if weight > tau:
            low, high = sorted((root[i], root[j]))
            root = [low if k == high else k for k in root]
    alone = rgb(tokens(theme)["@bg"])
    return [alone if root.count(r) == 1 else rgb(GROUPS[r % 10]) for r in root]


def test_drag_previews_without_the_server_and_commits_on_release(demo: Session) -> None:
    page = demo.page
    mark(page)
    before, drawn = answered(page), marked(page)
    frame = page.locator(box_of("thresholds")).bounding_box()
    x, y = grab(page, "Largest domain")
    page.mouse.move(x - 150, y, steps=10)
    moved = value(page, "Largest domain")
    assert moved < 150
    assert fills(page, "thresholds", "groups") == expected_sides(moved, before[1])
    assert fills(page, "thresholds", "bars")[:8] == expected_sides(moved, before[1])
    region = page.locator(f"{box_of('thresholds')} .under .region").bounding_box()
    rule = page.locator(f"{box_of('thresholds')} .rule").first.bounding_box()
    assert abs(region["x"] + region["width"] - rule["x"] - 1) < 2
    page.wait_for_timeout(300)
    assert answered(page) == before
    page.mouse.up()
    demo.idle()
    assert answered(page) == [moved, *before[1:]]
    assert demo.number("number_tau_dim").input_value() == f"{moved:g}"
    drag(page, "Score threshold", 0, -120)
    demo.idle()
    assert value(page, "Score threshold") == answered(page)[1] > 0.5
    assert marked(page) == drawn, "a chart was re-mounted"
    assert page.locator(box_of("thresholds")).bounding_box() == frame
    # A press and release without a movement changes nothing.
    last = answered(page)
    grab(page, "Score threshold")
    page.mouse.up()
    demo.idle()
    assert answered(page) == last


def test_groups_recolour_in_the_browser_and_snap_to_where_they_change(demo: Session) -> None:
    page = demo.page
    start = answered(page)[2]
    assert fills(page, "graph", "nodes") == expected_groups(start, "light")
    grip = handle(page, "Grouping threshold")
    grip.focus()
    weights = sorted(w for *_, w in EDGES)
    page.keyboard.press("PageUp")
    assert value(page, "Grouping threshold") == min(w for w in weights if w > start)
    demo.idle()
    page.keyboard.press("End")
    demo.idle()
    assert answered(page)[2] == 0.4
    assert fills(page, "graph", "nodes") == expected_groups(0.4, "light")
    seen = set()
    x, y = grab(page, "Grouping threshold")
    for step in range(0, 300, 5):
        page.mouse.move(x - step, y)
        tau = value(page, "Grouping threshold")
        seen.add(tau)
        assert fills(page, "graph", "nodes") == expected_groups(tau, "light")
    page.mouse.up()
    demo.idle()
    assert answered(page)[2] == value(page, "Grouping threshold")
    assert seen & set(weights), "no drag stayed on a value where a group splits"
    hulls = page.locator(f"{box_of('graph')} .hulls path").count()
    roots = expected_groups(answered(page)[2], "light")
    assert hulls == len(set(roots) - {rgb(tokens("light")["@bg"])})


def test_keys_are_all_counted_and_escape_takes_a_drag_back(demo: Session) -> None:
    page = demo.page
    handle(page, "Score threshold").focus()
    for _ in range(7):
        page.keyboard.press("ArrowUp")
    assert value(page, "Score threshold") == pytest.approx(0.37)
    demo.idle()
    assert answered(page)[1] == pytest.approx(0.37)
    page.keyboard.press("Home")
    demo.idle()
    assert answered(page)[1] == 0
    x, y = grab(page, "Largest domain")
    page.mouse.move(x - 200, y, steps=4)
    assert value(page, "Largest domain") != 300
    page.keyboard.press("Escape")
    assert value(page, "Largest domain") == 300
    page.mouse.up()
    demo.idle()
    assert answered(page)[0] == 300
    # The twin field moves the handle.
    demo.number("number_tau_dim").fill("90")
    demo.number("number_tau_dim").press("Enter")
    page.locator('.handle[aria-label="Largest domain"][aria-valuenow="90"]').wait_for()
    demo.idle()
    assert value(page, "Largest domain") == answered(page)[0] == 90
    handle(page, "Largest domain").focus()
    page.keyboard.press("ArrowRight")
    assert value(page, "Largest domain") == 95  # five percent, whole
    assert handle(page, "Largest domain").get_attribute("aria-valuetext") == "95"
    assert handle(page, "Score threshold").get_attribute("aria-orientation") == "vertical"


def test_a_click_picks_a_point_even_under_a_handle(demo: Session) -> None:
    page = demo.page

    def click(k: int) -> None:
        spot = page.evaluate(
            """([box, k]) => { const plot = document.querySelector(box + ' .plot'), rect = plot.getBoundingClientRect();
              const { xaxis, yaxis } = plot._fullLayout, trace = plot._fullData[0];
              const x = xaxis._offset + xaxis.d2p(trace.x[k]), y = yaxis._offset + yaxis.d2p(trace.y[k]);
              return [rect.left + x, rect.top + y]; }""",
            [box_of("thresholds"), k],
        )
        page.mouse.move(*spot)
        page.mouse.click(*spot)
        demo.idle()

    click(5)
    assert answered(page)[3] == 5
    click(7)  # within the handle's catch
    assert answered(page)[3] == 7


def test_names_are_text(demo: Session) -> None:
    labels = demo.page.locator(f"{box_of('thresholds')} .annotation-text").all_text_contents()
    assert "<b>R&D</b>" in labels
    plot = demo.page.locator(f"{box_of('thresholds')} .plot")
    assert plot.get_attribute("role") == "img"
    assert plot.get_attribute("aria-label").endswith("of 8 groups are optimised")


def test_downloads_are_slide_sized(demo: Session, tmp_path: Any) -> None:
    page = demo.page
    page.locator(box_of("thresholds")).hover()
    with page.expect_download() as waiting:
        page.locator(f"{box_of('thresholds')} .save button").first.click()
    png = tmp_path / "figure.png"
    waiting.value.save_as(png)
    assert waiting.value.suggested_filename == "thresholds.png"
    assert struct.unpack(">II", png.read_bytes()[16:24]) == (2560, 1440)
    with page.expect_download() as waiting:
        page.locator(f"{box_of('graph')} .save button").nth(1).click()
    svg = tmp_path / "figure.svg"
    waiting.value.save_as(svg)
    drawn = svg.read_text()
    assert drawn.startswith("<svg")
    assert "0.100" in drawn  # the handle's flag
    assert "@" not in drawn  # no unresolved token


def test_dark_theme_and_a_change_of_theme(session: Callable[..., Session]) -> None:
    demo = session(DEMO, color_scheme="dark", reduced_motion="reduce").open()
    page = demo.page
    background = "getComputedStyle(document.querySelector('[data-testid=stApp]')).backgroundColor"
    heading = f"getComputedStyle(document.querySelector('{box_of('thresholds')} .annotation-text')).fill"
    assert page.evaluate(background) == rgb(tokens("dark")["@bg"])
    assert page.evaluate(heading) == rgb("#E4E9EC")
    assert fills(page, "graph", "nodes") == expected_groups(0.1, "dark")
    tick = f"getComputedStyle(document.querySelector('{box_of('thresholds')} .xtick text')).fill"
    assert page.evaluate(tick) == rgb(tokens("dark")["@muted"])
    page.emulate_media(color_scheme="light", reduced_motion="reduce")
    page.wait_for_function(f"{heading} === '{rgb('#17222B')}'")
    assert fills(page, "graph", "nodes") == expected_groups(0.1, "light")


@pytest.mark.parametrize("motion, lasts", [("reduce", ("0s", "1e-05s")), ("no-preference", ("0.15s",))])
def test_what_a_threshold_removes_fades_unless_motion_is_unwanted(
    session: Callable[..., Session], motion: str, lasts: tuple[str, ...]
) -> None:
    page = session(DEMO, reduced_motion=motion).open().page
    assert page.locator(".figure .fading").count() == 0
    handle(page, "Grouping threshold").focus()
    page.keyboard.press("End")
    fading = page.locator(".figure .fading")
    fading.first.wait_for()
    assert fading.first.evaluate("(link) => getComputedStyle(link).transitionDuration") in lasts


def test_touch(session: Callable[..., Session]) -> None:
    demo = session(DEMO, has_touch=True).open()
    page = demo.page
    flag = handle(page, "Largest domain").locator(".flag").bounding_box()
    x, y = flag["x"] + flag["width"] / 2, flag["y"] + flag["height"] / 2
    touch = page.context.new_cdp_session(page)
    touch.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": x, "y": y}]})
    for step in range(1, 9):
        point = {"x": x - 15 * step, "y": y + 2}
        touch.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": [point]})
    touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    demo.idle()
    assert value(page, "Largest domain") == answered(page)[0] < 200


def test_figures_follow_the_width(demo: Session) -> None:
    page = demo.page
    figure = page.locator(box_of("thresholds"))
    assert figure.bounding_box()["width"] >= 760
    page.set_viewport_size({"width": 1920, "height": 1080})
    page.wait_for_function(
        f"document.querySelector('{box_of('thresholds')} .main-svg').getBoundingClientRect().width > 1250"
    )
    rule = page.locator(f"{box_of('thresholds')} .rule").first.bounding_box()
    axis = page.evaluate(
        f"""() => {{ const plot = document.querySelector('{box_of("thresholds")} .plot'), axis = plot._fullLayout.xaxis;
          return plot.getBoundingClientRect().left + axis._offset + axis.d2p(300); }}"""
    )
    assert abs(rule["x"] + 1 - axis) <= 1


AXES: dict[str, Any] = {"xaxis": {"range": [0, 1]}, "yaxis": {"range": [0, 1]}}
LINE: dict[str, Any] = {"type": "scatter", "mode": "lines", "x": [0, 1], "y": [0, 1]}
BAR: dict[str, Any] = {
    "type": "bar",
    "orientation": "h",
    "width": 0.5,
    "textposition": "none",
    "x": [1, 2],
    "y": [0, 1],
}
PART = """async ([first, second, layout]) => {
  const address = performance.getEntriesByType('resource').map((e) => e.name).find((name) => name.endsWith('moves.js'));
  const { stillPart } = await import(address);
  const part = (trace) => JSON.stringify(stillPart({ data: [trace], layout }));
  return part(first) === part(second);
}"""


CHANGES: tuple[tuple[dict[str, Any], dict[str, Any], dict[str, Any], bool], ...] = (
    (LINE, {"y": [0, 0.5]}, AXES, True),
    (LINE, {"x": [0, 0.5, 1], "y": [0, 0.1, 1]}, AXES, True),
    (LINE | {"fill": "toself"}, {"y": [1, 0]}, AXES, True),
    (LINE | {"mode": "markers"}, {"x": [0.2, 0.3]}, AXES, True),
    (BAR, {"x": [2, 1]}, AXES, True),
    (LINE | {"mode": "text", "text": ["a", "b"]}, {"text": ["c", "d"]}, AXES, True),
    # What the library would place, or would draw otherwise.
    (LINE, {"y": [0, 0.5]}, AXES | {"yaxis": {}}, False),
    (LINE, {"line": {"color": "red"}}, AXES, False),
    (LINE | {"line": {"shape": "hv"}}, {"y": [1, 0]}, AXES, False),
    (LINE | {"fill": "tonexty"}, {"y": [1, 0]}, AXES, False),
    ({name: LINE[name] for name in ("type", "x", "y")}, {"y": [1, 0]}, AXES, False),
    (LINE | {"mode": "markers"}, {"x": [0.2], "y": [0.1]}, AXES, False),
    (LINE | {"error_y": {"array": [1, 1]}}, {"y": [1, 0]}, AXES, False),
    (LINE | {"mode": "text", "text": ["a", "b"]}, {"x": [1, 0]}, AXES, False),
    (LINE | {"mode": "text", "text": ["a", "b"]}, {"text": ["<b>a</b>", "b"]}, AXES, False),
    (BAR | {"textposition": "outside"}, {"x": [2, 1]}, AXES, False),
    ({name: BAR[name] for name in BAR if name != "orientation"}, {"x": [2, 1]}, AXES, False),
    (LINE | {"type": "scattergl"}, {"y": [1, 0]}, AXES, False),
)
"""A trace, what changes of it, the axes, and whether that can be done in place."""


def test_only_what_can_be_moved_in_place_is(demo: Session) -> None:
    for trace, change, layout, moves in CHANGES:
        assert demo.page.evaluate(PART, [trace, trace | change, layout]) is moves, (trace, change)


OVERTAKEN = """async ([turns]) => {
  const loaded = performance.getEntriesByType('resource').map((entry) => entry.name);
  const plotly = loaded.find((name) => name.includes('plotly.min'));
  const { show, close } = await import(loaded.find((name) => name.endsWith('figure.js')));
  const parent = document.createElement('div');
  parent.innerHTML = '<div class="figure"></div>';
  document.body.append(parent);
  const figure = JSON.stringify({ data: [{ type: 'scatter', x: [0, 1], y: [0, 1] }], layout: {} });
  const rest = { figure, plotly, height: 200, name: 'line', handles: [], regions: [], previews: [], ack: 0, picks: 0 };
  for (const turn of turns) show(parent, { ...rest, turn, alt: `figure ${turn}` }, () => undefined);
  const until = performance.now() + 10000;
  while (!parent.querySelector('.figure').dataset.ready && performance.now() < until)
    await new Promise((done) => setTimeout(done, 20));
  const shown = parent.querySelector('.plot').getAttribute('aria-label');
  close(parent);
  parent.remove();
  return shown;
}"""


@pytest.mark.parametrize("turns", [[1, 2], [2, 1], [1, 3, 2]])
def test_a_figure_that_was_overtaken_is_not_shown(demo: Session, turns: list[int]) -> None:
    # While the component loads, the framework may hand over an older figure after a newer one.
    assert demo.page.evaluate(OVERTAKEN, [turns]) == f"figure {max(turns)}"
