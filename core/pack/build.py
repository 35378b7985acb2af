"""The mechanism pack: a design as one JSON file that verifies itself and needs nothing else to perturb records."""

import io
import json
import math
import platform
import tomllib
import zipfile
from decimal import ROUND_CEILING, Context
from pathlib import Path
from typing import Any, Final

import numpy as np

from core.channel import TOTAL
from core.domain import project
from core.errors import InputError
from core.pack import perturb
from core.projection import RARE, all_states
from core.reading.cells import MISSING_TOKENS
from core.release import NUMERIC, Block, Outlet, ReleasePlan, count_rare, type_of, worst_factor

PROJECTION_LIMIT: Final = 20_000
"""Combinations up to which the nearest state of each is written down; beyond, the sampler searches for it."""
SAMPLER: Final = Path(perturb.__file__)
"""The stand-alone sampler, copied beside every pack."""
PACK_NAME: Final = "mechanism.json"
SAMPLER_NAME: Final = "perturb.py"
README_NAME: Final = "README.txt"

README: Final = """\
A mechanism for metric differential privacy
===========================================

mechanism.json   the mechanism: columns, levels, metric, states, whole-number channels, budgets, certificates, scenario
perturb.py       the sampler: any Python from 3.9, nothing to install

    python3 perturb.py --pack mechanism.json input.csv output.csv
    python3 perturb.py --pack mechanism.json --record '{example}'
    python3 perturb.py --pack mechanism.json            (verifies only)

The sampler checks the checksum and derives epsilon anew from the whole numbers before it draws; an altered pack is
refused. The output is CSV in UTF-8 with commas and decimal points.

{statements}
"""


def build_pack(plan: ReleasePlan, *, numeric: str = NUMERIC[0]) -> dict[str, Any]:
    """Return a design as one object of plain values, with its checksum.

    The same design gives the same bytes. Neither records, nor counts, priors or losses are in it; the states of an
    observed domain, levels and bounds taken from the data are, and so is what an optimised channel tells of the prior.

    Parameters
    ----------
    plan : ReleasePlan
        The design bound to its table.
    numeric : {'representative', 'within'}
        How the sampler writes a bin unless it is told otherwise.

    Raises
    ------
    InputError
        If `numeric` is another word.
    """
    if numeric not in NUMERIC:
        raise InputError("numeric", f"A released bin is written as one of {', '.join(NUMERIC)}, not {numeric!r:.40}.")
    scenario = plan.design.scenario
    pack: dict[str, Any] = {
        "format": perturb.FORMAT,
        "version": perturb.VERSION,
        "made_with": {
            "mdp-explorer": _version(),
            "numpy": np.__version__,
            "python": platform.python_version(),
        },
        "p": "inf" if math.isinf(scenario.p) else float(scenario.p),
        "certified_epsilon": plan.certified_epsilon,
        "total": TOTAL,
        "numeric": numeric,
        "domain": plan.domain,
        "csv": _dialect(plan),
        "missing_tokens": sorted(MISSING_TOKENS),
        "columns": _columns(plan),
        "attributes": [_attribute(plan, i, outlet) for i, outlet in enumerate(plan.outlets)],
        "groups": _groups(plan),
        "scenario": json.loads(scenario.to_json()),
        "statements": list(statements(plan)),
    }
    return pack | {"checksum": perturb.checksum(pack)}


def _version() -> str:
    """Return the project's version; a checkout tells it in its own file."""
    project = Path(__file__).resolve().parents[2] / "pyproject.toml"
    return str(tomllib.loads(project.read_text(encoding="utf-8"))["project"]["version"])


def _dialect(plan: ReleasePlan) -> dict[str, Any]:
    d = plan.table.dialect
    text = d.format == "text"
    return {
        "separator": d.separator if text else ",",
        "quote": d.quote if text else '"',
        "escape": d.escape if text else None,
        "encoding": d.encoding if text else "utf-8",
        "header": bool(d.header) if text else True,
        "decimal": d.decimal or ".",
    }


def _columns(plan: ReleasePlan) -> list[dict[str, Any]]:
    outlets = {outlet.column: i for i, outlet in enumerate(plan.outlets)}
    columns = []
    for c, name in enumerate(plan.table.frame.columns):
        role = "perturbed" if c in outlets else "unprotected" if c in plan.unprotected else "withheld"
        columns.append({"name": str(name), "type": type_of(plan, c), "role": role, "attribute": outlets.get(c)})
    return columns


def _attribute(plan: ReleasePlan, i: int, outlet: Outlet) -> dict[str, Any]:
    attribute = plan.records.attributes[i]
    proper = attribute.size - attribute.has_missing
    own = plan.design.scenario.spec(attribute.column).distance
    numeric = attribute.edges is not None and attribute.values is not None
    return {
        "name": attribute.name,
        "kind": attribute.kind,
        "type": outlet.type,
        "weight": float(attribute.weight),
        "levels": list(attribute.levels),
        "has_missing": bool(attribute.has_missing),
        "edges": None if attribute.edges is None else attribute.edges.tolist(),
        "points": attribute.values[:proper].tolist() if numeric and attribute.values is not None else None,
        "distance": None if own is None else [[float(v) for v in row] for row in own],
        "values": list(outlet.values),
        "grids": [None if grid is None else list(grid) for grid in outlet.grids],
        "decimals": outlet.decimals,
    }


