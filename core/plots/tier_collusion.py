"""The collusion experiment: the error of the best combination of the answers that colluders hold."""

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
import pandas as pd

from core.plots.template import Mark, Picture, axis, heading, note, percent, sig
from core.plots.template import layout as sheet
from core.plots.tier_looks import TIER_LOOKS, spread_labels
from core.tiers.collusion import PooledCurve
from core.tiers.comparison import ReleaseCurve
from core.tiers.laws import FloatArray

HEIGHT: Final = 320
_LEFT: Final = 52
_RIGHT: Final = 96
_INTERVAL: Final = 1.96
_SAME: Final = 1e-6


def plot_collusion(curves: Sequence[PooledCurve]) -> Picture:
    """Draw the error of pooled answers over the best-informed recipient's own, theory as lines, simulation as points.

    Parameters
    ----------
    curves : sequence of PooledCurve
        One per release.
    """
    count = len(curves[0].theory)
    edge = 0.06 * max(count - 1, 1)
    x_range = [1 - edge, count + edge]
    shown = [_shares(curve) for curve in curves]
    low = min(float((measured - reach).min()) for _, measured, reach in shown)
    high = max(float((measured + reach).max()) for _, measured, reach in shown)
    y_range = [max(0.0, 1 - 1.3 * (1 - low)), max(1 + 0.3 * (1 - low), high + 0.02, 1.02)]
    traces = [mark for step, curve in enumerate(curves) for mark in _curve(curve, step, x_range)]
    axes = {
        "xaxis": axis("colluders, best-informed first", range=x_range,
                      tickvals=sorted({round(1 + (count - 1) * i / 9) for i in range(10)})),
        "yaxis": axis(range=y_range, nticks=6, tickformat=".0%"),
    }  # fmt: skip
    title = heading("Error of their best linear combination, as a share of the best-informed one's own", _LEFT)
    return Picture(
        traces=traces,
        layout=sheet(
            left=_LEFT, right=_RIGHT, top=34, bottom=46, annotations=[title, *_labels(curves, y_range)], **axes
        ),
        height=HEIGHT,
        name="collusion",
        alt=f"Pooled error of {count} colluders over the best-informed one's own: "
        + "; ".join(f"{curve.release} {percent(curve.theory[-1] / curve.theory[0])}" for curve in curves),
    )


def _shares(curve: PooledCurve) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return theory, measurement and half-width of its interval, over the error of tier 1."""
    own = curve.theory[0]
    return curve.theory / own, curve.measured / own, _INTERVAL * curve.standard_errors / own


def _curve(curve: PooledCurve, step: int, x_range: list[float]) -> list[Mark]:
    look = TIER_LOOKS[curve.release]
    theory, measured, reach = _shares(curve)
    sizes = np.arange(1, len(theory) + 1)
    shift = (step - 1) * 0.007 * (x_range[1] - x_range[0])
    marker: Mark = {"size": 10, "symbol": look.symbol, "color": look.colour, "line": {"width": 1, "color": "@bg"}}
    if look.symbol.endswith("-open"):
        marker["line"] = {"width": 1.5, "color": look.colour}
    errors = np.stack([curve.theory, curve.measured], axis=1)
    said = "pooled MSE %{customdata[1]:.6g}, %{y:.2%} of tier 1"
    return [
        {"type": "scatter", "mode": "lines", "x": sizes.tolist(), "y": theory.tolist(),
         "line": {"color": look.colour, "dash": look.dash, "width": look.width},
         "hovertemplate": f"{curve.release}, theory<br>%{{x}} colluders<br>%{{y:.2%}} of tier 1<extra></extra>"},
        {"type": "scatter", "mode": "markers", "x": (sizes + shift).tolist(), "y": measured.tolist(),
         "customdata": errors.tolist(), "marker": marker, "cliponaxis": False,
         "error_y": {"type": "data", "array": reach.tolist(), "width": 3, "thickness": 1.25, "color": look.colour},
         "hovertemplate": f"{curve.release}, simulated<br>{said}<extra></extra>"},
    ]  # fmt: skip


def _labels(curves: Sequence[PooledCurve], y_range: list[float]) -> list[Mark]:
    height = HEIGHT - 34 - 46
    ends = [(float(curve.theory[-1] / curve.theory[0]) - y_range[0]) / (y_range[1] - y_range[0]) for curve in curves]
    return [
        note(curve.release, xref="paper", yref="y domain", x=1, y=0, yshift=at, xanchor="left", xshift=6,
             yanchor="middle", font={"size": 12.5, "color": "@text"})
        for at, curve in zip(spread_labels([end * height for end in ends]), curves, strict=True)
    ]  # fmt: skip


def table_collusion(curves: Sequence[PooledCurve]) -> pd.DataFrame:
    """Return the numbers behind the picture, one row per coalition."""
    columns: dict[str, object] = {"colluders": list(range(1, len(curves[0].theory) + 1))}
    for curve in curves:
        columns |= {
            f"{curve.release} pooled MSE": curve.theory,
            f"{curve.release} simulated": curve.measured,
            f"{curve.release} standard error": curve.standard_errors,
        }
    return pd.DataFrame(columns)


def explain_collusion(curves: Sequence[PooledCurve]) -> str:
    """Return what the experiment means, every number from the result."""
    named = {curve.release: curve for curve in curves}
    chain, apart = named["multi-tier"], named["independent"]
    if len(chain.theory) == 1:
        return "One recipient has nobody to pool with."
    gain = 1 - apart.measured[-1] / apart.theory[0]
    moved = chain.measured[-1] / chain.measured[0] - 1
    still = "does not move" if abs(moved) < _SAME else f"moves by {percent(moved)}"
    return (
        f"Pooling all {len(chain.theory)} independent answers brings the error **{percent(gain)}** below that of the "
        f"best-informed recipient, to {sig(apart.measured[-1])}: they learn more than any budget allowed. Under the "
        f"multi-tier chain the pooled error **{still}**."
    )


def table_accounts(curves: Sequence[ReleaseCurve]) -> pd.DataFrame:
    """Return what all recipients learn together under every release, one row per release."""
    costs = [curve.together for curve in curves]
    return pd.DataFrame(
        {
            "release": [curve.name for curve in curves],
            "epsilon together": [cost.epsilon for cost in costs],
            "delta together": [cost.delta for cost in costs],
            "mu together": [math.nan if cost.mu is None else cost.mu for cost in costs],
            "rule": [cost.rule for cost in costs],
        }
    )
