"""Comparisons, sweeps and studies side by side: the same rows as one after the other, in order, and they can stop."""

import time

import joblib
import numpy as np
import pandas as pd
import pytest

from core import parallel
from core.evaluation import reduced, reduced_cases
from core.evaluation.metering import Meter, keep_in
from core.evaluation.reduced import reduced_rows
from core.evaluation.rows import Evaluation
from core.evaluation.sweeps import sweep_groups, sweep_scores
from core.parallel import is_worth, local_jobs
from core.pipeline import Stages
from tests.core.evaluation.small_table import small_scenario, small_table

TIMES = ["seconds", "run_time"]
METHODS = ("ALC+RMP", "DepHDP-m", "DepHDP tuned", "DepHDP joint", "DepHDP joint-s")


@pytest.fixture(scope="module")
def table():
    return small_table()


@pytest.fixture
def two_threads():
    with joblib.parallel_config(backend="threading", n_jobs=2):
        yield


def without_times(rows):
    frame = pd.DataFrame(rows)
    return frame.drop(columns=[c for c in TIMES if c in frame])


@pytest.fixture
def handed_out(monkeypatch):
    """Count what is handed to the task pool."""
    seen = []
    stream = parallel.stream_tasks

    def counted(function, items, **options):
        seen.append((function.__name__, len(items)))
        return stream(function, items, **options)

    for module in ("core.parallel_curves", "core.evaluation.ahead", "core.evaluation.reduced"):
        monkeypatch.setattr(f"{module}.stream_tasks", counted)
    return seen


def test_a_comparison_side_by_side_has_the_same_rows_in_order(table, two_threads, handed_out):
    together = list(Evaluation(table, small_scenario(), repeats=2).rows(METHODS, (1.0, 3.0)))
    assert [name for name, _ in handed_out] == ["_solve", "refine_jointly"]
    assert handed_out[1][1] == 4
    with joblib.parallel_config(backend="loky", n_jobs=1), local_jobs(1):
        alone = list(Evaluation(table, small_scenario(), repeats=2).rows(METHODS, (1.0, 3.0)))
    assert len(handed_out) == 2
    assert [(r["method"], r["epsilon"]) for r in together] == [(m, e) for m in METHODS for e in (1.0, 3.0)]
    pd.testing.assert_frame_equal(without_times(together), without_times(alone), check_exact=True)


@pytest.mark.slow
def test_a_comparison_in_two_processes_has_the_same_rows(table, monkeypatch, handed_out):
    monkeypatch.setattr(parallel, "WORTH_SECONDS", 0.0)
    with local_jobs(2):
        together = list(Evaluation(table, small_scenario(), repeats=2).rows(METHODS[2:4], (1.0, 3.0)))
    assert len(handed_out) == 2
    with local_jobs(1):
        alone = list(Evaluation(table, small_scenario(), repeats=2).rows(METHODS[2:4], (1.0, 3.0)))
    assert len(handed_out) == 2
    pd.testing.assert_frame_equal(without_times(together), without_times(alone), check_exact=True)


def test_a_design_without_a_memory_solves_its_curves_once(table, two_threads, handed_out):
    stages = Stages(table, small_scenario(rule="tuned"))
    together = stages.grid_curves
    assert handed_out == [("_solve", len(stages.optimised))]
    with joblib.parallel_config(backend="loky", n_jobs=1), local_jobs(1):
        alone = Stages(table, small_scenario(rule="tuned")).grid_curves
    assert len(handed_out) == 1
    for one, other in zip(together, alone, strict=True):
        assert one.upper.tobytes() == other.upper.tobytes()
        assert [c.weights.tobytes() for c in one.channels] == [c.weights.tobytes() for c in other.channels]


