import itertools
import math

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.metrics import adjusted_mutual_info_score, normalized_mutual_info_score

import core.mutual_information as information
from core import chance, dependence
from core.chance import expected_mutual_information, expected_mutual_informations
from core.dependence import (
    build_staircase,
    compute_adjusted_nmi,
    compute_nmi,
    estimate_noise_floor,
    joint_counts,
    layout,
)
from core.domain import build_group_domain, build_records
from core.errors import InputError
from core.mutual_information import compute_mutual_information
from core.scenario import AttributeSpec, Scenario
from core.table import load_sample, sample_scenario

small_codes = arrays(np.int32, st.tuples(st.integers(1, 25), st.integers(1, 4)), elements=st.integers(0, 3))


def slow_information(x, y):
    """MI in nats from counting loops."""
    n = len(x)
    total = 0.0
    for a, b in set(zip(x, y, strict=True)):
        joint = sum(1 for i in range(n) if x[i] == a and y[i] == b)
        total += joint / n * math.log(joint * n / (x.count(a) * y.count(b)))
    return total


def slow_nmi(x, y):
    mean = (slow_information(x, x) + slow_information(y, y)) / 2
    return slow_information(x, y) / mean if mean > 0 else 0.0


# ---- NMI ----


def test_nmi_of_a_hand_computed_table():
    # counts [[2, 1], [1, 2]]: MI = 2 (1/3) ln(4/3) + 2 (1/6) ln(2/3), both entropies ln 2
    codes = np.array([[0, 0], [0, 0], [0, 1], [1, 0], [1, 1], [1, 1]])
    expected = (2 / 3 * math.log(4 / 3) + 1 / 3 * math.log(2 / 3)) / math.log(2)
    assert compute_nmi(codes)[0, 1] == pytest.approx(expected, abs=1e-15)


@given(small_codes)
@settings(max_examples=150, deadline=None)
def test_nmi_agrees_with_counting_loops(codes):
    found = compute_nmi(codes)
    columns = [c.tolist() for c in codes.T]
    for i, j in itertools.product(range(len(columns)), repeat=2):
        assert found[i, j] == pytest.approx(slow_nmi(columns[i], columns[j]), abs=1e-12)
    assert (found == found.T).all()
    assert ((found >= 0) & (found <= 1)).all()


@pytest.mark.parametrize("block", [1, 60, 10**6])
def test_the_fast_nmi_differs_by_rounding_only(monkeypatch, block):
    codes = np.random.default_rng(3).integers(0, [2, 9, 3, 5, 30, 1], (333, 6))
    codes[:, 3] = codes[:, 1] // 2
    monkeypatch.setattr(information, "BLOCK_CELLS", block)
    found = compute_nmi(codes, exact=False)
    np.testing.assert_allclose(found, compute_nmi(codes), atol=1e-13)
    assert (found == found.T).all()
    assert (found >= 0).all()


