"""One category at several budgets: every recipient's error over the ideal, and the chain of subsets behind it."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd

from core.plots.palette import DPN, LOOKS, MUTED, NEUTRAL, Look
from core.plots.place import CHARACTER, place_labels
from core.plots.template import Mark, Picture, axis, escape, heading, label, panel, sig
from core.plots.template import layout as sheet
from core.plots.tier_looks import TIER_LOOKS, log_ticks
from core.tiers.category_comparison import CHAINS, CategoryComparison
from core.tiers.laws import FloatArray
from core.tiers.subset import expand_level
from core.tiers.template_rules import Tier

HEIGHT: Final = 520
CATEGORY_LOOKS: Final[dict[str, Look]] = {
    "optimal chain": TIER_LOOKS["multi-tier"],
    "templates 2": Look(DPN, "circle", "solid", 2.5),
    "templates 1": LOOKS["uniform"],
    "local hashing": Look(MUTED, "diamond-open", "dash", 1.5),
    "BRR": Look(MUTED, "square-open", "dashdot", 1.5),
    "GRR": Look(MUTED, "circle-open", "longdash", 1.5),
    "gradual": TIER_LOOKS["gradual"],
    "ideal": TIER_LOOKS["ideal"],
}
"""Ways to release a category: ours, the paper's two rules, and baselines in greys that dashes and marks tell apart."""
SWATCHES: Final = {
    "optimal chain": "square",
    "templates 2": "circle",
    "templates 1": "cross",
    "local hashing": "dash",
    "BRR": "dashdot",
    "GRR": "ring",
    "gradual": "triangle",
    "ideal": "dot",
}
"""Kind of swatch of every method in the key."""
_LEFT: Final = 46
_WIDTH: Final = 690
"""Pixels between the margins where the figure is narrowest, for the placing of labels."""
_TOP: Final = (0.56, 1.0)
_BOTTOM: Final = (0.0, 0.40)
_CAP: Final = 1.6
"""The ratio axis ends this factor above the worst of all methods but gradual release, whose errors have no bound."""
_GONE: Final = 1.0 + 1e-9


@dataclass(frozen=True, eq=False)
class CategoryView:
    """What the picture draws.

    Parameters
    ----------
    comparison : CategoryComparison
        The result.
    recipients : tuple of str
        A name per tier, or empty.
    """

    comparison: CategoryComparison
    recipients: tuple[str, ...] = ()

    def who(self, tier: int) -> str:
        """Return what a tier is called."""
        return self.recipients[tier] if self.recipients else f"tier {tier + 1}"


def plot_categorical_tiers(view: CategoryView) -> Picture:
    """Draw the ratio to the ideal by tier for every method above the subset sizes of the chains.

    Parameters
    ----------
    view : CategoryView
        What is drawn; both panels share the budget axis.
    """
    result = view.comparison
    upper, lower = _ratios(view), _chains(view)
    return Picture(
        traces=[*upper[0], *lower[0]],
        layout=sheet(
            left=_LEFT, right=10, top=34, bottom=50, annotations=[*upper[2], *lower[2]], **upper[1], **lower[1]
        ),
        height=HEIGHT,
        name="categorical_tiers",
        alt=f"Error over the ideal for {len(result.reference)} tiers and {result.settings.d} categories: the optimal "
        f"chain is at most {sig(result.worst('optimal chain'))} times the ideal.",
        table=table_categorical_tiers(view),
    )


Part = tuple[list[Mark], dict[str, Mark], list[Mark]]
"""Traces, axes and annotations of one part of the picture."""


def _x_range(view: CategoryView) -> list[float]:
    budgets = view.comparison.settings.budgets
    levels = [level for chain in view.comparison.chains.values() for level, _ in chain]
    low, high = min(*budgets, *levels) if levels else min(budgets), max(budgets)
    span = max(math.log10(high / low), 0.3)
    room = _label_room(view.comparison)
    return [math.log10(low) - 0.04 * span, math.log10(high) + (0.04 + room / (_WIDTH - room)) * span]


def _label_room(result: CategoryComparison) -> float:
    """Return the pixels that stay free at the right for the labels of methods that are worst at the largest budget."""
    largest, longest = int(np.argmax(result.settings.budgets)), 0
    for name in result.errors:
        ratios = result.ratios(name)
        if int(np.argmax(ratios)) == largest and _GONE < ratios[largest] <= _top(result):
            longest = max(longest, len(f"{name} {sig(ratios[largest])}"))
    return longest * CHARACTER


def _top(result: CategoryComparison) -> float:
    bounded = max(result.worst(name) for name in result.errors if name != "gradual")
    return max(1.3, min(_CAP * bounded, max(1.1 * result.worst("gradual"), 1.1 * bounded)))


