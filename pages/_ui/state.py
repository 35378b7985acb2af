"""What a session remembers: the table, the scenario, undo, pins. The only user of the session state and of the URL."""

import dataclasses
import time
from dataclasses import dataclass, field
from typing import Any, Final

import streamlit as st
from cachetools import LRUCache
from streamlit.runtime.scriptrunner import get_script_run_ctx

from core.errors import CoreError, InputError
from core.scenario import AttributeSpec, Scenario
from core.table import Table, load_sample, read_table, sample_scenario
from pages._ui import link, text
from pages._ui.link import UPLOAD
from pages._ui.pins import Pin

DEFAULT: Final = "heart"
_STORE: Final = "mdp_session"
_UNDO_DEPTH: Final = 100
_ONE_GESTURE: Final = 1.0
"""Seconds within which changes of the same knobs are one step of undo: a held key, a moving slider."""
_NOTICE: Final = 6.0
"""Seconds for which a sentence stays at the top although the page runs again."""
_ADDRESSES: Final = 300
"""Addresses per session whose scenario is kept whole, so that the browser's back finds it."""
_STALE: Final = 1.5
"""Seconds within which a widget may still report the value that was replaced: its message was on its way."""


_Address = frozenset[tuple[str, str]]
"""The parameters of an address that are the app's own."""


@dataclass
class _Session:
    source: str = DEFAULT
    scenarios: dict[str, Scenario] = field(default_factory=dict)
    upload: Table | None = None
    upload_bytes: bytes = b""
    upload_name: str = ""
    awaiting: bool = False
    past: list[tuple[str, Scenario]] = field(default_factory=list)
    future: list[tuple[str, Scenario]] = field(default_factory=list)
    gesture: tuple[frozenset[str], float] = (frozenset(), 0.0)
    pins: dict[str, Pin] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    replaced: dict[str, tuple[Any, float]] = field(default_factory=dict)
    notices: dict[str, float | None] = field(default_factory=dict)
    addresses: LRUCache[_Address, tuple[str, Scenario]] = field(default_factory=lambda: LRUCache(_ADDRESSES))


def _session() -> _Session:
    if _STORE not in st.session_state:
        st.session_state[_STORE] = _Session()
        _restore(st.session_state[_STORE])
    session: _Session = st.session_state[_STORE]
    return session


# The bundled samples are the same for everybody, so one reading per process is enough; uploads are never here.
_samples: dict[str, Table] = {}


def _sample(name: str) -> Table:
    if name not in _samples:
        _samples[name] = load_sample(name)
    return _samples[name]


def _base(source: str) -> Scenario:
    return Scenario() if source == UPLOAD else sample_scenario(source)


# --- the table -------------------------------------------------------------------------------------------------------


def source() -> str:
    """Return the name of the data set: a sample's, or 'upload'."""
    return _session().source


def has_table() -> bool:
    """Return whether there is a table; False only where the upload is chosen and nothing was uploaded."""
    session = _session()
    return session.source != UPLOAD or session.upload is not None


def table(source: str | None = None) -> Table:
    """Return the table of the session, or of another source (a pin's).

    Raises
    ------
    InputError
        If it is the upload and nothing was uploaded.
    """
    session = _session()
    name = source or session.source
    if name != UPLOAD:
        return _sample(name)
    if session.upload is None:
        raise InputError(
            "table", "No table is uploaded yet; upload one on the Data page, or pick a sample at the left."
        )
    return session.upload


def choose_source(name: str) -> None:
    """Change to another data set, with the scenario that it had last or with its own."""
    session = _session()
    if name not in text.SOURCES or name == session.source:
        return
    _remember(session, frozenset({f"source {name}"}))
    session.source = name
    _look_afresh(session)


def _look_afresh(session: _Session) -> None:
    """Forget what was picked in a table, since another one takes its place."""
    for name in link.OF_TABLE:
        session.options.pop(name, None)


def load_upload(data: bytes, name: str, **overrides: Any) -> Table:
    """Read a table that a person gave, keep it in this session's memory only, and make it the source.

    Parameters
    ----------
    data : bytes
        The file.
    name : str
        Its name, for the ending and for the sidebar.
    **overrides
        As for `core.table.read_table`: separator, encoding, header, decimal, sheet.

    Raises
    ------
    InputError
        If it cannot be read; what was loaded before stays.
    """
    session = _session()
    read = read_table(data, name=name, **overrides)
    fresh = session.upload is None or session.upload_bytes != data
    if fresh and not session.awaiting:
        kept = session.scenarios.get(UPLOAD, Scenario())
        session.scenarios[UPLOAD] = kept.replace(attributes=(), target=None)
        session.past = [step for step in session.past if step[0] != UPLOAD]
        session.addresses.clear()
        session.future = []
    if fresh and not session.awaiting:
        _look_afresh(session)
    session.upload, session.upload_bytes, session.upload_name = read, data, name
    session.awaiting = False
    session.source = UPLOAD
    return read


