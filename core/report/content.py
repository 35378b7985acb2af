"""From a design to what its report says: every number is taken from the stages, the plan or its pack."""

import math
import shlex
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any, Final

import pandas as pd

from core.channel import Channel
from core.metric import dual_exponent
from core.pack import build_pack
from core.pipeline import Stages
from core.projection import RARE
from core.release import NUMERIC, ReleasePlan, count_rare, worst_factor
from core.report.document import Exhibit, Fact, GroupRow, Origin, Report
from core.report.words import above, percent, sig
from core.table import SAMPLES

_DOMAINS: Final = {
    "observed": "combinations of levels that occur in the table",
    "merged": f"combinations of levels that at least {RARE} records have; rarer ones count as the nearest",
    "product": "all combinations of levels",
    "declared": "all combinations of declared levels",
}
_RULES: Final = {
    "score": "OPT where the domain is small and the score low",
    "regret": "OPT where it saves enough of the noise's loss",
    "OPT": "OPT wherever it is affordable",
    "DPN": "noise everywhere",
    "tuned": "the least predicted loss of all mechanisms",
}
_REMAPS: Final = {
    "none": "not remapped",
    "distance": "remapped to the least distance",
    "task": "remapped to the least task loss",
}
_LIBRARIES: Final = ("numpy", "scipy", "pandas", "highspy")


def build_report(
    stages: Stages, plan: ReleasePlan, exhibits: Sequence[Exhibit], *, origin: Origin, numeric: str = NUMERIC[0]
) -> Report:
    """Return everything that the report of a design says.

    Parameters
    ----------
    stages : Stages
        The table bound to its scenario; merged ones where the plan's states are merged.
    plan : ReleasePlan
        What would be released under the design.
    exhibits : sequence of Exhibit
        The figures, drawn by the caller.
    origin : Origin
        Where the table came from, and the date.
    numeric : {'representative', 'within'}
        How the pack of the same design writes a bin.
    """
    design, scenario = plan.design, plan.design.scenario
    sample = SAMPLES.get(origin.sample) if origin.sample else None
    pack = build_pack(plan, numeric=numeric)
    return Report(
        title=sample.title if sample else plan.table.name,
        made=origin.made,
        purpose=stages.task.statement,
        unit=stages.task.unit,
        strip=_strip(stages),
        summary=_summary(stages, plan),
        warnings=_warnings(plan),
        knobs=_knobs(stages, plan),
        schema=_schema(plan),
        findings=(*plan.table.findings, *plan.records.findings),
        exhibits=tuple(exhibits),
        groups=_groups(stages, plan),
        predicted=design.predicted_loss,
        constant=design.zero_information,
        asked=scenario.epsilon,
        certified=design.certified_epsilon,
        worst=worst_factor(plan),
        norm=_exponent(dual_exponent(scenario.p)),
        assured=_assured(plan),
        unassured=_unassured(stages, plan),
        command=_command(plan, origin.sample, numeric),
        made_with=_made_with(plan, pack),
        scenario_json=scenario.to_json(),
        attribution=f"{sample.attribution} {sample.note}" if sample else "",
    )


def _exponent(value: float) -> str:
    return "∞" if math.isinf(value) else f"{value:g}"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _strip(stages: Stages) -> tuple[Fact, ...]:
    design = stages.design
    bound = "at most {} above the bound" if design.bound_certified else "about {} above the estimated bound"
    return (
        Fact("Groups (K)", str(len(design.groups)), f"of {len(stages.records.attributes)} attributes"),
        Fact("Optimised (OPT)", str(design.choices.count("OPT")), f"of {len(design.groups)}"),
        Fact("Predicted loss", sig(design.predicted_loss), f"{stages.task.unit}; {bound.format(percent(design.gap))}"),
        Fact("Certified epsilon", sig(design.certified_epsilon), f"of {sig(design.scenario.epsilon)} allowed"),
    )


