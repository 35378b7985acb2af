"""Random and damaged tables, scenarios, addresses and packs: a result, or one sentence; never another exception.

FUZZ_EXAMPLES=20000 tries that many of each; the default keeps a test run short.
"""

import copy
import csv
import io
import json
import os
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.domain import build_records
from core.errors import CoreError, InputError
from core.pack import build_pack, pack_json, perturb, read_pack
from core.pipeline import Stages
from core.release import plan_release
from core.scenario import CHOICES, AttributeSpec, Scenario
from core.table import read_table
from pages._ui import link
from tests.core.reading.fixtures import FIXTURES

EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "200"))
fuzz = settings(max_examples=EXAMPLES, deadline=None, database=None, suppress_health_check=list(HealthCheck))
fewer = settings(fuzz, max_examples=max(EXAMPLES // 5, 1))


def check_sentence(error: CoreError) -> None:
    assert str(error).strip()
    assert "\n" not in str(error)
    assert len(str(error)) < 2000


# --- tables ----------------------------------------------------------------------------------------------------------

CELL = st.sampled_from(
    ["", "1", "-2.5", "1,5", "1.234,5", "5%", "NA", "nan", "inf", "∞", "1e999", "0001", "2020-01-31", "31/12/1999",
     "0000-00-00", "yes", "FALSE", "t", "abc", "é", "漢字", "😀", "\u202e", "\ufeff", "=1+1", "<b>", "'", '"', "\\",
     " ", "\x1c", "\x85", "missing", "1_0", "٣", "²", "--", "0x10", "+", "-", ".", ",", "9" * 400]
) | st.text(max_size=6) | st.integers().map(str) | st.floats().map(str)  # fmt: skip
TABLE = st.lists(st.lists(CELL, min_size=1, max_size=5), min_size=1, max_size=12)
ENCODINGS = ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32", "cp1252", "latin-1", "shift_jis"]


@st.composite
def files(draw: st.DrawFn) -> bytes:
    """A table of odd cells written in some dialect, sometimes ragged, sometimes damaged."""
    rows = draw(TABLE)
    if draw(st.booleans()):
        width = len(rows[0])
        rows = [(row * width)[:width] for row in rows]
    out = io.StringIO()
    style = draw(st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]))
    end = draw(st.sampled_from(["\n", "\r\n", "\r"]))
    csv.writer(out, delimiter=draw(st.sampled_from(",;\t|")), quoting=style, lineterminator=end).writerows(rows)
    data = out.getvalue().encode(draw(st.sampled_from(ENCODINGS)), "replace")
    return draw(damaged(st.just(data))) if draw(st.integers(0, 3)) == 0 else data


@st.composite
def damaged(draw: st.DrawFn, contents: st.SearchStrategy[bytes]) -> bytes:
    """A file with some bytes overwritten, put in or cut off."""
    data = bytearray(draw(contents))
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, len(data)))
        data[place : place + draw(st.integers(0, 3))] = draw(st.binary(max_size=4))
    return bytes(data[: draw(st.integers(0, len(data)))] if draw(st.booleans()) else data)


def read_and_code(data: bytes, **overrides: Any) -> None:
    try:
        table = read_table(data, **overrides)
        assert len(table.frame) >= 1
        assert table.frame.columns.is_unique
        assert all("\n" not in finding for finding in table.findings)
        records = build_records(table, Scenario())
        assert (records.codes >= 0).all()
    except InputError as error:
        check_sentence(error)


@fuzz
@given(files())
def test_any_text_is_read_and_coded_or_refused(data: bytes) -> None:
    read_and_code(data)


@fuzz
@given(
    files(),
    st.fixed_dictionaries(
        {},
        optional={
            "separator": st.sampled_from([",", ";", "e", "1", " ", "tab", "\x1c", "😀", ",,", ""]) | st.characters(),
            "encoding": st.sampled_from([*ENCODINGS, "utf-7", "big5", "hex", "none", "\0", "utf_8"])
            | st.text(max_size=9),
            "header": st.sampled_from([True, False, None, "yes", 1]),
            "decimal": st.sampled_from([".", ",", ";", ""]),
            "sheet": st.integers(-2, 2) | st.text(max_size=3),
        },
    ),
)
def test_any_override_is_taken_or_refused(data: bytes, overrides: dict[str, Any]) -> None:
    read_and_code(data, **overrides)


