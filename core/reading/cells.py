"""Columns of text or of mixed cells turned into numbers, dates or labels, with a sentence for every liberty taken."""

import datetime
import math
import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

MISSING_TOKENS: Final = frozenset(
    {"", "na", "n/a", "#n/a", "#na", "<na>", "nan", "-nan", "null", "none", "nil", "nat", "?"}
    | {"#div/0!", "#ref!", "#value!", "#name?", "#num!", "#null!", "1.#qnan", "-1.#ind"}
)
"""Cells that count as missing, in lower case; every one but the empty cell is reported."""
TRUE_WORDS: Final = frozenset({"true", "t", "yes", "y", "on", "1", "1.0"})
FALSE_WORDS: Final = frozenset({"false", "f", "no", "n", "off", "0", "0.0"})
SPELLINGS: Final = 3
"""Ways to capitalise a word that are looked for."""
DATE_FORMATS: Final = (
    ("%Y-%m-%d", "year-month-day"),
    ("%Y/%m/%d", "year/month/day"),
    ("%d.%m.%Y", "day.month.year"),
    ("%d/%m/%Y", "day/month/year"),
    ("%m/%d/%Y", "month/day/year"),
    ("%d-%m-%Y", "day-month-year"),
    ("%m-%d-%Y", "month-day-year"),
)
TIME_FORMATS: Final = ("", " %H:%M", " %H:%M:%S", "T%H:%M", "T%H:%M:%S", " %H:%M:%S.%f", "T%H:%M:%S.%f")
MOSTLY: Final = 0.5
"""Share of numbers from which a column that stays text is reported with its first cell that is not a number."""
NAME_LIMIT: Final = 100
"""Characters of a column name that are kept."""
SHOWN: Final = 40
"""Characters of a cell that a sentence quotes."""

