"""Brute force in exact arithmetic for tiny domains; shares no code with the package."""

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

BITS = 256
"""Fixed-point bits of the enclosures of exp."""
_ONE = 1 << BITS


def exp_enclosure(exponent: Fraction) -> tuple[Fraction, Fraction]:
    """Return rationals low <= exp(-exponent) <= high for exponent >= 0, apart by about 2^-240 relative to 1.

    Taylor series after halving below 1/2, then repeated squaring, each step rounded outwards to 2^-256.
    """
    if exponent == 0:
        return Fraction(1), Fraction(1)
    halvings = max(0, math.ceil(math.log2(max(float(exponent), 1e-300))) + 1)
    small = exponent / (1 << halvings)
    down = (small.numerator << BITS) // small.denominator
    low, high = (_taylor(x, up) for x, up in ((down + 1, False), (down, True)))
    for _ in range(halvings):
        low, high = (low * low) >> BITS, -((-high * high) >> BITS)
    return Fraction(low, _ONE), Fraction(high, _ONE)


def _taylor(x: int, up: bool) -> int:
    """Return exp(-x / 2^256) in units of 2^-256, off by less than 200 units on the given side, for x below 2^255."""
    term, total, k = _ONE, _ONE, 0
    while term:
        k += 1
        term = (term * x >> BITS) // k
        total += term if k % 2 == 0 else -term
    # Every term is at most 1 unit too small per step, there are fewer than 100, and the rest is below one unit.
    return total + 200 if up else total - 200


def satisfies(weights: np.ndarray, distance: np.ndarray, epsilon: float) -> bool:
    """Decide w[x, y] <= exp(epsilon d[x, x']) w[x', y] for all triples, exactly, doubles taken as the rationals."""
    return not violations(weights, distance, epsilon)


def violations(weights: np.ndarray, distance: np.ndarray, epsilon: float) -> list[tuple[int, int, int]]:
    """List the triples (x, x', y) that break the budget, in exact arithmetic."""
    n, m = weights.shape
    found = []
    for x, other in itertools.permutations(range(n), 2):
        low, high = exp_enclosure(Fraction(float(epsilon)) * Fraction(float(distance[x, other])))
        for y in range(m):
            a, b = int(weights[x, y]), int(weights[other, y])
            if a * low > b:
                found.append((x, other, y))
            elif a * high > b:
                raise ArithmeticError("the enclosure of exp is too wide to decide this triple")
    return found


def least_partner(weight: int, distance: float, epsilon: float) -> int:
    """Return the smallest whole w' with weight <= exp(epsilon distance) w'."""
    low, high = exp_enclosure(Fraction(float(epsilon)) * Fraction(float(distance)))
    if math.ceil(weight * low) != math.ceil(weight * high):
        raise ArithmeticError("the enclosure of exp is too wide to decide this weight")
    return math.ceil(weight * low)


def expected_loss(weights: np.ndarray, costs: np.ndarray) -> Fraction:
    """Return sum costs * weights / 2^58 exactly."""
    pairs = zip(costs.ravel().tolist(), weights.ravel().tolist(), strict=True)
    return sum((Fraction(c) * w for c, w in pairs), Fraction(0)) / (1 << 58)


def optimum(distance: np.ndarray, costs: np.ndarray, epsilon: float) -> tuple[Fraction, Fraction]:
    """Return rational bounds on the least expected loss over all epsilon-mDP channels, n <= 4.

    Each column of a channel lies in the cone K = {z >= 0: z' >= exp(-epsilon d) z}; so with the extreme rays r_j of K
    the optimum is min sum_j a_j min_y costs[:, y] . r_j over a >= 0 with sum_j a_j r_j = 1. Rounding the factors
    exp(-epsilon d) down widens the cone, rounding them up narrows it.
    """
    n = len(distance)
    enclosures = {
        (x, o): exp_enclosure(Fraction(float(epsilon)) * Fraction(float(distance[x, o])))
        for x, o in itertools.permutations(range(n), 2)
    }
    exact = [[Fraction(float(c)) for c in column] for column in costs.T]
    bounds = []
    for side in (0, 1):
        factors = {pair: _short(enclosure[side], side) for pair, enclosure in enclosures.items()}
        rays = _extreme_rays(n, factors)
        prices = [min(sum(c * r for c, r in zip(column, ray, strict=True)) for column in exact) for ray in rays]
        bounds.append(_cheapest_combination(rays, prices))
    return bounds[0], bounds[1]


def _short(value: Fraction, side: int) -> Fraction:
    """Round to 80 bits outwards, so that the elimination stays quick."""
    scaled = value * (1 << 80)
    return Fraction(math.ceil(scaled) if side else math.floor(scaled), 1 << 80)


