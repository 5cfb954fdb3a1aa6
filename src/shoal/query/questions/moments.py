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
from shoal.guarantee.rounding import exact_text, read_number
from shoal.guarantee.unit import Unit
from shoal.language.condition.ranks import (
    Array,
    Ranks,
    describe_treatment,
    domain_of,
    line_of,
    may_be_missing,
    number,
    whole_points,
)
from shoal.query.questions.base import (
    DerivedEstimate,
    LinearQuery,
    Question,
    SingleQuery,
    Steps,
    Tails,
    check_unit,
    normalize_where,
    parse_condition,
    sum_sensitivity,
)

_SMALL = 1 << 62
_FEW = 1 << 24
"""Steps of a domain whose squares are added."""
_SQUARES = 22
"""Bits of a square after rounding."""
_CLEAR = 2
"""How many times its own error, in 95 of 100 cases, a count has to be to divide by."""


def weighted_sum(weights: Steps, counts: Steps, most: int) -> int:
    """The exact sum of weight times count; `most` bounds a weight."""
    heavy, often = np.asarray(weights, dtype=np.int64), np.asarray(counts, dtype=np.int64)
    if most * max(int(often.sum()), 1) < _SMALL:
        return int(heavy @ often)
    return int(heavy.astype(object) @ often.astype(object)) if len(often) else 0


# --- count ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Count(Question):
    """The number of rows that satisfy a condition.

    One row changes a count by at most 1, under add_remove and under replace_one.

    Arguments  where: a condition on the attributes of the policy, such as "age >= 65 and sex = 'female'"; every row counts if
               not given.
    Raises     UsageError where `where` is not a text; when it is priced or asked, UsageError where the condition cannot be read
               or the policy does not declare what it names.

    >>> Count("age >= 65").to_saved()
    {'kind': 'count', 'where': 'age >= 65'}
    """

    word: ClassVar[str] = "count"
    where: str | None = None

    def normalize(self, schema: Schema) -> Self:
        return replace(self, where=normalize_where(self.where, schema))

    def resolve(self, schema: Schema, unit: Unit) -> SingleQuery:
        part = _CountQuery(parse_condition(self.where, schema), check_unit(unit, schema))
        return SingleQuery(self.canonical(schema), unit, (part,))


@dataclass(frozen=True)
class _CountQuery(LinearQuery):
    """The number of rows: each row adds one. Under replace_one the number of all rows is public, which is not used here."""

    size: ClassVar[int] = 1
    names: ClassVar[tuple[str, ...]] = ("count",)
    steps: ClassVar[tuple[Fraction, ...]] = (Fraction(1),)

    @property
    def columns(self) -> tuple[str, ...]:
        return self.where.columns

    @property
    def linf(self) -> tuple[int, ...]:
        return (sum_sensitivity(self.unit, 1, 1, always=False),)

    def truth(self, table: Table) -> Steps:
        if not self.columns:
            return np.array([table.rows()])
        counts = table.count_by(self.columns)
        return np.array([counts.counts[self.where.mask(counts)].sum()], dtype=np.int64)

    def finish(self, noisy: Sequence[int]) -> int:
        return int(noisy[0])


# --- sums of one attribute -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _AttributeSums(LinearQuery):
    """Sums over the values of one attribute."""

    attribute_grid: AttributeGrid

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return tuple(sorted({self.attribute_grid.attribute.name, *self.where.columns}))

    @property
    def always(self) -> bool:
        """Whether every row takes part, by the policy and the question alone."""
        return self.where.always and not may_be_missing(self.attribute_grid.attribute)

    @property
    def scope(self) -> tuple[str, ...]:
        return self.attribute_grid.scope

    def _rows(self, table: Table) -> tuple[Steps, Steps]:
        """The distinct values in steps, and how many rows of each satisfy the condition."""
        counts: Counts = table.count_by(self.columns)
        place = self.columns.index(self.attribute_grid.attribute.name)
        codes = counts.codes[place]
        kept = self.where.mask(counts) & (codes >= 0)
        often = np.zeros(len(counts.values[place]), dtype=np.int64)
        np.add.at(often, codes[kept], counts.counts[kept])
        return self.attribute_grid.steps(counts.values[place]), often


