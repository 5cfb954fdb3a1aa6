"""What a draw accepts: whole numbers and fractions, never a float, whose last bits nobody chose."""

from __future__ import annotations

from fractions import Fraction
from numbers import Integral

from shoal.errors import ParameterError


def whole(value: object, name: str, low: int, high: int | None = None) -> int:
    """A whole number from `low` to `high`, or an error that says so."""
    allowed = f"a whole number from {low} " + ("up" if high is None else f"to {high}")
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise ParameterError(f"{name} is not a whole number", came=repr(value), allowed=allowed)
    number = int(value)
    if number < low or (high is not None and number > high):
        raise ParameterError(f"{name} is out of range", came=number, allowed=allowed)
    return number


def fraction(value: object, name: str) -> Fraction:
    """An exact fraction; a float is refused, because 0.1 as a float is not one tenth."""
    if isinstance(value, Fraction):
        return value
    if not isinstance(value, bool) and isinstance(value, Integral):
        return Fraction(int(value))
    raise ParameterError(
        f"{name} is not exact",
        came=repr(value),
        allowed="a Fraction or a whole number",
        fix="write Fraction('0.1') for one tenth",
    )


def probability(value: object, name: str) -> Fraction:
    """An exact fraction from 0 to 1."""
    number = fraction(value, name)
    if not 0 <= number <= 1:
        raise ParameterError(f"{name} is not a probability", came=number, allowed="a fraction from 0 to 1")
    return number
