"""The only place that rounds, and always against us: costs go up, allowances go down.

Numbers of a guarantee enter as exact fractions (`exact`), are worked on as decimals of
`DIGITS` significant digits, and leave through `up` or `down` as the nearest float on the
pessimistic side. A float argument means the shortest decimal that names it: 0.1 is one tenth.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import (
    ROUND_CEILING,
    ROUND_FLOOR,
    ROUND_HALF_EVEN,
    Context,
    Decimal,
    Inexact,
    InvalidOperation,
    localcontext,
)
from fractions import Fraction

import numpy as np

from shoal.errors import ParameterError

DIGITS = 70
"""Significant digits of intermediate arithmetic."""

GUARD = Decimal(10) ** -40
"""Relative slack that covers every intermediate rounding: at most 10^7 operations of error 10^-70,
amplified by at most the class size (below 10^19) through the subtraction j - gamma*n (proof page `safe-k-tight`)."""

_LARGEST_EXPONENT = 5000

Number = int | float | str | Decimal | Fraction

_CONTEXT = Context(prec=DIGITS, Emin=-999_999_999, Emax=999_999_999)


@contextmanager
def precise() -> Iterator[Context]:
    """Work with `DIGITS` digits and an exponent range in which nothing underflows."""
    with localcontext(_CONTEXT) as context:
        yield context


def exact(value: Number, name: str = "number") -> Fraction:
    """The rational number that a person meant; text is read as text, never through a float."""
    if isinstance(value, Fraction):
        return value
    if isinstance(value, bool):
        raise ParameterError(f"{name} is not a number", came=value, allowed="a finite number")
    try:
        if isinstance(value, np.generic):
            value = value.item()
        if isinstance(value, float):
            value = repr(value)
        if isinstance(value, str | Decimal):
            _refuse_astronomic(value, name)
        if isinstance(value, str | Decimal | int):
            return Fraction(value)
    except (ValueError, OverflowError, InvalidOperation, ZeroDivisionError):
        pass
    raise ParameterError(f"{name} is not a finite number", came=value, allowed="a finite number")


def _refuse_astronomic(value: str | Decimal, name: str) -> None:
    """An exponent of a million would take a number with a million digits to be exact."""
    number = Decimal(value) if isinstance(value, Decimal) or "/" not in value else Decimal(1)
    if number.is_finite() and number and abs(number.adjusted()) > _LARGEST_EXPONENT:
        raise ParameterError(
            f"{name} is too large or too small to mean anything",
            came=value,
            allowed=f"powers of ten up to {_LARGEST_EXPONENT} either way",
        )


_SPELLING = re.compile(
    r"[+-]?(?:[0-9](?:_?[0-9])*(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?|[+-]?[0-9]+/[0-9]+", re.ASCII
)
_NOT_FINITE = re.compile(r"[+-]?\.?(?:inf(?:inity)?|nan)", re.ASCII | re.IGNORECASE)
LONGEST_NUMBER = 200
"""Letters that the text of a number may have: enough for every meaning, too few to stop the machine."""


def read_number(text: str, name: str = "number") -> Fraction:
    """Read a finite number exactly as a person types it: 1, .2, 1_000, 1e-6 or 1/3, with blanks around it or not.

    The one reader of numbers from text: options of commands, keys of policies and values of domains all go through it.

    Arguments  `text` is what was typed, `name` says in errors what it is the number of
    Raises     ParameterError for what is no number, is not finite, or is longer than 200 letters

    >>> read_number(" 1e-6 "), read_number("1/3")
    (Fraction(1, 1000000), Fraction(1, 3))
    """
    body = text.strip()
    if _NOT_FINITE.fullmatch(body):
        raise ParameterError(f"{name} is not finite", came=text, allowed="a finite number")
    if len(body) <= LONGEST_NUMBER and _SPELLING.fullmatch(body):
        return exact(body, name)
    came = text if body else repr(text)
    raise ParameterError(f"{name} is not a number", came=came, allowed="a number such as 0.2, 1e-6 or 1/3")


def whole(value: object, name: str, least: int = 1) -> int:
    """A whole number from `least` up; a truth value is not one."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer) or value < least:
        raise ParameterError(f"{name} is wrong", came=value, allowed=f"a whole number from {least} up")
    return int(value)


def decimal(value: Fraction) -> Decimal:
    """A fraction as a decimal of the current context's precision."""
    return Decimal(value.numerator) / Decimal(value.denominator)


def up(value: Decimal | Fraction | float) -> float:
    """The smallest float that is not below the value."""
    nearest = _nearest(value)
    return nearest if _exactly(nearest) >= _exactly(value) else math.nextafter(nearest, math.inf)


def down(value: Decimal | Fraction | float) -> float:
    """The largest float that is not above the value."""
    nearest = _nearest(value)
    return nearest if _exactly(nearest) <= _exactly(value) else math.nextafter(nearest, -math.inf)


def guarded_up(value: Decimal) -> float:
    """Round up a decimal that carries the errors of a long computation."""
    with precise():
        return up(value * (1 + GUARD))


def text_up(value: float | Decimal | Fraction, digits: int = 4) -> str:
    """Print with `digits` significant digits, rounded up: what we show is never below what holds."""
    return _text(value, digits, ROUND_CEILING)


def text_down(value: float | Decimal | Fraction, digits: int = 4) -> str:
    """Print with `digits` significant digits, rounded down."""
    return _text(value, digits, ROUND_FLOOR)


def text_near(value: float | Decimal | Fraction, digits: int = 6) -> str:
    """Print with `digits` significant digits, rounded to the nearest: for what a person typed, and for sizes."""
    return _text(value, digits, ROUND_HALF_EVEN)


def certificate_text(value: float | Decimal | Fraction, digits: int = 4) -> str:
    """A cost as format 1 of certificates writes it for ever: rounded up, with a power of ten of two digits below 0.0001."""
    rounded = Decimal(text_up(value, digits)).normalize()
    if not rounded or -5 < rounded.adjusted() < 15:
        return f"{rounded:f}"
    mantissa, exponent = f"{rounded:e}".split("e")
    return f"{mantissa}e{int(exponent):+03d}"


def exact_text(value: Fraction) -> str:
    """The shortest exact text of a fraction: a decimal where it ends, else numerator/denominator."""
    context = Context(prec=60)
    context.traps[Inexact] = False
    quotient = context.divide(Decimal(value.numerator), Decimal(value.denominator))
    if context.flags[Inexact]:
        return str(value)
    quotient = quotient.normalize(context)
    return _plain_or_power(quotient)


def _plain_or_power(value: Decimal) -> str:
    """The one way in which we write numbers: with a power of ten only where a person would count noughts."""
    return f"{value:f}" if -7 < value.adjusted() < 16 else f"{value:e}".replace("e+", "e")


def _nearest(value: Decimal | Fraction | float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _exactly(value: Decimal | Fraction | float) -> Decimal | Fraction | float:
    return Decimal(value) if isinstance(value, float) and math.isfinite(value) else value


def _text(value: float | Decimal | Fraction, digits: int, rounding: str) -> str:
    if isinstance(value, float):
        if not math.isfinite(value):
            return str(value)
        value = Decimal(repr(value))
    if isinstance(value, Fraction):
        with precise():
            value = decimal(value)
    if not value:
        return "0"
    rounded = Context(prec=digits, rounding=rounding).plus(value).normalize(Context(prec=digits))
    return _plain_or_power(rounded)
