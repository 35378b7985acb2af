"""Kinds, bins, levels, missing values, and the states of groups."""

import dataclasses
import itertools
import math
import time

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import normalized_mutual_info_score

from core import limits
from core.coding import NO_LEVEL, cut_bins, number_label, to_labels, to_numbers
from core.domain import (
    build_group_domain,
    build_records,
    complete_specs,
    compute_expansion,
    count_rare_states,
    decode,
    encode_table,
    encode_values,
    infer,
    project,
)
from core.errors import InputError
from core.metric import group_distance
from core.scenario import AttributeSpec, Scenario
from core.table import Table, load_sample, read_table, sample_scenario


def table(**data):
    """A table with these columns, as if read."""
    frame = pd.DataFrame({k: pd.Series(v) for k, v in data.items()})
    return dataclasses.replace(read_table(b"a,b\n1,2\n"), frame=frame)


def scenario(*specs, **knobs):
    return Scenario(attributes=tuple(specs), **knobs)


def attribute(values, spec=None, **knobs):
    """The first attribute of a table of one informative and one filler column."""
    data = table(x=values, filler=np.arange(len(values)) % 2)
    return build_records(data, scenario(*([spec] if spec else []), **knobs)).attributes[0]


def components(records, tau=0.1):
    """Connected components of NMI > tau, by scikit-learn."""
    count = len(records.attributes)
    groups = [{i} for i in range(count)]
    for i, j in itertools.combinations(range(count), 2):
        if normalized_mutual_info_score(records.codes[:, i], records.codes[:, j]) > tau:
            first, second = (next(g for g in groups if k in g) for k in (i, j))
            if first is not second:
                first |= second
                groups.remove(second)
    return sorted(sorted(g) for g in groups)


KINDS = {
    "text": (["a", "b", "a", "c"], "nominal"),
    "truth values": ([True, False, True, True], "nominal"),
    "two numbers": ([0, 1, 1, 0], "nominal"),
    "two reals": ([0.5, 1.5, 1.5, 0.5], "nominal"),
    "grades": ([1, 2, 3, 3, 1, 2], "ordinal"),
    "grades as floats": ([1.0, 2.0, 3.0, math.nan, 1.0, 3.0, 2.0], "ordinal"),
    "ten grades": ([*range(10)] * 2, "ordinal"),
    "few whole numbers seen once": ([23, 45, 31], "numeric"),
    "few whole numbers far apart": ([0, 100, 5000] * 2, "numeric"),
    "eleven whole numbers": ([*range(11)] * 2, "numeric"),
    "reals": ([0.5, 1.5, 2.5, 2.5], "numeric"),
    "many whole numbers": ([*range(11), 3], "numeric"),
    "dates": (pd.to_datetime(["2020-01-01", "2020-01-05", "2021-01-01", "2021-01-01"]), "numeric"),
}


@pytest.mark.parametrize("case", KINDS)
def test_inferred_kind(case):
    values, kind = KINDS[case]
    spec = complete_specs(table(x=values), Scenario())[0]
    assert (spec.kind, spec.include) == (kind, True)


EXCLUDED = {
    "constant": (["a"] * 12, "is constant"),
    "all missing": ([math.nan] * 12, "has no values"),
    "identifier of text": ([f"k{i}" for i in range(12)], "like an identifier"),
    "running number": (list(range(5, 17)), "like an identifier"),
    "many levels": ([f"k{i}" for i in range(limits.LEVEL_LIMIT + 1)] * 2, "has 201 levels, over 200"),
}


