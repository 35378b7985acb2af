"""The tab 'On the loaded table' of the categorical tiers: every row answers for itself, counts are estimated."""

from collections.abc import Hashable
from typing import Any, Final

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from core.domain import Attribute
from core.errors import CoreError
from core.plots.template import percent, sig
from core.plots.tier_release import HistogramView, plot_histogram, table_estimates
from core.queries import count_levels
from core.tiers import (
    CategoryRelease,
    optimal_chain,
    project_nonnegative,
    project_total,
    release_categories,
    simulate_categories,
)
from core.tiers.category_comparison import CategorySettings
from pages._ui import cache, figure, inputs, late, outputs, state
from pages._ui.noise_tabs import CONTROLS

POST: Final = {"none": "As estimated", "nonnegative": "Not negative", "total": "Sums to n"}
_KEPT: Final = "category_releases"
_PROBLEM: Final = "category_release_problem"


def released(settings: CategorySettings) -> None:
    """Draw the tab: the column, the tier, and estimated counts against the true ones."""
    if not state.has_table():
        outputs.remark("No table is loaded; pick a sample at the left, or upload one on the Data page.")
        return
    try:
        _tab(settings)
    except CoreError as error:
        outputs.refusal(str(error))


def _tab(settings: CategorySettings) -> None:
    records = cache.stages().records
    names = dict(enumerate(a.name for a in records.attributes))
    column = min(int(state.option("category_column", 0)), len(names) - 1)
    tier = min(int(state.option("category_tier", 0)), len(settings.budgets) - 1)
    with st.container(horizontal=True, gap="medium", width=CONTROLS, key="category_controls"):
        cell = inputs.Cell("category_column", column, lambda i: state.set_option("category_column", i))
        inputs.choice(
            cell, options=names, key=f"category_column_{state.table().digest[:8]}", label="Column",
            help="Every row is a user whose level of this column is released under local privacy.",
        )  # fmt: skip
        tiers = {i: f"epsilon {sig(b)}" for i, b in enumerate(settings.budgets)}
        shown = inputs.Cell("category_tier", tier, lambda i: state.set_option("category_tier", i))
        inputs.choice(
            shown, options=tiers, key=f"category_tier_{len(tiers)}", label="Tier shown", help="Whose estimate is drawn."
        )  # fmt: skip
        post = inputs.segments(
            inputs.option("category_post", "none"), options=POST, label="Estimates",
            help="Post-processing without the data: cut at 0, or the nearest counts that sum to the number of users.",
        )  # fmt: skip
    codes = records.codes[:, column].astype(np.int64)
    counts = count_levels(records, column)
    attribute = records.attributes[column]
    chain = optimal_chain(settings.budgets, attribute.size, settings.objective)
    token: Hashable = (state.table().digest, column, attribute.size, hash(codes.tobytes()))
    last = _last(token, settings)
    answer = last or _simulate(codes, attribute.size, settings, chain)
    _row(token, codes, attribute.size, settings, chain)
    _show(answer, attribute, counts, tier, str(post), simulated=last is None)


def _releases() -> dict[Hashable, list[CategoryRelease]]:
    kept: dict[Hashable, list[CategoryRelease]] | None = state.option(_KEPT)
    if kept is None:
        kept = {}
        state.set_option(_KEPT, kept)
    return kept


def _last(token: Hashable, settings: CategorySettings) -> CategoryRelease | None:
    made = _releases().get(token, [])
    return made[-1] if made and made[-1].budgets == settings.budgets else None


def _simulate(codes: NDArray[np.int64], d: int, settings: CategorySettings, chain: Any) -> CategoryRelease:
    """Return a seeded simulation; it never leaves the page."""
    seed = [state.scenario().seed, int(state.option("answer_seed", 1))]
    token: Hashable = ("simulated", hash(codes.tobytes()), d, settings, tuple(seed))
    kept: CategoryRelease | None = late.recall("category_simulation", token)
    if kept is None:
        kept = simulate_categories(codes, d, settings.budgets, chain, rng=np.random.default_rng(seed))
        late.keep("category_simulation", token, kept)
    return kept


def _row(token: Hashable, codes: NDArray[np.int64], d: int, settings: CategorySettings, chain: Any) -> None:
    made = _releases().get(token, [])
    with st.container(horizontal=True, gap="medium", vertical_alignment="center", key="category_release_row"):
        st.button(
            "Release all tiers", key="release_categories", type="primary", on_click=_release,
            args=(token, codes, d, settings, chain),
            help="Exact draws for every row from the operating system's cryptographic source.",
        )  # fmt: skip
        if _last(token, settings) is None:
            again = int(state.option("answer_seed", 1)) + 1
            st.button(
                "Simulate again", key="simulate_again", on_click=lambda: state.set_option("answer_seed", again),
                help="Draws other example answers; nothing is released.",
            )  # fmt: skip
        if made:
            total = sum(max(release.certified_epsilons) for release in made)
            times = "once" if len(made) == 1 else f"{len(made)} times"
            outputs.remark(
                f"Released {times} in this session: whoever holds every answer has learned at most epsilon "
                f"**{sig(total)}** about a row's level. A second release adds to the first."
            )
        else:
            outputs.remark("Nothing is released yet: the picture is a **seeded simulation** of what a release gives.")
    if problem := state.option(_PROBLEM, ""):
        outputs.refusal(problem)
        state.set_option(_PROBLEM, "")


def _release(token: Hashable, codes: NDArray[np.int64], d: int, settings: CategorySettings, chain: Any) -> None:
    """Release with the cryptographic source; only counts and estimates are kept, no user's subsets."""
    try:
        made = release_categories(codes, d, settings.budgets, chain, keep_subsets=False)
    except CoreError as error:
        state.set_option(_PROBLEM, str(error))
        return
    _releases().setdefault(token, []).append(made)


def _show(
    answer: CategoryRelease, attribute: Attribute, counts: NDArray[np.int64], tier: int, post: str, *, simulated: bool
) -> None:
    processed = np.stack([_process(row, answer.users, post) for row in answer.estimates])
    errors = answer.standard_errors
    view = HistogramView(
        attribute.name, attribute.levels, tuple(counts.tolist()), tuple(processed[tier].tolist()),
        tuple(errors[tier].tolist()), answer.budgets[tier], simulated=simulated,
    )  # fmt: skip
    figure.figure(plot_histogram(view), key="category_histogram")
    off = float(np.sqrt(np.mean((processed[tier] - counts) ** 2)))
    known = float(np.sqrt(np.mean(errors[tier] ** 2)))
    words = "" if post == "none" else f" after post-processing ({POST[post].lower()})"
    outputs.remark(
        f"From subsets of {answer.sizes[tier]} of {attribute.size} levels, {answer.users:,} users' counts come out "
        f"**{sig(off)}** off (root mean square{words}), {percent(off / max(answer.users, 1))} of the users; the "
        f"standard error without post-processing is {sig(known)}."
    )
    outputs.table(table_estimates(attribute.levels, answer.budgets, processed, errors), name="category_estimates")


def _process(estimates: Any, users: int, post: str) -> Any:
    if post == "nonnegative":
        return project_nonnegative(estimates)
    return project_total(estimates, users) if post == "total" else estimates
