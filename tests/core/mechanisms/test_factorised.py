"""The product mechanism of a group too large to enumerate."""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import chi2

from core.domain import Attribute
from core.errors import InputError
from core.mechanisms.factorised import factorised_mechanism, remap_factorised
from core.metric import group_distance

NOMINAL = Attribute("colour", 0, "nominal", ("a", "b", "c"), None, None, 1.0 - np.eye(3), weight=2.0)
ORDINAL = Attribute(
    "size", 1, "ordinal", ("s", "m", "l", "xl"), None, None, np.abs(np.subtract.outer(range(4), range(4))) / 3
)
PRIORS = (np.array([0.5, 0.3, 0.2]), np.array([0.1, 0.4, 0.4, 0.1]))


@pytest.mark.parametrize("p", [1.0, 2.0, 3.0, math.inf])
@pytest.mark.parametrize("family", ["EM", "calibrated EM", "line noise"])
def test_the_product_satisfies_the_group_budget_on_all_pairs_of_states(p, family):
    made = factorised_mechanism((NOMINAL, ORDINAL), PRIORS, p, 3.0, family=family)
    assert made.certified_epsilon <= made.epsilon == 3.0
    states = np.array(list(itertools.product(range(3), range(4))), dtype=np.int32)
    distance = group_distance(states, (NOMINAL, ORDINAL), p)
    logs = [np.log(part.matrix) for part in made.parts]
    joint = logs[0][np.ix_(states[:, 0], states[:, 0])] + logs[1][np.ix_(states[:, 1], states[:, 1])]
    for x, other in itertools.permutations(range(12), 2):
        assert (joint[x] - joint[other]).max() <= made.certified_epsilon * distance[x, other] * (1 + 1e-12)


def test_each_attribute_uses_its_share_under_each_metric():
    # One nominal attribute of weight 2 and line noise spend all they get: epsilon / L^(1/q) per unit of w^(1/p) d.
    for p, share in ((1.0, 3.0), (2.0, 3.0 / math.sqrt(2)), (math.inf, 1.5)):
        made = factorised_mechanism((NOMINAL, ORDINAL), PRIORS, p, 3.0, family="line noise")
        assert [part.mechanism for part in made.parts] == ["calibrated EM", "line noise"]
        assert [part.certified_epsilon for part in made.parts] == pytest.approx([share] * 2, rel=1e-10)
        assert made.certified_epsilon == pytest.approx(3.0, rel=1e-10)
        weight = 1.0 if math.isinf(p) else 2.0 ** (1 / p)
        odds = math.exp(share * weight)
        assert made.parts[0].matrix[0, 0] == pytest.approx(odds / (odds + 2), rel=1e-9)


def test_draws_follow_the_product_of_the_parts():
    """Chi-square over 12 outputs of one record, false alarm 1e-6, fixed seed; attributes are drawn independently."""
    made = factorised_mechanism((NOMINAL, ORDINAL), PRIORS, 2.0, 2.0, family="EM")
    codes = np.tile(np.array([[1, 2]], dtype=np.int32), (40000, 1))
    released = made.draw(codes, np.random.default_rng(0))
    assert released.shape == codes.shape and released.dtype == np.int32
    counts = np.bincount(released[:, 0] * 4 + released[:, 1], minlength=12)
    expected = 40000 * np.outer(made.parts[0].matrix[1], made.parts[1].matrix[2]).ravel()
    assert ((counts - expected) ** 2 / expected).sum() < chi2.isf(1e-6, df=11)


def test_remapping_lowers_every_attributes_loss_and_keeps_the_budget():
    made = factorised_mechanism((NOMINAL, ORDINAL), PRIORS, 2.0, 1.0, family="EM")
    remapped = remap_factorised(made, PRIORS)
    assert remapped.certified_epsilon <= made.certified_epsilon
    assert all(b.expected_loss <= a.expected_loss for a, b in zip(made.parts, remapped.parts, strict=True))
    assert remapped.mechanism == "factorised EM, remapped"
    losses = (1.0 - np.eye(3), 1.0 - np.eye(4))
    task = remap_factorised(made, PRIORS, losses)
    best = [
        float((prior[:, None] * part.matrix * loss).sum())
        for prior, part, loss in zip(PRIORS, task.parts, losses, strict=True)
    ]
    assert all(value <= 1 - prior.max() + 1e-12 for value, prior in zip(best, PRIORS, strict=True))


def test_a_product_of_any_size_is_served():
    many = (ORDINAL,) * 40
    made = factorised_mechanism(many, (PRIORS[1],) * 40, 2.0, 4.0, family="line noise")
    assert made.certified_epsilon <= 4.0
    released = made.draw(np.zeros((5, 40), dtype=np.int32), np.random.default_rng(1))
    assert released.shape == (5, 40) and released.max() < 4


def test_an_unknown_family_and_an_empty_group_are_refused():
    with pytest.raises(InputError):
        factorised_mechanism((NOMINAL,), PRIORS[:1], 2.0, 1.0, family="OPT")
    with pytest.raises(InputError):
        factorised_mechanism((), (), 2.0, 1.0, family="EM")
