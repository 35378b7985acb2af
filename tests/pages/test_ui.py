"""The parts that pages are built from: links, state, widgets, boxes of sentences, and the files of the figure."""

import dataclasses
import io
import json
import math
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from core.plots import Components, Handle, Picture, Region
from core.scenario import CHOICES, AttributeSpec, Scenario
from core.table import sample_scenario
from pages._ui import inputs, link, outputs, shell, state, text
from pages._ui.figure import component, files

# --- links -----------------------------------------------------------------------------------------------------------

SPEC = AttributeSpec(2, kind="numeric", bins=7, binning="edges", edges=(1.5, 2.0, 4.0), low=0.0, high=9.0, weight=2.0)
NOMINAL = AttributeSpec(4, levels=("secret", "names"), distance=((0.0, 1.0), (1.0, 0.0)), include=True)


def test_a_scenario_as_it_opens_needs_no_knobs() -> None:
    base = sample_scenario("heart")
    assert link.write("heart", base, base) == {"data": "heart"}


@given(
    epsilon=st.floats(0.01, 50),
    p=st.sampled_from([1.0, 1.5, 2.0, math.inf]),
    tau_group=st.floats(0, 1),
    tau_dim=st.integers(1, 1000),
    tau_dpn=st.none() | st.floats(-1, 1),
    target=st.none() | st.integers(0, 13),
    corrected=st.booleans(),
    task=st.sampled_from(CHOICES["task"]),
    rule=st.sampled_from(CHOICES["rule"]),
)
def test_a_link_brings_back_the_scenario(corrected: bool, **knobs: Any) -> None:
    scenario = Scenario(corrected_nmi=corrected, attributes=(SPEC, NOMINAL), **knobs)
    for base in (Scenario(), sample_scenario("wine")):
        assert link.read(link.write("adult", scenario, base), base) == (scenario, "")


def test_a_link_to_an_upload_holds_no_names_levels_or_edges() -> None:
    query = link.write("upload", Scenario(attributes=(SPEC, NOMINAL)), Scenario())
    assert json.loads(query["columns"]) == [
        {"column": 2, "kind": "numeric", "bins": 7, "weight": 2.0},
        {"column": 4, "include": True},
    ]
    scenario, sentence = link.read(query, Scenario())
    assert not sentence
    assert scenario.spec(2) == AttributeSpec(2, kind="numeric", bins=7, weight=2.0)


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ({"epsilon": "-1"}, "epsilon is"),
        ({"epsilon": "nan"}, "epsilon is"),
        ({"epsilon": "none"}, "epsilon is"),
        ({"tau_dim": "3.5", "p": "x"}, "p and tau_dim are"),
        ({"task": "<b>"}, "task is"),
        ({"corrected_nmi": "perhaps"}, "corrected_nmi is"),
        ({"target": "-1"}, "target is"),
        ({"columns": "[{]"}, "columns is"),
        ({"columns": '[{"column": 1, "kind": "odd"}]'}, "columns is"),
        ({"columns": '[{"column": 1, "weight": 1e999}]'}, "columns is"),
        ({"columns": "3"}, "columns is"),
        ({"columns": "[" * 5000}, "columns is"),
        ({"seed": "1" * 5000}, "seed is"),
        ({"contexts": "1e400"}, "contexts is"),
    ],
)
def test_what_is_not_usable_in_a_link_is_one_sentence(query: dict[str, str], named: str) -> None:
    scenario, sentence = link.read({**query, "tau_group": "0.25", "unknown": "x"}, Scenario())
    assert scenario == Scenario(tau_group=0.25)
    assert sentence.startswith(f"In this link {named} not usable")


# --- words and bounds ------------------------------------------------------------------------------------------------


def test_every_knob_has_words_and_every_picker_names_its_choices() -> None:
    knobs = {field.name for field in dataclasses.fields(Scenario)} - {"attributes"}
    assert set(text.KNOBS) == knobs
    for name in knobs & set(CHOICES):
        assert tuple(word for word, _ in text.KNOBS[name].options) == CHOICES[name]
    numeric = {field.name for field in dataclasses.fields(Scenario) if isinstance(field.default, float | int)}
    assert set(inputs.RANGES) - {"tau_dpn"} == numeric - {"corrected_nmi", "refine"}


# --- the state, through a small app ----------------------------------------------------------------------------------


def small_app() -> None:
    import streamlit as st

    from pages._ui import inputs, outputs, shell, state

    state.scenario()
    with st.sidebar:
        shell.sidebar()
    for sentence in state.notices():
        outputs.remark(sentence)
    state.write_link()
    inputs.number("epsilon", key="twin")
    inputs.number("tau_group", digits=3)
    inputs.number(inputs.knob("tau_dpn", 0.2))
    inputs.toggle("corrected_nmi")
    inputs.choice(inputs.option("shown", 1), options={1: "one", 2: "two"}, label="Shown")
    with outputs.guarded():
        st.text(f"{state.source()} {state.table().name} {state.scenario().epsilon:g} {state.option('shown', 1)}")


