"""Labels beside points without collisions: greedy over places around each point, leader lines where it is tight."""

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

Box = tuple[float, float, float, float]
"""Left, top, right, bottom in pixels."""

CHARACTER: Final = 6.6
"""Mean width of a character at 12.5 px."""
LINE: Final = 18.0
"""Height of one line of text with air."""
_GAP: Final = 4.0
"""Pixels between a marker and its label."""
_REACH: Final = (22.0, 40.0, 60.0, 84.0, 112.0, 144.0)
"""How far a label may be pulled away on a leader line."""
_LEADER_COST: Final = 12.0
_NEAR_COST: Final = 4.0
_SEGMENT_COST: Final = 1.6
_NODE_COST: Final = 25.0
_LABEL_COST: Final = 80.0
_OUTSIDE_COST: Final = 120.0
_SAMPLES: Final = np.linspace(0.08, 0.92, 14)
"""Where along a link its crossing with a label is looked for."""
_SIDES: Final = (
    (1.0, 0.0, 0.0),
    (-1.0, 0.0, 0.3),
    (0.0, -1.0, 0.5),
    (0.0, 1.0, 0.6),
    (0.7, -0.7, 0.7),
    (-0.7, -0.7, 0.8),
    (0.7, 0.7, 0.7),
    (-0.7, 0.7, 0.8),
)
"""Directions (pixels, y downwards) in order of preference, each with its own small cost."""


@dataclass(frozen=True)
class Placement:
    """Where a label goes, relative to its point.

    Parameters
    ----------
    x_shift, y_shift : float
        Pixels from the point to the label's anchor; y upwards, as in plotly.
    x_anchor : {'left', 'center', 'right'}
        Which side of the label is at the anchor.
    y_anchor : {'top', 'middle', 'bottom'}
        Likewise, up and down.
    leader : bool
        Whether a line joins the label and its point.
    standoff : float
        Pixels between the line's end and the point.
    """

    x_shift: float
    y_shift: float
    x_anchor: Literal["left", "center", "right"]
    y_anchor: Literal["top", "middle", "bottom"]
    leader: bool = False
    standoff: float = 0.0


def place_labels(
    points: NDArray[np.float64],
    texts: list[str],
    *,
    radii: NDArray[np.float64] | float,
    size: tuple[float, float],
    links: NDArray[np.float64] | None = None,
) -> tuple[Placement, ...]:
    """Place one label per point so that no label covers another label, and few cover points or links.

    The longest label chooses first; each takes the cheapest of eight sides, or of eight directions on a leader line.

    Parameters
    ----------
    points : (n, 2) array
        Pixels from the top left of the plot, y downwards, at the narrowest width shown.
    texts : list of str
        The labels, as plain text.
    radii : (n,) array or float
        Radius of each marker in pixels.
    size : (width, height)
        Size of the plot in pixels; labels stay inside.
    links : (m, 4) array or None
        Ends x0, y0, x1, y1 of lines that labels should not cross.

    Returns
    -------
    tuple of Placement
        One per point, in the given order.
    """
    centres = np.asarray(points, dtype=float).reshape(-1, 2)
    reach = np.broadcast_to(np.asarray(radii, dtype=float), (len(centres),))
    crossings = _sample(links)
    chosen: dict[int, Placement] = {}
    taken: list[Box] = []
    for i in sorted(range(len(centres)), key=lambda k: (-len(texts[k]), k)):
        best_cost, best_box = np.inf, (0.0, 0.0, 0.0, 0.0)
        for own_cost, placement in _candidates(float(reach[i])):
            if own_cost >= best_cost:
                continue
            box = _box(centres[i], placement, len(texts[i]))
            cost = own_cost + _overlap_cost(box, taken, size) + _crowd_cost(box, i, centres, reach, crossings)
            if placement.leader and cost < best_cost:
                cost += _leader_cost(centres, i, placement, reach, taken)
            if cost < best_cost:
                best_cost, best_box, chosen[i] = cost, box, placement
        taken.append(best_box)
    return tuple(chosen[i] for i in range(len(centres)))


