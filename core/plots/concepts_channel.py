"""The picture of a three-level channel: every entry a bar with a handle, its allowed range, and what is broken."""

import math
from collections.abc import Mapping
from typing import Any, Final

import pandas as pd

from core.concepts.three_levels import LEVELS, ChannelCheck, Entry, Violation
from core.plots.concepts import HEADLINES, HEIGHT, VALUES
from core.plots.interaction import Condition, Handle, Sides
from core.plots.palette import BAD
from core.plots.template import Mark, Picture, axis, heading, note, sig
from core.plots.template import layout as sheet

_LEFT: Final = 14
_BOTTOM: Final = 52
_TOP: Final = 62
_FLAG: Final = 0.62
"""Part of a bar's slot that its flag takes, at the narrowest width."""
_AT_LIMIT: Final = 1 + 1e-6
_GAP: Final = 0.018
"""Space between two outputs, of the width."""


def handle_name(entry: Entry) -> str:
    """Return the name of an entry's handle, for example 'A to B'."""
    return f"{LEVELS[entry[0]]} to {LEVELS[entry[1]]}"


def read_handles(values: Mapping[str, float]) -> dict[Entry, float]:
    """Return what the handles report as probabilities by entry."""
    names = {handle_name((x, y)): (x, y) for x in range(3) for y in range(3)}
    return {names[name]: value / 100 for name, value in values.items() if name in names}


def _span(entry: Entry) -> tuple[float, float]:
    """Return where an entry's bar stands, as parts of the figure's width."""
    true, released = entry
    width = (1 - 2 * _GAP) / 3
    left = released * (width + _GAP) + true * width / 3
    return left + _FLAG * width / 3, left + width / 3 - 0.004


def _suffix(entry: Entry) -> str:
    number = 3 * entry[1] + entry[0] + 1
    return "" if number == 1 else str(number)


def plot_channel(check: ChannelCheck) -> Picture:
    """Draw the nine entries by released level, so that what is compared stands side by side.

    Parameters
    ----------
    check : ChannelCheck
        The channel and what it breaks.
    """
    entries = [(true, released) for released in range(3) for true in range(3)]
    axes: Mark = {
        "yaxis": axis(range=[0, 100], anchor="x", showticklabels=False, showgrid=False, domain=[0, 1]),
        **{f"xaxis{_suffix(e)}": axis(LEVELS[e[0]], domain=list(_span(e)), anchor="y", range=[-0.5, 0.5],
                                      showgrid=False, showticklabels=False) for e in entries},
    }  # fmt: skip
    notes = [heading("Probability of every release (%), by the true level below each bar", _LEFT, yshift=34)]
    for released in range(3):
        left, right = _span((0, released))[0], _span((2, released))[1]
        notes.append(note(f"<b>released {LEVELS[released]}</b>", xref="paper", yref="paper", x=(left + right) / 2,
                          y=1, yanchor="bottom", yshift=8, font={"size": 13, "color": "@text"}))  # fmt: skip
    shapes, words = _marks(check)
    for e in entries:
        axes[f"xaxis{_suffix(e)}"]["title"]["standoff"] = 4
    return Picture(
        traces=[trace for e in entries for trace in _entry(check, e)],
        layout=sheet(left=_LEFT, right=10, top=_TOP, bottom=_BOTTOM, bargap=0, barmode="overlay", shapes=shapes,
                     annotations=[*notes, *words], **axes),
        height=HEIGHT,
        name="three_levels",
        alt=f"Nine probabilities of a three-level channel; {len(check.violations)} constraints are broken.",
        handles=tuple(_handle(check, e) for e in entries),
        previews=tuple(_preview(check, e) for e in entries),
        table=table_channel(check),
    )  # fmt: skip


def _entry(check: ChannelCheck, entry: Entry) -> list[Mark]:
    """Draw the allowed range behind and the bar before it; a broken bar is red and hatched."""
    low, high = check.allowed(*entry)
    value = float(check.matrix[entry])
    broken = entry in check.broken
    at: dict[str, Any] = {"xaxis": f"x{_suffix(entry)}", "yaxis": "y"}
    said = f"truth {LEVELS[entry[0]]}, released {LEVELS[entry[1]]}: {sig(100 * value)} %"
    allowed = f"allowed {sig(100 * low)} to {sig(100 * high)} %" if low <= high else "nothing is allowed here"
    pattern = {"shape": "/" if broken else "", "fgcolor": "@bg", "size": 7, "solidity": 0.25}
    return [
        at | {"type": "bar", "x": [0], "y": [100 * max(high - low, 0.0)], "base": [100 * low], "width": 1,
              "marker": {"color": "@fill", "line": {"width": 0}}, "hoverinfo": "skip"},
        at | {"type": "bar", "x": [0], "y": [100 * value], "width": 0.56, "uid": f"bar {handle_name(entry)}",
              "marker": {"color": BAD if broken else VALUES[entry[0]], "pattern": pattern,
                         "line": {"color": "@text", "width": 2 if broken else 0}},
              "hovertemplate": f"{said}<br>{allowed}<extra></extra>"},
    ]  # fmt: skip


