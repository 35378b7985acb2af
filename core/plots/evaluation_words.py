"""What an evaluation means, in sentences with every number from its rows; and ours beside the paper's."""

import math
from collections.abc import Mapping
from typing import Final

import numpy as np
import pandas as pd

from core.evaluation.methods import JOINT, SPLIT_SUFFIX, ZERO_INFORMATION, find_method
from core.evaluation.paper_tables import CASES, LABEL, REDUCTIONS, RELATIVE_ERRORS, paper_table
from core.evaluation.relative import compare_pairs, largest_relative_error
from core.plots.evaluation import EvaluationView
from core.plots.template import percent, sig

_REFERENCE: Final = "ALC+RMP"
_OURS: Final = "DepHDP-m"
_TUNED: Final = "DepHDP tuned"
_ROUNDING: Final = 1e-6
"""Relative errors, in percent, below which a loss and its bound differ by rounding alone."""
SCORES: Final = ("DepHDP-m", "DepHDP-r")


def explain_evaluation(view: EvaluationView) -> str:
    """Return who loses least at the scenario's budget, against the best baseline, and where nothing is gained."""
    rows = view.frame[(view.frame["epsilon"] == view.at) & view.frame[view.measure].notna()]
    found = {
        str(row["method"]): row for _, row in rows.iterrows() if find_method(str(row["method"])).measure != "bound"
    }
    if len(found) < 2:
        return "One method alone says little: add another to compare it with, or zero information."
    best = min(found, key=lambda name: float(found[name][view.measure]))
    loss = float(found[best][view.measure])
    half = 1.96 * float(found[best]["sd" if view.measure == "loss" else "end_task_sd"])
    what = "loses least" if view.measure == "loss" else "has the least end-task error"
    spread = f" ± {sig(half)}" if half > 0 else ""
    said = f"At epsilon {view.at:g} **{best}** {what}, **{sig(loss)}**{spread}"
    words = (
        f"{said}{_against(found, best, loss, view.measure)}.",
        _worse(found, view),
        advise_joint(view.frame, view.at),
    )
    return " ".join(word for word in words if word)


def advise_joint(frame: pd.DataFrame, epsilon: float) -> str:
    """Return what to do where the tuned design loses to another beyond sampling error; empty where it does not.

    Parameters
    ----------
    frame : DataFrame
        Rows of an evaluation.
    epsilon : float
        Total budget.
    """
    rows = frame[(frame["epsilon"] == epsilon) & frame["sampling_error"].notna()]
    found = {str(row["method"]): (float(row["loss"]), float(row["sampling_error"])) for _, row in rows.iterrows()}
    names = [name for name in found if find_method(name).measure == "channels" and not name.endswith(SPLIT_SUFFIX)]
    if _TUNED not in names or JOINT.name in found:
        return ""
    best = min(names, key=lambda name: found[name][0])
    lost, error = found[_TUNED][0] - found[best][0], math.hypot(found[_TUNED][1], found[best][1])
    if lost <= error:
        return ""
    return (
        f"**{_TUNED}** loses {sig(lost)} more than {best}, beyond the sampling error (± {sig(error)}): it trusts the "
        f"additive surrogate. Add **{JOINT.name}**, which is refined on the loss itself."
    )


def _against(found: Mapping[str, pd.Series], best: str, loss: float, measure: str) -> str:
    """Compare the best with the best of the baselines, or of the others where it is one itself."""
    ours = best.startswith("DepHDP")
    others = [n for n in found if n != best and (not ours or not n.startswith("DepHDP"))] or [
        n for n in found if n != best
    ]
    second = min(others, key=lambda name: float(found[name][measure]))
    other = float(found[second][measure])
    if other <= 0:
        return f", as **{second}**"
    return f", **{percent(1 - loss / other)}** less than {second} ({sig(other)})"


def _worse(found: Mapping[str, pd.Series], view: EvaluationView) -> str:
    """Say which methods lose more than releasing constants would."""
    if ZERO_INFORMATION not in found:
        return ""
    constant = float(found[ZERO_INFORMATION][view.measure])
    worse = [name for name, row in found.items() if float(row[view.measure]) > constant * (1 + 1e-9)]
    if not worse:
        return f"All of them beat zero information ({sig(constant)})."
    names = ", ".join(worse[:3]) + (f" and {len(worse) - 3} more" if len(worse) > 3 else "")
    return f"**Worse than zero information ({sig(constant)})**: {names}."


