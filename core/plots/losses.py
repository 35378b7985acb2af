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
from core.stability import RadialEvidence
from core.surrogate import Surrogate

HEIGHT: Final = 540
SHOWN: Final = 8
POINTS: Final = 4000
"""Pairs drawn over all panels; the fits use all of them."""
_LEFT: Final = 34
_JITTER: Final = 0.006


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
    score : str
        'radial' or 'mse', the scenario's choice.
    states : tuple of tuple of str
        For every group the labels of its states, empty when not enumerated.
    """

    names: tuple[str, ...]
    members: tuple[tuple[int, ...], ...]
    profiles: tuple[GroupProfile, ...]
    beta: tuple[float, ...]
    unit: str
    score: str
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
    columns = min(4, max(len(shown), 1))
    rows = math.ceil(len(shown) / columns)
    gap_x, gap_y = (0.05 if own_scales else 0.03), 0.16
    width, height = (1 - gap_x * (columns - 1)) / columns, (0.94 - gap_y * (rows - 1)) / max(rows, 1)
    far = max((float(view.profiles[k].pair_distance.max(initial=0.0)) for k in shown), default=1.0)
    high = max((float(view.profiles[k].pair_loss.max(initial=0.0)) for k in shown), default=1.0)
    traces: list[Mark] = []
    axes: dict[str, Mark] = {}
    notes = [heading(f"Loss of one group ({view.unit}) against its distance", _LEFT)]
    for cell, k in enumerate(shown):
        row, column = divmod(cell, columns)
        left, top = column * (width + gap_x), 0.94 - row * (height + gap_y)
        number = "" if cell == 0 else str(cell + 1)
        profile = view.profiles[k]
        traces += _panel(view, k, number)
        last = cell + columns >= len(shown)
        own_far = max(float(profile.pair_distance.max(initial=0.0)), 1e-9)
        own_high = max(float(profile.pair_loss.max(initial=0.0)), 1e-9)
        axes[f"xaxis{number}"] = axis(
            "distance d" if last else None,
            domain=[left, left + width],
            anchor=f"y{number}",
            range=[0, 1.04 * (own_far if own_scales else max(far, 1e-9))],
            nticks=4,
            showticklabels=last or own_scales,
        )
        axes[f"yaxis{number}"] = axis(
            domain=[top - height, top],
            anchor=f"x{number}",
            range=[0, 1.08 * (own_high if own_scales else max(high, 1e-9))],
            nticks=4,
            showticklabels=column == 0 or own_scales,
        )
        scores = f"radial {sig(profile.radial.score)}, MSE {sig(profile.quadratic.score)}"
        notes.append(small(escape(shorten(view.names[k], 24)), f"x{number}", f"y{number}", yshift=17))
        notes.append(
            note(
                scores, xref=f"x{number} domain", yref=f"y{number} domain", x=0, y=1, xanchor="left", yanchor="bottom",
                yshift=3,
            )
        )  # fmt: skip
    return Picture(
        traces=traces,
        layout=sheet(left=_LEFT, right=8, top=38, bottom=44, annotations=notes, **axes),
        height=HEIGHT,
        name="losses",
        alt=f"Loss against distance for {len(shown)} groups with an isotonic and a quadratic fit.",
        table=table_losses(view),
    )


def _panel(view: LossView, k: int, number: str) -> list[Mark]:
    profile = view.profiles[k]
    chosen = _spread(profile, POINTS // min(SHOWN, max(len(view.names), 1)))
    distance, loss = profile.pair_distance[chosen], profile.pair_loss[chosen]
    at: Mark = {"xaxis": f"x{number}", "yaxis": f"y{number}"}
    curve = np.linspace(0.0, float(profile.pair_distance.max(initial=0.0)), 60)
    quadratic = profile.quadratic.slope * curve**2 + profile.quadratic.intercept
    tied = _JITTER * (np.random.default_rng(0).random(len(distance)) - 0.5)
    return [
        at | {"type": "scattergl", "mode": "markers", "x": (distance + tied).astype(np.float32),
              "y": loss.astype(np.float32), "text": _pair_names(view, k, chosen),
              "marker": {"size": 5, "opacity": 0.35, "color": group_colour(view.members[k])},
              "hovertemplate": "%{text}distance %{x:.4g}<br>loss %{y:.6g}<extra></extra>"},
        at | {"type": "scatter", "mode": "lines", "x": profile.radial.distance.tolist(),
              "y": profile.radial.fitted.tolist(), "line": {"color": DPN, "width": 2.5},
              "hovertemplate": "isotonic fit %{y:.6g}<extra></extra>"},
        at | {"type": "scatter", "mode": "lines", "x": curve.tolist(), "y": quadratic.tolist(),
              "line": {"color": OPT, "width": 2.5, "dash": "dash"},
              "hovertemplate": "quadratic fit %{y:.6g}<extra></extra>"},
    ]  # fmt: skip


def _spread(profile: GroupProfile, count: int) -> NDArray[np.int64]:
    """Return positions of at most `count` pairs, spread evenly over the rank of their distance."""
    order = np.argsort(profile.pair_distance, kind="stable")
    if len(order) <= count:
        return order.astype(np.int64)
    rng = np.random.default_rng(0)
    cuts = np.linspace(0, len(order), count + 1).astype(np.int64)
    return order[cuts[:-1] + (rng.random(count) * np.diff(cuts)).astype(np.int64)].astype(np.int64)


def _pair_names(view: LossView, k: int, chosen: NDArray[np.int64]) -> list[str]:
    labels = view.states[k]
    if not labels:
        return [""] * len(chosen)
    n = len(labels)
    return [f"{labels[i // n]} → {labels[i % n]}<br>" for i in chosen.tolist()]


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
    font = {"size": 12.5, "color": "@text"}
    names = [
        note(escape(shorten(view.names[k], 22)), xref="paper", yref="y", x=0, y=row, xanchor="right", xshift=-8,
             font=font)
        for row, k in enumerate(shown)
    ]  # fmt: skip
    return Picture(
        traces=boxes,
        layout=sheet(
            left=170,
            xaxis=axis(f"sensitivity rho = loss / distance ({view.unit})", rangemode="tozero"),
            yaxis=axis(range=[len(shown) - 0.4, -0.6], showgrid=False, showticklabels=False),
            annotations=[heading("Sensitivity of the loss, 5 to 95 % of the pairs", 170), *names],
        ),
        height=max(240, 90 + 34 * len(shown)),
        name="sensitivity",
        alt="Box plots of loss per unit of distance for every group.",
    )


def plot_surrogate(surrogate: Surrogate, names: Sequence[str], unit: str) -> Picture:
    """Draw predicted against actual loss on held-out pairs, and the weights beta."""
    count = min(len(surrogate.actual), 2500)
    top = 1.05 * max(float(surrogate.actual.max(initial=0.0)), float(surrogate.predicted.max(initial=0.0)), 1e-9)
    rows = list(range(len(names)))
    font = {"size": 12.5, "color": "@text"}
    labels = [
        note(escape(shorten(name, 18)), xref="x2 domain", yref="y2", x=0, y=row, xanchor="right", xshift=-8, font=font)
        for row, name in enumerate(names)
    ]
    traces: list[Mark] = [
        {"type": "scattergl", "mode": "markers", "x": surrogate.predicted[:count].astype(np.float32),
         "y": surrogate.actual[:count].astype(np.float32), "marker": {"size": 5, "opacity": 0.4, "color": "@neutral"},
         "hovertemplate": "predicted %{x:.6g}<br>actual %{y:.6g}<extra></extra>"},
        {"type": "scatter", "mode": "lines", "x": [0, top], "y": [0, top], "hoverinfo": "skip",
         "line": {"color": "@text", "width": 1.5, "dash": "dot"}},
        {"type": "bar", "orientation": "h", "xaxis": "x2", "yaxis": "y2", "y": rows, "width": 0.55,
         "x": surrogate.beta.tolist(), "marker": {"color": "@neutral"},
         "hovertemplate": "beta %{x:.6g}<extra></extra>"},
    ]  # fmt: skip
    return Picture(
        traces=traces,
        layout=sheet(
            left=44,
            xaxis=axis(f"predicted loss ({unit})", domain=[0, 0.5], range=[0, top], anchor="y"),
            yaxis=axis(range=[0, top], anchor="x"),
            xaxis2=axis("weight (beta)", domain=[0.72, 1], anchor="y2", rangemode="tozero", nticks=5),
            yaxis2=axis(range=[len(names) - 0.4, -0.6], anchor="x2", showgrid=False, showticklabels=False),
            annotations=[
                heading(f"Actual loss of held-out pairs ({unit})", 44),
                panel("Weight of each group (beta)", "x2", "y2"),
                *labels,
            ],
        ),
        height=max(380, 90 + 26 * len(names)),
        name="surrogate",
        alt=f"Held-out R squared {sig(surrogate.r2)}.",
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


def explain_losses(view: LossView, evidence: RadialEvidence, surrogate: Surrogate) -> str:
    """Return what the picture means: whether the largest group's loss is radial, and how well the sum predicts."""
    k = view.order[0]
    profile = view.profiles[k]
    share = percent(max(evidence.explained, 0.0))
    kind = "is radial" if profile.radial.score > 0.99 else "is **not radial**" if profile.radial.score < 0.5 else (
        "is partly radial"
    )  # fmt: skip
    said = f"The loss of **{view.names[k]}** {kind}: distance explains {share} of its variance"
    if evidence.spread > 0 and profile.radial.score <= 0.99:
        said += f", and pairs at the same distance differ by up to {sig(evidence.spread)} {view.unit}"
    return (
        f"{said}. Summed with weights, the group losses explain **{percent(max(surrogate.r2, 0.0))}** of the loss of "
        f"held-out pairs, within {sig(surrogate.mean_absolute_error)} {view.unit} on average."
    )
