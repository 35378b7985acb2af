#!/usr/bin/env python3
"""Perturb records under a mechanism pack; one file, any Python from 3.9, nothing to install.

python3 perturb.py --pack mechanism.json input.csv output.csv
python3 perturb.py --pack mechanism.json --record '{"age": 54, "sex": "male"}'

The pack is verified first: its checksum, and that its whole numbers satisfy the epsilon that it declares for the metric
that it declares. Draws come from the operating system's cryptographic generator and are exact.
"""

# ruff: noqa: B905, UP035 - this file runs on Python 3.9
from __future__ import annotations

import argparse
import bisect
import csv
import datetime
import decimal
import hashlib
import itertools
import json
import math
import re
import secrets
import sys
from decimal import Decimal
from fractions import Fraction
from typing import Any, Callable, Iterable, Sequence

FORMAT = "mdp-explorer mechanism pack"
VERSION = 1
DIGITS = 80
"""Digits of the exact part of the verification."""
MARGIN = Decimal("1e-60")
"""Relative bound on the rounding of a few operations with so many digits; below what a certificate is rounded by."""
SCALE = 59
"""Bits of the factor exp(-epsilon d) that whole rows are compared with: two digits of Python's whole numbers."""
LANE = 120
"""Bits that a weight takes when a row is packed into one whole number: 59 of its own, the scale's, and a guard."""
WEIGHT_BITS = 59
NEAR = Decimal("1e-12")
"""Relative distance below the declared epsilon within which a ratio is evaluated with all digits."""
DANGEROUS = ("=", "+", "-", "@", "\t", "\r", "\n")
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
THOUSANDS = {".": ",'\u2019\u00a0\u202f ", ",": ".'\u2019\u00a0\u202f "}
TRUE_WORDS = frozenset({"true", "t", "yes", "y", "on", "1", "1.0"})
FALSE_WORDS = frozenset({"false", "f", "no", "n", "off", "0", "0.0"})
EPOCH = datetime.datetime(1970, 1, 1)
Bits = Callable[[int], int]


class PackError(Exception):
    """The pack or the input cannot be used; the text says why in a sentence."""


def canonical(pack: dict[str, Any]) -> bytes:
    """Return everything but the checksum as JSON in one fixed form."""
    body = {name: value for name, value in pack.items() if name != "checksum"}
    return json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode("ascii")


def checksum(pack: dict[str, Any]) -> str:
    """Return the SHA-256 of the canonical form."""
    return "sha256:" + hashlib.sha256(canonical(pack)).hexdigest()


def read_pack(text: str | bytes) -> dict[str, Any]:
    """Return a pack as an object after its format, version and checksum were checked; `Mechanism` checks the rest."""
    try:
        pack = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise PackError("The pack is not readable JSON; copy it again from where it was made.") from error
    if not isinstance(pack, dict) or pack.get("format") != FORMAT:
        raise PackError("The file is no mechanism pack; give the mechanism.json that was made with this program.")
    if pack.get("version") != VERSION:
        raise PackError(f"The pack is of version {pack.get('version')!r:.20}; this program reads version {VERSION}.")
    try:
        fits_it = pack.get("checksum") == checksum(pack)
    except (ValueError, TypeError, RecursionError):
        fits_it = False
    if not fits_it:
        raise PackError("The pack was altered: its checksum does not fit; copy it again from where it was made.")
    return pack


def _refuse_constant(name: str) -> None:
    raise ValueError(name)


# ---- the metric ------------------------------------------------------------------------------------------------------


