"""Every bad table, scenario file and address: the right reading, or one sentence; never another exception."""

import io
import json
import math

import pandas as pd
import pytest

from core import limits
from core.domain import build_records
from core.errors import CoreError, InputError
from core.pipeline import Stages
from core.scenario import AttributeSpec, Scenario
from core.table import read_table
from pages._ui import link
from tests.core.reading.fixtures import FIXTURES, content

DESIGNED = (
    "repeated names",
    "no names",
    "names with HTML",
    "names and values with formulas",
    "right-to-left text",
    "one column",
    "one column all missing",
    "dates before and after all calendars",
    "infinities",
    "numbers beyond 64 bits",
    "numbers a rounding apart",
    "values that read 'missing'",
)
"""Tables whose odd cells reach the channels; the others code to what the samples already try."""
MANY = "a million distinct values"


def is_sentence(text: str) -> bool:
    return text.endswith(".") and "\n" not in text and 20 < len(text) < 600


@pytest.mark.parametrize("name", [name for name, f in FIXTURES.items() if f.refused])
def test_a_bad_file_is_refused_with_its_sentence(name: str) -> None:
    with pytest.raises(InputError) as caught:
        read_table(content(name))
    assert FIXTURES[name].sentence in str(caught.value)
    assert is_sentence(str(caught.value))


@pytest.mark.slow
def test_a_million_distinct_values() -> None:
    check_reading(MANY)


@pytest.mark.parametrize("name", [name for name, f in FIXTURES.items() if not f.refused and name != MANY])
def test_an_odd_table_is_read_right_and_coded_or_refused(name: str) -> None:
    check_reading(name)


def check_reading(name: str) -> None:
    fixture, table = FIXTURES[name], read_table(content(name))
    for column, expected in fixture.columns.items():
        found = table.frame[column].tolist()[: len(expected)]
        assert [None if pd.isna(v) else v for v in found] == expected
    assert fixture.shape in (None, table.frame.shape)
    if fixture.sentence:
        assert any(fixture.sentence in finding for finding in table.findings), table.findings
    assert all(is_sentence(finding) for finding in table.findings)
    if fixture.coded:
        with pytest.raises(InputError) as caught:
            build_records(table, Scenario())
        assert fixture.coded in str(caught.value)
        assert is_sentence(str(caught.value))
        return
    records = build_records(table, Scenario())
    assert len(records) == len(table.frame)
    assert all(
        (records.codes[:, i] >= 0).all() and (records.codes[:, i] < m).all() for i, m in enumerate(records.sizes)
    )
    assert all(is_sentence(finding) for finding in records.findings)


@pytest.mark.parametrize("name", DESIGNED)
def test_a_whole_design_of_an_odd_table_is_certified(name: str) -> None:
    design = Stages(read_table(content(name)), Scenario(contexts=20)).design
    assert 0 < design.certified_epsilon <= 4
    assert all(math.isfinite(loss) for loss in design.losses)


def test_200_columns_are_grouped() -> None:
    stages = Stages(read_table(content("200 columns")), Scenario(contexts=20, tau_group=0.3))
    assert sum(len(group) for group in stages.groups) == 200


def test_a_file_over_the_limit_is_refused_unread(tmp_path) -> None:
    """A file of 201 MB without content on the disk: its size alone refuses it."""
    path = tmp_path / "large.csv"
    with path.open("wb") as file:
        file.truncate((limits.UPLOAD_LIMIT_MB + 1) << 20)
    with pytest.raises(InputError, match=f"at most {limits.UPLOAD_LIMIT_MB} MB are allowed"):
        read_table(path)


def test_a_stream_over_the_limit_is_refused_unparsed(monkeypatch) -> None:
    monkeypatch.setattr(limits, "UPLOAD_LIMIT_MB", 1)
    stream = io.BytesIO(b"a,b\n" + b"1,2\n" * 500_000)
    with pytest.raises(InputError, match="at most 1 MB are allowed"):
        read_table(stream)
    assert stream.tell() <= (1 << 20) + 1


# --- scenario files --------------------------------------------------------------------------------------------------

