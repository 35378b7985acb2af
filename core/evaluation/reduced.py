"""Full-record OPT against grouped designs on domains small enough for it (paper, section D.4)."""

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from core.adequacy import fit_mse, fit_radial
from core.channel import Channel
from core.data_stages import Progress, Remember, forget
from core.evaluation.reduced_cases import CONFIGURATIONS, Floats, ReducedCase, build_case, choose_cases
from core.mechanisms import Problem, build_channel
from core.mechanisms.optimal import solve_optimal
from core.metric import dual_exponent
from core.parallel import is_worth, stream_tasks
from core.parallel_curves import is_remembered
from core.pipeline import Stages

REDUCED_EPSILONS: Final = (1.0, 2.0, 4.0, 6.0, 8.0, 10.0)
TAU_DPN: Final = 0.3
"""Score threshold of this study for all tasks."""
ANGLES: Final = 61
"""Splits of the budget between the two groups, evenly spaced angles of a quarter circle."""
TOLERANCE: Final = 1e-6
"""Relative gap asked of every optimised channel."""
_PARTS: Final = 5
"""Equal shares of a case's progress: two families of each group, and the full record."""
METHODS: Final = ("full OPT", "group OPT", "DepHDP-m", "DepHDP-r", "all-DPN")

_SECONDS_PER_CASE: Final = 2.0
_SECONDS_PER_CUBE: Final = 1e-5
"""Rough seconds of one configuration at one budget: for its angles, and per cubed joint state for the full record."""

Row = dict[str, Any]
Cell = tuple[Hashable, ReducedCase, float]
"""Key, configuration and budget."""


@dataclass(frozen=True, eq=False)
class _Family:
    """Channels of one group at every angle, with their surrogate losses."""

    channels: tuple[Channel, ...]

    @property
    def losses(self) -> Floats:
        return np.array([c.expected_loss for c in self.channels])


def _budgets(epsilon: float, p: float) -> Floats:
    """Return (angles, 2) budgets with ||budget||_q <= epsilon, rounded inwards; q = 2 is the quarter circle."""
    angle = np.linspace(0.0, np.pi / 2, ANGLES)
    q = dual_exponent(p)
    if np.isinf(q):
        return np.full((1, 2), epsilon)
    share = np.column_stack([np.cos(angle), np.sin(angle)]) ** (2.0 / q)
    share[share < 1e-9] = 0.0
    budgets: Floats = epsilon * share * (1.0 - 1e-12)
    return budgets


def _optimal_family(problem: Problem, budgets: Floats, tell: Callable[[float], None]) -> _Family:
    hint: NDArray[np.int64] | None = None
    channels = []
    for i, epsilon in enumerate(budgets.tolist()):
        tell(i / len(budgets))
        if epsilon < 1e-6:
            channels.append(build_channel("OPT", problem, epsilon))
            continue
        solution = solve_optimal(problem.distance, problem.prior, problem.loss, epsilon, tolerance=TOLERANCE, hint=hint)
        hint = solution.outputs
        channels.append(solution.channel)
    return _Family(tuple(channels))


def _noise_family(problem: Problem, budgets: Floats, tell: Callable[[float], None]) -> _Family:
    channels = []
    for i, epsilon in enumerate(budgets.tolist()):
        tell(i / len(budgets))
        channels.append(build_channel("calibrated EM", problem, epsilon, remap="distance"))
    return _Family(tuple(channels))


def solve_case(case: ReducedCase, epsilon: float, progress: Progress | None = None) -> list[Row]:
    """Return the losses of the five designs on one configuration at one budget.

    The split of the budget minimises the surrogate objective of each policy over the same angles; the record loss is
    that of the product channel under the joint prior. Full-record OPT knows no groups.

    Parameters
    ----------
    case : ReducedCase
        The configuration.
    epsilon : float
        Total budget.
    progress : callable (fraction, sentence), optional
        Told before every channel that is built, and within the solve of the full record; it may raise to stop.
    """
    told = progress or (lambda _fraction, _sentence: None)

    def part(index: int, words: str) -> Callable[[float], None]:
        return lambda fraction: told((index + fraction) / _PARTS, f"{words} of group {index % 2 + 1}")

    with threadpool_limits(1):  # sums then round alike in whatever process this runs
        return _solve_case(case, epsilon, told, part)


def _solve_case(
    case: ReducedCase, epsilon: float, told: Progress, part: Callable[[int, str], Callable[[float], None]]
) -> list[Row]:
    budgets = _budgets(epsilon, case.p)
    problems = [
        Problem(d, prior, loss) for d, prior, loss in zip(case.distances, case.priors, case.losses, strict=True)
    ]
    optimal = [_optimal_family(q, budgets[:, k], part(k, "Optimised channels")) for k, q in enumerate(problems)]
    noise = [_noise_family(q, budgets[:, k], part(2 + k, "Noise")) for k, q in enumerate(problems)]
    scores = {
        "DepHDP-m": [fit_mse(p.distance, p.loss).score for p in problems],
        "DepHDP-r": [fit_radial(p.distance, p.loss).score for p in problems],
    }
    wanted = {"group OPT": [True, True], "all-DPN": [False, False]}
    wanted |= {name: [s < TAU_DPN for s in found] for name, found in scores.items()}
    full = solve_optimal(
        case.joint_distance, case.prior, case.loss, epsilon, tolerance=TOLERANCE,
        progress=lambda fraction, _: told((4 + fraction) / _PARTS, "Full-record OPT"),
    ).channel  # fmt: skip
    rows = [_row(case, epsilon, "full OPT", full.expected_loss, full.expected_loss, full.lower_bound, 1)]
    for name in METHODS[1:]:
        families = [optimal[k] if wanted[name][k] else noise[k] for k in (0, 1)]
        surrogate = case.intercept + sum(b * f.losses for b, f in zip(case.beta, families, strict=True))
        best = int(np.argmin(surrogate))
        record = _record_loss(case, families[0].channels[best], families[1].channels[best])
        rows.append(_row(case, epsilon, name, record, float(surrogate[best]), full.lower_bound, sum(wanted[name])))
    return _add_ratios(rows)


