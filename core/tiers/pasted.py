"""Numbers that a person pastes as text: a privacy list, or the probabilities of a noise."""

import re
from typing import Final

from core.errors import InputError
from core.tiers.budgets import FIELD, TIER_LIMIT, Budgets, clean_budgets
from core.tiers.checker import FIELD as NOISE_FIELD
from core.tiers.checker import LENGTH_LIMIT

_BETWEEN: Final = re.compile(r"[\s,;|]+")
_DECIMAL_COMMA: Final = re.compile(r"\d,\d")
_SHOWN: Final = 20
"""Characters of a wrong entry that a sentence repeats."""


def _numbers(text: str, field: str, example: str) -> list[float]:
    """Return the numbers of a text; commas are decimal marks only where semicolons or line breaks separate entries.

    Raises
    ------
    InputError
        If an entry is no number.
    """
    if _DECIMAL_COMMA.search(text) and (";" in text or "\n" in text.strip()) and "." not in text:
        text = _DECIMAL_COMMA.sub(lambda match: match.group().replace(",", "."), text)
    numbers = []
    for position, word in enumerate((word for word in _BETWEEN.split(text) if word), start=1):
        try:
            numbers.append(float(word))
        except ValueError:
            shown = word if len(word) <= _SHOWN else word[:_SHOWN] + "…"
            raise InputError(
                field, f"{field}: entry {position}, “{shown}”, is no number; write for example {example}."
            ) from None
    return numbers


def parse_budgets(text: str) -> Budgets:
    """Return the privacy list that a text holds, sorted from the largest budget down, with notes on what was changed.

    Entries are separated by commas, semicolons, blanks or line breaks.

    Parameters
    ----------
    text : str
        What was pasted.

    Raises
    ------
    InputError
        If it holds no number, something that is no number, or a number that is no budget.

    Examples
    --------
    >>> parse_budgets("0.5, 2; 1").values
    (2.0, 1.0, 0.5)
    >>> parse_budgets("0,5; 2").values
    (2.0, 0.5)
    """
    numbers = _numbers(text, FIELD, "4, 2, 1, 0.5")
    if not numbers:
        raise InputError(
            FIELD, f"{FIELD} is empty; write 1 to {TIER_LIMIT} budgets separated by commas, for example 4, 2, 1."
        )
    return clean_budgets(numbers)


def parse_probabilities(text: str) -> tuple[float, ...]:
    """Return the probabilities that a text holds; what they must satisfy is checked by `check_residual`.

    Raises
    ------
    InputError
        If it holds no number, or something that is no number.

    Examples
    --------
    >>> parse_probabilities("0.25 0.5 0.25")
    (0.25, 0.5, 0.25)
    """
    numbers = _numbers(text, NOISE_FIELD, "0.25, 0.5, 0.25")
    if not 1 <= len(numbers) <= LENGTH_LIMIT:
        raise InputError(NOISE_FIELD, f"{NOISE_FIELD} is empty; write its probabilities, for example 0.25, 0.5, 0.25.")
    return tuple(numbers)
