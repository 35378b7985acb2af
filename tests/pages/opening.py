"""Sessions of the app without a browser, opened on one page."""

from pathlib import Path

import pytest
import streamlit
from streamlit.runtime.pages_manager import PagesManager
from streamlit.testing.v1 import AppTest

from pages._ui import late, shell

APP = str(Path(__file__).resolve().parents[2] / "app.py")


def pass_through_the_app(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every run of the tester pass through the app as a browser does: the tester runs a page's file alone."""

    def guard() -> None:
        if PagesManager.uses_pages_directory:
            streamlit.navigation(shell.pages())
            streamlit.rerun()

    monkeypatch.setattr(shell, "guard", guard)


def leave_the_strip_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out the design for the live strip, and the quiet before late work: both are tested once elsewhere."""
    monkeypatch.setattr(late, "finish_strip", lambda: None)
    monkeypatch.setattr(late, "_GRACE", 0.0)


def start_by_the_main_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do both."""
    pass_through_the_app(monkeypatch)
    leave_the_strip_out(monkeypatch)


def opened(page: str, **query: str) -> AppTest:
    """Return a session that looks at a page of Heart, or of what the query says."""
    app = AppTest.from_file(APP, default_timeout=120)
    for name, value in query.items():
        app.query_params[name] = value
    app.run()
    return app.switch_page(f"pages/{page}.py").run()


def words(app: AppTest) -> str:
    """Return all sentences of a page as HTML, with plain blanks."""
    return " ".join(element.proto.body for element in app.get("html")).replace("\N{NO-BREAK SPACE}", " ")
