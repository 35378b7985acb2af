"""The classifier's loss: probabilities as scikit-learn gives them, and what is refused."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from core.domain import build_records
from core.errors import InputError
from core.scenario import Scenario
from core.table import read_table
from core.tasks import check_informative, fit_task
from tests.core.synthetic import make_records, some_records


def one_hot(records, codes):
    return np.hstack([np.eye(size)[codes[:, i]] for i, size in enumerate(records.sizes)])


@pytest.mark.parametrize("classes", [2, 3])
def test_probabilities_are_those_of_the_classifier(classes):
    records = some_records(1, rows=120)
    target = (records.codes[:, 0] + records.codes[:, 2]) % classes
    records = make_records(records.codes, records.attributes, target=target)
    task = fit_task("prediction", records)
    model = LogisticRegression(max_iter=1000).fit(one_hot(records, records.codes), target)
    expected = model.predict_proba(one_hot(records, records.codes))
    np.testing.assert_allclose(task.probabilities(records.codes), expected, atol=1e-9)
    other = records.codes[::-1]
    moved = np.abs(expected - expected[::-1]).sum(axis=1)
    np.testing.assert_allclose(task.loss(records.codes, other), moved, atol=1e-9)
    assert (task.loss(records.codes, records.codes) == 0).all()
    changed = (expected.argmax(axis=1) != expected[::-1].argmax(axis=1)).mean()
    assert task.end_task(records.codes, other) == pytest.approx(changed)
    assert not task.context_free
    check_informative(task, records)


def test_classes_may_be_texts():
    rng = np.random.default_rng(5)
    colours, sizes = rng.choice(["red", "blue"], 80), rng.choice(["small", "large"], 80)
    flipped = rng.random(80) < 0.1
    answers = np.where((colours == "red") ^ flipped, "yes", "no")
    texts = "\n".join(["colour,size,answer", *map(",".join, zip(colours, sizes, answers, strict=True))])
    numbers = texts.replace("yes", "1").replace("no", "0")
    tasks = []
    for text in (texts, numbers):
        table = read_table(text.encode())
        records = build_records(table, Scenario(target=2))
        tasks.append(fit_task("prediction", records))
    assert tasks[0].classes == ("no", "yes")
    assert tasks[1].classes == (0.0, 1.0)
    assert tasks[0].probabilities(records.codes).tolist() == tasks[1].probabilities(records.codes).tolist()
    with pytest.raises(InputError, match="text such as 'yes'"):
        fit_task("crowdsourcing", build_records(read_table(texts.encode()), Scenario(target=2)))


def test_a_text_target_with_gaps_is_refused_by_the_task_alone():
    table = read_table(b"a,b,answer\n1,x,yes\n2,y,\n1,y,no\n2,x,yes\n1,x,no\n")
    records = build_records(table, Scenario(target=2))
    assert np.isnan(records.target).tolist() == [False, True, False, False, False]
    assert fit_task("frequency", records).name == "frequency"
    with pytest.raises(InputError, match="without missing values"):
        fit_task("prediction", records)


@pytest.mark.parametrize("target", [None, [1.0] * 40, [np.nan] + [0.0, 1.0] * 19 + [0.0], list(range(40))])
def test_a_target_that_is_no_class_is_refused(target):
    records = some_records(0)
    with pytest.raises(InputError, match="target"):
        fit_task("prediction", make_records(records.codes, records.attributes, target=target))