def _summary(stages: Stages, plan: ReleasePlan) -> tuple[str, ...]:
    """Return what the design is and what it costs."""
    design, records, unit = plan.design, plan.records, stages.task.unit
    said = [
        f"**{_count(len(records), 'record')}** of **{_count(len(records.attributes), 'attribute')}** would be "
        f"perturbed in **{_count(len(design.groups), 'group')}**, {design.choices.count('OPT')} of them by an optimal "
        f"channel (OPT) and {design.choices.count('DPN')} by predefined noise (DPN), for the task {stages.task.title}."
    ]
    loss, constant = design.predicted_loss, design.zero_information
    cost = f"The predicted loss is **{sig(loss)} {unit}**"
    if math.isnan(constant):
        said.append(f"{cost}; what a constant would lose is not known, because a group is not enumerated.")
    elif loss > constant * (1 + 1e-9):
        said.append(
            f"{cost}: **more than releasing a constant ({sig(constant)})**. At this budget the release is of no use "
            "for the task; raise epsilon, remap to the least task loss, or optimise."
        )
    else:
        kept = percent(1 - loss / constant) if constant > 0 else percent(0)
        said.append(f"{cost}, **{kept}** below that of releasing a constant ({sig(constant)}), which tells nothing.")
    said.append(
        f"Whatever two records are, no output is more than **exp({above(worst_factor(plan))})** times as probable "
        f"under one as under the other; at distance d it is at most exp({above(design.certified_epsilon)} d)."
    )
    return tuple(said)


def _warnings(plan: ReleasePlan) -> tuple[str, ...]:
    """Return what must be known before anything leaves."""
    said = []
    rare = count_rare(plan, RARE)
    if rare:
        was = "was" if rare == 1 else "were"
        said.append(
            f"The states of this design are themselves data: **{_count(rare, 'combination')}** {was} seen fewer than "
            f"{RARE} times, so whoever gets the mechanism learns that such people exist. Before anything leaves, merge "
            "rare states (--merge-rare; Release: Rare ones merged) or use all combinations of levels (Data: States of "
            "a group)."
        )
    elif plan.domain not in ("product", "declared"):
        merged = "Rarer ones were merged into the nearest. " if plan.domain == "merged" else ""
        said.append(
            f"The states are combinations that occur in the table, each at least {RARE} times; the mechanism tells "
            f"which occur. {merged}With all combinations it would tell nothing of the kind."
        )
    if plan.unprotected:
        names = ", ".join(str(plan.table.frame.columns[c]) for c in plan.unprotected)
        said.append(f"**Columns that leave without any protection**, because a person marked them so: {names}.")
    said.append(
        "This report is no private release either: its figures and counts are computed from the table. Give it only "
        "to those who may know them."
    )
    return tuple(said)


def _knobs(stages: Stages, plan: ReleasePlan) -> tuple[Fact, ...]:
    s = plan.design.scenario
    columns = plan.table.frame.columns
    facts = [
        Fact("Privacy budget (epsilon)", f"{s.epsilon:g}", "per unit of distance; smaller is more private"),
        Fact("Metric exponent (p)", _exponent(s.p), "how attribute distances combine into a record distance"),
        Fact("Task", stages.task.title, stages.task.statement),
        Fact("States of a group", plan.domain, _DOMAINS.get(plan.domain, "")),
        Fact("Grouping threshold (tau_group)", f"{s.tau_group:g}",
             "attributes are linked above this NMI" + (", adjusted for chance" if s.corrected_nmi else "")),
        Fact("Rule", s.rule, _RULES[s.rule]),
        Fact("Score (S)", s.score, "how well distance alone explains a group's loss"),
        Fact("Largest optimised domain (tau_dim)", f"{s.tau_dim:,}", "states"),
        Fact("Largest optimised score (tau_dpn)", f"{stages.tau_dpn:g}", "the task's own" if s.tau_dpn is None else ""),
        Fact("Predefined noise (DPN)", s.noise, _REMAPS[s.remap]),
        Fact("Allocation", s.allocation, "least total loss" if s.allocation == "optimal" else "equal split"),
        Fact("Seed", str(s.seed), "of what is sampled while designing; releases use a cryptographic source"),
    ]  # fmt: skip
    if s.target is not None and s.target < len(columns):
        facts.insert(3, Fact("Target column", str(columns[s.target])))
    if s.rule == "regret":
        facts.append(Fact("Regret threshold (r)", f"{s.tau_regret:g}", "share of the noise's loss"))
    return tuple(facts)


def _schema(plan: ReleasePlan) -> pd.DataFrame:
    """Return one row per attribute; levels are counted and ranges told, records are not."""
    rows = []
    for a in plan.records.attributes:
        spec = plan.design.scenario.spec(a.column)
        own = spec.levels is not None or spec.edges is not None or (spec.low is not None and spec.high is not None)
        inner = a.levels[: a.size - a.has_missing]
        if a.edges is not None:
            span = f"{a.edges[0]:,.10g} to {a.edges[-1]:,.10g}"
        else:
            span = ", ".join(inner[:4]) + (f" and {len(inner) - 4} more" if len(inner) > 4 else "")
        rows.append(
            {
                "attribute": a.name,
                "kind": a.kind,
                "levels": a.size,
                "range or levels": span,
                "missing": "a level" if a.has_missing else "",
                "weight": f"{a.weight:g}",
                "taken from": "declared" if own else "the data",
            }
        )
    return pd.DataFrame(rows)


