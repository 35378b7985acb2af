"""What a Bayesian attacker gains: success before and after a release, and the worst factor on the odds."""

import math
from typing import Final

import pandas as pd

from core.plots.evaluation_looks import look_of
from core.plots.template import Mark, Picture, axis, bare, escape, heading, note, panel, percent, shorten, sig
from core.plots.template import layout as sheet

SHOWN: Final = 16
_LEFT: Final = 190
_ROW: Final = 25
_TOP: Final = 34
_BOTTOM: Final = 52
_LEAST_HEIGHT: Final = 420
_SPLIT: Final = (0.60, 0.68)
_NAME: Final = 27
_FINE: Final = 2.05
"""Powers of ten up to which a log axis names 2 and 5 too."""


def attacked_rows(frame: pd.DataFrame, epsilon: float) -> pd.DataFrame:
    """Return the rows at one budget, the guesses with the largest gain of any method first."""
    kept = frame[frame["epsilon"] == epsilon].copy()
    kept["gain"] = kept["posterior"] - kept["prior"]
    order = kept.groupby("guess")["gain"].max().sort_values(ascending=False, kind="stable")
    kept["rank"] = kept["guess"].map({guess: i for i, guess in enumerate(order.index)})
    return kept.sort_values(["rank"], kind="stable").reset_index(drop=True)


def plot_attack(frame: pd.DataFrame, epsilon: float) -> Picture:
    """Draw per guess the attacker's success without a release and after it, per method, and the worst factor.

    Parameters
    ----------
    frame : DataFrame
        From `core.evaluation.attacker.attack`.
    epsilon : float
        One of its total budgets.
    """
    rows = attacked_rows(frame, epsilon)
    guesses = list(dict.fromkeys(rows["guess"]))[:SHOWN]
    place = {guess: y for y, guess in enumerate(guesses)}
    rows = rows[rows["guess"].isin(guesses)]
    more = f", {SHOWN} of {frame['guess'].nunique()} guesses" if frame["guess"].nunique() > SHOWN else ""
    notes = [
        heading(f"Chance to guess right (%){more}, epsilon {epsilon:g}", _LEFT),
        panel("Worst factor on odds", "x2", "y2", font={"size": 12.5, "color": "@text"}),
    ]
    notes += [
        note(escape(shorten(guess, _NAME)), xref="paper", yref="y", x=0, y=y, xanchor="left", xshift=-_LEFT,
             font={"size": 12.5, "color": "@text"})
        for guess, y in place.items()
    ]  # fmt: skip
    firsts = rows.drop_duplicates("guess")
    traces: list[Mark] = [_before(firsts, place)]
    for i, (method, part) in enumerate(rows.groupby("method", sort=False)):
        y = [place[guess] for guess in part["guess"]]
        traces += [_after(str(method), i, part, y), _factor(str(method), i, part, y)]
    vertical = {"range": [len(guesses) - 0.4, -0.6], "showgrid": True, "tickvals": list(place.values())}
    top = max(1.0, float(rows["log_factor"].max()) / math.log(10.0) * 1.05)
    return Picture(
        traces=traces,
        layout=sheet(
            left=_LEFT, right=14, top=_TOP, bottom=_BOTTOM, annotations=notes,
            xaxis=axis("success (%)", domain=[0, _SPLIT[0]], range=[0, 103], dtick=20),
            yaxis=bare(**vertical),
            xaxis2=axis("exp(epsilon × diameter), log", domain=[_SPLIT[1], 1], anchor="y2", type="log",
                        range=[0, top], **_decades(top)),
            yaxis2=bare(anchor="x2", **vertical),
        ),
        height=max(_LEAST_HEIGHT, _TOP + _BOTTOM + _ROW * len(guesses)),
        name="attacker",
        alt=explain_attack(frame, epsilon).replace("**", ""),
        table=rows,
    )  # fmt: skip


