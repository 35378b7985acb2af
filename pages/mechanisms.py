"""Which groups deserve optimisation: size against score, regret, and the channels of one group side by side."""

from pages._ui.shell import guard

guard()

from typing import Final

import numpy as np
import pandas as pd
import streamlit as st

from core.certificate import locate_tight
from core.pipeline import Stages
from core.plots.grouping import group_label
from core.plots.mechanisms import (
    CHANNEL_HEIGHT,
    HEIGHT,
    MechanismView,
    explain_mechanisms,
    plot_channels,
    plot_mechanisms,
    table_channels,
    table_mechanisms,
)
from core.plots.palette import DPN, OPT
from core.plots.template import escape, sig
from pages._ui import cache, figure, inputs, late, outputs, state

REGRET_LIMIT: Final = 64
"""Groups of at most this many states are solved without being asked, so that regret is seen at once."""
TIGHT: Final = 6
METHOD: Final = r"""
A group is **optimised** (OPT) iff its domain has at most $\tau_\text{dim}$ states and its score is at most
$\tau_\text{dpn}$ (section 3.5); else it gets predefined noise (DPN). **Score**: 1 where distance explains the loss.
The scores ignore the prior, so **regret** is shown beside them: $(L_\text{DPN} - L_\text{OPT}) / L_\text{DPN}$ at the
group's current budget. Every channel is a table of integers that sum to $2^{58}$ per row; its certificate is the
smallest $\epsilon$ that these integers satisfy, rounded up.
"""
KINDS: Final = {"radial": "radial fit", "mse": "MSE-likeness"}


def _single() -> bool:
    return bool(state.option("mechanisms_single", False))


def _view(stages: Stages) -> MechanismView:
    scenario, kind = stages.scenario, stages.scenario.score
    if _single():
        profiles = stages.single_profiles
        names = tuple(a.name for a in stages.records.attributes)
        inside = [stages.affordable(p) and p.score(kind) <= stages.tau_dpn for p in profiles]
        choices, regrets, picked = tuple("OPT" if i else "DPN" for i in inside), (float("nan"),) * len(names), None
    else:
        profiles, choices = stages.profiles, stages.choices
        names = tuple(group_label(group) for group in stages.group_names)
        picked = _picked(len(names))
        solve = [
            stages.affordable(p) and (p.domain.size <= REGRET_LIMIT or choices[k] == "OPT" or k == _asked())
            for k, p in enumerate(profiles)
        ]
        regrets = tuple(stages.saving(k) if wanted else float("nan") for k, wanted in enumerate(solve))
    return MechanismView(
        names=names,
        sizes=tuple(p.domain.size for p in profiles),
        scores=tuple(p.score(kind) for p in profiles),
        choices=choices,
        regrets=regrets,
        tau_dim=scenario.tau_dim,
        tau_dpn=stages.tau_dpn,
        picked=picked,
        kind=KINDS[kind],
        thresholds=scenario.rule == "score" or _single(),
    )


def _asked() -> int | None:
    asked: int | None = state.option("mechanism_solve")
    return asked


def _picked(count: int) -> int:
    return min(int(state.option("mechanism_group", 0)), count - 1)


def _controls(stages: Stages, view: MechanismView) -> None:
    inputs.choice("rule")
    if view.thresholds:
        inputs.choice("score")
        inputs.number("tau_dim", digits=0)
        tau = inputs.Cell("tau_dpn", view.tau_dpn, lambda value: state.update(tau_dpn=float(value)))
        inputs.number(tau, step=0.01)
    if stages.scenario.rule == "regret":
        inputs.number("tau_regret", step=0.01)
    if stages.scenario.rule != "OPT":
        inputs.choice("noise")
        inputs.choice("remap")
    outputs.key(("diamond", OPT, "OPT, optimal channel"), ("circle", DPN, "DPN, distance noise"))
    inputs.toggle(
        inputs.option("mechanisms_single", False),
        label="Attributes alone",
        help="Judge every single attribute instead of the groups (the paper's Fig. 1).",
    )


def _labels(stages: Stages, k: int) -> list[str]:
    attributes = [stages.records.attributes[i] for i in stages.groups[k]]
    states = np.asarray(stages.profiles[k].domain.states).tolist()
    return [", ".join(a.levels[c] for a, c in zip(attributes, codes, strict=True)) for codes in states]


def _channels(stages: Stages, k: int) -> None:
    profile = stages.profiles[k]
    if not profile.domain.enumerated:
        st.html(
            f'<p class="means">This group has {profile.domain.product:,} states and is perturbed attribute by '
            "attribute; it has no single channel to show. Raise tau_group or use fewer bins.</p>"
        )
        return
    token = f"channels {state.table().digest} {stages.scenario.digest()} {k}"
    with outputs.working("Building the channels", token=token, height=CHANNEL_HEIGHT, name="channels") as progress:
        channels = cache.stages(progress).compare(k)
    names, labels = [c.mechanism for c in channels], _labels(stages, k)
    with st.container(horizontal=True, gap="medium", key="channel_controls"):
        left = inputs.choice(
            inputs.option("channel_left", names[0]), options=names, label="Left", help="Channel of the left heatmap."
        )
        right = inputs.choice(
            inputs.option("channel_right", "OPT"), options=names, label="Right", help="Channel of the right heatmap."
        ) if "OPT" in names else names[-1]  # fmt: skip
        row = inputs.choice(
            inputs.Cell("channel_row", _row(len(labels)), lambda v: state.set_option("channel_row", v)),
            options=dict(enumerate(f"{i + 1}: {text}" for i, text in enumerate(labels))),
            label="True state",
            help="Its row is outlined and drawn as bars.",
        )
    assert profile.loss is not None
    figure.figure(
        plot_channels(channels, labels, int(row), loss=profile.loss.matrix, shown=(left, right)), key="channels"
    )
    outputs.table(table_channels(channels, profile.zero_information), name="channels")
    tight = next(c for c in channels if c.mechanism == right)
    places = locate_tight(tight.weights, profile.domain.distance, TIGHT)
    st.caption(f"Where the certificate of {right} is tight, {sig(tight.certified_epsilon)} per unit of distance:")
    st.dataframe(
        pd.DataFrame(
            [{"state": labels[x], "against": labels[z], "released": labels[y], "epsilon": e} for x, z, y, e in places]
        ),
        hide_index=True,
        width="stretch",
    )


def _row(count: int) -> int:
    return min(int(state.option("channel_row", 0)), count - 1)


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
token = f"mechanisms {state.table().digest} {state.scenario().digest()} {_single()} {_asked()}"
with main, outputs.working("Comparing mechanisms", token=token, height=HEIGHT) as progress:
    stages = cache.stages(progress)
    view = _view(stages)
with controls:
    _controls(stages, view)
with main:
    figure.figure(
        plot_mechanisms(view),
        key="mechanisms",
        on_drag=lambda values: state.update(tau_dim=int(values["tau_dim"]), tau_dpn=round(values["tau_dpn"], 3)),
        on_pick=lambda k: state.set_option("mechanism_group", int(k)),
    )
outputs.means(explain_mechanisms(view))
first = {}
if not _single():
    k = _picked(len(view.names))
    first = {f"Channel of {escape(view.names[k])}": lambda: _channels(stages, k)}
outputs.tabs(first=first, numbers=table_mechanisms(view), method=METHOD, name="mechanisms")
late.finish_strip()
