"""The tabs under the categorical tiers: chains, collusion, the loaded table, bounds, random lists."""

import itertools
import math
from collections.abc import Hashable
from typing import Any, Final

import numpy as np
import streamlit as st

from core.errors import CoreError
from core.plots.categorical_tiers import CategoryView, explain_step, table_chains
from core.plots.category_studies import (
    HEIGHT,
    STUDY_HEIGHT,
    BoundView,
    explain_study,
    plot_bounds,
    plot_coalitions,
    plot_study,
    table_coalitions,
    table_study,
)
from core.plots.template import sig
from core.plots.tier_collusion import explain_collusion, plot_collusion, table_collusion
from core.tiers import (
    CLAIMS,
    RANDOM_LISTS,
    bound_heatmap,
    chain_heatmap,
    coalition_epsilon,
    optimal_chain,
    pool_categories,
    study_category_lists,
)
from core.tiers.category_comparison import CategoryComparison, CategorySettings
from pages._ui import figure, inputs, late, outputs, state
from pages._ui.noise_tabs import CONTROLS, thin

FAILING: Final = (10, f"{math.log(6.4)!r}, {math.log(5)!r}")
"""Categories and list where expanding once lands too low: ln 6.4 to ln 5 with 10 categories."""
POOLED_CELLS: Final = 1_200_000
"""Users times categories times tiers of the collusion experiment."""
SMALL: Final = (2, 6)
"""Categories whose joint laws are enumerated."""
MEMBERS: Final = 3
CATEGORIES: Final = tuple(range(2, 101))
EPSILONS: Final = np.round(np.arange(0.1, 10.001, 0.1), 2)
REACHED: Final = (3, 4, 5, 6, 8, 10, 15, 20, 30, 50, 100)
STEPS: Final = (0.1, 0.2, 0.4, 0.8)
"""Steps of the paper's grid lists."""


def chain(view: CategoryView) -> None:
    """Show which level and size every tier gets, and the example where expansion alone fails."""
    inputs.segments(
        inputs.option("category_objective", "max_ratio"), options={"max_ratio": "Worst ratio", "total": "Total error"},
        label="The optimal chain minimises", help="What the optimal chain minimises; the other one breaks ties.",
    )  # fmt: skip
    outputs.remark(explain_step(view))
    outputs.table(table_chains(view), name="chains")
    st.button(
        "Show where one expansion lands too low", key="failing_example", on_click=_failing,
        help="10 categories, budgets ln 6.4 and ln 5: expanding a single category lands on ln 3.7.",
    )  # fmt: skip


def _failing() -> None:
    d, text = FAILING
    state.set_option("category_count", d)
    state.set_option("tier_list", "own")
    state.set_option("tier_text", text)


# --- collusion -------------------------------------------------------------------------------------------------------


