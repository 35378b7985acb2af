"""The best release that ignores the record."""

import numpy as np

from core.mechanisms.constant import constant_mechanism, zero_information_loss


def test_the_best_constant_and_its_loss_by_hand():
    prior = np.array([0.5, 0.25, 0.25])
    loss = np.array([[0.0, 1.0, 4.0], [1.0, 0.0, 1.0], [4.0, 1.0, 0.0]])
    # Costs: 0.25 + 1 = 1.25; 0.5 + 0.25 = 0.75; 2 + 0.25 = 2.25.
    assert zero_information_loss(prior, loss) == 0.75
    assert (constant_mechanism(prior, loss) == [[0, 1, 0]] * 3).all()


def test_ties_take_the_lowest_output():
    assert (constant_mechanism(np.full(2, 0.5), 1.0 - np.eye(2)) == [[1, 0]] * 2).all()
