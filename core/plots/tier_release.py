"""What each recipient of one number receives, against the truth, and the accuracy-first walk through a list."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd

from core.plots.interaction import Handle
from core.plots.palette import NEUTRAL, TUNED
from core.plots.template import Mark, Picture, axis, escape, heading, note, shorten, sig
from core.plots.template import layout as sheet
from core.plots.tier_looks import log_ticks
from core.tiers.accuracy import AccuracyFirst
from core.tiers.laws import FloatArray

HEIGHT: Final = 320
ACCURACY_HEIGHT: Final = 320
_LEFT: Final = 62
_RIGHT: Final = 24
_INTERVAL: Final = 1.96
"""Half-width of an interval in standard deviations: 95 percent for Gaussian noise, about that for the others."""
NAMED: Final = 8
"""Most tiers whose recipients are named on the axis."""


@dataclass(frozen=True, eq=False)
class AnswerView:
    """One release of one number.

    Parameters
    ----------
    title : str
        What was asked.
    truth : int
        The true answer, shown to whoever holds the data.
    budgets, answers, deviations, certified : tuple of float (m,)
        Per tier: budget, answer, standard deviation of its noise, certified epsilon (nan in a simulation).
    recipients : tuple of str
        A name per tier, or empty.
    simulated : bool
        Whether the answers come from a seeded generator and are no release.
    """

    title: str
    truth: int
    budgets: tuple[float, ...]
    answers: tuple[float, ...]
    deviations: tuple[float, ...]
    certified: tuple[float, ...]
    recipients: tuple[str, ...] = ()
    simulated: bool = True

    def who(self, tier: int) -> str:
        """Return what a tier is called."""
        return self.recipients[tier] if tier < len(self.recipients) else f"tier {tier + 1}"


def plot_answers(view: AnswerView) -> Picture:
    """Draw every tier's answer with its interval against the truth; simulated answers are hollow and say so."""
    count = len(view.budgets)
    places = list(range(count))
    few = count <= NAMED
    ticks = places if few else sorted({round((count - 1) * i / 9) for i in range(10)})
    words = [
        f"{sig(view.budgets[i])}" + (f"<br>{escape(shorten(view.who(i), 24 if count <= 5 else 16))}" if few else "")
        for i in ticks
    ]
    marker: Mark = {"size": 11, "symbol": "square-open" if view.simulated else "square", "color": TUNED}
    marker["line"] = {"width": 2, "color": TUNED if view.simulated else "@bg"}
    names = [escape(view.who(i)) for i in places]
    what = "simulated, seeded" if view.simulated else "released"
    reach = [_INTERVAL * deviation for deviation in view.deviations]
    traces: list[Mark] = [
        {"type": "scatter", "mode": "lines", "x": [-0.5, count - 0.5], "y": [view.truth] * 2,
         "line": {"color": NEUTRAL, "dash": "longdash", "width": 1.5},
         "hovertemplate": f"truth {view.truth:,}<extra></extra>"},
        {"type": "scatter", "mode": "markers", "x": places, "y": list(view.answers), "text": names, "marker": marker,
         "error_y": {"type": "data", "array": reach, "width": 6, "thickness": 2, "color": TUNED}, "cliponaxis": False,
         "hovertemplate": f"%{{text}}<br>{what} %{{y:,.6g}}<extra></extra>"},
    ]  # fmt: skip
    low = min(view.truth, *(a - r for a, r in zip(view.answers, reach, strict=True)))
    high = max(view.truth, *(a + r for a, r in zip(view.answers, reach, strict=True)))
    pad = 0.08 * max(high - low, 1.0)
    axes = {
        "xaxis": axis("privacy budget of the tier (epsilon)", range=[-0.5, count - 0.5], tickvals=ticks,
                      ticktext=words, showgrid=False),
        "yaxis": axis(range=[low - pad, high + pad], nticks=6, tickformat=",.6~g"),
    }  # fmt: skip
    state = "Simulated answers with 95 % intervals (no release)" if view.simulated else "Answers with 95 % intervals"
    notes = [
        heading(f"{state}: {escape(shorten(view.title, 60))}", _LEFT),
        note(f"truth {view.truth:,}<br>seen by you only", xref="paper", yref="y", x=1, y=view.truth, xanchor="left",
             xshift=6, yanchor="middle", align="left"),
    ]  # fmt: skip
    return Picture(
        traces=traces,
        layout=sheet(left=_LEFT, right=112, top=34, bottom=64 if few else 48, annotations=notes, **axes),
        height=HEIGHT,
        name="tier_answers",
        alt=f"{view.title}: {count} answers, {'simulated' if view.simulated else 'released'}.",
    )


