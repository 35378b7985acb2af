"""The Methods view: every method against every budget, its reductions, and the paper's table beside it."""

from collections.abc import Sequence
from typing import Any, Final

import streamlit as st

from core.evaluation.paper_tables import CASES, LABEL, paper_table
from core.evaluation.rows import to_frame
from core.plots.evaluation import HEIGHT, MEASURES, EvaluationView, plot_evaluation, table_evaluation
from core.plots.evaluation_words import (
    explain_evaluation,
    explain_paper,
    table_beside_paper,
    table_errors,
    table_reductions,
)
from core.table import sample_scenario
from pages._ui import (
    cache,
    compare,
    evaluation_bar,
    evaluation_command,
    evaluation_runs,
    figure,
    outputs,
    state,
)
from pages._ui import inputs as widgets
from pages._ui.background import Job
from pages._ui.evaluation_runs import EPSILONS, ORDER, REPEATS, USUAL, USUAL_EPSILONS, USUAL_REPEATS, Settings

METHOD: Final = r"""
**Methods** (section 4): SPL splits epsilon evenly, ALC by the dual-norm allocation; DPN is plain exponential noise, RMP
remaps its outputs; DepHDP-m and -r optimise the groups of score at most $\tau_\text{dpn}$ (MSE-likeness, radial fit)
and leave the others to the scenario's noise; *tuned* takes per group what loses least by prediction; *joint* (not in
the paper) refines the channels together on the end-to-end loss. Bound-m and -r are lower bounds of the surrogate
objective (Proposition 2). **Zero information** releases the best constants whatever the truth. Methods in -s are
configured on a seeded 62.5 % of the rows, the others on all, as in the paper; all are measured on the remaining 37.5 %.
Every test record is perturbed once per repeat by the certified integers; bands are $\pm 1.96$ standard deviations
between repeats.
"""


def pills(name: str, options: Sequence[Any], usual: Sequence[Any], *, label: str, help: str) -> tuple[Any, ...]:
    """Show options of which any number may be chosen, and return the chosen ones in the order of the options."""
    key = f"pills_{name}"
    chosen = [value for value in options if value in state.option(name, usual)]

    def changed() -> None:
        meant, value = state.reported(key)
        if meant and value is not None:
            state.set_option(name, tuple(v for v in options if v in value))

    state.seat(key, chosen)
    st.pills(
        label, options, selection_mode="multi", default=chosen, key=key, on_change=changed, help=help,
        format_func=lambda value: value if isinstance(value, str) else f"{value:g}",
    )  # fmt: skip
    return tuple(chosen)


def choose_rows(wanted: Settings) -> None:
    """Show what every view of the comparison shares: methods, budgets, repeats."""
    with st.popover(f"Methods ({len(wanted.methods)})", key="evaluation_methods_box", width="stretch"):
        pills(
            "evaluation_methods", ORDER, USUAL, label="Methods",
            help="In the order of the run: those first that are quickly measured. The joint design takes longest.",
        )  # fmt: skip
    with st.popover(f"Budgets ({len(wanted.epsilons)})", key="evaluation_budgets_box", width="stretch"):
        pills(
            "evaluation_epsilons", EPSILONS, USUAL_EPSILONS, label="Total budgets (epsilon)",
            help="Smaller is more private.",
        )  # fmt: skip
    widgets.number(
        widgets.option("evaluation_repeats", USUAL_REPEATS), bounds=REPEATS, step=1, digits=0, label="Repeats",
        help="Releases of every test record (R); more narrow the bands and take longer. The paper's size is 20.",
    )  # fmt: skip


def case_of() -> str | None:
    """Return the paper's case that the data set and its task are, or None."""
    source = state.source()
    return source if source in CASES and state.scenario().task == sample_scenario(source).task else None


