"""Two designs as pictures, words and tables: what differs is shown, hollow for the first and filled for the second."""

import math
from functools import cache
from typing import Any

import pytest

from core.comparison import Comparison, Snapshot, compare_designs, take_snapshot
from core.plots.comparison import ATTRIBUTES, plot_grouping, plot_pairs, quantities, telling_rows
from core.plots.comparison_words import explain_comparison, table_comparison, table_knobs
from core.plots.palette import DPN, OPT
from tests.core.plots.small_case import small_stages, texts
from tests.core.test_comparison import snapshot

NAMES = ("A", "now")


@cache
def found() -> Comparison:
    a = take_snapshot(small_stages())
    return compare_designs(a, take_snapshot(small_stages(tau_group=0.9, rule="OPT", epsilon=2.0)))


def test_the_first_design_is_hollow_and_the_second_filled_in_the_look_of_its_choice() -> None:
    picture = plot_pairs(found(), "budget", NAMES)
    assert picture is not None
    hollow, filled = picture.traces[1:3]
    assert set(hollow["marker"]["symbol"]) <= {"circle-open", "diamond-open"}
    assert set(filled["marker"]["symbol"]) == {"diamond"}
    assert set(filled["marker"]["color"]) == {OPT}
    assert set(hollow["marker"]["color"]) <= {OPT, DPN}
    # Names of columns are text, never markup.
    assert "second &lt;b&gt;" in texts(picture)
    rows = telling_rows(found(), "budget")
    shares = [found().b.design.allocation[row.b] for row in rows if row.b is not None]
    assert filled["x"] == pytest.approx(shares)


def test_only_groups_that_differ_are_rows_and_regrouped_ones_come_first() -> None:
    same = compare_designs(found().a, found().a)
    assert telling_rows(same, "budget") == ()
    assert plot_pairs(same, "losses", NAMES) is None
    assert plot_grouping(same, NAMES) is None
    rows = telling_rows(found(), "budget")
    assert [(row.a is None, row.b is None) for row in rows[:3]] == [(False, True), (True, False), (True, False)]
    # The scores of groups that stayed are the same, so only those regrouped or switched differ there.
    for row in telling_rows(found(), "choices")[3:]:
        assert row in found().switched


@pytest.mark.parametrize("aspect", ["losses", "choices", "budget"])
def test_axes_hold_every_value(aspect: str) -> None:
    picture = plot_pairs(found(), aspect, NAMES)
    assert picture is not None
    for name, quantity in zip(("xaxis", "xaxis2"), quantities(found(), aspect), strict=True):
        low, high = picture.layout[name]["range"]
        for value in (*quantity.a, *quantity.b):
            at = math.log10(value) if quantity.log else value
            assert low <= at <= high


def test_the_groups_of_either_design_stand_beside_the_attributes_that_moved() -> None:
    picture = plot_grouping(found(), NAMES)
    assert picture is not None
    # first and second were one block of two rows, and are two blocks of one row.
    spans = sorted((s["x0"] < 0.5, round(s["y1"] - s["y0"], 2)) for s in picture.layout["shapes"])
    assert spans == [(False, 0.76), (False, 0.76), (True, 1.76)]
    said = texts(picture)
    assert sum("<b>OPT</b>" in text for text in said) == 2
    assert "second &lt;b&gt;" in said


def test_many_attributes_are_cut_and_counted() -> None:
    letters = [chr(0x4E00 + i) for i in range(60)]
    together, apart = snapshot("".join(letters)), snapshot(*letters)
    with_members = [
        Snapshot(s.design, s.table, s.sizes, s.scores, s.tau_dpn, s.unit, members)
        for s, members in ((together, (tuple(range(60)),)), (apart, tuple((i,) for i in range(60))))
    ]
    picture = plot_grouping(compare_designs(*with_members), NAMES)
    assert picture is not None
    assert any(f"{60 - ATTRIBUTES} more in the table" in text for text in texts(picture))


def test_the_sentence_takes_its_numbers_from_the_designs() -> None:
    said = explain_comparison(found(), NAMES)
    assert "**4 groups become 5**: 1 split" in said
    assert "now **5**" in said
    change = found().change
    assert f"{100 * abs(change):.1f} % {'less' if change < 0 else 'more'}" in said
    same = explain_comparison(compare_designs(found().a, found().a), NAMES)
    assert "Both have the same **4 groups**." in same
    assert "Both predict the same loss" in same


def test_losses_that_do_not_compare_are_not_compared() -> None:
    a, b = snapshot("ab", loss=10.0), snapshot("ab", loss=5.0, task="mean")
    said = explain_comparison(compare_designs(a, b), NAMES)
    assert "tasks or attributes differ" in said
    assert "they leave 50.0 % and 25.0 %" in said
    other = explain_comparison(compare_designs(a, snapshot("xy", table="u")), NAMES)
    assert "no attribute in common" in other
    assert "The tables differ" in other


def test_the_tables_hold_every_group_and_every_setting() -> None:
    table = table_comparison(found(), NAMES)
    assert len(table) == len(found().rows) == 6
    assert table["choice, A"].tolist().count("–") == 2
    assert table["loss, A"].sum() == pytest.approx(sum(found().a.weighted_losses))
    assert table.columns[:5].tolist() == ["group", "choice, A", "choice, now", "epsilon, A", "epsilon, now"]
    assert "choice, present" in table_comparison(found(), ("A", "the present"))
    knobs = table_knobs(found(), NAMES, {"epsilon": "Budget"})
    assert knobs.to_numpy().tolist() == [
        ["Budget", "3.0", "2.0"],
        ["tau_group", "0.2", "0.9"],
        ["rule", "score", "OPT"],
    ]


def test_an_infinite_exponent_and_changed_columns_are_written_in_words() -> None:
    from core.scenario import AttributeSpec

    spec: Any = (AttributeSpec(0, bins=3),)
    knobs = table_knobs(compare_designs(snapshot("a"), snapshot("a", p=math.inf, attributes=spec)), NAMES, {})
    assert knobs["now"].tolist() == ["∞", "1 column described differently"]
