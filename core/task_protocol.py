"""What a task is: a utility U of a record, and the loss gamma(U(x), U(y)) of releasing y for x."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.integer[Any]]
Losses = tuple[NDArray[np.float64], ...]


class Task(Protocol):
    """One use of the released table.

    Attributes
    ----------
    name, title, statement, unit : str
        Key, heading, one sentence on U and gamma, and the unit of the loss.
    end_unit : str
        Unit of the end-task figure.
    tau_dpn : float
        Score threshold in use for this task.
    context_free : bool
        Whether the loss of changing a group does not depend on the other attributes.
    attribute_losses : tuple of ndarray (m_l, m_l), or None
        Loss of each attribute where the loss is their sum; None otherwise.
    """

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def title(self) -> str: ...  # noqa: D102
    @property
    def statement(self) -> str: ...  # noqa: D102
    @property
    def unit(self) -> str: ...  # noqa: D102
    @property
    def end_unit(self) -> str: ...  # noqa: D102
    @property
    def tau_dpn(self) -> float: ...  # noqa: D102
    @property
    def context_free(self) -> bool: ...  # noqa: D102
    @property
    def attribute_losses(self) -> Losses | None: ...  # noqa: D102

    def loss(self, X: Codes, Y: Codes) -> NDArray[np.float64]:
        """Return gamma(U(x), U(y)) >= 0 for each row of two (m, L) arrays of codes, 0 where the rows are equal."""
        ...

    def context(self, members: tuple[int, ...]) -> tuple[int, ...]:
        """Return the attributes outside `members` on which the loss of changing only `members` depends."""
        ...

    def end_task_parts(self, raw: Codes, released: Codes) -> Mapping[str, float]:
        """Return the named parts of the end-task error of a whole released table against the raw one."""
        ...

    def end_task(self, raw: Codes, released: Codes) -> float:
        """Return the end-task error of a whole released table against the raw one: the sum of its parts."""
        ...


@dataclass(frozen=True, eq=False)
class BaseTask:
    """What the tasks share; a context is every other attribute unless a task knows better."""

    sizes: tuple[int, ...]

    @property
    def attribute_losses(self) -> Losses | None:
        """Loss of each attribute where the loss is their sum."""
        return None

    @property
    def context_free(self) -> bool:
        """Whether the loss of changing a group does not depend on the other attributes: so where it is a sum."""
        return self.attribute_losses is not None

    def context(self, members: tuple[int, ...]) -> tuple[int, ...]:
        """Return the attributes outside `members` on which the loss of changing only `members` depends."""
        return () if self.context_free else tuple(i for i in range(len(self.sizes)) if i not in members)

    def end_task_parts(self, raw: Codes, released: Codes) -> Mapping[str, float]:
        """Return the named parts of the end-task error."""
        raise NotImplementedError

    def end_task(self, raw: Codes, released: Codes) -> float:
        """Return the end-task error of a whole released table: the sum of its parts."""
        return float(sum(self.end_task_parts(raw, released).values()))
