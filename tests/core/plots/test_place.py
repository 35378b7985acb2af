"""Labels: no two overlap, however the points lie; nothing is pulled away without need."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.plots.place import Box, label_box, place_labels

SIZE = (420.0, 400.0)


def overlap(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def boxes(points: np.ndarray, texts: list[str], **settings: object) -> list[Box]:
    placed = place_labels(points, texts, radii=8, size=SIZE, **settings)  # type: ignore[arg-type]
    return [label_box((x, y), p, t) for (x, y), p, t in zip(points, placed, texts, strict=True)]


def test_a_single_label_is_at_the_right_without_a_leader() -> None:
    (placed,) = place_labels(np.array([[100.0, 100.0]]), ["age"], radii=8, size=SIZE)
    assert (placed.x_shift, placed.y_shift, placed.x_anchor, placed.leader) == (12.0, 0.0, "left", False)


def test_a_label_at_the_right_edge_goes_left() -> None:
    (placed,) = place_labels(np.array([[400.0, 100.0]]), ["education"], radii=8, size=SIZE)
    assert placed.x_anchor == "right"


def test_ties_are_pulled_apart_on_leaders() -> None:
    points = np.tile([200.0, 20.0], (8, 1))
    texts = [f"attribute {k}" for k in range(8)]
    placed = place_labels(points, texts, radii=8, size=SIZE)
    assert any(p.leader for p in placed)
    found = [label_box((200.0, 20.0), p, t) for p, t in zip(placed, texts, strict=True)]
    assert not any(overlap(a, b) for a, b in itertools.combinations(found, 2))
    assert all(left >= 0 and right <= SIZE[0] for left, _, right, _ in found)


def test_a_row_of_scores_that_are_all_one() -> None:
    points = np.column_stack([np.linspace(20, 220, 12), np.full(12, 10.0)])
    found = boxes(points, [f"name {k}" for k in range(12)])
    assert not any(overlap(a, b) for a, b in itertools.combinations(found, 2))


def test_labels_keep_off_links() -> None:
    points = np.array([[100.0, 100.0], [300.0, 100.0]])
    (left, _) = place_labels(points, ["a long name", "b"], radii=8, size=SIZE, links=np.array([[100, 100, 300, 100]]))
    assert not (left.x_anchor == "left" and left.y_anchor == "middle")


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.floats(20, 400), st.floats(20, 380)), min_size=1, max_size=12), st.randoms())
def test_no_two_labels_overlap(spots: list[tuple[float, float]], random: object) -> None:
    texts = ["x" * (3 + (7 * k) % 9) for k in range(len(spots))]
    found = boxes(np.array(spots), texts)
    assert not any(overlap(a, b) for a, b in itertools.combinations(found, 2))


def test_a_leader_line_runs_over_no_other_marker() -> None:
    turns = np.deg2rad(22.5 + 45 * np.arange(8))
    ring = 200 + 34 * np.column_stack([np.cos(turns), np.sin(turns)])
    points = np.vstack([[200.0, 200.0], ring])
    placed = place_labels(points, ["in the middle", *[f"{k}" for k in range(8)]], radii=10, size=SIZE)
    assert placed[0].leader
    for i, one in enumerate(placed):
        line = points[i] + np.linspace(0, 1, 50)[:, None] * np.array([one.x_shift, -one.y_shift])
        others = np.delete(points, i, axis=0)
        assert not one.leader or np.min(np.linalg.norm(line[:, None] - others[None], axis=2)) > 10


def test_no_points() -> None:
    assert place_labels(np.empty((0, 2)), [], radii=5, size=SIZE) == ()


@pytest.mark.parametrize("count", [15, 40])
def test_placing_is_deterministic(count: int) -> None:
    rng = np.random.default_rng(3)
    points = rng.uniform(0, 400, (count, 2))
    texts = [f"column {k}" for k in range(count)]
    assert place_labels(points, texts, radii=6, size=SIZE) == place_labels(points, texts, radii=6, size=SIZE)
