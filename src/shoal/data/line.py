"""Numbers, dates and times of a domain as exact points on a line, and back.

An integer is itself, a date the number of its day, a time its microsecond. So widths, edges and losses are
computed in fractions, and one arithmetic serves every type.
"""

from __future__ import annotations

import bisect
import datetime as dt
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any

import numpy as np

from shoal.data.domain import Domain, Interval, Values
from shoal.data.type import Type, spelled
from shoal.errors import PolicyError

_EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001 - times in a table have no zone
_TICK = dt.timedelta(microseconds=1)


def point(kind: Type, value: object) -> Fraction:
    """Where a value of a policy lies; PolicyError if it is none of the type."""
    try:
        if kind is Type.DATE:
            return Fraction(_time(value, whole_days=True).toordinal())
        if kind is Type.DATETIME:
            return Fraction((_time(value, whole_days=False) - _EPOCH) // _TICK)
        found = number(value)
    except (ValueError, TypeError, InvalidOperation, OverflowError):
        raise PolicyError(f"not a value of type {kind.value}", came=spelled(value), allowed=_ALLOWED[kind]) from None
    if kind is Type.INTEGER and found.denominator != 1:
        raise PolicyError("not a value of type integer", came=spelled(value), allowed=_ALLOWED[kind])
    return found


def number(value: object) -> Fraction:
    """A number from its text, never through a float: `0.1` is one tenth."""
    if isinstance(value, bool):
        raise TypeError
    return Fraction(value) if isinstance(value, Fraction) else Fraction(Decimal(str(value)))


_ALLOWED = {
    Type.INTEGER: "a whole number",
    Type.DECIMAL: "a number",
    Type.DATE: "a date such as 2025-03-01",
    Type.DATETIME: "a date, or a time such as 2025-03-01 14:00, without a zone",
}


def moment(kind: Type, at: Fraction) -> dt.datetime:
    """The time at a point of a line of dates or times."""
    if kind is Type.DATE:
        return dt.datetime.fromordinal(int(at))
    return _EPOCH + int(at) * _TICK


def edge(kind: Type, at: Fraction) -> Any:
    """The value at a point, as the levels carry it: int, float, date or datetime."""
    if kind is Type.INTEGER:
        return int(at)
    if kind is Type.DECIMAL:
        return float(at)
    return moment(kind, at).date() if kind is Type.DATE else moment(kind, at)


def text(kind: Type, at: Fraction) -> str:
    """A point as people write it."""
    if kind is Type.DECIMAL:
        return plain(at)
    if kind is Type.DATETIME:
        time = moment(kind, at)
        shown = time.isoformat(sep=" ", timespec="auto" if time.second or time.microsecond else "minutes")
        return shown.removesuffix(" 00:00")
    return str(edge(kind, at))


def plain(at: Fraction) -> str:
    """A fraction as a decimal number without an exponent."""
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


@dataclass(frozen=True)
class Line:
    """The declared domain as points: its ends, and what is listed where only some values may occur."""

    type: Type
    low: Fraction
    high: Fraction
    listed: tuple[Fraction, ...] | None = None

    @classmethod
    def of(cls, kind: Type, domain: Domain) -> Line:
        """The line of a domain of numbers, dates or times."""
        if isinstance(domain, Interval):
            return cls(kind, point(kind, domain.low), point(kind, domain.high))
        if isinstance(domain, Values):
            listed = tuple(sorted(point(kind, value) for value in domain.values))
            return cls(kind, listed[0], listed[-1], listed)
        raise PolicyError(
            "intervals need a domain with two ends", came=domain.words(), fix="declare it as domain: [low, high]"
        )

    def size(self, start: Fraction | None, end: Fraction | None) -> Fraction:
        """How much of the domain lies in [start, end): values where they can be counted, else width."""
        if self.listed is not None:
            first = 0 if start is None else bisect.bisect_left(self.listed, start)
            last = len(self.listed) if end is None else bisect.bisect_left(self.listed, end)
            return Fraction(max(0, last - first))
        step = 1 if self.type.discrete else 0
        low = self.low if start is None else max(start, self.low)
        high = self.high + step if end is None else min(end, self.high + step)
        return max(Fraction(0), high - low)

    @property
    def counted(self) -> bool:
        """Whether sizes are numbers of values."""
        return self.type.discrete or self.listed is not None

    def edge(self, at: Fraction) -> Any:
        """The value at a point."""
        return edge(self.type, at)

    def text(self, at: Fraction) -> str:
        """A point as people write it."""
        return text(self.type, at)

    def between(self, start: Fraction, end: Fraction) -> str:
        """The label of [start, end); a single whole number is written as such."""
        if self.type.discrete and end - start == 1:
            return self.text(start)
        return f"[{self.text(start)}, {self.text(end)})"