def start(**query: str) -> AppTest:
    app = AppTest.from_function(small_app, default_timeout=60)
    for name, word in query.items():
        app.query_params[name] = word
    app.run()
    assert not app.exception
    return app


def again(element: Any) -> AppTest:
    app: AppTest = element.run()
    assert not app.exception
    return app


def address(app: AppTest) -> dict[str, str]:
    return {name: word[0] if isinstance(word, list) else word for name, word in dict(app.query_params).items()}


def boxes(app: AppTest) -> str:
    return " ".join(element.proto.body for element in app.get("html"))


def test_opens_on_heart_with_its_scenario_and_a_clean_address() -> None:
    app = start()
    assert app.text[0].value == f"heart heart {sample_scenario('heart').epsilon:g} 1"
    assert address(app) == {}


def test_one_value_everywhere_and_undo(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "_ONE_GESTURE", 1e9)  # the two changes of epsilon are one step
    app = start()
    again(app.number_input(key="twin").set_value(7.5))
    assert app.slider(key="slider_epsilon").value == 7.5
    assert address(app)["epsilon"] == "7.5"
    again(app.slider(key="slider_epsilon").set_value(2.0))
    assert app.number_input(key="twin").value == 2.0
    again(app.number_input(key="number_tau_group").set_value(0.25))
    assert address(app) == {"data": "heart", "epsilon": "2.0", "tau_group": "0.25"}
    again(app.button(key="undo").click())
    assert app.number_input(key="number_tau_group").value == sample_scenario("heart").tau_group
    assert app.number_input(key="twin").value == 2.0
    again(app.button(key="undo").click())
    assert app.slider(key="slider_epsilon").value == app.number_input(key="twin").value == 4.0
    assert app.button(key="undo").disabled
    again(app.button(key="redo").click())
    again(app.button(key="redo").click())
    assert address(app) == {"data": "heart", "epsilon": "2.0", "tau_group": "0.25"}


def test_slow_changes_of_one_knob_are_steps_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "_ONE_GESTURE", 0.0)
    app = start()
    again(app.number_input(key="twin").set_value(7.5))
    again(app.slider(key="slider_epsilon").set_value(2.0))
    again(app.button(key="undo").click())
    assert app.number_input(key="twin").value == 7.5
    again(app.number_input(key="twin").set_value(8.0))
    assert app.button(key="redo").disabled


def test_a_link_restores_a_fresh_session_and_bad_values_are_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    app = start(data="adult", epsilon="3", tau_group="7", other="kept")
    assert app.text[0].value == "adult adult 3 1"
    assert "In this link tau_group is not usable" in boxes(app)
    assert address(app) == {"data": "adult", "epsilon": "3.0", "other": "kept"}
    assert "In this link" in boxes(again(app))  # it stays for some seconds, whatever runs meanwhile
    monkeypatch.setattr(state, "_NOTICE", -1.0)
    assert "In this link" not in boxes(again(app))


def test_what_pages_show_is_in_the_link_by_position_only() -> None:
    options = {
        "mechanisms_single": True, "mechanism_group": (2, 5), "channel_left": "EM, remapped (distance)",
        "pair": (1, 12), "data_column": 3, "loss_own_scales": False, "target_loss heart": 3.0,
        "channel_right": "a name of a level", "tab_budget": "target-loss", "evaluation_view": "planner",
    }  # fmt: skip
    query = link.write_view(options)
    assert query == {
        "mechanisms_single": "yes", "mechanism_group": "2-5", "channel_left": "EM,-remapped-(distance)",
        "pair": "1-12", "data_column": "3", "tab_budget": "target-loss", "evaluation_view": "planner",
    }  # fmt: skip
    left_out = {"loss_own_scales", "target_loss heart", "channel_right"}
    assert link.read_view(query) == {name: value for name, value in options.items() if name not in left_out}
    assert link.write_view({"data_column": -1}) == {}
    assert set(query) <= link.names()


@pytest.mark.parametrize("word", ["", "-", "1-", "x", "-1", "1" * 9, "-".join("1" * 400), "²"])
def test_a_view_that_is_not_usable_is_left_at_rest(word: str) -> None:
    names = ("pair", "data_column", "mechanisms_single", "channel_left", "evaluation_view")
    assert link.read_view(dict.fromkeys(names, word)) == {}
    assert link.read_view({"data_column": "1-2"}) == {}
    for unusable in ("a--b", "A", "a b", "a" * 41):
        assert link.read_view({"tab_budget": unusable}) == {}