def reread_upload(**overrides: Any) -> Table:
    """Read the uploaded file again with other settings of its format.

    Raises
    ------
    InputError
        If there is none, or it cannot be read that way.
    """
    session = _session()
    if session.upload is None:
        raise InputError(
            "table", "No table is uploaded yet; upload one on the Data page, or pick a sample at the left."
        )
    return load_upload(session.upload_bytes, session.upload_name, **overrides)


# --- the scenario ----------------------------------------------------------------------------------------------------


def scenario() -> Scenario:
    """Return the scenario: every knob as it stands."""
    session = _session()
    return session.scenarios.get(session.source) or _base(session.source)


def update(**changes: Any) -> None:
    """Change knobs; one step of undo. A value out of range changes nothing and becomes a sentence on the page."""
    try:
        changed = scenario().replace(**changes)
    except InputError as error:
        tell(str(error))
        return
    _put(changed, frozenset(changes))


def update_attribute(column: int, **changes: Any) -> None:
    """Change what is decided about one column; as `update`."""
    try:
        spec: AttributeSpec = dataclasses.replace(scenario().spec(column), **changes)
        changed = scenario().with_spec(spec)
    except InputError as error:
        tell(str(error))
        return
    _put(changed, frozenset({f"column {column}", *changes}))


def set_scenario(changed: Scenario) -> None:
    """Replace the whole scenario, as when a saved one is opened; one step of undo."""
    _put(changed, frozenset({"scenario"}))


def open_scenario(data: bytes) -> None:
    """Open a saved scenario; what is wrong with it becomes a sentence on the page."""
    try:
        set_scenario(Scenario.from_json(data))
    except CoreError as error:
        tell(str(error))


def _put(changed: Scenario, names: frozenset[str]) -> None:
    session = _session()
    if changed == scenario():
        return
    _remember(session, names)
    session.scenarios[session.source] = changed


def _remember(session: _Session, names: frozenset[str]) -> None:
    now = time.monotonic()
    last, at = session.gesture
    session.gesture = (names, now)
    session.future.clear()
    if names == last and now - at < _ONE_GESTURE and session.past:
        return
    session.past.append((session.source, scenario()))
    del session.past[:-_UNDO_DEPTH]


def undo() -> None:
    """Take back the last step."""
    session = _session()
    _step(session.past, session.future)


def redo() -> None:
    """Take the last step again that was taken back."""
    session = _session()
    _step(session.future, session.past)


def can_undo() -> bool:
    """Return whether there is a step to take back."""
    return bool(_session().past)


def can_redo() -> bool:
    """Return whether there is a step to take again."""
    return bool(_session().future)


def _step(taken: list[tuple[str, Scenario]], kept: list[tuple[str, Scenario]]) -> None:
    session = _session()
    if not taken:
        return
    kept.append((session.source, scenario()))
    session.source, session.scenarios[taken[-1][0]] = taken[-1]
    taken.pop()
    session.gesture = (frozenset(), 0.0)


# --- pins ------------------------------------------------------------------------------------------------------------


def pins() -> dict[str, Pin]:
    """Return the pinned scenarios by slot, 'A' and 'B'."""
    return dict(sorted(_session().pins.items()))


def pin(slot: str) -> None:
    """Put the scenario as it stands aside for comparison."""
    _session().pins[slot] = Pin(slot, source(), scenario(), table().digest if has_table() else "")


def is_lost(pinned: Pin) -> bool:
    """Return whether a pin's table is no longer there: another upload, or another reading of it, took its place."""
    upload = _session().upload
    return pinned.source == UPLOAD and (upload is None or upload.digest != pinned.table)


def unpin(slot: str) -> None:
    """Forget a pin."""
    _session().pins.pop(slot, None)


def open_pin(slot: str) -> None:
    """Make a pinned scenario the current one; one step of undo."""
    session = _session()
    chosen = session.pins.get(slot)
    if chosen is None:
        return
    if is_lost(chosen):
        tell(f"Pin {slot} belongs to an upload that is no longer loaded; upload that table again, then pin anew.")
        return
    _remember(session, frozenset({"pin"}))
    session.source = chosen.source
    session.scenarios[chosen.source] = chosen.scenario


