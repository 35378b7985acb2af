"""Estimates from released data: inverses by hand, unbiasedness in exact expectation, coverage, refusals."""

import numpy as np
import pytest

from core.errors import InputError
from core.estimation import estimate_marginal, estimate_unbiased, iterate_bayes

Z = 4.892
"""Two-sided normal point of a false alarm of 1e-6."""


def response(size, keep):
    return np.full((size, size), (1 - keep) / (size - 1)) + np.eye(size) * (keep - (1 - keep) / (size - 1))


def drawn_from(matrix, shares, count, rng):
    states = rng.choice(len(shares), size=count, p=shares)
    return np.array([rng.choice(matrix.shape[1], p=matrix[x]) for x in states])


def test_the_unbiased_estimate_is_the_inverse_by_hand():
    # Truth kept with 3/4: released shares (0.6, 0.4) come from p with p/4 + ... : (0.6 - 0.25) / 0.5 = 0.7.
    matrix = np.array([[0.75, 0.25], [0.25, 0.75]])
    estimate, error = estimate_unbiased(matrix, np.array([60.0, 40.0]), np.eye(2))
    assert estimate == pytest.approx([0.7, 0.3])
    assert error == pytest.approx(np.sqrt(0.24 / 99) / 0.5 * np.ones(2))


def test_its_expectation_is_the_truth_for_every_truth():
    rng = np.random.default_rng(1)
    matrix = rng.dirichlet(np.ones(6), size=6)
    member = (np.array([0, 0, 1, 1, 2, 2])[:, None] == np.arange(3)).astype(float)
    for shares in rng.dirichlet(np.ones(6), size=5):
        estimate, _ = estimate_unbiased(matrix, shares @ matrix * 1e6, member)
        assert estimate == pytest.approx(shares @ member, abs=1e-9)


def test_levels_that_a_channel_cannot_tell_have_no_unbiased_estimate():
    # States 0 and 1 have equal rows: only their sum is told.
    matrix = np.array([[0.8, 0.2, 0.0], [0.8, 0.2, 0.0], [0.1, 0.3, 0.6]])
    estimate, error = estimate_unbiased(matrix, np.array([50.0, 30.0, 20.0]), np.eye(3))
    assert np.isnan(estimate[:2]).all()
    assert np.isnan(error[:2]).all()
    # Half the records in state 2 and half in the other two release 0.45, 0.25, 0.30.
    pairs = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    joint, _ = estimate_unbiased(matrix, np.array([45.0, 25.0, 30.0]), pairs)
    assert joint == pytest.approx([0.5, 0.5])


def test_iterative_bayes_reaches_the_likelihood_s_maximum():
    # Inside the simplex the most likely shares are the inverse; outside they stop at the edge.
    matrix = response(3, 0.7)
    inside = np.array([0.5, 0.3, 0.2]) @ matrix * 1000
    assert iterate_bayes(matrix, inside) == pytest.approx([0.5, 0.3, 0.2], abs=1e-4)
    outside = np.array([0.9, 0.06, 0.04]) * 1000
    shares = iterate_bayes(matrix, outside)
    assert shares.sum() == pytest.approx(1.0)
    assert shares.min() >= 0
    assert shares[0] > 0.99
    both = iterate_bayes(matrix, np.stack([inside, outside], axis=1))
    assert both == pytest.approx(np.stack([iterate_bayes(matrix, inside), shares], axis=1), abs=1e-3)


def test_estimates_lie_within_their_errors_and_the_raw_histogram_does_not():
    rng = np.random.default_rng(2)
    matrix, shares = response(5, 0.5), np.array([0.6, 0.2, 0.1, 0.05, 0.05])
    result = estimate_marginal(
        matrix, drawn_from(matrix, shares, 8000, rng), np.arange(5), rng=np.random.default_rng(3)
    )
    assert (np.abs(result.unbiased - shares) < Z * result.unbiased_error).all()
    assert (np.abs(result.bayes - shares) < Z * result.bayes_error + 0.01).all()
    assert abs(result.raw[0] - shares[0]) > Z * result.raw_error[0]
    assert result.records == 8000
    assert result.identified.all()
    assert 0.5 < result.bayes_error[0] / result.unbiased_error[0] < 2


def test_the_stated_error_is_the_spread_over_releases():
    rng = np.random.default_rng(4)
    matrix, shares = response(3, 0.6), np.array([0.5, 0.3, 0.2])
    found = np.array(
        [estimate_unbiased(matrix, rng.multinomial(500, shares @ matrix), np.eye(3))[0] for _ in range(2000)]
    )
    _, error = estimate_unbiased(matrix, 500 * (shares @ matrix), np.eye(3))
    # The spread of 2,000 releases is known to 1/sqrt(4000) = 1.6 %, at 1e-6 to 7.7 %.
    assert found.std(axis=0) == pytest.approx(error, rel=0.08)
    assert found.mean(axis=0) == pytest.approx(shares, abs=Z * error.max() / np.sqrt(2000))


def test_progress_is_told_and_may_stop():
    told = []
    estimate_marginal(
        response(3, 0.6), [0, 1, 2], [0, 1, 2], rng=np.random.default_rng(0), progress=lambda f, _: told.append(f)
    )
    assert told == [0.0, 0.2, 0.4, 0.6, 0.8]


@pytest.mark.parametrize(("outputs", "levels"), [([], [0, 1]), ([0], [0, 1, 2]), ([[0]], [0, 1])])
def test_nothing_to_estimate_from_is_refused(outputs, levels):
    with pytest.raises(InputError, match="at least one released record"):
        estimate_marginal(response(2, 0.7), np.array(outputs, dtype=int), levels, rng=np.random.default_rng(0))
