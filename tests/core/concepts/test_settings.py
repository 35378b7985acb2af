"""Settings of the concepts: their ranges, and presets that are valid and different."""

import dataclasses
from typing import Any

import pytest

from core.concepts import PRESETS, Settings
from core.concepts.settings import PARTS, rows_from
from core.errors import InputError


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"point_epsilon": 0.0}, "Point epsilon must be from 0.05 to 3"),
        ({"peak": 1.5}, "Peak must be from 0 to 1"),
        ({"first_faces": 6}, "First faces must be from 4 to 5"),
        ({"second_point": 3}, "two places"),
        ({"rows": ((PARTS, 0, 1), (PARTS, 0, 0), (PARTS, 0, 0))}, "sum to 1"),
        ({"p": 0.5}, "metric exponent"),
    ],
)
def test_a_setting_out_of_range_is_refused_with_a_sentence(change: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        dataclasses.replace(Settings(), **change)


def test_presets_differ_and_the_first_is_the_default() -> None:
    assert PRESETS["start"].settings == Settings()
    assert len({preset.settings for preset in PRESETS.values()}) == len(PRESETS) >= 4
    assert all(preset.title and preset.purpose for preset in PRESETS.values())


def test_rows_keep_their_sum_whatever_rounding_leaves() -> None:
    (row,) = rows_from(((1 / 3, 1 / 3, 1 / 3),))
    assert sum(row) == PARTS
    assert max(row) - min(row) <= 1
