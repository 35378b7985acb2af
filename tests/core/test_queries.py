"""Numbers asked of a table."""

import numpy as np
import pandas as pd
import pytest

from core.errors import InputError
from core.queries import count_levels, count_rows, numeric_columns, sum_column
from tests.core.synthetic import some_records


def test_counts_add_up_to_the_rows():
    records = some_records(0)
    counts = count_levels(records, 0)
    assert counts.sum() == len(records)
    for level, count in enumerate(counts):
        query = count_rows(records, 0, level)
        assert (query.value, query.sensitivity, query.rows) == (count, 1, len(records))
    with pytest.raises(InputError, match="pick another"):
        count_rows(records, 0, len(counts))


def test_a_sum_is_clamped_and_rounded_and_knows_its_sensitivity():
    frame = pd.DataFrame({"x": [1.4, 200.0, np.nan, -7.0], "name": list("abcd"), "flag": [True, False, True, True]})
    assert numeric_columns(frame) == ("x",)
    query = sum_column(frame, "x", -5, 100)
    assert (query.value, query.sensitivity, query.rows) == (1 + 100 - 5, 100, 3)
    for low, high in ((3, 3), (5, 1), (0, 20_000)):
        with pytest.raises(InputError, match="lower one first"):
            sum_column(frame, "x", low, high)
    with pytest.raises(InputError, match="Only a column of numbers"):
        sum_column(frame, "name", 0, 1)
