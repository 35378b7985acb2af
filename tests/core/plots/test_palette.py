"""Colours: contrast on both backgrounds, stability of groups, tokens."""

import itertools

import pytest

from core.plots import palette

BACKGROUNDS = [theme.background for theme in palette.THEMES.values()]


def channels(colour: str) -> list[float]:
    if colour.startswith("#"):
        return [int(colour[k : k + 2], 16) for k in (1, 3, 5)]
    return [float(word) for word in colour[colour.index("(") + 1 : -1].split(",")][:3]


def luminance(colour: str) -> float:
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (v / 255 for v in channels(colour))]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    bright, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


def test_contrast_by_hand() -> None:
    assert contrast("#000000", "#FFFFFF") == pytest.approx(21.0)


@pytest.mark.parametrize("background", BACKGROUNDS)
@pytest.mark.parametrize("colour", palette.GROUPS)
def test_groups_stand_out_on_both_backgrounds(colour: str, background: str) -> None:
    assert contrast(colour, background) >= 3.0


@pytest.mark.parametrize("theme", palette.THEMES)
def test_text_is_readable_in_both_themes(theme: str) -> None:
    tokens = palette.tokens(theme)
    for name in ("@text", "@muted"):
        assert contrast(tokens[name], tokens["@bg"]) >= 4.5
        assert contrast(tokens[name], tokens["@surface"]) >= 4.5
    assert contrast(tokens["@neutral"], tokens["@bg"]) >= 3.0


def test_groups_take_no_method_hue_and_all_differ() -> None:
    methods = {look.colour.upper() for look in palette.LOOKS.values()}
    groups = [colour.upper() for colour in palette.GROUPS]
    assert len(set(groups)) == 10
    assert not methods & set(groups)


def test_a_group_keeps_its_colour_when_it_grows_or_splits() -> None:
    assert palette.group_colour((2, 5, 9)) == palette.group_colour((9, 2)) == palette.group_colour((2,))
    assert palette.group_colour((3,)) != palette.group_colour((2,))
    assert palette.group_colour((12,)) == palette.group_colour((2,))


def test_every_look_has_a_second_code() -> None:
    for one, other in itertools.combinations(("DPN", "OPT", "tuned", "remapped", "uniform"), 2):
        assert palette.LOOKS[one].symbol != palette.LOOKS[other].symbol
    assert all(palette.LOOKS[name].width >= 2.5 for name in ("remapped", "uniform"))


def test_tokens_are_resolved_however_deep() -> None:
    deep = {"a": ["@text", {"b": ("@bg", 1, None)}], "c": "age@home"}
    assert palette.resolve(deep, "dark") == {"a": ["#E4E9EC", {"b": ["#10161B", 1, None]}], "c": "age@home"}
    assert palette.tokens("light")["@muted"] == "rgb(88,96,102)"
    assert palette.tokens("light")["@opt"] == "rgba(213,94,0,0.12)"
    assert palette.tokens("dark")["@opt"] == "rgba(213,94,0,0.2)"
    assert set(palette.tokens("light")) == set(palette.tokens("dark"))
