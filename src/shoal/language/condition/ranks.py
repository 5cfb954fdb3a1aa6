"""The ranks of the values of a declared domain: whole numbers in the order of the values, whatever their type.

An integer is itself, a date its day, a time its microsecond, a double its position among all doubles, a listed value its
position in the list. So `age > 70` and `seen > 2025-03-01 14:00` are the same kind of thing: all ranks from one up.
"""

from __future__ import annotations

import datetime as dt
import struct
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.data.domain import Domain, Interval, Line, Pattern, Values, shorten
from shoal.data.schema import Attribute, Missing, Outside, Role, Schema
from shoal.data.type import Type, point, texts
from shoal.data.type import text_at as written
from shoal.errors import PolicyError, UsageError
from shoal.guarantee.rounding import exact, exact_text, read_number
from shoal.language.condition.parse import Token, TokenKind, quoted_text
from shoal.policy.schema import BOOLEAN, value_of
from shoal.policy.text.problem import excerpt, nearest

Array = npt.NDArray[Any]
Ranks = npt.NDArray[np.int64]

_FIRST_DAY = dt.date(1970, 1, 1).toordinal()
_SIGN = 0x7FFF_FFFF_FFFF_FFFF
_NAMED = 12
"""How many attributes a message lists."""
_WORDS = (Type.CATEGORY, Type.ORDINAL, Type.TEXT)


def attribute_of(schema: Schema, name: str, purpose: str) -> Attribute:
    """The attribute of that name, if questions may use it."""
    if name not in schema.by_name:
        allowed = [each.name for each in schema.published]
        close = nearest(name, allowed)
        listed = shorten(allowed, _NAMED) if close is None else None
        raise UsageError(f"no attribute of that name to {purpose}", came=excerpt(name), allowed=listed, fix=close)
    attribute = schema[name]
    if not attribute.published:
        raise UsageError(
            f"attribute '{name}' has the role {attribute.role.value}, which no question may read",
            allowed="attributes with another role than identifier or drop"
            if attribute.role is Role.DROP
            else "attributes with another role; the value of one person is a question of its own",
        )
    return attribute


def may_be_missing(attribute: Attribute) -> bool:
    """Whether a row may hold no value, by the policy alone."""
    return attribute.missing is Missing.VALUE or attribute.outside is Outside.SUPPRESS


def domain_of(attribute: Attribute, purpose: str) -> Domain:
    """The declared domain; every boolean has one."""
    if attribute.type is Type.BOOLEAN:
        return BOOLEAN
    if attribute.domain is None:
        raise UsageError(
            f"attribute '{attribute.name}' has no declared domain, which is needed to {purpose}",
            fix=f"declare attributes.{attribute.name}.domain in the policy",
        )
    return attribute.domain


def line_of(schema: Schema, name: str, purpose: str, allowed: tuple[Type, ...]) -> tuple[Attribute, Line]:
    """An attribute of an allowed type, with the line of its declared domain."""
    attribute = attribute_of(schema, name, purpose)
    if attribute.type not in allowed:
        raise UsageError(
            f"attribute '{name}' has the wrong type to {purpose}",
            came=attribute.type.value,
            allowed=", ".join(kind.value for kind in allowed),
        )
    domain = domain_of(attribute, purpose)
    if not isinstance(domain, Interval | Values):
        raise UsageError(f"attribute '{name}' has no bounds to {purpose}", came=domain.words(), allowed="[low, high]")
    return attribute, Line.of(attribute.type, domain)


def describe_treatment(attribute: Attribute) -> tuple[str, ...]:
    """Sentences on what the policy does with values that are missing or outside the domain."""
    said = [f"rows without a value of '{attribute.name}' take no part"] if may_be_missing(attribute) else []
    clamped = attribute.outside is Outside.CLAMP
    said += [f"values of '{attribute.name}' outside its domain count as its nearest end"] if clamped else []
    return tuple(said)


def number(at: Fraction) -> int | float:
    """A fraction as a plain number."""
    return int(at) if at.denominator == 1 else float(at)


@dataclass(frozen=True)
class RankedDomain(ABC):
    """The ranks `low`, …, `high` of an attribute's domain."""

    attribute: Attribute
    low: int
    high: int

    @property
    def is_ordered(self) -> bool:
        """Whether the values have an order, so that `<` is defined."""
        return self.attribute.type.numeric or self.attribute.type is Type.ORDINAL

    @property
    def fine(self) -> bool:
        """Whether neighbouring values are too close for people to tell apart: then open ends read better."""
        return False

    def rank_of(self, value: Token) -> int:
        """The rank of a value as it was typed; UsageError if it is none of the type, or outside the domain."""
        found = self._rank_of(value)
        if found is None or not self.low <= found <= self.high:
            raise outside_domain_error(self.attribute, value.text)
        return found

    @abstractmethod
    def _rank_of(self, value: Token) -> int | None:
        """The rank of a value as it was typed, or None where it has none."""

    @abstractmethod
    def text(self, rank: int) -> str:
        """The value at a rank, as a condition writes it."""

    @abstractmethod
    def ranks_of(self, values: Array) -> Ranks:
        """The ranks of an array of values."""


class IntegerRanks(RankedDomain):
    """Integers, dates and times of an interval."""

    @property
    def fine(self) -> bool:
        return self.attribute.type is Type.DATETIME

    def _rank_of(self, value: Token) -> int | None:
        return int(parse_point(self.attribute, value))

    def text(self, rank: int) -> str:
        return written(self.attribute.type, Fraction(rank))

    def ranks_of(self, values: Array) -> Ranks:
        return whole_points(self.attribute, values)


