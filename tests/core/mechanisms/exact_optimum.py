"""The optimum of the channel's linear programme in exact integers, for a handful of states."""

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

BITS = 50
"""Ratios and costs are multiples of 2**-BITS, so that every number of the programme is an integer."""


def exact_optimum(ratios: NDArray[np.float64], costs: NDArray[np.float64]) -> Fraction:
    """Return min sum costs * Z over row-stochastic Z >= 0 with Z[b, y] >= ratios[a, b] Z[a, y].

    Simplex with Bland's rule on an integer tableau (every pivot divides exactly by the one before), started at the
    best constant channel. `ratios` and `costs` must be multiples of 2**-BITS.
    """
    n, m = costs.shape
    scale = 1 << BITS
    best = int(costs.sum(axis=0).argmin())
    variables = [(x, y) for x in range(n) for y in range(m)]
    column = {v: i for i, v in enumerate(variables)}
    pairs = [(a, b, y) for a in range(n) for b in range(n) if a != b for y in range(m)]
    rows, width = n + len(pairs), len(variables) + len(pairs) + 1
    table = np.zeros((rows + 1, width), dtype=object)
    for x in range(n):
        for y in range(m):
            table[x, column[x, y]] = 1
        table[x, -1] = 1
    for i, (a, b, y) in enumerate(pairs, n):  # scale Z_b - ratio Z_a - slack = 0, written with + slack
        table[i, column[b, y]] -= scale
        table[i, column[a, y]] += _integer(ratios[a, b])
        table[i, len(variables) + i - n] = 1
    table[rows, : len(variables)] = [_integer(c) for c in costs.ravel()]
    basis = [-1] * n + [len(variables) + i for i in range(len(pairs))]
    divisor = 1
    for x in range(n):
        divisor = _pivot(table, basis, x, column[x, best], divisor)
    while True:
        entering = next((j for j in range(width - 1) if table[rows, j] < 0), None)
        if entering is None:
            return Fraction(-int(table[rows, -1]), divisor * scale)
        ratio = [
            (Fraction(int(table[i, -1]), int(table[i, entering])), basis[i], i)
            for i in range(rows)
            if table[i, entering] > 0
        ]
        divisor = _pivot(table, basis, min(ratio)[2], entering, divisor)


def _integer(value: float) -> int:
    scaled = Fraction(float(value)) * (1 << BITS)
    assert scaled.denominator == 1
    return int(scaled)


def _pivot(table: NDArray[np.object_], basis: list[int], row: int, column: int, divisor: int) -> int:
    pivot = int(table[row, column])
    kept = table[row].copy()
    factors = table[:, column].copy()
    table *= pivot
    table -= factors[:, None] * kept[None, :]
    table //= divisor
    table[row] = kept
    basis[row] = column
    if pivot < 0:
        table *= -1
    return abs(pivot)
