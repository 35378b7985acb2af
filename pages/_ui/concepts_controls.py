"""The controls beside the pictures of the concepts."""

import math
from typing import Final

from core.plots.concepts import VALUES
from core.plots.concepts_line import KEY
from core.plots.palette import BAD, DPN, OPT, TUNED
from pages._ui import inputs, outputs
from pages._ui.concepts_state import cell, settings

ENDS: Final = ("more private", "more useful")
_NOISES: Final = {"line noise": "Geometric noise", "EM": "Exponential (EM)", "window": "Window of one step"}
_EXPONENTS: Final = {1.0: "1", 2.0: "2", math.inf: "∞"}
_FACES: Final = {4: "1 to 4", 5: "1 to 5"}


def points() -> None:
    """Draw the controls of the two points."""
    inputs.choice(
        cell("noise"), options=_NOISES, label="Mechanism",
        help="How a place is released. The window moves by at most one step: it looks private and keeps no epsilon.",
    )  # fmt: skip
    epsilon("point_epsilon", 3.0, 0.05)
    inputs.number(
        cell("first_point"), bounds=(0, 10), step=1, digits=0, label="Place of A (x)", show_ends=False,
        help="The first true value; also a handle on the picture. Nearer points are harder to tell apart.",
    )  # fmt: skip
    inputs.number(
        cell("second_point"), bounds=(0, 10), step=1, digits=0, label="Place of B (x′)", show_ends=False,
        help="The second true value; also a handle on the picture.",
    )  # fmt: skip
    outputs.key(("square", VALUES[0], "if the truth is A"), ("square", VALUES[1], "if the truth is B"),
                ("cross", BAD, "not allowed"))  # fmt: skip


def epsilon(name: str, high: float, step: float) -> None:
    """Draw a slider for a budget per step, with what its ends mean."""
    inputs.slider(
        cell(name), bounds=(step, high), step=step, label="Budget (epsilon)",
        help="Privacy budget per step of distance; smaller is more private. The paper's epsilon.",
    )  # fmt: skip
    inputs.ends(*ENDS)


def _world() -> None:
    epsilon("line_epsilon", 3.0, 0.05)
    inputs.slider(
        cell("peak"), bounds=(0.0, 1.0), step=0.05, label="Prior: how peaked (pi)",
        help="0: all states alike. 1: nearly everybody is at state 3. It changes what is lost, never what is private.",
    )  # fmt: skip
    inputs.ends("all alike", "one common")
    inputs.slider(
        cell("mismatch"), bounds=(0.0, 1.0), step=0.05, label="Loss: mismatch with distance (c)",
        help="0: the task loses the steps. 1: it loses only where even and odd are confused. Privacy stays the same.",
    )  # fmt: skip
    inputs.ends("steps", "even or odd")


def line() -> None:
    """Draw the controls of the line of seven."""
    _world()
    outputs.key(*KEY)


def remap() -> None:
    """Draw the controls of remapping: the same world, and which noise."""
    inputs.segments(
        cell("remapped"), options={"line noise": "Geometric", "EM": "EM"}, label="Noise (DPN)",
        help="The noise whose outputs are replaced; both keep the same epsilon.",
    )  # fmt: skip
    _world()


def budgets() -> None:
    """Draw the controls of the feasible budgets."""
    inputs.segments(
        cell("p"), options=_EXPONENTS, label="Metric exponent (p)",
        help="How distances of groups combine: 1 adds them, infinity takes the largest. The budgets combine by q.",
    )  # fmt: skip
    inputs.number(
        cell("total"), bounds=(0.25, 6.0), step=0.25, label="Total (epsilon)", show_ends=False,
        help="What the whole record may use; smaller is more private.",
    )  # fmt: skip
    for name, label in (("first_budget", "First group (epsilon_1)"), ("second_budget", "Second group (epsilon_2)")):
        inputs.number(
            cell(name), bounds=(0.0, 6.0), step=0.05, label=label, show_ends=False,
            help="This group's budget; also a handle on the picture. Smaller is more private.",
        )  # fmt: skip
    outputs.key(("square", TUNED, "fits"), ("cross", BAD, "too much"))


def dice() -> None:
    """Draw the controls of the two dice."""
    inputs.segments(
        cell("first_faces"), options=_FACES, label="Die 1 keeps the truth on",
        help="The other faces turn yes into no; fewer faces that keep it are more private.",
    )  # fmt: skip
    inputs.segments(
        cell("second_faces"), options=_FACES, label="Die 2 keeps answer 1 on",
        help="The second recipient's budget is the smaller one; fewer faces are more private.",
    )  # fmt: skip
    outputs.key(("square", VALUES[0], "recipient 1"), ("square", VALUES[1], "recipient 2"),
                ("square", "@neutral", "both, chained"), ("hatch", BAD, "both, drawn apart"))  # fmt: skip


def stages() -> None:
    """Draw the key of the four stages; data, task and budget are in the sidebar."""
    outputs.key(
        ("diamond", OPT, "optimised (OPT)"),
        ("circle", DPN, "noise (DPN)"),
        ("line", "@neutral", "part of loss, budget"),
    )


def entry_value(entry: tuple[int, int]) -> float:
    """Return one entry of the channel in percent."""
    row = settings().rows[entry[0]]
    return 100 * row[entry[1]] / sum(row)