def test_an_unknown_data_set_in_a_link() -> None:
    app = start(data="<b>x</b>", epsilon="3")
    assert app.text[0].value.startswith("heart heart 4")
    assert "names a data set that is not here" in boxes(app)


def test_a_link_to_an_upload_brings_the_knobs_and_says_what_is_missing() -> None:
    app = start(data="upload", epsilon="3")
    assert app.slider(key="slider_epsilon").value == 3.0
    assert "upload it again on the Data page" in boxes(app)
    assert "No table is uploaded yet" in boxes(app)
    assert not app.text


def test_every_data_set_keeps_its_own_scenario() -> None:
    app = start()
    again(app.number_input(key="twin").set_value(7.5))
    again(app.selectbox(key="choice_source").set_value("wine"))
    assert app.text[0].value.startswith("wine wine")
    assert app.number_input(key="twin").value == sample_scenario("wine").epsilon
    again(app.selectbox(key="choice_source").set_value("heart"))
    assert app.number_input(key="twin").value == 7.5
    again(app.button(key="undo").click())
    assert app.text[0].value.startswith("wine wine")


def test_pins_are_kept_and_opened() -> None:
    app = start()
    again(app.button(key="pin_A").click())
    again(app.number_input(key="twin").set_value(9.0))
    assert "epsilon 4, tau" in boxes(app)
    again(app.button(key="open_A").click())
    assert app.number_input(key="twin").value == 4.0
    again(app.button(key="undo").click())
    assert app.number_input(key="twin").value == 9.0
    again(app.button(key="unpin_A").click())
    assert app.button(key="pin_A").label == "Pin A"


def test_options_and_switches() -> None:
    app = start()
    again(app.selectbox(key="choice_shown").set_value(2))
    assert app.text[0].value.endswith(" 2")
    again(app.toggle(key="toggle_corrected_nmi").set_value(True))
    assert address(app)["corrected_nmi"] == "true"
    again(app.number_input(key="number_tau_dpn").set_value(0.35))
    assert address(app)["tau_dpn"] == "0.35"


def scenario_app() -> None:
    import streamlit as st

    from core.scenario import Scenario
    from pages._ui import outputs, state

    sizes = st.session_state.setdefault("step", 0)
    st.session_state.step = sizes + 1
    if sizes == 0:
        state.open_scenario(Scenario(epsilon=2.5).to_json().encode())
        state.open_scenario(b"{")
        state.update(epsilon=-1)
        state.update_attribute(1, bins=1)
        state.update_attribute(1, bins=9)
        state.load_upload(b"a,b\n1,x\n2,y\n", "own <b>.csv")
        state.update(tau_group=0.3)
        state.reread_upload(header=False)
    for sentence in state.notices():
        outputs.remark(sentence)
    st.text(f"{state.source()} {state.scenario().epsilon:g} {state.scenario().tau_group:g} {len(state.table().frame)}")
    st.text(f"{state.table('heart').name} {state.has_table()} {state.can_undo()}")
    if sizes == 1:
        state.choose_source("heart")
        st.text(f"{state.scenario().epsilon:g} {state.scenario().spec(1).bins}")


def test_files_uploads_and_refused_values() -> None:
    app = AppTest.from_function(scenario_app, default_timeout=60).run()
    assert not app.exception
    assert app.text[0].value == "upload 4 0.3 3"  # without a header the first line is a row
    assert app.text[1].value == "heart True True"
    shown = boxes(app)
    assert "not readable JSON" in shown
    assert "privacy budget" in shown
    assert "number of bins" in shown
    app.run()
    assert app.text[2].value == "2.5 9"


def race_app() -> None:
    import streamlit as st

    from pages._ui import state

    ss = st.session_state
    ss["w"] = 1.0
    state.seat("w", 2.0)
    ss["w"] = 1.0  # the browser's message was on its way
    late = state.reported("w")
    ss["w"] = 3.0
    st.text(f"{late} {state.reported('w')}")


def test_a_late_report_of_a_replaced_value_is_no_wish() -> None:
    app = AppTest.from_function(race_app, default_timeout=30).run()
    assert app.text[0].value == "(False, 1.0) (True, 3.0)"


# --- boxes of sentences ----------------------------------------------------------------------------------------------


def boxes_app() -> None:
    import pandas as pd

    from core.errors import InputError
    from pages._ui import outputs

    outputs.head("Who <i>is</i> it?", "A **bold** <b>name</b>.", [outputs.Metric("a<b", "1 < 2", "&")])
    outputs.means("The largest is **<img src=x onerror=alert(1)>**.")
    outputs.key(("circle", "#AA4499", "<script>"), ("ring", "@neutral", "5 alone"))
    outputs.tabs(numbers=pd.DataFrame({"n": [0.123456789], "k": [3]}), method="m", details=None, name="t")
    with outputs.guarded():
        raise InputError("x", "The column <b> has no values; exclude it.")
    raise AssertionError("the page went on after a refusal")


