"""A small table whose whole design takes a fraction of a second, with names that are no harmless text."""

from functools import cache
from typing import Any

import numpy as np

import core
from core.pipeline import Stages
from core.plots.grouping import group_label
from core.plots.losses import LossView
from core.plots.mechanisms import MechanismView
from core.plots.template import Mark, Picture
from core.scenario import Scenario

LEVELS = ("low <i>", "mid", "high & dry", "top")


@cache
def small_stages(**knobs: Any) -> Stages:
    """Return the stages of 200 records: two attributes that depend on one another, three that do not."""
    rng = np.random.default_rng(7)
    first = rng.integers(0, 4, 200)
    second = (first + (rng.random(200) < 0.2)) % 4
    others = [rng.integers(0, size, 200) for size in (3, 2, 5)]
    lines = ["first,second <b>,third,fourth,fifth"]
    for a, b, c, d, e in zip(first, second, *others, strict=True):
        lines.append(f"{LEVELS[a]},{LEVELS[b]},c{c},d{d},{e}")
    table = core.read_table("\n".join(lines).encode(), name="small.csv")
    kept: dict[Any, Any] = {}

    def remember(key: Any, compute: Any) -> Any:
        if key not in kept:
            kept[key] = compute()
        return kept[key]

    start: dict[str, Any] = {"task": "frequency", "tau_group": 0.2, "epsilon": 3.0}
    return Stages(table, Scenario(**(start | knobs)), remember=remember)


def loss_view(stages: Stages) -> LossView:
    return LossView(
        names=tuple(group_label(names) for names in stages.group_names),
        members=stages.groups,
        profiles=stages.profiles,
        beta=tuple(float(b) for b in stages.surrogate.beta),
        unit=stages.task.unit,
        states=tuple(
            tuple(
                ", ".join(stages.records.attributes[i].levels[c] for i, c in zip(members, codes, strict=True))
                for codes in stages.domain(members).states.tolist()
            )
            for members in stages.groups
        ),
    )


def mechanism_view(**changes: Any) -> MechanismView:
    """Return a chart of five groups: one inside both thresholds, two tied ones, one too large, one not solved."""
    start: dict[str, Any] = {
        "names": ("inside", "tied <1>", "tied 2", "large", "unsolved"),
        "sizes": (20, 5, 5, 900, 120),
        "scores": (0.1, 1.0, 1.0, 0.05, 0.6),
        "choices": ("OPT", "DPN", "DPN", "DPN", "DPN"),
        "regrets": (0.3, 0.9, 0.0, float("nan"), float("nan")),
        "tau_dim": 300,
        "tau_dpn": 0.2,
        "picked": 0,
        "kind": "radial fit",
    }
    return MechanismView(**(start | changes))


def trace(picture: Picture, uid: str) -> Mark:
    return next(t for t in picture.traces if t.get("uid") == uid)


def texts(picture: Picture) -> list[str]:
    return [note["text"] for note in picture.layout["annotations"]]
