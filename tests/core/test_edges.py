"""Numerics at the edges: certificates hold, or a sentence refuses; a warning of the arithmetic fails the test."""

import itertools
import math

import numpy as np
import pytest
from numpy.typing import NDArray

from core.certificate import certify
from core.channel import TOTAL
from core.domain import build_group_domain, build_records
from core.errors import CoreError
from core.mechanisms import NOISES, REMAPS, Problem, build_channel
from core.pipeline import Stages
from core.scenario import AttributeSpec, Scenario
from core.table import read_table
from tests.benchmarks.solver import measure_small

Array = NDArray[np.float64]

EPSILONS = (0.0, 1e-6, 1e-3, 0.5, 4.0, 34.4, 34.6, 50.0)
"""From the least budget to the largest, on both sides of where solvers take a coefficient of exp for infinite."""
INSTANCES = 300


def line(n: int, span: float = 1.0) -> Array:
    points = np.arange(n) * span / max(n - 1, 1)
    return np.abs(points[:, None] - points)


def nominal(n: int, span: float = 1.0) -> Array:
    return span * (1 - np.eye(n))


def product(first: tuple[float, ...], second: tuple[float, ...], p: float) -> Array:
    points = np.array(list(itertools.product(first, second)))
    gaps = np.abs(points[:, None] - points)
    return gaps.max(axis=2) if math.isinf(p) else gaps.sum(axis=2)


DISTANCES = {
    "one state": np.zeros((1, 1)),
    "two states": nominal(2),
    "a line": line(5),
    "a nominal attribute": nominal(4),
    "a line of 1e-9": line(4, 1e-9),
    "a nominal attribute of 1e-9": nominal(3, 1e-9),
    "a line of 1e6": line(4, 1e6),
    "a nominal attribute of 1e6": nominal(3, 1e6),
    "scales from 1e-9 to 1e3": np.array([[0, 1e-9, 1, 1e3], [1e-9, 0, 1, 1e3], [1, 1, 0, 1e3], [1e3, 1e3, 1e3, 0]]),
    "a grid with p = 1": product((0, 1, 2), (0, 1), 1),
    "a grid with p = inf and a weight of 1e6": product((0, 1e6), (0, 1e-3, 1), math.inf),
    "states at distance 0": np.array([[0, 0, 1.0], [0, 0, 1], [1, 1, 0]]),
}


def priors(n: int) -> list[Array]:
    """Uniform, one certain state, one impossible state, and one a million million times likelier than the others."""
    point, without, steep = np.zeros(n), np.ones(n), np.full(n, 1e-12)
    point[0] = steep[0] = 1.0
    without[-1] = 0.0 if n > 1 else 1.0
    return [prior / prior.sum() for prior in (np.ones(n), point, without, steep)]


def losses(distance: Array) -> list[Array]:
    """Bounded distance, none, constant, ties, and two far from 1."""
    wrong = 1 - np.eye(len(distance))
    return [np.minimum(distance, 10.0), 0 * wrong, np.full(distance.shape, 3.0), wrong, 1e12 * wrong, 1e-200 * wrong]


CASES = [(name, "none") for name in ("constant", "OPT", "OPT")] + list(itertools.product(NOISES, REMAPS))


@pytest.mark.parametrize("name", DISTANCES)
def test_every_mechanism_keeps_its_certificate(name: str) -> None:
    distance = DISTANCES[name]
    settings = list(itertools.product(priors(len(distance)), losses(distance)))
    picked = itertools.cycle(np.random.default_rng(3).permutation(len(settings)).tolist())
    for epsilon, (mechanism, remap) in itertools.product(EPSILONS, CASES):
        prior, loss = settings[next(picked)]
        channel = build_channel(mechanism, Problem(distance, prior, loss), epsilon, remap=remap)
        assert (channel.weights >= 0).all()
        assert (channel.weights.sum(axis=1) == TOTAL).all()
        assert certify(channel.weights, distance) == channel.certified_epsilon <= epsilon
        assert 0 <= channel.lower_bound <= channel.expected_loss < math.inf
        if mechanism == "OPT":
            best_constant = float((prior @ loss).min())
            assert channel.expected_loss <= best_constant * (1 + 1e-9)
            exact = float((prior[:, None] * loss * channel.weights).sum()) / TOTAL
            assert channel.expected_loss == pytest.approx(exact, rel=1e-9, abs=1e-300)


