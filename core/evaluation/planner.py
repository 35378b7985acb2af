"""How much budget a target needs at a sample size, and which thresholds are worth their time."""

import itertools
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from core.data_stages import Progress
from core.errors import InputError
from core.evaluation.methods import Method, find_method
from core.evaluation.rows import Evaluation
from core.evaluation.simulation import Placed, simulate
from core.evaluation.split import Split, split_rows
from core.parallel_curves import missing_tasks
from core.scenario import Scenario

CONFIDENCE: Final = 0.95
"""Share of releases that reach the target at the confident budget."""
PLANNED_REPEATS: Final = 60
"""Samples and releases per budget."""
TRYING: Final = "Trying thresholds"
"""First words of what is told between candidates."""
_MOST: Final = 0.25
"""Share of the time that one candidate may take."""
_SAMPLE_STREAM: Final = 14
_CALIBRATION_STREAM: Final = 15


@dataclass(frozen=True, eq=False)
class Plan:
    """Which budget reaches a target end-task error.

    Parameters
    ----------
    target : float
        Largest acceptable end-task error.
    sample_size : int
        Records to be released.
    frame : DataFrame
        epsilon, mean, low, high: the end-task error over samples and releases, and the interval that holds 95% of them.
    epsilon : float
        Budget at which the mean reaches the target, between two simulated budgets on a straight line; inf if none does.
    epsilon_interval : pair of float
        Where the two-sided 95% interval of the *mean* (1.96 standard errors) crosses the target.
    confident_epsilon : float
        Least simulated budget at which 95% of the releases reach the target; inf if none does.
    """

    target: float
    sample_size: int
    frame: pd.DataFrame
    epsilon: float
    epsilon_interval: tuple[float, float]
    confident_epsilon: float


