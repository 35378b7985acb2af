"""Two more views of the comparison: why measured losses differ from predicted ones, and what an attacker gains."""

from typing import Final

import numpy as np
import pandas as pd
import streamlit as st

from core.evaluation.explained import explain_groups
from core.evaluation.methods import find_method
from core.evaluation.rows import to_frame
from core.plots.evaluation import HEIGHT, table_evaluation
from core.plots.evaluation_attacker import explain_attack, plot_attack, table_attack
from core.plots.evaluation_explained import RESIDUAL, SHIFT, explain_gaps, plot_explained, table_by_group
from core.plots.evaluation_looks import look_of
from pages._ui import cache, evaluation_bar, evaluation_methods, evaluation_runs, figure, outputs, state
from pages._ui import inputs as widgets

_PICKER: Final = 260
"""Width of a picker inside a tab, in pixels."""
EXPLAINED: Final = r"""
A measured loss is the **predicted** surrogate objective under the configuring prior, plus the **prior shift** (the same
objective under the test records' own prior, minus the former), plus the **residual**: what the additive surrogate does
not say of records whose groups are perturbed at once. The whisker is the sampling error of the measured mean,
$1.96\,\text{sd}/\sqrt R$. A residual beyond it is the surrogate's; the joint design is refined on the loss itself.
"""
ATTACKER: Final = r"""
A Bayesian attacker knows the prior of a group and sees its release $y$. **Before**: $\max_v P(v)$. **After**:
$\sum_y \max_v P(v, y)$, from the integers of the channel. The guess is one attribute or all of a group; what other
groups add through the dependence that was cut between them is not counted. Whatever the prior, a release of
$\epsilon\,d$-privacy changes the odds of two values by at most $e^{\epsilon \cdot \text{diameter}}$, with the certified
epsilon of the group.
"""


def _budget(known: list[float]) -> float:
    """Choose one of the budgets that were measured; the one nearest to the scenario's unless one was chosen."""
    own = state.scenario().epsilon
    nearest = min(known, key=lambda e: abs(np.log(e / own)))
    chosen = state.option("evaluation_at", nearest)
    cell = widgets.option("evaluation_at", nearest)
    if chosen not in known:
        cell = widgets.Cell("evaluation_at", nearest, cell.write)
    return float(
        widgets.choice(
            cell, options={e: f"{e:g}" for e in known}, label="At epsilon", help="Which of the measured budgets."
        )
    )


def explained() -> None:
    """Show why measured losses differ from predicted ones."""
    given, wanted = evaluation_runs.inputs(), evaluation_runs.settings()
    rows = evaluation_runs.known(given, wanted)
    job = evaluation_runs.compare(given, wanted)
    main, controls = outputs.bench()
    with controls:
        evaluation_bar.bar(job, found=len(rows), wanted=len(wanted.cells), what="rows", button="Run")
        evaluation_methods.choose_rows(wanted)
    measured = [row for row in rows if find_method(str(row["method"])).measure != "bound"]
    if not measured:
        with main:
            evaluation_methods.empty(job, wanted, HEIGHT)
        outputs.tabs(method=EXPLAINED)
        return
    frame = to_frame(measured)
    with controls:
        epsilon = _budget(sorted(set(frame["epsilon"])))
        outputs.key(
            ("ring", "@neutral", "predicted"),
            ("line", SHIFT, "prior shift"),
            ("line", RESIDUAL, "surrogate residual"),
            ("circle", "@neutral", "measured, ± sampling error"),
        )
    with main:
        figure.figure(plot_explained(frame, epsilon, cache.stages().task.unit), key="explained")
    outputs.means(explain_gaps(frame, epsilon))
    parts = {"Group by group": lambda: _by_group(wanted.repeats, frame, epsilon)}
    outputs.tabs(first=parts, numbers=table_evaluation(frame), method=EXPLAINED, name="explained")


def _by_group(repeats: int, frame: pd.DataFrame, epsilon: float) -> None:
    """Show what each group costs alone on the test records, against what was predicted for it."""
    rows = frame[frame["epsilon"] == epsilon]
    rows = rows[[find_method(str(name)).measure in ("channels", "joint") for name in rows["method"]]]
    names = rows.sort_values("surrogate_residual", key=abs, ascending=False)["method"].tolist()
    if not names:
        st.caption("No method with channels was measured at this budget.")
        return
    cell = widgets.option("explained_method", names[0])
    help = "The largest residual first."
    with st.container(width=_PICKER):
        method = str(widgets.choice(cell, options={name: name for name in names}, label="Method", help=help))
    st.caption(
        "Each group released alone, all else true; the row “together” is what perturbed groups lose, or save, as they "
        "meet. The column “alone” adds up to the measured loss."
    )
    evaluation = evaluation_runs.inputs().evaluation(repeats)
    outputs.table(table_by_group(explain_groups(evaluation, method, epsilon)), name="by_group")


def attacker() -> None:
    """Show what an attacker gains."""
    given, wanted = evaluation_runs.inputs(), evaluation_runs.settings()
    rows = evaluation_runs.known(given, wanted)
    frame = evaluation_runs.known_attacks(given, wanted)
    job = evaluation_runs.compare(given, wanted)
    main, controls = outputs.bench()
    with controls:
        evaluation_bar.bar(job, found=len(rows), wanted=len(wanted.cells), what="rows", button="Run")
        evaluation_methods.choose_rows(wanted)
    if frame.empty:
        with main:
            evaluation_methods.empty(job, wanted, HEIGHT)
        outputs.tabs(method=ATTACKER)
        return
    with controls:
        epsilon = _budget(sorted(set(frame["epsilon"])))
        shown = list(dict.fromkeys(frame.loc[frame["epsilon"] == epsilon, "method"]))
        looks = [(name, look_of(name, i)) for i, name in enumerate(shown)]
        outputs.key(
            ("tick", "@neutral", "before, from the prior alone"),
            *((outputs.swatch(symbol), colour, name) for name, (colour, _, symbol) in looks),
        )
    with main:
        figure.figure(plot_attack(frame, epsilon), key="attacker")
    outputs.means(explain_attack(frame, epsilon))
    outputs.tabs(numbers=table_attack(frame, epsilon), method=ATTACKER, name="attacker")
