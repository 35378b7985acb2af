"""What the budget picture means, in sentences with every number from the result."""

import math
from typing import Final

from core.plots.budget_view import BudgetView
from core.plots.template import percent, sig

UNSPENT: Final = 0.9
"""Below this share of the total, a certificate is worth a word: budget was paid for that buys nothing."""
_SAME: Final = 5e-4
"""Relative difference of two losses that are called equal."""


def explain_budget(view: BudgetView) -> str:
    """Return what the picture means in two sentences: the loss against the uniform split, and the weightiest remark."""
    return f"{_compare(view)}. {_remark(view)}".strip()


def _compare(view: BudgetView) -> str:
    design, first = view.design, view.most
    said = f"The predicted loss is **{sig(design.predicted_loss)}**"
    if len(view.names) == 1:
        return f"{said}; **{view.names[0]}** is the only group and may use the whole budget"
    if math.isinf(view.budgets.allocation.q):
        return f"{said}; with p = 1 every group may use the whole budget, {sig(design.allocation[first])}"
    none, count = sum(share == 0 for share in design.allocation), len(view.names)
    most = f"**{view.names[first]}** receives the most, {sig(design.allocation[first])}"
    if none:
        most += f", and {none} of {count} groups nothing"
    if view.is_uniform:
        best = view.budgets.lower_bound
        return f"{said}; every group receives {sig(view.equal)}, and no split could lose less than {sig(best)}"
    saved = 1 - design.predicted_loss / view.uniform_loss if view.uniform_loss > 0 else 0.0
    if saved > _SAME:
        return f"{said}, **{percent(saved)}** below the uniform split ({sig(view.uniform_loss)}); {most}"
    return f"{said}, as low as the uniform split; {most}"


def _remark(view: BudgetView) -> str:
    """Return the weightiest of what else is to be said: worse than a constant, or budget that buys nothing."""
    design = view.design
    if design.predicted_loss > design.zero_information * (1 + 1e-9):
        worse = count_worse(view)
        groups = "1 group does" if worse == 1 else f"{worse} groups do"
        return f"That is **above zero information ({sig(design.zero_information)})**: {groups} worse than a constant."
    if is_unspent(view):
        remedy = "; calibrated EM would spend the rest" if spends_half(view) else ""
        epsilon = sig(design.scenario.epsilon)
        return f"Only **{sig(design.certified_epsilon)}** of epsilon {epsilon} is certified as used{remedy}."
    return ""


def count_worse(view: BudgetView) -> int:
    """Return how many groups lose more than their best constant would."""
    pairs = zip(view.design.losses, view.constants, strict=True)
    return sum(loss > constant * (1 + 1e-9) for loss, constant in pairs)


def is_unspent(view: BudgetView) -> bool:
    """Return whether the certificate is well below the total that was asked for."""
    return view.design.certified_epsilon < UNSPENT * view.design.scenario.epsilon


def spends_half(view: BudgetView) -> bool:
    """Return whether plain exponential noise is among the mechanisms: its rows cost up to half of the budget."""
    return view.design.scenario.noise == "EM" and any(name.startswith("EM") for name in view.design.mechanisms)


def list_details(view: BudgetView) -> list[str]:
    """Return the details as sentences, **bold** marking the numbers that matter."""
    budgets, design = view.budgets, view.design
    kind = "certified" if design.bound_certified else "an estimate, because some losses are sampled"
    lines = [
        f"No allocation to these curves loses less than **{sig(design.lower_bound)}** ({kind}); the loss is "
        f"{percent(design.gap)} above it. The convex envelopes alone (Proposition 2) leave "
        f"{percent(budgets.sandwich_error)}.",
        _refined(view),
        f"Record-level certificate: the dual norm of the groups' certified epsilons is "
        f"**{design.certified_epsilon:.12g}**, at most {design.scenario.epsilon:g}.",
        f"One more unit of total epsilon saves about **{sig(budgets.allocation.multiplier)}** {view.unit} "
        "(the multiplier).",
        f"The winning candidate was the {budgets.source}.",
    ]
    if is_unspent(view):
        lines.append(_why_unspent(view))
    if worse := count_worse(view):
        who = "One group loses" if worse == 1 else f"{worse} groups lose"
        lines.append(
            f"{who} more than a constant would: remapping to the least task loss, or an optimal channel, never does "
            "(Mechanisms, Score and noise)."
        )
    if any(math.isnan(constant) for constant in view.constants):
        lines.append("A group is perturbed attribute by attribute; its loss is sampled and its constant not known.")
    return lines


def _refined(view: BudgetView) -> str:
    found = view.refinement
    if found is None:
        return "Budgets are those of the common grid; further ones around the allocation are not built."
    if not found.added:
        return f"The common grid is fine enough: {percent(found.after)} above the bound over all budgets."
    return (
        f"**{found.added}** further channels were built around the allocation: from {percent(found.before)} to "
        f"**{percent(found.after)}** above the bound over all budgets, those in between included."
    )


def _why_unspent(view: BudgetView) -> str:
    share = percent(view.design.certified_epsilon / view.design.scenario.epsilon)
    said = f"The certificate uses {share} of the budget: "
    if spends_half(view):
        return (
            f"{said}plain exponential noise keeps up to half in reserve for its normalisers. **Calibrated EM** turns "
            "what is not needed into less noise at the same budget (Mechanisms, Score and noise)."
        )
    return f"{said}some groups keep a channel that is certified at a smaller budget and loses no more."
