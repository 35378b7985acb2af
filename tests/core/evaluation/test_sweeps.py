"""Sweeps: rows for every threshold, what is shared is computed once, and run times count from scratch."""

import math
import time

import pandas as pd
import pytest

from core.evaluation.metering import Meter, keep_in
from core.evaluation.rows import Evaluation
from core.evaluation.sweeps import sweep_groups, sweep_scores
from tests.core.evaluation.small_table import small_scenario, small_table


def test_a_meter_counts_each_part_once_and_from_scratch():
    store = {}

    def part():
        time.sleep(0.02)
        return 1

    def whole(meter):
        meter("part", part)
        time.sleep(0.01)
        return meter("part", part) + 1

    first = Meter(keep_in(store))
    assert first("whole", lambda: whole(first)) == 2
    later = Meter(keep_in(store))
    later("whole", lambda: pytest.fail("it is remembered"))
    assert later.seconds() == first.seconds() >= 0.03
    assert later.seconds(["part"]) >= 0.02
    assert later.seconds(["unknown"]) == 0.0
    assert later.touched == {"whole"}


def test_a_meter_survives_what_a_computation_raises():
    meter = Meter(keep_in({}))
    with pytest.raises(ZeroDivisionError):
        meter("bad", lambda: 1 / 0)
    assert meter("good", lambda: 3) == 3
    assert meter.seconds() >= 0


@pytest.fixture(scope="module")
def counted():
    store, computed = {}, []

    def remember(key, compute):
        if key not in store:
            store[key] = compute()
            computed.append(key)
        return store[key]

    return Evaluation(small_table(), small_scenario(), repeats=3, remember=remember), computed


def test_grouping_is_swept_and_equal_groupings_share_everything(counted):
    evaluation, computed = counted
    thresholds = (0.0, 0.05, 0.1, 0.15, 0.5, 0.9, 1.0)
    frame = pd.DataFrame(sweep_groups(evaluation, thresholds, (2.0,)))
    assert len(frame) == 2 * len(thresholds)
    assert frame["groups"].is_monotonic_increasing
    assert frame["groups"].iloc[-1] == 4
    distinct = frame["groups"].nunique()
    assert distinct < len(thresholds)
    rows = [key for key in computed if key[0] == "evaluation row"]
    assert len(rows) == 2 * distinct
    for _, part in frame.groupby(["method", "groups"]):
        assert part["loss"].nunique() == 1
    assert (frame["run_time"] > 0).all()
    losses = [key for key in computed if key[0] == "group losses"]
    assert len(losses) == len(set(losses))


def test_score_thresholds_optimise_more_and_predict_no_more_loss(counted):
    evaluation, _ = counted
    frame = pd.DataFrame(sweep_scores(evaluation, (0.0, 0.5, 1.0), (2.0,), dimensions=(3, 300)))
    assert len(frame) == 2 * 2 * 3
    for (size, _), part in frame.groupby(["tau_dim", "method"]):
        assert part["optimised"].is_monotonic_increasing
        if size == 300:
            assert part["optimised"].iloc[-1] == part["groups"].iloc[-1]
    small, large = (frame[(frame["tau_dim"] == s) & (frame["tau_dpn"] == 1.0)] for s in (3, 300))
    assert (small["optimised"].to_numpy() < large["optimised"].to_numpy()).all()
    assert (large["predicted"].to_numpy() <= small["predicted"].to_numpy() * 1.02).all()


def test_designs_that_would_take_too_long_are_left_out(counted):
    evaluation, _ = counted
    frame = pd.DataFrame(sweep_scores(evaluation, (0.0, 1.0), (2.0,), dimensions=(300,), solve_limit=0.0))
    assert frame.loc[frame["tau_dpn"] == 1.0, "loss"].isna().all()
    assert math.isfinite(frame.loc[frame["tau_dpn"] == 0.0, "loss"].max())


def test_a_grouping_that_would_take_too_long_is_left_out_too(counted):
    evaluation, _ = counted
    told = []
    frame = pd.DataFrame(
        sweep_groups(
            Evaluation(evaluation.table, evaluation.scenario.replace(tau_dpn=1.0), repeats=1),
            (1.0, 0.0), (2.0,), solve_limit=0.0, ahead=lambda fraction, words: told.append(words),
        )
    )  # fmt: skip
    assert frame["tau_group"].tolist() == [1.0, 1.0, 0.0, 0.0]
    assert frame["loss"].isna().all()
    assert frame["groups"].tolist() == [4, 4, 1, 1]
    assert told == []
