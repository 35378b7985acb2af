"""Two designs side by side: what differs is named, and nothing else."""

import math
from types import SimpleNamespace
from typing import Any

import pytest

from core.comparison import Snapshot, compare_designs, compare_scenarios, share_of_zero_information, take_snapshot
from core.scenario import AttributeSpec, Scenario
from tests.core.plots.small_case import small_stages


def snapshot(*groups: str, choices: str = "", loss: float = 10.0, table: str = "t", **knobs: Any) -> Snapshot:
    """Return a design whose groups are words, every letter an attribute."""
    count = len(groups)
    design: Any = SimpleNamespace(
        groups=tuple(tuple(word) for word in groups),
        choices=tuple("OPT" if c == "o" else "DPN" for c in (choices or "d" * count)),
        losses=(loss / count,) * count,
        beta=(1.0,) * count,
        predicted_loss=loss,
        zero_information=20.0,
        scenario=Scenario(**knobs),
    )
    return Snapshot(design, table, (5,) * count, (0.5,) * count, 0.3, "levels")


def kinds(a: Snapshot, b: Snapshot) -> list[tuple[str, tuple[int, ...], tuple[int, ...]]]:
    return [(block.kind, block.a, block.b) for block in compare_designs(a, b).blocks]


def test_only_knobs_that_differ_are_named_and_columns_are_counted() -> None:
    a = Scenario(epsilon=2.0, attributes=(AttributeSpec(1, bins=4), AttributeSpec(3, weight=2.0)))
    b = a.replace(p=math.inf, attributes=(AttributeSpec(1, bins=6), AttributeSpec(3, weight=2.0), AttributeSpec(5)))
    found = {k.name: (k.a, k.b) for k in compare_scenarios(a, b)}
    # Column 5 is described by nothing but its position, which is the same as not at all.
    assert found == {"p": (2.0, math.inf), "attributes": (None, 1)}
    assert compare_scenarios(a, a) == ()


def test_groups_that_split_merge_and_move_are_told_apart() -> None:
    a = snapshot("abc", "d", "e", "fg", "hi", "z")
    b = snapshot("a", "bc", "de", "fh", "gi", "y")
    assert kinds(a, b) == [
        ("split", (0,), (0, 1)),
        ("merged", (1, 2), (2,)),
        ("regrouped", (3, 4), (3, 4)),
        ("only A", (5,), ()),
        ("only B", (), (5,)),
    ]
    assert kinds(a, a) == [("same", (k,), (k,)) for k in range(6)]
    # A group that lost an attribute altogether is no split.
    assert kinds(snapshot("ab"), snapshot("a")) == [("regrouped", (0,), (0,))]


def test_every_group_has_one_row_whatever_the_order_of_its_attributes() -> None:
    rows = compare_designs(snapshot("ab", "cd"), snapshot("c", "d", "ba")).rows
    assert [(row.members, row.a, row.b) for row in rows] == [
        (("a", "b"), 0, 2),
        (("c", "d"), 1, None),
        (("c",), None, 0),
        (("d",), None, 1),
    ]


def test_the_loss_changes_only_where_both_measure_the_same() -> None:
    a, b = snapshot("ab", loss=10.0), snapshot("a", "b", loss=8.0, tau_group=0.5)
    assert compare_designs(a, b).change == pytest.approx(-0.2)
    assert compare_designs(a, snapshot("ab", loss=8.0, task="mean")).change != compare_designs(a, b).change
    for other in (snapshot("ab", task="mean"), snapshot("ab", table="u"), snapshot("a"), snapshot("ab", target=1)):
        found = compare_designs(a, other)
        assert not found.comparable
        assert math.isnan(found.change)
    assert share_of_zero_information(a) == pytest.approx(0.5)


def test_switched_groups_are_those_of_both_designs_with_another_choice() -> None:
    a, b = snapshot("a", "b", "cd", choices="odd"), snapshot("a", "b", "c", "d", choices="dood")
    found = compare_designs(a, b)
    assert [row.members for row in found.switched] == [("a",), ("b",)]
    assert a.optimised == 1
    assert b.optimised == 2


def test_the_threshold_in_force_counts_and_not_how_it_was_written() -> None:
    written = Snapshot(snapshot("a", tau_dpn=0.3).design, "t", (5,), (0.5,), 0.3, "levels")
    assert compare_designs(snapshot("a"), written).knobs == ()
    other = Snapshot(snapshot("a").design, "t", (5,), (0.5,), 0.1, "levels")
    (knob,) = compare_designs(snapshot("a"), other).knobs
    assert (knob.name, knob.a, knob.b) == ("tau_dpn", 0.3, 0.1)


def test_two_real_designs() -> None:
    a, b = take_snapshot(small_stages()), take_snapshot(small_stages(tau_group=0.9, epsilon=2.0))
    found = compare_designs(a, b)
    assert [k.name for k in found.knobs] == ["epsilon", "tau_group"]
    assert [block.kind for block in found.blocks] == ["split", "same", "same", "same"]
    assert found.comparable
    loss = [s.design.predicted_loss for s in (a, b)]
    assert found.change == pytest.approx(loss[1] / loss[0] - 1)
    # The frequency task is additive, so the groups' contributions are the whole loss.
    assert sum(a.weighted_losses) == pytest.approx(loss[0])
    assert len(a.sizes) == len(a.scores) == 4
