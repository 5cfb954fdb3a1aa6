"""A quantile, chosen among candidates that the policy fixes, by a score with a proved sensitivity.

Candidates are all declared values where there are at most 10,001, else 10,001 even steps from end to end of the domain.
For q = a/b in lowest terms and a candidate v, with counts over the rows that take part,

    low(v)  = (b − a)·#(x < v) − a·#(x ≥ v)       above zero where more than a share q lies below v
    high(v) = a·#(x > v) − (b − a)·#(x ≤ v)       above zero where more than a share 1 − q lies above v
    score(v) = −max(low(v), high(v), 0)

so the score is 0 for every q-quantile of the rows and falls with the rank error, b times as fast. A row adds b − a or
−a to `low`, and a or −(b − a) to `high`; the maximum changes by no more than its largest term. So one row changes
every score by at most max(a, b − a) when it comes or goes, by at most b when it is replaced, and a person `max_rows`
times as far.

Ranks say nothing beyond the last row: at q = 1 every candidate from the largest value up is as good as any other, at q = 0
every one below the smallest. A share such as 0.99 is worth more than the maximum.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from shoal.data.domain import Line, Values
from shoal.data.schema import Attribute, Schema
from shoal.data.type import Type
from shoal.engine.base import Table
from shoal.errors import ParameterError, UsageError
from shoal.guarantee.rounding import Number, exact
from shoal.guarantee.unit import Unit
from shoal.language.condition.predicate import Predicate
from shoal.language.condition.ranks import (
    Array,
    ListedRanks,
    attribute_of,
    describe_treatment,
    domain_of,
    line_of,
    whole_points,
)
from shoal.query.questions.base import Question, SelectionQuery, check_unit, normalize_where, parse_condition
from shoal.query.questions.moments import NUMBERS, TIMES

MOST = 10_000
"""Steps from the first candidate to the last."""
FINEST = 1_000_000
"""The largest denominator of q."""
PURPOSE = "have a quantile"
RANK = "rows too many on one side of the answer"
"""The rank error: by how many the rows below it exceed a share q of all, or those above it a share 1 - q."""


@dataclass(frozen=True)
class Quantile(Question):
    """A quantile of an attribute: the value with a share q of the rows at or below it; the median at q = 1/2.

    The answer is drawn by the exponential mechanism among candidates that the policy fixes.

    Arguments  attribute: a number, decimal, date, time or ordinal with a declared domain.
               q: the share, from 0 to 1.
               where: a condition, as for `Count`; every row if not given.
    Raises     ParameterError where q is not between 0 and 1 or its denominator is above a million; when it is priced or asked,
               UsageError where the attribute has no ordered, bounded domain.

    >>> Quantile("income", "0.5").q
    Fraction(1, 2)
    """

    word: ClassVar[str] = "quantile"
    attribute: str
    q: Number
    where: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        share = exact(self.q, "q")
        if not 0 <= share <= 1:
            raise ParameterError("q is not between 0 and 1", came=self.q, allowed="0 to 1")
        if share.denominator > FINEST:
            raise ParameterError(
                "q has too large a denominator", came=self.q, allowed=f"a denominator of at most {FINEST:,}"
            )
        object.__setattr__(self, "q", share)

    def normalize(self, schema: Schema) -> Self:
        return replace(self, where=normalize_where(self.where, schema))

    def resolve(self, schema: Schema, unit: Unit) -> SelectionQuery:
        attribute = attribute_of(schema, self.attribute, PURPOSE)
        if attribute.type is Type.ORDINAL:
            domain = domain_of(attribute, PURPOSE)
            values = domain.values if isinstance(domain, Values) else ()
            points: tuple[Fraction, ...] = tuple(map(Fraction, range(len(values))))
        else:
            attribute, line = line_of(schema, self.attribute, PURPOSE, (*NUMBERS, *TIMES, Type.ORDINAL))
            points = _candidates(line)
        if len(points) < 2:
            raise UsageError(f"attribute '{self.attribute}' has a domain with a single value", fix="count rows instead")
        where = parse_condition(self.where, schema)
        return _QuantileQuery(self.canonical(schema), check_unit(unit, schema), attribute, exact(self.q), where, points)


def _candidates(line: Line) -> tuple[Fraction, ...]:
    """Points of the domain in order, by the domain alone."""
    if line.listed is not None and len(line.listed) <= MOST + 1:
        return line.listed
    width = line.high - line.low
    if not width:
        return (line.low,)
    whole = line.type is not Type.DECIMAL
    steps = min(int(width), MOST) if whole else MOST
    even = [line.low + width * i / steps for i in range(steps + 1)]
    return tuple(Fraction(int(at)) for at in even) if whole else tuple(even)


@dataclass(frozen=True)
class _QuantileQuery(SelectionQuery):
    attribute: Attribute
    q: Fraction
    where: Predicate
    points: tuple[Fraction, ...]

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return tuple(sorted({self.attribute.name, *self.where.columns}))

    @property
    def candidates(self) -> int:
        return len(self.points)

    @property
    def complete(self) -> bool:
        """Whether every value that a row may have is a candidate, so that one of them is a quantile."""
        if self.attribute.type is Type.ORDINAL:
            return True
        line = Line.of(self.attribute.type, domain_of(self.attribute, PURPOSE))
        if line.listed is not None:
            return len(line.listed) == len(self.points)
        return self.attribute.type is not Type.DECIMAL and len(self.points) == line.high - line.low + 1

    @property
    def error_name(self) -> str:
        return RANK if self.complete else f"{RANK}, more than at the best of the {len(self.points):,} candidates"

    @property
    def scope(self) -> tuple[str, ...]:
        found = (*super().scope, *describe_treatment(self.attribute))
        if self.complete:
            return found
        limit = "where many rows lie between two of them none is near the quantile, and nothing limits how far the answer is off"
        return (*found, f"the answer is one of {len(self.points):,} candidates in even steps: {limit}")

    @property
    def linf(self) -> int:
        a, b = self.q.numerator, self.q.denominator
        return self.unit.max_rows * (max(a, b - a) if self.unit.neighbours == "add_remove" else b)

    def scores(self, table: Table) -> npt.NDArray[np.int64]:
        counts = table.count_by(self.columns)
        place = self.columns.index(self.attribute.name)
        codes = counts.codes[place]
        kept = self.where.mask(counts) & (codes >= 0)
        values, edges = self._comparable(counts.values[place])
        often = np.zeros(len(values), dtype=np.int64)
        np.add.at(often, codes[kept], counts.counts[kept])
        order = np.argsort(values, kind="stable")
        running = np.concatenate([[0], np.cumsum(often[order])])
        below = running[np.searchsorted(values[order], edges, side="left")]
        through = running[np.searchsorted(values[order], edges, side="right")]
        rows, (a, b) = running[-1], (self.q.numerator, self.q.denominator)
        low = (b - a) * below - a * (rows - below)
        high = a * (rows - through) - (b - a) * through
        return np.asarray(-np.maximum(np.maximum(low, high), 0), dtype=np.int64)

    def _comparable(self, values: Array) -> tuple[Array, Array]:
        """Values and candidates as numbers that compare as the values do."""
        if self.attribute.type is Type.DECIMAL:
            return values, np.array([float(at) for at in self.points])
        edges = np.array([int(at) for at in self.points], dtype=np.int64)
        if self.attribute.type is Type.ORDINAL:
            return ListedRanks(self.attribute, 0, len(edges) - 1).ranks_of(values), edges
        return whole_points(self.attribute, values), edges

    def finish(self, index: int) -> Any:
        at = self.points[index]
        if self.attribute.type is Type.ORDINAL:
            return ListedRanks(self.attribute, 0, len(self.points) - 1).values[int(at)]
        domain = domain_of(self.attribute, PURPOSE)
        line = Line.of(self.attribute.type, domain)
        if self.attribute.type is Type.DECIMAL:
            return float(at)
        return int(at) if self.attribute.type is Type.INTEGER else line.text(at)
