"""The checker: can noise on the integers be degraded by adding more of it? The residual from the Fourier transform."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from core.errors import InputError
from core.tiers.laws import TAIL, FloatArray, GeometricLaw, Law, SkellamLaw
from core.tiers.noise import residual_law
from core.tiers.tail import find_periodic, positive_from, share_shape

FIELD: Final = "The noise distribution"
ROUNDING: Final = 2.0**-50
"""Rounding of the two transforms, relative to the largest ratio; four units of a double's last place."""
LENGTH_LIMIT: Final = 1 << 20
"""Most lattice points of a check."""
SUM_TOLERANCE: Final = 1e-6
"""A distribution whose sum is off by more is refused; a smaller slip is scaled away."""
SYMMETRY_TOLERANCE: Final = 1e-9
"""Relative slack when a distribution is recognised as symmetric or as a known family."""
SHORTEST_CIRCLE: Final = 4096
"""Fewest lattice points of a check, so that a short list has room for its residual."""
UNDERFLOW_BOUND: Final = 1e-6
"""An error bound above this says more about the transform than about the residual."""
COMPLETE_LENGTH: Final = 64
"""A shorter list is taken as the whole distribution, a longer one as a window of it."""


@dataclass(frozen=True, eq=False)
class ResidualCheck:
    """What the checker found.

    Parameters
    ----------
    verdict : {'valid', 'invalid', 'undecided'}
        Valid only by proof; invalid when an entry lies below minus the error bound; else undecided.
    offsets : ndarray of int (N,)
        n = -N/2 .. N/2 - 1.
    pmf : ndarray (N,)
        The residual at `offsets`, negative entries included.
    negative_mass : float
        Minus the sum of the negative entries.
    first_negative : int or None
        Smallest |n| whose entry lies below minus the error bound.
    error_bound : float
        How far one entry may be off.
    reason : str
        Why, in one sentence.
    """

    verdict: str
    offsets: NDArray[np.int64]
    pmf: FloatArray
    negative_mass: float
    first_negative: int | None
    error_bound: float
    reason: str

    def __iter__(self) -> Iterator[Any]:
        """Unpack as verdict, pmf, negative mass."""
        return iter((self.verdict, self.pmf, self.negative_mass))


def _normalise(pmf: ArrayLike) -> FloatArray:
    values = np.asarray(pmf, float)
    if values.ndim != 1 or not 1 <= len(values) <= LENGTH_LIMIT:
        raise InputError(FIELD, f"{FIELD} must be one list of 1 to {LENGTH_LIMIT} probabilities.")
    if not np.all(np.isfinite(values)) or values.min() < 0 or abs(values.sum() - 1) > SUM_TOLERANCE:
        raise InputError(
            FIELD, f"{FIELD} must hold probabilities from 0 up that sum to 1, not to {values.sum():.6g}; rescale them."
        )
    return np.asarray(values / values.sum(), float)


