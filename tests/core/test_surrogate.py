from dataclasses import dataclass

import numpy as np
import pytest
from scipy.optimize import lsq_linear

from core import surrogate
from core.dependence import build_staircase, compute_nmi
from core.domain import build_group_domain, build_records
from core.errors import InputError
from core.surrogate import fit_surrogate
from core.table import load_sample, sample_scenario
from core.task_protocol import BaseTask
from core.tasks import fit_task
from tests.core.synthetic import factorised, make_domain, make_records, numeric, some_records


@dataclass(frozen=True, eq=False)
class PolynomialTask(BaseTask):
    """Loss a + 2 b + 0.5 a b - 0.1 a^2 of the rank changes a, b of two attributes: its surrogate is known."""

    def loss(self, X, Y):
        a, b = (np.abs(X[:, i] - Y[:, i]).astype(float) for i in range(2))
        return a + 2 * b + 0.5 * a * b - 0.1 * a**2


def grid_records():
    a, b = np.meshgrid(np.arange(5), np.arange(4), indexing="ij")
    return make_records(np.column_stack([a.ravel(), b.ravel()]), (numeric("a", 5), numeric("b", 4)))


def sample_domains(name):
    records = build_records(load_sample(name), sample_scenario(name))
    groups = build_staircase(compute_nmi(records.codes)).groups(0.1)
    return records, tuple(build_group_domain(records, g, p=2.0) for g in groups)


def test_frequency_on_adult_is_exactly_additive():
    records, domains = sample_domains("adult")
    found = fit_surrogate(fit_task("frequency", records), records, domains, rng=np.random.default_rng(0), pairs=2000)
    np.testing.assert_allclose(found.beta, 1.0, atol=1e-12)
    assert abs(found.intercept) <= 1e-12
    assert found.r2 == pytest.approx(1.0, abs=1e-12)
    assert found.mean_absolute_error <= 1e-12
    quadratic = found.quadratic
    assert np.abs(quadratic.interactions).max() <= 1e-12
    assert np.abs(quadratic.squares).max() <= 1e-12
    np.testing.assert_allclose(quadratic.linear, 1.0, atol=1e-12)
    # single nominal or binned attributes cost 0 or 2 and nothing else
    assert quadratic.left_out == tuple(k for k, d in enumerate(domains) if len(d.members) == 1)


def test_entropy_on_heart_is_mostly_explained():
    records, domains = sample_domains("heart")
    found = fit_surrogate(fit_task("entropy", records), records, domains, rng=np.random.default_rng(0))
    assert found.r2 > 0.8
    assert (found.beta > 0).all()
    assert found.quadratic.r2 > 0.8


def test_held_out_figures_are_those_of_the_returned_pairs():
    records = some_records(0)
    domains = tuple(make_domain(records, m) for m in ((0, 1), (2,), (3,)))
    found = fit_surrogate(fit_task("crowdsourcing", records), records, domains, rng=np.random.default_rng(1))
    error = found.actual - found.predicted
    assert found.mean_absolute_error == pytest.approx(np.abs(error).mean())
    assert found.r2 == pytest.approx(1 - (error**2).sum() / ((found.actual - found.actual.mean()) ** 2).sum())
    assert len(found.actual) == round(surrogate.HELD_OUT * surrogate.PAIRS)
    assert set(found.changed.tolist()) == {1, 2, 3}
    # of 1,800 pairs a third each, with deviation 20; 120 off is six of these
    assert (np.abs(np.bincount(found.changed)[1:] - 600) < 120).all()


def test_coefficients_are_the_nonnegative_least_squares_of_the_fitting_pairs(monkeypatch):
    seen = {}
    real = surrogate.nnls

    def spy(design, loss):
        seen["design"], seen["loss"] = design, loss
        return real(design, loss)

    monkeypatch.setattr(surrogate, "nnls", spy)
    records = grid_records()
    domains = (make_domain(records, (0,)), make_domain(records, (1,)))
    found = fit_surrogate(PolynomialTask(records.sizes), records, domains, rng=np.random.default_rng(2), pairs=1000)
    expected = lsq_linear(seen["design"], seen["loss"], bounds=(0, np.inf), tol=1e-14).x
    np.testing.assert_allclose([found.intercept, *found.beta], expected, atol=1e-6)
    assert len(seen["loss"]) == 700


def test_regressors_are_the_losses_in_the_records_own_context():
    records = some_records(3)
    task = fit_task("crowdsourcing", records)
    domains = tuple(make_domain(records, m) for m in ((0, 1), (2,), (3,)))
    truth, released, changes = surrogate._draw_pairs(records, domains, 50, np.random.default_rng(4))
    loss, isolated = surrogate._evaluate(task, domains, truth, released)
    for i in range(50):
        for k, domain in enumerate(domains):
            plugged = truth[i].copy()
            plugged[list(domain.members)] = released[i, list(domain.members)]
            assert isolated[i, k] == task.loss(truth[i : i + 1], plugged[None])[0]
            assert changes[i, k] == (plugged != truth[i]).any()
        assert loss[i] == task.loss(truth[i : i + 1], released[i : i + 1])[0]
    assert changes.any(axis=1).all()


