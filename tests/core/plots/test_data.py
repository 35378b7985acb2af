"""The pictures of the data, the editable schema, and the words beside them."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.domain import Records, build_records
from core.errors import InputError
from core.plots.attribute import HANDLES, ROWS, plot_column
from core.plots.data import CELLS, level_counts, plot_columns, table_levels
from core.plots.schema import (
    complete_edit,
    count_combinations,
    declare_specs,
    edges_text,
    explain_column,
    explain_data,
    parse_edges,
    parse_levels,
    read_edits,
    set_distances,
    tabulate_schema,
)
from core.plots.template import Mark, Picture
from core.scenario import AttributeSpec, Scenario
from core.table import Table, read_table

CSV = b"age,town,grade,<i>x</i>\n20,Rome,1,u\n30,Oslo,2,v\n40,Rome,3,u\n60,,2,u\n25,Rome,1,w\n"


def loaded(data: bytes = CSV, **knobs: Any) -> tuple[Table, Scenario, Records]:
    table, scenario = read_table(data), Scenario(**knobs)
    return table, scenario, build_records(table, scenario)


def bars(picture: Picture, axis: str) -> list[Mark]:
    return [t for t in picture.traces if t["xaxis"] == axis]


# ---- small multiples ----


def test_every_attribute_has_a_cell_with_its_levels_and_tells_its_column() -> None:
    table, _, records = loaded()
    picture = plot_columns(records, table, shown=range(4))
    for position, axis in enumerate(("x", "x2", "x3", "x4")):
        drawn = bars(picture, axis)
        assert {c for t in drawn for c in t["customdata"]} == {records.attributes[position].column}
        hovered = [text for t in drawn for text in t.get("text", ())]
        assert len(hovered) == records.attributes[position].size
    assert "&lt;i&gt;x&lt;/i&gt;" in [a["text"] for a in picture.layout["annotations"]]


def test_areas_are_the_shares_of_the_records() -> None:
    table, _, records = loaded(attributes=(AttributeSpec(0, binning="edges", edges=(20.0, 26.0, 60.0)),))
    as_read, bins = bars(plot_columns(records, table, shown=[0]), "x")
    span = 40.0
    assert bins["width"] == pytest.approx([6, 34])
    assert bins["y"] * bins["width"] / span == pytest.approx([0.4, 0.6])
    assert float((as_read["y"] * as_read["width"]).sum()) / span <= 1 + 1e-6
    assert ["2 records, 40.0 %" in text for text in bins["text"]] == [True, False]


def test_whole_numbers_get_a_bar_each_and_none_is_lost() -> None:
    table, _, records = loaded(b"n,o\n" + b"".join(b"%d,%d\n" % (k % 40, k % 3) for k in range(400)))
    as_read = bars(plot_columns(records, table, shown=[0]), "x")[0]
    assert as_read["x"].tolist() == list(range(40))
    assert float((as_read["y"] * as_read["width"]).sum()) / 39 == pytest.approx(1, abs=1e-6)


def test_missing_values_are_a_hollow_bar_apart() -> None:
    table, _, records = loaded()
    town = bars(plot_columns(records, table, shown=[1]), "x")[0]
    assert town["marker"]["color"] == ["@line", "@line", "rgba(0,0,0,0)"]
    assert town["y"].tolist() == pytest.approx([0.6, 0.2, 0.2])  # the commonest first, the missing level last
    numeric, _, records = loaded(b"x,y\n1.5,a\n2.5,b\n,a\n4.5,b\n")
    missing = bars(plot_columns(records, numeric, shown=[0]), "x")[-1]
    assert float(missing["x"][0]) > 4.5
    assert "missing" in missing["text"][0]


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 8, 9, CELLS])
def test_cells_do_not_overlap_whatever_their_number(count: int) -> None:
    columns = [f"c{k}" for k in range(count)]
    rows = [",".join("ab"[(k + r) % 2] for k in range(count)) for r in range(4)]
    table, _, records = loaded("\n".join([",".join(columns), *rows]).encode() + b"\n", domain="observed")
    layout = plot_columns(records, table, shown=range(count)).layout
    boxes = []
    for k in range(count):
        n = "" if k == 0 else str(k + 1)
        boxes.append((*layout[f"xaxis{n}"]["domain"], *layout[f"yaxis{n}"]["domain"]))
    for k, a in enumerate(boxes):
        assert 0 <= a[0] < a[1] <= 1
        assert 0 <= a[2] < a[3] <= 1
        for b in boxes[k + 1 :]:
            assert a[1] <= b[0] or b[1] <= a[0] or a[3] <= b[2] or b[3] <= a[2]


def test_the_table_of_levels_counts_every_record_once_per_attribute() -> None:
    _, _, records = loaded()
    frame = table_levels(records)
    assert (frame.groupby("attribute")["records"].sum() == len(records)).all()
    assert frame["share"].sum() == pytest.approx(len(records.attributes))


# ---- one attribute ----


def test_inner_edges_are_handles_that_cannot_cross() -> None:
    table, _, records = loaded()
    picture = plot_column(records, table, position=0)
    edges = records.attributes[0].edges
    assert edges is not None
    assert [h.name for h in picture.handles] == ["edge1", "edge2", "edge3", "edge4"]
    for k, handle in enumerate(picture.handles, start=1):
        assert edges[k - 1] < handle.low <= handle.value <= handle.high < edges[k + 1]


def test_edges_whose_flags_would_touch_are_no_handles() -> None:
    close = AttributeSpec(0, binning="edges", edges=(20.0, 21.0, 22.0, 60.0))
    table, _, records = loaded(attributes=(close,))
    assert plot_column(records, table, position=0).handles == ()
    many = AttributeSpec(0, bins=HANDLES + 2)
    table, _, records = loaded(attributes=(many,))
    assert plot_column(records, table, position=0).handles == ()


def test_many_levels_are_named_bars_and_the_rest_is_counted() -> None:
    rows = "\n".join(f"town{k % 30:02d},{k}" for k in range(95))
    table, _, records = loaded(f"town,n\n{rows}\n".encode())
    picture = plot_column(records, table, position=0)
    assert picture.traces[0]["orientation"] == "h"
    assert len(picture.traces[0]["y"]) == ROWS
    rest = np.sort(level_counts(records, 0))[: 30 - ROWS].sum()
    assert any(f"12 more levels with {rest} records" in a["text"] for a in picture.layout["annotations"])


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_kind_of_column_is_a_valid_figure(theme: Any) -> None:
    data = b"d,flag,x,code\n2020-01-01,yes,1e9,1\n2021-06-30,no,-3.5,2\n2022-01-01,yes,,3\n2023-01-01,no,2,1\n"
    table, _, records = loaded(data)
    assert plot_columns(records, table, shown=range(len(records.attributes))).to_figure(theme).data
    for position in range(len(records.attributes)):
        assert plot_column(records, table, position=position).to_figure(theme).data


# ---- the schema ----


def test_the_schema_says_what_is_decided_and_why() -> None:
    table, scenario, records = loaded(
        b"id,age,town\nx1,20,a\nx2,33,b\n" + b"".join(b"y%d,4%d,a\n" % (k, k) for k in range(9))
    )
    frame = tabulate_schema(table, scenario, records=records)
    assert frame["column"].tolist() == ["id", "age", "town"]
    assert frame["include"].tolist() == [False, True, True]
    assert frame["kind"].tolist() == ["nominal", "numeric", "nominal"]
    assert frame.loc[1, ["binning", "bins", "low", "high", "levels"]].tolist() == ["width", 5, 20.0, 48.0, 5]
    assert frame["bins"].isna().tolist() == [True, False, True]
    assert "identifier" in frame.loc[0, "note"]


def test_the_schema_can_be_shown_where_the_table_cannot_be_coded() -> None:
    table = read_table(CSV)
    declared = Scenario(domain="declared")
    with pytest.raises(InputError, match="declare"):
        build_records(table, declared)
    frame = tabulate_schema(table, declared, records=None)
    assert frame["kind"].tolist() == ["numeric", "nominal", "numeric", "nominal"]
    assert frame["levels"].isna().all()


def test_only_cells_that_differ_are_edits() -> None:
    table, scenario, records = loaded()
    frame = tabulate_schema(table, scenario, records=records)
    assert read_edits(frame, {0: {"bins": 5, "low": 20.0}}) == {}
    assert read_edits(frame, {0: {"bins": 7, "high": None}, 1: {"bins": None}}) == {0: {"bins": 7, "high": None}}
    assert read_edits(frame, {1: {"weight": None, "include": False, "column": "new"}}) == {
        1: {"weight": 1.0, "include": False}
    }
    assert read_edits(frame, {99: {"bins": 7}}) == {}


def test_an_edit_made_is_no_edit_any_more() -> None:
    table, scenario, records = loaded()
    frame = tabulate_schema(table, scenario, records=records)
    typed = {0: {"bins": 3, "low": 10}, 2: {"kind": "numeric"}, 3: {"weight": 2, "missing": "drop"}}
    for column, changes in read_edits(frame, typed).items():
        spec = AttributeSpec(**{**{"column": column}, **complete_edit(changes, binning=None, edges=None)})
        scenario = scenario.with_spec(spec)
    again = tabulate_schema(table, scenario, records=build_records(table, scenario))
    assert read_edits(again, typed) == {}


def test_own_edges_start_from_the_bins_shown() -> None:
    edges = np.array([0.0, 2.0, 4.0])
    assert complete_edit({"binning": "edges"}, binning="width", edges=edges)["edges"] == (0.0, 2.0, 4.0)
    assert complete_edit({"high": 9.0}, binning="edges", edges=edges) == {
        "high": 9.0,
        "binning": "width",
        "edges": None,
    }
    assert complete_edit({"weight": 2.0}, binning="edges", edges=edges) == {"weight": 2.0}


@settings(deadline=None)
@given(st.lists(st.integers(-1000, 1000), min_size=2, max_size=8, unique=True).map(sorted))
def test_edges_survive_being_shown_and_typed_again(edges: list[int]) -> None:
    shown = np.array(edges) / 8
    assert parse_edges(edges_text(shown), "x") == tuple(float(f"{e:.6g}") for e in shown)
    assert parse_edges("; ".join(str(e) for e in edges), "x") == tuple(float(e) for e in edges)


def test_typed_edges_and_levels_are_read_or_refused_with_a_sentence() -> None:
    with pytest.raises(InputError, match=r"'age' must be numbers .* not 'ten'"):
        parse_edges("0 ten 20", "age")
    assert parse_levels(" low \n\nmid\nhigh\n") == ("low", "mid", "high")
    assert parse_levels(" \n") is None


def test_what_is_shown_can_be_declared_and_codes_the_same() -> None:
    quantile = AttributeSpec(0, bins=3, binning="quantile")
    table, scenario, records = loaded(attributes=(quantile,))
    declared = scenario.replace(domain="declared", attributes=declare_specs(table, scenario))
    again = build_records(table, declared)
    assert np.array_equal(again.codes, records.codes)
    assert [a.levels for a in again.attributes] == [a.levels for a in records.attributes]
    assert "All levels and bounds are declared; the data only counts." in again.findings


def test_typed_distances_are_mirrored_and_the_diagonal_stays() -> None:
    changed = set_distances(1.0 - np.eye(3), {0: {"1": 0.25, "0": 9.0}, 2: {"1": None}})
    assert changed.tolist() == [[0, 0.25, 1], [0.25, 0, 1], [1, 1, 0]]


# ---- words ----


def test_records_alone_in_their_combination_are_counted() -> None:
    _, _, records = loaded(b"a,b\nx,1\nx,1\nx,2\ny,1\ny,2\ny,2\n")
    assert count_combinations(records) == (4, 2)
    seen = pd.DataFrame(records.codes).value_counts()
    assert count_combinations(records) == (len(seen), int((seen == 1).sum()))


def test_the_sentence_counts_what_is_protected_and_names_what_is_left_out() -> None:
    table, _, records = loaded(attributes=(AttributeSpec(1, include=False),))
    said = explain_data(records, table)
    assert "**5 records** with **3 attributes**" in said
    assert "Left out: town." in said
    table, _, records = loaded()
    assert "Every column takes part." in explain_data(records, table)


def test_huge_products_are_named_in_words() -> None:
    wide = ",".join(f"c{k}" for k in range(30))
    rows = "\n".join(",".join("abcde"[(k * r) % 5] for k in range(30)) for r in range(1, 9))
    table, _, records = loaded(f"{wide}\n{rows}\n".encode(), domain="observed")
    product = math.prod(records.sizes)
    power = len(str(product)) - 1
    assert power > 15
    raised = str(power).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
    assert f"10{raised} combinations" in explain_data(records, table)


def test_a_column_is_explained_by_what_its_levels_hide() -> None:
    _, _, records = loaded(attributes=(AttributeSpec(2, kind="ordinal"),))
    assert "**5 bins**, 8.00 wide" in explain_column(records, 0)
    assert "**2 levels**, each at distance 1" in explain_column(records, 1)
    assert "The rarest, Oslo, holds **1 record**; 1 is missing." in explain_column(records, 1)
    assert "**3 ordered levels**; neighbours are at distance 0.500" in explain_column(records, 2)
