"""Widgets bound to knobs: the value lives in the state, the widget shows it and reports what a person did.

Every widget gets its value twice: seated in the state, and as its default. Where two runs follow each other fast, the
browser may meet a widget only as the second drew it, which seats nothing; without a default it would then show the
lower end of its range, and report that.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import streamlit as st

from core import limits
from core.scenario import CHOICES
from pages._ui import state, text

RANGES: Final = {
    "epsilon": limits.EPSILON,
    "p": limits.METRIC_EXPONENT,
    "tau_group": limits.TAU_GROUP,
    "tau_dim": limits.TAU_DIM,
    "tau_dpn": limits.TAU_DPN,
    "tau_regret": limits.TAU_REGRET,
    "contexts": limits.CONTEXTS,
    "seed": limits.SEED,
}
"""Bounds of every numeric knob, the same as the checks use."""


@dataclass(frozen=True)
class Cell:
    """Something that a widget shows and changes.

    Parameters
    ----------
    name : str
        Its name, part of the widget's key.
    value : object
        What it is now.
    write : callable
        Takes what a person set.
    """

    name: str
    value: Any
    write: Callable[[Any], None]


def knob(name: str, value: Any = None) -> Cell:
    """Return the cell of a scenario's knob; `value` stands in where the knob is None (as tau_dpn by default)."""
    own = getattr(state.scenario(), name)
    return Cell(name, value if own is None else own, lambda new: state.update(**{name: new}))


def option(name: str, default: Any) -> Cell:
    """Return the cell of something a page remembers that is no knob."""
    return Cell(name, state.option(name, default), partial(state.set_option, name))


def _cell(cell: Cell | str) -> Cell:
    return knob(cell) if isinstance(cell, str) else cell


def _settings(cell: Cell, key: str, label: str | None, help: str | None) -> dict[str, Any]:
    words = text.KNOBS.get(cell.name)

    def changed() -> None:
        meant, value = state.reported(key)
        if meant and value is not None:
            cell.write(value)

    return {
        "label": label or (words.label if words else cell.name),
        "help": help or (words.help if words else None),
        "key": key,
        "on_change": changed,
    }


def ends(low: str, high: str) -> None:
    """Write under a slider or field what its two ends mean."""
    st.html(f'<div class="ends"><span>{low}</span><span>{high}</span></div>')


def decimals(value: float, digits: int = 3) -> int:
    """Return the decimals that show a positive number with some significant digits.

    Examples
    --------
    >>> decimals(19.1), decimals(0.0433), decimals(7330.0)
    (1, 4, 0)
    """
    return max(0, digits - 1 - math.floor(math.log10(value))) if value > 0 else digits


def number(
    cell: Cell | str,
    *,
    bounds: tuple[float, float] | None = None,
    step: float | None = None,
    digits: int = 2,
    label: str | None = None,
    help: str | None = None,
    show_ends: bool = True,
    key: str | None = None,
    disabled: bool = False,
) -> Any:
    """Show a numeric field, the twin of a handle, and return the value.

    Parameters
    ----------
    cell : Cell or str
        A knob's name, or a cell.
    bounds : pair of float or None
        Range; None takes the knob's.
    step : float or None
        Step of the buttons; None takes the knob's.
    digits : int
        Decimals shown; whole knobs show none.
    label, help : str or None
        None takes the knob's words.
    show_ends : bool
        Whether to say what the ends mean.
    key : str or None
        The widget's key, needed where a knob is shown twice.
    disabled : bool
        Whether it can be changed now.
    """
    cell = _cell(cell)
    limit = RANGES.get(cell.name)
    low, high = bounds or ((limit.low, limit.high) if limit else (None, None))
    whole = limit.integer if limit and bounds is None else isinstance(cell.value, int) and digits == 0
    whole = whole or bool(limit and limit.integer)
    kind: Callable[[Any], Any] = int if whole else float
    key = key or f"number_{cell.name}"
    value = kind(cell.value)
    low = None if low in (None, float("-inf")) else min(kind(low), value)
    high = None if high in (None, float("inf")) else max(kind(high), value)
    state.seat(key, value)
    st.number_input(
        value=value,
        min_value=low,
        max_value=high,
        step=kind(step or (limit.step if limit else 1)),
        format="%d" if whole else f"%.{digits}f",
        disabled=disabled,
        **_settings(cell, key, label, help),
    )
    words = text.KNOBS.get(cell.name)
    if show_ends and words and words.ends:
        ends(*words.ends)
    return cell.value


def slider(
    cell: Cell | str,
    *,
    bounds: tuple[float, float],
    step: float,
    label: str | None = None,
    help: str | None = None,
    key: str | None = None,
) -> Any:
    """Show a slider with what its ends mean and return the value; the range widens to hold the value."""
    cell = _cell(cell)
    kind: Callable[[Any], Any] = int if isinstance(step, int) else float
    value = kind(cell.value)
    key = key or f"slider_{cell.name}"
    state.seat(key, value)
    st.slider(
        value=value,
        min_value=min(kind(bounds[0]), value),
        max_value=max(kind(bounds[1]), value),
        step=kind(step),
        **_settings(cell, key, label, help),
    )
    words = text.KNOBS.get(cell.name)
    if words and words.ends:
        ends(*words.ends)
    return cell.value


def _options(cell: Cell, options: Sequence[Any] | Mapping[Any, str] | None) -> tuple[list[Any], dict[Any, str]]:
    words = text.KNOBS.get(cell.name)
    if options is None:
        options = CHOICES[cell.name]
    names = dict(options) if isinstance(options, Mapping) else dict(words.options) if words else {}
    return list(options), names


def choice(
    cell: Cell | str,
    *,
    options: Sequence[Any] | Mapping[Any, str] | None = None,
    label: str | None = None,
    help: str | None = None,
    key: str | None = None,
) -> Any:
    """Show a picker and return the value; options may be a mapping to plain names, None takes the knob's."""
    cell = _cell(cell)
    values, names = _options(cell, options)
    if not values:
        return None
    key = key or f"choice_{cell.name}"
    value = cell.value if cell.value in values else values[0]
    state.seat(key, value)
    st.selectbox(
        options=values,
        index=values.index(value),
        format_func=lambda word: names.get(word, str(word)),
        **_settings(cell, key, label, help),
    )
    return value


def segments(
    cell: Cell | str,
    *,
    options: Sequence[Any] | Mapping[Any, str] | None = None,
    label: str | None = None,
    help: str | None = None,
    key: str | None = None,
) -> Any:
    """Show a few options side by side, one of them chosen, and return the value."""
    cell = _cell(cell)
    values, names = _options(cell, options)
    key = key or f"segments_{cell.name}"
    value = cell.value if cell.value in values else values[0]
    state.seat(key, value)
    st.segmented_control(
        options=values,
        default=value,
        required=True,
        format_func=lambda word: names.get(word, str(word)),
        **_settings(cell, key, label, help),
    )
    return value


def toggle(cell: Cell | str, *, label: str | None = None, help: str | None = None, key: str | None = None) -> bool:
    """Show a switch and return whether it is on."""
    cell = _cell(cell)
    key = key or f"toggle_{cell.name}"
    state.seat(key, bool(cell.value))
    st.toggle(value=bool(cell.value), **_settings(cell, key, label, help))
    return bool(cell.value)
