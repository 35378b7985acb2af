"""Tiers of a record on a real group: never below the optimum, certified, and safe together."""

import pytest

from core.errors import InputError
from core.pipeline import Stages
from core.plots.record_tiers import explain_record_tiers, plot_record_tiers, table_record_tiers
from core.plots.template import sig
from core.record_study import study_record_tiers
from core.table import load_sample, sample_scenario


@pytest.fixture(scope="module")
def stages():
    return Stages(load_sample("heart"), sample_scenario("heart"))


@pytest.fixture(scope="module")
def study(stages):
    group = next(g for g in stages.groups if stages.domain(g).size == 8)
    return study_record_tiers(stages.profile(group), (4.0, 2.0, 1.0))


def test_no_tier_beats_the_channel_optimised_alone(study):
    assert study.tiers.budgets == (4.0, 2.0, 1.0)
    assert study.tiers.losses[0] == pytest.approx(study.optimal[0], rel=1e-9)
    for tier, alone in zip(study.tiers.losses, study.optimal, strict=True):
        assert tier >= alone * (1 - 2e-6)
    assert 1.0 <= study.worst < 1.3


def test_every_tier_is_certified_and_a_coalition_learns_no_more_than_its_best(study):
    for certified, budget in zip(study.tiers.certified_epsilons, study.tiers.budgets, strict=True):
        assert certified <= budget
    assert study.together == pytest.approx(study.tiers.certified_epsilons[0], rel=1e-9)


def test_a_large_group_is_refused_with_a_sentence(stages):
    group = max(stages.groups, key=lambda g: stages.domain(g).size)
    with pytest.raises(InputError, match="at most 30 states"):
        study_record_tiers(stages.profile(group), (2.0, 1.0))


def test_picture_and_sentence_come_from_the_study(study):
    assert plot_record_tiers(study, "bits").traces[0]["y"] == list(study.tiers.losses)
    assert list(table_record_tiers(study)["optimised alone"]) == list(study.optimal)
    assert sig(study.together) in explain_record_tiers(study, "group")
