"""What the commands that evaluate have in common: their arguments, and the evaluation that these describe."""

import argparse
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from core.commands.shared import add_source, read_inputs, tell
from core.evaluation.own_task import load_task
from core.evaluation.rows import Evaluation
from core.parallel import cluster, local_jobs


def add_evaluation(parser: argparse.ArgumentParser) -> None:
    """Add what every evaluating command takes."""
    add_source(parser)
    parser.add_argument("--epsilons", type=_numbers, help="budgets, separated by commas")
    parser.add_argument("--repeats", type=int, default=20, help="releases of every test record")
    parser.add_argument("--task-file", type=Path, help="a Python file with a task of your own; it is executed")
    parser.add_argument("--jobs", type=_workers, help="local processes; all cores unless given")
    parser.add_argument("--scheduler", help="address of a Dask scheduler whose workers solve instead")


@contextmanager
def evaluating(parsed: argparse.Namespace) -> Generator[Evaluation]:
    """Yield the evaluation; what runs within uses the local processes, or the cluster, that the arguments name."""
    table, scenario = read_inputs(parsed)
    task = None if parsed.task_file is None else load_task(parsed.task_file)
    with local_jobs(parsed.jobs), cluster(parsed.scheduler):
        yield Evaluation(table, scenario, repeats=parsed.repeats, progress=tell, task=task)


def _workers(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of processes from 1")
    return int(text)


def _numbers(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(word) for word in text.split(","))
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of numbers such as 1,2,4") from error
