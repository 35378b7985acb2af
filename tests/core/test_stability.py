import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core import stability
from core.adequacy import adequacy_score, fit_radial
from core.errors import InputError
from core.stability import HeldOutScores, held_out_scores, summarise_held_out, why_radial
from tests.core.synthetic import random_pair

# ---- held-out scores ----


def test_held_out_scores_of_a_radial_loss_stay_at_one():
    distance, _ = random_pair(0, n=6)
    found = held_out_scores("mse", distance, 2 * distance**2, rng=np.random.default_rng(0))
    assert found.scores.shape == (20,)
    np.testing.assert_allclose(found.scores, 1.0, atol=1e-6)
    assert found.mean_absolute_error == pytest.approx(0.0, abs=1e-6)
    assert found.agreement(0.2) == 1.0


def test_held_out_scores_of_noise_are_lower_than_fitted_ones():
    rng = np.random.default_rng(1)
    points = rng.random((25, 2))
    distance = np.sqrt(((points[:, None] - points) ** 2).sum(axis=2))
    loss = rng.random((25, 25))
    for kind in ("radial", "mse"):
        found = held_out_scores(kind, distance, loss, rng=np.random.default_rng(2))
        assert found.original == adequacy_score(kind, distance, loss)
        assert found.mean < found.original
        assert found.mean_absolute_error == pytest.approx(np.abs(found.scores - found.original).mean())


def test_a_score_is_that_of_the_validation_pairs_alone(monkeypatch):
    distance, loss = random_pair(5, n=6)
    splits = []
    real = stability._split

    def spy(strata, rng):
        splits.append(real(strata, rng))
        return splits[-1]

    monkeypatch.setattr(stability, "_split", spy)
    found = held_out_scores("mse", distance, loss, rng=np.random.default_rng(3), splits=2)
    fitted = splits[1][stability._units(distance)]
    square, c = np.round(distance.ravel(), 12) ** 2, loss.ravel()
    slope, intercept = np.polyfit(square[fitted], c[fitted], 1)
    residual = c[~fitted] - slope * square[~fitted] - intercept
    assert slope > 0
    assert found.scores[1] == pytest.approx(1 - np.sqrt((residual**2).mean()) / c[~fitted].std(), abs=1e-9)


