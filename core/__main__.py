"""The headless door: ``python -m core COMMAND --sample heart --scenario FILE --out DIR``."""

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Final

from core.errors import CoreError

COMMANDS: Final = ("run", "evaluate", "sweep", "reduced", "pack", "report")
"""Modules of `core.commands`, in the order of the help; each has NAME, HELP, `add_arguments` and `run`."""


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
    for name in COMMANDS:
        module = import_module(f"core.commands.{name}")
        command = commands.add_parser(module.NAME, help=module.HELP, description=module.__doc__)
        module.add_arguments(command)
        command.set_defaults(command=module.run)
    return parser


if __name__ == "__main__":
    sys.exit(main())