def test_sweeps_solve_ahead_and_know_their_run_times(table, two_threads, handed_out):
    thresholds = (0.0, 0.1, 1.0)
    together = Evaluation(table, small_scenario(), repeats=2)
    alone = Evaluation(table, small_scenario(), repeats=2)
    groups = list(sweep_groups(together, thresholds, (2.0,)))
    scores = list(sweep_scores(together, thresholds, (2.0,), dimensions=(300,)))
    assert [name for name, _ in handed_out].count("_solve") >= 1
    with joblib.parallel_config(backend="loky", n_jobs=1), local_jobs(1):
        expected = [
            list(sweep_groups(alone, thresholds, (2.0,))),
            list(sweep_scores(alone, thresholds, (2.0,), dimensions=(300,))),
        ]
    for found, wanted in zip((groups, scores), expected, strict=True):
        pd.testing.assert_frame_equal(without_times(found), without_times(wanted), check_exact=True)
        ratio = np.array([f["run_time"] for f in found]) / np.array([w["run_time"] for w in wanted])
        assert (ratio > 0.1).all()  # curves solved ahead still count


def test_a_curve_solved_ahead_costs_what_it_took(table, two_threads):
    memory = keep_in({})
    evaluation = Evaluation(table, small_scenario(), repeats=2, remember=memory)
    evaluation.prepare(["DepHDP tuned"], [2.0])
    stages = evaluation.stages(small_scenario(rule="tuned", refine=False))
    keys = [task.key for task in stages.curve_tasks(stages.optimised)]
    assert len(keys) > 1
    assert all(Meter(memory).seconds([key]) > 0.0 for key in keys)


def test_reduced_domains_side_by_side_are_the_same(table, two_threads, handed_out, monkeypatch):
    monkeypatch.setattr(reduced, "ANGLES", 5)
    monkeypatch.setattr(reduced_cases, "STATES", (4, 16))
    stages = Evaluation(table, small_scenario()).stages(small_scenario())
    told, memory = [], {}
    options = {"count": 2, "remember": keep_in(memory)}
    rows = list(reduced_rows(stages, (1.0, 3.0), progress=lambda f, _: told.append(f), **options))
    assert handed_out == [("_solve_cell", 4)]
    assert told == sorted(told)
    assert told[-1] == 1.0
    with joblib.parallel_config(backend="loky", n_jobs=1), local_jobs(1):
        assert list(reduced_rows(stages, (1.0, 3.0), count=2)) == rows
    assert list(reduced_rows(stages, (1.0, 3.0), **options)) == rows
    assert handed_out == [("_solve_cell", 4)]


class StopError(Exception):
    pass


def test_what_was_found_before_a_stop_is_kept(table, two_threads):
    def stop(fraction, words):
        if "side by side" in words and fraction > 0.4:
            raise StopError

    memory = {}
    evaluation = Evaluation(table, small_scenario(), repeats=2, remember=keep_in(memory), progress=stop)
    with pytest.raises(StopError):
        list(evaluation.rows(("DepHDP tuned",), (1.0,)))
    kept = [key for key in memory if key[0] == "optimal curves"]
    assert kept
    evaluation.progress = None
    assert len(list(evaluation.rows(("DepHDP tuned",), (1.0,)))) == 1
    assert set(kept) <= set(memory)


def test_small_work_stays_here(monkeypatch):
    monkeypatch.setattr("joblib.cpu_count", lambda: 2)
    assert not is_worth(parallel.WORTH_SECONDS / 2)
    assert is_worth(parallel.WORTH_SECONDS * 2)
    with local_jobs(1):
        assert not is_worth(1e6)
    with joblib.parallel_config(backend="threading", n_jobs=2):
        assert is_worth(0.0)


@pytest.mark.slow
def test_a_stop_ends_local_processes_at_once():
    def stop(_fraction, _words):
        if time.perf_counter() - start > 1.0:
            raise StopError

    start = time.perf_counter()
    with pytest.raises(StopError):
        parallel.map_tasks(time.sleep, [60.0, 60.0], jobs=2, progress=stop)
    assert time.perf_counter() - start < 15.0
    assert is_worth(1e6) or parallel.joblib.cpu_count() == 1  # the pool is free again