HUGE = 10**400
"""A whole number that no float holds."""
OF_COLUMN = {
    "a column that is a word": {"column": "a"},
    "a negative column": {"column": -1},
    "a weight of zero": {"column": 0, "weight": 0},
    "no weight": {"column": 0, "weight": None},
    "a huge weight": {"column": 0, "weight": HUGE},
    "a huge bound": {"column": 0, "low": HUGE},
    "an infinite bound": {"column": 0, "high": math.inf},
    "bounds the wrong way": {"column": 0, "low": 2, "high": 1},
    "huge edges": {"column": 0, "edges": [0, HUGE]},
    "one edge": {"column": 0, "edges": [1]},
    "edges of words": {"column": 0, "edges": ["a", "b"]},
    "edges that are no list": {"column": 0, "edges": {"a": 1}},
    "no levels": {"column": 0, "levels": []},
    "levels twice": {"column": 0, "levels": ["a", "a"]},
    "levels that are numbers": {"column": 0, "levels": [1, 2]},
    "levels that are lists": {"column": 0, "levels": [["a"], ["b"]]},
    "a ragged distance": {"column": 0, "distance": [[0, 1], [1]]},
    "a distance of words": {"column": 0, "distance": [["a"]]},
    "a huge distance": {"column": 0, "levels": ["a", "b"], "distance": [[0, HUGE], [HUGE, 0]]},
    "a distance that is no number": {"column": 0, "levels": ["a", "b"], "distance": [[0, math.nan], [math.nan, 0]]},
    "a binning that is no word": {"column": 0, "binning": ["width"]},
    "a kind that is an object": {"column": 0, "kind": {"a": 1}},
    "half a bin": {"column": 0, "bins": 2.5},
    "a million bins": {"column": 0, "bins": 1_000_000},
    "unknown entries": {"column": 0, "colour": "red"},
}
FILES = {
    "nothing": b"",
    "no JSON": b"{epsilon: 1}",
    "a list": b"[]",
    "a word": b'"epsilon"',
    "random bytes": bytes(range(128, 256)),
    "UTF-16 without its second half": '{"epsilon": 1}'.encode("utf-16")[:-1],
    "another version": b'{"format": 2}',
    "a version that is a list": b'{"format": []}',
    "an unknown knob": b'{"colour": 1}',
    "nested ten thousand deep": b"[" * 10_000,
    "an object nested ten thousand deep": b'{"a":' * 10_000,
    "a number of 10,000 digits": b'{"seed": ' + b"9" * 10_000 + b"}",
    "a number of 400 digits": json.dumps({"epsilon": HUGE}).encode(),
    "attributes that are an object": b'{"attributes": {}}',
    "attributes that are numbers": b'{"attributes": [1, 2]}',
    "a column twice": b'{"attributes": [{"column": 0}, {"column": 0}]}',
    "epsilon that is a word": b'{"epsilon": "4"}',
    "epsilon that is true": b'{"epsilon": true}',
    "epsilon that is a list": b'{"epsilon": [4]}',
    "epsilon of nothing": b'{"epsilon": null}',
    "epsilon that is no number": b'{"epsilon": NaN}',
    "epsilon of zero": b'{"epsilon": 0}',
    "epsilon of 51": b'{"epsilon": 51}',
    "p of 400 digits": json.dumps({"p": HUGE}).encode(),
    "p below 1": b'{"p": 0.5}',
    "p that is another word": b'{"p": "infinite"}',
    "a task of two": b'{"task": ["frequency", "mean"]}',
    "a task that is an object": b'{"task": {}}',
    "a target that is a name": b'{"target": "age"}',
    "a seed below zero": b'{"seed": -1}',
    "a seed that is no whole number": b'{"seed": 1.5}',
    "contexts of a billion": b'{"contexts": 1000000000}',
    "tau_dim of a million": b'{"tau_dim": 1000000}',
    "refine that is a number": b'{"refine": 1}',
} | {name: json.dumps({"attributes": [entry]}).encode() for name, entry in OF_COLUMN.items()}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_a_bad_scenario_file_is_refused_with_a_sentence(name: str) -> None:
    with pytest.raises(InputError) as caught:
        Scenario.from_json(FILES[name])
    assert is_sentence(str(caught.value)), caught.value


def test_an_enormous_scenario_file_is_refused_quickly() -> None:
    entries = [{"column": 0, "levels": [f"v{i}" for i in range(200)]}] * 2000
    with pytest.raises(InputError, match="at most once"):
        Scenario.from_json(json.dumps({"attributes": entries}))


