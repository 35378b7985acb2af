"""The compared methods by name, as changes to a scenario and as what is measured."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from core.errors import InputError
from core.results import METHODS

Measure = Literal["channels", "bound", "constant", "joint"]

SPLIT_SUFFIX: Final = "-s"
"""A method with this ending is configured on the fitting split alone; the others on all rows."""
ZERO_INFORMATION: Final = "zero information"


@dataclass(frozen=True)
class Method:
    """One row of the comparison.

    Parameters
    ----------
    name : str
        As shown.
    changes : mapping
        What it changes in the scenario.
    measure : {'channels', 'bound', 'constant', 'joint'}
        Records are perturbed with its channels; or it is the lower bound of the sandwich, an optimum's bound and no
        mechanism; or every group releases its best constant; or its channels are refined together on the end-to-end
        loss.
    split : bool
        Whether it is configured on the fitting split alone.
    """

    name: str
    changes: Mapping[str, Any]
    measure: Measure = "channels"
    split: bool = False


def _table() -> dict[str, Method]:
    plain = {name: Method(name, changes) for name, changes in METHODS.items()}
    split = [replace(plain[name], name=name + SPLIT_SUFFIX, split=True) for name in ("DepHDP-m", "DepHDP-r")]
    bounds = [Method(f"Bound-{end}", METHODS[f"DepHDP-{end}"], "bound") for end in ("m", "r")]
    constant = Method(ZERO_INFORMATION, METHODS["ALC+DPN"], "constant")
    baselines = [m for m in plain.values() if not m.name.startswith("DepHDP")]
    ours = [m for m in plain.values() if m.name.startswith("DepHDP")]
    return {m.name: m for m in (*baselines, *split, *ours, *bounds, constant)}


COMPARED: Final[Mapping[str, Method]] = _table()
"""The methods of the full comparison, in the order of the table."""

JOINT: Final = Method("DepHDP joint", METHODS["DepHDP tuned"], "joint")
"""Not in the paper: the best of the designs, refined on the end-to-end loss instead of its surrogate."""


def find_method(name: str) -> Method:
    """Return a method by name; any that is configured on all rows may also be asked for with the ending "-s".

    Raises
    ------
    InputError
        If there is no such method.

    Examples
    --------
    >>> find_method("ALC+RMP-s").split, find_method("Bound-m").measure
    (True, 'bound')
    """
    known = {**COMPARED, JOINT.name: JOINT}
    if name in known:
        return known[name]
    base = known.get(str(name).removesuffix(SPLIT_SUFFIX))
    if base is None or base.split or not str(name).endswith(SPLIT_SUFFIX):
        raise InputError("methods", f"A method must be one of {', '.join(known)}, not {name!r:.60}.")
    return replace(base, name=name, split=True)
