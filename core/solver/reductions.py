"""Exact reductions of the channel's linear programme: fewer rows, the same feasible set.

The programme asks for z_x' >= exp(-epsilon d(x, x')) z_x in every output's column z and every ordered pair. Most of
these rows are implied by others. What remains is kept as `RatioRows`, two variables per row, the same for every output.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, Final, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from core.domain import Attribute, GroupDomain

T = TypeVar("T")

MERGE_LIMIT: Final = 2.0**-30
"""Points with epsilon d below this become one: the integer channel gives them equal rows as well."""
IMPLIED_TOLERANCE: Final = 1e-12
"""Relative slack in d(x,z) + d(z,x') <= d(x,x'): rounded roots miss equality by an ulp or two."""
NEARER_TOLERANCE: Final = 1e-9
"""A point in between must be nearer to both ends by this relative margin, else near-ties would drop each other."""
_BLOCK_ENTRIES: Final = 4_000_000
"""Entries of the largest temporary array."""


@dataclass(frozen=True, eq=False)
class Structure:
    """What is known about the states of a group; a hint, verified on the distances before it is used.

    Parameters
    ----------
    states : ndarray of int (n, k)
        Level of each state and member.
    kinds : tuple of {'nominal', 'line', 'other'}
        Per member: all levels at one mutual distance, levels on a line, or neither.
    p : float
        Exponent of the metric.
    """

    states: NDArray[np.int32]
    kinds: tuple[str, ...]
    p: float


def build_structure(domain: GroupDomain, attributes: Sequence[Attribute], p: float) -> Structure | None:
    """Return the structure of an enumerated group; None where its states are not listed.

    Parameters
    ----------
    domain : GroupDomain
        The group.
    attributes : sequence of Attribute
        All attributes, indexed by `domain.members`.
    p : float
        Exponent of the metric.
    """
    if not domain.enumerated:
        return None
    kinds = tuple(_member_kind(attributes[i]) for i in domain.members)
    return Structure(domain.states, kinds, p)


def _member_kind(attribute: Attribute) -> str:
    mutual = attribute.distance[~np.eye(attribute.size, dtype=bool)]
    if mutual.size and mutual.max() - mutual.min() <= NEARER_TOLERANCE * mutual.max():
        return "nominal"
    return "other" if attribute.kind == "nominal" or attribute.has_missing else "line"


@dataclass(frozen=True, eq=False)
class RatioRows:
    """Rows v[head] >= exp(-epsilon gap) v[tail] of one output's variables v = (auxiliaries, states).

    Parameters
    ----------
    head, tail : ndarray of int64 (r,)
        Variables of each row.
    gap : ndarray of float (r,)
        Distance along each row, 0 where a row only links an envelope to what it envelops.
    states : int
        Number of states.
    kind : {'line', 'nominal', 'general', 'envelope'}
        Which linear algebra fits. 'line' has the rows (k+1 over k) for all k, then (k over k+1);
        'nominal' has one auxiliary m with the rows z_x >= m for all x, then m >= exp(-epsilon d) z_x.
    heights : ndarray of float (a,)
        Of every auxiliary, a height h such that the rows hold strictly for v = exp(epsilon h) and states at 1.
    groups : ndarray of int64 (a,)
        Elimination group of every auxiliary, not decreasing.
    """

    head: NDArray[np.int64]
    tail: NDArray[np.int64]
    gap: NDArray[np.float64]
    states: int
    kind: str
    heights: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    groups: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))

    @property
    def auxiliaries(self) -> int:
        """Number of auxiliary variables."""
        return len(self.heights)

    @property
    def size(self) -> int:
        """Variables per output."""
        return self.auxiliaries + self.states

    def __len__(self) -> int:
        return len(self.head)

    def ratios(self, epsilon: float) -> NDArray[np.float64]:
        """Return exp(-epsilon gap), all within [0, 1]."""
        return np.exp(-epsilon * self.gap)

    def heads(self) -> Any:
        """Return the 0/1 matrix (variables, rows) with a one where a row has its head."""
        r = len(self)
        return sp.csr_array((np.ones(r), (self.head, np.arange(r))), shape=(self.size, r))

    def tails(self, weights: NDArray[np.float64]) -> Any:
        """Return the matrix (variables, rows) with `weights` where a row has its tail."""
        r = len(self)
        return sp.csr_array((weights, (self.tail, np.arange(r))), shape=(self.size, r))

    def matrix(self, epsilon: float) -> Any:
        """Return B (rows, variables) with B v = v[head] - exp(-epsilon gap) v[tail]."""
        return sp.csr_array((self.heads() - self.tails(self.ratios(epsilon))).T)


def once_per_rows(compute: Callable[[RatioRows], T]) -> Callable[[RatioRows], T]:
    """Compute a function of rows once, since a problem's rows serve all its budgets, and forget it with the rows."""
    known: WeakKeyDictionary[RatioRows, T] = WeakKeyDictionary()

    @wraps(compute)
    def recall(rows: RatioRows) -> T:
        if rows not in known:
            known[rows] = compute(rows)
        return known[rows]

    return recall