def table_reductions(frame: pd.DataFrame, case: str | None, measure: str = "loss") -> pd.DataFrame:
    """Return relative reductions over the budgets, percent, with the paper's own where it gives them.

    Parameters
    ----------
    frame : DataFrame
        Rows of an evaluation.
    case : str or None
        The paper's case whose figures stand beside, for losses only.
    measure : {'loss', 'end_task'}
        What is compared.
    """
    kept = frame[[find_method(str(name)).measure != "bound" for name in frame["method"]]]
    found = compare_pairs(kept, column=measure)
    found = found.rename(
        columns={"reference": "against", "least": "least, %", "mean": "mean, %", "largest": "largest, %"}
    )
    if case is not None and measure == "loss":
        nothing = (math.nan, math.nan, math.nan)
        theirs = [
            REDUCTIONS[case].get(str(reference), nothing) if method == _OURS else nothing
            for method, reference in zip(found["method"], found["against"], strict=True)
        ]
        found[["paper's least, %", "paper's mean, %", "paper's largest, %"]] = np.reshape(theirs, (-1, 3))
    return found


def table_errors(frame: pd.DataFrame, case: str | None) -> pd.DataFrame:
    """Return the largest relative error to the lower bound per method, with the paper's for its two scores."""
    errors = largest_relative_error(frame)
    errors = errors.where(errors.isna() | (errors.abs() > _ROUNDING), 0.0)
    table = pd.DataFrame({"method": errors.index, "largest RelErr, %": errors.to_numpy()})
    if case is not None:
        table["paper, both scores, %"] = [
            RELATIVE_ERRORS[case] if str(name) in SCORES else math.nan for name in table["method"]
        ]
    return table


def table_beside_paper(frame: pd.DataFrame, case: str) -> pd.DataFrame:
    """Return our loss and the paper's, one row per method and two columns per budget."""
    paper = paper_table(case)
    wide: dict[str, pd.Series] = {}
    ours = frame.pivot_table(index="method", columns="epsilon", values="loss", sort=False)
    theirs = paper.pivot_table(index="method", columns="epsilon", values="loss", sort=False)
    for epsilon in sorted(set(ours.columns) & set(theirs.columns)):
        wide[f"{epsilon:g} ours"] = ours[epsilon]
        wide[f"{epsilon:g} paper"] = theirs[epsilon].reindex(ours.index)
    table = pd.DataFrame(wide, index=ours.index)
    return table.rename_axis("method").reset_index()


def explain_paper(frame: pd.DataFrame, case: str, *, remapped: bool) -> str:
    """Return how our reduction of DepHDP-m against ALC+RMP stands to the paper's, and why it differs.

    Parameters
    ----------
    frame : DataFrame
        Rows of an evaluation.
    case : str
        One of `core.evaluation.paper_tables.CASES`.
    remapped : bool
        Whether the scenario remaps the noise of DepHDP's own groups.
    """
    least, mean, largest = REDUCTIONS[case][_REFERENCE]
    said = (
        f"**{CASES[case]}**, {LABEL}: {_OURS} loses {least:.1f} to {largest:.1f} % less than {_REFERENCE}, "
        f"{mean:.1f} % on average."
    )
    pairs = compare_pairs(frame, [(_OURS, _REFERENCE)])
    if pairs.empty:
        return f"{said} Run {_OURS} and {_REFERENCE} to see ours."
    ours = pairs.iloc[0]
    said += f" Here it is **{sig(ours['least'])} to {sig(ours['largest'])} %, {sig(ours['mean'])} % on average**."
    return said if least <= ours["mean"] <= largest else f"{said} {_why(frame, remapped=remapped)}"


def _why(frame: pd.DataFrame, *, remapped: bool) -> str:
    """Say what differs: preparation, how few groups the score optimises, and that the rest may lack a remapping."""
    rows = frame[frame["method"] == _OURS]
    few = ""
    if "optimised" in rows and rows["optimised"].notna().all():
        low, high, groups = (
            int(rows[c].agg(f)) for c, f in (("optimised", "min"), ("optimised", "max"), ("groups", "max"))
        )
        count = f"{high}" if low == high else f"{low} to {high}"
        few = f"{_OURS} optimises {count} of {groups} groups here"
        few += "; the others keep noise that is not remapped, while the baseline remaps all" if not remapped else ""
        few += ". "
    why = f"{few}Levels, test rows and the task's constants are those of the bundled table, not the paper's."
    tuned = compare_pairs(frame, [("DepHDP tuned", _REFERENCE)])
    if tuned.empty:
        return why
    return f"{why} DepHDP tuned, which chooses by predicted loss, comes to {sig(tuned.iloc[0]['mean'])} % on average."
