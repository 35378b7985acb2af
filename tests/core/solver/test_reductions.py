import gc
import itertools
import math
import weakref

import numpy as np
import pytest

from core.domain import Attribute, GroupDomain
from core.solver.block_systems import Programme
from core.solver.channel_problem import build_system, choose_rows, estimate_work
from core.solver.dual_bound import DualBound, lower_bound
from core.solver.envelope_rows import ProductLabels, detect_labels, envelope_rows, labels_of
from core.solver.highs_channel import solve_with_highs
from core.solver.reductions import (
    RatioRows,
    Structure,
    build_structure,
    general_rows,
    line_rows,
    merge_duplicates,
    needed_pairs,
    nominal_rows,
    once_per_rows,
)

LP_TOLERANCE = 1e-7
"""Relative difference of two HiGHS optima of the same problem."""


def grid(sizes, nominal=(), p=2.0):
    states = np.array(list(itertools.product(*(range(k) for k in sizes))))
    parts = []
    for member, size in enumerate(sizes):
        apart = np.abs(states[:, None, member] - states[None, :, member]) / max(size - 1, 1)
        parts.append((apart > 0).astype(float) if member in nominal else apart)
    stacked = np.array(parts)
    return states, stacked.max(axis=0) if math.isinf(p) else (stacked**p).sum(axis=0) ** (1 / p)


def all_rows(distance):
    n = len(distance)
    x, other = np.nonzero(~np.eye(n, dtype=bool))
    return RatioRows(other, x, distance[x, other], n, "general")


def optimum(rows, epsilon, costs):
    found = solve_with_highs(Programme(rows, epsilon, costs, build_system(rows, epsilon)), method="simplex")
    assert found.status == "optimal"
    return found.loss


class TestNeededPairs:
    def test_line_keeps_its_neighbours_only(self):
        points = np.array([0.3, 0.0, 1.0, 0.45])
        x, other = needed_pairs(np.abs(points[:, None] - points))
        assert {(int(a), int(b)) for a, b in zip(x, other, strict=True)} == {
            (1, 0), (0, 1), (0, 3), (3, 0), (3, 2), (2, 3)
        }  # fmt: skip

    def test_l1_grid_keeps_its_edges(self):
        states, distance = grid((3, 4), p=1.0)
        x, other = needed_pairs(distance)
        steps = np.abs(states[x] - states[other]).sum(axis=1)
        assert (steps == 1).all()
        assert len(x) == 2 * (3 * 3 + 2 * 4)

    def test_near_ties_do_not_drop_each_other(self):
        # x and z nearly coincide: each is between the other and y up to rounding, and one of them must keep its row.
        tiny = 1e-14
        distance = np.array([[0, 1, tiny], [1, 0, 1], [tiny, 1, 0]], float)
        x, other = needed_pairs(distance)
        kept = set(zip(x.tolist(), other.tolist(), strict=True))
        assert (0, 1) in kept or (2, 1) in kept
        assert (0, 2) in kept

    @pytest.mark.parametrize("seed", range(6))
    def test_same_optimum_as_all_pairs(self, seed):
        rng = np.random.default_rng(seed)
        _, distance = grid((3, 3), nominal=(0,) if seed % 2 else (), p=(1.0, 2.0, math.inf)[seed % 3])
        costs = rng.random(distance.shape) / 9
        fewer = general_rows(distance)
        assert len(fewer) <= len(all_rows(distance))
        assert optimum(fewer, 2.0, costs) == pytest.approx(optimum(all_rows(distance), 2.0, costs), rel=LP_TOLERANCE)


class TestMergeDuplicates:
    def test_chains_are_merged_and_the_slack_is_the_distance_to_the_representative(self):
        step = 0.9 * 2.0**-30
        points = np.array([0.0, step, 1.0, 2 * step])
        merged = merge_duplicates(np.abs(points[:, None] - points), 1.0)
        assert merged.class_of.tolist() == [0, 0, 1, 0]
        assert merged.representative.tolist() == [0, 2]
        assert merged.slack == pytest.approx(2 * step)

    def test_nothing_is_merged_above_the_limit(self):
        merged = merge_duplicates(np.array([[0.0, 2.0**-29], [2.0**-29, 0.0]]), 1.0)
        assert merged.class_of.tolist() == [0, 1]
        assert merged.slack == 0