@dataclass(frozen=True)
class Sum(Question):
    """The sum of an attribute over the rows that satisfy a condition.

    Rows whose value is missing are left out. Each value is rounded to the grid first; the sensitivity follows from the ends of
    the declared domain.

    Arguments  attribute: a number or decimal with a declared domain [low, high].
               where: a condition, as for `Count`; every row if not given.
               step: the step of the grid, as a number or a text; by the domain if not given.
    Raises     UsageError where an argument is not a text; when it is priced or asked, UsageError where the attribute
    has no bounded
               numeric domain, ParameterError where the step is out of range.

    >>> Sum("stay", where="age >= 65").to_saved()
    {'kind': 'sum', 'attribute': 'stay', 'where': 'age >= 65'}
    """

    word: ClassVar[str] = "sum"
    attribute: str
    where: str | None = None
    step: str | None = None

    def normalize(self, schema: Schema) -> Self:
        step = None if self.step is None else exact_text(self._measure(schema).step)
        return replace(self, where=normalize_where(self.where, schema), step=step)

    def _measure(self, schema: Schema) -> AttributeGrid:
        return AttributeGrid.of(
            schema, self.attribute, "add up to a sum", NUMBERS, step=_text(self.step), centred=False
        )

    def resolve(self, schema: Schema, unit: Unit) -> SingleQuery:
        part = _SumQuery(parse_condition(self.where, schema), check_unit(unit, schema), self._measure(schema))
        return SingleQuery(self.canonical(schema), unit, (part,))


@dataclass(frozen=True)
class _SumQuery(_AttributeSums):
    size: ClassVar[int] = 1
    names: ClassVar[tuple[str, ...]] = ("sum",)

    @property
    def steps(self) -> tuple[Fraction, ...]:
        return (self.attribute_grid.step,)

    @property
    def linf(self) -> tuple[int, ...]:
        return (sum_sensitivity(self.unit, self.attribute_grid.low, self.attribute_grid.high, always=self.always),)

    def truth(self, table: Table) -> Steps:
        values, often = self._rows(table)
        total = weighted_sum(values, often, max(abs(self.attribute_grid.low), abs(self.attribute_grid.high)))
        return np.array([total], dtype=np.int64 if abs(total) < _SMALL else object)

    def finish(self, noisy: Sequence[int]) -> int | float:
        return number(int(noisy[0]) * self.attribute_grid.step)


@dataclass(frozen=True)
class Mean(Question):
    """The mean of an attribute over the rows that satisfy a condition: a noisy sum over a noisy count, given with an interval.

    Rows whose value is missing are left out. The answer has `parts` (the noisy count and sum), an interval that
    contains the exact mean with at least 95 %, and a note where the count does not stand out from its own noise.

    Arguments  attribute: a number, decimal, date or time with a declared domain [low, high].
               where: a condition, as for `Count`; every row if not given.
               step: the step of the grid, as a number or a text; by the domain if not given.
    Raises     UsageError where an argument is not a text; when it is priced or asked, UsageError where the attribute
    has no bounded
               domain, ParameterError where the step is out of range.

    >>> Mean("stay", step="0.5").to_saved()
    {'kind': 'mean', 'attribute': 'stay', 'step': '0.5'}
    """

    word: ClassVar[str] = "mean"
    attribute: str
    where: str | None = None
    step: str | None = None

    def normalize(self, schema: Schema) -> Self:
        step = None if self.step is None else exact_text(self._measure(schema).step)
        return replace(self, where=normalize_where(self.where, schema), step=step)

    def _measure(self, schema: Schema) -> AttributeGrid:
        return AttributeGrid.of(schema, self.attribute, "have a mean", (*NUMBERS, *TIMES), step=_text(self.step))

    def resolve(self, schema: Schema, unit: Unit) -> SingleQuery:
        part = _MeanQuery(parse_condition(self.where, schema), check_unit(unit, schema), self._measure(schema))
        return SingleQuery(self.canonical(schema), unit, (part,))


def _text(step: object) -> str | None:
    return None if step is None else str(step)


