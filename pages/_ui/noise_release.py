"""The tab 'On the loaded table': one query, every tier's answer, by seeded simulation or by exact release."""

import math
from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import streamlit as st

from core.domain import Records
from core.errors import CoreError, InputError
from core.plots.template import sig
from core.plots.tier_release import (
    AnswerView,
    HistogramView,
    explain_answers,
    plot_answers,
    plot_histogram,
    table_answers,
    table_histogram,
)
from core.queries import BOUND_LIMIT, TableQuery, count_levels, count_rows, numeric_columns, sum_column
from core.tiers import (
    FAMILIES,
    Budgets,
    CountRelease,
    insert_count,
    multi_tier_mse,
    release_count,
    release_histogram,
    simulate_multi_tier,
    wrong_insertion_epsilon,
)
from core.tiers.comparison import NoiseSettings
from core.tiers.release import check_exact_family
from pages._ui import cache, figure, inputs, outputs, state

CONTROLS: Final = 760
"""Width of a row of controls."""
QUERIES: Final = {"count": "Count", "sum": "Sum", "histogram": "Histogram"}
_KEPT: Final = "tier_releases"
_PROBLEM: Final = "tier_release_problem"
"""Why the last click released nothing; shown once."""
_LEVELS_SHOWN: Final = 60
"""Most cells of a released histogram."""


@dataclass(frozen=True, eq=False)
class Asked:
    """What is asked of the table.

    Parameters
    ----------
    query : TableQuery
        The number, for a count or a sum; its value stands for the accuracy-first walk too.
    counts, labels : tuple
        Cells of a histogram, else empty.
    """

    query: TableQuery
    counts: tuple[int, ...] = ()
    labels: tuple[str, ...] = ()


def ask() -> Asked | None:
    """Return the query that the widgets of this tab stand for, without drawing them; None where there is no table."""
    if not state.has_table():
        return None
    records = cache.stages().records
    kind, attribute = state.option("query_kind", "count"), _attribute(records)
    if kind == "sum":
        frame = state.table().frame
        columns = numeric_columns(frame)
        if columns:
            column = _among(state.option("query_column"), columns)
            low, high = _bounds(column)
            return Asked(sum_column(frame, column, low, high))
    chosen = records.attributes[attribute]
    if kind == "histogram":
        if chosen.size > _LEVELS_SHOWN:
            raise InputError(
                "The query",
                f"{chosen.name} has {chosen.size} levels, more than the {_LEVELS_SHOWN} of a histogram here; pick "
                "another column or use fewer bins on the Data page.",
            )
        counts = count_levels(records, attribute)
        title = f"Histogram of {chosen.name}"
        return Asked(TableQuery(title, int(counts.max()), 1, len(records)), tuple(counts.tolist()), chosen.levels)
    return Asked(count_rows(records, attribute, _level(records, attribute)))


def _attribute(records: Records) -> int:
    return min(int(state.option("query_attribute", 0)), len(records.attributes) - 1)


def _level(records: Records, attribute: int) -> int:
    return min(int(state.option("query_level", 0)), records.attributes[attribute].size - 1)


def _among(wanted: Any, options: tuple[str, ...]) -> str:
    return wanted if wanted in options else options[0]


def _bounds(column: str) -> tuple[int, int]:
    low, high = state.option(f"query_bounds {column}", (0, 100))
    return int(low), int(high)


def released(settings: NoiseSettings, recipients: tuple[str, ...]) -> None:
    """Draw the tab: the query, every tier's answer, and the button that releases."""
    if not state.has_table():
        outputs.remark("No table is loaded; pick a sample at the left, or upload one on the Data page.")
        return
    try:
        _controls()
        asked = ask()
    except CoreError as error:
        outputs.refusal(str(error))
        return
    assert asked is not None
    sized = replace(settings, sensitivity=asked.query.sensitivity)
    try:
        _answers(asked, sized, recipients)
    except CoreError as error:
        outputs.refusal(str(error))


def _controls() -> None:
    records = cache.stages().records
    source = state.table().digest[:8]
    with st.container(horizontal=True, gap="medium", width=CONTROLS, key="query_controls"):
        kind = inputs.segments(
            inputs.option("query_kind", "count"), options=QUERIES, label="Query",
            help="A number asked of the loaded table: rows with one level, a sum between public bounds, or all counts.",
        )  # fmt: skip
        if kind == "sum":
            _sum_controls(source)
            return
        attribute = _attribute(records)
        cell = inputs.Cell("query_attribute", attribute, lambda i: state.set_option("query_attribute", i))
        inputs.choice(
            cell, options=dict(enumerate(a.name for a in records.attributes)), key=f"query_attribute_{source}",
            label="Column", help="Columns as they are coded on the Data page.",
        )  # fmt: skip
        if kind == "count":
            level = inputs.Cell(
                "query_level", _level(records, attribute), lambda i: state.set_option("query_level", i)
            )  # fmt: skip
            inputs.choice(
                level, options=dict(enumerate(records.attributes[attribute].levels)),
                key=f"query_level_{source}_{attribute}", label="Level", help="Rows with this level are counted.",
            )  # fmt: skip


