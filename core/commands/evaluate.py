"""Compare methods over budgets: evaluation.csv, summary.csv, explained.csv, attacker.csv and figures.html."""

import argparse
from typing import Any, Final

import pandas as pd

from core.commands.evaluating import add_evaluation, evaluating
from core.commands.shared import clear, csv_of, html_of, write_files
from core.evaluation.attacker import attack
from core.evaluation.explained import explain_groups
from core.evaluation.methods import COMPARED, JOINT, SPLIT_SUFFIX
from core.evaluation.paper_tables import CASES, LABEL, paper_table
from core.evaluation.relative import compare_pairs, largest_relative_error
from core.evaluation.rows import to_frame
from core.plots.evaluation_figures import plot_attacker, plot_methods

NAME: Final = "evaluate"
HELP: Final = "compare methods over budgets on test records and write evaluation.csv"
EXPLAINED: Final = ("DepHDP tuned", JOINT.name)
"""Methods whose losses are explained group by group."""
EPSILONS: Final = tuple(float(e) for e in range(1, 11))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add_evaluation(parser)
    parser.add_argument("--methods", help=f"methods, separated by commas, among {', '.join(COMPARED)}")


def run(parsed: argparse.Namespace) -> int:
    """Compare, write, and return 0."""
    methods = list(COMPARED) if parsed.methods is None else [word.strip() for word in parsed.methods.split(",")]
    epsilons = list(parsed.epsilons or EPSILONS)
    tuned = [name for name in methods if name.removesuffix(SPLIT_SUFFIX) in EXPLAINED]
    with evaluating(parsed) as evaluation:
        frame = to_frame(list(evaluation.rows(methods, epsilons)))
        guesses = attack(evaluation, methods, epsilons)
        parts = [explain_groups(evaluation, name, epsilon) for name in tuned for epsilon in epsilons]
    clear()
    unit = evaluation.stages(evaluation.scenario).task.unit
    pictures = [plot_methods(frame, unit), *([] if guesses.empty else [plot_attacker(guesses)])]
    files: dict[str, Any] = {
        "evaluation.csv": csv_of(frame),
        "summary.csv": csv_of(summarise(frame)),
        "attacker.csv": csv_of(guesses),
        **({"explained.csv": csv_of(pd.concat(parts, ignore_index=True))} if parts else {}),
        "figures.html": html_of(f"Evaluation of {evaluation.table.name}", pictures),
    }
    if parsed.sample in CASES:
        files["paper.csv"] = csv_of(paper_table(parsed.sample).assign(note=LABEL))
    write_files(parsed.out, files)
    return 0


def summarise(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the reductions between methods and the largest relative errors, in percent."""
    pairs = compare_pairs(frame)
    errors = largest_relative_error(frame)
    bounds = pd.DataFrame({"method": errors.index, "reference": "its lower bound", "largest": errors.to_numpy()})
    return pd.concat([pairs, bounds], ignore_index=True)
