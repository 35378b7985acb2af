"""Thresholds moved over their range: what grouping and choosing cost and bring (paper, section D.7)."""

import itertools
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, Final

import numpy as np

from core.data_stages import Progress
from core.evaluation.ahead import solve_ahead_for
from core.evaluation.metering import Meter
from core.evaluation.methods import Method
from core.evaluation.rows import Evaluation
from core.group_curves import estimate_solve_seconds
from core.pipeline import Stages

GROUP_THRESHOLDS: Final = tuple(round(0.05 * i, 2) for i in range(21))
"""tau_group from 0 to 1."""
SCORE_THRESHOLDS: Final = tuple(round(0.05 * i, 2) for i in range(21))
"""tau_dpn from 0 to 1."""
DIMENSIONS: Final = (100, 300)
"""tau_dim of the paper's sweeps."""
SWEPT_EPSILONS: Final = (1.0, 2.0, 4.0, 6.0, 8.0, 10.0)
SCORES: Final[dict[str, str]] = {"DepHDP-m": "mse", "DepHDP-r": "radial"}
"""Method by score."""

Row = dict[str, Any]


def sweep_groups(
    evaluation: Evaluation,
    thresholds: Sequence[float] = GROUP_THRESHOLDS,
    epsilons: Sequence[float] = SWEPT_EPSILONS,
    *,
    methods: Sequence[str] = tuple(SCORES),
    solve_limit: float | None = None,
    ahead: Progress | None = None,
) -> Iterator[Row]:
    """Yield loss and number of groups against tau_group.

    Groups change only where tau_group passes a weight of the maximum spanning tree, and curves belong to groups: every
    distinct group is solved once, every distinct grouping measured once.

    Parameters
    ----------
    evaluation : Evaluation
        Table, scenario and memory.
    thresholds, epsilons : sequences of float
        tau_group, in the order of the rows, and total budgets.
    methods : sequence of str
        Keys of `SCORES`.
    solve_limit : float, optional
        As for `sweep_scores`.
    ahead : callable (fraction, sentence), optional
        Told how much of what is solved before the first row is done; as the evaluation's own progress unless given.

    Yields
    ------
    dict
        tau_group, groups, largest (states of the largest group), method, epsilon, loss, sd, predicted, lower_bound,
        optimised, run_time (seconds of this design from scratch, without measuring it).
    """
    designs = [
        evaluation.stages(evaluation.scenario.replace(tau_group=float(tau), rule="score", score=SCORES[name]))
        for tau in thresholds
        for name in methods
    ]
    quick = (stages for stages in designs if not _is_slow(evaluation, stages, solve_limit))
    solve_ahead_for(quick, evaluation.remember, ahead or evaluation.progress)
    for tau in thresholds:
        # Thresholds that give the same groups are one design: the first of them stands for all in every key.
        scenario = evaluation.scenario.replace(tau_group=float(tau))
        groups = evaluation.stages(scenario).groups
        first = next(t for t in sorted(thresholds) if evaluation.stages(scenario.replace(tau_group=t)).groups == groups)
        knobs = scenario.replace(tau_group=float(first))
        for name in methods:
            method = Method(name, {"rule": "score", "score": SCORES[name]})
            stages = evaluation.stages(knobs.replace(**method.changes))
            slow = _is_slow(evaluation, stages, solve_limit)
            for epsilon in epsilons:
                found = _omitted(stages, name, epsilon) if slow else _metered(evaluation, method, knobs, epsilon)
                yield {"tau_group": float(tau), **found}


