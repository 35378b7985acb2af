"""Metric differential privacy on multi-attribute tables: the numerical core, usable from a notebook or a batch job.

The public names are loaded when first used, so that importing one module does not load all of them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from core import tiers
    from core.certificate import certify
    from core.channel import Channel, exact_channel
    from core.dependence import compute_nmi
    from core.evaluation.rows import evaluate
    from core.mechanisms.optimal import solve_optimal_channel
    from core.pipeline import design
    from core.results import Design
    from core.scenario import AttributeSpec, Scenario
    from core.table import SAMPLES, Table, load_sample, read_table, sample_scenario

_HOMES: Final = {
    "SAMPLES": "core.table",
    "AttributeSpec": "core.scenario",
    "Channel": "core.channel",
    "Design": "core.results",
    "Scenario": "core.scenario",
    "Table": "core.table",
    "certify": "core.certificate",
    "compute_nmi": "core.dependence",
    "design": "core.pipeline",
    "evaluate": "core.evaluation.rows",
    "exact_channel": "core.channel",
    "load_sample": "core.table",
    "read_table": "core.table",
    "sample_scenario": "core.table",
    "solve_optimal_channel": "core.mechanisms.optimal",
}

__all__ = [
    "SAMPLES",
    "AttributeSpec",
    "Channel",
    "Design",
    "Scenario",
    "Table",
    "certify",
    "compute_nmi",
    "design",
    "evaluate",
    "exact_channel",
    "load_sample",
    "read_table",
    "sample_scenario",
    "solve_optimal_channel",
    "tiers",
]


def __getattr__(name: str) -> Any:
    """Load a public name from its module."""
    if name == "tiers":
        return import_module("core.tiers")
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'core' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
