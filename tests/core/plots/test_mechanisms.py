"""The chart of choices, its previews and words; the channels of a group; and the stability of the choice."""

import dataclasses
import math
from typing import Any

import numpy as np
import pytest

from core.certificate import certify
from core.mechanisms.factorised import factorised_mechanism
from core.plots.channels import (
    DRAWN_STATES,
    FREQUENT_STATES,
    ChannelView,
    explain_channels,
    plot_channels,
    table_channels,
    table_factorised,
    table_row,
    table_tight,
)
from core.plots.flags import count_collisions, hang_labels, name_points
from core.plots.interaction import Condition, Sides, Words
from core.plots.mechanisms import (
    cluster_points,
    explain_mechanisms,
    plot_mechanisms,
    table_mechanisms,
    telling_group,
)
from core.plots.palette import DPN, OPT
from core.plots.place import label_box, place_labels
from core.plots.stability import explain_stability, plot_stability, score_held_out, table_held_out, table_stability
from core.plots.template import Picture
from core.stability import held_out_scores, summarise_held_out
from tests.core.plots.small_case import mechanism_view, small_stages, texts, trace

NAN = float("nan")


def sides(picture: Picture, uid: str) -> Sides:
    return next(p for p in picture.previews if isinstance(p, Sides) and p.trace == uid)


def holds(rule: Condition, at: float, point: int) -> bool:
    value = rule.values[point]
    return value is not None and (value <= at if rule.most else value > at)


def previewed(picture: Picture, uid: str, at: dict[str, float]) -> list[str]:
    """Return the colour that the browser gives every drawn point, as its own code does."""
    side = sides(picture, uid)
    count = len(trace(picture, uid)["x"])
    order = side.order or tuple(range(count))
    inside = [all(holds(rule, at[rule.handle], order[k]) for rule in side.conditions) for k in range(count)]
    return [(side.inside if i else side.outside)[0] for i in inside]


# --- the chart of choices --------------------------------------------------------------------------------------------


def test_points_stand_at_size_and_score_in_the_look_of_their_choice() -> None:
    view = mechanism_view()
    marks = trace(plot_mechanisms(view), "groups")
    assert marks["x"] == [20, 5, 5, 900, 120]
    assert marks["y"] == list(view.scores)
    assert marks["marker"]["color"] == [OPT, DPN, DPN, DPN, DPN]
    assert marks["marker"]["symbol"][:2] == ["diamond", "circle"]
    assert marks["marker"]["line"]["color"][0] == "@text"
    assert "tied &lt;1&gt;" in marks["text"][1]


def test_the_preview_at_the_thresholds_is_the_picture_and_follows_them() -> None:
    view = mechanism_view()
    picture = plot_mechanisms(view)
    at = {h.name: h.value for h in picture.handles}
    assert at == {"tau_dim": 300, "tau_dpn": 0.2}
    for uid in ("groups", "bars"):
        assert previewed(picture, uid, at) == trace(picture, uid)["marker"]["color"]
    moved = {"tau_dim": 1000, "tau_dpn": 0.6}
    assert previewed(picture, "groups", moved) == [OPT, DPN, DPN, OPT, OPT]
    rows = trace(picture, "bars")["customdata"]
    chosen = {0, 3, 4}
    assert previewed(picture, "bars", moved) == [OPT if k in chosen else DPN for k in rows]


def test_points_that_change_side_take_the_size_of_that_side() -> None:
    view = mechanism_view()
    picture = plot_mechanisms(view)
    side, size = sides(picture, "groups"), trace(picture, "groups")["marker"]["size"]
    assert side.sizes[0] > side.sizes[1]
    assert size == [side.sizes[0] if choice == "OPT" else side.sizes[1] for choice in view.choices]


