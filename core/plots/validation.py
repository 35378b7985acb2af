"""Score against regret on random instances, with the fitted line and the correlations."""

import math
from typing import Final

import pandas as pd

from core.plots.template import Mark, Picture, axis, heading, note, panel, percent, sig
from core.plots.template import layout as sheet
from core.validation_study import EPSILON, INSTANCES, NAMES, POINTS, Correlation, ValidationStudy

HEIGHT: Final = 380
_LEFT: Final = 44
_KINDS: Final = (("mse", "MSE-likeness score (S)"), ("radial", "radial-fit score (S)"))
PAPER: Final = {"mse": (-0.331, -0.365), "radial": (-0.308, -0.351)}
"""Pearson and Spearman of the paper's Fig. 5, on its own instances, whose generator it does not give."""
_DOMAINS: Final = ((0.0, 0.475), (0.525, 1.0))


def plot_validation(study: ValidationStudy, noise: int) -> Picture:
    """Draw one point per instance for both scores, with the least-squares line.

    Parameters
    ----------
    study : ValidationStudy
        What was found so far.
    noise : int
        Which of `core.validation_study.NOISES` the regret is that of.
    """
    regrets = 100 * study.regrets(noise)
    top = 100.0 if not len(regrets) else min(100.0, 10 * math.ceil(float(regrets.max()) / 10 + 0.5))
    traces: list[Mark] = []
    axes: dict[str, Mark] = {}
    notes: list[Mark] = [heading(f"Loss saved by OPT against {NAMES[noise]} (regret), %", _LEFT, yshift=24)]
    for number, ((kind, title), domain) in enumerate(zip(_KINDS, _DOMAINS, strict=True), start=1):
        mark = "" if number == 1 else str(number)
        found = study.correlation(kind, noise)
        traces += _cloud(study, kind, noise, mark, found)
        axes[f"xaxis{mark}"] = axis(title, domain=list(domain), anchor=f"y{mark}", range=[-0.03, 1.03], dtick=0.2)
        axes[f"yaxis{mark}"] = axis(domain=[0, 1], anchor=f"x{mark}", range=[0, top], nticks=6,
                                    showticklabels=number == 1)  # fmt: skip
        notes.append(
            panel(_words(found, kind), f"x{mark}", f"y{mark}", yshift=4, font={"size": 12.5, "color": "@text"})
        )
    if not len(regrets):
        notes.append(note("no instance yet", xref="paper", yref="paper", x=0.5, y=0.5, font={"size": 14}))
    return Picture(
        traces=traces,
        layout=sheet(left=_LEFT, right=12, top=58, bottom=48, annotations=notes, **axes),
        height=HEIGHT,
        name="validation",
        alt=f"Score against regret of {len(study.instances)} random instances.",
        table=table_validation(study),
    )


def _words(found: Correlation, kind: str) -> str:
    pearson, spearman = PAPER[kind]
    if math.isnan(found.spearman):
        return f"paper: Spearman {sig(spearman)}, Pearson {sig(pearson)}"
    return (
        f"Spearman <b>{_signed(found.spearman)}</b>, Pearson <b>{_signed(found.pearson)}</b> "
        f"(paper {_signed(spearman)}, {_signed(pearson)})"
    )


def _signed(value: float) -> str:
    """Return a correlation with two decimals and its sign."""
    return f"{value:+.2f}".replace("-", "\N{MINUS SIGN}")


def _cloud(study: ValidationStudy, kind: str, noise: int, mark: str, found: Correlation) -> list[Mark]:
    at: Mark = {"type": "scatter", "xaxis": f"x{mark}", "yaxis": f"y{mark}"}
    scores, regrets = study.scores(kind), 100 * study.regrets(noise)
    points: Mark = at | {
        "mode": "markers",
        "uid": f"instances_{kind}",
        "x": scores,
        "y": regrets,
        "marker": {"size": 6, "color": "@neutral", "opacity": 0.7},
        "text": [f"instance {i + 1}" for i in range(len(scores))],
        "hovertemplate": "%{text}<br>score %{x:.6g}<br>regret %{y:.6g} %<extra></extra>",
    }
    if math.isnan(found.slope):
        return [points]
    ends = [float(scores.min()), float(scores.max())]
    line: Mark = at | {
        "mode": "lines",
        "x": ends,
        "y": [100 * (found.intercept + found.slope * x) for x in ends],
        "line": {"color": "@text", "width": 2.5},
        "hoverinfo": "skip",
    }
    return [points, line]


def table_validation(study: ValidationStudy) -> pd.DataFrame:
    """Return scores and regrets, one row per instance."""
    columns: dict[str, object] = {
        "instance": range(1, len(study.instances) + 1),
        "radial-fit score": study.scores("radial"),
        "MSE-likeness score": study.scores("mse"),
    }
    for noise, name in enumerate(NAMES):
        columns[f"regret of {name}"] = study.regrets(noise)
    return pd.DataFrame(columns)


def table_correlations(study: ValidationStudy) -> pd.DataFrame:
    """Return all correlations: one row per noise and score, the paper's figures last."""
    rows: list[tuple[object, ...]] = []
    for noise, name in enumerate(NAMES):
        for kind, title in (("radial", "radial fit"), ("mse", "MSE-likeness")):
            c = study.correlation(kind, noise)
            rows.append((name, title, c.spearman, c.spearman_p, c.pearson, c.pearson_p))
    for kind, title in (("radial", "radial fit"), ("mse", "MSE-likeness")):
        pearson, spearman = PAPER[kind]
        rows.append(("paper, its own instances", title, spearman, math.nan, pearson, math.nan))
    return pd.DataFrame(rows, columns=["noise", "score", "Spearman", "p-value", "Pearson", "p-value (Pearson)"])


def explain_validation(study: ValidationStudy, noise: int) -> str:
    """Return what the study says about the scores, from its numbers alone."""
    count = len(study.instances)
    if count < INSTANCES / 10:
        what = f"{INSTANCES} random groups of {POINTS} states at epsilon {EPSILON:g}"
        return f"Does a low score announce a gain? {what} tell."
    found = study.correlation("radial", noise)
    mean = percent(float(study.regrets(noise).mean()))
    said = f"On **{count} instances** OPT saves {mean} against {NAMES[noise]} on average."
    if found.spearman_p > 0.01:
        return f"{said} The radial-fit score does not tell how much (Spearman {_signed(found.spearman)})."
    if found.spearman < 0:
        return f"{said} **The lower the radial-fit score, the more it saves** (Spearman {_signed(found.spearman)})."
    return (
        f"{said} **A high radial-fit score announces no small gain here** (Spearman {_signed(found.spearman)}): this "
        "noise leaves part of the budget unused whatever the score; the regret of the loaded case is the better guide."
    )
