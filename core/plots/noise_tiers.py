"""One number at several budgets: the error of every recipient under every release, and what colluders learn."""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd

from core.plots.template import Mark, Picture, axis, escape, heading, note, panel, sig
from core.plots.template import layout as sheet
from core.plots.tier_looks import GAP, TIER_LOOKS, log_ticks, spread_labels
from core.tiers.comparison import GRADUAL_MU, NoiseComparison, ReleaseCurve
from core.tiers.noise import FAMILIES

HEIGHT: Final = 500
NAMED: Final = 6
"""Most recipients whose names stand beside their points."""
_LEFT: Final = 46
_SPLIT: Final = 0.585
_SECOND: Final = 0.765
_DODGE: Final = 0.006
"""How far the simulated points of two releases stand apart, as a share of the axis, so that both are seen."""
_INTERVAL: Final = 1.96
"""Half-width of an error bar in standard errors, a 95 percent interval."""
_IDEAL: Final = "ideal"
_SAME: Final = 1e-6
"""Relative difference below which two curves are one line."""
_PERSONS: Final = ("Laplace", "Gaussian", "Skellam")
"""Families named after people keep their capital."""


def family_words(name: str) -> str:
    """Return what a noise family is called inside a sentence.

    Examples
    --------
    >>> family_words("geometric"), family_words("laplace")
    ('two-sided geometric', 'Laplace')
    """
    title = FAMILIES[name].title
    return title if title.split()[0] in _PERSONS else title[0].lower() + title[1:]


@dataclass(frozen=True, eq=False)
class TierView:
    """What the picture draws.

    Parameters
    ----------
    comparison : NoiseComparison
        The result.
    recipients : tuple of str
        A name per tier, or empty.
    log : bool
        Whether the budget axis is logarithmic.
    picked : int
        Tier whose step is shown below the picture.
    """

    comparison: NoiseComparison
    recipients: tuple[str, ...] = ()
    log: bool = True
    picked: int = 0

    @property
    def named(self) -> bool:
        """Whether names stand beside the points."""
        return 0 < len(self.recipients) <= NAMED

    def who(self, tier: int) -> str:
        """Return what a tier is called."""
        return self.recipients[tier] if self.recipients else f"tier {tier + 1}"


def plot_noise_tiers(view: TierView) -> Picture:
    """Draw the error by tier under every release, theory as lines and simulation as points, and the collusion cost.

    Parameters
    ----------
    view : TierView
        What is drawn; a click on a point of the chain picks its tier.
    """
    errors, costs = _errors(view), _costs(view)
    result = view.comparison
    return Picture(
        traces=[*errors[0], *costs[0]],
        layout=sheet(
            left=_LEFT, right=10, top=34, bottom=50, annotations=[*errors[2], *costs[2]], **errors[1], **costs[1]
        ),
        height=HEIGHT,
        name="noise_tiers",
        alt=f"Error by budget for {len(result.reference)} tiers: multi-tier release is at most "
        f"{sig(result.worst_ratio('multi-tier'))} times the ideal, gradual {sig(result.worst_ratio('gradual'))} times.",
        table=table_noise_tiers(view),
    )


Part = tuple[list[Mark], dict[str, Mark], list[Mark]]
"""Traces, axes and annotations of one part of the picture."""


def _x_range(view: TierView) -> list[float]:
    budgets = view.comparison.settings.budgets
    low, high = budgets[-1], budgets[0]
    pad = 0.24 if view.named else 0.05
    if view.log:
        first, last = math.log10(low), math.log10(high)
        span = max(last - first, 0.3)
        return [first - pad * span, last + 0.04 * span]
    span = max(high - low, 0.3 * high)
    return [low - pad * span, high + 0.04 * span]


def _dodge(view: TierView, step: int) -> list[float]:
    """Return the budgets, moved by `step` widths of a point along the axis."""
    left, right = _x_range(view)
    shift = step * _DODGE * (right - left)
    return [b * 10**shift if view.log else b + shift for b in view.comparison.settings.budgets]


