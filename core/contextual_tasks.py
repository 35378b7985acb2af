"""Tasks whose loss depends on the rest of the record: crowdsourcing and entropy estimation."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from core.coding import QUOTED
from core.dependence import build_staircase, joint_counts
from core.domain import Records
from core.errors import InputError
from core.mutual_information import compute_mutual_information
from core.reading.cells import one_line
from core.task_protocol import BaseTask, Codes

VOTES: Final = 5
"""Labels of the crowdsourcing task, 0 to 4."""
SMOOTHING: Final = 0.5
"""Count added to every level and pair of levels of the entropy task, so that no surprisal is infinite."""


# ---- crowdsourcing ----


@dataclass(frozen=True, eq=False)
class CrowdsourcingTask(BaseTask):
    """Label by plurality of the attributes' votes, gamma = 100 |U(x) - U(y)| / 4.

    Parameters
    ----------
    sizes : tuple of int
        Levels per attribute.
    votes : tuple of ndarray of int (m_l,)
        Vote of every level, 0 to 4.
    """

    votes: tuple[NDArray[np.int64], ...]

    name = "crowdsourcing"
    title = "Crowdsourcing"
    statement = (
        "Each attribute votes for a label from 0 to 4, the plurality wins: a released record costs 25 per label "
        "that the outcome moved."
    )
    unit = "% of the label range"
    end_unit = "labels, mean absolute deviation"
    tau_dpn = 0.1

    @classmethod
    def fit(cls, records: Records) -> Self:
        """Rank the levels of every attribute by the target's mean over their records.

        Ties, and levels without a record (which count as average), go by level; m ranks are spread over 5 labels.

        Raises
        ------
        InputError
            If there is no target column, or it holds text or a missing value.
        """
        if records.target_labels:
            raise InputError(
                "target",
                "The crowdsourcing task ranks levels by a numeric target, and this column holds text such as "
                f"'{one_line(records.target_labels[-1], QUOTED)}'; correct it, choose another target, or choose the "
                "prediction task.",
            )
        if records.target is None or not np.isfinite(records.target).all():
            raise InputError(
                "target",
                "The crowdsourcing task ranks levels by a numeric target column without missing values; choose one as "
                "the target, or choose another task.",
            )
        columns = zip(records.codes.T, records.sizes, strict=True)
        return cls(records.sizes, tuple(_rank_votes(codes, size, records.target) for codes, size in columns))

    def labels(self, X: Codes) -> NDArray[np.int64]:
        """Return the plurality label of every record; among equally many votes the lower label."""
        counts = np.zeros((len(X), VOTES), dtype=np.int64)
        rows = np.arange(len(X))
        for column, vote in enumerate(self.votes):
            counts[rows, vote[X[:, column]]] += 1
        return np.asarray(counts.argmax(axis=1), dtype=np.int64)

    def loss(self, X: Codes, Y: Codes) -> NDArray[np.float64]:
        """Return 100 |label(x) - label(y)| / 4 for each pair of rows."""
        moved = np.abs(self.labels(X) - self.labels(Y))
        return np.asarray(100.0 * moved / (VOTES - 1), dtype=np.float64)

    def end_task_parts(self, raw: Codes, released: Codes) -> Mapping[str, float]:
        """Return the mean of |label of the raw record - label of its released record|."""
        return {"label": float(np.abs(self.labels(raw) - self.labels(released)).mean())}


def _rank_votes(codes: Codes, size: int, target: NDArray[np.float64]) -> NDArray[np.int64]:
    count = np.bincount(codes, minlength=size)
    total = np.bincount(codes, weights=target, minlength=size)
    mean = np.where(count > 0, total / np.maximum(count, 1), target.mean())
    rank = np.empty(size, dtype=np.int64)
    rank[np.argsort(mean, kind="stable")] = np.arange(size)
    if size == 1:
        return np.full(1, VOTES // 2, dtype=np.int64)
    return np.rint(rank * (VOTES - 1) / (size - 1)).astype(np.int64)


# ---- entropy ----


@dataclass(frozen=True, eq=False)
class EntropyTask(BaseTask):
    """Surprisals in bits: of each attribute, of the whole record under a Chow-Liu tree, and their total correlation.

    U(x) = (s_1(x_1), ..., s_L(x_L), J(x), T(x)) with s_l = -log2 p_l, J = -log2 of the tree's probability and
    T = sum_l s_l - J; gamma is the L1 distance.

    Parameters
    ----------
    sizes : tuple of int
        Levels per attribute.
    surprisals : tuple of ndarray (m_l,)
        s_l, every count raised by 1/2.
    parents : tuple of int
        Parent of each attribute in the tree, -1 for a root.
    conditionals : tuple of ndarray (m_parent, m_l)
        -log2 p(level | level of the parent), every joint count raised by 1/2; s_l as one row for a root.
    """

    surprisals: tuple[NDArray[np.float64], ...]
    parents: tuple[int, ...]
    conditionals: tuple[NDArray[np.float64], ...]

    name = "entropy"
    title = "Entropy estimation"
    statement = (
        "Entropies and dependence are wanted: a released record costs the bits by which its attributes' surprisals, "
        "its joint surprisal and its total correlation change."
    )
    unit = "bits"
    end_unit = "bits: changes of the marginal entropies, the joint entropy and the total correlation"
    tau_dpn = 0.2

    @classmethod
    def fit(cls, records: Records) -> Self:
        """Fit the marginals and the Chow-Liu tree (Chow and Liu 1968): the maximum spanning tree of the MI."""
        codes, sizes = records.codes, records.sizes
        parents = _root(build_staircase(compute_mutual_information(codes)).edges, len(sizes))
        surprisals = tuple(_surprisal(np.bincount(codes[:, i], minlength=m)) for i, m in enumerate(sizes))
        conditionals = []
        for i, parent in enumerate(parents):
            if parent < 0:
                conditionals.append(surprisals[i][None, :])
            else:
                seen = joint_counts(codes, parent, i, shape=(sizes[parent], sizes[i]))
                conditionals.append(_surprisal(seen))
        return cls(sizes, surprisals, parents, tuple(conditionals))

    def context(self, members: tuple[int, ...]) -> tuple[int, ...]:
        """Return the neighbours of `members` in the tree: nothing else enters the change."""
        linked = {a for i, p in enumerate(self.parents) for a, b in ((i, p), (p, i)) if b in members and a >= 0}
        return tuple(sorted(linked - set(members)))

    def loss(self, X: Codes, Y: Codes) -> NDArray[np.float64]:
        """Return sum_l |change of s_l| + |change of J| + |change of T| in bits for each pair of rows."""
        changed = (X != Y).any(axis=0)
        apart, marginal, joint = np.zeros(len(X)), np.zeros(len(X)), np.zeros(len(X))
        for i, parent in enumerate(self.parents):
            if changed[i]:
                change = self.surprisals[i][Y[:, i]] - self.surprisals[i][X[:, i]]
                apart += np.abs(change)
                marginal += change
            if changed[i] or (parent >= 0 and changed[parent]):
                table = self.conditionals[i]
                before = table[X[:, parent] if parent >= 0 else 0, X[:, i]]
                joint += table[Y[:, parent] if parent >= 0 else 0, Y[:, i]] - before
        loss: NDArray[np.float64] = apart + np.abs(joint) + np.abs(marginal - joint)
        return loss

    def end_task_parts(self, raw: Codes, released: Codes) -> Mapping[str, float]:
        """Return the changes of the entropies; both tables use the fitted tree and their own frequencies.

        Joint entropy = sum_l H_l - sum over edges of MI, total correlation = sum over edges of MI.
        """
        before, after = self._entropies(raw), self._entropies(released)
        return {
            "marginal entropies": float(np.abs(before[0] - after[0]).sum()),
            "joint entropy": float(abs((before[0].sum() - before[1]) - (after[0].sum() - after[1]))),
            "total correlation": float(abs(before[1] - after[1])),
        }

    def _entropies(self, codes: Codes) -> tuple[NDArray[np.float64], float]:
        marginal = np.array([_entropy(np.bincount(codes[:, i])) for i in range(len(self.sizes))])
        shared = [
            marginal[i] + marginal[parent] - _entropy(joint_counts(codes, parent, i).ravel())
            for i, parent in enumerate(self.parents)
            if parent >= 0
        ]
        return marginal, float(sum(shared))


def _root(edges: tuple[tuple[int, int], ...], count: int) -> tuple[int, ...]:
    """Direct a forest away from the smallest attribute of each tree; return the parents, -1 for a root."""
    parents, known = [-1] * count, [False] * count
    neighbours: list[list[int]] = [[] for _ in range(count)]
    for a, b in edges:
        neighbours[a].append(b)
        neighbours[b].append(a)
    for root in range(count):
        waiting = [] if known[root] else [root]
        while waiting:
            node = waiting.pop()
            known[node] = True
            for other in neighbours[node]:
                if not known[other]:
                    parents[other] = node
                    waiting.append(other)
    return tuple(parents)


def _surprisal(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return -log2 of the smoothed frequencies along the last axis."""
    raised = counts + SMOOTHING
    bits: NDArray[np.float64] = np.log2(raised.sum(axis=-1, keepdims=True)) - np.log2(raised)
    return bits


def _entropy(counts: NDArray[np.int64]) -> float:
    seen = counts[counts > 0]
    return float(np.log2(counts.sum()) - (seen * np.log2(seen)).sum() / counts.sum())
