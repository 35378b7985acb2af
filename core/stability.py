"""Whether an adequacy score can be relied on: held-out scores, stability of the choice, and what the score rests on."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from core.adequacy import (
    Floats,
    Pairs,
    RadialFit,
    adequacy_score,
    check_kind,
    fit_isotonic,
    fit_quadratic,
    pool_pairs,
    score_fit,
)

Progress = Callable[[float, str], None]

SPLITS: Final = 20
FITTED_SHARE: Final = 0.7
STRATA: Final = 10
"""Strata of distance; fewer where a stratum would hold less than four pairs."""
PAIRS_PER_STRATUM: Final = 4
EVIDENCE_BINS: Final = 50
"""Distances are told apart one by one up to this many, above that in as many equally filled ranges."""


@dataclass(frozen=True, eq=False)
class HeldOutScores:
    """Scores of fits on pairs that took no part in them.

    Parameters
    ----------
    kind : {'radial', 'mse'}
        The adequacy score.
    original : float
        Score on all pairs.
    scores : ndarray (splits,)
        Score of each split's validation pairs; may be negative.
    """

    kind: str
    original: float
    scores: Floats

    @property
    def mean(self) -> float:
        """Mean held-out score."""
        return float(self.scores.mean())

    @property
    def median(self) -> float:
        """Median held-out score; a few splits of a tiny group hold out almost equal losses and score far below 0."""
        return float(np.median(self.scores))

    @property
    def spread(self) -> float:
        """Half the range between the quartiles of the held-out scores."""
        low, high = np.quantile(self.scores, [0.25, 0.75])
        return float(high - low) / 2

    @property
    def mean_absolute_error(self) -> float:
        """Mean |held-out score - original score|."""
        return float(np.abs(self.scores - self.original).mean())

    @property
    def median_absolute_error(self) -> float:
        """Median |held-out score - original score|."""
        return float(np.median(np.abs(self.scores - self.original)))

    def agreement(self, tau_dpn: float) -> float:
        """Return the share of splits on the same side of the threshold as the original score."""
        return float(((self.scores <= tau_dpn) == (self.original <= tau_dpn)).mean())


def held_out_scores(
    kind: str,
    distance: Floats,
    loss: Floats,
    *,
    rng: np.random.Generator,
    splits: int = SPLITS,
    progress: Progress | None = None,
) -> HeldOutScores | None:
    """Score the fit on held-out pairs, over distance-stratified 70/30 splits.

    Parameters
    ----------
    kind : {'radial', 'mse'}
        The adequacy score.
    distance, loss : ndarray (n, n), or (pairs,)
        A matrix over states, both directions of a pair then staying on one side; or single sampled pairs.
    rng : numpy.random.Generator
        Source of the splits.
    splits : int
        How many.
    progress : callable, optional
        Told the fraction done after every split.

    Returns
    -------
    HeldOutScores or None
        None where there are fewer than two different pairs to split (a group of two states).

    Raises
    ------
    InputError
        If the kind is unknown, the shapes differ or a value is not finite.

    Notes
    -----
    Appendix D.5 of the DepHDP paper.
    """
    check_kind(kind)
    pairs = pool_pairs(distance, loss)
    unit = _units(np.asarray(distance))
    first = np.unique(unit, return_index=True)[1]
    strata = _strata(pairs.levels[pairs.where[first]])
    if (strata > 0).sum() < 2:
        return None
    scores = np.empty(splits)
    for split in range(splits):
        if progress is not None:
            progress(split / splits, "Scoring held-out pairs")
        fitted = _split(strata, rng)[unit]
        scores[split] = _validate(kind, pairs, fitted)
    return HeldOutScores(kind, adequacy_score(kind, distance, loss), scores)


def _units(distance: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return a number per pair; both directions of a matrix's pair share one."""
    if distance.ndim != 2 or distance.shape[0] != distance.shape[1]:
        return np.arange(distance.size)
    x, y = np.indices(distance.shape)
    codes = (np.minimum(x, y) * len(distance) + np.maximum(x, y)).ravel()
    return np.asarray(np.unique(codes, return_inverse=True)[1]).ravel()


