"""A task of one's own: a small Python class in a file, for runs without the app (a page never loads code)."""

import hashlib
import importlib.util
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from core.data_stages import DataStages, Progress, Remember, forget
from core.domain import Records
from core.errors import InputError
from core.pipeline import Stages
from core.scenario import Scenario
from core.table import Table
from core.task_protocol import BaseTask, Codes, Losses, Task
from core.tasks import check_informative

CHECKED_RECORDS: Final = 200
"""Pairs of records on which a task of one's own is tried before it is used."""


@dataclass(frozen=True)
class TaskSource:
    """How a task is made from the records that configure it.

    Parameters
    ----------
    fit : callable (records) -> Task
        Makes it.
    digest : str
        Changes whenever the task does: results are remembered under it.
    """

    fit: Callable[[Records], Task]
    digest: str


class TaskStages(Stages):
    """The stages of a design whose task may be one's own.

    Parameters
    ----------
    table, scenario, remember, progress
        As for `Stages`.
    task : TaskSource or None
        The task; None takes the scenario's.
    """

    def __init__(
        self,
        table: Table,
        scenario: Scenario,
        *,
        remember: Remember = forget,
        progress: Progress | None = None,
        task: TaskSource | None = None,
    ) -> None:
        if task is not None:
            # Results are remembered under the table's digest: those of another task must not be found there.
            table = replace(table, digest=f"{table.digest}/{task.digest}")
        super().__init__(table, scenario, remember=remember, progress=progress)
        self._source = task

    @cached_property
    def task(self) -> Task:
        """The fitted task; refused when it tells nothing about this table."""
        if self._source is None:
            plain: Task = DataStages.task.func(self)  # type: ignore[attr-defined]
            return plain
        source = self._source

        def fit() -> Task:
            task = source.fit(self.records)
            check_informative(task, self.records)
            return task

        return self._stage("task", self._data_key, fit)


@dataclass(frozen=True, eq=False)
class OwnTask(BaseTask):
    """A class of one's own with defaults for what it does not say.

    Parameters
    ----------
    sizes : tuple of int
        Levels per attribute.
    own : object
        It has `loss(X, Y)`; `title`, `statement`, `unit`, `tau_dpn`, `end_unit` and `end_task(raw, released)` are
        optional.
    """

    own: Any
    name = "own"

    @property
    def title(self) -> str:
        """Its title, or the name of its class."""
        return str(getattr(self.own, "title", type(self.own).__name__))

    @property
    def statement(self) -> str:
        """Its statement, or the first line of its documentation."""
        words = (inspect.getdoc(self.own) or "A task of one's own.").splitlines()[0]
        return str(getattr(self.own, "statement", words))

    @property
    def unit(self) -> str:
        """Unit of the loss."""
        return str(getattr(self.own, "unit", "loss"))

    @property
    def end_unit(self) -> str:
        """Unit of the end-task figure."""
        return str(getattr(self.own, "end_unit", f"mean {self.unit}"))

    @property
    def tau_dpn(self) -> float:
        """Score threshold, 0.2 unless it says another."""
        return float(getattr(self.own, "tau_dpn", 0.2))

    @property
    def attribute_losses(self) -> Losses | None:
        """Loss tables per attribute where it gives them."""
        tables = getattr(self.own, "attribute_losses", None)
        return None if tables is None else tuple(np.asarray(t, dtype=np.float64) for t in tables)

    def loss(self, X: Codes, Y: Codes) -> NDArray[np.float64]:
        """Return the loss of each pair of rows."""
        return np.asarray(self.own.loss(X, Y), dtype=np.float64)

    def end_task_parts(self, raw: Codes, released: Codes) -> Mapping[str, float]:
        """Return its end-task error, the mean loss unless it says another."""
        if hasattr(self.own, "end_task"):
            return {"end task": float(self.own.end_task(raw, released))}
        return {"mean loss": float(self.loss(raw, released).mean())}


def load_task(path: Path) -> TaskSource:
    """Read a task from a Python file, which is executed: load no file that you would not run.

    The file holds one class with a method `loss(self, X, Y)`: two (m, L) arrays of level codes in, m losses >= 0 out, 0
    where the rows are equal. With a class method `fit(cls, records)` it is made from the fitting records, else without
    arguments.

    Raises
    ------
    InputError
        If the file cannot be read or run, has no such class or several, or its losses are not as they must be.
    """
    try:
        text = path.read_bytes()
        spec = importlib.util.spec_from_file_location("own_task_file", path)
        if spec is None or spec.loader is None:
            raise InputError("task file", f"The task file {path} is no Python file.")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    except (OSError, SyntaxError, ImportError, NameError) as error:
        raise InputError("task file", f"The task file {path} cannot be run: {error}.") from error
    found = [
        c for _, c in inspect.getmembers(module, inspect.isclass) if c.__module__ == module.__name__ and _has_loss(c)
    ]
    if len(found) != 1:
        raise InputError(
            "task file", f"The task file {path} must hold one class with a method loss(self, X, Y), not {len(found)}."
        )
    own = found[0]
    return TaskSource(lambda records: _fit(own, records), hashlib.sha256(text).hexdigest()[:16])


def _has_loss(candidate: type) -> bool:
    return callable(getattr(candidate, "loss", None))


def _fit(own: Any, records: Records) -> Task:
    made = own.fit(records) if hasattr(own, "fit") else own()
    task = OwnTask(records.sizes, made)
    left = records.codes[:CHECKED_RECORDS]
    right = records.codes[::-1][: len(left)]
    losses, same = task.loss(left, right), task.loss(left, left)
    if losses.shape != (len(left),) or not np.isfinite(losses).all() or (losses < 0).any() or same.any():
        raise InputError(
            "task file",
            f"loss(X, Y) of {own.__name__} must return one finite number from 0 per pair of rows, 0 for equal rows.",
        )
    return task