def table_answers(view: AnswerView) -> pd.DataFrame:
    """Return one row per recipient; the truth is not among the columns, so that the file may be given away."""
    return pd.DataFrame(
        {
            "recipient": [view.who(i) for i in range(len(view.budgets))],
            "epsilon": list(view.budgets),
            "simulated answer" if view.simulated else "answer": list(view.answers),
            "standard deviation": list(view.deviations),
            **({} if view.simulated else {"certified epsilon": list(view.certified)}),
        }
    )


def explain_answers(view: AnswerView) -> str:
    """Return how far the answers are from the truth, as a sentence."""
    best, worst = int(np.argmax(view.budgets)), int(np.argmin(view.budgets))
    off = [abs(answer - view.truth) for answer in view.answers]
    kind = "simulated answer" if view.simulated else "answer"
    return (
        f"The {kind} of {view.who(best)} (epsilon {sig(view.budgets[best])}) is off by **{sig(off[best])}**, that of "
        f"{view.who(worst)} (epsilon {sig(view.budgets[worst])}) by **{sig(off[worst])}**."
    )


@dataclass(frozen=True, eq=False)
class HistogramView:
    """One release of a whole histogram, at one tier.

    Parameters
    ----------
    title : str
        The column.
    labels : tuple of str (d,)
        Its levels.
    truth : tuple of int (d,)
        True counts.
    estimates : tuple of float (d,)
        Answers of the tier.
    deviations : tuple of float (d,)
        Standard deviation of every answer.
    epsilon : float
        Budget of the tier.
    simulated : bool
        Whether the answers are no release.
    """

    title: str
    labels: tuple[str, ...]
    truth: tuple[int, ...]
    estimates: tuple[float, ...]
    deviations: tuple[float, ...]
    epsilon: float
    simulated: bool = True


