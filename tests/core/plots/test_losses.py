"""The loss pictures: what each dot stands for, the fits, shared and own scales, the surrogate, and the words."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from core.plots.losses import (
    SHOWN,
    explain_losses,
    find_evidence,
    plot_losses,
    plot_sensitivity,
    plot_surrogate,
    table_evidence,
    table_losses,
    table_terms,
    thin,
)
from core.plots.palette import DPN, OPT, group_colour
from tests.core.plots.small_case import loss_view, small_stages, texts

PLACES = hnp.arrays(np.float64, st.integers(1, 400), elements=st.floats(0, 1e6, width=32))


@given(distance=PLACES, data=st.data(), limit=st.integers(4, 60))
@settings(deadline=None, max_examples=60)
def test_every_pair_is_stood_for_and_none_twice(distance: np.ndarray, data: st.DataObject, limit: int) -> None:
    loss = data.draw(hnp.arrays(np.float64, len(distance), elements=st.floats(0, 1e3, width=32)))
    chosen, counts = thin(distance, loss, limit)
    assert len(chosen) == len(counts) <= limit
    assert counts.sum() == len(distance)
    assert np.all(np.diff(chosen) > 0)
    # No outlier is lost: the extremes keep a dot within a cell of a quarter of the panel at worst.
    for values in (distance, loss):
        span = float(np.ptp(values))
        for extreme in (values.min(), values.max()):
            assert np.abs(values[chosen] - extreme).min() <= 0.5 * span + 1e-9


def test_pairs_that_coincide_are_one_dot_with_their_number() -> None:
    chosen, counts = thin(np.repeat([0.0, 1.0, 2.0], [4, 6, 2]), np.repeat([0.0, 3.0, 1.0], [4, 6, 2]), 1000)
    assert chosen.tolist() == [0, 4, 10]
    assert counts.tolist() == [4, 6, 2]
    empty = thin(np.empty(0), np.empty(0), 10)
    assert [len(part) for part in empty] == [0, 0]


def test_a_large_group_is_thinned_without_losing_its_outlier() -> None:
    rng = np.random.default_rng(0)
    distance, loss = rng.random(50_000), rng.random(50_000)
    loss[123] = 40.0
    chosen, counts = thin(distance, loss, 500)
    assert 250 <= len(chosen) <= 500
    assert counts.sum() == 50_000
    assert 123 in chosen


def test_each_panel_draws_its_pairs_and_both_fits_without_webgl() -> None:
    view = loss_view(small_stages())
    picture = plot_losses(view)
    json.dumps(picture.layout)
    assert {t["type"] for t in picture.traces} == {"scatter"}
    for cell, k in enumerate(view.order):
        profile = view.profiles[k]
        dots, radial, quadratic = picture.traces[3 * cell : 3 * cell + 3]
        assert dots["marker"]["color"] == group_colour(view.members[k])
        drawn = set(zip(dots["x"].tolist(), dots["y"].tolist(), strict=True))
        exact = set(zip(profile.pair_distance.astype(np.float32), profile.pair_loss.astype(np.float32), strict=True))
        assert drawn <= exact
        assert radial["y"] == profile.radial.fitted.tolist()
        assert radial["line"]["color"] == DPN
        x, y = np.array(quadratic["x"]), np.array(quadratic["y"])
        np.testing.assert_allclose(y, profile.quadratic.slope * x**2 + profile.quadratic.intercept)
        assert quadratic["line"]["color"] == OPT
        # Frequency costs 2 per changed attribute: the hover names a pair of states.
        assert all("→" in words for words in dots["text"])
    named = " ".join(words for t in picture.traces for words in t.get("text", ()))
    assert "<i>" not in named
    assert "low &lt;i&gt;" in named


def test_panels_share_their_axes_unless_each_has_its_own() -> None:
    view = loss_view(small_stages())
    ends = {}
    for own in (False, True):
        layout = plot_losses(view, own_scales=own).layout
        axes = [f"yaxis{'' if i == 0 else i + 1}" for i in range(len(view.names))]
        ends[own] = [layout[name]["range"][1] for name in axes]
    assert len(set(ends[False])) == 1
    highest = [float(view.profiles[k].pair_loss.max()) for k in view.order]
    np.testing.assert_allclose(ends[True], 1.08 * np.array(highest))


def test_more_than_eight_groups_draw_the_costliest_and_say_so() -> None:
    base = loss_view(small_stages())
    many = replace(
        base,
        names=tuple(f"group {i}" for i in range(10)),
        members=((0,),) * 10,
        profiles=(base.profiles[1],) * 10,
        beta=tuple(float(i) for i in range(10)),
        states=((),) * 10,
    )
    picture = plot_losses(many)
    assert len(picture.traces) == 3 * SHOWN
    assert "the 8 of 10 that cost most" in texts(picture)[0]
    assert "group 9" in texts(picture)
    assert "group 1" not in texts(picture)
    assert len(table_losses(many)) == 10


def test_one_group_fills_the_figure_and_has_its_own_sentence() -> None:
    stages = small_stages(tau_group=0.0)
    view = loss_view(stages)
    assert len(view.names) == 1
    assert plot_losses(view).layout["xaxis"]["domain"] == [0, 1]
    assert "the only group" in explain_losses(view, find_evidence(view)[0], stages.surrogate)


def test_sensitivity_boxes_are_the_quantiles_of_loss_over_distance() -> None:
    view = loss_view(small_stages())
    k = view.order[0]
    profile = view.profiles[k]
    apart = profile.pair_distance > 0
    rho = profile.pair_loss[apart] / profile.pair_distance[apart]
    box = plot_sensitivity(view).traces[0]
    found = [box[name][0] for name in ("lowerfence", "q1", "median", "q3", "upperfence")]
    np.testing.assert_allclose(found, np.quantile(rho, [0.05, 0.25, 0.5, 0.75, 0.95]))


def test_the_surrogate_of_frequency_lies_on_the_diagonal_with_weights_of_one() -> None:
    stages = small_stages()
    picture = plot_surrogate(stages.surrogate, [f"<{i}>" for i in range(4)], "L1")
    dots, diagonal, bars = picture.traces
    np.testing.assert_allclose(dots["x"], dots["y"], atol=1e-5)
    np.testing.assert_allclose(bars["x"], 1.0, atol=1e-9)
    assert diagonal["x"] == diagonal["y"]
    assert all("<0>" not in words for words in texts(picture))
    terms = table_terms(stages.surrogate, ["a", "b", "c", "d"])
    assert terms["contribution"].max() < 1e-9


def test_numbers_and_evidence_follow_the_order_of_effect() -> None:
    view = loss_view(small_stages())
    table = table_losses(view)
    assert table["group"].tolist() == [view.names[k] for k in view.order]
    largest = table[f"largest loss ({view.unit})"]
    assert largest.tolist() == sorted(largest, reverse=True)
    assert (table["losses"] == "exhaustive").all()
    evidence = find_evidence(view)
    shown = table_evidence(view, evidence)
    for row, k in enumerate(view.order):
        low, high = evidence[k].low, evidence[k].high
        spread = view.profiles[k].pair_loss.reshape(view.profiles[k].domain.distance.shape)
        x, y = (divmod(place[0], len(spread)) if len(place) == 1 else place for place in (low, high))
        assert spread[y] - spread[x] == pytest.approx(shown["largest spread at one distance"][row])
        assert shown["least loss there"][row] == f"{view.states[k][x[0]]} → {view.states[k][x[1]]}"


def test_the_sentence_calls_a_loss_radial_by_its_score() -> None:
    stages = small_stages()
    view = loss_view(stages)
    k = view.order[0]
    profile = view.profiles[k]
    for score, words in ((1.0, "is radial"), (0.7, "is partly radial"), (0.2, "is **not radial**")):
        scored = replace(profile, radial=replace(profile.radial, score=score))
        changed = replace(view, profiles=tuple(scored if i == k else p for i, p in enumerate(view.profiles)))
        said = explain_losses(changed, find_evidence(changed)[k], stages.surrogate)
        assert words in said
        assert ("differ by up to" in said) == (score < 0.99 and find_evidence(changed)[k].spread > 0)
        assert "100.0 %** of the loss of held-out pairs" in said