def whole_points(attribute: Attribute, values: Array) -> Ranks:
    """Integers, dates and times in memory as points of the line that `shoal.data.domain.Line` draws."""
    return values.astype(np.int64) + (_FIRST_DAY if attribute.type is Type.DATE else 0)


class DoubleRanks(RankedDomain):
    """Decimals of an interval: each double is a rank, so that one above 5 is the next double."""

    @property
    def fine(self) -> bool:
        return True

    def _rank_of(self, value: Token) -> int | None:
        try:
            return rank_of_double(float(parse_point(self.attribute, value)))
        except OverflowError:
            return None

    def text(self, rank: int) -> str:
        return exact_text(exact(double_at(rank)))

    def ranks_of(self, values: Array) -> Ranks:
        bits = np.ascontiguousarray(values, dtype=np.float64).view(np.int64)
        return np.where(bits < 0, -(bits & _SIGN), bits)


def rank_of_double(value: float) -> int:
    """The position of a double among all doubles; zero is 0."""
    bits = int(struct.unpack("<q", struct.pack("<d", value))[0])
    return bits if bits >= 0 else -(bits & _SIGN)


def double_at(rank: int) -> float:
    """The double with this rank."""
    size = struct.unpack("<d", struct.pack("<q", abs(rank)))[0]
    return float(-size if rank < 0 else size)


class ListedRanks(RankedDomain):
    """Values that the policy lists: in their declared order, sorted where they have none."""

    @cached_property
    def values(self) -> tuple[str, ...]:
        """The values in the order of their ranks."""
        domain = domain_of(self.attribute, "filter")
        listed = domain.values if isinstance(domain, Values) else ()
        if self.attribute.type.numeric:
            return tuple(sorted(listed, key=lambda value: point(self.attribute.type, value)))
        return listed if self.attribute.type is Type.ORDINAL else tuple(sorted(listed))

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {value: place for place, value in enumerate(self.values)}

    def _rank_of(self, value: Token) -> int | None:
        kind = self.attribute.type
        if kind.numeric:
            return self._positions.get(written(kind, parse_point(self.attribute, value)))
        allowed, words = (
            (TokenKind.TRUTH, "true or false") if kind is Type.BOOLEAN else (TokenKind.TEXT, "a text, as in 'A11'")
        )
        if value.kind is not allowed:
            raise wrong_type_error(self.attribute, value.text, words)
        return self._positions.get(value.text)

    def text(self, rank: int) -> str:
        value = self.values[rank]
        return quoted_text(value) if self.attribute.type in _WORDS else value

    def ranks_of(self, values: Array) -> Ranks:
        place = self._positions
        return np.fromiter((place.get(value, -1) for value in texts(values)), dtype=np.int64, count=len(values))


def parse_point(attribute: Attribute, value: Token) -> Fraction:
    """A number, date or time as it was typed, as a point on the line of its attribute."""
    kind = attribute.type
    allowed = {Type.INTEGER: "a whole number", Type.DECIMAL: "a number", Type.DATE: "a date such as 2025-03-01"}.get(
        kind, "a date, or a time such as 2025-03-01 14:00"
    )
    fits = (TokenKind.TIME, TokenKind.TEXT) if kind in (Type.DATE, Type.DATETIME) else (TokenKind.NUMBER,)
    if value.kind not in fits:
        raise wrong_type_error(attribute, value.text, allowed)
    try:
        if value.kind is TokenKind.NUMBER:
            return point(kind, read_number(value.text))
        return point(kind, value_of(value.text, kind))
    except (PolicyError, ValueError):
        raise wrong_type_error(attribute, value.text, allowed) from None


def wrong_type_error(attribute: Attribute, came: str, allowed: str) -> UsageError:
    """The error for a value of another type than that of the attribute."""
    wrong = f"attribute '{attribute.name}' is of type {attribute.type.value}, and this is not a value of that type"
    return UsageError(wrong, came=excerpt(came), allowed=allowed)


def outside_domain_error(attribute: Attribute, came: str) -> UsageError:
    """The error for a value that the policy does not declare."""
    domain = domain_of(attribute, "filter")
    fix = nearest(came, domain.values) if isinstance(domain, Values) else None
    wrong = f"attribute '{attribute.name}': a value outside its declared domain"
    return UsageError(wrong, came=excerpt(came), allowed=domain.words(), fix=fix)


def matches(domain: Pattern, text: str) -> bool:
    """Whether a text matches a pattern."""
    return bool(domain.inside(np.array([text], dtype=object))[0])


def ranked_domain(attribute: Attribute, purpose: str) -> RankedDomain | None:
    """The domain of an attribute with its ranks; None for texts that match a pattern, which cannot be listed."""
    domain = domain_of(attribute, purpose)
    if isinstance(domain, Pattern):
        return None
    if isinstance(domain, Values):
        return ListedRanks(attribute, 0, len(domain.values) - 1)
    if not isinstance(domain, Interval):
        raise UsageError(
            f"attribute '{attribute.name}': questions cannot use a domain of this kind", came=domain.words()
        )
    if attribute.type is Type.DECIMAL:
        return DoubleRanks(attribute, rank_of_double(float(domain.low)), rank_of_double(float(domain.high)))
    line = Line.of(attribute.type, domain)
    return IntegerRanks(attribute, int(line.low), int(line.high))
