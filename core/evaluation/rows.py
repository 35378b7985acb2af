"""Methods against budgets: one row per method and epsilon, each computed once and remembered."""

import math
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import pandas as pd

from core import limits
from core.curves import AnyChannel
from core.data_stages import Progress, Remember
from core.domain import encode_table
from core.errors import InputError
from core.evaluation.ahead import refine_ahead, solve_ahead_for
from core.evaluation.joint import STARTS, JointDesign, Start, refine_jointly, starts_of
from core.evaluation.measured import (
    Measured,
    Row,
    best_constant,
    constant_state,
    describe_release,
    expected_by_state,
    make_row,
    measure,
    predicted_loss,
    shift_prior,
)
from core.evaluation.metering import keep_in
from core.evaluation.methods import COMPARED, Method, find_method
from core.evaluation.own_task import TaskSource, TaskStages
from core.evaluation.simulation import Placed, place_records, release_constant, simulate
from core.evaluation.split import Split, fitting_table, pin_columns, split_rows
from core.parallel_curves import is_remembered
from core.pipeline import Stages
from core.scenario import Scenario
from core.table import Table

COLUMNS: Final = ("method", "epsilon", "loss", "sd", "end_task", "lower_bound")
"""The public columns; others stand after them."""
REPEATS: Final = limits.Range("The number of repeats", 1, 1000, 20, 1, "20 is usual", True)
_STREAM: Final = 11


@dataclass(frozen=True, eq=False)
class Setting:
    """What a configuration has in common over methods and budgets.

    Parameters
    ----------
    table : Table
        The rows that configure.
    scenario : Scenario
        Its knobs, before a method changes them.
    """

    table: Table
    scenario: Scenario


