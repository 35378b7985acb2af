"""Loss-budget curves: what one group loses at every budget, as a certified bracket on a grid."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.interpolate import CubicHermiteSpline, PchipInterpolator

from core.channel import Channel
from core.envelopes import (
    PiecewiseLinear,
    check_points,
    greatest_convex_minorant,
    lower_envelope,
    upper_envelope,
)
from core.errors import CertificateError, InputError
from core.mechanisms.factorised import FactorisedChannel

AnyChannel: TypeAlias = Channel | FactorisedChannel
Vector = NDArray[np.float64]
Progress = Callable[[float, str], None]
Build = Callable[[float, Channel | None], Channel]

OPTIMAL: Final = "OPT"
"""Name of the family whose channels prove a lower bound of their own."""
BRACKET_TOLERANCE: Final = 1e-12
"""Amount, relative to the loss, by which rounding may leave a lower bound above the exact loss of integers."""


@dataclass(frozen=True, eq=False)
class LossCurve:
    """The least loss L(epsilon) of one mechanism family, between two certified bounds on a grid of budgets.

    For the optimised channel L is bracketed by [lower, upper] at each grid budget. Every other family *is* the step
    function of its grid channels: what is certified at a smaller budget also holds at a larger one, so the loss at
    epsilon is the least among grid budgets up to epsilon, and lower = upper.

    Parameters
    ----------
    epsilons : ndarray (N,)
        Grid of budgets, increasing from 0, epsilon per unit of distance.
    upper : ndarray (N,)
        Loss reached at each grid budget by a channel of the curve; non-increasing.
    lower : ndarray (N,)
        No channel of the family loses less at that budget; non-increasing.
    channels : tuple of N channels
        The channel that reaches `upper` at each grid budget; it may belong to a smaller budget.
    certified : bool
        Whether both bounds hold for the group's loss as given; False where losses are sampled.
    mechanism : str
        Name of the family.
    derivative : ndarray (N,), optional
        dL/d epsilon <= 0 at each grid budget, nan where unknown; for drawing only.
    stepwise : bool
        Promise that only channels of the grid are ever used, which makes the envelope below tighter.

    Raises
    ------
    ValueError
        If the arrays do not fit together, the grid does not start at 0 or a bound increases.
    CertificateError
        If a lower bound exceeds its upper bound.
    """

    epsilons: Vector
    upper: Vector
    lower: Vector
    channels: tuple[AnyChannel, ...]
    certified: bool
    mechanism: str
    derivative: Vector | None = None
    stepwise: bool = False

    def __post_init__(self) -> None:
        for name in ("epsilons", "upper", "lower", "derivative"):
            given = getattr(self, name)
            if given is not None:
                array = np.array(given, dtype=float)
                array.flags.writeable = False
                object.__setattr__(self, name, array)
        check_points(self.epsilons, self.upper)
        check_points(self.epsilons, self.lower)
        if self.epsilons[0] != 0.0:
            raise ValueError("a loss-budget curve starts at budget 0")
        if np.any(np.diff(self.upper) > 0) or np.any(np.diff(self.lower) > 0):
            raise ValueError("the bounds of a loss-budget curve must not increase")
        if len(self.channels) != len(self.epsilons):
            raise ValueError("a loss-budget curve needs one channel per grid budget")
        if np.any(self.lower > self.upper):
            raise CertificateError(
                f"The lower bound of the {self.mechanism} curve exceeds a loss that was reached; the curve is refused."
            )

    def _below(self, epsilon: float) -> int:
        """Return the position of the largest grid budget at or below `epsilon`."""
        if not epsilon >= 0.0:
            raise InputError("epsilon", f"A group's budget must be a number from 0, not {epsilon:g}.")
        return int(np.searchsorted(self.epsilons, epsilon, side="right")) - 1

    def loss_at(self, epsilon: float) -> float:
        """Return the least loss reached among grid budgets up to `epsilon`.

        Raises
        ------
        InputError
            If `epsilon` is negative or not a number.
        """
        return float(self.upper[self._below(epsilon)])

    def lower_at(self, epsilon: float) -> float:
        """Return a bound below the loss of every channel of the family at `epsilon`: that of the next grid budget.

        Beyond the grid nothing but 0 is known, unless the curve is stepwise.
        """
        if self.stepwise:
            return float(self.lower[self._below(epsilon)])
        index = int(np.searchsorted(self.epsilons, epsilon, side="left"))
        return float(self.lower[index]) if index < len(self.lower) else 0.0

    @property
    def mechanisms(self) -> tuple[str, ...]:
        """Name of the mechanism that reaches `upper` at each grid budget."""
        return tuple(channel.mechanism for channel in self.channels)

    def channel_at(self, epsilon: float) -> AnyChannel:
        """Return the channel with the least loss among grid budgets up to `epsilon`."""
        return self.channels[int(self._below(epsilon))]

    @cached_property
    def lower_envelope(self) -> PiecewiseLinear:
        """Convex function below the curve, up to the last grid budget; below every step of it when stepwise."""
        if self.stepwise:
            # A step function lies above the chords between the left ends of its steps: no shift is needed.
            return greatest_convex_minorant(self.epsilons, self.lower)
        return lower_envelope(self.epsilons, self.lower)

    @cached_property
    def upper_envelope(self) -> PiecewiseLinear:
        """Convex function above the curve."""
        return upper_envelope(self.epsilons, self.upper)

    @cached_property
    def smooth(self) -> CubicHermiteSpline:
        """The curve as it is drawn between its budgets, see `monotone_cubic`: a line that bounds nothing there."""
        return monotone_cubic(self.epsilons, self.upper, self.derivative)


def solve_curve(
    build: Build,
    epsilons: Sequence[float],
    *,
    mechanism: str,
    certified_lower: bool | None = None,
    progress: Progress | None = None,
) -> LossCurve:
    """Build one channel per budget and return the loss-budget curve of the family.

    Parameters
    ----------
    build : callable (epsilon, hint) -> Channel
        Makes the family's channel for a budget, 0 included (where OPT is the constant of least loss and noise is its
        own limit). `hint` is the channel made for the budget before, None at first.
    epsilons : sequence of float (N,)
        Grid of budgets, increasing from 0.
    mechanism : str
        Name of the family; "OPT" is bracketed.
    certified_lower : bool, optional
        True brackets the curve by the channels' own lower bounds, which must hold for the whole family. False says
        that losses are sampled: lower is 0 and the curve is not certified. None takes True for "OPT", and else
        lower = upper, the exact loss of the step function.
    progress : callable (fraction, sentence), optional
        Told before every budget; it may raise to stop.

    Raises
    ------
    CertificateError
        If a channel certifies more than its budget, or a lower bound exceeds a loss that was reached.
    """
    channels: list[Channel] = []
    for i, epsilon in enumerate(epsilons):
        if progress is not None:
            progress(i / len(epsilons), f"Solving {mechanism} at epsilon {epsilon:g}")
        channels.append(_built(build, float(epsilon), channels[-1] if channels else None))
    losses = np.array([c.expected_loss for c in channels])
    proven = np.array([c.lower_bound for c in channels])
    lower = _choose_lower(losses, proven, mechanism, certified_lower)
    upper, lower, best = _make_monotone(losses, lower, channels)
    return LossCurve(np.array(epsilons, dtype=float), upper, lower, best, certified_lower is not False, mechanism)


def _choose_lower(losses: Vector, proven: Vector, mechanism: str, certified_lower: bool | None) -> Vector:
    """Return the lower bounds of a curve: nothing, what the channels prove, or the step function itself."""
    if certified_lower is False:
        return np.zeros(len(losses))
    if certified_lower or mechanism == OPTIMAL:
        return proven
    return np.minimum.accumulate(losses)


def _built(build: Build, epsilon: float, hint: Channel | None) -> Channel:
    channel = build(epsilon, hint)
    if not channel.certified_epsilon <= epsilon:
        raise CertificateError(
            f"The {channel.mechanism} channel certifies epsilon {channel.certified_epsilon:.17g}, above its budget "
            f"{epsilon:.17g}; it is refused."
        )
    return channel


def _make_monotone(
    losses: Vector, lower: Vector, channels: Sequence[AnyChannel]
) -> tuple[Vector, Vector, tuple[AnyChannel, ...]]:
    """Return (running minimum of losses, bounds that hold at each budget, channels that reach the minimum).

    Of two equal losses the channel of the smaller budget stays. A lower bound proven at a larger budget also holds at
    a smaller one. Where rounding left a bound just above the loss it is taken down to it.
    """
    best = list(range(len(losses)))
    for i in range(1, len(losses)):
        if not losses[i] < losses[best[i - 1]]:
            best[i] = best[i - 1]
    upper = losses[best]
    bounds = np.maximum.accumulate(lower[::-1])[::-1]
    close = bounds <= upper + BRACKET_TOLERANCE * np.abs(upper)
    return upper, np.where(close, np.minimum(bounds, upper), bounds), tuple(channels[i] for i in best)


def refine(curve: LossCurve, epsilon: float, build: Build, *, certified_lower: bool | None = None) -> LossCurve:
    """Return the curve with one more budget; at a budget of the grid the better of both answers is kept.

    Parameters
    ----------
    curve : LossCurve
        The curve so far.
    epsilon : float
        The new budget, above 0; it may lie beyond the grid.
    build : callable (epsilon, hint) -> Channel
        As for `solve_curve`; the hint is the channel of the grid budget below.
    certified_lower : bool, optional
        As for `solve_curve`.

    Raises
    ------
    InputError
        If `epsilon` is not a positive number.
    CertificateError
        As for `solve_curve`.
    """
    if not 0.0 < epsilon < math.inf:
        raise InputError("epsilon", f"A curve is refined at a positive budget, not at {epsilon:g}.")
    hint = curve.channel_at(epsilon)
    channel = _built(build, epsilon, hint if isinstance(hint, Channel) else None)
    at = int(np.searchsorted(curve.epsilons, epsilon))
    # On a budget of the grid both answers are kept side by side, then the better of the two survives.
    losses = np.insert(curve.upper, at, channel.expected_loss)
    proven = np.insert(curve.lower, at, channel.lower_bound)
    channels = (*curve.channels[:at], channel, *curve.channels[at:])
    lower = _choose_lower(losses, proven, curve.mechanism, certified_lower)
    upper, lower, best = _make_monotone(losses, lower, channels)
    grid = np.insert(curve.epsilons, at, epsilon)
    slope = None if curve.derivative is None else np.insert(curve.derivative, at, math.nan)
    # Of two equal budgets the second carries the least loss of both, and the first the greater lower bound.
    keep = np.append(np.diff(grid) > 0, True)
    first = np.insert(np.diff(grid) > 0, 0, True)
    return replace(
        curve,
        epsilons=grid[keep],
        upper=upper[keep],
        lower=np.minimum(lower[first], upper[keep]),
        channels=tuple(c for c, kept in zip(best, keep, strict=True) if kept),
        derivative=None if slope is None else slope[keep],
    )


def tuned_curve(curves: Sequence[LossCurve]) -> LossCurve:
    """Return the pointwise minimum of several families' curves, on the union of their grids.

    `LossCurve.mechanisms` of the result names the family that wins at each budget; of equal losses the first curve's
    stays. A lower bound is the least of the families' bounds.

    Parameters
    ----------
    curves : sequence of LossCurve
        At least one, all for the same group and loss.
    """
    grid = np.unique(np.concatenate([c.epsilons for c in curves]))
    losses = np.array([[c.loss_at(float(e)) for e in grid] for c in curves])
    winner = losses.argmin(axis=0)
    return LossCurve(
        grid,
        losses.min(axis=0),
        np.array([min(c.lower_at(float(e)) for c in curves) for e in grid]),
        tuple(curves[w].channel_at(float(e)) for w, e in zip(winner, grid, strict=True)),
        all(c.certified for c in curves),
        "tuned",
        stepwise=all(c.stepwise for c in curves),
    )


def regret(noise_curve: LossCurve, optimal_curve: LossCurve, epsilon: float) -> float:
    """Return (L_DPN - L_OPT) / L_DPN at `epsilon`: the fraction of the noise's loss that optimising saves.

    Both losses are those reached at grid budgets up to `epsilon`, so it is what is saved at least; 0 where noise
    loses nothing or where the grids let nothing be shown.
    """
    noise, optimal = noise_curve.loss_at(epsilon), optimal_curve.loss_at(epsilon)
    return max(0.0, (noise - optimal) / noise) if noise > 0 else 0.0


def monotone_cubic(epsilons: ArrayLike, values: ArrayLike, derivative: ArrayLike | None = None) -> CubicHermiteSpline:
    """Return a smooth non-increasing interpolant, **for drawing only**: it bounds nothing between budgets.

    Slopes are the given derivatives, PCHIP's where they are absent or nan, limited to the square of Fritsch and
    Carlson (1980): between 0 and three times the flatter of the two adjacent secants.

    Parameters
    ----------
    epsilons : array_like (N,)
        Increasing budgets, at least two.
    values : array_like (N,)
        Non-increasing losses.
    derivative : array_like (N,), optional
        dL/d epsilon where known.

    Raises
    ------
    ValueError
        If there are fewer than two budgets or the values increase.
    """
    x, y = np.asarray(epsilons, dtype=float), np.asarray(values, dtype=float)
    check_points(x, y)
    secants = np.diff(y) / np.diff(x)
    if not len(secants) or np.any(secants > 0):
        raise ValueError("a drawn curve needs two budgets or more and losses that do not increase")
    slopes = np.asarray(PchipInterpolator(x, y).derivative()(x), dtype=float)
    if derivative is not None:
        given = np.asarray(derivative, dtype=float)
        slopes = np.where(np.isnan(given), slopes, given)
    flattest = np.maximum(np.append(secants, secants[-1]), np.insert(secants, 0, secants[0]))
    return CubicHermiteSpline(x, y, np.clip(slopes, 3.0 * flattest, 0.0))