def _errors(view: TierView) -> Part:
    result = view.comparison
    everything = np.concatenate([result.reference, *(curve.mse for curve in result.curves)])
    low, high = float(everything.min()), float(everything.max())
    span = max(math.log10(high / low), 0.5)
    y_range = [math.log10(low) - 0.09 * span, math.log10(high) + 0.05 * span]
    ideal = TIER_LOOKS["ideal"]
    traces: list[Mark] = []
    for step, name in ((0, "multi-tier"), (1, "independent"), (0, "gradual"), (0, GRADUAL_MU)):
        drawn = [curve for curve in result.curves if curve.name == name]
        traces += [mark for curve in drawn for mark in _release(view, curve, step)]
    traces.insert(
        1,
        {"type": "scatter", "mode": "lines", "x": list(result.settings.budgets), "y": result.reference.tolist(),
         "line": {"color": ideal.colour, "dash": ideal.dash, "width": ideal.width},
         "hovertemplate": "ideal, no protection<br>epsilon %{x:.6g}<br>MSE %{y:.6g}<extra></extra>"},
    )  # fmt: skip
    x_range = _x_range(view)
    left, right = (10 ** x_range[0], 10 ** x_range[1]) if view.log else x_range
    scale = "log scale" if view.log else "linear scale"
    ticks = log_ticks(left, right) if view.log else {"nticks": 7}
    axes = {
        "xaxis": axis(f"privacy budget of the tier (epsilon), {scale}", domain=[0, _SPLIT], anchor="y", range=x_range,
                      type="log" if view.log else "linear", **ticks),
        "yaxis": axis(domain=[0, 1], anchor="x", type="log", range=y_range,
                      **log_ticks(10 ** y_range[0], 10 ** y_range[1])),
    }  # fmt: skip
    said = f"lines: theory<br>points: {result.runs:,} simulated releases, 95 % intervals"
    notes = [
        heading("Error of each recipient (mean squared error, log scale)", _LEFT),
        note(said, xref="x domain", yref="y domain", x=0, y=0, xanchor="left", yanchor="bottom", xshift=4, yshift=4,
             align="left", bgcolor="@bg"),
    ]  # fmt: skip
    return traces, axes, [*notes, *_end_labels(view, y_range), *_names(view)]


def _release(view: TierView, curve: ReleaseCurve, step: int) -> list[Mark]:
    """Draw one release: theory as a line, simulation as points with their interval."""
    look, budgets = TIER_LOOKS[curve.name], view.comparison.settings.budgets
    names = [escape(view.who(i)) for i in range(len(budgets))]
    sized: Mark = {"size": 10, "symbol": look.symbol, "color": look.colour, "line": {"width": 1, "color": "@bg"}}
    if look.symbol.endswith("-open"):
        sized["line"] = {"width": 1.5, "color": look.colour}
    return [
        {"type": "scatter", "mode": "lines", "x": list(budgets), "y": curve.mse.tolist(),
         "line": {"color": look.colour, "dash": look.dash, "width": look.width},
         "hovertemplate": f"{curve.name}, theory<br>epsilon %{{x:.6g}}<br>MSE %{{y:.6g}}<extra></extra>"},
        {"type": "scatter", "mode": "markers", "x": _dodge(view, step), "y": curve.measured.tolist(), "text": names,
         "customdata": list(range(len(budgets))), "marker": sized, "cliponaxis": False,
         "error_y": {"type": "data", "array": (_INTERVAL * curve.standard_errors).tolist(), "width": 3,
                     "thickness": 1.25, "color": look.colour},
         "hovertemplate": f"%{{text}}<br>{curve.name}, {view.comparison.runs:,} simulated releases<br>"
         "MSE %{y:.6g}<extra></extra>"},
    ]  # fmt: skip


def _end_labels(view: TierView, y_range: list[float]) -> list[Mark]:
    """Return labels at the right ends of the lines; lines that coincide share one."""
    result = view.comparison
    ends: list[tuple[float, list[str]]] = []
    lines = [(curve.name, curve.mse) for curve in result.curves] + [(_IDEAL, result.reference)]
    for name, mse in lines:
        at = float(mse[0])
        same = next((entry for entry in ends if abs(entry[0] / at - 1) < _SAME), None)
        if same is None:
            ends.append((at, [name]))
        else:
            same[1].append(name)
    ends = [(at, ["ideal, geometric"] if names == [_IDEAL] else names) for at, names in ends]
    height = HEIGHT - 34 - 50
    pixels = [(math.log10(at) - y_range[0]) / (y_range[1] - y_range[0]) * height for at, _ in ends]
    # A label of several lines needs as many times the room.
    tall = max(len(names) for _, names in ends)
    placed = spread_labels(pixels, GAP * (1 + tall) / 2)
    return [
        note("<br>".join(names), xref="paper", yref="y domain", x=_SPLIT, y=0, yshift=at, xanchor="left", xshift=8,
             yanchor="middle", align="left", font={"size": 12.5, "color": "@text"})
        for at, (_, names) in zip(placed, ends, strict=True)
    ]  # fmt: skip


