"""Releasing records under a certified design: plan, exact draws, cells, ledger, merged domains."""

from core.release.cells import cell, defuse, to_csv
from core.release.columns import Outlet, build_outlet, column_type
from core.release.draws import (
    NUMERIC,
    BlockStep,
    RecordRelease,
    TableRelease,
    release_record,
    release_table,
    trace_record,
)
from core.release.ledger import Entry, Ledger
from core.release.merging import MergedStages, merge_rare
from core.release.plan import (
    Block,
    ReleasePlan,
    build_blocks,
    count_rare,
    excluded_columns,
    plan_release,
    type_of,
    worst_factor,
)

__all__ = [
    "NUMERIC",
    "Block",
    "BlockStep",
    "Entry",
    "Ledger",
    "MergedStages",
    "Outlet",
    "RecordRelease",
    "ReleasePlan",
    "TableRelease",
    "build_blocks",
    "build_outlet",
    "cell",
    "column_type",
    "count_rare",
    "defuse",
    "excluded_columns",
    "merge_rare",
    "plan_release",
    "release_record",
    "release_table",
    "to_csv",
    "trace_record",
    "type_of",
    "worst_factor",
]
