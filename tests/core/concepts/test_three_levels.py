"""A channel by hand: violations against brute force, moving an entry, mending."""

import dataclasses
import itertools
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.concepts import PRESETS, Settings, check_channel, find_moved, mend, set_entry
from core.concepts.settings import PARTS, Rows, rows_from

SCALES = st.floats(0.01, 1.0)
ROW = st.tuples(SCALES, SCALES, SCALES).map(lambda row: tuple(value / sum(row) for value in row))
CHANNELS = st.tuples(ROW, ROW, ROW).map(rows_from)
ENTRIES = st.tuples(st.integers(0, 2), st.integers(0, 2))


def brute(case: Settings) -> set[tuple[int, int, int]]:
    steps = {"ordinal": lambda x, z: abs(x - z), "nominal": lambda x, z: 1}[case.metric]
    return {
        (x, z, y)
        for x, z, y in itertools.product(range(3), repeat=3)
        if x != z and case.rows[x][y] > math.exp(case.channel_epsilon * steps(x, z)) * case.rows[z][y]
    }


@settings(max_examples=60, deadline=None)
@given(CHANNELS, st.floats(0.1, 3.0), st.sampled_from(["ordinal", "nominal"]))
def test_violations_are_those_of_brute_force(rows: Rows, epsilon: float, metric: str) -> None:
    case = Settings(rows=rows, channel_epsilon=epsilon, metric=metric)
    check = check_channel(case)
    assert {(v.true, v.other, v.released) for v in check.violations} == brute(case)
    assert (not check.violations) == (check.certified_epsilon <= epsilon)
    # An entry is broken exactly where it leaves the range that the others of its column allow.
    for entry in itertools.product(range(3), repeat=2):
        low, high = check.allowed(*entry)
        assert (entry in check.broken) == (not low * (1 - 1e-12) <= check.matrix[entry] <= high * (1 + 1e-12))


def test_a_channel_checked_by_hand() -> None:
    case = Settings(rows=rows_from(((0.8, 0.1, 0.1), (0.2, 0.6, 0.2), (0.2, 0.2, 0.6))), channel_epsilon=1.0)
    check = check_channel(case)
    # 0.8 / 0.2 = 4 > e at one step but below e^2 at two; 0.6 / 0.1 = 6 > e; 0.6 / 0.2 = 3 > e; 0.6 / 0.1 < e^2.
    assert {(v.true, v.other, v.released) for v in check.violations} == {(0, 1, 0), (1, 0, 1), (1, 2, 1), (2, 1, 2)}
    assert check.worst is not None
    assert check.worst.ratio == pytest.approx(6.0)
    assert check.certified_epsilon == pytest.approx(math.log(6))
    assert check.allowed(0, 0)[1] == pytest.approx(0.2 * math.e)
    nominal = check_channel(dataclasses.replace(case, metric="nominal"))
    assert (0, 2, 0) in {(v.true, v.other, v.released) for v in nominal.violations}


def test_a_zero_over_a_positive_number_satisfies_nothing() -> None:
    check = check_channel(PRESETS["broken"].settings)
    assert check.certified_epsilon == math.inf
    assert any(v.ratio == math.inf for v in check.violations)


@given(CHANNELS, ENTRIES, st.floats(0.0, 1.0))
def test_moving_an_entry_keeps_the_row_and_its_proportions(rows: Rows, entry: tuple[int, int], value: float) -> None:
    moved = set_entry(rows, entry, value)
    x, y = entry
    assert moved[x][y] == round(value * PARTS)
    assert all(sum(row) == PARTS and min(row) >= 0 for row in moved)
    assert [row for k, row in enumerate(moved) if k != x] == [row for k, row in enumerate(rows) if k != x]
    a, b = (k for k in range(3) if k != y)
    assert moved[x][a] * rows[x][b] == pytest.approx(moved[x][b] * rows[x][a], abs=2 * PARTS)


def test_what_a_full_entry_leaves_is_shared_evenly() -> None:
    full = set_entry(Settings().rows, (0, 0), 1.0)
    assert full[0] == (PARTS, 0, 0)
    assert set_entry(full, (0, 0), 0.5)[0] == (PARTS // 2, PARTS // 4, PARTS // 4)


def test_the_moved_entry_is_found_although_others_are_reported_as_they_were() -> None:
    rows = Settings().rows
    first = {(x, y): rows[x][y] / PARTS for x in range(3) for y in range(3)}
    assert find_moved(rows, first, {}) is None
    reported = first | {(0, 0): 0.7}
    assert find_moved(rows, reported, {}) == ((0, 0), 0.7)
    shared = set_entry(rows, (0, 0), 0.7)
    # The next report comes before the browser knows the shared row: (0, 1) and (0, 2) are old, and nobody moved them.
    again = reported | {(0, 0): 0.71}
    assert find_moved(shared, again, reported) == ((0, 0), 0.71)
    # Letting go repeats the report; nothing moves although the others are still old.
    assert find_moved(set_entry(rows, (0, 0), 0.71), again, again) is None
    # Later another entry is dragged back to the value that was reported before.
    now = {(x, y): shared[x][y] / PARTS for x in range(3) for y in range(3)} | {(0, 1): again[0, 1]}
    assert find_moved(shared, now, reported) == ((0, 1), again[0, 1])


@pytest.mark.parametrize("name", list(PRESETS))
@pytest.mark.parametrize("metric", ["ordinal", "nominal"])
def test_mending_keeps_the_budget_and_leaves_a_kept_channel_as_it_is(name: str, metric: str) -> None:
    case = dataclasses.replace(PRESETS[name].settings, metric=metric)
    mended = mend(case)
    check = check_channel(dataclasses.replace(case, rows=mended))
    assert not check.violations
    assert check.certified_epsilon <= case.channel_epsilon
    if check_channel(case).certified_epsilon < 0.99 * case.channel_epsilon:
        assert (
            max(abs(a - b) for new, old in zip(mended, case.rows, strict=True) for a, b in zip(new, old, strict=True))
            < 10
        )