def test_nmi_agrees_with_a_scorer_per_pair():
    rng = np.random.default_rng(1)
    base = rng.integers(0, 6, 400)
    codes = np.column_stack([base, (base + rng.integers(0, 3, 400)) % 6, base // 2, rng.integers(0, 9, 400)])
    found = compute_nmi(codes)
    for i, j in itertools.combinations(range(4), 2):
        assert found[i, j] == pytest.approx(normalized_mutual_info_score(codes[:, i], codes[:, j]), abs=1e-12)


def test_independence_gives_exactly_zero_and_a_bijection_one():
    a, b = np.meshgrid(np.arange(3), np.arange(7), indexing="ij")
    codes = np.column_stack([a.ravel(), b.ravel(), (5 * b.ravel()) % 7, np.zeros(21, int)])
    found = compute_nmi(codes)
    assert found[0, 1] == 0.0
    assert found[1, 2] == pytest.approx(1.0, abs=1e-15)
    assert (found[3] == 0.0).all()  # a constant, with itself too
    assert found.diagonal().tolist() == [1.0, 1.0, 1.0, 0.0]


def test_nmi_depends_on_which_codes_are_equal_only():
    rng = np.random.default_rng(2)
    codes = rng.integers(0, 4, (60, 3))
    other = codes.copy()
    other[:, 0] = np.array([-7, 10**9, 3, 50_000])[codes[:, 0]]
    np.testing.assert_allclose(compute_nmi(other), compute_nmi(codes), atol=1e-14)


@pytest.mark.parametrize(("dense", "chunk", "block"), [(0, 50, 10**6), (0, 10**6, 40), (100, 64, 60), (100, 10**6, 1)])
def test_blocks_and_chunks_count_the_same(monkeypatch, dense, chunk, block):
    codes = np.random.default_rng(3).integers(0, [2, 9, 3, 5, 30, 1], (333, 6))
    expected = compute_mutual_information(codes)
    for name, value in (("DENSE_LEVELS", dense), ("CHUNK_CELLS", chunk), ("BLOCK_CELLS", block)):
        monkeypatch.setattr(information, name, value)
    np.testing.assert_allclose(compute_mutual_information(codes), expected, atol=1e-15)


@pytest.mark.parametrize("codes", [np.zeros((0, 2), int), np.zeros(3, int), np.zeros((3, 2))])
def test_nmi_refuses_what_is_not_a_table_of_codes(codes):
    with pytest.raises(InputError, match="whole-number codes"):
        compute_nmi(codes)


def test_joint_counts_in_the_levels_asked_for():
    codes = np.array([[0, 2], [1, 2], [0, 2], [0, 0]])
    assert joint_counts(codes, 0, 1).tolist() == [[1, 0, 2], [0, 0, 1]]
    assert joint_counts(codes, 1, 0, shape=(3, 3)).tolist() == [[1, 0, 0], [0, 0, 0], [2, 1, 0]]


# ---- adjusted for chance ----


def test_expected_information_is_the_mean_over_all_shuffles():
    x, y = [0, 0, 0, 1, 1, 2], [0, 0, 1, 1, 1, 1]
    shuffles = list(itertools.permutations(y))
    mean = sum(slow_information(x, list(s)) for s in shuffles) / len(shuffles)
    assert expected_mutual_information(np.bincount(x), np.bincount(y)) == pytest.approx(mean, abs=1e-13)


@pytest.mark.parametrize("terms", [1, 100, 10**6])
def test_expected_information_of_many_attributes_is_that_of_each_pair(monkeypatch, terms):
    """Also with numbers of records that levels of one attribute, of several or of none other have."""
    counts = [np.array(c) for c in ([30, 30], [30, 20, 10], [0, 25, 25, 10], [60], [7, 53, 0], [1] * 60)]
    total = 60
    monkeypatch.setattr(chance, "TERMS", terms)
    found = expected_mutual_informations(counts)

    def direct(left, right):
        value = 0.0
        for a, b in itertools.product(left.tolist(), right.tolist()):
            for n in range(max(1, a + b - total), min(a, b) + 1):
                chosen = math.comb(b, n) * math.comb(total - b, a - n) / math.comb(total, a)
                value += chosen * n / total * math.log(n * total / (a * b))
        return value

    for i, j in itertools.product(range(len(counts)), repeat=2):
        assert found[i, j] == pytest.approx(direct(counts[i], counts[j]) if i != j else 0.0, abs=1e-13)
    assert (found == found.T).all()


@given(small_codes)
@settings(max_examples=100, deadline=None)
def test_adjusted_nmi_agrees_with_a_scorer_per_pair(codes):
    found, plain = compute_adjusted_nmi(codes), compute_nmi(codes)
    assert (found <= plain + 1e-12).all()
    for i, j in itertools.combinations(range(codes.shape[1]), 2):
        distinct = [len(np.unique(codes[:, k])) for k in (i, j)]
        if min(distinct) > 1 and max(distinct) < len(codes):
            expected = adjusted_mutual_info_score(codes[:, i], codes[:, j])
            assert found[i, j] == pytest.approx(expected, abs=1e-9)


def test_adjusted_nmi_of_large_counts_loses_nothing_in_the_tails():
    rng = np.random.default_rng(4)
    codes = rng.integers(0, 5, (20_000, 2))
    codes[:, 1] = np.where(rng.random(20_000) < 0.1, codes[:, 0], codes[:, 1])
    expected = adjusted_mutual_info_score(codes[:, 0], codes[:, 1])
    assert compute_adjusted_nmi(codes)[0, 1] == pytest.approx(expected, abs=1e-10)


def test_adjusted_nmi_without_room_is_zero():
    codes = np.column_stack([np.arange(8), np.arange(8), np.zeros(8, int)])  # all different, and constant
    assert compute_adjusted_nmi(codes).tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 0]]


