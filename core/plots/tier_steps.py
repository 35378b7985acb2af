"""The residual of one step: what is added to the answer at one budget to make the answer at a smaller one."""

import math
import re
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from core.plots.noise_tiers import family_words
from core.plots.palette import BAD, NEUTRAL, TUNED
from core.plots.template import MINUS, Mark, Picture, axis, heading, note, panel, percent, sig
from core.plots.template import layout as sheet
from core.plots.tier_looks import RAISED, log_ticks
from core.tiers.checker import ResidualCheck
from core.tiers.laws import FloatArray
from core.tiers.noise import Residual

HEIGHT: Final = 320
REACH_LIMIT: Final = 60
"""Largest |s| drawn."""
SHOWN_MASS: Final = 1e-5
"""Mass that the picture may leave outside, where the limit allows."""
FLOOR: Final = 1e-12
"""Smallest probability of the logarithmic panel."""
_LEFT: Final = 46
_SPLIT: Final = 0.46
_SECOND: Final = 0.54


@dataclass(frozen=True, eq=False)
class StepView:
    """What is drawn of one step.

    Parameters
    ----------
    x : ndarray (N,)
        Values of s.
    y : ndarray (N,)
        Their probabilities, negative ones included; for continuous noise the density beside the atom.
    atom : float
        P(s = 0).
    variance : float
        Variance of s.
    discrete : bool
        Whether s is a whole number.
    verdict : {'valid', 'invalid', 'undecided'}
        Whether s has a distribution.
    reason : str
        Why.
    negative_mass : float
        Minus the sum of the negative entries.
    first_negative : int or None
        Smallest |s| with a negative entry.
    error_bound : float
        How far an entry may be off.
    """

    x: FloatArray
    y: FloatArray
    atom: float
    variance: float
    discrete: bool
    verdict: str
    reason: str
    negative_mass: float = 0.0
    first_negative: int | None = None
    error_bound: float = 0.0

    @property
    def signs(self) -> NDArray[np.int64]:
        """1 where an entry is positive, -1 where it is negative beyond its error bound, 0 where it is not known."""
        return np.where(self.y > self.error_bound, 1, np.where(self.y < -self.error_bound, -1, 0)).astype(np.int64)


def view_residual(step: Residual) -> StepView:
    """Return the picture of a step of a known family."""
    reason = f"For {family_words(step.family)} noise the residual is known in closed form for every pair of budgets."
    deviation = math.sqrt(max(step.variance, 1e-12))
    if step.discrete:
        reach = next(
            (r for r in range(2, REACH_LIMIT) if 2 * float(step.cdf(-r - 1)) <= SHOWN_MASS),
            REACH_LIMIT,
        )
        x = np.arange(-reach, reach + 1).astype(float)
        return StepView(x, step.pmf(x), step.atom, step.variance, True, "valid", reason)
    x = np.linspace(-4.5 * deviation, 4.5 * deviation, 241)
    return StepView(x, step.pdf(x), step.atom, step.variance, False, "valid", reason)


def view_check(check: ResidualCheck) -> StepView:
    """Return the picture of a step that the checker judged."""
    outside = np.cumsum(np.abs(check.pmf[check.offsets >= 0])[::-1])[::-1]
    wide = np.flatnonzero(2 * outside > SHOWN_MASS)
    reach = min(max(int(wide[-1]) + 1 if wide.size else 2, (check.first_negative or 0) + 2, 4), REACH_LIMIT)
    inside = np.abs(check.offsets) <= reach
    centre = float(check.pmf[check.offsets == 0][0])
    variance = float(np.sum(check.pmf * check.offsets.astype(float) ** 2))
    return StepView(
        x=check.offsets[inside].astype(float),
        y=check.pmf[inside],
        atom=centre,
        variance=variance,
        discrete=True,
        verdict=check.verdict,
        reason=check.reason,
        negative_mass=check.negative_mass,
        first_negative=check.first_negative,
        error_bound=check.error_bound,
    )