def show() -> None:
    """Show the view."""
    given, wanted = evaluation_runs.inputs(), evaluation_runs.settings()
    rows = evaluation_runs.known(given, wanted)
    job = evaluation_runs.compare(given, wanted)
    main, controls = outputs.bench()
    case = case_of()
    with controls:
        evaluation_bar.bar(job, found=len(rows), wanted=len(wanted.cells), what="rows", button="Run")
        choose_rows(wanted)
        measure = widgets.segments(
            widgets.option("evaluation_measure", "loss"), options=MEASURES, label="Measure",
            help="The mean loss of a record, or what the task itself loses on the whole released table.",
        )  # fmt: skip
        bounds = widgets.toggle(
            widgets.option("evaluation_bounds", False), label="Lower bounds",
            help="Least surrogate objective of each method's families (Proposition 2), dotted in the method's colour.",
        )  # fmt: skip
        paper = case is not None and widgets.toggle(
            widgets.option("evaluation_paper", False), label="The paper's", help=f"Table 1 {LABEL}, hollow markers."
        )
    if not rows:
        with main:
            empty(job, wanted, HEIGHT)
        first = compare.tabs("budget") | {"Without the app": lambda: _headless(wanted)}
        outputs.tabs(first=first, method=METHOD, name="evaluation")
        return
    task = cache.stages().task
    view = EvaluationView(
        to_frame(rows), task.unit, task.end_unit, state.scenario().epsilon, wanted.repeats, measure, bounds,
        paper_table(case) if paper and case else None,
    )  # fmt: skip
    with main:
        figure.figure(plot_evaluation(view), key="evaluation")
    if failed := evaluation_bar.problem(job):
        outputs.refusal(failed)
    outputs.means(explain_evaluation(view), more=True)
    _tabs(view, case, wanted)


def empty(job: Job, wanted: Settings, height: int) -> None:
    """Show that nothing is measured yet, and why."""
    if not wanted.cells:
        outputs.empty("No method or no budget is chosen.", "Choose the usual ones", _usual, height=height)
        return
    count = f"{len(wanted.methods)} methods at {len(wanted.epsilons)} budgets"
    evaluation_bar.blank(
        job,
        f"{count}, on test records: it runs in the background, and the first lines appear in seconds.",
        "Run the comparison",
        height,
    )


def _usual() -> None:
    for name in ("evaluation_methods", "evaluation_epsilons"):
        state.set_option(name, USUAL if name.endswith("methods") else USUAL_EPSILONS)


def _tabs(view: EvaluationView, case: str | None, wanted: Settings) -> None:
    first = compare.tabs("budget") | {"Relative improvement": lambda: _reductions(view, case)}
    if case is not None:
        first["Beside the paper"] = lambda: _paper(view, case)
    first["Without the app"] = lambda: _headless(wanted)
    outputs.tabs(first=first, numbers=table_evaluation(view.frame), method=METHOD, name="evaluation")


def _reductions(view: EvaluationView, case: str | None) -> None:
    st.caption(
        f"How much less a method {'loses' if view.measure == 'loss' else 'errs'} than another, over the budgets; "
        "negative where it is worse."
    )
    outputs.table(table_reductions(view.frame, case, view.measure), name="reductions")
    st.caption("How far each method stands above its lower bound at most, over the budgets: (loss - bound) / bound.")
    outputs.table(table_errors(view.frame, case), name="relative_errors")


def _paper(view: EvaluationView, case: str) -> None:
    outputs.remark(explain_paper(view.frame, case, remapped=state.scenario().remap != "none"))
    outputs.table(table_beside_paper(view.frame, case), name="beside_the_paper")
    st.caption(f"Columns “paper”: {LABEL}.")


def _headless(wanted: Settings) -> None:
    evaluation_command.show(
        "evaluate",
        [
            ("methods", ",".join(wanted.methods)),
            ("epsilons", evaluation_command.numbers(wanted.epsilons)),
            ("repeats", str(wanted.repeats)),
        ],
    )