def test_more_budget_never_costs_loss() -> None:
    for distance in (line(5), nominal(4), product((0, 1, 2), (0, 1), 1)):
        problem = Problem(distance, np.full(len(distance), 1 / len(distance)), distance)
        found = [build_channel("OPT", problem, epsilon).expected_loss for epsilon in EPSILONS]
        assert all(b <= a * (1 + 1e-6) + 1e-15 for a, b in itertools.pairwise(found))


def test_random_instances_against_exact_integers() -> None:
    record = measure_small(str(INSTANCES), "50000")
    assert record["instances"] == INSTANCES
    found = {name: record[name] for name in record if name not in ("instances", "seconds", "worst_relative_excess")}
    assert found.pop("worst_certified_over_declared") <= 1
    assert found == {
        "privacy_violations": 0, "bounds_above_the_optimum": 0, "losses_below_the_optimum": 0,
        "brackets_wider_than_1e-6": 0,
    }  # fmt: skip


ROWS = "".join(f"{i % 3},{i * 0.5},{'xyz'[i * 5 % 7 % 3]}\n" for i in range(40))
TABLE = read_table(f"grade,size,word\n{ROWS}".encode())


SPREAD, HEAVY = (1e-6, 1e6, 1.0), (1e6, 1e6, 1e6)


@pytest.mark.parametrize(
    ("p", "epsilon", "weights"),
    [(1.0, 50.0, SPREAD), (1.0, 1e-6, HEAVY), (1.0 + 1e-9, 50.0, HEAVY), (2.0, 1e-6, SPREAD), (2.0, 50.0, HEAVY),
     (1e6, 50.0, SPREAD), (math.inf, 1e-6, SPREAD), (math.inf, 50.0, HEAVY)],
)  # fmt: skip
def test_a_design_at_the_edges_of_its_knobs(p: float, epsilon: float, weights: tuple[float, ...]) -> None:
    specs = tuple(AttributeSpec(i, include=True, weight=w) for i, w in enumerate(weights))
    scenario = Scenario(epsilon=epsilon, p=p, attributes=specs, contexts=10, rule="OPT", refine=False)
    design = Stages(TABLE, scenario).design
    assert 0 <= design.certified_epsilon <= epsilon
    assert all(0 <= loss < math.inf for loss in design.losses)


@pytest.mark.parametrize("task", ["frequency", "entropy", "mean"])
@pytest.mark.parametrize("content", [b"a,b\n1,x\n1,y\n", b"a\nx\ny\n", b"a,b\n1,x\n2,y\n", b"a,b\nx,\n,y\n"])
def test_tables_of_two_rows(content: bytes, task: str) -> None:
    scenario = Scenario(task=task, contexts=10, rule="OPT")
    try:
        design = Stages(read_table(content), scenario).design
    except CoreError as error:
        assert str(error).endswith(".")
    else:
        assert design.certified_epsilon <= scenario.epsilon


@pytest.mark.parametrize("mode", ["observed", "product", "declared"])
def test_one_level_is_one_state(mode: str) -> None:
    specs = (AttributeSpec(0, include=True, kind="nominal", levels=("x",), missing="drop"),)
    records = build_records(read_table(b"a,b\nx,1\nx,2\nx,3\n"), Scenario(attributes=specs))
    domain = build_group_domain(records, (0,), p=2.0, mode=mode)
    assert domain.distance.tolist() == [[0.0]]
    assert domain.prior.tolist() == [1.0]