def plot_step(view: StepView) -> Picture:
    """Draw a residual: as it is at the left, the size of every entry on a logarithmic axis at the right.

    Parameters
    ----------
    view : StepView
        What is drawn; negative entries are red, hatched and named.
    """
    left, right = (_bars(view), _sizes(view)) if view.discrete else (_density(view), _log_density(view))
    quantity = "Probability of adding s" if view.discrete else "Density of what is added, s, beside its atom"
    size = "Size of each probability (log scale)" if view.discrete else "The same (log scale)"
    axes = {
        "xaxis": axis("what the step adds (s)", domain=[0, _SPLIT], anchor="y", range=_x_range(view), nticks=9),
        "yaxis": axis(domain=[0, 1], anchor="x", nticks=5, range=_y_range(view)),
        "xaxis2": axis("what the step adds (s)", domain=[_SECOND, 1], anchor="y2", range=_x_range(view), nticks=9),
        "yaxis2": axis(domain=[0, 1], anchor="x2", type="log", range=_log_range(view), **log_ticks(*_ends(view))),
    }  # fmt: skip
    notes = [heading(quantity, _LEFT), panel(size, "x2", "y2", xshift=-_LEFT), _atom(view), *_warnings(view)]
    return Picture(
        traces=[*left, *right],
        layout=sheet(left=_LEFT, right=10, top=34, bottom=46, annotations=notes, bargap=0.2, **axes),
        height=HEIGHT,
        name="residual_step",
        alt=f"The residual of the step is {view.verdict}; it adds nothing with probability {sig(view.atom)}.",
    )


def _x_range(view: StepView) -> list[float]:
    edge = float(np.abs(view.x).max()) + (0.7 if view.discrete else 0.0)
    return [-edge, edge]


def _y_range(view: StepView) -> list[float]:
    top, low = float(view.y.max()), float(view.y.min())
    return [1.1 * low if low < -0.01 * top else 0.0, 1.14 * top]


def _log_range(view: StepView) -> list[float]:
    sizes = np.abs(view.y[view.y != 0])
    low = max(float(sizes.min()), FLOOR, view.error_bound / 10) if sizes.size else FLOOR
    top = float(sizes.max()) if sizes.size else 1.0
    return [math.floor(math.log10(min(low, top / 10))), math.log10(top) + 0.15]


def _ends(view: StepView) -> tuple[float, float]:
    low, high = _log_range(view)
    return 10.0**low, 10.0**high


def _marker(view: StepView) -> Mark:
    """Return colours and hatches of bars: ours, red and hatched where negative, grey where the sign is not known."""
    signs = view.signs.tolist()
    return {
        "color": [TUNED if s > 0 else BAD if s < 0 else NEUTRAL for s in signs],
        "line": {"width": 0},
        "pattern": {
            "shape": ["/" if s < 0 else "" for s in signs], "size": 6, "solidity": 0.4, "fgcolor": "@bg",
            "fillmode": "overlay",
        },
    }  # fmt: skip


def _bars(view: StepView) -> list[Mark]:
    return [
        {"type": "bar", "x": view.x.tolist(), "y": view.y.tolist(), "marker": _marker(view),
         "hovertemplate": "s = %{x}<br>probability %{y:.6g}<extra></extra>"}
    ]  # fmt: skip


def _sizes(view: StepView) -> list[Mark]:
    sizes = np.maximum(np.abs(view.y), 10.0 ** _log_range(view)[0])
    words = ["negative" if s < 0 else "positive" if s > 0 else "sign not known" for s in view.signs.tolist()]
    traces: list[Mark] = [
        {"type": "bar", "x": view.x.tolist(), "y": sizes.tolist(), "text": words, "textposition": "none",
         "marker": _marker(view), "xaxis": "x2", "yaxis": "y2",
         "hovertemplate": "s = %{x}<br>%{text}, size %{y:.6g}<extra></extra>"}
    ]  # fmt: skip
    if view.error_bound > FLOOR:
        traces.append(
            {"type": "scatter", "mode": "lines", "x": _x_range(view), "y": [view.error_bound] * 2, "xaxis": "x2",
             "yaxis": "y2", "line": {"color": NEUTRAL, "dash": "dot", "width": 1.5},
             "hovertemplate": "error bound %{y:.3g}<extra></extra>"}
        )  # fmt: skip
    return traces


