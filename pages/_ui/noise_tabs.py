"""The tabs under the noise tiers: residual steps, collusion, the loaded table, accuracy first."""

from collections.abc import Hashable
from typing import Any, Final

import numpy as np
import streamlit as st

from core.errors import CoreError, InputError
from core.plots.template import sig
from core.plots.tier_collusion import explain_collusion, plot_collusion, table_accounts, table_collusion
from core.plots.tier_release import explain_accuracy, plot_accuracy
from core.plots.tier_steps import StepView, explain_step, plot_step, view_check, view_residual
from core.tiers import (
    FAMILIES,
    accuracy_first,
    check_residual,
    check_step,
    count_coalition_epsilon,
    multi_tier_mse,
    pool_noise,
    residual,
    simulate_multi_tier,
)
from core.tiers.comparison import NoiseComparison, NoiseSettings
from core.tiers.pasted import parse_probabilities
from pages._ui import figure, inputs, late, outputs, state

RUN_BOUNDS: Final = (100, 20_000)
STEP_SOURCES: Final = {
    "list": "This list",
    "discrete gaussian": "Discrete Gaussian",
    "staircase": "Staircase",
    "own": "Own probabilities",
}
CONTROLS: Final = 760
"""Width of a row of controls in a tab."""
POOLED_TIERS: Final = 24
"""Tiers of the collusion experiment; longer lists are thinned."""
POOL_RUNS: Final = 20_000
POOL_DRAWS: Final = 300_000
ENUMERATED: Final = 3
"""Colluders whose joint law is enumerated."""
FINE: Final = 100
"""Budgets of the fine list of the accuracy-first walk."""
FINE_SKELLAM: Final = 24
"""The same for Skellam noise, whose every budget is a search."""
_OWN_FROM: Final = "0.05, 0.2, 0.5, 0.2, 0.05"
_OWN_TO: Final = "0.1, 0.2, 0.4, 0.2, 0.1"


# --- residual steps --------------------------------------------------------------------------------------------------


def steps(settings: NoiseSettings) -> None:
    """Show one residual step: of the list, or of noise that only the checker can judge."""
    with st.container(horizontal=True, gap="medium", width=CONTROLS, key="step_controls"):
        source = inputs.choice(
            inputs.option("step_source", "list"), options=STEP_SOURCES, label="Noise",
            help="Steps of the list above, or noise on the integers whose residual the checker computes.",
        )  # fmt: skip
        try:
            view, label = _step(str(source), settings)
        except CoreError as error:
            outputs.refusal(str(error))
            return
    said = explain_step(view, label)
    outputs.refusal(said) if view.verdict == "invalid" else outputs.remark(said)
    figure.figure(plot_step(view), key="step")


def _step(source: str, settings: NoiseSettings) -> tuple[StepView, str]:
    if source == "list":
        return _list_step(settings)
    if source == "own":
        before = _text("step_own_from", _OWN_FROM, "Probabilities before")
        after = _text("step_own_to", _OWN_TO, "Probabilities after")
        check = check_residual(parse_probabilities(before), parse_probabilities(after))
        return view_check(check), "From the first to the second noise"
    if source == "staircase":
        high = _field("step_from", 2.0, "From epsilon", (0.05, 20.0))
        low = _field("step_to", 1.0, "To epsilon", (0.05, 20.0))
        reach = int(_field("step_reach", 3, "Sensitivity", (1, 50)))
        edge = int(_field("step_edge", min(1, reach), "Step at", (1, reach)))
        check = check_step("staircase", high, low, sensitivity=reach, step=min(edge, reach))
        return view_check(check), f"Staircase noise, epsilon {high:g} to {low:g}"
    first = _field("step_variance_from", 1.0, "From variance", (0.05, 500.0))
    second = _field("step_variance_to", 2.0, "To variance", (0.05, 500.0))
    return view_check(check_step(source, first, second)), f"Discrete Gaussian noise, variance {first:g} to {second:g}"


def _field(name: str, default: float, label: str, bounds: tuple[float, float]) -> float:
    whole = isinstance(default, int)
    return float(
        inputs.number(
            inputs.option(name, default), bounds=bounds, step=1 if whole else 0.1, digits=0 if whole else 2,
            label=label, help="A larger variance or a smaller epsilon is more private.", show_ends=False,
        )
    )  # fmt: skip


