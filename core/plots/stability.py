"""Whether the choice of mechanism can be relied on: scores on held-out pairs beside the score of all pairs."""

import math
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
import pandas as pd

from core.plots.palette import LOOKS
from core.plots.template import Mark, Picture, axis, escape, heading, note, percent, shorten, sig
from core.plots.template import layout as sheet
from core.profile import GroupProfile
from core.stability import SPLITS, HeldOutScores, held_out_scores, summarise_held_out

Progress = Callable[[float, str], None]
Scores = tuple[HeldOutScores | None, ...]

SHOWN: Final = 12
"""Groups drawn; the rest are in the table."""
_LEFT: Final = 170
_STREAM: Final = 5
"""Stream of the scenario's seed that draws the splits."""


def score_held_out(profiles: Sequence[GroupProfile], kind: str, seed: int, progress: Progress | None = None) -> Scores:
    """Score every group on 20 distance-stratified held-out splits; None for a group of too few pairs.

    Parameters
    ----------
    profiles : sequence of GroupProfile
        The groups.
    kind : {'radial', 'mse'}
        The adequacy score.
    seed : int
        The scenario's seed.
    progress : callable (fraction, sentence), optional
        Told after every split; it may raise to stop.
    """
    found: list[HeldOutScores | None] = []
    for k, profile in enumerate(profiles):

        def told(fraction: float, _words: str, k: int = k) -> None:
            if progress is not None:
                progress((k + fraction) / len(profiles), f"group {k + 1} of {len(profiles)}")

        # A matrix keeps both directions of a pair of states on one side of a split.
        states = profile.loss is not None
        found.append(
            held_out_scores(
                kind,
                profile.domain.distance if states else profile.pair_distance,
                profile.loss.matrix if profile.loss is not None else profile.pair_loss,
                rng=np.random.default_rng([seed, _STREAM, k]),
                progress=told,
            )
        )
    return tuple(found)


def plot_stability(names: Sequence[str], found: Scores, tau_dpn: float, *, kind: str) -> Picture:
    """Draw the score of every group over its held-out scores, with the threshold between the choices.

    Parameters
    ----------
    names : sequence of str
        Label per group.
    found : tuple of HeldOutScores or None
        One per group.
    tau_dpn : float
        The score threshold.
    kind : str
        Name of the score, for the heading.
    """
    drawn = [k for k, scores in enumerate(found) if scores is not None][:SHOWN]
    kept = [(row, scores) for row, k in enumerate(drawn) if (scores := found[k]) is not None]
    low = min([0.0, tau_dpn, *(float(scores.scores.min()) for _, scores in kept)])
    low = max(low, -1.5)
    font = {"size": 12.5, "color": "@text"}
    labels = [
        note(escape(shorten(names[k], 22)), xref="paper", yref="y", x=0, y=row, xanchor="right", xshift=-8, font=font)
        for row, k in enumerate(drawn)
    ]
    labels.append(
        note(f"threshold {sig(tau_dpn)}", xref="x", yref="y domain", x=tau_dpn, y=1, yanchor="bottom", yshift=2)
    )
    title = f"Score of every group ({kind}) and of its {SPLITS} held-out splits"
    return Picture(
        traces=_marks(kept, tau_dpn, max(len(drawn), 3)),
        layout=sheet(
            left=_LEFT,
            top=52,
            xaxis=axis("score (S)", range=[low - 0.03, 1.03], dtick=0.2 if low > -0.5 else 0.5),
            yaxis=axis(range=[max(len(drawn), 3) - 0.4, -0.6], showgrid=False, showticklabels=False),
            annotations=[heading(title, _LEFT, yshift=26), *labels],
        ),
        height=112 + 30 * max(len(drawn), 3),
        name="stability",
        alt=f"Held-out scores of {len(drawn)} groups around their scores, threshold {sig(tau_dpn)}.",
    )


def _marks(kept: Sequence[tuple[int, HeldOutScores]], tau_dpn: float, rows: int) -> list[Mark]:
    """Return the threshold, one tick per split, and one marker per group with the look of its side."""
    looks = [LOOKS["OPT" if scores.original <= tau_dpn else "DPN"] for _, scores in kept]
    return [
        {"type": "scatter", "mode": "lines", "x": [tau_dpn, tau_dpn], "y": [-0.6, rows - 0.4], "hoverinfo": "skip",
         "line": {"color": "@text", "width": 2}},
        {"type": "scatter", "mode": "markers", "x": [float(s) for _, scores in kept for s in scores.scores],
         "y": [row for row, scores in kept for _ in scores.scores],
         "marker": {"symbol": "line-ns", "size": 14, "line": {"width": 1.5, "color": "@neutral"}},
         "hovertemplate": "held-out score %{x:.6g}<extra></extra>"},
        {"type": "scatter", "mode": "markers", "x": [scores.original for _, scores in kept],
         "y": [row for row, _ in kept],
         "marker": {"size": 13, "symbol": [look.symbol for look in looks], "color": [look.colour for look in looks],
                    "line": {"width": 1.5, "color": "@bg"}},
         "hovertemplate": "score of all pairs %{x:.6g}<extra></extra>"},
    ]  # fmt: skip


def table_stability(names: Sequence[str], found: Scores, tau_dpn: float) -> pd.DataFrame:
    """Return held-out scores, their spread and how often they agree with the decision, one row per group."""
    nan = math.nan
    return pd.DataFrame(
        {
            "group": list(names),
            "score": [nan if f is None else f.original for f in found],
            "held-out score (median)": [nan if f is None else f.median for f in found],
            "held-out score (mean)": [nan if f is None else f.mean for f in found],
            "standard deviation": [nan if f is None else float(f.scores.std()) for f in found],
            "lowest": [nan if f is None else float(f.scores.min()) for f in found],
            "highest": [nan if f is None else float(f.scores.max()) for f in found],
            "median absolute error": [nan if f is None else f.median_absolute_error for f in found],
            "mean absolute error": [nan if f is None else f.mean_absolute_error for f in found],
            "agreement": [nan if f is None else f.agreement(tau_dpn) for f in found],
        }
    )


def table_held_out(names: Sequence[str], radial: Scores, mse: Scores, order: Sequence[int]) -> pd.DataFrame:
    """Return both scores, the median of held-out ones and half their quartile range, in the given order."""
    columns: dict[str, list[object]] = {"group": [names[k] for k in order]}
    for title, found in (("radial-fit score", radial), ("MSE-likeness score", mse)):
        chosen = [found[k] for k in order]
        columns[title] = [math.nan if f is None else f.original for f in chosen]
        columns[f"{title}, held out"] = [math.nan if f is None else f.median for f in chosen]
        columns[f"± ({title.split()[0]})"] = [math.nan if f is None else f.spread for f in chosen]
    return pd.DataFrame(columns)


def explain_stability(found: Scores, tau_dpn: float) -> str:
    """Return what the held-out scores say about the choice (the paper's Table 5 for the loaded case)."""
    summary = summarise_held_out(found, tau_dpn)
    if summary.evaluated == 0:
        return "No group has enough pairs of states to hold some out."
    left = summary.groups - summary.evaluated
    few = f"; {left} of {summary.groups} groups have too few pairs" if left else ""
    return (
        f"On held-out pairs the choice stays the same in **{percent(summary.agreement)}** of the splits. A "
        f"group's score is {sig(summary.original)} on all pairs and typically {sig(summary.held_out)} held out; the "
        f"typical error is {sig(summary.absolute_error)} ({percent(summary.gap / 100)} of the score){few}."
    )
