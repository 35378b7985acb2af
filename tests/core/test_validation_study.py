"""The validation study: its instances are what they say, it goes on where it stopped, its correlations are checked."""

from itertools import count

import numpy as np
import pytest
from scipy.stats import rankdata

from core.metric import verify_metric
from core.plots.validation import explain_validation, plot_validation, table_correlations, table_validation
from core.validation_study import (
    INSTANCES,
    NAMES,
    NOISES,
    POINTS,
    Instance,
    ValidationStudy,
    draw_instance,
    extend_study,
    study_instance,
)

EMPTY = ValidationStudy((), 0.0)


def fixed_clock():
    ticks = count()
    return lambda: float(next(ticks))


def test_an_instance_is_a_metric_of_diameter_one_and_a_loss_from_zero() -> None:
    problem = draw_instance(np.random.default_rng(3))
    verify_metric(problem.distance, [str(i) for i in range(POINTS)])
    assert problem.distance.max() == 1.0
    assert (problem.loss.diagonal() == 0).all()
    assert problem.loss.min() >= 0
    assert problem.loss.max() <= 1
    assert problem.prior.sum() == pytest.approx(1.0)


def test_optimising_never_loses_and_both_scores_are_in_order() -> None:
    for number in range(6):
        found = study_instance(number)
        assert all(0.0 <= regret < 1.0 for regret in found.regrets)
        assert len(found.regrets) == len(NOISES) == len(NAMES)
        assert found.mse <= found.radial <= 1.0
        # Plain noise uses no more of its budget than calibrated noise, on the same metric.
        assert found.regrets[0] >= found.regrets[1] - 1e-9


def test_a_stopped_study_goes_on_where_it_was() -> None:
    told: list[float] = []
    whole = extend_study(EMPTY, 4, clock=fixed_clock(), progress=lambda fraction, _words: told.append(fraction))
    parts = extend_study(extend_study(EMPTY, 3, clock=fixed_clock()), 1, clock=fixed_clock())
    assert whole.instances == parts.instances
    assert told == [k / INSTANCES for k in range(4)]
    assert (whole.seconds, parts.seconds) == (1.0, 2.0)
    full = ValidationStudy(whole.instances * (INSTANCES // 4), 0.0)
    assert extend_study(full, 5, clock=fixed_clock()).instances == full.instances

    class StoppedError(Exception):
        pass

    def stop(_fraction: float, _words: str) -> None:
        raise StoppedError

    with pytest.raises(StoppedError):
        extend_study(EMPTY, 3, clock=fixed_clock(), progress=stop)


def made(scores: np.ndarray, regrets: np.ndarray) -> ValidationStudy:
    pairs = zip(scores.tolist(), regrets.tolist(), strict=True)
    return ValidationStudy(tuple(Instance(s, s / 2, (r, r / 2, 0.3)) for s, r in pairs), 1.0)


def test_the_correlations_are_those_of_values_and_of_ranks() -> None:
    rng = np.random.default_rng(0)
    scores, regrets = rng.random(40), rng.random(40)
    found = made(scores, regrets).correlation("radial")
    assert found.pearson == pytest.approx(np.corrcoef(scores, regrets)[0, 1])
    assert found.spearman == pytest.approx(np.corrcoef(rankdata(scores), rankdata(regrets))[0, 1])
    assert found.slope * scores.mean() + found.intercept == pytest.approx(regrets.mean())
    assert np.isnan(made(scores, regrets).correlation("radial", 2).spearman)
    assert np.isnan(made(scores[:2], regrets[:2]).correlation("mse").pearson)


@pytest.mark.parametrize(("sign", "words"), [(-1, "The lower the radial-fit score, the more"), (1, "no small gain")])
def test_the_sentence_says_which_way_it_goes(sign: int, words: str) -> None:
    x = np.linspace(0.1, 0.9, 100)
    assert words in explain_validation(made(x, 0.5 + sign * 0.4 * (x - 0.5)), 0)
    assert "on average" in explain_validation(made(x, 0.5 + sign * 0.4 * (x - 0.5)), 0)
    rng = np.random.default_rng(5)
    assert "does not tell how much" in explain_validation(made(x, rng.random(100)), 0)


def test_the_picture_draws_every_instance_in_both_panels_and_none_at_first() -> None:
    study = extend_study(EMPTY, 5, clock=fixed_clock())
    picture = plot_validation(study, 1)
    clouds = [trace for trace in picture.traces if trace["mode"] == "markers"]
    assert [len(cloud["x"]) for cloud in clouds] == [5, 5]
    assert clouds[0]["y"].tolist() == (100 * study.regrets(1)).tolist()
    assert picture.layout["yaxis"]["range"][1] >= 100 * study.regrets(1).max()
    empty = plot_validation(EMPTY, 0)
    assert any(note["text"] == "no instance yet" for note in empty.layout["annotations"])
    assert table_validation(study)["regret of EM"].tolist() == study.regrets(0).tolist()
    rows = table_correlations(study)
    assert len(rows) == 2 * len(NAMES) + 2
    assert rows["Spearman"].tolist()[-2:] == [-0.351, -0.365]
