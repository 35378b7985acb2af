"""Design a certified mechanism and pack it: mechanism.json, and perturb.py which needs only Python to use it."""

import argparse
import sys
from typing import Final

from core.commands.shared import add_source, clear, read_inputs, tell, write_files
from core.pack import PACK_NAME, README_NAME, SAMPLER_NAME, build_pack, pack_files
from core.pipeline import Stages
from core.release import NUMERIC, MergedStages, plan_release

NAME: Final = "pack"
HELP: Final = "design a certified mechanism and write mechanism.json with its stand-alone sampler perturb.py"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add_source(parser)
    add_release(parser)


def add_release(parser: argparse.ArgumentParser) -> None:
    """Add what decides which states a release has, which columns leave, and how bins are written."""
    parser.add_argument("--numeric", choices=NUMERIC, default=NUMERIC[0], help="how the sampler writes a bin")
    parser.add_argument("--merge-rare", action="store_true", help="leave out observed states of fewer than 5 records")
    parser.add_argument(
        "--unprotected", action="append", default=[], metavar="COLUMN",
        help="an excluded column that leaves as it is; give it again for more",
    )  # fmt: skip


def run(parsed: argparse.Namespace) -> int:
    """Design, pack, write, and return 0."""
    table, scenario = read_inputs(parsed)
    stages = (MergedStages if parsed.merge_rare else Stages)(table, scenario, progress=tell)
    plan = plan_release(stages, unprotected=parsed.unprotected, domain="merged" if parsed.merge_rare else None)
    pack = build_pack(plan, numeric=parsed.numeric)
    clear()
    for sentence in pack["statements"]:
        sys.stderr.write(f"{sentence}\n")
    files = pack_files(pack)
    write_files(
        parsed.out,
        {
            name: lambda path, name=name: path.write_bytes(files[name])  # type: ignore[misc]
            for name in (PACK_NAME, SAMPLER_NAME, README_NAME)
        },
    )
    return 0
