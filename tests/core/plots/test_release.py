"""Pictures of a release: a record's rows and draws, estimates with their errors, the ledger, all from results."""

import numpy as np
import pytest

from core.estimation import MarginalEstimate
from core.pipeline import Stages
from core.plots.release import (
    RecordView,
    explain_ledger,
    explain_record,
    listed_states,
    plot_record,
    record_height,
    squeeze,
    table_ledger,
    table_record,
)
from core.plots.release_estimates import EstimateView, explain_estimates, plot_estimates, table_estimates
from core.release import Entry, Ledger, plan_release, release_record, trace_record
from core.scenario import Scenario
from core.table import load_sample, read_table, sample_scenario
from tests.core.test_sampling import SeededSource


@pytest.fixture(scope="module")
def plan():
    return plan_release(Stages(load_sample("heart"), sample_scenario("heart").replace(rule="DPN")))


def view(plan, row=0, *, drawn=False):
    codes = plan.records.codes[row].tolist()
    record = release_record(plan, codes, SeededSource(5)) if drawn else trace_record(plan, codes)
    return RecordView(plan, record, row)


def notes(picture):
    return [note["text"] for note in picture.layout["annotations"]]


def test_every_panel_shows_its_row_and_what_is_left(plan):
    shown = view(plan)
    picture = plot_record(shown)
    assert len(shown.panels) == 8
    assert picture.height == record_height(plan)
    bars = picture.traces[1::2]
    for step, bar in zip(shown.panels, bars, strict=True):
        assert sum(bar["x"]) == pytest.approx(1)
        for state, share in zip(listed_states(step), bar["x"], strict=False):
            assert share == step.row[state] / 2**58
        assert bar["y"] == sorted(bar["y"])
        assert set(bar["marker"]["opacity"]) == {1.0}
    assert sum("○" in text for text in notes(picture)) == 8
    assert not any("◆" in text for text in notes(picture))
    figure = picture.to_figure("dark")
    assert len(figure.data) == 16


def test_the_draw_is_marked_and_the_rest_is_faint(plan):
    shown = view(plan, drawn=True)
    picture = plot_record(shown)
    assert sum("◆" in text for text in notes(picture)) == 8
    for step, bar in zip(shown.panels, picture.traces[1::2], strict=True):
        strong = [i for i, opacity in enumerate(bar["marker"]["opacity"]) if opacity == 1.0]
        assert strong == [listed_states(step).index(step.drawn)]
    table = table_record(shown)
    assert table["attribute"].tolist() == [a.name for k in plan.blocks for a in k.attributes]
    assert table["released value"].notna().all()
    age = table.set_index("attribute").loc["age"]
    assert age["released value"] == str(shown.record.values[0])


def test_the_sentence_counts_what_came_out_true(plan):
    shown = view(plan, drawn=True)
    same = sum(step.drawn == step.state for step in shown.record.steps)
    assert explain_record(shown).startswith(f"**{same} of 9 groups** came out true")
    assert f"{plan.certified_epsilon:.2f}" in explain_record(shown)
    expected = sum(step.row[step.state] / 2**58 for step in shown.record.steps)
    before = explain_record(view(plan))
    assert f"**{expected:.2f} of 9 groups** are expected" in before
    blind = sum(b.channel.certified_epsilon == 0 for b in plan.blocks)
    assert f"{blind} got no budget" in before


def test_names_of_a_table_are_text_in_the_picture():
    rows = "\n".join(f"{'<b>x</b>' if i % 2 else 'y & z'},{i % 3}" for i in range(30))
    table = read_table(f"<i>n</i>,m\n{rows}\n".encode())
    plan = plan_release(Stages(table, Scenario(rule="DPN")))
    picture = plot_record(view(plan))
    said = " ".join(notes(picture))
    assert "<i>" not in said
    assert "&lt;i&gt;n" in said
    assert "<b>x" not in said.replace("<b>&lt;", "")
    assert record_height(plan) < 300


