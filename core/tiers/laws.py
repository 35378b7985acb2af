"""The laws of noise: densities, characteristic functions and draws, one class per law."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from core.errors import InputError

FloatArray = NDArray[np.float64]
TAIL: Final = 1e-15
"""Mass that a tabulated law may leave outside its window."""
WINDOW_LIMIT: Final = 1 << 22
"""Most lattice points of a tabulated law."""


def _array(value: ArrayLike) -> FloatArray:
    return np.asarray(value, float)


class Law(Protocol):
    """A symmetric law of noise around zero."""

    @property
    def discrete(self) -> bool:
        """Whether it lives on the integers."""

    @property
    def variance(self) -> float:
        """Its variance."""

    @property
    def atom(self) -> float:
        """P(X = 0)."""

    def density(self, x: ArrayLike) -> FloatArray:
        """P(X = x) on the integers; else the density of the part without atoms."""

    def cdf(self, x: ArrayLike) -> FloatArray:
        """P(X <= x)."""

    def characteristic(self, t: ArrayLike) -> FloatArray:
        """E cos(t X), the characteristic function of a symmetric law."""

    def draw(self, rng: np.random.Generator, size: int | tuple[int, ...]) -> NDArray[Any]:
        """Draw from it; for simulation, not for release."""


@dataclass(frozen=True)
class LaplaceLaw:
    """Laplace(scale): density exp(-|x|/scale) / (2 scale), variance 2 scale^2.

    Parameters
    ----------
    scale : float
        Mean absolute value, > 0.
    """

    scale: float
    discrete = False
    atom = 0.0

    @property
    def variance(self) -> float:
        """2 scale^2."""
        return 2 * self.scale**2

    def density(self, x: ArrayLike) -> FloatArray:
        """exp(-|x|/scale) / (2 scale)."""
        return _array(np.exp(-np.abs(np.asarray(x, float)) / self.scale) / (2 * self.scale))

    def cdf(self, x: ArrayLike) -> FloatArray:
        """P(X <= x)."""
        values = np.asarray(x, float)
        tail = 0.5 * np.exp(-np.abs(values) / self.scale)
        return _array(np.where(values < 0, tail, 1 - tail))

    def characteristic(self, t: ArrayLike) -> FloatArray:
        """1 / (1 + scale^2 t^2)."""
        return _array(1 / (1 + (self.scale * np.asarray(t, float)) ** 2))

    def draw(self, rng: np.random.Generator, size: int | tuple[int, ...]) -> NDArray[Any]:
        """Draw for simulation."""
        return rng.laplace(0.0, self.scale, size)


@dataclass(frozen=True)
class GaussianLaw:
    """Gaussian(sigma^2).

    Parameters
    ----------
    sigma : float
        Standard deviation, > 0.
    """

    sigma: float
    discrete = False
    atom = 0.0

    @property
    def variance(self) -> float:
        """sigma^2."""
        return self.sigma**2

    def density(self, x: ArrayLike) -> FloatArray:
        """exp(-x^2/(2 sigma^2)) / (sigma sqrt(2 pi))."""
        z = np.asarray(x, float) / self.sigma
        return _array(np.exp(-0.5 * z * z) / (self.sigma * math.sqrt(2 * math.pi)))

    def cdf(self, x: ArrayLike) -> FloatArray:
        """P(X <= x)."""
        return np.asarray(special.ndtr(np.asarray(x, float) / self.sigma), float)

    def characteristic(self, t: ArrayLike) -> FloatArray:
        """exp(-sigma^2 t^2 / 2)."""
        return _array(np.exp(-0.5 * (self.sigma * np.asarray(t, float)) ** 2))

    def draw(self, rng: np.random.Generator, size: int | tuple[int, ...]) -> NDArray[Any]:
        """Draw for simulation."""
        return rng.normal(0.0, self.sigma, size)


@dataclass(frozen=True)
class GeometricLaw:
    """Two-sided geometric TSG(p), p = exp(-rate): P(n) = (1-p)/(1+p) p^|n|, variance 2p/(1-p)^2.

    Parameters
    ----------
    rate : float
        Epsilon per unit of the query, > 0. It is kept instead of p, so that 1-p keeps its digits.
    """

    rate: float
    discrete = True

    @property
    def ratio(self) -> float:
        """The ratio p = exp(-rate) of neighbouring probabilities."""
        return math.exp(-self.rate)

    @property
    def variance(self) -> float:
        """2p/(1-p)^2."""
        return 2 * self.ratio / math.expm1(-self.rate) ** 2

    @property
    def atom(self) -> float:
        """(1-p)/(1+p)."""
        return -math.expm1(-self.rate) / (1 + self.ratio)

    def density(self, x: ArrayLike) -> FloatArray:
        """(1-p)/(1+p) p^|n| at whole numbers, 0 elsewhere."""
        n = np.asarray(x, float)
        return np.where(n == np.rint(n), self.atom * np.exp(-self.rate * np.abs(n)), 0.0)

    def cdf(self, x: ArrayLike) -> FloatArray:
        """P(X <= x): p^-n/(1+p) below zero, 1 - p^(n+1)/(1+p) from zero on."""
        n = np.floor(np.asarray(x, float))
        tail = np.exp(-self.rate * np.where(n < 0, -n, n + 1)) / (1 + self.ratio)
        return _array(np.where(n < 0, tail, 1 - tail))

    def characteristic(self, t: ArrayLike) -> FloatArray:
        """(1-p)^2 / (1 - 2p cos t + p^2), written without cancellation."""
        gap = math.expm1(-self.rate) ** 2
        return _array(gap / (gap + 4 * self.ratio * np.sin(np.asarray(t, float) / 2) ** 2))

    def draw(self, rng: np.random.Generator, size: int | tuple[int, ...]) -> NDArray[Any]:
        """Draw for simulation: the difference of two geometric variables."""
        success = -math.expm1(-self.rate)
        return rng.geometric(success, size) - rng.geometric(success, size)


@dataclass(frozen=True)
class SkellamLaw:
    """Skellam(lambda): the difference of two Poisson(lambda); P(n) = e^(-2 lambda) I_|n|(2 lambda), variance 2 lambda.

    Parameters
    ----------
    intensity : float
        lambda, > 0.
    """

    intensity: float
    discrete = True

    @property
    def variance(self) -> float:
        """2 lambda."""
        return 2 * self.intensity

    @property
    def atom(self) -> float:
        """e^(-2 lambda) I_0(2 lambda)."""
        return float(special.ive(0, 2 * self.intensity))

    @property
    def reach(self) -> int:
        """A half-width beyond which less than TAIL lies (Bernstein: exp(-r^2/(2(variance + r/3))) each side)."""
        depth = math.log(2 / TAIL) + 5
        return math.ceil(depth / 3 + math.sqrt((depth / 3) ** 2 + 2 * depth * self.variance)) + 1

    def density(self, x: ArrayLike) -> FloatArray:
        """e^(-2 lambda) I_|n|(2 lambda) at whole numbers, 0 elsewhere."""
        n = np.asarray(x, float)
        return np.where(n == np.rint(n), special.ive(np.abs(n), 2 * self.intensity), 0.0)

    def cdf(self, x: ArrayLike) -> FloatArray:
        """P(X <= x), summed over the lattice from the far tail."""
        n = np.floor(np.asarray(x, float))
        table = np.cumsum(self.density(np.arange(-self.reach, 1)))
        below = table[np.clip(self.reach - np.abs(n).astype(int) - (n >= 0), 0, None)]
        below = np.where(np.abs(n) + (n >= 0) > self.reach, 0.0, below)
        return np.where(n < 0, below, 1 - below)

    def characteristic(self, t: ArrayLike) -> FloatArray:
        """exp(2 lambda (cos t - 1))."""
        return np.exp(-4 * self.intensity * np.sin(np.asarray(t, float) / 2) ** 2)

    def draw(self, rng: np.random.Generator, size: int | tuple[int, ...]) -> NDArray[Any]:
        """Draw for simulation."""
        return rng.poisson(self.intensity, size) - rng.poisson(self.intensity, size)


@dataclass(frozen=True)
class ZeroInflatedLaw:
    """0 with probability `zero_weight`, else a draw of `law`.

    Parameters
    ----------
    zero_weight : float
        Weight of the point mass, in [0, 1].
    law : Law
        The law of the rest.
    """

    zero_weight: float
    law: Law

    @property
    def discrete(self) -> bool:
        """Whether it lives on the integers."""
        return self.law.discrete

    @property
    def variance(self) -> float:
        """(1 - w) times the variance of the rest."""
        return (1 - self.zero_weight) * self.law.variance

    @property
    def atom(self) -> float:
        """P(X = 0) = w + (1-w) P(rest = 0)."""
        return self.zero_weight + (1 - self.zero_weight) * self.law.atom

    def density(self, x: ArrayLike) -> FloatArray:
        """P(X = n) on the integers; else the density beside the atom."""
        point = self.zero_weight * (np.asarray(x, float) == 0) if self.discrete else 0.0
        return point + (1 - self.zero_weight) * self.law.density(x)

    def cdf(self, x: ArrayLike) -> FloatArray:
        """P(X <= x)."""
        return self.zero_weight * (np.asarray(x, float) >= 0) + (1 - self.zero_weight) * self.law.cdf(x)

    def characteristic(self, t: ArrayLike) -> FloatArray:
        """E cos(t X) = w + (1-w) times that of the rest."""
        return self.zero_weight + (1 - self.zero_weight) * self.law.characteristic(t)

    def draw(self, rng: np.random.Generator, size: int | tuple[int, ...]) -> NDArray[Any]:
        """Draw for simulation."""
        drawn = self.law.draw(rng, size)
        return np.where(rng.random(size) < self.zero_weight, np.zeros((), drawn.dtype), drawn)


@dataclass(frozen=True)
class WeightedSumLaw:
    """1 X_1 + 2 X_2 + ... + D X_D with independent lattice X_j of one law.

    Parameters
    ----------
    terms : int
        D, at least 1.
    law : Law
        The law of every X_j; it lives on the integers.
    decay : float
        A rate with P(|X_j| > n) of order exp(-decay n); it sizes the table.
    """

    terms: int
    law: Law
    decay: float
    discrete = True

    @property
    def variance(self) -> float:
        """Sum of j^2 Var(X_j) over j = 1..D."""
        return self.law.variance * self.terms * (self.terms + 1) * (2 * self.terms + 1) / 6

    @property
    def atom(self) -> float:
        """P(X = 0)."""
        return float(self.table[0])

    @cached_property
    def table(self) -> FloatArray:
        """P(X = n) in the order n = 0, 1, ..., -2, -1, by the inverse Fourier transform.

        Raises
        ------
        InputError
            If the law is too wide to tabulate.
        """
        reach = self.terms * (math.log(self.terms / TAIL) + 5) / self.decay + self.terms
        size = 1 << max(10, math.ceil(math.log2(2 * reach)))
        if size > WINDOW_LIMIT:
            raise InputError(
                "The budget (epsilon)",
                f"The law of this noise spreads over {size:.1e} values, more than the {WINDOW_LIMIT} of a table; "
                "raise the budget or lower the sensitivity.",
            )
        angles = 2 * math.pi * np.fft.rfftfreq(size)
        product = np.prod([self.law.characteristic(j * angles) for j in range(1, self.terms + 1)], axis=0)
        return _array(np.maximum(np.fft.irfft(product, size), 0.0))

    def density(self, x: ArrayLike) -> FloatArray:
        """P(X = n) at whole numbers, 0 elsewhere and outside the table."""
        n = np.asarray(x, float)
        half = len(self.table) // 2
        inside = (n == np.rint(n)) & (np.abs(n) < half)
        return np.where(inside, self.table[np.where(inside, n, 0).astype(int)], 0.0)

    def cdf(self, x: ArrayLike) -> FloatArray:
        """P(X <= x)."""
        half = len(self.table) // 2
        running = np.cumsum(np.fft.fftshift(self.table))
        n = np.clip(np.floor(np.asarray(x, float)), -half, half - 1)
        return _array(np.minimum(running[(n + half).astype(int)], 1.0))

    def characteristic(self, t: ArrayLike) -> FloatArray:
        """Product of the characteristic functions at j t."""
        angles = np.asarray(t, float)
        product = np.ones_like(angles)
        for j in range(1, self.terms + 1):
            product = product * self.law.characteristic(j * angles)
        return product

    def draw(self, rng: np.random.Generator, size: int | tuple[int, ...]) -> NDArray[Any]:
        """Draw for simulation."""
        drawn = self.law.draw(rng, size)
        for j in range(2, self.terms + 1):
            drawn = drawn + j * self.law.draw(rng, size)
        return drawn
