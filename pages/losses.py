"""How perturbing a group hurts the task: loss against distance, sensitivity, and the end-to-end surrogate."""

from pages._ui.shell import guard

guard()

from typing import Any, Final

import numpy as np
import streamlit as st

from core.pipeline import Stages
from core.plots.grouping import group_label
from core.plots.losses import (
    HEIGHT,
    LossView,
    explain_losses,
    find_evidence,
    plot_losses,
    plot_sensitivity,
    plot_surrogate,
    table_evidence,
    table_losses,
    table_terms,
)
from core.plots.palette import DPN, OPT
from core.plots.stability import table_held_out
from core.plots.template import percent, sig
from pages._ui import cache, compare, figure, held_out, inputs, late, outputs, state

METHOD: Final = r"""
**Group loss** $c_k[x_k, y_k]$: mean over the records with $X_k = x_k$ of $\gamma(U(x), U(y))$ where only group $k$ is
changed (section 3.4). **Radial-fit score**: $1 - \mathrm{RMSE} / \mathrm{Std}$ of the best non-decreasing function of
distance (solid); **MSE-likeness**: the same for $a\,d^2 + b$, $a \ge 0$ (dashed). 1 means that distance explains the
loss entirely. **Held-out scores**: median and half the quartile range over 20 distance-stratified 70/30 splits.
**Surrogate**: $c \approx \beta_0 + \sum_k \beta_k c_k$, fitted by non-negative least squares on pairs that change one
to all groups, with each group's isolated loss in the record's own context, and judged on held-out pairs.
"""


def _labels(stages: Stages, members: tuple[int, ...]) -> tuple[str, ...]:
    attributes = [stages.records.attributes[i] for i in members]
    states = np.asarray(stages.domain(members).states).tolist() if stages.domain(members).enumerated else []
    return tuple(", ".join(a.levels[c] for a, c in zip(attributes, codes, strict=True)) for codes in states)


def _draw(stages: Stages) -> dict[str, Any]:
    """Draw everything once; hundreds of thousands of pairs are looked at."""
    view = LossView(
        names=tuple(group_label(names) for names in stages.group_names),
        members=stages.groups,
        profiles=stages.profiles,
        beta=tuple(float(b) for b in stages.surrogate.beta),
        unit=stages.task.unit,
        states=tuple(_labels(stages, members) for members in stages.groups),
    )
    evidence = find_evidence(view)
    return {
        "view": view,
        "shared": plot_losses(view),
        "own": plot_losses(view, own_scales=True),
        "sensitivity": plot_sensitivity(view),
        "surrogate": plot_surrogate(stages.surrogate, view.names, view.unit),
        "evidence": table_evidence(view, evidence),
        "means": explain_losses(view, evidence[view.order[0]], stages.surrogate),
    }


def _controls(stages: Stages, own_scales: inputs.Cell) -> None:
    inputs.choice("task", key="choice_task_here")
    inputs.toggle(
        own_scales,
        label="Own scales",
        help="Give every group its own axes: shapes are seen, sizes no longer compare.",
    )
    outputs.key(
        ("circle", "@neutral", "pairs of states, in the colour of their group"),
        ("line", DPN, "best function of distance (radial fit)"),
        ("dash", OPT, "squared distance (MSE)"),
    )
    st.caption(stages.task.statement)


def _held_out(stages: Stages, view: LossView) -> None:
    found = held_out.recall(stages)
    if found is None:
        st.caption("The scores of held-out pairs are being computed below.")
        return
    outputs.table(table_held_out(view.names, found["radial"], found["mse"], view.order), name="held_out_scores")


def _surrogate(stages: Stages, drawn: dict[str, Any]) -> None:
    surrogate, view = stages.surrogate, drawn["view"]
    figure.figure(drawn["surrogate"], key="surrogate")
    terms = table_terms(surrogate, view.names)
    if surrogate.quadratic is None or terms.empty:
        st.caption("With so many groups, or only one, there are no quadratic diagnostics.")
        return
    gained = max(surrogate.quadratic.r2 - surrogate.r2, 0.0)
    left = ", ".join(view.names[g] for g in surrogate.quadratic.left_out)
    said = f"Interactions and squares would explain **{percent(gained)}** more of the held-out loss."
    if left:
        said += f" Squares left out, because two loss values cannot tell them from the linear term: {left}."
    outputs.remark(said)
    outputs.table(terms, name="surrogate_terms")


def _details(stages: Stages, drawn: dict[str, Any]) -> None:
    borrowed = sum(p.loss.borrowed for p in stages.profiles if p.loss)
    exhaustive = sum(p.loss is not None and p.loss.exhaustive for p in stages.profiles)
    count = len(stages.profiles)
    measured = "All" if exhaustive == count else f"{exhaustive} of {count}"
    others = "" if exhaustive == count else "; the others are sampled"
    st.markdown(
        f"- {measured} groups have exhaustive losses{others}.\n"
        f"- {borrowed} cells without a record borrow the contexts of the nearest states.\n"
        f"- Surrogate on held-out pairs: R² {sig(stages.surrogate.r2)}, mean absolute error "
        f"{sig(stages.surrogate.mean_absolute_error)}, intercept {sig(stages.surrogate.intercept)}."
    )
    st.caption("Why each loss is radial or not: what distance explains, and the pairs that it cannot tell apart.")
    outputs.table(drawn["evidence"], name="radial_evidence")


stages = cache.stages() if state.has_table() else None
outputs.head(
    "How does perturbing a group hurt the task?",
    "Each dot compares two states of a group. Where one curve of distance fits them, plain noise is a good match.",
    late.strip(stages) if stages else outputs.EMPTY_STRIP,
)
if stages is None:
    outputs.empty("No table is loaded yet.", "Use the sample Heart", lambda: state.choose_source("heart"))
    st.stop()
compare.beside()
main, controls = outputs.bench()
token = held_out.token(stages)
with main, outputs.working("Measuring losses", token=f"loss {token}", height=HEIGHT) as progress:
    drawn = late.recall("losses", token) or late.keep("losses", token, _draw(cache.stages(progress)))
own_scales = inputs.option("loss_own_scales", False)
with main:
    figure.figure(drawn["own" if own_scales.value else "shared"], key="losses")
with controls:
    _controls(stages, own_scales)
outputs.means(drawn["means"])
outputs.tabs(
    first=compare.tabs("losses")
    | {
        "Sensitivity": lambda: figure.figure(drawn["sensitivity"], key="sensitivity"),
        "Held-out scores": lambda: _held_out(stages, drawn["view"]),
        "Surrogate": lambda: _surrogate(stages, drawn),
    },
    numbers=table_losses(drawn["view"]),
    method=METHOD,
    details=lambda: _details(stages, drawn),
    name="losses",
)
held_out.finish(stages)
late.finish_strip()
compare.finish()
