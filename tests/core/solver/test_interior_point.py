import itertools
import math
import time

import numpy as np
import pytest

from core.solver import interior_point
from core.solver.block_systems import LineSystem, NominalSystem, Programme
from core.solver.channel_problem import build_system, choose_rows, find_line
from core.solver.dual_bound import lower_bound
from core.solver.elimination import EliminationSystem, cholesky_inverses, root_inverse
from core.solver.fibre_system import FibreSystem
from core.solver.highs_channel import solve_with_highs
from core.solver.highs_columns import solve_by_columns
from core.solver.interior_point import solve
from core.solver.newton_step import start_column
from core.solver.output_pruning import Limits, solve_pruned
from core.solver.pricing import fit_multipliers, price
from core.solver.reductions import general_rows, line_rows, nominal_rows


def product(sizes, nominal):
    states = np.array(list(itertools.product(*(range(k) for k in sizes))))
    total = 0.0
    for member, size in enumerate(sizes):
        apart = np.abs(states[:, None, member] - states[None, :, member]) / (size - 1)
        total = total + ((apart > 0) if member in nominal else apart**2)
    return np.sqrt(total)


def line(n, seed=0):
    points = np.sort(np.random.default_rng(seed).random(n))
    return np.abs(points[:, None] - points)


def programme(distance, epsilon, seed=0, outputs=None):
    rng = np.random.default_rng(seed)
    rows, order = choose_rows(distance)
    n = len(order)
    costs = rng.dirichlet(np.ones(n))[:, None] * rng.random((n, outputs or n))
    return Programme(rows, epsilon, costs, build_system(rows, epsilon))


CASES = {
    "line": line(12),
    "nominal": 1 - np.eye(11),
    "envelope": product((4, 4, 2), (0, 2)),
    "fibre": product((7, 3), (0,)),
    "general": product((4, 4), ()),
}


class TestSystems:
    @pytest.mark.parametrize("name", CASES)
    @pytest.mark.parametrize("epsilon", [0.05, 2.0, 20.0])
    @pytest.mark.parametrize("outputs", ["few", "many", "alike"])
    def test_solve_and_schur_equal_the_dense_inverse(self, name, epsilon, outputs):
        rows, _ = choose_rows(CASES[name])
        systems = {
            "line": [LineSystem], "nominal": [NominalSystem], "general": [EliminationSystem],
            "envelope": [EliminationSystem, FibreSystem], "fibre": [EliminationSystem, FibreSystem],
        }[name]  # fmt: skip
        rng = np.random.default_rng(1)
        m = 80 if outputs == "many" else 5
        weights = np.exp(rng.normal(0, 2, (len(rows), 1 if outputs == "alike" else m))) * np.ones(m)
        right = rng.standard_normal((rows.size, m))
        matrix = rows.matrix(epsilon).toarray()
        inverses = [np.linalg.inv(matrix.T @ (weights[:, [y]] * matrix)) for y in range(m)]
        expected = np.stack([inverse @ right[:, y] for y, inverse in enumerate(inverses)], axis=1)
        total = sum(inverses)[rows.auxiliaries :, rows.auxiliaries :]
        for system in systems:
            factor = system(rows, epsilon).factor(weights)
            assert factor.solve(right) == pytest.approx(expected, rel=1e-6, abs=1e-9 * np.abs(expected).max())
            assert factor.schur() == pytest.approx(total, rel=1e-6, abs=1e-9 * np.abs(total).max())

    @pytest.mark.parametrize("name", CASES)
    def test_one_output_and_untouched_input(self, name):
        rows, _ = choose_rows(CASES[name])
        weights = np.exp(np.random.default_rng(3).normal(0, 1, (len(rows), 1)))
        matrix = rows.matrix(1.0).toarray()
        inverse = np.linalg.inv(matrix.T @ (weights * matrix))
        right = np.random.default_rng(4).standard_normal((rows.size, 1))
        given = right.copy()
        factor = build_system(rows, 1.0).factor(weights)
        assert factor.solve(right) == pytest.approx(inverse @ right, rel=1e-8)
        assert (right == given).all()
        assert factor.schur() == pytest.approx(inverse[rows.auxiliaries :, rows.auxiliaries :], rel=1e-8)

    @pytest.mark.parametrize("count", [3, 100])
    @pytest.mark.parametrize("size", [1, 8, 20])
    def test_inverse_cholesky_roots_from_upper_triangles(self, size, count):
        rng = np.random.default_rng(5)
        wide = rng.standard_normal((count, 2, size, 2 * size))
        matrices = wide @ wide.transpose(0, 1, 3, 2)
        expected = np.linalg.inv(np.linalg.cholesky(matrices))
        assert cholesky_inverses(np.triu(matrices)) == pytest.approx(expected, rel=1e-7, abs=1e-10)
        assert root_inverse(np.triu(matrices[0, 0])) == pytest.approx(expected[0, 0], rel=1e-7, abs=1e-10)

    @pytest.mark.parametrize("count", [1, 100])
    def test_indefinite_matrices_are_refused_and_rounding_is_forgiven(self, count):
        matrices = np.tile(np.eye(3), (count, 1, 1))
        matrices[-1] = 1.0  # singular: its second pivot is 0 up to rounding
        inverses = cholesky_inverses(matrices)
        assert np.isfinite(inverses).all()
        matrices[-1, 0, 1] = matrices[-1, 1, 0] = 2.0
        with pytest.raises(np.linalg.LinAlgError):
            cholesky_inverses(matrices)

    def test_long_lines_use_products_of_halves(self):
        rows = line_rows(np.full(59, 0.1))
        weights = np.exp(np.random.default_rng(2).normal(0, 1, (len(rows), 3)))
        matrix = rows.matrix(1.0).toarray()
        total = sum(np.linalg.inv(matrix.T @ (weights[:, [y]] * matrix)) for y in range(3))
        assert LineSystem(rows, 1.0).factor(weights).schur() == pytest.approx(total, rel=1e-8)

    @pytest.mark.parametrize("kind", ["line", "nominal"])
    def test_pivots_stay_positive_where_plain_elimination_cancels(self, kind):
        # exp(-1e-9) is 1 in half of the digits: H is singular up to 1e-18 in the constant direction.
        rows = line_rows(np.full(20, 1e-9)) if kind == "line" else nominal_rows(1e-9, 20)
        factor = (LineSystem if kind == "line" else NominalSystem)(rows, 1.0).factor(np.ones((len(rows), 1)))
        constant = factor.solve(np.concatenate([np.zeros(rows.auxiliaries), np.ones(rows.states)])[:, None])
        # H 1 = (1 - t)^2 (...) in the constant direction, so H^-1 1 is about 1 / (1 - t)^2, and positive.
        assert constant.min() > 1e15