@pytest.mark.parametrize("case", EXCLUDED)
def test_excluded_by_default_with_a_note_and_included_on_demand(case):
    values, note = EXCLUDED[case]
    data = table(x=values, other=["a", "b"] * (len(values) // 2))
    found = infer(data, Scenario())
    assert not found.specs[0].include
    assert any(note in f and "'x'" in f for f in found.findings)
    records = build_records(data, scenario(AttributeSpec(0, include=True)))
    assert [a.name for a in records.attributes] == ["x", "other"]
    assert len(records) == len(values)


@pytest.mark.parametrize(
    "values",
    [
        ["a"] * 11 + [None],
        [f"k{i}" for i in range(9)],
        [float(i) ** 2 for i in range(12)],
        [0.1 * i for i in range(12)],
    ],
    ids=["constant or missing", "nine different names", "different whole numbers", "different reals"],
)
def test_not_excluded(values):
    assert complete_specs(table(x=values), Scenario())[0].include


def test_whole_numbers_called_id_are_identifiers():
    values = [i * i + 3 for i in range(12)]
    specs = complete_specs(table(patient_id=values, area=values, filler=[1, 2] * 6), Scenario())
    assert [s.include for s in specs] == [False, True, True]


def test_the_target_does_not_take_part_unless_it_is_included():
    data = table(x=[1.5, 2.5, 3.5], y=[1, 2, 3])
    assert [s.include for s in complete_specs(data, Scenario(target=1))] == [True, False]
    assert complete_specs(data, scenario(AttributeSpec(1, include=True), target=1))[1].include
    assert build_records(data, Scenario(target=1)).target.tolist() == [1, 2, 3]


def test_no_column_left_is_refused():
    with pytest.raises(InputError, match="No column takes part"):
        build_records(table(x=["a", "a"], y=[1, 1]), Scenario())


@pytest.mark.parametrize("knobs", [{"attributes": (AttributeSpec(5, include=True),)}, {"target": 5}])
def test_a_scenario_for_a_wider_table_is_refused(knobs):
    with pytest.raises(InputError, match="describes column 6, but the table has 2"):
        complete_specs(table(x=["a", "b"], y=[1, 2]), Scenario(**knobs))


def test_specs_are_complete():
    data = table(n=[0.0, 10.0, 4.0] * 2, w=["b", "a", "b"] * 2, o=[3, 1, 2] * 2)
    n, w, o = complete_specs(data, Scenario())
    assert (n.kind, n.binning, n.bins, n.low, n.high, n.missing) == ("numeric", "width", 5, 0.0, 10.0, "level")
    assert (w.kind, w.levels) == ("nominal", ("a", "b"))
    assert (o.kind, o.levels) == ("ordinal", ("1", "2", "3"))
    again = complete_specs(data, scenario(n, w, o))
    assert again == (n, w, o)


def test_findings_say_what_is_taken_from_the_data():
    data = table(n=[0.0, 10.0, 4.0], w=["b", "a", None])
    found = build_records(data, Scenario()).findings
    assert "Taken from the fitting data, not declared: the bounds of n." in found
    assert "Taken from the fitting data, not declared: the levels of w." in found
    assert "Column 'w' is missing in 1 of 3 rows: a level of its own." in found
    declared = scenario(AttributeSpec(0, low=0, high=10), AttributeSpec(1, levels=("a", "b")))
    assert not any("Taken from" in f for f in build_records(data, declared).findings)


def test_equal_width_bins_hold_their_upper_edge():
    a = attribute([0.0, 2.0, 2.1, 5.0, 10.0, 4.0])
    assert a.edges.tolist() == [0, 2, 4, 6, 8, 10]
    assert a.values.tolist() == [1, 3, 5, 7, 9]
    assert a.levels == ("0 to 2", "2 to 4", "4 to 6", "6 to 8", "8 to 10")
    assert encode_values(a, pd.Series([0.0, 2.0, 2.1, 10.0, -5.0, 99.0])).tolist() == [0, 0, 1, 4, 0, 4]
    assert a.distance[0].tolist() == pytest.approx([0, 0.2, 0.4, 0.6, 0.8])


def test_quantile_bins_are_those_of_pandas_and_merge_equal_edges():
    values = [0, 0, 0, 0, 0, 1, 2, 3, 4, 50]
    a = attribute(values, AttributeSpec(0, kind="numeric", binning="quantile", bins=4))
    expected = pd.qcut(values, 4, labels=False, duplicates="drop", retbins=True)
    assert a.edges.tolist() == expected[1].tolist() == [0, 0.5, 2.75, 50]
    assert encode_values(a, pd.Series(values)).tolist() == expected[0].tolist()
    assert a.distance[0, 2] == pytest.approx((26.375 - 0.25) / 50)


def test_own_edges_and_declared_bounds():
    a = attribute([1.0, 2.0, 30.0], AttributeSpec(0, edges=(0.0, 1.0, 10.0)))
    assert (a.kind, a.edges.tolist(), a.values.tolist()) == ("numeric", [0, 1, 10], [0.5, 5.5])
    data = table(x=[1.0, 2.0, 30.0], y=[1, 2, 2])
    records = build_records(data, scenario(AttributeSpec(0, low=0, high=10, bins=2)))
    assert records.codes[:, 0].tolist() == [0, 0, 1]
    assert records.attributes[0].edges.tolist() == [0, 5, 10]
    assert "1 values of column 'x' lie outside its bounds 0 to 10 and count to the outer bins." in records.findings


def test_one_bound_declared_takes_the_other_from_the_data():
    spec = complete_specs(table(x=[1.5, 2.5, 9.5]), scenario(AttributeSpec(0, low=0.0)))[0]
    assert (spec.low, spec.high) == (0.0, 9.5)
    with pytest.raises(InputError, match=r"would reach from 20 to 9\.5"):
        complete_specs(table(x=[1.5, 2.5, 9.5]), scenario(AttributeSpec(0, low=20.0)))


def test_a_constant_number_has_one_level():
    records = build_records(table(x=[7, 7], y=["a", "b"]), scenario(AttributeSpec(0, include=True, kind="numeric")))
    a = records.attributes[0]
    assert (a.levels, a.values.tolist(), a.distance.tolist()) == (("7",), [7.0], [[0.0]])
    assert records.codes[:, 0].tolist() == [0, 0]
    assert build_group_domain(records, [0], p=2.0).size == 1


@settings(max_examples=80, deadline=None)
@given(
    # Between two neighbouring subnormal numbers there is no middle to stand for a bin.
    st.lists(st.floats(-1e9, 1e9, allow_subnormal=False), min_size=2, max_size=40),
    st.integers(2, 12),
    st.sampled_from(["width", "quantile"]),
)
def test_bins_cover_the_data_and_agree_with_their_edges(values, bins, binning):
    spec = AttributeSpec(0, include=True, kind="numeric", bins=bins, binning=binning)
    records = build_records(table(x=values), scenario(spec))
    a = records.attributes[0]
    edges, codes = a.edges, records.codes[:, 0]
    assert 1 <= a.size <= bins
    assert a.size == len(edges) - 1 == len(set(a.levels))
    assert (edges[0], edges[-1]) == (min(values), max(values))
    assert ((edges[codes] <= values) & (values <= edges[codes + 1])).all()
    assert ((a.distance >= 0) & (a.distance <= 1)).all()
    assert encode_values(a, pd.Series(decode(a, codes))).tolist() == codes.tolist()


def test_quantile_bins_of_no_values_are_of_equal_width():
    empty = cut_bins(np.array([]), AttributeSpec(0, kind="numeric", binning="quantile", bins=4, low=-1.0, high=1.0))
    assert empty.edges.tolist() == [-1.0, -0.5, 0.0, 0.5, 1.0]


def test_bin_labels_are_different_and_dates_are_dates():
    near = cut_bins(np.array([]), AttributeSpec(0, kind="numeric", binning="width", bins=3, low=1e6, high=1e6 + 1))
    assert len(set(near.labels)) == 3
    a = attribute(pd.to_datetime(["2020-01-01", "2020-01-11", "2020-01-03"]), AttributeSpec(0, bins=2))
    assert a.levels == ("2020-01-01 to 2020-01-06", "2020-01-06 to 2020-01-11")
    assert a.values.tolist() == [18264.5, 18269.5]


def test_missing_values_are_a_level_at_distance_one():
    a = attribute([0.0, 10.0, math.nan, 4.0])
    assert (a.levels[-1], a.has_missing, a.size) == ("missing", True, 6)
    assert math.isnan(a.values[-1])
    assert a.distance[-1].tolist() == [1, 1, 1, 1, 1, 0]
    assert encode_values(a, pd.Series([math.nan, 10.0])).tolist() == [5, 4]
    o = attribute([1, 2, 3, None], AttributeSpec(0, kind="ordinal"))
    assert o.levels == ("1", "2", "3", "missing")
    assert o.distance.tolist() == [[0, 0.5, 1, 1], [0.5, 0, 0.5, 1], [1, 0.5, 0, 1], [1, 1, 1, 0]]
    assert o.values.tolist() == pytest.approx([0, 1, 2, math.nan], nan_ok=True)


def test_a_level_called_missing_is_not_the_missing_level():
    a = attribute(["missing", "x", None, "x"])
    assert a.levels == ("missing", "x", "missing value")
    assert encode_values(a, pd.Series(["missing", None])).tolist() == [0, 2]


def test_dropped_rows_are_counted_and_give_no_levels():
    data = table(x=["a", None, "b", "c"], y=[1.0, 100.0, 2.5, 3.0])
    records = build_records(data, scenario(AttributeSpec(0, missing="drop"), AttributeSpec(1, kind="numeric")))
    assert records.rows.tolist() == [0, 2, 3]
    assert records.attributes[0].levels == ("a", "b", "c")
    assert records.attributes[1].edges[-1] == 3.0
    assert "1 of 4 rows are dropped because column 'x' is missing there." in records.findings
    with pytest.raises(InputError, match="Every row has a missing value"):
        build_records(
            table(x=["a", None], y=[None, "b"]),
            scenario(AttributeSpec(0, missing="drop", include=True), AttributeSpec(1, missing="drop", include=True)),
        )


def test_only_missing_values_included_on_demand():
    a = attribute([math.nan, math.nan], AttributeSpec(0, include=True, kind="nominal"))
    assert (a.levels, a.distance.tolist()) == (("missing",), [[0]])


def test_declared_levels_keep_their_order_and_refuse_others():
    spec = AttributeSpec(0, kind="ordinal", levels=("low", "mid", "high"))
    assert attribute(["mid", "low", "low"], spec).levels == ("low", "mid", "high")
    with pytest.raises(InputError, match=r"Row 3 has the value 'huge' in column 'x', which is none of its 3 levels"):
        attribute(["mid", "low", "huge"], spec)


def test_rows_are_named_as_in_the_whole_table():
    data = table(x=["mid", "low", "huge"], y=[1, 2, 2])
    part = dataclasses.replace(data, frame=data.frame.iloc[2:])
    with pytest.raises(InputError, match="Row 3 has the value 'huge'"):
        build_records(part, scenario(AttributeSpec(0, include=True, levels=("low", "mid"))))


def test_text_declared_numeric():
    spec = AttributeSpec(0, kind="numeric", bins=2)
    assert attribute(["1.5", "4", "10", None], spec).edges.tolist() == [1.5, 5.75, 10]
    with pytest.raises(InputError, match="Column 'x' cannot be numeric: row 2 holds 'abc'"):
        attribute(["1.5", "abc", "10"], spec)


def test_own_distance_matrix():
    spec = AttributeSpec(0, levels=("a", "b", "c"), distance=((0, 3, 4), (3, 0, 1), (4, 1, 0)))
    a = attribute(["a", "b", "c", None], spec)
    assert a.distance.tolist() == [[0, 3, 4, 2], [3, 0, 1, 2], [4, 1, 0, 2], [2, 2, 2, 0]]
    crooked = dataclasses.replace(spec, distance=((0, 3, 9), (3, 0, 1), (9, 1, 0)))
    with pytest.raises(InputError, match="a to c is 9, longer than the 4 through b"):
        attribute(["a", "b", "c"], crooked)
    with pytest.raises(InputError, match="must be 2 x 2, not 3 x 3"):
        attribute(["a", "b", "a"], dataclasses.replace(spec, levels=("a", "b")))
    with pytest.raises(InputError, match="own distance matrix but is ordinal"):
        attribute(["a", "b", "a"], dataclasses.replace(spec, kind="ordinal"))


DECLARED = (
    AttributeSpec(0, kind="numeric", low=0, high=10, bins=2),
    AttributeSpec(1, levels=("a", "b", "c"), missing="level"),
)


def test_a_declared_domain_takes_nothing_from_the_data():
    first = build_records(table(x=[1.0, 2.0], y=["a", None]), scenario(*DECLARED, domain="declared"))
    second = build_records(table(x=[9.0, 7.0, 3.0], y=["b", "b", "b"]), scenario(*DECLARED, domain="declared"))
    for one, other in zip(first.attributes, second.attributes, strict=True):
        assert one.levels == other.levels
        assert (one.distance == other.distance).all()
    domains = [build_group_domain(r, [0, 1], p=2.0, mode="declared") for r in (first, second)]
    assert domains[0].size == domains[1].size == 2 * 4
    assert (domains[0].prior == domains[1].prior).all()
    assert (domains[0].prior == 1 / 8).all()
    assert domains[0].counts.sum() == 2


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        (AttributeSpec(0), "column 'x' is not: declare its levels, or bounds and bins"),
        (AttributeSpec(0, kind="nominal"), "column 'x' is not: declare its levels"),
        (AttributeSpec(0, kind="numeric", low=0), "column 'x' is not: declare its low and high bound"),
        (AttributeSpec(0, low=0, high=1, binning="quantile"), "Quantile bins of column 'x' need the data"),
    ],
)
def test_a_declared_domain_names_what_is_not_declared(spec, sentence):
    with pytest.raises(InputError, match=sentence):
        build_records(table(x=[1.5, 2.5, 3.5], y=[1, 2, 2]), scenario(spec, domain="declared"))


