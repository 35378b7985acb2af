"""The groups in words and numbers: their names, their table, and what to do where one is too large."""

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
import pandas as pd

from core import limits
from core.dependence import NoiseFloor, Staircase
from core.domain import GroupDomain, Records
from core.plots.graph import tidy_thresholds
from core.plots.template import sig

MODES: Final = {
    "observed": "observed combinations",
    "product": "all combinations",
    "declared": "declared",
    "factorised": "attribute by attribute",
}
"""How the states of a group are called on screen."""
_LISTED: Final = 4
"""Names that a sentence lists before it counts the rest."""


def group_label(names: Sequence[str]) -> str:
    """Return the short name of a group: its first attribute and how many others.

    Examples
    --------
    >>> group_label(["age"]), group_label(["age", "sex", "income"])
    ('age', 'age +2')
    """
    return names[0] if len(names) == 1 else f"{names[0]} +{len(names) - 1}"


def threshold_text(tau: float) -> str:
    """Return a threshold as its handle writes it, or with three significant digits where these say more.

    Examples
    --------
    >>> threshold_text(0.02), threshold_text(0.0149)
    ('0.020', '0.0149')
    """
    return f"{tau:.3f}" if round(tau, 3) == tau else sig(tau)


def table_groups(domains: Sequence[GroupDomain], names: Sequence[Sequence[str]], *, tau_dim: int) -> pd.DataFrame:
    """Return one row per group: its attributes, its states, and what follows from their number.

    Parameters
    ----------
    domains : sequence of GroupDomain
        The K groups' states.
    names : sequence of sequence of str
        Their attributes.
    tau_dim : int
        Largest domain that may be optimised.
    """
    return pd.DataFrame(
        {
            "group": [group_label(n) for n in names],
            "attributes": [", ".join(n) for n in names],
            "size": [len(n) for n in names],
            "states": [d.size if d.enumerated else d.observed for d in domains],
            "observed": [d.observed for d in domains],
            # Products beyond 2^63 fit no integer column.
            "all combinations": [f"{d.product:,}" if d.product < 10**15 else sig(float(d.product)) for d in domains],
            "states are": [MODES[d.mode] for d in domains],
            "remark": [_remark(d, tau_dim) for d in domains],
        }
    )


def _remark(domain: GroupDomain, tau_dim: int) -> str:
    if not domain.enumerated:
        return f"over {limits.ENUMERATION_LIMIT:,} states: perturbed attribute by attribute (factorised)"
    return f"over tau_dim ({tau_dim:,}): keeps the predefined noise" if domain.size > tau_dim else ""


def count_large(domains: Sequence[GroupDomain], tau_dim: int) -> int:
    """Return how many groups have more than `tau_dim` states."""
    return sum(d.size > tau_dim for d in domains)


def count_states(records: Records, members: Sequence[int], *, mode: str = "observed") -> int:
    """Return the number of states of a group without listing them: observed combinations, or the product."""
    chosen = [records.attributes[i].size for i in members]
    if mode != "observed":
        return math.prod(chosen)
    key = np.zeros(len(records), dtype=np.int64)
    for i, size in zip(members, chosen, strict=True):
        key = np.asarray(pd.factorize(key * size + records.codes[:, i])[0], dtype=np.int64)
    return int(key.max(initial=-1)) + 1


def smallest_affordable(
    records: Records, staircase: Staircase, *, tau: float, limit: int, mode: str = "observed"
) -> float | None:
    """Return the first threshold from tau on at which no group has more than `limit` states, None where there is none.

    Looked at are tau and the short decimals just above the staircase's steps.

    Parameters
    ----------
    records : Records
        The coded table.
    staircase : Staircase
        The groups at every threshold.
    tau : float
        Where to start; it is returned itself if it already fits.
    limit : int
        Largest number of states allowed.
    mode : str
        As `GroupDomain.mode`.
    """
    known: dict[tuple[int, ...], bool] = {}
    steps: list[float] = [tau, *(t for t in tidy_thresholds(staircase) if t > tau)]
    for step in steps:
        for members in staircase.groups(step):
            if members not in known:
                known[members] = len(members) == 1 or count_states(records, members, mode=mode) <= limit
        if all(known[members] for members in staircase.groups(step)):
            return step
    return None


def explain_groups(
    domains: Sequence[GroupDomain],
    names: Sequence[Sequence[str]],
    *,
    tau: float,
    floor: NoiseFloor | None = None,
    remedy: tuple[int, float | None] | None = None,
) -> str:
    """Return what the groups mean in two sentences.

    Parameters
    ----------
    domains : sequence of GroupDomain
        The K groups' states.
    names : sequence of sequence of str
        Their attributes.
    tau : float
        The grouping threshold.
    floor : NoiseFloor or None
        What chance alone shows.
    remedy : (tau_dim, threshold) or None
        The largest domain that may be optimised and the threshold at which all groups fit, if some does not.
    """
    count = sum(len(n) for n in names)
    plural = "s" if len(names) > 1 else ""
    first = f"At a threshold of **{threshold_text(tau)}** the {count} attributes form **{len(names)} group{plural}**."
    large = [(d, n) for d, n in zip(domains, names, strict=True) if remedy and d.size > remedy[0] and len(n) > 1]
    if large and remedy:
        return f"{first} {_too_large(large, *remedy)}"
    biggest = max(names, key=len)
    if floor is not None and tau < floor.maximum and len(biggest) > 1:
        return (
            f"{first} The threshold is below the **noise floor ({sig(floor.maximum)})**: some links may be chance; "
            "raise it above the floor, or correct for chance."
        )
    if len(biggest) == 1:
        return f"{first} Nothing is tied together: every attribute is perturbed alone."
    alone = sum(len(n) == 1 for n in names)
    rest = "none stands alone" if not alone else f"{alone} stand{'s' if alone == 1 else ''} alone"
    return f"{first} The largest ties {len(biggest)} attributes together, **{_listed(biggest)}**; {rest}."


def _too_large(large: Sequence[tuple[GroupDomain, Sequence[str]]], tau_dim: int, step: float | None) -> str:
    domain, names = max(large, key=lambda pair: pair[0].size)
    fact = f"has **{domain.size:,} states**, over tau_dim ({tau_dim:,}), and keeps the predefined noise"
    if not domain.enumerated:
        fact = f"has too many states to list (**{domain.observed:,} observed**) and is perturbed attribute by attribute"
    others = f" ({len(large) - 1} more too)" if len(large) > 1 else ""
    raised = "" if step is None else f"raise the threshold to **{threshold_text(step)}** or "
    return f"**{group_label(names)}** {fact}{others}; to optimise it, {raised}use fewer bins."


def _listed(names: Sequence[str]) -> str:
    if len(names) <= _LISTED + 1:
        return ", ".join(names)
    return f"{', '.join(names[:_LISTED])} and {len(names) - _LISTED} more"
