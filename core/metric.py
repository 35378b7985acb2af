"""Component and record metrics, and the norms that compose budgets across groups."""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from core import limits
from core.errors import InputError

METRIC_TOLERANCE: Final = 1e-12
"""Relative slack of the metric axioms: entries typed with 12 digits may miss the triangle inequality by this much."""
UNIT_ROUNDOFF: Final = 2.0**-53
"""Largest relative error of one correctly rounded operation."""
POWER_MARGIN: Final = 64 * UNIT_ROUNDOFF
"""Relative error of x^(1/p) and of what follows it, rounding of 1/p for x up to 1e9 included."""
DYADIC: Final = 2.0**20
"""Weights that are multiples of 1/DYADIC and below DYADIC add up without rounding."""


Gather = Callable[[NDArray[np.float64], int], NDArray[np.float64]]
"""Looks pairs of records up in a level table (m, m) of the attribute at a position."""


class Component(Protocol):
    """What a record metric needs of an attribute: its level distances and its weight."""

    @property
    def distance(self) -> NDArray[np.float64]:
        """Distances (m, m) between levels."""

    @property
    def weight(self) -> float:
        """Weight in the record metric."""


def component_distance(
    kind: str,
    size: int,
    values: NDArray[np.float64] | None = None,
    span: float | None = None,
    has_missing: bool = False,
) -> NDArray[np.float64]:
    """Return the component metric d_l between the levels of one attribute.

    nominal: 1[a != b]; ordinal: |rank a - rank b| / (m - 1); numeric: |u - v| / span between representatives.
    A missing level, the last one, is at distance 1 from every other and is not counted in m.

    Parameters
    ----------
    kind : {'nominal', 'ordinal', 'numeric'}
        How levels are compared.
    size : int
        Number of levels, the missing level included.
    values : ndarray (size,), optional
        Representatives of a numeric attribute; the entry of the missing level is not read.
    span : float, optional
        hi - lo of a numeric attribute.
    has_missing : bool
        Whether the last level stands for a missing value.

    Returns
    -------
    ndarray (size, size)
        Symmetric, zero on the diagonal, within [0, 1].

    Examples
    --------
    >>> component_distance("ordinal", 3)
    array([[0. , 0.5, 1. ],
           [0.5, 0. , 0.5],
           [1. , 0.5, 0. ]])
    """
    proper = size - has_missing
    distance = np.ones((size, size))
    if kind == "ordinal":
        ranks = np.arange(proper, dtype=float)
        distance[:proper, :proper] = np.abs(ranks[:, None] - ranks) / max(proper - 1, 1)
    elif kind == "numeric":
        if values is None or span is None:
            raise ValueError("a numeric component needs its representatives and its span")
        points = values[:proper]
        distance[:proper, :proper] = np.abs(points[:, None] - points) / (span if span > 0 else 1.0)
    np.fill_diagonal(distance, 0.0)
    return distance