class Evaluation:
    """A comparison bound to a table and a scenario; rows are computed when asked for.

    Everything goes through `remember`: curves are solved once for a grid of budgets, and a row that was computed is
    never computed again, so a run that was stopped goes on where it was when it is asked for the same rows with the
    same memory.

    Parameters
    ----------
    table : Table
        The table.
    scenario : Scenario
        Task, grouping, metric, thresholds, and the noise and remapping of DepHDP's own DPN groups.
    repeats : int
        Releases of every test record.
    remember : callable (key, compute) -> result, optional
        Keeps results; without it they are kept in this object.
    progress : callable (fraction, sentence), optional
        Told what is being done; it may raise to stop.
    task : TaskSource, optional
        A task of one's own instead of the scenario's.
    split : Split, optional
        Rows that configure and rows that are perturbed; without it a seeded 62.5/37.5 split of all rows that take part.
    """

    def __init__(
        self,
        table: Table,
        scenario: Scenario,
        *,
        repeats: int = int(REPEATS.default),
        remember: Remember | None = None,
        progress: Progress | None = None,
        task: TaskSource | None = None,
        split: Split | None = None,
    ) -> None:
        # All methods and totals share one grid of budgets; refining it for each of them would change little.
        self.table, self.scenario, self.task = table, scenario.replace(refine=False), task
        self.repeats = int(REPEATS.check(repeats))
        self.remember: Remember = keep_in({}) if remember is None else remember
        self.progress = progress
        self._split = split

    @cached_property
    def split(self) -> Split:
        """The rows that configure the "-s" methods, and the test rows; rows with dropped cells are in neither."""
        return self._split or split_rows(self.stages(self.scenario).records.rows, self.scenario.seed)

    @cached_property
    def _fitted(self) -> Setting:
        return Setting(fitting_table(self.table, self.split.fitting), pin_columns(self.table, self.scenario))

    def stages(self, scenario: Scenario, *, fitted: bool = False) -> Stages:
        """Return the stages of a scenario on all rows, or on the fitting split; its columns are then the table's."""
        table = self.table
        if fitted:
            table, scenario = self._fitted.table, scenario.replace(attributes=self._fitted.scenario.attributes)
        return TaskStages(table, scenario, remember=self.remember, progress=self.progress, task=self.task)

    def placed(self, stages: Stages, *, fitted: bool) -> Placed:
        """Return the test records in the codes and states of a configuration."""

        def compute() -> Placed:
            frame = self.table.frame.iloc[self.split.test]
            codes = encode_table(stages.records.attributes, frame, unknown="project")
            return place_records(stages.records, [p.domain for p in stages.profiles], codes, stages.scenario.p)

        key = (
            "test records",
            *self.key(stages.scenario, "p", "domain", "attributes", "target"),
            stages.groups,
            fitted,
        )
        return self.remember(key, compute)  # type: ignore[no-any-return]

    def key(self, scenario: Scenario, *names: str) -> tuple[Any, ...]:
        """Return what a result depends on besides its own name: table, task, test rows, seed and the named knobs."""
        own = None if self.task is None else self.task.digest
        rows = zlib.crc32(self.split.test.tobytes())
        return (self.table.digest, own, rows, scenario.seed, scenario.digest(*names))

    def row(self, method: Method | str, epsilon: float, *, scenario: Scenario | None = None) -> Row:
        """Return one row; see `evaluate` for its entries.

        Parameters
        ----------
        method : Method or str
            What is compared.
        epsilon : float
            Total budget.
        scenario : Scenario, optional
            Other knobs than the evaluation's, for sweeps.
        """
        chosen = find_method(method) if isinstance(method, str) else method
        knobs = (scenario or self.scenario).replace(epsilon=float(epsilon), **chosen.changes)
        return dict(self.remember(self._row_key(chosen, knobs), lambda: self._compute(chosen, knobs)))

    def _row_key(self, method: Method, knobs: Scenario) -> tuple[Any, ...]:
        return ("evaluation row", *self.key(knobs), method.name, method.measure, method.split, self.repeats)

    def prepare(self, methods: Sequence[str], epsilons: Sequence[float], progress: Progress | None = None) -> None:
        """Solve what the rows that are not known yet have in common, side by side where it is worth it.

        Curves first, then joint designs; a row asked for without this solves what it needs itself, to the same bits.

        Parameters
        ----------
        methods, epsilons : sequences
            As for `rows`.
        progress : callable (fraction, sentence), optional
            Told of this work alone, and not at all where there is none; as the evaluation's own unless given.
        """
        pairs = [(find_method(name), float(e)) for name in methods for e in epsilons]
        wanted = [(method, self.scenario.replace(epsilon=e, **method.changes)) for method, e in pairs]
        wanted = [(m, knobs) for m, knobs in wanted if not is_remembered(self._row_key(m, knobs), self.remember)]
        designs = []
        for method, knobs in wanted:
            names = STARTS if method.measure == "joint" else (method.name,)
            changed = [knobs.replace(**find_method(name).changes) for name in names]
            designs += [self.stages(scenario, fitted=method.split) for scenario in changed]
        told = progress or self.progress
        solve_ahead_for(designs, self.remember, told)
        joint = [(self._joint_key(k, m.split), self._starts(k, m.split)) for m, k in wanted if m.measure == "joint"]
        refine_ahead(joint, self.remember, told)

    def rows(self, methods: Sequence[str] | None, epsilons: Sequence[float]) -> Iterator[Row]:
        """Yield row by row, method by method, telling the progress between them."""
        chosen = [find_method(name) for name in (COMPARED if methods is None else methods)]
        cells = [(m, limits.EPSILON.check(e)) for m in chosen for e in epsilons]
        if not cells:
            raise InputError("methods", "An evaluation needs at least one method and one epsilon.")
        self.prepare([method.name for method in chosen], [float(e) for e in epsilons])
        for i, (method, epsilon) in enumerate(cells):
            if self.progress is not None:
                self.progress(i / len(cells), f"{method.name} at epsilon {epsilon:g}")
            yield self.row(method, epsilon)

    def _compute(self, method: Method, scenario: Scenario) -> Row:
        start = time.perf_counter()
        stages = self.stages(scenario, fitted=method.split)
        if method.measure == "bound":
            bound = stages.budgets.lower_bound
            return make_row(method, scenario, Measured(bound, 0.0, math.nan, bound, bound), start)
        placed = self.placed(stages, fitted=method.split)
        released: tuple[AnyChannel, ...] = ()
        if method.measure == "constant":
            found = release_constant(stages.task, best_constant(stages), placed.codes)
            predicted, bound = stages.zero_information, stages.zero_information
            shift = shift_prior(
                stages, placed, [p.loss.matrix[:, constant_state(p)] for p in stages.profiles if p.loss]
            )
        else:
            released = self.channels(stages, method)
            word = f"{method.name}/{scenario.epsilon!r}/{scenario.seed}"
            rng = np.random.default_rng([scenario.seed, _STREAM, zlib.crc32(word.encode())])
            domains = [p.domain for p in stages.profiles]
            found = simulate(stages.task, domains, released, placed, repeats=self.repeats, rng=rng)
            predicted, bound = predicted_loss(stages, released), stages.design.lower_bound
            shift = shift_prior(stages, placed, expected_by_state(stages, released))
        return make_row(method, scenario, measure(found, predicted, bound, shift), start) | describe_release(
            stages, released
        )

    def channels(self, stages: Stages, method: Method) -> tuple[AnyChannel, ...]:
        """Return what a method releases with: the channels of its stages, or those refined jointly."""
        if method.measure != "joint":
            return stages.channels
        return self.joint(stages.scenario, fitted=method.split).channels

    def joint(self, scenario: Scenario, *, fitted: bool = False) -> JointDesign:
        """Return the channels refined together at the scenario's epsilon; see `core.evaluation.joint`."""
        starts = self._starts(scenario, fitted)
        found: JointDesign = self.remember(self._joint_key(scenario, fitted), lambda: refine_jointly(starts()))
        return found

    def _joint_key(self, scenario: Scenario, fitted: bool) -> tuple[Any, ...]:
        return ("joint design", *self.key(scenario), fitted)

    def _starts(self, scenario: Scenario, fitted: bool) -> Callable[[], tuple[Start, ...]]:
        """Return a function that gives the designs to start from: they are large, and built where they are needed."""
        return lambda: starts_of(lambda name: self.stages(scenario.replace(**find_method(name).changes), fitted=fitted))