def test_adjusting_reports_and_can_be_stopped():
    class StoppedError(Exception):
        pass

    def stop(fraction, sentence):
        assert 0 <= fraction <= 1
        assert sentence
        raise StoppedError

    with pytest.raises(StoppedError):
        compute_adjusted_nmi(np.array([[0, 1], [1, 0], [1, 1]]), progress=stop)


# ---- noise floor ----


def test_noise_floor_holds_on_independent_attributes():
    rng = np.random.default_rng(5)
    codes = rng.integers(0, 4, (300, 30))
    floor = estimate_noise_floor(codes, rng=rng)
    over = (np.triu(compute_nmi(codes), 1) > floor.per_pair)[np.triu_indices(30, 1)].sum()
    # of 435 pairs 5% are expected above: 22 with deviation 4.5, and the quantiles of 200 draws err by 1.5 points;
    # outside [1, 60] is a false alarm of less than 1e-6
    assert 1 <= over <= 60
    assert floor.maximum >= floor.per_pair.max()
    assert floor.scale == 1.0


def test_noise_floor_is_what_dependence_must_exceed():
    rng = np.random.default_rng(6)
    base = rng.integers(0, 4, 300)
    codes = np.column_stack([base, np.where(rng.random(300) < 0.5, base, rng.integers(0, 4, 300))])
    assert compute_nmi(codes)[0, 1] > 3 * estimate_noise_floor(codes, rng=rng).maximum


def test_noise_floor_of_a_large_table_is_drawn_and_scaled(monkeypatch):
    codes = np.random.default_rng(7).integers(0, 3, (4000, 3))
    full = estimate_noise_floor(codes, rng=np.random.default_rng(0), permutations=400)
    monkeypatch.setattr(dependence, "FLOOR_ROWS", (1000, 1000))
    drawn = estimate_noise_floor(codes, rng=np.random.default_rng(0), permutations=400)
    assert (drawn.rows, drawn.scale, full.scale) == (1000, 0.25, 1.0)
    # a 95% quantile of 400 draws of a chi-squared with 4 degrees errs by about 5%; 35% is seven of these
    assert drawn.maximum == pytest.approx(full.maximum, rel=0.35)
    assert drawn.per_pair[0, 1] == pytest.approx(full.per_pair[0, 1], rel=0.35)


def test_noise_floor_repeats_with_its_generator():
    codes = np.random.default_rng(8).integers(0, 3, (50, 3))
    first, second = (estimate_noise_floor(codes, rng=np.random.default_rng(9), permutations=20) for _ in range(2))
    assert (first.per_pair == second.per_pair).all()
    assert first.maximum == second.maximum


# ---- groups ----


def slow_groups(nmi, tau):
    graph = nx.Graph()
    graph.add_nodes_from(range(len(nmi)))
    graph.add_edges_from((i, j) for i, j in itertools.combinations(range(len(nmi)), 2) if nmi[i, j] > tau)
    return tuple(sorted(tuple(sorted(c)) for c in nx.connected_components(graph)))


