"""The privacy list of both tier pages: ready, regular, random or pasted; the same list on both pages."""

from dataclasses import dataclass
from typing import Final

import numpy as np
import streamlit as st

from core.errors import InputError
from core.tiers import READY_LISTS, Budgets, grid_list, normal_list, uniform_list
from core.tiers.budgets import TIER_LIMIT
from core.tiers.pasted import parse_budgets
from pages._ui import inputs, outputs, state

KINDS: Final = {
    **{name: ready.title for name, ready in READY_LISTS.items()},
    "grid": "Grid",
    "uniform": "Random, uniform",
    "normal": "Random, normal",
    "own": "Own list",
}
DEFAULT: Final = "warehouse"
_OWN: Final = "4, 2, 1, 0.5"
_MOST_DRAWN: Final = 60
"""Most tiers of the fields; an own list may hold more."""


@dataclass(frozen=True)
class ChosenList:
    """The list that a person chose.

    Parameters
    ----------
    budgets : tuple of float (m,)
        From the largest down.
    recipients : tuple of str
        A name per tier for a ready list, else empty.
    problem : str
        Why the pasted text was not taken; the last valid list stands in.
    """

    budgets: tuple[float, ...]
    recipients: tuple[str, ...] = ()
    problem: str = ""


def privacy_list() -> ChosenList:
    """Show the widgets of the privacy list and return it."""
    kind = str(
        inputs.choice(
            inputs.option("tier_list", DEFAULT),
            options=KINDS,
            label="Privacy list (L)",
            help="Budgets of the recipients, one per tier; a smaller epsilon is more private. The random lists are "
            "those of the paper's experiments.",
        )
    )
    if kind in READY_LISTS:
        ready = READY_LISTS[kind]
        return ChosenList(ready.values, ready.recipients)
    if kind == "own":
        return _own()
    budgets = _grid() if kind == "grid" else _random(kind)
    return ChosenList(budgets.values)


def _tiers() -> int:
    return int(
        inputs.number(
            inputs.option("tier_count", 10), bounds=(1, _MOST_DRAWN), step=1, digits=0, label="Tiers (m)",
            help="How many recipients with different budgets.", show_ends=False,
        )
    )  # fmt: skip


def _grid() -> Budgets:
    step = inputs.number(
        inputs.option("tier_step", 0.2), bounds=(0.01, 4.0), step=0.1, label="Step (alpha)",
        help="The list is alpha m, ..., 2 alpha, alpha; a smaller step is more private.", show_ends=False,
    )  # fmt: skip
    return grid_list(float(step), _tiers())


def _random(kind: str) -> Budgets:
    seed = int(state.option("tier_seed", 0))
    rng = np.random.default_rng(seed)
    if kind == "uniform":
        top = inputs.choice(
            inputs.option("tier_top", 4.0), options={4.0: "[0.01, 4]", 8.0: "[0.01, 8]"}, label="Drawn from",
            help="Budgets are uniform on this interval.",
        )  # fmt: skip
        budgets = uniform_list(float(top), _tiers(), rng=rng)
    else:
        which = inputs.choice(
            inputs.option("tier_normal", 1.0), options={1.0: "N(1, 1)", 2.0: "N(2, 4)"}, label="Drawn from",
            help="Mean and variance of the budgets; draws below 0.01 are drawn again.",
        )  # fmt: skip
        budgets = normal_list(float(which), float(which) ** 2, _tiers(), rng=rng)
    st.button(
        "Draw another", key="tier_redraw", on_click=lambda: state.set_option("tier_seed", seed + 1), width="stretch",
        help="Another list of the same kind, from the next seed.",
    )  # fmt: skip
    return budgets


def _own() -> ChosenList:
    key, text = "tier_text", str(state.option("tier_text", _OWN))
    state.seat(key, text)

    def changed() -> None:
        meant, value = state.reported(key)
        if meant and value is not None:
            state.set_option("tier_text", value)

    st.text_area(
        "Budgets",
        value=text,
        key=key,
        height=90,
        on_change=changed,
        help=f"1 to {TIER_LIMIT} positive numbers, separated by commas, blanks or line breaks, in any order.",
    )
    valid: tuple[float, ...] = state.option("tier_own", parse_budgets(_OWN).values)
    try:
        budgets = parse_budgets(text)
    except InputError as error:
        outputs.refusal(f"{error} The last valid list is shown.")
        return ChosenList(valid, problem=str(error))
    state.set_option("tier_own", budgets.values)
    for sentence in budgets.notes:
        outputs.remark(sentence)
    return ChosenList(budgets.values)
