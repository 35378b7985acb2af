"""Two tiers as two dice: on which faces an answer is kept, and what recipients learn alone and together."""

from typing import Final

import pandas as pd

from core.concepts.dice import TwoDice, epsilon_of
from core.concepts.settings import FACES
from core.plots.concepts import HEADLINES, HEIGHT, VALUES
from core.plots.palette import BAD, NEUTRAL
from core.plots.template import Mark, Picture, axis, bare, heading, note, panel, percent, sig
from core.plots.template import layout as sheet

_LEFT: Final = 12
_PIPS: Final = {
    1: ((0, 0),), 2: ((-1, 1), (1, -1)), 3: ((-1, 1), (0, 0), (1, -1)), 4: ((-1, 1), (1, 1), (-1, -1), (1, -1)),
    5: ((-1, 1), (1, 1), (0, 0), (-1, -1), (1, -1)),
    6: ((-1, 1), (1, 1), (-1, 0), (1, 0), (-1, -1), (1, -1)),
}  # fmt: skip
_REACH: Final = 0.24
_HALF: Final = 0.42


def plot_dice(dice: TwoDice) -> Picture:
    """Draw both dice at the left, and the epsilon of every recipient and of both together at the right.

    Parameters
    ----------
    dice : TwoDice
        The dice.
    """
    rows = ((dice.first_faces, 3.0), (dice.second_faces, 0.6))
    shapes = [square for kept, at in rows for square in _faces(kept, at)]
    values, labels = _values(dice)
    reach = 1.32 * max(values)
    colours = [VALUES[0], VALUES[1], NEUTRAL, BAD]
    drawing: Mark = {
        "xaxis": bare(domain=[0, 0.46], range=[0.4, 6.6], anchor="y", constrain="domain", constraintoward="left"),
        "yaxis": bare(range=[-0.6, 4.2], anchor="x", scaleanchor="x", constrain="domain", constraintoward="top"),
        "xaxis2": axis("epsilon = ln(likelihood ratio)", domain=[0.68, 1], anchor="y2", range=[0, reach], nticks=5),
        "yaxis2": axis(anchor="x2", range=[3.6, -0.6], tickvals=[0, 1, 2, 3], showgrid=False,
                       ticktext=["answer 1", "answer 2", "both, chained", "both, drawn apart"],
                       tickfont={"size": 13, "color": "@text"}),
        "shapes": shapes,
        "annotations": [
            heading("Die 1 is thrown on the truth, die 2 on answer 1", _LEFT),
            *_words(_rule("the truth", dice.first_faces, 1), _truth(1, float(dice.first_keep)), 3.0),
            *_words(_rule("answer 1", dice.second_faces, 2), _truth(2, float(dice.second_keep)), 0.6),
            panel("What they give away", "x2", "y2", xshift=-118),
        ],
    }  # fmt: skip
    bars = {
        "type": "bar", "orientation": "h", "x": values, "y": [0, 1, 2, 3], "xaxis": "x2", "yaxis": "y2", "width": 0.5,
        "marker": {"color": colours,
                   "pattern": {"shape": ["", "", "", "/"], "fgcolor": "@bg", "size": 7, "solidity": 0.25}},
        "text": [f"{sig(value)}  ({label})" for value, label in zip(values, labels, strict=True)],
        "textposition": "outside", "textfont": {"size": 13, "color": "@text"}, "cliponaxis": False, "uid": "epsilons",
        "hovertemplate": "epsilon %{x:.6g}<extra></extra>",
    }  # fmt: skip
    pips = {
        "type": "scatter", "mode": "markers", "hoverinfo": "skip", "marker": {"size": 6, "color": "@text"},
        "x": [f + _REACH * dx for _, at in rows for f in range(1, FACES + 1) for dx, _ in _PIPS[f]],
        "y": [at + _REACH * dy for _, at in rows for f in range(1, FACES + 1) for _, dy in _PIPS[f]],
    }  # fmt: skip
    return Picture(
        traces=[pips, bars], layout=sheet(left=_LEFT, right=64, **drawing), height=HEIGHT, name="two_dice",
        alt=f"Two dice that keep an answer on {dice.first_faces} and {dice.second_faces} faces, and what they tell.",
        table=table_dice(dice),
    )  # fmt: skip


def _words(rule: str, truth: str, at: float) -> list[Mark]:
    return [
        note(rule, x=0.5, y=at + 0.52, xanchor="left", yanchor="bottom", font={"size": 13, "color": "@text"}),
        note(truth, x=0.5, y=at - 0.55, xanchor="left", yanchor="top"),
    ]


def _rule(what: str, kept: int, number: int) -> str:
    turning = " and ".join(str(face) for face in range(kept + 1, FACES + 1))
    return f"<b>Die {number}</b>: 1 to {kept} keep {what}, {turning} turn{'s' if kept == FACES - 1 else ''} it round"


def _truth(number: int, probability: float) -> str:
    return f"answer {number} is true with probability {percent(probability)}"


def _faces(kept: int, at: float) -> list[Mark]:
    """Return the six faces; those that turn the answer round are drawn hollow with a dashed edge."""
    return [
        {"type": "rect", "xref": "x", "yref": "y", "x0": f - _HALF, "x1": f + _HALF, "y0": at - _HALF,
         "y1": at + _HALF, "layer": "below", "fillcolor": "@fill" if f <= kept else "rgba(0,0,0,0)",
         "line": {"color": "@text" if f <= kept else BAD, "width": 1.5, "dash": "solid" if f <= kept else "dot"}}
        for f in range(1, FACES + 1)
    ]  # fmt: skip


def _values(dice: TwoDice) -> tuple[list[float], list[str]]:
    odds = (dice.first_odds, dice.second_odds, dice.chained_odds, dice.apart_odds)
    return [epsilon_of(ratio) for ratio in odds], [f"{sig(float(ratio))} : 1" for ratio in odds]


def table_dice(dice: TwoDice) -> pd.DataFrame:
    """Return the law of both answers, chained and apart, for both truths."""
    laws = [dice.chained(True), dice.chained(False), dice.apart(True), dice.apart(False)]
    said = {True: "yes", False: "no"}
    return pd.DataFrame(
        [(said[a], said[b], *(float(law[a, b]) for law in laws)) for a, b in laws[0]],
        columns=[
            "answer 1",
            "answer 2",
            "chained, truth yes",
            "chained, truth no",
            "apart, truth yes",
            "apart, truth no",
        ],
    )


def explain_dice(dice: TwoDice) -> str:
    """Say what the two learn together, chained and apart."""
    first, second, together, apart = _values(dice)[0]
    return (
        f"Recipient 1 holds epsilon **{sig(first)}**, recipient 2 **{sig(second)}**. Put together the chained answers "
        f"still give **{sig(together)}**, because die 2 never sees the truth; two answers drawn apart would give "
        f"**{sig(apart)}**."
    )


def headline_dice(dice: TwoDice) -> HEADLINES:
    """Return the four numbers of the strip."""
    (first, second, together, apart), (one, two, both, _) = _values(dice)
    return (
        ("Answer 1", sig(first), f"epsilon, {one}"),
        ("Answer 2", sig(second), f"eps, {two}"),
        ("Both, chained", sig(together), f"epsilon, {both}"),
        ("Both, drawn apart", sig(apart), "epsilon"),
    )