_INVISIBLE = r"[\s\x00-\x1f\x7f-\x9f\ufeff\u200e\u200f\u202a-\u202e\u2066-\u2069]+"
"""Line ends, control characters, and marks that turn the direction of what follows a name in a sentence."""
_DATE = r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}(?:[ T]\d{1,2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?)?"
_INFINITY = r"[+\-−]?(?:[iI][nN][fF](?:[iI][nN][iI][tT][yY])?|∞)"
_THOUSANDS: Final = {".": ",'’\u00a0\u202f ", ",": ".'’\u00a0\u202f "}


def number_pattern(decimal: str) -> str:
    """Return the regular expression of a whole cell that is a number with this decimal mark."""
    mark, group = re.escape(decimal), _THOUSANDS[decimal]
    whole = rf"(?:\d+|\d{{1,3}}(?:[{group}]\d{{3}})+)"
    return rf"[+\-−]?(?:{whole}(?:{mark}\d*)?|{mark}\d+)(?:[eE][+-]?\d+)?\s?%?|{_INFINITY}"


def one_line(text: str, length: int | None = None) -> str:
    r"""Return the start of a text for use inside a sentence: no line ends, control characters or marks of direction.

    Examples
    --------
    >>> one_line("a\r\nb c", 4)
    'a b'
    """
    return re.sub(_INVISIBLE, " ", text[:length])


def unique_names(raw: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return distinct, single-line, non-empty column names, and findings about what was changed.

    Examples
    --------
    >>> unique_names(["a", "", "a"])[0]
    ['a', 'column 2', 'a (2)']
    """
    findings, names = [], []
    for position, text in enumerate(raw, start=1):
        name = one_line(text).strip()
        if not name:
            findings.append(f"Column {position} has no name and is called 'column {position}'.")
        if len(name) > NAME_LIMIT:
            findings.append(f"The name of column {position} is cut to {NAME_LIMIT} characters.")
        names.append(name[:NAME_LIMIT] or f"column {position}")
    taken = set(names)
    seen: set[str] = set()
    for position, name in enumerate(names):
        count, new = 1, name
        while new in seen or (count > 1 and new in taken):
            count += 1
            new = f"{name} ({count})"
        if new != name:
            findings.append(f"Column {position + 1} repeats the name '{name}' and is called '{new}'.")
        names[position] = new
        seen.add(new)
    return names, findings


def convert_text(cells: "pd.Series[str]", name: str, decimal: str, lines: NDArray[Any]) -> tuple[pd.Series, list[str]]:
    """Return a column of text as numbers, dates or labels; missing cells become nan.

    Parameters
    ----------
    cells : Series of str (N,)
        The cells as written.
    name : str
        The column's name, for sentences.
    decimal : {'.', ','}
        Decimal mark; the other one, spaces and apostrophes may separate thousands.
    lines : ndarray of int (N,)
        Line of each cell, for sentences.
    """
    codes, values = pd.factorize(cells.str.strip())  # everything below is done once per distinct value
    distinct = pd.Series(values, dtype="str")
    counts = np.bincount(codes, minlength=len(distinct))
    missing = distinct.str.lower().isin(MISSING_TOKENS)
    findings = _report_tokens(distinct[missing], counts, name)
    present = distinct[~missing]
    if present.empty:
        return pd.Series(np.full(len(cells), np.nan)), [*findings, f"Column '{name}' has no values at all."]
    numeric = _matches(_listed(present), number_pattern(decimal))
    if numeric.all():
        converted = _to_numbers(present, counts, name, decimal, findings)
    else:
        if counts[present.index[numeric]].sum() >= MOSTLY * counts[present.index].sum():
            stray = present.index[~numeric]
            first = int(np.flatnonzero(np.isin(codes, stray))[0])
            shown = one_line(distinct[codes[first]], SHOWN)
            findings.append(
                f"Column '{name}' is read as text because {counts[stray].sum()} of its {counts[present.index].sum()} "
                f"values are not numbers, first '{shown}' in line {lines[first]}; correct or "
                "empty them if it should be numeric."
            )
        dates = _to_dates(present, name, findings)
        converted = _unify_booleans(present, name, findings) if dates is None else dates
    return converted.reindex(codes).reset_index(drop=True), findings


def _listed(cells: pd.Series) -> list[str]:
    """Return cells as Python strings, at once: going through a column of text one by one takes ten times as long."""
    texts: list[str] = cells.to_numpy(dtype=object).tolist()
    return texts


def _matches(texts: Iterable[str], pattern: str) -> NDArray[np.bool_]:
    compiled = re.compile(pattern)
    return np.array([compiled.fullmatch(text) is not None for text in texts], dtype=bool)


def _report_tokens(tokens: pd.Series, counts: NDArray[Any], name: str) -> list[str]:
    return [
        f"In column '{name}' the cells reading '{token}' ({counts[code]:,}) count as missing."
        for code, token in zip(tokens.index.to_numpy(), tokens.tolist(), strict=True)
        if token
    ]


def _to_numbers(present: pd.Series, counts: NDArray[Any], name: str, decimal: str, findings: list[str]) -> pd.Series:
    """Return distinct values that all match `number_pattern` as numbers, or as they are where they look like codes."""
    texts = _listed(present)
    if _matches(texts, r"[+-]?0\d+").any():
        findings.append(f"Column '{name}' has numbers with leading zeros and is read as text: they look like codes.")
        return present
    written = set("".join(texts))
    if "%" in written:
        findings.append(f"Column '{name}' holds percentages: 12% is read as the number 12.")
    marks = {decimal: ".", "−": "-", "∞": "inf", "%": ""} | dict.fromkeys(_THOUSANDS[decimal], "")
    table = str.maketrans(marks)
    odd = written & {mark for mark, meant in marks.items() if mark != meant}
    plain = [text.translate(table) for text in texts] if odd else texts
    grouped = _matches(texts if odd else (), rf".*\d[{_THOUSANDS[decimal]}]\d.*")
    if grouped.any():
        first = int(np.argmax(grouped))
        shown = one_line(texts[first], SHOWN)
        findings.append(f"Column '{name}' has thousands separators: {shown} is read as {float(plain[first]):.15g}.")
    numbers = pd.Series([float(text) for text in plain], index=present.index, dtype="float64")
    infinite = ~np.isfinite(numbers)
    if infinite.any():
        total = counts[numbers.index[infinite]].sum()
        findings.append(f"In column '{name}' infinite or too large numbers ({total}) count as missing.")
        return numbers[~infinite]
    return numbers.astype("int64") if _matches(plain, r"[+-]?\d{1,15}").all() else numbers


def _to_dates(present: pd.Series, name: str, findings: list[str]) -> pd.Series | None:
    """Return distinct values as dates if one format fits them all."""
    if not _matches(_listed(present), _DATE).all():
        return None
    fitting = []
    for date, words in DATE_FORMATS:
        for time in TIME_FORMATS:
            dates = pd.to_datetime(present, format=date + time, errors="coerce")
            if dates.notna().all():
                fitting.append((dates, words))
                break
    if not fitting:
        return None
    dates, words = fitting[0]
    doubt = f", though {fitting[1][1]} would fit too: write year-month-day if that is wrong" if len(fitting) > 1 else ""
    findings.append(f"Column '{name}' is read as dates, {words}, and compared by the number of days{doubt}.")
    return dates


def _unify_booleans(present: pd.Series, name: str, findings: list[str]) -> pd.Series:
    """Return 'true' and 'false' where a column spells them in more than two ways."""
    words = TRUE_WORDS | FALSE_WORDS
    if not 2 < len(present) <= SPELLINGS * len(words) or not set(present.str.lower()) <= words:
        return present
    findings.append(f"Column '{name}' spells yes and no in {len(present)} ways; they are read as 'true' and 'false'.")
    return present.str.lower().isin(TRUE_WORDS).map({True: "true", False: "false"}).astype("str")


def cell_text(cell: object) -> str:
    """Return one typed cell as it would be written in a text file with a decimal point; empty for none."""
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float):
        return "" if math.isnan(cell) else f"{cell:.0f}" if cell.is_integer() and abs(cell) < 1e15 else repr(cell)
    if isinstance(cell, datetime.datetime):
        return cell.isoformat(sep=" ") if cell.time() != datetime.time() else cell.date().isoformat()
    return str(cell)


def convert_cells(cells: Sequence[object], name: str, decimal: str, lines: NDArray[Any]) -> tuple[pd.Series, list[str]]:
    """Return a column of typed cells: numbers and dates as they are, anything mixed by way of its text."""
    kinds = {type(c) for c in cells if c is not None}
    if kinds and kinds <= {int, float}:
        return tidy_numbers(pd.Series(np.array(cells, dtype=float)), name)
    if kinds and kinds <= {datetime.datetime, datetime.date}:
        note = f"Column '{name}' holds dates, compared by the number of days."
        return pd.Series(pd.to_datetime(np.array(cells, dtype=object), errors="coerce")), [note]
    texts = pd.Series([cell_text(c) for c in cells], dtype="str")
    # Typed numbers are written with a point, so a decimal comma can only hold where every cell is text.
    return convert_text(texts, name, "." if kinds & {int, float} else decimal, lines)


def tidy_numbers(numbers: pd.Series, name: str) -> tuple[pd.Series, list[str]]:
    """Return numbers without infinities, as int64 where all are whole and present."""
    findings = []
    infinite = np.isinf(numbers)
    if infinite.any():
        findings.append(f"In column '{name}' {int(infinite.sum())} infinite numbers count as missing.")
        numbers = numbers.mask(infinite)
    if numbers.isna().all():
        findings.append(f"Column '{name}' has no values at all.")
    elif not numbers.isna().any() and (numbers == np.floor(numbers)).all() and (numbers.abs() < 1e15).all():
        numbers = numbers.astype("int64")
    return numbers, findings
