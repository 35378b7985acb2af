"""A task from a file: defaults, what is refused, and that its results are not mixed up with another task's."""

import pytest

from core.errors import InputError
from core.evaluation.metering import keep_in
from core.evaluation.own_task import TaskStages, load_task
from core.evaluation.rows import Evaluation
from tests.core.evaluation.small_table import small_scenario, small_table

GOOD = '''
class FirstOnly:
    """Only the first attribute counts."""
    unit = "changes"

    def loss(self, X, Y):
        return (X[:, 0] != Y[:, 0]).astype(float)
'''


def write(tmp_path, text):
    path = tmp_path / "task.py"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_class_with_a_loss_is_a_task(tmp_path):
    source = load_task(write(tmp_path, GOOD))
    memory = {}
    own = Evaluation(small_table(), small_scenario(), repeats=3, remember=keep_in(memory), task=source)
    row = own.row("DepHDP-m", 4.0)
    task = own.stages(small_scenario()).task
    assert (task.title, task.unit, task.statement) == ("FirstOnly", "changes", "Only the first attribute counts.")
    assert 0 <= row["loss"] <= 1
    assert row["end_task"] == pytest.approx(row["loss"])
    plain = Evaluation(small_table(), small_scenario(), repeats=3, remember=keep_in(memory))
    fresh = Evaluation(small_table(), small_scenario(), repeats=3)
    assert plain.row("DepHDP-m", 4.0)["loss"] == fresh.row("DepHDP-m", 4.0)["loss"] != row["loss"]


def test_without_an_own_task_the_scenarios_is_fitted():
    assert TaskStages(small_table(), small_scenario()).task.name == "entropy"


def test_it_may_be_fitted_and_give_its_own_end_task(tmp_path):
    text = GOOD + (
        "    @classmethod\n    def fit(cls, records):\n        made = cls()\n        made.count = len(records)\n"
        "        return made\n\n    def end_task(self, raw, released):\n        return float(self.count)\n"
    )
    source = load_task(write(tmp_path, text))
    row = Evaluation(small_table(), small_scenario(), repeats=2, task=source).row("SPL+DPN", 1.0)
    assert row["end_task"] == 240.0


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("class A:\n    pass\n", "one class with a method loss"),
        (GOOD + GOOD.replace("FirstOnly", "Other"), "not 2"),
        ("def (", "cannot be run"),
        (GOOD.replace("!=", "=="), "0 for equal rows"),
        (GOOD.replace(".astype(float)", ".sum()"), "one finite number"),
    ],
)
def test_what_is_no_task_is_one_sentence(tmp_path, text, words):
    with pytest.raises(InputError, match=words):
        source = load_task(write(tmp_path, text))
        TaskStages(small_table(), small_scenario(), task=source).task  # noqa: B018


def test_a_missing_file_is_one_sentence(tmp_path):
    with pytest.raises(InputError, match="cannot be run"):
        load_task(tmp_path / "no.py")


def test_losses_are_checked_on_records_that_differ(tmp_path):
    source = load_task(write(tmp_path, GOOD.replace(".astype(float)", ".astype(float) - 0.5")))
    with pytest.raises(InputError, match="from 0"):
        TaskStages(small_table(), small_scenario(), task=source).task  # noqa: B018
