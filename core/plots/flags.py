"""Labels of points that stand in one row: hung below it, each at its own depth, where the free placement collides."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from core.plots.place import LINE, Box, Placement, label_box, place_labels

_FIRST: Final = 8.0
"""Pixels between a marker and the nearest hung label."""
Points = NDArray[np.float64]


def hang_labels(points: Points, texts: list[str], radius: float) -> tuple[Placement, ...]:
    """Return one placement per point: from right to left ever deeper, so that no leader crosses a label.

    A label extends to the right of its own leader, and all deeper leaders stand to its left.

    Parameters
    ----------
    points : (n, 2) array
        Pixels, y downwards.
    texts : list of str
        The labels.
    radius : float
        Radius of the markers in pixels.
    """
    bottom = float(points[:, 1].max()) if len(points) else 0.0
    placed: dict[int, Placement] = {}
    for depth, i in enumerate(sorted(range(len(texts)), key=lambda k: (-points[k, 0], k))):
        down = bottom - float(points[i, 1]) + radius + _FIRST + depth * LINE
        placed[i] = Placement(0.0, -down, "left", "top", leader=True, standoff=radius + 1)
    return tuple(placed[i] for i in range(len(texts)))


def count_collisions(points: Points, texts: list[str], placements: tuple[Placement, ...], radius: float) -> int:
    """Return how often a label covers another label or another point's marker."""
    places = [(float(x), float(y)) for x, y in points]
    boxes = [label_box(point, spot, text) for point, spot, text in zip(places, placements, texts, strict=True)]
    pairs = sum(_overlap(boxes[i], boxes[j]) for i in range(len(boxes)) for j in range(i))
    covered = sum(
        _overlap(box, (x - radius, y - radius, x + radius, y + radius))
        for i, box in enumerate(boxes)
        for j, (x, y) in enumerate(places)
        if i != j
    )
    return pairs + covered


def _overlap(a: Box, b: Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def name_points(points: Points, texts: list[str], *, radius: float, size: tuple[float, float]) -> tuple[Placement, ...]:
    """Place one label per point: freely, or hung below where that collides less.

    Parameters
    ----------
    points : (n, 2) array
        Pixels from the top left of the plot, y downwards.
    texts : list of str
        The labels, as plain text.
    radius : float
        Radius of the markers in pixels.
    size : (width, height)
        Size of the plot in pixels.
    """
    free = place_labels(points, texts, radii=radius, size=size)
    hung = hang_labels(points, texts, radius)
    deepest = max(
        (label_box((0.0, float(y)), spot, "")[3] for (_, y), spot in zip(points, hung, strict=True)), default=0
    )
    if deepest > size[1]:
        return free
    # A marker is smaller than what the free placement keeps clear of it.
    counts = [count_collisions(points, texts, spots, 0.7 * radius) for spots in (free, hung)]
    return hung if counts[1] < counts[0] else free
