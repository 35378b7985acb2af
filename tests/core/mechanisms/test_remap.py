"""Bayesian remapping."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.mechanisms.constant import zero_information_loss
from core.mechanisms.remap import best_guesses, remap
from tests.reference import random_instance


@given(st.integers(0, 2**32))
@settings(max_examples=60, deadline=None)
def test_no_relabelling_of_outputs_is_better(seed):
    rng = np.random.default_rng(seed)
    _, prior, loss, _ = random_instance(rng, 4)
    n = len(prior)
    matrix = rng.dirichlet(np.ones(n), size=n)
    found = float((prior[:, None] * remap(matrix, prior, loss) * loss).sum())
    joint = prior[:, None] * matrix
    every = (
        sum(float(joint[:, y] @ loss[:, z]) for y, z in enumerate(targets))
        for targets in itertools.product(range(n), repeat=n)
    )
    assert found == pytest.approx(min(every), rel=1e-12, abs=1e-15)
    assert found <= float((joint * loss).sum()) + 1e-12
    assert found <= zero_information_loss(prior, loss) + 1e-12


def test_columns_are_added_and_rows_keep_their_sum():
    matrix = np.array([[0.5, 0.3, 0.2], [0.1, 0.6, 0.3]])
    loss = np.array([[0.0, 1.0], [1.0, 0.0]])
    # Posterior odds 5:1, 1:2 and 2:3, so the outputs become 0, 1, 1.
    assert best_guesses(matrix, np.full(2, 0.5), loss).tolist() == [0, 1, 1]
    assert remap(matrix, np.full(2, 0.5), loss) == pytest.approx(np.array([[0.5, 0.5], [0.1, 0.9]]))


def test_an_output_stays_itself_among_equals():
    loss = 1.0 - np.eye(3)
    assert best_guesses(np.full((3, 3), 1 / 3), np.full(3, 1 / 3), loss).tolist() == [0, 1, 2]
    # The prior never leads to output 2; it stays, and output 1 follows the posterior.
    matrix = np.array([[0.6, 0.4, 0.0], [0.6, 0.4, 0.0], [0.0, 0.0, 1.0]])
    assert best_guesses(matrix, np.array([0.7, 0.3, 0.0]), loss).tolist() == [0, 0, 2]