@dataclass(frozen=True, eq=False)
class Merged:
    """Points that are practically one, merged.

    Parameters
    ----------
    representative : ndarray of int64 (k,)
        Index of the point that stands for each class.
    class_of : ndarray of int64 (n,)
        Class of every point.
    slack : float
        The largest epsilon d from a point to its representative: the programme on the representatives bounds the
        original one from below after multiplication by exp(-slack), since z_x >= exp(-epsilon d) z_representative.
    """

    representative: NDArray[np.int64]
    class_of: NDArray[np.int64]
    slack: float


def merge_duplicates(distance: NDArray[np.float64], epsilon: float) -> Merged:
    """Merge points with epsilon d < 2**-30, chains of them as well.

    Parameters
    ----------
    distance : ndarray of float (n, n)
        A metric, possibly zero between different points.
    epsilon : float
        The budget.

    Returns
    -------
    Merged
        Classes in the order of their first point.
    """
    close = sp.csr_array((epsilon * distance < MERGE_LIMIT).astype(np.float64))
    count, labels = connected_components(close, directed=False)
    _, first = np.unique(labels, return_index=True)
    order = np.argsort(first)
    rank = np.empty(count, np.int64)
    rank[order] = np.arange(count)
    class_of = rank[labels]
    representative = first[order].astype(np.int64)
    slack = float(epsilon * distance[np.arange(len(distance)), representative[class_of]].max(initial=0.0))
    return Merged(representative, class_of, slack)


def needed_pairs(distance: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the ordered pairs (x, x') whose rows are not implied by rows over shorter distances.

    A pair is implied when some z, strictly nearer to both, has d(x,z) + d(z,x') <= d(x,x'). By induction on the
    distance the remaining pairs imply all. A line keeps its neighbours, an l1 product its grid edges.

    Parameters
    ----------
    distance : ndarray of float (n, n)
        A metric without zeros between different points.

    Returns
    -------
    x, x' : ndarray of int64 (r,)
        The pairs, in lexicographic order.
    """
    n = len(distance)
    step = max(1, _BLOCK_ENTRIES // max(n * n, 1))
    keep = np.empty((n, n), bool)
    for start in range(0, n, step):
        rows = distance[start : start + step]  # [x, .]
        limit = rows[:, None, :] * (1 - NEARER_TOLERANCE)  # [x, ., x']
        via = rows[:, :, None] + distance[None]  # [x, z, x']
        implied = via <= rows[:, None, :] * (1 + IMPLIED_TOLERANCE)
        implied &= rows[:, :, None] < limit
        implied &= distance[None] < limit
        keep[start : start + step] = ~implied.any(axis=1)
    np.fill_diagonal(keep, False)
    x, other = np.nonzero(keep)
    return x, other


def general_rows(
    distance: NDArray[np.float64], pairs: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None
) -> RatioRows:
    """Return the rows of any metric: its pairs that are not implied, no auxiliaries.

    Parameters
    ----------
    distance : ndarray of float (n, n)
        A metric without zeros between different points.
    pairs : tuple of ndarray, optional
        What `needed_pairs` returns, if known.
    """
    tail, head = needed_pairs(distance) if pairs is None else pairs
    return RatioRows(head, tail, distance[tail, head], len(distance), "general")


def line_rows(gaps: NDArray[np.float64]) -> RatioRows:
    """Return the rows of points on a line, in their order.

    Parameters
    ----------
    gaps : ndarray of float (n - 1,)
        Distances between neighbours.
    """
    low = np.arange(len(gaps))
    return RatioRows(
        np.concatenate([low + 1, low]), np.concatenate([low, low + 1]), np.tile(gaps, 2), len(gaps) + 1, "line"
    )


def nominal_rows(distance: float, states: int) -> RatioRows:
    """Return the rows of `states` points at one mutual distance: m <= z_x and exp(-epsilon d) z_x <= m."""
    points = np.arange(states) + 1
    zeros = np.zeros(states, np.int64)
    gap = np.concatenate([np.zeros(states), np.full(states, distance)])
    head, tail = np.concatenate([points, zeros]), np.concatenate([zeros, points])
    return RatioRows(head, tail, gap, states, "nominal", np.array([-distance / 2]), np.zeros(1, np.int64))
