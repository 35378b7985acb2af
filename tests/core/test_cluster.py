"""A real local Dask cluster of two worker processes: the same results, and none lost with a worker."""

import os
import signal
import time

import numpy as np
import pytest
from distributed import Client, LocalCluster

from core import sample_scenario
from core.errors import InputError
from core.parallel import SCHEDULER_VARIABLE, cluster, map_tasks
from core.parallel_curves import CurveTask, solve_curves
from core.pipeline import Stages
from core.table import load_sample

pytestmark = pytest.mark.slow

GRID = (0.0, 1.0, 3.0)
# Local functions travel to the workers by value.
process_of = lambda _x: (time.sleep(0.2), os.getpid())[1]  # noqa: E731
slow_sum = lambda x: (time.sleep(0.1), float(x.sum()), os.getpid())[1:]  # noqa: E731
fail_at_two = lambda x: x / (x - 2)  # noqa: E731


@pytest.fixture(scope="module")
def local_cluster():
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as running:
        yield running


@pytest.fixture(scope="module")
def tasks():
    stages = Stages(load_sample("heart"), sample_scenario("heart"))
    singles = sorted(stages.single_profiles, key=lambda p: p.domain.size)
    return [CurveTask(profile, GRID) for profile in singles[:2] + singles[-2:]]


def worker_processes(running):
    with Client(running, set_as_default=False) as client:
        return set(client.run(os.getpid).values())


def test_tasks_run_in_both_worker_processes(local_cluster):
    with cluster(local_cluster.scheduler_address) as distributed:
        assert distributed
        seen = map_tasks(process_of, range(12))
    assert set(seen) == worker_processes(local_cluster)
    assert len(set(seen)) == 2
    assert os.getpid() not in seen


def test_curves_are_the_same_to_the_last_bit(local_cluster, tasks, monkeypatch):
    local = solve_curves(tasks, jobs=1)
    monkeypatch.setenv(SCHEDULER_VARIABLE, local_cluster.scheduler_address)
    told = []
    with cluster():
        remote = solve_curves(tasks, progress=lambda fraction, _sentence: told.append(fraction))
    assert told == [0, 0.25, 0.5, 0.75, 1]
    for here, there in zip(local, remote, strict=True):
        assert here.mechanism == there.mechanism == "OPT"
        for mine, other in zip(here.channels, there.channels, strict=True):
            assert np.array_equal(mine.weights, other.weights)
            assert mine.certified_epsilon == other.certified_epsilon
        assert here.upper.tobytes() == there.upper.tobytes()
        assert here.lower.tobytes() == there.lower.tobytes()


def test_a_failure_passes_through(local_cluster):
    with cluster(local_cluster.scheduler_address), pytest.raises(ZeroDivisionError):
        map_tasks(fail_at_two, range(4))


def test_a_worker_killed_in_between_loses_nothing(local_cluster):
    before = worker_processes(local_cluster)
    victim = min(before)
    items = [np.full(5_000, float(i)) for i in range(40)]  # large enough for Dask to leave them with a worker
    killed = []

    def kill(fraction, _sentence):
        if fraction > 0 and not killed:
            os.kill(victim, signal.SIGKILL)
            killed.append(fraction)

    with cluster(local_cluster.scheduler_address):
        found = map_tasks(slow_sum, items, progress=kill)
    assert [value for value, _ in found] == [5_000.0 * i for i in range(40)]
    assert killed
    assert killed[0] < 0.5
    with pytest.raises(ProcessLookupError):
        os.kill(victim, 0)
    assert {process for _, process in found} & (before - {victim})


def test_the_choice_ends_with_the_block(local_cluster):
    with cluster(local_cluster.scheduler_address):
        pass
    assert map_tasks(process_of, range(2), jobs=1) == [os.getpid()] * 2
    assert not set(map_tasks(process_of, range(2), jobs=2)) & worker_processes(local_cluster)


def test_a_scheduler_that_does_not_answer_is_named(monkeypatch):
    monkeypatch.setattr("core.parallel.CONNECT_SECONDS", 1)
    with pytest.raises(InputError, match=r"tcp://127\.0\.0\.1:9"), cluster("tcp://127.0.0.1:9"):
        pass
