"""Two tiers with two dice: a yes or no, kept or turned round, once for each recipient."""

import math
from dataclasses import dataclass
from fractions import Fraction

from core.concepts.settings import FACES

Law = dict[tuple[bool, bool], Fraction]
"""Probability of every pair of answers (first recipient's, second recipient's)."""


@dataclass(frozen=True)
class TwoDice:
    """What two recipients learn, alone and together, in exact fractions.

    Parameters
    ----------
    first_faces, second_faces : int
        On how many faces of six a die keeps the answer; the other faces turn it round.
    """

    first_faces: int
    second_faces: int

    @property
    def first_keep(self) -> Fraction:
        """Probability that the first recipient's answer is true."""
        return Fraction(self.first_faces, FACES)

    @property
    def second_keep(self) -> Fraction:
        """Probability that the second recipient's answer is true: kept twice or turned round twice."""
        again = Fraction(self.second_faces, FACES)
        return self.first_keep * again + (1 - self.first_keep) * (1 - again)

    def chained(self, truth: bool) -> Law:
        """Return the law where the second die is thrown on the first answer."""
        again = Fraction(self.second_faces, FACES)
        return {(a, b): _keep(self.first_keep, a == truth) * _keep(again, b == a) for a, b in _answers()}

    def apart(self, truth: bool) -> Law:
        """Return the law where the second recipient's answer, as accurate, is drawn afresh from the truth."""
        return {(a, b): _keep(self.first_keep, a == truth) * _keep(self.second_keep, b == truth) for a, b in _answers()}

    @property
    def first_odds(self) -> Fraction:
        """Likelihood ratio of the first answer."""
        return self.first_keep / (1 - self.first_keep)

    @property
    def second_odds(self) -> Fraction:
        """Likelihood ratio of the second answer."""
        return self.second_keep / (1 - self.second_keep)

    @property
    def chained_odds(self) -> Fraction:
        """Largest likelihood ratio of both answers together when the dice are chained."""
        return _worst(self.chained(True), self.chained(False))

    @property
    def apart_odds(self) -> Fraction:
        """Largest likelihood ratio of both answers together when both are drawn from the truth."""
        return _worst(self.apart(True), self.apart(False))


def throw_dice(first_faces: int, second_faces: int) -> TwoDice:
    """Return what two chained dice give away; an odds of r : 1 is an epsilon of ln r.

    Parameters
    ----------
    first_faces, second_faces : int
        Faces that keep the answer, 4 or 5 of 6: three would say nothing, six would hide nothing.

    Examples
    --------
    >>> dice = throw_dice(5, 4)
    >>> str(dice.first_odds), str(dice.second_odds), str(dice.chained_odds), str(dice.apart_odds)
    ('5', '11/7', '5', '55/7')
    """
    return TwoDice(first_faces, second_faces)


def epsilon_of(odds: Fraction) -> float:
    """Return the epsilon of a likelihood ratio, ln(odds)."""
    return math.log(odds)


def _answers() -> list[tuple[bool, bool]]:
    return [(a, b) for a in (True, False) for b in (True, False)]


def _keep(probability: Fraction, kept: bool) -> Fraction:
    return probability if kept else 1 - probability


def _worst(law: Law, other: Law) -> Fraction:
    return max(max(law[pair] / other[pair], other[pair] / law[pair]) for pair in law)