BINARY = [f.make() for n, f in FIXTURES.items() if any(w in n for w in ("arquet", "workbook", "merged", "gzip"))]


@fuzz
@given(damaged(st.sampled_from(BINARY)))
def test_any_damaged_workbook_parquet_or_gzip_is_read_or_refused(data: bytes) -> None:
    read_and_code(data)


# --- scenarios -------------------------------------------------------------------------------------------------------

KNOBS = ["epsilon", "p", "task", "target", "attributes", "domain", "tau_group", "score", "tau_dim", "tau_dpn", "rule",
         "noise", "remap", "contexts", "seed", "refine", "format", "corrected_nmi", "column", "levels", "edges", "low",
         "high", "weight", "bins", "binning", "kind", "missing", "include", "distance"]  # fmt: skip
WORDS = [word for words in CHOICES.values() for word in words]
LEAF = (
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=4) | st.sampled_from(WORDS)
    | st.sampled_from([10**400, -(10**400), 1e308, 5e-324, "inf", "none", 0, 1, 2])
)  # fmt: skip
FLAT = LEAF | st.lists(LEAF, max_size=3) | st.dictionaries(st.sampled_from(KNOBS), LEAF, max_size=3)
VALUE = FLAT | st.lists(FLAT, max_size=3) | st.dictionaries(st.sampled_from(KNOBS), FLAT, max_size=3)
ENTRY = st.fixed_dictionaries({"column": st.integers(0, 3) | LEAF}, optional=dict.fromkeys(KNOBS[19:], VALUE))
RECORD = st.dictionaries(st.sampled_from(KNOBS), VALUE, max_size=4) | st.fixed_dictionaries(
    {"attributes": st.lists(ENTRY, max_size=3)}
)


@fuzz
@given(RECORD)
def test_any_scenario_file_is_opened_or_refused(record: Any) -> None:
    try:
        scenario = Scenario.from_json(json.dumps(record))
    except InputError as error:
        check_sentence(error)
    else:
        assert Scenario.from_json(scenario.to_json()) == scenario


@fuzz
@given(st.binary(max_size=60) | damaged(st.just(Scenario(attributes=(AttributeSpec(1, bins=4),)).to_json().encode())))
def test_any_bytes_are_a_scenario_or_refused(data: bytes) -> None:
    try:
        Scenario.from_json(data)
    except InputError as error:
        check_sentence(error)


@fuzz
@given(st.dictionaries(st.sampled_from(sorted(link.names())), st.text(max_size=12) | VALUE.map(json.dumps), max_size=5))
def test_any_address_is_read(query: dict[str, str]) -> None:
    scenario, sentence = link.read(query, Scenario())
    assert scenario == Scenario.from_json(scenario.to_json())
    assert sentence == "" or sentence.endswith("the usual setting is shown instead.")
    assert set(link.read_view(query)) <= set(link.VIEW)


MATRIX = st.sampled_from(
    [((0.0, 1.0), (1.0, 0.0)), ((0.0, 1.0, 2.0), (1.0, 0.0, 1.0), (2.0, 1.0, 0.0)), ((0.0, 5.0), (1.0, 0.0)),
     ((0.0, 0.0), (0.0, 0.0)), ((0.0, 1e-300), (1e-300, 0.0)), ((0.0, 1e12), (1e12, 0.0)), ((-0.0,),)]
)  # fmt: skip
NUMBER = st.sampled_from([-1e308, -1.0, 0.0, 5e-324, 1e-9, 1.0, 2.5, 1e308])


@st.composite
def specs(draw: st.DrawFn, column: int) -> AttributeSpec:
    low, high = draw(st.none() | NUMBER), draw(st.none() | NUMBER)
    good = low is None or high is None or low < high
    edges = draw(st.none() | st.lists(NUMBER, min_size=2, max_size=4, unique=True).map(sorted).map(tuple))
    return AttributeSpec(
        column,
        include=draw(st.sampled_from([None, True, True, False])),
        kind=draw(st.sampled_from([None, *CHOICES["kind"]])),
        bins=draw(st.none() | st.sampled_from([2, 7, 100])),
        binning=draw(st.sampled_from([None, *CHOICES["binning"]])),
        edges=edges,
        low=low if good else None,
        high=high if good else None,
        levels=draw(st.none() | st.sampled_from([("x", "y", "z"), ("0", "1", "2"), ("missing", "x"), ("",)])),
        weight=draw(st.sampled_from([1.0, 1e-6, 1e6, 0.3])),
        missing=draw(st.sampled_from([None, *CHOICES["missing"]])),
        distance=draw(st.none() | st.none() | MATRIX),
    )


