"""Which groups deserve optimisation: domain size against score with both thresholds, and the regret of every group."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd

from core import limits
from core.plots.flags import Points, name_points
from core.plots.interaction import Condition, Dodge, Handle, Region, Sides, Words
from core.plots.palette import DPN, LOOKS, OPT
from core.plots.template import Mark, Picture, axis, bare, escape, heading, label, note, panel, percent, shorten, sig
from core.plots.template import layout as sheet

HEIGHT: Final = 440
_LEFT: Final = 60
_RIGHT: Final = 40
_TOP: Final = 34
_BOTTOM: Final = 52
_SPLIT: Final = 0.55
_WORD: Final = 20.0
"""Pixels at the bottom that are left to the region's own word."""
_FOOTROOM: Final = 0.075
"""How far the score axis goes below its least value, so that this word covers no point."""
_BARS: Final = (0.76, 1.0)
_NAMES: Final = 130
"""Pixels for the names left of the bars."""
_BAR_COUNT: Final = 12
_ROWS: Final = 6
"""Rows for which the bars have room at least, so that one bar is not a block."""
FAINT_BARS: Final = 0.35
"""Opacity of regrets that are being computed anew."""
_HEADROOM: Final = 1.13
"""Upper end of the score axis: labels of the many groups whose score is exactly 1 go above them."""
_NARROW: Final = 762
"""Width of the figure at 1280 px, for which labels are placed."""
_TIED: Final = 4.0
"""Pixels within which points coincide and share one label."""
_TIED_LABEL: Final = 24
_REGION: Final = "rgba(213, 94, 0, 0.13)"
_HEADS: Final = 2
"""Headings before the notes of the bars, of which every row has two: its name and what was saved."""
_TOO_LARGE: Final = "over tau_dim"
_POINT_SIZES: Final = (18.0, 15.0)
"""Diameters of a diamond (OPT) and of a circle (DPN), which look the same size."""
_LARGEST: Final = 1e9
"""Domain sizes are drawn up to here."""


@dataclass(frozen=True, eq=False)
class MechanismView:
    """What the chart of choices draws.

    Parameters
    ----------
    names : tuple of str
        Label per group (or single attribute).
    sizes : tuple of int
        States per group.
    scores : tuple of float
        Adequacy score per group.
    choices : tuple of str
        "OPT" or "DPN" per group.
    regrets : tuple of float
        Fraction that OPT saves at the group's budget, nan where it was not solved.
    tau_dim : int
        Largest domain that is optimised.
    tau_dpn : float
        Largest score that is optimised.
    picked : int or None
        The group whose channels are shown.
    kind : str
        Name of the score.
    thresholds : bool
        Whether the rule reads the two thresholds, so that they can be dragged.
    tau_regret : float or None
        The regret threshold where the rule reads it, so that it can be dragged.
    what : str
        What is judged, in the plural.
    pending : bool
        Whether the regrets are still being computed; those given are of before, and drawn faintly.
    """

    names: tuple[str, ...]
    sizes: tuple[int, ...]
    scores: tuple[float, ...]
    choices: tuple[str, ...]
    regrets: tuple[float, ...]
    tau_dim: int
    tau_dpn: float
    picked: int | None
    kind: str
    thresholds: bool = True
    tau_regret: float | None = None
    what: str = "groups"
    pending: bool = False

    @property
    def drawn(self) -> list[int]:
        """Groups that have a score."""
        return [k for k, score in enumerate(self.scores) if not math.isnan(score)]

    @property
    def rows(self) -> list[int]:
        """Groups of the bars, from the bottom: those not solved, then by rising regret."""
        order = sorted(range(len(self.names)), key=lambda k: -1.0 if math.isnan(self.regrets[k]) else self.regrets[k])
        return order[-_BAR_COUNT:]


def telling_group(choices: Sequence[str], regrets: Sequence[float]) -> int:
    """Return the group whose channels tell most: the optimised one that gains most, else the one that would."""
    everyone = range(len(choices))
    optimised = [k for k in everyone if choices[k] == "OPT"]
    gaining = [k for k in everyone if regrets[k] > 0]  # never where it is not a number
    both = [k for k in optimised if k in gaining]
    return max(both or gaining or optimised or everyone, key=lambda k: -1.0 if math.isnan(regrets[k]) else regrets[k])


