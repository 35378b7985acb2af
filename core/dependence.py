"""Which attributes depend on each other: NMI against its noise floor, and the groups at every threshold."""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree

from core import limits
from core.mutual_information import Progress, compute_adjusted_nmi, compute_nmi, joint_counts

__all__ = [
    "NoiseFloor",
    "Staircase",
    "build_staircase",
    "compute_adjusted_nmi",
    "compute_nmi",
    "estimate_noise_floor",
    "joint_counts",
    "layout",
]

FLOOR_ROWS: Final = (1000, 4000)
FLOOR_WORK: Final = 4_000_000
"""Records permuted at most, 4,000 down to 1,000 as attributes grow in number so that records x attributes^2 stays
within the work; from a larger table they are drawn, and the floor is scaled by 1/N."""
FLOOR_QUANTILE: Final = 0.95
FLOOR_PERMUTATIONS: Final = 200
LAYOUT_SHORTEST: Final = 0.42
LAYOUT_RANGE: Final = 0.95
LAYOUT_DECAY: Final = 0.05
"""Target length of a pair in the layout: 0.42 + 0.95 exp(-NMI / 0.05)."""
LAYOUT_SEPARATION: Final = (0.25, 0.13)
"""Half axes of the ellipse around a node that stays free of others, room for a label; it shrinks with many nodes."""
LAYOUT_FILL: Final = 0.5
"""Share of the unit square that the free ellipses may claim together."""
LAYOUT_PASSES: Final = 400
LAYOUT_PUSHES: Final = 20_000_000
"""Passes that push nodes apart at most, and pairs pushed in all of them together."""
LAYOUT_REFINED: Final = 120
"""Nodes above which the starting positions are kept: refining them would take many seconds."""


# ---- noise floor ----


@dataclass(frozen=True, eq=False)
class NoiseFloor:
    """How large the NMI of independent attributes with these level frequencies looks in a table of this size.

    Parameters
    ----------
    per_pair : ndarray (L, L)
        95% quantile of each pair's NMI under permutation: of 100 independent pairs about 5 exceed theirs.
    maximum : float
        95% quantile of the largest NMI over all pairs: in 1 of 20 tables of independent attributes one exceeds it.
    permutations : int
        Permutations behind the quantiles.
    rows : int
        Records permuted at a time.
    scale : float
        rows / N, by which the quantiles were multiplied; 1 when all records were permuted. NMI of independent
        attributes falls as 1/N once every pair of levels is expected several times, so a scaled floor is approximate.
    """

    per_pair: NDArray[np.float64]
    maximum: float
    permutations: int
    rows: int
    scale: float