def _ratios(view: CategoryView) -> Part:
    result = view.comparison
    top, x_range = _top(result), _x_range(view)
    y_range = [-0.04 * math.log10(top), math.log10(top)]
    traces: list[Mark] = [
        {"type": "scatter", "mode": "lines", "x": [10**e for e in x_range], "y": [1, 1], "hoverinfo": "skip",
         "line": {"color": NEUTRAL, "dash": "dot", "width": 2}},
    ]  # fmt: skip
    traces += [_method(view, name) for name in reversed(list(result.errors))]
    axes = {
        "xaxis": axis(domain=[0, 1], anchor="y", type="log", range=x_range, matches="x2", showticklabels=False,
                      **_without_text(log_ticks(10 ** x_range[0], 10 ** x_range[1]))),
        "yaxis": axis(domain=list(_TOP), anchor="x", type="log", range=y_range, **log_ticks(0.999, 10 ** y_range[1])),
    }  # fmt: skip
    notes = [heading("Error of each recipient over the ideal (MSE ratio, log scale)", _LEFT)]
    return traces, axes, [*notes, *_worst_labels(view, x_range, y_range)]


def _without_text(ticks: Mark) -> Mark:
    return {"tickvals": ticks["tickvals"]}


def _method(view: CategoryView, name: str) -> Mark:
    look, result = CATEGORY_LOOKS[name], view.comparison
    many = len(result.reference) > 25
    ratios = result.ratios(name)
    return {
        "type": "scatter", "mode": "lines" if many else "lines+markers", "x": list(result.settings.budgets),
        "y": ratios.tolist(), "customdata": np.stack([result.errors[name], result.reference], axis=1).tolist(),
        "text": [escape(view.who(i)) for i in range(len(ratios))],
        "line": {"color": look.colour, "dash": look.dash, "width": look.width},
        "marker": {"size": 9 if name in CHAINS else 7, "symbol": look.symbol, "color": look.colour},
        "hovertemplate": f"%{{text}}, {name}<br>epsilon %{{x:.6g}}<br>%{{y:.6g}} times the ideal<br>"
        "MSE %{customdata[0]:.6g}, ideal %{customdata[1]:.6g}<extra></extra>",
    }  # fmt: skip


def _worst_labels(view: CategoryView, x_range: list[float], y_range: list[float]) -> list[Mark]:
    """Return each method's name with its worst ratio, beside the point where it is worst."""
    result = view.comparison
    height = (_TOP[1] - _TOP[0]) * (HEIGHT - 84)
    words, points, places = [], [], []
    for name in result.errors:
        ratios = result.ratios(name)
        tier = int(np.argmax(ratios))
        if ratios[tier] <= _GONE:
            continue
        x, y = math.log10(result.settings.budgets[tier]), math.log10(ratios[tier])
        if y > y_range[1]:
            x, y = _exit(np.log10(result.settings.budgets), np.log10(ratios), y_range[1]), y_range[1]
        words.append(f"{name} {'up to ' if y == y_range[1] else ''}{sig(ratios[tier])}")
        places.append((x, y))
        across = (x - x_range[0]) / (x_range[1] - x_range[0])
        points.append((across * _WIDTH, (y_range[1] - y) / (y_range[1] - y_range[0]) * height))
    if not words:
        return []
    placed = place_labels(
        np.array(points), words, radii=5.0, size=(_WIDTH, height), links=_links(view, x_range, y_range)
    )
    return [
        label(word, x, y, placement, xref="x", yref="y")
        for word, (x, y), placement in zip(words, places, placed, strict=True)
    ]


def _exit(x: FloatArray, y: FloatArray, top: float) -> float:
    """Return where a line first leaves through the top, coming from the smallest budget."""
    for right in range(len(x) - 1, 0, -1):
        if y[right] <= top < y[right - 1]:
            share = (top - y[right]) / (y[right - 1] - y[right])
            return float(x[right] + share * (x[right - 1] - x[right]))
    return float(x[-1])


def _links(view: CategoryView, x_range: list[float], y_range: list[float]) -> FloatArray:
    """Return the lines of the upper panel in pixels, so that labels avoid them."""
    result = view.comparison
    height = (_TOP[1] - _TOP[0]) * (HEIGHT - 84)
    x = (np.log10(result.settings.budgets) - x_range[0]) / (x_range[1] - x_range[0]) * _WIDTH
    parts = [np.empty((0, 4))]
    for name in result.errors:
        y = (y_range[1] - np.log10(result.ratios(name))) / (y_range[1] - y_range[0]) * height
        parts.append(np.stack([x[:-1], y[:-1], x[1:], y[1:]], axis=1))
    return np.concatenate(parts)


def _chains(view: CategoryView) -> Part:
    result = view.comparison
    largest = max(k for chain in result.chains.values() for _, k in chain)
    top = max(largest, *result.sizes)
    traces: list[Mark] = [
        {"type": "scatter", "mode": "lines", "x": list(result.settings.budgets), "y": list(result.sizes), "xaxis": "x2",
         "yaxis": "y2", "line": {"color": NEUTRAL, "dash": "dot", "width": 2, "shape": "hv"},
         "hovertemplate": "ideal<br>epsilon %{x:.6g}<br>size %{y}<extra></extra>"},
    ]  # fmt: skip
    for name in reversed(CHAINS):
        traces += _chain(view, name, result.chains[name])
    axes = {
        "xaxis2": axis("privacy budget of the tier (epsilon), log scale", domain=[0, 1], anchor="y2", type="log",
                       range=_x_range(view), **log_ticks(*(10**e for e in _x_range(view)))),
        "yaxis2": axis(domain=list(_BOTTOM), anchor="x2", range=[0, top + 1], nticks=6, tickformat=",d"),
    }  # fmt: skip
    title = f"Subset size (k of {result.settings.d} categories) and level that each tier gets"
    return traces, axes, [panel(title, "x2", "y2", xshift=-_LEFT)]


