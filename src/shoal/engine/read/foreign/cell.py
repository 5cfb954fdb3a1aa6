"""How one value of a source without column types is spelled as text: by its own kind, whatever else the column holds."""

from __future__ import annotations

import datetime as dt
import decimal
import math
import uuid
from collections.abc import Callable
from typing import Any, Final

from shoal.engine.read.storage import EXACT
from shoal.errors import DataError


def spell_cell(value: Any, mark: str = ".") -> str | None:
    """Spell a value: a whole number without a point, other numbers in the shortest text that reads as the same, with this
    decimal mark; dates and times as ISO 8601 has them, times with a zone in UTC; truth values as true and false.

    Raises  DataError where the value is of no kind that has a spelling, such as bytes

    >>> [spell_cell(value) for value in (12, 12.0, 0.1, True, dt.date(2025, 3, 1), None, "12")]
    ['12', '12', '0.1', 'true', '2025-03-01', None, '12']
    """
    if value is None or isinstance(value, str):
        return value
    for kinds, spell in _SPELLINGS:
        if isinstance(value, kinds):
            text = spell(value)
            return text.replace(".", mark) if text is not None and isinstance(value, float | decimal.Decimal) else text
    raise DataError(
        "a column holds values that are no text, number, date or truth value",
        came=type(value).__name__,
        fix="leave the column out of the policy, or give it with a query that converts it to text",
    )


def _spell_float(value: float) -> str | None:
    if math.isnan(value):
        return None
    return str(int(value)) if value.is_integer() and abs(value) <= EXACT else repr(value)


def _spell_moment(value: dt.datetime) -> str:
    return (value if value.tzinfo is None else value.astimezone(dt.UTC).replace(tzinfo=None)).isoformat(sep=" ")


def _spell_difference(value: dt.timedelta) -> str:
    return spell_span(value.days * 86_400_000_000 + value.seconds * 1_000_000 + value.microseconds)


def spell_decimal(value: decimal.Decimal) -> str:
    """Spell an exact decimal with all its digits and no more.

    >>> [spell_decimal(decimal.Decimal(text)) for text in ("1.50", "1E+3", "-0.00", "Infinity")]
    ['1.5', '1000', '0', 'Infinity']
    """
    if not value.is_finite():
        return str(value)
    text = f"{value:f}"
    short = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if short == "-0" else short


def spell_span(microseconds: int) -> str:
    """Spell a time of day or a span of time as hours, minutes and seconds.

    >>> [spell_span(int(seconds * 10**6)) for seconds in (34200, 93600, -300.5)]
    ['09:30:00', '26:00:00', '-00:05:00.5']
    """
    minutes, rest = divmod(abs(microseconds), 60_000_000)
    fraction = f".{rest % 1_000_000:06d}".rstrip("0").rstrip(".")
    sign = "-" if microseconds < 0 else ""
    return f"{sign}{minutes // 60:02d}:{minutes % 60:02d}:{rest // 1_000_000:02d}{fraction}"


_SPELLINGS: Final[tuple[tuple[Any, Callable[[Any], str | None]], ...]] = (
    (bool, lambda value: "true" if value else "false"),
    (int, str),
    (float, _spell_float),
    (decimal.Decimal, lambda value: None if value.is_nan() else spell_decimal(value)),
    (dt.datetime, _spell_moment),
    ((dt.date, dt.time), lambda value: value.isoformat()),
    (dt.timedelta, _spell_difference),
    (uuid.UUID, str),
)
"""How each kind of Python value is spelled; a kind stands before those that it also counts as."""
