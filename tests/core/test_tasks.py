import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.contextual_tasks import CrowdsourcingTask, EntropyTask
from core.domain import build_records
from core.errors import InputError
from core.scenario import CHOICES
from core.table import load_sample, sample_scenario
from core.tasks import TASK_TITLES, TASKS, check_informative, compute_informativeness, fit_task
from tests.core.synthetic import NAMES, make_records, nominal, numeric, some_records


def random_codes(records, rows, rng):
    return rng.integers(0, records.sizes, (rows, len(records.sizes)))


# ---- every task ----


def test_the_registry_serves_every_word_of_the_scenario():
    assert tuple(TASKS) == tuple(TASK_TITLES) == CHOICES["task"] == (*NAMES, "prediction")
    for name in NAMES:
        task = fit_task(name, some_records(0))
        assert (task.name, task.title) == (name, TASK_TITLES[name])
        assert task.statement.endswith(".")
        assert task.unit and task.end_unit
    assert [fit_task(n, some_records(0)).tau_dpn for n in NAMES] == [0.3, 0.1, 0.2, 0.2]


def test_an_unknown_task_and_an_empty_table_are_refused():
    with pytest.raises(InputError, match="frequency, crowdsourcing, entropy, mean"):
        fit_task("median", some_records(0))
    with pytest.raises(InputError, match="at least one record"):
        fit_task("frequency", make_records(np.zeros((0, 1)), (nominal("a", 2),)))