class TestSolve:
    @pytest.mark.parametrize("name", CASES)
    @pytest.mark.parametrize("epsilon", [0.5, 3.0])
    def test_agrees_with_highs_within_its_own_bracket(self, name, epsilon):
        problem = programme(CASES[name], epsilon)
        ours, theirs = solve(problem, tolerance=1e-7), solve_with_highs(problem, method="simplex")
        assert ours.status == "optimal"
        assert ours.lower_bound <= theirs.loss * (1 + 1e-9)
        assert ours.loss >= theirs.lower_bound * (1 - 1e-12)
        assert ours.gap <= 1e-7

    @pytest.mark.parametrize("name", ["line", "nominal"])
    @pytest.mark.parametrize("epsilon", [0.3, 2.0, 8.0])
    def test_column_generation_agrees(self, name, epsilon):
        problem = programme(CASES[name], epsilon, seed=4)
        ours, columns = solve(problem, tolerance=1e-7), solve_by_columns(problem)
        assert columns.status == "optimal"
        assert columns.loss == pytest.approx(ours.loss, rel=1e-6)
        assert columns.lower_bound <= ours.loss

    @pytest.mark.parametrize("name", CASES)
    def test_every_iterate_is_a_strictly_interior_channel(self, name):
        problem = programme(CASES[name], 2.0)
        for tolerance in (0.9, 0.3, 0.05, 1e-5):
            found = solve(problem, tolerance=tolerance)
            assert found.matrix.sum(axis=1) == pytest.approx(1.0, abs=1e-12)
            plain = general_rows(CASES[name][np.ix_(*(2 * (choose_rows(CASES[name])[1],)))])
            assert (plain.matrix(2.0) @ found.matrix).min() > 0

    @pytest.mark.parametrize("name", ["nominal", "envelope", "fibre"])
    @pytest.mark.parametrize("epsilon", [0.1, 2.0])
    def test_starts_at_the_analytic_centre_of_the_auxiliaries(self, name, epsilon):
        problem = programme(CASES[name], epsilon)
        rows, column = problem.rows, start_column(problem)
        forward = rows.matrix(epsilon).toarray()[:, : rows.auxiliaries]
        inverse = 1 / (rows.matrix(epsilon) @ column)
        assert inverse.min() > 0
        gradient = forward.T @ inverse
        curvature = forward.T @ (inverse[:, None] ** 2 * forward)
        assert gradient @ np.linalg.solve(curvature, gradient) < 0.1

    def test_pauses_where_outputs_fade(self):
        problem = programme(CASES["envelope"], 1.0, seed=7)
        paused, full = solve(problem, pause=0.2), solve(problem)
        assert paused.status == "paused"
        assert paused.fading.mean() > 0.2
        mass = full.matrix.sum(axis=0)
        assert mass[paused.fading].max() < 0.05 * mass.max()
        assert full.status == "optimal"

    def test_the_proof_is_over_all_its_outputs(self):
        problem = programme(CASES["envelope"], 1.0)
        found = solve(problem)
        assert lower_bound(problem.rows, 1.0, problem.costs, found.multipliers) == pytest.approx(
            found.lower_bound, rel=1e-9
        )

    def test_going_on_with_fewer_outputs(self):
        problem = programme(CASES["general"], 2.0)
        coarse = solve(problem, tolerance=0.1)
        kept = np.flatnonzero(coarse.matrix.sum(axis=0) > 0.2)
        start = coarse.last.restrict(kept)
        assert start.variables.sum(axis=1) == pytest.approx(1.0)
        assert (problem.rows.matrix(2.0) @ start.variables).min() > 0
        warm, cold = solve(problem, outputs=kept, start=start), solve(problem, outputs=kept)
        assert warm.loss == pytest.approx(cold.loss, rel=1e-5)
        assert warm.iterations <= cold.iterations

    def test_deadline_returns_the_bracket_reached(self):
        problem = programme(CASES["envelope"], 2.0)
        found = solve(problem, deadline=time.monotonic() - 1)
        assert found.status == "time limit"
        assert found.lower_bound <= solve(problem).loss <= found.loss

    def test_progress_reports_and_may_stop(self):
        class StopNowError(Exception):
            pass

        seen = []

        def progress(fraction, sentence):
            seen.append(fraction)
            if len(seen) == 4:
                raise StopNowError(sentence)

        with pytest.raises(StopNowError, match="gap"):
            solve(programme(CASES["line"], 2.0), tolerance=1e-12, progress=progress)
        assert seen == sorted(seen)