def test_a_declared_domain_refuses_missing_values_without_a_level():
    specs = (AttributeSpec(0, levels=("a",)), AttributeSpec(1, include=False))
    with pytest.raises(InputError, match="Row 2 has no value in column 'x', which has no missing level"):
        build_records(table(x=["a", None], y=[1, 2]), scenario(*specs, domain="declared"))


def test_too_many_levels_are_refused():
    values = [f"k{i}" for i in range(1001)]
    with pytest.raises(InputError, match="has 1,001 levels; at most 1,000"):
        build_records(table(x=values), scenario(AttributeSpec(0, include=True)))


def test_a_range_that_overflows_is_refused():
    with pytest.raises(InputError, match="too far to measure"):
        build_records(table(x=[-1.5e308, 0.5, 1.5e308]), Scenario())


def test_own_edges_must_be_given():
    with pytest.raises(InputError, match="own bin edges but none are given"):
        build_records(table(x=[0.5, 1.5, 2.5]), scenario(AttributeSpec(0, kind="numeric", binning="edges")))


def test_values_of_later_rows():
    a = attribute(["a", "b", "c", "a"])
    later = pd.Series(["b", "zzz", None])
    with pytest.raises(InputError, match="Row 3 has no value"):
        encode_values(a, later.iloc[2:])
    with pytest.raises(InputError, match="Row 2 has the value 'zzz'"):
        encode_values(a, later)
    assert encode_values(a, later, unknown="mark").tolist() == [1, NO_LEVEL, NO_LEVEL]
    assert encode_values(a, later, unknown="project").tolist() == [1, 0, 0]
    with_missing = attribute(["a", "b", "c", None])
    assert encode_values(with_missing, later, unknown="project").tolist() == [1, 3, 3]
    o = attribute([10, 20, 40, 10], AttributeSpec(0, kind="ordinal"))  # levels that are numbers are near by value
    assert encode_values(o, pd.Series([10, 29, 31, 500]), unknown="project").tolist() == [0, 1, 2, 2]


