"""Numbers and cells as text: three significant digits, real minus signs, every name escaped."""

import html
import math
import re
from decimal import ROUND_CEILING, Context
from typing import Final

import numpy as np

MINUS: Final = "\N{MINUS SIGN}"
_SCIENTIFIC_BELOW: Final = 1e-4
"""Smaller numbers are written with a power of ten."""
_DIGITS: Final = 3
_ZERO: Final = 1e-12
"""Below this a cell of a table is what rounding leaves of 0."""
_EXPONENT: Final = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
_BLANKS: Final = re.compile(r"[\x00-\x1f\x7f]+")
_BOLD: Final = re.compile(r"\*\*(.+?)\*\*")


def sig(value: float) -> str:
    """Return a number with three significant digits, as the figures write it.

    Examples
    --------
    >>> sig(15.8342), sig(-2), sig(15358.2), sig(2.5e-7), sig(float("nan"))
    ('15.8', '−2.00', '15,358', '2.50 × 10⁻⁷', '–')
    """
    if math.isnan(value):
        return "–"
    sign, size = (MINUS if value < 0 else ""), abs(value)
    if math.isinf(size):
        return f"{sign}∞"
    if size == 0:
        return "0"
    rounded = f"{size:.2e}"
    mantissa, power = rounded.split("e")
    if size < _SCIENTIFIC_BELOW:
        return f"{sign}{mantissa} × 10{str(int(power)).translate(_EXPONENT)}"
    return f"{sign}{size:,.{max(0, 2 - math.floor(math.log10(float(rounded))))}f}"


def above(value: float, digits: int = 3) -> str:
    """Return a number rounded up, so that what is promised is never less than what holds.

    Examples
    --------
    >>> above(6.49416), above(2.72000689312, 6), above(4.0)
    ('6.50', '2.72001', '4.00')
    """
    if not math.isfinite(value):
        return sig(value)
    rounded = Context(prec=digits, rounding=ROUND_CEILING).create_decimal_from_float(value)
    return sig(float(rounded)) if digits == _DIGITS else f"{rounded.normalize():f}"


def percent(fraction: float) -> str:
    """Return a fraction as a percentage with one decimal.

    Examples
    --------
    >>> percent(0.1234)
    '12.3 %'
    """
    return f"{100 * fraction:.1f} %".replace("-", MINUS)


def text(value: object) -> str:
    """Return anything as HTML text: no name becomes markup, control characters become blanks.

    Examples
    --------
    >>> text('<b>"R&D"</b>')
    '&lt;b&gt;&quot;R&amp;D&quot;&lt;/b&gt;'
    """
    return html.escape(_BLANKS.sub(" ", str(value)))


def rich(sentence: str) -> str:
    """Return a sentence as HTML in which **bold** is the only markup.

    Examples
    --------
    >>> rich("**3** of <i>")
    '<b>3</b> of &lt;i&gt;'
    """
    return _BOLD.sub(r"<b>\1</b>", text(sentence))


def cell(value: object) -> str:
    """Return a table's cell as plain text: numbers with three digits, whole numbers in full, nothing as a dash."""
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, int | np.integer):
        return f"{value:,}".replace("-", MINUS)
    if isinstance(value, float | np.floating):
        return _nearly(float(value))
    return "–" if value is None else str(value)


def _nearly(value: float) -> str:
    return sig(0.0 if abs(value) < _ZERO else value)


def shorten(words: str, limit: int) -> str:
    """Return at most `limit` characters, cut with an ellipsis."""
    return words if len(words) <= limit else words[: limit - 1].rstrip() + "…"