class TestPricing:
    @pytest.mark.parametrize("name", ["line", "nominal"])
    def test_sweeps_decide_exactly(self, name):
        """The optimum's potentials prove every output unused or used; raised potentials prove none."""
        problem = programme(CASES[name], 1.5, seed=2)
        found = solve(problem, tolerance=1e-9)
        rows = problem.rows

        def missing(potentials):
            reduced = problem.costs - potentials[:, None]
            multipliers = price(rows, 1.5, reduced)
            assert multipliers.min() >= 0
            return (reduced - (rows.matrix(1.5).T @ multipliers)[rows.auxiliaries :]).min(axis=0)

        exact = (problem.costs - (rows.matrix(1.5).T @ found.multipliers)[rows.auxiliaries :]).min(axis=1)
        assert missing(exact - 1e-7).min() >= -1e-12
        used = found.matrix.sum(axis=0) > 0.1
        assert missing(exact + 1e-4)[used].max() < 0

    def test_fits_reach_the_equation(self):
        problem = programme(CASES["envelope"], 1.0)
        found = solve(problem, tolerance=1e-3)
        rows = problem.rows
        reduced = problem.costs - (found.potentials - 1e-3)[:, None]
        multipliers, closed = fit_multipliers(problem, reduced, found.multipliers)
        assert closed.any()
        assert multipliers.min() > 0
        flow = rows.matrix(1.0).T @ multipliers
        goal = np.concatenate([np.zeros((rows.auxiliaries, reduced.shape[1])), reduced])
        assert flow[:, closed] == pytest.approx(goal[:, closed], abs=1e-10)


class TestPruning:
    @pytest.mark.parametrize("name", CASES)
    def test_pruned_and_full_brackets_meet(self, name):
        problem = programme(CASES[name], 1.0, seed=7)
        full = solve(problem, tolerance=1e-6)
        pruned = solve_pruned(problem, Limits(1e-6), work=math.inf)
        assert pruned.status == "optimal"
        assert pruned.lower_bound <= full.loss
        assert full.lower_bound <= pruned.loss
        assert pruned.loss - pruned.lower_bound <= 1e-6 * pruned.loss

    @pytest.mark.parametrize("name", CASES)
    def test_outputs_dropped_wrongly_come_back(self, name, monkeypatch):
        problem = programme(CASES[name], 4.0, seed=7)
        full = solve(problem, tolerance=1e-7)
        calm = solve_pruned(problem, Limits(1e-6), work=math.inf)
        monkeypatch.setattr(interior_point, "_FADING", -5.0)  # every mass below the mean counts as fading
        monkeypatch.setattr(interior_point, "_LIGHT", 0.99)
        rash = solve_pruned(problem, Limits(1e-6), work=math.inf)
        assert rash.iterations > calm.iterations
        assert rash.status == "optimal"
        assert rash.loss == pytest.approx(full.loss, rel=2e-6)
        assert rash.lower_bound <= full.loss

    @pytest.mark.parametrize("name", ["line", "nominal", "envelope"])
    def test_a_bad_hint_costs_time_only(self, name):
        problem = programme(CASES[name], 3.0, seed=8)
        full = solve(problem, tolerance=1e-7)
        worst = np.array([int(problem.costs.sum(axis=0).argmax())])
        guess = np.full((len(problem.rows), problem.costs.shape[1]), 1e-3)
        found = solve_pruned(problem, Limits(1e-6), work=0.0, hint=worst, multipliers=guess)
        assert found.loss == pytest.approx(full.loss, rel=2e-6)
        assert found.lower_bound <= full.loss


def test_lines_are_found_in_any_order():
    distance = line(9, seed=3)
    order = np.random.default_rng(0).permutation(9)
    found = find_line(distance[np.ix_(order, order)])
    assert found is not None
    along = order[found]
    assert (np.diff(along) == 1).all() or (np.diff(along) == -1).all()
    assert find_line(product((3, 3), ())) is None
