"""What the page tests share: every run of the tester begins as on a fresh server, as a browser's does."""

import pytest

from pages._ui import outputs
from tests.pages.opening import leave_the_strip_out, pass_through_the_app


@pytest.fixture(autouse=True)
def every_tab(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw closed tabs too: the tester cannot open one."""
    monkeypatch.setattr(outputs, "LAZY_TABS", False)


@pytest.fixture
def main_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every run of the tester pass through the app."""
    pass_through_the_app(monkeypatch)


@pytest.fixture
def no_strip(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the design for the live strip out."""
    leave_the_strip_out(monkeypatch)
