"""The one way to run tasks side by side: local processes by default, a cluster or another backend where configured."""

import os
import threading
import warnings
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import BrokenExecutor, wait
from contextlib import closing, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

import joblib
from joblib.externals.loky import ProcessPoolExecutor

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
BEAT: Final = 0.1
"""Seconds between two words of progress while local processes work."""
WORTH_SECONDS: Final = 20.0
"""Estimated seconds of work from which local processes are started: each takes seconds to start and to import."""
_ONE_THREAD: Final = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
_chosen_jobs: Final[ContextVar[int | None]] = ContextVar("jobs", default=None)
_pool_is_free: Final = threading.Lock()
"""Held while local processes run: sessions of one app do not start a pool each."""


@contextmanager
def local_jobs(jobs: int | None) -> Generator[None]:
    """Let what runs within, in this thread, use this many local workers; None leaves the choice as it is."""
    before = _chosen_jobs.set(_chosen_jobs.get() if jobs is None else _checked(jobs))
    try:
        yield
    finally:
        _chosen_jobs.reset(before)


def _checked(jobs: int) -> int:
    if jobs < 1:
        raise ValueError(f"jobs must be at least 1, not {jobs}")
    return jobs


def is_worth(seconds: float) -> bool:
    """Return whether work of estimated seconds should be handed to `map_tasks` rather than be done in line.

    Yes on a cluster or another configured backend; with local processes where there are several, none of them is at
    work already and the work outweighs their start.
    """
    if _active_backend()[0]:
        return True
    workers = _chosen_jobs.get() or joblib.cpu_count()
    return workers > 1 and seconds > WORTH_SECONDS and not _pool_is_free.locked()


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

    Parameters, progress and failures are those of `stream_tasks`.

    Examples
    --------
    >>> map_tasks(abs, [-1, 2, -3], jobs=1)
    [1, 2, 3]
    """
    with closing(stream_tasks(function, items, jobs=jobs, backend=backend, progress=progress)) as stream:
        return list(stream)


def stream_tasks(
    function: Callable[[Item], Result],
    items: Sequence[Item],
    *,
    jobs: int | None = None,
    backend: str | None = None,
    progress: Progress | None = None,
) -> Generator[Result, None, None]:
    """Yield function(item) for every item, computed side by side, in the order of the items.

    Parameters
    ----------
    function : callable
        Called once per item; for processes it and the items must be picklable.
    items : sequence
        Inputs.
    jobs : int, optional
        Workers, at least 1; 1 runs in this process. None takes the backend configured with `joblib.parallel_config`
        (Dask, Ray, ...) if there is one, else what `local_jobs` says, else one worker per available core.
    backend : {'loky', 'threading'}, optional
        Local processes or threads. None takes the configured backend, else processes; while other processes of this
        kind are at work, the tasks run in this one.
    progress : callable (fraction, sentence), optional
        Called in this process and thread before the first and after every result, and every tenth of a second while
        local processes work. It may raise to stop: tasks not yet begun are then dropped, local processes ended, and
        its exception passes through. Closing the generator does the same.

    Raises
    ------
    ValueError
        If `jobs` is below 1 or the backend unknown.
    SolverError
        If a worker process was killed.
    Exception
        Whatever `function` raises, from the first item (in order) that fails.
    """
    if jobs is not None:
        _checked(jobs)
    if backend is not None and backend not in BACKENDS:
        raise ValueError(f"backend must be one of {', '.join(BACKENDS)}, not {backend!r}")
    told = progress or (lambda _fraction, _sentence: None)

    def tell(done: int) -> None:
        told(done / max(len(items), 1), f"{done} of {len(items)} done")

    tell(0)
    try:
        with closing(_run(function, items, _workers(len(items), jobs, backend), tell, backend)) as stream:
            for done, result in enumerate(stream, start=1):
                tell(done)
                yield result
    except BrokenExecutor as error:
        raise SolverError(
            "A worker process ended before its task was done, perhaps for want of memory; run it again with fewer "
            "workers."
        ) from error


def _workers(count: int, jobs: int | None, backend: str | None) -> int | None:
    """Return the number of workers; None leaves it to the backend that is configured."""
    if jobs is None and backend is None and _active_backend()[0]:
        return None
    return min(jobs or _chosen_jobs.get() or joblib.cpu_count(), count)


def _run(
    function: Callable[[Item], Result],
    items: Sequence[Item],
    workers: int | None,
    tell: Callable[[int], None],
    backend: str | None,
) -> Generator[Result, None, None]:
    """Yield results in order; what has not begun is dropped when the generator is closed."""
    configured, jobs = joblib.parallel.get_active_backend()
    local = backend == "loky" or (backend is None and isinstance(configured, joblib.parallel.LokyBackend))
    if workers is None and local:
        workers = min(joblib.effective_n_jobs(jobs), len(items))
    if workers is not None and workers <= 1:
        yield from map(function, items)
    elif not local:
        yield from _run_elsewhere(function, items, workers, backend)
    elif _pool_is_free.acquire(blocking=False):
        try:
            yield from _run_in_processes(function, items, int(workers or 1), tell)
        finally:
            _pool_is_free.release()
    else:
        yield from map(function, items)


def _run_in_processes(
    function: Callable[[Item], Result], items: Sequence[Item], workers: int, tell: Callable[[int], None]
) -> Generator[Result, None, None]:
    pool = ProcessPoolExecutor(max_workers=workers, env=_ONE_THREAD)
    try:
        futures = [pool.submit(function, item) for item in items]
        for future in futures:
            while not wait([future], BEAT).done:
                tell(sum(f.done() for f in futures))
            yield future.result()
    finally:
        pool.shutdown(kill_workers=True)


def _run_elsewhere(
    function: Callable[[Item], Result], items: Sequence[Item], workers: int | None, backend: str | None
) -> Generator[Result, None, None]:
    """Hand the tasks to joblib: threads, or whatever backend is configured."""
    form = "generator" if backend is not None or _active_backend()[1] else "list"
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
