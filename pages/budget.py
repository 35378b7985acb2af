"""How the privacy budget is spent: total epsilon, its allocation, and the loss-budget curve of every group."""

from pages._ui.shell import guard

guard()

from typing import Final

import streamlit as st

from core.allocation import evaluate
from core.errors import InputError
from core.limits import EPSILON
from core.metric import uniform_split
from core.pipeline import Progress, Stages
from core.plots.budget import HEIGHT, LOWEST, plot_budget, table_budget
from core.plots.budget_view import BudgetView
from core.plots.budget_words import explain_budget, list_details
from core.plots.feasible import explain_feasible, plot_feasible
from core.plots.grouping import group_label
from core.plots.palette import DPN, OPT, TUNED, UNIFORM
from core.plots.template import sig
from core.refinement import Refinement
from core.smallest_epsilon import smallest_epsilon_for
from pages._ui import cache, compare, figure, inputs, late, outputs, soon, state

TARGET_WIDTH: Final = 240
FEASIBLE_WIDTH: Final = 620
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


def _controls(view: BudgetView) -> bool:
    high = float(view.track.totals[-1])
    inputs.number("epsilon", step=0.25, key="number_epsilon", bounds=(LOWEST, high))
    inputs.segments("allocation")
    inputs.toggle("refine")
    own = inputs.toggle(
        inputs.option("budget_own_scales", False),
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
    return own


def _reverse(stages: Stages, view: BudgetView) -> None:
    """Answer the reverse question, how much budget a target loss needs."""
    start = float(f"{0.9 * view.design.predicted_loss:.3g}")
    with st.container(width=TARGET_WIDTH):
        target = inputs.number(
            inputs.option(f"target_loss {state.source()} {stages.scenario.task}", start),
            bounds=(0.0, 1e9),
            step=max(start / 20, 1e-6),
            digits=inputs.decimals(start),
            label=f"Target loss ({view.unit})",
            help="The largest predicted loss that is acceptable; the smallest total epsilon that reaches it is found.",
            key="number_target_loss",
        )
    asked = (token, bool(finished), target)
    try:
        answer = late.recall("target_loss", asked) or late.keep(
            "target_loss",
            asked,
            smallest_epsilon_for(
                float(target), view.curves, beta=view.beta, intercept=view.intercept, p=stages.scenario.p
            ),
        )
    except InputError as error:
        outputs.refusal(str(error))
        return
    if answer.epsilon < EPSILON.low:
        outputs.remark(f"A loss of {sig(float(target))} needs no budget at all: releasing constants reaches it.")
        return
    outputs.remark(
        f"A total epsilon of **{sig(answer.epsilon)}** reaches a loss of {sig(float(target))}; no allocation of less "
        f"than {sig(answer.at_least)} could."
    )
    st.button(
        "Use this epsilon",
        key="use_epsilon",
        help="Makes it the total epsilon of the scenario; smaller is more private.",
        on_click=lambda: state.update(epsilon=min(round(answer.epsilon + 5e-4, 3), EPSILON.high)),
    )


def _feasible(view: BudgetView) -> None:
    """Show which budgets two groups may have, and why the allocation stands where it does."""
    names, order = dict(enumerate(view.names)), view.order
    with st.container(horizontal=True, gap="small", key="feasible_controls"):
        first = inputs.choice(
            inputs.option("feasible_first", order[0]),
            options=names,
            label="First group",
            help="Along the x axis: its budget against that of the second group.",
        )
        others = {k: name for k, name in names.items() if k != first}
        second = inputs.choice(
            inputs.option("feasible_second", next(k for k in order if k != first)),
            options=others, label="Second group", help="Along the y axis: its budget against that of the first group.",
        )  # fmt: skip
    with st.container(width=FEASIBLE_WIDTH):
        figure.figure(plot_feasible(view, (first, second)), key="feasible")
    outputs.remark(explain_feasible(view, (first, second)))


def _details(view: BudgetView) -> None:
    st.markdown("\n".join(f"- {line}" for line in list_details(view)))


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
with controls:
    own_scales = _controls(view)
with main:
    figure.figure(
        plot_budget(view, own_scales=own_scales),
        key="budget",
        on_drag=lambda values: state.update(epsilon=values["epsilon"]),
    )
outputs.means(explain_budget(view))
first = compare.tabs("budget") | {"Target loss": lambda: _reverse(stages, view)}
if len(view.names) > 1:
    first["Feasible budgets"] = lambda: _feasible(view)
outputs.tabs(
    first=first,
    numbers=table_budget(view),
    method=METHOD,
    details=lambda: _details(view),
    name="budget",
)
late.finish("budget", token, "Refining the allocation", _finish)
late.finish_strip()
compare.finish()