def _text(name: str, default: str, label: str) -> str:
    value = str(state.option(name, default))
    state.seat(name, value)

    def changed() -> None:
        meant, text = state.reported(name)
        if meant and text is not None:
            state.set_option(name, text)

    st.text_input(
        label,
        value=value,
        key=name,
        on_change=changed,
        help="Probabilities of ..., −1, 0, 1, ..., centred on 0, that sum to 1.",
    )
    return value


def _list_step(settings: NoiseSettings) -> tuple[StepView, str]:
    budgets = settings.budgets
    if len(budgets) == 1:
        raise InputError("The step", "A list of one tier has no step; add a budget.")
    options = {i: f"{sig(budgets[i])} to {sig(budgets[i + 1])}" for i in range(len(budgets) - 1)}
    picked = min(int(state.option("noise_step", 0)), len(budgets) - 2)
    cell = inputs.Cell("noise_step", picked, lambda i: state.set_option("noise_step", i))
    chosen = int(
        inputs.choice(
            cell, options=options, label="Step", help="Which step of the chain; a click on a tier picks it too.",
            key=f"choice_noise_step_{len(budgets)}",
        )
    )  # fmt: skip
    step = residual(settings.family, *budgets[chosen : chosen + 2], settings.delta, settings.sensitivity)
    return view_residual(step), f"{FAMILIES[settings.family].title} noise, epsilon {options[chosen]}"


# --- collusion -------------------------------------------------------------------------------------------------------


def thin(budgets: tuple[float, ...], most: int = POOLED_TIERS) -> tuple[float, ...]:
    """Return at most `most` budgets spread over the list, the first and the last among them."""
    if len(budgets) <= most:
        return budgets
    return tuple(budgets[i] for i in sorted({round(j * (len(budgets) - 1) / (most - 1)) for j in range(most)}))


def collusion(result: NoiseComparison) -> None:
    """Show the pooled error of colluders, and what they learn in the family's own accounting."""
    settings = result.settings
    weighting = inputs.segments(
        inputs.option("pool_weights", "theory"),
        options={"theory": "Weights by theory", "held out": "Fitted on the other half"},
        label="Weights of the combination",
        help="By formula, or fitted on half of the simulated releases and judged on the other half.",
    )
    budgets = thin(settings.budgets)
    token: Hashable = ("pool", settings, weighting)
    curves = late.recall("pool", token)
    if curves is None:
        rng, runs = np.random.default_rng([settings.seed, 1]), _pool_runs(settings, len(budgets))
        curves = pool_noise(
            settings.family, budgets, rng=rng, runs=runs,
            delta=settings.delta, sensitivity=settings.sensitivity, weighting=str(weighting),
        )  # fmt: skip
        late.keep("pool", token, curves)
    figure.figure(plot_collusion(curves), key="collusion")
    outputs.remark(explain_collusion(curves))
    if len(budgets) < len(settings.budgets):
        st.caption(f"The experiment uses {len(budgets)} of the {len(settings.budgets)} tiers, spread over the list.")
    family = FAMILIES[settings.family]
    _enumerated(settings)
    outputs.table(table_collusion(curves), name="collusion")
    st.caption(f"What all {len(settings.budgets)} recipients learn together, counted in {family.accounting}:")
    outputs.table(table_accounts(result.curves), name="collusion_accounts")