def plot_mechanisms(view: MechanismView) -> Picture:
    """Draw domain size against score with both thresholds as handles, the OPT region, and the regret of every group."""
    low, high = _size_range(view)
    bottom = _bottom(view)
    scatter, labels = _scatter(view, (low, high), bottom)
    bars, bar_notes = _regret_bars(view)
    count = len(view.rows)
    region = Region(x=(None, "tau_dim"), y=(None, "tau_dpn"), fill=_REGION, label="OPT region")
    return Picture(
        traces=[scatter, bars],
        layout=sheet(
            left=_LEFT,
            right=_RIGHT,
            top=_TOP,
            bottom=_BOTTOM,
            xaxis=axis("domain size (n), states, log scale", domain=[0, _SPLIT], type="log",
                       range=[math.log10(low), math.log10(high)], tickvals=_ticks(low, high), tickformat=",d"),
            yaxis=axis(range=[bottom - _FOOTROOM, _HEADROOM], tick0=0, dtick=0.2, anchor="x"),
            xaxis2=axis("regret, % of the noise's loss", domain=list(_BARS), range=[0, 100], anchor="y2", dtick=25),
            yaxis2=bare(domain=[0, 1], range=[count - max(count, _ROWS) - 0.6, count - 0.4], anchor="x2"),
            annotations=[
                heading(f"Score (S): how well plain noise fits, {view.kind}", _LEFT),
                panel("Loss saved by OPT (regret), %", "x2", "y2", xshift=-_NAMES),
                *bar_notes,
                *labels,
            ],
        ),
        height=HEIGHT,
        name="mechanisms",
        alt=f"{view.choices.count('OPT')} of {len(view.names)} {view.what} are optimised.",
        handles=_handles(view, (low, high), bottom),
        regions=(region,) if view.thresholds else (),
        previews=(*_sides(view), *_too_large(view), *_dodging(view, len(bar_notes), len(labels))),
        table=table_mechanisms(view),
    )  # fmt: skip


def _bottom(view: MechanismView) -> float:
    lowest = min([0.0, view.tau_dpn if view.thresholds else 0.0, *(view.scores[k] for k in view.drawn)])
    return max(1.1 * lowest, limits.TAU_DPN.low)


def _handles(view: MechanismView, ends: tuple[float, float], bottom: float) -> tuple[Handle, ...]:
    """Return the thresholds that the rule reads; a drag stays on values where a choice changes."""
    handles: list[Handle] = []
    if view.thresholds:
        low, most = math.ceil(ends[0]), min(limits.TAU_DIM.high, math.floor(ends[1]))
        sizes = tuple(sorted({float(s) for s in view.sizes if s <= most}))
        # Rounded up to what the flag shows, so that a threshold set on a score includes it.
        scores = tuple(sorted({min(math.ceil(view.scores[k] * 100 - 1e-9) / 100, 1.0) for k in view.drawn}))
        handles.append(
            Handle("tau_dim", min(float(view.tau_dim), most), low, most, 1.0, "Largest domain (tau_dim)",
                   whole=True, digits=0, snap=sizes)
        )  # fmt: skip
        handles.append(
            Handle("tau_dpn", view.tau_dpn, bottom, 1.0, 0.01, "Score threshold (tau_dpn)", "y", "yaxis", "xaxis",
                   snap=scores)
        )  # fmt: skip
    if view.tau_regret is not None:
        handles.append(
            Handle("tau_regret", 100 * view.tau_regret, 0.0, 100.0, 1.0, "Regret threshold (r)", axis="xaxis2",
                   across="yaxis2", digits=0, unit=" %")
        )  # fmt: skip
    return tuple(handles)


def _size_range(view: MechanismView) -> tuple[float, float]:
    """Return the ends of the axis: around every size and the usual tau_dim; one typed beyond shows the whole range.

    It stays while tau_dim is dragged on it; beyond every size that would change nothing.
    """
    usual = limits.TAU_DIM.default if view.thresholds else 10.0
    high = 1.9 * min(float(max([*view.sizes, usual])), _LARGEST)
    if view.thresholds and view.tau_dim > high:
        high = 1.15 * limits.TAU_DIM.high
    return 1.6 if min(view.sizes, default=2) > 1 else 0.8, high


def _ticks(low: float, high: float) -> list[int]:
    marks = (1, 3) if high / low < 3e4 else (1,)
    return [m * 10**k for k in range(10) for m in marks if low <= m * 10**k <= high]


