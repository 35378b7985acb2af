"""Shares of one attribute's levels: the raw release, two estimates with their errors, and the truth."""

from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from core.estimation import MarginalEstimate
from core.plots.palette import NEUTRAL, REMAP, TUNED
from core.plots.template import Mark, Picture, axis, escape, heading, percent, shorten, sig
from core.plots.template import layout as sheet

HEIGHT: Final = 340
DRAWN: Final = 16
"""Levels drawn, the most frequent ones of the release; the rest are in the table."""
INTERVAL: Final = 1.96
"""Half-width of a 95 % interval in standard errors."""
UNBIASED: Final = "@text"
_LEFT: Final = 46


@dataclass(frozen=True, eq=False)
class EstimateView:
    """What is estimated of one attribute.

    Parameters
    ----------
    name : str
        The attribute.
    levels : tuple of str
        Its levels.
    estimate : MarginalEstimate
        The estimates from the release.
    truth : ndarray (m,)
        Shares in the table, shown to whoever holds it.
    """

    name: str
    levels: tuple[str, ...]
    estimate: MarginalEstimate
    truth: NDArray[np.float64]

    @property
    def drawn(self) -> NDArray[np.int64]:
        """Levels that are drawn, in their own order."""
        if len(self.levels) <= DRAWN:
            return np.arange(len(self.levels))
        return np.sort(np.argsort(-np.maximum(self.estimate.raw, self.estimate.bayes), kind="stable")[:DRAWN])


def plot_estimates(view: EstimateView) -> Picture:
    """Draw raw shares as bars, both estimates with 95 % intervals beside them, and the truth as a line per level."""
    drawn, e = view.drawn, view.estimate
    at = np.arange(len(drawn))
    names = [escape(view.levels[i]) for i in drawn.tolist()]
    series = (
        ("unbiased", e.unbiased, e.unbiased_error, UNBIASED, "cross", 0.0),
        ("iterative Bayes", e.bayes, e.bayes_error, TUNED, "square", 0.26),
    )
    traces: list[Mark] = [
        {"type": "bar", "name": "released, raw", "x": (at - 0.28).tolist(), "y": e.raw[drawn].tolist(), "width": 0.22,
         "marker": {"color": REMAP, "pattern": {"shape": "/", "size": 5, "solidity": 0.25}}, "text": names,
         "textposition": "none", "hovertemplate": "%{text}<br>released %{y:.6g}<extra></extra>"},
        {"type": "scatter", "mode": "lines", "name": "truth in the table", **_levels(at, view.truth[drawn]),
         "line": {"color": NEUTRAL, "width": 2.5}, "hoverinfo": "skip"},
    ]  # fmt: skip
    for name, values, errors, colour, symbol, shift in series:
        traces.append(
            {"type": "scatter", "mode": "markers", "name": name, "x": (at + shift).tolist(), "y": _plain(values[drawn]),
             "marker": {"size": 9, "symbol": symbol, "color": colour}, "text": names,
             "error_y": {"type": "data", "array": _plain(INTERVAL * errors[drawn]), "width": 4, "thickness": 2,
                         "color": colour},
             "hovertemplate": f"%{{text}}<br>{name} %{{y:.6g}}<extra></extra>"}
        )  # fmt: skip
    low, high = _reach(view)
    limit = max(6, 100 // max(len(drawn), 1))
    frame: Mark = {
        "xaxis": axis(range=[-0.6, len(drawn) - 0.4], tickvals=at.tolist(), showgrid=False,
                      ticktext=[escape(shorten(view.levels[i], limit)) for i in drawn.tolist()]),
        "yaxis": axis(range=[low, high], nticks=6, tickformat=".0%", zeroline=low < 0, zerolinecolor="@neutral"),
        "annotations": [heading(f"Share of the records by {escape(shorten(view.name, 40))}", _LEFT, yshift=26)],
        "showlegend": True,
        "barmode": "overlay",
    }  # fmt: skip
    return Picture(
        traces=traces,
        layout=sheet(left=_LEFT, right=8, top=58, bottom=34, **frame),
        height=HEIGHT,
        name="estimates",
        alt=f"Shares of {len(drawn)} of {len(view.levels)} levels of {view.name}: released, estimated, true.",
        table=table_estimates(view),
    )


def _levels(at: NDArray[np.int64], truth: NDArray[np.float64]) -> dict[str, list[float | None]]:
    """Return short lines across every level, one per true share."""
    x = [v for i in at.tolist() for v in (i - 0.42, i + 0.42, None)]
    y = [v for share in truth.tolist() for v in (share, share, None)]
    return {"x": x, "y": y}


def _plain(values: NDArray[np.float64]) -> list[float | None]:
    return [None if np.isnan(v) else float(v) for v in values]


def _reach(view: EstimateView) -> tuple[float, float]:
    """Return the range of shares drawn; an interval that says nothing is cut."""
    e, drawn = view.estimate, view.drawn
    highs = np.concatenate([e.raw[drawn], view.truth[drawn], (e.bayes + INTERVAL * e.bayes_error)[drawn]])
    lows = np.zeros(1)
    told = drawn[e.identified[drawn]]
    if told.size:
        highs = np.concatenate([highs, (e.unbiased + INTERVAL * e.unbiased_error)[told]])
        lows = np.concatenate([lows, (e.unbiased - INTERVAL * e.unbiased_error)[told]])
    return max(float(lows.min()) * 1.08, -0.5), min(float(highs.max()) * 1.08, 1.5)


def table_estimates(view: EstimateView) -> pd.DataFrame:
    """Return every level with its raw share, both estimates, their standard errors and the truth."""
    e = view.estimate
    return pd.DataFrame(
        {
            "level": list(view.levels),
            "truth in the table": view.truth,
            "released, raw": e.raw,
            "unbiased": e.unbiased,
            "standard error": e.unbiased_error,
            "iterative Bayes": e.bayes,
            "its standard error": e.bayes_error,
        }
    )


def explain_estimates(view: EstimateView) -> str:
    """Return how far each estimate is from the truth, and what cannot be told, as sentences."""
    e, truth = view.estimate, view.truth
    if e.raw.max() == 1 and not e.identified.any():
        return (
            f"Every record was released with the same level of {view.name}: this release tells nothing about its "
            "shares, and iterative Bayes stays where it began."
        )
    raw, bayes = (0.5 * float(np.abs(v - truth).sum()) for v in (e.raw, e.bayes))
    said = f"The raw release puts **{percent(raw)}** of the records on wrong levels of {view.name}; "
    if e.identified.all():
        off = 0.5 * float(np.abs(e.unbiased - truth).sum())
        typical = float(np.sqrt(np.mean(e.unbiased_error**2)))
        said += (
            f"the unbiased estimate **{percent(off)}**, with a standard error of {sig(100 * typical)} points per level"
        )
    else:
        missing = int((~e.identified).sum())
        said += (
            f"{missing} of {len(truth)} levels have no estimate without bias, because this channel releases too few "
            "different states"
        )
    return f"{said}; iterative Bayes **{percent(bayes)}**. Estimates read the released table and the channel alone."
