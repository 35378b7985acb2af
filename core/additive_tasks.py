"""Tasks whose loss is a sum over attributes: frequency and mean estimation."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from core.domain import Records
from core.errors import InputError
from core.task_protocol import BaseTask, Codes, Losses


def _sum_losses(tables: Losses, X: Codes, Y: Codes) -> NDArray[np.float64]:
    total = np.zeros(len(X))
    for column, table in enumerate(tables):
        if table.any():
            total += table[X[:, column], Y[:, column]]
    return total


# ---- frequency ----


@dataclass(frozen=True, eq=False)
class FrequencyTask(BaseTask):
    """Marginal histograms: U is one-hot per attribute, gamma the L1 distance, 2 for every attribute that changed."""

    name = "frequency"
    title = "Frequency estimation"
    statement = "The histogram of every attribute is wanted: a released record costs 2 for each attribute that changed."
    unit = "L1"
    end_unit = "L1 distance of the relative frequencies, summed over the attributes"
    tau_dpn = 0.3

    @classmethod
    def fit(cls, records: Records) -> Self:
        """Fit nothing: the loss depends on the levels alone."""
        return cls(records.sizes)

    @property
    def attribute_losses(self) -> Losses:
        """2 off the diagonal, per attribute."""
        return tuple(2.0 * (1.0 - np.eye(size)) for size in self.sizes)

    def loss(self, X: Codes, Y: Codes) -> NDArray[np.float64]:
        """Return 2 x the number of attributes in which each row of X differs from the row of Y."""
        return np.asarray(2.0 * (X != Y).sum(axis=1), dtype=np.float64)

    def end_task_parts(self, raw: Codes, released: Codes) -> Mapping[str, float]:
        """Return sum_l sum_v |frequency of v in the raw table - in the released reports|, without correction."""
        total = 0.0
        for column, size in enumerate(self.sizes):
            before = np.bincount(raw[:, column], minlength=size) / len(raw)
            after = np.bincount(released[:, column], minlength=size) / len(released)
            total += float(np.abs(before - after).sum())
        return {"marginal histograms": total}


# ---- mean ----


@dataclass(frozen=True, eq=False)
class MeanTask(BaseTask):
    """Means of the numeric attributes: gamma = sum over them of the squared component distance.

    Parameters
    ----------
    sizes : tuple of int
        Levels per attribute.
    squares : tuple of ndarray (m_l, m_l)
        Squared component distances; zero for attributes that are not numeric.
    positions : tuple of ndarray (m_l,)
        Place of every level of a numeric attribute within its span, from 0, nan for the missing level; empty otherwise.
    radial : bool
        Whether the loss is exactly the squared record distance d_2^2, so that distance alone explains it at p = 2.
    """

    squares: Losses
    positions: Losses
    radial: bool

    name = "mean"
    title = "Mean estimation"
    statement = "The means of the numeric attributes are wanted: a released record costs its squared distance."
    unit = "squared spans"
    end_unit = "spans: absolute changes of the means, summed over the numeric attributes"
    tau_dpn = 0.2

    @classmethod
    def fit(cls, records: Records) -> Self:
        """Take the component distances of the numeric attributes.

        Raises
        ------
        InputError
            If no attribute is numeric.
        """
        numeric = [a.kind == "numeric" for a in records.attributes]
        if not any(numeric):
            raise InputError(
                "task", "The mean task needs at least one numeric attribute; include one, or choose another task."
            )
        pairs = list(zip(records.attributes, numeric, strict=True))
        plain = all(flag and a.weight == 1.0 and not a.has_missing for a, flag in pairs)
        squares = tuple(a.distance**2 if flag else np.zeros_like(a.distance) for a, flag in pairs)
        positions = tuple(
            np.where(np.isnan(a.values), np.nan, a.distance[0]) if flag and a.values is not None else np.empty(0)
            for a, flag in pairs
        )
        return cls(records.sizes, squares, positions, plain)

    def is_radial(self, p: float) -> bool:
        """Return whether the loss is a function of d_p: all attributes numeric, complete, of weight 1, and p = 2."""
        return self.radial and p == 2.0

    @property
    def attribute_losses(self) -> Losses:
        """Squared component distances."""
        return self.squares

    def loss(self, X: Codes, Y: Codes) -> NDArray[np.float64]:
        """Return the squared distance over the numeric attributes for each pair of rows."""
        return _sum_losses(self.squares, X, Y)

    def end_task_parts(self, raw: Codes, released: Codes) -> Mapping[str, float]:
        """Return sum over numeric attributes of |mean raw - mean released| in spans, missing values left out.

        A column that has values in one table only counts 1.
        """
        total = 0.0
        for column, place in enumerate(self.positions):
            if len(place):
                total += _mean_shift(place[raw[:, column]], place[released[:, column]])
        return {"means": total}


def _mean_shift(before: NDArray[np.float64], after: NDArray[np.float64]) -> float:
    left, right = before[~np.isnan(before)], after[~np.isnan(after)]
    if len(left) == 0 or len(right) == 0:
        return float(len(left) != len(right))
    return float(abs(left.mean() - right.mean()))
