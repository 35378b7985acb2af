"""Lists and probabilities that a person pastes."""

import pytest

from core.errors import InputError
from core.tiers.pasted import parse_budgets, parse_probabilities


@pytest.mark.parametrize(
    ("text", "values"),
    [("4 2,1", (4.0, 2.0, 1.0)), ("1\n2,5\n", (2.5, 1.0)), ("0,5; 2", (2.0, 0.5)), ("1,2", (2.0, 1.0))],
)
def test_pasted_budgets_are_read_with_either_decimal_mark(text, values):
    assert parse_budgets(text).values == values


@pytest.mark.parametrize(("text", "said"), [("4, x", "entry 2, “x”"), (" ", "is empty"), ("1e9", "from 1e-06 to 300")])
def test_what_is_no_budget_is_named(text, said):
    with pytest.raises(InputError, match=said):
        parse_budgets(text)


def test_duplicates_merge_with_a_note():
    assert "appeared more than once" in parse_budgets("2, 2, 1").notes[0]


def test_no_probabilities_are_refused():
    with pytest.raises(InputError, match="is empty"):
        parse_probabilities("")
