"""A number of each record in whole steps of a grid that the policy fixes, so that sums and their sensitivities are exact.

The step of an attribute
    integer, date     1 (a day), while the domain spans at most 2^40 of them
    decimal, time     the largest power of ten (of a microsecond, for times) of which the domain spans at least 2^20
    anything wider    the largest power of ten of which the domain spans at least 2^40
A question may declare another step. Each record's value is rounded to the nearest step, and lies between the rounded ends of
its domain: what one record can add is known in steps, without a remainder. Rounding moves a mean by half a step at most.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from typing import Any

import numpy as np

from shoal.data.domain import Interval, Line, Values
from shoal.data.schema import Attribute, Outside, Schema
from shoal.data.type import Type
from shoal.data.type import text_at as written
from shoal.errors import ParameterError, UsageError
from shoal.guarantee.rounding import exact, exact_text
from shoal.query.condition.ranks import Array, Rungs, attribute_of, domain_of, may_miss, whole_points

FINE, WIDE = 1 << 20, 1 << 40
"""Steps that a domain spans at least, where values lie dense, and at most."""
NUMBERS = (Type.INTEGER, Type.DECIMAL)
TIMES = (Type.DATE, Type.DATETIME)


def power_below(width: Fraction) -> Fraction:
    """The largest power of ten that is not above a positive width."""
    power = Fraction(10) ** (len(str(width.numerator)) - len(str(width.denominator)))
    while power > width:
        power /= 10
    while power * 10 <= width:
        power *= 10
    return power


@dataclass(frozen=True)
class Measure:
    """An attribute on its grid: values lie at `low`, …, `high` steps."""

    attribute: Attribute
    step: Fraction
    low: int
    high: int

    @classmethod
    def of(
        cls,
        schema: Schema,
        name: str,
        purpose: str,
        allowed: tuple[Type, ...],
        *,
        step: str | None = None,
        centred: bool = True,
        most: int = WIDE,
    ) -> Measure:
        """The measure of an attribute with a bounded domain; `centred` where only distances within the domain are added."""
        attribute, line = line_of(schema, name, purpose, allowed)
        if line.low == line.high:
            raise UsageError(f"attribute '{name}' has a single value by its domain", fix="count the rows instead")
        span = line.high - line.low if centred else max(abs(line.low), abs(line.high), line.high - line.low)
        chosen = _step(attribute.type, span, most) if step is None else _declared(attribute, step, span, most)
        return cls(attribute, chosen, _rounded(line.low / chosen), _rounded(line.high / chosen))

    def steps(self, values: Array) -> Rungs:
        """Values in memory in steps: to the nearest one (in doubles, for decimals), never beyond the domain's ends."""
        if self.attribute.type is Type.DECIMAL:
            found = np.floor(values * float(1 / self.step) + 0.5)
            return np.clip(found, self.low, self.high).astype(np.int64)
        points = whole_points(self.attribute, values)
        if self.step == 1:
            return np.clip(points, self.low, self.high)
        wide = int(self.step)  # whole, for whole values: quotient and remainder, because twice a value might not fit
        return np.clip(points // wide + (2 * (points % wide) >= wide), self.low, self.high)

    @property
    def scope(self) -> tuple[str, ...]:
        """What is done to the attribute's values before they are added up, by the policy and the question alone."""
        grid = self.attribute.type in (Type.DECIMAL, Type.DATETIME) or self.step != 1
        unit = " microseconds" if self.attribute.type is Type.DATETIME else ""
        rounded = (
            f"each value of '{self.attribute.name}' rounded to the nearest multiple of {exact_text(self.step)}{unit}"
        )
        return (*treated(self.attribute), *([rounded] if grid else []))

    def ends(self, low: Fraction, high: Fraction) -> tuple[Any, Any]:
        """An interval from and to so many steps, as plain values; dates and times are rounded outwards."""
        if self.attribute.type not in TIMES:
            return float(low * self.step), float(high * self.step)
        return self._written(floor(low * self.step)), self._written(ceil(high * self.step))

    def _written(self, at: int) -> str:
        try:
            return written(self.attribute.type, Fraction(at))
        except (OverflowError, ValueError):  # half a step beyond the last year that can be written
            line = Line.of(self.attribute.type, domain_of(self.attribute, "measure"))
            return written(self.attribute.type, min(max(Fraction(at), line.low), line.high))

    def value(self, steps: Fraction) -> Any:
        """What lies at so many steps, within the domain: a number, or a date or time as text."""
        domain = domain_of(self.attribute, "measure")
        line = Line.of(self.attribute.type, domain)
        at = min(max(steps * self.step, line.low), line.high)
        if self.attribute.type in TIMES:
            return written(self.attribute.type, Fraction(_rounded(at)))
        return float(at)


def treated(attribute: Attribute) -> tuple[str, ...]:
    """What the policy does with values that are missing or outside the domain."""
    said = [f"rows without a value of '{attribute.name}' take no part"] if may_miss(attribute) else []
    clamped = attribute.outside is Outside.CLAMP
    said += [f"values of '{attribute.name}' outside its domain count as its nearest end"] if clamped else []
    return tuple(said)


def number(at: Fraction) -> int | float:
    """A fraction as a plain number."""
    return int(at) if at.denominator == 1 else float(at)


def line_of(schema: Schema, name: str, purpose: str, allowed: tuple[Type, ...]) -> tuple[Attribute, Line]:
    """An attribute of an allowed type, with the line of its declared domain."""
    attribute = attribute_of(schema, name, purpose)
    if attribute.type not in allowed:
        raise UsageError(
            f"attribute '{name}' is of a type that it makes no sense to {purpose}",
            came=attribute.type.value,
            allowed=", ".join(kind.value for kind in allowed),
        )
    domain = domain_of(attribute, purpose)
    if not isinstance(domain, Interval | Values):
        raise UsageError(f"attribute '{name}' has no bounds to {purpose}", came=domain.words(), allowed="[low, high]")
    return attribute, Line.of(attribute.type, domain)


def _rounded(at: Fraction) -> int:
    return floor(at + Fraction(1, 2))


def _step(kind: Type, span: Fraction, most: int) -> Fraction:
    if kind.discrete:
        return Fraction(1) if span <= most else max(Fraction(1), power_below(span / most))
    fine = power_below(span / FINE)
    return max(Fraction(1), fine) if kind is Type.DATETIME else fine


def _declared(attribute: Attribute, step: str, span: Fraction, most: int) -> Fraction:
    found = exact(step, "a step")
    least = span / most
    if attribute.type is not Type.DECIMAL and found.denominator != 1:
        raise ParameterError(f"a step of attribute '{attribute.name}' is not whole", came=step, allowed="1, 2, …")
    if not least <= found <= span:
        raise ParameterError(
            f"a step of attribute '{attribute.name}' is out of range",
            came=step,
            allowed=f"from {exact_text(power_below(least) * 10)} to {exact_text(span)}",
        )
    return found
