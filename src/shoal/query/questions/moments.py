"""Sum, mean, variance and ratio: exact sums in whole steps of a grid, with the sensitivity that the declared domain gives.

A mean divides the domain as the sum of distances to its lowest value and that of distances to its highest do: a row adds the
width of the domain to both together. A variance is made of a count, a sum of distances to the middle, and one of squared
distances less half the largest square. Rows whose value is missing are left out of every sum. A ratio is a noisy sum or count
over another.

What is added up is an attribute, or arithmetic on numeric attributes (`shoal.language.column`). Its values lie between two ends:
those of the declared domain, narrowed by the condition of the question, then by the `bounds` of the analyst, to which values
beyond are moved.

The step of a column
    integer, date     1 (a day), while the domain spans at most 2^40 of them
    decimal, time     the largest power of ten (of a microsecond, for times) of which the domain spans at least 2^20
    anything wider    the largest power of ten of which the domain spans at least 2^40
A question may declare another step. Each record's value is rounded to the nearest step, and lies between the rounded ends of
its domain: what one record can add is known in steps, without a remainder. Rounding changes a mean by half a step at most.

With `by` every question has one answer for each group. The groups are the cells of a table, so that a row lies in one of
them, and all of them together cost as much as one (`shoal.query.questions.base.GroupedSums`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import ceil, floor
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from shoal.data.schema import Schema
from shoal.data.type import Type, point
from shoal.data.type import text_at as written
from shoal.engine.base import Counts
from shoal.errors import ParameterError, PolicyError, UsageError
from shoal.guarantee.rounding import exact_text, read_number
from shoal.guarantee.unit import Unit
from shoal.language.column import MeasuredColumn, column_of
from shoal.language.condition.ranks import Ranks, number, whole_points
from shoal.policy.text.problem import excerpt
from shoal.query.questions.base import (
    Question,
    RowSums,
    SingleQuery,
    Steps,
    check_unit,
    grouped,
    normalize_groups,
    normalize_where,
    parse_condition,
)
from shoal.query.questions.count import Count, CountQuery, Groups

_FEW = 1 << 24
"""Steps of a domain whose squares are added."""
_SQUARES = 22
"""Bits of a square after rounding."""
_CLEAR = 2
"""How many times its own error, in 95 of 100 cases, a count has to be to divide by."""
Bounded = tuple[str | None, str | None] | None
Mask = npt.NDArray[np.bool_]
_EVERY_ROW = Count()


# --- sums of one column --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _ColumnSums(RowSums):
    """Sums over the values of one column."""

    grid: ColumnGrid

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return tuple(sorted({*self.grid.column.names, *self.where.columns}))

    @property
    def always(self) -> bool:
        return self.where.always and not self.grid.column.may_be_missing

    @property
    def scope(self) -> tuple[str, ...]:
        return self.grid.scope

    def _steps(self, counts: Counts) -> tuple[Steps, Mask]:
        """The value of each distinct tuple in steps, and whether its rows take part."""
        kept = self.where.mask(counts) & self.grid.column.present(counts)
        return self.grid.steps(counts), kept


@dataclass(frozen=True)
class _ColumnQuestion(Question):
    """What the questions about one column share."""

    attribute: str

    purpose: ClassVar[str]
    types: ClassVar[tuple[Type, ...]]
    centred: ClassVar[bool] = True
    most: ClassVar[int] = 1 << 40

    def normalize(self, schema: Schema) -> Self:
        own: Any = self
        where = parse_condition(own.where, schema)
        column = column_of(schema, self.attribute, self.purpose, self.types, where)
        changed: dict[str, Any] = {
            "attribute": column.text,
            "where": normalize_where(own.where, schema),
            "by": normalize_groups(own.by, schema),
            "bounds": normalize_bounds(column, own.bounds),
        }
        if getattr(self, "step", None) is not None:
            changed["step"] = exact_text(self.grid(schema).step)
        return replace(self, **changed)

    def grid(self, schema: Schema) -> ColumnGrid:
        """The column on its grid, with the ends that the condition and the bounds leave."""
        own: Any = self
        column = column_of(schema, self.attribute, self.purpose, self.types, parse_condition(own.where, schema))
        step = getattr(self, "step", None)
        return ColumnGrid.of(
            column, own.bounds, step=None if step is None else str(step), centred=self.centred, most=self.most
        )


@dataclass(frozen=True)
class Sum(_ColumnQuestion):
    """The sum of a column over the rows that satisfy a condition.

    Rows whose value is missing are left out. Each value is rounded to the grid first; the sensitivity follows from the ends of
    the declared domain, from the condition where it limits the column (`income < 50000`), and from the bounds.

    Arguments  attribute: a number or decimal with a declared domain [low, high], or arithmetic on such: `income - tax`.
               where: a condition, as for `Count`; every row if not given.
               step: the step of the grid, as a number or a text; by the domain if not given.
               by: attributes to group by, as for `Count`.
               bounds: (low, high): values beyond count as the nearest end, which lowers the noise.
    Raises     UsageError where an argument is not a text; when it is priced or asked, UsageError where the attribute
    has no bounded
               numeric domain, ParameterError where the step or the bounds are out of range.

    >>> Sum("stay", where="age >= 65").to_saved()
    {'kind': 'sum', 'attribute': 'stay', 'where': 'age >= 65'}
    """

    word: ClassVar[str] = "sum"
    purpose: ClassVar[str] = "add up to a sum"
    types: ClassVar[tuple[Type, ...]] = (Type.INTEGER, Type.DECIMAL)
    centred: ClassVar[bool] = False
    where: str | None = None
    step: str | None = None
    by: Groups = None
    bounds: Bounded = None

    def resolve(self, schema: Schema, unit: Unit) -> SingleQuery:
        part = _SumQuery(parse_condition(self.where, schema), check_unit(unit, schema), self.grid(schema))
        return SingleQuery(self.canonical(schema), unit, (grouped(part, self.by, schema),))


@dataclass(frozen=True)
class _SumQuery(_ColumnSums):
    size: ClassVar[int] = 1
    names: ClassVar[tuple[str, ...]] = ("sum",)

    @property
    def steps(self) -> tuple[Fraction, ...]:
        return (self.grid.step,)

    @property
    def ends(self) -> tuple[tuple[int, int], ...]:
        return ((self.grid.low, self.grid.high),)

    def amounts(self, counts: Counts) -> tuple[list[Steps], Mask]:
        values, kept = self._steps(counts)
        return [values], kept

    def finish(self, noisy: Sequence[int]) -> int | float:
        return number(int(noisy[0]) * self.grid.step)


@dataclass(frozen=True)
class Mean(_ColumnQuestion):
    """The mean of a column over the rows that satisfy a condition, from two noisy sums, given with an interval.

    Rows whose value is missing are left out. The answer has `parts` (the noisy count and sum), an interval that
    contains the exact mean with at least 95 %, and a note where the count does not stand out from its own noise.

    Arguments  attribute: a number, decimal, date or time with a declared domain [low, high], or arithmetic on numbers:
               `income / 12`.
               where: a condition, as for `Count`; every row if not given.
               step: the step of the grid, as a number or a text; by the domain if not given.
               by: attributes to group by, as for `Count`; the answer is one mean for each group, each with its interval.
               bounds: (low, high): values beyond count as the nearest end, which lowers the noise.
    Raises     UsageError where an argument is not a text; when it is priced or asked, UsageError where the attribute
    has no bounded
               domain, ParameterError where the step or the bounds are out of range.

    >>> Mean("stay", step="0.5").to_saved()
    {'kind': 'mean', 'attribute': 'stay', 'step': '0.5'}
    """

    word: ClassVar[str] = "mean"
    purpose: ClassVar[str] = "have a mean"
    types: ClassVar[tuple[Type, ...]] = (Type.INTEGER, Type.DECIMAL, Type.DATE, Type.DATETIME)
    where: str | None = None
    step: str | None = None
    by: Groups = None
    bounds: Bounded = None

    def resolve(self, schema: Schema, unit: Unit) -> SingleQuery:
        part = _MeanQuery(parse_condition(self.where, schema), check_unit(unit, schema), self.grid(schema))
        return SingleQuery(self.canonical(schema), unit, (grouped(part, self.by, schema),))


@dataclass(frozen=True)
class _MeanQuery(_ColumnSums):
    """The sum of distances to the lowest value, and that of distances to the highest.

    A row adds x − low to the one and high − x to the other: high − low to both together, wherever x lies. So the L1 sensitivity
    of the pair is that of one of them. Their sum is high − low for each row, and the mean divides the domain as they do.
    Where a row is replaced and every row takes part, the sum of both is the same for all neighbours.
    """

    size: ClassVar[int] = 2
    names: ClassVar[tuple[str, ...]] = ("sum of distances to the lowest value", "sum of distances to the highest value")
    statistic: ClassVar[str | None] = "mean"

    @property
    def width(self) -> int:
        """The steps from the lowest value to the highest."""
        return self.grid.high - self.grid.low

    @property
    def steps(self) -> tuple[Fraction, ...]:
        return (self.grid.step,)

    @property
    def ends(self) -> tuple[tuple[int, int], ...]:
        return (0, self.width), (0, self.width)

    @property
    def has_fixed_total(self) -> bool:
        return self.always and self.unit.neighbours == "replace_one" and self.unit.whose == "row"

    def row_l1(self, lengths: tuple[Fraction, ...]) -> Fraction:
        return self.unit.max_rows * self.width * max(lengths)

    def l1(self, lengths: tuple[Fraction, ...]) -> Fraction:
        return self.row_l1(lengths) * (1 if self.unit.neighbours == "add_remove" else 2)

    def amounts(self, counts: Counts) -> tuple[list[Steps], Mask]:
        values, kept = self._steps(counts)
        return [values - self.grid.low, self.grid.high - values], kept

    def finish(self, noisy: Sequence[int]) -> Any:
        """The mean, within the domain: its middle where neither sum is above zero."""
        part = _part(max(int(noisy[0]), 0), max(int(noisy[1]), 0), Fraction(1, 2))
        return self.grid.value(self.grid.low + part * self.width)

    def cell_value(self, noisy: Sequence[int]) -> Any:
        return self.finish(noisy)

    def cell_interval(self, noisy: Sequence[int], off: Sequence[int]) -> tuple[Any, Any]:
        """An interval for the mean: it rises with the first sum and falls with the second, and neither is negative."""
        above, below = int(noisy[0]), int(noisy[1])
        low = _part(max(above - int(off[0]), 0), max(below + int(off[1]), 0), Fraction(0))
        high = _part(max(above + int(off[0]), 0), max(below - int(off[1]), 0), Fraction(1))
        return self.grid.ends(self.grid.low + low * self.width, self.grid.low + high * self.width)

    def cell_noisy(self, noisy: Sequence[int]) -> dict[str, int | float]:
        """The count, and the sum of the values where they are numbers."""
        count = Fraction(int(noisy[0]) + int(noisy[1]), self.width)
        if self.grid.column.type in TIMES:
            return {"count": _round(count)}
        return {"count": _round(count), "sum": number((int(noisy[0]) + count * self.grid.low) * self.grid.step)}

    def cell_usable(self, noisy: Sequence[int], off: Sequence[int]) -> bool:
        return int(noisy[0]) + int(noisy[1]) > _CLEAR * (int(off[0]) + int(off[1]))


def _part(one: int, other: int, nothing: Fraction) -> Fraction:
    """The part of the first in the sum of two; `nothing` where both are zero."""
    return Fraction(one, one + other) if one + other else nothing


@dataclass(frozen=True)
class _CentredSums(_ColumnSums):
    """A count, and a sum of distances to the middle."""

    size: ClassVar[int] = 2
    names: ClassVar[tuple[str, ...]] = ("count", "sum of distances to the middle")
    statistic: ClassVar[str | None] = "mean"

    @property
    def middle(self) -> int:
        """The step in the middle of the domain."""
        return (self.grid.low + self.grid.high) // 2

    @property
    def half(self) -> int:
        """The largest distance to the middle."""
        return self.grid.high - self.middle

    @property
    def steps(self) -> tuple[Fraction, ...]:
        return (Fraction(1), self.grid.step)

    @property
    def ends(self) -> tuple[tuple[int, int], ...]:
        return (1, 1), (self.grid.low - self.middle, self.grid.high - self.middle)

    def amounts(self, counts: Counts) -> tuple[list[Steps], Mask]:
        values, kept = self._steps(counts)
        return [np.ones(len(counts), dtype=np.int64), values - self.middle], kept

    def cell_value(self, noisy: Sequence[int]) -> Any:
        return self.finish(noisy)

    def _ratio(self, noisy: Sequence[int], tails: Sequence[int]) -> tuple[Fraction, Fraction]:
        """The mean distance to the middle, at least and at most, where count and sum are off by these tails and no more."""
        low, high = _quotients(noisy[0], tails[0], noisy[1], tails[1])
        bottom, top = Fraction(self.grid.low - self.middle), Fraction(self.grid.high - self.middle)
        return max(min(low, top), bottom), min(max(high, bottom), top)

    def cell_noisy(self, noisy: Sequence[int]) -> dict[str, int | float]:
        """The count, and the sum of the values where they are numbers."""
        count = int(noisy[0])
        if self.grid.column.type in TIMES:
            return {"count": count}
        return {"count": count, "sum": number((int(noisy[1]) + count * self.middle) * self.grid.step)}

    def cell_usable(self, noisy: Sequence[int], off: Sequence[int]) -> bool:
        return int(noisy[0]) > _CLEAR * int(off[0])


def _quotients(count: int, few: int, total: int, off: int) -> tuple[Fraction, Fraction]:
    """The least and the largest of (total ± off) / (count ± few), where the divisor is one at least."""
    least, most = max(1, int(count) - int(few)), max(1, int(count) + int(few))
    below, above = int(total) - int(off), int(total) + int(off)
    return Fraction(below, most if below >= 0 else least), Fraction(above, least if above >= 0 else most)


@dataclass(frozen=True)
class Variance(_ColumnQuestion):
    """The variance of a column over the rows that satisfy a condition: the mean squared distance to their mean.

    Rows whose value is missing are left out. The answer has an interval that contains the exact variance with at least 95 %.

    Arguments  attribute: a number or decimal with a declared domain [low, high], or arithmetic on such.
               where: a condition, as for `Count`; every row if not given.
               by: attributes to group by, as for `Count`.
               bounds: (low, high): values beyond count as the nearest end, which lowers the noise.
    Raises     UsageError where an argument is not a text; when it is priced or asked, UsageError where the attribute
    has no bounded
               numeric domain, ParameterError where the bounds are out of range.

    >>> Variance("stay").to_saved()
    {'kind': 'variance', 'attribute': 'stay'}
    """

    word: ClassVar[str] = "variance"
    purpose: ClassVar[str] = "have a variance"
    types: ClassVar[tuple[Type, ...]] = (Type.INTEGER, Type.DECIMAL)
    most: ClassVar[int] = _FEW
    where: str | None = None
    by: Groups = None
    bounds: Bounded = None

    def resolve(self, schema: Schema, unit: Unit) -> SingleQuery:
        part = _VarianceQuery(parse_condition(self.where, schema), check_unit(unit, schema), self.grid(schema))
        return SingleQuery(self.canonical(schema), unit, (grouped(part, self.by, schema),))


@dataclass(frozen=True)
class _VarianceQuery(_CentredSums):
    """A count, a sum of distances to the middle, and one of squares: in units of 2^`shift` square steps, less `base`."""

    size: ClassVar[int] = 3
    names: ClassVar[tuple[str, ...]] = (*_CentredSums.names, "sum of squared distances to the middle")
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
        return (*super().steps, self.grid.step**2 * (1 << self.shift))

    @property
    def ends(self) -> tuple[tuple[int, int], ...]:
        return (*super().ends, (-self.base, self.largest - self.base))

    def amounts(self, counts: Counts) -> tuple[list[Steps], Mask]:
        (ones, distances), kept = super().amounts(counts)
        return [ones, distances, self.squares(distances) - self.base], kept

    def finish(self, noisy: Sequence[int]) -> float:
        """The variance, between zero and the square of half the width of the domain."""
        count, first, second = max(int(noisy[0]), 1), int(noisy[1]), int(noisy[2])
        squares = (Fraction(second, count) + self.base) * (1 << self.shift)
        bottom, top = self.grid.low - self.middle, self.grid.high - self.middle
        distance = min(max(Fraction(first, count), Fraction(bottom)), Fraction(top))
        found = (squares - distance**2) * self.grid.step**2
        most = ((self.grid.high - self.grid.low) * self.grid.step / 2) ** 2
        return float(min(max(found, Fraction(0)), most))

    def cell_interval(self, noisy: Sequence[int], off: Sequence[int]) -> tuple[Any, Any]:
        """An interval for the variance: where all three sums are within their tails; a square is rounded to half a unit."""
        least, most = _quotients(noisy[0], off[0], noisy[2], off[2])
        rounded = Fraction(1, 2) if self.shift else Fraction(0)
        low, high = self._ratio(noisy, off)
        near, far = Fraction(0) if low <= 0 <= high else min(low**2, high**2), max(low**2, high**2)
        unit, widest = self.grid.step**2, Fraction(self.grid.high - self.grid.low, 2) ** 2
        ends = [
            (least + self.base - rounded) * (1 << self.shift) - far,
            (most + self.base + rounded) * (1 << self.shift) - near,
        ]
        first, last = (float(min(max(end, Fraction(0)), widest) * unit) for end in ends)
        return first, last


# --- a ratio --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ratio(Question):
    """The ratio of two sums or counts over the rows that satisfy a condition: kilometres per trip, the share of women.

    The answer has `parts` (the two noisy numbers) and an interval that contains the exact ratio with at least 95 %. It
    has no value where the noisy divisor is not above zero, and a note where it does not stand out from its own noise.

    Arguments  numerator: a `Sum` or a `Count`, or a mapping of one; a text is the column to add up.
               denominator: the same; every row counts if not given.
               where: a condition for both, as for `Count`; every row if not given.
               by: attributes to group by, as for `Count`.
    Raises     UsageError where numerator or denominator is another question, or has groups of its own; when it is priced
               or asked, UsageError where the divisor can be negative.

    >>> Ratio(Count("sex = 'female'")).to_saved()["numerator"]
    {'kind': 'count', 'where': "sex = 'female'"}
    """

    word: ClassVar[str] = "ratio"
    numerator: Sum | Count
    denominator: Sum | Count = _EVERY_ROW
    where: str | None = None
    by: Groups = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for key in ("numerator", "denominator"):
            object.__setattr__(self, key, _side(key, getattr(self, key)))

    def _both(self, side: Sum | Count) -> str | None:
        """The condition of one side together with that of the ratio."""
        found = [f"({each})" for each in (side.where, self.where) if each is not None]
        return " and ".join(found) or None

    def normalize(self, schema: Schema) -> Self:
        above, below = (replace(side, where=self._both(side)) for side in (self.numerator, self.denominator))
        by = normalize_groups(self.by, schema)
        return replace(self, numerator=above.normalize(schema), denominator=below.normalize(schema), where=None, by=by)

    def resolve(self, schema: Schema, unit: Unit) -> SingleQuery:
        check_unit(unit, schema)
        sides: list[RowSums] = []
        for side in (self.numerator, self.denominator):
            found = replace(side, where=self._both(side)).resolve(schema, unit).parts[0]
            assert isinstance(found, RowSums)  # noqa: S101 - neither has groups
            sides.append(found)
        least = sides[1].ends[0][0]
        if least < 0:
            raise UsageError(
                "a ratio whose divisor can be negative",
                came=excerpt(self.denominator.to_saved()),
                allowed="a count, or a sum of a column that is never below 0",
                fix="give the sum bounds: (0, …)",
            )
        part = _RatioQuery(sides[0].where.or_else(sides[1].where), unit, sides[0], sides[1])
        return SingleQuery(self.canonical(schema), unit, (grouped(part, self.by, schema),))


def _side(key: str, given: Any) -> Sum | Count:
    """The numerator or denominator of a ratio."""
    if isinstance(given, str):
        given = Sum(given)
    if isinstance(given, Mapping) and given:
        if "kind" in given:
            word, options = given["kind"], {name: value for name, value in given.items() if name != "kind"}
        else:
            (word, first), *rest = given.items()
            options = {
                **(first if isinstance(first, Mapping) else {"where" if word == "count" else "attribute": first})
            }
            options |= dict(rest)
        kinds: dict[Any, type[Sum | Count]] = {"sum": Sum, "count": Count}
        if word in kinds:
            given = kinds[word].from_options(options)
    if not isinstance(given, Sum | Count) or given.by is not None:
        raise UsageError(
            f"ratio: '{key}' is neither a sum nor a count of its own",
            came=excerpt(given),
            allowed="a column to add up, Sum(…) or Count(…) without `by`",
        )
    return given


@dataclass(frozen=True)
class _RatioQuery(RowSums):
    """Two sums; a row may take part in both, so that a unit moves both at once."""

    upper: RowSums
    lower: RowSums
    size: ClassVar[int] = 2
    statistic: ClassVar[str | None] = "ratio"

    @property
    def names(self) -> tuple[str, ...]:
        return f"{self.upper.names[0]} above", f"{self.lower.names[0]} below"

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return tuple(sorted({*self.upper.columns, *self.lower.columns}))

    @property
    def steps(self) -> tuple[Fraction, ...]:
        return self.upper.steps[0], self.lower.steps[0]

    @property
    def ends(self) -> tuple[tuple[int, int], ...]:
        return self.upper.ends[0], self.lower.ends[0]

    @property
    def linf(self) -> tuple[int, ...]:
        sides = (replace(side, unit=self.unit) for side in (self.upper, self.lower))
        return tuple(side.linf[0] for side in sides)

    def amounts(self, counts: Counts) -> tuple[list[Steps], Mask]:
        found = [each.amounts(counts) for each in (self.upper, self.lower)]
        amounts = [np.where(kept, own[0], 0) for own, kept in found]
        return amounts, np.ones(len(counts), dtype=np.bool_)

    @property
    def scope(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.upper.scope, *self.lower.scope)))

    @property
    def is_share(self) -> bool:
        """Whether the rows above are some of those below, by the conditions alone: then the ratio lies in 0..1."""
        if not isinstance(self.upper, CountQuery) or not isinstance(self.lower, CountQuery):
            return False
        return self.upper.where.and_also(self.lower.where) == self.upper.where

    def finish(self, noisy: Sequence[int]) -> float | None:
        """The ratio; None where the noisy divisor is not above zero."""
        above, below = (int(each) * step for each, step in zip(noisy, self.steps, strict=True))
        if below <= 0:
            return None
        found = above / below
        return float(min(max(found, Fraction(0)), Fraction(1)) if self.is_share else found)

    def cell_value(self, noisy: Sequence[int]) -> float | None:
        return self.finish(noisy)

    def cell_interval(self, noisy: Sequence[int], off: Sequence[int]) -> tuple[float | None, float | None]:
        """An interval for the ratio, where both sums are within their tails at once; an end is None where nothing limits it.

        The divisor is at least one where it is a count, since a ratio over no row is none; a sum is above zero.
        """
        top = [(int(noisy[0]) + sign * int(off[0])) * self.steps[0] for sign in (-1, 1)]
        least, most = ((int(noisy[1]) + sign * int(off[1])) * self.steps[1] for sign in (-1, 1))
        if isinstance(self.lower, CountQuery):
            least, most = max(least, Fraction(1)), max(most, Fraction(1))
        low = _divided(top[0], most if top[0] >= 0 else least)
        high = _divided(top[1], least if top[1] >= 0 else most)
        if self.is_share:
            low = min(max(low or Fraction(0), Fraction(0)), Fraction(1))
            high = Fraction(1) if high is None else min(max(high, Fraction(0)), Fraction(1))
        return None if low is None else float(low), None if high is None else float(high)

    def cell_usable(self, noisy: Sequence[int], off: Sequence[int]) -> bool:
        return int(noisy[1]) > _CLEAR * int(off[1])

    def cell_noisy(self, noisy: Sequence[int]) -> dict[str, int | float]:
        pairs = zip(("numerator", "denominator"), noisy, self.steps, strict=True)
        return {name: number(int(each) * step) for name, each, step in pairs}


def _divided(top: Fraction, bottom: Fraction) -> Fraction | None:
    """A quotient; None where the divisor may be as near to 0 as one likes."""
    return top / bottom if bottom > 0 else None


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


def read_bounds(column: MeasuredColumn, bounds: Bounded) -> tuple[Fraction, Fraction]:
    """The ends of a column within the bounds of the analyst; ParameterError where they leave nothing of it."""
    if bounds is None:
        return column.low, column.high
    try:
        ends = [None if end is None else point(column.type, _end(column, end)) for end in bounds]
    except PolicyError as error:
        raise UsageError(
            f"the bounds of '{column.text}': {error.wrong}", came=error.came, allowed=error.allowed
        ) from None
    low = column.low if ends[0] is None else ends[0]
    high = column.high if ends[1] is None else ends[1]
    kept = max(low, column.low), min(high, column.high)
    if low >= high or kept[0] >= kept[1]:
        raise ParameterError(
            f"the bounds of '{column.text}' leave nothing of its values",
            came=excerpt(list(bounds)),
            allowed=f"low < high, within {written(column.type, column.low)}..{written(column.type, column.high)}",
        )
    return kept


def _end(column: MeasuredColumn, end: str) -> object:
    """An end as it was typed; of whole numbers 1e5 and 1/2 are read, too."""
    return end if column.type in TIMES else read_number(end, "a bound")


def normalize_bounds(column: MeasuredColumn, bounds: Bounded) -> Bounded:
    """Bounds in their one spelling; None where they leave every value as it is."""
    low, high = read_bounds(column, bounds)
    if (low, high) == (column.low, column.high):
        return None
    spelled = written if column.type in TIMES else lambda _, at: exact_text(at)
    return spelled(column.type, low), spelled(column.type, high)


@dataclass(frozen=True)
class ColumnGrid:
    """A column on its grid: values lie at `low`, …, `high` steps."""

    column: MeasuredColumn
    step: Fraction
    low: int
    high: int
    bounded: bool = False
    """Whether values are moved to the nearest of the ends that the analyst gave."""

    @classmethod
    def of(
        cls,
        column: MeasuredColumn,
        bounds: Bounded = None,
        *,
        step: str | None = None,
        centred: bool = True,
        most: int = WIDE,
    ) -> ColumnGrid:
        """The grid of a column with two ends; `centred` where only distances within them are added."""
        low, high = read_bounds(column, bounds)
        if low == high:
            what = "attribute" if column.expression is None else "column"
            raise UsageError(f"{what} '{column.text}' has a domain with a single value", fix="count the rows instead")
        span = high - low if centred else max(abs(low), abs(high), high - low)
        chosen = _step(column.type, span, most) if step is None else _declared_step(column, step, span, most)
        moved = (low, high) != (column.low, column.high)
        return cls(column, chosen, _round(low / chosen), _round(high / chosen), moved)

    def steps(self, counts: Counts) -> Ranks:
        """The value of each distinct tuple in steps: rounded to the nearest (in doubles, for decimals), never beyond the ends."""
        values, codes = self.column.values(counts)
        if self.column.type is Type.DECIMAL or self.column.expression is not None:
            found = np.floor(values * float(1 / self.step) + 0.5)
            steps = np.clip(found, self.low, self.high).astype(np.int64)
        else:
            points = whole_points(self.column.attributes[0], values)
            wide = int(
                self.step
            )  # whole, for whole values: quotient and remainder, because twice a value might not fit
            rounded = points if wide == 1 else points // wide + (2 * (points % wide) >= wide)
            steps = np.clip(rounded, self.low, self.high)
        return (
            steps if codes is None else np.append(steps, self.low)[codes]
        )  # ABSENT is -1: the last, which takes no part

    @property
    def scope(self) -> tuple[str, ...]:
        """What is done to the column's values before they are added up, by the policy and the question alone."""
        kind, text = self.column.type, self.column.text
        said = list(self.column.scope)
        if self.bounded:
            ends = (
                self._write(floor(end * self.step)) if kind in TIMES else exact_text(end * self.step)
                for end in (self.low, self.high)
            )
            said.append(f"values of '{text}' outside {'..'.join(ends)} count as the nearest end")
        unit = " microseconds" if kind is Type.DATETIME else ""
        rounded = f"each value of '{text}' rounded to the nearest multiple of {exact_text(self.step)}{unit}"
        if kind in (Type.DECIMAL, Type.DATETIME) or self.step != 1:
            said.append(rounded)
        return tuple(said)

    def ends(self, low: Fraction, high: Fraction) -> tuple[Any, Any]:
        """An interval from and to so many steps, as plain values; dates and times are rounded outwards."""
        if self.column.type not in TIMES:
            return float(low * self.step), float(high * self.step)
        return self._write(floor(low * self.step)), self._write(ceil(high * self.step))

    def _write(self, at: int) -> str:
        try:
            return written(self.column.type, Fraction(at))
        except (OverflowError, ValueError):  # half a step beyond the last year that can be written
            return written(self.column.type, min(max(Fraction(at), self.column.low), self.column.high))

    def value(self, steps: Fraction) -> Any:
        """What lies at so many steps, within the ends of the column: a number, or a date or time as text."""
        at = min(max(steps * self.step, self.column.low), self.column.high)
        if self.column.type in TIMES:
            return written(self.column.type, Fraction(_round(at)))
        return float(at)


def _round(at: Fraction) -> int:
    return floor(at + Fraction(1, 2))


def _step(kind: Type, span: Fraction, most: int) -> Fraction:
    if kind.discrete:
        return Fraction(1) if span <= most else max(Fraction(1), power_below(span / most))
    fine = power_below(span / FINE)
    return max(Fraction(1), fine) if kind is Type.DATETIME else fine


def _declared_step(column: MeasuredColumn, step: str, span: Fraction, most: int) -> Fraction:
    found = read_number(step, "a step")
    least = span / most
    if column.type is not Type.DECIMAL and found.denominator != 1:
        raise ParameterError(f"a step of attribute '{column.text}' is not whole", came=step, allowed="1, 2, …")
    if not least <= found <= span:
        raise ParameterError(
            f"a step of attribute '{column.text}' is out of range",
            came=step,
            allowed=f"from {exact_text(power_below(least) * 10)} to {exact_text(span)}",
        )
    return found
