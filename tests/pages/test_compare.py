"""Pinned scenarios beside the present one: rows under the strip, a tab on every results page, lost uploads, no cost."""

import json

import pytest
from streamlit.testing.v1 import AppTest

from pages._ui import compare, state
from tests.pages.opening import opened, words

pytestmark = pytest.mark.usefixtures("main_page", "no_strip")

SMALL = {
    "columns": json.dumps([{"column": column, "include": False} for column in range(14) if column not in (0, 1, 8, 12)])
}
"""Four attributes of Heart, so that every design takes a moment only."""
CSV = b"a,b,n\n" + b"".join(f"{'xyz'[i % 3]},{'pq'[i % 2]},{i % 7}\n".encode() for i in range(60))


def labels(app: AppTest) -> list[str]:
    return [tab.label for tab in app.tabs]


def test_without_a_pin_nothing_is_shown_or_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object, **__: object) -> None:
        raise AssertionError("a comparison was computed")

    monkeypatch.setattr(compare, "take_snapshot", never)
    monkeypatch.setattr(compare, "compare_designs", never)
    app = opened("dependencies", **SMALL)
    assert not app.exception
    assert not any("beside" in label for label in labels(app))


def test_a_pin_is_compared_with_the_present_on_every_page() -> None:
    app = opened("dependencies", **SMALL)
    app.button(key="pin_A").click().run()
    assert "A beside the present" in labels(app)
    assert "All settings are the same." in [caption.value for caption in app.caption]
    app.number_input(key="number_tau_group").set_value(0.5).run()
    assert not app.exception
    said = words(app)
    assert "groups become 4</b>" in said
    assert "the present loses" in said
    settings = next(frame.value for frame in app.dataframe if "setting" in frame.value)
    assert settings["setting"].tolist() == ["Threshold (tau_group)"]
    assert settings["A"].tolist() == ["0.1"]
    assert settings["the present"].tolist() == ["0.5"]
    for page in ("losses", "mechanisms"):
        app.switch_page(f"pages/{page}.py").run()
        assert not app.exception
        assert labels(app)[0] == "A beside the present"
        groups = next(frame.value for frame in app.dataframe if "choice, A" in frame.value)
        assert groups["epsilon, present"].notna().sum() == 4


def test_two_pins_are_compared_with_each_other_across_data_sets() -> None:
    app = opened("dependencies", **SMALL)
    app.button(key="pin_A").click().run()
    app.slider(key="slider_epsilon").set_value(2.0).run()
    app.button(key="pin_B").click().run()
    assert labels(app)[0] == "A beside B"
    assert "than A</small>" in words(app)
    # Another table in front changes nothing about the two.
    app.selectbox(key="choice_source").set_value("wine").run()
    assert not app.exception
    assert labels(app)[0] == "A beside B"
    assert "Both have the same" in words(app)


def upload(app: AppTest, content: bytes) -> AppTest:
    app.switch_page("pages/data.py").run()
    app.file_uploader(key="upload").upload("t.csv", content, "text/csv")
    return app.run()


def test_a_pin_of_an_upload_that_is_gone_says_so_and_cannot_be_opened() -> None:
    app = upload(opened("data"), CSV)
    app.button(key="pin_A").click().run()
    upload(app, CSV.replace(b"x", b"w"))
    app.switch_page("pages/dependencies.py").run()
    assert not app.exception
    assert "its table is no longer loaded" in words(app)
    assert "was pinned on an upload that is no longer loaded" in words(app)
    app.button(key="open_A").click().run()
    assert "belongs to an upload that is no longer loaded" in words(app)
    app.button(key="unpin_A").click().run()
    assert "no longer loaded, so" not in words(app)


def test_a_pinned_design_that_is_refused_says_why() -> None:
    app = opened("dependencies", **SMALL)
    app.selectbox(key="choice_task").set_value("crowdsourcing").run()
    app.button(key="pin_A").click().run()
    app.selectbox(key="choice_task").set_value("frequency").run()
    assert not app.exception
    assert "There is no design:" in words(app)
    assert "<b>A</b> has no design" in words(app)


def test_lost_pins_are_recognised_by_content(monkeypatch: pytest.MonkeyPatch) -> None:
    session = state._Session()
    monkeypatch.setattr(state, "_session", lambda: session)
    state.load_upload(CSV, "t.csv")
    state.pin("A")
    pinned = state.pins()["A"]
    assert not state.is_lost(pinned)
    state.load_upload(CSV + b"x,q,1\n", "t.csv")
    assert state.is_lost(pinned)
    # The same table, uploaded once more, brings the pin back.
    state.load_upload(CSV, "t.csv")
    assert not state.is_lost(pinned)