class TestRows:
    def test_matrix_by_hand(self):
        matrix = line_rows(np.array([math.log(2)])).matrix(1.0).toarray()
        assert matrix == pytest.approx(np.array([[-0.5, 1.0], [1.0, -0.5]]))

    def test_nominal_matrix_by_hand(self):
        matrix = nominal_rows(math.log(4), 2).matrix(1.0).toarray()
        assert matrix == pytest.approx(np.array([[-1, 1, 0], [-1, 0, 1], [1, -0.25, 0], [1, 0, -0.25]]))

    def test_starts_are_strictly_inside(self):
        from core.solver.newton_step import start_column

        for epsilon in (1e-3, 1.0, 50.0):
            for sizes, nominal in (((3, 4), (0,)), ((2, 3, 2), (0, 1, 2)), ((4, 2, 3), (0, 2))):
                rows, _ = choose_rows(grid(sizes, nominal)[1])
                problem = Programme(rows, epsilon, np.ones((rows.states, 1)), build_system(rows, epsilon))
                assert (rows.matrix(epsilon) @ start_column(problem)).min() > 0


class TestEnvelopes:
    @pytest.mark.parametrize(
        ("sizes", "nominal", "rows"),
        [((4, 4, 4), (0, 2), 528), ((16, 7), (0,), 465), ((4, 4, 3), (0, 2), 696), ((4, 6), (0,), 124)],
    )
    def test_row_counts_and_detection_in_any_order(self, sizes, nominal, rows):
        _, distance = grid(sizes, nominal)
        order = np.random.default_rng(1).permutation(len(distance))
        for metric in (distance, distance[np.ix_(order, order)]):
            chosen, _ = choose_rows(metric)
            assert (chosen.kind, len(chosen)) == ("envelope", rows)

    @pytest.mark.parametrize("seed", range(8))
    def test_observed_subsets_have_the_optimum_of_all_pairs(self, seed):
        rng = np.random.default_rng(seed)
        p = (2.0, 1.0, math.inf, 3.0)[seed % 4]
        states, distance = grid((3, 3, 2), (0, 2), p)
        kept = np.sort(rng.choice(len(states), 10, replace=False))
        metric = distance[np.ix_(kept, kept)]
        labels = labels_of(Structure(states.astype(np.int32), ("nominal", "line", "nominal"), p), kept)
        rows = envelope_rows(metric, labels, needed_pairs(metric))
        costs = rng.random((10, 10)) / 10
        for epsilon in (0.5, 3.0):
            assert optimum(rows, epsilon, costs) == pytest.approx(
                optimum(all_rows(metric), epsilon, costs), rel=LP_TOLERANCE
            )

    def test_wrong_labels_are_refused(self):
        _, distance = grid((3, 4), (0,))
        wrong = ProductLabels(np.arange(12)[:, None] % 3, np.arange(12) // 3)
        assert envelope_rows(distance, wrong, needed_pairs(distance)) is None

    def test_a_wrong_structure_is_only_a_hint(self):
        states, distance = grid((3, 4), (0,))
        wrong = Structure(states[::-1, ::-1].astype(np.int32), ("nominal", "nominal"), 2.0)
        rows, _ = choose_rows(distance, wrong, np.arange(12))
        costs = np.random.default_rng(0).random((12, 12))
        assert optimum(rows, 1.0, costs) == pytest.approx(optimum(all_rows(distance), 1.0, costs), rel=LP_TOLERANCE)

    def test_no_nominal_attribute_is_seen_in_an_ordinal_grid(self):
        _, distance = grid((3, 4))
        assert detect_labels(distance) is None
        assert choose_rows(distance)[0].kind == "general"

    def test_work_of_envelopes_is_less(self):
        _, distance = grid((4, 4, 4), (0, 2))
        assert estimate_work(choose_rows(distance)[0]) < 0.5 * estimate_work(general_rows(distance))


class TestStructure:
    def test_kinds(self):
        steps = np.abs(np.subtract.outer(np.arange(3), np.arange(3))) / 2
        own = np.array([[0, 1, 2], [1, 0, 1], [2, 1, 0]], float)

        def attribute(kind, distance, missing=False):
            return Attribute("a", 0, kind, ("1", "2", "3")[: len(distance)], None, None, distance, 1.0, missing)

        attributes = (
            attribute("nominal", 1 - np.eye(3)),
            attribute("ordinal", steps),
            attribute("nominal", own),
            attribute("ordinal", 1 - np.eye(2)),
            attribute("numeric", own, missing=True),
        )
        states = np.zeros((1, 5), np.int32)
        one, zero = np.ones(1), np.zeros(1, np.int64)
        domain = GroupDomain((0, 1, 2, 3, 4), states, zero + 1, one, zero, np.zeros((1, 1)), "observed", 1, 243)
        structure = build_structure(domain, attributes, 2.0)
        assert structure is not None
        assert structure.kinds == ("nominal", "line", "other", "nominal", "other")
        huge = GroupDomain((0,), states[:0], zero[:0], one[:0], zero - 1, np.zeros((0, 0)), "factorised", 1, 10**6)
        assert build_structure(huge, attributes, 2.0) is None


class TestDualBound:
    def test_any_multipliers_stay_below_the_optimum(self):
        rng = np.random.default_rng(3)
        for sizes, nominal in (((2, 3), (0,)), ((2, 2, 2), (0, 1, 2)), ((6,), ()), ((6,), (0,))):
            _, distance = grid(sizes, nominal)
            rows, order = choose_rows(distance)
            costs = rng.random((len(order), 4))
            best = optimum(rows, 1.5, costs)
            for scale in (1e-3, 0.1, 1.0):
                for _ in range(20):
                    multipliers = scale * rng.standard_normal((len(rows), 4))
                    assert lower_bound(rows, 1.5, costs, multipliers) <= best

    def test_the_dual_solution_is_tight(self):
        _, distance = grid((3, 4), (0,))
        rows, _ = choose_rows(distance)
        costs = np.random.default_rng(5).random((12, 12))
        found = solve_with_highs(Programme(rows, 1.0, costs, build_system(rows, 1.0)), method="simplex")
        assert found.lower_bound == pytest.approx(found.loss, rel=1e-9)
        assert found.lower_bound <= found.loss

    def test_forgetting_to_drain_is_caught(self):
        """Undrained multipliers put the naive bound above the optimum; the drained bound stays below it."""
        _, distance = grid((4, 6), (0,))
        rows, _ = choose_rows(distance)
        assert rows.auxiliaries
        costs = np.ones((24, 24)) - np.eye(24)
        best = optimum(rows, 1.0, costs)
        # Rows M >= z on their own pay every state out of nowhere: only draining sees that M has no income.
        multipliers = np.where(rows.head < rows.auxiliaries, 10.0, 0.0)[:, None] * np.ones(24)
        flow = (rows.matrix(1.0).T @ multipliers)[rows.auxiliaries :]
        naive = (costs - flow).min(axis=1).sum()
        assert naive > best
        proof = DualBound(rows, 1.0)
        assert proof.bound(costs, multipliers) <= best
        drained = proof.drain(multipliers)
        assert (rows.matrix(1.0).T @ drained)[: rows.auxiliaries].max() <= 1e-12


def test_what_is_computed_once_per_rows_is_forgotten_with_them():
    asked = []
    count = once_per_rows(lambda rows: asked.append(len(rows)) or np.arange(len(rows)))
    rows = nominal_rows(1.0, 5)
    found = weakref.ref(count(rows))
    assert count(rows) is found()
    assert asked == [10]
    del rows
    gc.collect()
    assert found() is None
