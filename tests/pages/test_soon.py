"""What is shown at once or later: a result within a moment is kept, a longer one is given up and left for later."""

import time
from typing import Any

import pytest

from pages._ui import late, soon


@pytest.fixture(autouse=True)
def _session(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: dict[str, Any] = {}
    monkeypatch.setattr(late.state, "option", kept.get)
    monkeypatch.setattr(late.state, "set_option", kept.__setitem__)


def test_a_quick_result_is_kept_under_its_token() -> None:
    calls: list[int] = []

    def compute(_progress: Any) -> int:
        calls.append(1)
        return 7

    assert soon.attempt("x", "a", compute) == 7
    assert soon.attempt("x", "a", compute) == 7
    assert len(calls) == 1
    soon.attempt("x", "b", compute)
    assert len(calls) == 2


def test_a_long_one_is_given_up_at_the_next_word_of_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(soon, "MOMENT", 0.02)

    def compute(progress: Any) -> int:
        for step in range(1000):
            progress(step / 1000, "")
            time.sleep(0.005)
        return 1

    start = time.monotonic()
    assert soon.attempt("x", "a", compute) is None
    assert time.monotonic() - start < 1
    assert late.recall("x", "a") is None
    # What was computed behind the picture meanwhile is then at hand.
    late.keep("x", "a", 5)
    assert soon.attempt("x", "a", compute) == 5


def test_other_errors_are_not_swallowed() -> None:
    def refused(_progress: Any) -> int:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        soon.attempt("x", "a", refused)
