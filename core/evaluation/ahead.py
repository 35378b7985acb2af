"""What is dear in a comparison, solved side by side before its rows are measured one after another."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from contextlib import closing
from functools import partial
from typing import Final

from core.curves import LossCurve
from core.data_stages import Progress, Remember
from core.evaluation.joint import SWEEPS, JointDesign, Start, refine_jointly
from core.evaluation.metering import Cost
from core.group_curves import estimate_solve_seconds
from core.parallel import is_worth, stream_tasks
from core.parallel_curves import CurveTask, is_remembered, solve_ahead
from core.pipeline import Stages

Starts = Callable[[], tuple[Start, ...]]

_LOOK_SECONDS: Final = 0.1
"""About how long it takes to estimate what a release of one group costs while the others are perturbed."""


def solve_ahead_for(designs: Iterable[Stages], remember: Remember, progress: Progress | None) -> None:
    """Solve the optimised curves that any of some designs needs and nobody remembers, each once.

    The seconds of every curve are kept as by `core.evaluation.metering`, so that the run time of a design from scratch
    is known wherever its curves were solved.
    """

    def keep(task: CurveTask, curve: LossCurve, seconds: float) -> None:
        remember(("cost", task.key), lambda: Cost(seconds, frozenset()))
        remember(task.key, lambda: curve)

    tasks = [task for stages in designs for task in stages.curve_tasks(stages.optimised)]
    solve_ahead(tasks, remember, keep, progress)


def refine_ahead(
    designs: Sequence[tuple[Hashable, Starts]], remember: Remember, progress: Progress | None = None
) -> None:
    """Refine the joint designs that nobody remembers side by side, where there are several and it is worth it.

    Parameters
    ----------
    designs : sequence of (key, callable)
        Under which key each is kept, and what gives the designs to start from.
    remember, progress
        As for an evaluation.
    """
    missing = {key: starts for key, starts in designs if not is_remembered(key, remember)}
    if len(missing) < 2:
        return
    items = [starts() for starts in missing.values()]
    if not is_worth(sum(_estimate_seconds(starts) for starts in items)):
        return

    def tell(fraction: float, _sentence: str) -> None:
        if progress is not None:
            progress(fraction, f"Refining {len(items)} designs jointly")

    with closing(stream_tasks(refine_jointly, items, progress=tell)) as stream:
        for key, design in zip(missing, stream, strict=True):
            remember(key, partial(_same, design))


def _same(design: JointDesign) -> JointDesign:
    return design


def _estimate_seconds(starts: Sequence[Start]) -> float:
    """Return about how long refining takes; an additive task needs none."""
    first = starts[0]
    if first.task.attribute_losses is not None:
        return 0.0
    solves = [estimate_solve_seconds(p) for p, tunable in zip(first.profiles, first.tunable, strict=True) if tunable]
    return SWEEPS * (sum(solves) + _LOOK_SECONDS * len(first.profiles))
