"""Tiers of a record: degraded metric-DP channels on integers."""

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from core.certificate import certify
from core.errors import InputError
from core.mechanisms.optimal import solve_optimal_channel
from core.tiers.record import (
    STEP_TOTAL,
    draw_record,
    exact_certificate,
    record_coalition_epsilon,
    solve_record_tiers,
    solve_step,
)
from tests.core.test_sampling import SeededSource, assert_law

BUDGETS = (8.0, 4.0, 2.0, 1.0, 0.5)
LINE = np.abs(np.subtract.outer(np.arange(10), np.arange(10))) / 9
NOMINAL = 1 - np.eye(8)


def problem(distance, seed=0):
    return np.random.default_rng(seed).dirichlet(np.full(len(distance), 2.0)), distance**2


def tiers_of(distance, budgets=BUDGETS):
    prior, loss = problem(distance)
    first = solve_optimal_channel(distance, prior, loss, budgets[0])
    return solve_record_tiers(first.weights, distance, prior, loss, budgets), prior, loss


def brute_certificate(weights, distance):
    """Largest ln ratio over distance with fractions, in doubles at the very end."""
    best = 0.0
    for x, other in itertools.permutations(range(len(weights)), 2):
        ratio = max(Fraction(int(a), int(b)) for a, b in zip(weights[x], weights[other], strict=True) if a)
        best = max(best, math.log(ratio) / distance[x, other])
    return best


def test_the_measured_line():
    tiers, _, _ = tiers_of(LINE)
    expected = [0.01927, 0.05422, 0.08962, 0.10552, 0.11203]
    assert tiers.losses == pytest.approx(expected, abs=6e-6)


@pytest.mark.parametrize("distance", [LINE, NOMINAL], ids=["line", "nominal"])
def test_tiers_are_certified_ordered_and_near_their_optimum(distance):
    tiers, prior, loss = tiers_of(distance)
    for tier, epsilon in enumerate(BUDGETS):
        weights = tiers.channel(tier)
        assert tiers.certified_epsilons[tier] <= epsilon
        assert brute_certificate(weights, distance) == pytest.approx(tiers.certified_epsilons[tier], rel=1e-9)
        assert len({int(total) for total in weights.sum(axis=1)}) == 1
        best = solve_optimal_channel(distance, prior, loss, epsilon).expected_loss
        assert best * (1 - 1e-6) <= tiers.losses[tier] <= 1.065 * best
        assert tiers.losses[tier] == pytest.approx(np.sum(prior[:, None] * loss * tiers.matrix(tier)), rel=1e-9)
    assert list(tiers.losses) == sorted(tiers.losses)
    assert all(sum(row) == STEP_TOTAL for step in tiers.steps for row in step)


def test_one_unit_more_breaks_a_tight_certificate():
    distance = np.array([[0.0, 1.0], [1.0, 0.0]])
    assert exact_certificate(np.array([[3, 1], [1, 3]], object), distance) == pytest.approx(math.log(3), rel=1e-15)
    big = 10**40
    even = exact_certificate(np.array([[2 * big, big], [big, 2 * big]], object), distance)
    more = exact_certificate(np.array([[2 * big + 1, big - 1], [big, 2 * big]], object), distance)
    assert even >= math.log(2) - 1e-16
    assert more >= even
    assert exact_certificate(np.array([[1, 0], [1, 0]], object), distance) == 0
    assert exact_certificate(np.array([[1, 1], [2, 0]], object), distance) == math.inf
    weights = np.random.default_rng(1).integers(1, 1 << 40, (6, 6))
    metric = np.abs(np.subtract.outer(np.arange(6), np.arange(6))) / 5
    assert exact_certificate(weights.astype(object), metric) == pytest.approx(certify(weights, metric), rel=1e-15)


def test_a_coalition_learns_what_its_best_member_knows():
    tiers, _, _ = tiers_of(NOMINAL, (4.0, 2.0, 0.5))
    for members in ([0], [1], [2], [0, 1], [0, 2], [1, 2], [0, 1, 2]):
        assert record_coalition_epsilon(tiers, members) == pytest.approx(
            tiers.certified_epsilons[members[0]], rel=1e-12
        )


def test_a_step_is_the_best_post_processing():
    distance = np.array([[0.0, 1.0], [1.0, 0.0]])
    keep = math.exp(2.0) / (1 + math.exp(2.0))
    channel = np.array([[keep, 1 - keep], [1 - keep, keep]])
    step = solve_step(channel, distance, 0.5 * (1 - np.eye(2)), 1.0)
    wanted = math.exp(1.0) / (1 + math.exp(1.0))
    # symmetric flipping with probability f: keep (1-f) + (1-keep) f = wanted
    flip = (keep - wanted) / (2 * keep - 1)
    np.testing.assert_allclose(step, [[1 - flip, flip], [flip, 1 - flip]], atol=1e-7)


def test_drawn_records_follow_the_joint_law():
    distance = NOMINAL[:3, :3]
    tiers, _, _ = tiers_of(distance, (2.0, 0.7))
    source = SeededSource(3)
    drawn = Counter(draw_record(tiers, 1, source) for _ in range(4000))
    law = tiers.matrix(0)[1][:, None] * np.array(tiers.steps[0] / STEP_TOTAL, float)
    assert_law(drawn, {(a, b): law[a, b] for a in range(3) for b in range(3) if law[a, b] * 4000 > 6})


def test_progress_is_called_and_may_stop():
    prior, loss = problem(NOMINAL)
    first = solve_optimal_channel(NOMINAL, prior, loss, 2.0).weights
    seen = []
    solve_record_tiers(first, NOMINAL, prior, loss, (2.0, 1.0), progress=lambda share, text: seen.append(share))
    assert seen == [0.0, 1.0]

    def stop(share, text):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        solve_record_tiers(first, NOMINAL, prior, loss, (2.0, 1.0), progress=stop)


def test_what_is_refused():
    prior, loss = problem(NOMINAL)
    first = solve_optimal_channel(NOMINAL, prior, loss, 2.0).weights
    cases = [
        (lambda: solve_record_tiers(first, NOMINAL, prior, loss, (1.0, 0.5)), "not the largest budget 1"),
        (lambda: solve_record_tiers(first / 2.5, NOMINAL, prior, loss, (2.0,)), "whole numbers"),
        (lambda: solve_record_tiers(np.eye(8, dtype=int) + 1, NOMINAL * np.inf, prior, loss, (2.0,)), "distances"),
        (lambda: solve_record_tiers([[1, 2], [1, 1]], NOMINAL[:2, :2], prior[:2], loss[:2, :2], (2.0,)), "one sum"),
        (lambda: solve_record_tiers(first, NOMINAL, prior[:3], loss, (2.0,)), "prior and the loss"),
        (lambda: solve_record_tiers(first, NOMINAL, prior, loss[:, :3], (2.0,)), "one column per output"),
        (lambda: solve_record_tiers([[1]], [[0.0]], [1.0], [[0.0]], (2.0,)), "number of states"),
    ]
    with np.errstate(invalid="ignore"):
        for call, sentence in cases:
            with pytest.raises(InputError, match=sentence):
                call()
    tiers = solve_record_tiers(first, NOMINAL, prior, loss, (2.0, 1.0))
    with pytest.raises(InputError, match="name tiers from 0 to 1"):
        record_coalition_epsilon(tiers, [2])
    with pytest.raises(InputError, match="from 0 to 7"):
        draw_record(tiers, 8)
