"""What the budget page shows below its figure: the reverse question, the feasible budgets of two groups, details."""

from collections.abc import Hashable
from typing import Final

import streamlit as st

from core.errors import InputError
from core.limits import EPSILON
from core.pipeline import Stages
from core.plots.budget_view import BudgetView
from core.plots.budget_words import list_details
from core.plots.feasible import explain_feasible, plot_feasible
from core.plots.template import sig
from core.smallest_epsilon import smallest_epsilon_for
from pages._ui import figure, inputs, late, outputs, state

_TARGET_WIDTH: Final = 240
_FEASIBLE_WIDTH: Final = 620


def target_loss(stages: Stages, view: BudgetView, *, token: Hashable) -> None:
    """Answer the reverse question, how much budget a target loss needs.

    Parameters
    ----------
    stages : Stages
        The stages of the page.
    view : BudgetView
        What it draws.
    token : hashable
        Identifies the curves, so that an answer is found again.
    """
    start = float(f"{0.9 * view.design.predicted_loss:.3g}")
    with st.container(width=_TARGET_WIDTH):
        target = inputs.number(
            inputs.option(f"target_loss {state.source()} {stages.scenario.task}", start),
            bounds=(0.0, 1e9),
            step=max(start / 20, 1e-6),
            digits=inputs.decimals(start),
            label=f"Target loss ({view.unit})",
            help="The largest predicted loss that is acceptable; the smallest total epsilon that reaches it is found.",
            key="number_target_loss",
        )
    asked = (token, target)
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


def feasible(view: BudgetView) -> None:
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
    with st.container(width=_FEASIBLE_WIDTH):
        figure.figure(plot_feasible(view, (first, second)), key="feasible")
    outputs.remark(explain_feasible(view, (first, second)))


def details(view: BudgetView) -> None:
    """List what the figure leaves out."""
    st.markdown("\n".join(f"- {line}" for line in list_details(view)))
