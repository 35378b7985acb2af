"""The exact joint law of all tiers on small domains, and the exact epsilon of every coalition."""

import itertools
import math
from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from core.errors import InputError
from core.tiers.budgets import SMALLEST_BUDGET, order_budgets
from core.tiers.chain import check_chain
from core.tiers.gradual import RELEASES
from core.tiers.laws import FloatArray
from core.tiers.noise import noise_law, residual
from core.tiers.subset import best_sizes, check_categories, keep_probability, subset_invariant
from core.tiers.template_rules import Tier

CELL_LIMIT: Final = 4_000_000
"""Most cells of a joint law that is enumerated."""
WINDOW: Final = 40
"""Half-width of the window on which joint laws of counts are enumerated, unless given."""
Release = str | Sequence[Tier] | NDArray[np.float64]


def _check_cells(cells: float) -> None:
    if cells > CELL_LIMIT:
        raise InputError(
            "The coalition",
            f"The joint law of these tiers has {cells:.1e} outcomes, more than the {CELL_LIMIT} that are enumerated; "
            "take fewer tiers or fewer categories.",
        )


def subset_law(epsilon: float, k: int, d: int) -> FloatArray:
    """Return P(r | x) of the Subset mechanism, (d, C(d, k)); subsets in the order of itertools.combinations."""
    members = _membership(k, d)
    weights = np.where(members.T, 1.0, math.exp(-epsilon))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True), float)


def _membership(k: int, d: int) -> NDArray[np.bool_]:
    """Return which categories every k-subset holds, (C(d, k), d)."""
    _check_cells(math.comb(d, k) * d)
    held = np.zeros((math.comb(d, k), d), np.bool_)
    for row, subset in enumerate(itertools.combinations(range(d), k)):
        held[row, list(subset)] = True
    return held


def step_kernel(before: Tier, after: Tier, d: int) -> FloatArray:
    """Return P(r' | r) of one step of a chain, (C(d, k), C(d, k')).

    With probability beta r' is a uniform superset of r, else a uniform k'-subset.
    """
    k, k_after = before[1], after[1]
    small, large = _membership(k, d), _membership(k_after, d)
    _check_cells(len(small) * len(large))
    inside = small.astype(int) @ large.T.astype(int) == k
    u, u_after = (float(subset_invariant(e, size)) for e, size in (before, after))
    keep = min(keep_probability(u, u_after, d), 1.0)
    return np.asarray(keep * inside / math.comb(d - k, k_after - k) + (1 - keep) / len(large), float)


def chain_law(chain: Sequence[Tier], members: Sequence[int], d: int) -> FloatArray:
    """Return the joint law of some tiers of a chain, (d, n_1, ..., n_s), members from the largest budget down.

    The tiers are a Markov chain whose steps compose, so a tier that is no member is summed out by leaving it out.
    """
    first = chain[members[0]]
    law = subset_law(first[0], first[1], d)
    _check_cells(d * math.prod(math.comb(d, chain[i][1]) for i in members))
    for before, after in itertools.pairwise(members):
        law = law[..., None] * step_kernel(chain[before], chain[after], d)
    return law


def _product_law(parts: Sequence[FloatArray], d: int) -> FloatArray:
    _check_cells(d * math.prod(part.shape[1] for part in parts))
    law = parts[0]
    for part in parts[1:]:
        law = law[..., None] * part.reshape(d, *(1,) * (law.ndim - 1), -1)
    return law


def joint_law(budgets: Iterable[float], d: int, release: Release, members: Sequence[int] | None = None) -> FloatArray:
    """Return P(answers of the members | true category), (d, n_1, ..., n_s).

    Parameters
    ----------
    budgets : iterable of float (m,)
        The privacy list, from the largest budget down unless `release` is a joint law.
    d : int
        Number of categories.
    release : chain, 'independent', 'gradual' or ndarray
        How the answers are made: the (level, size) of every tier; a fresh best Subset answer each; the fresh answers
        of gradual release, of which tier j holds those of its own and all smaller budgets; or P(r_1..r_m | x) itself.
    members : sequence of int, optional
        Positions of the tiers; all by default.

    Raises
    ------
    InputError
        If an argument is out of range or the law is too large to enumerate.
    """
    categories = check_categories(d)
    given = [float(epsilon) for epsilon in budgets]
    chosen = _check_members(range(len(given)) if members is None else members, len(given))
    if isinstance(release, np.ndarray):
        return _marginal(release, chosen, (categories, len(given)))
    ordered, _ = order_budgets(given)
    order = np.argsort(-np.asarray(given), kind="stable").tolist()
    places = sorted(order.index(i) for i in chosen)
    if isinstance(release, str) and release == "independent":
        picked = ordered[places]
        return _product_law([subset_law(e, k, d) for e, k in _best_tiers(picked, categories)], categories)
    if isinstance(release, str) and release == "gradual":
        # The member with the largest budget holds every fresh answer that another member holds.
        steps = np.diff(ordered[places[0] :][::-1], prepend=0.0)
        used = steps[steps >= SMALLEST_BUDGET]
        return _product_law([subset_law(e, k, d) for e, k in _best_tiers(used, categories)], categories)
    if isinstance(release, str):
        raise InputError(
            "The release", f"The release must be a chain, independent, gradual or a joint law, not {release!r:.60}."
        )
    return chain_law(check_chain(given, release, categories), places, categories)