def add_missing_level(distance: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return an own matrix (m, m) with a missing level appended at distance max(1, diameter / 2) from every other.

    That is the least distance of at least 1 for which the triangle inequality still holds.
    """
    size = len(distance)
    extended = np.full((size + 1, size + 1), max(1.0, float(distance.max(initial=0.0)) / 2))
    extended[:size, :size] = distance
    extended[size, size] = 0.0
    return extended


def group_distance(states: NDArray[np.int32], attributes: Sequence[Component], p: float) -> NDArray[np.float64]:
    """Return the record metric d_p = (sum_l w_l d_l^p)^(1/p) between the states of a group.

    p = inf takes the largest d_l and ignores the weights; a single attribute's distances carry w^(1/p).

    Parameters
    ----------
    states : ndarray of int (n, k)
        Level of each state and attribute.
    attributes : sequence of k components
        The group's attributes.
    p : float
        Exponent, 1 <= p <= inf.

    Returns
    -------
    ndarray (n, n)
        Symmetric, zero on the diagonal, **never above** the exact d_p of the given level distances (below it by a
        relative (k + 40) / 2^52 at most), so that what is certified for it holds for the exact metric.
    """
    return cross_distance(states, states, attributes, p)


def cross_distance(
    a: NDArray[np.int32], b: NDArray[np.int32], attributes: Sequence[Component], p: float
) -> NDArray[np.float64]:
    """Return d_p between every row of `a` (n, k) and of `b` (m, k), rounded as in `group_distance`; shape (n, m)."""
    return _combine(attributes, p, (len(a), len(b)), lambda table, i: table[np.ix_(a[:, i], b[:, i])])


def record_distance(
    a: NDArray[np.int32], b: NDArray[np.int32], attributes: Sequence[Component], p: float
) -> NDArray[np.float64]:
    """Return d_p between the rows of two code arrays (N, k), with the rounding of `group_distance`; shape (N,)."""
    return _combine(attributes, p, (len(a),), lambda table, i: table[a[:, i], b[:, i]])


def _combine(attributes: Sequence[Component], p: float, shape: tuple[int, ...], gather: Gather) -> NDArray[np.float64]:
    """Return (sum w d^p)^(1/p), rounded down; `gather` looks the pairs up in the level table of an attribute."""
    limits.METRIC_EXPONENT.check(p)
    if not attributes:
        return np.zeros(shape)
    if math.isinf(p):
        return np.asarray(np.maximum.reduce([gather(a.distance, i) for i, a in enumerate(attributes)]))
    if len(attributes) == 1:
        return gather(_scale(attributes[0].distance, float(attributes[0].weight), p), 0)
    if p not in (1.0, 2.0):
        return _combine_general(attributes, p, gather)
    total = np.zeros(shape)
    for i, attribute in enumerate(attributes):
        total += gather(float(attribute.weight) * attribute.distance**p, i)
    if not all(_adds_exactly(a) for a in attributes):
        total = _lower(total, len(attributes) + 3)
    if p == 1.0:
        return total
    root = np.sqrt(total)
    exact = (root == np.floor(root)) & (root * root == total)
    return np.where(exact, root, np.nextafter(root, 0.0))


def _combine_general(attributes: Sequence[Component], p: float, gather: Gather) -> NDArray[np.float64]:
    """Return the same for any finite p; dividing by the largest component keeps d^p from underflowing."""
    columns = [gather(a.distance, i) for i, a in enumerate(attributes)]
    scale = np.asarray(np.maximum.reduce(columns))
    divisor = np.where(scale > 0, scale, 1.0)
    total = np.zeros_like(scale)
    for attribute, column in zip(attributes, columns, strict=True):
        total += float(attribute.weight) * (column / divisor) ** p
    return np.asarray(_lower(total, len(columns) + 3) ** (1.0 / p) * scale * (1.0 - POWER_MARGIN))


def _scale(distance: NDArray[np.float64], weight: float, p: float) -> NDArray[np.float64]:
    """Return the level distances of a group of one attribute, w^(1/p) d rounded down."""
    if weight == 1.0:
        return distance
    root = _root(weight, p)
    return np.where(distance == 1.0, root, _lower(root * distance, 1))


def _adds_exactly(attribute: Component) -> bool:
    """Tell whether w d^p is w or 0, with a w that adds up without rounding."""
    weight = float(attribute.weight)
    return (
        weight < DYADIC and weight * DYADIC == int(weight * DYADIC) and bool(np.isin(attribute.distance, (0, 1)).all())
    )


def _root(weight: float, p: float) -> float:
    """Return w^(1/p) rounded down, exact for p = 1 and for squares when p = 2."""
    if weight == 1.0 or p == 1.0:
        return weight
    if p == 2.0:
        root = math.sqrt(weight)
        return root if Fraction(root) ** 2 <= Fraction(weight) else math.nextafter(root, 0.0)
    return float(weight ** (1.0 / p)) * (1.0 - POWER_MARGIN)


def _lower(values: NDArray[np.float64], operations: int) -> NDArray[np.float64]:
    """Return values that rounding in so many operations cannot have left above the exact ones."""
    return values * (1.0 - 2 * (operations + 1) * UNIT_ROUNDOFF)


def dual_exponent(p: float) -> float:
    """Return q with 1/p + 1/q = 1.

    Examples
    --------
    >>> dual_exponent(1), dual_exponent(2), dual_exponent(float("inf"))
    (inf, 2.0, 1.0)
    """
    limits.METRIC_EXPONENT.check(p)
    if p == 1.0:
        return math.inf
    return 1.0 if math.isinf(p) else p / (p - 1.0)


def dual_norm(epsilons: Sequence[float] | NDArray[np.float64], p: float) -> float:
    """Return ||epsilons||_q with 1/p + 1/q = 1, rounded up: the record-level epsilon of independent groups.

    By Hoelder, sum_k epsilon_k d_k <= ||epsilon||_q (sum_k d_k^p)^(1/p) (paper, Theorem 1).

    Raises
    ------
    InputError
        If a budget is negative or not a number.
    """
    budgets = [float(e) for e in epsilons]
    if any(math.isnan(e) or e < 0 for e in budgets):
        raise InputError("epsilon", "Every group's budget must be a number of at least 0; check the allocation.")
    q = dual_exponent(p)
    positive = [e for e in budgets if e > 0]
    largest = max(positive, default=0.0)
    if math.isinf(largest) or math.isinf(q) or len(positive) <= 1:
        return largest
    if q == 1.0:
        return _round_up(sum(map(Fraction, positive)), 1, math.fsum(positive))
    if q == 2.0:
        return _round_up(sum(Fraction(e) ** 2 for e in positive), 2, math.hypot(*positive))
    # Terms below 1 may underflow to 0, each losing at most the smallest normal number: absorbed by the margin.
    total = math.fsum((e / largest) ** q for e in positive)
    return float(largest * total ** (1.0 / q) * (1.0 + POWER_MARGIN))


def _round_up(power: Fraction | int, exponent: int, guess: float) -> float:
    """Return the least float whose power is at least `power`, starting near it."""
    value = guess
    while Fraction(math.nextafter(value, 0.0)) ** exponent >= power:
        value = math.nextafter(value, 0.0)
    while Fraction(value) ** exponent < power:
        value = math.nextafter(value, math.inf)
    return value


def uniform_split(epsilon: float, count: int, p: float) -> float:
    """Return the equal budget epsilon / count^(1/q) of `count` groups, rounded so that its dual norm fits epsilon.

    Examples
    --------
    >>> uniform_split(4.0, 4, 2.0), uniform_split(4.0, 4, 1.0), uniform_split(4.0, 4, float("inf"))
    (2.0, 4.0, 1.0)
    """
    if count < 1:
        raise InputError("epsilon", "A budget can only be split among one group or more; include a column.")
    share = epsilon if p == 1.0 else epsilon / count ** (1.0 / dual_exponent(p))
    while share > 0 and dual_norm([share] * count, p) > epsilon:
        share = math.nextafter(share, 0.0)
    return share


def verify_metric(matrix: NDArray[np.float64], labels: Sequence[str]) -> None:
    """Check that a matrix (m, m) is a metric on the levels named by `labels`.

    Raises
    ------
    InputError
        Naming the pair or the triple that violates an axiom, and the numbers.
    """
    size = len(labels)
    if matrix.shape != (size, size):
        raise InputError(
            "distance", f"An own distance matrix of {size} levels must be {size} x {size}, not {_shape(matrix)}."
        )
    _verify_pairs(matrix, labels)
    slack = METRIC_TOLERANCE * float(matrix.max(initial=0.0))
    for via in range(size):
        detour = matrix[:, via, None] + matrix[None, via, :]
        bad = matrix > detour + slack
        if bad.any():
            i, j = (int(k) for k in np.argwhere(bad)[0])
            raise InputError(
                "distance",
                f"The distance {labels[i]} to {labels[j]} is {matrix[i, j]:g}, longer than the {detour[i, j]:g} "
                f"through {labels[via]} (triangle inequality); shorten it or lengthen one of the other two.",
            )


def _verify_pairs(matrix: NDArray[np.float64], labels: Sequence[str]) -> None:
    off = ~np.eye(len(labels), dtype=bool)
    checks = (
        (~np.isfinite(matrix), "must be a finite number"),
        (~off & (matrix != 0), "must be 0: a level is at no distance from itself"),
        (off & ~(matrix > 0), "must be above 0: different levels must differ"),
        (matrix != matrix.T, "must be the same in both directions"),
    )
    for bad, rule in checks:
        if bad.any():
            i, j = (int(k) for k in np.argwhere(bad)[0])
            raise InputError("distance", f"The distance {labels[i]} to {labels[j]} is {matrix[i, j]:g} but {rule}.")


def _shape(matrix: NDArray[np.float64]) -> str:
    return " x ".join(str(n) for n in matrix.shape)
