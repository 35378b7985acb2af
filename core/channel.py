"""The exact integer channel: what a mechanism is, once it may be shown or sampled."""

import math
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from core import limits
from core.certificate import certify, check_distance
from core.errors import CertificateError, InputError
from core.repair import CLOSURE_MARGINS, TOTAL_BITS, build_weights

TOTAL: Final = 1 << TOTAL_BITS
"""Every row of an integer channel sums to this."""
STOCHASTIC_TOLERANCE: Final = 1e-6
"""How far entries may lie below 0 and row sums from 1, as solvers leave them; both are then mended."""
EXPECTED_LOSS_ERROR: Final = 2.0**-51
"""Relative error of `compute_expected_loss`: each product is rounded twice, the exact sum once."""
SYMMETRY_TOLERANCE: Final = 1e-9
"""How far, relatively, d(x, x') and d(x', x) may differ; the smaller one, the private side, is used."""


@dataclass(frozen=True, eq=False)
class Channel:
    """A certified channel on integers.

    Parameters
    ----------
    weights : ndarray of int64 (n, m)
        Row x, column y: how many of `total` equally likely draws release y when the truth is x.
    certified_epsilon : float
        Smallest epsilon that `weights` satisfies for its metric, computed from the integers alone, rounded up.
    expected_loss : float
        sum_x prior_x sum_y loss[x, y] weights[x, y] / total; nan where no loss was given.
    lower_bound : float
        Proven lower bound on the expected loss of every channel at the declared epsilon; 0 where nothing is proven.
    epsilon : float
        The declared budget; certified_epsilon never exceeds it.
    mechanism : str
        Name of the mechanism, for example "OPT" or "EM".
    """

    weights: NDArray[np.int64]
    certified_epsilon: float
    expected_loss: float
    lower_bound: float
    epsilon: float
    mechanism: str

    @property
    def total(self) -> int:
        """Sum of every row."""
        return TOTAL

    @property
    def matrix(self) -> NDArray[np.float64]:
        """Return weights / total, for display only: sampling uses the integers."""
        return self.weights / float(TOTAL)


def exact_channel(
    matrix: ArrayLike,
    distance: ArrayLike,
    epsilon: float,
    loss_weights: ArrayLike | None = None,
    *,
    mechanism: str = "custom",
    lower_bound: float = 0.0,
    inside: bool = False,
) -> Channel:
    """Turn any row-stochastic matrix into integers that satisfy epsilon-mDP exactly.

    The rows are raised to the smallest matrix above them that meets w[x, y] <= exp(epsilon d) w[x', y] with a tiny
    slack, scaled, rounded down and filled up in the output that costs least. A matrix that already satisfies the
    budget changes by about 1e-10; one that does not comes out nearer to constant, never less private.

    Parameters
    ----------
    matrix : array_like (n, m)
        Probabilities; m may differ from n.
    distance : array_like (n, n)
        Metric between the true values.
    epsilon : float
        Budget per unit of distance, from 0 (all rows equal) to 50.
    loss_weights : array_like (n, m) or None
        prior[x] * loss[x, y]; decides the output that takes the remainder, and the expected loss.
    mechanism : str
        Name for the result.
    lower_bound : float
        Proven lower bound to carry along.
    inside : bool
        Whether the matrix is known to satisfy the budget but for rounding, as noise by formula does. Then the raising,
        most of the work, is left out at first; the certificate decides as always, and where it fails the rows are
        raised after all.

    Returns
    -------
    Channel
        Certified: all n^2 m triples were checked on the integers.

    Raises
    ------
    InputError
        If the matrix is not stochastic, the distances no metric table, or the budget outside its range.
    CertificateError
        If the integers do not satisfy the budget; nothing is returned then.
    """
    budget = _check_budget(epsilon)
    z = _check_matrix(matrix)
    d = _check_symmetric(check_distance(distance, len(z)))
    costs = None if loss_weights is None else _check_loss_weights(loss_weights, z.shape)
    for margin in (*((None,) if inside else ()), *CLOSURE_MARGINS):
        weights = build_weights(z, d, budget, costs, margin=margin)
        certified = math.inf if weights is None else certify(weights, d)
        if weights is not None and certified <= budget:
            return _seal(Channel(weights, certified, math.nan, lower_bound, budget, mechanism), costs)
    raise CertificateError(
        f"No exact channel was found for {mechanism} at epsilon {budget:g}; merge levels that are nearly equal."
    )