@pytest.mark.parametrize("sizes", [(20, 5, 5, 900, 120), (2, 2, 2, 2, 2), (5, 5, 5, 5, 10**7)])
def test_the_axis_of_sizes_stays_wherever_the_largest_domain_is_dragged(sizes: tuple[int, ...]) -> None:
    first = plot_mechanisms(mechanism_view(sizes=sizes))
    low, high = first.layout["xaxis"]["range"]
    handle = first.handles[0]
    assert 10**low < min(handle.low, *sizes)
    assert 10**high > max(handle.high, *sizes) - 1e-9
    assert handle.high >= min(1000, max(sizes))
    for dragged in (handle.low, 300, handle.high):
        picture = plot_mechanisms(mechanism_view(sizes=sizes, tau_dim=int(dragged)))
        assert picture.layout["xaxis"]["range"] == [low, high]
    # One that is typed beyond is on the axis, and so is all that may be typed.
    typed = plot_mechanisms(mechanism_view(sizes=sizes, tau_dim=1000))
    assert typed.handles[0].value == typed.handles[0].high == 1000
    assert 10 ** typed.layout["xaxis"]["range"][1] > 1000


def test_the_handles_stop_where_a_choice_changes() -> None:
    view = mechanism_view(scores=(0.1012, 1.0, 1.0, 0.05, 0.6))
    dim, dpn = plot_mechanisms(view).handles
    assert dim.snap == (5, 20, 120, 900)
    assert dim.whole
    # Rounded up to what the flag shows: the group of score 0.1012 is inside a threshold of 0.11, not of 0.10.
    assert dpn.snap == (0.05, 0.11, 0.6, 1.0)
    assert (dim.along, dpn.along) == ("x", "y")


def test_points_that_coincide_share_a_label_and_no_name_is_lost() -> None:
    assert cluster_points(np.array([[0.0, 0], [1, 1], [50, 0], [2, 0]])) == [[0, 1, 3], [2]]
    words = texts(plot_mechanisms(mechanism_view()))
    assert "tied &lt;1&gt;, tied 2" in words
    names = tuple(f"attribute {k}" for k in range(9))
    crowd = mechanism_view(
        names=names, sizes=(5,) * 9, scores=(1.0,) * 9, choices=("DPN",) * 9, regrets=(NAN,) * 9, picked=None
    )
    assert "attribute 0, attribute 1 and 7 more" in texts(plot_mechanisms(crowd))


ROW = np.array([[10.0, 40], [60, 40], [70, 40], [80, 40], [92, 40], [130, 40], [200, 40]])
NAMES = [
    "sex, income",
    "capital_gain",
    "age, fnlwgt and 4 more",
    "relationship",
    "marital_status",
    "workclass",
    "country",
]


def test_a_crowded_row_hangs_its_labels_without_a_collision() -> None:
    free = place_labels(ROW, NAMES, radii=10.0, size=(364, 330))
    assert count_collisions(ROW, NAMES, free, 7.0) > 0
    chosen = name_points(ROW, NAMES, radius=10.0, size=(364, 330))
    assert chosen == hang_labels(ROW, NAMES, 10.0)
    assert count_collisions(ROW, NAMES, chosen, 7.0) == 0
    # No leader crosses a label: it goes straight down from its point.
    boxes = [label_box(tuple(point), spot, text) for point, spot, text in zip(ROW, chosen, NAMES, strict=True)]
    for point, spot in zip(ROW, chosen, strict=True):
        assert spot.x_shift == 0
        x, down = point[0], point[1] - spot.y_shift
        assert not any(box[0] < x < box[2] and box[1] < down for box in boxes)
    # Where there is room the labels stay beside their points.
    apart = np.array([[50.0, 100], [200, 200]])
    assert name_points(apart, ["a", "b"], radius=10.0, size=(364, 330)) == place_labels(
        apart, ["a", "b"], radii=10.0, size=(364, 330)
    )
    assert name_points(np.empty((0, 2)), [], radius=10.0, size=(364, 330)) == ()


def test_bars_say_why_there_is_no_regret() -> None:
    picture = plot_mechanisms(mechanism_view())
    bars = trace(picture, "bars")
    assert bars["customdata"][-2:] == [0, 1]
    assert bars["x"][-2:] == pytest.approx([30.0, 90.0])
    hovers = dict(zip(bars["customdata"], bars["hovertext"], strict=True))
    assert "900 states, not solved" in hovers[3]
    assert "120 states, not solved" in hovers[4]
    assert "regret 0 %" in hovers[2]
    said = texts(picture)
    assert said.index("over tau_dim") == said.index("large") + 1
    assert said.index("click to solve") == said.index("unsolved") + 1


