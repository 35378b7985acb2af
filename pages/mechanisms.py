"""Which groups deserve optimisation: size against score, regret, and the channels of one group side by side."""

from pages._ui.shell import guard

guard()

from typing import Final

import streamlit as st

from core.pipeline import Stages
from core.plots.mechanisms import (
    HEIGHT,
    MechanismView,
    explain_mechanisms,
    plot_mechanisms,
    table_mechanisms,
)
from core.plots.palette import DPN, OPT
from core.plots.stability import explain_stability, plot_stability, table_stability
from pages._ui import (
    cache,
    channels,
    choices,
    compare,
    figure,
    held_out,
    inputs,
    late,
    outputs,
    soon,
    state,
    validation,
)

METHOD: Final = r"""
A group is **optimised** (OPT) iff its domain has at most $\tau_\text{dim}$ states and its score is at most
$\tau_\text{dpn}$ (section 3.5); else it gets predefined noise (DPN). **Score**: 1 where distance explains the loss.
The scores ignore the prior, so **regret** is shown beside them: $(L_\text{DPN} - L_\text{OPT}) / L_\text{DPN}$ at the
group's current budget (for single attributes: at an equal share of epsilon). Every channel is a table of integers that
sum to $2^{58}$ per row; its certificate is the smallest $\epsilon$ that these integers satisfy, rounded up.
**Validation**: 500 random groups of 15 points in the unit square (Euclidean, diameter 1), flat prior, $\epsilon = 5$,
loss $(1-w)\,d^g + w R$ with $g \sim U[\frac12, 3]$, $w \sim U[0, 1]$, $R$ uniform noise; the paper (Fig. 5) does not
give its own. **Stability**: scores on the held-out pairs of 20 distance-stratified 70/30 splits (Table 5).
"""


def _controls(stages: Stages, view: MechanismView) -> None:
    inputs.segments(
        inputs.option("mechanisms_single", False),
        options={False: "Groups", True: "Attributes"},
        label="Judge",
        help="The groups of the design, or every attribute on its own (the paper's Fig. 1).",
    )
    rule = inputs.choice("rule")
    if rule != "DPN" or choices.single():
        inputs.number("tau_dim", digits=0)
    if view.thresholds:
        inputs.number(inputs.Cell("tau_dpn", view.tau_dpn, lambda v: state.update(tau_dpn=float(v))), step=0.01)
    if rule == "regret":
        inputs.number("tau_regret", step=0.01)
    help = "How groups are scored, and which noise the others get; the guarantee stays."
    with st.popover("Score and noise", key="mechanism_more", width="stretch", help=help):
        inputs.choice("score")
        inputs.choice("noise")
        inputs.choice("remap")
    outputs.key(("diamond", OPT, "OPT, optimal channel"), ("circle", DPN, "DPN, distance noise"))


def _dragged(values: dict[str, float]) -> None:
    changes: dict[str, float] = {}
    if "tau_dim" in values:
        changes = {"tau_dim": int(values["tau_dim"]), "tau_dpn": round(values["tau_dpn"], 6)}
    if "tau_regret" in values:
        changes["tau_regret"] = round(values["tau_regret"] / 100, 6)
    state.update(**changes)


def _stability(stages: Stages, view: MechanismView) -> None:
    found = held_out.recall(stages)
    if found is None:
        st.caption("The scores of held-out pairs are being computed below.")
        return
    scores = found[stages.scenario.score]
    figure.figure(plot_stability(view.names, scores, view.tau_dpn, kind=view.kind), key="stability")
    outputs.remark(explain_stability(scores, view.tau_dpn))
    outputs.table(table_stability(view.names, scores, view.tau_dpn), name="stability")


stages = cache.stages() if state.has_table() else None
outputs.head(
    "Which groups deserve an optimal mechanism?",
    "Small domain and low score: plain distance noise fits the task badly there, and the optimum is affordable.",
    late.strip(stages) if stages else outputs.EMPTY_STRIP,
)
if stages is None:
    outputs.empty("No table is loaded yet.", "Use the sample Heart", lambda: state.choose_source("heart"))
    st.stop()
compare.beside()
main, controls = outputs.bench()
token = f"mechanisms {state.table().digest} {state.scenario().digest()} {choices.single()} {channels.asked()}"
with main, outputs.working("Comparing mechanisms", token=token, height=HEIGHT) as progress:
    view = choices.judge(cache.stages(progress))
regrets = soon.attempt("regrets", token, lambda progress: choices.solve_regrets(cache.stages(progress)))
view = choices.fill(view, stages, regrets)
with main:
    figure.figure(
        plot_mechanisms(view),
        key="mechanisms",
        on_drag=_dragged,
        on_pick=None if choices.single() else lambda k: channels.pick(stages, int(k)),
    )
with controls:
    _controls(stages, view)
outputs.means(explain_mechanisms(view))
first = compare.tabs("choices")
if view.picked is not None:
    first["Channels"] = lambda: channels.show(stages, view.names, view.picked, ready=not view.pending)
    first["Stability"] = lambda: _stability(stages, view)
first["Validation"] = validation.show
outputs.tabs(first=first, numbers=table_mechanisms(view), method=METHOD, name="mechanisms")
late.finish(
    "regrets", token, "Solving what OPT would save", lambda progress: choices.solve_regrets(cache.stages(progress))
)
if not choices.single():
    held_out.finish(stages)
late.finish_strip()
compare.finish()