def estimate_noise_floor(
    codes: NDArray[np.integer[Any]],
    *,
    rng: np.random.Generator,
    permutations: int = FLOOR_PERMUTATIONS,
    progress: Progress | None = None,
) -> NoiseFloor:
    """Estimate the NMI that independent attributes with the same level frequencies would show.

    Every column is permuted by itself; at most 4,000 records (1,000 with 64 attributes or more), drawn anew each time
    from a larger table.

    Parameters
    ----------
    codes : ndarray of int (N, L)
        Level of every record and attribute.
    rng : numpy.random.Generator
        Source of the permutations.
    permutations : int
        How many; the 95% level is then met within about 2 sqrt(0.05 0.95 / permutations).
    progress : callable, optional
        Told the fraction done.

    Returns
    -------
    NoiseFloor
        Quantiles per pair and of the maximum.

    Raises
    ------
    InputError
        If there is no record, or the codes are not whole numbers in two dimensions.
    """
    codes = np.asarray(codes)
    rows = min(len(codes), int(np.clip(FLOOR_WORK // max(codes.shape[-1], 1) ** 2, *FLOOR_ROWS)))
    draws = []
    for done in range(permutations):
        if progress is not None:
            progress(done / permutations, "Permuting columns for the noise floor")
        sample = codes if rows == len(codes) else codes[rng.choice(len(codes), rows, replace=False)]
        draws.append(compute_nmi(rng.permuted(sample, axis=0), exact=False))
    scale = rows / max(len(codes), 1)
    stack = np.array(draws)
    stack[:, np.arange(codes.shape[1]), np.arange(codes.shape[1])] = 0.0
    per_pair = np.quantile(stack, FLOOR_QUANTILE, axis=0) * scale
    maximum = float(np.quantile(stack.max(axis=(1, 2), initial=0.0), FLOOR_QUANTILE)) * scale
    return NoiseFloor(per_pair, maximum, permutations, rows, scale)


# ---- groups at every threshold ----


@dataclass(frozen=True, eq=False)
class Staircase:
    """The groups at every threshold, from the maximum spanning tree of the dependences.

    Two attributes are connected by edges above tau exactly if their path in the tree lies above tau, so the groups
    change only at the tree's weights and no other pair is looked at again.

    Parameters
    ----------
    count : int
        Number of attributes L.
    edges : tuple of (int, int)
        Edges of the tree (of a forest where dependences are zero or negative), by falling weight.
    weights : ndarray
        Their weights, falling, all positive.
    """

    count: int
    edges: tuple[tuple[int, int], ...]
    weights: NDArray[np.float64]

    @property
    def thresholds(self) -> NDArray[np.float64]:
        """The T rising values of tau at which the number of groups changes."""
        return np.unique(self.weights)

    @property
    def counts(self) -> NDArray[np.int64]:
        """Number of groups, T + 1 values: counts[i] holds for thresholds[i-1] <= tau < thresholds[i].

        The first holds from 0 (an edge needs more than tau), the last from the last threshold on.
        """
        above = [int((self.weights > t).sum()) for t in (0.0, *self.thresholds.tolist())]
        return self.count - np.array(above, dtype=np.int64)

    def groups(self, tau: float) -> tuple[tuple[int, ...], ...]:
        """Return the connected components of the edges with weight > tau.

        Parameters
        ----------
        tau : float
            Grouping threshold, 0 to 1.

        Returns
        -------
        tuple of tuple of int
            Members rising, groups ordered by their first member.

        Raises
        ------
        InputError
            If tau is not a number from 0 to 1.

        Examples
        --------
        >>> build_staircase(np.array([[1.0, 0.3, 0.0], [0.3, 1.0, 0.1], [0.0, 0.1, 1.0]])).groups(0.1)
        ((0, 1), (2,))
        """
        tau = limits.TAU_GROUP.check(tau)
        kept = [edge for edge, weight in zip(self.edges, self.weights.tolist(), strict=True) if weight > tau]
        first, second = [a for a, _ in kept], [b for _, b in kept]
        places = np.array(first, dtype=np.int32), np.array(second, dtype=np.int32)
        graph = csr_array((np.ones(len(kept)), places), shape=(self.count, self.count))
        found: dict[int, list[int]] = {}
        for attribute, label in enumerate(connected_components(graph, directed=False)[1].tolist()):
            found.setdefault(label, []).append(attribute)
        return tuple(tuple(members) for members in sorted(found.values()))


def build_staircase(nmi: NDArray[np.float64]) -> Staircase:
    """Build the maximum spanning tree of the dependences.

    Parameters
    ----------
    nmi : ndarray (L, L)
        Symmetric dependences, plain or adjusted for chance; what is not positive is never an edge.

    Returns
    -------
    Staircase
        The groups at every threshold in [0, 1].
    """
    upper = np.triu(np.asarray(nmi, dtype=np.float64), 1)
    rows, columns = np.nonzero(upper > 0)
    # a minimum spanning tree of the negated weights keeps them to the last bit
    places = rows.astype(np.int32), columns.astype(np.int32)  # older releases of scipy take no others
    graph = csr_array((-upper[rows, columns], places), shape=upper.shape)
    tree = minimum_spanning_tree(graph).tocoo()
    found = sorted(zip((-tree.data).tolist(), tree.row.tolist(), tree.col.tolist(), strict=True), key=_by_weight)
    edges = tuple((min(a, b), max(a, b)) for _, a, b in found)
    return Staircase(len(upper), edges, np.array([w for w, _, _ in found], dtype=np.float64))


def _by_weight(edge: tuple[float, int, int]) -> tuple[float, int, int]:
    return -edge[0], edge[1], edge[2]


# ---- layout ----


def layout(nmi: NDArray[np.float64]) -> NDArray[np.float64]:
    """Place the attributes in the unit square, dependent ones close together, fixed for the table.

    Least stress (Kamada and Kawai 1989) for target lengths 0.42 + 0.95 exp(-NMI/0.05) from a start by classical
    scaling, turned so that the longer axis lies across, then nodes pushed apart until labels fit. All weights take
    part, so nothing moves with tau.

    Parameters
    ----------
    nmi : ndarray (L, L)
        Symmetric dependences; negative ones count as 0.

    Returns
    -------
    ndarray (L, 2)
        Positions; the same input gives the same output.
    """
    count = len(nmi)
    if count <= 1:
        return np.full((count, 2), 0.5)
    length = LAYOUT_SHORTEST + LAYOUT_RANGE * np.exp(-np.maximum(nmi, 0.0) / LAYOUT_DECAY)
    np.fill_diagonal(length, 0.0)
    points = _scale(length)
    if count <= LAYOUT_REFINED:
        import networkx as nx  # noqa: PLC0415 - half a second, for the picture alone

        nodes = range(count)
        targets = {i: {j: float(length[i, j]) for j in nodes} for i in nodes}
        start = {i: points[i] for i in nodes}
        placed = nx.kamada_kawai_layout(nx.complete_graph(count), dist=targets, pos=start)
        points = np.array([placed[i] for i in nodes])
    points = points - points.mean(axis=0)
    axes = np.linalg.svd(points, full_matrices=False)[2]
    points = points @ (axes * np.sign(axes.sum(axis=1, keepdims=True) + 1e-12)).T
    return _push_apart(_fill_square(points))


def _scale(length: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the plane that classical scaling fits to the target lengths (Torgerson 1952)."""
    square = length**2
    mean = square.mean(axis=0)
    values, vectors = np.linalg.eigh(-0.5 * (square - mean - mean[:, None] + square.mean()))
    points: NDArray[np.float64] = vectors[:, -2:] * np.sqrt(np.maximum(values[-2:], 0.0))
    # a tiny spiral parts nodes that scaling puts on the same spot
    turn = np.arange(len(length))
    return points + 1e-3 * np.stack([np.cos(turn), np.sin(turn)], axis=1)


def _fill_square(points: NDArray[np.float64]) -> NDArray[np.float64]:
    low, span = points.min(axis=0), np.ptp(points, axis=0)
    return np.where(span > 0, (points - low) / np.where(span > 0, span, 1.0), 0.5)


def _push_apart(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Move nodes away from each other, inside the square, until none lies in another's free ellipse."""
    axes = np.array(LAYOUT_SEPARATION)
    axes = axes * min(1.0, np.sqrt(LAYOUT_FILL / (len(points) * float(np.prod(axes)))))
    for _ in range(min(LAYOUT_PASSES, LAYOUT_PUSHES // len(points) ** 2)):
        gap = (points[:, None, :] - points[None, :, :]) / axes
        size = np.sqrt((gap**2).sum(axis=2))
        np.fill_diagonal(size, np.inf)
        push = np.maximum(1.0 - size, 0.0)
        if not push.any():
            break
        # nodes on the same spot part along a direction of their own
        same = size < 1e-9
        order = np.arange(len(points))
        turn = np.stack([np.cos(order), np.sin(order)], axis=1)
        way = np.where(same[:, :, None], turn[:, None, :] - turn[None, :, :], gap / np.maximum(size, 1e-9)[:, :, None])
        points = np.clip(points + 0.3 * (push[:, :, None] * way).sum(axis=1) * axes, 0.0, 1.0)
    return points