def _strata(distance: Floats) -> NDArray[np.int64]:
    """Return a stratum per unordered pair: 0 at distance 0, then ranges of distance that hold equally many."""
    apart = distance > 0
    strata = np.zeros(len(distance), dtype=np.int64)
    if apart.any():
        bins = int(np.clip(apart.sum() // PAIRS_PER_STRATUM, 1, STRATA))
        edges = np.quantile(distance[apart], np.arange(1, bins) / bins)
        strata[apart] = 1 + np.searchsorted(edges, distance[apart])
    return strata


def _split(strata: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.bool_]:
    """Draw 70% of every stratum for fitting, and leave at least one pair on either side where there are two."""
    order = np.lexsort((rng.random(len(strata)), strata))
    sizes = np.bincount(strata)
    starts = np.cumsum(sizes) - sizes
    rank = np.empty(len(strata), dtype=np.int64)
    rank[order] = np.arange(len(strata)) - starts[strata[order]]
    taken = np.clip(np.rint(FITTED_SHARE * sizes), np.minimum(sizes, 1), np.maximum(sizes - 1, 1))
    fitted: NDArray[np.bool_] = rank < taken[strata]
    return fitted


def _validate(kind: str, pairs: Pairs, fitted: NDArray[np.bool_]) -> float:
    training = Pairs(pairs.levels, pairs.where[fitted], pairs.loss[fitted])
    at = pairs.levels[pairs.where[~fitted]]
    if kind == "radial":
        predicted = np.interp(at, *fit_isotonic(training))
    else:
        slope, intercept = fit_quadratic(training)
        predicted = slope * at**2 + intercept
    return score_fit(pairs.loss[~fitted], predicted)


@dataclass(frozen=True)
class Stability:
    """Held-out validation over all groups (the columns of the paper's Table 5).

    Parameters
    ----------
    evaluated, groups : int
        Groups with enough pairs, and all groups.
    original, held_out : float
        Mean over the evaluated groups of their score and of their median held-out score; nan where there is none.
    absolute_error : float
        Mean over the groups of their median |held-out - original|.
    gap : float
        100 x absolute_error / mean |original|, per cent.
    agreement : float
        Share of splits, over groups, with the original's decision.
    """

    evaluated: int
    groups: int
    original: float
    held_out: float
    absolute_error: float
    gap: float
    agreement: float


def summarise_held_out(found: Sequence[HeldOutScores | None], tau_dpn: float) -> Stability:
    """Average held-out scores over the groups; those without (None) are counted and left out.

    Parameters
    ----------
    found : sequence of HeldOutScores or None
        One per group.
    tau_dpn : float
        Score threshold of the decision.

    Returns
    -------
    Stability
        The averages; within a group medians are taken, where the paper takes means, because one split of a tiny group
        can hold out almost equal losses, whose score has no floor.
    """
    kept = [f for f in found if f is not None]
    if not kept:
        nan = float("nan")
        return Stability(0, len(found), nan, nan, nan, nan, nan)
    size = float(np.mean([abs(f.original) for f in kept]))
    error = float(np.mean([f.median_absolute_error for f in kept]))
    return Stability(
        evaluated=len(kept),
        groups=len(found),
        original=float(np.mean([f.original for f in kept])),
        held_out=float(np.mean([f.median for f in kept])),
        absolute_error=error,
        gap=100.0 * error / size if size > 0 else float("nan"),
        agreement=float(np.mean([f.agreement(tau_dpn) for f in kept])),
    )


@dataclass(frozen=True)
class RadialEvidence:
    """What a radial-fit score rests on, in numbers.

    Parameters
    ----------
    explained : float
        Share of the loss's variance that the nondecreasing function of distance explains; 1 for a constant loss.
    spread : float
        Largest difference of two losses at the same distance (in the same narrow range where distances are many).
    distance : tuple of (float, float)
        The least and largest distance of that range; equal where it is a single distance.
    low, high : tuple of int
        Pair with the least and with the largest loss there: (x, y) of a matrix, (i,) of single pairs.
    drop : float
        Largest fall of the mean loss from one distance to a larger one; 0 where it never falls.
    drop_between : tuple of (float, float)
        Those two distances (mid-ranges).
    """

    explained: float
    spread: float
    distance: tuple[float, float]
    low: tuple[int, ...]
    high: tuple[int, ...]
    drop: float
    drop_between: tuple[float, float]


def why_radial(distance: Floats, loss: Floats, fit: RadialFit) -> RadialEvidence:
    """Find what makes a loss radial or not: the variance explained, the widest spread, the largest fall.

    Parameters
    ----------
    distance, loss : ndarray
        The pairs that were fitted, in any shape that both share.
    fit : RadialFit
        Their fit.

    Returns
    -------
    RadialEvidence
        Numbers and pairs, for a sentence.

    Raises
    ------
    InputError
        If the shapes differ or a value is not finite.
    """
    pairs = pool_pairs(distance, loss)
    shape = np.shape(distance)
    residual = pairs.loss - np.interp(pairs.levels[pairs.where], fit.distance, fit.fitted)
    variance = float(pairs.loss.var())
    bins = _evidence_bins(pairs)
    order = np.lexsort((pairs.loss, bins))
    starts = np.searchsorted(bins[order], np.arange(bins.max() + 1))
    ends = np.append(starts[1:], len(order)) - 1
    spreads = pairs.loss[order[ends]] - pairs.loss[order[starts]]
    widest = int(spreads.argmax())
    inside = pairs.levels[pairs.where[bins == widest]]
    means = np.bincount(bins, weights=pairs.loss) / np.bincount(bins)
    middles = np.bincount(bins, weights=pairs.levels[pairs.where]) / np.bincount(bins)
    falls = np.maximum.accumulate(means) - means
    to = int(falls.argmax())
    since = int(means[: to + 1].argmax())
    return RadialEvidence(
        explained=1.0 - float((residual**2).mean()) / variance if variance > 0 else 1.0,
        spread=float(spreads[widest]),
        distance=(float(inside.min()), float(inside.max())),
        low=tuple(int(i) for i in np.unravel_index(order[starts[widest]], shape)),
        high=tuple(int(i) for i in np.unravel_index(order[ends[widest]], shape)),
        drop=float(falls[to]),
        drop_between=(float(middles[since]), float(middles[to])),
    )


def _evidence_bins(pairs: Pairs) -> NDArray[np.int64]:
    """Return the bin of every pair's distance; many distances go into ranges that hold about equally many pairs."""
    if len(pairs.levels) <= EVIDENCE_BINS:
        return pairs.where
    share = np.cumsum(np.bincount(pairs.where)) / len(pairs.where)
    bins = np.minimum((share * EVIDENCE_BINS).astype(np.int64), EVIDENCE_BINS - 1)
    bins[0] = -1  # the diagonal stays by itself
    return np.asarray(np.unique(bins, return_inverse=True)[1])[pairs.where]
