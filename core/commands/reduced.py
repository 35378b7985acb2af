"""Compare with full-record OPT on reduced domains: reduced.csv, reduced_summary.csv and figures.html."""

import argparse
from typing import Final

import pandas as pd

from core.commands.evaluating import add_evaluation, evaluating
from core.commands.shared import clear, csv_of, html_of, tell, write_files
from core.evaluation.reduced import REDUCED_EPSILONS, reduced_rows, summarise_reduced
from core.plots.evaluation_figures import plot_reduced

NAME: Final = "reduced"
HELP: Final = "compare grouped designs with full-record OPT on reduced domains"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add_evaluation(parser)


def run(parsed: argparse.Namespace) -> int:
    """Compare, write, and return 0."""
    epsilons = tuple(parsed.epsilons or REDUCED_EPSILONS)
    with evaluating(parsed) as evaluation:
        stages = evaluation.stages(evaluation.scenario)
        frame = pd.DataFrame(reduced_rows(stages, epsilons=epsilons, progress=tell))
    clear()
    write_files(
        parsed.out,
        {
            "reduced.csv": csv_of(frame),
            "reduced_summary.csv": csv_of(summarise_reduced(frame)),
            "figures.html": html_of(f"Reduced domains of {stages.table.name}", [plot_reduced(frame)]),
        },
    )
    return 0