def _scatter(view: MechanismView, ends: tuple[float, float], bottom: float) -> tuple[Mark, list[Mark]]:
    drawn = view.drawn
    at = [min(float(view.sizes[k]), _LARGEST) for k in drawn]
    looks = [LOOKS[view.choices[k]] for k in drawn]
    picked = [k == view.picked for k in drawn]
    mark: Mark = {
        "type": "scatter",
        "mode": "markers",
        "uid": "groups",
        "x": at,
        "y": [view.scores[k] for k in drawn],
        "customdata": drawn,
        "cliponaxis": False,
        "text": [
            # Colour and symbol say the choice, also while one drags.
            f"{escape(view.names[k])}<br>{view.sizes[k]:,} states, score {view.scores[k]:.6g}"
            for k in drawn
        ],
        "hovertemplate": "%{text}<extra></extra>",
        "marker": {
            "size": [_POINT_SIZES[look.symbol != "diamond"] for look in looks],
            "symbol": [look.symbol for look in looks],
            "color": [look.colour for look in looks],
            "opacity": 1,
            "line": {"width": [3 if p else 1.5 for p in picked], "color": ["@text" if p else "@bg" for p in picked]},
        },
    }
    # Pixels at the narrowest figure, for label placement only.
    wide, tall = (_NARROW - _LEFT - _RIGHT) * _SPLIT, HEIGHT - _TOP - _BOTTOM
    low, high = (math.log10(e) for e in ends)
    points = np.array(
        [
            [
                (math.log10(x) - low) / (high - low) * wide,
                (_HEADROOM - view.scores[k]) / (_HEADROOM + _FOOTROOM - bottom) * tall,
            ]
            for x, k in zip(at, drawn, strict=True)
        ]
    ).reshape(-1, 2)
    return mark, _labels(view, points, (wide, tall))


def _labels(view: MechanismView, points: Points, size: tuple[float, float]) -> list[Mark]:
    """Name every point without collisions, wherever the thresholds stand; points that coincide share one label."""
    drawn, clusters = view.drawn, cluster_points(points)
    texts = [_join([view.names[drawn[i]] for i in members]) for members in clusters]
    places = name_points(points[[c[0] for c in clusters]], texts, radius=10.0, size=(size[0], size[1] - _WORD))
    notes = []
    for members, text, spot in zip(clusters, texts, places, strict=True):
        k = drawn[members[0]]
        bold = any(drawn[i] == view.picked for i in members)
        words = f"<b>{escape(text)}</b>" if bold else escape(text)
        notes.append(label(words, math.log10(min(float(view.sizes[k]), _LARGEST)), view.scores[k], spot))
    return notes


def cluster_points(points: Points) -> list[list[int]]:
    """Gather points that lie within a few pixels of the first of their cluster, in the given order."""
    clusters: list[list[int]] = []
    for i, point in enumerate(points):
        near = (c for c in clusters if float(np.hypot(*(points[c[0]] - point))) < _TIED)
        found = next(near, None)
        if found is None:
            clusters.append([i])
        else:
            found.append(i)
    return clusters


def _join(names: Sequence[str]) -> str:
    """Return the names of points that coincide, as many as fit."""
    if len(names) == 1:
        return shorten(names[0], 22)
    shown = [shorten(name, 18) for name in names]
    while len(shown) > 1 and len(", ".join(shown)) > _TIED_LABEL:
        shown.pop()
    more = len(names) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


def _sides(view: MechanismView) -> tuple[Sides, ...]:
    """Let points and bars change side in the browser while a threshold is dragged."""
    inside, outside = (OPT, "diamond"), (DPN, "circle")
    rules: tuple[Condition, ...] = ()
    if view.thresholds:
        rules = (
            Condition("tau_dim", tuple(float(n) for n in view.sizes)),
            Condition("tau_dpn", tuple(view.scores)),
        )
    elif view.tau_regret is not None:
        saved = tuple(-1.0 if n > view.tau_dim else 100 * r for n, r in zip(view.sizes, view.regrets, strict=True))
        rules = (Condition("tau_regret", saved, most=False),)
    if not rules:
        return ()
    return (
        Sides("groups", rules, inside, outside, order=tuple(view.drawn), sizes=_POINT_SIZES),
        Sides("bars", rules, inside, outside, order=tuple(view.rows)),
    )