def label_box(point: tuple[float, float], placement: Placement, text: str) -> Box:
    """Return the rectangle that a label covers, in the pixels of `place_labels`."""
    return _box(np.asarray(point, dtype=float), placement, len(text))


def _sample(links: NDArray[np.float64] | None) -> NDArray[np.float64]:
    if links is None or len(links) == 0:
        return np.empty((0, 2))
    ends = np.asarray(links, dtype=float)
    steps = _SAMPLES[None, :, None]
    samples: NDArray[np.float64] = ((1 - steps) * ends[:, None, :2] + steps * ends[:, None, 2:]).reshape(-1, 2)
    return samples


def _candidates(radius: float) -> list[tuple[float, Placement]]:
    near = [(cost, _toward(dx, dy, radius + _GAP)) for dx, dy, cost in _SIDES]
    far = [
        (_LEADER_COST + cost + distance / 20, _toward(dx, dy, radius + distance, leader=True, standoff=radius + 1))
        for distance in _REACH
        for dx, dy, cost in _SIDES
    ]
    return near + far


def _toward(dx: float, dy: float, distance: float, *, leader: bool = False, standoff: float = 0.0) -> Placement:
    return Placement(
        x_shift=dx * distance,
        y_shift=-dy * distance,
        x_anchor="left" if dx > 0 else "right" if dx < 0 else "center",
        y_anchor="top" if dy > 0 else "bottom" if dy < 0 else "middle",
        leader=leader,
        standoff=standoff,
    )


def _box(point: NDArray[np.float64], placement: Placement, length: int) -> Box:
    width = length * CHARACTER + 4
    x, y = float(point[0]) + placement.x_shift, float(point[1]) - placement.y_shift
    left = x - {"left": 0.0, "center": width / 2, "right": width}[placement.x_anchor]
    top = y - {"top": 0.0, "middle": LINE / 2, "bottom": LINE}[placement.y_anchor]
    return left, top, left + width, top + LINE


def _overlap_cost(box: Box, taken: list[Box], size: tuple[float, float]) -> float:
    left, top, right, bottom = box
    hits = sum(left < b[2] and b[0] < right and top < b[3] and b[1] < bottom for b in taken)
    outside = left < 0 or top < -LINE or right > size[0] or bottom > size[1] + LINE
    return _LABEL_COST * hits + _OUTSIDE_COST * outside


def _leader_cost(
    centres: NDArray[np.float64], own: int, placement: Placement, radii: NDArray[np.float64], taken: list[Box]
) -> float:
    """Return the cost of a leader line that runs over other markers or labels."""
    steps = _SAMPLES[:, None]
    line = centres[own] + steps * np.array([placement.x_shift, -placement.y_shift])
    gaps = np.hypot(*(line[:, None, :] - centres[None, :, :]).transpose(2, 0, 1)) - radii
    gaps[:, own] = np.inf
    over = sum(bool(((line > box[:2]) & (line < box[2:])).all(axis=1).any()) for box in taken)
    return float(_NODE_COST * (np.count_nonzero(gaps.min(axis=0) < 1) + over))


def _crowd_cost(
    box: Box, own: int, centres: NDArray[np.float64], radii: NDArray[np.float64], crossings: NDArray[np.float64]
) -> float:
    left, top, right, bottom = box
    across = np.maximum(np.maximum(left - centres[:, 0], centres[:, 0] - right), 0)
    down = np.maximum(np.maximum(top - centres[:, 1], centres[:, 1] - bottom), 0)
    distance = np.hypot(across, down) - radii
    distance[own] = np.inf
    cost = _NODE_COST * np.count_nonzero(distance < 0) + _NEAR_COST * np.count_nonzero((distance >= 0) & (distance < 7))
    inside = (crossings > (left, top)) & (crossings < (right, bottom))
    return float(cost + _SEGMENT_COST * np.count_nonzero(inside.all(axis=1)))
