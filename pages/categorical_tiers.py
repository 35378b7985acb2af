"""The same category at several budgets: the chain of subsets, its cost for each recipient, and what colluders learn."""

from pages._ui.shell import guard

guard()

from typing import Final

import streamlit as st

from core.errors import CoreError
from core.plots.categorical_tiers import (
    HEIGHT,
    SWATCHES,
    CategoryView,
    explain_categorical_tiers,
    key_rows,
    plot_categorical_tiers,
    table_categorical_tiers,
)
from core.plots.template import sig
from core.tiers.category_comparison import CategoryComparison, CategorySettings, compare_categories
from pages._ui import category_release, category_tabs, figure, inputs, late, outputs, privacy_list, state
from pages._ui import record_tiers as record
from pages._ui.outputs import Metric

COUNTS: Final = (2, 1000)
METHOD: Final = r"""
**Subset**$(x, k, \epsilon)$ releases a $k$-subset of the $d$ categories, with weight $e^\epsilon$ if it holds the true
one; its error over all coordinates is $V(\epsilon, k)$. Two steps degrade an answer without the data: **expansion**
adds a uniform element, $e^{\epsilon'} = (k e^\epsilon + 1)/(k + 1)$; **rescaling** keeps the subset with probability
$\beta$ or draws a uniform one. A **chain** gives tier $i$ a level $\epsilon'_i \le \epsilon_i$ and a size $k_i$ that
both steps reach from the tier before. **Templates 1 and 2** are the paper's rules. The **optimal chain** is the best of
all such chains for this list, found exactly: least worst ratio, or least total error. **Ideal**
($\mathrm{MSE}^* = V(\epsilon, k^*)$): each tier its own best size, with no protection; independent answers have this
error, and their budgets add up. **Gradual**: a fresh answer for every difference of budgets, averaged by inverse
variance. **GRR** and **BRR** (randomised response on the category, on one bit each) and **local hashing** re-sample.
"""


def _controls() -> tuple[privacy_list.ChosenList, CategorySettings]:
    d = int(
        inputs.number(
            inputs.option("category_count", 15), bounds=COUNTS, step=1, digits=0, label="Categories (d)",
            help="How many categories there are; more make every answer less accurate.", show_ends=False,
        )
    )  # fmt: skip
    chosen = privacy_list.privacy_list()
    settings = CategorySettings(d, chosen.budgets, str(state.option("category_objective", "max_ratio")))
    outputs.key(*key_rows(SWATCHES))
    return chosen, settings


def _metrics(result: CategoryComparison) -> tuple[Metric, ...]:
    first, improved = result.worst("templates 1"), result.worst("templates 2")
    return (
        Metric("Tiers (m)", str(len(result.reference)), f"of {result.settings.d} categories"),
        Metric("Chain, worst", sig(result.worst("optimal chain")), "times ideal"),
        Metric("Templates, worst", sig(improved), f"improved; {sig(first)} first rule"),
        Metric("All collude (epsilon)", sig(result.together), f"chain; {sig(result.apart)} if independent"),
    )


def _compare(settings: CategorySettings) -> CategoryComparison:
    result: CategoryComparison | None = late.recall("category_tiers", settings)
    if result is None:
        with outputs.working("Comparing releases", token=f"category tiers {settings}", height=HEIGHT) as progress:
            result = late.keep("category_tiers", settings, compare_categories(settings, progress))
    assert result is not None
    return result


def _record(settings: CategorySettings) -> None:
    try:
        record.record_tiers(settings.budgets)
    except CoreError as error:
        outputs.refusal(str(error))


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
        "What does it cost to give the same category at several budgets?",
        "Every user answers with a random subset of the categories; smaller budgets get degraded copies of it.",
        _metrics(result) if result else outputs.EMPTY_STRIP,
    )
if result is None:
    st.stop()
view = CategoryView(result, chosen.recipients)
with main:
    figure.figure(plot_categorical_tiers(view), key="categorical_tiers")
outputs.means(explain_categorical_tiers(view))
outputs.tabs(
    first={
        "Chains": lambda: category_tabs.chain(view),
        "Collusion": lambda: category_tabs.collusion(settings),
        "On the loaded table": lambda: category_release.released(settings),
        "A whole record": lambda: _record(settings),
        "Bounds": category_tabs.bounds,
        "Random lists": category_tabs.study,
    },
    numbers=table_categorical_tiers(view),
    method=METHOD,
    details=lambda: category_tabs.details(result),
    name="categorical_tiers",
)
