"""How perturbing a group hurts the task: loss against distance with both fits, sensitivity, surrogate."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from core.adequacy import compute_sensitivity
from core.plots.palette import DPN, OPT, group_colour
from core.plots.template import Mark, Picture, axis, escape, heading, note, panel, percent, shorten, sig, small
from core.plots.template import layout as sheet
from core.profile import GroupProfile
from core.stability import RadialEvidence, why_radial
from core.surrogate import Surrogate

HEIGHT: Final = 540
SHOWN: Final = 8
"""Groups drawn; the rest are in the table."""
DOTS: Final = 2000
"""Dots over all panels, drawn as vectors: without WebGL, and sharp on a slide. A dot stands for all pairs that nearly
coincide with it; the fits use every pair."""
_FINEST: Final = (96, 72)
"""Columns and rows of a panel within which pairs count as coinciding; coarser where there would be too many dots."""
FEW: Final = 60
"""Dots up to which a panel draws them larger."""
_LEFT: Final = 34
_COARSER: Final = 0.85


@dataclass(frozen=True, eq=False)
class LossView:
    """What the loss picture draws.

    Parameters
    ----------
    names : tuple of str
        Label per group.
    members : tuple of tuple of int
        Attribute positions per group, for its colour.
    profiles : tuple of GroupProfile
        Losses, distances and fits.
    beta : tuple of float
        Surrogate weights.
    unit : str
        Unit of the loss.
    states : tuple of tuple of str
        For every group the labels of its states, as plain text; empty when not enumerated.
    """

    names: tuple[str, ...]
    members: tuple[tuple[int, ...], ...]
    profiles: tuple[GroupProfile, ...]
    beta: tuple[float, ...]
    unit: str
    states: tuple[tuple[str, ...], ...]

    @property
    def order(self) -> list[int]:
        """Groups by the size of their effect, the largest weighted loss first."""
        effect = [b * float(p.pair_loss.max(initial=0.0)) for b, p in zip(self.beta, self.profiles, strict=True)]
        return sorted(range(len(effect)), key=lambda k: (-effect[k], k))


def plot_losses(view: LossView, *, own_scales: bool = False) -> Picture:
    """Draw loss against distance for the eight groups of largest effect, with the isotonic and the quadratic fit.

    Parameters
    ----------
    view : LossView
        What is drawn.
    own_scales : bool
        Give every panel its own axes.
    """
    shown = view.order[:SHOWN]
    title = f"Loss of one group ({view.unit}) against its distance"
    if len(shown) < len(view.names):
        title += f"; the {len(shown)} of {len(view.names)} that cost most"
    dots = _share_dots(view, shown)
    traces: list[Mark] = []
    axes: dict[str, Mark] = {}
    notes = [heading(title, _LEFT)]
    for cell, k in enumerate(shown):
        number = "" if cell == 0 else str(cell + 1)
        traces += _panel(view, k, number, dots[k])
        axes |= _axes(view, cell, own_scales=own_scales)
        scores = f"radial {sig(view.profiles[k].radial.score)}, MSE {sig(view.profiles[k].quadratic.score)}"
        at = {"xref": f"x{number} domain", "yref": f"y{number} domain", "x": 0, "y": 1}
        notes.append(small(escape(shorten(view.names[k], 24)), f"x{number}", f"y{number}", yshift=17))
        notes.append(note(scores, **at, xanchor="left", yanchor="bottom", yshift=3))
    return Picture(
        traces=traces,
        layout=sheet(left=_LEFT, right=8, top=38, bottom=44, annotations=notes, **axes),
        height=HEIGHT,
        name="losses",
        alt=f"Loss against distance for {len(shown)} groups with an isotonic and a quadratic fit.",
        table=table_losses(view),
    )


def _axes(view: LossView, cell: int, *, own_scales: bool) -> dict[str, Mark]:
    """Return both axes of one panel; all panels share their ranges unless each has its own."""
    shown = view.order[:SHOWN]
    columns = min(4, len(shown))
    rows = math.ceil(len(shown) / columns)
    gap_x, gap_y = (0.05 if own_scales else 0.03), 0.16
    width, height = (1 - gap_x * (columns - 1)) / columns, (0.94 - gap_y * (rows - 1)) / rows
    row, column = divmod(cell, columns)
    left, top = column * (width + gap_x), 0.94 - row * (height + gap_y)
    number = "" if cell == 0 else str(cell + 1)
    measured = [view.profiles[k] for k in ([shown[cell]] if own_scales else shown)]
    far = max(1e-9, *(float(p.pair_distance.max(initial=0.0)) for p in measured))
    high = max(1e-9, *(float(p.pair_loss.max(initial=0.0)) for p in measured))
    last = cell + columns >= len(shown)
    return {
        f"xaxis{number}": axis("distance d" if last else None, domain=[left, left + width], anchor=f"y{number}",
                               range=[0, 1.04 * far], nticks=4, showticklabels=last or own_scales),
        f"yaxis{number}": axis(domain=[top - height, top], anchor=f"x{number}", range=[0, 1.08 * high], nticks=4,
                               showticklabels=column == 0 or own_scales),
    }  # fmt: skip


Dots = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Positions of the pairs that are drawn, and how many pairs each stands for."""


