"""The classifier's loss: probabilities as scikit-learn gives them, and what is refused."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from core.errors import InputError
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


@pytest.mark.parametrize("target", [None, [1.0] * 40, [np.nan] + [0.0, 1.0] * 19 + [0.0], list(range(40))])
def test_a_target_that_is_no_class_is_refused(target):
    records = some_records(0)
    with pytest.raises(InputError, match="target"):
        fit_task("prediction", make_records(records.codes, records.attributes, target=target))
