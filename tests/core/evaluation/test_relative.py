"""The paper's table gives the paper's own averages; reductions and errors by hand."""

import pandas as pd
import pytest

from core.evaluation.paper_tables import ALLOCATION_GAIN, CASES, REDUCTIONS, RELATIVE_ERRORS, paper_table
from core.evaluation.relative import compare_pairs, largest_relative_error, reductions


@pytest.mark.parametrize("case", sorted(CASES))
def test_the_printed_table_gives_the_printed_reductions(case):
    table = paper_table(case)
    assert len(table) == 100
    for reference, (least, mean, largest) in REDUCTIONS[case].items():
        found = reductions(table, "DepHDP-m", reference)
        assert found.min() == pytest.approx(least, abs=0.06)
        assert found.mean() == pytest.approx(mean, abs=0.11)
        assert found.max() == pytest.approx(largest, abs=0.06)


def test_the_printed_table_gives_the_printed_gain_of_allocating():
    assert reductions(paper_table("adult"), "ALC+RMP", "SPL+RMP").mean() == pytest.approx(ALLOCATION_GAIN, abs=0.05)


@pytest.mark.parametrize("case", sorted(CASES))
def test_the_printed_relative_errors_are_those_of_printed_losses_and_bounds(case):
    wide = paper_table(case).pivot(index="epsilon", columns="method", values="loss")
    worst = max(((wide[f"DepHDP-{e}"] - wide[f"Bound-{e}"]) / wide[f"Bound-{e}"]).max() for e in "mr")
    assert 100 * worst == pytest.approx(RELATIVE_ERRORS[case], abs=0.4)


def test_pairs_and_errors_by_hand():
    frame = pd.DataFrame(
        {
            "method": ["ALC+RMP", "ALC+RMP", "DepHDP-m", "DepHDP-m", "Bound-m"],
            "epsilon": [1.0, 2.0, 1.0, 2.0, 1.0],
            "loss": [4.0, 2.0, 3.0, 1.0, 0.5],
            "relative_error": [0.1, 0.3, 0.0, 0.2, 0.0],
        }
    )
    row = compare_pairs(frame).iloc[0]
    assert (row["least"], row["mean"], row["largest"]) == (25.0, 37.5, 50.0)
    assert largest_relative_error(frame).to_dict() == {"ALC+RMP": 30.0, "DepHDP-m": 20.0}
