"""What the values of a column look like, how they are spelled as text, and where numbers, dates and times lie as points.

An integer is its own point, a date is the number of its day, a time the number of its microsecond. Points are fractions,
so that widths, edges and losses are exact and one arithmetic serves every type.
"""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal, InvalidOperation
from enum import Enum
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.errors import PolicyError

_EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001 - times in a table have no zone
_TICK = dt.timedelta(microseconds=1)


class Type(Enum):
    """The type of a column. In memory: int64, float64, str, bool, datetime64[D], datetime64[us].

    >>> Type("integer").numeric, Type.CATEGORY.numeric
    (True, False)
    """

    INTEGER = "integer"
    DECIMAL = "decimal"
    CATEGORY = "category"
    ORDINAL = "ordinal"
    TEXT = "text"
    BOOLEAN = "boolean"
    DATE = "date"
    DATETIME = "datetime"

    @property
    def numeric(self) -> bool:
        """Whether values are numbers, dates or times, so that intervals make sense."""
        return self in (Type.INTEGER, Type.DECIMAL, Type.DATE, Type.DATETIME)

    @property
    def discrete(self) -> bool:
        """Whether numeric values lie one step apart, so that they can be counted."""
        return self in (Type.INTEGER, Type.DATE)


DTYPES = {
    Type.INTEGER: "int64",
    Type.DECIMAL: "float64",
    Type.DATE: "datetime64[D]",
    Type.DATETIME: "datetime64[us]",
}
"""The NumPy type of each numeric type."""


# --- spelling ----------------------------------------------------------------------------------------------------------


def spell(value: object) -> str:
    """The text of one value as a policy spells it.

    >>> spell(True), spell(12)
    ('true', '12')
    """
    return str(value).lower() if isinstance(value, bool | np.bool_) else str(value)


def texts(values: npt.NDArray[Any]) -> list[str]:
    """The texts of values in memory, spelled as a policy spells them; texts stay as they are."""
    if values.dtype.kind == "b":
        return ["true" if value else "false" for value in values.tolist()]
    if values.dtype.kind in "iuM":
        values = values.astype(str)
    return list(values.tolist())


FORMULA_SIGNS = ("=", "+", "-", "@", "\t", "\r")
"""What a spreadsheet takes for the beginning of a formula when it opens a CSV file."""


def is_formula(text: str) -> bool:
    """Whether a spreadsheet would take a text for a formula: it begins like one and is no number.

    >>> is_formula("=1+1"), is_formula("-9"), is_formula("+49 30")
    (True, False, True)
    """
    if not text.startswith(FORMULA_SIGNS):
        return False
    try:
        return not math.isfinite(float(text.replace("_", " ").strip())) or text != text.strip()
    except ValueError:
        return True


# --- points ------------------------------------------------------------------------------------------------------------


def point(kind: Type, value: object) -> Fraction:
    """The point at which a value of a policy lies.

    Raises     PolicyError where the value is not of the type.

    >>> point(Type.DECIMAL, "0.1")
    Fraction(1, 10)
    """
    try:
        if kind is Type.DATE:
            return Fraction(_time(value, whole_days=True).toordinal())
        if kind is Type.DATETIME:
            return Fraction((_time(value, whole_days=False) - _EPOCH) // _TICK)
        found = number(value)
    except (ValueError, TypeError, InvalidOperation, OverflowError):
        raise PolicyError(f"not a value of type {kind.value}", came=spell(value), allowed=_ALLOWED[kind]) from None
    if kind is Type.INTEGER and found.denominator != 1:
        raise PolicyError("not a value of type integer", came=spell(value), allowed=_ALLOWED[kind])
    return found


def number(value: object) -> Fraction:
    """The exact number that a text stands for, never through a float: `0.1` is one tenth."""
    if isinstance(value, bool):
        raise TypeError
    return Fraction(value) if isinstance(value, Fraction) else Fraction(Decimal(str(value)))


_ALLOWED = {
    Type.INTEGER: "a whole number",
    Type.DECIMAL: "a number",
    Type.DATE: "a date such as 2025-03-01",
    Type.DATETIME: "a date, or a time such as 2025-03-01 14:00, without a zone",
}


def time_at(kind: Type, at: Fraction) -> dt.datetime:
    """The time at a point of type date or datetime."""
    if kind is Type.DATE:
        return dt.datetime.fromordinal(int(at))
    return _EPOCH + int(at) * _TICK


def value_at(kind: Type, at: Fraction) -> Any:
    """The value at a point, as levels carry it: int, float, date or datetime."""
    if kind is Type.INTEGER:
        return int(at)
    if kind is Type.DECIMAL:
        return float(at)
    return time_at(kind, at).date() if kind is Type.DATE else time_at(kind, at)


def text_at(kind: Type, at: Fraction) -> str:
    """The value at a point as people write it.

    >>> text_at(Type.DATE, point(Type.DATE, "2025-03-01"))
    '2025-03-01'
    """
    if kind is Type.DECIMAL:
        return decimal_text(at)
    if kind is Type.DATETIME:
        time = time_at(kind, at)
        shown = time.isoformat(sep=" ", timespec="auto" if time.second or time.microsecond else "minutes")
        return shown.removesuffix(" 00:00")
    return str(value_at(kind, at))


def decimal_text(at: Fraction) -> str:
    """A fraction as a decimal number without an exponent, to at most 40 decimal places."""
    places = 0
    while places < 40 and (at * 10**places).denominator != 1:
        places += 1
    whole = abs(int(at * 10**places))
    digits = str(whole).rjust(places + 1, "0")
    sign = "-" if at < 0 and whole else ""
    return sign + (f"{digits[:-places]}.{digits[-places:]}" if places else digits)


def _time(value: object, *, whole_days: bool) -> dt.datetime:
    if isinstance(value, np.datetime64):
        value = str(value)
    if isinstance(value, str):
        value = dt.datetime.fromisoformat(value)
    if isinstance(value, dt.date) and not isinstance(value, dt.datetime):
        value = dt.datetime(value.year, value.month, value.day)  # noqa: DTZ001
    if not isinstance(value, dt.datetime) or value.tzinfo is not None:
        raise TypeError
    if whole_days and value.time() != dt.time():
        raise ValueError
    return value
