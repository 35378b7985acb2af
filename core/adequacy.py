"""How well distance explains a group's loss, and the choice between predefined noise and optimisation."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression

from core import limits
from core.errors import InputError

Floats = NDArray[np.float64]

DISTANCE_DECIMALS: Final = 12
"""Distances that agree to 12 decimals are ties: roots and sums of the same terms differ in the last bits."""
RELATIVE_DELTA: Final = 1e-12
"""delta = 1e-12 max(1, mean |C|) keeps the score of a constant loss finite."""


@dataclass(frozen=True, eq=False)
class RadialFit:
    """Least-squares nondecreasing function of the distance.

    Parameters
    ----------
    score : float
        1 - RMSE / (Std + delta), in [0, 1]: 1 where distance explains the loss exactly.
    distance : ndarray (T,)
        The distinct distances, rising.
    fitted : ndarray (T,)
        g at them, not falling; between them it is interpolated.
    """

    score: float
    distance: Floats
    fitted: Floats


@dataclass(frozen=True, eq=False)
class QuadraticFit:
    """Least-squares a d^2 + b with a >= 0.

    Parameters
    ----------
    score : float
        1 - RMSE / (Std + delta), in [0, 1].
    slope, intercept : float
        a and b.
    """

    score: float
    slope: float
    intercept: float


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of states with tied distances pooled.

    Parameters
    ----------
    levels : ndarray (T,)
        Distinct rounded distances, rising.
    where : ndarray of int (pairs,)
        Position of each pair's distance in `levels`.
    loss : ndarray (pairs,)
        Loss of each pair.
    """

    levels: Floats
    where: NDArray[np.int64]
    loss: Floats


def pool_pairs(distance: Floats, loss: Floats) -> Pairs:
    """Round and pool the distances of pairs in any shape; an `InputError` if they do not match or are not finite."""
    d, c = np.asarray(distance, dtype=np.float64).ravel(), np.asarray(loss, dtype=np.float64).ravel()
    if d.shape != c.shape or len(d) == 0 or not (np.isfinite(d).all() and np.isfinite(c).all()):
        raise InputError(
            "loss",
            f"An adequacy score needs equally many finite distances and losses, at least one of each, not {d.size} "
            f"distances and {c.size} losses with gaps; check the group's domain.",
        )
    levels, where = np.unique(np.round(d, DISTANCE_DECIMALS), return_inverse=True)
    return Pairs(levels, where.ravel(), c)


def score_fit(loss: Floats, fitted: Floats) -> float:
    """Return 1 - RMSE / (Std + delta), 1 for a constant loss that is met."""
    delta = RELATIVE_DELTA * max(1.0, float(np.abs(loss).mean()))
    rmse, spread = float(np.sqrt(np.mean((loss - fitted) ** 2))), float(loss.std())
    if spread <= delta and rmse <= delta:
        return 1.0
    return 1.0 - rmse / (spread + delta)


def fit_isotonic(pairs: Pairs) -> tuple[Floats, Floats]:
    """Return the distances that occur and the isotonic fit at them; ties are pooled to weighted means first."""
    weight = np.bincount(pairs.where, minlength=len(pairs.levels)).astype(np.float64)
    total = np.bincount(pairs.where, weights=pairs.loss, minlength=len(pairs.levels))
    seen = weight > 0
    levels = pairs.levels[seen]
    fit = isotonic_regression(total[seen] / weight[seen], weights=weight[seen])
    return levels, np.asarray(fit.x, dtype=np.float64)


def fit_quadratic(pairs: Pairs) -> tuple[float, float]:
    """Return slope a >= 0 and intercept b of the least-squares a d^2 + b."""
    square = pairs.levels[pairs.where] ** 2
    centred = square - square.mean()
    variance = float((centred**2).mean())
    slope = max(0.0, float((centred * pairs.loss).mean()) / variance) if variance > 0 else 0.0
    return slope, float(pairs.loss.mean() - slope * square.mean())


