"""Loss-budget curves of many groups side by side, the same to the last bit as one after the other."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from threadpoolctl import threadpool_limits

from core.curves import LossCurve
from core.group_curves import optimal_curve
from core.parallel import Progress, map_tasks
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
    """

    profile: GroupProfile
    grid: tuple[float, ...]
    key: Hashable = None


class _MissingError(Exception):
    """Raised in place of computing, to learn that nothing is remembered under a key."""


def _refuse() -> Any:
    raise _MissingError


def _solve(task: CurveTask) -> LossCurve:
    # One thread of linear algebra in every process: sums then round alike wherever a curve is solved.
    with threadpool_limits(1):
        return optimal_curve(task.profile, task.grid)


def solve_curves(
    tasks: Sequence[CurveTask], *, jobs: int | None = None, progress: Progress | None = None
) -> tuple[LossCurve, ...]:
    """Solve optimised curves side by side; whole curves, because the budgets of one start from each other.

    Parameters
    ----------
    tasks : sequence of CurveTask
        What to solve.
    jobs, progress : optional
        As in `map_tasks`: all local cores, or the cluster that is configured; told after every curve.

    Returns
    -------
    tuple of LossCurve
        In the order of the tasks, whatever the number of processes bit for bit the same.
    """
    # The dearest first, so that no process is left alone with it at the end.
    order = sorted(range(len(tasks)), key=lambda i: -tasks[i].profile.domain.size)
    solved = map_tasks(_solve, [tasks[i] for i in order], jobs=jobs, progress=progress)
    found = dict(zip(order, solved, strict=True))
    return tuple(found[i] for i in range(len(tasks)))


def missing_tasks(tasks: Sequence[CurveTask], remember: Remember) -> tuple[CurveTask, ...]:
    """Return the tasks whose keys `remember` knows no result of, each key once."""
    found: dict[Hashable, CurveTask] = {}
    for task in tasks:
        try:
            remember(task.key, _refuse)
        except _MissingError:
            found.setdefault(task.key, task)
    return tuple(found.values())
