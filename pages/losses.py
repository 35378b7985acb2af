"""How perturbing a group hurts the task: loss against distance, sensitivity, and the end-to-end surrogate."""

from pages._ui.shell import guard

guard()

from typing import Final

import numpy as np
import streamlit as st

from core.pipeline import Stages
from core.plots.grouping import group_label
from core.plots.losses import (
    HEIGHT,
    LossView,
    explain_losses,
    plot_losses,
    plot_sensitivity,
    plot_surrogate,
    table_losses,
    table_terms,
)
from core.plots.palette import DPN, OPT
from core.plots.template import escape, percent, sig
from core.stability import why_radial
from pages._ui import cache, figure, inputs, late, outputs, state

METHOD: Final = r"""
**Group loss** $c_k[x_k, y_k]$: mean over the records with $X_k = x_k$ of $\gamma(U(x), U(y))$ where only group $k$ is
changed (section 3.4). **Radial-fit score**: $1 - \mathrm{RMSE} / \mathrm{Std}$ of the best non-decreasing function of
distance (solid); **MSE-likeness**: the same for $a\,d^2 + b$, $a \ge 0$ (dashed). 1 means that distance explains the
loss entirely. **Surrogate**: $c \approx \beta_0 + \sum_k \beta_k c_k$, fitted by non-negative least squares on pairs
that change one to all groups, with each group's isolated loss in the record's own context,
and judged on held-out pairs.
"""


def _labels(stages: Stages, members: tuple[int, ...]) -> tuple[str, ...]:
    domain = stages.domain(members)
    attributes = [stages.records.attributes[i] for i in members]
    return tuple(
        escape(", ".join(a.levels[c] for a, c in zip(attributes, state_codes, strict=True)))
        for state_codes in np.asarray(domain.states).tolist()
    )


def _view(stages: Stages) -> LossView:
    return LossView(
        names=tuple(group_label(names) for names in stages.group_names),
        members=stages.groups,
        profiles=stages.profiles,
        beta=tuple(float(b) for b in stages.surrogate.beta),
        unit=stages.task.unit,
        score=stages.scenario.score,
        states=tuple(_labels(stages, members) for members in stages.groups),
    )


def _controls(stages: Stages) -> bool:
    inputs.choice("task", key="choice_task_here")
    own = inputs.toggle(
        inputs.option("loss_own_scales", False),
        label="Own scales",
        help="Give every group its own axes: shapes are seen, sizes no longer compare.",
    )
    state.set_option("loss_own_scales", own)
    outputs.key(
        ("circle", "@neutral", "a pair of states, colour of its group"),
        ("line", DPN, "isotonic fit (radial)"),
        ("dash", OPT, "quadratic fit (MSE)"),
    )
    st.caption(stages.task.statement)
    return bool(own)


def _surrogate(stages: Stages, view: LossView) -> None:
    surrogate = stages.surrogate
    figure.figure(plot_surrogate(surrogate, view.names, view.unit), key="surrogate")
    terms = table_terms(surrogate, view.names)
    if surrogate.quadratic is None or terms.empty:
        st.caption("There are too few pairs per term for quadratic diagnostics with this many groups.")
        return
    gained = max(surrogate.quadratic.r2 - surrogate.r2, 0.0)
    left = ", ".join(view.names[g] for g in surrogate.quadratic.left_out)
    said = f"Interactions and squares would explain **{percent(gained)}** more of the held-out loss."
    if left:
        said += f" Squares left out, because two loss values cannot tell them from the linear term: {left}."
    outputs.remark(said)
    outputs.table(terms, name="surrogate_terms")


def _details(stages: Stages) -> None:
    borrowed = sum(p.loss.borrowed for p in stages.profiles if p.loss)
    exhaustive = sum(p.loss is not None and p.loss.exhaustive for p in stages.profiles)
    st.markdown(
        f"- {exhaustive} of {len(stages.profiles)} groups have exhaustive losses; the others are sampled.\n"
        f"- {borrowed} cells without a record borrow the contexts of the nearest states.\n"
        f"- Surrogate on held-out pairs: R² {sig(stages.surrogate.r2)}, mean absolute error "
        f"{sig(stages.surrogate.mean_absolute_error)}, intercept {sig(stages.surrogate.intercept)}."
    )


stages = cache.stages() if state.has_table() else None
outputs.head(
    "How does perturbing a group hurt the task?",
    "Each dot compares two states of a group. Where one curve of distance fits them, plain noise is a good match.",
    late.strip(stages) if stages else outputs.EMPTY_STRIP,
)
if stages is None:
    outputs.empty("No table is loaded yet.", "Use the sample Heart", lambda: state.choose_source("heart"))
    st.stop()
main, controls = outputs.bench()
with (
    main,
    outputs.working(
        "Measuring losses", token=f"loss {state.table().digest} {state.scenario().digest()}", height=HEIGHT
    ) as progress,
):
    stages = cache.stages(progress)
    view = _view(stages)
with controls:
    own_scales = _controls(stages)
with main:
    figure.figure(plot_losses(view, own_scales=own_scales), key="losses")
first = view.profiles[view.order[0]]
evidence = why_radial(first.pair_distance, first.pair_loss, first.radial)
outputs.means(explain_losses(view, evidence, stages.surrogate))
outputs.tabs(
    first={
        "Sensitivity": lambda: figure.figure(plot_sensitivity(view), key="sensitivity"),
        "Surrogate": lambda: _surrogate(stages, view),
    },
    numbers=table_losses(view),
    method=METHOD,
    details=lambda: _details(stages),
    name="losses",
)
late.finish_strip()
