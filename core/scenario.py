"""Every knob of a run as one frozen, hashable, JSON-able record."""

import dataclasses
import hashlib
import itertools
import json
import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final, Self

from core import limits
from core.errors import InputError

FORMAT: Final = 1
"""Version of the JSON form."""
DISTANCE_LIMIT: Final = 1e12
"""Largest entry of an own distance matrix: sums and powers of such stay numbers."""
CHOICES: Final[Mapping[str, tuple[str, ...]]] = {
    "task": ("frequency", "crowdsourcing", "entropy", "mean", "prediction"),
    "domain": ("observed", "product", "declared"),
    "score": ("radial", "mse"),
    "rule": ("score", "regret", "OPT", "DPN", "tuned"),
    "noise": ("EM", "calibrated EM", "line noise"),
    "remap": ("none", "distance", "task"),
    "allocation": ("optimal", "uniform"),
    "kind": ("nominal", "ordinal", "numeric"),
    "binning": ("width", "quantile", "edges"),
    "missing": ("level", "drop"),
}
"""Allowed words per knob, in the order in which a picker shows them."""


def _check_word(name: str, value: object) -> None:
    if value not in CHOICES[name]:
        raise InputError(name, f"{name} must be one of {', '.join(CHOICES[name])}, not {value!r:.60}.")


@dataclass(frozen=True)
class AttributeSpec:
    """What a person decided about one column; None leaves the inferred value.

    Parameters
    ----------
    column : int
        Position in the table, from 0.
    include : bool or None
        Whether the column takes part.
    kind : {'nominal', 'ordinal', 'numeric'} or None
        How its values are compared.
    bins : int or None
        Number of bins of a numeric column.
    binning : {'width', 'quantile', 'edges'} or None
        How the bins are cut; 'edges' uses `edges`.
    edges : tuple of float or None
        Own edges, increasing; the first and last are the bounds.
    low, high : float or None
        Declared bounds; None takes them from the fitting data.
    levels : tuple of str or None
        Declared levels; for an ordinal column they are in order.
    weight : float
        Weight w of the component in the record metric.
    missing : {'level', 'drop'} or None
        Missing values become a level of their own, or their rows are dropped.
    distance : tuple of tuple of float or None
        Own distance matrix of a nominal column, in the order of `levels`.
    """

    column: int
    include: bool | None = None
    kind: str | None = None
    bins: int | None = None
    binning: str | None = None
    edges: tuple[float, ...] | None = None
    low: float | None = None
    high: float | None = None
    levels: tuple[str, ...] | None = None
    weight: float = 1.0
    missing: str | None = None
    distance: tuple[tuple[float, ...], ...] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.column, int) or isinstance(self.column, bool) or self.column < 0:
            raise InputError("column", f"column must be a position from 0, not {self.column!r:.60}.")
        for name in ("kind", "binning", "missing"):
            if getattr(self, name) is not None:
                _check_word(name, getattr(self, name))
        if self.include is not None and not isinstance(self.include, bool):
            raise InputError("include", f"include must be true or false, not {self.include!r:.60}.")
        limits.WEIGHT.check(self.weight)
        if self.bins is not None:
            limits.BINS.check(self.bins)
        for name in ("low", "high"):
            value = getattr(self, name)
            if value is not None and not _is_finite(value):
                raise InputError(name, f"The {name} bound must be a finite number, not {value!r:.60}.")
        if self.low is not None and self.high is not None and not self.low < self.high:
            raise InputError("low", f"The low bound must be below the high one, not {self.low:g} and {self.high:g}.")
        self._check_sequences()

    def _check_sequences(self) -> None:
        if self.edges is not None:
            edges = self.edges
            good = isinstance(edges, tuple) and len(edges) >= 2 and all(_is_finite(e) for e in edges)
            if not good or any(a >= b for a, b in itertools.pairwise(edges)):
                raise InputError("edges", "Bin edges must be at least two finite, increasing numbers.")
        if self.levels is not None:
            good = isinstance(self.levels, tuple) and all(isinstance(v, str) for v in self.levels)
            if not good or len(set(self.levels)) != len(self.levels) or not self.levels:
                raise InputError("levels", "Declared levels must be different texts, at least one.")
        if self.distance is not None:
            good = isinstance(self.distance, tuple) and all(
                isinstance(row, tuple) and len(row) == len(self.distance) and all(_is_distance(v) for v in row)
                for row in self.distance
            )
            if not good:
                raise InputError(
                    "distance", f"An own distance matrix must be a square table of numbers up to {DISTANCE_LIMIT:g}."
                )


