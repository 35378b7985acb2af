"""Tiers of a record: loss of every tier of the chain beside the channel optimised for its budget alone."""

from typing import Final

import pandas as pd

from core.plots.palette import LOOKS
from core.plots.template import Mark, Picture, axis, heading, note, percent, sig
from core.plots.template import layout as sheet
from core.record_study import RecordStudy

HEIGHT: Final = 360


def plot_record_tiers(study: RecordStudy, unit: str) -> Picture:
    """Draw loss against budget for the chain and for separately optimised channels."""
    chain, optimal = LOOKS["tuned"], LOOKS["OPT"]
    x = list(study.tiers.budgets)
    ring: Mark = {"size": 15, "symbol": "diamond-open", "color": optimal.colour, "line": {"width": 2}}
    square: Mark = {"size": 8, "symbol": chain.symbol, "color": chain.colour}
    lines: list[Mark] = [
        {"type": "scatter", "mode": "lines+markers", "x": x, "y": list(losses), "cliponaxis": False,
         "line": {"color": look.colour, "width": look.width, "dash": dash}, "marker": marker,
         "hovertemplate": f"{name}<br>epsilon %{{x:.6g}}<br>loss %{{y:.6g}}<extra></extra>"}
        for name, look, dash, marker, losses in (
            ("chain", chain, "solid", square, study.tiers.losses),
            ("optimised alone", optimal, "dot", ring, study.optimal),
        )
    ]  # fmt: skip
    font = {"size": 12.5, "color": "@text"}
    return Picture(
        traces=lines,
        layout=sheet(
            left=44,
            right=24,
            xaxis=axis("privacy budget of the tier (epsilon)", rangemode="tozero"),
            yaxis=axis(rangemode="tozero", nticks=6),
            annotations=[
                heading(f"Loss of each recipient ({unit})", 44),
                note("green squares: chain, each tier degraded from the one before", xref="paper", yref="paper", x=1,
                     y=0.98, xanchor="right", yanchor="top", font=font),
                note("open diamonds: optimised alone, no protection together", xref="paper", yref="paper", x=1,
                     y=0.91, xanchor="right", yanchor="top", font=font),
            ],
        ),
        height=HEIGHT,
        name="record_tiers",
        alt=f"Loss by tier; the chain loses at most {sig(study.worst)} times the separately optimised channel.",
        table=table_record_tiers(study),
    )  # fmt: skip


def table_record_tiers(study: RecordStudy) -> pd.DataFrame:
    """Return budget, certificate and both losses of every tier."""
    return pd.DataFrame(
        {
            "epsilon": list(study.tiers.budgets),
            "certified epsilon": list(study.tiers.certified_epsilons),
            "loss of the chain": list(study.tiers.losses),
            "optimised alone": list(study.optimal),
        }
    )


def explain_record_tiers(study: RecordStudy, group: str) -> str:
    """Return what the picture means, every number from the result."""
    apart = sum(study.tiers.budgets[: study.members])
    return (
        f"On **{group}** no recipient loses more than **{percent(study.worst - 1)}** over a channel optimised for its "
        f"budget alone. The {study.members} best-informed together learn epsilon **{sig(study.together)}**, the "
        f"budget of the first; channels optimised alone would add up to {sig(apart)}."
    )
