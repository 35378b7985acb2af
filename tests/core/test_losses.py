import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core import losses
from core.errors import InputError
from core.losses import compute_group_loss, estimate_group_loss, group_loss
from core.tasks import FrequencyTask, fit_task
from tests.core.synthetic import NAMES, factorised, make_domain, make_records, nominal, numeric, some_records


def slow_losses(task, records, domain):
    """Return c_k by looping over states, records and released states."""
    n = domain.size
    matrix = np.zeros((n, n))
    for x in range(n):
        owners = [i for i in range(len(records)) if domain.state_of[i] == x]
        if not owners:
            lenders = [z for z in range(n) if (domain.state_of == z).any()]
            least = min(domain.distance[x, z] for z in lenders)
            near = [z for z in lenders if domain.distance[x, z] == least]
            owners = [i for i in range(len(records)) if domain.state_of[i] in near]
        for y in range(n):
            found = []
            for i in owners:
                truth, released = records.codes[i].copy(), records.codes[i].copy()
                truth[list(domain.members)] = domain.states[x]
                released[list(domain.members)] = domain.states[y]
                found.append(task.loss(truth[None], released[None])[0])
            matrix[x, y] = np.mean(found)
    return matrix


@given(st.sampled_from(NAMES), st.integers(0, 10**6), st.sampled_from([(0,), (2,), (0, 1), (1, 3), (0, 1, 2, 3)]))
@settings(max_examples=40, deadline=None)
def test_exhaustive_losses_agree_with_loops(name, seed, members):
    records = some_records(seed, rows=15)
    task, domain = fit_task(name, records), make_domain(records, members)
    found = compute_group_loss(task, records, domain)
    np.testing.assert_allclose(found.matrix, slow_losses(task, records, domain), atol=1e-10)
    assert (found.matrix.diagonal() == 0).all()
    assert found.exhaustive
    assert found.standard_error is None
    assert found.borrowed == 0


@pytest.mark.parametrize("name", ["crowdsourcing", "entropy"])
def test_a_state_without_records_borrows_the_nearest_contexts(name):
    codes = [[0, 0, 1], [0, 1, 1], [4, 1, 0], [4, 0, 0], [4, 1, 1]]
    attributes = (numeric("a", 5), nominal("b", 2), nominal("c", 2))
    records = make_records(codes, attributes, target=[1.0, 5.0, 2.0, 8.0, 3.0])
    # level 1 is nearest to 0; level 2 is as near to 0 as to 4 and borrows from both
    domain = make_domain(records, (0,), states=[[0], [1], [2], [4]])
    task = fit_task(name, records)
    found = compute_group_loss(task, records, domain)
    assert found.borrowed == 2
    np.testing.assert_allclose(found.matrix, slow_losses(task, records, domain), atol=1e-12)
    sampled = estimate_group_loss(task, records, domain, contexts=100, rng=np.random.default_rng(0))
    assert sampled.borrowed == 2
    np.testing.assert_allclose(sampled.matrix, found.matrix, atol=1e-12)


def test_additive_losses_need_no_context_and_no_record():
    records = make_records([[0, 0], [1, 1]], (nominal("a", 3), nominal("b", 2)))
    domain = make_domain(records, (0, 1), states=[[0, 0], [0, 1], [1, 1], [2, 0]])
    found = compute_group_loss(fit_task("frequency", records), records, domain)
    assert found.matrix.tolist() == [[0, 2, 4, 2], [2, 0, 2, 4], [4, 2, 0, 4], [2, 4, 4, 0]]
    assert (found.borrowed, found.contexts) == (0, 0)


def test_additive_losses_equal_the_average_over_contexts():
    class Opaque(FrequencyTask):
        attribute_losses = None

        def context(self, members):
            return tuple(i for i in range(len(self.sizes)) if i not in members)

    records = some_records(1)
    domain = make_domain(records, (0, 2))
    direct = compute_group_loss(FrequencyTask.fit(records), records, domain)
    averaged = compute_group_loss(Opaque.fit(records), records, domain)
    assert averaged.contexts > domain.size
    np.testing.assert_allclose(direct.matrix, averaged.matrix, atol=1e-12)


def test_equal_contexts_are_visited_once():
    records = make_records(np.repeat([[0, 0, 1], [0, 1, 0], [1, 1, 1]], 50, axis=0), target=np.arange(150.0))
    task = fit_task("crowdsourcing", records)
    assert compute_group_loss(task, records, make_domain(records, (0,))).contexts == 3


