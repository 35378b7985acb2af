"""Marginals estimated from released data alone: unbiased and iterative Bayes, beside the biased raw histogram."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from core.errors import InputError

Progress = Callable[[float, str], None]
FloatArray = NDArray[np.float64]

ITERATIONS: Final = 400
"""Steps of the iterative Bayes update at most: seconds for the largest domain that is listed."""
SETTLED: Final = 1e-6
"""Largest change of a share at which the update stops."""
REPLICATES: Final = 24
"""Resamples behind an error bar of the iterative Bayes estimate; the bar itself is then good to about 15 %."""
RANK_TOLERANCE: Final = 1e-10
"""Singular values below this share of the largest count as 0."""
BIAS_TOLERANCE: Final = 1e-6
"""Coefficients are solved to this accuracy, else the level's share cannot be told without bias."""


@dataclass(frozen=True, eq=False)
class MarginalEstimate:
    """Shares of one attribute's levels.

    Parameters
    ----------
    raw, raw_error : ndarray (m,)
        Shares in the released column and their standard errors; biased towards the noise's own favourites.
    unbiased, unbiased_error : ndarray (m,)
        Least-squares inversion of the channel: expectation equal to the true shares, may be negative; nan where no
        estimate without bias exists.
    bayes, bayes_error : ndarray (m,)
        Iterative Bayes: the most likely shares, never negative, biased a little; errors by resampling.
    records : int
        Number of released records.
    """

    raw: FloatArray
    raw_error: FloatArray
    unbiased: FloatArray
    unbiased_error: FloatArray
    bayes: FloatArray
    bayes_error: FloatArray
    records: int

    @property
    def identified(self) -> NDArray[np.bool_]:
        """Levels whose share has an estimate without bias."""
        return ~np.isnan(self.unbiased)


def estimate_marginal(
    matrix: ArrayLike,
    outputs: ArrayLike,
    levels: ArrayLike,
    *,
    rng: np.random.Generator,
    size: int | None = None,
    progress: Progress | None = None,
) -> MarginalEstimate:
    """Estimate the shares of an attribute's levels from the outputs of the channel that perturbed it.

    Parameters
    ----------
    matrix : array_like (n, m)
        Release probabilities: row x true state, column y released state.
    outputs : array_like of int (N,)
        Released states.
    levels : array_like of int (n,)
        The attribute's level in every state (outputs are states).
    rng : Generator
        For the resamples behind the error bars of iterative Bayes.
    size : int or None
        Number of the attribute's levels; None takes the largest that occurs.
    progress : callable (fraction, sentence) or None
        Told between resamples; it may raise to stop.

    Raises
    ------
    InputError
        If there is no released record, or the shapes do not fit.
    """
    z, drawn, level = np.asarray(matrix, dtype=float), np.asarray(outputs), np.asarray(levels)
    if z.ndim != 2 or z.shape[0] != z.shape[1] or level.shape != (len(z),) or drawn.ndim != 1 or drawn.size == 0:
        raise InputError("outputs", "Estimates need at least one released record and its channel, state by state.")
    counts = np.bincount(drawn, minlength=len(z)).astype(float)
    member = (level[:, None] == np.arange(size or int(level.max()) + 1)).astype(float)  # (n, m_l)
    raw = counts @ member / counts.sum()
    unbiased, unbiased_error = estimate_unbiased(z, counts, member)
    bayes, bayes_error = _bayes_with_errors(z, counts, member, rng, progress)
    return MarginalEstimate(
        raw,
        np.sqrt(raw * (1 - raw) / counts.sum()),
        unbiased,
        unbiased_error,
        bayes,
        bayes_error,
        int(counts.sum()),
    )


def estimate_unbiased(z: FloatArray, counts: FloatArray, member: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return unbiased shares and standard errors, nan where there is none.

    The share of level a is sum_y f_a(y) o_y with o the released shares and Z f_a = 1[x has level a]: then its
    expectation is the true share whatever the truth is. f_a is the solution of least length; where none exists (a
    remapped channel releases too few states) the share is not told. The variance is that of a multinomial sample.

    Parameters
    ----------
    z : ndarray (n, m)
        Release probabilities.
    counts : ndarray (m,)
        Released states.
    member : ndarray (n, k)
        Which state has which level.
    """
    weights, _, _, _ = np.linalg.lstsq(z, member, rcond=RANK_TOLERANCE)
    solved = np.abs(z @ weights - member).max(axis=0) <= BIAS_TOLERANCE
    total = counts.sum()
    shares = counts / total
    estimate = shares @ weights
    variance = np.maximum(shares @ weights**2 - estimate**2, 0.0) / max(total - 1, 1)
    return np.where(solved, estimate, np.nan), np.where(solved, np.sqrt(variance), np.nan)


def iterate_bayes(z: FloatArray, counts: FloatArray) -> FloatArray:
    """Return the states' shares by the iterative Bayes update, columns of counts at once.

    p(x) <- sum_y o_y p(x) Z[x, y] / sum_x' p(x') Z[x', y], from uniform shares; every step raises the likelihood
    (Agrawal and Aggarwal, 2001). After `ITERATIONS` steps it stops short of the maximum, nearer to uniform.

    Parameters
    ----------
    z : ndarray (n, m)
        Release probabilities.
    counts : ndarray (m,) or (m, R)
        Released states, or R resamples of them.

    Returns
    -------
    ndarray (n,) or (n, R)
    """
    shares = counts / counts.sum(axis=0)
    used = shares.reshape(len(shares), -1).any(axis=1)
    z, shares = np.ascontiguousarray(z[:, used]), shares[used]
    p = np.full((len(z), *shares.shape[1:]), 1.0 / len(z))
    for _ in range(ITERATIONS):
        expected = z.T @ p
        ratio = np.divide(shares, expected, out=np.zeros_like(shares), where=expected > 0)
        updated = p * (z @ ratio)
        change = float(np.abs(updated - p).max())
        p = updated
        if change < SETTLED:
            break
    return p


def _bayes_with_errors(
    z: FloatArray, counts: FloatArray, member: FloatArray, rng: np.random.Generator, progress: Progress | None
) -> tuple[FloatArray, FloatArray]:
    """Return the marginal of iterative Bayes and its standard error over resamples of the released records."""
    if progress is not None:
        progress(0.0, "iterative Bayes")
    estimate = iterate_bayes(z, counts) @ member
    total = int(counts.sum())
    samples = rng.multinomial(total, counts / counts.sum(), size=REPLICATES).T.astype(float)
    parts = []
    for i, part in enumerate(np.array_split(samples, 4, axis=1)):
        if progress is not None:
            progress((1 + i) / 5, "error bars")
        parts.append(iterate_bayes(z, part).T @ member)
    return estimate, np.concatenate(parts).std(axis=0, ddof=1)
