"""The parts of a measured loss add up to it, and an additive task has nothing left over."""

import pytest

from core.evaluation.explained import TOGETHER, explain_groups
from core.evaluation.rows import Evaluation
from tests.core.evaluation.small_table import small_scenario, small_table


@pytest.mark.parametrize("method", ["ALC+RMP", "DepHDP-m-s"])
def test_the_parts_add_up_to_the_measured_loss(method):
    evaluation = Evaluation(small_table(), small_scenario(), repeats=4)
    frame = explain_groups(evaluation, method, 3.0)
    row = evaluation.row(method, 3.0)
    assert frame["alone"].sum() == pytest.approx(row["loss"])
    assert frame["group"].iloc[-1] == TOGETHER
    assert len(frame) == row["groups"] + 1
    assert frame["predicted"].sum() == pytest.approx(row["predicted"])
    assert frame["prior_shift"].sum() == pytest.approx(row["prior_shift"])
    assert frame["residual"].sum() == pytest.approx(row["surrogate_residual"])


def test_groups_of_an_additive_task_lose_nothing_by_meeting():
    evaluation = Evaluation(small_table(), small_scenario(task="frequency"), repeats=200)
    frame = explain_groups(evaluation, "ALC+DPN", 3.0, repeats=200).set_index("group")
    assert abs(frame.loc[TOGETHER, "residual"]) < 2.5 * frame.loc[TOGETHER, "sampling_error"]
    alone = frame.drop(index=TOGETHER)
    assert (alone["residual"].abs() < 2.5 * alone["sampling_error"]).all()


def test_what_releases_nothing_has_no_parts():
    evaluation = Evaluation(small_table(), small_scenario(), repeats=2)
    assert explain_groups(evaluation, "Bound-m", 3.0).empty
    assert explain_groups(evaluation, "zero information", 3.0).empty