def test_sentences_are_text_and_a_refusal_stops_the_page() -> None:
    app = AppTest.from_function(boxes_app, default_timeout=30).run()
    assert not app.exception
    shown = boxes(app)
    assert "<img" not in shown
    assert "<script" not in shown
    assert "A <b>bold</b> &lt;b&gt;name&lt;/b&gt;." in shown
    assert "1 &lt; 2" in shown
    assert "The column &lt;b&gt; has no values; exclude it." in shown
    assert [tab.label for tab in app.tabs] == ["Numbers", "Method"]


def stop_app() -> None:
    import streamlit as st

    from pages._ui import outputs

    with outputs.working("Solving", token="a", height=100) as progress:
        progress(0.5, "group 1 of 2")
        progress(2.0, "")
        result = 41 + 1
    st.text(f"done {result}")


def test_work_can_be_stopped_and_continued() -> None:
    app = AppTest.from_function(stop_app, default_timeout=30).run()
    assert app.text[0].value == "done 42"
    app.session_state["mdp_session"].options["stopped"] = "a"
    app.run()
    assert not app.text
    app.button(key="empty_button").click().run()
    assert app.text[0].value == "done 42"


def test_csv_has_full_precision() -> None:
    frame = pd.DataFrame({"name": ["a,b", "ü"], "value": [0.1 + 0.2, 1e-17]})
    # numbers as text first: older releases of pandas read them with fewer digits than were written
    back = pd.read_csv(io.BytesIO(outputs.to_csv(frame)), dtype={"value": str})
    back["value"] = back["value"].map(float)
    pd.testing.assert_frame_equal(back, frame, check_exact=True)


# --- the figure's Python side ----------------------------------------------------------------------------------------


def test_arrays_are_packed_and_holes_are_null() -> None:
    packed = component.pack(
        {
            "f": np.array([1.5, 2.5], dtype=np.float32),
            "m": np.array([[1, 2], [3, 4]], dtype=np.int32),
            "big": np.array([1, 2]),
            "words": np.array(["a", "b"]),
            "tuple": (1, math.nan, np.float64(2.5)),
            "series": pd.Series([0.5, math.nan]),
        }
    )
    assert packed["f"] == {"dtype": "f4", "bdata": "AADAPwAAIEA="}
    assert packed["m"]["shape"] == "2,2"
    assert packed["big"] == [1, 2]
    assert packed["words"] == ["a", "b"]
    assert packed["tuple"] == [1, None, 2.5]
    assert packed["series"]["dtype"] == "f8"
    json.dumps(packed, allow_nan=False)


def test_payload_is_json_and_names_every_preview() -> None:
    picture = Picture(
        traces=[{"x": np.arange(3.0)}],
        layout={},
        height=300,
        name="n",
        alt="a",
        handles=(Handle("tau", 0.1, 0, 1, 0.01, "T", snap=(0.2,)),),
        regions=(Region((None, "tau")),),
        previews=(Components("tau", "nodes", (("e", 0, 1, 0.5),)),),
    )
    sent = json.loads(json.dumps(component.payload(picture), allow_nan=False))
    assert sent["previews"][0]["kind"] == "components"
    assert sent["regions"][0]["x"] == [None, "tau"]
    assert sent["handles"][0]["snap"] == [0.2]
    assert json.loads(sent["figure"])["data"][0]["x"]["dtype"] == "f8"


def test_files_are_complete_whoever_starts_first(tmp_path: Path) -> None:
    folder = tmp_path / "static"
    with ThreadPoolExecutor(4) as pool:
        served = list(pool.map(lambda _: files._copy(folder), range(4)))
    assert len(set(served)) == 1
    assert not served[0].problem
    library = folder / "plotly.min.js"
    assert library.stat().st_size > 1_000_000
    module = folder / served[0].module.removeprefix("app/static/")
    assert {path.name for path in module.parent.iterdir()} == set(files.MODULES)
    assert not list(folder.rglob(".*"))
    library.write_bytes(b"half a file")
    files._copy(folder)
    assert library.stat().st_size > 1_000_000


def test_a_folder_that_cannot_be_written_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "static").write_text("a file where the folder should be")
    served = files._copy(tmp_path / "static")
    assert "cannot be written" in served.problem
    assert "make it writable" in served.problem


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder_that_is_filled_is_enough(tmp_path: Path) -> None:
    folder = tmp_path / "static"
    files._copy(folder)
    folder.chmod(0o555)
    assert not files._copy(folder).problem


def test_the_menu_names_only_pages_that_exist() -> None:
    listed = [name for entries in shell.SECTIONS.values() for name, _ in entries]
    assert len(listed) == len(set(listed))
    there = {path.stem for path in (shell.ROOT / "pages").glob("*.py")}
    assert there <= set(listed)