@st.composite
def scenarios(draw: st.DrawFn) -> Scenario:
    return Scenario(
        epsilon=draw(st.sampled_from([1e-6, 0.01, 1.0, 4.0, 50.0]) | st.floats(1e-6, 50)),
        p=draw(st.sampled_from([1.0, 1.01, 2.0, 3.7, 1e6, float("inf")])),
        task=draw(st.sampled_from(CHOICES["task"])),
        target=draw(st.none() | st.integers(0, 4)),
        attributes=tuple(draw(specs(c)) for c in sorted(draw(st.sets(st.integers(0, 3), max_size=2)))),
        domain=draw(st.sampled_from(CHOICES["domain"])),
        tau_group=draw(st.sampled_from([0.0, 0.1, 1.0])),
        corrected_nmi=draw(st.booleans()),
        score=draw(st.sampled_from(CHOICES["score"])),
        tau_dim=draw(st.sampled_from([1, 12, 60])),
        tau_dpn=draw(st.none() | st.sampled_from([-1.0, 0.2, 1.0])),
        rule=draw(st.sampled_from(CHOICES["rule"])),
        noise=draw(st.sampled_from(CHOICES["noise"])),
        remap=draw(st.sampled_from(CHOICES["remap"])),
        allocation=draw(st.sampled_from(CHOICES["allocation"])),
        contexts=draw(st.sampled_from([1, 5])),
    )


ROWS = [f"{i % 3},{i * 0.5},{'xyz'[i % 3] if i % 5 else ''},{'pq'[i * 7 % 11 % 2]}" for i in range(30)]
SMALL = "\n".join(["a,b,c,d", *ROWS, ""]).encode()


@fuzz
@given(scenarios())
def test_any_scenario_codes_a_table_or_is_refused(scenario: Scenario) -> None:
    try:
        records = build_records(read_table(SMALL), scenario)
    except InputError as error:
        check_sentence(error)
    else:
        assert (records.codes >= 0).all()


@fewer
@given(scenarios().map(lambda s: s.replace(refine=False)))
def test_any_scenario_gives_a_certified_design_or_a_sentence(scenario: Scenario) -> None:
    try:
        design = Stages(read_table(SMALL), scenario).design
    except CoreError as error:
        check_sentence(error)
    else:
        assert design.certified_epsilon <= scenario.epsilon


# --- packs -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def pack() -> dict[str, Any]:
    scenario = Scenario(rule="DPN", refine=False, contexts=5)
    return build_pack(plan_release(Stages(read_table(SMALL), scenario)))


def open_pack(data: bytes) -> None:
    try:
        mechanism = read_pack(data)
    except InputError as error:
        check_sentence(error)
    else:
        assert mechanism.certified_epsilon <= 50


@settings(fuzz, max_examples=EXAMPLES)
@given(data=st.data())
def test_a_damaged_pack_is_refused(pack: dict[str, Any], data: st.DataObject) -> None:
    open_pack(data.draw(damaged(st.just(pack_json(pack)))))


@settings(fuzz, max_examples=EXAMPLES)
@given(data=st.data())
def test_a_forged_pack_with_a_fitting_checksum_is_verified_or_refused(
    pack: dict[str, Any], data: st.DataObject
) -> None:
    """Anything anywhere in a pack is replaced, taken out or put twice, and the checksum made to fit."""
    forged = copy.deepcopy(pack)
    for _ in range(data.draw(st.integers(1, 3))):
        place: Any = forged
        while True:
            keys = list(place) if isinstance(place, dict) else list(range(len(place)))
            key = data.draw(st.sampled_from(keys))
            inner = place[key]
            if not isinstance(inner, dict | list) or not inner or data.draw(st.integers(0, 4)) == 0:
                break
            place = inner
        change = data.draw(st.sampled_from(["replace", "replace", "delete", "twice"]))
        if change == "replace":
            place[key] = data.draw(VALUE)
        elif change == "delete" and len(place) > 1:
            del place[key]
        elif isinstance(place, list):
            place.append(inner)
    try:
        forged["checksum"] = perturb.checksum(forged)
        written = json.dumps(forged).encode()
    except ValueError:  # numbers that no JSON holds
        return
    open_pack(written)
