"""A declared domain by the type of its attribute: texts of the policy become numbers, dates and times."""

from __future__ import annotations

import datetime as dt
import re
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from pydantic_core import PydanticCustomError

from shoal.data.domain import Domain, Interval, Pattern, Values
from shoal.data.schema import Type
from shoal.errors import PolicyError
from shoal.guarantee.rounding import exact_text
from shoal.policy.model.attribute import DomainAsked
from shoal.policy.model.scalar import MOST_LETTERS, exact_number, whole_number
from shoal.policy.text.problem import shown

_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[ T][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?)?", re.ASCII)

_TIMES = re.compile(r"[{,]([0-9]+)(?=[,}])", re.ASCII)

BOOLEAN = Values(("false", "true"))
"""The domain of every boolean."""


def domain(asked: DomainAsked | None, kind: Type) -> Domain | None:
    """The domain that a policy declares, or None; PolicyError where type and domain do not fit."""
    if kind is Type.BOOLEAN:
        if asked is not None:
            raise PolicyError("a boolean is true or false", fix="leave the domain out")
        return BOOLEAN
    if asked is None:
        return None
    if asked.interval is not None:
        return _interval(asked.interval, kind)
    if asked.values is not None:
        return _values(asked.values, kind)
    if kind is not Type.TEXT:
        raise PolicyError(f"a pattern for type {kind.value}", allowed=_ALLOWED[kind], fix="patterns are for type: text")
    return _pattern(asked.pattern or "", asked.length)


def _pattern(pattern: str, length: int | None) -> Pattern:
    times = [number for number in _TIMES.findall(pattern) if len(number) > 4 or int(number) > MOST_LETTERS]
    if times:
        allowed = f"at most {MOST_LETTERS} times"
        raise PolicyError("a pattern repeats a letter too often", came=shown(times[0]), allowed=allowed)
    return Pattern(pattern, length)


def _interval(ends: tuple[str, ...], kind: Type) -> Interval:
    if kind not in _READERS:
        raise PolicyError(f"an interval for type {kind.value}", allowed=_ALLOWED[kind])
    if len(ends) != 2:
        fix = "for single values write {values: [...]}" if kind in _LISTED else None
        raise PolicyError("an interval has two ends", came=f"{len(ends)} values", allowed=_ALLOWED[kind], fix=fix)
    low, high = (value_of(end, kind) for end in ends)
    _refuse_last_day(high, kind)
    return Interval(low, high)


def _refuse_last_day(last: Any, kind: Type) -> None:
    """Intervals of days are named by the day after their last, and the calendar has none after this one."""
    if kind is Type.DATE and last == dt.date.max:
        raise PolicyError(
            "the last day that there is, which no interval can end with", came=last, allowed="up to 9999-12-30"
        )


def _values(values: tuple[str, ...], kind: Type) -> Values:
    if kind in _READERS and kind not in _LISTED:
        raise PolicyError(f"a list of values for type {kind.value}", allowed=_ALLOWED[kind])
    if kind in _LISTED:
        found = [value_of(value, kind) for value in values]
        _refuse_last_day(max(found, default=None), kind)
        values = tuple(map(str, found))
    if twice := [value for value, count in Counter(values).items() if count > 1]:
        raise PolicyError("a value is listed twice", came=shown(twice[0]), fix="list each value once")
    return Values(values)


def value_of(text: str, kind: Type) -> Any:
    """One number, date or time from its text; dates in the ISO form alone."""
    try:
        return _READERS[kind](text.strip())
    except (PydanticCustomError, ValueError, OverflowError):
        raise PolicyError(f"not a value of type {kind.value}", came=shown(text), allowed=_ALLOWED[kind]) from None


def spelled(text: str, kind: Type) -> str:
    """A number, date or time in its one spelling: `1_000` and `1e3` are `1000` for a decimal."""
    value = value_of(text, kind)
    if kind is Type.DECIMAL:
        return exact_text(exact_number(text))
    return value.isoformat(sep=" ") if kind is Type.DATETIME else str(value)


def written(domain: Domain, asked: DomainAsked | None, kind: Type) -> Any:
    """A domain in its one form: the same for the same set of values, however it was typed."""
    if isinstance(domain, Interval):
        ends = asked.interval if asked is not None and asked.interval is not None else (domain.low, domain.high)
        return [spelled(str(end), kind) for end in ends]
    if isinstance(domain, Values):
        return {"values": list(domain.values) if kind is Type.ORDINAL else sorted(domain.values)}
    if isinstance(domain, Pattern):
        return {"pattern": domain.pattern} | ({"length": str(domain.length)} if domain.length else {})
    raise PolicyError("a domain of an unknown kind", came=type(domain).__name__)


def _integer(text: str) -> int:
    number = whole_number(text)
    if not -(2**63) <= number < 2**63:
        raise ValueError(text)
    return number


def _decimal(text: str) -> float:
    number: Fraction = exact_number(text)
    return float(number)


def _date(text: str) -> dt.date:
    if not _DATE.fullmatch(text):
        raise ValueError(text)
    return dt.date.fromisoformat(text)


def _datetime(text: str) -> dt.datetime:
    if not _TIME.fullmatch(text):
        raise ValueError(text)
    return dt.datetime.fromisoformat(text)


_READERS: dict[Type, Callable[[str], Any]] = {
    Type.INTEGER: _integer,
    Type.DECIMAL: _decimal,
    Type.DATE: _date,
    Type.DATETIME: _datetime,
}
_LISTED = (Type.INTEGER, Type.DATE)
"""Types with an order whose single values can be listed."""

_ALLOWED = {
    Type.INTEGER: "[low, high] or {values: [...]}, in whole numbers",
    Type.DECIMAL: "[low, high], in numbers",
    Type.DATE: "[first, last], in dates such as 2025-03-01",
    Type.DATETIME: "[first, last], in times such as 2025-03-01 14:00, without a zone",
    Type.CATEGORY: "a list of values",
    Type.ORDINAL: "a list of values in their order",
    Type.TEXT: "{pattern: ...} or a list of values",
}
