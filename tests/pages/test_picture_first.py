"""What stands around a page is drawn once: before it, or behind the picture that answers a drag."""

import time
from typing import Any

import pytest
from streamlit.runtime.scriptrunner import StopException

from pages._ui import picture_first


@pytest.fixture(autouse=True)
def _session(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: dict[str, Any] = {}
    monkeypatch.setattr(picture_first.state, "option", kept.get)
    monkeypatch.setattr(picture_first.state, "set_option", kept.__setitem__)
    monkeypatch.setattr(picture_first, "BREATH", 0.05)


def run(log: list[str], *, sends: str = "chart", ends: type[BaseException] | None = None) -> float:
    """Run a page that sends one figure and then its tabs, and return how long it took."""
    began = time.monotonic()
    with picture_first.run():
        picture_first.later(lambda: log.append("address"))
        picture_first.later(lambda: log.append("sidebar"))
        log.append("figure")
        if ends is not None:
            raise ends
        picture_first.sent(sends)
        log.append("tabs")
    return time.monotonic() - began


def test_without_a_drag_nothing_waits() -> None:
    log: list[str] = []
    assert run(log) < picture_first.BREATH
    assert log == ["address", "sidebar", "figure", "tabs"]


def test_a_drag_is_answered_by_its_picture_and_the_next_run_is_like_any_other() -> None:
    log: list[str] = []
    picture_first.dragged("chart")
    assert picture_first.answering()
    assert run(log) >= picture_first.BREATH
    assert log == ["figure", "address", "sidebar", "tabs"]
    assert not picture_first.answering()
    log.clear()
    assert run(log) < picture_first.BREATH
    assert log == ["address", "sidebar", "figure", "tabs"]


def test_a_figure_that_is_not_there_any_more_is_not_waited_for() -> None:
    log: list[str] = []
    picture_first.dragged("of another page")
    assert run(log) < picture_first.BREATH
    assert log == ["figure", "tabs", "address", "sidebar"]


def test_what_stands_before_the_picture_is_drawn_behind_it_in_order() -> None:
    log: list[str] = []
    picture_first.later(lambda: log.append("no page"))
    picture_first.dragged("chart")
    with picture_first.run():
        picture_first.later(lambda: log.append("sidebar"))
        picture_first.later(lambda: log.append("head"))
        log.append("figure")
        picture_first.sent("chart")
        picture_first.later(lambda: log.append("at once"))
    assert log == ["no page", "figure", "sidebar", "head", "at once"]


def test_a_page_that_stops_early_keeps_what_stands_around_it() -> None:
    log: list[str] = []
    picture_first.dragged("chart")
    with pytest.raises(StopException):
        run(log, ends=StopException)
    assert log == ["figure", "address", "sidebar"]


def test_a_run_that_is_abandoned_draws_nothing_more() -> None:
    log: list[str] = []
    picture_first.dragged("chart")
    with pytest.raises(KeyError):
        run(log, ends=KeyError)
    assert log == ["figure"]
    log.clear()
    # The next run answers no drag.
    assert run(log) < picture_first.BREATH
    assert log == ["address", "sidebar", "figure", "tabs"]