SMALL = b"a,b,c\n" + b"".join(b"%d,%d.5,%s\n" % (i % 3, i, b"xyz"[i % 3 : i % 3 + 1]) for i in range(30))
MISFITS = {
    "a column that is not there": AttributeSpec(7),
    "text that is to be numeric": AttributeSpec(2, kind="numeric"),
    "a level that is not declared": AttributeSpec(2, levels=("x", "y")),
    "own edges that are not given": AttributeSpec(1, kind="numeric", binning="edges"),
    "a distance for other levels": AttributeSpec(2, distance=((0.0, 1.0), (1.0, 0.0))),
    "a distance that is no metric": AttributeSpec(2, distance=((0.0, 1.0, 9.0), (1.0, 0.0, 1.0), (9.0, 1.0, 0.0))),
    "a distance that is negative": AttributeSpec(2, distance=((0.0, -1.0, 1.0), (-1.0, 0.0, 1.0), (1.0, 1.0, 0.0))),
    "a distance of an ordinal column": AttributeSpec(2, kind="ordinal", distance=((0.0, 1.0), (1.0, 0.0))),
    "own edges that are too far apart": AttributeSpec(1, kind="numeric", edges=(-1e308, 1e308)),
    "a low bound above all values": AttributeSpec(1, low=100.0),
}  # fmt: skip


@pytest.mark.parametrize("name", MISFITS)
def test_a_scenario_that_does_not_fit_the_table_is_refused_with_a_sentence(name: str) -> None:
    with pytest.raises(InputError) as caught:
        build_records(read_table(SMALL), Scenario(attributes=(MISFITS[name],)))
    assert is_sentence(str(caught.value)), caught.value


@pytest.mark.parametrize(
    "scenario",
    [
        Scenario(task="crowdsourcing"),
        Scenario(task="prediction"),
        Scenario(task="crowdsourcing", target=2),
        Scenario(task="prediction", target=9),
        Scenario(domain="declared"),
        Scenario(attributes=tuple(AttributeSpec(i, include=False) for i in range(3))),
    ],
    ids=["votes without a target", "prediction without a target", "a target of words", "no such target",
         "nothing declared", "nothing included"],
)  # fmt: skip
def test_a_scenario_that_cannot_be_designed_is_refused_with_a_sentence(scenario: Scenario) -> None:
    with pytest.raises(CoreError) as caught:
        Stages(read_table(SMALL), scenario).design  # noqa: B018
    assert is_sentence(str(caught.value)), caught.value


# --- addresses -------------------------------------------------------------------------------------------------------

ADDRESSES = {
    "epsilon": ["", "0", "-1", "nan", "inf", "1e400", "51", "4,5", "true", "9" * 5000, "٤", "1_0", "\x00", "<script>"],
    "p": ["0", "nan", "-inf", "two"],
    "tau_group": ["2", "-0.1"],
    "tau_dim": ["1.5", "0", "1001", "9" * 5000],
    "seed": ["-1", "1e3", str(HUGE)],
    "task": ["", "guess", "frequency,mean", "x" * 100_000],
    "target": ["-1", "age", "1.0"],
    "refine": ["1", "True", "maybe"],
    "columns": [
        "", "[", "{}", "[1]", '[{"column":0},{"column":0}]', "[" * 10_000, '[{"column":0,"x":1}]', "null", "NaN",
        '[{"column":0,"low":' + str(HUGE) + "}]", '[{"column":0,"weight":' + "9" * 5000 + "}]",
    ],
}  # fmt: skip
UNUSUAL = {("epsilon", "٤"), ("epsilon", "1_0")}
"""Numbers that Python reads, though nobody writes them so."""


@pytest.mark.parametrize(("name", "word"), [(n, w) for n, words in ADDRESSES.items() for w in words])
def test_a_bad_word_in_an_address_is_one_sentence(name: str, word: str) -> None:
    scenario, sentence = link.read({name: word, "tau_dpn": "0.25"}, Scenario())
    assert scenario.tau_dpn == 0.25
    if (name, word) not in UNUSUAL:
        assert scenario == Scenario(tau_dpn=0.25)
        assert sentence == f"In this link {name} is not usable; the usual setting is shown instead."


def test_an_address_with_unknown_and_enormous_parameters_is_read() -> None:
    query = {f"utm_{i}": "x" * 1000 for i in range(1000)} | {"epsilon": "2"}
    assert link.read(query, Scenario()) == (Scenario(epsilon=2.0), "")
    assert link.read_view(dict.fromkeys(link.VIEW, "9" * 100_000)) == {}
    assert link.read_view({"mechanism_group": "-".join(["1"] * 10_000)}) == {}
