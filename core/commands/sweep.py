"""Move thresholds over their range: sweep_groups.csv, sweep_scores.csv and figures.html."""

import argparse
from typing import Final

import pandas as pd

from core.commands.evaluating import add_evaluation, evaluating
from core.commands.shared import clear, csv_of, html_of, write_files
from core.evaluation.sweeps import SWEPT_EPSILONS, sweep_groups, sweep_scores
from core.plots.evaluation_figures import plot_sweep

NAME: Final = "sweep"
HELP: Final = "move tau_group, tau_dpn and tau_dim and write loss, number of groups and run time"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add_evaluation(parser)
    parser.add_argument("--only", choices=("groups", "scores"), help="one of the two sweeps")
    parser.add_argument(
        "--solve-limit", type=float, help="leave out designs with a solve estimated to take more seconds than this"
    )


def run(parsed: argparse.Namespace) -> int:
    """Sweep, write, and return 0."""
    epsilons = tuple(parsed.epsilons or SWEPT_EPSILONS)
    files, pictures = {}, []
    with evaluating(parsed) as evaluation:
        if parsed.only != "scores":
            groups = pd.DataFrame(sweep_groups(evaluation, epsilons=epsilons, solve_limit=parsed.solve_limit))
            files["sweep_groups.csv"] = csv_of(groups)
            pictures += [plot_sweep(groups, "tau_group", y) for y in ("loss", "groups")]
        if parsed.only != "groups":
            scores = pd.DataFrame(sweep_scores(evaluation, epsilons=epsilons, solve_limit=parsed.solve_limit))
            files["sweep_scores.csv"] = csv_of(scores)
            for _, part in scores.groupby("tau_dim"):
                pictures += [plot_sweep(part, "tau_dpn", y) for y in ("loss", "run_time")]
    clear()
    write_files(
        parsed.out, {**files, "figures.html": html_of(f"Threshold sweeps of {evaluation.table.name}", pictures)}
    )
    return 0
