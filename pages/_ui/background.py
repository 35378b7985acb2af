"""Long work behind the pages: at most one run per session, in a thread that knows nothing of pages or their state."""

import threading
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, Protocol

from streamlit import runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

from core.errors import CoreError
from pages._ui import state

GRACE: Final = 60.0
"""Seconds for which a run outlives its session: a lost connection may come back."""
_LOOK: Final = 1.0
"""Seconds between two looks at whether the session is still there."""
_TICK: Final = 0.05
"""Seconds between two breaths that the work leaves to the pages of all sessions."""
_BREATH: Final = 0.003
_KEPT: Final = 24
"""Finished or stopped runs that a session remembers."""
_TELLING: Final = 0.02
"""Share that must be done before the time left is foretold."""
ACTIVE: Final = frozenset({"waiting", "running"})
UNEXPECTED: Final = "The run ended unexpectedly; what was found until then is kept. Start it again to continue."


class Stopped(Exception):  # noqa: N818 - a wish, no error
    """The run was stopped, or nobody is there for it any more."""


class Teller(Protocol):
    """What a producing function tells its run; both may raise `Stopped`, which it lets pass."""

    def reach(self, fraction: float, words: str) -> None:
        """Say how much of the whole is done and what comes next."""

    def detail(self, fraction: float, words: str) -> None:
        """Say what is being done inside; the fraction is that of a part and is not shown."""


@dataclass(frozen=True, eq=False)
class Job:
    """Work for the background.

    Parameters
    ----------
    token : hashable
        What it is about; a run is found again under it.
    title : str
        What is being done.
    produce : callable (teller) -> iterator
        Pure work: it yields results one by one and never touches a page or its state.
    turn : hashable
        Jobs of the same turn wait for each other, whoever started them: the second finds what the first computed.
    """

    token: Hashable
    title: str
    produce: Callable[[Teller], Iterator[Any]]
    turn: Hashable = None


class Run:
    """One job, its results so far and how it stands.

    Parameters
    ----------
    job : Job
        The work.
    alive : callable () -> bool
        Whether the session is still there.
    after : Run, optional
        A run that ends before this one begins.
    """

    def __init__(self, job: Job, *, alive: Callable[[], bool] = lambda: True, after: "Run | None" = None) -> None:
        self.token, self.title = job.token, job.title
        self.items: list[Any] = []
        self.before: list[Any] = []
        self.status = "waiting"
        self.fraction, self.words, self.inner, self.problem = 0.0, "", "", ""
        self._job: Job | None = job
        self._alive, self._after = alive, after
        self._began: float | None = None
        self._seen = self._looked = self._breathed = time.monotonic()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, name=job.title, daemon=True)

    @property
    def active(self) -> bool:
        """Whether it is waiting or running."""
        return self.status in ACTIVE

    @property
    def results(self) -> list[Any]:
        """What was found; until a continued run has passed where it was stopped, what was found then."""
        return list(self.items if not self.active or len(self.items) >= len(self.before) else self.before)

    @property
    def left(self) -> float | None:
        """Seconds left as far as the share done so far tells; None where it does not yet."""
        if self._began is None or not _TELLING <= self.fraction <= 1:
            return None
        return (time.monotonic() - self._began) * (1 - self.fraction) / self.fraction

    def start(self) -> "Run":
        """Begin in a thread and return the run."""
        self._thread.start()
        return self

    def stop(self) -> None:
        """End at the next word of progress; what was found stays."""
        self._stop.set()

    def wait(self, seconds: float | None = None) -> None:
        """Wait until it has ended."""
        self._thread.join(seconds)

    def reach(self, fraction: float, words: str) -> None:
        """Say how much of the whole is done and what comes next; raises `Stopped`."""
        self.fraction, self.words, self.inner = min(1.0, max(0.0, fraction)), words, ""
        self._check()

    def detail(self, fraction: float, words: str) -> None:
        """Say what is being done inside; raises `Stopped`."""
        self.inner = words
        self._check()

    def _check(self) -> None:
        now = time.monotonic()
        if now - self._looked >= _LOOK:
            self._looked = now
            if self._alive():
                self._seen = now
        if self._stop.is_set() or now - self._seen > GRACE:
            raise Stopped
        if now - self._breathed >= _TICK:
            time.sleep(_BREATH)
            self._breathed = time.monotonic()

    def _work(self) -> None:
        try:
            self._produce()
            self.fraction, self.status = 1.0, "done"
        except Stopped:
            self.status = "stopped"
        except CoreError as error:
            self.status, self.problem = "failed", str(error)
        finally:
            if self.active:
                self.status, self.problem = "failed", UNEXPECTED
            self._job = self._after = None  # they hold a table

    def _produce(self) -> None:
        assert self._job is not None
        if self._after is not None:
            self._after.wait()
        with _turn(self._job.turn, self._check):
            self._began, self.status = time.monotonic(), "running"
            for item in self._job.produce(self):
                self.items.append(item)
                self._check()


_turns: dict[Hashable, threading.Lock] = {}
_turns_guard: Final = threading.Lock()


@contextmanager
def _turn(name: Hashable, check: Callable[[], None]) -> Iterator[None]:
    """Wait for other jobs of the same turn, looking now and then whether this one was stopped meanwhile."""
    with _turns_guard:
        lock = threading.Lock() if name is None else _turns.setdefault(name, threading.Lock())
    while not lock.acquire(timeout=_LOOK / 4):
        check()
    try:
        yield
    finally:
        lock.release()


class Desk:
    """The runs of one session: the last one, and by token those that ended."""

    def __init__(self) -> None:
        self.run: Run | None = None
        self._kept: dict[Hashable, Run] = {}

    @property
    def active(self) -> Run | None:
        """The run that goes on now, if any."""
        return self.run if self.run is not None and self.run.active else None

    def find(self, token: Hashable) -> Run | None:
        """Return the last run of a job, going on or ended."""
        return self._kept.get(token)

    def start(self, job: Job, alive: Callable[[], bool] = lambda: True) -> Run:
        """Stop what runs and run a job; one that runs already goes on."""
        current = self.active
        if current is not None and current.token == job.token:
            return current
        if current is not None:
            current.stop()
        self.run = Run(job, alive=alive, after=current)
        earlier = self._kept.pop(job.token, None)
        self.run.before = [] if earlier is None else earlier.results
        self._kept[job.token] = self.run
        for token in list(self._kept)[:-_KEPT]:
            del self._kept[token]
        return self.run.start()

    def stop(self) -> None:
        """Stop what runs."""
        if self.run is not None:
            self.run.stop()


def desk() -> Desk:
    """Return the session's desk."""
    own: Desk | None = state.option("background")
    if own is None:
        own = Desk()
        state.set_option("background", own)
    return own


def start(job: Job) -> Run:
    """Run a job for this session, in place of what runs."""
    return desk().start(job, _presence())


def _presence() -> Callable[[], bool]:
    """Return a function that says, in any thread, whether this session is still connected."""
    context = get_script_run_ctx()
    if context is None:
        return lambda: True
    name = context.session_id
    return lambda: not runtime.exists() or bool(runtime.get_instance().is_active_session(name))


def duration(seconds: float) -> str:
    """Return a rough duration in words.

    Examples
    --------
    >>> duration(7.2), duration(140), duration(5000)
    ('7 s', '2 min', '1.4 h')
    """
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