def test_regrets_on_their_way_are_faint_and_nothing_is_claimed_of_them() -> None:
    view = mechanism_view(pending=True)
    bars = trace(plot_mechanisms(view), "bars")
    assert bars["opacity"] < 0.5
    hovers = dict(zip(bars["customdata"], bars["hovertext"], strict=True))
    assert "being solved" in hovers[4]
    assert "900 states, not solved" in hovers[3]
    assert explain_mechanisms(view).endswith("What OPT would save is being computed.")
    assert trace(plot_mechanisms(mechanism_view()), "bars")["opacity"] == 1


def test_the_regret_rule_drags_its_own_threshold() -> None:
    regrets = (0.3, 0.9, 0.0, NAN, 0.5)
    view = mechanism_view(
        thresholds=False, tau_regret=0.4, choices=("DPN", "OPT", "DPN", "DPN", "OPT"), regrets=regrets
    )
    picture = plot_mechanisms(view)
    (handle,) = picture.handles
    assert (handle.name, handle.value, handle.axis) == ("tau_regret", 40, "xaxis2")
    assert not picture.regions
    for uid in ("groups", "bars"):
        assert previewed(picture, uid, {"tau_regret": 40}) == trace(picture, uid)["marker"]["color"]
    assert previewed(picture, "groups", {"tau_regret": 20}) == [OPT, OPT, DPN, DPN, OPT]


def test_a_rule_without_thresholds_has_no_handles() -> None:
    picture = plot_mechanisms(mechanism_view(thresholds=False))
    assert not picture.handles
    assert not picture.regions
    assert not picture.previews


@pytest.mark.parametrize(
    ("sizes", "scores"),
    [((1,), (1.0,)), ((2, 10**30), (NAN, -0.7)), ((5,), (NAN,)), ((40,) * 30, tuple(k / 29 for k in range(30)))],
)
def test_odd_groups_are_drawn(sizes: tuple[int, ...], scores: tuple[float, ...]) -> None:
    count = len(sizes)
    view = mechanism_view(
        names=tuple(f"g{k}" for k in range(count)), sizes=sizes, scores=scores, choices=("DPN",) * count,
        regrets=(NAN,) * count, picked=0,
    )  # fmt: skip
    picture = plot_mechanisms(view)
    marks = trace(picture, "groups")
    low, high = picture.layout["xaxis"]["range"]
    assert all(low <= math.log10(x) <= high for x in marks["x"])
    bottom, top = picture.layout["yaxis"]["range"]
    assert all(bottom <= y <= top for y in marks["y"])
    assert len(trace(picture, "bars")["x"]) == min(count, 12)
    assert explain_mechanisms(view).startswith(f"**0 of {count} groups** are optimised")


def test_the_sentence_names_what_is_left_on_the_table() -> None:
    said = explain_mechanisms(mechanism_view())
    assert said.startswith("**1 of 5 groups** is optimised: inside.")
    assert "**tied <1>**, where the optimum would save **90.0 %**" in said
    all_in = mechanism_view(choices=("OPT",) * 5)
    assert "inside, tied <1>, tied 2 and 2 more" in explain_mechanisms(all_in)
    assert "OPT saves most on **tied <1>**, 90.0 %" in explain_mechanisms(all_in)
    assert "would save nothing" in explain_mechanisms(mechanism_view(regrets=(0.0, 0.0, NAN, NAN, NAN)))
    assert "raise tau_dim" in explain_mechanisms(mechanism_view(regrets=(NAN,) * 5))


def test_the_telling_group_is_the_optimised_one_that_gains_most() -> None:
    assert telling_group(("DPN", "OPT", "OPT"), (0.9, 0.2, 0.3)) == 2
    assert telling_group(("DPN", "DPN"), (NAN, 0.1)) == 1
    assert telling_group(("OPT", "DPN"), (0.0, 0.1)) == 1
    assert telling_group(("DPN", "OPT"), (NAN, NAN)) == 1
    assert telling_group(("DPN",), (NAN,)) == 0


def test_the_table_has_every_group_at_full_precision() -> None:
    table = table_mechanisms(mechanism_view(scores=(1 / 3, 1, 1, 0.05, 0.6)))
    assert table["score (radial fit)"][0] == 1 / 3
    assert table["regret, %"].isna().tolist() == [False, False, False, True, True]


# --- the channels of a group -----------------------------------------------------------------------------------------


