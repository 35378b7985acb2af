"""How the privacy budget is spent: total epsilon, its allocation, and the loss-budget curve of every group."""

from pages._ui.shell import guard

guard()

from typing import Final

import streamlit as st

from core.allocation import smallest_epsilon_for
from core.errors import InputError
from core.pipeline import Stages
from core.plots.budget import HEIGHT, BudgetView, explain_budget, plot_budget, table_budget
from core.plots.grouping import group_label
from core.plots.palette import DPN, OPT, TUNED, UNIFORM
from core.plots.template import percent, sig
from pages._ui import cache, figure, inputs, late, outputs, state

METHOD: Final = r"""
Minimise $\beta_0 + \sum_k \beta_k L_k(\epsilon_k)$ subject to $\|\epsilon\|_q \le \epsilon$, $1/p + 1/q = 1$
(section 3.6, Theorem 1). Every $L_k$ lies between two convex piecewise-linear envelopes (dotted): the greatest convex
minorant of the shifted lower bounds and the least convex majorant of the shifted upper ones. The better of the two
envelope allocations is taken; the optimum under the lower envelopes bounds what any allocation could reach
(Proposition 2). Curves are drawn as $\beta_k L_k$, so that they add up to the total with $\beta_0$.
"""


def _view(stages: Stages) -> BudgetView:
    return BudgetView(
        names=tuple(group_label(names) for names in stages.group_names),
        choices=stages.choices,
        curves=stages.curves,
        beta=tuple(float(b) for b in stages.surrogate.beta),
        constants=tuple(p.zero_information for p in stages.profiles),
        budgets=stages.budgets,
        track=stages.track,
        design=stages.design,
        uniform_loss=stages.uniform_loss,
        unit=stages.task.unit,
    )


def _controls(view: BudgetView) -> None:
    inputs.number("epsilon", step=0.25, key="number_epsilon", bounds=(0.25, float(view.track.totals[-1])))
    inputs.segments("allocation")
    own = inputs.toggle(
        inputs.option("budget_own_scales", False),
        label="Own scales",
        help="Give every group its own loss axis: shapes are seen, sizes no longer compare.",
    )
    state.set_option("budget_own_scales", own)
    outputs.key(
        ("line", TUNED, "total, this allocation"),
        ("diamond", OPT, "OPT, chosen point"),
        ("circle", DPN, "DPN, chosen point"),
        ("band", "@neutral", "envelopes, bound"),
        ("dash", "@neutral", "zero information"),
        ("dashdot", UNIFORM, f"uniform split, {sig(view.equal)}"),
    )


def _reverse(stages: Stages, view: BudgetView) -> None:
    """Answer the reverse question, how much budget a target loss needs."""
    start = float(f"{0.9 * view.design.predicted_loss:.3g}")
    cell = inputs.option("target_loss", start)
    target = inputs.number(
        cell, bounds=(0.0, 1e9), step=max(start / 20, 1e-6), digits=3, label=f"Target loss ({view.unit})",
        help="The largest predicted loss that is acceptable; the smallest total epsilon that reaches it is found.",
        show_ends=False,
    )  # fmt: skip
    try:
        answer = smallest_epsilon_for(
            float(target), stages.curves, beta=view.beta, intercept=stages.surrogate.intercept, p=stages.scenario.p
        )
    except InputError as error:
        outputs.refusal(str(error))
        return
    outputs.remark(
        f"A total epsilon of **{sig(answer.epsilon)}** reaches a loss of {sig(float(target))}; no allocation of less "
        f"than {sig(answer.at_least)} could."
    )
    st.button(
        "Use this epsilon",
        key="use_epsilon",
        on_click=lambda: state.update(epsilon=round(answer.epsilon + 5e-4, 3)),
    )


def _details(view: BudgetView) -> None:
    budgets, design = view.budgets, view.design
    kind = "certified" if design.bound_certified else "an estimate, because some losses are sampled"
    price = budgets.allocation.multiplier
    st.markdown(
        f"- Lower bound of the sandwich: **{sig(design.lower_bound)}** ({kind}); the loss is {percent(design.gap)} "
        f"above it, {percent(budgets.relative_error)} before solving at the allocated budgets.\n"
        f"- Record-level certificate: the dual norm of the groups' certified epsilons is "
        f"**{design.certified_epsilon:.12g}**, at most {design.scenario.epsilon:g}.\n"
        f"- One more unit of total epsilon saves about **{sig(price)}** of loss (the multiplier).\n"
        f"- The winning candidate was the {budgets.source}."
    )


stages = cache.stages() if state.has_table() else None
outputs.head(
    "How is the privacy budget spent?",
    "Each group gets the share of epsilon that lowers the total loss most. Drag the total: the shares follow.",
    late.strip(stages) if stages else outputs.EMPTY_STRIP,
)
if stages is None:
    outputs.empty("No table is loaded yet.", "Use the sample Heart", lambda: state.choose_source("heart"))
    st.stop()
main, controls = outputs.bench()
with main:
    token = f"budget {state.table().digest} {state.scenario().digest()}"
    with outputs.working("Designing the mechanism", token=token, height=HEIGHT) as progress:
        stages = cache.stages(progress)
        view = _view(stages)
with controls:
    _controls(view)
with main:
    figure.figure(
        plot_budget(view, own_scales=bool(state.option("budget_own_scales", False))),
        key="budget",
        on_drag=lambda values: state.update(epsilon=values["epsilon"]),
    )
outputs.means(explain_budget(view))
outputs.tabs(
    first={"Target loss": lambda: _reverse(stages, view)},
    numbers=table_budget(view),
    method=METHOD,
    details=lambda: _details(view),
    name="budget",
)
late.finish_strip()
