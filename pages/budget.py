"""How the privacy budget is spent: total epsilon, its allocation, and the loss-budget curve of every group."""

from pages._ui.shell import guard

guard()

from typing import Final

import streamlit as st

from core.allocation import evaluate
from core.metric import uniform_split
from core.pipeline import Progress, Stages
from core.plots.budget import HEIGHT, LOWEST, plot_budget, table_budget
from core.plots.budget_view import BudgetView
from core.plots.budget_words import explain_budget
from core.plots.grouping import group_label
from core.plots.palette import DPN, OPT, TUNED, UNIFORM
from core.plots.template import sig
from core.refinement import Refinement
from pages._ui import budget_tabs, cache, compare, figure, inputs, late, outputs, soon, state

METHOD: Final = r"""
Minimise $\beta_0 + \sum_k \beta_k L_k(\epsilon_k)$ subject to $\|\epsilon\|_q \le \epsilon$, $1/p + 1/q = 1$
(section 3.6, Theorem 1). Every $L_k$ lies between two convex piecewise-linear envelopes (dotted): the greatest convex
minorant of the shifted lower bounds and the least convex majorant of the shifted upper ones. The better of the two
envelope allocations is taken; the optimum under the lower envelopes bounds what any allocation could reach
(Proposition 2). Curves are drawn as $\beta_k L_k$, so that they add up to the total with $\beta_0$; between solved
budgets they are drawn smoothly, while every number comes from channels that were built.
"""


def _equal_split(stages: Stages) -> float:
    """Return the loss of the equal split under the curves, until its own channels are built."""
    share = uniform_split(stages.scenario.epsilon, len(stages.groups), stages.scenario.p)
    surrogate = stages.surrogate
    return evaluate(stages.curves, surrogate.beta, [share] * len(stages.groups), intercept=surrogate.intercept)


def _finish(progress: Progress) -> tuple[Refinement | None, float]:
    """Return what takes longer than a drag may wait: refined curves with their design, and the uniform split."""
    stages = cache.stages(progress)
    refinement = stages.refinement if stages.refines else None
    return (refinement, stages.uniform_loss) if stages.design else (None, 0.0)


def _view(stages: Stages, uniform_loss: float | None) -> BudgetView:
    return BudgetView(
        names=tuple(group_label(names) for names in stages.group_names),
        choices=stages.choices,
        curves=stages.curves,
        beta=tuple(float(b) for b in stages.surrogate.beta),
        intercept=stages.surrogate.intercept,
        constants=tuple(p.zero_information for p in stages.profiles),
        budgets=stages.budgets,
        track=stages.track,
        design=stages.design,
        uniform_loss=uniform_loss if uniform_loss is not None else _equal_split(stages),
        unit=stages.task.unit,
        refinement=stages.refinement if stages.refines else None,
    )


def _controls(view: BudgetView, own_scales: inputs.Cell) -> None:
    high = float(view.track.totals[-1])
    inputs.number("epsilon", step=0.25, key="number_epsilon", bounds=(LOWEST, high))
    inputs.segments("allocation")
    inputs.toggle("refine")
    inputs.toggle(
        own_scales,
        label="Own scales",
        help="Give every group its own loss axis: shapes are seen, sizes no longer compare.",
    )
    outputs.key(
        ("line", TUNED, "total, this allocation"),
        ("dashdot", UNIFORM, f"uniform split, {sig(view.equal)} each"),
        ("diamond", OPT, "OPT, chosen point"),
        ("circle", DPN, "DPN, chosen point"),
        ("band", "@neutral", "envelopes, bound"),
        ("dash", "@neutral", "zero information"),
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
compare.beside()
main, controls = outputs.bench()
token = f"budget {state.table().digest} {state.scenario().digest()}"
with main, outputs.working("Designing the mechanism", token=token, height=HEIGHT) as progress:
    designing = cache.stages(progress)
    _ = designing.draft.design, designing.track
finished = soon.attempt("budget", token, _finish)
view = _view(stages, finished[1]) if finished else _view(stages.draft, None)
own_scales = inputs.option("budget_own_scales", False)
with main:
    figure.figure(
        plot_budget(view, own_scales=own_scales.value),
        key="budget",
        on_drag=lambda values: state.update(epsilon=values["epsilon"]),
    )
with controls:
    _controls(view, own_scales)
outputs.means(explain_budget(view))
first = compare.tabs("budget") | {
    "Target loss": lambda: budget_tabs.target_loss(stages, view, token=(token, bool(finished)))
}
if len(view.names) > 1:
    first["Feasible budgets"] = lambda: budget_tabs.feasible(view)
outputs.tabs(
    first=first,
    numbers=table_budget(view),
    method=METHOD,
    details=lambda: budget_tabs.details(view),
    name="budget",
)
late.finish("budget", token, "Refining the allocation", _finish)
late.finish_strip()
compare.finish()
