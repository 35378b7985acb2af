"""The sentence under every figure: each of its numbers is in the result, and follows the scenario."""

import html
import math
import re
from collections.abc import Callable, Hashable
from typing import Any, Final

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from core.channel import TOTAL
from core.pipeline import Stages
from core.plots.grouping import group_label, threshold_text
from core.plots.template import percent, sig
from core.release import plan_release
from core.scenario import AttributeSpec, Scenario
from core.stability import why_radial
from core.table import load_sample, sample_scenario
from pages._ui import link, state
from tests.pages.opening import opened, start_by_the_main_page, words

NUMBER: Final = re.compile(r"(?<![\w.,])(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?!\w)")
QUICK: Final = {"rule": "DPN"}
"""Without optimisation the design is quick; the sentences are the same."""
SMALL: Final = {"tau_dim": 10}
"""Only small groups are solved for what they would gain."""
KEPT: Final[dict[Hashable, Any]] = {}
Facts = Callable[[Stages], set[str]]


@pytest.fixture(autouse=True)
def _frame(monkeypatch: pytest.MonkeyPatch) -> None:
    start_by_the_main_page(monkeypatch)
    monkeypatch.setattr(state, "_STALE", 0.0)


def heart(**changes: Any) -> Scenario:
    return sample_scenario("heart").replace(**(QUICK | changes))


def stages_of(scenario: Scenario) -> Stages:
    def remember(key: Hashable, compute: Callable[[], Any]) -> Any:
        if key not in KEPT:
            KEPT[key] = compute()
        return KEPT[key]

    return Stages(load_sample("heart"), scenario, remember=remember)


def sentence(app: AppTest) -> str:
    assert not app.exception
    found = re.findall(r'<p class="means">(.*?)</p>', words(app))
    return html.unescape(re.sub(r"</?b>", "", found[0]))


def numbers(said: str, names: set[str]) -> set[str]:
    """Return the numbers of a sentence; those inside names are none."""
    for name in sorted(names, key=len, reverse=True):
        said = said.replace(name, "")
    return set(NUMBER.findall(said))


def written(*values: float | str) -> set[str]:
    """Return values as sentences write them: whole numbers in full, others with three digits, texts without signs."""
    texts = (v if isinstance(v, str) else f"{v:,}" if isinstance(v, int) else sig(float(v)) for v in values)
    return {number for text in texts for number in NUMBER.findall(text)}


def of_data(stages: Stages) -> set[str]:
    codes = stages.records.codes
    _, counts = np.unique(codes, axis=0, return_counts=True)
    product = math.prod(stages.records.sizes)
    return written(len(codes), codes.shape[1], product / 10**6, len(counts), int((counts == 1).sum()))


def of_dependencies(stages: Stages) -> set[str]:
    sizes = [len(members) for members in stages.groups]
    floor = stages.noise_floor.maximum
    return written(
        threshold_text(stages.scenario.tau_group), sum(sizes), len(sizes), max(sizes), sizes.count(1), sig(floor)
    )


def of_losses(stages: Stages) -> set[str]:
    effect = [b * p.pair_loss.max() for b, p in zip(stages.surrogate.beta, stages.profiles, strict=True)]
    profile = stages.profiles[int(np.argmax(effect))]
    evidence = why_radial(profile.pair_distance, profile.pair_loss, profile.radial)
    return written(percent(evidence.explained), evidence.spread, percent(stages.surrogate.r2))


def of_mechanisms(stages: Stages) -> set[str]:
    saved = [stages.saving(k) for k in range(len(stages.groups))]
    return written(stages.choices.count("OPT"), len(saved), percent(np.nanmax(saved)))


def of_budget(stages: Stages) -> set[str]:
    design = stages.design
    saved = 1 - design.predicted_loss / stages.uniform_loss
    none = sum(share == 0 for share in design.allocation)
    return written(
        design.predicted_loss, stages.uniform_loss, percent(saved), max(design.allocation), design.certified_epsilon,
        design.scenario.epsilon,
    ) | ({str(none), str(len(design.groups))} if none else set())  # fmt: skip


def of_release(stages: Stages) -> set[str]:
    blocks = plan_release(stages).blocks
    first = stages.records.codes[0]
    states = [block.state_of(tuple(int(first[i]) for i in block.members))[0] for block in blocks]
    stays = [int(block.channel.weights[x, x]) / TOTAL for block, x in zip(blocks, states, strict=True)]
    blind = sum(block.channel.certified_epsilon == 0 for block in blocks)
    return written(1, sum(stays), len(blocks), blind)


@pytest.mark.parametrize(
    ("page", "facts", "first", "second"),
    [
        ("data", of_data, {}, {"attributes": (AttributeSpec(0, include=False), *sample_scenario("heart").attributes)}),
        ("dependencies", of_dependencies, {}, {"tau_group": 0.12}),
        ("losses", of_losses, {}, {"task": "mean"}),
        ("mechanisms", of_mechanisms, SMALL, SMALL | {"epsilon": 2.0}),
        ("budget", of_budget, {}, {"epsilon": 2.0}),
        ("release", of_release, {}, {"epsilon": 2.0}),
    ],
)
def test_every_number_is_in_the_result_and_follows_the_scenario(
    page: str, facts: Facts, first: dict[str, Any], second: dict[str, Any]
) -> None:
    said = []
    for scenario in (heart(**first), heart(**second)):
        stages = stages_of(scenario)
        app = opened(page, **link.write("heart", scenario, sample_scenario("heart")))
        names = {a.name for a in stages.records.attributes} | {group_label(g) for g in stages.group_names}
        found = numbers(sentence(app), names)
        assert found, "a sentence without a number tells nothing"
        assert found <= facts(stages), sentence(app)
        said.append(found)
    assert said[0] != said[1]


def test_the_concept_follows_its_handles() -> None:
    app = opened("concepts")
    said = []
    for epsilon in (0.5, 1.25):
        next(s for s in app.slider if s.label == "Budget (epsilon)").set_value(epsilon).run()
        apart = abs(app.number_input[1].value - app.number_input[0].value)
        found = numbers(sentence(app), set())
        assert sig(math.exp(epsilon * apart)) in found
        assert found <= written(int(apart), epsilon, math.exp(epsilon * apart), percent(1.0))
        said.append(found)
    assert said[0] != said[1]


def _column(app: AppTest, name: str) -> Any:
    return next(frame.value[name] for frame in app.dataframe if name in frame.value)


@pytest.mark.parametrize(
    ("page", "ratios"),
    [
        ("noise_tiers", ("multi-tier over ideal", "gradual over ideal")),
        ("categorical_tiers", ("optimal chain over ideal", "templates 2 over ideal", "templates 1 over ideal",
                               "gradual over ideal")),
    ],
)  # fmt: skip
def test_tiers_follow_the_privacy_list(page: str, ratios: tuple[str, ...]) -> None:
    app = opened(page)
    said = []
    for step in range(2):
        lists = next(box for box in app.selectbox if box.label == "Privacy list (L)")
        if step:
            lists.set_value("grid").run()
        epsilons = _column(app, "epsilon").tolist()
        worst = [float(_column(app, name).max()) for name in ratios]
        found = numbers(sentence(app), set())
        assert found <= written(len(epsilons), max(epsilons), math.fsum(epsilons), *worst), sentence(app)
        said.append(found)
    assert said[0] != said[1]
