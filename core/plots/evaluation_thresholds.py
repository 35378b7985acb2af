"""Thresholds that were tried on calibration rows: what each design lost there, by grouping, and the best of them."""

from typing import Any, Final

import numpy as np
import pandas as pd

from core.evaluation.planner import Recommendation
from core.plots.evaluation_looks import look_of
from core.plots.place import Placement
from core.plots.template import Mark, Picture, axis, escape, heading, label, percent, sig
from core.plots.template import layout as sheet

HEIGHT: Final = 460
_LEFT: Final = 56
_METHODS: Final = ("DepHDP-r", "DepHDP-m", "DepHDP tuned")
_OFFSET: Final = 0.2
"""How far the methods stand apart within one grouping."""
_PAD: Final = 0.12


def _name(method: str) -> str:
    """Return the method without the mark of its fitting split: all candidates are configured on it."""
    return method.removesuffix("-s")


def _rule(row: Any) -> str:
    """Return how a candidate chooses its groups."""
    if row["tau_dpn"] is None or np.isnan(row["tau_dpn"]):
        return "mechanisms chosen by predicted loss"
    if abs(row["tau_dpn"]) >= 1.0:
        return "no group optimised" if row["tau_dpn"] < 0 else "every affordable group optimised"
    return f"tau_dpn {row['tau_dpn']:.3g}".replace("-", "\N{MINUS SIGN}")


def plot_thresholds(found: Recommendation, unit: str) -> Picture:
    """Draw the loss on calibration rows of every candidate that was tried, by tau_group and method, the best ringed.

    Parameters
    ----------
    found : Recommendation
        From `core.evaluation.planner.recommend_thresholds`.
    unit : str
        Unit of the loss.
    """
    frame = found.frame
    taus = sorted(set(frame["tau_group"]))
    low, high = float(frame["loss"].min()), float(frame["loss"].max())
    pad = _PAD * max(high - low, 0.05 * high, 1e-9)
    at = [taus.index(t) + _offset(m) for t, m in zip(frame["tau_group"], frame["method"], strict=True)]
    best = int(frame["loss"].to_numpy().argmin())
    traces: list[Mark] = []
    for i, (method, part) in enumerate(frame.groupby("method", sort=False)):
        colour, _, symbol = look_of(_name(str(method)), i)
        traces.append(
            {
                "type": "scatter", "mode": "markers", "uid": f"tried {_name(str(method))}",
                "x": [at[k] for k in part.index], "y": part["loss"].tolist(), "cliponaxis": False,
                "marker": {"symbol": symbol, "size": 11, "color": colour, "line": {"width": 1.5, "color": colour}},
                "text": [f"tau_dim {row['tau_dim']}, {_rule(row)}" for _, row in part.iterrows()],
                "customdata": part["seconds"].tolist(),
                "hovertemplate": f"{escape(_name(str(method)))}<br>%{{text}}<br>loss %{{y:.6g}}<br>"
                "tried in %{customdata:.2g} s<extra></extra>",
            }
        )  # fmt: skip
    traces.append(
        {
            "type": "scatter", "mode": "markers", "uid": "best", "x": [at[best]], "y": [low], "hoverinfo": "skip",
            "marker": {"symbol": "circle-open", "size": 22, "color": "@text", "line": {"width": 2.5, "color": "@text"}},
        }
    )  # fmt: skip
    spot = Placement(16.0, 0.0, "left", "middle")
    if at[best] > (len(taus) - 1) / 2 and len(taus) > 1:
        spot = Placement(-16.0, 0.0, "right", "middle")
    notes = [
        heading(f"Mean loss of calibration records ({escape(unit)})", _LEFT),
        label(f"best, {sig(low)}", at[best], low, spot, bgcolor="@bg"),
    ]
    return Picture(
        traces,
        sheet(
            left=_LEFT, right=14, annotations=notes,
            xaxis=axis("grouping threshold (tau_group)", range=[-0.5, len(taus) - 0.5], showgrid=False,
                       tickvals=list(range(len(taus))), ticktext=[f"{t:g}" for t in taus]),
            yaxis=axis(range=[max(low - pad, 0.0), high + pad], nticks=7),
        ),
        HEIGHT, "thresholds", explain_thresholds(found).replace("**", ""), table=table_thresholds(found),
    )  # fmt: skip


def _offset(method: str) -> float:
    return _OFFSET * (_METHODS.index(_name(method)) - 1) if _name(method) in _METHODS else 0.0


def explain_thresholds(found: Recommendation) -> str:
    """Return the best thresholds, what they lose there, and how much that is below the worst."""
    row, worst = found.best, float(found.frame["loss"].max())
    less = f", {percent(1 - row['loss'] / worst)} less than the worst tried" if worst > row["loss"] else ""
    all_tried = found.tried == found.candidates
    tried = f"all {found.tried} candidates" if all_tried else f"{found.tried} candidates tried, of {found.candidates},"
    return (
        f"Of {tried} **{_name(row['method'])}** with tau_group {row['tau_group']:g}, tau_dim "
        f"{row['tau_dim']} and {_rule(row | {'tau_dpn': np.nan if row['tau_dpn'] is None else row['tau_dpn']})} loses "
        f"least on calibration rows, **{sig(row['loss'])}**{less}."
    )


def table_thresholds(found: Recommendation) -> pd.DataFrame:
    """Return the candidates under plain names, the best first."""
    frame = found.frame.sort_values("loss", kind="stable")
    return pd.DataFrame(
        {
            "method": [_name(str(method)) for method in frame["method"]],
            "tau_group": frame["tau_group"].tolist(),
            "tau_dim": frame["tau_dim"].tolist(),
            "tau_dpn": frame["tau_dpn"].astype(float).tolist(),
            "loss": frame["loss"].tolist(),
            "sd between repeats": frame["sd"].tolist(),
            "tried in, s": frame["seconds"].tolist(),
        }
    )
