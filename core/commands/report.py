"""Design a certified mechanism and report on it: one self-contained HTML file, in full or on one page."""

import argparse
from collections.abc import Callable, Hashable
from datetime import date
from pathlib import Path
from typing import Any, Final

from core.commands.pack import add_release
from core.commands.shared import add_source, clear, read_inputs, tell, write_files
from core.pipeline import Stages
from core.plots.report import draw_exhibits
from core.release import MergedStages, plan_release
from core.report import DEPTHS, Origin, build_report, render

NAME: Final = "report"
HELP: Final = "write a report of the certified mechanism as one self-contained HTML file"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add_source(parser, out="the HTML file to write")
    add_release(parser)
    parser.add_argument("--depth", choices=DEPTHS, default=DEPTHS[0], help="everything, or one A4 page")
    parser.add_argument("--no-date", action="store_true", help="leave the date out: the same design, the same file")


def run(parsed: argparse.Namespace) -> int:
    """Design, draw, write, and return 0."""
    table, scenario = read_inputs(parsed)
    stages = (MergedStages if parsed.merge_rare else Stages)(table, scenario, remember=_memory(), progress=tell)
    plan = plan_release(stages, unprotected=parsed.unprotected, domain="merged" if parsed.merge_rare else None)
    exhibits = draw_exhibits(stages) if parsed.depth == "full" else ()
    origin = Origin(parsed.sample, "" if parsed.no_date else date.today().isoformat())
    content = render(build_report(stages, plan, exhibits, origin=origin, numeric=parsed.numeric), parsed.depth)
    clear()
    out: Path = parsed.out
    write_files(out.parent, {out.name: lambda path: path.write_bytes(content)})
    return 0


def _memory() -> Callable[[Hashable, Callable[[], Any]], Any]:
    """Return a memory for one run: several figures read the same curves."""
    kept: dict[Hashable, Any] = {}

    def remember(key: Hashable, compute: Callable[[], Any]) -> Any:
        if key not in kept:
            kept[key] = compute()
        return kept[key]

    return remember
