"""Release: plans, exact draws record by record, columns as they came, cells defused, what adds up, merged domains."""

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.domain import build_records
from core.errors import InputError
from core.pipeline import Stages
from core.projection import project
from core.release import (
    Entry,
    Ledger,
    MergedStages,
    build_outlet,
    cell,
    count_rare,
    defuse,
    merge_rare,
    plan_release,
    release_record,
    release_table,
    to_csv,
    trace_record,
    type_of,
    worst_factor,
)
from core.sampling import ScriptedSource
from core.scenario import AttributeSpec, Scenario
from core.table import load_sample, read_table, sample_scenario
from tests.core.test_sampling import SeededSource, assert_law

ROWS = 60
CSV = "age,=town,member,score,secret,when\n" + "".join(
    f"{20 + i % 40},{'=cmd' if i % 3 else 'Oslo'},{'' if i == 5 else i % 2},{(i * 37 % 101) / 10},s{i},"
    f"2020-01-{1 + i % 28:02d}\n"
    for i in range(ROWS)
)


@pytest.fixture(scope="module")
def stages():
    table = read_table(CSV.encode())
    scenario = Scenario(rule="DPN", epsilon=3.0, attributes=(AttributeSpec(4, include=False),))
    return Stages(table, scenario)


@pytest.fixture(scope="module")
def plan(stages):
    return plan_release(stages)


@pytest.fixture(scope="module")
def heart():
    return Stages(load_sample("heart"), sample_scenario("heart").replace(rule="DPN"))


def text(plan, release):
    return to_csv(release.frame, tuple(type_of(plan, c) for c in plan.leaving)).decode()


def test_columns_keep_names_order_and_types_and_excluded_ones_stay(plan):
    release = release_table(plan, SeededSource(1))
    original = plan.table.frame
    assert list(release.frame.columns) == ["age", "=town", "member", "score", "when"]
    assert len(release.frame) == ROWS
    for name in release.frame.columns:
        assert release.frame[name].dtype == original[name].dtype
    assert release.withheld == ("secret",)
    assert "s1" not in text(plan, release)
    assert release.certified_epsilon == plan.design.certified_epsilon <= 3.0


def test_an_unprotected_column_leaves_only_when_marked_and_is_named(stages):
    plan = plan_release(stages, unprotected=["secret"])
    release = release_table(plan, SeededSource(1))
    assert release.frame["secret"].tolist() == plan.table.frame["secret"].tolist()
    assert release.unprotected == ("secret",)
    assert release.withheld == ()
    with pytest.raises(InputError, match="cannot be marked unprotected"):
        plan_release(stages, unprotected=["age"])
    with pytest.raises(InputError, match="cannot be marked unprotected"):
        plan_release(stages, unprotected=["nothing"])


def test_released_values_code_as_the_states_that_were_drawn(plan):
    for numeric in ("representative", "within"):
        release = release_table(plan, SeededSource(2), numeric=numeric)
        again = build_records(
            read_table(CSV.encode()), plan.design.scenario
        )  # the fitted attributes, to code the released table with
        codes = np.stack(
            [_code(a, release.frame.iloc[:, plan.leaving.index(a.column)]) for a in again.attributes],
            axis=1,
        )
        for k, block in enumerate(plan.blocks):
            expected = block.domain.states[release.drawn[:, k]]
            assert (codes[:, list(block.members)] == expected).all()


def _code(attribute, series):
    from core.coding import encode_values

    return encode_values(attribute, series)


def test_a_draw_within_the_bin_varies_and_a_representative_does_not(plan):
    middle = release_table(plan, SeededSource(3))
    within = release_table(plan, SeededSource(3), numeric="within")
    assert middle.frame["score"].nunique() <= 5 < within.frame["score"].nunique()
    with pytest.raises(InputError, match="representative, within"):
        release_table(plan, numeric="middle")


def test_missing_stays_expressible(plan):
    member = next(o for o in plan.outlets if o.name == "member")
    assert member.values[-1] is None
    assert member.values[:-1] == (0, 1)
    frame = release_table(plan, SeededSource(4)).frame
    assert set(frame["member"].dropna().unique()) <= {0.0, 1.0}
    written = cell(math.nan), cell(1.0, whole=True), cell(None)
    assert written == ("", "1", "")


