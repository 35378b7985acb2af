"""The one door to HiGHS: every linear programme goes through here and no status is left unread."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import highspy
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from core.errors import SolverError

Progress = Callable[[float, str], None]
"""Called with a fraction in [0, 1] and a sentence; it may raise to stop."""

_SMALL_ENTRY: Final = 1e-12
"""HiGHS drops smaller matrix entries; its default of 1e-9 would drop ratios that matter."""
_USABLE: Final = frozenset({"optimal", "unknown", "time limit", "iteration limit", "interrupted"})
"""Statuses after which the values may be used, because every use is repaired and bounded afterwards."""
_NAMES: Final = {
    highspy.HighsModelStatus.kOptimal: "optimal",
    highspy.HighsModelStatus.kUnknown: "unknown",
    highspy.HighsModelStatus.kTimeLimit: "time limit",
    highspy.HighsModelStatus.kIterationLimit: "iteration limit",
    highspy.HighsModelStatus.kInterrupt: "interrupted",
    highspy.HighsModelStatus.kInfeasible: "infeasible",
    highspy.HighsModelStatus.kUnbounded: "unbounded",
    highspy.HighsModelStatus.kUnboundedOrInfeasible: "unbounded or infeasible",
}
METHODS: Final[dict[str, dict[str, object]]] = {
    "choose": {},
    "simplex": {"solver": "simplex"},
    "interior point": {"solver": "ipm", "run_crossover": "off"},
    "first order": {"solver": "hipdlp", "pdlp_optimality_tolerance": 1e-4},
}
"""HiGHS options per method name."""


@dataclass(frozen=True, eq=False)
class LinearProgram:
    """Minimise cost @ x subject to row_lower <= matrix @ x <= row_upper and x >= 0.

    Parameters
    ----------
    cost : ndarray of float (N,)
        Objective.
    matrix : sparse array (R, N)
        Rows.
    row_lower, row_upper : ndarray of float (R,)
        Bounds of the rows, possibly infinite.
    """

    cost: NDArray[np.float64]
    matrix: Any
    row_lower: NDArray[np.float64]
    row_upper: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LinearSolution:
    """What HiGHS returned; nothing in it is trusted before it is repaired and bounded.

    Parameters
    ----------
    values : ndarray of float (N,)
        Primal values.
    row_duals : ndarray of float (R,)
        Multipliers of the rows, >= 0 for rows that are bounded from below in a minimisation.
    objective : float
        The objective as HiGHS reports it.
    status : str
        "optimal", or the reason for which it stopped early.
    """

    values: NDArray[np.float64]
    row_duals: NDArray[np.float64]
    objective: float
    status: str


class _SilentHighs(highspy.Highs):
    """HiGHS announces itself on the standard output when its callbacks are enabled; this one is silenced before."""

    def enableCallbacks(self) -> Any:  # noqa: N802 - the library's name
        self.setOptionValue("output_flag", False)
        return super().enableCallbacks()  # type: ignore[no-untyped-call]


class HighsSession:
    """One HiGHS model that may grow between runs, single-threaded and silent.

    Parameters
    ----------
    method : {'choose', 'simplex', 'interior point', 'first order'}
        Which algorithm runs.
    progress : callable, optional
        Asked between iterations; what it raises stops the run and is raised again.
    """

    def __init__(self, method: str = "choose", *, progress: Progress | None = None) -> None:
        self._highs: Any = _SilentHighs()  # type: ignore[no-untyped-call]
        self._progress = progress
        self._raised: BaseException | None = None
        self._next_report = 0.0
        fixed: dict[str, object] = {"output_flag": False, "threads": 1, "small_matrix_value": _SMALL_ENTRY}
        for name, value in {**fixed, **METHODS[method]}.items():
            self._set(name, value)
        if progress is not None:
            self._highs.cbSimplexInterrupt += self._interrupt
            self._highs.cbIpmInterrupt += self._interrupt

    def _set(self, name: str, value: object) -> None:
        if self._highs.setOptionValue(name, value) != highspy.HighsStatus.kOk:
            raise SolverError(f"HiGHS refused its option {name} = {value}; install the pinned version of highspy.")

    def _interrupt(self, event: Any) -> None:
        now = time.monotonic()
        if self._raised is not None or self._progress is None or now < self._next_report:
            return
        self._next_report = now + 0.05
        try:
            self._progress(0.0, "HiGHS is running.")
        except BaseException as error:  # noqa: BLE001 - kept and raised again outside of the C++ frames
            self._raised = error
            event.interrupt()

    def load(self, program: LinearProgram) -> None:
        """Replace the model by `program`."""
        matrix = sp.csc_array(program.matrix)
        model = highspy.HighsLp()
        model.num_row_, model.num_col_ = matrix.shape
        model.col_cost_ = program.cost
        model.col_lower_ = np.zeros(matrix.shape[1])
        model.col_upper_ = np.full(matrix.shape[1], np.inf)
        model.row_lower_, model.row_upper_ = program.row_lower, program.row_upper
        model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        model.a_matrix_.start_ = matrix.indptr.astype(np.int32)
        model.a_matrix_.index_ = matrix.indices.astype(np.int32)
        model.a_matrix_.value_ = matrix.data
        if self._highs.passModel(model) == highspy.HighsStatus.kError:
            raise SolverError("HiGHS refused the linear programme; check the loss and the metric for extreme values.")

    def add_columns(self, cost: NDArray[np.float64], columns: Any) -> None:
        """Append columns >= 0 with the entries of `columns` (R, K) in the present rows."""
        entries = sp.csc_array(columns)
        count = len(cost)
        self._highs.addCols(
            count, cost, np.zeros(count), np.full(count, np.inf), entries.nnz,
            entries.indptr[:-1].astype(np.int32), entries.indices.astype(np.int32), entries.data,
        )  # fmt: skip

    def add_rows(self, lower: NDArray[np.float64], upper: NDArray[np.float64], rows: Any) -> None:
        """Append rows with the entries of `rows` (K, N) in the present columns."""
        entries = sp.csr_array(rows)
        self._highs.addRows(
            len(lower), lower, upper, entries.nnz,
            entries.indptr[:-1].astype(np.int32), entries.indices.astype(np.int32), entries.data,
        )  # fmt: skip

    def run(self, time_limit: float | None = None) -> LinearSolution:
        """Solve the model.

        Raises
        ------
        SolverError
            If HiGHS stops with no usable values.
        """
        if time_limit is not None:
            self._set("time_limit", self._highs.getRunTime() + max(time_limit, 0.0))
        self._highs.run()
        if self._raised is not None:
            error, self._raised = self._raised, None
            raise error
        status = _NAMES.get(self._highs.getModelStatus(), "failed")
        found = self._highs.getSolution()
        values, duals = np.array(found.col_value), np.array(found.row_dual)
        sizes_fit = len(values) == self._highs.getNumCol() and len(duals) == self._highs.getNumRow()
        if status not in _USABLE or not sizes_fit or not (np.isfinite(values).all() and np.isfinite(duals).all()):
            raise SolverError(f"HiGHS stopped without a usable answer ({status}); try a smaller domain or budget.")
        return LinearSolution(values, duals, float(self._highs.getInfo().objective_function_value), status)


def solve_linear_program(
    program: LinearProgram,
    *,
    method: str = "choose",
    time_limit: float | None = None,
    progress: Progress | None = None,
) -> LinearSolution:
    """Solve one linear programme with HiGHS on one thread.

    Parameters
    ----------
    program : LinearProgram
        What is minimised.
    method : {'choose', 'simplex', 'interior point', 'first order'}
        The algorithm; 'interior point' runs without crossover.
    time_limit : float, optional
        Seconds after which it stops with the values reached.
    progress : callable, optional
        May raise to stop.

    Returns
    -------
    LinearSolution
        Its status is "optimal" or the reason for stopping early.

    Raises
    ------
    SolverError
        If there are no usable values.

    Examples
    --------
    >>> rows = sp.csr_array(np.array([[1.0, 1.0]]))
    >>> program = LinearProgram(np.array([2.0, 1.0]), rows, np.array([1.0]), np.array([1.0]))
    >>> solve_linear_program(program).objective
    1.0
    """
    session = HighsSession(method, progress=progress)
    session.load(program)
    return session.run(time_limit)