def test_labels_do_not_depend_on_the_type_of_the_column():
    a = attribute([1.0, 2.0, 5.0, math.nan], AttributeSpec(0, kind="nominal"))
    for series in (pd.Series([5, 1]), pd.Series([5.0, 1.0]), pd.Series(["5", "1"]), pd.Series([5, "1"], dtype=object)):
        assert encode_values(a, series).tolist() == [2, 0]
    truth = attribute([True, False, True])
    assert truth.levels == ("false", "true")
    assert encode_values(truth, pd.Series(["true", "false"])).tolist() == [1, 0]


def test_decode_gives_midpoints_and_labels():
    n = attribute([0.0, 10.0, math.nan, 4.0])
    assert decode(n, np.array([0, 4, 5])).tolist() == pytest.approx([1, 9, math.nan], nan_ok=True)
    w = attribute(["a", "b", None, "a"])
    assert decode(w, np.array([1, 0, 2])).tolist() == ["b", "a", None]


def test_numbers_and_labels_of_columns():
    assert to_numbers(pd.Series(pd.to_datetime(["1970-01-03", None])), "d").tolist() == pytest.approx(
        [2, math.nan], nan_ok=True
    )
    assert to_numbers(pd.Series([1, None]), "d").tolist() == pytest.approx([1, math.nan], nan_ok=True)
    codes, labels = to_labels(pd.Series([10.0, 9.0, 0.5, math.nan]))
    assert (codes.tolist(), labels) == ([2, 1, 0, -1], ["0.5", "9", "10"])
    assert [number_label(v) for v in (-0.0, 3.0, 0.1, 1e20)] == ["0", "3", "0.1", "1e+20"]


