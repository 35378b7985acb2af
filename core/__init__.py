"""Metric differential privacy on multi-attribute tables: the numerical core, usable from a notebook or a batch job."""

from core import tiers
from core.certificate import certify
from core.channel import Channel, exact_channel
from core.dependence import compute_nmi
from core.mechanisms.optimal import solve_optimal_channel
from core.design import Design
from core.pipeline import design
from core.scenario import AttributeSpec, Scenario
from core.table import SAMPLES, Table, load_sample, read_table, sample_scenario

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
    "exact_channel",
    "load_sample",
    "read_table",
    "sample_scenario",
    "solve_optimal_channel",
    "tiers",
]
