"""Count, sum, mean and variance: exact sums in whole steps, each with the reach that its declared domain gives.

A mean is the midpoint of the domain plus a sum of distances to it, divided by a count: a distance reaches half the domain, a
value the whole. A variance needs a third sum, of squared distances less half the largest square. Rows whose value is missing
take no part, so they add nothing anywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from shoal.data.schema import Schema
from shoal.data.type import Type
from shoal.engine.base import Counts, Table
from shoal.guarantee.rounding import exact_text
from shoal.guarantee.unit import Unit
from shoal.query.asked import Behind, Part, Single, Steps
from shoal.query.ladder import may_miss
from shoal.query.measure import NUMBERS, TIMES, Measure, number
from shoal.query.question import Question, checked, condition, reach, spelled_where

_SMALL = 1 << 62
_FEW = 1 << 24
"""Steps of a domain whose squares are added."""
_SQUARES = 22
"""Bits of a square after rounding."""
_CLEAR = 2
"""How many times its own error, in 95 of 100 cases, a count has to be to divide by."""
_UNITS = {Type.DATE: ("mean, in days", 1.0), Type.DATETIME: ("mean, in seconds", 1e6)}


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

    def behind(self, noisy: Sequence[int], expected: Sequence[float], within: Sequence[float]) -> Behind:
        """A sum S of distances over a count C errs by (error of S, and of C times |S/C|) / C, to first order."""
        count = max(int(noisy[0]), 1)
        name, unit = _UNITS.get(self.measure.attribute.type, ("mean", 1.0))
        error = (expected[1] + self._distance(noisy) * expected[0]) / count
        return Behind(self._sums(noisy), name, error / unit, self._clear(noisy, within))

    def _distance(self, noisy: Sequence[int]) -> float:
        """How far the mean lies from the middle, within the domain."""
        return min(abs(int(noisy[1]) / max(int(noisy[0]), 1)), self.half) * float(self.measure.step)

    def _sums(self, noisy: Sequence[int]) -> dict[str, int | float]:
        """The count, and the sum of the values where they are numbers."""
        count = int(noisy[0])
        if self.measure.attribute.type in TIMES:
            return {"count": count}
        return {"count": count, "sum": number((int(noisy[1]) + count * self.middle) * self.measure.step)}

    def _clear(self, noisy: Sequence[int], within: Sequence[float]) -> bool:
        return int(noisy[0]) > _CLEAR * within[0]


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
        found = (squares - Fraction(first, count) ** 2) * self.measure.step**2
        most = ((self.measure.high - self.measure.low) * self.measure.step / 2) ** 2
        return float(min(max(found, Fraction(0)), most))

    def behind(self, noisy: Sequence[int], expected: Sequence[float], within: Sequence[float]) -> Behind:
        """With d = S/C and r = Q/C for the sum Q of squares: (error of Q, 2|d| that of S, |r - 2d²| that of C) / C."""
        count, far = max(int(noisy[0]), 1), self._distance(noisy)
        square = int(noisy[2]) / count * float(self.steps[2])
        error = (expected[2] + 2 * far * expected[1] + abs(square - 2 * far**2) * expected[0]) / count
        return Behind(self._sums(noisy), "variance", error, self._clear(noisy, within))
