"""Instances on which the optimal channel is measured: lines, nominal attributes, products of both."""

import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

FOLDER = Path(__file__).parent


@dataclass(frozen=True, eq=False)
class Instance:
    """Metric, prior and loss under a name."""

    name: str
    distance: NDArray[np.float64]
    prior: NDArray[np.float64]
    loss: NDArray[np.float64]

    @property
    def size(self) -> int:
        return len(self.prior)


def line(n: int, loss: str = "squared", seed: int = 0) -> Instance:
    """n evenly spaced points on [0, 1]."""
    points = np.linspace(0.0, 1.0, n)
    return _finish(f"line {n}", np.abs(points[:, None] - points[None, :]), loss, seed)


def nominal(n: int, loss: str = "random", seed: int = 0) -> Instance:
    """n points at mutual distance 1."""
    return _finish(f"nominal {n}", 1.0 - np.eye(n), loss, seed)


def product(spec: str, p: float = 2.0, loss: str = "squared", seed: int = 0) -> Instance:
    """A product such as 'n4 o4 n3': nominal with 4 levels, ordinal with 4, nominal with 3, under d_p."""
    parts = [(word[0], int(word[1:])) for word in spec.split()]
    states = np.array(list(itertools.product(*(range(size) for _, size in parts))))
    columns = []
    for member, (kind, size) in enumerate(parts):
        a = states[:, member]
        apart = np.abs(a[:, None] - a[None, :]) / (size - 1)
        columns.append((apart > 0).astype(float) if kind == "n" else apart)
    stacked = np.array(columns)
    distance = stacked.max(axis=0) if np.isinf(p) else (stacked**p).sum(axis=0) ** (1 / p)
    norm = "inf" if np.isinf(p) else f"{p:g}"
    return _finish(f"{spec.replace(' ', 'x')} l{norm} ({len(states)})", distance, loss, seed)


def _finish(name: str, distance: NDArray[np.float64], loss: str, seed: int) -> Instance:
    rng = np.random.default_rng(seed)
    n = len(distance)
    prior = 0.98 * rng.dirichlet(np.ones(n)) + 0.02 / n
    if loss == "squared":
        table = distance**2
    else:
        table = rng.random((n, n))
        np.fill_diagonal(table, 0.0)
    return Instance(name, distance, prior, table)


def references() -> Iterator[tuple[Instance, float, float, float]]:
    """Yield (instance, epsilon, proven lower bound, attained loss) of the reference list."""
    brackets = json.loads((FOLDER / "lp_reference.json").read_text())
    with np.load(FOLDER / "lp_reference.npz") as arrays:
        for name, budgets in brackets.items():
            instance = Instance(name, *(arrays[f"{name}__{part}"] for part in ("distance", "prior", "loss")))
            for epsilon, bracket in budgets.items():
                if epsilon != "attributes":
                    yield instance, float(epsilon), bracket["lower"], bracket["upper"]
