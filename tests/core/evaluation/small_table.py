"""A table small enough for every method in seconds: two linked attributes, a third and a binary one."""

import numpy as np

from core.scenario import AttributeSpec, Scenario
from core.table import Table, read_table


def small_table(rows: int = 240, seed: int = 3) -> Table:
    rng = np.random.default_rng(seed)
    first = rng.choice(3, rows, p=[0.5, 0.3, 0.2])
    second = (first + (rng.random(rows) < 0.25)) % 3
    third = rng.choice(4, rows, p=[0.4, 0.3, 0.2, 0.1])
    fourth = (rng.random(rows) < 0.3).astype(int)
    lines = ["a,b,c,d", *(f"{'xyz'[i]},{'uvw'[j]},{k},{['no', 'yes'][m]}" for i, j, k, m in
                          zip(first, second, third, fourth, strict=True))]  # fmt: skip
    return read_table("\n".join(lines).encode(), name="small.csv")


def small_scenario(**changes) -> Scenario:
    # Without refinement: what is tested holds on any grid, and every further budget costs a solve.
    base = Scenario(
        task="entropy", remap="distance", epsilon=2.0, refine=False, attributes=(AttributeSpec(2, kind="ordinal"),)
    )
    return base.replace(**changes)
