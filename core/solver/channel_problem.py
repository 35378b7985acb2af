"""The optimal channel's inputs, checked once; and the reduced programme that they become at a budget."""

from dataclasses import dataclass, field
from itertools import combinations
from typing import Final

import numpy as np
from numpy.typing import NDArray

from core import limits
from core.errors import InputError
from core.solver.block_systems import LineSystem, NominalSystem, Programme, System
from core.solver.elimination import EliminationSystem, estimate_elimination_work
from core.solver.envelope_rows import COLLAPSE_LIMIT, ProductLabels, detect_labels, envelope_rows, labels_of
from core.solver.fibre_system import FibreSystem, estimate_fibre_work
from core.solver.reductions import (
    Merged,
    RatioRows,
    Structure,
    general_rows,
    line_rows,
    merge_duplicates,
    needed_pairs,
    nominal_rows,
)

FloatArray = NDArray[np.float64]

_LIGHT_PASS: Final = 300.0
"""Operations per row and output in the element-wise passes of a line or a nominal attribute."""
PRIOR_TOLERANCE: Final = 1e-6
"""How far a prior's sum may be from 1: counts over their total are well within."""
METRIC_TOLERANCE: Final = 1e-9
"""Relative slack in symmetry, the triangle inequality and detected structure: rounded roots miss by an ulp or two."""


@dataclass(frozen=True, eq=False)
class Reduced:
    """The programme on representatives of merged points, in the order that its rows want.

    Parameters
    ----------
    programme : Programme
        Rows, budget, costs and linear algebra.
    place : ndarray of int64 (n,)
        Row of the programme that every original state reads.
    slack : float
        The bound of the programme times exp(-slack) bounds the original.
    """

    programme: Programme
    place: NDArray[np.int64]
    slack: float


@dataclass(frozen=True, eq=False)
class ChannelProblem:
    """Metric, prior and loss of one group; reductions are made once and kept for all budgets.

    Parameters
    ----------
    distance : ndarray of float (n, n)
        A metric.
    prior : ndarray of float (n,)
        Probabilities of the states.
    loss : ndarray of float (n, m)
        Loss >= 0 of releasing output y for state x.
    structure : Structure or None
        What is known about the states; found from the distances where it is None.
    """

    distance: FloatArray
    prior: FloatArray
    loss: FloatArray
    structure: Structure | None = None
    _known: dict[bytes, tuple[RatioRows, NDArray[np.int64]]] = field(default_factory=dict, repr=False)

    @property
    def costs(self) -> FloatArray:
        """prior[x] * loss[x, y]."""
        return self.prior[:, None] * self.loss

    def reduce(self, epsilon: float) -> Reduced:
        """Return the reduced programme at a budget."""
        merged = merge_duplicates(self.distance, epsilon)
        rows, order = self._rows(merged)
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        place = rank[merged.class_of]
        costs = np.zeros((len(order), self.loss.shape[1]))
        np.add.at(costs, place, self.costs)
        return Reduced(Programme(rows, epsilon, costs, build_system(rows, epsilon)), place, merged.slack)

    def _rows(self, merged: Merged) -> tuple[RatioRows, NDArray[np.int64]]:
        key = merged.class_of.tobytes()
        if key not in self._known:
            points = merged.representative
            self._known[key] = choose_rows(self.distance[np.ix_(points, points)], self.structure, points)
        return self._known[key]


def build_system(rows: RatioRows, epsilon: float) -> System:
    """Return the linear algebra that fits the rows."""
    if rows.kind == "line":
        return LineSystem(rows, epsilon)
    if rows.kind == "nominal":
        return NominalSystem(rows, epsilon)
    if rows.auxiliaries and estimate_fibre_work(rows) < estimate_elimination_work(rows):
        return FibreSystem(rows, epsilon)
    return EliminationSystem(rows, epsilon)


def estimate_work(rows: RatioRows) -> float:
    """Return operations per output and step with the linear algebra that fits the rows."""
    if rows.kind in ("line", "nominal"):
        return 2.0 * rows.states**2 + _LIGHT_PASS * len(rows)
    work = estimate_elimination_work(rows)
    return min(work, estimate_fibre_work(rows)) if rows.auxiliaries else work