def channel_view(**changes: Any) -> ChannelView:
    stages = small_stages()
    profile = stages.profiles[0]
    assert profile.loss is not None
    start: dict[str, Any] = {
        "channels": stages.compare(0),
        "labels": tuple(f"<{k}>" for k in range(profile.domain.size)),
        "row": 2,
        "loss": profile.loss.matrix,
        "distance": profile.domain.distance,
        "prior": profile.domain.prior,
        "pair": ("EM", "OPT"),
        "zero_information": profile.zero_information,
    }
    return ChannelView(**(start | changes))


def test_two_channels_share_a_scale_and_name_their_states() -> None:
    view = channel_view()
    picture = plot_channels(view)
    heat = [t for t in picture.traces if t["type"] == "heatmap"]
    assert heat[0]["zmax"] == heat[1]["zmax"] == max(view.named(name).matrix.max() for name in view.pair)
    for drawn, name in zip(heat, view.pair, strict=True):
        np.testing.assert_allclose(drawn["z"], view.named(name).matrix, atol=1e-7)
        assert drawn["text"][3][1] == "4: &lt;3&gt;<br>released 2: &lt;1&gt;"
        assert drawn["customdata"][3] == [3] * len(view.labels)
    bars = [t for t in picture.traces if t["type"] == "bar"]
    np.testing.assert_allclose(bars[1]["y"], view.named("OPT").matrix[2])
    assert [bar["marker"]["color"] for bar in bars] == [DPN, OPT]
    assert bars[0]["customdata"] == view.loss[2].tolist()


def test_two_channels_of_one_colour_differ_by_a_pattern() -> None:
    bars = [t for t in plot_channels(channel_view(pair=("EM", "calibrated EM"))).traces if t["type"] == "bar"]
    assert bars[0]["marker"]["color"] == bars[1]["marker"]["color"]
    assert "pattern" in bars[1]["marker"]
    assert "pattern" not in bars[0]["marker"]


def test_of_a_large_group_the_frequent_states_and_the_chosen_one_are_drawn() -> None:
    from core.channel import exact_channel

    count = DRAWN_STATES + 40
    distance = np.abs(np.subtract.outer(np.arange(count), np.arange(count))).astype(float)
    prior = np.full(count, 0.5 / (count - 1))
    prior[90] = 0.5
    channel = exact_channel(np.full((count, count), 1 / count), distance, 1.0, prior[:, None] * distance)
    view = channel_view(
        channels=(channel,), labels=tuple(map(str, range(count))), row=97, loss=distance, distance=distance,
        prior=prior, pair=("custom", "custom"), zero_information=1.0,
    )  # fmt: skip
    assert len(view.drawn) == FREQUENT_STATES + 1
    assert {90, 97} <= set(view.drawn.tolist())
    picture = plot_channels(view)
    assert picture.traces[0]["z"].shape == (len(view.drawn),) * 2
    outline = picture.traces[1]
    assert min(outline["y"]) == np.flatnonzero(view.drawn == 97)[0] + 0.5
    ticks = picture.layout["xaxis"]
    assert [view.drawn[i - 1] + 1 for i in ticks["tickvals"]] == [int(t) for t in ticks["ticktext"]]
    assert f"Drawn: {len(view.drawn)} of {count} states" in explain_channels(view, 1.0)


def test_tables_of_channels_say_what_would_be_saved_and_where_it_is_tight() -> None:
    view = channel_view()
    table = table_channels(view).set_index("mechanism")
    assert table.loc["OPT", "OPT would save"] == 0
    saved = 1 - table.loc["OPT", "expected loss"] / table.loc["EM", "expected loss"]
    assert table.loc["EM", "OPT would save"] == pytest.approx(saved)
    assert saved > 0
    assert table.loc["constant", "against zero information"] == pytest.approx(0, abs=1e-9)
    assert (table["certified epsilon"] <= table["declared epsilon"]).all()
    tight = table_tight(view, "EM")
    assert tight["epsilon"][0] == certify(view.named("EM").weights, view.distance)
    row = table_row(view)
    assert row["OPT"].sum() == pytest.approx(1)
    assert row["true state"].unique().tolist() == ["<2>"]


def test_the_words_of_channels_hold_their_losses() -> None:
    view = channel_view()
    said = explain_channels(view, 2.5)
    assert "epsilon 2.50, **EM** loses" in said
    assert "No mechanism at this budget loses less than" in said
    assert "receives no budget" in explain_channels(view, 0.0)


