"""The exhibits of a report: the figures of the four design pages, without what only a pointer would show."""

import json
from typing import Any, Final

from core.pipeline import Stages
from core.plots.budget import plot_budget, table_budget
from core.plots.budget_view import BudgetView
from core.plots.budget_words import explain_budget, list_details
from core.plots.dependencies import plot_groups
from core.plots.graph import Dependence, build_graph
from core.plots.grouping import explain_groups, group_label, table_groups
from core.plots.losses import LossView, explain_losses, find_evidence, plot_losses, table_losses
from core.plots.mechanisms import MechanismView, explain_mechanisms, plot_mechanisms, table_mechanisms
from core.plots.template import Picture
from core.report.document import Exhibit

SOLVED_AT_ONCE: Final = 64
"""Groups of at most this many states are solved for their regret even where nothing needs it."""
_KINDS: Final = {"radial": "radial fit", "mse": "MSE-likeness"}
_HOVER: Final = ("customdata", "hovertemplate", "hovertext", "text")


def draw_exhibits(stages: Stages) -> tuple[Exhibit, ...]:
    """Return the figures of a design with their sentences and tables.

    Parameters
    ----------
    stages : Stages
        The table bound to its scenario; what is missing of the design is computed.
    """
    return _dependencies(stages), _losses(stages), _mechanisms(stages), _budget(stages)


def _plain(picture: Picture, theme: str) -> dict[str, Any]:
    """Return a figure as plain values; hovers go, since they name states and so single people."""
    drawn: dict[str, Any] = json.loads(picture.to_figure(theme).to_json())  # type: ignore[arg-type]
    for trace in drawn["data"]:
        written = "text" in str(trace.get("mode", "")) or trace.get("type") == "bar"
        for name in _HOVER:
            if name != "text" or not written:
                trace.pop(name, None)
        trace["hoverinfo"] = "skip"
    return {"data": drawn["data"], "layout": drawn["layout"]}


def _exhibit(title: str, means: str, picture: Picture, **settings: Any) -> Exhibit:
    return Exhibit(
        title, means, _plain(picture, "light"), _plain(picture, "dark"), picture.height, picture.alt, **settings
    )


def _dependencies(stages: Stages) -> Exhibit:
    scenario, records = stages.scenario, stages.records
    names = tuple(a.name for a in records.attributes)
    graph = build_graph(stages.nmi, stages.staircase, names=names, levels=records.sizes)
    floor = None if scenario.corrected_nmi else stages.noise_floor
    view = Dependence(names, records.sizes, stages.nmi, stages.staircase, graph, floor, scenario.corrected_nmi)
    domains = [stages.domain(members) for members in stages.groups]
    return _exhibit(
        "Which attributes belong together?",
        explain_groups(domains, stages.group_names, tau=scenario.tau_group, floor=floor, remedy=None),
        plot_groups(view, scenario.tau_group),
        table=table_groups(domains, stages.group_names, tau_dim=scenario.tau_dim),
        caption="Left: attributes, linked where they share more information than the threshold; a group has one "
        "colour. Right: the number of groups at every threshold.",
    )


def _losses(stages: Stages) -> Exhibit:
    view = LossView(
        names=tuple(group_label(names) for names in stages.group_names),
        members=stages.groups,
        profiles=stages.profiles,
        beta=tuple(float(b) for b in stages.surrogate.beta),
        unit=stages.task.unit,
        states=tuple(() for _ in stages.groups),
    )
    return _exhibit(
        "How does perturbing a group hurt the task?",
        explain_losses(view, find_evidence(view)[view.order[0]], stages.surrogate),
        plot_losses(view),
        table=table_losses(view),
        caption="A dot is a pair of states. Blue: best non-decreasing function of distance. Orange, dashed: squared "
        "distance. Where a curve fits, plain noise is a good match.",
    )


def _mechanisms(stages: Stages) -> Exhibit:
    scenario, profiles = stages.scenario, stages.profiles
    wanted = [
        stages.affordable(p) and (p.domain.size <= SOLVED_AT_ONCE or choice == "OPT")
        for p, choice in zip(profiles, stages.choices, strict=True)
    ]
    saved = tuple(stages.saving(k) if solve else float("nan") for k, solve in enumerate(wanted))
    view = MechanismView(
        names=tuple(group_label(names) for names in stages.group_names),
        sizes=tuple(p.domain.size for p in profiles),
        scores=tuple(p.score(scenario.score) for p in profiles),
        choices=stages.choices,
        regrets=stages.regrets if scenario.rule == "regret" else saved,
        tau_dim=scenario.tau_dim,
        tau_dpn=stages.tau_dpn,
        picked=None,
        kind=_KINDS[scenario.score],
        thresholds=scenario.rule == "score",
        tau_regret=scenario.tau_regret if scenario.rule == "regret" else None,
    )
    return _exhibit(
        "Which groups deserve an optimal mechanism?",
        explain_mechanisms(view),
        plot_mechanisms(view),
        table=table_mechanisms(view),
        caption="Left: size and score of every group; ◆ optimised (OPT), ● predefined noise (DPN). Right: the share "
        "of the noise's loss that the optimum saves, where it was solved.",
    )


def _budget(stages: Stages) -> Exhibit:
    view = BudgetView(
        names=tuple(group_label(names) for names in stages.group_names),
        choices=stages.choices,
        curves=stages.curves,
        beta=tuple(float(b) for b in stages.surrogate.beta),
        intercept=stages.surrogate.intercept,
        constants=tuple(p.zero_information for p in stages.profiles),
        budgets=stages.budgets,
        track=stages.track,
        design=stages.design,
        uniform_loss=stages.uniform_loss,
        unit=stages.task.unit,
        refinement=stages.refinement if stages.refines else None,
    )
    return _exhibit(
        "How is the privacy budget spent?",
        explain_budget(view),
        plot_budget(view),
        table=table_budget(view),
        caption="Left: total loss against total epsilon, for this allocation (green) and the equal split (olive, "
        "dash-dotted), and the groups' shares. Right: every group's loss against its budget; the mark is its own.",
        remarks=tuple(list_details(view)),
    )
