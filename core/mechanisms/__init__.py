"""Mechanisms: predefined noise, remapping, the optimised channel, and the fallback for huge groups."""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from core import limits
from core.channel import Channel, exact_channel, merge_outputs
from core.errors import InputError
from core.mechanisms.constant import constant_mechanism, zero_information_loss
from core.mechanisms.exponential import calibrated_exponential, exponential_mechanism
from core.mechanisms.geometric import line_noise, line_order
from core.mechanisms.remap import best_guesses

NOISES: Final = ("EM", "calibrated EM", "line noise")
"""Predefined noise, which may be remapped."""
MECHANISMS: Final = (*NOISES, "constant", "OPT")
"""Names that `build_channel` knows."""
REMAPS: Final = ("none", "distance", "task")
"""What Bayesian remapping minimises."""
_BOUND_MARGIN: Final = 2.0**-50
"""Relative rounding of a sum of products, taken off a lower bound; such sums use fused or pairwise additions."""


@dataclass(frozen=True, eq=False)
class Problem:
    """What a mechanism on one enumerated domain is built from.

    Parameters
    ----------
    distance : ndarray (n, n)
        Metric between states.
    prior : ndarray (n,)
        Prior of the true states.
    loss : ndarray (n, n)
        Task loss of releasing y when the truth is x.
    metric_loss : ndarray (n, n) or None
        Loss that distance remapping minimises; None takes the metric itself.
    """

    distance: NDArray[np.float64]
    prior: NDArray[np.float64]
    loss: NDArray[np.float64]
    metric_loss: NDArray[np.float64] | None = None

    @property
    def loss_weights(self) -> NDArray[np.float64]:
        """Return prior[x] * loss[x, y]."""
        return self.prior[:, None] * self.loss


def build_channel(name: str, problem: Problem, epsilon: float, *, remap: str = "none") -> Channel:
    """Return a mechanism of the given name as a certified integer channel.

    Parameters
    ----------
    name : {'EM', 'calibrated EM', 'line noise', 'constant', 'OPT'}
        The mechanism; where the metric is not a line, calibrated EM stands in for line noise, and the channel's
        `mechanism` says so.
    problem : Problem
        Metric, prior and loss.
    epsilon : float
        Budget, at least 0.
    remap : {'none', 'distance', 'task'}
        Bayesian remapping of predefined noise; OPT and the constant gain nothing from it and stay as they are.

    Returns
    -------
    Channel
        `mechanism` is the exact name, for example "EM, remapped (distance)".

    Raises
    ------
    InputError
        If a name is unknown.
    """
    if name not in MECHANISMS:
        raise InputError("noise", f"The mechanism must be one of {', '.join(MECHANISMS)}, not {name!r:.60}.")
    if remap not in REMAPS:
        raise InputError("remap", f"The remapping must be one of {', '.join(REMAPS)}, not {remap!r:.60}.")
    if name == "OPT":
        return _optimal(problem, epsilon)
    if name == "constant":
        return _constant(problem, epsilon, name)
    name, matrix = _noise(name, problem.distance, epsilon)
    channel = exact_channel(matrix, problem.distance, epsilon, problem.loss_weights, mechanism=name, inside=True)
    return channel if remap == "none" else remap_channel(channel, problem, remap)


def _noise(name: str, distance: NDArray[np.float64], epsilon: float) -> tuple[str, NDArray[np.float64]]:
    if name == "EM":
        return name, exponential_mechanism(distance, epsilon)
    if name == "line noise" and line_order(distance) is not None:
        return name, line_noise(distance, epsilon)
    return "calibrated EM", calibrated_exponential(distance, epsilon)


def remap_channel(channel: Channel, problem: Problem, remap: str) -> Channel:
    """Return a channel with every output replaced by its Bayesian best guess.

    Outputs are merged on the integers, so the remapped loss is never above the plain one by rounding.

    Parameters
    ----------
    channel : Channel
        Its outputs are the states of the problem.
    problem : Problem
        Prior, metric and loss.
    remap : {'distance', 'task'}
        What the guess minimises.
    """
    metric_loss = problem.distance if problem.metric_loss is None else problem.metric_loss
    loss = problem.loss if remap == "task" else metric_loss
    guesses = best_guesses(channel.matrix, problem.prior, loss)
    mechanism = f"{channel.mechanism}, remapped ({remap})"
    return merge_outputs(channel, guesses, problem.distance, problem.loss_weights, mechanism=mechanism)


def _constant(problem: Problem, epsilon: float, name: str) -> Channel:
    matrix = constant_mechanism(problem.prior, problem.loss)
    return exact_channel(matrix, problem.distance, epsilon, problem.loss_weights, mechanism=name)


def _optimal(problem: Problem, epsilon: float) -> Channel:
    """Solve; below the least budget of the solver the constant is the answer, proven optimal at 0."""
    if not 0 <= epsilon < limits.EPSILON.low:
        # Imported here because the solver is heavy and noise needs none of it.
        from core.mechanisms.optimal import solve_optimal_channel  # noqa: PLC0415

        return solve_optimal_channel(problem.distance, problem.prior, problem.loss, epsilon)
    matrix = constant_mechanism(problem.prior, problem.loss)
    bound = zero_information_loss(problem.prior, problem.loss) * (1 - _BOUND_MARGIN) if epsilon == 0 else 0.0
    return exact_channel(matrix, problem.distance, epsilon, problem.loss_weights, mechanism="OPT", lower_bound=bound)
