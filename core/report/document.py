"""What a report is made of, as plain values: facts, exhibits, the group table, guarantees, how to reproduce it."""

from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import pandas as pd

DEPTHS: Final = ("full", "page")
"""Everything; or one A4 page for those who decide."""


class Fact(NamedTuple):
    """A value with its name.

    Parameters
    ----------
    label : str
        What it is.
    value : str
        The value as text.
    note : str
        Of how many, in which unit.
    """

    label: str
    value: str
    note: str = ""


class GroupRow(NamedTuple):
    """One group of the design.

    Parameters
    ----------
    attributes : str
        Names of its attributes.
    choice, mechanism : str
        "OPT" or "DPN", and the exact name.
    states : int or None
        States of its domain; None where it is perturbed attribute by attribute.
    epsilon : float
        Budget that it was given.
    certified : float
        Smallest epsilon that its whole numbers satisfy, rounded up.
    loss, constant : float
        Weighted loss, and that of always releasing the best constant (nan where not known).
    """

    attributes: str
    choice: str
    mechanism: str
    states: int | None
    epsilon: float
    certified: float
    loss: float
    constant: float


class Origin(NamedTuple):
    """Where the table came from and when the report was made.

    Parameters
    ----------
    sample : str or None
        Name of the bundled table; None for a file of one's own.
    made : str
        Date of the report; empty leaves it out, and then the same design gives the same file.
    """

    sample: str | None
    made: str = ""


@dataclass(frozen=True, eq=False)
class Exhibit:
    """One figure with what it means and the numbers behind it.

    Parameters
    ----------
    title : str
        The question that it answers.
    means : str
        One or two sentences; **bold** is the only markup.
    light, dark : dict
        Plain plotly figures (data, layout) for both themes.
    height : int
        Height in pixels.
    alt : str
        What the figure shows, for those who cannot see it.
    table : DataFrame or None
        The numbers behind it.
    caption : str
        How to read it.
    remarks : tuple of str
        Further sentences.
    """

    title: str
    means: str
    light: dict[str, Any]
    dark: dict[str, Any]
    height: int
    alt: str
    table: pd.DataFrame | None = None
    caption: str = ""
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Report:
    """Everything that a report says; names are plain text, escaped where they are written.

    Parameters
    ----------
    title, made : str
        Heading and date.
    purpose : str
        What the released table is for: the task's statement.
    unit : str
        Unit of the loss.
    strip : tuple of Fact
        The four headline numbers.
    summary : tuple of str
        What the design is and what it costs, in sentences; **bold** is the only markup.
    warnings : tuple of str
        What must be known before anything leaves.
    knobs : tuple of Fact
        The scenario.
    schema : DataFrame
        One row per attribute.
    findings : tuple of str
        What was noticed in the data.
    exhibits : tuple of Exhibit
        The figures.
    groups : tuple of GroupRow
        Certificate per group.
    predicted, constant, asked, certified, worst, norm
        Predicted loss, zero-information loss, budget asked for, certificate of the record, ln of the largest factor
        between any two records, and the norm's exponent q.
    assured, unassured : tuple of str
        What is and what is not guaranteed.
    command : str
        The command that makes the mechanism and this report again.
    made_with : tuple of Fact
        Versions and digests.
    scenario_json : str
        The scenario's file.
    attribution : str
        Source and licence of a bundled table.
    """

    title: str
    made: str
    purpose: str
    unit: str
    strip: tuple[Fact, ...]
    summary: tuple[str, ...]
    warnings: tuple[str, ...]
    knobs: tuple[Fact, ...]
    schema: pd.DataFrame
    findings: tuple[str, ...]
    exhibits: tuple[Exhibit, ...]
    groups: tuple[GroupRow, ...]
    predicted: float
    constant: float
    asked: float
    certified: float
    worst: float
    norm: str
    assured: tuple[str, ...]
    unassured: tuple[str, ...]
    command: str
    made_with: tuple[Fact, ...]
    scenario_json: str
    attribution: str = field(default="")
