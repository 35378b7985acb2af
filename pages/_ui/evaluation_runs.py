"""The settings of an evaluation, the rows that are known for them, and the run that finds the others."""

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import pandas as pd

from core.evaluation.attacker import attack
from core.evaluation.measured import Row
from core.evaluation.methods import COMPARED, JOINT, find_method
from core.evaluation.planner import Plan, plan_epsilon
from core.evaluation.rows import Evaluation
from core.pipeline import Remember
from core.scenario import Scenario
from core.table import Table
from pages._ui import background, cache, state
from pages._ui.background import Job, Teller

ORDER: Final = (
    *("zero information", "SPL+DPN", "SPL+RMP", "ALC+DPN", "ALC+RMP", "DepHDP-r", "Bound-r", "DepHDP-m", "Bound-m"),
    *("DepHDP tuned", "DepHDP-r-s", "DepHDP-m-s", JOINT.name),
)
"""All methods, those first that are quickly measured; it is the order of the run and of the tables."""
USUAL: Final = tuple(m for m in ORDER if not m.endswith("-s") and m not in (JOINT.name, "Bound-r"))
EPSILONS: Final = (0.25, 0.5, *(float(e) for e in range(1, 11)))
"""Budgets to choose among."""
USUAL_EPSILONS: Final = tuple(float(e) for e in range(1, 11))
REPEATS: Final = (1, 50)
USUAL_REPEATS: Final = 5
_FIRST: Final = {"channels": 6.0, "bound": 1.0, "constant": 1.0, "joint": 40.0}
"""About how many rows of plain noise the first row of a method takes; it solves the curves of all budgets."""
_OPTIMISED: Final = 40.0
MOST_AHEAD: Final = 0.9
"""Largest share of a run that solving ahead may have."""
_MEASURED: Final = frozenset({"evaluation row", "attacker rows", "sample errors"})
"""First words of what only a run computes."""
_LATER: Final = {"channels": 1.0, "bound": 0.2, "constant": 0.2, "joint": 40.0}

Cell = tuple[str, float]
assert set(ORDER) == {*COMPARED, JOINT.name}


@dataclass(frozen=True)
class Settings:
    """What a person asks for.

    Parameters
    ----------
    methods : tuple of str
        In the order of `ORDER`.
    epsilons : tuple of float
        Increasing.
    repeats : int
        Releases of every test record.
    """

    methods: tuple[str, ...]
    epsilons: tuple[float, ...]
    repeats: int

    @property
    def cells(self) -> list[Cell]:
        """Every row that is wanted, in the order in which it is found."""
        return [(method, epsilon) for method in self.methods for epsilon in self.epsilons]


def settings() -> Settings:
    """Return the settings as they stand."""
    methods, epsilons = state.option("evaluation_methods", USUAL), state.option("evaluation_epsilons", USUAL_EPSILONS)
    return Settings(
        tuple(m for m in ORDER if m in methods),
        tuple(e for e in EPSILONS if e in epsilons),
        int(state.option("evaluation_repeats", USUAL_REPEATS)),
    )


def about() -> tuple[Hashable, ...]:
    """Return what every study of the present table and scenario shares; the total budget is no part of it."""
    return state.source(), state.table().digest, state.scenario().replace(epsilon=1.0).digest()


@dataclass(frozen=True, eq=False)
class Inputs:
    """Everything of a session that a thread needs, taken before it starts.

    Parameters
    ----------
    table, scenario
        The session's.
    memory : callable (key, compute) -> result
        Where its results are kept.
    about : tuple
        Its part of every token.
    """

    table: Table
    scenario: Scenario
    memory: Remember
    about: tuple[Hashable, ...]

    @property
    def turn(self) -> Hashable:
        """Runs of all sessions on the same table take turns, so that the second finds what the first computed."""
        return self.table.digest

    def evaluation(self, repeats: int, progress: Callable[[float, str], None] | None = None) -> Evaluation:
        """Return an evaluation of them."""
        return Evaluation(self.table, self.scenario, repeats=repeats, remember=self.memory, progress=progress)


def inputs() -> Inputs:
    """Return the session's table, scenario and memory as they stand."""
    return Inputs(state.table(), state.scenario(), cache.memory(), about())


class _Unknown(Exception):  # noqa: N818 - no error: it has not been measured
    """A row is not in memory."""


def _peek(memory: Remember) -> Remember:
    """Return the memory, but one that computes no rows."""

    def look(key: Hashable, compute: Callable[[], Any]) -> Any:
        def missing() -> Any:
            raise _Unknown

        rows = isinstance(key, tuple) and key[0] in _MEASURED
        return memory(key, missing if rows else compute)

    return look