def _best_tiers(epsilons: FloatArray, d: int) -> list[Tier]:
    return list(zip(epsilons.tolist(), best_sizes(epsilons, d).tolist(), strict=True))


def _check_members(members: Iterable[int], tiers: int) -> list[int]:
    chosen = sorted(set(members))
    if not chosen or chosen[0] < 0 or chosen[-1] >= tiers:
        raise InputError("The coalition", f"The coalition must name tiers from 0 to {tiers - 1}, not {chosen!r:.60}.")
    return chosen


def _marginal(law: NDArray[np.float64], members: list[int], shape: tuple[int, int]) -> FloatArray:
    rows, tiers = shape
    if (
        law.ndim != tiers + 1
        or law.shape[0] != rows
        or law.min() < 0
        or not np.allclose(law.reshape(rows, -1).sum(axis=1), 1)
    ):
        raise InputError(
            "The joint law",
            f"The joint law must be an array ({rows}, n_1, ..., n_{tiers}) of probabilities that sum to 1 per row.",
        )
    return np.asarray(law.sum(axis=tuple(i + 1 for i in range(tiers) if i not in members)), float)


def law_epsilon(law: FloatArray) -> float:
    """Return the least epsilon of a law (n, ...): max over inputs and outcomes of ln P(o|x)/P(o|x').

    Infinite where an outcome is possible for one input and impossible for another.

    Examples
    --------
    >>> round(law_epsilon(np.array([[0.75, 0.25], [0.25, 0.75]])), 6) == round(math.log(3), 6)
    True
    """
    flat = law.reshape(len(law), -1)
    high, low = flat.max(axis=0), flat.min(axis=0)
    possible = high > 0
    if np.any(low[possible] == 0):
        return math.inf
    return float(np.max(np.log(high[possible] / low[possible])))


def coalition_epsilon(
    budgets: Iterable[float], d: int, release: Release, members: Sequence[int] | None = None
) -> float:
    """Return the exact epsilon of what a coalition's answers say about one category, by enumerating their joint law.

    Parameters
    ----------
    budgets, d, release, members
        As in `joint_law`.

    Raises
    ------
    InputError
        As in `joint_law`.

    Examples
    --------
    >>> round(coalition_epsilon([2.0, 1.0], 4, "independent"), 9)
    3.0
    >>> round(coalition_epsilon([2.0, 1.0], 4, [(2.0, 1), (1.0, 1)]), 9)
    2.0
    """
    return law_epsilon(joint_law(budgets, d, release, members))


def count_joint_law(
    family: str,
    budgets: Sequence[float],
    release: str,
    members: Sequence[int] | None = None,
    *,
    window: int = WINDOW,
    sensitivity: int = 1,
) -> FloatArray:
    """Return P(answers | count) for two neighbouring counts on a window, (2, n_1, ..., n_s).

    Answers run over -window .. window around the first count. The chain's steps compose, so a tier that is no member
    is left out; under gradual release the answers are the fresh ones that the coalition holds.

    Parameters
    ----------
    family : {'geometric', 'msdlap'}
        Noise of pure epsilon on the integers.
    budgets : sequence of float (m,)
        From the largest down.
    release : {'multi-tier', 'gradual', 'independent'}
        How the answers are made.
    members : sequence of int, optional
        Positions of the tiers; all by default.
    window : int
        Half-width.
    sensitivity : int
        Distance of the two counts.

    Raises
    ------
    InputError
        If the release is unknown, the law is too large, or as in `noise_law`.
    """
    ordered, _ = order_budgets(budgets)
    chosen = _check_members(range(len(ordered)) if members is None else members, len(ordered))
    if release not in RELEASES:
        raise InputError("The release", f"The release must be one of {', '.join(RELEASES)}, not {release!r:.60}.")
    levels = ordered[chosen]
    if release == "gradual":
        # The member with the largest budget holds every fresh answer that another member holds.
        steps = np.diff(ordered[chosen[0] :][::-1], prepend=0.0)
        levels = steps[steps >= SMALLEST_BUDGET]
    grid = np.arange(-window, window + 1)
    _check_cells(2.0 * len(grid) ** len(levels))
    shifted = np.stack([grid, grid - sensitivity])
    fresh = [noise_law(family, epsilon, sensitivity=sensitivity).density(shifted) for epsilon in levels.tolist()]
    if release != "multi-tier":
        return _product_law(fresh, 2)
    law = fresh[0]
    for before, after in itertools.pairwise(levels.tolist()):
        law = law[..., None] * residual(family, before, after, None, sensitivity).pmf(grid[None, :] - grid[:, None])
    return law


def count_coalition_epsilon(
    budgets: Sequence[float],
    release: str,
    members: Sequence[int] | None = None,
    *,
    family: str = "geometric",
    window: int = WINDOW,
    sensitivity: int = 1,
) -> float:
    """Return the epsilon of what a coalition's answers say about a count, by enumerating their joint law on a window.

    Raises
    ------
    InputError
        As in `count_joint_law`.

    Examples
    --------
    >>> round(count_coalition_epsilon([2.0, 1.0], "independent"), 9)
    3.0
    """
    law = count_joint_law(family, budgets, release, members, window=window, sensitivity=sensitivity)
    return law_epsilon(law)