def _regret_bars(view: MechanismView) -> tuple[Mark, list[Mark]]:
    rows, font = view.rows, {"size": 12.5, "color": "@text"}
    notes = []
    for row, k in enumerate(rows):
        name = escape(shorten(view.names[k], 18))
        notes.append(
            note(f"<b>{name}</b>" if k == view.picked else name, xref="x2 domain", yref="y2", x=0, y=row,
                 xanchor="left", xshift=-_NAMES, font=font)
        )  # fmt: skip
        saved = 100 * view.regrets[k]
        solved = not math.isnan(saved)
        notes.append(
            note(sig(saved) if solved else _unsolved(view, k), xref="x2", yref="y2", x=saved if solved else 0.0, y=row,
                 xanchor="left", align="left", xshift=4,
                 font={"size": 12, "color": "@text" if solved else "@muted"})
        )  # fmt: skip
    saved_all = [0.0 if math.isnan(view.regrets[k]) else 100 * view.regrets[k] for k in rows]
    bars: Mark = {
        "type": "bar",
        "orientation": "h",
        "uid": "bars",
        "xaxis": "x2",
        "yaxis": "y2",
        "x": saved_all,
        "y": list(range(len(rows))),
        "customdata": rows,
        "width": 0.5,
        "opacity": FAINT_BARS if view.pending else 1,
        "marker": {
            "color": [LOOKS[view.choices[k]].colour for k in rows],
            "line": {"width": [2.5 if k == view.picked else 0 for k in rows], "color": "@text"},
        },
        "hovertext": [
            f"{escape(view.names[k])}<br>"
            + (_unsolved_hover(view, k) if math.isnan(view.regrets[k]) else f"regret {100 * view.regrets[k]:.4g} %")
            for k in rows
        ],
        "hovertemplate": "%{hovertext}<extra></extra>",
    }
    return bars, notes


def _too_large(view: MechanismView) -> tuple[Words, ...]:
    """Let the browser say which unsolved groups are over tau_dim while it is dragged."""
    if not view.thresholds:
        return ()
    small = _small(view)
    return tuple(
        Words("tau_dim", _HEADS + 2 * row + 1, float(view.sizes[k]), small, _TOO_LARGE)
        for row, k in enumerate(view.rows)
        if math.isnan(view.regrets[k])
    )


def _dodging(view: MechanismView, before: int, count: int) -> tuple[Dodge, ...]:
    """Let the labels of points step aside for the score threshold, wherever it stands."""
    first = _HEADS + before
    return (Dodge("tau_dpn", tuple(range(first, first + count))),) if view.thresholds else ()


def _unsolved(view: MechanismView, k: int) -> str:
    return _TOO_LARGE if view.sizes[k] > view.tau_dim else _small(view)


def _unsolved_hover(view: MechanismView, k: int) -> str:
    """Return the same for any threshold once all is solved: the note alone follows one that is dragged."""
    solving = view.pending and view.sizes[k] <= view.tau_dim
    return "being solved" if solving else f"{view.sizes[k]:,} states, not solved"


def _small(view: MechanismView) -> str:
    return "being solved" if view.pending else "click to solve" if view.picked is not None else "not solved"


def table_mechanisms(view: MechanismView) -> pd.DataFrame:
    """Return size, score, choice and regret, one row per group."""
    return pd.DataFrame(
        {
            "group": list(view.names),
            "states": list(view.sizes),
            f"score ({view.kind})": list(view.scores),
            "choice": list(view.choices),
            "regret, %": [100 * regret for regret in view.regrets],
        }
    )


_LISTED: Final = 3
"""Names that the sentence lists before it counts the rest."""


def explain_mechanisms(view: MechanismView) -> str:
    """Return what the picture means: who is optimised, and where most is left on the table."""
    chosen = [view.names[k] for k, c in enumerate(view.choices) if c == "OPT"]
    more = len(chosen) - _LISTED
    listed = ", ".join(chosen[:_LISTED]) + (f" and {more} more" if more > 0 else "")
    said = f"**{len(chosen)} of {len(view.names)} {view.what}** {'is' if len(chosen) == 1 else 'are'} optimised"
    said += f": {listed}." if chosen else "."
    if view.pending:
        return f"{said} What OPT would save is being computed."
    solved = [k for k in range(len(view.names)) if view.regrets[k] > 0]  # never where it is not a number
    missed = [k for k in solved if view.choices[k] == "DPN"]
    if missed:
        worst = max(missed, key=lambda k: view.regrets[k])
        return (
            f"{said} The most left on the table is **{view.names[worst]}**, where the optimum would save "
            f"**{percent(view.regrets[worst])}** of its loss."
        )
    if solved:
        best = max(solved, key=lambda k: view.regrets[k])
        return f"{said} OPT saves most on **{view.names[best]}**, {percent(view.regrets[best])} of the noise's loss."
    if any(not math.isnan(regret) for regret in view.regrets):
        return f"{said} Where it was solved, the optimum would save nothing at these budgets."
    return f"{said} None is small enough to be solved; raise tau_dim or split the groups."
