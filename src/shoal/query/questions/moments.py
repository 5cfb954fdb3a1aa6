"""Count, sum, mean and variance: exact sums in whole steps of a grid, with the sensitivity that the declared domain gives.

A mean is the midpoint of the domain plus a sum of distances to it, divided by a count: a distance is at most half the width of
the domain. A variance needs a third sum, of squared distances less half the largest square. Rows whose value is missing are
left out of every sum.

The step of an attribute
    integer, date     1 (a day), while the domain spans at most 2^40 of them
    decimal, time     the largest power of ten (of a microsecond, for times) of which the domain spans at least 2^20
    anything wider    the largest power of ten of which the domain spans at least 2^40
A question may declare another step. Each record's value is rounded to the nearest step, and lies between the rounded ends of
its domain: what one record can add is known in steps, without a remainder. Rounding changes a mean by half a step at most.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import ceil, floor
from typing import Any, ClassVar, Self

import numpy as np

from shoal.data.domain import Line
from shoal.data.schema import Attribute, Schema
from shoal.data.type import Type
from shoal.data.type import text_at as written
from shoal.engine.base import Counts, Table
from shoal.errors import ParameterError, UsageError
from shoal.guarantee.rounding import exact, exact_text
from shoal.guarantee.unit import Unit
from shoal.query.condition.ranks import (
    Array,
    Rungs,
    domain_of,
    line_of,
    may_miss,
    number,
    treated,
    whole_points,
)
from shoal.query.questions.base import (
    Behind,
    Part,
    Question,
    Single,
    Steps,
    Tails,
    checked,
    condition,
    reach,
    spelled_where,
)

_SMALL = 1 << 62
_FEW = 1 << 24
"""Steps of a domain whose squares are added."""
_SQUARES = 22
"""Bits of a square after rounding."""
_CLEAR = 2
"""How many times its own error, in 95 of 100 cases, a count has to be to divide by."""


def added(weights: Steps, counts: Steps, most: int) -> int:
    """The exact sum of weight times count; `most` bounds a weight."""
    heavy, often = np.asarray(weights, dtype=np.int64), np.asarray(counts, dtype=np.int64)
    if most * max(int(often.sum()), 1) < _SMALL:
        return int(heavy @ often)
    return int(heavy.astype(object) @ often.astype(object)) if len(often) else 0


# --- count ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Count(Question):
    """How many rows satisfy a condition; all of them without one."""

    word: ClassVar[str] = "count"
    where: str | None = None

    def meant(self, schema: Schema) -> Self:
        return replace(self, where=spelled_where(self.where, schema))

    def plan(self, schema: Schema, unit: Unit) -> Single:
        part = _CountPart(condition(self.where, schema), checked(unit, schema))
        return Single(self.canonical(schema), unit, (part,))


@dataclass(frozen=True)
class _CountPart(Part):
    """Each row adds one. That the number of all rows is public under replace_one is not made use of."""

    size: ClassVar[int] = 1
    names: ClassVar[tuple[str, ...]] = ("count",)
    steps: ClassVar[tuple[Fraction, ...]] = (Fraction(1),)

    @property
    def columns(self) -> tuple[str, ...]:
        return self.where.columns

    @property
    def reaches(self) -> tuple[int, ...]:
        return (reach(self.unit, 1, 1, always=False),)

    def truth(self, table: Table) -> Steps:
        if not self.columns:
            return np.array([table.rows()])
        counts = table.count_by(self.columns)
        return np.array([counts.counts[self.where.over(counts)].sum()], dtype=np.int64)

    def finish(self, noisy: Sequence[int]) -> int:
        return int(noisy[0])


# --- sums of one attribute -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Measured(Part):
    """Sums over the values of one attribute."""

    measure: Measure

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return tuple(sorted({self.measure.attribute.name, *self.where.columns}))

    @property
    def always(self) -> bool:
        """Whether every row takes part, by the policy and the question alone."""
        return self.where.always and not may_miss(self.measure.attribute)

    @property
    def scope(self) -> tuple[str, ...]:
        return self.measure.scope

    def _rows(self, table: Table) -> tuple[Steps, Steps]:
        """The distinct values in steps, and how many rows of each satisfy the condition."""
        counts: Counts = table.count_by(self.columns)
        place = self.columns.index(self.measure.attribute.name)
        codes = counts.codes[place]
        kept = self.where.over(counts) & (codes >= 0)
        often = np.zeros(len(counts.values[place]), dtype=np.int64)
        np.add.at(often, codes[kept], counts.counts[kept])
        return self.measure.steps(counts.values[place]), often


@dataclass(frozen=True)
class Sum(Question):
    """The sum of an attribute over the rows that satisfy a condition; `step` declares another grid."""

    word: ClassVar[str] = "sum"
    attribute: str
    where: str | None = None
    step: str | None = None

    def meant(self, schema: Schema) -> Self:
        step = None if self.step is None else exact_text(self._measure(schema).step)
        return replace(self, where=spelled_where(self.where, schema), step=step)

    def _measure(self, schema: Schema) -> Measure:
        return Measure.of(schema, self.attribute, "add up to a sum", NUMBERS, step=_text(self.step), centred=False)

    def plan(self, schema: Schema, unit: Unit) -> Single:
        part = _SumPart(condition(self.where, schema), checked(unit, schema), self._measure(schema))
        return Single(self.canonical(schema), unit, (part,))


@dataclass(frozen=True)
class _SumPart(_Measured):
    size: ClassVar[int] = 1
    names: ClassVar[tuple[str, ...]] = ("sum",)

    @property
    def steps(self) -> tuple[Fraction, ...]:
        return (self.measure.step,)

    @property
    def reaches(self) -> tuple[int, ...]:
        return (reach(self.unit, self.measure.low, self.measure.high, always=self.always),)

    def truth(self, table: Table) -> Steps:
        values, often = self._rows(table)
        total = added(values, often, max(abs(self.measure.low), abs(self.measure.high)))
        return np.array([total], dtype=np.int64 if abs(total) < _SMALL else object)

    def finish(self, noisy: Sequence[int]) -> int | float:
        return number(int(noisy[0]) * self.measure.step)


@dataclass(frozen=True)
class Mean(Question):
    """The mean of an attribute over the rows that satisfy a condition; `step` declares another grid."""

    word: ClassVar[str] = "mean"
    attribute: str
    where: str | None = None
    step: str | None = None

    def meant(self, schema: Schema) -> Self:
        step = None if self.step is None else exact_text(self._measure(schema).step)
        return replace(self, where=spelled_where(self.where, schema), step=step)

    def _measure(self, schema: Schema) -> Measure:
        return Measure.of(schema, self.attribute, "have a mean", (*NUMBERS, *TIMES), step=_text(self.step))

    def plan(self, schema: Schema, unit: Unit) -> Single:
        part = _MeanPart(condition(self.where, schema), checked(unit, schema), self._measure(schema))
        return Single(self.canonical(schema), unit, (part,))


def _text(step: object) -> str | None:
    return None if step is None else str(step)


@dataclass(frozen=True)
class _MeanPart(_Measured):
    """A count, and a sum of distances to the middle."""

    size: ClassVar[int] = 2
    names: ClassVar[tuple[str, ...]] = ("count", "sum of distances to the middle")
    computed: ClassVar[str | None] = "mean"

    @property
    def middle(self) -> int:
        """The step in the middle of the domain."""
        return (self.measure.low + self.measure.high) // 2

    @property
    def half(self) -> int:
        """The largest distance to it."""
        return self.measure.high - self.middle

    @property
    def steps(self) -> tuple[Fraction, ...]:
        return (Fraction(1), self.measure.step)

    @property
    def reaches(self) -> tuple[int, ...]:
        low, high = self.measure.low - self.middle, self.measure.high - self.middle
        return reach(self.unit, 1, 1, always=False), reach(self.unit, low, high, always=self.always)

    def truth(self, table: Table) -> Steps:
        values, often = self._rows(table)
        return _exactly([int(often.sum()), added(values - self.middle, often, self.half)])

    def finish(self, noisy: Sequence[int]) -> Any:
        """Within the domain; a count below one counts as one."""
        return self.measure.value(self.middle + Fraction(int(noisy[1]), max(int(noisy[0]), 1)))

    def behind(self, noisy: Sequence[int], tails: Tails) -> Behind:
        """With 95 % both sums are within their tails at once, and then their ratio is within its corners."""
        low, high = self._ratio(noisy, tails(2))
        ends = self.measure.ends(self.middle + low, self.middle + high)
        return Behind(self._sums(noisy), "mean", *ends, self._clear(noisy, tails(1)))

    def _ratio(self, noisy: Sequence[int], tails: Sequence[int]) -> tuple[Fraction, Fraction]:
        """The mean distance to the middle, at least and at most, where count and sum are off by these tails and no more."""
        low, high = _quotients(noisy[0], tails[0], noisy[1], tails[1])
        bottom, top = Fraction(self.measure.low - self.middle), Fraction(self.measure.high - self.middle)
        return max(min(low, top), bottom), min(max(high, bottom), top)

    def _sums(self, noisy: Sequence[int]) -> dict[str, int | float]:
        """The count, and the sum of the values where they are numbers."""
        count = int(noisy[0])
        if self.measure.attribute.type in TIMES:
            return {"count": count}
        return {"count": count, "sum": number((int(noisy[1]) + count * self.middle) * self.measure.step)}

    def _clear(self, noisy: Sequence[int], tails: Sequence[int]) -> bool:
        return int(noisy[0]) > _CLEAR * tails[0]


def _quotients(count: int, few: int, total: int, off: int) -> tuple[Fraction, Fraction]:
    """The least and the largest of (total ± off) / (count ± few), where the divisor is one at least."""
    least, most = max(1, int(count) - few), max(1, int(count) + few)
    below, above = int(total) - off, int(total) + off
    return Fraction(below, most if below >= 0 else least), Fraction(above, least if above >= 0 else most)


def _exactly(found: list[int]) -> Steps:
    return np.array(found, dtype=np.int64 if max(map(abs, found)) < _SMALL else object)


@dataclass(frozen=True)
class Variance(Question):
    """The variance of an attribute over the rows that satisfy a condition: the mean squared distance to their mean."""

    word: ClassVar[str] = "variance"
    attribute: str
    where: str | None = None

    def meant(self, schema: Schema) -> Self:
        return replace(self, where=spelled_where(self.where, schema))

    def plan(self, schema: Schema, unit: Unit) -> Single:
        measure = Measure.of(schema, self.attribute, "have a variance", NUMBERS, most=_FEW)
        part = _VariancePart(condition(self.where, schema), checked(unit, schema), measure)
        return Single(self.canonical(schema), unit, (part,))


@dataclass(frozen=True)
class _VariancePart(_MeanPart):
    """The two sums of a mean, and one of squares: in units of 2^`shift` square steps, less `base`."""

    size: ClassVar[int] = 3
    names: ClassVar[tuple[str, ...]] = (*_MeanPart.names, "sum of squared distances to the middle")
    computed: ClassVar[str | None] = "variance"

    @property
    def shift(self) -> int:
        """Bits of a square that are rounded away."""
        return max(0, (self.half**2).bit_length() - _SQUARES)

    def squares(self, distances: Steps) -> Steps:
        """Squared distances, rounded."""
        return (distances**2 + ((1 << self.shift) >> 1)) >> self.shift

    @property
    def largest(self) -> int:
        """The largest rounded square."""
        return int(self.squares(np.array([self.half], dtype=np.int64))[0])

    @property
    def base(self) -> int:
        """Half of it, which is taken off so that what is left reaches half as far."""
        return self.largest // 2

    @property
    def steps(self) -> tuple[Fraction, ...]:
        return (*super().steps, self.measure.step**2 * (1 << self.shift))

    @property
    def reaches(self) -> tuple[int, ...]:
        return *super().reaches, reach(self.unit, -self.base, self.largest - self.base, always=self.always)

    def truth(self, table: Table) -> Steps:
        values, often = self._rows(table)
        distances = values - self.middle
        first = [int(often.sum()), added(distances, often, self.half)]
        return _exactly([*first, added(self.squares(distances) - self.base, often, self.largest)])

    def finish(self, noisy: Sequence[int]) -> float:
        """Between zero and the square of half the domain."""
        count, first, second = max(int(noisy[0]), 1), int(noisy[1]), int(noisy[2])
        squares = (Fraction(second, count) + self.base) * (1 << self.shift)
        bottom, top = self.measure.low - self.middle, self.measure.high - self.middle
        distance = min(max(Fraction(first, count), Fraction(bottom)), Fraction(top))
        found = (squares - distance**2) * self.measure.step**2
        most = ((self.measure.high - self.measure.low) * self.measure.step / 2) ** 2
        return float(min(max(found, Fraction(0)), most))

    def behind(self, noisy: Sequence[int], tails: Tails) -> Behind:
        """With 95 % all three sums are within their tails at once; squares that were rounded are off by half a unit at most."""
        off = tails(3)
        least, most = _quotients(noisy[0], off[0], noisy[2], off[2])
        rounded = Fraction(1, 2) if self.shift else Fraction(0)
        low, high = self._ratio(noisy, off)
        near, far = Fraction(0) if low <= 0 <= high else min(low**2, high**2), max(low**2, high**2)
        unit, widest = self.measure.step**2, Fraction(self.measure.high - self.measure.low, 2) ** 2
        ends = [
            (least + self.base - rounded) * (1 << self.shift) - far,
            (most + self.base + rounded) * (1 << self.shift) - near,
        ]
        first, last = (float(min(max(end, Fraction(0)), widest) * unit) for end in ends)
        return Behind(self._sums(noisy), "variance", first, last, self._clear(noisy, tails(1)))


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
