import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression

from core.adequacy import adequacy_score, choose, compute_sensitivity, fit_mse, fit_radial
from core.domain import build_group_domain, build_records
from core.errors import InputError
from core.losses import group_loss
from core.table import load_sample, sample_scenario
from core.tasks import fit_task
from tests.core.synthetic import make_domain, make_records, numeric, random_pair

# ---- the two fits ----


def test_radial_fit_by_hand():
    # means 0, 4, 2 at distances 0, 1, 2 with weights 2, 2, 2: the last two are pooled to 3
    distance = np.array([0.0, 0.0, 1.0, 1.0, 2.0, 2.0])
    loss = np.array([0.0, 0.0, 3.0, 5.0, 1.0, 3.0])
    found = fit_radial(distance, loss)
    assert found.distance.tolist() == [0, 1, 2]
    assert found.fitted.tolist() == [0, 3, 3]
    assert found.score == pytest.approx(1 - np.sqrt(8 / 6) / np.std(loss), abs=1e-11)


def test_mse_fit_by_hand():
    # regression of 0, 3, 3 on d^2 = 0, 1, 4: slope 33/54 * ... = cov 2.5 * ... written out
    distance, loss = np.array([0.0, 1.0, 2.0]), np.array([0.0, 3.0, 3.0])
    square = distance**2
    slope = ((square - 5 / 3) * (loss - 2)).sum() / ((square - 5 / 3) ** 2).sum()
    found = fit_mse(distance, loss)
    assert found.slope == pytest.approx(slope)
    assert found.intercept == pytest.approx(2 - slope * 5 / 3)
    residual = loss - slope * square - found.intercept
    assert found.score == pytest.approx(1 - np.sqrt((residual**2).mean()) / loss.std(), abs=1e-11)


def test_a_falling_loss_gets_slope_and_score_zero():
    found = fit_mse(np.array([0.0, 1.0, 2.0]), np.array([2.0, 1.0, 0.0]))
    assert (found.slope, found.intercept) == (0.0, 1.0)
    assert found.score == pytest.approx(0.0, abs=1e-9)


@given(st.integers(0, 10**6))
@settings(max_examples=100, deadline=None)
def test_isotonic_fit_agrees_with_an_independent_one(seed):
    distance, loss = random_pair(seed)
    rounded = np.round(distance, 12).ravel()
    levels = np.unique(rounded)
    means = np.array([loss.ravel()[rounded == v].mean() for v in levels])
    weights = np.array([(rounded == v).sum() for v in levels])
    expected = IsotonicRegression().fit(levels, means, sample_weight=weights).predict(levels)
    found = fit_radial(distance, loss)
    assert found.distance.tolist() == levels.tolist()
    np.testing.assert_allclose(found.fitted, expected, atol=1e-9)


@given(st.integers(0, 10**6))
@settings(max_examples=200, deadline=None)
def test_the_radial_score_is_never_below_the_mse_score(seed):
    distance, loss = random_pair(seed)
    radial, mse = fit_radial(distance, loss).score, fit_mse(distance, loss).score
    assert radial >= mse - 1e-9
    assert mse >= -1e-9
    assert radial <= 1.0
    assert adequacy_score("radial", distance, loss) == radial
    assert adequacy_score("mse", distance, loss) == mse


