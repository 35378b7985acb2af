"""Compare with full-record OPT on reduced domains: reduced.csv, reduced_summary.csv and figures.html."""

import argparse
from typing import Final

import pandas as pd

from core.commands.shared import (
    add_evaluation,
    add_source,
    clear,
    csv_of,
    html_of,
    read_inputs,
    tell,
    workers,
    write_files,
)
from core.evaluation.own_task import load_task
from core.evaluation.reduced import REDUCED_EPSILONS, reduced_rows, summarise_reduced
from core.evaluation.rows import Evaluation
from core.plots.evaluation_figures import plot_reduced

NAME: Final = "reduced"
HELP: Final = "compare grouped designs with full-record OPT on reduced domains"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add_source(parser)
    add_evaluation(parser)


def run(parsed: argparse.Namespace) -> int:
    """Compare, write, and return 0."""
    table, scenario = read_inputs(parsed)
    task = None if parsed.task_file is None else load_task(parsed.task_file)
    evaluation = Evaluation(table, scenario, progress=tell, task=task)
    rows = reduced_rows(evaluation.stages(scenario), epsilons=tuple(parsed.epsilons or REDUCED_EPSILONS), progress=tell)
    with workers(parsed):
        frame = pd.DataFrame(rows)
    clear()
    write_files(
        parsed.out,
        {
            "reduced.csv": csv_of(frame),
            "reduced_summary.csv": csv_of(summarise_reduced(frame)),
            "figures.html": html_of(f"Reduced domains of {table.name}", [plot_reduced(frame)]),
        },
    )
    return 0