def _sum_controls(source: str) -> None:
    columns = numeric_columns(state.table().frame)
    if not columns:
        raise InputError(
            "The query", "No column of this table holds numbers, so nothing can be summed; ask for a count."
        )
    column = _among(state.option("query_column"), columns)
    cell = inputs.Cell("query_column", column, lambda name: state.set_option("query_column", name))
    inputs.choice(cell, options=columns, key=f"query_column_{source}", label="Column", help="The values to sum.")
    name = f"query_bounds {column}"
    low, high = _bounds(column)
    for place, label, value in ((0, "At least", low), (1, "At most", high)):

        def write(new: int, place: int = place) -> None:
            state.set_option(name, (int(new), high) if place == 0 else (low, int(new)))

        inputs.number(
            inputs.Cell(f"bound{place}", value, write), bounds=(-BOUND_LIMIT, BOUND_LIMIT), step=1, digits=0,
            key=f"bound{place}_{source}_{columns.index(column)}", label=label, show_ends=False,
            help="Public bounds: what the values can be, not what they are. Wider bounds need more noise.",
        )  # fmt: skip


def _token(asked: Asked, settings: NoiseSettings) -> Hashable:
    query = asked.query
    return state.table().digest, query.title, query.value, asked.counts, query.sensitivity, _family(settings, asked)


def _family(settings: NoiseSettings, asked: Asked) -> str:
    """Return the family of the release; a histogram's counts move by 1, so MSDLap is geometric noise there."""
    return "geometric" if asked.counts and settings.family == "msdlap" else settings.family


def _releases() -> dict[Hashable, list[tuple[CountRelease, ...]]]:
    kept: dict[Hashable, list[tuple[CountRelease, ...]]] | None = state.option(_KEPT)
    if kept is None:
        kept = {}
        state.set_option(_KEPT, kept)
    return kept


def _answers(asked: Asked, settings: NoiseSettings, recipients: tuple[str, ...]) -> None:
    token, family = _token(asked, settings), _family(settings, asked)
    made = _releases().get(token, [])
    last = made[-1] if made and made[-1][0].budgets[: len(settings.budgets)] == settings.budgets else None
    try:
        check_exact_family(family)
        refused = ""
    except CoreError as error:
        refused = str(error)
    with st.container(horizontal=True, gap="medium", vertical_alignment="center", key="release_row"):
        st.button(
            "Release all tiers", key="release_tiers", type="primary", disabled=bool(refused), on_click=_release,
            args=(asked, settings, token), help="Exact integer noise from the operating system's cryptographic source.",
        )  # fmt: skip
        if last is None:
            again = int(state.option("answer_seed", 1)) + 1
            st.button(
                "Simulate again", key="simulate_again", on_click=lambda: state.set_option("answer_seed", again),
                help="Draws other example answers; nothing is released.",
            )  # fmt: skip
        if made:
            total = sum(max(release[0].certified_epsilons) for release in made)
            times = "once" if len(made) == 1 else f"{len(made)} times"
            outputs.remark(
                f"Released {times} in this session: whoever holds everything has learned at most epsilon "
                f"**{sig(total)}** about a row. A second release adds to the first."
            )
        elif refused:
            outputs.refusal(refused)
        else:
            outputs.remark("Nothing is released yet: the picture is a **seeded simulation** of what a release gives.")
    if problem := state.option(_PROBLEM, ""):
        outputs.refusal(problem)
        state.set_option(_PROBLEM, "")
    _histogram(asked, settings, last) if asked.counts else _number(asked, settings, last, recipients, token)


def _release(asked: Asked, settings: NoiseSettings, token: Hashable) -> None:
    """Release with the cryptographic source; the only place of this page where the data leaves."""
    try:
        if asked.counts:
            made = release_histogram(asked.counts, settings.budgets)
        else:
            made = (
                release_count(
                    asked.query.value, settings.budgets, settings.family, sensitivity=asked.query.sensitivity
                ),
            )
    except CoreError as error:
        state.set_option(_PROBLEM, str(error))
        return
    _releases().setdefault(token, []).append(made)


def _rng(settings: NoiseSettings) -> np.random.Generator:
    """Return the seeded generator of this tab's simulation; it never makes a release."""
    return np.random.default_rng([settings.seed, int(state.option("answer_seed", 1))])