@dataclass(frozen=True)
class Scenario:
    """Every knob of a run: the design is a pure function of a table and a scenario.

    Parameters
    ----------
    epsilon : float
        Total privacy budget per unit of record distance; smaller is more private.
    p : float
        Exponent of the record metric d_p, 1 <= p <= inf.
    task : str
        The task whose loss is minimised.
    target : int or None
        Column whose mean orders the votes of the crowdsourcing task, or that the prediction task predicts.
    attributes : tuple of AttributeSpec
        What a person decided per column; columns not named are inferred.
    domain : {'observed', 'product', 'declared'}
        Where a group's states come from.
    tau_group : float
        Attributes are linked where NMI > tau_group.
    corrected_nmi : bool
        Use NMI adjusted for chance instead of the plain one.
    score : {'radial', 'mse'}
        Adequacy score: radial-fit or MSE-likeness.
    tau_dim : int
        Largest domain that may be optimised.
    tau_dpn : float or None
        Largest score that is optimised; None takes the task's own.
    rule : {'score', 'regret', 'OPT', 'DPN', 'tuned'}
        How each group chooses; 'regret' optimises where OPT saves more than `tau_regret`, 'OPT' and 'DPN' force one,
        'tuned' takes the least predicted loss over all mechanisms.
    tau_regret : float
        Threshold of the regret rule, a fraction of the noise's loss.
    noise : {'EM', 'calibrated EM', 'line noise'}
        The predefined noise of DPN groups; where line noise does not apply, calibrated EM stands in.
    remap : {'none', 'distance', 'task'}
        Bayesian remapping of DPN groups.
    allocation : {'optimal', 'uniform'}
        Allocation of the budget by Theorem 1 or by an equal split.
    refine : bool
        Build further budgets around the allocation until the loss is within 1 % of the best one's bound.
    contexts : int
        Contexts sampled per cell where a group loss is not computed exhaustively.
    seed : int
        Seed of everything sampled while designing.
    """

    epsilon: float = limits.EPSILON.default
    p: float = limits.METRIC_EXPONENT.default
    task: str = "frequency"
    target: int | None = None
    attributes: tuple[AttributeSpec, ...] = field(default=())
    domain: str = "observed"
    tau_group: float = limits.TAU_GROUP.default
    corrected_nmi: bool = False
    score: str = "radial"
    tau_dim: int = int(limits.TAU_DIM.default)
    tau_dpn: float | None = None
    rule: str = "score"
    tau_regret: float = limits.TAU_REGRET.default
    noise: str = "EM"
    remap: str = "none"
    allocation: str = "optimal"
    refine: bool = True
    contexts: int = int(limits.CONTEXTS.default)
    seed: int = 0

    def __post_init__(self) -> None:
        limits.EPSILON.check(self.epsilon)
        limits.METRIC_EXPONENT.check(self.p)
        limits.TAU_GROUP.check(self.tau_group)
        limits.TAU_DIM.check(self.tau_dim)
        limits.TAU_REGRET.check(self.tau_regret)
        limits.CONTEXTS.check(self.contexts)
        limits.SEED.check(self.seed)
        if self.tau_dpn is not None:
            limits.TAU_DPN.check(self.tau_dpn)
        for name in ("task", "domain", "score", "rule", "noise", "remap", "allocation"):
            _check_word(name, getattr(self, name))
        for name in ("corrected_nmi", "refine"):
            if not isinstance(getattr(self, name), bool):
                raise InputError(name, f"{name} must be true or false, not {getattr(self, name)!r:.60}.")
        if self.target is not None and (
            not isinstance(self.target, int) or isinstance(self.target, bool) or self.target < 0
        ):
            raise InputError("target", f"target must be a column's position from 0, not {self.target!r:.60}.")
        good = isinstance(self.attributes, tuple) and all(isinstance(a, AttributeSpec) for a in self.attributes)
        if not good or len({a.column for a in self.attributes}) != len(self.attributes):
            raise InputError("attributes", "Every column may be described at most once in the scenario's attributes.")

    def replace(self, **changes: Any) -> Self:
        """Return a copy with some knobs changed; an unknown knob is an `InputError`."""
        unknown = sorted(set(changes) - {f.name for f in fields(self)})
        if unknown:
            raise InputError(unknown[0], f"A scenario has no knob called {unknown[0]!r:.60}.")
        return dataclasses.replace(self, **changes)

    def spec(self, column: int) -> AttributeSpec:
        """Return what was decided about a column, all None if nothing was."""
        return next((a for a in self.attributes if a.column == column), AttributeSpec(column))

    def with_spec(self, spec: AttributeSpec) -> Self:
        """Return a copy in which `spec` replaces what was decided about its column."""
        others = tuple(a for a in self.attributes if a.column != spec.column)
        return self.replace(attributes=tuple(sorted((*others, spec), key=lambda a: a.column)))

    def to_json(self) -> str:
        """Return the scenario as JSON text; infinity is written "inf", default values are written too."""
        record = {"format": FORMAT, **dataclasses.asdict(self)}
        record["p"] = "inf" if math.isinf(self.p) else self.p
        empty = dataclasses.asdict(AttributeSpec(0))
        record["attributes"] = [
            {k: v for k, v in dataclasses.asdict(a).items() if k == "column" or v != empty[k]} for a in self.attributes
        ]
        return json.dumps(record, indent=2, allow_nan=False)

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Read what `to_json` wrote.

        Raises
        ------
        InputError
            If the text is not JSON, is of another version, has unknown knobs or values out of range.
        """
        try:
            record = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise InputError(
                "scenario", "The scenario file is not readable JSON; save it again from the app."
            ) from error
        if not isinstance(record, dict):
            raise InputError("scenario", "The scenario file must hold one JSON object; save it again from the app.")
        version = record.pop("format", FORMAT)
        if version != FORMAT:
            raise InputError(
                "format", f"The scenario file is of version {version!r:.20}; this program reads version {FORMAT}."
            )
        if record.get("p") == "inf":
            record["p"] = math.inf
        raw = record.pop("attributes", [])
        if not isinstance(raw, list):
            raise InputError("attributes", "The scenario's attributes must be a list.")
        record["attributes"] = tuple(_read_spec(item) for item in raw)
        return cls().replace(**record)

    def digest(self, *names: str) -> str:
        """Return a short hash of the named knobs (all if none is named), for use as a cache key."""
        chosen = {f.name: repr(getattr(self, f.name)) for f in fields(self) if not names or f.name in names}
        return hashlib.sha256(json.dumps(chosen, sort_keys=True).encode()).hexdigest()[:16]


def _read_spec(item: object) -> AttributeSpec:
    known = {f.name for f in fields(AttributeSpec)}
    if not isinstance(item, dict) or "column" not in item:
        raise InputError("attributes", "Every attribute of a scenario must be an object with a column position.")
    unknown = sorted(set(item) - known)
    if unknown:
        raise InputError(unknown[0], f"An attribute of a scenario has no entry called {unknown[0]!r:.60}.")
    values = dict(item)
    for name in ("edges", "levels"):
        if isinstance(values.get(name), list):
            values[name] = tuple(values[name])
    if isinstance(values.get("distance"), list):
        values["distance"] = tuple(tuple(r) if isinstance(r, list) else r for r in values["distance"])
    return AttributeSpec(**values)


def _is_distance(value: object) -> bool:
    return _is_finite(value) and abs(value) <= DISTANCE_LIMIT  # type: ignore[arg-type]


def _is_finite(value: object) -> bool:
    """Tell whether a value is a number that a float holds; a whole number in a file may have any length."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max