def _groups(stages: Stages, plan: ReleasePlan) -> tuple[GroupRow, ...]:
    design = plan.design
    return tuple(
        GroupRow(
            attributes=" + ".join(names),
            choice=design.choices[k],
            mechanism=design.mechanisms[k],
            states=profile.domain.size if isinstance(design.channels[k], Channel) else None,
            epsilon=design.allocation[k],
            certified=design.channels[k].certified_epsilon,
            loss=design.beta[k] * design.losses[k],
            constant=design.beta[k] * profile.zero_information,
        )
        for k, (names, profile) in enumerate(zip(design.groups, stages.profiles, strict=True))
    )


def _assured(plan: ReleasePlan) -> tuple[str, ...]:
    """Return what is guaranteed."""
    epsilon = plan.certified_epsilon
    return (
        f"**Metric differential privacy.** Two records at distance d, in the declared metric, give every output with "
        f"probabilities within a factor exp({above(epsilon, 6)} d); over all pairs of records the factor is at most "
        f"exp({above(worst_factor(plan), 6)}).",
        "**Computed from what is drawn.** The certificate is derived from the whole numbers that are sampled from, "
        "rounded up; no solver's word and no rounded probability stands between it and a release.",
        "**Each record on its own.** The guarantee does not depend on what an attacker knows of other records, nor on "
        "the distribution of the data, nor on any computing power.",
        "**Whatever is done afterwards.** Remapping, estimates and any other work on released values keep it.",
    )


def _unassured(stages: Stages, plan: ReleasePlan) -> tuple[str, ...]:
    """Return what is not guaranteed, or only under a condition."""
    declared = plan.domain in ("product", "declared")
    r2 = stages.surrogate.r2
    said = [
        "**The metric is a decision.** Records that it calls close are hard to tell apart, distant ones are not; that "
        "it fits the harm is for people to judge. Inside a bin it sees nothing: for raw values the factor may exceed "
        "the guarantee by up to one bin width.",
        "**The domain is "
        + ("declared.** " if declared else "observed.** The states occur in the fitting data, and so tell of it. ")
        + "A record that is no state counts as the nearest one; then d is the distance of the two nearest states.",
        "**One release.** A second release of the same record adds its epsilon, whoever receives it.",
        "**Groups are drawn independently.** The total holds only if every group is drawn anew with independent "
        "randomness, as the samplers here do.",
        "**The fitting data are not protected by epsilon.** Levels, bounds, states, grouping and optimised channels "
        "were chosen from them unless they were declared.",
        "**The loss is a prediction**, for the fitting data and this task: a weighted sum of group losses that "
        f"explains {percent(r2)} of the loss of held-out pairs. Another use of the data may lose more.",
    ]
    if plan.withheld:
        said.append(f"**Columns that never leave:** {_some(plan.withheld)}.")
    return tuple(said)


def _some(names: Sequence[str], most: int = 12) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def _command(plan: ReleasePlan, sample: str | None, numeric: str) -> str:
    """Return the commands that make the report and the mechanism again, from the scenario's file."""
    source = f"--sample {sample}" if sample else f"--table {shlex.quote(plan.table.name)}"
    shared = f"{source} --scenario scenario.json"
    if plan.domain == "merged":
        shared += " --merge-rare"
    for c in plan.unprotected:
        shared += f" --unprotected {shlex.quote(str(plan.table.frame.columns[c]))}"
    bins = "" if numeric == NUMERIC[0] else f" --numeric {numeric}"
    return (
        f"python -m core report {shared}{bins} --out report.html\n"
        f"python -m core pack {shared}{bins} --out mechanism\n"
        "python3 mechanism/perturb.py --pack mechanism/mechanism.json input.csv output.csv"
    )


def _made_with(plan: ReleasePlan, pack: dict[str, Any]) -> tuple[Fact, ...]:
    libraries = ", ".join(f"{name} {version(name)}" for name in _LIBRARIES)
    made = pack["made_with"]
    return (
        Fact("Table", plan.table.digest, f"{plan.table.name}, {len(plan.table.frame):,} rows as read"),
        Fact("Scenario", plan.design.scenario.digest(), "of every knob"),
        Fact("Metric", plan.metric_digest, "attributes, level distances, weights, p"),
        Fact("Mechanism", pack["checksum"], "checksum of the pack"),
        Fact("Versions", f"mdp-explorer {made['mdp-explorer']}, Python {made['python']}", libraries),
    )
