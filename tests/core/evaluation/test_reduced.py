"""Full-record OPT on tiny domains: the order of the designs, and losses against explicit sums."""

import itertools

import numpy as np
import pandas as pd
import pytest

from core.errors import InputError
from core.evaluation import reduced, reduced_cases
from core.evaluation.reduced import reduced_rows, solve_case, summarise_reduced
from core.evaluation.reduced_cases import build_case, choose_cases
from core.evaluation.rows import Evaluation
from tests.core.evaluation.small_table import small_scenario, small_table

GAP = 2e-6
"""Certified relative gap of the solves, twice."""


@pytest.fixture(scope="module")
def stages():
    return Evaluation(small_table(), small_scenario()).stages(small_scenario())


@pytest.fixture(autouse=True)
def few_angles(monkeypatch):
    monkeypatch.setattr(reduced, "ANGLES", 7)
    monkeypatch.setattr(reduced_cases, "STATES", (4, 16))


def test_cases_fit_and_are_distinct(stages):
    cases = choose_cases(stages, 10)
    assert len(set(cases)) == len(cases) <= 10
    for (i, j), (a, b) in cases:
        assert i < j
        assert 4 <= a * b <= 16


def test_joint_losses_priors_and_metric_are_explicit_sums(stages):
    case = build_case(stages, (0, 1), (4, 3))
    n = 12
    assert case.prior.shape == (n,)
    assert case.prior.sum() == pytest.approx(1.0)
    pairs = list(itertools.product(range(4), range(3)))
    for (x, (a, b)), (y, (c, d)) in itertools.product(enumerate(pairs), repeat=2):
        expected = np.hypot(case.distances[0][a, c], case.distances[1][b, d])
        assert case.joint_distance[x, y] == pytest.approx(expected)
    joint = case.prior.reshape(4, 3)
    assert case.priors[0] == pytest.approx(joint.sum(axis=1))
    table = case.loss.reshape(4, 3, 4, 3)
    expected = sum(joint[0, b] * table[0, b, 1, b] for b in range(3)) / joint[0].sum()
    assert case.losses[0][0, 1] == pytest.approx(expected)
    assert (case.beta >= 0).all()


@pytest.mark.parametrize("epsilon", [0.7, 2.0, 6.0])
@pytest.mark.parametrize("pair", [(0, 1), (0, 2), (1, 2)])
def test_the_order_of_the_designs(stages, pair, epsilon):
    sizes = [min(4, stages.profiles[k].domain.size) for k in pair]
    rows = {row["method"]: row for row in solve_case(build_case(stages, pair, tuple(sizes)), epsilon)}
    full = rows["full OPT"]
    for name, row in rows.items():
        assert full["full_lower_bound"] <= row["loss"] * (1 + 1e-9)
        assert full["loss"] <= row["loss"] * (1 + GAP) + 1e-12, name
    chain = [rows[name]["surrogate"] for name in ("group OPT", "DepHDP-m", "DepHDP-r", "all-DPN")]
    for less, more in itertools.pairwise(chain):
        assert less <= more * (1 + GAP) + 1e-12
    assert rows["all-DPN"]["loss_reduction"] == 0.0
    assert full["gap_closure"] in (pytest.approx(100.0), pytest.approx(np.nan, nan_ok=True))


def test_rows_are_told_and_summarised(stages):
    told = []
    frame = pd.DataFrame(reduced_rows(stages, (1.0,), count=2, progress=lambda f, s: told.append((f, s))))
    assert len(frame) == 2 * 5
    fractions = [fraction for fraction, _ in told]
    assert np.diff(fractions).min() > -0.01  # a solver may think again about how far it is
    assert len(told) > 2 * 4 * 7  # before every channel of both groups, at every angle
    assert 0.0 == fractions[0] < fractions[-1] <= 1.0
    summary = summarise_reduced(frame).set_index("method")
    assert summary.loc["full OPT", "mean_loss"] <= summary.loc["all-DPN", "mean_loss"]
    assert summary.loc["all-DPN", "mean_loss_reduction"] == 0.0


def test_a_single_group_is_refused():
    one = Evaluation(small_table(), small_scenario()).stages(small_scenario(tau_group=0.0))
    if len(one.groups) == 1:
        with pytest.raises(InputError, match="two groups"):
            choose_cases(one)
    else:
        assert choose_cases(one)
