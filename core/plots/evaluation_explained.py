"""Why a measured loss is not the predicted one: prior shift and surrogate residual, method by method."""

import math
from typing import Final

import pandas as pd

from core.evaluation.methods import find_method
from core.plots.evaluation_looks import look_of, settle
from core.plots.palette import GROUPS
from core.plots.template import MINUS, Mark, Picture, axis, bare, escape, heading, note, panel, sig
from core.plots.template import layout as sheet

SHIFT: Final = GROUPS[3]
RESIDUAL: Final = GROUPS[1]
_PARTS: Final = ("loss", "predicted", "prior_shift", "surrogate_residual", "sampling_error")
_LEFT: Final = 128
_ROW: Final = 34
_TOP: Final = 34
_BOTTOM: Final = 52
_LEAST_HEIGHT: Final = 420
_BELOW: Final = 0.3
"""By how much the way from prediction to measurement is drawn under its two ends, in rows."""
_NUMBERS: Final = 0.70
"""Where the bars end and the numbers begin, as a share of the width."""


def explained_rows(frame: pd.DataFrame, epsilon: float) -> pd.DataFrame:
    """Return the rows at one budget of the methods that release something, in order."""
    kept = frame[frame["epsilon"] == epsilon]
    kept = kept[[find_method(str(name)).measure != "bound" for name in kept["method"]]].reset_index(drop=True)
    return settle(kept, _PARTS)


def plot_explained(frame: pd.DataFrame, epsilon: float, unit: str) -> Picture:
    """Draw per method the way from the predicted loss over the prior shift and the residual to the measured loss.

    Parameters
    ----------
    frame : DataFrame
        Rows of an evaluation.
    epsilon : float
        One of its budgets.
    unit : str
        Unit of the loss.
    """
    rows = explained_rows(frame, epsilon)
    height = max(_LEAST_HEIGHT, _TOP + _BOTTOM + _ROW * len(rows))
    traces: list[Mark] = []
    notes = [
        heading(f"From predicted to measured loss ({escape(unit)}), epsilon {epsilon:g}", _LEFT),
        *(_column(words, x) for words, x in (("prior shift", 0.83), ("residual", 1.0))),
    ]
    for y, row in rows.iterrows():
        at, shifted = float(str(y)), row["predicted"] + _or_zero(row["prior_shift"])
        traces += [
            _step(SHIFT, row["predicted"], shifted, at),
            _step(RESIDUAL, shifted, row["loss"], at),
            *_ends(row, at),
        ]
        notes.append(note(escape(row["method"]), xref="paper", yref="y", x=0, y=at, xanchor="left", xshift=-_LEFT,
                          font={"size": 12.5, "color": "@text"}))  # fmt: skip
        notes += [_number(row["prior_shift"], 0.83, at), _number(row["surrogate_residual"], 1.0, at)]
    return Picture(
        traces=traces,
        layout=sheet(
            left=_LEFT, right=14, top=_TOP, bottom=_BOTTOM, annotations=notes,
            xaxis=axis(f"loss ({escape(unit)})", domain=[0, _NUMBERS], nticks=7),
            yaxis=bare(range=[max(len(rows), 1) - 0.4, -0.6]),
        ),
        height=height,
        name="evaluation_explained",
        alt=explain_gaps(frame, epsilon).replace("**", ""),
        table=rows,
    )  # fmt: skip


def _or_zero(value: float) -> float:
    return 0.0 if math.isnan(value) else float(value)


def _step(colour: str, start: float, end: float, y: float) -> Mark:
    return {
        "type": "scatter", "mode": "lines", "x": [start, end], "y": [y + _BELOW, y + _BELOW],
        "line": {"color": colour, "width": 6},
        "hovertemplate": "%{x:.6g}<extra></extra>",
    }  # fmt: skip


def _ends(row: pd.Series, y: float) -> tuple[Mark, Mark]:
    colour, _, symbol = look_of(str(row["method"]), 0)
    symbol = "circle" if symbol.startswith("line") else symbol.removesuffix("-open")
    predicted: Mark = {
        "type": "scatter", "mode": "markers", "x": [row["predicted"]], "y": [y],
        "marker": {"symbol": f"{symbol}-open", "size": 11, "color": colour, "line": {"width": 2, "color": colour}},
        "hovertemplate": "predicted %{x:.6g}<extra></extra>",
    }  # fmt: skip
    measured: Mark = {
        "type": "scatter", "mode": "markers", "uid": f"measured {row['method']}", "x": [row["loss"]], "y": [y],
        "marker": {"symbol": symbol, "size": 11, "color": colour, "line": {"width": 1.5, "color": "@bg"}},
        "error_x": {"type": "data", "array": [row["sampling_error"]], "color": "@text", "thickness": 1.5, "width": 4},
        "hovertemplate": f"measured %{{x:.6g}} ± {row['sampling_error']:.3g}<extra></extra>",
    }  # fmt: skip
    return predicted, measured


def _column(words: str, x: float) -> Mark:
    font = {"size": 12.5, "color": "@text"}
    return panel(words, xref="paper", yref="paper", xanchor="right", font=font) | {"x": x, "text": words}


def _number(value: float, x: float, y: float) -> Mark:
    words = "–" if math.isnan(value) else f"{'+' if value > 0 else ''}{sig(value)}".replace("-", MINUS)
    return note(words, xref="paper", yref="y", x=x, y=y, xanchor="right", font={"size": 12.5, "color": "@text"})


def explain_gaps(frame: pd.DataFrame, epsilon: float) -> str:
    """Return where prediction and measurement are furthest apart, and which of the two causes it is."""
    rows = explained_rows(frame, epsilon)
    if rows.empty:
        return "Nothing that releases something was measured at this budget."
    gaps = (rows["loss"] - rows["predicted"]).abs()
    row = rows.iloc[int(gaps.to_numpy().argmax())]
    shift, residual, error = _or_zero(row["prior_shift"]), row["surrogate_residual"], row["sampling_error"]
    beyond = [
        str(r["method"]) for _, r in rows.iterrows() if abs(r["surrogate_residual"]) > max(r["sampling_error"], 1e-12)
    ]
    direction = "more" if row["loss"] > row["predicted"] else "less"
    cause = "the surrogate's residual" if abs(residual) >= abs(shift) else "the prior shift"
    said = (
        f"**{row['method']}** loses {sig(gaps.max())} {direction} than predicted ({sig(row['predicted'])}), mostly "
        f"{cause}: shift {sig(shift)}, residual **{sig(residual)}**, sampling error ± {sig(error)}."
    )
    share = f"{len(beyond)} of {len(rows)}" if len(rows) > 1 else ("It" if beyond else "None")
    return f"{said} The residual is beyond sampling error for {share} methods." if len(rows) > 1 else said


def table_by_group(frame: pd.DataFrame) -> pd.DataFrame:
    """Return what every group costs alone under plain names.

    Parameters
    ----------
    frame : DataFrame
        From `core.evaluation.explained.explain_groups`.
    """
    names = {
        "group": "group", "mechanism": "mechanism", "budget": "epsilon", "predicted": "predicted",
        "prior_shift": "prior shift", "residual": "residual", "sampling_error": "± sampling", "alone": "alone",
    }  # fmt: skip
    settled = settle(frame, ["alone", "predicted", "prior_shift", "residual", "sampling_error"])
    return settled[list(names)].rename(columns=names)