# --- options of a page, notices, widgets -----------------------------------------------------------------------------


def option(name: str, default: Any = None) -> Any:
    """Return something a page remembers that is no knob of the scenario (which group is shown)."""
    return _session().options.get(name, default)


def set_option(name: str, value: Any) -> None:
    """Remember something for a page; it stays when one leaves the page."""
    _session().options[name] = value


def tell(sentence: str) -> None:
    """Keep a sentence for the top of the page, for some seconds from the next run on."""
    _session().notices[sentence] = None


def notices() -> list[str]:
    """Return the sentences that stand at the top of the page now."""
    session, now = _session(), time.monotonic()
    shown = {sentence: now if since is None else since for sentence, since in session.notices.items()}
    session.notices = {sentence: since for sentence, since in shown.items() if now - since <= _NOTICE}
    return list(session.notices)


def component(key: str, name: str) -> dict[str, Any]:
    """Return the last message `name` of the component `key`, empty if there is none."""
    entry: Any = st.session_state.get(key)
    message = entry.get(name) if entry is not None and hasattr(entry, "get") else None
    return dict(message) if isinstance(message, dict) else {}


def uploaded(key: str) -> Any:
    """Return the file that the uploader `key` holds, or None."""
    return st.session_state.get(key)


def seat(key: str, value: Any) -> None:
    """Give a widget its value before it is drawn, only where it shows another one.

    Writing a widget's own value back would reset what a person has done since in the browser.
    """
    shown = st.session_state.get(key)
    if key in st.session_state and type(shown) is type(value) and shown == value:
        return
    if key in st.session_state:
        _session().replaced[key] = (shown, time.monotonic())
    st.session_state[key] = value


def reported(key: str) -> tuple[bool, Any]:
    """Return whether a person set the widget `key`, and its value; inside its callback.

    A widget that was just given a value may first report the one it had before; that is no wish of anybody.
    """
    value = st.session_state.get(key)
    old, at = _session().replaced.pop(key, (None, 0.0))
    return not (value == old and time.monotonic() - at < _STALE), value


# --- the URL ---------------------------------------------------------------------------------------------------------


def _restore(session: _Session) -> None:
    """Read the address with which the session began."""
    query = dict(st.query_params.to_dict())
    name = query.get(link.SOURCE, DEFAULT)
    if name not in text.SOURCES:
        session.notices["This link names a data set that is not here; Heart is shown instead."] = None
        query, name = {}, DEFAULT
    session.source = name
    session.options.update(link.read_view(query))
    session.scenarios[name], sentence = link.read(query, _base(name))
    if sentence:
        session.notices[sentence] = None
    if name == UPLOAD:
        session.awaiting = True
        sentence = (
            "This address brings back every setting but not the table itself: an upload lives in the server's memory "
            "only and leaves with its session, also when the server is restarted; upload it again on the Data page."
        )
        session.notices[sentence] = None


def write_link() -> None:
    """Put the scenario into the address, where it is not there already; other parameters are left alone."""
    session = _session()
    wanted = link.write(session.source, scenario(), _base(session.source)) | link.write_view(session.options)
    if session.source == DEFAULT and len(wanted) == 1:
        wanted = {}
    session.addresses[frozenset(wanted.items())] = session.source, scenario()
    present = st.query_params.to_dict()
    others = {name: value for name, value in present.items() if name not in link.names()}
    if present != others | wanted:
        st.query_params.from_dict(others | wanted)


def follow_history() -> None:
    """Go where the browser's back or forward led: to the scenario that had this address; one step of undo.

    An address that this session never wrote is read as a link is.
    """
    context = get_script_run_ctx()
    if context is None or not context.is_history_navigation:
        return
    session = _session()
    query = {name: word for name, word in st.query_params.to_dict().items() if name in link.names()}
    known = session.addresses.get(frozenset(query.items()))
    if known is None:
        name = query.get(link.SOURCE, "")
        if name not in text.SOURCES:
            return
        known = name, link.read(query, _base(name))[0]
        if name == UPLOAD:  # what it says of columns and a target may be of another table
            now = session.scenarios.get(UPLOAD, Scenario())
            known = name, known[1].replace(attributes=now.attributes, target=now.target)
    options = session.options
    for name in link.VIEW:
        options.pop(name, None)
    options.update(link.read_view(query))
    if known != (session.source, scenario()):
        _remember(session, frozenset())
        session.source, session.scenarios[known[0]] = known
        session.gesture = (frozenset(), 0.0)
