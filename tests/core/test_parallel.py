"""The one task pool: order, failures, progress, stopping, and a backend configured from outside."""

import os
import sys
import threading
import time

import joblib
import pytest

from core.errors import InputError
from core.parallel import SCHEDULER_VARIABLE, cluster, map_tasks

# Local functions travel to other processes by value, so that the workers need not import this project.
square = lambda x: x * x  # noqa: E731
process_of = lambda _x: os.getpid()  # noqa: E731
slow_identity = lambda x: (time.sleep(0.05 * (3 - x)), x)[1]  # noqa: E731
fail_at_two = lambda x: x / (x - 2)  # noqa: E731


@pytest.mark.parametrize("options", [{"jobs": 1}, {"jobs": 2, "backend": "threading"}, {"jobs": 2}])
def test_results_come_in_the_order_of_the_items(options):
    assert map_tasks(slow_identity, [0, 1, 2], **options) == [0, 1, 2]


def test_one_job_stays_in_this_process_and_needs_no_pickling():
    seen = []
    assert map_tasks(lambda x: seen.append(x) or x + 1, range(3), jobs=1) == [1, 2, 3]
    assert seen == [0, 1, 2]


def test_processes_are_other_processes():
    assert os.getpid() not in map_tasks(process_of, range(2), jobs=2, backend="loky")


def test_nothing_to_do():
    assert map_tasks(square, []) == []


@pytest.mark.parametrize("options", [{"jobs": 1}, {"jobs": 2, "backend": "threading"}, {"jobs": 2}])
def test_a_failure_passes_through(options):
    with pytest.raises(ZeroDivisionError):
        map_tasks(fail_at_two, range(5), **options)


@pytest.mark.parametrize("options", [{"jobs": 1}, {"jobs": 2, "backend": "threading"}])
def test_progress_is_told_in_the_callers_thread(options):
    told = []
    map_tasks(square, range(4), progress=lambda f, s: told.append((f, s, threading.get_ident())), **options)
    assert [f for f, _, _ in told] == [0, 0.25, 0.5, 0.75, 1]
    assert told[1][1] == "1 of 4 done"
    assert {thread for _, _, thread in told} == {threading.get_ident()}


class StopError(Exception):
    pass


@pytest.mark.parametrize("options", [{"jobs": 1}, {"jobs": 2, "backend": "threading"}])
def test_progress_may_stop_the_work(options):
    begun = []

    def work(x):
        begun.append(x)
        time.sleep(0.01)
        return x

    def stop(fraction, _sentence):
        if fraction > 0:
            raise StopError

    with pytest.raises(StopError):
        map_tasks(work, range(200), progress=stop, **options)
    time.sleep(0.1)
    count = len(begun)
    time.sleep(0.1)
    assert len(begun) == count < 200


def test_a_backend_configured_from_outside_is_used():
    with joblib.parallel_config(backend="threading", n_jobs=2):
        names = map_tasks(lambda _x: threading.current_thread().name, range(4))
        assert set(map_tasks(process_of, range(2))) == {os.getpid()}
    assert threading.main_thread().name not in names


def test_a_number_of_workers_configured_from_outside_is_used():
    with joblib.parallel_config(n_jobs=2):
        assert os.getpid() not in map_tasks(process_of, range(3))


def test_an_explicit_single_job_overrules_what_is_configured():
    with joblib.parallel_config(backend="threading", n_jobs=2):
        assert map_tasks(lambda _x: threading.get_ident(), range(2), jobs=1) == [threading.get_ident()] * 2


@pytest.mark.parametrize("options", [{"jobs": 0}, {"backend": "magic"}])
def test_nonsense_is_refused(options):
    with pytest.raises(ValueError, match="must be"):
        map_tasks(square, [1], **options)


def test_without_an_address_tasks_stay_here(monkeypatch):
    monkeypatch.delenv(SCHEDULER_VARIABLE, raising=False)
    with cluster() as distributed:
        assert not distributed
        assert map_tasks(process_of, range(2), jobs=1) == [os.getpid()] * 2


def test_a_cluster_without_its_extra_is_refused(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(InputError, match="cluster"), cluster("tcp://127.0.0.1:8786"):
        pass


def test_items_that_are_tuples_or_arrays_arrive_as_they_are():
    assert map_tasks(lambda pair: pair[0] * pair[1], [(2, 3), (4, 5)], jobs=2, backend="threading") == [6, 20]