def _number(
    asked: Asked,
    settings: NoiseSettings,
    last: tuple[CountRelease, ...] | None,
    recipients: tuple[str, ...],
    token: Hashable,
) -> None:
    query = asked.query
    if last is None:
        mse = multi_tier_mse(
            settings.family, settings.budgets, delta=settings.delta, sensitivity=query.sensitivity
        )  # fmt: skip
        answers = simulate_multi_tier(
            settings.family, settings.budgets, rng=_rng(settings), runs=2, value=query.value, delta=settings.delta,
            sensitivity=query.sensitivity,
        )[0]  # fmt: skip
        if FAMILIES[settings.family].discrete:
            answers = np.rint(answers).astype(np.int64)
        view = AnswerView(
            query.title, query.value, settings.budgets, tuple(answers.tolist()), tuple(np.sqrt(mse).tolist()),
            (math.nan,) * len(mse), recipients,
        )  # fmt: skip
    else:
        view = _released_view(query, last[0], recipients)
    figure.figure(plot_answers(view), key="answers")
    outputs.remark(explain_answers(view))
    outputs.table(table_answers(view), name="tier_answers")
    if last is not None and last[0].family == "geometric":
        _later(last[0], token)


def _released_view(query: TableQuery, release: CountRelease, recipients: tuple[str, ...]) -> AnswerView:
    """Return the picture of a release, tiers from the largest budget down, with those added later."""
    order = sorted(range(len(release)), key=lambda i: (-release.budgets[i], i))
    names = recipients or tuple(f"tier {i + 1}" for i in range(len(release)))
    named = {i: names[i] if i < len(names) else "added later" for i in range(len(release))}
    return AnswerView(
        query.title, query.value, *(
            tuple(values[i] for i in order)
            for values in (
                release.budgets, release.values, release.standard_deviations, release.certified_epsilons,
                [named[i] for i in range(len(release))],
            )
        ),
        simulated=False,
    )  # fmt: skip


def _later(release: CountRelease, token: Hashable) -> None:
    """Offer a tier for a recipient who comes later, drawn from the answers that are already out."""
    budgets = Budgets(tuple(sorted(release.budgets, reverse=True)))
    middle = math.sqrt(budgets[0] * budgets[1]) if len(budgets) > 1 else budgets[0] / 2
    with st.container(horizontal=True, gap="medium", width=CONTROLS // 2, vertical_alignment="bottom", key="later_row"):
        budget = inputs.number(
            inputs.option("later_budget", round(middle, 2)), bounds=(0.01, 50.0), step=0.1, label="Budget of one more",
            help="A recipient who comes later; the answer is drawn from the released ones, without the data.",
            show_ends=False,
        )  # fmt: skip
        st.button(
            "Add this tier", key="add_tier", on_click=_add, args=(release, float(budget), token),
            help="Draws its answer from those of the neighbouring tiers; it is a release.",
        )  # fmt: skip
    wrong = wrong_insertion_epsilon((2.0, 1.3, 0.6))
    st.caption(
        "The answer is drawn given both neighbours. Drawn from the higher one alone at budgets 2, 1.3, 0.6, the two "
        f"lower recipients would together learn epsilon {sig(wrong)} instead of 1.30."
    )


def _add(release: CountRelease, budget: float, token: Hashable) -> None:
    try:
        made = insert_count(release, budget)
    except CoreError as error:
        state.set_option(_PROBLEM, str(error))
        return
    _releases()[token][-1] = (made,)


def _histogram(asked: Asked, settings: NoiseSettings, last: tuple[CountRelease, ...] | None) -> None:
    count = len(settings.budgets)
    tier = min(int(state.option("histogram_tier", 0)), count - 1)
    cell = inputs.Cell("histogram_tier", tier, lambda i: state.set_option("histogram_tier", i))
    with st.container(width=CONTROLS // 2, key="histogram_row"):
        inputs.choice(
            cell, options={i: f"tier {i + 1}, epsilon {sig(b)}" for i, b in enumerate(settings.budgets)},
            key=f"histogram_tier_{count}", label="Tier shown", help="Whose histogram is drawn.",
        )  # fmt: skip
    family = _family(settings, asked)
    deviation = float(
        np.sqrt(multi_tier_mse(family, settings.budgets, delta=settings.delta)[tier])
    )  # fmt: skip
    if last is None:
        noise = simulate_multi_tier(
            family, settings.budgets, rng=_rng(settings), runs=max(len(asked.counts), 2), delta=settings.delta
        )[: len(asked.counts), tier]  # fmt: skip
        estimates = tuple((np.asarray(asked.counts) + noise).tolist())
    else:
        estimates = tuple(float(released.values[tier]) for released in last)
    title = asked.query.title.removeprefix("Histogram of ")
    view = HistogramView(
        title, asked.labels, asked.counts, estimates, (deviation,) * len(estimates), settings.budgets[tier],
        simulated=last is None,
    )  # fmt: skip
    figure.figure(plot_histogram(view), key="tier_histogram")
    st.caption("A row sits in one cell, so the whole histogram costs the budget of one count.")
    if last is not None:
        outputs.table(table_histogram(asked.labels, settings.budgets, [c.values for c in last]), name="tier_histogram")