def _extreme_rays(n: int, factors: dict[tuple[int, int], Fraction]) -> list[tuple[Fraction, ...]]:
    rows = []
    for (x, other), factor in factors.items():
        row = [Fraction(0)] * n
        row[other], row[x] = Fraction(1), -factor
        rows.append(row)
    rays = {(Fraction(1),)} if n == 1 else set()
    for chosen in itertools.combinations(rows, n - 1):
        # The ray is where n - 1 inequalities are equalities; fix its sum to 1.
        ray = solve([*chosen, [Fraction(1)] * n], [Fraction(0)] * (n - 1) + [Fraction(1)])
        if ray is not None and all(sum(a * z for a, z in zip(row, ray, strict=True)) >= 0 for row in rows):
            rays.add(tuple(ray))
    return sorted(rays)


def _cheapest_combination(rays: Sequence[tuple[Fraction, ...]], prices: Sequence[Fraction]) -> Fraction:
    """Minimise prices . a over a >= 0 with sum_j a_j rays_j = 1: the simplex method in rationals, by Bland's rule."""
    n = len(rays[0])
    units = [tuple(Fraction(i == k) for i in range(n)) for k in range(n)]
    columns = [*rays, *units]
    # Units are only there to start from; no price that a channel can have comes near theirs.
    costs = [*prices, *[Fraction(10**40)] * n]
    basis = list(range(len(rays), len(columns)))
    while True:
        matrix = [[columns[j][x] for j in basis] for x in range(n)]
        shares = solve(matrix, [Fraction(1)] * n)
        duals = solve([columns[j] for j in basis], [costs[j] for j in basis])
        reduced = (
            c - sum(u * v for u, v in zip(duals, col, strict=True)) for c, col in zip(costs, columns, strict=True)
        )
        entering = next((j for j, value in enumerate(reduced) if value < 0), None)
        if entering is None:
            return sum((costs[j] * a for j, a in zip(basis, shares, strict=True)), Fraction(0))
        step = solve(matrix, list(columns[entering]))
        ratios = [(a / s, j, i) for i, (a, s, j) in enumerate(zip(shares, step, basis, strict=True)) if s > 0]
        basis[min(ratios)[2]] = entering


def solve(matrix: Sequence[Sequence[Fraction]], right: Sequence[Fraction]) -> list[Fraction] | None:
    """Solve a square system exactly; None where it is singular."""
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    n = len(rows)
    for k in range(n):
        pivot = next((i for i in range(k, n) if rows[i][k]), None)
        if pivot is None:
            return None
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [v / rows[k][k] for v in rows[k]]
        for i in range(n):
            if i != k and rows[i][k]:
                rows[i] = [v - rows[i][k] * p for v, p in zip(rows[i], rows[k], strict=True)]
    return [row[-1] for row in rows]


METRICS = ("line", "grid", "nominal", "l1", "l2", "max", "ultrametric", "near", "far")


def random_metric(rng: np.random.Generator, kind: str, n: int) -> np.ndarray:
    """Draw a metric on n states; "grid" has ties, "near" almost equal points, "far" very different scales."""
    if kind == "nominal":
        return 1.0 - np.eye(n)
    if kind == "ultrametric":
        heights = np.sort(rng.random(n))
        return np.maximum(heights[:, None], heights) * (1 - np.eye(n))
    points = rng.random((n, 1 if kind in ("line", "grid", "near", "far") else 2))
    if kind == "grid":
        points = rng.permutation(n)[:, None] / max(n - 1, 1)
    if kind == "near":
        points[n // 2 :] = points[0] + points[n // 2 :] * 10.0 ** rng.uniform(-14, -3)
    if kind == "far":
        points = 10.0 ** rng.uniform(-6, 2, (n, 1))
    gaps = np.abs(points[:, None] - points[None])
    if kind == "l2":
        return np.sqrt((gaps**2).sum(axis=2))
    return gaps.sum(axis=2) if kind == "l1" else gaps.max(axis=2)


def random_instance(
    rng: np.random.Generator, largest: int = 5, metrics: Sequence[str] = METRICS
) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Draw (distance, prior, loss, epsilon): 1 to `largest` states, priors with zeros, losses with ties and zeros."""
    n = int(rng.integers(1, largest + 1))
    distance = random_metric(rng, str(rng.choice(metrics)), n)
    prior = rng.dirichlet(np.ones(n))
    prior[rng.random(n) < 0.2] = 0.0
    prior = prior / prior.sum() if prior.sum() > 0 else np.full(n, 1 / n)
    kind = rng.integers(4)
    loss = rng.random((n, n)) if kind == 0 else distance**2 if kind == 1 else 1.0 - np.eye(n)
    if kind == 3:
        loss = rng.integers(0, 3, (n, n)).astype(float)
    return distance, prior, loss, float(10 ** rng.uniform(-6, np.log10(50)))