@pytest.mark.parametrize("name", ["crowdsourcing", "entropy"])
def test_sampled_losses_agree_with_exhaustive_ones_within_their_errors(name):
    records = some_records(2, rows=900)
    task, domain = fit_task(name, records), make_domain(records, (1,))
    exact = compute_group_loss(task, records, domain).matrix
    sampled = estimate_group_loss(task, records, domain, contexts=80, rng=np.random.default_rng(3))
    assert not sampled.exhaustive
    error = np.abs(sampled.matrix - exact)
    # 6 cells; 6 standard errors of a mean of 80 are exceeded with less than 1e-6
    assert (error <= 6 * sampled.standard_error + 1e-12).all()
    assert 0 < sampled.standard_error.max() < 0.2 * exact.max()
    assert (sampled.standard_error.diagonal() == 0).all()


def test_standard_errors_are_those_of_repeated_draws():
    records = some_records(4, rows=300)
    task, domain = fit_task("crowdsourcing", records), make_domain(records, (2,))
    rng = np.random.default_rng(5)
    runs = [estimate_group_loss(task, records, domain, contexts=40, rng=rng) for _ in range(300)]
    spread = np.std([r.matrix for r in runs], axis=0)
    claimed = np.sqrt(np.mean([r.standard_error**2 for r in runs], axis=0))
    # a standard deviation of 300 draws errs by 4%, so 30% is seven of these
    np.testing.assert_allclose(spread, claimed, rtol=0.3, atol=1e-9)


def test_enough_contexts_leave_no_error_and_one_leaves_it_unknown():
    records = some_records(6)
    task, domain = fit_task("entropy", records), make_domain(records, (0,))
    exact = compute_group_loss(task, records, domain).matrix
    every = estimate_group_loss(task, records, domain, contexts=10_000, rng=np.random.default_rng(0))
    np.testing.assert_allclose(every.matrix, exact, atol=1e-12)
    assert (every.standard_error == 0).all()
    single = estimate_group_loss(task, records, domain, contexts=1, rng=np.random.default_rng(0))
    apart = ~np.eye(domain.size, dtype=bool)
    assert np.isinf(single.standard_error[apart]).all()


def test_losses_are_sampled_where_every_context_is_too_much(monkeypatch):
    records = some_records(7, rows=200)
    task, domain = fit_task("entropy", records), make_domain(records, (1,))

    def run():
        return group_loss(task, records, domain, contexts=30, rng=np.random.default_rng(1))

    assert run().exhaustive
    monkeypatch.setattr(losses, "EXHAUSTIVE_CELLS", 10)
    bounded = run()
    assert not bounded.exhaustive
    assert bounded.contexts == 2 * domain.size  # at least two per state
    monkeypatch.setattr(losses, "EXHAUSTIVE_CELLS", 400)
    monkeypatch.setattr(losses, "_collect", lambda *_: type("Many", (), {"codes": np.zeros((10**6, 4))})())
    assert run().contexts == domain.size * min(30, 400 // (4 * domain.size**2))


def test_chunks_change_nothing(monkeypatch):
    records = some_records(8)
    task, domain = fit_task("crowdsourcing", records), make_domain(records, (0, 1))
    expected = compute_group_loss(task, records, domain).matrix
    monkeypatch.setattr(losses, "CHUNK_CELLS", 1)
    np.testing.assert_allclose(compute_group_loss(task, records, domain).matrix, expected, atol=1e-12)


def test_contexts_out_of_range_and_unlisted_states_are_refused():
    records = some_records(9)
    task, domain = fit_task("entropy", records), make_domain(records, (0,))
    with pytest.raises(InputError, match="number of sampled contexts"):
        estimate_group_loss(task, records, domain, contexts=0, rng=np.random.default_rng(0))
    hidden = factorised(records, (0, 1))
    for run in (
        lambda: compute_group_loss(task, records, hidden),
        lambda: group_loss(task, records, hidden, contexts=5, rng=np.random.default_rng(0)),
    ):
        with pytest.raises(ValueError, match="not enumerated"):
            run()


def test_progress_is_told_and_may_stop():
    records = some_records(10)
    task, domain = fit_task("entropy", records), make_domain(records, (0, 1))
    heard = []
    compute_group_loss(task, records, domain, progress=lambda fraction, sentence: heard.append(fraction))
    assert len(heard) == domain.size
    assert heard == sorted(heard)

    class StoppedError(Exception):
        pass

    def stop(fraction, sentence):
        raise StoppedError

    with pytest.raises(StoppedError):
        group_loss(task, records, domain, contexts=5, rng=np.random.default_rng(0), progress=stop)