@given(st.integers(0, 6), st.integers(0, 2**32 - 1), st.floats(0, 1))
@settings(max_examples=200, deadline=None)
def test_groups_are_the_components_at_every_threshold(count, seed, tau):
    draw = np.random.default_rng(seed).integers(-1, 6, (count, count)) / 5.0  # many ties, zeros and negatives
    nmi = np.triu(draw, 1) + np.triu(draw, 1).T + np.eye(count)
    stairs = build_staircase(nmi)
    for t in (tau, 0.0, 1.0, *stairs.thresholds):
        assert stairs.groups(t) == slow_groups(nmi, t)
        step = int(np.searchsorted(stairs.thresholds, t, side="right"))
        assert stairs.counts[step] == len(stairs.groups(t))
    assert len(stairs.counts) == len(stairs.thresholds) + 1
    assert (np.diff(stairs.counts) > 0).all()


def test_an_edge_needs_strictly_more_than_tau():
    nmi = np.array([[1.0, 0.1], [0.1, 1.0]])
    assert build_staircase(nmi).groups(0.1) == ((0,), (1,))
    assert build_staircase(nmi).groups(np.nextafter(0.1, 0)) == ((0, 1),)


def test_groups_refuse_a_threshold_out_of_range():
    with pytest.raises(InputError, match="from 0 to 1"):
        build_staircase(np.eye(2)).groups(1.5)


# ---- layout ----


@pytest.mark.parametrize("count", [0, 1, 2, 3, 15, 40, 130])
def test_layout_keeps_nodes_apart_inside_the_square(count):
    draw = np.random.default_rng(count).random((count, count)) ** 4
    nmi = np.triu(draw, 1) + np.triu(draw, 1).T + np.eye(count)
    points = layout(nmi)
    assert points.shape == (count, 2)
    assert ((points >= 0) & (points <= 1)).all()
    assert (layout(nmi) == points).all()
    if count > 1:
        shrink = min(1.0, math.sqrt(dependence.LAYOUT_FILL / (count * math.prod(dependence.LAYOUT_SEPARATION))))
        gap = (points[:, None] - points) / (np.array(dependence.LAYOUT_SEPARATION) * shrink)
        size = np.sqrt((gap**2).sum(axis=2))[np.triu_indices(count, 1)]
        assert size.min() > 0.8


def test_layout_puts_dependent_attributes_together():
    nmi = np.eye(6)
    nmi[0, 1] = nmi[1, 0] = nmi[3, 5] = nmi[5, 3] = 0.8
    points = layout(nmi)
    distance = np.sqrt(((points[:, None] - points) ** 2).sum(axis=2))
    others = [distance[i, j] for i, j in itertools.combinations(range(6), 2) if (i, j) not in ((0, 1), (3, 5))]
    assert max(distance[0, 1], distance[3, 5]) < np.median(others)


# ---- the bundled tables ----


def sizes_at(records, tau):
    groups = build_staircase(compute_nmi(records.codes)).groups(tau)
    return [len(np.unique(records.codes[:, list(g)], axis=0)) for g in groups], groups


def test_adult_groups_at_the_usual_threshold():
    records = build_records(load_sample("adult"), sample_scenario("adult"))
    sizes, groups = sizes_at(records, 0.1)
    assert sorted(sizes, reverse=True) == [640, 280, 89, 5, 5, 5, 4]
    products = sorted(math.prod(records.sizes[i] for i in g) for g in groups)
    assert products[-3:] == [205, 840, 10_800]


def test_heart_groups_with_and_without_the_target():
    table, scenario = load_sample("heart"), sample_scenario("heart")
    sizes, _ = sizes_at(build_records(table, scenario), 0.1)
    assert max(sizes) == 37
    target = next(a.column for a in scenario.attributes if a.include is False)
    records = build_records(table, scenario.with_spec(AttributeSpec(target, include=True)))
    sizes, groups = sizes_at(records, 0.1)
    domain = build_group_domain(records, groups[int(np.argmax(sizes))], p=2.0)
    assert (domain.size, domain.product, int((domain.counts == 1).sum())) == (221, 48_000, 176)


def test_wine_groups_over_all_columns():
    sizes, _ = sizes_at(build_records(load_sample("wine"), Scenario()), 0.1)
    assert len(sizes) == 7
