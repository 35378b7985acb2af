"""The picture of two points: both laws, and their likelihood ratio against what the budget allows."""

import math
from typing import Final

import numpy as np
import pandas as pd

from core.concepts.settings import POINTS
from core.concepts.two_points import TwoPoints
from core.plots.concepts import HEADLINES, HEIGHT, VALUES
from core.plots.interaction import Handle, Region
from core.plots.palette import BAD
from core.plots.template import Mark, Picture, axis, heading, note, panel, percent, sig
from core.plots.template import layout as sheet

NAMES: Final = {"line noise": "geometric noise", "EM": "the exponential mechanism", "window": "the window"}
_LEFT: Final = 52
_ROOM: Final = 1.35
"""How far the ratio axis reaches beyond the larger of bound and ratio, as a power."""
_ALL_ALLOWED: Final = 1.0 + 1e-9
"""Ratios of noise by formula reach the bound but for rounding; the certificate decides elsewhere."""


def plot_points(points: TwoPoints) -> Picture:
    """Draw the laws of A and B, and below them P(y | A) / P(y | B) with the allowed band.

    Parameters
    ----------
    points : TwoPoints
        The comparison.
    """
    settings = points.settings
    places = [settings.first_point, settings.second_point]
    finite = points.ratios[np.isfinite(points.ratios) & (points.ratios > 0)]
    reach = max(points.bound, *np.exp(np.abs(np.log(finite))).tolist(), 1.5) ** _ROOM
    traces: list[Mark] = [
        _law(points, place, letter, VALUES[k]) for k, (place, letter) in enumerate(zip(places, "AB", strict=True))
    ]
    traces += [_ratios(points, reach)]
    ends = math.log10(reach)
    x: Mark = {"range": [-0.6, POINTS - 0.4], "dtick": 1, "showgrid": False}
    drawing: Mark = {
        "barmode": "group", "bargap": 0.25,
        "xaxis": axis(anchor="y", **x),
        "yaxis": axis(anchor="x", domain=[0.58, 1], rangemode="tozero", nticks=4, tickformat=".0%"),
        "xaxis2": axis("released place (steps)", anchor="y2", **x),
        "yaxis2": axis(anchor="x2", domain=[0, 0.34], range=[-ends, ends], type="log", **_ticks(points)),
        "annotations": [
            heading("Probability of every output, if the truth is A and if it is B", _LEFT),
            panel("Likelihood ratio P(y | A) / P(y | B), log scale", "x2", "y2", xshift=-_LEFT),
            note(f"allowed: up to e^({sig(settings.point_epsilon)} × {points.distance}) = {sig(points.bound)}",
                 xref="x2 domain", yref="y2 domain", x=1, y=1, xanchor="right", yanchor="bottom", yshift=9),
        ],
    }  # fmt: skip
    return Picture(
        traces=traces,
        layout=sheet(left=_LEFT, **drawing),
        height=HEIGHT,
        name="two_points",
        alt=f"Laws of A at {places[0]} and B at {places[1]} under {NAMES[settings.noise]}, and their likelihood ratio.",
        handles=tuple(
            Handle(letter, float(place), 0, POINTS - 1, 1, f"Place of {letter}", whole=True, unit=f" = {letter}")
            for letter, place in zip("AB", places, strict=True)
        ),
        regions=(Region(y=(1 / points.bound, points.bound), axes=("xaxis2", "yaxis2"), label="allowed"),),
        table=table_points(points),
    )


def _ticks(points: TwoPoints) -> Mark:
    if points.bound < 1.02:
        return {"tickvals": [1.0], "ticktext": ["1"]}
    return {
        "tickvals": [1 / points.bound, 1.0, points.bound],
        "ticktext": [sig(1 / points.bound), "1", sig(points.bound)],
    }


def _law(points: TwoPoints, place: int, letter: str, colour: str) -> Mark:
    return {
        "type": "bar", "x": list(range(POINTS)), "y": points.law(place).tolist(), "name": f"if the truth is {letter}",
        "marker": {"color": colour}, "hovertemplate": f"truth {letter}, released %{{x}}: %{{y:.4g}}<extra></extra>",
    }  # fmt: skip


def _ratios(points: TwoPoints, reach: float) -> Mark:
    """Draw a stem's head per output; a ratio over zero stands at the edge, marked with its word."""
    ratios = points.ratios
    drawn = np.clip(np.where(np.isnan(ratios), np.nan, ratios), reach**-0.94, reach**0.94)
    broken = [
        not math.isnan(r) and not 1 / points.bound / _ALL_ALLOWED <= r <= points.bound * _ALL_ALLOWED for r in ratios
    ]
    return {
        "type": "scatter", "mode": "markers+text", "x": list(range(POINTS)), "y": drawn.tolist(),
        "xaxis": "x2", "yaxis": "y2", "uid": "ratios", "cliponaxis": False,
        "text": ["∞" if math.isinf(r) else "0" if r == 0 else "" for r in ratios], "textposition": "middle right",
        "textfont": {"size": 14, "color": "@text"},
        "marker": {
            "opacity": 1, "size": [12 if b else 9 for b in broken], "symbol": ["x" if b else "circle" for b in broken],
            "color": [BAD if b else "@text" for b in broken],
        },
        "customdata": [sig(r) for r in ratios],
        "hovertemplate": "output %{x}: ratio %{customdata}<extra></extra>",
    }  # fmt: skip


def table_points(points: TwoPoints) -> pd.DataFrame:
    """Return both laws and their ratio per output."""
    settings = points.settings
    return pd.DataFrame(
        {
            "output": range(POINTS),
            "if A": points.law(settings.first_point),
            "if B": points.law(settings.second_point),
            "ratio": points.ratios,
        }
    )


def explain_points(points: TwoPoints) -> str:
    """Say what the budget allows for this pair and what the mechanism does."""
    settings = points.settings
    allowed = (
        f"A and B are **{points.distance}** steps apart, so no output may be more than "
        f"e^({sig(settings.point_epsilon)} × {points.distance}) = "
        f"**{sig(points.bound)}** times as likely from one as from the other."
    )
    if math.isinf(points.worst_ratio):
        return f"{allowed} Output {points.telling} is possible from one only: no budget covers {NAMES[settings.noise]}."
    verb = "stays below" if points.worst_ratio < 0.995 * points.bound else "reaches" if points.keeps else "breaks"
    used = f"{percent(min(points.pair_epsilon / settings.point_epsilon, 9.99))} of the budget is used on this pair"
    return (
        f"{allowed} Under {NAMES[settings.noise]} the worst is **{sig(points.worst_ratio)}**: it {verb} that; {used}."
    )


def headline_points(points: TwoPoints) -> HEADLINES:
    """Return the four numbers of the strip."""
    settings = points.settings
    return (
        ("Distance (d)", str(points.distance), "steps"),
        ("Budget (epsilon)", sig(settings.point_epsilon), "per step"),
        ("Allowed ratio", sig(points.bound), f"e^{sig(points.exponent)}; here {sig(points.worst_ratio)}"),
        ("Certified epsilon", sig(points.certified_epsilon), "of the whole mechanism"),
    )
