"""Which budgets fit: the feasible set of two groups under every metric, over the loss that each pair would give."""

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from core.plots.budget_view import BudgetView, draw_loss
from core.plots.palette import CIVIDIS, TUNED, UNIFORM
from core.plots.template import Mark, Picture, axis, escape, heading, note, shorten, sig
from core.plots.template import layout as sheet

HEIGHT: Final = 440
_STEPS: Final = 61
_ARC: Final = 91
_EXPONENTS: Final = ((1.0, "p = 1"), (2.0, "p = 2"), (math.inf, "p = ∞"))
_LEFT: Final = 60
_NOTHING: Final = 1e-6
"""Share of the whole epsilon below which nothing is left: what others spend adds up to it by rounding only."""

Floats = NDArray[np.float64]


def trace_boundary(total: float, q: float, points: int = _ARC) -> tuple[Floats, Floats]:
    """Return the edge of {(a, b) >= 0 : ||(a, b)||_q <= total}, from (total, 0) to (0, total).

    Examples
    --------
    >>> [v.round(3).tolist() for v in trace_boundary(2.0, 1.0, 3)]
    [[2.0, 1.0, 0.0], [0.0, 1.0, 2.0]]
    """
    if math.isinf(q):
        return np.array([total, total, 0.0]), np.array([0.0, total, total])
    angle = np.linspace(0.0, math.pi / 2, points)
    across, up = total * np.abs(np.cos(angle)) ** (2 / q), total * np.sin(angle) ** (2 / q)
    across[-1] = 0.0  # the cosine of a quarter turn is not quite 0, and a root of it farther
    return across, up


def remaining_budget(view: BudgetView, pair: tuple[int, int]) -> float:
    """Return what the other groups leave to the two: (epsilon^q - sum of their epsilons^q)^(1/q)."""
    q, total = view.budgets.allocation.q, view.design.scenario.epsilon
    others = [e for k, e in enumerate(view.design.allocation) if k not in pair]
    if math.isinf(q):
        return total
    left = 1.0 - math.fsum((e / total) ** q for e in others)
    return float(total * max(left, 0.0) ** (1.0 / q))


def plot_feasible(view: BudgetView, pair: tuple[int, int]) -> Picture:
    """Draw the budgets that two groups may have, the loss of each pair, and where the allocation stands.

    Parameters
    ----------
    view : BudgetView
        The design.
    pair : (int, int)
        Positions of the two groups: along x and along y.
    """
    total, q = view.design.scenario.epsilon, view.budgets.allocation.q
    rest = remaining_budget(view, pair)
    names = [escape(shorten(view.names[k], 26)) for k in pair]
    chosen = [view.design.allocation[k] for k in pair]
    size = 1.08 * total
    at = np.linspace(0.0, size, _STEPS)
    loss = draw_loss(view, pair[0], at)[None, :] + draw_loss(view, pair[1], at)[:, None]
    traces: list[Mark] = [
        {"type": "contour", "x": at.tolist(), "y": at.tolist(), "z": loss.astype(np.float32), "colorscale": CIVIDIS,
         "reversescale": True, "opacity": 0.55, "ncontours": 14, "line": {"width": 0.5},
         "colorbar": {"thickness": 8, "outlinewidth": 0, "nticks": 5, "tickfont": {"size": 12, "color": "@muted"}},
         "hovertemplate": f"{names[0]} %{{x:.3g}}<br>{names[1]} %{{y:.3g}}<br>loss of both %{{z:.4g}}<extra></extra>"},
    ]  # fmt: skip
    notes = [heading(f"Epsilon of {names[1]}; colour: loss of both groups ({view.unit})", _LEFT)]
    own_p = view.design.scenario.p
    for p, word in (*_EXPONENTS, *(() if own_p in dict(_EXPONENTS) else ((own_p, f"p = {own_p:g}"),))):
        x, y = trace_boundary(total, _dual(p))
        own = p == own_p
        traces.append(_edge(x, y, own=own, words=f"{word}, these two groups alone"))
        middle = len(x) // 2
        notes.append(
            note(f"<b>{word}</b>" if own else word, x=float(x[middle]), y=float(y[middle]), xanchor="left",
                 yanchor="bottom", xshift=3, font={"size": 12.5, "color": "@text"})
        )  # fmt: skip
    x, y = trace_boundary(rest, q)
    traces.append(_edge(x, y, own=True, words=f"what the other groups leave, {sig(rest)}", colour=TUNED))
    traces.append(_dot(view.equal, view.equal, "x", UNIFORM, f"uniform split, {sig(view.equal)} each"))
    words = f"chosen: {sig(chosen[0])} and {sig(chosen[1])}"
    traces.append(_dot(chosen[0], chosen[1], "square", TUNED, words))
    return Picture(
        traces=traces,
        layout=sheet(
            left=_LEFT,
            right=60,
            xaxis=axis(f"epsilon of {names[0]}", range=[0, size], nticks=8),
            yaxis=axis(range=[0, size], nticks=8),
            annotations=notes,
        ),
        height=HEIGHT,
        name="feasible",
        alt=f"Feasible budgets of {view.names[pair[0]]} and {view.names[pair[1]]}; {words}.",
    )


def _dual(p: float) -> float:
    if math.isinf(p):
        return 1.0
    return math.inf if p == 1.0 else p / (p - 1.0)


def _edge(x: Floats, y: Floats, *, own: bool, words: str, colour: str = "@text") -> Mark:
    line = {"color": colour, "width": 3 if own else 1.5, "dash": "solid" if own else "dot"}
    return {
        "type": "scatter", "mode": "lines", "x": x.tolist(), "y": y.tolist(), "line": line,
        "hovertemplate": f"{words}<extra></extra>",
    }  # fmt: skip


def _dot(x: float, y: float, symbol: str, colour: str, words: str) -> Mark:
    return {
        "type": "scatter", "mode": "markers", "x": [x], "y": [y], "cliponaxis": False,
        "marker": {"size": 13, "symbol": symbol, "color": colour, "line": {"width": 2, "color": "@bg"}},
        "hovertemplate": f"{words}<extra></extra>",
    }  # fmt: skip


def explain_feasible(view: BudgetView, pair: tuple[int, int]) -> str:
    """Return what the picture shows: how much the two may have, and why they stand where they do."""
    q, total = view.budgets.allocation.q, view.design.scenario.epsilon
    first, second = (f"**{view.names[k]}**" for k in pair)
    if math.isinf(q):
        return (
            f"With p = 1 the feasible set is a square: {first} and {second} may each use the whole of {sig(total)}, "
            "whatever the others do."
        )
    shape = "a triangle, every unit is shared" if q == 1.0 else "rounded, so two halves cost less than one whole"
    rest = remaining_budget(view, pair)
    if rest <= _NOTHING * total:
        return f"The other groups take the whole epsilon of {sig(total)}: {first} and {second} get none of it."
    why = (
        "The square is the equal split, whatever the losses."
        if view.is_uniform
        else "The square stands about where a step along the edge gains for one group what it costs the other."
    )
    return (
        f"The other groups leave {first} and {second} the green edge, radius {sig(rest)} of {sig(total)}; it is "
        f"{shape}. {why}"
    )