def _record_loss(case: ReducedCase, first: Channel, second: Channel) -> float:
    table = case.loss.reshape(*case.sizes, *case.sizes)
    joint = case.prior.reshape(case.sizes)
    return float(np.einsum("ab,abcd,ac,bd->", joint, table, first.matrix, second.matrix, optimize=True))


def _row(case: ReducedCase, epsilon: float, *found: Any) -> Row:
    names = ("method", "loss", "surrogate", "full_lower_bound", "optimised")
    shared = {"configuration": case.name, "states": len(case.prior), "epsilon": epsilon}
    return shared | dict(zip(names, found, strict=True))


def _add_ratios(rows: list[Row]) -> list[Row]:
    """Add the loss reduction against all-DPN and the share of its gap to full OPT that is closed, in percent."""
    by = {row["method"]: row["loss"] for row in rows}
    worst, best = by["all-DPN"], by["full OPT"]
    for row in rows:
        saved = worst - row["loss"]
        row["loss_reduction"] = 100.0 * saved / worst if worst > 0 else np.nan
        row["gap_closure"] = 100.0 * saved / (worst - best) if worst > best else np.nan
    return rows


def reduced_rows(
    stages: Stages,
    epsilons: Sequence[float] = REDUCED_EPSILONS,
    *,
    count: int = CONFIGURATIONS,
    progress: Progress | None = None,
    remember: Remember = forget,
) -> Iterator[Row]:
    """Yield the five designs of every configuration and budget.

    Parameters
    ----------
    stages : Stages
        Table and scenario: its groups are cut down, its task is the loss, its metric the metric.
    epsilons : sequence of float
        Total budgets.
    count : int
        Configurations, evenly chosen among those that fit.
    progress : callable (fraction, sentence), optional
        Told before every configuration and budget; it may raise to stop.
    remember : callable (key, compute) -> result, optional
        Keeps what was computed; with the same memory a stopped study goes on where it was.

    Yields
    ------
    dict
        configuration, states, epsilon, method, loss (record level, joint prior), surrogate (objective that split the
        budget), full_lower_bound (proven, of full-record OPT), optimised (groups), loss_reduction = 100 (L_DPN - L) /
        L_DPN, gap_closure = 100 (L_DPN - L) / (L_DPN - L_full).
    """
    chosen = choose_cases(stages, count)
    source = (stages.table.digest, stages.scenario.replace(epsilon=1.0).digest())
    keys = [(*source, *configuration) for configuration in chosen]
    cases = [
        remember(("reduced case", *key), partial(build_case, stages, *configuration))
        for key, configuration in zip(keys, chosen, strict=True)
    ]
    cells = [
        (("reduced rows", *key, float(epsilon)), case, float(epsilon))
        for key, case in zip(keys, cases, strict=True)
        for epsilon in epsilons
    ]
    missing = [cell for cell in cells if not is_remembered(cell[0], remember)]
    aside = len(missing) > 1 and is_worth(sum(case_seconds(case) for _, case, _ in missing))
    yield from _solve_aside(cells, missing, remember, progress) if aside else _solve_here(cells, remember, progress)


def case_seconds(case: ReducedCase) -> float:
    """Return about how long a configuration takes at one budget, from its states alone."""
    return _SECONDS_PER_CASE + _SECONDS_PER_CUBE * len(case.prior) ** 3


def _solve_here(cells: Sequence[Cell], remember: Remember, progress: Progress | None) -> Iterator[Row]:
    told = progress or (lambda _fraction, _sentence: None)
    for i, (key, case, epsilon) in enumerate(cells):
        where = f"Reduced domain {case.name} at epsilon {epsilon:g}"
        told(i / len(cells), where)

        def inner(fraction: float, words: str, i: int = i, where: str = where) -> None:
            told((i + fraction) / len(cells), f"{where}: {words}")

        yield from remember(key, partial(solve_case, case, epsilon, inner))


def _solve_aside(
    cells: Sequence[Cell], missing: Sequence[Cell], remember: Remember, progress: Progress | None
) -> Iterator[Row]:
    """Yield the rows in order while those that are missing are solved side by side."""
    known, waiting = len(cells) - len(missing), {key for key, _, _ in missing}

    def tell(fraction: float, _sentence: str) -> None:
        if progress is not None:
            done = known + fraction * len(missing)
            progress(done / len(cells), f"Reduced domains side by side, {done:.0f} of {len(cells)} cases")

    with closing(stream_tasks(_solve_cell, missing, progress=tell)) as stream:
        for key, case, epsilon in cells:
            compute = partial(list, next(stream)) if key in waiting else partial(solve_case, case, epsilon)
            yield from remember(key, compute)


def _solve_cell(cell: Cell) -> list[Row]:
    return solve_case(cell[1], cell[2])


def summarise_reduced(frame: pd.DataFrame) -> pd.DataFrame:
    """Return mean loss reduction and median gap closure per method, in percent, over configurations and budgets."""
    grouped = frame.groupby("method", sort=False)
    return pd.DataFrame(
        {
            "mean_loss": grouped["loss"].mean(),
            "mean_loss_reduction": grouped["loss_reduction"].mean(),
            "median_gap_closure": grouped["gap_closure"].median(),
        }
    ).reset_index()
