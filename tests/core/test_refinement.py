"""Refinement on curves with a known formula: the gap closes, losses never rise, convexity is not needed."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.allocation import allocate_group_budgets, bound_by_steps, evaluate
from core.channel import Channel
from core.curves import LossCurve, refine
from core.refinement import TARGET, RefinementProblem, refine_curves

GRID = np.array([0.0, 1.0, 2.0, 3.0, 4.0])


def made(function, epsilon, name):
    loss = function(epsilon)
    weights = np.array([[1 << 58]])
    return Channel(weights, 0.0, loss, loss if name == "OPT" else 0.0, epsilon, name)


def curve_of(function, name):
    values = np.array([function(e) for e in GRID])
    channels = tuple(made(function, float(e), name) for e in GRID)
    return LossCurve(GRID, values, values, channels, True, name, stepwise=name != "OPT")


FUNCTIONS = (
    lambda e: 3.0 * math.exp(-e),
    lambda e: 3.0 - 1.0 / (1 + math.exp(-4 * (e - 1.7))),  # flat, concave, convex
    lambda e: 1.0 / (1.0 + e),
)


def refined(names, epsilon=3.0, p=2.0, beta=(1.0, 1.0, 1.0)):
    curves = [curve_of(f, name) for f, name in zip(FUNCTIONS, names, strict=True)]

    def allocate(present):
        return allocate_group_budgets(present, beta, 0.5, epsilon, p)

    def add(k, curve, e):
        return refine(curve, e, lambda at, _hint: made(FUNCTIONS[k], at, names[k]))

    return curves, refine_curves(curves, beta, RefinementProblem(0.5, epsilon, p), allocate=allocate, refine=add)


@pytest.mark.parametrize("names", [("OPT", "OPT", "OPT"), ("EM", "EM", "EM"), ("OPT", "EM", "OPT")])
def test_refinement_reaches_one_percent_of_the_true_optimum(names):
    curves, result = refined(names)
    assert result.before > TARGET >= result.after
    assert result.added == sum(len(c.epsilons) for c in result.curves) - sum(len(c.epsilons) for c in curves)
    steps = np.linspace(0, 3, 61)
    pairs = itertools.product(steps, steps)
    inside = [(a, b, math.sqrt(max(0.0, 9 - a * a - b * b))) for a, b in pairs if a * a + b * b <= 9]
    best = min(0.5 + sum(f(e) for f, e in zip(FUNCTIONS, point, strict=True)) for point in inside)
    assert result.budgets.loss <= best * (1 + TARGET + 0.002)
    assert result.budgets.loss * (1 - result.after) <= best


def test_nothing_is_refined_where_every_group_has_the_total():
    _, result = refined(("OPT", "OPT", "OPT"), p=1.0)
    assert result.added == 0


def test_curves_that_are_not_certified_stay_as_they_are():
    curves = [LossCurve(GRID, c.upper, c.lower, c.channels, False, "factorised") for c in refined(("EM",) * 3)[0]]
    result = refine_curves(
        curves,
        (1.0, 1.0, 1.0),
        RefinementProblem(0.5, 3.0, 2.0),
        allocate=lambda present: allocate_group_budgets(present, (1.0, 1.0, 1.0), 0.5, 3.0, 2.0),
        refine=lambda *_: pytest.fail("a sampled curve was refined"),
    )
    assert result.added == 0


def test_progress_may_stop_it():
    class StoppedError(Exception):
        pass

    def stop(_fraction, _sentence):
        raise StoppedError

    curves, _ = refined(("OPT", "OPT", "OPT"))
    with pytest.raises(StoppedError):
        refine_curves(
            curves,
            (1.0, 1.0, 1.0),
            RefinementProblem(0.5, 3.0, 2.0),
            allocate=lambda present: allocate_group_budgets(present, (1.0, 1.0, 1.0), 0.5, 3.0, 2.0),
            refine=lambda k, curve, e: pytest.fail("it went on"),
            progress=stop,
        )


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.lists(st.floats(0, 5), min_size=5, max_size=5), min_size=1, max_size=3),
    st.floats(0.5, 4.0),
    st.sampled_from([1.5, 2.0, math.inf]),
    st.booleans(),
)
def test_the_bound_by_steps_lies_below_every_allocation(values, epsilon, p, stepwise):
    curves = []
    for row in values:
        upper = np.sort(row)[::-1]
        channels = tuple(made(lambda _e: 0.0, float(e), "EM") for e in GRID)
        curves.append(LossCurve(GRID, upper, upper, channels, True, "EM", stepwise=stepwise))
    weights = np.ones(len(curves))
    bound, starts = bound_by_steps(curves, weights, epsilon, p)
    assert all(any(math.isclose(s, e) for e in GRID) for s in starts)
    q = 1.0 if math.isinf(p) else p / (p - 1)
    for point in itertools.product(*[GRID[epsilon >= GRID]] * len(curves)):
        if sum((e / epsilon) ** q for e in point) <= 1:
            assert bound <= evaluate(curves, weights, point) + 1e-9