def sweep_scores(
    evaluation: Evaluation,
    thresholds: Sequence[float] = SCORE_THRESHOLDS,
    epsilons: Sequence[float] = SWEPT_EPSILONS,
    *,
    dimensions: Sequence[int] = DIMENSIONS,
    solve_limit: float | None = None,
    ahead: Progress | None = None,
) -> Iterator[Row]:
    """Yield loss and run time against tau_dpn for both scores and several tau_dim.

    Parameters
    ----------
    evaluation : Evaluation
        Table, scenario and memory.
    thresholds, epsilons : sequences of float
        tau_dpn and total budgets.
    dimensions : sequence of int
        tau_dim.
    solve_limit : float, optional
        Designs that would optimise a group whose single solve is estimated to take more seconds are left out: their
        rows carry nan. Without it everything is solved.
    ahead : callable (fraction, sentence), optional
        As for `sweep_groups`.

    Yields
    ------
    dict
        tau_dim, tau_dpn, then as `sweep_groups`.
    """
    quick = _quick_designs(evaluation, thresholds, dimensions, solve_limit)
    solve_ahead_for(quick, evaluation.remember, ahead or evaluation.progress)
    for size in dimensions:
        for name, score in SCORES.items():
            base = evaluation.scenario.replace(tau_dim=int(size), rule="score", score=score)
            stages = evaluation.stages(base)
            for tau in thresholds:
                knobs = base.replace(tau_dpn=_first_with_same_choice(stages, score, float(tau), thresholds))
                slow = _is_slow(evaluation, evaluation.stages(knobs), solve_limit)
                for epsilon in epsilons:
                    method = Method(name, {"rule": "score", "score": score})
                    found = _omitted(stages, name, epsilon) if slow else _metered(evaluation, method, knobs, epsilon)
                    yield {"tau_dim": int(size), "tau_dpn": float(tau), **found}


def _first_with_same_choice(stages: Stages, score: str, tau: float, thresholds: Sequence[float]) -> float:
    """Return the least threshold that optimises the same groups, so that it is computed once."""
    scores = [p.score(score) for p in stages.profiles if stages.affordable(p)]
    return min(float(t) for t in thresholds if [s <= t for s in scores] == [s <= tau for s in scores])


def _quick_designs(
    evaluation: Evaluation, thresholds: Sequence[float], dimensions: Sequence[int], solve_limit: float | None
) -> Iterator[Stages]:
    """Yield the designs of a sweep that are within the limit."""
    for size, score, tau in itertools.product(dimensions, SCORES.values(), thresholds):
        knobs = evaluation.scenario.replace(tau_dim=int(size), rule="score", score=score, tau_dpn=float(tau))
        stages = evaluation.stages(knobs)
        if not _is_slow(evaluation, stages, solve_limit):
            yield stages


def _is_slow(evaluation: Evaluation, stages: Stages, solve_limit: float | None) -> bool:
    return solve_limit is not None and _slowest(evaluation, stages) > solve_limit


def _slowest(evaluation: Evaluation, stages: Stages) -> float:
    """Return the longest estimated solve among the groups that are optimised, in seconds."""
    table = (evaluation.table.digest, evaluation.scenario.digest("attributes", "domain", "p", "task"))
    longest = 0.0
    for profile, choice in zip(stages.profiles, stages.choices, strict=True):
        if choice == "OPT":
            key = ("solve estimate", *table, profile.domain.members)
            estimate: float = evaluation.remember(key, partial(estimate_solve_seconds, profile))
            longest = max(longest, estimate)
    return longest


def _metered(evaluation: Evaluation, method: Method, knobs: Any, epsilon: float) -> Row:
    """Return the row of one design with its run time from scratch."""
    knobs = knobs.replace(epsilon=float(epsilon))
    meter = Meter(evaluation.remember)
    inner = Evaluation(
        evaluation.table,
        knobs,
        repeats=evaluation.repeats,
        remember=meter,
        progress=evaluation.progress,
        task=evaluation.task,
        split=evaluation.split,
    )
    stages = inner.stages(knobs.replace(**method.changes))
    sizes = [p.domain.size for p in stages.profiles]
    _ = stages.channels
    run_time = meter.seconds()
    row = inner.row(method, epsilon)
    return {
        "groups": len(stages.groups),
        "largest": max(sizes),
        **{name: row[name] for name in ("method", "epsilon", "loss", "sd", "predicted", "lower_bound", "optimised")},
        "run_time": run_time,
    }


def _omitted(stages: Stages, name: str, epsilon: float) -> Row:
    nothing = dict.fromkeys(("loss", "sd", "predicted", "lower_bound"), np.nan)
    sizes = [p.domain.size for p in stages.profiles]
    return {
        "groups": len(stages.groups),
        "largest": max(sizes),
        "method": name,
        "epsilon": float(epsilon),
        **nothing,
        "optimised": np.nan,
        "run_time": np.nan,
    }
