"""Help everywhere: every control of every page says what it does, and every knob which end is more private."""

import dataclasses

import pytest
from streamlit.testing.v1 import AppTest

from core.scenario import Scenario
from pages._ui import state, text
from tests.pages.opening import opened, start_by_the_main_page

PAGES = (
    "data", "dependencies", "losses", "mechanisms", "budget", "release", "noise_tiers", "categorical_tiers", "concepts",
)  # fmt: skip
CONTROLS = (
    "button", "button_group", "checkbox", "download_button", "file_uploader", "multiselect", "number_input", "radio",
    "segmented_control", "select_slider", "selectbox", "slider", "text_area", "text_input", "toggle",
)  # fmt: skip
SHORTEST = 12
"""Characters below which help says nothing."""


@pytest.fixture(autouse=True)
def _frame(monkeypatch: pytest.MonkeyPatch) -> None:
    start_by_the_main_page(monkeypatch)
    monkeypatch.setattr(state, "_STALE", 0.0)


def controls(app: AppTest) -> list[tuple[str, str, str]]:
    """Return kind, label and help of every control, those behind tabs and in popovers too."""
    found = [(kind, e.proto.label, e.proto.help) for kind in CONTROLS for e in app.get(kind)]
    return found + [("popover", e.proto.popover.label, e.proto.popover.help) for e in app.get("popover")]


def silent(app: AppTest) -> list[tuple[str, str]]:
    assert not app.exception
    found = controls(app)
    assert len(found) > 10, "the walk missed the controls"
    return [(kind, label) for kind, label, said in found if len(said) < SHORTEST]


@pytest.mark.parametrize("page", PAGES)
def test_every_control_says_what_it_does(page: str) -> None:
    assert not silent(opened(page, rule="DPN", tau_dim="10"))


@pytest.mark.parametrize("column", [0, 1])
def test_the_editor_of_a_column_does_too(column: int) -> None:
    app = opened("data", rule="DPN", data_column=str(column))
    assert any(label == "Kind" for _, label, _ in controls(app))
    assert not silent(app)


def test_pinned_scenarios_and_an_empty_page_do_too() -> None:
    app = opened("dependencies", rule="DPN", tau_dim="10")
    app.button(key="pin_A").click().run()
    assert any(label == "Unpin" for _, label, _ in controls(app))
    assert not silent(app)
    assert not silent(opened("budget", data="upload"))


@pytest.mark.parametrize("name", [f.name for f in dataclasses.fields(Scenario) if f.name != "attributes"])
def test_every_knob_says_what_it_means_for_privacy(name: str) -> None:
    said = text.KNOBS[name].help.lower()
    assert any(word in said for word in ("more private", "guarantee", "certificate"))


def test_the_budget_says_which_end_is_more_private() -> None:
    assert "Smaller is more private" in text.KNOBS["epsilon"].help
    assert text.KNOBS["epsilon"].ends == ("more private", "more useful")