def collusion(settings: CategorySettings) -> None:
    """Show the pooled error of colluders and the exact epsilon of every coalition on a small domain."""
    budgets = thin(settings.budgets, 12)
    seed = state.scenario().seed
    runs = int(np.clip(POOLED_CELLS // (settings.d * len(budgets)), 100, 20_000))
    token: Hashable = ("pool categories", settings, seed)
    curves = late.recall("pool_categories", token)
    if curves is None:
        curves = pool_categories(
            settings.d, budgets, optimal_chain(budgets, settings.d, settings.objective),
            rng=np.random.default_rng([seed, 2]), runs=runs,
        )  # fmt: skip
        late.keep("pool_categories", token, curves)
    figure.figure(plot_collusion(curves), key="category_collusion")
    outputs.remark(explain_collusion(curves))
    if len(budgets) < len(settings.budgets):
        st.caption(f"The experiment uses {len(budgets)} of the {len(settings.budgets)} tiers, spread over the list.")
    _coalitions(settings)
    outputs.table(table_collusion(curves), name="category_collusion")


def _coalitions(settings: CategorySettings) -> None:
    with st.container(width=CONTROLS // 3, key="coalition_row"):
        d = int(
            inputs.number(
                inputs.option("coalition_categories", 4), bounds=SMALL, step=1, digits=0, label="Categories enumerated",
                help="The joint law of all answers is listed in full, which needs a small domain.", show_ends=False,
            )
        )  # fmt: skip
    budgets = thin(settings.budgets, MEMBERS)
    token: Hashable = ("coalitions", budgets, d, settings.objective)
    kept = late.recall("coalitions", token)
    if kept is None:
        groups = [g for size in range(1, len(budgets) + 1) for g in itertools.combinations(range(len(budgets)), size)]
        releases: dict[str, Any] = {
            "independent": "independent",
            "gradual": "gradual",
            "optimal chain": optimal_chain(budgets, d, settings.objective),
        }
        try:
            found = {
                name: [coalition_epsilon(budgets, d, release, members) for members in groups]
                for name, release in releases.items()
            }
        except CoreError as error:
            outputs.refusal(str(error))
            return
        kept = late.keep("coalitions", token, (groups, found))
    groups, found = kept
    figure.figure(plot_coalitions(budgets, groups, found), key="coalitions")
    outputs.table(table_coalitions(budgets, groups, found), name="coalitions")


# --- bounds ----------------------------------------------------------------------------------------------------------


def bounds() -> None:
    """Show the proven bounds of both rules, and on request what the optimal chain reaches."""
    reached = late.recall("chain_heatmap", "reached")
    asked = state.option("bounds_asked", False)
    if asked and reached is None:
        with outputs.working("Searching the best chains", token="chain heatmap", height=HEIGHT) as progress:
            reached = late.keep("chain_heatmap", "reached", chain_heatmap(REACHED, STEPS, 20, progress=progress))
    view = BoundView(
        categories=CATEGORIES,
        epsilons=EPSILONS,
        first=_bound("first"),
        improved=_bound("improved"),
        reached_categories=REACHED if reached is not None else (),
        steps=STEPS,
        reached=reached,
    )
    figure.figure(plot_bounds(view), key="bounds")
    if reached is None:
        st.button(
            "Add what the optimal chain reaches", key="bounds_button",
            on_click=lambda: state.set_option("bounds_asked", True), help="On grid lists of 20 tiers; takes seconds.",
        )  # fmt: skip
    first = view.first
    row, column = np.unravel_index(int(np.argmax(first)), first.shape)
    outputs.remark(
        f"It is proven that the first rule costs at most **{sig(float(first.max()))}** times the ideal (reached at "
        f"{CATEGORIES[row]} categories, epsilon {sig(float(EPSILONS[column]))}), the improved one at most "
        f"**{sig(float(view.improved.max()))}**, over these {len(CATEGORIES)} numbers of categories."
    )


def _bound(rule: str) -> Any:
    kept = late.recall(f"bound_{rule}", rule)
    return kept if kept is not None else late.keep(f"bound_{rule}", rule, bound_heatmap(rule, CATEGORIES, EPSILONS))


# --- random lists ----------------------------------------------------------------------------------------------------


def study() -> None:
    """Run the paper's random-list experiment and show it beside the paper's claims."""
    with st.container(horizontal=True, gap="medium", width=CONTROLS, vertical_alignment="bottom", key="study_row"):
        kind = inputs.choice(
            inputs.option("study_kind", "uniform(4)"), options=tuple(RANDOM_LISTS), label="Lists",
            help="How budgets are drawn; the paper's four kinds.",
        )  # fmt: skip
        d = inputs.choice(
            inputs.option("study_d", 15), options=(15, 100), label="Categories (d)", help="The paper's two numbers."
        )  # fmt: skip
        tiers = inputs.choice(
            inputs.option("study_m", 20), options=(5, 10, 20), label="Tiers (m)", help="Budgets per list."
        )  # fmt: skip
        runs = inputs.choice(
            inputs.option("study_runs", 500), options=(50, 200, 500), label="Lists drawn", help="The paper draws 500."
        )  # fmt: skip
        wanted = (kind, d, tiers, runs, state.scenario().seed)
        st.button(
            "Run", key="study_run", on_click=lambda: state.set_option("study_wanted", wanted),
            help="Draws the lists and compares the chains on them; nothing is released.",
        )  # fmt: skip
    result = late.recall("study", wanted)
    if result is None and state.option("study_wanted") == wanted:
        with outputs.working("Comparing on random lists", token=f"study {wanted}", height=STUDY_HEIGHT) as progress:
            rng = np.random.default_rng([wanted[4], 3])
            result = study_category_lists(
                str(kind), int(d), int(tiers), rng=rng, runs=int(runs), progress=progress
            )  # fmt: skip
            late.keep("study", wanted, result)
    if result is not None:
        figure.figure(plot_study(result), key="study")
        outputs.remark(explain_study(result))
        outputs.table(table_study(result), name="random_lists")
    for name, claim in CLAIMS.items():
        st.caption(f"The paper on {name}: {claim}")


def details(result: CategoryComparison) -> None:
    """Show what stands behind the figures."""
    ideal = ", ".join(str(k) for k in dict.fromkeys(result.sizes))
    st.markdown(
        f"- Ideal subset sizes along the list: {ideal}; sizes up to {max(result.settings.d // 2, 1)} are considered.\n"
        f"- Local hashing at hash ranges {', '.join(str(g) for g in dict.fromkeys(g for _, g in result.hashing))}, "
        "its error that of an ideal pairwise-independent hash; privacy holds for any hash. The paper's appendix on it "
        "was not at hand: merging buckets is derived here.\n"
        "- Templates 2 is derived from the paper's bound, because the interval printed in the text at hand has its "
        "ends reversed."
    )