def plan_epsilon(
    evaluation: Evaluation,
    target: float,
    sample_size: int,
    *,
    method: str = "DepHDP tuned",
    epsilons: Sequence[float] = tuple(range(1, 11)),
    repeats: int = PLANNED_REPEATS,
) -> Plan:
    """Simulate releases of samples of a size and return the budget that the target needs.

    Samples are drawn with replacement from the configuring records, so the plan rests on the population being like
    them; it is no promise about other people.

    Raises
    ------
    InputError
        If the target is not positive, the sample empty, or the method has no channels.
    """
    if not 0.0 < target < math.inf:
        raise InputError("target", f"The target error must be a positive number, not {target:g}.")
    if not 1 <= sample_size <= 10_000_000:
        raise InputError("sample_size", f"The sample size must be 1 to 10,000,000 records, not {sample_size:,}.")
    chosen = find_method(method)
    if chosen.measure != "channels":
        raise InputError("method", f"A plan needs a method with mechanisms, not {method}.")
    rows = []
    for i, epsilon in enumerate(sorted(epsilons)):
        if evaluation.progress is not None:
            evaluation.progress(i / len(epsilons), f"Simulating samples of {sample_size:,} at epsilon {epsilon:g}")
        knobs = evaluation.scenario.replace(epsilon=float(epsilon), **chosen.changes)
        key = ("sample errors", *evaluation.key(knobs), chosen.name, sample_size, repeats)
        errors = evaluation.remember(key, partial(_sample_errors, evaluation, chosen, knobs, (sample_size, repeats)))
        low, high = np.quantile(errors, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
        upper = float(np.quantile(errors, CONFIDENCE))
        error = 1.96 * float(errors.std(ddof=1)) / math.sqrt(repeats) if repeats > 1 else 0.0
        rows.append((float(epsilon), float(errors.mean()), low, high, upper, error))
    frame = pd.DataFrame(rows, columns=["epsilon", "mean", "low", "high", "upper", "mean_error"])
    grid = frame["epsilon"].to_numpy()
    mean, error_of = frame["mean"].to_numpy(), frame["mean_error"].to_numpy()
    crossings = [first_crossing(grid, mean + sign * error_of, target) for sign in (0.0, -1.0, 1.0)]
    reached = frame.loc[frame["upper"] <= target, "epsilon"]
    confident = float(reached.min()) if len(reached) else math.inf
    return Plan(target, sample_size, frame, crossings[0], (crossings[1], crossings[2]), confident)


def _sample_errors(
    evaluation: Evaluation, method: Method, scenario: Scenario, counts: tuple[int, int]
) -> NDArray[np.float64]:
    size, repeats = counts
    stages = evaluation.stages(scenario, fitted=method.split)
    domains, records = [p.domain for p in stages.profiles], stages.records
    errors = np.empty(repeats)
    for r in range(repeats):
        rng = np.random.default_rng([stages.scenario.seed, _SAMPLE_STREAM, r])
        rows = rng.integers(len(records), size=size)
        placed = Placed(records.codes[rows], tuple(d.state_of[rows] for d in domains), 0)
        errors[r] = simulate(stages.task, domains, stages.channels, placed, repeats=1, rng=rng).end_tasks[0]
    return errors


def first_crossing(grid: NDArray[np.float64], values: NDArray[np.float64], target: float) -> float:
    """Return where a polygon first falls to the target; its first knot if it starts there, inf if it never does.

    Examples
    --------
    >>> first_crossing(np.array([1.0, 2.0, 4.0]), np.array([3.0, 2.0, 0.0]), 1.0)
    3.0
    """
    below = np.flatnonzero(values <= target)
    if not len(below):
        return math.inf
    at = int(below[0])
    if at == 0:
        return float(grid[0])
    share = (values[at - 1] - target) / (values[at - 1] - values[at])
    return float(grid[at - 1] + share * (grid[at] - grid[at - 1]))


@dataclass(frozen=True, eq=False)
class Recommendation:
    """Thresholds chosen on calibration data.

    Parameters
    ----------
    frame : DataFrame
        tau_group, tau_dim, tau_dpn, method, loss, sd, seconds of every candidate tried, in the order of trial.
    best : dict
        The row of least loss.
    changes : dict
        What to change in the scenario: tau_group, tau_dim, tau_dpn, rule and score.
    tried, candidates : int
        How many were tried before the time was over, of how many.
    """

    frame: pd.DataFrame
    best: dict[str, Any]
    changes: dict[str, Any]
    tried: int
    candidates: int


class _Over(Exception):  # noqa: N818 - no error: the time is over
    """The time for a candidate, or for all, is over."""


class _Watch:
    """Progress of the trials, by candidates or by time; gives up the one that outlasts the time.

    Parameters
    ----------
    told : callable (fraction, sentence) or None
        Whom it tells.
    count : int
        Candidates.
    seconds : float
        The time.
    clock : callable
        Seconds.
    """

    def __init__(self, told: Progress | None, count: int, seconds: float, clock: Callable[[], float]) -> None:
        self._told, self._count, self._seconds, self._clock = told, count, seconds, clock
        self._start, self._begun, self._found = clock(), 0, 0
        self._since = self._start

    @property
    def left(self) -> float:
        """Seconds that are left."""
        return self._start + self._seconds - self._clock()

    def begin(self, *, found: int) -> None:
        """Begin the next candidate, after so many were found; raises `_Over` where the time is over."""
        self._begun, self._found, self._since = self._begun + 1, found, self._clock()
        self(0.0, "")

    def __call__(self, fraction: float, words: str) -> None:
        """Tell what is done inside a candidate, and how far the trials are."""
        if self._told is not None:
            self._told(fraction, words)
            share = max((self._begun - 1) / self._count, 1.0 - max(self.left, 0.0) / self._seconds)
            self._told(share, f"{TRYING} {self._begun} of {self._count}")
        if self._found and (self.left <= 0 or self._clock() - self._since > _MOST * self._seconds):
            raise _Over


def recommend_thresholds(
    evaluation: Evaluation,
    seconds: float,
    *,
    taus: Sequence[float] = (0.1, 0.05, 0.2, 0.3, 0.5),
    dimensions: Sequence[int] = (100, 300),
    clock: Callable[[], float] = time.perf_counter,
) -> Recommendation:
    """Try thresholds on calibration rows, the cheap ones first, until the time is over.

    The calibration rows are a part of the evaluation's fitting rows: its test rows are not looked at, so that a later
    evaluation of the chosen thresholds is a fair one.

    Parameters
    ----------
    evaluation : Evaluation
        Table, scenario (its epsilon is the one that counts) and memory.
    seconds : float
        Time budget: no candidate is begun after it, nor one whose curves are estimated to outlast it, and one that
        takes more than a quarter of it is given up. The first, which has no curves to solve, is always finished.
    taus : sequence of float
        tau_group, in order of trial; equal groupings are tried once.
    dimensions : sequence of int
        tau_dim.
    clock : callable
        Seconds.

    Raises
    ------
    InputError
        If the time is not positive.
    """
    if not seconds > 0:
        raise InputError("seconds", f"The time budget must be a positive number of seconds, not {seconds:g}.")
    inner = calibration(evaluation)
    candidates = sorted(
        _candidates(inner, taus, dimensions),
        key=lambda pair: _solve_seconds(inner, pair[1], inner.scenario.replace(**pair[0])),
    )
    watch = _Watch(inner.progress, len(candidates), seconds, clock)
    inner.progress = watch
    rows: list[dict[str, Any]] = []
    for knobs, method in candidates:
        began, scenario = clock(), inner.scenario.replace(**knobs)
        try:
            watch.begin(found=len(rows))
            if rows and _solve_seconds(inner, method, scenario) > watch.left:
                continue
            row = inner.row(method, scenario.epsilon, scenario=scenario)
        except _Over:
            if watch.left <= 0:
                break
            continue
        rows.append({**knobs, "method": method.name, "loss": row["loss"], "sd": row["sd"], "seconds": clock() - began})
    best = min(rows, key=lambda row: row["loss"])
    changes = {name: best[name] for name in ("tau_group", "tau_dim", "tau_dpn")}
    changes |= dict(find_method(best["method"]).changes)
    return Recommendation(pd.DataFrame(rows), best, changes, len(rows), len(candidates))


def _solve_seconds(evaluation: Evaluation, method: Method, scenario: Scenario) -> float:
    """Return about how long it takes to solve the optimised curves that a design needs and nobody remembers."""
    stages = evaluation.stages(scenario.replace(**method.changes), fitted=method.split)
    missing = missing_tasks(stages.curve_tasks(stages.optimised), evaluation.remember)
    return sum(task.seconds for task in missing)


def calibration(evaluation: Evaluation) -> Evaluation:
    """Return an evaluation whose fitting and test rows are both parts of the given one's fitting rows."""
    split: Split = split_rows(evaluation.split.fitting, evaluation.scenario.seed, stream=_CALIBRATION_STREAM)
    return Evaluation(
        evaluation.table,
        evaluation.scenario,
        repeats=evaluation.repeats,
        remember=evaluation.remember,
        progress=evaluation.progress,
        task=evaluation.task,
        split=split,
    )


def _candidates(
    evaluation: Evaluation, taus: Sequence[float], dimensions: Sequence[int]
) -> Iterator[tuple[dict[str, Any], Method]]:
    """Yield knobs and method, every design once: by the scores at three thresholds, then the tuned rule."""
    seen = set()
    for size, tau in itertools.product(dimensions, taus):
        stages = evaluation.stages(evaluation.scenario.replace(tau_group=float(tau), tau_dim=int(size)), fitted=True)
        profiles = [p for p in stages.profiles if stages.affordable(p)]
        for name in ("DepHDP-r-s", "DepHDP-m-s", "DepHDP tuned-s"):
            method = find_method(name)
            kind = method.changes.get("score")
            thresholds: list[float | None] = [None] if kind is None else _thresholds([p.score(kind) for p in profiles])
            for threshold in thresholds:
                wanted = [p for p in profiles if threshold is None or p.score(str(kind)) <= threshold]
                key = (stages.groups, threshold is None, tuple(p.domain.members for p in wanted))
                if key not in seen:
                    seen.add(key)
                    yield {"tau_group": float(tau), "tau_dim": int(size), "tau_dpn": threshold}, method


def _thresholds(scores: Sequence[float]) -> list[float | None]:
    """Return thresholds that optimise nothing, a half and all of the affordable groups."""
    if not scores:
        return [-1.0]
    middle = sorted(scores)[(len(scores) - 1) // 2]
    return [*sorted({-1.0, float(np.clip(middle, -1.0, 1.0)), 1.0})]
