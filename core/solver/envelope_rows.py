"""Envelopes: far fewer rows for products with nominal attributes under any coordinate-monotone norm.

"Differ exactly on the set S of nominal attributes" may be replaced by "differ at most on S", since the added pairs are
closer and bound already. So, with M_S and m_S the largest and smallest z over the values of x_S that are present, the
pairs that differ on S are bound by m_S(j) >= exp(-epsilon d_S(i, j)) M_S(i) for the rests i, j of the coordinates.
M and m are variables, linked attribute by attribute. Exact on full products and on any subset of one.
"""

import math
from dataclasses import dataclass
from itertools import combinations
from typing import Final

import numpy as np
from numpy.typing import NDArray

from core.solver.reductions import NEARER_TOLERANCE, RatioRows, Structure

COLLAPSE_LIMIT: Final = 6
"""Most nominal attributes that are collapsed: the rows come from all subsets."""
DETECTION_TOLERANCE: Final = 1e-9
"""Relative slack in sums of powers of distances."""


@dataclass(frozen=True, eq=False)
class ProductLabels:
    """Coordinates of points in a product of nominal attributes and a rest.

    Parameters
    ----------
    nominal : ndarray of int64 (n, k)
        Level of every point on each nominal attribute.
    rest : ndarray of int64 (n,)
        Label of all other coordinates together.
    """

    nominal: NDArray[np.int64]
    rest: NDArray[np.int64]

    def collapsing(self, chosen: tuple[int, ...]) -> "ProductLabels":
        """Return the labels where only the chosen nominal attributes are seen as such."""
        others = [i for i in range(self.nominal.shape[1]) if i not in chosen]
        rest = _label(np.column_stack([self.nominal[:, others], self.rest]))
        return ProductLabels(self.nominal[:, list(chosen)], rest)


