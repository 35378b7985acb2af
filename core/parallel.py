"""The one way to run tasks side by side: local processes by default, another backend where one is configured."""

import warnings
from collections.abc import Callable, Generator, Sequence
from typing import Final, TypeVar

import joblib

Item = TypeVar("Item")
Result = TypeVar("Result")
Progress = Callable[[float, str], None]

BACKENDS: Final = ("loky", "threading")
"""Local backends: processes, and threads for work that releases the interpreter's lock."""


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
    found = joblib.Parallel(n_jobs=workers, backend=backend, return_as=form)(map(joblib.delayed(function), items))
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
