"""Views that have runs of their own: sweeps of the thresholds and reduced domains."""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, Final

import numpy as np
import pandas as pd

from core.evaluation.reduced import REDUCED_EPSILONS, reduced_rows
from core.evaluation.reduced_cases import CONFIGURATIONS
from core.evaluation.sweeps import DIMENSIONS, SCORES, SWEPT_EPSILONS, sweep_groups, sweep_scores
from core.pipeline import Stages
from core.plots.evaluation_looks import look_of
from core.plots.evaluation_reduced import explain_reduced, plot_reduced_study, table_reduced, table_summary
from core.plots.evaluation_studies import HEIGHT, explain_sweep, plot_sweeps, table_sweep
from pages._ui import background, cache, evaluation_bar, evaluation_command, evaluation_runs, figure, outputs, state
from pages._ui import inputs as widgets
from pages._ui.background import Job, Teller

SWEEPS: Final = {"groups": "Grouping", "scores": "Score"}
_STEPS: Final = {0.1: "0.1", 0.05: "0.05"}
_BUDGETS: Final = {(4.0,): "4", (2.0, 4.0, 8.0): "2, 4, 8", SWEPT_EPSILONS: "1, 2, 4, 6, 8, 10"}
_LIMIT: Final = 3.0
_SOLVING: Final = 0.6
"""Share of a sweep that solving its curves ahead has."""
SWEEP_METHOD: Final = r"""
Groups change only where $\tau_\text{group}$ passes a weight of the maximum spanning tree, and the design only where
$\tau_\text{dpn}$ passes a score: every distinct design is solved and measured once and stands for all its thresholds.
**Run time** is that of the design from scratch, from the noted times of its parts, whatever was remembered. A design
that would optimise a group whose single solve is estimated to take longer than the limit is left out.
"""
REDUCED_METHOD: Final = r"""
As in section D.4: two groups are cut down to their most frequent states, 16 to 64 joint ones, ten configurations, six
budgets. **Full OPT** optimises the joint record; **group OPT** both groups; DepHDP-m and -r those of score below 0.3;
**all-DPN** uses remapped calibrated exponential noise. Reduction $100 (L_\text{DPN} - L)/L_\text{DPN}$; closure
$100 (L_\text{DPN} - L)/(L_\text{DPN} - L_\text{full})$, of the record-level loss under the joint prior.
"""


def found_by(job: Job) -> list[Any]:
    """Return what the last run of a job found, going on or not."""
    run = background.desk().find(job.token)
    return [] if run is None else run.results


# --- sweeps ----------------------------------------------------------------------------------------------------------


def _sweep_job(kind: str, step: float, epsilons: tuple[float, ...], limit: float) -> tuple[Job, int]:
    given, repeats = evaluation_runs.inputs(), evaluation_runs.settings().repeats
    thresholds = tuple(float(t) for t in np.round(np.arange(0.0, 1.0 + step / 2, step), 3))
    total = len(thresholds) * len(epsilons) * 2 * (1 if kind == "groups" else len(DIMENSIONS))

    def produce(teller: Teller) -> Iterator[dict[str, Any]]:
        evaluation = given.evaluation(repeats, teller.detail)
        ahead = evaluation_runs.Ahead(teller, _SOLVING)
        # From many small groups to few large ones: what is cheap is on screen while the rest is solved.
        rows = (
            sweep_groups(evaluation, thresholds[::-1], epsilons, solve_limit=limit, ahead=ahead)
            if kind == "groups"
            else sweep_scores(evaluation, thresholds, epsilons, solve_limit=limit, ahead=ahead)
        )
        teller.reach(0.0, "")
        for i, row in enumerate(rows, start=1):
            where = f"tau_group {row['tau_group']:g}" if kind == "groups" else f"tau_dpn {row['tau_dpn']:g}"
            ahead.rest(i / total, f"{row['method']} at {where}")
            yield row

    token = ("sweep", given.about, kind, thresholds, epsilons, repeats, limit)
    return Job(token, "Sweeping a threshold", produce, given.turn), total


