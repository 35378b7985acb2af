"""Why a measured loss differs from the predicted one, group by group."""

import math
import zlib
from functools import partial
from typing import Any, Final

import numpy as np
import pandas as pd

from core.evaluation.measured import expected_by_state
from core.evaluation.methods import find_method
from core.evaluation.rows import Evaluation
from core.evaluation.simulation import Placed, simulate

EXPLAINED_REPEATS: Final = 5
"""Releases of every test record per group."""
TOGETHER: Final = "together"
"""Name of the row that holds what no group does alone."""
_STREAM: Final = 16

Row = dict[str, Any]


def explain_groups(
    evaluation: Evaluation, method: str, epsilon: float, *, repeats: int = EXPLAINED_REPEATS
) -> pd.DataFrame:
    """Return the parts of a measured loss: what each group costs alone, against what was predicted for it.

    Every group is released alone, all other attributes true, for the same test records. What remains of the measured
    loss of the whole record is the row `together`: perturbed groups that meet lose more, or less, than their sum.

    Parameters
    ----------
    evaluation : Evaluation
        Table, scenario and memory.
    method : str
        A method with channels.
    epsilon : float
        Total budget.
    repeats : int
        Releases per group.

    Returns
    -------
    DataFrame
        method, epsilon, group (attributes), mechanism, budget; predicted = beta_k L_k, and the intercept together;
        prior_shift (nan where the group is not enumerated); residual = alone - predicted - prior_shift, with
        sampling_error = 1.96 standard errors of it; alone: the measured loss. `alone` sums to the measured loss.
    """
    chosen = find_method(method)
    if chosen.measure not in ("channels", "joint"):
        return pd.DataFrame()
    knobs = evaluation.scenario.replace(epsilon=float(epsilon), **chosen.changes)
    key = ("explained groups", *evaluation.key(knobs), chosen.name, evaluation.repeats, repeats)
    rows = evaluation.remember(key, partial(_explain, evaluation, method, float(epsilon), repeats))
    return pd.DataFrame(rows)


def _explain(evaluation: Evaluation, name: str, epsilon: float, repeats: int) -> list[Row]:
    method = find_method(name)
    stages = evaluation.stages(evaluation.scenario.replace(epsilon=epsilon, **method.changes), fitted=method.split)
    channels = evaluation.channels(stages, method)
    placed = evaluation.placed(stages, fitted=method.split)
    by_state = expected_by_state(stages, channels)
    whole = len(by_state) == len(stages.profiles)
    rows: list[Row] = []
    for k, (profile, channel) in enumerate(zip(stages.profiles, channels, strict=True)):
        rng = np.random.default_rng([stages.scenario.seed, _STREAM, k, zlib.crc32(f"{name}/{epsilon!r}".encode())])
        alone = Placed(placed.codes, (placed.states[k],), 0)
        found = simulate(stages.task, [profile.domain], [channel], alone, repeats=repeats, rng=rng)
        beta, predicted, shift = float(stages.surrogate.beta[k]), math.nan, math.nan
        if whole:
            predicted = beta * float(profile.domain.prior @ by_state[k])
            share = np.bincount(placed.states[k], minlength=len(by_state[k])) / max(len(placed.codes), 1)
            shift = beta * float((share - profile.domain.prior) @ by_state[k])
        rows.append(
            {
                "group": " + ".join(stages.group_names[k]),
                "mechanism": channel.mechanism,
                "budget": float(stages.budgets.epsilons[k]),
                "predicted": predicted,
                "prior_shift": shift,
                "residual": float(found.losses.mean()) - predicted - shift,
                "sampling_error": 1.96 * found.deviation / math.sqrt(repeats),
                "alone": float(found.losses.mean()),
            }
        )
    row = evaluation.row(name, epsilon)
    rest = row["loss"] - sum(r["alone"] for r in rows)
    intercept = float(stages.surrogate.intercept)
    error = math.hypot(row["sampling_error"], *(r["sampling_error"] for r in rows))
    rows.append(
        {
            "group": TOGETHER, "mechanism": "", "budget": math.nan, "predicted": intercept, "prior_shift": 0.0,
            "residual": rest - intercept, "sampling_error": error, "alone": rest,
        }
    )  # fmt: skip
    return [{"method": name, "epsilon": epsilon, **r} for r in rows]