def to_frame(rows: Sequence[Row]) -> pd.DataFrame:
    """Return rows as a table, the public columns first."""
    frame = pd.DataFrame(list(rows))
    return frame[[*COLUMNS, *(c for c in frame.columns if c not in COLUMNS)]]


def evaluate(
    table: Table,
    scenario: Scenario,
    methods: Sequence[str] | None = None,
    epsilons: Sequence[float] = tuple(range(1, 11)),
    *,
    repeats: int = int(REPEATS.default),
    progress: Progress | None = None,
    remember: Remember | None = None,
    on_row: Callable[[Row], None] | None = None,
    task: TaskSource | None = None,
) -> pd.DataFrame:
    """Compare methods over budgets on test records.

    Methods that end in "-s" are configured on a seeded fitting split of 62.5% of the rows, the others on all rows, as
    in the paper; all are measured on the remaining 37.5%. Each record is perturbed once per repeat with the certified
    integers; the loss of a method is that of the task as its own configuration fitted it.

    Parameters
    ----------
    table : Table
        From `read_table` or `load_sample`.
    scenario : Scenario
        Task, metric, grouping and thresholds.
    methods : sequence of str, optional
        Names from `core.evaluation.methods.COMPARED`, all unless given; "-s" may be appended to any of them.
    epsilons : sequence of float
        Total budgets.
    repeats : int
        Releases of every test record.
    progress : callable (fraction, sentence), optional
        Told what is being done; it may raise to stop.
    remember : callable (key, compute) -> result, optional
        Keeps curves and rows between calls; with the same memory a stopped run goes on where it was.
    on_row : callable (row), optional
        Given every row as soon as it is known.
    task : TaskSource, optional
        A task of one's own.

    Returns
    -------
    DataFrame
        method, epsilon; loss: mean record-level loss over test records and repeats; sd: between repeats; end_task: mean
        end-task error; lower_bound: Llower of the method's families (Proposition 2), in surrogate objective. Then
        predicted: the surrogate objective under the configuration's prior; loss = predicted + prior_shift +
        surrogate_residual, with sampling_error = 1.96 sd / sqrt(repeats) of the last; end_task_sd; relative_error =
        (predicted - lower_bound) / lower_bound; certified_epsilon; optimised, groups: how many of how many groups are
        optimised; seconds. Bound-m and Bound-r stand with their bound as loss and no end task.

    Raises
    ------
    InputError
        If a method, budget or number of repeats is out of range, or the table too short.
    """
    evaluation = Evaluation(table, scenario, repeats=repeats, remember=remember, progress=progress, task=task)
    found: list[Row] = []
    for row in evaluation.rows(methods, list(epsilons)):
        found.append(row)
        if on_row is not None:
            on_row(row)
    return to_frame(found)
