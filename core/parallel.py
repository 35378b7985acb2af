"""The one way to run tasks side by side: local processes by default, a cluster or another backend where configured."""

import os
import warnings
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

import joblib

from core.errors import InputError, SolverError

Item = TypeVar("Item")
Result = TypeVar("Result")
Progress = Callable[[float, str], None]

BACKENDS: Final = ("loky", "threading")
"""Local backends: processes, and threads for work that releases the interpreter's lock."""
SCHEDULER_VARIABLE: Final = "MDP_SCHEDULER"
"""Environment variable that holds the address of a Dask scheduler."""
CONNECT_SECONDS: Final = 10
"""Time that a scheduler is given to answer."""


@contextmanager
def cluster(address: str | None = None) -> Generator[bool]:
    """Send what `map_tasks` runs within to a Dask cluster, if there is one.

    The choice holds for the thread that makes it. A worker that is lost is replaced by another: its tasks run again.

    Parameters
    ----------
    address : str, optional
        Of the scheduler, such as tcp://192.168.0.5:8786; by default what the environment variable MDP_SCHEDULER holds.

    Yields
    ------
    bool
        Whether tasks go to a cluster; without an address they stay on this machine.

    Raises
    ------
    InputError
        If the extra `cluster` is not installed or no scheduler answers at the address.
    """
    address = address or os.environ.get(SCHEDULER_VARIABLE)
    if not address:
        yield False
        return
    with _connect(address) as client, joblib.parallel_config(backend="dask", client=client):
        yield True


def _connect(address: str) -> Any:
    try:
        from distributed import Client  # noqa: PLC0415 - an optional dependency
    except ImportError as error:
        raise InputError(
            "scheduler", "Dask is not installed here; install the extra with: pip install 'mdp-explorer[cluster]'."
        ) from error
    try:
        return Client(address, timeout=CONNECT_SECONDS, set_as_default=False)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        raise InputError(
            "scheduler",
            f"No Dask scheduler answers at '{address:.100}'; start one there, correct the address, or leave it out to "
            "stay on this machine.",
        ) from error


@dataclass(frozen=True)
class _OnPackedItem(Generic[Item, Result]):
    """Calls a function on the item in a tuple.

    Dask leaves large arguments with one worker and sends references, so that they are lost with that worker; a tuple
    travels within its task and is sent again.
    """

    function: Callable[[Item], Result]

    def __call__(self, packed: tuple[Item]) -> Result:
        return self.function(packed[0])


def map_tasks(
    function: Callable[[Item], Result],
    items: Sequence[Item],
    *,
    jobs: int | None = None,
    backend: str | None = None,
    progress: Progress | None = None,
) -> list[Result]:
    """Return [function(item) for item in items], computed side by side, in the order of the items.

    Parameters
    ----------
    function : callable
        Called once per item; for processes it and the items must be picklable.
    items : sequence
        Inputs.
    jobs : int, optional
        Workers, at least 1; 1 runs in this process. None takes the backend configured with `joblib.parallel_config`
        (Dask, Ray, ...) if there is one, else one worker per available core.
    backend : {'loky', 'threading'}, optional
        Local processes or threads. None takes the configured backend, else processes.
    progress : callable (fraction, sentence), optional
        Called in this process and thread before the first and after every result. It may raise to stop: tasks not
        yet begun are then dropped and its exception passes through.

    Raises
    ------
    ValueError
        If `jobs` is below 1 or the backend unknown.
    SolverError
        If a worker process was killed.
    Exception
        Whatever `function` raises, from the first item (in order) that fails.

    Examples
    --------
    >>> map_tasks(abs, [-1, 2, -3], jobs=1)
    [1, 2, 3]
    """
    if jobs is not None and jobs < 1:
        raise ValueError(f"jobs must be at least 1, not {jobs}")
    if backend is not None and backend not in BACKENDS:
        raise ValueError(f"backend must be one of {', '.join(BACKENDS)}, not {backend!r}")
    tell = progress or (lambda _fraction, _sentence: None)
    tell(0.0, f"0 of {len(items)} done")
    results: list[Result] = []
    stream = _run(function, items, jobs, backend)
    try:
        for result in stream:
            results.append(result)
            tell(len(results) / len(items), f"{len(results)} of {len(items)} done")
    except BrokenExecutor as error:
        raise SolverError(
            "A worker process ended before its task was done, perhaps for want of memory; run it again with fewer "
            "workers."
        ) from error
    finally:
        stream.close()
    return results


def _run(
    function: Callable[[Item], Result], items: Sequence[Item], jobs: int | None, backend: str | None
) -> Generator[Result, None, None]:
    """Yield results in order; what has not begun is dropped when the generator is closed."""
    configured, streams = _active_backend()
    workers = None if configured and backend is None and jobs is None else min(jobs or joblib.cpu_count(), len(items))
    if workers is not None and workers <= 1:
        yield from map(function, items)
        return
    form = "generator" if streams or backend is not None else "list"
    calls = (joblib.delayed(_OnPackedItem(function))((item,)) for item in items)
    found = joblib.Parallel(n_jobs=workers, backend=backend, return_as=form)(calls)
    try:
        # Not `yield from`: that would close `found` before the warning below is silenced.
        for result in found:  # noqa: UP028
            yield result
    except GeneratorExit:
        # joblib warns about results that nobody takes; here they are dropped on purpose, and so is the warning.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            if form == "generator":
                found.close()
        raise


def _active_backend() -> tuple[bool, bool]:
    """Return whether a joblib backend or a number of workers is configured around this call, and whether it streams."""
    backend, jobs = joblib.parallel.get_active_backend()
    configured = jobs not in (None, 1) or not isinstance(backend, joblib.parallel.LokyBackend)
    return configured, bool(getattr(backend, "supports_return_generator", False))