def _curve(view: StepView, second: bool) -> Mark:
    return {
        "type": "scatter", "mode": "lines", "x": view.x.tolist(), "y": view.y.tolist(),
        "line": {"color": TUNED, "width": 3},
        "hovertemplate": "s = %{x:.4g}<br>density %{y:.6g}<extra></extra>",
        **({"xaxis": "x2", "yaxis": "y2"} if second else {"fill": "tozeroy", "fillcolor": "@fill"}),
    }  # fmt: skip


def _density(view: StepView) -> list[Mark]:
    traces = [_curve(view, False)]
    if view.atom > 0:
        # An atom has no height on a density's axis: it is a stem to the top with its probability beside it.
        traces.append(
            {"type": "scatter", "mode": "lines+markers", "x": [0, 0], "y": [0, float(view.y.max()) * 1.05],
             "line": {"color": TUNED, "width": 3}, "marker": {"size": [0, 10], "symbol": "square", "color": TUNED},
             "hovertemplate": f"nothing is added with probability {sig(view.atom)}<extra></extra>"}
        )  # fmt: skip
    return traces


def _log_density(view: StepView) -> list[Mark]:
    return [_curve(view, True)]


def _atom(view: StepView) -> Mark:
    text = f"P(s = 0) = {sig(view.atom)}"
    return note(
        text, xref="x", yref="y domain", x=0, y=0.97, xanchor="left", yanchor="top", xshift=14,
        font={"size": 12.5, "color": "@text"},
    )  # fmt: skip


def _warnings(view: StepView) -> list[Mark]:
    signs = view.signs
    words = []
    if (signs < 0).any():
        words.append(f"<b>negative mass {sig(view.negative_mass)}</b> (hatched)")
    if (signs == 0).any() and view.error_bound > 0:
        words.append("grey: below the error bound, sign not known")
    text = "<br>".join(words)
    return [
        note(text, xref="x2 domain", yref="y2 domain", x=1, y=1, xanchor="right", yanchor="top", align="right",
             bgcolor="@bg", font={"size": 12.5, "color": "@text"})
    ] if words else []  # fmt: skip


def explain_step(view: StepView, label: str) -> str:
    """Return the verdict on a step as a sentence.

    Parameters
    ----------
    view : StepView
        The step.
    label : str
        What steps to what, in plain words.
    """
    if view.verdict == "valid":
        return (
            f"{label}: **valid**. With probability {percent(view.atom)} the answer stays as it is; the step adds "
            f"variance {sig(view.variance)}. {_true_minus(view.reason)}"
        )
    if view.verdict == "invalid":
        return (
            f"{label}: **invalid**, negative mass {sig(view.negative_mass)}, first at |s| = {view.first_negative}; one "
            f"entry is {sig(float(view.y.min()))} while none is off by more than {sig(view.error_bound)}. Adding "
            "independent noise cannot make this step."
        )
    return (
        f"{label}: **undecided**; the negative entries sum to {sig(view.negative_mass)}. {_true_minus(view.reason)}"
    )  # fmt: skip


def _true_minus(sentence: str) -> str:
    """Return a sentence whose small numbers are written as powers of ten and whose minus signs are no hyphens."""
    powers = re.sub(r"(\d)e-0?(\d+)", lambda m: f"{m[1]} × 10⁻{m[2].translate(RAISED)}", sentence)
    return re.sub(r"(?<=[\s(])-(?=\d)", MINUS, powers)