def test_rows_that_a_design_drops_do_not_leave():
    table = read_table(CSV.encode())
    specs = (AttributeSpec(2, missing="drop"), AttributeSpec(4, include=False))
    plan = plan_release(Stages(table, Scenario(rule="DPN", attributes=specs)))
    assert plan.dropped == 1
    assert len(release_table(plan, SeededSource(1)).frame) == ROWS - 1


def test_the_law_of_a_record_is_its_rows_exactly(heart):
    """One record, every block: counts of 4,000 releases against the integers, and one scripted draw by hand."""
    plan = plan_release(heart)
    codes = plan.records.codes[7].tolist()
    traced = trace_record(plan, codes)
    source = SeededSource(11)
    drawn = [release_record(plan, codes, source).steps for _ in range(4000)]
    for k, step in enumerate(traced.steps):
        counts = Counter(steps[k].drawn for steps in drawn)
        law = {y: Fraction(w, sum(step.row)) for y, w in enumerate(step.row) if w > sum(step.row) // 100}
        assert_law(counts, law)
    assert not traced.values
    assert all(step.drawn is None and not step.projected for step in traced.steps)
    script = ScriptedSource([0] * 58 * len(plan.blocks))
    first = release_record(plan, codes, script)
    assert [s.drawn for s in first.steps] == [next(y for y, w in enumerate(s.row) if w) for s in traced.steps]


def test_a_record_outside_the_observed_domain_takes_the_nearest_state(heart):
    plan = plan_release(heart)
    block = next(b for b in plan.blocks if b.domain.product > b.domain.size)
    states = {tuple(s) for s in block.domain.states.tolist()}
    sizes = [range(a.size) for a in block.attributes]
    strange = next(c for c in itertools.product(*sizes) if c not in states)
    codes = plan.records.codes[0].tolist()
    for member, level in zip(block.members, strange, strict=True):
        codes[member] = level
    step = trace_record(plan, codes).steps[plan.blocks.index(block)]
    expected = project(block.domain, block.attributes, np.array([strange], dtype=np.int32), p=2.0)[0]
    assert step.projected
    assert step.state == expected
    assert step.moved > 0
    assert step.row == tuple(block.channel.weights[expected].tolist())


def test_a_factorised_group_is_released_attribute_by_attribute(heart):
    stages = Stages(heart.table, heart.scenario.replace(tau_group=0.0, domain="product"))
    plan = plan_release(stages)
    assert len(plan.design.groups) == 1
    assert len(plan.blocks) == len(plan.records.attributes)
    release = release_table(plan, SeededSource(6))
    assert release.frame.shape == (303, 13)
    assert worst_factor(plan) > 0


def test_progress_is_told_and_a_stop_releases_nothing(plan):
    told = []
    release_table(plan, SeededSource(1), progress=lambda f, w: told.append((f, w)))
    assert told == [(0.0, "0 of 60 records")]

    def stop(_fraction, _words):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        release_table(plan, SeededSource(1), progress=stop)


def test_a_record_with_levels_that_do_not_exist_is_refused(plan):
    for codes in ([0], [99] * len(plan.outlets)):
        with pytest.raises(InputError, match="within each attribute's range"):
            trace_record(plan, codes)


@pytest.mark.parametrize(
    ("raw", "safe"),
    [("=1+1", "'=1+1"), ("+cmd", "'+cmd"), ("-cmd", "'-cmd"), ("@x", "'@x"), ("\tx", "'\tx"), ("\rx", "'\rx"),
     ("-3.5", "-3.5"), ("+2", "+2"), ("a=b", "a=b"), ("", "")],
)  # fmt: skip
def test_formulas_are_defused_and_numbers_are_not(raw, safe):
    assert defuse(raw) == safe


def test_a_released_csv_holds_no_formula(plan):
    lines = text(plan, release_table(plan, SeededSource(9))).splitlines()
    assert lines[0].split(",")[1] == "'=town"
    assert {line.split(",")[1] for line in lines[1:]} <= {"'=cmd", "Oslo"}
    assert "'=cmd" in {line.split(",")[1] for line in lines[1:]}
    assert all(len(line.split(",")[-1]) == 10 for line in lines[1:])
    assert cell(True) == "true"
    assert cell(pd.Timestamp("2020-02-03 04:05:06")) == "2020-02-03 04:05:06"


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(-1e6, 1e6).map(lambda v: round(v, 3)), min_size=2, max_size=6, unique=True).map(sorted))
def test_points_of_a_bin_lie_in_their_bin(edges):
    frame = read_table(("x,y\n" + "\n".join(f"{e!r},{i % 2}" for i, e in enumerate(edges))).encode())
    scenario = Scenario(attributes=(AttributeSpec(0, include=True, kind="numeric", edges=tuple(edges)),))
    attribute = build_records(frame, scenario).attributes[0]
    outlet = build_outlet(attribute, frame.frame["x"])
    for i, (low, high) in enumerate(itertools.pairwise(edges)):
        first, count = outlet.grids[i]
        scale = 10**outlet.decimals
        if count == 1:
            continue  # a bin without a whole number is written as its middle, rounded
        assert Fraction(low) <= Fraction(first, scale) <= Fraction(first + count - 1, scale) <= Fraction(high)
        assert low <= outlet.values[i] <= high