def test_group_domain_by_hand():
    data = table(x=["b", "a", "b", "b", "a"], y=["p", "q", "p", "q", "q"], z=[1, 2, 1, 1, 2])
    records = build_records(data, Scenario())
    domain = build_group_domain(records, [1, 0], p=1.0)
    assert domain.members == (0, 1)
    assert domain.states.tolist() == [[0, 1], [1, 0], [1, 1]]
    assert domain.counts.tolist() == [2, 2, 1]
    assert domain.prior.tolist() == [0.4, 0.4, 0.2]
    assert domain.state_of.tolist() == [1, 0, 1, 2, 0]
    assert domain.distance.tolist() == [[0, 2, 1], [2, 0, 1], [1, 1, 0]]
    assert (domain.mode, domain.observed, domain.product, domain.size) == ("observed", 3, 4, 3)
    full = build_group_domain(records, [0, 1], p=1.0, mode="product")
    assert full.states.tolist() == [[0, 0], [0, 1], [1, 0], [1, 1]]
    assert full.counts.tolist() == [0, 2, 2, 1]
    assert full.state_of.tolist() == [2, 1, 2, 3, 1]
    assert count_rare_states(domain) == count_rare_states(full) == 3
    assert count_rare_states(full, below=2) == 1


def test_a_domain_beyond_the_limit_is_factorised():
    records = build_records(table(x=list("abcdefgh"), y=list("abababab")), Scenario())
    assert build_group_domain(records, [0, 1], p=2.0, limit=8).mode == "observed"
    assert build_group_domain(records, [0, 1], p=2.0, mode="product", limit=16).mode == "product"
    for mode, limit in (("observed", 7), ("product", 15), ("declared", 15)):
        domain = build_group_domain(records, [0, 1], p=2.0, mode=mode, limit=limit)
        assert (domain.mode, domain.enumerated, domain.size) == ("factorised", False, 16)
        assert (domain.observed, domain.product) == (8, 16)
        assert domain.states.shape == (0, 2)
        assert domain.distance.shape == (0, 0)
        assert (domain.state_of == -1).all()
        assert compute_expansion(domain, records, 2.0) is None