def _pool_runs(settings: NoiseSettings, tiers: int) -> int:
    """Return how many releases are pooled: the effect is a few percent, so more than for the errors themselves."""
    terms = settings.sensitivity if settings.family == "msdlap" else 1
    return max(settings.affordable_runs, min(POOL_RUNS, POOL_DRAWS // (tiers * terms)))


def _enumerated(settings: NoiseSettings) -> None:
    """Show the exact epsilon of the best-informed colluders by enumeration, where the noise allows."""
    members = settings.budgets[:ENUMERATED]
    if settings.family not in ("geometric", "msdlap") or len(members) < 2:
        return
    token: Hashable = ("enumerated", settings.family, members, settings.sensitivity)
    found = late.recall("enumerated", token)
    if found is None:
        kind = {"family": settings.family, "sensitivity": settings.sensitivity}
        try:
            found = {name: count_coalition_epsilon(members, name, **kind) for name in ("multi-tier", "independent")}
        except CoreError:
            return
        late.keep("enumerated", token, found)
    outputs.remark(
        f"Checked by listing the joint law of the {len(members)} best-informed answers on a window: epsilon "
        f"**{sig(found['multi-tier'], 4)}** under the chain, **{sig(found['independent'], 4)}** if independent."
    )


# --- accuracy first --------------------------------------------------------------------------------------------------


def accuracy(settings: NoiseSettings, truth: int | None) -> None:
    """Show the walk from the smallest budget up to the first tier that is accurate enough."""
    count = FINE_SKELLAM if settings.family == "skellam" else FINE
    with st.container(horizontal=True, gap="medium", width=CONTROLS, key="accuracy_controls"):
        fine = inputs.segments(
            inputs.option("accuracy_list", "fine"), options={"fine": f"{count} budgets", "list": "This list"},
            label="Walk through", help="A fine list up to the largest budget wastes less than the list itself.",
        )  # fmt: skip
        relative = inputs.segments(
            inputs.option("accuracy_kind", "absolute"),
            options={"absolute": "Standard deviation", "relative": "Share of the answer"},
            label="Error", help="The known error of a tier, or its share of the answer; never judged by the truth.",
        ) == "relative" and truth is not None  # fmt: skip
        budgets = settings.budgets if fine == "list" else _fine(settings.budgets[0], count)
        try:
            mse = multi_tier_mse(settings.family, budgets, delta=settings.delta, sensitivity=settings.sensitivity)
        except CoreError as error:
            outputs.refusal(str(error))
            return
        errors = np.sqrt(mse)
        answers: Any = None
        if relative:
            rng = np.random.default_rng(settings.seed)
            answers = simulate_multi_tier(
                settings.family, budgets, rng=rng, runs=2, value=float(truth or 0), delta=settings.delta,
                sensitivity=settings.sensitivity,
            )[0]  # fmt: skip
            errors = errors / np.maximum(np.abs(answers), 1.0)
        name = "accuracy_share" if relative else "accuracy_target"
        start = float(f"{np.sqrt(errors.min() * errors.max()):.2g}")
        target = float(
            inputs.number(
                inputs.option(name, start), bounds=(1e-6, 1e9), step=start / 10, digits=inputs.decimals(start),
                label="Target error", help="Largest acceptable error; a larger one spends less.", show_ends=False,
            )
        )  # fmt: skip
    found = accuracy_first(budgets, mse, target, answers)
    picture = plot_accuracy(budgets, errors.tolist(), found, target, relative=relative)
    figure.figure(
        picture, key="accuracy", on_drag=lambda values: state.set_option(name, float(f"{values['target']:.3g}"))
    )
    outputs.remark(explain_accuracy(budgets, found, target))
    if relative:
        st.caption("The walk opens simulated answers (seeded) to the query of the tab “On the loaded table”.")


def _fine(top: float, count: int) -> tuple[float, ...]:
    return tuple(top * i / count for i in range(count, 0, -1))


# --- details ---------------------------------------------------------------------------------------------------------


def details(result: NoiseComparison) -> None:
    """Show how the picture is drawn and simulated."""
    with st.container(horizontal=True, gap="medium", width=CONTROLS, vertical_alignment="bottom", key="drawing"):
        inputs.number(
            inputs.option("tier_runs", result.settings.runs), bounds=RUN_BOUNDS, step=500, digits=0,
            label="Simulated releases", help="More give smaller error bars; nothing is released.", show_ends=False,
        )  # fmt: skip
        inputs.toggle(
            inputs.option("tier_log", True), label="Log budgets", help="Draw the budget axis on a logarithmic scale."
        )
    if result.runs < result.settings.runs:
        st.caption(f"{result.runs:,} releases are simulated, because the list and the sensitivity are large.")
    chain, alone = result.worst_ratio("multi-tier"), result.own_ratio("multi-tier")
    own = FAMILIES[result.settings.family]
    st.markdown(
        f"- {own.title} noise, {own.accounting}. The chain's error is at most **{sig(alone)}** times "
        f"the family's own best and **{sig(chain)}** times the ideal of a count (two-sided geometric noise).\n"
        f"- Simulations are seeded ({result.settings.seed}) and never leave; a release draws from the operating "
        "system's cryptographic source."
    )
