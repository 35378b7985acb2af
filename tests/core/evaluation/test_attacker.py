"""The attacker's success against brute force in exact fractions."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.channel import TOTAL
from core.evaluation.attacker import attack, guessing_success
from core.evaluation.rows import Evaluation
from tests.core.evaluation.small_table import small_scenario, small_table


def brute_force(counts, weights, labels):
    total = int(sum(counts))
    prior, joint = {}, {}
    for x, label in enumerate(labels):
        prior[label] = prior.get(label, 0) + Fraction(int(counts[x]), total)
        for y, w in enumerate(weights[x].tolist()):
            joint[y, label] = joint.get((y, label), 0) + Fraction(int(counts[x]) * w, total * TOTAL)
    outputs = {y for y, _ in joint}
    return max(prior.values()), sum(max(v for (z, _), v in joint.items() if z == y) for y in outputs)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 5), m=st.integers(1, 4))
def test_success_is_that_of_exact_fractions(seed, n, m):
    rng = np.random.default_rng(seed)
    cuts = np.sort(rng.integers(0, TOTAL + 1, (n, m - 1)), axis=1)
    weights = np.diff(np.hstack([np.zeros((n, 1), np.int64), cuts, np.full((n, 1), TOTAL)]), axis=1)
    counts = rng.integers(0, 50, n)
    counts[0] += 1
    labels = rng.integers(0, 3, n)
    prior, posterior = brute_force(counts, weights, labels.tolist())
    found = guessing_success(counts, weights, labels)
    assert found == (float(prior), float(posterior))
    assert found[1] >= found[0]


def test_a_revealing_channel_tells_everything_and_a_constant_nothing():
    counts = np.array([2, 1, 1])
    revealing = np.diag([TOTAL] * 3).astype(np.int64)
    constant = np.zeros((3, 3), dtype=np.int64)
    constant[:, 1] = TOTAL
    assert guessing_success(counts, revealing) == (0.5, 1.0)
    assert guessing_success(counts, constant) == (0.5, 0.5)


@pytest.mark.parametrize("counts", [[0, 0], [-1, 2], [1 << 31, 1 << 31]])
def test_impossible_counts_are_refused(counts):
    with pytest.raises(ValueError, match="counts"):
        guessing_success(np.array(counts), np.full((2, 1), TOTAL))


def test_posterior_odds_stay_within_the_worst_factor():
    evaluation = Evaluation(small_table(), small_scenario(), repeats=1)
    found = attack(evaluation, ["ALC+RMP", "DepHDP tuned", "Bound-m", "zero information"], [1.0, 4.0])
    assert {*found["method"]} == {"ALC+RMP", "DepHDP tuned"}
    assert (found["posterior"] >= found["prior"] - 1e-12).all()
    assert (found["posterior"] <= found["prior"] * found["worst_factor"] * (1 + 1e-9)).all()
    assert found["worst_factor"].to_numpy() == pytest.approx(np.exp(found["log_factor"].to_numpy()))
    assert {"a", "b", "c", "d", "a + b"} <= {*found["guess"]}


def test_a_large_exponent_is_shown_as_infinite_and_kept_as_a_logarithm():
    evaluation = Evaluation(small_table(), small_scenario(), repeats=1)
    found = attack(evaluation, ["SPL+DPN"], [2.0])
    assert (found["log_factor"] <= found["certified_epsilon"] * found["diameter"] + 1e-12).all()
    assert math.isfinite(found["worst_factor"].max())
