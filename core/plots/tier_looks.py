"""What the tier pages share in their pictures: looks of the ways to release, ticks of log axes, labels of line ends."""

import math
from collections.abc import Sequence
from typing import Final

from core.plots.palette import LOOKS, MUTED, Look
from core.plots.template import Mark, sig
from core.tiers.comparison import GRADUAL_MU

TIER_LOOKS: Final[dict[str, Look]] = {
    "multi-tier": LOOKS["tuned"],
    "gradual": LOOKS["remapped"],
    "independent": Look(MUTED, "circle-open", "longdash", 1.25),
    GRADUAL_MU: Look(LOOKS["remapped"].colour, "triangle-down", "dot", 2.5),
    "ideal": Look(LOOKS["bound"].colour, "line-ew", "dot", 2.0),
}
"""Ways to release a number, in hues that already mean something: ours, a baseline, and neutral greys."""
GAP: Final = 15.0
"""Pixels between two labels at the end of lines."""
_PLAIN: Final = (1e-3, 1e6)
"""Numbers between these are written out on an axis."""
RAISED: Final = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
"""Digits as exponents."""


def log_ticks(low: float, high: float) -> Mark:
    """Return ticks of a logarithmic axis from `low` to `high`: powers of ten, with 2 and 5 where there is room.

    Examples
    --------
    >>> log_ticks(0.3, 4.0)["ticktext"]
    ['0.5', '1', '2']
    """
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    digits = (1,) if math.log10(high / low) > 2.6 else (1, 2, 5)
    every = max(1, math.ceil(math.log10(high / low) / 8))
    ticks = [d * 10.0**k for k in decades if k % every == 0 for d in digits if low <= d * 10.0**k <= high]
    if len(ticks) < 2:
        digits_after = max(0, 2 - math.floor(math.log10(high - low)) - 1) if high > low else 2
        ticks = sorted({round(low + (high - low) * share, digits_after) for share in (0.1, 0.37, 0.63, 0.9)})
    return {
        "tickvals": list(ticks),
        "ticktext": [_tick(tick) for tick in ticks],
    }


def _tick(value: float) -> str:
    """Return a tick as text: plain numbers where they are short, else a power of ten."""
    if _PLAIN[0] <= value < _PLAIN[1]:
        return f"{value:,.10g}"
    power = round(math.log10(value))
    plain = abs(value / 10.0**power - 1) < 1e-9
    return "10" + str(power).translate(RAISED) if plain else sig(value, 1)


def spread_labels(heights: Sequence[float], gap: float = GAP) -> list[float]:
    """Return pixel heights, near the given ones and in their order, that are at least `gap` apart.

    Examples
    --------
    >>> spread_labels([100.0, 102.0], 10.0)
    [96.0, 106.0]
    """
    order = sorted(range(len(heights)), key=lambda i: (heights[i], i))
    placed = [heights[i] for i in order]
    for _ in range(len(placed) * 4):
        for low in range(len(placed) - 1):
            short = gap - (placed[low + 1] - placed[low])
            if short > 0:
                placed[low] -= short / 2
                placed[low + 1] += short / 2
    result = [0.0] * len(order)
    for position, i in enumerate(order):
        result[i] = placed[position]
    return result
