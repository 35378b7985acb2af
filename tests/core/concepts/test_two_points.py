"""Two points: ratios by hand, the bound, and what keeps it."""

import dataclasses
import math

import numpy as np
import pytest

from core.concepts import Settings, compare_points


def test_geometric_noise_reaches_the_bound_and_never_passes_it() -> None:
    points = compare_points(Settings(point_epsilon=0.5, first_point=3, second_point=5))
    assert points.distance == 2
    assert points.bound == pytest.approx(math.e)
    # Outside the two points the ratio of geometric noise is e^(epsilon d) or its inverse; halfway it is 1.
    assert points.ratios[0] == pytest.approx(math.e)
    assert points.ratios[4] == pytest.approx(1.0)
    assert points.ratios[10] == pytest.approx(1 / math.e)
    assert points.keeps
    assert points.certified_epsilon <= 0.5
    assert points.law(3).sum() == pytest.approx(1.0)


def test_the_exponential_mechanism_leaves_budget_unused() -> None:
    points = compare_points(Settings(noise="EM", point_epsilon=0.5))
    assert points.keeps
    assert points.worst_ratio < 0.9 * points.bound
    assert points.pair_epsilon == pytest.approx(math.log(points.worst_ratio) / 2, rel=1e-9)


def test_the_window_keeps_no_budget_however_large() -> None:
    points = compare_points(Settings(noise="window", point_epsilon=3.0))
    assert points.certified_epsilon == math.inf
    assert points.worst_ratio == math.inf
    assert not points.keeps
    # By hand: from 3 it releases 2, 3, 4; from 5 it releases 4, 5, 6.
    assert np.flatnonzero(np.isinf(points.ratios)).tolist() == [2, 3]
    assert np.flatnonzero(points.ratios == 0).tolist() == [5, 6]
    assert points.ratios[4] == 1
    assert np.isnan(points.ratios[[0, 10]]).all()


@pytest.mark.parametrize("noise", ["line noise", "EM"])
def test_every_pair_keeps_its_own_bound(noise: str) -> None:
    for first, second in ((0, 10), (4, 5), (9, 2)):
        settings = dataclasses.replace(Settings(), noise=noise, first_point=first, second_point=second)
        points = compare_points(settings)
        assert points.worst_ratio <= points.bound * (1 + 1e-9)