def test_the_quadratic_fit_finds_interactions_and_squares():
    records = grid_records()
    domains = (make_domain(records, (0,)), make_domain(records, (1,)))
    found = fit_surrogate(PolynomialTask(records.sizes), records, domains, rng=np.random.default_rng(5)).quadratic
    # isolated losses are A = a - 0.1 a^2 and B = 2 b; the loss A + B + 0.25 a B is not a polynomial of A and B, but
    # nearly 1.0 A + 1.0 B + b A B
    assert found.r2 > 0.98
    assert found.largest[0].groups == (0, 1)
    assert found.largest[0].contribution == max(t.contribution for t in found.largest)
    assert found.left_out == ()


def test_a_true_product_is_recovered_exactly():
    @dataclass(frozen=True, eq=False)
    class ProductTask(BaseTask):
        def loss(self, X, Y):
            a, b, c = (np.abs(X[:, i] - Y[:, i]).astype(float) for i in range(3))
            return a + 2 * b + 3 * c + 0.5 * a * b

    rng = np.random.default_rng(6)
    records = make_records(rng.integers(0, [5, 4, 2], (200, 3)), (numeric("a", 5), numeric("b", 4), numeric("c", 2)))
    domains = tuple(make_domain(records, (i,)) for i in range(3))
    found = fit_surrogate(ProductTask(records.sizes), records, domains, rng=rng).quadratic
    np.testing.assert_allclose(found.linear, 1.0, atol=1e-10)
    np.testing.assert_allclose(found.interactions, [0.25, 0, 0], atol=1e-10)  # 0.5 a b = 0.25 a (2 b)
    np.testing.assert_allclose(found.squares, 0.0, atol=1e-10)
    assert found.left_out == (2,)  # two levels: 0 or 3
    assert found.largest[0].groups == (0, 1)


def test_groups_that_cannot_change_or_cost_nothing_get_no_weight():
    records = make_records([[0, 0, 0], [0, 1, 1], [0, 2, 0]], (numeric("a", 1), numeric("b", 3), numeric("c", 2)))

    @dataclass(frozen=True, eq=False)
    class SecondTask(BaseTask):
        def loss(self, X, Y):
            return np.abs(X[:, 1] - Y[:, 1]).astype(float)

    domains = tuple(make_domain(records, (i,)) for i in range(3))
    found = fit_surrogate(SecondTask(records.sizes), records, domains, rng=np.random.default_rng(7), pairs=200)
    np.testing.assert_allclose(found.beta, [0, 1, 0], atol=1e-12)
    assert set(found.changed.tolist()) == {1, 2}
    assert np.isnan(found.quadratic.linear).tolist() == [True, False, True]
    nothing = fit_surrogate(SecondTask(records.sizes), records, domains[:1], rng=np.random.default_rng(7), pairs=200)
    assert (nothing.intercept, nothing.beta.tolist(), nothing.r2) == (0.0, [0.0], 1.0)


def test_groups_too_large_to_enumerate_take_other_records():
    records = some_records(8, rows=200)
    domains = (make_domain(records, (0, 1)), factorised(records, (2, 3)))
    found = fit_surrogate(fit_task("frequency", records), records, domains, rng=np.random.default_rng(9))
    np.testing.assert_allclose(found.beta, 1.0, atol=1e-12)
    assert abs(found.intercept) <= 1e-12


def test_released_states_are_near_and_far():
    records = make_records(np.arange(50)[:, None], (numeric("a", 50),))
    domain = make_domain(records, (0,))
    truth = np.zeros(5000, dtype=np.int64)
    released = surrogate._draw_states(domain, truth, np.random.default_rng(10))
    assert (released != truth).all()
    # density over budgets 0..10 of exp(-e d / 2): 44% fall in the nearest fifth, 10% in the furthest
    near, far = (released <= 10).mean(), (released > 39).mean()
    assert 0.3 < near < 0.6
    assert 0.03 < far < 0.2


def test_many_groups_leave_the_quadratic_terms_out():
    rng = np.random.default_rng(11)
    records = make_records(rng.integers(0, 3, (100, 12)))
    domains = tuple(make_domain(records, (i,)) for i in range(12))
    task = fit_task("frequency", records)
    assert fit_surrogate(task, records, domains, rng=rng, pairs=200).quadratic is None
    assert fit_surrogate(task, records, domains, rng=rng, pairs=2000).quadratic is not None


def test_too_few_pairs_or_no_group_are_refused():
    records = some_records(0)
    task = fit_task("frequency", records)
    with pytest.raises(InputError, match="at least 10 pairs"):
        fit_surrogate(task, records, (make_domain(records, (0,)),), rng=np.random.default_rng(0), pairs=9)
    with pytest.raises(InputError, match="a group"):
        fit_surrogate(task, records, (), rng=np.random.default_rng(0))
