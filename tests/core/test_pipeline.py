"""The four stages together: what each reads, what is remembered, and that the certificate covers what is sampled."""

import math
from fractions import Fraction

import numpy as np
import pytest

from core import sample_scenario
from core.channel import TOTAL
from core.errors import InputError
from core.mechanisms.factorised import FactorisedChannel
from core.metric import dual_exponent
from core.pipeline import Stages, design
from core.results import METHODS
from core.scenario import AttributeSpec, Scenario
from core.table import load_sample, read_table


@pytest.fixture(scope="module")
def heart():
    return load_sample("heart")


@pytest.fixture(scope="module")
def memory():
    return {}


def remembering(memory, log=None):
    def remember(key, compute):
        if key not in memory:
            if log is not None:
                log.append(key[0])
            memory[key] = compute()
        return memory[key]

    return remember


@pytest.fixture(scope="module")
def opening(heart, memory):
    stages = Stages(heart, sample_scenario("heart"), remember=remembering(memory))
    stages.design  # noqa: B018 - computes everything once for the module
    return stages


def test_every_attribute_is_in_exactly_one_group(opening):
    names = sorted(name for group in opening.design.groups for name in group)
    assert names == sorted(a.name for a in opening.records.attributes)
    assert "narrowing" not in names


def test_certified_epsilons_stay_within_their_budgets(opening):
    result = opening.design
    for channel, budget in zip(result.channels, result.allocation, strict=True):
        assert channel.certified_epsilon <= budget
    q = dual_exponent(result.scenario.p)
    norm = sum(c.certified_epsilon**q for c in result.channels) ** (1 / q)
    assert norm <= result.certified_epsilon * (1 + 1e-12)
    assert result.certified_epsilon <= result.scenario.epsilon


def test_losses_are_those_of_the_integers(opening):
    for profile, channel, loss in zip(opening.profiles, opening.channels, opening.group_losses, strict=True):
        assert all(sum(row) == TOTAL for row in channel.weights.tolist())
        exact = (
            sum(
                Fraction(float(profile.domain.prior[x] * profile.loss.matrix[x, y])) * int(channel.weights[x, y])
                for x, y in np.argwhere(channel.weights > 0).tolist()
            )
            / TOTAL
        )
        assert loss == pytest.approx(float(exact), rel=1e-12)


def test_predicted_loss_lies_above_the_bound(opening):
    result = opening.design
    assert 0 <= result.lower_bound <= result.predicted_loss * (1 + 1e-12)
    assert result.bound_certified


def test_total_epsilon_re_allocates_and_solves_no_curve(heart, opening, memory):
    log = []
    moved = Stages(heart, opening.scenario.replace(epsilon=3.0), remember=remembering(memory, log))
    moved.draft.design  # noqa: B018
    assert set(log) <= {"allocation", "channels", "equal split"}


def test_refinement_keeps_the_grid_and_never_loses(heart, opening, memory):
    log = []
    refined = Stages(heart, opening.scenario.replace(epsilon=3.0), remember=remembering(memory, log))
    assert refined.design.predicted_loss <= refined.draft.design.predicted_loss
    assert refined.refinement.after <= max(0.01, refined.refinement.before)
    assert refined.refinement.added > 0
    assert "optimal curves" not in log
    assert "noise curves" not in log


def test_the_equal_split_is_the_same_found_either_way(heart, opening, memory):
    uniform = Stages(heart, opening.scenario.replace(allocation="uniform"), remember=remembering(memory))
    assert opening.uniform_loss == pytest.approx(uniform.design.predicted_loss, rel=1e-9)


def test_tau_group_recomputes_only_groups_that_changed(heart, opening, memory):
    log = []
    split = Stages(heart, opening.scenario.replace(tau_group=0.15), remember=remembering(memory, log))
    fresh = set(split.groups) - set(opening.groups)
    split.profiles  # noqa: B018
    assert log.count("group losses") == len(fresh) > 0
    assert "nmi" not in log
    assert "records" not in log


def test_changing_p_keeps_the_dependence(heart, opening, memory):
    log = []
    changed = Stages(heart, opening.scenario.replace(p=1.0), remember=remembering(memory, log))
    result = changed.design
    assert "nmi" not in log
    assert all(e == pytest.approx(changed.scenario.epsilon) for e in result.allocation)


@pytest.mark.parametrize("p", [1.0, 1.5, 2.0, math.inf])
def test_certificate_holds_for_every_exponent(heart, memory, p):
    scenario = sample_scenario("heart").replace(p=p, epsilon=2.0, rule="DPN")
    result = Stages(heart, scenario, remember=remembering(memory)).design
    assert result.certified_epsilon <= 2.0


@pytest.mark.parametrize("method", sorted(METHODS))
def test_tuned_never_loses_to_a_method_nor_to_zero_information(heart, memory, method):
    base = sample_scenario("heart").replace(epsilon=4.0)
    tuned = Stages(heart, base.replace(**METHODS["DepHDP tuned"]), remember=remembering(memory)).design
    other = Stages(heart, base.replace(**METHODS[method]), remember=remembering(memory)).design
    assert tuned.predicted_loss <= other.predicted_loss * (1 + tuned.gap + 1e-9)
    assert tuned.predicted_loss <= tuned.zero_information * (1 + 1e-9)


def test_optimising_everything_is_never_worse_than_a_constant(heart, memory):
    scenario = sample_scenario("heart").replace(rule="OPT", epsilon=1.0)
    result = Stages(heart, scenario, remember=remembering(memory)).design
    assert set(result.choices) == {"OPT"}
    assert result.predicted_loss <= result.zero_information * (1 + 1e-9)


def test_regret_rule_optimises_where_more_is_saved_than_asked(heart, memory):
    scenario = sample_scenario("heart").replace(rule="regret", tau_regret=0.2)
    stages = Stages(heart, scenario, remember=remembering(memory))
    for choice, saved in zip(stages.choices, stages.regrets, strict=True):
        assert choice == ("OPT" if saved > 0.2 else "DPN")


def test_a_huge_group_is_factorised_and_certified(heart, memory):
    stages = Stages(heart, sample_scenario("heart").replace(tau_group=0.0, domain="product"),
                    remember=remembering(memory))  # fmt: skip
    result = stages.design
    huge = [c for c in result.channels if isinstance(c, FactorisedChannel)]
    assert huge
    assert not result.bound_certified
    assert result.certified_epsilon <= stages.scenario.epsilon
    assert math.isnan(result.zero_information)


def test_a_table_nobody_prepared():
    rng = np.random.default_rng(5)
    lines = ["colour;Größe;id", *(f"{'rgb'[c]};{h:.1f}".replace(".", ",") + f";k{i}" for i, (c, h) in enumerate(
        zip(rng.integers(3, size=90), rng.normal(170, 9, 90), strict=True)))]  # fmt: skip
    table = read_table("\n".join(lines).encode("cp1252"))
    result = design(table, Scenario(epsilon=2.0))
    assert [name for group in result.groups for name in group] == ["colour", "Größe"]
    assert result.certified_epsilon <= 2.0


def test_nothing_included_is_refused_with_a_sentence():
    table = read_table(b"a,b\n1,x\n2,y\n3,x\n")
    scenario = Scenario(attributes=(AttributeSpec(0, include=False), AttributeSpec(1, include=False)))
    with pytest.raises(InputError, match=r"\.$"):
        design(table, scenario)


def test_progress_may_stop_a_run(heart):
    class Stop(BaseException):
        pass

    def stop(_fraction, _sentence):
        raise Stop

    with pytest.raises(Stop):
        design(heart, sample_scenario("heart"), progress=stop)