@given(st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_scores_do_not_depend_on_the_order_of_pairs_or_the_last_bits_of_the_distance(seed):
    distance, loss = random_pair(seed)
    rng = np.random.default_rng(seed)
    order = rng.permutation(distance.size)
    shaken = distance.ravel()[order] * (1 + rng.uniform(-1, 1, distance.size) * 1e-15)
    for kind in ("radial", "mse"):
        score = adequacy_score(kind, distance, loss)
        assert adequacy_score(kind, shaken, loss.ravel()[order]) == pytest.approx(score, abs=1e-9)


def test_a_monotone_function_of_distance_scores_one():
    distance, _ = random_pair(3, n=6)
    assert fit_radial(distance, np.sqrt(distance)).score == pytest.approx(1.0, abs=1e-9)
    assert fit_mse(distance, 3 * distance**2).score == pytest.approx(1.0, abs=1e-9)
    assert fit_mse(distance, np.sqrt(distance)).score < 0.9


@pytest.mark.parametrize("value", [0.0, 7.3, 1e9])
def test_a_constant_loss_scores_one(value):
    distance, _ = random_pair(4, n=5)
    for kind in ("radial", "mse"):
        assert adequacy_score(kind, distance, np.full_like(distance, value)) == 1.0


def test_one_state_scores_one():
    assert fit_radial(np.zeros((1, 1)), np.zeros((1, 1))).score == 1.0
    assert fit_mse(np.zeros((1, 1)), np.zeros((1, 1))).score == 1.0


def test_an_unknown_score_and_broken_pairs_are_refused():
    with pytest.raises(InputError, match="radial, mse"):
        adequacy_score("best", np.zeros(2), np.zeros(2))
    for distance, loss in (([], []), ([0.0], [0.0, 1.0]), ([0.0], [np.nan])):
        with pytest.raises(InputError, match="finite"):
            fit_radial(np.array(distance), np.array(loss))


# ---- selection and sensitivity ----


def test_choice_needs_both_a_small_domain_and_a_low_score():
    assert choose([300, 301, 300, 2], [0.2, 0.2, 0.21, -0.5], tau_dim=300, tau_dpn=0.2) == ("OPT", "DPN", "DPN", "OPT")
    assert choose([5], [float("nan")], tau_dim=300, tau_dpn=0.2) == ("DPN",)
    assert choose([], [], tau_dim=300, tau_dpn=0.2) == ()


@pytest.mark.parametrize("bad", [{"tau_dim": 0, "tau_dpn": 0.2}, {"tau_dim": 300, "tau_dpn": 1.5}])
def test_choice_refuses_thresholds_out_of_range(bad):
    with pytest.raises(InputError):
        choose([5], [0.1], **bad)


@given(st.integers(0, 10**6), st.floats(0, 1))
@settings(max_examples=60, deadline=None)
def test_the_radial_choice_optimises_within_the_mse_choice(seed, tau):
    pairs = [random_pair(seed + k) for k in range(4)]
    radial = choose([5] * 4, [fit_radial(*p).score for p in pairs], tau_dim=300, tau_dpn=tau)
    mse = choose([5] * 4, [fit_mse(*p).score - 1e-9 for p in pairs], tau_dim=300, tau_dpn=tau)
    assert all(m == "OPT" for r, m in zip(radial, mse, strict=True) if r == "OPT")


def test_sensitivity_is_the_loss_per_distance_of_different_states():
    distance = np.array([[0.0, 0.5, 0.0], [0.5, 0.0, 1.0], [0.0, 1.0, 0.0]])
    loss = np.array([[0.0, 1.0, 9.0], [2.0, 0.0, 3.0], [9.0, 4.0, 0.0]])
    assert compute_sensitivity(distance, loss).tolist() == [2.0, 4.0, 3.0, 4.0]
    assert compute_sensitivity(np.zeros((1, 1)), np.zeros((1, 1))).size == 0


# ---- the bundled tables ----


def test_frequency_on_adult_is_radial_for_every_group():
    records = build_records(load_sample("adult"), sample_scenario("adult"))
    task = fit_task("frequency", records)
    for members in ((0, 5, 7, 9, 14), (8, 13), (2,), (10,)):
        domain = build_group_domain(records, members, p=2.0)
        loss = group_loss(task, records, domain, contexts=100, rng=np.random.default_rng(0)).matrix
        assert fit_radial(domain.distance, loss).score == pytest.approx(1.0, abs=0.0005)


def test_the_mean_task_is_exactly_radial_where_it_says_so():
    grid = np.stack(np.meshgrid(np.arange(4), np.arange(5), indexing="ij"), axis=-1).reshape(-1, 2)
    records = make_records(grid, (numeric("a", 4), numeric("b", 5)))
    task, domain = fit_task("mean", records), make_domain(records, (0, 1))
    assert task.is_radial(2.0)
    loss = group_loss(task, records, domain, contexts=10, rng=np.random.default_rng(0)).matrix
    assert fit_mse(domain.distance, loss).score == pytest.approx(1.0, abs=1e-9)
    other = make_domain(records, (0, 1), p=1.0)
    assert fit_radial(other.distance, loss).score < 0.95