def level_distances(attribute: dict[str, Any]) -> list[list[float]]:
    """Return the distances between an attribute's levels, from its kind: what is declared, nothing that is stored."""
    size, missing = len(attribute["levels"]), bool(attribute["has_missing"])
    proper = size - missing
    apart = 1.0
    if attribute.get("distance") is not None:
        own = [[float(v) for v in row] for row in attribute["distance"]]
        if len(own) != proper or any(len(row) != proper for row in own):
            raise PackError(f"The own distances of '{attribute['name']}' do not fit its levels.")
        apart = max(1.0, max((v for row in own for v in row), default=0.0) / 2)
        table = own
    elif attribute["kind"] == "nominal":
        table = [[float(a != b) for b in range(proper)] for a in range(proper)]
    elif attribute["kind"] == "ordinal":
        table = [[abs(float(a) - float(b)) / max(proper - 1, 1) for b in range(proper)] for a in range(proper)]
    else:
        points = [float(v) for v in attribute["points"]]
        span = float(attribute["edges"][-1]) - float(attribute["edges"][0])
        table = [[abs(a - b) / (span if span > 0 else 1.0) for b in points] for a in points]
    if missing:
        table = [[*row, apart] for row in table] + [[apart] * proper + [0.0]]
    good = len(table) == size and all(len(row) == size for row in table)
    if not good or any(
        not math.isfinite(v) or v < 0 or v != table[b][a] or (a == b and v > 0)
        for a, row in enumerate(table)
        for b, v in enumerate(row)
    ):
        raise PackError(f"The distances of '{attribute['name']}' are no metric table.")
    return table


class Metric:
    """Distances d_p between the states of a block, as lower bounds of 60 digits.

    Parameters
    ----------
    attributes : list of dict
        The block's attributes.
    p : float
        Exponent, inf for the largest component.
    """

    def __init__(self, attributes: Sequence[dict[str, Any]], p: float) -> None:
        self.p = p
        self.tables = [
            [[self._part(float(a["weight"]), d) for d in row] for row in level_distances(a)] for a in attributes
        ]
        self.known: dict[Decimal, Decimal] = {}

    def _part(self, weight: float, distance: float) -> Decimal:
        """Return w d^p, or d where p is infinite."""
        if math.isinf(self.p) or distance == 0:
            return Decimal(distance)
        return Decimal(weight) * Decimal(distance) ** Decimal(self.p)

    def between(self, x: Sequence[int], z: Sequence[int]) -> Decimal:
        """Return the distance of two states given by their levels, never above the exact one."""
        parts = [table[a][b] for table, a, b in zip(self.tables, x, z)]
        total = max(parts) if math.isinf(self.p) else sum(parts, Decimal(0))
        found = self.known.get(total)
        if found is None:
            root = total if math.isinf(self.p) or self.p == 1 or not total else total ** (1 / Decimal(self.p))
            found = self.known[total] = root * (1 - MARGIN)
        return found


# ---- the certificate -------------------------------------------------------------------------------------------------


def derive_epsilon(block: dict[str, Any], metric: Metric) -> float:
    """Return max ln(w[x][y] / w[z][y]) / d(x, z) over all x, z, y, rounded up to a double.

    Every ratio is compared with exp(e d), e being the declared epsilon less a trifle, in whole numbers: a row is packed
    into one number, a lane per weight, so that one multiplication and one subtraction compare all its weights at once,
    and a guard bit that vanishes tells which ratio is larger. Those few are evaluated with 80 digits. Where all are
    smaller, e itself is returned: the integers satisfy it.

    Raises
    ------
    PackError
        Where a ratio exceeds what is declared.
    """
    known: dict[tuple[int, int, Decimal], float] = {}
    states, declared = block["states"], float(block["certified_epsilon"])
    below = Decimal(declared) * (1 - NEAR)
    columns = [column for column in zip(*block["weights"]) if any(w != column[0] for w in column)]
    weights = list(zip(*columns)) if columns else [()] * len(states)
    rows = [_pack_row(row) for row in weights]
    guard = _pack_row([1 << (LANE - 1)] * len(columns))
    raised = [(row << SCALE) + guard for row in rows]
    factors: dict[Decimal, int] = {}
    worst = min(declared, math.nextafter(float(below), math.inf))
    for x, z in itertools.combinations(range(len(rows)), 2):
        if rows[x] == rows[z]:
            continue
        span = metric.between(states[x], states[z])
        factor = factors.get(span)
        if factor is None:
            factor = factors[span] = int((-below * span).exp() * (1 << SCALE) * (1 + MARGIN)) + 1
        for one, other in ((x, z), (z, x)):
            missing = ((raised[other] - factor * rows[one]) & guard) ^ guard
            while missing:
                lane = ((missing & -missing).bit_length() - 1) // LANE
                missing &= missing - 1
                case = (weights[one][lane], weights[other][lane], span)
                if case not in known:
                    known[case] = _evaluate(*case)
                if known[case] > declared:
                    raise PackError(f"they need epsilon {known[case]:.17g} at least")
                worst = max(worst, known[case])
    return worst