def _names(view: TierView) -> list[Mark]:
    """Return the recipients' names, left below their points, where the falling line leaves room."""
    if not view.named:
        return []
    chain, budgets = view.comparison.curve("multi-tier"), view.comparison.settings.budgets
    return [
        note(escape(name), xref="x", yref="y", x=math.log10(budget) if view.log else budget,
             y=math.log10(float(chain.mse[i])), xanchor="right", yanchor="top", xshift=-9, yshift=4)
        for i, (name, budget) in enumerate(zip(view.recipients, budgets, strict=True))
    ]  # fmt: skip


def _costs(view: TierView) -> Part:
    """Draw what the s best-informed recipients learn together, under every release."""
    result = view.comparison
    sizes = list(range(1, len(result.reference) + 1))
    traces: list[Mark] = []
    ends: list[tuple[float, str]] = []
    for name in ("independent", "gradual", "multi-tier"):
        curve, look = result.curve(name), TIER_LOOKS[name]
        costs = [cost.epsilon for cost in curve.coalitions]
        many = len(sizes) > 30
        traces.append(
            {"type": "scatter", "mode": "lines" if many else "lines+markers", "x": sizes, "y": costs,
             "xaxis": "x2", "yaxis": "y2", "line": {"color": look.colour, "dash": look.dash, "width": look.width},
             "marker": {"size": 8, "symbol": look.symbol, "color": look.colour},
             "hovertemplate": f"{name}<br>%{{x}} colluders<br>epsilon %{{y:.6g}}<extra></extra>"}
        )  # fmt: skip
        ends.append((costs[-1], name))
    top = max(at for at, _ in ends)
    y_range = [0.0, 1.12 * top]
    fine = {"tickmode": "array", "tickvals": _sizes(len(sizes))}
    axes = {
        "xaxis2": axis("colluders, best-informed first", domain=[_SECOND, 1], anchor="y2",
                       range=[1 - 0.06 * max(len(sizes) - 1, 1), len(sizes) + 0.06 * max(len(sizes) - 1, 1)], **fine),
        "yaxis2": axis(domain=[0, 1], anchor="x2", range=y_range, nticks=6),
    }  # fmt: skip
    notes = [panel("Learned together (epsilon)", "x2", "y2", xshift=-24)]
    chain, apart = result.curve("multi-tier").together.epsilon, result.curve("independent").together.epsilon
    font = {"size": 12.5, "color": "@text"}
    at: Mark = {"xref": "x2 domain", "yref": "y2", "x": 1, "xanchor": "right", "font": font}
    if apart > chain * (1 + _SAME):
        notes.append(note(f"independent {sig(apart)}", **at, y=apart, yanchor="bottom", yshift=7))
    notes.append(note(f"multi-tier, gradual {sig(chain)}", **at, y=chain, yanchor="top", yshift=-9))
    return traces, axes, notes


def _sizes(count: int) -> list[int]:
    """Return at most six coalition sizes to write on the axis, the first and the last among them."""
    return sorted({round(1 + (count - 1) * i / 5) for i in range(6)})


def table_noise_tiers(view: TierView) -> pd.DataFrame:
    """Return the numbers behind the picture, one row per tier."""
    result = view.comparison
    columns: dict[str, object] = {
        "tier": list(range(1, len(result.reference) + 1)),
        "recipient": [view.who(i) for i in range(len(result.reference))],
        "epsilon": list(result.settings.budgets),
        "ideal MSE": result.reference,
    }
    for curve in result.curves:
        columns |= {
            f"{curve.name} MSE": curve.mse,
            f"{curve.name} over ideal": curve.mse / result.reference,
            f"{curve.name} simulated": curve.measured,
            f"{curve.name} standard error": curve.standard_errors,
        }
    for curve in result.curves:
        columns[f"epsilon of tiers 1 to this one, {curve.name}"] = [cost.epsilon for cost in curve.coalitions]
    return pd.DataFrame(columns)


def explain_noise_tiers(view: TierView) -> str:
    """Return what the picture means, every number from the result."""
    result = view.comparison
    tiers = len(result.reference)
    family = family_words(result.settings.family)
    if tiers == 1:
        alone = float(result.curve("multi-tier").mse[0])
        return f"There is one tier only; {family} noise has mean squared error **{sig(alone)}**."
    gradual = result.own_ratio("gradual")
    own = f"A chain gives every recipient the error of a single {family} answer"
    worse = f"gradual release is up to **{sig(gradual)}** times worse"
    together = result.curve("multi-tier").together.epsilon
    apart = result.curve("independent").together
    also = f" with delta {sig(apart.delta)}" if apart.delta > result.settings.delta * (1 + _SAME) else ""
    return (
        f"{own}; {worse}. If all {tiers} collude, the chain gives away epsilon **{sig(together)}**, the budget of the "
        f"best-informed; independent answers give away **{sig(apart.epsilon)}**{also}."
    )