def test_a_factorised_group_is_listed_part_by_part() -> None:
    stages = small_stages()
    attributes = stages.records.attributes[:3]
    priors = [np.full(a.size, 1 / a.size) for a in attributes]
    channel = factorised_mechanism(attributes, priors, 2.0, 3.0, family="calibrated EM")
    table = table_factorised(channel, [a.name for a in attributes])
    assert table["levels"].tolist() == [a.size for a in attributes]
    assert np.hypot.reduce(table["certified epsilon"]) <= 3.0


# --- stability -------------------------------------------------------------------------------------------------------


def test_held_out_scores_are_those_of_the_core_and_reproducible() -> None:
    profiles = small_stages().profiles
    told: list[float] = []
    found = score_held_out(profiles, "mse", 3, lambda fraction, _words: told.append(fraction))
    again = score_held_out(profiles, "mse", 3)
    for one, two, profile in zip(found, again, profiles, strict=True):
        assert (one is None) == (two is None)
        if one is not None and two is not None:
            assert one.scores.tolist() == two.scores.tolist()
            assert one.original == pytest.approx(profile.quadratic.score)
    assert told == sorted(told)
    assert told
    # A group of two states has one pair: nothing can be held out.
    assert found[2] is None


def test_stability_is_drawn_and_said_from_the_same_scores() -> None:
    rng = np.random.default_rng(1)
    distance = rng.random(300)
    loss = distance**2 + 0.3 * rng.random(300)
    scores = held_out_scores("radial", distance, loss, rng=rng)
    assert scores is not None
    found, names = (scores, None), ("<one>", "two")
    tau = scores.original + 0.01
    picture = plot_stability(names, found, tau, kind="radial fit")
    threshold, splits, original = picture.traces
    assert threshold["x"] == [tau, tau]
    assert splits["x"] == scores.scores.tolist()
    assert original["x"] == [scores.original]
    assert original["marker"]["color"] == [OPT]
    assert "&lt;one&gt;" in texts(picture)
    assert "two" not in texts(picture)
    table = table_stability(names, found, tau)
    agreement = float((scores.scores <= tau).mean())
    assert table["agreement"][0] == agreement
    assert math.isnan(table["score"][1])
    summary = summarise_held_out(found, tau)
    said = explain_stability(found, tau)
    assert f"{100 * summary.agreement:.1f} %" in said
    assert "1 of 2 groups have too few pairs" in said
    assert "No group has enough pairs" in explain_stability((None,), tau)
    both = table_held_out(names, found, (None, None), (1, 0))
    assert both["group"].tolist() == ["two", "<one>"]
    assert both["radial-fit score"][1] == scores.original


def bare(picture: Picture) -> tuple[Any, ...]:
    """Return what stays for the reader: the layout without notes that the browser words itself, and hover texts."""
    own = {p.note for p in picture.previews if isinstance(p, Words)}
    notes = [{**n, "text": ""} if i in own else n for i, n in enumerate(picture.layout["annotations"])]
    hovers = [mark.get("text") or mark.get("hovertext") for mark in picture.traces]
    return {**picture.layout, "annotations": notes}, hovers


def test_labels_and_hovers_stay_while_a_threshold_moves() -> None:
    view = mechanism_view()
    still = bare(plot_mechanisms(view))
    for tau_dim, tau_dpn in ((5, 0.2), (119, 0.2), (850, 0.2), (300, 0.0), (300, 0.47), (300, 1.0)):
        changed = {"choices": ("DPN",) * len(view.names), "tau_dim": tau_dim, "tau_dpn": tau_dpn}
        assert bare(plot_mechanisms(dataclasses.replace(view, **changed))) == still  # type: ignore[arg-type]


def test_the_browser_words_the_notes_of_unsolved_groups_as_the_server_does() -> None:
    for tau_dim in (5, 100, 300, 900):
        view = dataclasses.replace(mechanism_view(), tau_dim=tau_dim)
        picture = plot_mechanisms(view)
        words = [p for p in picture.previews if isinstance(p, Words)]
        assert len(words) == sum(math.isnan(regret) for regret in view.regrets)
        for word in words:
            said = picture.layout["annotations"][word.note]["text"]
            assert said == (word.above if tau_dim >= word.value else word.below)