def _pack_row(row: Sequence[int]) -> int:
    """Return the weights of a row as one whole number, a lane each."""
    return int.from_bytes(b"".join(weight.to_bytes(LANE // 8, "little") for weight in row), "little")


def _evaluate(high: int, low: int, span: Decimal) -> float:
    """Return ln(high / low) / span rounded up to a double; inf where nothing else holds."""
    if high <= low:
        return 0.0
    if low == 0 or span == 0:
        return math.inf
    bound = (Decimal(high) / Decimal(low)).ln() / span * (1 + Decimal("1e-50"))
    value = float(bound)
    return value if Decimal(value) >= bound else math.nextafter(value, math.inf)


def fits(epsilons: Sequence[float], p: float, total: float) -> bool:
    """Tell whether the dual norm of the budgets, sum e^q with 1/p + 1/q = 1, stays within the total."""
    if p == 1:
        return max(epsilons) <= total
    if math.isinf(p):
        return sum(map(Fraction, epsilons)) <= Fraction(total)
    if p == 2:
        return sum(Fraction(e) ** 2 for e in epsilons) <= Fraction(total) ** 2
    q = Decimal(p) / (Decimal(p) - 1)
    norm = sum((Decimal(e) ** q for e in epsilons if e > 0), Decimal(0)) ** (1 / q)
    return norm * (1 + MARGIN) <= Decimal(total)


# ---- the mechanism ---------------------------------------------------------------------------------------------------


class Mechanism:
    """A pack that was verified, ready to draw.

    Parameters
    ----------
    pack : dict
        From `read_pack`.
    """

    def __init__(self, pack: dict[str, Any]) -> None:
        try:
            self._load(pack)
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
            raise PackError("The pack is damaged: a part of it is missing or of another form.") from error

    def _load(self, pack: dict[str, Any]) -> None:
        self.columns: list[dict[str, Any]] = pack["columns"]
        self.attributes: list[dict[str, Any]] = pack["attributes"]
        self.dialect: dict[str, Any] = pack["csv"]
        self.missing = frozenset(pack["missing_tokens"])
        self.numeric: str = pack["numeric"]
        self.p = math.inf if pack["p"] == "inf" else float(pack["p"])
        self.total: int = pack["total"]
        self.certified_epsilon = float(pack["certified_epsilon"])
        self.blocks: list[dict[str, Any]] = [block for group in pack["groups"] for block in group["blocks"]]
        self.metrics: list[Metric] = []
        self.sums: list[dict[int, list[int]]] = [{} for _ in self.blocks]
        good = self.dialect["decimal"] in THOUSANDS and self.numeric in ("representative", "within")
        if not good or not all(isinstance(token, str) for token in self.missing):
            raise PackError("The pack is damaged: what it says of files is not understood.")
        self._check_schema(pack["scenario"])
        with decimal.localcontext() as context:
            context.prec = DIGITS
            self._verify(float(pack["scenario"]["epsilon"]))
        self.places = [{tuple(s): i for i, s in enumerate(b["states"])} for b in self.blocks]
        self.proper = [a["levels"][: len(a["levels"]) - bool(a["has_missing"])] for a in self.attributes]
        self.codes = [{label: i for i, label in enumerate(levels)} for levels in self.proper]
        self.strange: dict[str, int] = {}

    def _check_schema(self, scenario: dict[str, Any]) -> None:
        """Refuse a schema that does not hold together, or measures otherwise than its scenario declares."""
        specs = {spec["column"]: spec for spec in scenario["attributes"]}
        placed = {c["attribute"]: i for i, c in enumerate(self.columns) if c["role"] == "perturbed"}
        if sorted(placed) != list(range(len(self.attributes))) or scenario["p"] not in (self.p, str(self.p)):
            raise PackError("The pack is damaged: its columns or its metric do not fit its scenario.")
        for i, a in enumerate(self.attributes):
            spec, size = specs.get(placed[i], {}), len(a["levels"])
            measured = a["weight"] == spec.get("weight", 1.0) and a["distance"] == spec.get("distance")
            if not measured or a["name"] != self.columns[placed[i]]["name"]:
                raise PackError(f"The pack is damaged: column '{a['name']:.60}' does not fit its scenario.")
            edges, points = a["edges"], a["points"]
            numeric = a["kind"] == "numeric"
            good = numeric == (edges is not None) and a["kind"] in ("nominal", "ordinal", "numeric")
            if numeric:
                good = good and len(points) == len(edges) - 1 == size - bool(a["has_missing"])
                good = good and all(low <= u <= high for low, u, high in zip(edges, points, edges[1:]))
            if not good or len(a["values"]) != size or len(a["grids"]) != size or not a["weight"] > 0:
                raise PackError(f"The pack is damaged: the levels of column '{a['name']:.60}' do not hold together.")

    def _verify(self, asked: float) -> None:
        """Refuse what does not satisfy its own statement."""
        taken = sorted(i for block in self.blocks for i in block["attributes"])
        if taken != list(range(len(self.attributes))) or not self.p >= 1 or not 0 < self.total < 1 << WEIGHT_BITS:
            raise PackError("The pack is damaged: its groups do not cover every attribute once.")
        found = []
        for block in self.blocks:
            self._check_block(block)
            metric = Metric([self.attributes[i] for i in block["attributes"]], self.p)
            self.metrics.append(metric)
            try:
                found.append(derive_epsilon(block, metric))
            except PackError as error:
                names = ", ".join(self.attributes[i]["name"] for i in block["attributes"])
                raise PackError(
                    f"The pack is refused: the integers of {names:.200} do not satisfy the epsilon "
                    f"{block['certified_epsilon']:.17g} that it declares; {error}."
                ) from error
        if not (fits(found, self.p, self.certified_epsilon) and self.certified_epsilon <= asked):
            raise PackError(
                f"The pack is refused: its groups together exceed epsilon {min(self.certified_epsilon, asked):.17g}."
            )
        self.epsilons = found

    def _check_block(self, block: dict[str, Any]) -> None:
        states, weights = block["states"], block["weights"]
        sizes = [len(self.attributes[i]["levels"]) for i in block["attributes"]]
        whole = all(type(v) is int for row in itertools.chain(states, weights) for v in row)
        inside = all(len(s) == len(sizes) and all(0 <= v < m for v, m in zip(s, sizes)) for s in states)
        declared = block["certified_epsilon"]
        good = (
            whole
            and inside
            and 0 <= declared < math.inf
            and len({tuple(s) for s in states}) == len(states) == len(weights) > 0
        )
        if not good or any(len(row) != len(states) or min(row) < 0 or sum(row) != self.total for row in weights):
            raise PackError("The pack is damaged: a channel's rows must be whole numbers with the declared sum.")
        table = block.get("projection")
        if table is not None and (
            len(table) != math.prod(sizes) or any(type(v) is not int or not 0 <= v < len(states) for v in table)
        ):
            raise PackError("The pack is damaged: a projection does not fit its states.")

    # -- from values to states --

    def code(self, attribute: int, value: Any, where: str) -> int | None:
        """Return the level of a value, text or JSON; None where it is missing and there is no missing level."""
        spec = self.attributes[attribute]
        text = "" if value is None else str(value).strip()
        numeric = spec["edges"] is not None or spec["type"] in ("integer", "number", "date")
        number = None
        if numeric and text.lower() not in self.missing:
            plain = isinstance(value, (int, float)) and not isinstance(value, bool)
            number = float(value) if plain else self._number(text, spec, where)
        if text.lower() in self.missing or (number is not None and not math.isfinite(number)):
            return len(spec["levels"]) - 1 if spec["has_missing"] else None
        if spec["edges"] is not None:
            return bisect.bisect_left(spec["edges"][1:-1], number)
        label, codes = self._label(text, number, spec), self.codes[attribute]
        if label not in codes and set(codes) == {"true", "false"}:
            label = _boolean(label)
        if label in codes:
            return codes[label]
        self.strange[spec["name"]] = self.strange.get(spec["name"], 0) + 1
        return self._nearest_level(attribute, label)

    def _number(self, text: str, spec: dict[str, Any], where: str) -> float:
        try:
            if spec["type"] == "date":
                return (datetime.datetime.fromisoformat(text.replace("/", "-")) - EPOCH) / datetime.timedelta(days=1)
            mark = self.dialect["decimal"]
            if re.fullmatch(number_pattern(mark), text) is None:
                raise ValueError(text)
            marks: dict[str, str | int | None] = {
                mark: ".",
                "\u2212": "-",
                "%": "",
                "\u221e": "inf",
                **dict.fromkeys(THOUSANDS[mark], ""),
            }
            return float(text.translate(str.maketrans(marks)))
        except ValueError as error:
            what = "date, year-month-day" if spec["type"] == "date" else "number"
            raise PackError(f"{where}, column '{spec['name']}': '{text:.60}' is no {what}; correct it.") from error

    @staticmethod
    def _label(text: str, number: float | None, spec: dict[str, Any]) -> str:
        if spec["type"] == "boolean":
            return _boolean(text)
        if number is None:
            return text
        if spec["type"] == "date":
            moment = EPOCH + datetime.timedelta(days=number)
            return moment.isoformat(sep=" ") if moment.time() != datetime.time() else moment.date().isoformat()
        return f"{number + 0.0:.0f}" if number == int(number) and abs(number) < 1e15 else repr(number)

    def _nearest_level(self, attribute: int, label: str) -> int:
        """Return the nearest level by value where an ordinal attribute's levels are numbers, else missing, else 0."""
        spec, proper = self.attributes[attribute], self.proper[attribute]
        if spec["kind"] == "ordinal":
            try:
                gaps = [abs(float(level) - float(label)) for level in proper]
                return gaps.index(min(gaps))
            except ValueError:
                pass
        return len(proper) if spec["has_missing"] else 0

    def state(self, block: int, levels: tuple[int, ...]) -> int:
        """Return the state of a record's levels, the nearest one where they are no state (ties: the lowest)."""
        place = self.places[block].get(levels)
        if place is None:
            part = self.blocks[block]
            if part.get("projection") is not None:
                index = 0
                for level, i in zip(levels, part["attributes"]):
                    index = index * len(self.attributes[i]["levels"]) + level
                place = part["projection"][index]
            else:
                with decimal.localcontext() as context:
                    context.prec = DIGITS
                    gaps = [float(self.metrics[block].between(levels, state)) for state in part["states"]]
                place = gaps.index(min(gaps))
            self.places[block][levels] = place
        return place

    # -- from states to released values --

    def draw(self, block: int, state: int, bits: Bits) -> int:
        """Return an output exactly in proportion to the row's integers."""
        if state not in self.sums[block]:
            self.sums[block][state] = list(itertools.accumulate(self.blocks[block]["weights"][state]))
        return bisect.bisect_right(self.sums[block][state], draw_below(self.total, bits))

    def release(self, levels: Sequence[int], bits: Bits) -> list[Any]:
        """Return the released value of every attribute for a record's levels."""
        released = [0] * len(self.attributes)
        for k, block in enumerate(self.blocks):
            own = tuple(levels[i] for i in block["attributes"])
            for i, level in zip(block["attributes"], block["states"][self.draw(k, self.state(k, own), bits)]):
                released[i] = level
        return [self._write(a, level, bits) for a, level in zip(self.attributes, released)]

    def _write(self, attribute: dict[str, Any], level: int, bits: Bits) -> Any:
        grid = attribute["grids"][level]
        if self.numeric != "within" or grid is None:
            return attribute["values"][level]
        point = grid[0] + draw_below(grid[1], bits)
        if attribute["type"] == "date":
            return (EPOCH + datetime.timedelta(days=point)).date().isoformat()
        whole = attribute["decimals"] == 0 and attribute["type"] == "integer"
        return point if whole else point / 10 ** attribute["decimals"]

    def perturb(self, record: dict[str, Any], bits: Bits = secrets.randbits, where: str = "Record") -> dict[str, Any]:
        """Return the columns that leave for one record given by column name; {} where a missing value drops it."""
        levels = []
        for i, spec in enumerate(self.attributes):
            if spec["name"] not in record:
                raise PackError(f"{where} has no column '{spec['name']}'; give every column of the pack.")
            level = self.code(i, record[spec["name"]], where)
            if level is None:
                return {}
            levels.append(level)
        values = self.release(levels, bits)
        return {
            c["name"]: values[c["attribute"]] if c["role"] == "perturbed" else record.get(c["name"])
            for c in self.columns
            if c["role"] != "withheld"
        }


def number_pattern(decimal_mark: str) -> str:
    """Return the regular expression of a whole cell that is a number with this decimal mark."""
    mark, group = re.escape(decimal_mark), THOUSANDS[decimal_mark]
    whole = rf"(?:\d+|\d{{1,3}}(?:[{group}]\d{{3}})+)"
    infinite = r"[+\-\u2212]?(?:[iI][nN][fF](?:[iI][nN][iI][tT][yY])?|\u221e)"
    return rf"[+\-\u2212]?(?:{whole}(?:{mark}\d*)?|{mark}\d+)(?:[eE][+-]?\d+)?\s?%?|{infinite}"


def _boolean(text: str) -> str:
    word = text.lower()
    return "true" if word in TRUE_WORDS else "false" if word in FALSE_WORDS else text


def draw_below(bound: int, bits: Bits) -> int:
    """Return a uniform integer in [0, bound), by rejection."""
    width = (bound - 1).bit_length()
    while True:
        value = bits(width) if width else 0
        if value < bound:
            return value


# ---- files -----------------------------------------------------------------------------------------------------------


def cell(value: Any) -> str:
    """Return a value as a cell that no spreadsheet runs: an apostrophe before what would begin a formula."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(value)
    text = str(value)
    return "'" + text if text.startswith(DANGEROUS) and not NUMBER.fullmatch(text) else text


def name_columns(raw: Sequence[str]) -> list[str]:
    """Return distinct, single-line, non-empty names for the columns of a file, as the pack's were made."""
    plain = [re.sub(r"[\s\x00-\x1f\x7f\ufeff]+", " ", text).strip()[:100] for text in raw]
    plain = [text or f"column {i}" for i, text in enumerate(plain, start=1)]
    names: list[str] = []
    for text in plain:
        name, count = text, 1
        while name in names or (count > 1 and name in plain):
            count += 1
            name = f"{text} ({count})"
        names.append(name)
    return names


def perturb_rows(mechanism: Mechanism, rows: Iterable[list[str]], bits: Bits = secrets.randbits) -> Iterable[list[str]]:
    """Yield the lines of the output for the lines of the input, names first; rows that are dropped yield nothing."""
    names = [c["name"] for c in mechanism.columns]
    lines = iter(rows)
    header = name_columns(next(lines, [])) if mechanism.dialect["header"] else names
    positions = {name: i for i, name in enumerate(header)}
    yield [cell(c["name"]) for c in mechanism.columns if c["role"] != "withheld"]
    for number, row in enumerate(lines, start=2 if mechanism.dialect["header"] else 1):
        if not row or (len(row) == 1 and not row[0].strip()):
            continue
        record = {name: row[i] for name, i in positions.items() if i < len(row)}
        released = mechanism.perturb(record, bits, f"Row {number}")
        if released:
            yield [cell(value) for value in released.values()]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return 0, or 2 after one sentence on the error stream."""
    parser = argparse.ArgumentParser(prog="perturb.py", description="Perturb records under a verified mechanism pack.")
    parser.add_argument("--pack", required=True, help="the mechanism.json")
    parser.add_argument("--record", help="one record as JSON instead of a file; - reads it from the input stream")
    parser.add_argument("--numeric", choices=("representative", "within"), help="middle of a bin, or a draw within it")
    parser.add_argument("--encoding", help="of the input file; the pack says what it was made from")
    parser.add_argument("--separator", help="of the input file; the pack says what it was made from")
    parser.add_argument("input", nargs="?", help="CSV file with the columns of the pack")
    parser.add_argument("output", nargs="?", help="CSV file to write: commas, decimal points, UTF-8")
    parsed = parser.parse_args(arguments)
    try:
        return _run(parsed)
    except PackError as error:
        sys.stderr.write(f"{error}\n")
    except (OSError, UnicodeError, LookupError, csv.Error) as error:
        sys.stderr.write(f"A file cannot be read or written: {error}\n")
    return 2


def _run(parsed: argparse.Namespace) -> int:
    with open(parsed.pack, "rb") as file:
        mechanism = Mechanism(read_pack(file.read()))
    mechanism.numeric = parsed.numeric or mechanism.numeric
    up = decimal.Context(prec=6, rounding=decimal.ROUND_CEILING).create_decimal_from_float(mechanism.certified_epsilon)
    sys.stderr.write(f"Verified: epsilon {up.normalize():f} per unit of distance and record.\n")
    if parsed.record is not None:
        return _run_record(mechanism, sys.stdin.read() if parsed.record == "-" else parsed.record)
    if parsed.input is None:
        return 0
    if parsed.output is None or parsed.output == parsed.input:
        raise PackError("Give an output file beside the input file, under another name.")
    dialect = mechanism.dialect
    encoding = parsed.encoding or dialect["encoding"] or "utf-8"
    with open(parsed.input, encoding="utf-8-sig" if encoding == "utf-8" else encoding, newline="") as source:
        rows = csv.reader(
            source, delimiter=parsed.separator or dialect["separator"] or ",", quotechar=dialect["quote"] or '"',
            escapechar=dialect["escape"],
        )  # fmt: skip
        lines = list(perturb_rows(mechanism, rows))  # all before any is written: an error leaves no half file
    with open(parsed.output, "w", encoding="utf-8", newline="") as target:
        csv.writer(target, lineterminator="\n").writerows(lines)
    sys.stderr.write(f"{len(lines) - 1:,} records perturbed. A second run on the same records adds its epsilon.\n")
    for name, count in mechanism.strange.items():
        sys.stderr.write(f"Column '{name}': {count:,} values are no level of the pack and count to the nearest.\n")
    return 0


def _run_record(mechanism: Mechanism, text: str) -> int:
    try:
        record = json.loads(text)
    except ValueError as error:
        raise PackError("The record is not readable JSON; give an object with a value per column.") from error
    if not isinstance(record, dict):
        raise PackError("The record must be a JSON object with a value per column.")
    released = mechanism.perturb(record)
    if not released:
        raise PackError("The record has a missing value in a column without a missing level; it is not released.")
    sys.stdout.write(json.dumps(released, ensure_ascii=False) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
