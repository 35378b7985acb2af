"""The Mechanisms page without a browser: thresholds, rules, single attributes, channels, huge groups, no table."""

import json

import pytest
from streamlit.testing.v1 import AppTest

from pages._ui import validation
from tests.pages.opening import opened, words

pytestmark = pytest.mark.usefixtures("main_page", "no_strip")


KEPT = (0, 1, 2, 6, 8, 12)
SMALL = {
    "columns": json.dumps([{"column": column, "include": False} for column in range(14) if column not in KEPT]),
    "tau_dpn": "0.1",
}
"""Six attributes of Heart in four small groups, so that their optimal channels take a moment only."""


def choices(app: AppTest) -> dict[str, str]:
    table = next(frame.value for frame in app.dataframe if "choice" in frame.value)
    return dict(zip(table["group"], table["choice"], strict=True))


def test_it_opens_on_the_telling_group_with_its_channels_and_stability() -> None:
    app = opened("mechanisms", **SMALL)
    assert not app.exception
    assert "<b>1 of 4 groups</b> is optimised: age" in words(app)
    table = next(frame.value for frame in app.dataframe if "choice" in frame.value)
    # The optimised group receives no budget here, so the one that would gain most is shown.
    assert table["regret, %"][0] == 0
    assert app.selectbox(key="choice_mechanism_group").value == table["regret, %"].idxmax()
    assert app.selectbox(key="choice_channel_left").value == "EM, remapped (distance)"
    assert app.selectbox(key="choice_channel_right").value == "OPT"
    losses = next(frame.value for frame in app.dataframe if "OPT would save" in frame.value)
    assert losses["mechanism"].tolist()[-2:] == ["OPT", "constant"]
    assert losses["expected loss"].min() == losses.set_index("mechanism")["expected loss"]["OPT"]
    stability = next(frame.value for frame in app.dataframe if "agreement" in frame.value)
    assert stability["agreement"].dropna().between(0, 1).all()
    assert "On held-out pairs the choice stays the same" in words(app)
    app.selectbox(key="choice_mechanism_group").set_value(1).run()
    assert not app.exception
    app.selectbox(key="choice_true_state").set_value(2).run()
    assert not app.exception
    row = next(frame.value for frame in app.dataframe if "released state" in frame.value)
    assert row["constant"].sum() == pytest.approx(1)


def test_the_thresholds_decide_and_the_rule_can_be_another() -> None:
    app = opened("mechanisms", **SMALL)
    assert {group for group, choice in choices(app).items() if choice == "OPT"} == {"age"}
    app.number_input(key="number_tau_dpn").set_value(0.28).run()
    assert not app.exception
    assert {group for group, choice in choices(app).items() if choice == "OPT"} == {"age", "sex +1", "rest_ecg"}
    app.number_input(key="number_tau_dim").set_value(5).run()
    assert {group for group, choice in choices(app).items() if choice == "OPT"} == {"age", "rest_ecg"}
    app.number_input(key="number_tau_dim").set_value(300).run()
    app.selectbox(key="choice_rule").set_value("regret").run()
    assert not app.exception
    assert app.number_input(key="number_tau_regret").value == 0.1
    assert not any(field.key == "number_tau_dpn" for field in app.number_input)
    table = next(frame.value for frame in app.dataframe if "choice" in frame.value)
    assert ((table["regret, %"] > 10) == (table["choice"] == "OPT")).all()


def test_single_attributes_are_judged_beside_the_groups() -> None:
    app = opened("mechanisms", **SMALL)
    app.segmented_control(key="segments_mechanisms_single").set_value(True).run()
    assert not app.exception
    assert "of 6 attributes</b>" in words(app)
    assert len(choices(app)) == 6
    assert not any(box.key == "choice_mechanism_group" for box in app.selectbox)


def test_a_huge_group_is_shown_part_by_part() -> None:
    app = opened("mechanisms", tau_group="0", domain="product")
    assert not app.exception
    assert "too many for a channel of its own" in words(app)
    parts = next(frame.value for frame in app.dataframe if "attribute" in frame.value)
    assert len(parts) == 13
    assert "<b>0 of 1 groups</b> are optimised" in words(app)


def test_without_a_table_one_button_brings_a_sample() -> None:
    app = opened("mechanisms", data="upload")
    assert "No table is loaded yet." in words(app)
    assert not app.exception


def test_the_validation_study_runs_behind_the_page_and_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    fresh = validation.Runner()
    monkeypatch.setattr(validation, "runner", fresh)
    monkeypatch.setattr(validation, "INSTANCES", 10)
    app = opened("mechanisms", **SMALL)
    assert "Does a low score announce a gain?" in words(app)
    app.button(key="validation_run").click().run()
    fresh.wait()
    assert len(fresh.study.instances) == 10
    assert not fresh.problem
    app.run()
    assert not app.exception
    assert any("10 instances in" in caption.value for caption in app.caption)
    assert len(next(frame.value for frame in app.dataframe if "regret of EM" in frame.value)) == 10
    # Nothing is left to run, and another session sees the same study.
    assert not [button for button in app.button if button.key == "validation_run"]
    assert any("10 instances in" in caption.value for caption in opened("mechanisms", **SMALL).caption)


def test_a_stopped_study_keeps_what_it_found() -> None:
    study = validation.Runner()
    study.stop()
    study.start()
    study.stop()
    study.wait()
    found = len(study.study.instances)
    assert found < 100
    assert not study.running
    study.start()
    study.start()
    study.stop()
    study.wait()
    assert len(study.study.instances) >= found
