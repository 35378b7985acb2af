"""Design a certified mechanism: design.json and curves.csv."""

import argparse
import csv
import json
from pathlib import Path
from typing import Final

from core.channel import Channel
from core.commands.shared import add_source, clear, read_inputs, tell, write_files
from core.pipeline import Stages

NAME: Final = "run"
HELP: Final = "design a certified mechanism and write design.json and curves.csv"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add_source(parser)


def run(parsed: argparse.Namespace) -> int:
    """Design, write, and return 0."""
    table, scenario = read_inputs(parsed)
    stages = Stages(table, scenario, progress=tell)
    text = json.dumps(stages.design.to_dict(), indent=2) + "\n"
    clear()
    write_files(
        parsed.out,
        {
            "design.json": lambda path: path.write_text(text, encoding="utf-8"),
            "curves.csv": lambda path: write_curves(stages, path),
        },
    )
    return 0


def write_curves(stages: Stages, path: Path) -> None:
    """Write every group's loss-budget curve and its allocated point as CSV, at full precision."""
    result = stages.design
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["group", "mechanism", "epsilon", "lower", "upper", "certified_epsilon", "allocated"])
        for k, curve in enumerate(stages.curves):
            name = " + ".join(result.groups[k])
            for epsilon, lower, upper, channel in zip(
                curve.epsilons.tolist(), curve.lower.tolist(), curve.upper.tolist(), curve.channels, strict=True
            ):
                rows.writerow([name, channel.mechanism, epsilon, lower, upper, channel.certified_epsilon, 0])
            channel = result.channels[k]
            loss = result.losses[k]
            proven = channel.lower_bound if isinstance(channel, Channel) and channel.mechanism == "OPT" else loss
            lower = min(proven, loss)
            rows.writerow([name, channel.mechanism, result.allocation[k], lower, loss, channel.certified_epsilon, 1])
