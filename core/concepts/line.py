"""EM, geometric noise, remapping and the optimal channel on a line of seven states."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from core.adequacy import adequacy_score
from core.channel import Channel
from core.concepts.settings import STATES
from core.mechanisms import Problem, build_channel
from core.mechanisms.constant import zero_information_loss
from core.mechanisms.remap import best_guesses

NAMES: Final = {
    "EM": "EM",
    "EM remapped": "EM, remapped",
    "geometric": "Geometric",
    "geometric remapped": "Geometric, remapped",
    "OPT": "OPT",
}
"""Compared mechanisms and what they are called."""
COMMON: Final = 2
"""The state that a peaked prior favours; off the middle, so that the best constant moves."""
_DECAY: Final = 3.0
"""At peak 1 every further step from the common state is exp(3) times rarer."""
PARITY_LOSS: Final = 3.0
"""Loss of confusing even and odd: half the length of the line."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LineComparison:
    """What every mechanism loses on the line.

    Parameters
    ----------
    epsilon, peak, mismatch : float
        Budget per step, how peaked the prior is, how little the loss follows distance.
    problem : Problem
        Metric, prior and loss.
    channels : dict of str to Channel
        Certified channels by their key in `NAMES`.
    zero_information : float
        Loss of the best constant.
    score : float
        How well distance alone explains the loss (radial fit).
    """

    epsilon: float
    peak: float
    mismatch: float
    problem: Problem
    channels: dict[str, Channel]
    zero_information: float
    score: float

    def loss(self, name: str) -> float:
        """Return the expected loss of a mechanism."""
        return self.channels[name].expected_loss

    @property
    def best_noise(self) -> str:
        """The noise that loses least, remapped or not."""
        return min((name for name in NAMES if name != "OPT"), key=lambda name: round(self.loss(name), 9))

    @property
    def saving(self) -> float:
        """Share of the best noise's loss that OPT saves; 0 within its certified gap."""
        best, optimum = self.loss(self.best_noise), self.channels["OPT"]
        gap = optimum.expected_loss - optimum.lower_bound
        saved = best - optimum.expected_loss
        return saved / best if best > 0 and saved > gap + 1e-9 else 0.0


@dataclass(frozen=True, eq=False)
class Remapping:
    """Noise before and after its outputs are replaced by the best guesses.

    Parameters
    ----------
    before, after : Channel
        The channels; the second is a post-processing of the first.
    guesses : tuple of int
        What is released in place of every output.
    problem : Problem
        Metric, prior and loss.
    zero_information : float
        Loss of the best constant.
    """

    before: Channel
    after: Channel
    guesses: tuple[int, ...]
    problem: Problem
    zero_information: float

    @property
    def moved(self) -> int:
        """How many outputs are replaced by another one."""
        return sum(guess != output for output, guess in enumerate(self.guesses))


def line_problem(peak: float, mismatch: float) -> Problem:
    """Return the line of seven: prior exp(-3 peak |x - 2|), loss (1 - mismatch) |x - y| + mismatch 3 [x - y odd].

    Parameters
    ----------
    peak : float
        0 is a uniform prior, 1 nearly always the common state.
    mismatch : float
        0 loses the distance, 1 loses only where even and odd are confused.
    """
    states = np.arange(STATES)
    steps = np.abs(states[:, None] - states)
    prior = np.exp(-_DECAY * peak * np.abs(states - COMMON))
    loss = (1 - mismatch) * steps + mismatch * PARITY_LOSS * (steps % 2)
    return Problem(steps.astype(np.float64), prior / prior.sum(), loss)


@lru_cache(maxsize=128)
def compare_line(epsilon: float, peak: float, mismatch: float) -> LineComparison:
    """Build and certify every mechanism on the line of seven.

    Parameters
    ----------
    epsilon : float
        Budget per step.
    peak, mismatch : float
        As for `line_problem`.
    """
    problem = line_problem(peak, mismatch)
    channels = {
        "EM": build_channel("EM", problem, epsilon),
        "EM remapped": build_channel("EM", problem, epsilon, remap="task"),
        "geometric": build_channel("line noise", problem, epsilon),
        "geometric remapped": build_channel("line noise", problem, epsilon, remap="task"),
        "OPT": build_channel("OPT", problem, epsilon),
    }
    zero = zero_information_loss(problem.prior, problem.loss)
    score = adequacy_score("radial", problem.distance, problem.loss)
    return LineComparison(epsilon, peak, mismatch, problem, channels, zero, score)


@lru_cache(maxsize=128)
def remap_line(noise: str, epsilon: float, peak: float, mismatch: float) -> Remapping:
    """Remap one noise on the line of seven.

    Parameters
    ----------
    noise : {'EM', 'line noise'}
        The noise.
    epsilon, peak, mismatch : float
        As for `compare_line`.
    """
    problem = line_problem(peak, mismatch)
    before = build_channel(noise, problem, epsilon)
    after = build_channel(noise, problem, epsilon, remap="task")
    guesses = best_guesses(before.matrix, problem.prior, problem.loss)
    zero = zero_information_loss(problem.prior, problem.loss)
    return Remapping(before, after, tuple(int(z) for z in guesses), problem, zero)