@dataclass(frozen=True)
class _MeanQuery(_AttributeSums):
    """A count, and a sum of distances to the middle."""

    size: ClassVar[int] = 2
    names: ClassVar[tuple[str, ...]] = ("count", "sum of distances to the middle")
    statistic: ClassVar[str | None] = "mean"

    @property
    def middle(self) -> int:
        """The step in the middle of the domain."""
        return (self.attribute_grid.low + self.attribute_grid.high) // 2

    @property
    def half(self) -> int:
        """The largest distance to the middle."""
        return self.attribute_grid.high - self.middle

    @property
    def steps(self) -> tuple[Fraction, ...]:
        return (Fraction(1), self.attribute_grid.step)

    @property
    def linf(self) -> tuple[int, ...]:
        low, high = self.attribute_grid.low - self.middle, self.attribute_grid.high - self.middle
        return sum_sensitivity(self.unit, 1, 1, always=False), sum_sensitivity(self.unit, low, high, always=self.always)

    def truth(self, table: Table) -> Steps:
        values, often = self._rows(table)
        return _exact_array([int(often.sum()), weighted_sum(values - self.middle, often, self.half)])

    def finish(self, noisy: Sequence[int]) -> Any:
        """The mean, brought into the domain; a count below one counts as one."""
        return self.attribute_grid.value(self.middle + Fraction(int(noisy[1]), max(int(noisy[0]), 1)))

    def estimate(self, noisy: Sequence[int], tails: Tails) -> DerivedEstimate:
        """An interval for the mean: with 95 % both sums are within their tails at once, and then so is their ratio."""
        low, high = self._ratio(noisy, tails(2))
        ends = self.attribute_grid.ends(self.middle + low, self.middle + high)
        return DerivedEstimate(self._sums(noisy), "mean", *ends, self._clear(noisy, tails(1)))

    def _ratio(self, noisy: Sequence[int], tails: Sequence[int]) -> tuple[Fraction, Fraction]:
        """The mean distance to the middle, at least and at most, where count and sum are off by these tails and no more."""
        low, high = _quotients(noisy[0], tails[0], noisy[1], tails[1])
        bottom, top = Fraction(self.attribute_grid.low - self.middle), Fraction(self.attribute_grid.high - self.middle)
        return max(min(low, top), bottom), min(max(high, bottom), top)

    def _sums(self, noisy: Sequence[int]) -> dict[str, int | float]:
        """The count, and the sum of the values where they are numbers."""
        count = int(noisy[0])
        if self.attribute_grid.attribute.type in TIMES:
            return {"count": count}
        return {"count": count, "sum": number((int(noisy[1]) + count * self.middle) * self.attribute_grid.step)}

    def _clear(self, noisy: Sequence[int], tails: Sequence[int]) -> bool:
        return int(noisy[0]) > _CLEAR * tails[0]


def _quotients(count: int, few: int, total: int, off: int) -> tuple[Fraction, Fraction]:
    """The least and the largest of (total ± off) / (count ± few), where the divisor is one at least."""
    least, most = max(1, int(count) - few), max(1, int(count) + few)
    below, above = int(total) - off, int(total) + off
    return Fraction(below, most if below >= 0 else least), Fraction(above, least if above >= 0 else most)


def _exact_array(found: list[int]) -> Steps:
    return np.array(found, dtype=np.int64 if max(map(abs, found)) < _SMALL else object)


@dataclass(frozen=True)
class Variance(Question):
    """The variance of an attribute over the rows that satisfy a condition: the mean squared distance to their mean.

    Rows whose value is missing are left out. The answer has an interval that contains the exact variance with at least 95 %.

    Arguments  attribute: a number or decimal with a declared domain [low, high].
               where: a condition, as for `Count`; every row if not given.
    Raises     UsageError where an argument is not a text; when it is priced or asked, UsageError where the attribute
    has no bounded
               numeric domain.

    >>> Variance("stay").to_saved()
    {'kind': 'variance', 'attribute': 'stay'}
    """

    word: ClassVar[str] = "variance"
    attribute: str
    where: str | None = None

    def normalize(self, schema: Schema) -> Self:
        return replace(self, where=normalize_where(self.where, schema))

    def resolve(self, schema: Schema, unit: Unit) -> SingleQuery:
        grid = AttributeGrid.of(schema, self.attribute, "have a variance", NUMBERS, most=_FEW)
        part = _VarianceQuery(parse_condition(self.where, schema), check_unit(unit, schema), grid)
        return SingleQuery(self.canonical(schema), unit, (part,))