def choose_rows(
    distance: FloatArray, structure: Structure | None = None, points: NDArray[np.int64] | None = None
) -> tuple[RatioRows, NDArray[np.int64]]:
    """Return the cheapest exact rows for a metric, and the order in which they take its points.

    Parameters
    ----------
    distance : ndarray of float (n, n)
        A metric without zeros between different points.
    structure : Structure, optional
        Coordinates of the points, verified before use.
    points : ndarray of int64 (n,), optional
        Positions of the points in the structure's states.

    Returns
    -------
    rows : RatioRows
        Rows whose set of channels is that of all n (n - 1) rows.
    order : ndarray of int64 (n,)
        Point that each state of the rows stands for.
    """
    n = len(distance)
    natural = np.arange(n)
    order = find_line(distance)
    if order is not None:
        return line_rows(distance[order[:-1], order[1:]]), order
    mutual = distance[~np.eye(n, dtype=bool)]
    if mutual.max() - mutual.min() <= METRIC_TOLERANCE * mutual.max():
        return nominal_rows(float(mutual.max()), n), natural
    pairs = needed_pairs(distance)
    plain = general_rows(distance, pairs)
    labels = None
    if structure is not None and points is not None and "nominal" in structure.kinds:
        labels = labels_of(structure, points)
    candidates = [plain, *_envelope_candidates(distance, labels, pairs)]
    if len(candidates) == 1:
        candidates += _envelope_candidates(distance, detect_labels(distance), pairs)
    return min(candidates, key=estimate_work), natural


def _envelope_candidates(
    distance: FloatArray, labels: ProductLabels | None, pairs: tuple[NDArray[np.int64], NDArray[np.int64]]
) -> list[RatioRows]:
    """Return the rows for every choice of nominal attributes to collapse."""
    if labels is None:
        return []
    largest_first = np.argsort(-labels.nominal.max(axis=0), kind="stable")[:COLLAPSE_LIMIT].tolist()
    found = []
    for size in range(1, len(largest_first) + 1):
        for chosen in combinations(sorted(largest_first), size):
            rows = envelope_rows(distance, labels.collapsing(chosen), pairs)
            if rows is not None:
                found.append(rows)
    return found


def find_line(distance: FloatArray) -> NDArray[np.int64] | None:
    """Return the order in which the points lie on a line, or None where they do not.

    >>> find_line(np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 3.0], [2.0, 3.0, 0.0]])).tolist()
    [2, 0, 1]
    """
    end = int(distance[0].argmax())
    order = np.argsort(distance[end], kind="stable")
    along = distance[end, order]
    spread = np.abs(np.abs(along[:, None] - along[None, :]) - distance[np.ix_(order, order)])
    return order if spread.max() <= METRIC_TOLERANCE * max(float(along[-1]), np.finfo(float).tiny) else None


def check_problem(
    distance: FloatArray, prior: FloatArray, loss: FloatArray, structure: Structure | None = None
) -> ChannelProblem:
    """Return the checked problem.

    Parameters
    ----------
    distance : array_like (n, n)
        A metric; zero between different states is allowed.
    prior : array_like (n,)
        Probabilities.
    loss : array_like (n, m)
        Losses >= 0.
    structure : Structure, optional
        What is known about the states.

    Raises
    ------
    InputError
        If the distance is no metric, the prior no distribution, the loss negative or not finite, or the sizes differ.
    """
    distance, prior, loss = (np.asarray(a, dtype=float) for a in (distance, prior, loss))
    n = len(prior) if prior.ndim == 1 else 0
    if not 1 <= n <= limits.ENUMERATION_LIMIT:
        raise InputError(
            "prior",
            f"The prior must be one number per state, from 1 to {limits.ENUMERATION_LIMIT} states, "
            f"not of shape {prior.shape}; larger groups are perturbed attribute by attribute.",
        )
    if distance.shape != (n, n):
        raise InputError("distance", f"The distance must be a {n} by {n} matrix, not of shape {distance.shape}.")
    if loss.ndim != 2 or loss.shape[0] != n or not loss.shape[1]:
        raise InputError("loss", f"The loss must have one row for each of the {n} states, not shape {loss.shape}.")
    if not (np.isfinite(prior).all() and prior.min() >= 0 and abs(prior.sum() - 1) <= PRIOR_TOLERANCE):
        raise InputError("prior", f"The prior must be probabilities that sum to 1; these sum to {prior.sum():g}.")
    if not (np.isfinite(loss).all() and loss.min() >= 0):
        raise InputError("loss", "Every loss must be a finite number of at least 0; shift or clip the others.")
    _check_metric(distance)
    if structure is not None and len(structure.states) != n:
        structure = None
    return ChannelProblem(distance, prior, loss, structure)


def _check_metric(distance: FloatArray) -> None:
    if not (np.isfinite(distance).all() and distance.min() >= 0 and not np.diagonal(distance).any()):
        raise InputError("distance", "Distances must be finite, at least 0, and 0 from every state to itself.")
    slack = METRIC_TOLERANCE * float(distance.max())
    uneven = np.abs(distance - distance.T)
    if uneven.max() > slack:
        x, y = np.unravel_index(uneven.argmax(), uneven.shape)
        raise InputError("distance", f"The distance must be the same in both directions; states {x} and {y} differ.")
    for z in range(len(distance)):
        excess = distance - distance[:, z, None]
        excess -= distance[z]
        if excess.max() > slack:
            x, y = np.unravel_index(excess.argmax(), excess.shape)
            raise InputError(
                "distance",
                f"The distance breaks the triangle inequality: from state {x} to {y} is further than by way of {z}; "
                "use shortest paths instead.",
            )
