"""The channels of one group on the Mechanisms page: pickers, heatmaps, the table of losses, where it is tight."""

from collections.abc import Sequence
from typing import Final

import numpy as np
import streamlit as st

from core.channel import Channel
from core.pipeline import Stages
from core.plots.channels import (
    CHANNEL_HEIGHT,
    ChannelView,
    explain_channels,
    plot_channels,
    table_channels,
    table_factorised,
    table_row,
    table_tight,
)
from core.plots.template import sig
from core.scenario import Scenario
from pages._ui import cache, figure, inputs, outputs, state

SOLVED_AT_ONCE: Final = 64
"""Groups of at most this many states are solved without being asked."""
_GROUP: Final = "mechanism_group"
_ASKED: Final = "mechanism_solve"


def picked(stages: Stages, default: int) -> int:
    """Return the position of the group whose channels are shown; `default` if none was picked among these groups."""
    members = state.option(_GROUP)
    return stages.groups.index(members) if members in stages.groups else default


def pick(stages: Stages, k: int) -> None:
    """Show the channels of another group."""
    state.set_option(_GROUP, stages.groups[k])


def asked() -> tuple[int, ...] | None:
    """Return the group whose optimum was asked for."""
    members: tuple[int, ...] | None = state.option(_ASKED)
    return members


def wanted(stages: Stages, k: int) -> bool:
    """Return whether the optimum of a group may be solved now: it is cheap, needed, or was asked for."""
    profile = stages.profiles[k]
    needed = stages.choices[k] == "OPT" or stages.groups[k] == asked()
    return stages.affordable(profile) and (profile.domain.size <= SOLVED_AT_ONCE or needed)


def show(stages: Stages, names: Sequence[str], k: int, *, ready: bool) -> None:
    """Show the channels of group `k`, or what there is to do before they can be shown; `ready` once budgets are."""
    profile = stages.profiles[k]
    if not ready:
        st.caption("The channels appear as soon as the groups' budgets are known; they are being computed below.")
        return
    with st.container(horizontal=True, gap="small", key="channel_controls"):
        cell = inputs.Cell(_GROUP, k, lambda new: pick(stages, int(new)))
        inputs.choice(cell, options=dict(enumerate(names)), label="Group", help="The group whose channels are shown.")
        now = profile.domain.enumerated and (wanted(stages, k) or not stages.affordable(profile))
        view = _view(stages, k) if now else None
    if not profile.domain.enumerated:
        _factorised(stages, k)
    elif view is None:
        outputs.empty(
            f"The optimum of this group, on {profile.domain.size} states, takes a while.",
            "Solve it",
            lambda: state.set_option(_ASKED, stages.groups[k]),
            height=CHANNEL_HEIGHT,
        )
    else:
        _draw(stages, k, view)


def _view(stages: Stages, k: int) -> ChannelView:
    """Build the channels and show the pickers that choose among them."""
    profile, members = stages.profiles[k], stages.groups[k]
    attributes = [stages.records.attributes[i] for i in members]
    labels = tuple(
        ", ".join(a.levels[c] for a, c in zip(attributes, codes, strict=True))
        for codes in np.asarray(profile.domain.states).tolist()
    )
    token = f"channels {state.table().digest} {stages.scenario.digest()} {k}"
    with outputs.working("Building the channels", token=token, height=CHANNEL_HEIGHT, name="channels") as progress:
        channels = cache.stages(progress).compare(k)
    left, right = _pair(channels, stages.scenario)
    row = inputs.choice(
        inputs.option(f"true state {members}", _frequent(profile.domain.prior)),
        options=dict(enumerate(f"{i + 1}: {text}" for i, text in enumerate(labels))),
        label="True state",
        help="Its row is outlined and drawn as bars; a click on a row of a heatmap chooses it too.",
        key="choice_true_state",
    )
    assert profile.loss is not None
    return ChannelView(
        channels=channels,
        labels=labels,
        row=int(row),
        loss=profile.loss.matrix,
        distance=profile.domain.distance,
        prior=profile.domain.prior,
        pair=(left, right),
        zero_information=profile.zero_information,
    )


def _frequent(prior: np.ndarray) -> int:
    return int(np.argmax(prior))


def _pair(channels: Sequence[Channel], scenario: Scenario) -> tuple[str, str]:
    """Choose two channels; at first the scenario's own noise and the optimum."""
    names = [c.mechanism for c in channels]
    own = scenario.noise if scenario.remap == "none" else f"{scenario.noise}, remapped ({scenario.remap})"
    firsts = (own if own in names else names[0], "OPT" if "OPT" in names else names[-1])
    left, right = (
        inputs.choice(
            inputs.option(f"channel_{side}", first),
            options=[first, *(name for name in names if name != first)],
            label=side.capitalize(),
            help=f"Channel of the {side} heatmap.",
        )
        for side, first in zip(("left", "right"), firsts, strict=True)
    )
    return left, right


def _draw(stages: Stages, k: int, view: ChannelView) -> None:
    members, mechanism = stages.groups[k], view.pair[1]
    figure.figure(
        plot_channels(view),
        key="channels",
        on_pick=lambda row: state.set_option(f"true state {members}", int(row)),
    )
    st.caption(explain_channels(view, float(stages.budgets.epsilons[k])).replace("**", ""))
    outputs.table(table_channels(view), name="channels")
    with st.expander(f"The row of the true state, and where the certificate of {mechanism} is tight"):
        outputs.table(table_row(view), name="channel_row")
        certified = view.named(mechanism).certified_epsilon
        st.caption(f"{sig(certified)} per unit of distance is what these integers satisfy; it is decided here:")
        outputs.table(table_tight(view, mechanism), name="tight")


def _factorised(stages: Stages, k: int) -> None:
    """Say how a group too large for a channel of its own is perturbed, part by part."""
    domain, channel = stages.profiles[k].domain, stages.channels[k]
    names = [stages.records.attributes[i].name for i in stages.groups[k]]
    outputs.remark(
        f"This group has {domain.product:,} combinations, too many for a channel of its own. It is perturbed attribute "
        f"by attribute; together the parts certify **{sig(channel.certified_epsilon)}**. Raise tau_group or use fewer "
        "bins to optimise it."
    )
    if not isinstance(channel, Channel):
        outputs.table(table_factorised(channel, names), name="factorised")