def _groups(plan: ReleasePlan) -> list[dict[str, Any]]:
    design = plan.design
    return [
        {
            "attributes": list(names),
            "choice": design.choices[k],
            "mechanism": design.mechanisms[k],
            "epsilon": design.allocation[k],
            "certified_epsilon": design.channels[k].certified_epsilon,
            "blocks": [_block(b) for b in plan.blocks if b.group == k],
        }
        for k, names in enumerate(design.groups)
    ]


def _block(block: Block) -> dict[str, Any]:
    return {
        "attributes": list(block.members),
        "certified_epsilon": block.channel.certified_epsilon,
        "states": block.domain.states.tolist(),
        "projection": _projection(block),
        "weights": block.channel.weights.tolist(),
    }


def _projection(block: Block) -> list[int] | None:
    """Return the nearest state of every combination of levels, in lexicographic order; None where it is not needed."""
    product = block.domain.product
    if len(block.domain.states) == product or product > PROJECTION_LIMIT:
        return None
    everything = all_states([a.size for a in block.attributes])
    return [int(x) for x in project(block.domain, block.attributes, everything, p=block.p)]


def _above(value: float) -> str:
    """Return six digits, rounded up: what is promised is never less than what holds."""
    up = Context(prec=6, rounding=ROUND_CEILING).create_decimal_from_float(value)
    return f"{up.normalize():f}" if up.is_finite() else "infinity"


def statements(plan: ReleasePlan) -> tuple[str, ...]:
    """Return what is and what is not guaranteed, and what the pack itself tells of the data, as sentences."""
    said = [
        "Two records at distance d give any output with probabilities within a factor "
        f"exp({_above(plan.certified_epsilon)} d), for the declared metric and states; groups are drawn independently. "
        f"Whatever two records are, the factor is at most exp({_above(worst_factor(plan))}).",
        "This holds for one release of a record. A second release of the same record adds its epsilon.",
        "A record that is no state counts as the nearest state; then d is the distance of the two nearest states.",
        "The data that the design was fitted on are not protected by epsilon: levels, bounds, states and optimised "
        "channels were chosen from them unless they were declared.",
    ]
    if plan.domain not in ("product", "declared"):
        rare = count_rare(plan, RARE)
        said.append(
            "The states are combinations that occur in the fitting data, so the pack tells which occur"
            + (f"; {rare:,} of them were seen fewer than {RARE} times." if rare else ".")
        )
    if plan.withheld:
        said.append(f"Columns that never leave: {', '.join(plan.withheld)}.")
    if plan.unprotected:
        names = ", ".join(str(plan.table.frame.columns[c]) for c in plan.unprotected)
        said.append(f"Columns that leave WITHOUT protection because a person marked them so: {names}.")
    return tuple(said)


def pack_json(pack: dict[str, Any]) -> bytes:
    """Return a pack as the content of its file."""
    return json.dumps(pack, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode("ascii") + b"\n"


def readme(pack: dict[str, Any]) -> str:
    """Return the text that goes with a pack."""
    example = {a["name"]: next((v for v in a["values"] if v is not None), None) for a in pack["attributes"]}
    shown = json.dumps(example, ensure_ascii=False).replace("'", "'\\''")
    return README.format(example=shown, statements="\n".join(f"* {s}" for s in pack["statements"]))


def pack_files(pack: dict[str, Any]) -> dict[str, bytes]:
    """Return the three files of a pack by name: the mechanism, its sampler, and how to use them."""
    return {
        PACK_NAME: pack_json(pack),
        SAMPLER_NAME: SAMPLER.read_bytes(),
        README_NAME: readme(pack).encode("utf-8"),
    }


def write_pack(pack: dict[str, Any], folder: Path) -> tuple[Path, Path]:
    """Write the files of a pack into a folder, made when absent, and return the paths of mechanism and sampler.

    Raises
    ------
    InputError
        If they cannot be written there.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in pack_files(pack).items():
            (folder / name).write_bytes(content)
    except OSError as error:
        raise InputError("out", f"The pack cannot be written to {folder}: {error.strerror}.") from error
    return folder / PACK_NAME, folder / SAMPLER_NAME


def zip_pack(pack: dict[str, Any]) -> bytes:
    """Return the files of a pack as one zip file; the same pack gives the same bytes."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for name, content in pack_files(pack).items():
            entry = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)
    return out.getvalue()


def read_pack(source: str | bytes | Path) -> perturb.Mechanism:
    """Read and verify a pack: its checksum, its form, and its epsilon from the whole numbers.

    Parameters
    ----------
    source : Path, str or bytes
        The file, or its content.

    Raises
    ------
    InputError
        If it cannot be read, was altered, or does not satisfy the epsilon that it declares.
    """
    try:
        content = source.read_bytes() if isinstance(source, Path) else source
        return perturb.Mechanism(perturb.read_pack(content))
    except OSError as error:
        raise InputError("pack", f"The pack {source!s:.200} cannot be read; check its path.") from error
    except perturb.PackError as error:
        raise InputError("pack", str(error)) from error