def test_the_ledger_adds_up_and_rounds_up():
    ledger = Ledger()
    for entry in (
        Entry("table", 0.1, "a"),
        Entry("table", 0.2, "a"),
        Entry("record", 0.3, "a", 7),
        Entry("table", 1, "b"),
    ):
        ledger.add(entry)
    assert ledger.metrics == ("a", "b")
    assert Fraction(ledger.of_every_row("a")) >= Fraction(0.1) + Fraction(0.2)
    assert ledger.of_every_row("a") == pytest.approx(0.3)
    assert ledger.of_row("a", 7) == pytest.approx(0.6)
    assert ledger.of_row("a", 8) == ledger.of_every_row("a")
    assert ledger.most("a") == ledger.of_row("a", 7)
    assert ledger.most("b") == 1
    assert Ledger().most("a") == 0


def test_rare_states_are_merged_into_the_nearest(heart):
    merged = MergedStages(heart.table, heart.scenario)
    before, after = plan_release(heart), plan_release(merged, domain="merged")
    assert count_rare(before, 5) > 0
    assert count_rare(after, 5) == 0
    for members in merged.groups:
        original, fewer = heart.domain(members), merged.domain(members)
        assert (fewer.counts >= 5).all()
        assert fewer.counts.sum() == len(heart.records)
        kept = {tuple(s) for s in fewer.states.tolist()}
        assert kept == {tuple(s) for s, c in zip(original.states.tolist(), original.counts, strict=True) if c >= 5}
        attributes = [heart.records.attributes[i] for i in members]
        again = project(fewer, attributes, heart.records.codes[:, list(members)], p=2.0)
        assert (again == fewer.state_of).all()
    assert after.design.certified_epsilon <= heart.scenario.epsilon
    assert len(release_table(after, SeededSource(1)).frame) == 303


def test_merged_stages_share_no_memory_with_the_others(heart):
    memory = {}

    def remember(key, compute):
        if key not in memory:
            memory[key] = compute()
        return memory[key]

    plain = Stages(heart.table, heart.scenario, remember=remember)
    first = plan_release(plain)
    merged = plan_release(MergedStages.of(plain), domain="merged")
    again = plan_release(Stages(heart.table, heart.scenario, remember=remember))
    for block in (*first.blocks, *merged.blocks, *again.blocks):
        assert len(block.channel.weights) == block.domain.size
    assert [b.domain.size for b in first.blocks] == [b.domain.size for b in again.blocks]
    assert sum(b.domain.size for b in merged.blocks) < sum(b.domain.size for b in first.blocks)


def test_merging_leaves_other_domains_alone_and_refuses_to_leave_nothing(heart):
    product = Stages(heart.table, heart.scenario.replace(domain="product"))
    domain = product.domain((0,))
    assert merge_rare(domain, product.records, 2.0) is domain
    assert count_rare(plan_release(product), 5) == 0
    with pytest.raises(InputError, match="choose all combinations"):
        merge_rare(heart.domain((0, 4, 7)), heart.records, 2.0, minimum=200)


def test_metrics_tell_releases_apart(heart, plan):
    again = plan_release(Stages(heart.table, heart.scenario.replace(epsilon=2.0)))
    other = plan_release(Stages(heart.table, heart.scenario.replace(p=1.0)))
    first = plan_release(heart)
    assert first.metric_digest == again.metric_digest
    assert len({first.metric_digest, other.metric_digest, plan.metric_digest}) == 3
