"""Curves at 1 and 2 processes and on a local cluster, in one run: python -m tests.benchmarks.parallel."""

import os
import resource
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

from core import sample_scenario
from core.group_curves import curve_grid, estimate_solve_seconds
from core.parallel import cluster, map_tasks
from core.parallel_curves import CurveTask, solve_curves
from core.pipeline import Stages
from core.table import load_sample

GROUPS = (
    *((2, 10, 11), (2, 10, 12), (0, 1, 2), (2, 8, 11), (2, 6, 10), (2, 5, 12), (2, 8, 10), (1, 2, 10)),
    *((2, 6, 8, 10), (2, 8, 10, 12), (0, 2, 8), (0, 2, 10)),
)


@dataclass(frozen=True)
class Measured:
    """Seconds of one run, on the clock and of all processors that it used here."""

    wall: float
    cpu: float


def workload() -> list[CurveTask]:
    """Return curves of triples and quadruples of attributes of the Heart table, at every budget of the grid."""
    stages = Stages(load_sample("heart"), sample_scenario("heart"))
    found = []
    for members in GROUPS:
        profile = stages.profile(members)
        grid = curve_grid(10.0, profile.domain.size)
        found.append(CurveTask(profile, grid, members, estimate_solve_seconds(profile) * len(grid)))
    return found


def seconds(run: Callable[[], object]) -> Measured:
    """Return what one run takes, the start of processes included; workers that end within it count."""
    start, before = time.perf_counter(), processor_seconds()
    run()
    return Measured(time.perf_counter() - start, processor_seconds() - before)


def processor_seconds() -> float:
    """Return the processor time of this process and of its ended children."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(u.ru_utime + u.ru_stime for u in used)


def prepare(_x: int) -> None:
    """Import in a worker of the cluster what its tasks need."""
    import core.parallel_curves  # noqa: F401

    time.sleep(0.5)


def run() -> dict[str, Measured]:
    """Return what one workload takes for every way to run it."""
    tasks = workload()
    found = {
        f"{jobs} process{'es' * (jobs > 1)}": seconds(lambda j=jobs: solve_curves(tasks, jobs=j)) for jobs in (1, 2)
    }
    try:
        from distributed import LocalCluster
    except ImportError:
        return found
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as running,
        cluster(running.scheduler_address),
    ):
        map_tasks(prepare, range(4))
        found["cluster of 2 workers, started before"] = seconds(lambda: solve_curves(tasks))
    return found


if __name__ == "__main__":
    sys.stdout.write(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores\n")
    measured = run()
    for name, value in measured.items():
        ratio = measured["1 process"].wall / value.wall
        sys.stdout.write(f"{name}: {value.wall:.1f} s, processor {value.cpu:.1f} s, ratio {ratio:.2f}\n")
    sys.stdout.write(f"load {os.getloadavg()[0]:.1f}\n")