@dataclass(frozen=True)
class _VarianceQuery(_MeanQuery):
    """The two sums of a mean, and one of squares: in units of 2^`shift` square steps, less `base`."""

    size: ClassVar[int] = 3
    names: ClassVar[tuple[str, ...]] = (*_MeanQuery.names, "sum of squared distances to the middle")
    statistic: ClassVar[str | None] = "variance"

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
        """Half of the largest rounded square, which is taken off so that the sensitivity of what is left is half as large."""
        return self.largest // 2

    @property
    def steps(self) -> tuple[Fraction, ...]:
        return (*super().steps, self.attribute_grid.step**2 * (1 << self.shift))

    @property
    def linf(self) -> tuple[int, ...]:
        return *super().linf, sum_sensitivity(self.unit, -self.base, self.largest - self.base, always=self.always)

    def truth(self, table: Table) -> Steps:
        values, often = self._rows(table)
        distances = values - self.middle
        first = [int(often.sum()), weighted_sum(distances, often, self.half)]
        return _exact_array([*first, weighted_sum(self.squares(distances) - self.base, often, self.largest)])

    def finish(self, noisy: Sequence[int]) -> float:
        """The variance, between zero and the square of half the width of the domain."""
        count, first, second = max(int(noisy[0]), 1), int(noisy[1]), int(noisy[2])
        squares = (Fraction(second, count) + self.base) * (1 << self.shift)
        bottom, top = self.attribute_grid.low - self.middle, self.attribute_grid.high - self.middle
        distance = min(max(Fraction(first, count), Fraction(bottom)), Fraction(top))
        found = (squares - distance**2) * self.attribute_grid.step**2
        most = ((self.attribute_grid.high - self.attribute_grid.low) * self.attribute_grid.step / 2) ** 2
        return float(min(max(found, Fraction(0)), most))

    def estimate(self, noisy: Sequence[int], tails: Tails) -> DerivedEstimate:
        """An interval for the variance: with 95 % all three sums are within their tails; a square is rounded to half a unit."""
        off = tails(3)
        least, most = _quotients(noisy[0], off[0], noisy[2], off[2])
        rounded = Fraction(1, 2) if self.shift else Fraction(0)
        low, high = self._ratio(noisy, off)
        near, far = Fraction(0) if low <= 0 <= high else min(low**2, high**2), max(low**2, high**2)
        unit, widest = self.attribute_grid.step**2, Fraction(self.attribute_grid.high - self.attribute_grid.low, 2) ** 2
        ends = [
            (least + self.base - rounded) * (1 << self.shift) - far,
            (most + self.base + rounded) * (1 << self.shift) - near,
        ]
        first, last = (float(min(max(end, Fraction(0)), widest) * unit) for end in ends)
        return DerivedEstimate(self._sums(noisy), "variance", first, last, self._clear(noisy, tails(1)))


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
class AttributeGrid:
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
    ) -> AttributeGrid:
        """The grid of an attribute with a bounded domain; `centred` where only distances within the domain are added."""
        attribute, line = line_of(schema, name, purpose, allowed)
        if line.low == line.high:
            raise UsageError(f"attribute '{name}' has a domain with a single value", fix="count the rows instead")
        span = line.high - line.low if centred else max(abs(line.low), abs(line.high), line.high - line.low)
        chosen = _step(attribute.type, span, most) if step is None else _declared_step(attribute, step, span, most)
        return cls(attribute, chosen, _round(line.low / chosen), _round(line.high / chosen))

    def steps(self, values: Array) -> Ranks:
        """Values in steps: rounded to the nearest one (in doubles, for decimals), never beyond the domain's ends."""
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
        return (*describe_treatment(self.attribute), *([rounded] if grid else []))

    def ends(self, low: Fraction, high: Fraction) -> tuple[Any, Any]:
        """An interval from and to so many steps, as plain values; dates and times are rounded outwards."""
        if self.attribute.type not in TIMES:
            return float(low * self.step), float(high * self.step)
        return self._write(floor(low * self.step)), self._write(ceil(high * self.step))

    def _write(self, at: int) -> str:
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
            return written(self.attribute.type, Fraction(_round(at)))
        return float(at)


def _round(at: Fraction) -> int:
    return floor(at + Fraction(1, 2))


def _step(kind: Type, span: Fraction, most: int) -> Fraction:
    if kind.discrete:
        return Fraction(1) if span <= most else max(Fraction(1), power_below(span / most))
    fine = power_below(span / FINE)
    return max(Fraction(1), fine) if kind is Type.DATETIME else fine


def _declared_step(attribute: Attribute, step: str, span: Fraction, most: int) -> Fraction:
    found = read_number(step, "a step")
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
