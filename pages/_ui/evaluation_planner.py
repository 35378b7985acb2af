"""Choosing: which epsilon a target error needs at a sample size, and which thresholds are worth their time."""

from collections.abc import Iterator
from functools import partial
from typing import Any, Final

import streamlit as st

from core.evaluation.planner import PLANNED_REPEATS, TRYING, Plan, Recommendation, plan_epsilon, recommend_thresholds
from core.plots.evaluation_looks import look_of
from core.plots.evaluation_studies import HEIGHT, explain_plan, plot_plan, table_plan
from core.plots.evaluation_thresholds import explain_thresholds, plot_thresholds, table_thresholds
from pages._ui import cache, evaluation_bar, evaluation_runs, figure, outputs, state
from pages._ui import inputs as widgets
from pages._ui.background import Job, Teller
from pages._ui.evaluation_studies import found_by

MODES: Final = {"epsilon": "Epsilon", "thresholds": "Thresholds"}
PLANNED: Final = ("DepHDP tuned", "DepHDP-m", "DepHDP-r", "ALC+RMP")
_REPEATS: Final = PLANNED_REPEATS // 3
_RECORDS: Final = (10, 20_000)
METHOD: Final = r"""
**Epsilon**: samples of the chosen size are drawn with replacement from the configuring records and released; the band
holds 95 % of the end-task errors over samples and releases, the interval of epsilon is where the 95 % interval of the
mean crosses the target. The plan rests on the population being like these records. **Thresholds**: candidates are
tried on calibration rows, a part of the fitting rows, the cheap ones first, until the time is over; the test rows are
not looked at, so that a later comparison is a fair one.
"""


def show() -> None:
    """Show one of the two."""
    mode = state.option("planner_mode", "epsilon")
    (_thresholds if mode == "thresholds" else _epsilon)()


def _mode() -> None:
    widgets.segments(
        widgets.option("planner_mode", "epsilon"), options=MODES, label="Choose",
        help="Which epsilon reaches a target error, or which thresholds lose least within a time.",
    )  # fmt: skip


def _plan_job(method: str, size: int) -> Job:
    given, epsilons = evaluation_runs.inputs(), evaluation_runs.settings().epsilons

    def produce(teller: Teller) -> Iterator[Plan]:
        evaluation = given.evaluation(1, teller.detail)
        for i, epsilon in enumerate(epsilons):
            teller.reach(i / len(epsilons), f"Samples at epsilon {epsilon:g}")
            yield plan_epsilon(evaluation, 1.0, size, method=method, epsilons=[epsilon], repeats=_REPEATS)

    return Job(("plan", given.about, method, size, epsilons), "Simulating samples", produce, given.turn)


def _epsilon() -> None:
    stages = cache.stages()
    count, wanted = len(stages.records), evaluation_runs.settings().epsilons
    main, controls = outputs.bench()
    with controls:
        place = evaluation_bar.place()
        _mode()
        method = str(
            widgets.choice(
                widgets.option("plan_method", PLANNED[0]), options=PLANNED, label="Method", help="What is released."
            )
        )
        size = int(
            widgets.number(
                widgets.option("plan_size", min(max(count, _RECORDS[0]), 1000)), bounds=_RECORDS, step=100, digits=0,
                label="Records", help="How many records will be released (N).",
            )
        )  # fmt: skip
    job = _plan_job(method, size)
    done = len(found_by(job))
    known = evaluation_runs.known_plan(
        method, size, _REPEATS, lambda frame: _target(controls, frame, stages.task.end_unit)
    )
    with place:
        evaluation_bar.bar(
            job, found=len(wanted) if known else done, wanted=len(wanted), what="budgets", button="Simulate"
        )
    if known is None:
        with main:
            evaluation_bar.blank(
                job, f"{_REPEATS} samples of {size:,} records at {len(wanted)} budgets.", "Simulate them", HEIGHT
            )
        outputs.tabs(method=METHOD)
        return
    with main:
        figure.figure(plot_plan(known, method, stages.task.end_unit), key="plan")
    outputs.means(explain_plan(known))
    outputs.tabs(numbers=table_plan(known), method=METHOD, name="plan")


def _target(controls: Any, frame: Any, unit: str) -> float:
    """Ask for the target once the errors are known; it starts halfway between the largest and the least."""
    start = float(f"{(frame['mean'].max() + frame['mean'].min()) / 2:.3g}")
    with controls:
        cell = widgets.option(f"plan_target {state.source()} {state.scenario().task}", start)
        return float(
            widgets.number(
                cell, bounds=(1e-6, 1e6), step=max(start / 20, 1e-6), digits=widgets.decimals(start),
                label="Target error", help=f"Largest acceptable end-task error, in {unit}.", key="number_plan_target",
            )
        )  # fmt: skip


def _threshold_job(seconds: float) -> Job:
    given, repeats = evaluation_runs.inputs(), evaluation_runs.settings().repeats
    scenario = state.scenario()

    def produce(teller: Teller) -> Iterator[Recommendation]:
        evaluation = given.evaluation(repeats, lambda fraction, words: _tell(teller, fraction, words))
        yield recommend_thresholds(evaluation, seconds)

    token = ("thresholds", state.source(), given.table.digest, scenario.digest(), repeats, seconds)
    return Job(token, "Trying thresholds", produce, given.turn)


def _tell(teller: Teller, fraction: float, words: str) -> None:
    """Candidates count as progress, what is done inside one does not."""
    if words.startswith(TRYING):
        teller.reach(fraction, words)
    else:
        teller.detail(fraction, words)


def _thresholds() -> None:
    main, controls = outputs.bench()
    with controls:
        place = evaluation_bar.place()
        _mode()
        seconds = float(
            widgets.number(
                widgets.option("threshold_seconds", 30.0), bounds=(1.0, 3600.0), step=10.0, digits=0,
                label="Time budget (s)", help="What is not known by then is left out.",
            )
        )  # fmt: skip
    job = _threshold_job(seconds)
    found = found_by(job)
    with place:
        evaluation_bar.bar(job, found=len(found), wanted=1, what="recommendation", button="Try thresholds")
    if not found:
        with main:
            evaluation_bar.blank(
                job,
                f"tau_group, tau_dim and tau_dpn are tried on calibration rows for {seconds:g} seconds.",
                "Try them",
                HEIGHT,
            )
        outputs.tabs(method=METHOD)
        return
    best: Recommendation = found[0]
    with controls:
        st.button(
            "Use the best", key="use_thresholds", on_click=partial(state.update, **best.changes), width="stretch",
            help="Makes the best thresholds those of the scenario; it can be undone.",
        )  # fmt: skip
        looks = {name: look_of(name, 0) for name in best.frame["method"].str.removesuffix("-s")}
        outputs.key(*((outputs.swatch(symbol), colour, name) for name, (colour, _, symbol) in looks.items()))
    with main:
        figure.figure(plot_thresholds(best, cache.stages().task.unit), key="thresholds")
    outputs.means(explain_thresholds(best))
    outputs.tabs(numbers=table_thresholds(best), method=METHOD, name="thresholds")
