"""Small records and domains built by hand, and slow but obvious reference computations on them."""

import numpy as np

from core.domain import Attribute, GroupDomain, Records

NAMES = ("frequency", "crowdsourcing", "entropy", "mean")


def nominal(name, size, column=0):
    levels = tuple(f"{name}{i}" for i in range(size))
    return Attribute(name, column, "nominal", levels, None, None, 1.0 - np.eye(size))


def numeric(name, size, column=0, *, weight=1.0, missing=False):
    """Levels 0..size-1 in equal steps over the span; with `missing`, one more level at distance 1."""
    values = np.arange(size, dtype=float)
    distance = np.abs(values[:, None] - values) / max(size - 1, 1)
    levels = tuple(str(i) for i in range(size))
    if missing:
        distance = np.pad(distance, (0, 1), constant_values=1.0)
        distance[-1, -1] = 0.0
        values, levels = np.append(values, np.nan), (*levels, "missing")
    return Attribute(name, column, "numeric", levels, values, None, distance, weight, missing)


def make_records(codes, attributes=None, target=None):
    codes = np.asarray(codes, dtype=np.int32)
    if attributes is None:
        attributes = tuple(nominal(f"a{i}", int(codes[:, i].max()) + 1, i) for i in range(codes.shape[1]))
    return Records(
        tuple(attributes), codes, np.arange(len(codes)), None if target is None else np.asarray(target, float)
    )


def make_domain(records, members, *, states=None, p=2.0):
    """Observed states (or the given ones, for records that all are states), distances from the attributes."""
    part = records.codes[:, list(members)]
    states = np.unique(part, axis=0) if states is None else np.asarray(states, dtype=np.int32)
    state_of = np.array([int(np.flatnonzero((states == row).all(axis=1))[0]) for row in part])
    counts = np.bincount(state_of, minlength=len(states))
    total = np.zeros((len(states), len(states)))
    for position, member in enumerate(members):
        levels = states[:, position]
        total += records.attributes[member].distance[np.ix_(levels, levels)] ** p
    product = int(np.prod([records.sizes[m] for m in members]))
    distance = total ** (1 / p)
    return GroupDomain(
        tuple(members), states.astype(np.int32), counts, counts / len(part), state_of, distance, "observed",
        int((counts > 0).sum()), product,
    )  # fmt: skip


def factorised(records, members):
    """A domain whose states are not listed."""
    n = len(records)
    empty = np.zeros(0)
    product = int(np.prod([records.sizes[m] for m in members]))
    return GroupDomain(
        tuple(members), np.zeros((0, len(members)), np.int32), empty.astype(np.int64), empty,
        np.full(n, -1), np.zeros((0, 0)), "factorised", 0, product,
    )  # fmt: skip


def some_records(seed, rows=40):
    """Four attributes, the first two dependent, and a target that follows them all."""
    rng = np.random.default_rng(seed)
    base = rng.integers(0, 3, rows)
    codes = np.column_stack(
        [base, (base + (rng.random(rows) < 0.3)) % 3, rng.integers(0, 5, rows), rng.integers(0, 2, rows)]
    )
    attributes = (nominal("a", 3, 0), numeric("b", 3, 1), numeric("c", 5, 2), nominal("d", 2, 3))
    return make_records(codes, attributes, target=codes @ [1.0, 2.0, 0.5, -1.0] + rng.random(rows))


def random_pair(seed, n=None):
    """A distance matrix with ties and an asymmetric loss that follows it loosely."""
    rng = np.random.default_rng(seed)
    n = n or int(rng.integers(2, 7))
    points = rng.integers(0, 4, (n, 2)) / 3.0
    distance = np.sqrt(((points[:, None] - points) ** 2).sum(axis=2))
    loss = np.maximum(0, distance ** rng.uniform(0.3, 3) + rng.normal(0, rng.uniform(0, 1), (n, n)))
    np.fill_diagonal(loss, 0.0)
    return distance, loss
