"""What the Release page is about: the plan of the session's design, its ledger and its last releases."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Final

import streamlit as st

from core.errors import InputError
from core.estimation import MarginalEstimate
from core.pipeline import Progress
from core.release import Entry, Ledger, MergedStages, RecordRelease, ReleasePlan, TableRelease, plan_release
from pages._ui import cache, late, state

STATES: Final = {"designed": "As designed", "merged": "Rare ones merged"}
"""Which states the mechanism has: those of the design, or without those of fewer than 5 records."""
NUMERIC: Final = {"representative": "Middle", "within": "Drawn"}
"""How a released bin is written."""
_LEDGERS: Final = "release_ledgers"
_TABLE: Final = "release_table"
_RECORD: Final = "release_record"


@dataclass(eq=False)
class Released:
    """The last release of a whole table.

    Parameters
    ----------
    token : hashable
        Of the design that it was made under.
    plan : ReleasePlan
        That design.
    release : TableRelease
        What left.
    estimates : dict
        Estimates made from it, by attribute.
    """

    token: Hashable
    plan: ReleasePlan
    release: TableRelease
    estimates: dict[int, MarginalEstimate]


def merged() -> bool:
    """Return whether rare states are merged."""
    return state.scenario().domain == "observed" and state.option("release_states", "designed") == "merged"


def unprotected() -> tuple[str, ...]:
    """Return the excluded columns that a person marked to leave as they are, of the table as it is."""
    names: dict[str, tuple[str, ...]] = state.option("release_unprotected", {})
    return names.get(state.table().digest, ())


def set_unprotected(names: tuple[str, ...]) -> None:
    """Mark excluded columns to leave as they are."""
    kept: dict[str, tuple[str, ...]] = state.option("release_unprotected", {})
    state.set_option("release_unprotected", {**kept, state.table().digest: names})


def token() -> Hashable:
    """Return what the plan depends on."""
    return state.table().digest, state.scenario().digest(), merged(), unprotected()


def plan(progress: Progress | None = None) -> ReleasePlan:
    """Return the plan of the session's design; it is kept until something it depends on changes."""
    known: ReleasePlan | None = late.recall("release_plan", token())
    if known is not None:
        return known
    stages = cache.stages(progress)
    possible = {str(name) for name in stages.table.frame.columns} - {a.name for a in stages.records.attributes}
    chosen = [name for name in unprotected() if name in possible]
    if merged():
        try:
            made = plan_release(MergedStages.of(stages), unprotected=chosen, domain="merged")
            return late.keep("release_plan", token(), made)  # type: ignore[no-any-return]
        except InputError as error:  # the choice would stay out of reach on a page that stops here
            state.set_option("release_states", "designed")
            state.tell(str(error))
            st.rerun()
    made = plan_release(stages, unprotected=chosen)
    return late.keep("release_plan", token(), made)  # type: ignore[no-any-return]


def ledger() -> Ledger:
    """Return what the rows of the session's table have released so far."""
    ledgers: dict[str, Ledger] = state.option(_LEDGERS, {})
    if state.table().digest not in ledgers:
        ledgers = {**ledgers, state.table().digest: Ledger()}
        state.set_option(_LEDGERS, ledgers)
    return ledgers[state.table().digest]


def enter(made: ReleasePlan, what: str, row: int | None = None) -> None:
    """Enter a release into the ledger."""
    ledger().add(Entry(what, made.certified_epsilon, made.metric_digest, row))


def last_table() -> Released | None:
    """Return the last release of the session's table, under whatever design."""
    kept: Released | None = state.option(_TABLE)
    return kept if kept is not None and kept.plan.table.digest == state.table().digest else None


def keep_table(made: ReleasePlan, release: TableRelease) -> None:
    """Keep a release of the whole table and enter it into the ledger."""
    state.set_option(_TABLE, Released(token(), made, release, {}))
    enter(made, "table")


def last_record(about: Hashable) -> RecordRelease | None:
    """Return the last release of one record if it was of this record under this design."""
    kept = state.option(_RECORD)
    return kept[1] if kept is not None and kept[0] == about else None


def keep_record(about: Hashable, made: ReleasePlan, release: RecordRelease, row: int) -> None:
    """Keep a released record and enter it into the ledger."""
    state.set_option(_RECORD, (about, release))
    enter(made, "record", row)
