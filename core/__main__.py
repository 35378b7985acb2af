"""The headless door: ``python -m core run --sample heart --scenario FILE --out DIR``."""

import argparse
import csv
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from core.channel import Channel
from core.errors import CoreError, InputError
from core.pipeline import Stages
from core.scenario import Scenario
from core.table import SAMPLES, Table, load_sample, read_table, sample_scenario


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return 0, or 2 after one sentence on the error stream."""
    parsed = _parser().parse_args(arguments)
    try:
        return int(parsed.command(parsed))
    except CoreError as error:
        sys.stderr.write(f"{error}\n")
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m core", description="Design metric-DP mechanisms without the app.")
    commands = parser.add_subparsers(required=True)
    run = commands.add_parser("run", help="design a certified mechanism and write design.json and curves.csv")
    source = run.add_mutually_exclusive_group(required=True)
    source.add_argument("--sample", choices=sorted(SAMPLES), help="a bundled table")
    source.add_argument("--table", type=Path, help="a CSV, TSV, Excel or Parquet file")
    run.add_argument("--scenario", type=Path, help="a scenario file saved by the app; without it the defaults")
    run.add_argument("--out", type=Path, required=True, help="folder for the results, made when absent")
    run.set_defaults(command=_run)
    return parser


def _inputs(parsed: argparse.Namespace) -> tuple[Table, Scenario]:
    table = load_sample(parsed.sample) if parsed.sample else read_table(parsed.table)
    if parsed.scenario is None:
        return table, sample_scenario(parsed.sample) if parsed.sample else Scenario()
    try:
        return table, Scenario.from_json(parsed.scenario.read_bytes())
    except OSError as error:
        raise InputError("scenario", f"The scenario file {parsed.scenario} cannot be read; check its path.") from error


def _tell(_fraction: float, sentence: str) -> None:
    sys.stderr.write(f"\r{sentence:<78.78}")


def _run(parsed: argparse.Namespace) -> int:
    table, scenario = _inputs(parsed)
    stages = Stages(table, scenario, progress=_tell)
    result = stages.design
    sys.stderr.write("\r" + " " * 78 + "\r")
    try:
        parsed.out.mkdir(parents=True, exist_ok=True)
        (parsed.out / "design.json").write_text(json.dumps(result.to_dict(), indent=2) + "\n", encoding="utf-8")
        write_curves(stages, parsed.out / "curves.csv")
    except OSError as error:
        raise InputError("out", f"The results cannot be written to {parsed.out}: {error.strerror}.") from error
    sys.stdout.write(f"{parsed.out / 'design.json'}\n{parsed.out / 'curves.csv'}\n")
    return 0


def write_curves(stages: Stages, path: Path) -> None:
    """Write every group's loss-budget curve and its allocated point as CSV, at full precision."""
    result = stages.design
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["group", "mechanism", "epsilon", "lower", "upper", "certified_epsilon", "allocated"])
        for k, curve in enumerate(stages.curves):
            name = " + ".join(result.groups[k])
            for i, epsilon in enumerate(curve.epsilons):
                channel = curve.channels[i]
                rows.writerow(
                    [
                        name,
                        channel.mechanism,
                        float(epsilon),
                        float(curve.lower[i]),
                        float(curve.upper[i]),
                        channel.certified_epsilon,
                        0,
                    ]
                )
            channel = result.channels[k]
            loss = result.losses[k]
            proven = channel.lower_bound if isinstance(channel, Channel) and channel.mechanism == "OPT" else loss
            lower = min(proven, loss)
            rows.writerow([name, channel.mechanism, result.allocation[k], lower, loss, channel.certified_epsilon, 1])


if __name__ == "__main__":
    sys.exit(main())