def _share_dots(view: LossView, shown: Sequence[int]) -> dict[int, Dots]:
    """Thin the pairs of every panel; what small groups do not need is left to the large ones."""
    left, dots = DOTS, {}
    for done, k in enumerate(sorted(shown, key=lambda k: len(view.profiles[k].pair_loss))):
        profile = view.profiles[k]
        dots[k] = thin(profile.pair_distance, profile.pair_loss, left // (len(shown) - done))
        left -= len(dots[k][0])
    return dots


def _panel(view: LossView, k: int, number: str, dots: Dots) -> list[Mark]:
    profile, (chosen, counts) = view.profiles[k], dots
    at: Mark = {"xaxis": f"x{number}", "yaxis": f"y{number}"}
    curve = np.linspace(0.0, float(profile.pair_distance.max(initial=0.0)), 60)
    quadratic = profile.quadratic.slope * curve**2 + profile.quadratic.intercept
    # Many pairs in one place are darker, but a single one is still seen.
    opacity = np.minimum(0.4 + 0.1 * np.log2(counts), 0.9)
    return [
        at | {"type": "scatter", "mode": "markers", "x": profile.pair_distance[chosen].astype(np.float32),
              "y": profile.pair_loss[chosen].astype(np.float32), "text": _pair_names(view, k, chosen, counts),
              "marker": {"size": 5 if len(chosen) > FEW else 7, "opacity": opacity.astype(np.float32),
                         "color": group_colour(view.members[k])},
              "hovertemplate": "%{text}distance %{x:.4g}<br>loss %{y:.6g}<extra></extra>"},
        at | {"type": "scatter", "mode": "lines", "x": profile.radial.distance.tolist(),
              "y": profile.radial.fitted.tolist(), "line": {"color": DPN, "width": 2.5},
              "hovertemplate": "isotonic fit %{y:.6g}<extra></extra>"},
        at | {"type": "scatter", "mode": "lines", "x": curve.tolist(), "y": quadratic.tolist(),
              "line": {"color": OPT, "width": 2.5, "dash": "dash"},
              "hovertemplate": "quadratic fit %{y:.6g}<extra></extra>"},
    ]  # fmt: skip


def thin(distance: NDArray[np.float64], loss: NDArray[np.float64], limit: int) -> Dots:
    """Return positions of at most `limit` pairs that stand for all, and how many each stands for.

    Pairs in one cell of a grid over the panel count as coinciding. The grid starts at the resolution of the screen
    and gets coarser until the dots are few enough; every occupied cell keeps a dot, so no outlier is lost.

    Parameters
    ----------
    distance, loss : ndarray (pairs,)
        The pairs.
    limit : int
        Largest number of dots, at least 4 (one per corner).

    Returns
    -------
    positions, counts : ndarray of int
        Of the dots, rising; the counts add up to the number of pairs.
    """
    if len(distance) == 0:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    x, y = ((v - v.min()) / max(float(np.ptp(v)), 1e-300) for v in (distance, loss))
    scale = 1.0
    while True:
        columns, rows = (max(int(scale * side), 1) for side in _FINEST)
        cell = np.rint(x * columns).astype(np.int64) * (rows + 1) + np.rint(y * rows).astype(np.int64)
        _, first, counts = np.unique(cell, return_index=True, return_counts=True)
        if len(first) <= max(limit, 4):
            break
        scale *= _COARSER
    order = np.argsort(first)
    return first[order].astype(np.int64), counts[order].astype(np.int64)


def _pair_names(view: LossView, k: int, chosen: NDArray[np.int64], counts: NDArray[np.int64]) -> list[str]:
    labels = view.states[k]
    many = [f"one of {c:,} pairs about here<br>" if c > 1 else "" for c in counts.tolist()]
    if not labels:
        return many
    n = len(labels)
    pairs = zip(chosen.tolist(), many, strict=True)
    return [f"{escape(labels[i // n])} → {escape(labels[i % n])}<br>{words}" for i, words in pairs]


def plot_sensitivity(view: LossView) -> Picture:
    """Draw box plots of the sensitivity rho = loss / distance of every group (the paper's Fig. 6)."""
    shown = view.order[:20]
    boxes: list[Mark] = []
    for row, k in enumerate(shown):
        rho = compute_sensitivity(view.profiles[k].pair_distance, view.profiles[k].pair_loss)
        low, first, middle, third, high = np.quantile(rho, [0.05, 0.25, 0.5, 0.75, 0.95]) if len(rho) else [0.0] * 5
        boxes.append(
            {"type": "box", "orientation": "h", "y": [row], "q1": [first], "median": [middle], "q3": [third],
             "lowerfence": [low], "upperfence": [high], "fillcolor": "@fill", "whiskerwidth": 0.5, "width": 0.5,
             "line": {"color": group_colour(view.members[k]), "width": 2}, "hoverinfo": "x"}
        )  # fmt: skip
    return Picture(
        traces=boxes,
        layout=sheet(
            left=180,
            xaxis=axis(f"sensitivity rho = loss / distance ({view.unit} per unit of distance)", rangemode="tozero"),
            yaxis=axis(range=[max(len(shown), 4) - 0.4, -0.6], showgrid=False, showticklabels=False),
            annotations=[
                heading("Sensitivity of the loss: middle half of the pairs, whiskers from 5 to 95 %", 180),
                *_row_names([view.names[k] for k in shown], "paper", "y"),
            ],
        ),
        height=max(240, 90 + 34 * len(shown)),
        name="sensitivity",
        alt="Box plots of loss per unit of distance for every group.",
    )


def _row_names(names: Sequence[str], x: str, y: str) -> list[Mark]:
    """Return the names left of the rows of a chart, counted from 0."""
    font = {"size": 12.5, "color": "@text"}
    return [
        note(escape(shorten(name, 24)), xref=x, yref=y, x=0, y=row, xanchor="right", xshift=-8, font=font)
        for row, name in enumerate(names)
    ]


def plot_surrogate(surrogate: Surrogate, names: Sequence[str], unit: str) -> Picture:
    """Draw predicted against actual loss on held-out pairs, and the weights beta of the twenty heaviest groups."""
    chosen, counts = thin(surrogate.predicted, surrogate.actual, DOTS)
    top = 1.05 * max(float(surrogate.actual.max(initial=0.0)), float(surrogate.predicted.max(initial=0.0)), 1e-9)
    heaviest = sorted(range(len(names)), key=lambda k: (-surrogate.beta[k], k))[:20]
    traces: list[Mark] = [
        {"type": "scatter", "mode": "markers", "x": surrogate.predicted[chosen].astype(np.float32),
         "y": surrogate.actual[chosen].astype(np.float32),
         "marker": {"size": 5, "color": "@neutral", "opacity": np.minimum(0.4 + 0.1 * np.log2(counts), 0.9)},
         "hovertemplate": "predicted %{x:.6g}<br>actual %{y:.6g}<extra></extra>"},
        {"type": "scatter", "mode": "lines", "x": [0, top], "y": [0, top], "hoverinfo": "skip",
         "line": {"color": "@text", "width": 1.5, "dash": "dot"}},
        {"type": "bar", "orientation": "h", "xaxis": "x2", "yaxis": "y2", "y": list(range(len(heaviest))),
         "width": 0.55, "x": surrogate.beta[heaviest].tolist(), "marker": {"color": "@neutral"},
         "hovertext": [escape(names[k]) for k in heaviest],
         "hovertemplate": "%{hovertext}<br>beta %{x:.6g}<extra></extra>"},
    ]  # fmt: skip
    return Picture(
        traces=traces,
        layout=sheet(
            left=44,
            xaxis=axis(f"predicted loss ({unit})", domain=[0, 0.5], range=[0, top], anchor="y", nticks=7),
            yaxis=axis(range=[0, top], anchor="x", nticks=7),
            xaxis2=axis("weight (beta)", domain=[0.74, 1], anchor="y2", rangemode="tozero", nticks=5),
            yaxis2=axis(range=[max(len(heaviest), 6) - 0.4, -0.6], anchor="x2", showgrid=False, showticklabels=False),
            annotations=[
                heading(f"Actual loss of held-out pairs ({unit})", 44),
                panel("Weight of each group (beta)", "x2", "y2"),
                *_row_names([names[k] for k in heaviest], "x2 domain", "y2"),
            ],
        ),
        height=max(380, 90 + 26 * len(heaviest)),
        name="surrogate",
        alt=f"Predicted against actual loss; on held-out pairs R squared is {sig(surrogate.r2)}.",
    )


def table_losses(view: LossView) -> pd.DataFrame:
    """Return scores, fits and losses, one row per group, by size of effect."""
    order, profiles = view.order, view.profiles
    return pd.DataFrame(
        {
            "group": [view.names[k] for k in order],
            "states": [profiles[k].domain.size for k in order],
            "radial-fit score": [profiles[k].radial.score for k in order],
            "MSE-likeness score": [profiles[k].quadratic.score for k in order],
            "a of a d² + b": [profiles[k].quadratic.slope for k in order],
            "b": [profiles[k].quadratic.intercept for k in order],
            f"largest loss ({view.unit})": [float(profiles[k].pair_loss.max(initial=0.0)) for k in order],
            "zero information": [profiles[k].zero_information for k in order],
            "weight (beta)": [view.beta[k] for k in order],
            "losses": [_how(profiles[k]) for k in order],
        }
    )


def _how(profile: GroupProfile) -> str:
    if profile.loss is None:
        return "sampled pairs of records"
    return "exhaustive" if profile.loss.exhaustive else "sampled contexts"


def table_terms(surrogate: Surrogate, names: Sequence[str]) -> pd.DataFrame:
    """Return the largest interaction and square terms of the quadratic surrogate (the paper's Table 2)."""
    terms = surrogate.quadratic.largest if surrogate.quadratic else ()
    return pd.DataFrame(
        {
            "term": [" × ".join(names[g] for g in t.groups) for t in terms],
            "coefficient": [t.coefficient for t in terms],
            "contribution": [t.contribution for t in terms],
        }
    )  # fmt: skip


def find_evidence(view: LossView) -> tuple[RadialEvidence, ...]:
    """Find for every group what its radial-fit score rests on."""
    return tuple(why_radial(p.pair_distance, p.pair_loss, p.radial) for p in view.profiles)


def table_evidence(view: LossView, evidence: Sequence[RadialEvidence]) -> pd.DataFrame:
    """Return what makes every group's loss radial or not, one row per group, by size of effect."""
    order = view.order
    return pd.DataFrame(
        {
            "group": [view.names[k] for k in order],
            "radial-fit score": [view.profiles[k].radial.score for k in order],
            "variance explained by distance": [evidence[k].explained for k in order],
            "largest spread at one distance": [evidence[k].spread for k in order],
            "at distance": [evidence[k].distance[0] for k in order],
            "least loss there": [_name_pair(view, k, evidence[k].low) for k in order],
            "largest loss there": [_name_pair(view, k, evidence[k].high) for k in order],
            "largest fall of the mean": [evidence[k].drop for k in order],
        }
    )


def _name_pair(view: LossView, k: int, place: tuple[int, ...]) -> str:
    labels = view.states[k]
    if not labels:
        return "a sampled pair"
    x, y = place if len(place) > 1 else divmod(place[0], len(labels))
    return f"{labels[x]} → {labels[y]}"


RADIAL: Final = 0.99
"""Score from which a loss is called radial."""
NOT_RADIAL: Final = 0.5
"""Score below which it is called not radial."""


def explain_losses(view: LossView, evidence: RadialEvidence, surrogate: Surrogate) -> str:
    """Return what the picture means: whether the costliest group's loss is radial, and how well the sum predicts.

    Parameters
    ----------
    view : LossView
        What is drawn.
    evidence : RadialEvidence
        Of the first group in order.
    surrogate : Surrogate
        The weighted sum.
    """
    k = view.order[0]
    score = view.profiles[k].radial.score
    kind = "is radial" if score > RADIAL else "is **not radial**" if score < NOT_RADIAL else "is partly radial"
    share = percent(max(evidence.explained, 0.0))
    said = f"The loss of **{view.names[k]}** {kind}: distance explains {share} of its variance"
    if evidence.spread > 0 and score <= RADIAL:
        said += f", and pairs at one distance differ by up to {sig(evidence.spread)} {view.unit}"
    r2 = percent(max(surrogate.r2, 0.0))
    if len(view.names) == 1:
        return f"{said}. It is the only group, so its loss is the loss of the record."
    return f"{said}. A weighted sum over the groups explains **{r2}** of the loss of held-out pairs."
