"""Which groups deserve optimisation: size against score, regret, and the channels of one group side by side."""

from pages._ui.shell import guard

guard()

from typing import Final

import streamlit as st

from core.curves import regret
from core.metric import uniform_split
from core.pipeline import Stages
from core.plots.grouping import group_label
from core.plots.mechanisms import (
    HEIGHT,
    MechanismView,
    explain_mechanisms,
    plot_mechanisms,
    table_mechanisms,
    telling_group,
)
from core.plots.palette import DPN, OPT
from core.plots.stability import explain_stability, plot_stability, table_stability
from pages._ui import cache, channels, figure, held_out, inputs, late, outputs, state

METHOD: Final = r"""
A group is **optimised** (OPT) iff its domain has at most $\tau_\text{dim}$ states and its score is at most
$\tau_\text{dpn}$ (section 3.5); else it gets predefined noise (DPN). **Score**: 1 where distance explains the loss.
The scores ignore the prior, so **regret** is shown beside them: $(L_\text{DPN} - L_\text{OPT}) / L_\text{DPN}$ at the
group's current budget (for single attributes: at an equal share of epsilon). Every channel is a table of integers that
sum to $2^{58}$ per row; its certificate is the smallest $\epsilon$ that these integers satisfy, rounded up.
**Stability**: scores on the held-out pairs of 20 distance-stratified 70/30 splits (Table 5).
"""
KINDS: Final = {"radial": "radial fit", "mse": "MSE-likeness"}
NAN: Final = float("nan")


def _single() -> bool:
    return bool(state.option("mechanisms_single", False))


def _attributes(stages: Stages) -> MechanismView:
    """Judge every attribute on its own, at an equal share of epsilon (the paper's Fig. 1)."""
    scenario, kind, profiles = stages.scenario, stages.scenario.score, stages.single_profiles
    share = uniform_split(scenario.epsilon, len(profiles), scenario.p)
    solved = [stages.affordable(p) and p.domain.size <= channels.SOLVED_AT_ONCE for p in profiles]
    inside = [stages.affordable(p) and p.score(kind) <= stages.tau_dpn for p in profiles]
    return MechanismView(
        names=tuple(a.name for a in stages.records.attributes),
        sizes=tuple(p.domain.size for p in profiles),
        scores=tuple(p.score(kind) for p in profiles),
        choices=tuple("OPT" if i else "DPN" for i in inside),
        regrets=tuple(
            regret(stages.noise_curve(p), stages.optimal_curve(p), share) if s else NAN
            for p, s in zip(profiles, solved, strict=True)
        ),
        tau_dim=scenario.tau_dim,
        tau_dpn=stages.tau_dpn,
        picked=None,
        kind=KINDS[kind],
        what="attributes",
    )


def _groups(stages: Stages) -> MechanismView:
    scenario, kind, profiles = stages.scenario, stages.scenario.score, stages.profiles
    if scenario.rule == "regret":
        regrets = stages.regrets
    else:
        regrets = tuple(stages.saving(k) if channels.wanted(stages, k) else NAN for k in range(len(profiles)))
    return MechanismView(
        names=tuple(group_label(group) for group in stages.group_names),
        sizes=tuple(p.domain.size for p in profiles),
        scores=tuple(p.score(kind) for p in profiles),
        choices=stages.choices,
        regrets=regrets,
        tau_dim=scenario.tau_dim,
        tau_dpn=stages.tau_dpn,
        picked=channels.picked(stages, telling_group(stages.choices, regrets)),
        kind=KINDS[kind],
        thresholds=scenario.rule == "score",
        tau_regret=scenario.tau_regret if scenario.rule == "regret" else None,
    )


def _controls(stages: Stages, view: MechanismView) -> None:
    inputs.segments(
        inputs.option("mechanisms_single", False),
        options={False: "Groups", True: "Attributes"},
        label="Judge",
        help="The groups of the design, or every attribute on its own (the paper's Fig. 1).",
    )
    rule = inputs.choice("rule")
    if rule != "DPN" or _single():
        inputs.number("tau_dim", digits=0)
    if view.thresholds:
        inputs.number(inputs.Cell("tau_dpn", view.tau_dpn, lambda v: state.update(tau_dpn=float(v))), step=0.01)
    if rule == "regret":
        inputs.number("tau_regret", step=0.01)
    with st.popover("Score and noise", key="mechanism_more", width="stretch"):
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
main, controls = outputs.bench()
token = f"mechanisms {state.table().digest} {state.scenario().digest()} {_single()}"
with main, outputs.working("Comparing mechanisms", token=token, height=HEIGHT) as progress:
    view = (_attributes if _single() else _groups)(cache.stages(progress))
with controls:
    _controls(stages, view)
with main:
    figure.figure(
        plot_mechanisms(view),
        key="mechanisms",
        on_drag=_dragged,
        on_pick=None if _single() else lambda k: channels.pick(stages, int(k)),
    )
outputs.means(explain_mechanisms(view))
first = {}
if view.picked is not None:
    first["Channels"] = lambda: channels.show(stages, view.names, view.picked)
    first["Stability"] = lambda: _stability(stages, view)
outputs.tabs(first=first, numbers=table_mechanisms(view), method=METHOD, name="mechanisms")
if not _single():
    held_out.finish(stages)
late.finish_strip()
