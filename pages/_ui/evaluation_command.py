"""The command that computes, without the app, what is on screen."""

import shlex
from collections.abc import Sequence

import streamlit as st

from core.table import sample_scenario
from pages._ui import state
from pages._ui.link import UPLOAD


def write_command(command: str, source: str, name: str, *, saved: bool, options: Sequence[tuple[str, str]]) -> str:
    """Return a command line.

    Parameters
    ----------
    command : str
        Name of the command.
    source, name : str
        The data set, and the file name of an upload.
    saved : bool
        Whether the scenario differs from the sample's own and is read from its file.
    options : sequence of (str, str)
        Options with their values.

    Examples
    --------
    >>> write_command("evaluate", "heart", "", saved=False, options=[("repeats", "5")])
    'python -m core evaluate --sample heart --repeats 5 --out results'
    """
    given = ["--table", name] if source == UPLOAD else ["--sample", source]
    scenario = ["--scenario", "scenario.json"] if saved else []
    words = [word for option, value in options for word in (f"--{option}", value)]
    return shlex.join(["python", "-m", "core", command, *given, *scenario, *words, "--out", "results"])


def show(command: str, options: Sequence[tuple[str, str]], note: str = "") -> None:
    """Show the command with its copy button, and what it needs and writes."""
    source = state.source()
    saved = source == UPLOAD or state.scenario() != sample_scenario(source)
    st.code(
        write_command(command, source, state.table().name, saved=saved, options=options),
        language="bash",
        wrap_lines=True,
    )
    need = "**Save** at the left gives scenario.json, with every knob as it stands. " if saved else ""
    file = "The table is the file that you uploaded, read with its format as detected. " if source == UPLOAD else ""
    st.caption(f"{need}{file}It writes the same numbers as CSV, and the figures, into the folder results. {note}")


def numbers(values: Sequence[float]) -> str:
    """Return numbers as the commands read them.

    Examples
    --------
    >>> numbers([0.5, 1.0, 10.0])
    '0.5,1,10'
    """
    return ",".join(f"{value:g}" for value in values)