def _centre(values: FloatArray) -> FloatArray:
    """Return the list with zero at position len // 2; a list that is symmetric around its first entry is turned."""
    around_first = np.allclose(values[1:], values[1:][::-1], rtol=SYMMETRY_TOLERANCE, atol=0.0)
    if around_first and len(values) > 2 and values[0] == values.max() > values[len(values) // 2]:
        return np.fft.fftshift(values)
    return values


def _estimate_tail(values: FloatArray) -> float:
    """Return the mass beyond the window, each end continued geometrically; a short list is complete."""
    if len(values) < COMPLETE_LENGTH:
        return 0.0
    span = len(values) // 8
    tail = 0.0
    for end, inner in ((values[0], values[span]), (values[-1], values[-1 - span])):
        if end > 0:
            # The mean decay over an eighth of the window, so that a plateau at the very end does not count as none.
            decay = math.log(inner / end) / span
            tail += end / math.expm1(decay) if decay > 0 else 1.0
    return min(tail, 1.0)


def _place(values: FloatArray, length: int) -> FloatArray:
    """Put a centred list on a circle of `length` points, zero first."""
    circle = np.zeros(length)
    circle[(np.arange(len(values)) - len(values) // 2) % length] = values
    return circle


def _recognise(values: FloatArray) -> Law | None:
    """Return the law of a centred list if it is two-sided geometric or Skellam to the digits of a double."""
    half = (len(values) - 1) // 2
    part = values[len(values) // 2 - half : len(values) // 2 + half + 1]
    if half < 2 or not 0 < part[half + 1] < part[half]:
        return None
    n = np.arange(-half, half + 1)
    variance = float(np.sum(part * n.astype(float) ** 2))
    candidates: tuple[Law, ...] = (
        GeometricLaw(math.log(part[half] / part[half + 1])),
        SkellamLaw(variance / 2),
    )
    for law in candidates:
        if np.allclose(part, law.density(n), rtol=SYMMETRY_TOLERANCE, atol=TAIL):
            return law
    return None


def _known_residual(before: FloatArray, after: FloatArray, offsets: NDArray[np.int64]) -> FloatArray | None:
    """Return the residual in closed form if both lists belong to one family with a residual for every such pair."""
    laws = _recognise(before), _recognise(after)
    if laws[0] is not None and laws[1] is not None and type(laws[0]) is type(laws[1]):
        return residual_law(laws[0], laws[1]).density(offsets) if laws[0].variance <= laws[1].variance else None
    first, second = find_periodic(before), find_periodic(after)
    if first is None or second is None or not share_shape(first, second) or first.decay > second.decay:
        return None
    step = residual_law(GeometricLaw(-math.log(first.decay)), GeometricLaw(-math.log(second.decay)))
    return step.density(offsets / first.period)


def check_residual(pmf_from: ArrayLike, pmf_to: ArrayLike) -> ResidualCheck:
    """Check whether noise `pmf_from` becomes noise `pmf_to` by adding an independent residual.

    The residual's probabilities are the inverse Fourier transform of Phi_to / Phi_from. They are a law only if none is
    negative. The verdict is "valid" by proof or when every entry exceeds its error bound, "invalid" when one lies
    below minus its bound, else "undecided". The proofs: both lists are Skellam, or two-sided geometric, be it smeared
    over a period alike; or both decay geometrically with one period, the first entries exceed the bound and a positive
    term dominates the rest.

    The bound is mean_t (2^-50 + 2 tail)(1 + |ratio(t)|)/|Phi_from(t)|: the rounding of the two transforms and the mass
    that windows cut off, divided as the ratio is.

    Parameters
    ----------
    pmf_from, pmf_to : array_like (N,)
        Probabilities of n = -(N//2), ..., in increasing order; a list that is symmetric around its first entry is read
        as n = 0, 1, ..., -1. Lists shorter than 64 are complete, longer ones are windows whose tails are estimated.

    Raises
    ------
    InputError
        If a list holds something negative, does not sum to 1 or is too long.

    Examples
    --------
    >>> check_residual([0.2, 0.6, 0.2], [0.1, 0.8, 0.1]).verdict  # a narrower law cannot be reached
    'invalid'
    """
    before, after = _centre(_normalise(pmf_from)), _centre(_normalise(pmf_to))
    length = 1 << max(len(before) - 1, len(after) - 1, SHORTEST_CIRCLE - 1).bit_length()
    offsets = np.arange(-(length // 2), length // 2)
    known = _known_residual(before, after, offsets)
    if known is not None:
        reason = "Both are of one family whose residual is known to be a probability distribution for every such pair."
        return ResidualCheck("valid", offsets, known, 0.0, None, 0.0, reason)
    phi_from, phi_to = (np.fft.fft(_place(values, length)) for values in (before, after))
    # Below its own rounding a transform says nothing; its ratio is left out of the picture, and the bound says so.
    ratio = np.divide(phi_to, phi_from, out=np.zeros_like(phi_to), where=np.abs(phi_from) > ROUNDING)
    tail = 2 * (_estimate_tail(before) + _estimate_tail(after))
    with np.errstate(divide="ignore"):
        bound = float(np.mean((ROUNDING + tail) * (1 + np.abs(ratio)) / np.abs(phi_from)))
    pmf = np.fft.fftshift(np.fft.ifft(ratio).real)
    proved = positive_from(before, after)
    near = np.abs(offsets) < (length // 4 if proved is None else proved)
    if proved is not None and proved < length // 4 and pmf[near].min() > bound:
        reason = (
            f"Every entry up to |n| = {proved - 1} exceeds its error bound {bound:.1g}, and beyond it the leading "
            "geometric term, which is positive, exceeds all others."
        )
        # What is left below zero is the rounding of entries that are proved positive.
        return ResidualCheck("valid", offsets, np.maximum(pmf, 0.0), 0.0, None, bound, reason)
    return _judge(offsets, pmf, bound, float(np.abs(phi_from).min()))


def _judge(offsets: NDArray[np.int64], pmf: FloatArray, bound: float, least_phi: float) -> ResidualCheck:
    negative_mass = float(-pmf[pmf < 0].sum())
    worst = float(pmf.min())
    below = pmf < -bound
    first = int(np.abs(offsets[below]).min()) if below.any() else None
    if below.any():
        verdict = "invalid"
        reason = f"An entry is {worst:.2g}, below minus the error bound {bound:.1g}: the residual is no distribution."
    elif worst > bound:
        verdict, reason = "valid", f"Every entry exceeds its error bound {bound:.1g}."
    elif bound > UNDERFLOW_BOUND:
        verdict = "undecided"
        reason = (
            f"The transform of the first law falls to {least_phi:.1g}, so entries are known only to {bound:.1g}; "
            "more precision than a double has would be needed."
        )
    else:
        verdict = "undecided"
        reason = (
            f"No entry lies below minus the error bound {bound:.1g} (the smallest is {worst:.1g}), "
            "but small entries are not proved to be positive."
        )
    return ResidualCheck(verdict, offsets, pmf, negative_mass, first, bound, reason)
