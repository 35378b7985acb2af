"""Rational stand-ins for e^epsilon, always on the private side, and certified logarithms."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Final

DIGITS: Final = 60
"""Decimal digits of the exponentials and logarithms; a double has 17."""
MANTISSA: Final = 48
"""Significant bits of a rational probability: exact arithmetic stays quick, at most 2^-47 of the budget is lost."""
GUARD: Final = Decimal(10) ** -50
"""Relative margin far above the rounding of DIGITS digits and far below 2^-MANTISSA."""

LOG_GUARD: Final = Decimal(10) ** -56
"""Relative margin of a logarithm: above its rounding, and so small that GUARD outweighs it at every budget."""


def _exponential(exponent: Fraction) -> Decimal:
    with localcontext() as context:
        context.prec = DIGITS
        return (Decimal(exponent.numerator) / Decimal(exponent.denominator)).exp()


def ratio_above(epsilon: float, sensitivity: int = 1) -> Fraction:
    """Return a rational p slightly above exp(-epsilon/sensitivity), so that noise of ratio p is no less private.

    p has MANTISSA significant bits and a power of two below.

    Examples
    --------
    >>> 0 < ratio_above(1.0) - Fraction(math.exp(-1)) < Fraction(1, 2**47)
    True
    """
    with localcontext() as context:
        context.prec = DIGITS
        value = _exponential(-Fraction(epsilon) / sensitivity) * (1 + GUARD)
        shift = MANTISSA - math.frexp(float(value))[1]
        scaled = int(value * 2**shift) + 1
    return min(Fraction(scaled, 2**shift), 1 - Fraction(1, 2**MANTISSA))


def growth_below(epsilon: float) -> Fraction:
    """Return a rational slightly below exp(epsilon).

    Examples
    --------
    >>> growth_below(1.0) < Fraction("2.718281828459045235360288") < growth_below(1.0) + Fraction(1, 2**60)
    True
    """
    with localcontext() as context:
        context.prec = DIGITS + 140
        value = _exponential(Fraction(epsilon)) * (1 - GUARD)
        shift = max(MANTISSA + 15 - math.frexp(float(value))[1], 0)
        return Fraction(int(value * 2**shift), 2**shift)


def log_above(value: Fraction, factor: int = 1) -> float:
    """Return factor * ln(value) for value >= 1 as a double, rounded up.

    Examples
    --------
    >>> log_above(Fraction(1))
    0.0
    >>> 0 <= log_above(Fraction(2)) - math.log(2) < 1e-15
    True
    """
    if value == 1:
        return 0.0
    with localcontext() as context:
        context.prec = DIGITS
        exact = (Decimal(value.numerator) / Decimal(value.denominator)).ln() * factor * (1 + LOG_GUARD)
    rounded = float(exact)
    return rounded if Decimal(rounded) >= exact else math.nextafter(rounded, math.inf)