def _decades(top: float) -> Mark:
    """Return the ticks of a log axis from 1 to ten to the power `top`."""
    values = [m * 10.0**k for k in range(int(top) + 1) for m in ((1, 2, 5) if top < _FINE else (1,))]
    step = 1 + int(top) // 6
    kept = values if top < _FINE else values[::step]
    words = [f"{v:,.0f}" if v < 1e5 else f"10<sup>{round(math.log10(v))}</sup>" for v in kept]
    return {"tickvals": kept, "ticktext": words}


def _before(rows: pd.DataFrame, place: dict[str, int]) -> Mark:
    return {
        "type": "scatter", "mode": "markers", "uid": "before", "x": (100 * rows["prior"]).tolist(),
        "y": [place[guess] for guess in rows["guess"]],
        "marker": {"symbol": "line-ns-open", "size": 17, "color": "@text", "line": {"width": 2, "color": "@text"}},
        "text": [escape(guess) for guess in rows["guess"]],
        "hovertemplate": "%{text}<br>without a release %{x:.6g} %<extra></extra>",
    }  # fmt: skip


def _after(method: str, i: int, part: pd.DataFrame, y: list[int]) -> Mark:
    colour, _, symbol = look_of(method, i)
    return {
        "type": "scatter", "mode": "markers", "uid": f"after {method}", "x": (100 * part["posterior"]).tolist(),
        "y": y, "marker": {"symbol": symbol, "size": 9, "color": colour}, "text": part["mechanism"].tolist(),
        "hovertemplate": f"{escape(method)} (%{{text}})<br>after the release %{{x:.6g}} %<extra></extra>",
    }  # fmt: skip


def _factor(method: str, i: int, part: pd.DataFrame, y: list[int]) -> Mark:
    colour, _, symbol = look_of(method, i)
    return {
        "type": "scatter", "mode": "markers", "uid": f"factor {method}", "xaxis": "x2", "yaxis": "y2",
        "cliponaxis": False,
        "x": [value if math.isfinite(value) else None for value in part["worst_factor"]], "y": y,
        "marker": {"symbol": symbol, "size": 9, "color": colour}, "text": part["diameter"].map(sig).tolist(),
        "hovertemplate": f"{escape(method)}<br>diameter %{{text}}<br>at most %{{x:.6g}} times<extra></extra>",
    }  # fmt: skip


def explain_attack(frame: pd.DataFrame, epsilon: float) -> str:
    """Return the largest gain, who gives the least away on average, and the worst factor of the former."""
    rows = attacked_rows(frame, epsilon)
    if rows.empty:
        return "No design with channels was measured at this budget."
    worst = rows.iloc[int(rows["gain"].to_numpy().argmax())]
    mean = rows.groupby("method", sort=False)["gain"].mean().sort_values()
    said = (
        f"The attacker gains most on **{worst['guess']}** under {worst['method']}: **{percent(worst['prior'])} to "
        f"{percent(worst['posterior'])}**, odds changed at most {sig(worst['worst_factor'])} times."
    )
    if len(mean) < 2:
        return said
    least, most = (f"{mean.index[i]} {percent(mean.iloc[i]).removesuffix(' %')}" for i in (0, -1))
    return f"{said} Mean gain: {least} to {most} percentage points."


def table_attack(frame: pd.DataFrame, epsilon: float | None = None) -> pd.DataFrame:
    """Return the numbers under plain names; those of a budget first, the guesses with the largest gain before others.

    Parameters
    ----------
    frame : DataFrame
        From `core.evaluation.attacker.attack`.
    epsilon : float, optional
        The budget that is shown.
    """
    if epsilon is not None:
        frame = pd.concat([attacked_rows(frame, epsilon), frame[frame["epsilon"] != epsilon]], ignore_index=True)
    shares = {"prior": "success before, %", "posterior": "success after, %"}
    names = {
        "guess": "guess", "method": "method", "epsilon": "epsilon", **shares, "worst_factor": "worst factor",
        "diameter": "diameter", "certified_epsilon": "certified epsilon", "mechanism": "mechanism",
        "group": "group",
    }  # fmt: skip
    return frame[list(names)].assign(**{share: 100.0 * frame[share] for share in shares}).rename(columns=names)
