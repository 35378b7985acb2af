"""Runs behind the pages: they end, stop, go on and take turns, and nothing is computed twice."""

import threading
import time
from collections.abc import Iterator

import pytest

from core.errors import InputError
from core.evaluation.metering import keep_in
from pages._ui import background
from pages._ui.background import Desk, Job, Run, Teller, duration
from pages._ui.evaluation_runs import Inputs, Settings, compare, known, known_attacks
from tests.core.evaluation.small_table import small_scenario, small_table

QUICK = Settings(("zero information", "SPL+DPN", "ALC+RMP"), (1.0, 2.0), 2)


def counting(count: int, gate: threading.Event | None = None) -> Job:
    def produce(teller: Teller) -> Iterator[int]:
        for i in range(count):
            teller.reach(i / count, f"step {i}")
            if gate is not None and i == 1:
                while not gate.wait(0.01):
                    teller.detail(0.0, "waiting")
            yield i

    return Job(("count", count), "Counting", produce)


def until(condition, seconds: float = 10.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


def test_a_run_yields_and_ends() -> None:
    desk = Desk()
    run = desk.start(counting(4))
    run.wait(10)
    assert (run.items, run.status, run.fraction, run.problem) == ([0, 1, 2, 3], "done", 1.0, "")
    assert desk.active is None
    assert desk.find(("count", 4)) is run


def test_a_stopped_run_keeps_what_it_found() -> None:
    desk = Desk()
    run = desk.start(counting(5, threading.Event()))
    until(lambda: len(run.items) == 1)
    desk.stop()
    run.wait(10)
    assert (run.items, run.status) == ([0], "stopped")


def test_starting_another_ends_the_first_before_the_second_begins() -> None:
    desk = Desk()
    first = desk.start(counting(5, threading.Event()))
    until(lambda: len(first.items) == 1)
    assert desk.start(counting(5, None)) is first  # the same job goes on
    second = desk.start(counting(3))
    second.wait(10)
    assert first.status == "stopped"
    assert (second.items, second.status, desk.run) == ([0, 1, 2], "done", second)


def test_a_run_ends_some_time_after_its_session_has_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "_LOOK", 0.0)
    monkeypatch.setattr(background, "GRACE", 0.05)
    gone = threading.Event()
    run = Run(counting(5, threading.Event()), alive=lambda: not gone.is_set()).start()
    time.sleep(0.15)
    assert run.active
    gone.set()
    run.wait(10)
    assert (run.items, run.status) == ([0], "stopped")


def test_what_a_person_did_is_a_sentence_and_what_nobody_expected_one_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_teller: Teller) -> Iterator[int]:
        raise InputError("table", "Too short.")
        yield 0

    def broken(_teller: Teller) -> Iterator[int]:
        yield 1
        raise ZeroDivisionError

    run = Run(Job("a", "a", refused)).start()
    run.wait(10)
    assert (run.status, run.problem) == ("failed", "Too short.")
    monkeypatch.setattr(threading, "excepthook", lambda _error: None)
    run = Run(Job("b", "b", broken)).start()
    run.wait(10)
    assert (run.status, run.problem, run.items) == ("failed", background.UNEXPECTED, [1])


def test_runs_on_one_table_take_turns() -> None:
    gate = threading.Event()
    one, other = counting(3, gate), counting(4)
    first = Run(Job("x", "x", one.produce, "table")).start()
    until(lambda: len(first.items) == 1)
    second = Run(Job("y", "y", other.produce, "table")).start()
    time.sleep(0.05)
    assert (second.status, second.items) == ("waiting", [])
    third = Run(Job("z", "z", other.produce, "another table")).start()
    third.wait(10)
    assert third.status == "done"
    gate.set()
    second.wait(10)
    assert (first.status, second.status) == ("done", "done")


def test_the_time_left_is_told_once_it_can_be() -> None:
    run = Run(counting(1))
    assert run.left is None
    run._began = time.monotonic() - 10.0
    run.fraction = 0.25
    assert run.left == pytest.approx(30.0, abs=1.0)
    assert [duration(s) for s in (0.2, 59.6, 200.0, 6000.0)] == ["1 s", "60 s", "3 min", "1.7 h"]


def test_no_row_is_ever_computed_twice_and_a_stopped_run_goes_on_where_it_was() -> None:
    computed: list[object] = []
    kept: dict[object, object] = {}
    inner = keep_in(kept)

    def memory(key, compute):
        def noted():
            result = compute()  # asking what is known raises here
            if key[0] in ("evaluation row", "attacker rows"):
                assert key not in computed
                computed.append(key)
            return result

        return inner(key, noted)

    given = Inputs(small_table(), small_scenario(), memory, ("small",))
    assert known(given, QUICK) == []
    job = compare(given, QUICK)
    stopping = Run(job)
    found = job.produce(stopping)
    next(found), next(found), next(found)  # three rows, then the run is stopped
    stopping.stop()
    with pytest.raises(background.Stopped):
        next(found)
    rows = known(given, QUICK)
    assert [(r["method"], r["epsilon"]) for r in rows] == QUICK.cells[:3]
    again = Run(compare(given, QUICK)).start()
    again.wait(30)
    assert again.status == "done"
    assert len(computed) == 6 + 4  # six rows, and four designs that are attacked: constants are not
    before = len(computed)
    rows = known(given, QUICK)
    third = Run(compare(given, QUICK)).start()
    third.wait(30)
    assert third.items == rows
    assert len(computed) == before
    assert set(known_attacks(given, QUICK)["method"]) == {"SPL+DPN", "ALC+RMP"}
    # Another scenario, or another number of repeats, is something else.
    assert known(Inputs(given.table, given.scenario.replace(tau_group=0.9), memory, ()), QUICK) == []
    assert known(given, Settings(QUICK.methods, QUICK.epsilons, 3)) == []