def test_a_product_beyond_64_bits_is_counted():
    rng = np.random.default_rng(0)
    data = table(**{f"c{i}": rng.integers(0, 10, 60).astype(str) for i in range(30)})
    domain = build_group_domain(build_records(data, Scenario()), range(30), p=2.0)
    assert domain.product > 2**63
    assert domain.mode == "observed"
    assert domain.states[domain.state_of].shape == (60, 30)


@st.composite
def small_records(draw):
    rows = draw(st.integers(3, 25))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    specs = [
        AttributeSpec(0, include=True, kind="nominal"),
        AttributeSpec(1, include=True, kind="numeric", bins=draw(st.integers(2, 4)), weight=draw(st.floats(0.1, 4))),
        AttributeSpec(2, include=True, kind="ordinal"),
    ]
    data = table(x=rng.choice(list("abc"), rows), y=rng.normal(size=rows), z=rng.integers(0, 3, rows))
    return build_records(data, scenario(*specs))


@settings(max_examples=40, deadline=None)
@given(small_records(), st.sampled_from([1.0, 2.0, 3.0, math.inf]))
def test_observed_states_are_a_part_of_the_product(records, p):
    observed = build_group_domain(records, [0, 1, 2], p=p)
    product = build_group_domain(records, [0, 1, 2], p=p, mode="product")
    place = [product.states.tolist().index(s) for s in observed.states.tolist()]
    assert place == sorted(place)
    assert (observed.distance == product.distance[np.ix_(place, place)]).all()
    assert (observed.counts == product.counts[place]).all()
    assert product.counts.sum() == observed.counts.sum() == len(records)
    assert observed.prior.sum() == pytest.approx(1)
    for domain in (observed, product):
        assert (domain.states[domain.state_of] == records.codes).all()


