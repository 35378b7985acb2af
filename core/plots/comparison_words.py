"""Two designs side by side in words and tables."""

import math
from collections.abc import Mapping, Sequence

import pandas as pd

from core.comparison import Comparison, Snapshot, share_of_zero_information
from core.plots.comparison import Pair
from core.plots.grouping import group_label
from core.plots.template import percent, sig


def table_comparison(found: Comparison, names: Pair) -> pd.DataFrame:
    """Return every group of either design with its choice, budget, weighted loss, score and size, both side by side."""
    columns: dict[str, object] = {"group": [", ".join(row.members) for row in found.rows]}
    sides = ((found.a, [row.a for row in found.rows]), (found.b, [row.b for row in found.rows]))
    brief = [name.removeprefix("the ") for name in names]
    for (snapshot, positions), name in zip(sides, brief, strict=True):
        columns[f"choice, {name}"] = ["–" if k is None else snapshot.design.choices[k] for k in positions]
    for title in ("epsilon", "loss", "score", "states"):
        for (snapshot, positions), name in zip(sides, brief, strict=True):
            values = _values(snapshot, title)
            column = pd.Series([None if k is None else values[k] for k in positions])
            columns[f"{title}, {name}"] = column.astype("Int64" if title == "states" else "float64")
    return pd.DataFrame(columns)


def _values(snapshot: Snapshot, title: str) -> Sequence[float]:
    """Return what a column of the table shows of a design's groups; losses are weighted, so that they add up."""
    return {
        "epsilon": snapshot.design.allocation,
        "loss": snapshot.weighted_losses,
        "score": snapshot.scores,
        "states": snapshot.sizes,
    }[title]


def table_knobs(found: Comparison, names: Pair, labels: Mapping[str, str]) -> pd.DataFrame:
    """Return the settings that differ, one row each; `labels` gives their plain names."""
    rows = []
    for knob in found.knobs:
        a, b = (str(knob.a), str(knob.b))
        if knob.name == "attributes":
            a, b = "–", f"{knob.b} column{'s' if knob.b > 1 else ''} described differently"
        rows.append((labels.get(knob.name, knob.name), _shown(a), _shown(b)))
    return pd.DataFrame(rows, columns=["setting", *names])


def _shown(word: str) -> str:
    return {"inf": "∞", "None": "–", "True": "yes", "False": "no"}.get(word, word)


def explain_comparison(found: Comparison, names: Pair) -> str:
    """Return what differs in two or three sentences: groups, choices, loss."""
    return " ".join([_say_groups(found, names), _say_choices(found, names), _say_loss(found, names)])


def _say_groups(found: Comparison, names: Pair) -> str:
    a, b = (len(s.design.groups) for s in (found.a, found.b))
    if not set(found.a.attributes) & set(found.b.attributes):
        return f"**{names[0]}** and **{names[1]}** have no attribute in common: only their totals compare."
    if not found.regrouped:
        return f"Both have the same **{a} groups**."
    counts = {kind: sum(block.kind == kind for block in found.regrouped) for kind in ("split", "merged")}
    parts = []
    if counts["split"]:
        parts.append(f"{counts['split']} split")
    if counts["merged"]:
        parts.append(f"{sum(len(x.a) for x in found.regrouped if x.kind == 'merged')} merge into {counts['merged']}")
    other = len(found.regrouped) - sum(counts.values())
    if other:
        parts.append(f"{other} change otherwise")
    return f"From {names[0]} to {names[1]} **{a} groups become {b}**: {', '.join(parts)}."


def _say_choices(found: Comparison, names: Pair) -> str:
    a, b = found.a.optimised, found.b.optimised
    switched = [group_label(row.members) for row in found.switched]
    said = f"{names[0]} optimises **{a}**, {names[1]} **{b}**"
    if switched:
        listed = ", ".join(switched[:3]) + (f" and {len(switched) - 3} more" if len(switched) > 3 else "")
        said += f"; {listed} change{'s' if len(switched) == 1 else ''} sides"
    return said + "."


def _say_loss(found: Comparison, names: Pair) -> str:
    a, b = (s.design.predicted_loss for s in (found.a, found.b))
    if found.comparable:
        if math.isnan(found.change) or abs(found.change) < 5e-4:
            return (
                f"Both predict the same loss, {sig(a)}." if sig(a) == sig(b) else f"The loss is {sig(a)} and {sig(b)}."
            )
        word = "less" if found.change < 0 else "more"
        return f"The predicted loss is {sig(a)} and {sig(b)}: **{percent(abs(found.change))} {word}** in {names[1]}."
    why = "tables" if not found.same_table else "tasks or attributes"
    shares = [share_of_zero_information(s) for s in (found.a, found.b)]
    said = f"The {why} differ, so the losses, {sig(a)} and {sig(b)}, do not compare"
    if any(math.isnan(share) for share in shares):
        return said + "."
    return said + f"; of the loss of a constant they leave {percent(shares[0])} and {percent(shares[1])}."
