"""What of the dependence pictures stays while the threshold moves: positions, names and links."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from core import limits
from core.dependence import NoiseFloor, Staircase, layout
from core.plots.place import Placement, label_box, place_labels
from core.plots.template import shorten

EDGES_DRAWN: Final = 120
EDGES_PER_NODE: Final = 3
"""Links drawn at most, in all and per attribute: those that hold groups together, then the strongest."""
LABELS_DRAWN: Final = 32
"""Names written into the graph at most; the others show under the pointer."""
LEADER: Final = 45.0
"""Pixels that a name may stand away from its node in a crowded graph; further away it is left out."""
NAME_LENGTH: Final = 20
CROWDED: Final = 15
"""Attributes beyond which nodes and outlines shrink."""
PANEL: Final = (434.0, 394.0)
"""Size of the graph in pixels at the narrowest width shown, for which names are placed."""
SETTLED: Final = 0.02
"""Share of a threshold by which tidying may move it."""
X_RANGE: Final = (-0.13, 1.13)
Y_RANGE: Final = (-0.09, 1.09)


def shrink(count: int) -> float:
    """Return the factor by which nodes and outlines shrink in a graph of `count` attributes."""
    return min(1.0, math.sqrt(CROWDED / max(count, 1)))


@dataclass(frozen=True, eq=False)
class Graph:
    """What of the picture stays while the threshold moves: positions, names, links.

    Parameters
    ----------
    points : ndarray (L, 2)
        Positions of the attributes.
    sizes : ndarray (L,)
        Diameters of the nodes in pixels.
    places : dict of int to Placement
        Where the names that are written stand.
    edges : tuple of (int, int)
        Links drawn, the weakest first.
    chance : float or None
        About where the noise floor will be, so that there is room for it before it is known; None if it is not wanted.
    """

    points: NDArray[np.float64]
    sizes: NDArray[np.float64]
    places: dict[int, Placement]
    edges: tuple[tuple[int, int], ...]
    chance: float | None = None


@dataclass(frozen=True, eq=False)
class Dependence:
    """Everything that the pictures of dependence read.

    Parameters
    ----------
    names : tuple of str
        The L attributes.
    levels : tuple of int
        Their numbers of levels.
    nmi : ndarray (L, L)
        Normalised mutual information, or adjusted for chance.
    staircase : Staircase
        Groups at every threshold.
    graph : Graph
        Where everything is drawn.
    floor : NoiseFloor or None
        What chance alone shows, where it is known; it belongs to the plain NMI.
    corrected : bool
        Whether `nmi` is adjusted for chance.
    """

    names: tuple[str, ...]
    levels: tuple[int, ...]
    nmi: NDArray[np.float64]
    staircase: Staircase
    graph: Graph
    floor: NoiseFloor | None = None
    corrected: bool = False

    @property
    def measure(self) -> str:
        """Short name of what `nmi` holds."""
        return "NMI corrected for chance" if self.corrected else "NMI"


def build_graph(
    nmi: NDArray[np.float64],
    staircase: Staircase,
    *,
    names: Sequence[str],
    levels: Sequence[int],
    chance: float | None = None,
) -> Graph:
    """Place nodes, links and names once per table, from all weights, so that nothing moves with the threshold.

    Parameters
    ----------
    nmi : ndarray (L, L)
        Plain NMI.
    staircase : Staircase
        Of the same NMI.
    names : sequence of str
        The attributes.
    levels : sequence of int
        Their numbers of levels.
    chance : float or None
        About where the noise floor will be.
    """
    points = layout(nmi)
    sizes = shrink(len(names)) * (12 + 3.2 * np.log2(np.maximum(levels, 1)))
    edges = _choose_edges(nmi, staircase)
    (left, right), (bottom, top), (width, height) = X_RANGE, Y_RANGE, PANEL
    pixels = np.column_stack(
        [(points[:, 0] - left) / (right - left) * width, (top - points[:, 1]) / (top - bottom) * height]
    )
    return Graph(points, sizes, _place_names(nmi, names, pixels=pixels, sizes=sizes), edges, chance)


def tidy_thresholds(staircase: Staircase) -> tuple[float, ...]:
    """Return, for every step, a short decimal at or just above it that forms the same groups.

    Three decimals where they stay below the next step, else more, else the step itself.

    Examples
    --------
    >>> from core.dependence import build_staircase
    >>> nmi = np.array([[1.0, 0.30041, 0.0], [0.30041, 1.0, 0.10279], [0.0, 0.10279, 1.0]])
    >>> tidy_thresholds(build_staircase(nmi))
    (0.103, 0.301)
    """
    steps = staircase.thresholds.tolist()
    return tuple(_tidy(step, after) for step, after in zip(steps, [*steps[1:], 2.0], strict=False))


def _tidy(step: float, after: float) -> float:
    for digits in (3, 4, 5, 6):
        rounded = round(math.ceil(step * 10**digits) / 10**digits, digits)
        if step <= rounded < after and rounded <= limits.TAU_GROUP.high:
            return rounded
    return step


def settle(staircase: Staircase, tau: float) -> float:
    """Return a dragged threshold with three or four decimals, where these form the same groups and are hardly away.

    Examples
    --------
    >>> from core.dependence import build_staircase
    >>> staircase = build_staircase(np.array([[1.0, 0.0572], [0.0572, 1.0]]))
    >>> settle(staircase, 0.1234), settle(staircase, 0.05724)
    (0.123, 0.0572)
    """
    for digits in (3, 4):
        rounded = round(tau, digits)
        if abs(rounded - tau) <= SETTLED * tau and staircase.groups(rounded) == staircase.groups(tau):
            return rounded
    return tau


def short_names(names: Sequence[str], limit: int) -> tuple[str, ...]:
    """Return names of at most `limit` characters; where the cut makes two alike, their ends are kept instead.

    Examples
    --------
    >>> short_names(["measure at noon", "measure at night", "age"], 10)
    ('measu…noon', 'measu…ight', 'age')
    """
    cut = [shorten(name, limit) for name in names]
    tail = (limit - 1) // 2
    return tuple(
        f"{name[: limit - 1 - tail]}…{name[-tail:]}" if len(name) > limit and cut.count(short) > 1 else short
        for name, short in zip(names, cut, strict=True)
    )


def _place_names(
    nmi: NDArray[np.float64], names: Sequence[str], *, pixels: NDArray[np.float64], sizes: NDArray[np.float64]
) -> dict[int, Placement]:
    """Return where the names stand; in a crowded graph those that find no room are left out."""
    named = _choose_names(nmi)
    # The names that are written come first, so that every node counts as an obstacle.
    order = [*named, *sorted(set(range(len(names))) - set(named))]
    short = short_names(names, NAME_LENGTH)
    texts = [short[i] if k < len(named) else "" for k, i in enumerate(order)]
    i, j = np.nonzero(np.triu(nmi, 1) > 0)
    strong = np.argsort(-nmi[i, j], kind="stable")[: 2 * len(names)]
    links = np.hstack([pixels[i[strong]], pixels[j[strong]]])
    spots = place_labels(pixels[order], texts, radii=sizes[order] / 2, size=PANEL, links=links)
    placed = dict(zip(named, spots, strict=False))
    return placed if len(names) <= CROWDED else _with_room(placed, pixels, short=short)


def _with_room(
    placed: dict[int, Placement], pixels: NDArray[np.float64], *, short: Sequence[str]
) -> dict[int, Placement]:
    """Return the names that are near their node, inside the panel, and over no other name."""
    kept: dict[int, Placement] = {}
    taken: list[tuple[float, float, float, float]] = []
    for i, spot in placed.items():
        x, y = float(pixels[i, 0]), float(pixels[i, 1])
        left, top, right, bottom = label_box((x, y), spot, short[i])
        inside = left >= 0 and top >= -5 and right <= PANEL[0] and bottom <= PANEL[1] + 10
        near = np.hypot(spot.x_shift, spot.y_shift) <= LEADER
        if inside and near and not any(left < b[2] and b[0] < right and top < b[3] and b[1] < bottom for b in taken):
            kept[i] = spot
            taken.append((left, top, right, bottom))
    return kept


def _choose_edges(nmi: NDArray[np.float64], staircase: Staircase) -> tuple[tuple[int, int], ...]:
    """Return the tree's edges and the strongest others, the weakest first."""
    rows, columns = np.triu_indices(len(nmi), 1)
    strongest = np.argsort(-nmi[rows, columns], kind="stable")
    chosen = set(staircase.edges)
    for k in strongest.tolist():
        if len(chosen) >= min(EDGES_DRAWN, EDGES_PER_NODE * len(nmi)) or nmi[rows[k], columns[k]] <= 0:
            break
        chosen.add((int(rows[k]), int(columns[k])))
    return tuple(sorted(chosen, key=lambda edge: (float(nmi[edge]), edge)))


def _choose_names(nmi: NDArray[np.float64]) -> list[int]:
    """Return the attributes whose names are written: all, or those with the strongest link."""
    strongest = np.where(np.eye(len(nmi), dtype=bool), 0.0, nmi).max(axis=1, initial=0.0)
    order: list[int] = np.argsort(-strongest, kind="stable")[:LABELS_DRAWN].tolist()
    return order