def _chain(view: CategoryView, name: str, chain: tuple[Tier, ...]) -> list[Mark]:
    """Draw a chain as steps through its (level, size); a thin line joins every level to its larger budget."""
    look, budgets = CATEGORY_LOOKS[name], view.comparison.settings.budgets
    at: Mark = {"xaxis": "x2", "yaxis": "y2", "type": "scatter"}
    gaps_x = [x for (level, _), budget in zip(chain, budgets, strict=True) for x in (level, budget, None)]
    gaps_y = [y for _, k in chain for y in (k, k, None)]
    many = len(chain) > 60
    return [
        at | {"mode": "lines", "x": gaps_x, "y": gaps_y, "hoverinfo": "skip",
              "line": {"color": look.colour, "width": 1}},
        at | {"mode": "lines" if many else "lines+markers", "x": [level for level, _ in chain],
              "y": [k for _, k in chain], "text": [escape(view.who(i)) for i in range(len(chain))],
              "customdata": list(budgets),
              "line": {"color": look.colour, "dash": look.dash, "width": look.width, "shape": "hv"},
              "marker": {"size": 8, "symbol": look.symbol, "color": look.colour},
              "hovertemplate": f"%{{text}}, {name}<br>budget %{{customdata:.6g}}<br>level %{{x:.6g}}, size %{{y}}"
              "<extra></extra>"},
    ]  # fmt: skip


def table_categorical_tiers(view: CategoryView) -> pd.DataFrame:
    """Return the numbers behind the picture, one row per tier."""
    result = view.comparison
    columns: dict[str, object] = {
        "tier": list(range(1, len(result.reference) + 1)),
        "recipient": [view.who(i) for i in range(len(result.reference))],
        "epsilon": list(result.settings.budgets),
        "ideal MSE": result.reference,
    }
    for name, mse in result.errors.items():
        columns |= {f"{name} MSE": mse, f"{name} over ideal": result.ratios(name)}
    return pd.DataFrame(columns)


def table_chains(view: CategoryView) -> pd.DataFrame:
    """Return which level and size every chain gives each tier, and the ideal size."""
    result = view.comparison
    columns: dict[str, object] = {
        "recipient": [view.who(i) for i in range(len(result.reference))],
        "epsilon": list(result.settings.budgets),
        "ideal size": list(result.sizes),
    }
    for name in CHAINS:
        columns |= {
            f"{name} size": [k for _, k in result.chains[name]],
            f"{name} level": [level for level, _ in result.chains[name]],
        }
    columns |= {
        "hash range": [g for _, g in result.hashing],
        "hashing level": [level for level, _ in result.hashing],
    }
    return pd.DataFrame(columns)


def explain_categorical_tiers(view: CategoryView) -> str:
    """Return what the picture means, every number from the result."""
    result = view.comparison
    tiers = len(result.reference)
    if tiers == 1:
        return f"There is one tier only; its error is **{sig(result.reference[0])}**, the ideal."
    return (
        f"The optimal chain costs every recipient at most **{sig(result.worst('optimal chain'))}** times the ideal "
        f"error (the paper's rules {sig(result.worst('templates 2'))} and {sig(result.worst('templates 1'))}, gradual "
        f"{sig(result.worst('gradual'))}). If all {tiers} collude it gives away epsilon **{sig(result.together)}**, "
        f"independent answers **{sig(result.apart)}**."
    )


def explain_step(view: CategoryView) -> str:
    """Return where one expansion of the best first answer lands, and what the optimal chain does, as a sentence."""
    result = view.comparison
    if len(result.settings.budgets) < 2:
        return "A list of one tier has no step."
    (first, second), size = result.settings.budgets[:2], result.sizes[0]
    lands = expand_level(first, size)
    relation = "below" if lands < second else "above"
    (level, k), (after, then) = result.chains["optimal chain"][:2]
    return (
        f"From the ideal size {size} at epsilon {sig(first)} one expansion lands on **{sig(lands)}**, {relation} the "
        f"second budget {sig(second)}, where size {result.sizes[1]} is ideal; the optimal chain gives the two tiers "
        f"size {k} at level {sig(level)} and size {then} at level {sig(after)}."
    )


def key_rows(names: Iterable[str]) -> list[tuple[str, str, str]]:
    """Return the rows of the key for some methods."""
    return [(SWATCHES[name], CATEGORY_LOOKS[name].colour, name) for name in names]
