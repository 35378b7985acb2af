"""The dependence pictures: what is drawn, what the browser previews, what can be clicked, and the words beside it."""

import dataclasses
import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from core.dependence import NoiseFloor, build_staircase, joint_counts
from core.domain import Attribute, Records, build_group_domain
from core.pipeline import Stages
from core.plots.dependencies import explain_pair, plot_groups, strongest_partner, tau_range
from core.plots.graph import CROWDED, EDGES_DRAWN, PANEL, Dependence, build_graph, settle, short_names, tidy_thresholds
from core.plots.grouping import (
    count_large,
    count_states,
    explain_groups,
    group_label,
    smallest_affordable,
    table_groups,
)
from core.plots.interaction import Components, Ride
from core.plots.pairs import leaf_order, plot_joint, plot_matrix, table_pairs
from core.plots.palette import GROUPS
from core.plots.place import label_box
from core.plots.template import Mark, Picture
from core.table import load_sample, sample_scenario

EXAMPLES = settings(deadline=None, max_examples=40)
CHAIN = np.array([[1.0, 0.30041, 0.02, 0.0], [0.30041, 1.0, 0.10279, 0.0], [0.02, 0.10279, 1.0, 0.01], [0, 0, 0.01, 1]])


def view_of(nmi: NDArray[np.float64], *, floor: float | None = None, corrected: bool = False) -> Dependence:
    count = len(nmi)
    names = tuple(f"name {i}" for i in range(count))
    staircase = build_staircase(nmi)
    graph = build_graph(nmi, staircase, names=names, levels=(4,) * count)
    found = None if floor is None else NoiseFloor(np.full((count, count), floor / 2), floor, 10, 100, 1.0)
    return Dependence(names, (4,) * count, nmi, staircase, graph, found, corrected)


def records_of(codes: list[list[int]], sizes: tuple[int, ...]) -> Records:
    attributes = tuple(
        Attribute(f"a{i}", i, "nominal", tuple(f"v{k}" for k in range(m)), None, None, 1.0 - np.eye(m))
        for i, m in enumerate(sizes)
    )
    return Records(attributes, np.array(codes, dtype=np.int32), np.arange(len(codes)))


def trace(picture: Picture, uid: str) -> Mark:
    return next(t for t in picture.traces if t.get("uid") == uid)


def preview(picture: Picture, kind: type) -> Components | Ride:
    return next(p for p in picture.previews if isinstance(p, kind))


def symmetric(count: int) -> st.SearchStrategy[NDArray[np.float64]]:
    size = count * (count - 1) // 2

    def build(values: list[float]) -> NDArray[np.float64]:
        nmi = np.eye(count)
        nmi[np.triu_indices(count, 1)] = values
        return np.maximum(nmi, nmi.T)

    return st.lists(st.floats(0, 1).map(lambda v: round(v, 3)), min_size=size, max_size=size).map(build)


# ---- the graph and the staircase ----


def test_links_above_tau_have_their_groups_colour_and_single_attributes_are_hollow() -> None:
    picture = plot_groups(view_of(CHAIN), 0.15)
    nodes = trace(picture, "nodes")
    assert nodes["marker"]["color"] == [GROUPS[0], GROUPS[0], "@bg", "@bg"]
    assert nodes["marker"]["line"]["color"] == ["@ring", "@ring", "@neutral", "@neutral"]
    assert trace(picture, "e0_1")["line"]["color"] == GROUPS[0]
    assert trace(picture, "e1_2")["line"]["color"] == "@neutral"
    assert trace(picture, "e0_1")["line"]["width"] > trace(picture, "e1_2")["line"]["width"]


def test_nothing_but_colours_depends_on_the_threshold() -> None:
    view = view_of(CHAIN)
    low, high = plot_groups(view, 0.05), plot_groups(view, 0.25)
    for uid in ("nodes", "e0_1", "e1_2", "e2_3"):
        for axis in ("x", "y"):
            assert np.array_equal(trace(low, uid)[axis], trace(high, uid)[axis])
    assert low.layout["annotations"] == high.layout["annotations"]
    assert low.layout["xaxis2"]["range"] == high.layout["xaxis2"]["range"]


