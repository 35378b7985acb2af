"""Loss-budget curves of many groups side by side, the same to the last bit as one after the other."""

import time
from collections.abc import Callable, Hashable, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Final

from threadpoolctl import threadpool_limits

from core.curves import LossCurve
from core.group_curves import optimal_curve
from core.parallel import Progress, is_worth, stream_tasks
from core.profile import GroupProfile

Remember = Callable[[Hashable, Callable[[], Any]], Any]


@dataclass(frozen=True, eq=False)
class CurveTask:
    """One optimised curve to be solved.

    Parameters
    ----------
    profile : GroupProfile
        An enumerated group.
    grid : tuple of float (N,)
        Budgets, increasing from 0.
    key : hashable, optional
        Under which the curve is remembered.
    seconds : float
        Estimated time of the whole curve.
    """

    profile: GroupProfile
    grid: tuple[float, ...]
    key: Hashable = None
    seconds: float = 0.0


_LEAST_SECONDS: Final = 0.01
_NEARLY: Final = 0.95
"""Share of a task up to which the clock alone says that it is done."""

Keep = Callable[[CurveTask, LossCurve, float], None]
"""Given every task with its curve and the seconds that it took, as soon as it is there."""


class _MissingError(Exception):
    """Raised in place of computing, to learn that nothing is remembered under a key."""


def _refuse() -> Any:
    raise _MissingError


def _solve(task: CurveTask) -> tuple[LossCurve, float]:
    start = time.perf_counter()
    # One thread of linear algebra in every process: sums then round alike wherever a curve is solved.
    with threadpool_limits(1):
        curve = optimal_curve(task.profile, task.grid)
    return curve, time.perf_counter() - start


def solve_curves(
    tasks: Sequence[CurveTask], *, jobs: int | None = None, progress: Progress | None = None, keep: Keep | None = None
) -> tuple[LossCurve, ...]:
    """Solve optimised curves side by side; whole curves, because the budgets of one start from each other.

    Parameters
    ----------
    tasks : sequence of CurveTask
        What to solve.
    jobs, progress : optional
        As in `stream_tasks`: all local cores, or the cluster that is configured; told after every curve.
    keep : callable (task, curve, seconds), optional
        Given what is found as it is found, so that it stays if `progress` stops the rest.

    Returns
    -------
    tuple of LossCurve
        In the order of the tasks, whatever the number of processes bit for bit the same.
    """
    # The dearest first, so that no process is left alone with it at the end.
    order = sorted(range(len(tasks)), key=lambda i: (-tasks[i].seconds, -tasks[i].profile.domain.size))
    found: dict[int, LossCurve] = {}
    with closing(stream_tasks(_solve, [tasks[i] for i in order], jobs=jobs, progress=progress)) as stream:
        for i, (curve, seconds) in zip(order, stream, strict=True):
            found[i] = curve
            if keep is not None:
                keep(tasks[i], curve, seconds)
    return tuple(found[i] for i in range(len(tasks)))


def solve_ahead(tasks: Sequence[CurveTask], remember: Remember, keep: Keep, progress: Progress | None = None) -> None:
    """Solve the curves that are not remembered side by side, where there are several and it is worth it.

    What is not solved here is solved when it is asked for, to the same bits.
    """
    missing = missing_tasks(tasks, remember)
    if len(missing) < 2 or not is_worth(sum(task.seconds for task in missing)):
        return
    told = None if progress is None else _Share(missing, progress)

    def noted(task: CurveTask, curve: LossCurve, seconds: float) -> None:
        keep(task, curve, seconds)
        if told is not None:
            told.note(task)

    solve_curves(missing, progress=told, keep=noted)


class _Share:
    """Says how much of the estimated work is done; between two curves the clock tells how far the dearest is.

    Parameters
    ----------
    tasks : sequence of CurveTask
        What is solved.
    progress : callable (fraction, sentence)
        Whom it tells.
    clock : callable () -> float
        Seconds.
    """

    def __init__(
        self, tasks: Sequence[CurveTask], progress: Progress, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._progress, self._clock = progress, clock
        self._waiting = sorted((max(task.seconds, _LEAST_SECONDS) for task in tasks), reverse=True)
        self._count, self._whole, self._done = len(tasks), sum(self._waiting), 0.0
        self._began = self._last = clock()

    def note(self, task: CurveTask) -> None:
        """Count a task as done."""
        seconds = max(task.seconds, _LEAST_SECONDS)
        self._waiting.remove(seconds)
        self._done, self._last = self._done + seconds, self._clock()

    def __call__(self, _fraction: float, _sentence: str) -> None:
        """Tell how far it is."""
        spent = self._last - self._began
        pace = self._done / spent if self._done and spent > 0 else 1.0
        begun = min(pace * (self._clock() - self._last), _NEARLY * self._waiting[0]) if self._waiting else 0.0
        done = self._count - len(self._waiting)
        self._progress((self._done + begun) / self._whole, f"Solving {self._count} curves side by side, {done} done")


def is_remembered(key: Hashable, remember: Remember) -> bool:
    """Return whether a memory knows a result under a key, without computing one."""
    try:
        remember(key, _refuse)
    except _MissingError:
        return False
    return True


def missing_tasks(tasks: Sequence[CurveTask], remember: Remember) -> tuple[CurveTask, ...]:
    """Return the tasks whose keys `remember` knows no result of, each key once."""
    found = {task.key: task for task in reversed(tasks)}
    return tuple(found[key] for key in dict.fromkeys(t.key for t in tasks) if not is_remembered(key, remember))
