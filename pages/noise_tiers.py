"""The same number at several budgets: what it costs each recipient, and what colluders learn."""

from pages._ui.shell import guard

guard()

from typing import Final

import streamlit as st

from core.errors import CoreError
from core.plots.noise_tiers import (
    HEIGHT,
    TierView,
    explain_noise_tiers,
    plot_noise_tiers,
    table_noise_tiers,
)
from core.plots.template import sig
from core.tiers import FAMILIES
from core.tiers.comparison import NoiseComparison, NoiseSettings, compare_releases
from pages._ui import figure, inputs, late, noise_release, noise_tabs, outputs, privacy_list, state
from pages._ui.outputs import Metric

DELTAS: Final = {1e-5: "0.00001", 1e-6: "0.000001", 1e-8: "0.00000001", 1e-10: "0.0000000001"}
REACH: Final = {"msdlap": 100}
"""Largest sensitivity of the field, where the family has its own limit."""
METHOD: Final = r"""
Recipients $1..m$ have budgets $\epsilon_1 > \dots > \epsilon_m$. The **chain** releases $r_1 = q(X) + \text{noise}$
and $r_{i+1} = r_i + s_i$, where the residual $s_i$ has the characteristic function
$\Phi_{\epsilon_{i+1}}(t) / \Phi_{\epsilon_i}(t)$: every answer is a post-processing of any better one, so colluders
learn no more than the best-informed of them. **Gradual**: a base answer at $\epsilon_m$, then one at each difference
$\epsilon_j - \epsilon_{j+1}$, averaged by inverse variance. **Independent**: a fresh answer each; the errors are the
family's own best, the budgets add up. **Ideal** ($\mathrm{MSE}^*$): two-sided geometric noise at every budget, the
least error of a count, with no protection. The ratio of merit is $\max_i \mathrm{MSE}_i / \mathrm{MSE}^*_i$.
Geometric, Laplace and multi-scale Laplace noise count in pure epsilon; Gaussian noise in its $\mu$ with an
$(\epsilon, \delta)$ curve (analytic calibration); Skellam noise by its exact $(\epsilon, \delta)$.
"""


def _settings(chosen: privacy_list.ChosenList, family: str) -> NoiseSettings:
    delta = float(state.option("tier_delta", 1e-6))
    reach = min(int(state.option("tier_sensitivity", 1)), REACH.get(family, 1000))
    runs = int(state.option("tier_runs", 2000))
    return NoiseSettings(family, chosen.budgets, delta, reach, runs, state.scenario().seed)


def _controls() -> tuple[privacy_list.ChosenList, NoiseSettings]:
    family = str(
        inputs.choice(
            inputs.option("tier_family", "geometric"), options={f.name: f.title for f in FAMILIES.values()},
            label="Noise family", help="The noise of the answers. Laplace and Gaussian noise are for study only.",
        )
    )  # fmt: skip
    chosen = privacy_list.privacy_list()
    if FAMILIES[family].needs_delta:
        inputs.choice(
            inputs.option("tier_delta", 1e-6), options=DELTAS, label="Failure probability (delta)",
            help="This noise satisfies no pure epsilon; smaller is more private.",
        )  # fmt: skip
    settings = _settings(chosen, family)
    sensitivity = inputs.Cell(
        "tier_sensitivity", settings.sensitivity, lambda d: state.set_option("tier_sensitivity", d)
    )
    inputs.number(
        sensitivity, bounds=(1, REACH.get(family, 1000)), step=1, digits=0, label="Sensitivity (D)",
        help="How far one person moves the number; larger needs more noise.", show_ends=False,
    )  # fmt: skip
    return chosen, settings


def _metrics(result: NoiseComparison) -> tuple[Metric, ...]:
    budgets = result.settings.budgets
    chain, apart = result.curve("multi-tier").together, result.curve("independent").together
    return (
        Metric("Tiers (m)", str(len(budgets)), f"{sig(budgets[0])} to {sig(budgets[-1])}"),
        Metric("Chain, worst", sig(result.worst_ratio("multi-tier")), "times ideal"),
        Metric("Gradual, worst", sig(result.worst_ratio("gradual")), "times the ideal error"),
        Metric("All collude (epsilon)", sig(chain.epsilon), f"chain; {sig(apart.epsilon)} if independent"),
    )


def _compare(settings: NoiseSettings) -> NoiseComparison:
    result: NoiseComparison | None = late.recall("noise_tiers", settings)
    if result is None:
        with outputs.working("Comparing releases", token=f"noise tiers {settings}", height=HEIGHT) as progress:
            result = late.keep("noise_tiers", settings, compare_releases(settings, progress))
    assert result is not None
    return result


place = st.container(key="head_place")
main, controls = outputs.bench()
with controls:
    chosen, settings = _controls()
with main:
    try:
        result = _compare(settings)
    except CoreError as error:
        outputs.refusal(str(error))
        result = None
with place:
    outputs.head(
        "What does it cost to give the same number at several budgets?",
        "Each recipient gets the answer that the own budget allows, and some may put their answers together.",
        _metrics(result) if result else outputs.EMPTY_STRIP,
    )
if result is None:
    st.stop()
view = TierView(
    result, chosen.recipients, log=bool(state.option("tier_log", True)), picked=int(state.option("noise_step", 0))
)
with main:
    figure.figure(
        plot_noise_tiers(view),
        key="noise_tiers",
        on_pick=lambda tier: state.set_option("noise_step", max(int(tier) - 1, 0)),
    )
outputs.means(explain_noise_tiers(view))


def _truth() -> int | None:
    try:
        asked = noise_release.ask()
    except CoreError:
        return None
    return asked.query.value if asked else None


outputs.tabs(
    first={
        "Residual steps": lambda: noise_tabs.steps(settings),
        "Collusion": lambda: noise_tabs.collusion(result),
        "On the loaded table": lambda: noise_release.released(settings, chosen.recipients),
        "Accuracy first": lambda: noise_tabs.accuracy(settings, _truth()),
    },
    numbers=table_noise_tiers(view),
    method=METHOD,
    details=lambda: noise_tabs.details(result),
    name="noise_tiers",
)