def plot_histogram(view: HistogramView) -> Picture:
    """Draw released counts with their intervals on the true ones."""
    count = len(view.labels)
    places = list(range(count))
    ticks = places if count <= 16 else sorted({round((count - 1) * i / 12) for i in range(13)})
    room = max(4, 120 // max(len(ticks), 1))
    marker: Mark = {"size": 10, "symbol": "square-open" if view.simulated else "square", "color": TUNED}
    marker["line"] = {"width": 2, "color": TUNED if view.simulated else "@bg"}
    names = [escape(label) for label in view.labels]
    traces: list[Mark] = [
        {"type": "bar", "x": places, "y": list(view.truth), "text": names, "textposition": "none", "width": 0.7,
         "marker": {"color": "@fill", "line": {"color": NEUTRAL, "width": 1}},
         "hovertemplate": "%{text}<br>truth %{y:,}<extra></extra>"},
        {"type": "scatter", "mode": "markers", "x": places, "y": list(view.estimates), "text": names, "marker": marker,
         "error_y": {"type": "data", "array": [_INTERVAL * deviation for deviation in view.deviations], "width": 4,
                     "thickness": 2, "color": TUNED},
         "hovertemplate": "%{text}<br>answer %{y:,.6g}<extra></extra>", "cliponaxis": False},
    ]  # fmt: skip
    axes = {
        "xaxis": axis(escape(shorten(view.title, 60)), range=[-0.6, count - 0.4], tickvals=ticks, showgrid=False,
                      ticktext=[escape(shorten(view.labels[i], room)) for i in ticks]),
        "yaxis": axis(nticks=6, tickformat=",.6~g"),
    }  # fmt: skip
    what = "simulated (no release)" if view.simulated else "released"
    title = f"Counts at epsilon {sig(view.epsilon)}: {what} as squares with 95 % intervals, truth as bars"
    return Picture(
        traces=traces,
        layout=sheet(left=_LEFT, right=_RIGHT, top=34, bottom=48, annotations=[heading(title, _LEFT)], **axes),
        height=HEIGHT,
        name="tier_histogram",
        alt=f"Histogram of {view.title} at epsilon {sig(view.epsilon)}, {what}.",
    )


def table_histogram(labels: Sequence[str], budgets: Sequence[float], cells: Sequence[Sequence[float]]) -> pd.DataFrame:
    """Return a released histogram at every tier, one row per level; no truth among the columns.

    Parameters
    ----------
    labels : sequence of str (d,)
        The levels.
    budgets : sequence of float (m,)
        The tiers.
    cells : sequence of sequence of float (d, m)
        The answers of every level.
    """
    columns = {f"epsilon {budget:.6g}": [cell[i] for cell in cells] for i, budget in enumerate(budgets)}
    return pd.DataFrame({"level": list(labels), **columns})


def table_estimates(
    labels: Sequence[str], budgets: Sequence[float], estimates: FloatArray, errors: FloatArray
) -> pd.DataFrame:
    """Return estimated counts with their standard errors at every tier, one row per level; no truth among the columns.

    Parameters
    ----------
    labels : sequence of str (d,)
        The levels.
    budgets : sequence of float (m,)
        The tiers.
    estimates, errors : ndarray (m, d)
        Estimates, and standard errors before post-processing.
    """
    columns: dict[str, object] = {"level": list(labels)}
    for budget, row, deviations in zip(budgets, estimates, errors, strict=True):
        columns[f"epsilon {budget:.6g}"] = row
        columns[f"standard error, epsilon {budget:.6g}"] = deviations
    return pd.DataFrame(columns)


def plot_accuracy(
    budgets: Sequence[float], errors: Sequence[float], found: AccuracyFirst, target: float, *, relative: bool = False
) -> Picture:
    """Draw the known error of every tier, what was opened, and the draggable target.

    Parameters
    ----------
    budgets, errors : sequence of float (m,)
        The list and the known errors.
    found : AccuracyFirst
        Where the walk stopped.
    target : float
        Largest acceptable error.
    relative : bool
        Whether errors are shares of the released value.
    """
    opened = [budget <= found.spent for budget in budgets]
    low, high = min(*errors, target), max(*errors, target)
    span = max(math.log10(high / low), 0.4)
    y_range = [math.log10(low) - 0.08 * span, math.log10(high) + 0.08 * span]
    edge = 0.04 * max(math.log10(max(budgets) / min(budgets)), 0.3)
    x_range = [math.log10(min(budgets)) - edge, math.log10(max(budgets)) + edge]
    size = 10 if len(budgets) <= 30 else 6
    symbols = ["square" if o else "square-open" for o in opened]
    traces: list[Mark] = [
        {"type": "scatter", "mode": "lines+markers", "x": list(budgets), "y": list(errors),
         "line": {"color": NEUTRAL, "width": 1}, "cliponaxis": False,
         "marker": {"size": [size + 5 if i == found.tier else size for i in range(len(budgets))], "symbol": symbols,
                    "color": [TUNED if o else NEUTRAL for o in opened], "line": {"width": 1.5}},
         "hovertemplate": "epsilon %{x:.6g}<br>known error %{y:.6g}<extra></extra>"},
    ]  # fmt: skip
    unit = "share of the released value" if relative else "standard deviation"
    title = heading(f"Known error ({unit}, log scale)", 64)
    axes = {
        "xaxis": axis("privacy budget of the tier (epsilon), log scale", type="log", range=x_range,
                      **log_ticks(10 ** x_range[0], 10 ** x_range[1])),
        "yaxis": axis(type="log", range=y_range, **log_ticks(10 ** y_range[0], 10 ** y_range[1])),
    }  # fmt: skip
    return Picture(
        traces=traces,
        layout=sheet(left=64, right=_RIGHT, top=34, bottom=48, annotations=[title], **axes),
        height=ACCURACY_HEIGHT,
        name="accuracy_first",
        alt=f"{found.opened} of {len(budgets)} tiers were opened for a target of {sig(target)}.",
        handles=(
            Handle("target", target, 10 ** y_range[0], 10 ** y_range[1], target / 20, "Target error", along="y",
                   axis="yaxis", across="xaxis", digits=3),
        ),
    )  # fmt: skip


def explain_accuracy(budgets: Sequence[float], found: AccuracyFirst, target: float) -> str:
    """Return what the walk cost, as a sentence."""
    fresh = sum(budget for budget in budgets if budget <= found.spent)
    if found.tier is None:
        return (
            f"No tier reaches an error of {sig(target)}: the best, at epsilon {sig(found.spent)}, has "
            f"{sig(found.error)}. Allow a larger error or a larger budget."
        )
    tail = f"; as many independent answers would have cost {sig(fresh)}" if found.opened > 1 else ""
    return (
        f"The tier at epsilon **{sig(found.spent)}** is the first within {sig(target)} (its error is "
        f"{sig(found.error)}). Opening {found.opened} tiers spent **{sig(found.spent)}** of {sig(max(budgets))}{tail}."
    )
