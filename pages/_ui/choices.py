"""The chart of choices on the Mechanisms page: groups or single attributes, and the regrets that fill in later."""

from dataclasses import replace
from typing import Final

from core.curves import regret
from core.metric import uniform_split
from core.pipeline import Stages
from core.plots.grouping import group_label
from core.plots.mechanisms import MechanismView, telling_group
from pages._ui import channels, late, state

KINDS: Final = {"radial": "radial fit", "mse": "MSE-likeness"}
NAN: Final = float("nan")


def single() -> bool:
    """Return whether every attribute is judged on its own, instead of the groups."""
    return bool(state.option("mechanisms_single", False))


def _attributes(stages: Stages) -> MechanismView:
    """Judge every attribute on its own (the paper's Fig. 1)."""
    kind, profiles = stages.scenario.score, stages.single_profiles
    inside = [stages.affordable(p) and p.score(kind) <= stages.tau_dpn for p in profiles]
    return MechanismView(
        names=tuple(a.name for a in stages.records.attributes),
        sizes=tuple(p.domain.size for p in profiles),
        scores=tuple(p.score(kind) for p in profiles),
        choices=tuple("OPT" if i else "DPN" for i in inside),
        regrets=(NAN,) * len(profiles),
        tau_dim=stages.scenario.tau_dim,
        tau_dpn=stages.tau_dpn,
        picked=None,
        kind=KINDS[kind],
        what="attributes",
        pending=True,
    )


def _groups(stages: Stages) -> MechanismView:
    scenario, profiles = stages.scenario, stages.profiles
    return MechanismView(
        names=tuple(group_label(group) for group in stages.group_names),
        sizes=tuple(p.domain.size for p in profiles),
        scores=tuple(p.score(scenario.score) for p in profiles),
        choices=stages.choices,
        regrets=(NAN,) * len(profiles),
        tau_dim=scenario.tau_dim,
        tau_dpn=stages.tau_dpn,
        picked=channels.picked(stages, telling_group(stages.choices, (NAN,) * len(profiles))),
        kind=KINDS[scenario.score],
        thresholds=scenario.rule == "score",
        tau_regret=scenario.tau_regret if scenario.rule == "regret" else None,
        pending=True,
    )


def solve_regrets(stages: Stages) -> tuple[float, ...]:
    """Return what OPT would save, for attributes on their own at an equal share of epsilon."""
    if not single():
        if stages.scenario.rule == "regret":
            return stages.regrets
        return tuple(stages.saving(k) if channels.wanted(stages, k) else NAN for k in range(len(stages.groups)))
    share = uniform_split(stages.scenario.epsilon, len(stages.single_profiles), stages.scenario.p)
    return tuple(
        regret(stages.noise_curve(p), stages.optimal_curve(p), share)
        if stages.affordable(p) and p.domain.size <= channels.SOLVED_AT_ONCE
        else NAN
        for p in stages.single_profiles
    )


def fill(view: MechanismView, stages: Stages, regrets: tuple[float, ...] | None) -> MechanismView:
    """Return the view with its regrets; while they are being computed, with those of before."""
    about = (state.source(), view.names, view.what)
    if regrets is None:
        before = late.recall("regrets_before", about)
        return view if before is None else replace(view, regrets=before)
    late.keep("regrets_before", about, regrets)
    picked = view.picked if view.picked is None else channels.picked(stages, telling_group(view.choices, regrets))
    return replace(view, regrets=regrets, picked=picked, pending=False)


def judge(stages: Stages) -> MechanismView:
    """Return the chart of choices without regrets, which need the budgets of the whole design."""
    return _attributes(stages) if single() else _groups(stages)