def sweeps() -> None:
    """Show what the thresholds do."""
    main, controls = outputs.bench()
    with controls:
        place = evaluation_bar.place()
        kind = str(
            widgets.segments(
                widgets.option("sweep_kind", "groups"), options=SWEEPS, label="Threshold",
                help="Grouping: tau_group from 0 to 1. Score: tau_dpn from 0 to 1 at largest domains of 100 and 300.",
            )
        )  # fmt: skip
        step = widgets.segments(
            widgets.option("sweep_step", 0.1), options=_STEPS, label="Steps", help="Distance of two thresholds."
        )
        epsilons = widgets.choice(
            widgets.option("sweep_epsilons", (2.0, 4.0, 8.0)), options=_BUDGETS, label="Budgets (epsilon)",
            help="Total budgets at which every threshold is measured.",
        )  # fmt: skip
        limit = float(
            widgets.number(
                widgets.option("sweep_limit", _LIMIT), bounds=(0.1, 600.0), step=1.0, digits=1, label="Solve limit (s)",
                help="Designs with a solve estimated to take longer are left out, so that a sweep ends.",
            )
        )  # fmt: skip
    job, total = _sweep_job(kind, step, epsilons, limit)
    rows = found_by(job)
    with place:
        evaluation_bar.bar(job, found=len(rows), wanted=total, what="rows", button="Run the sweep")
    x = "tau_group" if kind == "groups" else "tau_dpn"
    headless = {"Without the app": partial(_sweep_command, kind, epsilons, limit)}
    if not rows:
        with main:
            evaluation_bar.blank(
                job, f"{total} rows: both scores at every threshold and budget.", "Run the sweep here", HEIGHT
            )
        outputs.tabs(first=headless, method=SWEEP_METHOD)
        return
    frame = pd.DataFrame(rows)
    stages = cache.stages()
    with controls:
        epsilon = _one_of(sorted(set(frame["epsilon"])))
        outputs.key(*_key_rows(SCORES))
    own = stages.scenario.tau_group if kind == "groups" else stages.tau_dpn
    with main:
        figure.figure(plot_sweeps(frame, x, epsilon=epsilon, own=own, unit=stages.task.unit), key="sweep")
    outputs.means(explain_sweep(frame, x, epsilon=epsilon, own=own))
    outputs.tabs(first=headless, numbers=table_sweep(frame), method=SWEEP_METHOD, name=f"sweep_{kind}")


def _one_of(known: list[float]) -> float:
    chosen = state.option("sweep_at", known[len(known) // 2])
    value = chosen if chosen in known else known[len(known) // 2]
    cell = widgets.Cell("sweep_at", value, partial(state.set_option, "sweep_at"))
    options = {e: f"{e:g}" for e in known}
    return float(widgets.choice(cell, options=options, label="Shown at epsilon", help="Which budget is drawn."))


def _sweep_command(kind: str, epsilons: tuple[float, ...], limit: float) -> None:
    repeats = evaluation_runs.settings().repeats
    extra = [("solve-limit", f"{limit:g}")]
    evaluation_command.show(
        "sweep",
        [("only", kind), ("epsilons", evaluation_command.numbers(epsilons)), ("repeats", str(repeats)), *extra],
        "Its thresholds are 0.05 apart.",
    )


# --- reduced domains -------------------------------------------------------------------------------------------------


def _reduced_job() -> tuple[Job, int]:
    given = evaluation_runs.inputs()
    total = CONFIGURATIONS * len(REDUCED_EPSILONS)

    def produce(teller: Teller) -> Iterator[dict[str, Any]]:
        stages = Stages(given.table, given.scenario, remember=given.memory, progress=teller.detail)
        yield from reduced_rows(stages, progress=teller.reach, remember=given.memory)

    return Job(("reduced", given.about), "Reduced domains", produce, given.turn), total


def reduced() -> None:
    """Show what grouping and choosing lose against optimising the whole record, where that is possible."""
    job, total = _reduced_job()
    rows = found_by(job)
    frame = pd.DataFrame(rows)
    run = background.desk().find(job.token)
    count = total if run is not None and run.status == "done" else 0 if frame.empty else frame.groupby(
        ["configuration", "epsilon"]
    ).ngroups  # fmt: skip
    main, controls = outputs.bench()
    with controls:
        evaluation_bar.bar(job, found=count, wanted=total, what="cases", button="Run the study")
        outputs.key(*_key_rows(_COMPARED))
    headless = {"Without the app": partial(_reduced_command)}
    if frame.empty:
        with main:
            evaluation_bar.blank(
                job,
                f"{CONFIGURATIONS} pairs of groups cut down to 16 to 64 states, at {len(REDUCED_EPSILONS)} budgets.",
                "Run the study here", HEIGHT,
            )  # fmt: skip
        outputs.tabs(first=headless, method=REDUCED_METHOD)
        return
    with main:
        figure.figure(plot_reduced_study(frame), key="reduced")
    outputs.means(explain_reduced(frame))
    summary = {"Summary": lambda: outputs.table(table_summary(frame), name="reduced_summary")}
    outputs.tabs(first=summary | headless, numbers=table_reduced(frame), method=REDUCED_METHOD, name="reduced")


_COMPARED: Final = ("full OPT", "group OPT", "DepHDP-m", "DepHDP-r")


def _key_rows(methods: Iterable[str]) -> Iterator[tuple[str, str, str]]:
    """Yield what the key of a figure says of these methods, each drawn as in the figure."""
    for name in methods:
        colour, _, symbol = look_of(name, 0)
        yield outputs.swatch(symbol), colour, name


def _reduced_command() -> None:
    evaluation_command.show("reduced", [("epsilons", evaluation_command.numbers(REDUCED_EPSILONS))])