@EXAMPLES
@given(nmi=symmetric(5), tau=st.floats(0, 1))
def test_what_the_browser_previews_is_what_the_server_draws(nmi: NDArray[np.float64], tau: float) -> None:
    view = view_of(nmi)
    picture = plot_groups(view, tau)
    spec, ride = preview(picture, Components), preview(picture, Ride)
    root = list(range(5))
    for _, i, j, weight in spec.edges:
        if weight > tau:
            low, high = sorted((root[i], root[j]))
            root = [low if r == high else r for r in root]
    expected = ["@bg" if root.count(r) == 1 else GROUPS[r] for r in root]
    assert trace(picture, "nodes")["marker"]["color"] == expected
    # The dot rides the exact staircase: the last entry not above the handle.
    at = max(k for k, step in enumerate(ride.at) if step <= max(tau, ride.at[0]))
    assert ride.y[at] == len(set(root)) == trace(picture, "here")["y"][0]


def test_the_drawn_staircase_passes_through_every_step() -> None:
    view = view_of(CHAIN)
    stairs = next(t for t in plot_groups(view, 0.1).traces if t.get("line", {}).get("shape") == "hv")
    drawn = dict(zip(stairs["x"][:-1].tolist(), stairs["y"].tolist(), strict=False))
    for tau, count in drawn.items():
        assert len(view.staircase.groups(tau)) == count
    assert stairs["y"][-1] == len(view.names)


@EXAMPLES
@given(nmi=symmetric(5), tau=st.floats(0, 1))
def test_the_threshold_is_inside_its_axis(nmi: NDArray[np.float64], tau: float) -> None:
    picture = plot_groups(view_of(nmi, floor=0.05), tau)
    handle = picture.handles[0]
    assert 0 < handle.low <= handle.value <= handle.high <= 1
    assert all(handle.low <= s <= handle.high for s in handle.snap)
    assert handle.value == tau or tau < handle.low


def test_a_threshold_of_zero_stands_at_the_end_and_reads_zero() -> None:
    handle = plot_groups(view_of(CHAIN), 0.0).handles[0]
    assert handle.value == handle.low == 1e-4
    assert handle.digits == 3


@EXAMPLES
@given(nmi=symmetric(5))
def test_tidy_thresholds_form_the_same_groups_as_the_exact_steps(nmi: NDArray[np.float64]) -> None:
    staircase = build_staircase(nmi)
    for step, tidy in zip(staircase.thresholds.tolist(), tidy_thresholds(staircase), strict=True):
        assert tidy >= step
        assert tidy - step <= 1e-3
        assert staircase.groups(tidy) == staircase.groups(step)


def test_tidy_thresholds_keep_close_steps_apart() -> None:
    nmi = np.array([[1.0, 0.10012, 0.0], [0.10012, 1.0, 0.10034], [0.0, 0.10034, 1.0]])
    assert tidy_thresholds(build_staircase(nmi)) == (0.1002, 0.101)


def test_the_noise_floor_is_a_band_and_stands_in_the_hover() -> None:
    picture = plot_groups(view_of(CHAIN, floor=0.05), 0.1)
    assert [r.x for r in picture.regions if r.label == "noise floor"] == [(None, 0.05)]
    hover = next(t for t in picture.traces if t.get("customdata") and len(t["customdata"][0]) == 2)
    assert "noise floor 0.025" in hover["text"][0]
    assert not [r for r in plot_groups(view_of(CHAIN), 0.1).regions if r.label]


def test_points_tell_what_was_clicked_and_picked_ones_are_ringed() -> None:
    view = view_of(CHAIN)
    assert trace(plot_groups(view, 0.1), "nodes")["customdata"] == [[0], [1], [2], [3]]
    rings = plot_groups(view, 0.1, picked=(1, 2)).traces[-4]
    assert rings["marker"]["symbol"] == "circle-open"
    assert np.array_equal(rings["x"], view.graph.points[[1, 2], 0])


