"""The tasks on offer: what the released table is for, and whether it can be told apart from a constant at all."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from core.additive_tasks import FrequencyTask, MeanTask
from core.contextual_tasks import CrowdsourcingTask, EntropyTask
from core.domain import Records
from core.errors import InputError
from core.prediction_task import PredictionTask
from core.task_protocol import Codes, Task

__all__ = [
    "TASKS",
    "TASK_TITLES",
    "CrowdsourcingTask",
    "EntropyTask",
    "FrequencyTask",
    "Informativeness",
    "MeanTask",
    "PredictionTask",
    "Task",
    "check_informative",
    "compute_informativeness",
    "fit_task",
]

TASKS: Final[Mapping[str, Callable[[Records], Task]]] = {
    "frequency": FrequencyTask.fit,
    "crowdsourcing": CrowdsourcingTask.fit,
    "entropy": EntropyTask.fit,
    "mean": MeanTask.fit,
    "prediction": PredictionTask.fit,
}
"""How each task is fitted, in the order in which a picker shows them."""
TASK_TITLES: Final[Mapping[str, str]] = {
    "frequency": FrequencyTask.title,
    "crowdsourcing": CrowdsourcingTask.title,
    "entropy": EntropyTask.title,
    "mean": MeanTask.title,
    "prediction": PredictionTask.title,
}
LEAST_INFORMATIVE: Final = 0.1
"""A task is refused where the best constant release loses less than this share of a uniformly random one."""
JUDGED_RECORDS: Final = 2000
JUDGED_RELEASES: Final = 500
"""Records and constant releases on which a loss that is not a sum over attributes is judged."""
TIE: Final = 1e-9
"""Relative slack of that share, so that rounding refuses nothing at exactly 10%."""


def fit_task(name: str, records: Records) -> Task:
    """Fit a task to the records that configure it.

    Parameters
    ----------
    name : {'frequency', 'crowdsourcing', 'entropy', 'mean', 'prediction'}
        The task.
    records : Records
        The fitting data.

    Returns
    -------
    Task
        Frozen; it holds what it learned and not the records.

    Raises
    ------
    InputError
        If the name is unknown, there is no record or attribute, or the task misses what it needs.
    """
    if name not in TASKS:
        raise InputError("task", f"task must be one of {', '.join(TASKS)}, not {name!r:.60}.")
    if len(records) == 0 or not records.attributes:
        raise InputError(
            "task", "A task needs at least one record and one attribute; include a column, or drop fewer rows."
        )
    return TASKS[name](records)


@dataclass(frozen=True)
class Informativeness:
    """How much a task can tell apart.

    Parameters
    ----------
    zero_information : float
        Mean loss of the best constant release; found among candidate records (so never too low) unless `exact`.
    uniform : float
        Mean loss of a release drawn uniformly from all level combinations.
    exact : bool
        Whether both are exact (losses that are sums over attributes) or judged on samples.
    """

    zero_information: float
    uniform: float
    exact: bool

    @property
    def share(self) -> float:
        """zero_information / uniform, 0 where the uniform release loses nothing."""
        return self.zero_information / self.uniform if self.uniform > 0 else 0.0


def compute_informativeness(task: Task, records: Records) -> Informativeness:
    """Compare the best constant release with a uniformly random one, under the records' distribution.

    Parameters
    ----------
    task : Task
        The fitted task.
    records : Records
        Its fitting data.

    Returns
    -------
    Informativeness
        Exact for losses that are sums over attributes. Otherwise the constant is the best of up to 500 records on up
        to 2,000 records, both evenly spaced, its loss then taken over all; uniform releases come from a fixed seed.
    """
    tables = task.attribute_losses
    if tables is not None:
        shares = [
            np.bincount(codes, minlength=len(table)) / len(records) @ table
            for codes, table in zip(records.codes.T, tables, strict=True)
        ]
        return Informativeness(float(sum(s.min() for s in shares)), float(sum(s.mean() for s in shares)), True)
    codes = _spread(records.codes, JUDGED_RECORDS)
    constants = np.unique(_spread(records.codes, JUDGED_RELEASES), axis=0)
    judged = [float(task.loss(codes, np.broadcast_to(row, codes.shape)).mean()) for row in constants]
    winner = np.broadcast_to(constants[int(np.argmin(judged))], records.codes.shape)
    best = float(task.loss(records.codes, winner).mean())
    rng = np.random.default_rng(0)
    shape = (10 * len(codes), len(records.sizes))
    uniform = rng.integers(0, np.array(records.sizes), size=shape).astype(codes.dtype)
    return Informativeness(best, float(task.loss(np.tile(codes, (10, 1)), uniform).mean()), False)


def _spread(codes: Codes, count: int) -> Codes:
    rows: NDArray[np.int64] = np.unique(np.linspace(0, len(codes) - 1, min(count, len(codes))).astype(np.int64))
    return codes[rows]


def check_informative(task: Task, records: Records) -> Informativeness:
    """Refuse a task that a constant release serves almost as well as any other.

    Parameters
    ----------
    task : Task
        The fitted task.
    records : Records
        Its fitting data.

    Returns
    -------
    Informativeness
        The figures, where the task is accepted.

    Raises
    ------
    InputError
        If the best constant loses less than 10% of what a uniformly random release loses.
    """
    found = compute_informativeness(task, records)
    if found.share < LEAST_INFORMATIVE * (1.0 - TIE):
        raise InputError(
            "task",
            f"The task {task.title} says too little about this table: releasing one constant record loses "
            f"{found.zero_information:.3g}, only {found.share:.1%} of a random record's {found.uniform:.3g}, where at "
            f"least {LEAST_INFORMATIVE:.0%} is needed; choose another task, other attributes or another target.",
        )
    return found