def _handle(check: ChannelCheck, entry: Entry) -> Handle:
    return Handle(
        handle_name(entry), 100 * float(check.matrix[entry]), 0, 100, 1,
        f"Probability of releasing {LEVELS[entry[1]]} when the truth is {LEVELS[entry[0]]} (percent)",
        along="y", axis="yaxis", across=f"xaxis{_suffix(entry)}", digits=0,
    )  # fmt: skip


def _preview(check: ChannelCheck, entry: Entry) -> Sides:
    """While it moves a bar turns red as soon as it leaves its range: nothing else of its column moves then."""
    name = handle_name(entry)
    low, high = check.allowed(*entry)
    # The upper rule is strict in the browser, and a bar at its limit is allowed.
    rules = (Condition(name, (100 * low,)), Condition(name, (100 * high * _AT_LIMIT,), most=False))
    return Sides(f"bar {name}", rules, inside=(VALUES[entry[0]], "circle"), outside=(BAD, "circle"))


def _marks(check: ChannelCheck) -> tuple[list[Mark], list[Mark]]:
    """Join the bars of the worst violation of every output and say its ratio."""
    shapes: list[Mark] = []
    words: list[Mark] = [
        note("<b>✕</b>", xref=f"x{_suffix(e)}", yref="y", x=0, y=100 * float(check.matrix[e]), yanchor="bottom",
             yshift=3, font={"size": 14, "color": "@text"})
        for e in sorted(check.broken)
    ]  # fmt: skip
    for released in range(3):
        own = [v for v in check.violations if v.released == released]
        worst = max(own, key=lambda v: v.ratio / v.allowed, default=None)
        if worst is None:
            continue
        tops = [
            (sum(_span((k, released))) / 2, 100 * float(check.matrix[k, released])) for k in (worst.true, worst.other)
        ]
        (x0, y0), (x1, y1) = tops
        shapes.append({"type": "line", "xref": "paper", "yref": "y", "x0": x0, "y0": y0, "x1": x1, "y1": y1,
                       "line": {"color": BAD, "width": 2, "dash": "dot"}})  # fmt: skip
        words.append(_verdict(worst))
    return shapes, words


def _verdict(violation: Violation) -> Mark:
    left, right = _span((0, violation.released))[0], _span((2, violation.released))[1]
    pair = f"{LEVELS[violation.true]} : {LEVELS[violation.other]}"
    return note(
        f"✕ {pair} = {sig(violation.ratio)}, allowed {sig(violation.allowed)}", xref="paper", yref="paper",
        x=(left + right) / 2, y=0, yanchor="top", yshift=-26, font={"size": 12.5, "color": "@text"},
    )  # fmt: skip


def table_channel(check: ChannelCheck) -> pd.DataFrame:
    """Return every entry with its allowed range and whether it takes part in a violation."""
    rows = []
    for true in range(3):
        for released in range(3):
            low, high = check.allowed(true, released)
            rows.append((LEVELS[true], LEVELS[released], float(check.matrix[true, released]), low, high,
                         "broken" if (true, released) in check.broken else "kept"))  # fmt: skip
    return pd.DataFrame(rows, columns=["truth", "released", "probability", "at least", "at most", "constraint"])


def explain_channel(check: ChannelCheck) -> str:
    """Say which constraint is broken most, or what epsilon the channel keeps."""
    budget, certified = check.settings.channel_epsilon, check.certified_epsilon
    worst = check.worst
    if worst is None:
        return (
            f"Every bar stays in its grey range: the channel keeps epsilon **{sig(budget)}**, and its integers satisfy "
            f"even **{sig(certified)}**. Drag a bar's top out of its range to break it."
        )
    times = "infinitely many" if math.isinf(worst.ratio) else sig(worst.ratio)
    count = len(check.violations)
    return (
        f"{count} constraint{'s are' if count > 1 else ' is'} broken. Worst: {LEVELS[worst.released]} is **{times}** "
        f"times as likely from {LEVELS[worst.true]} as from {LEVELS[worst.other]}, only **{sig(worst.allowed)}** is "
        f"allowed. The channel satisfies no epsilon below **{sig(certified)}**."
        if not math.isinf(certified)
        else f"{count} constraint{'s are' if count > 1 else ' is'} broken. Worst: {LEVELS[worst.released]} is possible "
        f"from {LEVELS[worst.true]} and impossible from {LEVELS[worst.other]}, where a factor of at most "
        f"**{sig(worst.allowed)}** is allowed. A zero over a positive number satisfies no epsilon at all."
    )


def headline_channel(check: ChannelCheck) -> HEADLINES:
    """Return the four numbers of the strip."""
    total = 18
    word = "keeps the budget" if not check.violations else "breaks the budget"
    return (
        ("Budget (epsilon)", sig(check.settings.channel_epsilon), "per step"),
        ("Broken", str(len(check.violations)), f"of {total} constraints"),
        ("Certified epsilon", sig(check.certified_epsilon), word),
        ("Levels", "3", "on a line" if check.settings.metric == "ordinal" else "all one step apart"),
    )
