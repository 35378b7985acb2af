"""Prediction of a chosen target: the loss is how far a classifier's probabilities move."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from core.domain import Records
from core.errors import InputError
from core.task_protocol import BaseTask, Codes

CLASS_LIMIT: Final = 20
"""Distinct target values above which it is no class."""
ITERATIONS: Final = 1000


@dataclass(frozen=True, eq=False)
class PredictionTask(BaseTask):
    """A logistic regression of the target on the levels: U = predicted probabilities, gamma = L1.

    Parameters
    ----------
    sizes : tuple of int
        Levels per attribute.
    classes : tuple of str or float
        Distinct target values.
    intercept : ndarray (C,)
        Score of every class.
    weights : tuple of ndarray (m_l, C)
        What each level adds to the scores.
    """

    classes: tuple[str, ...] | tuple[float, ...]
    intercept: NDArray[np.float64]
    weights: tuple[NDArray[np.float64], ...]

    name = "prediction"
    title = "Prediction"
    statement = (
        "A classifier of the target is applied to the released records: a record costs the total amount by which its "
        "predicted probabilities move."
    )
    unit = "L1 of the predicted probabilities"
    end_unit = "share of records whose predicted class changes"
    tau_dpn = 0.2

    @classmethod
    def fit(cls, records: Records) -> Self:
        """Train the classifier on the configuring records (scikit-learn's logistic regression on one-hot levels).

        Raises
        ------
        InputError
            If there is no complete target, or it has one value only or more than 20.
        """
        target = records.target
        if target is None or not np.isfinite(target).all():
            raise InputError(
                "target",
                "The prediction task needs a target column without missing values; choose one as the target, or choose "
                "another task.",
            )
        classes, labels = np.unique(target, return_inverse=True)
        if not 2 <= len(classes) <= CLASS_LIMIT:
            raise InputError(
                "target",
                f"The target of the prediction task must have 2 to {CLASS_LIMIT} different values, not {len(classes)}; "
                "choose another target.",
            )
        from sklearn.linear_model import LogisticRegression  # noqa: PLC0415 - over a second, for this task alone

        model = LogisticRegression(max_iter=ITERATIONS).fit(_one_hot(records.codes, records.sizes), labels)
        scores, intercept = model.coef_.T, model.intercept_
        if len(classes) == 2:  # the model keeps one column for two classes
            scores, intercept = np.hstack([np.zeros_like(scores), scores]), np.array([0.0, intercept[0]])
        parts = np.split(scores, np.cumsum(records.sizes)[:-1])
        names = tuple(records.target_labels[int(k)] for k in classes) if records.target_labels else ()
        return cls(records.sizes, names or tuple(classes.tolist()), intercept, tuple(parts))

    def probabilities(self, X: Codes) -> NDArray[np.float64]:
        """Return the predicted probability of every class (m, C) for rows of codes (m, L)."""
        scores = np.tile(self.intercept, (len(X), 1))
        for column, table in enumerate(self.weights):
            scores += table[X[:, column]]
        raised: NDArray[np.float64] = np.exp(scores - scores.max(axis=1, keepdims=True))
        shares: NDArray[np.float64] = raised / raised.sum(axis=1, keepdims=True)
        return shares

    def loss(self, X: Codes, Y: Codes) -> NDArray[np.float64]:
        """Return sum over classes of |probability of x - probability of y| for each pair of rows."""
        moved: NDArray[np.float64] = np.abs(self.probabilities(X) - self.probabilities(Y)).sum(axis=1)
        return moved

    def end_task_parts(self, raw: Codes, released: Codes) -> Mapping[str, float]:
        """Return the share of records whose most probable class changes."""
        before, after = self.probabilities(raw).argmax(axis=1), self.probabilities(released).argmax(axis=1)
        return {"changed predictions": float((before != after).mean())}


def _one_hot(codes: Codes, sizes: tuple[int, ...]) -> NDArray[np.float64]:
    columns = [np.eye(size)[codes[:, i]] for i, size in enumerate(sizes)]
    return np.hstack(columns)