@pytest.mark.parametrize(
    ("parts", "limit", "short"),
    [(["a", "b"], 10, "a, b"), (["137", "0.62", "upsloping"], 17, "137, 0.62, upslo…"), ([], 5, ""),
     (["abcdef"] * 4, 3, "a…, a…, a…, a…")],
)  # fmt: skip
def test_long_states_are_cut_from_their_longest_part(parts, limit, short):
    assert squeeze(parts, limit) == short


def estimate(*, told=True):
    share = np.array([0.5, 0.3, 0.2])
    unbiased = np.array([0.6, 0.3, 0.1]) if told else np.full(3, np.nan)
    return MarginalEstimate(
        raw=share, raw_error=share / 10, unbiased=unbiased, unbiased_error=unbiased / 10,
        bayes=share + np.array([0.05, 0, -0.05]), bayes_error=share / 20, records=100,
    )  # fmt: skip


def test_estimates_show_their_errors_and_the_sentence_their_distances():
    shown = EstimateView("<colour>", ("red", "green", "<b>"), estimate(), np.array([0.7, 0.2, 0.1]))
    picture = plot_estimates(shown)
    names = [trace["name"] for trace in picture.traces]
    assert names == ["released, raw", "truth in the table", "unbiased", "iterative Bayes"]
    assert picture.traces[2]["error_y"]["array"] == pytest.approx([0.1176, 0.0588, 0.0196])
    assert picture.layout["xaxis"]["ticktext"][2] == "&lt;b&gt;"
    assert "&lt;colour&gt;" in notes(picture)[0]
    said = explain_estimates(shown)
    assert "raw release puts **20.0 %**" in said
    assert "unbiased estimate **10.0 %**" in said
    assert "iterative Bayes **15.0 %**" in said
    assert table_estimates(shown)["truth in the table"].tolist() == [0.7, 0.2, 0.1]
    picture.to_figure("light")


def test_what_cannot_be_told_is_said():
    shown = EstimateView("a", ("x", "y", "z"), estimate(told=False), np.array([0.7, 0.2, 0.1]))
    assert "3 of 3 levels have no estimate without bias" in explain_estimates(shown)
    assert plot_estimates(shown).traces[2]["y"] == [None] * 3
    one = estimate(told=False)
    constant = MarginalEstimate(
        np.array([1.0, 0, 0]), one.raw_error, one.unbiased, one.unbiased_error, one.bayes, one.bayes_error, 100
    )
    assert "tells nothing" in explain_estimates(EstimateView("a", ("x", "y", "z"), constant, shown.truth))


def test_many_levels_are_cut_to_the_frequent_ones():
    share = np.arange(1, 41) / np.arange(1, 41).sum()
    many = MarginalEstimate(share, share, share, share, share, share, 10)
    shown = EstimateView("a", tuple(f"level {i}" for i in range(40)), many, share)
    assert shown.drawn.tolist() == list(range(24, 40))
    assert len(table_estimates(shown)) == 40


def test_the_ledger_s_sentence_adds_up_per_metric():
    ledger = Ledger()
    assert "Nothing of these rows" in explain_ledger(ledger, "a")
    for entry in (Entry("table", 1.0, "a"), Entry("record", 2.0, "a", 3), Entry("table", 5.0, "b")):
        ledger.add(entry)
    said = explain_ledger(ledger, "a")
    assert "Released 3 times" in said
    assert "epsilon **1.00** per unit of distance about every row" in said
    assert "**3.00** about the row released most" in said
    assert "1 other metric are not in that sum" in said
    table = table_ledger(ledger, "a")
    assert table["of every row so far"].tolist() == [1.0, 1.0, 5.0]
    assert table["of the most released row"].tolist() == [1.0, 3.0, 5.0]
    assert table["metric"].tolist() == ["as now", "as now", "another"]