@settings(max_examples=20, deadline=None)
@given(small_records(), st.sampled_from([1.0, 2.0, math.inf]))
def test_projection_is_the_nearest_state_and_its_expansion_is_the_largest_ratio(records, p):
    domain = build_group_domain(records, [0, 1, 2], p=p)
    product = build_group_domain(records, [0, 1, 2], p=p, mode="product")
    image = project(domain, records.attributes, product.states, p=p)
    both = np.concatenate([product.states, domain.states])
    gaps = group_distance(both, records.attributes, p)[: product.size, product.size :]
    assert image.tolist() == [row.tolist().index(min(row)) for row in gaps]
    assert (project(domain, records.attributes, records.codes, p=p) == domain.state_of).all()
    ratios = [
        domain.distance[image[i], image[j]] / product.distance[i, j]
        for i, j in itertools.permutations(range(product.size), 2)
    ]
    assert compute_expansion(domain, records, p) == max([1.0, *ratios])
    assert compute_expansion(product, records, p) == 1.0


def test_adult_groups_have_the_published_sizes():
    records = build_records(load_sample("adult"), sample_scenario("adult"))
    assert len(records.attributes) == 15
    assert len(records) == 16_619
    domains = [build_group_domain(records, g, p=2.0) for g in components(records)]
    named = {tuple(records.attributes[i].name for i in d.members): (d.observed, d.product) for d in domains}
    assert named.pop(("age", "marital_status", "relationship", "sex", "income")) == (280, 840)
    assert named.pop(("workclass", "education", "education_num", "occupation")) == (640, 10_800)
    assert named.pop(("race", "native_country")) == (89, 205)
    assert named == {
        ("fnlwgt",): (5, 5),
        ("capital_gain",): (4, 5),
        ("capital_loss",): (5, 5),
        ("hours_per_week",): (5, 5),
    }


def test_heart_groups_have_the_published_sizes():
    records = build_records(load_sample("heart"), sample_scenario("heart"))
    assert "narrowing" not in [a.name for a in records.attributes]
    assert len(records.attributes) == 13
    domains = [build_group_domain(records, g, p=2.0) for g in components(records)]
    largest = max(domains, key=lambda d: d.size)
    assert largest.size == 37
    assert compute_expansion(largest, records, 2.0) == pytest.approx(3.6, abs=0.05)
    everything = build_records(load_sample("heart"), Scenario())
    domains = [build_group_domain(everything, g, p=2.0) for g in components(everything)]
    largest = max(domains, key=lambda d: d.size)
    assert (largest.observed, largest.product) == (221, 48_000)
    assert count_rare_states(largest, below=2) == 176


