"""Full-record OPT against grouped designs on domains small enough for it (paper, section D.4)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from core.adequacy import fit_mse, fit_radial
from core.channel import Channel
from core.data_stages import Progress, Remember, forget
from core.evaluation.reduced_cases import CONFIGURATIONS, Floats, ReducedCase, build_case, choose_cases
from core.mechanisms import Problem, build_channel
from core.mechanisms.optimal import solve_optimal
from core.metric import dual_exponent
from core.pipeline import Stages

REDUCED_EPSILONS: Final = (1.0, 2.0, 4.0, 6.0, 8.0, 10.0)
TAU_DPN: Final = 0.3
"""Score threshold of this study for all tasks."""
ANGLES: Final = 61
"""Splits of the budget between the two groups, evenly spaced angles of a quarter circle."""
TOLERANCE: Final = 1e-6
"""Relative gap asked of every optimised channel."""
METHODS: Final = ("full OPT", "group OPT", "DepHDP-m", "DepHDP-r", "all-DPN")

Row = dict[str, Any]


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


def _optimal_family(problem: Problem, budgets: Floats) -> _Family:
    hint: NDArray[np.int64] | None = None
    channels = []
    for epsilon in budgets.tolist():
        if epsilon < 1e-6:
            channels.append(build_channel("OPT", problem, epsilon))
            continue
        solution = solve_optimal(problem.distance, problem.prior, problem.loss, epsilon, tolerance=TOLERANCE, hint=hint)
        hint = solution.outputs
        channels.append(solution.channel)
    return _Family(tuple(channels))


def _noise_family(problem: Problem, budgets: Floats) -> _Family:
    return _Family(tuple(build_channel("calibrated EM", problem, e, remap="distance") for e in budgets.tolist()))


def solve_case(case: ReducedCase, epsilon: float) -> list[Row]:
    """Return the losses of the five designs on one configuration at one budget.

    The split of the budget minimises the surrogate objective of each policy over the same angles; the record loss is
    that of the product channel under the joint prior. Full-record OPT knows no groups.
    """
    budgets = _budgets(epsilon, case.p)
    problems = [
        Problem(d, prior, loss) for d, prior, loss in zip(case.distances, case.priors, case.losses, strict=True)
    ]
    optimal = [_optimal_family(problem, budgets[:, k]) for k, problem in enumerate(problems)]
    noise = [_noise_family(problem, budgets[:, k]) for k, problem in enumerate(problems)]
    scores = {
        "DepHDP-m": [fit_mse(p.distance, p.loss).score for p in problems],
        "DepHDP-r": [fit_radial(p.distance, p.loss).score for p in problems],
    }
    wanted = {"group OPT": [True, True], "all-DPN": [False, False]}
    wanted |= {name: [s < TAU_DPN for s in found] for name, found in scores.items()}
    full = solve_optimal(case.joint_distance, case.prior, case.loss, epsilon, tolerance=TOLERANCE).channel
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
    for i, (pair, tops) in enumerate(chosen):
        key = (stages.table.digest, stages.scenario.replace(epsilon=1.0).digest(), pair, tops)
        case = remember(("reduced case", *key), partial(build_case, stages, pair, tops))
        for j, epsilon in enumerate(epsilons):
            if progress is not None:
                done = (i + j / len(epsilons)) / len(chosen)
                progress(done, f"Reduced domain {case.name} ({i + 1} of {len(chosen)}) at epsilon {epsilon:g}")
            yield from remember(("reduced rows", *key, float(epsilon)), partial(solve_case, case, float(epsilon)))


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