def test_names_are_text_on_the_chart() -> None:
    nmi = np.array([[1.0, 0.2], [0.2, 1.0]])
    staircase = build_staircase(nmi)
    names = ("<b>R&D</b>", "x")
    view = Dependence(names, (2, 2), nmi, staircase, build_graph(nmi, staircase, names=names, levels=(2, 2)))
    for picture in (plot_groups(view, 0.1), plot_matrix(view, [(0, 1)])):
        texts = [a["text"] for a in picture.layout["annotations"]]
        assert "&lt;b&gt;R&amp;D&lt;/b&gt;" in texts


@pytest.mark.parametrize("tau", [0.0, 0.1, 1.0])
@pytest.mark.parametrize("count", [1, 2])
def test_a_single_attribute_and_independent_ones_can_be_drawn(count: int, tau: float) -> None:
    view = view_of(np.eye(count))
    picture = plot_groups(view, tau)
    assert trace(picture, "here")["y"] == [count]
    assert plot_matrix(view, view.staircase.groups(tau)).height > 0
    assert picture.to_figure("dark").data


def test_a_hundred_attributes_draw_a_bounded_picture() -> None:
    rng = np.random.default_rng(1)
    nmi = np.round(rng.random((100, 100)) ** 6, 4)
    nmi = np.triu(nmi, 1) + np.triu(nmi, 1).T + np.eye(100)
    staircase = build_staircase(nmi)
    names = [f"attribute number {i}" for i in range(100)]
    graph = build_graph(nmi, staircase, names=names, levels=[5] * 100)
    assert len(graph.edges) == EDGES_DRAWN
    assert set(staircase.edges) <= set(graph.edges)
    assert 100 > len(graph.places) > 0
    # What is written collides with nothing else that is written and stays inside.
    span = np.array(PANEL) / (1.26, 1.18)
    boxes = []
    for i, spot in graph.places.items():
        x, y = (graph.points[i, 0] + 0.13) * span[0], (1.09 - graph.points[i, 1]) * span[1]
        boxes.append(label_box((x, y), spot, short_names(names, 20)[i]))
    assert len(graph.places) > CROWDED / 3
    for a, b in itertools.combinations(boxes, 2):
        assert a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]
    assert all(b[0] >= 0 and b[2] <= PANEL[0] + 1 for b in boxes)


def test_short_names_are_told_apart_by_their_ends() -> None:
    names = [f"A rather long name, number {i}" for i in range(10)]
    short = short_names(names, 15)
    assert len(set(short)) == 10
    assert max(len(s) for s in short) <= 15
    assert short_names(["abc", "abcdef"], 4) == ("abc", "abc…")


def test_the_strongest_partner_is_never_the_attribute_itself() -> None:
    assert [strongest_partner(CHAIN, i) for i in range(4)] == [1, 0, 1, 2]
    assert strongest_partner(np.eye(1), 0) is None


def test_a_clicked_pair_is_compared_with_its_floor() -> None:
    assert explain_pair(view_of(CHAIN), (0, 1)) == "name 0 – name 1: NMI 0.300"
    assert explain_pair(view_of(CHAIN, floor=0.06), (0, 1)) == "name 0 – name 1: NMI 0.300, 10 times its noise floor"
    assert explain_pair(view_of(CHAIN, floor=0.06), (2, 3)) == "name 2 – name 3: NMI 0.0100, below its noise floor"
    assert explain_pair(view_of(CHAIN, corrected=True), (0, 1)).endswith("NMI corrected for chance 0.300")