def merge_outputs(
    channel: Channel, targets: ArrayLike, distance: ArrayLike, loss_weights: ArrayLike, *, mechanism: str
) -> Channel:
    """Release `targets[y]` wherever the channel would release y: post-processing, exact on the integers.

    The weights of outputs with one target are added: rows keep their sum, and what holds for every output holds for
    every sum of outputs, so the certificate can only fall.

    Parameters
    ----------
    channel : Channel
        The channel to post-process.
    targets : array_like of int (m,)
        New output of each old one, from 0 to k - 1.
    distance : array_like (n, n)
        Metric between the true values.
    loss_weights : array_like (n, k)
        prior[x] * loss[x, z] of the new outputs.
    mechanism : str
        Name for the result.

    Raises
    ------
    InputError
        If a target is missing or outside its range.
    """
    chosen, size = np.asarray(targets), np.shape(loss_weights)[1]
    whole = chosen.dtype.kind in "iu" and chosen.shape == channel.weights.shape[1:]
    if not whole or not ((chosen >= 0) & (chosen < size)).all():
        raise InputError("targets", f"Every output needs one target, a whole number from 0 to {size - 1}.")
    sums = np.zeros((size, len(channel.weights)), dtype=np.int64)
    np.add.at(sums, chosen, channel.weights.T)
    weights = np.ascontiguousarray(sums.T)
    certified = certify(weights, distance)
    merged = Channel(weights, certified, math.nan, 0.0, channel.epsilon, mechanism)
    return _seal(merged, loss_weights)


def _seal(channel: Channel, loss_weights: ArrayLike | None) -> Channel:
    """Return the channel with the loss of its integers, after the last checks; the integers become read-only."""
    if any(sum(row) != TOTAL for row in channel.weights.tolist()):
        raise CertificateError(f"A row of {channel.mechanism} does not sum to 2^58; the channel is refused.")
    if not channel.certified_epsilon <= channel.epsilon:
        raise CertificateError(
            f"{channel.mechanism} satisfies only epsilon {channel.certified_epsilon:.17g}, not the declared "
            f"{channel.epsilon:.17g}; the channel is refused."
        )
    loss = math.nan if loss_weights is None else compute_expected_loss(channel.weights, loss_weights)
    channel.weights.setflags(write=False)
    return replace(channel, expected_loss=loss)


def compute_expected_loss(weights: NDArray[np.int64], loss_weights: ArrayLike) -> float:
    """Return sum_xy loss_weights[x, y] weights[x, y] / 2^58.

    The sum is exact (`math.fsum`) over products that are each rounded twice; no loss is negative, so the relative
    error stays below `EXPECTED_LOSS_ERROR`.

    Raises
    ------
    InputError
        If the loss weights have another shape, are not finite or negative.
    """
    costs = _check_loss_weights(loss_weights, weights.shape)
    return math.fsum((costs * weights).ravel().tolist()) / TOTAL


def draw_outputs(channel: Channel, rows: ArrayLike, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw an output for every true state, exactly in proportion to the integers, for simulations.

    Parameters
    ----------
    channel : Channel
        The channel.
    rows : array_like of int (N,)
        True states.
    rng : numpy.random.Generator
        Source of the draws; a release to others takes a cryptographic source instead.

    Returns
    -------
    ndarray of int64 (N,)
        Released columns.
    """
    states = np.asarray(rows, dtype=np.int64)
    uniform = rng.integers(TOTAL, size=states.shape)
    released = np.empty(states.shape, dtype=np.int64)
    for x in np.unique(states).tolist():
        chosen = states == x
        released[chosen] = np.searchsorted(np.cumsum(channel.weights[x]), uniform[chosen], side="right")
    return released


def _check_budget(epsilon: float) -> float:
    value: object = epsilon
    good = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not good or not 0 <= float(epsilon) <= limits.EPSILON.high:
        raise InputError(
            "epsilon",
            f"A channel's epsilon must be a number from 0 to {limits.EPSILON.high:g}, not {epsilon!r:.60}; "
            f"{limits.EPSILON.remedy}.",
        )
    return float(epsilon)


def _check_matrix(matrix: ArrayLike) -> NDArray[np.float64]:
    z = np.asarray(matrix, dtype=np.float64)
    if z.ndim != 2 or z.size == 0 or not np.isfinite(z).all():
        raise InputError("matrix", "A channel must be a table of finite probabilities, one row per true state.")
    sums = z.sum(axis=1)
    if z.min() < -STOCHASTIC_TOLERANCE or np.abs(sums - 1).max() > STOCHASTIC_TOLERANCE:
        raise InputError(
            "matrix",
            f"A channel's rows must be probabilities that sum to 1; the least entry is {z.min():.3g} and the sums go "
            f"from {sums.min():.9g} to {sums.max():.9g}.",
        )
    z = np.maximum(z, 0.0)
    return z / z.sum(axis=1, keepdims=True)  # type: ignore[no-any-return]


def _check_symmetric(d: NDArray[np.float64]) -> NDArray[np.float64]:
    worst = np.abs(d - d.T) > SYMMETRY_TOLERANCE * np.maximum(d, d.T)
    if worst.any():
        x, other = (int(i) for i in np.argwhere(worst)[0])
        raise InputError(
            "distance",
            f"Distances must be symmetric, but from state {x} to {other} it is {d[x, other]:g} and back "
            f"{d[other, x]:g}.",
        )
    return np.minimum(d, d.T)


def _check_loss_weights(loss_weights: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.float64]:
    costs = np.asarray(loss_weights, dtype=np.float64)
    if costs.shape != shape or not np.isfinite(costs).all() or (costs < 0).any():
        raise InputError(
            "loss_weights", f"Losses must be a {shape[0]} x {shape[1]} table of finite numbers, none below 0."
        )
    return costs