@given(st.sampled_from(NAMES), st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_losses_are_symmetric_nonnegative_and_zero_for_equal_records(name, seed):
    records, rng = some_records(seed), np.random.default_rng(seed)
    task = fit_task(name, records)
    x, y = random_codes(records, 30, rng), random_codes(records, 30, rng)
    assert (task.loss(x, y) >= 0).all()
    np.testing.assert_allclose(task.loss(x, y), task.loss(y, x), atol=1e-12)
    assert (task.loss(x, x) == 0).all()
    single = np.concatenate([task.loss(x[i : i + 1], y[i : i + 1]) for i in range(30)])
    np.testing.assert_allclose(task.loss(x, y), single, atol=1e-12)  # row by row


@given(st.sampled_from(NAMES), st.integers(0, 10**6), st.sets(st.integers(0, 3), min_size=1, max_size=3))
@settings(max_examples=80, deadline=None)
def test_only_the_context_enters_the_loss_of_changing_a_group(name, seed, members):
    records, rng = some_records(seed), np.random.default_rng(seed)
    task, columns = fit_task(name, records), sorted(members)
    x, z = random_codes(records, 30, rng), random_codes(records, 30, rng)
    kept = list(task.context(tuple(columns)))
    assert not set(kept) & members
    z[:, kept + columns] = x[:, kept + columns]  # z differs from x where it must not matter
    y, w = x.copy(), z.copy()
    y[:, columns] = w[:, columns] = random_codes(records, 30, rng)[:, columns]
    np.testing.assert_allclose(task.loss(x, y), task.loss(z, w), atol=1e-12)


@given(st.sampled_from(("frequency", "mean")), st.integers(0, 10**6))
@settings(max_examples=30, deadline=None)
def test_additive_losses_are_the_sum_of_their_attributes(name, seed):
    records, rng = some_records(seed), np.random.default_rng(seed)
    task = fit_task(name, records)
    x, y = random_codes(records, 30, rng), random_codes(records, 30, rng)
    parts = sum(table[x[:, i], y[:, i]] for i, table in enumerate(task.attribute_losses))
    assert task.context_free
    np.testing.assert_allclose(task.loss(x, y), parts, atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_the_end_task_error_is_zero_for_the_table_itself_and_positive_otherwise(name):
    records = some_records(3)
    task = fit_task(name, records)
    released = random_codes(records, len(records), np.random.default_rng(4))
    assert task.end_task(records.codes, records.codes) == 0.0
    error = task.end_task(records.codes, released)
    assert error > 0
    assert error == pytest.approx(sum(task.end_task_parts(records.codes, released).values()))


# ---- frequency ----


def test_frequency_counts_changed_attributes_twice():
    task = fit_task("frequency", make_records([[0, 1, 2], [1, 0, 0]]))
    assert task.loss(np.array([[0, 1, 2], [0, 1, 2]]), np.array([[1, 1, 0], [0, 1, 2]])).tolist() == [4.0, 0.0]
    # histograms (1/2, 1/2) -> (1, 0), (1/2, 1/2) -> (1/2, 1/2), (1/2, 0, 1/2) -> (0, 1, 0)
    error = task.end_task(np.array([[0, 1, 2], [1, 0, 0]]), np.array([[0, 1, 1], [0, 0, 1]]))
    assert error == pytest.approx(1 + 0 + 2)


def test_frequency_on_adult_has_fifteen_attributes_and_loses_at_most_thirty():
    records = build_records(load_sample("adult"), sample_scenario("adult"))
    task = fit_task("frequency", records)
    x = np.zeros((1, 15), dtype=int)
    assert task.loss(x, x + 1).tolist() == [30.0]
    assert check_informative(task, records).zero_information == pytest.approx(11.06, abs=0.005)


# ---- crowdsourcing ----


def test_votes_rank_levels_by_the_mean_target():
    # means per level: 5, 1, 3 of the first attribute, a tie of the second
    records = make_records([[0, 0], [1, 1], [2, 0], [2, 1]], target=[5.0, 1.0, 2.0, 4.0])
    task = CrowdsourcingTask.fit(make_records(records.codes, target=[5.0, 1.0, 1.0, 5.0]))
    assert task.votes[0].tolist() == [4, 0, 2]
    assert task.votes[1].tolist() == [0, 4]  # means 3 and 3: the lower level votes lower


def test_the_plurality_wins_and_ties_go_to_the_lower_label():
    votes = tuple(np.arange(5) for _ in range(5))
    task = CrowdsourcingTask((5,) * 5, votes)
    codes = np.array([[3, 3, 0, 1, 2], [4, 4, 1, 1, 0], [0, 1, 2, 3, 4], [2, 2, 2, 4, 4]])
    assert task.labels(codes).tolist() == [3, 1, 0, 2]
    assert task.loss(codes[:1], codes[1:2]).tolist() == [50.0]
    assert task.end_task(codes[:2], codes[2:]) == pytest.approx((3 + 1) / 2)


def test_ties_among_many_levels_go_by_level():
    levels = np.arange(200)
    task = CrowdsourcingTask.fit(make_records(levels[:, None], target=1.0 + levels % 2))
    votes = task.votes[0]
    assert (np.diff(votes[::2]) >= 0).all()
    assert (np.diff(votes[1::2]) >= 0).all()
    assert votes[::2].max() <= votes[1::2].min()


def test_levels_never_seen_vote_like_the_average():
    attributes = (numeric("a", 3),)
    task = CrowdsourcingTask.fit(make_records([[0], [0], [2]], attributes, target=[1.0, 1.0, 7.0]))
    assert task.votes[0].tolist() == [0, 2, 4]


def test_crowdsourcing_needs_a_complete_target():
    for target in (None, [1.0, np.nan]):
        with pytest.raises(InputError, match="target column"):
            fit_task("crowdsourcing", make_records([[0], [1]], target=target))


def test_crowdsourcing_on_wine():
    records = build_records(load_sample("wine"), sample_scenario("wine"))
    task = fit_task("crowdsourcing", records)
    assert np.bincount(task.labels(records.codes)).tolist() == [1900, 1269, 1049, 1202, 1077]
    found = check_informative(task, records)
    counts = np.array([1900, 1269, 1049, 1202, 1077])
    exact = min(float(25 * np.abs(np.arange(5) - z) @ counts / 6497) for z in range(5))
    assert exact == pytest.approx(32.4, abs=0.05)
    assert found.zero_information == pytest.approx(exact, abs=1e-9)


# ---- entropy ----


def explicit_utility(task, row):
    marginal = [task.surprisals[i][v] for i, v in enumerate(row)]
    joint = sum(
        task.conditionals[i][row[p] if p >= 0 else 0, v] for i, (p, v) in enumerate(zip(task.parents, row, strict=True))
    )
    return np.array([*marginal, joint, sum(marginal) - joint])


def test_the_tree_is_a_probability_distribution():
    records = some_records(5)
    task = EntropyTask.fit(records)
    grid = np.array(list(itertools.product(*(range(m) for m in records.sizes))))
    joint = np.array([explicit_utility(task, row)[-2] for row in grid])
    assert (2.0**-joint).sum() == pytest.approx(1.0, abs=1e-12)
    assert task.parents[1] == 0  # the two attributes built to depend on each other


def test_surprisals_are_smoothed_by_one_half():
    task = EntropyTask.fit(make_records([[0, 0], [0, 0], [0, 1], [1, 1]]))
    assert task.surprisals[0] == pytest.approx(-np.log2([3.5 / 5, 1.5 / 5]))
    assert task.parents == (-1, 0)
    assert task.conditionals[1] == pytest.approx(-np.log2([[2.5 / 4, 1.5 / 4], [0.5 / 2, 1.5 / 2]]))


@given(st.integers(0, 10**6))
@settings(max_examples=30, deadline=None)
def test_entropy_loss_is_the_l1_distance_of_the_utilities(seed):
    records, rng = some_records(seed), np.random.default_rng(seed)
    task = EntropyTask.fit(records)
    x, y = random_codes(records, 20, rng), random_codes(records, 20, rng)
    slow = [np.abs(explicit_utility(task, a) - explicit_utility(task, b)).sum() for a, b in zip(x, y, strict=True)]
    np.testing.assert_allclose(task.loss(x, y), slow, atol=1e-10)


def test_independent_attributes_have_no_edge_and_no_total_correlation():
    a, b = np.meshgrid([0, 1], [0, 1, 2], indexing="ij")
    task = EntropyTask.fit(make_records(np.column_stack([a.ravel(), b.ravel()])))
    assert task.parents == (-1, -1)
    assert task.context((0,)) == ()
    parts = task.end_task_parts(np.array([[0, 0], [1, 2]]), np.array([[0, 0], [0, 1]]))
    # entropies 1 + 1 bits before, 0 + 1 after; no edge, so the joint entropy is the sum
    assert parts == pytest.approx({"marginal entropies": 1.0, "joint entropy": 1.0, "total correlation": 0.0})


def test_end_task_of_entropy_by_hand():
    task = EntropyTask.fit(make_records([[0, 0], [1, 1]]))
    parts = task.end_task_parts(np.array([[0, 0], [1, 1]]), np.array([[0, 0], [0, 1], [1, 0], [1, 1]]))
    # marginals stay at 1 bit; the pair goes from 1 bit shared to none
    assert parts == pytest.approx({"marginal entropies": 0.0, "joint entropy": 1.0, "total correlation": 1.0})


# ---- mean ----


def test_mean_loss_is_the_squared_distance_of_numeric_attributes():
    records = make_records([[0, 0, 1], [2, 4, 0]], (numeric("a", 3), numeric("b", 5), nominal("c", 2)))
    task = fit_task("mean", records)
    assert task.loss(np.array([[0, 0, 1]]), np.array([[1, 4, 0]])).tolist() == [0.25 + 1.0]
    assert task.end_task(records.codes, np.array([[0, 0, 0], [0, 2, 0]])) == pytest.approx(0.5 + 0.25)


def test_mean_says_when_it_is_radial():
    plain = fit_task("mean", make_records([[0, 0], [1, 1]], (numeric("a", 3), numeric("b", 3))))
    assert plain.is_radial(2.0)
    assert not plain.is_radial(1.0)
    for other in (nominal("b", 3), numeric("b", 3, weight=2.0), numeric("b", 3, missing=True)):
        assert not fit_task("mean", make_records([[0, 0], [1, 1]], (numeric("a", 3), other))).is_radial(2.0)


def test_mean_leaves_missing_values_out():
    records = make_records([[0], [3]], (numeric("a", 3, missing=True),))
    task = fit_task("mean", records)
    assert task.loss(np.array([[0]]), np.array([[3]])).tolist() == [1.0]
    assert task.end_task(np.array([[0], [2], [3]]), np.array([[2], [3], [3]])) == pytest.approx(0.5)
    assert task.end_task(np.array([[3]]), np.array([[3]])) == 0.0
    assert task.end_task(np.array([[3]]), np.array([[0]])) == 1.0


def test_mean_needs_a_numeric_attribute():
    with pytest.raises(InputError, match="numeric"):
        fit_task("mean", make_records([[0], [1]]))


# ---- uninformative tasks ----


def test_informativeness_of_additive_tasks_is_exact():
    records = make_records([[0, 0], [0, 1], [0, 2], [1, 2]])
    found = compute_informativeness(fit_task("frequency", records), records)
    assert found.exact
    assert found.zero_information == pytest.approx(2 * (1 / 4) + 2 * (2 / 4))
    assert found.uniform == pytest.approx(2 * (1 / 2) + 2 * (2 / 3))


def test_a_task_that_a_constant_serves_is_refused_with_its_figure():
    codes = np.zeros((1000, 2), dtype=int)
    codes[:20, 0] = 1
    codes[20:50, 1] = 1
    records = make_records(codes)
    with pytest.raises(InputError, match=r"loses 0\.1, only 5\.0% of a random record's 2") as caught:
        check_informative(fit_task("frequency", records), records)
    assert caught.value.field == "task"


def test_exactly_a_tenth_is_accepted_though_rounding_falls_below():
    codes = np.zeros((40, 1), dtype=int)
    codes[:3] = 1  # the constant loses 2 x 3/40, a uniform release 2 x 3/4
    records = make_records(codes, (nominal("a", 4),))
    found = check_informative(fit_task("frequency", records), records)
    assert found.share < 0.1
    assert found.share == pytest.approx(0.1)


def test_a_majority_that_never_moves_is_refused():
    rng = np.random.default_rng(0)
    codes = np.column_stack([np.zeros((400, 3), dtype=int), rng.integers(0, 2, 400)])
    codes[:3, :3] = 1
    records = make_records(codes, target=codes[:, 0] + rng.random(400))
    with pytest.raises(InputError, match="says too little"):
        check_informative(fit_task("crowdsourcing", records), records)
