"""A scenario as an address: only what differs from the source's own scenario, and nothing of an upload's content."""

import dataclasses
import json
import math
import re
from collections.abc import Mapping
from typing import Any, Final

from core.errors import InputError
from core.scenario import Scenario

UPLOAD: Final = "upload"
"""Name of the source that is a person's own table."""
SOURCE: Final = "data"
COLUMNS: Final = "columns"
_KNOBS: Final = tuple(f.name for f in dataclasses.fields(Scenario) if f.name != "attributes")
_PRIVATE: Final = frozenset({"levels", "edges", "distance", "low", "high"})
"""What an address never says of an upload's column: these repeat its content."""
_NONE: Final = "none"
_LONGEST: Final = 6000
"""Characters of column settings beyond which servers may refuse an address; the columns are then left out."""


_FLAG: Final = {"yes": True}
_SIDES: Final = {
    name.replace(" ", "-"): name
    for name in (
        "EM", "calibrated EM", "line noise", "EM, remapped (distance)", "EM, remapped (task)",
        "calibrated EM, remapped (distance)", "calibrated EM, remapped (task)", "OPT", "constant",
    )
}  # fmt: skip
_VIEWS: Final = {name: name for name in ("explained", "attacker", "sweeps", "reduced", "planner")}
TABS: Final = (
    *("levels", "dependences", "losses", "mechanisms", "budget", "evaluation", "explained", "attacker", "sweep_groups"),
    *("sweep_scores", "reduced", "plan", "thresholds", "record", "noise_tiers", "categorical_tiers"),
)
"""Names of the sets of tabs whose open one an address tells."""


def tab_option(name: str) -> str:
    """Return the option that holds which tab of a set is open."""
    return f"tab_{name}"


def tab_word(label: str) -> str:
    """Return how an address writes a tab: its words in small letters, without the numbers that may change.

    Examples
    --------
    >>> tab_word("A beside now"), tab_word("Findings (3)")
    ('a-beside-now', 'findings')
    """
    return "-".join(re.findall(r"[a-z]+", label.lower()))


VIEW: Final[Mapping[str, Mapping[str, Any] | type]] = {
    "mechanisms_single": _FLAG,
    "mechanism_group": tuple,
    "channel_left": _SIDES,
    "channel_right": _SIDES,
    "loss_own_scales": _FLAG,
    "budget_own_scales": _FLAG,
    "data_column": int,
    "pair": tuple,
    "feasible_first": int,
    "feasible_second": int,
    "validation_noise": int,
    "evaluation_view": _VIEWS,
    **{tab_option(name): str for name in TABS},
}
"""Options of pages that an address carries: words, a position, or several; nothing of a table's content."""
OF_TABLE: Final = ("mechanism_group", "data_column", "pair", "feasible_first", "feasible_second")
"""Those that point into a table, so that another table starts without them."""
_WORD: Final = re.compile(r"[a-z]+(-[a-z]+){0,7}")
_LONGEST_WORD: Final = 40
_MOST: Final = 300
"""Positions that an option may hold."""


def names() -> frozenset[str]:
    """Return every name that an address of the app may carry."""
    return frozenset({SOURCE, COLUMNS, *_KNOBS, *VIEW})


def write_view(options: Mapping[str, Any]) -> dict[str, str]:
    """Return the address's parameters for what pages remember: which group is shown, which scales, which pair.

    Parameters
    ----------
    options : mapping of str to object
        Options by name; those that no address carries, and those at rest, are left out.
    """
    query = {}
    for name, kind in VIEW.items():
        value = options.get(name)
        if value is None or value is False:
            continue
        if isinstance(kind, Mapping):
            word = next((word for word, meaning in kind.items() if meaning == value), "")
        elif kind is str:
            word = str(value)
        elif kind is tuple:
            word = "-".join(str(int(i)) for i in value)
        else:
            word = str(int(value)) if int(value) >= 0 else ""
        if word:
            query[name] = word
    return query


def read_view(query: Mapping[str, str]) -> dict[str, Any]:
    """Return the options in an address; those that are not usable are left at rest without a word."""
    options: dict[str, Any] = {}
    for name, kind in VIEW.items():
        word = query.get(name, "")
        if isinstance(kind, Mapping):
            if word in kind:
                options[name] = kind[word]
            continue
        if kind is str:
            if len(word) <= _LONGEST_WORD and _WORD.fullmatch(word):
                options[name] = word
            continue
        parts = word.split("-")
        if (
            not word
            or len(parts) > _MOST
            or not all(part.isascii() and part.isdigit() and len(part) < 6 for part in parts)
        ):
            continue
        positions = tuple(int(part) for part in parts)
        if kind is tuple:
            options[name] = positions
        elif len(positions) == 1:
            options[name] = positions[0]
    return options


def write(source: str, scenario: Scenario, base: Scenario) -> dict[str, str]:
    """Return the address's parameters for a scenario.

    Parameters
    ----------
    source : str
        A sample's name or 'upload'.
    scenario, base : Scenario
        The scenario, and the one with which the source opens.
    """
    query = {SOURCE: source}
    for name in _KNOBS:
        value = getattr(scenario, name)
        if value != getattr(base, name):
            query[name] = _word(value)
    if scenario.attributes != base.attributes:
        columns = json.dumps(_columns(source, scenario), separators=(",", ":"))
        if len(columns) <= _LONGEST:
            query[COLUMNS] = columns
    return query


def _columns(source: str, scenario: Scenario) -> list[dict[str, Any]]:
    hidden = _PRIVATE if source == UPLOAD else frozenset()
    entries = []
    for entry in json.loads(scenario.to_json())["attributes"]:
        kept = {name: value for name, value in entry.items() if name not in hidden}
        if source == UPLOAD and kept.get("binning") == "edges":
            del kept["binning"]
        if len(kept) > 1:
            entries.append(kept)
    return entries


def _word(value: object) -> str:
    if value is None:
        return _NONE
    if isinstance(value, bool):
        return "true" if value else "false"
    return "inf" if value == math.inf else str(value)


def read(query: Mapping[str, str], base: Scenario) -> tuple[Scenario, str]:
    """Return the scenario of an address and one sentence about what was not usable, empty if all was.

    Parameters
    ----------
    query : mapping of str to str
        The address's parameters; unknown ones are left alone.
    base : Scenario
        The scenario with which the source opens.
    """
    scenario, refused = base, []
    for name in (*_KNOBS, COLUMNS):
        if name not in query:
            continue
        try:
            changes = _attributes(query[name]) if name == COLUMNS else {name: _value(name, query[name])}
            scenario = scenario.replace(**changes)
        except (InputError, ValueError, OverflowError, RecursionError):
            refused.append(name)
    if not refused:
        return scenario, ""
    verb = "is" if len(refused) == 1 else "are"
    return scenario, f"In this link {_listed(refused)} {verb} not usable; the usual setting is shown instead."


def _listed(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _value(name: str, word: str) -> object:
    usual = getattr(Scenario(), name)
    if word == _NONE and usual is None:  # elsewhere "none" is a word of its own, as for remap
        return None
    if isinstance(usual, bool):
        return {"true": True, "false": False}[word] if word in {"true", "false"} else word
    if name == "target" or isinstance(usual, int):
        return int(word)
    if isinstance(usual, float) or name == "tau_dpn":
        return float(word)
    return word


def _attributes(word: str) -> dict[str, Any]:
    return {"attributes": Scenario.from_json(json.dumps({"attributes": json.loads(word)})).attributes}
