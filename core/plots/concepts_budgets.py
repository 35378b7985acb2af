"""Theorem 1 as a picture: which pairs of budgets a total allows when p is 1, 2 or infinite."""

import math
from typing import Final

import pandas as pd

from core.concepts.budgets import EXPONENTS, BudgetPair
from core.metric import dual_exponent
from core.plots.concepts import HEADLINES, HEIGHT, value_label
from core.plots.feasible import trace_boundary
from core.plots.interaction import Handle
from core.plots.palette import BAD, TUNED
from core.plots.template import Mark, Picture, axis, heading, note, panel, sig
from core.plots.template import layout as sheet

_LEFT: Final = 62
_MOST: Final = 6.0
_DASHES: Final = {1.0: "dash", 2.0: "solid", math.inf: "dot"}
_SHARES: Final = {1.0: "the larger one counts", 2.0: "squares add up", math.inf: "budgets add up"}


def _name(p: float) -> str:
    return "p = ∞" if math.isinf(p) else f"p = {p:g}"


def plot_budgets(pair: BudgetPair) -> Picture:
    """Draw the three feasible sets, the pair on two handles, and what it needs under every metric.

    Parameters
    ----------
    pair : BudgetPair
        The budgets.
    """
    size = 1.12 * max(pair.total, pair.first, pair.second)
    traces: list[Mark] = []
    notes = [heading("Epsilon of the second group, and what fits", _LEFT)]
    for p in EXPONENTS:
        x, y = trace_boundary(pair.total, dual_exponent(p))
        own = p == pair.p
        traces.append(
            {"type": "scatter", "mode": "lines", "x": [0, *x.tolist(), 0], "y": [0, *y.tolist(), 0],
             "fill": "toself" if own else "none", "fillcolor": "@fill", "hoverinfo": "skip",
             "line": {"color": "@text" if own else "@neutral", "width": 3 if own else 1.5, "dash": _DASHES[p]}}
        )  # fmt: skip
        at = len(x) // 4 if dual_exponent(p) == 2.0 else len(x) // 2
        notes.append(note(f"<b>{_name(p)}</b>" if own else _name(p), x=float(x[at]), y=float(y[at]), xanchor="right",
                          yanchor="top", xshift=-4, yshift=-2, font={"size": 12.5, "color": "@text"}))  # fmt: skip
    colour = TUNED if pair.fits else BAD
    symbol = "square" if pair.fits else "x"
    traces.append(
        {"type": "scatter", "mode": "markers", "x": [pair.first], "y": [pair.second], "cliponaxis": False,
         "uid": "pair", "marker": {"size": 15, "symbol": symbol, "color": colour, "line": {"width": 2, "color": "@bg"}},
         "hovertemplate": f"{sig(pair.first)} and {sig(pair.second)}<extra></extra>"}
    )  # fmt: skip
    traces += _needs(pair)
    reach = 1.3 * max(pair.total, *pair.needed.values())
    drawing: Mark = {
        "xaxis": axis("epsilon of the first group", domain=[0, 0.54], anchor="y", range=[0, size], nticks=7),
        "yaxis": axis(anchor="x", range=[0, size], nticks=7),
        "xaxis2": axis("total epsilon needed", domain=[0.66, 1], anchor="y2", range=[0, reach], nticks=5),
        "yaxis2": axis(anchor="x2", range=[2.6, -0.6], tickvals=[0, 1, 2], ticktext=[_name(p) for p in EXPONENTS],
                       showgrid=False, tickfont={"size": 13, "color": "@text"}),
        "shapes": [{"type": "line", "xref": "x2", "yref": "y2 domain", "x0": pair.total, "x1": pair.total, "y0": 0,
                    "y1": 1, "line": {"color": "@text", "width": 2}}],
        "annotations": [
            *notes, panel("What the pair needs", "x2", "y2", xshift=-44),
            *[value_label(f"{sig(pair.needed[p])}{'' if pair.needed[p] <= pair.total else ' ✕'}", pair.needed[p], row,
                          ("x2", "y2"), xshift=4) for row, p in enumerate(EXPONENTS)],
            note(f"total {sig(pair.total)}", xref="x2", yref="y2 domain", x=pair.total, y=0, xanchor="left",
                 yanchor="bottom", xshift=5, yshift=2),
        ],
    }  # fmt: skip
    handles = (
        Handle("first", pair.first, 0, _MOST, 0.05, "Budget of the first group", digits=2),
        Handle("second", pair.second, 0, _MOST, 0.05, "Budget of the second group", along="y", axis="yaxis",
               across="xaxis", digits=2),
    )  # fmt: skip
    return Picture(
        traces=traces, layout=sheet(left=_LEFT, right=14, **drawing), height=HEIGHT, name="feasible_budgets",
        alt=f"Feasible budgets under a total of {sig(pair.total)}; the pair {'fits' if pair.fits else 'does not fit'}.",
        handles=handles, table=table_budgets(pair),
    )  # fmt: skip


def _needs(pair: BudgetPair) -> list[Mark]:
    fits = [pair.needed[p] <= pair.total for p in EXPONENTS]
    return [
        {"type": "bar", "orientation": "h", "x": [pair.needed[p] for p in EXPONENTS], "y": [0, 1, 2], "xaxis": "x2",
         "yaxis": "y2", "width": 0.5,
         "marker": {"color": [TUNED if fit else BAD for fit in fits],
                    "pattern": {"shape": ["" if fit else "/" for fit in fits], "fgcolor": "@bg", "size": 7,
                                "solidity": 0.25}},
         "customdata": [_SHARES[p] for p in EXPONENTS],
         "hovertemplate": "%{x:.6g}: %{customdata}<extra></extra>"}
    ]  # fmt: skip


def table_budgets(pair: BudgetPair) -> pd.DataFrame:
    """Return what the pair needs under every exponent, and whether it fits."""
    return pd.DataFrame(
        [
            (_name(p), dual_exponent(p), pair.needed[p], "fits" if pair.needed[p] <= pair.total else "too much")
            for p in pair.needed
        ],
        columns=["metric", "dual exponent q", "total needed", "within the total"],
    )


def explain_budgets(pair: BudgetPair) -> str:
    """Say whether the pair fits and what is left for the second group."""
    needed = pair.needed[pair.p]
    verdict = "fits" if pair.fits else "does not fit"
    rest = (
        f"Beside {sig(pair.first)} the second group may have up to **{sig(pair.left)}**."
        if not math.isnan(pair.left)
        else f"The first group alone exceeds the total by **{sig(pair.first - pair.total)}**."
    )
    return (
        f"Under {_name(pair.p)} {_SHARES.get(pair.p, 'a norm counts')}: {sig(pair.first)} and {sig(pair.second)} need "
        f"**{sig(needed)}**, which {verdict} **{sig(pair.total)}**. {rest}"
    )


def headline_budgets(pair: BudgetPair) -> HEADLINES:
    """Return the four numbers of the strip."""
    return (
        ("Total (epsilon)", sig(pair.total), "for the record"),
        ("Needed", sig(pair.needed[pair.p]), _name(pair.p)),
        ("Dual exponent (q)", sig(pair.q), "1/p + 1/q = 1"),
        ("The pair", "fits" if pair.fits else "too much", ""),
    )
