"""The scenario record: JSON round trip, validation sentences, digests."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import InputError
from core.scenario import CHOICES, AttributeSpec, Scenario

specs = st.builds(
    AttributeSpec,
    column=st.integers(0, 30),
    include=st.sampled_from([None, True, False]),
    kind=st.sampled_from([None, *CHOICES["kind"]]),
    bins=st.none() | st.integers(2, 100),
    edges=st.none() | st.just((0.0, 0.5, 2.0)),
    levels=st.none() | st.lists(st.text(max_size=4), min_size=1, max_size=3, unique=True).map(tuple),
    weight=st.floats(1e-6, 1e6),
    missing=st.sampled_from([None, "level", "drop"]),
    distance=st.none() | st.just(((0.0, 1.0), (1.0, 0.0))),
)
scenarios = st.builds(
    Scenario,
    epsilon=st.floats(1e-6, 50),
    p=st.floats(1, 20) | st.just(math.inf),
    task=st.sampled_from(CHOICES["task"]),
    target=st.none() | st.integers(0, 9),
    attributes=st.lists(specs, max_size=4, unique_by=lambda a: a.column).map(tuple),
    tau_group=st.floats(0, 1),
    tau_dim=st.integers(1, 1000),
    tau_dpn=st.none() | st.floats(-1, 1),
    rule=st.sampled_from(CHOICES["rule"]),
    seed=st.integers(0, 2**32 - 1),
)


@given(scenarios)
def test_json_round_trip_keeps_every_knob(scenario):
    assert Scenario.from_json(scenario.to_json()) == scenario


@given(scenarios)
def test_equal_scenarios_share_hash_and_digest(scenario):
    twin = Scenario.from_json(scenario.to_json())
    assert hash(twin) == hash(scenario)
    assert twin.digest() == scenario.digest()


def test_digest_reads_only_the_named_knobs():
    a, b = Scenario(epsilon=1.0), Scenario(epsilon=2.0)
    assert a.digest("p", "task") == b.digest("p", "task")
    assert a.digest("epsilon") != b.digest("epsilon")


@pytest.mark.parametrize(
    ("changes", "field", "words"),
    [
        ({"epsilon": 0}, "The privacy budget (epsilon)", "1e-06 to 50"),
        ({"epsilon": math.nan}, "The privacy budget (epsilon)", "1e-06 to 50"),
        ({"epsilon": "4"}, "The privacy budget (epsilon)", "a number"),
        ({"epsilon": True}, "The privacy budget (epsilon)", "a number"),
        ({"p": 0.5}, "The metric exponent (p)", "1 to inf"),
        ({"task": "guess"}, "task", "frequency"),
        ({"tau_dim": 3.5}, "The largest domain (tau_dim)", "a whole number"),
        ({"tau_group": 1.1}, "The grouping threshold (tau_group)", "0 to 1"),
        ({"corrected_nmi": 1}, "corrected_nmi", "true or false"),
        ({"target": -1}, "target", "position"),
        ({"attributes": (AttributeSpec(0), AttributeSpec(0))}, "attributes", "at most once"),
        ({"colour": 1}, "colour", "no knob"),
    ],
)
def test_values_out_of_range_are_refused_with_a_sentence(changes, field, words):
    with pytest.raises(InputError, match=r"\.$") as caught:
        Scenario().replace(**changes)
    assert caught.value.field == field
    assert words in str(caught.value)


@pytest.mark.parametrize(
    "changes",
    [
        {"edges": (1.0, 1.0)},
        {"edges": (math.inf, 2.0)},
        {"low": 2.0, "high": 1.0},
        {"levels": ("a", "a")},
        {"weight": 0.0},
        {"bins": 1},
        {"distance": ((0.0,), (1.0, 2.0))},
        {"kind": "text"},
        {"include": "yes"},
    ],
)
def test_bad_attribute_specs_are_refused(changes):
    with pytest.raises(InputError):
        AttributeSpec(0, **changes)


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{", '{"format": 2}', '{"epsilon": -1}', '{"attributes": [1]}',
     '{"attributes": [{"column": 0, "x": 1}]}',
     '{"attributes": {}}', "[" * 100_000, '{"unknown": 1}', '{"p": "infinite"}', '{"attributes": [{"column": "a"}]}'],
)  # fmt: skip
def test_bad_files_raise_input_errors_only(text):
    with pytest.raises(InputError):
        Scenario.from_json(text)


WORDS = st.sampled_from(["epsilon", "p", "attributes", "column", "task", "format"])
JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner),
)


@given(JSON)
def test_any_json_gives_a_scenario_or_an_input_error(value):
    try:
        Scenario.from_json(json.dumps(value))
    except InputError as error:
        assert str(error).endswith(".")


def test_infinity_is_written_as_a_word():
    assert json.loads(Scenario(p=math.inf).to_json())["p"] == "inf"


def test_with_spec_replaces_the_column_and_keeps_order():
    scenario = Scenario().with_spec(AttributeSpec(3, kind="nominal")).with_spec(AttributeSpec(1, bins=4))
    changed = scenario.with_spec(AttributeSpec(3, kind="ordinal"))
    assert [a.column for a in changed.attributes] == [1, 3]
    assert changed.spec(3).kind == "ordinal"
    assert changed.spec(7) == AttributeSpec(7)
