"""Two points and a mechanism: how much more likely one of them makes an output, against what the budget allows."""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from core.certificate import certify
from core.concepts.settings import POINTS, Settings
from core.mechanisms import Problem, build_channel

_WINDOW: Final = 1

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class TwoPoints:
    """The laws of two true points under one mechanism.

    Parameters
    ----------
    settings : Settings
        What was asked for.
    weights : ndarray of int64 (n, n)
        The mechanism's integers, one row per true place.
    certified_epsilon : float
        Smallest epsilon per step that the integers satisfy; infinite where they satisfy none.
    """

    settings: Settings
    weights: NDArray[np.int64]
    certified_epsilon: float

    @property
    def distance(self) -> int:
        """Steps between A and B."""
        return abs(self.settings.first_point - self.settings.second_point)

    @property
    def exponent(self) -> float:
        """Return epsilon times distance."""
        return self.settings.point_epsilon * self.distance

    @property
    def bound(self) -> float:
        """exp(epsilon d), the largest allowed likelihood ratio."""
        return math.exp(self.exponent)

    def law(self, place: int) -> Floats:
        """Return the probability of every output when the truth is `place`."""
        row: Floats = self.weights[place] / float(self.weights[place].sum())
        return row

    @property
    def ratios(self) -> Floats:
        """P(y | A) / P(y | B) for every output y; infinite over zero, nan where neither leads there."""
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio: Floats = self.law(self.settings.first_point) / self.law(self.settings.second_point)
        return ratio

    @property
    def pair_epsilon(self) -> float:
        """Smallest epsilon that this pair satisfies, from its integers."""
        pair = [self.settings.first_point, self.settings.second_point]
        distance = np.array([[0.0, self.distance], [self.distance, 0.0]])
        return certify(self.weights[pair], distance)

    @property
    def keeps(self) -> bool:
        """Whether the pair keeps the budget."""
        return self.pair_epsilon <= self.settings.point_epsilon

    @property
    def telling(self) -> int:
        """The output that tells A and B apart most (the lowest of several)."""
        with np.errstate(divide="ignore"):
            size = np.abs(np.log(self.ratios))
        return int(np.nanargmax(np.round(size, 12)))

    @property
    def worst_ratio(self) -> float:
        """The likelihood ratio at `telling`, turned so that it is at least 1."""
        ratio = float(self.ratios[self.telling])
        return ratio if ratio >= 1 else math.inf if ratio == 0 else 1 / ratio


def compare_points(settings: Settings) -> TwoPoints:
    """Return the laws of the two points under the chosen mechanism on the places 0 to 10."""
    weights, certified = _build(settings.noise, settings.point_epsilon)
    return TwoPoints(settings, weights, certified)


@lru_cache(maxsize=256)
def _build(noise: str, epsilon: float) -> tuple[NDArray[np.int64], float]:
    places = np.arange(POINTS)
    distance = np.abs(places[:, None] - places).astype(np.float64)
    if noise == "window":
        weights = _window(POINTS)
        return weights, certify(weights, distance)
    channel = build_channel(noise, Problem(distance, np.full(POINTS, 1 / POINTS), distance), epsilon)
    return channel.weights, channel.certified_epsilon


def _window(size: int) -> NDArray[np.int64]:
    """Return the mechanism that moves by at most one step, all moves alike, and stays at the ends."""
    weights = np.zeros((size, size), dtype=np.int64)
    for place in range(size):
        for move in range(-_WINDOW, _WINDOW + 1):
            weights[place, min(max(place + move, 0), size - 1)] += 1
    return weights