@pytest.mark.parametrize("floor", [None, 0.06])
def test_the_threshold_axis_stays_while_the_threshold_is_dragged_on_it(floor: float | None) -> None:
    view = view_of(CHAIN, floor=floor)
    low, high = tau_range(view, 0.1)
    assert all(low < step < high for step in view.staircase.thresholds)
    assert {tau_range(view, tau) for tau in np.linspace(low, high, 40)} == {(low, high)}
    # Dragged to an end it is written with few digits, and still lies on the axis.
    assert {tau_range(view, settle(view.staircase, end)) for end in (low, high)} == {(low, high)}
    # One that is typed beyond an end is on the axis all the same.
    assert tau_range(view, 0.9) == (low, 1.0)
    assert tau_range(view, low / 2) == (0.35 * low, high)
    assert tau_range(view, 0.0) == (1e-4, high)


@pytest.mark.parametrize("sample", ["heart", "wine", "adult"])
def test_the_threshold_axis_has_room_for_the_noise_floor_before_it_is_known(sample: str) -> None:
    stages = Stages(load_sample(sample), sample_scenario(sample))
    names = tuple(a.name for a in stages.records.attributes)
    sizes, nmi, staircase = stages.records.sizes, stages.nmi, stages.staircase
    graph = build_graph(nmi, staircase, names=names, levels=sizes, chance=stages.rough_floor)
    before = Dependence(names, sizes, nmi, staircase, graph)
    after = dataclasses.replace(before, floor=stages.noise_floor)
    low, high = tau_range(before, 0.1)
    assert {tau_range(after, tau) for tau in (settle(staircase, low), 0.1, settle(staircase, high))} == {(low, high)}
    assert low < stages.noise_floor.maximum < high
    assert len(plot_groups(after, 0.1).regions) == 2
    # The floor belongs to the plain NMI; where it is corrected for chance, there is none to leave room for.
    plain = build_graph(nmi, staircase, names=names, levels=sizes)
    corrected = dataclasses.replace(before, corrected=True)
    assert tau_range(corrected, 0.1) == tau_range(dataclasses.replace(corrected, graph=plain), 0.1)


# ---- pairs ----


@EXAMPLES
@given(nmi=symmetric(6), tau=st.floats(0, 1))
def test_every_group_is_contiguous_in_the_heatmap_at_every_threshold(nmi: NDArray[np.float64], tau: float) -> None:
    staircase = build_staircase(nmi)
    order = leaf_order(staircase)
    assert sorted(order) == list(range(6))
    for members in staircase.groups(tau):
        spots = sorted(order.index(i) for i in members)
        assert spots == list(range(spots[0], spots[0] + len(spots)))


def test_the_heatmap_shows_every_pair_once_and_outlines_groups() -> None:
    picture = plot_matrix(view_of(CHAIN), [(0, 1, 2), (3,)])
    shown = np.asarray(picture.traces[0]["z"])
    values = np.sort(shown[~np.isnan(shown)]) ** 2
    assert values == pytest.approx(np.sort(CHAIN[np.tril_indices(4, -1)]), abs=1e-6)
    assert [s["line"]["color"] for s in picture.layout["shapes"]] == [GROUPS[0]]
    assert picture.layout["shapes"][0]["path"] == "M-0.5,2.5V0.5H0.5V1.5H1.5V2.5H-0.5Z"


def test_the_table_of_pairs_is_complete_sorted_and_compares_strictly() -> None:
    frame = table_pairs(view_of(CHAIN, floor=0.05), 0.10279)
    assert len(frame) == 6
    assert frame["NMI"].is_monotonic_decreasing
    assert frame["linked"].tolist() == ["yes", "no", "no", "no", "no", "no"]
    assert (frame["noise floor, 95 %"] == 0.025).all()


def test_joint_counts_stand_beside_independence_on_one_scale() -> None:
    records = records_of([[0, 0], [0, 0], [1, 1], [1, 2]], (2, 3))
    picture = plot_joint(records, (0, 1))
    seen, expected = picture.traces
    # The attribute with more levels is drawn downwards.
    assert np.array_equal(seen["z"], joint_counts(records.codes, 1, 0))
    assert expected["z"] == pytest.approx(np.outer([2, 1, 1], [2, 2]) / 4)
    assert (seen["zmin"], seen["zmax"]) == (expected["zmin"], expected["zmax"]) == (0, 2)
    assert picture.table is not None
    assert picture.table["records"].sum() == 4
    assert picture.table["if independent"].sum() == pytest.approx(4)