def test_wine_votes_have_the_published_counts():
    """Plurality of the ranks by mean quality of five attributes in five quantile bins: the counts fix the bins."""
    records = build_records(load_sample("wine"), sample_scenario("wine"))
    assert [a.name for a in records.attributes] == ["volatile_acidity", "chlorides", "density", "sulphates", "alcohol"]
    assert records.sizes == (5,) * 5
    votes = []
    for codes in records.codes.T:
        means = [records.target[codes == level].mean() for level in range(5)]
        votes.append(np.argsort(np.argsort(means, kind="stable"))[codes])
    tally = (np.stack(votes, axis=1)[:, :, None] == np.arange(5)).sum(axis=1)
    assert np.bincount(tally.argmax(axis=1)).tolist() == [1900, 1269, 1049, 1202, 1077]
    assert len(components(build_records(load_sample("wine"), Scenario()))) == 7


def test_a_part_of_a_sample_is_fitted_and_the_rest_encoded():
    adult = load_sample("adult")
    order = np.random.default_rng(0).permutation(len(adult.frame))
    fit, rest = np.sort(order[:10_000]), np.sort(order[10_000:])
    records = build_records(dataclasses.replace(adult, frame=adult.frame.iloc[fit]), Scenario())
    codes = encode_table(records.attributes, adult.frame.iloc[rest], unknown="project")
    assert codes.shape == (6619, 15)
    assert ((codes >= 0) & (codes < records.sizes)).all()


def test_coding_adult_takes_well_under_a_second():
    adult = load_sample("adult")
    start = time.process_time()
    build_records(adult, Scenario())
    assert time.process_time() - start < 2  # 0.1 s on an idle core


def test_the_table_type_is_not_changed_by_coding():
    adult = load_sample("heart")
    before = adult.frame.copy(deep=True)
    build_records(adult, Scenario())
    assert isinstance(adult, Table)
    pd.testing.assert_frame_equal(adult.frame, before)


CELLS = st.sampled_from(
    ["", "NA", "1", "2.5", "-3", "1e300", "abc", "abc", "true", "No", "2020-01-31", "inf", "5%", "é"]
)
SPECS = st.builds(
    lambda **chosen: AttributeSpec(0, **chosen),
    include=st.sampled_from([None, True]),
    kind=st.sampled_from([None, "nominal", "ordinal", "numeric"]),
    bins=st.sampled_from([None, 2, 7]),
    binning=st.sampled_from([None, "width", "quantile", "edges"]),
    edges=st.sampled_from([None, (0.0, 1.0), (-1.0, 0.5, 3.0)]),
    low=st.sampled_from([None, -1.0, 0.0]),
    high=st.sampled_from([None, 1.0, 99.0]),
    levels=st.sampled_from([None, ("1", "abc"), ("true", "false")]),
    missing=st.sampled_from([None, "level", "drop"]),
)


@settings(max_examples=80, deadline=None)
@given(st.lists(CELLS, min_size=1, max_size=12), SPECS, st.sampled_from(["observed", "declared"]))
def test_any_column_and_spec_gives_sound_codes_or_an_input_error(cells, spec, domain):
    content = "x,y\n" + "".join(f"{c},{i % 2}\n" for i, c in enumerate(cells))
    other = AttributeSpec(1, include=True, levels=("0", "1"))
    try:
        records = build_records(read_table(content.encode()), scenario(spec, other, domain=domain))
    except InputError as error:
        assert str(error).endswith(".")
        return
    for a, codes in zip(records.attributes, records.codes.T, strict=True):
        assert a.distance.shape == (a.size, a.size)
        assert np.isfinite(a.distance).all()
        assert ((codes >= 0) & (codes < a.size)).all()
        assert len(set(a.levels)) == a.size
    group = build_group_domain(records, range(len(records.attributes)), p=2.0)
    assert group.prior.sum() == pytest.approx(1)
    assert len(records) == len(records.rows) == group.counts.sum()
