"""Numbers as words of a sentence, for exercises and the worksheet."""

import math
from typing import Final

_PLAIN_BELOW: Final = 1e6
_PLAIN_FROM: Final = 1e-4


def say(value: float) -> str:
    """Return a number with three significant digits and no idle zeros.

    Examples
    --------
    >>> say(2.71828), say(5.0), say(-0.25), say(float("inf")), say(22026.466), say(1.07e13)
    ('2.72', '5', '−0.25', '∞', '22,000', '1.07 × 10^13')
    """
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    size = abs(value)
    if size and not _PLAIN_FROM <= size < _PLAIN_BELOW:
        mantissa, power = f"{value:.2e}".split("e")
        text = f"{float(mantissa):g} × 10^{int(power)}"
    else:
        text = f"{float(f'{value:.3g}'):,.10g}"
    return text.replace("-", "−")