# ---- groups in words and numbers ----

CODES = [[a, b, c] for a in range(3) for b in range(4) for c in range(2)]


def test_states_are_counted_without_listing_them() -> None:
    records = records_of([[0, 0, 0], [0, 0, 0], [1, 3, 1], [2, 3, 1]], (3, 4, 2))
    for members in ((0,), (1,), (0, 1), (1, 2), (0, 1, 2)):
        observed = build_group_domain(records, members, p=2.0).observed
        assert count_states(records, members) == observed
        assert count_states(records, members, mode="product") == math.prod(records.sizes[i] for i in members)


def test_the_remedy_is_the_first_step_at_which_every_group_fits() -> None:
    nmi = np.array([[1.0, 0.3, 0.0], [0.3, 1.0, 0.2], [0.0, 0.2, 1.0]])
    records, staircase = records_of(CODES, (3, 4, 2)), build_staircase(nmi)
    for limit, expected in ((24, 0.1), (12, 0.2), (11, 0.3), (3, 0.3)):
        assert smallest_affordable(records, staircase, tau=0.1, limit=limit) == expected


def test_large_groups_are_named_with_what_follows_and_the_remedy() -> None:
    records = records_of(CODES, (3, 4, 2))
    whole, single = build_group_domain(records, (0, 1), p=2.0), build_group_domain(records, (2,), p=2.0)
    huge = build_group_domain(records, (0, 1), p=2.0, limit=5)
    names = [("age", "sex"), ("income",)]
    assert count_large([whole, single], 11) == 1
    assert count_large([whole, single], 12) == 0
    said = explain_groups([whole, single], names, tau=0.1, remedy=(11, 0.2))
    assert "**age +1** has **12 states**, over tau_dim (11)" in said
    assert "raise the threshold to **0.200**" in said
    said = explain_groups([huge, single], names, tau=0.1, remedy=(11, None))
    assert "perturbed attribute by attribute" in said
    assert "raise" not in said
    frame = table_groups([huge, single], names, tau_dim=11)
    assert frame["remark"].tolist()[0].endswith("(factorised)")
    assert frame["states are"].tolist() == ["attribute by attribute", "observed combinations"]
    assert table_groups([whole, single], names, tau_dim=11)["remark"].tolist() == [
        "over tau_dim (11): keeps the predefined noise",
        "",
    ]


def test_the_sentence_names_the_largest_group_the_floor_or_that_all_stand_alone() -> None:
    records = records_of(CODES, (3, 4, 2))
    pair, single = build_group_domain(records, (0, 1), p=2.0), build_group_domain(records, (2,), p=2.0)
    names = [("age", "sex"), ("income",)]
    floor = NoiseFloor(np.zeros((3, 3)), 0.2, 1, 1, 1.0)
    said = explain_groups([pair, single], names, tau=0.1)
    assert "**2 groups**" in said
    assert "**age, sex**; 1 stands alone" in said
    assert "below the **noise floor (0.200)**" in explain_groups([pair, single], names, tau=0.1, floor=floor)
    alone = explain_groups([single] * 3, [("a",), ("b",), ("c",)], tau=0.5, floor=floor)
    assert "every attribute is perturbed alone" in alone
    many = explain_groups([pair], [tuple("abcdefg")], tau=0.1)
    assert "**1 group**" in many
    assert "a, b, c, d and 3 more" in many
    assert group_label(("age", "sex", "income")) == "age +2"


@EXAMPLES
@given(nmi=symmetric(5), tau=st.floats(1e-4, 1))
def test_a_settled_threshold_forms_the_same_groups(nmi: NDArray[np.float64], tau: float) -> None:
    staircase = build_staircase(nmi)
    settled = settle(staircase, tau)
    assert staircase.groups(settled) == staircase.groups(tau)
    assert abs(settled - tau) <= 0.02 * tau
    assert settle(staircase, settled) == settled