@given(st.integers(3, 9), st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_splits_keep_both_directions_together_and_every_range_on_both_sides(n, seed):
    distance, _ = random_pair(seed, n=n)
    unit = stability._units(distance).reshape(n, n)
    assert (unit == unit.T).all()
    assert len(np.unique(unit)) == n * (n + 1) // 2
    first = np.unique(unit, return_index=True)[1]
    strata = stability._strata(distance.ravel()[first])
    fitted = stability._split(strata, np.random.default_rng(seed))
    for stratum in np.unique(strata):
        inside = fitted[strata == stratum]
        assert abs(inside.sum() - 0.7 * len(inside)) <= 1
        if len(inside) >= 2:
            assert 0 < inside.sum() < len(inside)
    assert (strata[distance.ravel()[first] == 0] == 0).all()
    assert (strata[distance.ravel()[first] > 0] > 0).all()


def test_two_states_cannot_be_split():
    distance = np.array([[0.0, 1.0], [1.0, 0.0]])
    assert held_out_scores("radial", distance, distance, rng=np.random.default_rng(0)) is None
    assert held_out_scores("radial", np.zeros((1, 1)), np.zeros((1, 1)), rng=np.random.default_rng(0)) is None


def test_single_pairs_are_units_of_their_own():
    distance = np.linspace(0, 1, 200)
    found = held_out_scores("radial", distance, distance**2, rng=np.random.default_rng(4))
    assert found.scores.min() > 0.95
    assert found.original == pytest.approx(1.0)


def test_held_out_scores_repeat_and_can_be_stopped():
    distance, loss = random_pair(6, n=6)
    runs = [held_out_scores("radial", distance, loss, rng=np.random.default_rng(7)).scores for _ in range(2)]
    assert (runs[0] == runs[1]).all()

    class StoppedError(Exception):
        pass

    def stop(fraction, sentence):
        raise StoppedError

    with pytest.raises(StoppedError):
        held_out_scores("radial", distance, loss, rng=np.random.default_rng(7), progress=stop)
    with pytest.raises(InputError):
        held_out_scores("best", distance, loss, rng=np.random.default_rng(7))


def test_one_split_of_almost_equal_losses_does_not_decide_for_a_group():
    tiny = HeldOutScores("radial", 0.25, np.array([0.2, 0.3, 0.1, -22.0, 0.2]))
    assert tiny.median == pytest.approx(0.2)
    assert tiny.median_absolute_error == pytest.approx(0.05)
    assert tiny.spread == pytest.approx(0.05)
    found = summarise_held_out([tiny], tau_dpn=0.3)
    assert (found.held_out, found.absolute_error) == pytest.approx((0.2, 0.05))
    assert tiny.mean < -4


def test_summary_over_groups_by_hand():
    first = HeldOutScores("mse", 0.5, np.array([0.4, 0.6]))
    second = HeldOutScores("mse", 0.1, np.array([0.3, -0.1]))
    found = summarise_held_out([first, None, second], tau_dpn=0.2)
    assert (found.evaluated, found.groups) == (2, 3)
    assert found.original == pytest.approx(0.3)
    assert found.held_out == pytest.approx(0.3)
    assert found.absolute_error == pytest.approx((0.1 + 0.2) / 2)
    assert found.gap == pytest.approx(50.0)
    assert found.agreement == pytest.approx((1.0 + 0.5) / 2)
    assert np.isnan(summarise_held_out([None], tau_dpn=0.2).agreement)


# ---- why ----


def test_evidence_names_the_widest_spread_and_the_largest_fall():
    distance = np.array([[0.0, 1.0, 1.0], [1.0, 0.0, 2.0], [1.0, 2.0, 0.0]])
    loss = np.array([[0.0, 2.0, 6.0], [4.0, 0.0, 1.0], [4.0, 2.0, 0.0]])
    fit = fit_radial(distance, loss)
    found = why_radial(distance, loss, fit)
    assert (found.spread, found.distance) == (4.0, (1.0, 1.0))
    assert (found.low, found.high) == ((0, 1), (0, 2))
    assert (found.drop, found.drop_between) == (2.5, (1.0, 2.0))  # mean 4 at distance 1, 1.5 at 2
    # the fit pools to (4 * 4 + 2 * 1.5) / 6; explained = 1 - residual / total variance
    pooled = np.where(distance == 0, 0.0, 19 / 6)
    assert found.explained == pytest.approx(1 - ((loss - pooled) ** 2).mean() / loss.var())


def test_evidence_of_a_radial_loss():
    distance, _ = random_pair(8, n=6)
    found = why_radial(distance, distance**2, fit_radial(distance, distance**2))
    assert found.explained == pytest.approx(1.0)
    assert found.spread == pytest.approx(0.0, abs=1e-12)
    assert found.drop == 0.0
    constant = why_radial(distance, 0 * distance, fit_radial(distance, 0 * distance))
    assert (constant.explained, constant.spread, constant.drop) == (1.0, 0.0, 0.0)


def test_evidence_with_many_distances_looks_within_narrow_ranges():
    rng = np.random.default_rng(9)
    points = rng.random(80)
    distance = np.abs(points[:, None] - points)
    loss = distance.copy()
    loss[3, 7] += 5.0
    found = why_radial(distance, loss, fit_radial(distance, loss))
    assert found.high == (3, 7)
    assert found.spread == pytest.approx(5.0, abs=0.2)
    assert found.distance[0] <= distance[3, 7] <= found.distance[1]
    assert found.distance[1] - found.distance[0] < 0.2


def test_evidence_of_single_pairs_names_their_position():
    distance, loss = np.array([0.0, 1.0, 1.0]), np.array([0.0, 3.0, 1.0])
    found = why_radial(distance, loss, fit_radial(distance, loss))
    assert (found.low, found.high) == ((2,), (1,))
