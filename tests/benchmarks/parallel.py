"""Curves at 1 and 2 processes and on a local cluster, in one run: python -m tests.benchmarks.parallel."""

import sys
import time
from collections.abc import Callable

from core import sample_scenario
from core.parallel import cluster, map_tasks
from core.parallel_curves import CurveTask, solve_curves
from core.pipeline import Stages
from core.table import load_sample

GROUPS = ((0, 2), (2, 8), (6, 10), (1, 2, 8), (2, 5, 8), (6, 8, 10))
GRID = (0.0, 1.0, 2.0, 4.0)


def workload() -> list[CurveTask]:
    """Return curves of pairs and triples of attributes of the Heart table."""
    stages = Stages(load_sample("heart"), sample_scenario("heart"))
    return [CurveTask(stages.profile(members), GRID) for members in GROUPS]


def seconds(run: Callable[[], object]) -> float:
    """Return the best of two runs: processes are started and have imported everything before."""
    found = []
    for _ in range(2):
        start = time.perf_counter()
        run()
        found.append(time.perf_counter() - start)
    return min(found)


def prepare(_x: int) -> None:
    """Import in a worker what its tasks need, so that importing is not measured."""
    import core.parallel_curves  # noqa: F401

    time.sleep(0.5)


def run() -> dict[str, float]:
    """Return the seconds of one workload for every way to run it."""
    tasks = workload()
    found = {"1 process": seconds(lambda: solve_curves(tasks, jobs=1))}
    map_tasks(prepare, range(4), jobs=2)
    found["2 processes"] = seconds(lambda: solve_curves(tasks, jobs=2))
    try:
        from distributed import LocalCluster
    except ImportError:
        return found
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as running,
        cluster(running.scheduler_address),
    ):
        map_tasks(prepare, range(4))
        found["cluster of 2 workers"] = seconds(lambda: solve_curves(tasks))
    return found


if __name__ == "__main__":
    measured = run()
    for name, value in measured.items():
        sys.stdout.write(f"{name}: {value:.2f} s, ratio {measured['1 process'] / value:.2f}\n")