def known(given: Inputs, wanted: Settings) -> list[Row]:
    """Return the rows that are in memory, whoever measured them."""
    evaluation = Evaluation(given.table, given.scenario, repeats=wanted.repeats, remember=_peek(given.memory))
    found = []
    for method, epsilon in wanted.cells:
        try:
            found.append(evaluation.row(method, epsilon))
        except _Unknown:
            continue
    return found


def known_attacks(given: Inputs, wanted: Settings) -> pd.DataFrame:
    """Return what the attacker gains from the designs that were measured."""
    evaluation = Evaluation(given.table, given.scenario, repeats=wanted.repeats, remember=_peek(given.memory))
    found = []
    for method, epsilon in wanted.cells:
        try:
            found.append(attack(evaluation, [method], [epsilon]))
        except _Unknown:
            continue
    kept = [frame for frame in found if len(frame)]
    return pd.concat(kept, ignore_index=True) if kept else pd.DataFrame()


def known_plan(method: str, size: int, repeats: int, target: Callable[[pd.DataFrame], float]) -> Plan | None:
    """Return the plan for a target if its samples are in memory, else None; the target may be moved at no cost.

    Parameters
    ----------
    method : str
        What is released.
    size, repeats : int
        Records per sample, and samples.
    target : callable (frame) -> float
        Given the errors by budget, returns the target.
    """
    given, wanted = inputs(), settings()
    if not wanted.epsilons:
        return None
    evaluation = Evaluation(given.table, given.scenario, repeats=1, remember=_peek(given.memory))
    plan = partial(plan_epsilon, evaluation, method=method, epsilons=wanted.epsilons, repeats=repeats)
    try:
        return plan(target(plan(1.0, size).frame), size)
    except _Unknown:
        return None


def token(given: Inputs, wanted: Settings) -> Hashable:
    """Return under which token a comparison is found again."""
    return ("methods", given.about, wanted)


def compare(given: Inputs, wanted: Settings) -> Job:
    """Return the job that measures every row and attacks every design; what is in memory costs nothing."""

    def produce(teller: Teller) -> Iterator[Row]:
        there = {(row["method"], row["epsilon"]) for row in known(given, wanted)}
        costs = _costs(wanted.cells, there)
        evaluation = given.evaluation(wanted.repeats, teller.detail)
        teller.reach(0.0, "")
        ahead = Ahead(teller, _share_ahead(costs))
        evaluation.prepare(wanted.methods, wanted.epsilons, ahead)
        whole, done = max(sum(costs), 1e-9), 0.0
        for (method, epsilon), cost in zip(wanted.cells, costs, strict=True):
            ahead.rest(done / whole, f"{method} at epsilon {epsilon:g}")
            row = evaluation.row(method, epsilon)
            attack(evaluation, [method], [epsilon])
            done += cost
            yield row

    return Job(token(given, wanted), "Comparing methods", produce, given.turn)


def _costs(cells: list[Cell], there: set[Cell]) -> list[float]:
    """Return about how long every row takes, in rows of plain noise: the first of a method solves its curves."""
    begun = {method for method, _ in there}
    costs = []
    for method, epsilon in cells:
        kind = find_method(method)
        first = _OPTIMISED if kind.changes["rule"] != "DPN" and kind.measure == "channels" else _FIRST[kind.measure]
        costs.append(0.0 if (method, epsilon) in there else _LATER[kind.measure] if method in begun else first)
        begun.add(method)
    return costs


def _share_ahead(costs: list[float]) -> float:
    """Return the share of a run that is over once its curves are there: what costs more than a later row."""
    whole = sum(costs)
    return sum(max(cost - 1.0, 0.0) for cost in costs) / whole if whole > 0 else 0.0


class Ahead:
    """Progress of a run in two parts: what is solved ahead, side by side, and then the rest, row by row.

    Parameters
    ----------
    teller : Teller
        The run.
    share : float
        Share of the whole that the first part has, where there is one.
    """

    def __init__(self, teller: Teller, share: float) -> None:
        self._teller, self._share = teller, min(share, MOST_AHEAD)
        self._before = 0.0

    def __call__(self, fraction: float, words: str) -> None:
        """Say how far the first part is."""
        self._before = self._share
        self._teller.reach(self._share * fraction, words)

    def rest(self, fraction: float, words: str) -> None:
        """Say how far the second part is."""
        self._teller.reach(self._before + (1.0 - self._before) * fraction, words)


def start(job: Job) -> Callable[[], None]:
    """Return the callback of a button that starts a job."""

    def begin() -> None:
        background.start(job)

    return begin
