"""What a result would cost from scratch, although most of it was remembered."""

import time
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any

from core.data_stages import Remember


def keep_in(memory: dict[Any, Any]) -> Remember:
    """Return a memory that keeps every result in a dictionary."""

    def remember(key: Any, compute: Callable[[], Any]) -> Any:
        if key not in memory:
            memory[key] = compute()
        return memory[key]

    return remember


@dataclass(frozen=True)
class Cost:
    """What one remembered result took.

    Parameters
    ----------
    seconds : float
        Its own time, without that of results it asked for.
    parts : frozenset of keys
        Results that it asked for.
    """

    seconds: float
    parts: frozenset[Hashable]


@dataclass
class _Open:
    parts: set[Hashable] = field(default_factory=set)
    inner: float = 0.0


class Meter:
    """A memory that notes what was asked for, and what each answer took when it was computed.

    The notes are kept in the same memory, so that a result found there tomorrow still says what it took.

    Parameters
    ----------
    remember : callable (key, compute) -> result
        The memory that is metered.
    """

    def __init__(self, remember: Remember) -> None:
        self._remember = remember
        self._open: list[_Open] = []
        self.touched: set[Hashable] = set()

    def __call__(self, key: Hashable, compute: Callable[[], Any]) -> Any:
        """Return what is remembered under a key, computing and timing it at first."""
        (self._open[-1].parts if self._open else self.touched).add(key)
        return self._remember(key, lambda: self._timed(key, compute))

    def _timed(self, key: Hashable, compute: Callable[[], Any]) -> Any:
        mine = _Open()
        self._open.append(mine)
        start = time.perf_counter()
        try:
            result = compute()
        finally:
            self._open.pop()
            whole = time.perf_counter() - start
            if self._open:
                self._open[-1].inner += whole
        cost = Cost(max(whole - mine.inner, 0.0), frozenset(mine.parts))
        self._remember(("cost", key), lambda: cost)
        return result

    def seconds(self, keys: Iterable[Hashable] | None = None) -> float:
        """Return the time from scratch of everything touched so far (or of some keys), each result counted once.

        Results that were remembered before the meter ran have no note and count nothing.
        """
        waiting = list(self.touched if keys is None else keys)
        seen: set[Hashable] = set()
        total = 0.0
        while waiting:
            key = waiting.pop()
            if key in seen:
                continue
            seen.add(key)
            cost: Cost = self._remember(("cost", key), lambda: Cost(0.0, frozenset()))
            total += cost.seconds
            waiting += cost.parts
        return total
