"""What the headless commands share: inputs, progress on the error stream, files, one sentence on failure."""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

import pandas as pd

from core.errors import InputError
from core.plots.template import Picture, escape
from core.scenario import Scenario
from core.table import SAMPLES, Table, load_sample, read_table, sample_scenario

WIDTH = 78


def add_source(parser: argparse.ArgumentParser, *, out: str = "folder for the results, made when absent") -> None:
    """Add table, scenario and output, which every command needs."""
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--sample", choices=sorted(SAMPLES), help="a bundled table")
    source.add_argument("--table", type=Path, help="a CSV, TSV, Excel or Parquet file")
    parser.add_argument("--scenario", type=Path, help="a scenario file saved by the app; without it the defaults")
    parser.add_argument("--out", type=Path, required=True, help=out)


def read_inputs(parsed: argparse.Namespace) -> tuple[Table, Scenario]:
    """Return the table and the scenario that the arguments name."""
    table = load_sample(parsed.sample) if parsed.sample else read_table(parsed.table)
    if parsed.scenario is None:
        return table, sample_scenario(parsed.sample) if parsed.sample else Scenario()
    try:
        return table, Scenario.from_json(parsed.scenario.read_bytes())
    except OSError as error:
        raise InputError("scenario", f"The scenario file {parsed.scenario} cannot be read; check its path.") from error


def tell(_fraction: float, sentence: str) -> None:
    """Show progress in place, on the error stream."""
    sys.stderr.write(f"\r{sentence:<{WIDTH}.{WIDTH}}")


def clear() -> None:
    """Wipe the progress line."""
    sys.stderr.write("\r" + " " * WIDTH + "\r")


def write_files(folder: Path, writers: dict[str, Callable[[Path], object]]) -> None:
    """Write each file by its writer and name it on the output stream.

    Raises
    ------
    InputError
        If the folder cannot be made or written to.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, write in writers.items():
            write(folder / name)
    except OSError as error:
        raise InputError("out", f"The results cannot be written to {folder}: {error.strerror}.") from error
    for name in writers:
        sys.stdout.write(f"{folder / name}\n")


def csv_of(frame: pd.DataFrame) -> Callable[[Path], object]:
    """Return a writer of a table at full precision."""
    return lambda path: frame.to_csv(path, index=False)


def html_of(title: str, pictures: list[Picture]) -> Callable[[Path], object]:
    """Return a writer of figures as one self-contained page: it loads nothing from elsewhere."""

    def write(path: Path) -> None:
        parts = [
            picture.to_figure().to_html(full_html=False, include_plotlyjs=i == 0, config={"displaylogo": False})
            for i, picture in enumerate(pictures)
        ]
        body = "\n".join(f"<p>{escape(picture.alt)}</p>\n{part}" for picture, part in zip(pictures, parts, strict=True))
        path.write_text(
            f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title></head>\n'
            '<body style="font-family:Arial,Helvetica,sans-serif;max-width:1000px;margin:2em auto">\n'
            f"<h1>{escape(title)}</h1>\n{body}\n</body></html>\n",
            encoding="utf-8",
        )

    return write
