"""Combinations of levels, and the projection of records onto the states of a group."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from core.metric import Component, cross_distance

if TYPE_CHECKING:
    from core.domain import GroupDomain, Records

RARE: Final = 5
"""Records below which a state is rare: whoever is alone in it is published by the domain."""
EXPANSION_LIMIT: Final = 4096
"""States of the full product up to which the expansion of the projection is computed, in time quadratic in them."""
PAIR_BLOCK: Final = 1 << 20
"""Pairs of states whose distances are held at a time."""


def unique_rows(
    codes: NDArray[np.int32], sizes: Sequence[int]
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
    """Return the distinct rows in lexicographic order, their counts, and the place of every row among them."""
    if math.prod(sizes) < 1 << 62:
        keys = np.ravel_multi_index(tuple(codes.T), tuple(sizes))
        _, first, place, counts = np.unique(keys, return_index=True, return_inverse=True, return_counts=True)
    else:
        _, first, place, counts = np.unique(codes, axis=0, return_index=True, return_inverse=True, return_counts=True)
    return codes[first], counts.astype(np.int64), place.reshape(-1).astype(np.int64)


def all_states(sizes: Sequence[int]) -> NDArray[np.int32]:
    """Return all combinations of levels in lexicographic order, shape (prod sizes, k)."""
    return np.stack(np.unravel_index(np.arange(math.prod(sizes)), tuple(sizes)), axis=1).astype(np.int32)


def project(
    domain: "GroupDomain", attributes: Sequence[Component], codes: NDArray[np.int32], *, p: float
) -> NDArray[np.int64]:
    """Return the state of every record, the nearest one where a record is no state (ties: the lowest).

    The likelihood ratio between two projected records is at most exp(epsilon d(Px, Px')), which may exceed
    exp(epsilon d(x, x')): see `compute_expansion`.

    Parameters
    ----------
    domain : GroupDomain
        An enumerated domain.
    attributes : sequence of k Attribute
        The group's attributes.
    codes : ndarray of int (N, k)
        Levels of the records to place.
    p : float
        Exponent of the record metric.

    Returns
    -------
    ndarray of int (N,)
        Indices into `domain.states`.
    """
    if not domain.enumerated:
        raise ValueError("a factorised domain lists no states to project to")
    distinct, _, place = unique_rows(codes, [len(a.distance) for a in attributes])
    nearest = np.zeros(len(distinct), dtype=np.int64)
    block = max(1, PAIR_BLOCK // len(domain.states))
    for start in range(0, len(distinct), block):
        gaps = cross_distance(distinct[start : start + block], domain.states, attributes, p)
        nearest[start : start + block] = gaps.argmin(axis=1)
    return nearest[place]


def compute_expansion(domain: "GroupDomain", records: "Records", p: float) -> float | None:
    """Return max d(Px, Px') / d(x, x') over the full product, by how much the projection P expands distances.

    A record-level statement for all records, states or not, is epsilon times this factor. It is 1 at least, exactly 1
    where the states are the full product, and None where that has more than `EXPANSION_LIMIT` states or the domain is
    not enumerated.
    """
    if not domain.enumerated or domain.product > EXPANSION_LIMIT:
        return None
    if domain.size == domain.product:
        return 1.0
    attributes = [records.attributes[i] for i in domain.members]
    everything = all_states([a.size for a in attributes])
    image = project(domain, attributes, everything, p=p)
    worst = 1.0
    block = max(1, PAIR_BLOCK // len(everything))
    for start in range(0, len(everything), block):
        before = cross_distance(everything[start : start + block], everything, attributes, p)
        after = domain.distance[np.ix_(image[start : start + block], image)]
        worst = max(worst, float(np.divide(after, before, out=np.ones_like(after), where=before > 0).max()))
    return worst


def count_rare_states(domain: "GroupDomain", below: int = RARE) -> int:
    """Return how many states have at least one record but fewer than `below`."""
    return int(((domain.counts > 0) & (domain.counts < below)).sum())
