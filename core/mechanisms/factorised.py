"""The fallback for a group too large to enumerate: each attribute perturbed on its own."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from core.channel import Channel, draw_outputs, merge_outputs
from core.domain import Attribute
from core.errors import InputError
from core.mechanisms import NOISES, Problem, build_channel
from core.mechanisms.remap import best_guesses
from core.metric import dual_norm, group_distance, uniform_split


@dataclass(frozen=True, eq=False)
class FactorisedChannel:
    """A product of certified channels, one per attribute of the group; it releases the full product of levels.

    Parameters
    ----------
    parts : tuple of Channel
        Channel of each attribute for its distances w^(1/p) d_l.
    distances : tuple of ndarray
        Those distances, never above the exact ones.
    p : float
        Exponent of the group's metric.
    epsilon : float
        Declared budget of the group for d_p.
    mechanism : str
        Name, for example "factorised calibrated EM".
    """

    parts: tuple[Channel, ...]
    distances: tuple[NDArray[np.float64], ...]
    p: float
    epsilon: float
    mechanism: str

    @property
    def certified_epsilon(self) -> float:
        """Return ||certified epsilons of the parts||_q, 1/p + 1/q = 1, rounded up (paper, Theorem 1)."""
        return dual_norm([part.certified_epsilon for part in self.parts], self.p)

    def draw(self, codes: NDArray[np.integer], rng: np.random.Generator) -> NDArray[np.int32]:
        """Draw released codes for a simulation.

        Parameters
        ----------
        codes : ndarray of int (N, L)
            True level of every record and attribute of the group.
        rng : numpy.random.Generator
            Source of the draws.

        Returns
        -------
        ndarray of int32 (N, L)
            Released levels.
        """
        released = np.empty(codes.shape, dtype=np.int32)
        for i, part in enumerate(self.parts):
            released[:, i] = draw_outputs(part, codes[:, i], rng)
        return released


def factorised_mechanism(
    attributes: Sequence[Attribute],
    priors: Sequence[NDArray[np.float64]],
    p: float,
    epsilon: float,
    *,
    family: str,
) -> FactorisedChannel:
    """Return the product of per-attribute noise within a group at a total budget.

    Every attribute receives epsilon / L^(1/q), which Theorem 1 composes to epsilon for d_p. Any product, however
    large, is served at the cost of its attributes.

    Parameters
    ----------
    attributes : sequence of L Attribute
        The group's attributes.
    priors : sequence of L ndarray (m_l,)
        Marginal priors of their levels.
    p : float
        Exponent of the group's metric, 1 <= p <= inf.
    epsilon : float
        Budget of the group.
    family : {'EM', 'calibrated EM', 'line noise'}
        Noise per attribute; where an attribute is not a line, calibrated EM stands in for line noise.

    Raises
    ------
    InputError
        If the family is unknown, or the group is empty.
    """
    if family not in NOISES:
        raise InputError("noise", f"The noise of a large group must be one of {', '.join(NOISES)}, not {family!r:.60}.")
    share = uniform_split(epsilon, len(attributes), p)
    distances = tuple(group_distance(np.arange(a.size, dtype=np.int32)[:, None], (a,), p) for a in attributes)
    parts = tuple(
        build_channel(family, Problem(d, prior, d), share) for d, prior in zip(distances, priors, strict=True)
    )
    return FactorisedChannel(parts, distances, p, epsilon, f"factorised {family}")


def remap_factorised(
    channel: FactorisedChannel,
    priors: Sequence[NDArray[np.float64]],
    losses: Sequence[NDArray[np.float64]] | None = None,
) -> FactorisedChannel:
    """Return the product with every attribute remapped to its best guess under its marginal prior.

    Parameters
    ----------
    channel : FactorisedChannel
        The product.
    priors : sequence of ndarray (m_l,)
        Marginal priors.
    losses : sequence of ndarray (m_l, m_l) or None
        Loss per attribute, for example of an additive task; None takes the distances.
    """
    chosen = channel.distances if losses is None else tuple(losses)
    parts = []
    for part, distance, prior, loss in zip(channel.parts, channel.distances, priors, chosen, strict=True):
        guesses = best_guesses(part.matrix, prior, loss)
        costs = prior[:, None] * loss
        parts.append(merge_outputs(part, guesses, distance, costs, mechanism=f"{part.mechanism}, remapped"))
    return replace(channel, parts=tuple(parts), mechanism=f"{channel.mechanism}, remapped")