def fit_radial(distance: Floats, loss: Floats) -> RadialFit:
    """Fit the best nondecreasing function of the distance and score it.

    S = 1 - RMSE / (Std(C) + delta) over all pairs given, population Std.

    Parameters
    ----------
    distance, loss : ndarray
        Distance and loss of each ordered pair, in any shape that both share, the diagonal included.

    Returns
    -------
    RadialFit
        The score does not depend on the order of the pairs: losses at the same distance are pooled.

    Raises
    ------
    InputError
        If the shapes differ or a value is not finite.

    Notes
    -----
    Equations 28 and 29 of the DepHDP paper.

    Examples
    --------
    >>> fit_radial(np.array([0.0, 1.0, 1.0, 2.0]), np.array([0.0, 1.0, 3.0, 5.0])).fitted.tolist()
    [0.0, 2.0, 5.0]
    """
    pairs = pool_pairs(distance, loss)
    levels, fitted = fit_isotonic(pairs)
    return RadialFit(score_fit(pairs.loss, fitted[pairs.where]), levels, fitted)


def fit_mse(distance: Floats, loss: Floats) -> QuadraticFit:
    """Fit a d^2 + b with a >= 0 and score it (MSE-likeness).

    Parameters
    ----------
    distance, loss : ndarray
        As in `fit_radial`; the distances are rounded alike, so this score never exceeds the radial one.

    Returns
    -------
    QuadraticFit
        Score and coefficients.

    Raises
    ------
    InputError
        If the shapes differ or a value is not finite.

    Notes
    -----
    Equations 25 and 26 of the DepHDP paper.

    Examples
    --------
    >>> round(fit_mse(np.array([0.0, 1.0, 2.0]), np.array([1.0, 3.0, 9.0])).slope, 12)
    2.0
    """
    pairs = pool_pairs(distance, loss)
    slope, intercept = fit_quadratic(pairs)
    fitted = slope * pairs.levels[pairs.where] ** 2 + intercept
    return QuadraticFit(score_fit(pairs.loss, fitted), slope, intercept)


def adequacy_score(kind: str, distance: Floats, loss: Floats) -> float:
    """Return the adequacy score of the given kind.

    Parameters
    ----------
    kind : {'radial', 'mse'}
        Radial-fit or MSE-likeness.
    distance, loss : ndarray
        As in `fit_radial`.

    Returns
    -------
    float
        In [0, 1]; 1 means that distance explains the loss.

    Raises
    ------
    InputError
        If the kind is unknown, the shapes differ or a value is not finite.
    """
    check_kind(kind)
    return fit_radial(distance, loss).score if kind == "radial" else fit_mse(distance, loss).score


def check_kind(kind: str) -> None:
    """Raise an `InputError` unless `kind` is 'radial' or 'mse'."""
    if kind not in ("radial", "mse"):
        raise InputError("score", f"score must be one of radial, mse, not {kind!r:.60}.")


def choose(sizes: Sequence[int], scores: Sequence[float], *, tau_dim: int, tau_dpn: float) -> tuple[str, ...]:
    """Choose a mechanism family per group: OPT iff size <= tau_dim and score <= tau_dpn, else DPN.

    Parameters
    ----------
    sizes : sequence of int
        States n_k per group.
    scores : sequence of float
        Adequacy score S_k per group; nan (not scored) gives DPN.
    tau_dim : int
        Largest domain that is optimised.
    tau_dpn : float
        Largest score that is optimised.

    Returns
    -------
    tuple of str
        "OPT" or "DPN" per group.

    Raises
    ------
    InputError
        If a threshold is out of range.

    Notes
    -----
    Equation 24 of the DepHDP paper.

    Examples
    --------
    >>> choose([280, 640, 5], [0.1, 0.1, 0.9], tau_dim=300, tau_dpn=0.3)
    ('OPT', 'DPN', 'DPN')
    """
    limits.TAU_DIM.check(tau_dim)
    limits.TAU_DPN.check(tau_dpn)
    pairs = zip(sizes, scores, strict=True)
    return tuple("OPT" if size <= tau_dim and score <= tau_dpn else "DPN" for size, score in pairs)


def compute_sensitivity(distance: Floats, loss: Floats) -> Floats:
    """Compute the loss per unit of distance of every pair with positive distance.

    rho = c / d (the paper's Fig. 6).

    Parameters
    ----------
    distance, loss : ndarray
        Distance and loss of each ordered pair, in any shape that both share.

    Returns
    -------
    ndarray (pairs with d > 0,)
        In the order of the pairs; empty for a group of one state.
    """
    d, c = np.asarray(distance, dtype=np.float64).ravel(), np.asarray(loss, dtype=np.float64).ravel()
    apart = d > 0
    ratio: Floats = c[apart] / d[apart]
    return ratio