def _label(columns: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return one label per distinct row, in the order of the rows' values."""
    if not columns.shape[1]:
        return np.zeros(len(columns), np.int64)
    _, labels = np.unique(columns, axis=0, return_inverse=True)
    return np.asarray(labels, dtype=np.int64).reshape(len(columns))


def labels_of(structure: Structure, points: NDArray[np.int64]) -> ProductLabels:
    """Return the labels of the given points of a known structure."""
    states = np.asarray(structure.states, dtype=np.int64)[points]
    nominal = [i for i, kind in enumerate(structure.kinds) if kind == "nominal"]
    other = [i for i, kind in enumerate(structure.kinds) if kind != "nominal"]
    return ProductLabels(states[:, nominal], _label(states[:, other]))


def detect_labels(distance: NDArray[np.float64]) -> ProductLabels | None:
    """Find nominal attributes from the distances alone, for d_1 and d_2 on full products.

    With d^p a sum over attributes, two points x, y that differ on one nominal attribute only have
    d(x, z)^p - d(y, z)^p = -c, c or 0 for every z, c = d(x, y)^p: -c for those at the level of x, c at that of y.
    The result is a guess that `envelope_rows` verifies.

    Parameters
    ----------
    distance : ndarray of float (n, n)
        A metric without zeros between different points.
    """
    for power in (2.0, 1.0):
        raised = distance**power
        slack = DETECTION_TOLERANCE * float(raised.max())
        columns, remainder = [], raised.copy()
        for level, weight in _nominal_columns(raised, slack):
            columns.append(level)
            remainder -= weight * (level[:, None] != level[None, :])
        if columns:
            alike = remainder <= slack
            return ProductLabels(np.column_stack(columns), np.asarray(alike.argmax(axis=1), dtype=np.int64))
    return None


def _nominal_columns(raised: NDArray[np.float64], slack: float) -> list[tuple[NDArray[np.int64], float]]:
    """Return levels and weight^p of every nominal attribute seen from the first point."""
    change = raised[0][None, :] - raised  # [y, z]
    weight = raised[0][:, None]
    negative, positive = np.abs(change + weight) <= slack, np.abs(change - weight) <= slack
    steps = np.flatnonzero((negative | positive | (np.abs(change) <= slack)).all(axis=1) & (raised[0] > slack))
    seen: dict[bytes, list[int]] = {}
    for y in steps.tolist():
        seen.setdefault(negative[y].tobytes(), []).append(y)
    found = []
    for members in seen.values():
        level = np.full(len(raised), -1, np.int64)
        level[negative[members[0]]] = 0
        for number, y in enumerate(members, 1):
            level[positive[y]] = number
        if level.min() >= 0:
            found.append((level, float(raised[0, members[0]])))
    return found


class _GapTable:
    """Largest distance of the pairs that differ on exactly the nominal set S, by S and both rests; -inf for none."""

    def __init__(self, labels: ProductLabels, distance: NDArray[np.float64]) -> None:
        count, rests = labels.nominal.shape[1], int(labels.rest.max()) + 1
        differs = labels.nominal[:, None, :] != labels.nominal[None, :, :]
        self.mask = (differs << np.arange(count)).sum(axis=2)
        first, second = np.broadcast_arrays(labels.rest[:, None], labels.rest[None, :])
        shape = (1 << count, rests, rests)
        place = np.ravel_multi_index((self.mask, first, second), shape).ravel()
        high, low = np.full(math.prod(shape), -np.inf), np.full(math.prod(shape), np.inf)
        np.maximum.at(high, place, distance.ravel())
        np.minimum.at(low, place, distance.ravel())
        self.high, low = high.reshape(shape), low.reshape(shape)
        seen = np.isfinite(low)
        slack = NEARER_TOLERANCE * float(distance.max())
        self.fits = bool(((self.high - low)[seen] <= slack).all()) and self._is_monotone(slack)

    def _is_monotone(self, slack: float) -> bool:
        """Make every set's distance at least those of its subsets, which it must be up to rounding."""
        given = self.high.copy()
        for bit in range(len(self.high).bit_length() - 1):
            for subset in range(len(self.high)):
                if subset >> bit & 1:
                    np.maximum(self.high[subset], self.high[subset ^ (1 << bit)], out=self.high[subset])
        seen = np.isfinite(given)
        self.high[~seen] = -np.inf
        return bool((self.high[seen] - given[seen] <= slack).all())


class _Builder:
    """Rows and auxiliaries as they are added; auxiliaries are numbered after the states until the end."""

    def __init__(self, labels: ProductLabels) -> None:
        self._labels = labels
        self._count = labels.nominal.shape[1]
        points = np.arange(len(labels.rest))
        self._rows: list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]] = []
        self._heights: list[float] = []
        self._groups: list[tuple[int, int]] = []
        self._cells: dict[tuple[int, ...], NDArray[np.int64]] = {(): points}
        self._upper: dict[tuple[int, ...], NDArray[np.int64]] = {(): points}
        self._lower: dict[tuple[int, ...], NDArray[np.int64]] = {(): points}

    def collapse(self, chosen: tuple[int, ...], height: float) -> None:
        """Add M and m of the set `chosen`, from the subset with one attribute less that has the fewest cells."""
        kept = [i for i in range(self._count) if i not in chosen]
        block = _label(self._labels.nominal[:, kept])
        cells = _label(np.column_stack([block, self._labels.rest]))
        subsets = [tuple(i for i in chosen if i != left) for left in chosen]
        below = min(subsets, key=lambda subset: int(self._cells[subset].max()))
        _, first = np.unique(self._cells[below], return_index=True)
        number, count = cells[first], int(cells.max()) + 1
        several = np.bincount(number, minlength=count) > 1
        block_of = np.empty(count, np.int64)
        block_of[cells] = block
        for variables, sign in ((self._upper, 1.0), (self._lower, -1.0)):
            members = variables[below][first]
            envelope = np.empty(count, np.int64)
            envelope[number] = members  # a cell with one member is its own envelope
            fresh = np.flatnonzero(several)
            envelope[fresh] = len(cells) + len(self._heights) + np.arange(len(fresh))
            self._heights.extend([sign * height] * len(fresh))
            self._groups.extend((len(self._cells), b) for b in block_of[fresh].tolist())
            own, linked = envelope[number][several[number]], members[several[number]]
            self._rows.append((own, linked, np.zeros(len(own))) if sign > 0 else (linked, own, np.zeros(len(own))))
            variables[chosen] = envelope[cells]
        self._cells[chosen] = cells

    def bind(
        self, chosen: tuple[int, ...], pairs: tuple[NDArray[np.int64], NDArray[np.int64]], table: "_GapTable"
    ) -> None:
        """Add m_S >= exp(-epsilon d_S) M_S for the pairs (x, x') that differ on the set `chosen`."""
        x, other = pairs
        tail, head = self._upper[chosen][x], self._lower[chosen][other]
        mask = sum(1 << i for i in chosen)
        gap = table.high[mask, self._labels.rest[x], self._labels.rest[other]]
        _, first = np.unique(tail * (len(self._labels.rest) + len(self._heights)) + head, return_index=True)
        self._rows.append((head[first], tail[first], gap[first]))

    def finish(self) -> RatioRows:
        """Return the rows with auxiliaries first, in the order of their groups."""
        aux, states = len(self._heights), len(self._labels.rest)
        keys = np.array(self._groups, dtype=np.int64).reshape(aux, 2)
        order = np.lexsort((keys[:, 1], keys[:, 0]))
        place = np.empty(aux, np.int64)
        place[order] = np.arange(aux)
        number = np.concatenate([aux + np.arange(states), place])
        head, tail, gap = (np.concatenate(part) for part in zip(*self._rows, strict=True))
        heights = np.array(self._heights)[order]
        return RatioRows(number[head], number[tail], gap, states, "envelope", heights, _label(keys[order]))


def envelope_rows(
    distance: NDArray[np.float64], labels: ProductLabels, pairs: tuple[NDArray[np.int64], NDArray[np.int64]]
) -> RatioRows | None:
    """Return the rows with all nominal attributes of `labels` collapsed, or None where the labels do not fit.

    Parameters
    ----------
    distance : ndarray of float (n, n)
        A metric without zeros between different points.
    labels : ProductLabels
        Claimed coordinates: the distance must depend only on both rests and on where the nominal levels differ, and
        not decrease where they differ on more attributes.
    pairs : tuple of ndarray
        The ordered pairs (x, x') that are not implied by others, from `needed_pairs`.
    """
    table = _GapTable(labels, distance)
    if not table.fits:
        return None
    count = labels.nominal.shape[1]
    masks = table.mask[pairs]
    crossing = distance[table.mask > 0]
    unit = 0.5 * float(crossing.min(initial=1.0)) / (count + 1)
    builder = _Builder(labels)
    for size in range(count + 1):
        for chosen in combinations(range(count), size):
            if chosen:
                builder.collapse(chosen, unit * size)
            here = masks == sum(1 << i for i in chosen)
            builder.bind(chosen, (pairs[0][here], pairs[1][here]), table)
    return builder.finish()
