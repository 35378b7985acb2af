"""Noise on a line, at any spacing."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.mechanisms.geometric import line_noise, line_order
from tests.reference import random_metric


def line(points: list[float] | np.ndarray) -> np.ndarray:
    return np.abs(np.subtract.outer(points, points))


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8), st.floats(1e-6, 50))
@settings(max_examples=200, deadline=None)
def test_it_is_exactly_private_and_stochastic_at_any_spacing(points, epsilon):
    distance = line(points)
    matrix = line_noise(distance, epsilon)
    assert matrix.sum(axis=1) == pytest.approx(np.ones(len(points)), rel=1e-12)
    for x in range(len(points)):
        bound = np.exp(epsilon * distance[x])[:, None] * matrix
        assert (matrix[x] <= bound * (1 + 1e-12) + 1e-300).all()


@given(st.lists(st.integers(0, 1000), min_size=2, max_size=6, unique=True), st.floats(0.01, 20))
@settings(max_examples=100, deadline=None)
def test_rows_sum_to_one_before_they_are_normalised(thousandths, epsilon):
    points = np.sort(thousandths) / 1000
    gaps = np.diff(points)
    halves = np.concatenate(([1.0], np.tanh(epsilon * gaps / 2), [1.0]))
    weights = (halves[1:] + halves[:-1]) / 2
    formula = weights * np.exp(-epsilon * line(points))
    assert formula.sum(axis=1) == pytest.approx(np.ones(len(points)), rel=1e-12)
    assert line_noise(line(points), epsilon) == pytest.approx(formula, rel=1e-12)


def test_equal_gaps_give_the_clamped_geometric_mechanism():
    alpha, n = math.exp(-0.7), 5
    expected = np.empty((n, n))
    for x in range(n):
        for y in range(n):
            end = y in (0, n - 1)
            expected[x, y] = alpha ** abs(x - y) * (1 if end else 1 - alpha) / (1 + alpha)
    assert line_noise(line(list(range(n))), 0.7) == pytest.approx(expected, rel=1e-12)


def test_it_dominates_laplace_noise_rounded_to_the_nearest_point():
    points, epsilon = np.array([0.0, 0.1, 0.5, 0.55, 1.0]), 3.0
    edges = np.concatenate(([-np.inf], (points[1:] + points[:-1]) / 2, [np.inf]))
    shifted = edges[None, :] - points[:, None]
    below = np.where(shifted < 0, np.exp(epsilon * shifted) / 2, 1 - np.exp(-epsilon * shifted) / 2)
    laplace = np.diff(below, axis=1)
    distance = line(points)
    ours = line_noise(distance, epsilon)
    assert ((ours * distance).sum(axis=1) < (laplace * distance).sum(axis=1)).all()


def test_the_order_of_a_line_is_found_whatever_the_order_of_its_states():
    points = [0.3, 0.0, 1.0, 0.3, 0.7]
    order = line_order(line(points))
    assert order is not None
    assert sorted(np.array(points)[order]) in (list(np.array(points)[order]), list(np.array(points)[order][::-1]))


def test_what_is_a_line():
    assert line_order(np.zeros((1, 1))) is not None
    assert line_order(1.0 - np.eye(2)) is not None
    assert line_order(np.zeros((3, 3))) is not None
    assert line_order(1.0 - np.eye(3)) is None
    missing = np.ones((4, 4))
    missing[:3, :3] = line([0.0, 0.5, 1.0])
    np.fill_diagonal(missing, 0.0)
    assert line_order(missing) is None
    assert line_order(random_metric(np.random.default_rng(0), "l2", 4)) is None
    with pytest.raises(ValueError, match="line"):
        line_noise(1.0 - np.eye(3), 1.0)
