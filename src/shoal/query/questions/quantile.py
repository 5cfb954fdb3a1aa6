"""Quantiles and bounds, chosen among all declared values by a score with a proved sensitivity.

Candidates are the declared values: every integer, every day, every listed value; of decimals and times every multiple of the step
that a sum has, to which values are rounded first. So a quantile of the rows is always among them. They are never listed:
between two neighbouring values of the rows all candidates have one score, and a run of equal candidates is drawn as one,
by its length.

For q = a/b in lowest terms and a candidate v, with counts over the rows that take part,

    low(v)  = (b − a)·#(x < v) − a·#(x ≥ v)       above zero where more than a share q lies below v
    high(v) = a·#(x > v) − (b − a)·#(x ≤ v)       above zero where more than a share 1 − q lies above v
    score(v) = −max(low(v), high(v), 0)

so the score is 0 for every q-quantile of the rows and falls with the rank error, b times as fast. A row adds b − a or
−a to `low`, and a or −(b − a) to `high`; the maximum changes by no more than its largest term. So one row changes
every score by at most max(a, b − a) when it comes or goes, by at most b when it is replaced, and a person `max_rows`
times as far. With groups a row that is replaced may leave one group and come to another: 2 max(a, b − a) in all.

The ends of an interval for the quantile are chosen in the same way, `shift` further down or up: the lower end by
−max(low + shift, high − shift, 0), and one more candidate, the lower end of the domain without any condition on the rows
below it, has the score −max(a n − shift, 0). The shift is what the score can be off in all but 1 of 40 cases, and one more. So in
at least 95 of 100 cases all q-quantiles lie between both ends (theorem `quantile-score`).

Candidates may be *geometric* instead, each a hundredth above the one before, where a domain is wide and has no number below zero:
a few thousand in place of millions, so that the rank error is smaller. Each value is then rounded down to a candidate, and the
upper end of an interval is the last value below the next candidate: it is an interval for the quantiles of the values themselves.

Ranks say nothing beyond the last row: at q = 1 every candidate from the largest value up is as good as any other, at q = 0
every one below the smallest. A share such as 0.99 is worth more than the maximum.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import ceil, log, prod
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from shoal.data.domain import Values
from shoal.data.schema import Attribute, Schema
from shoal.data.type import Type, point
from shoal.engine.base import Counts, Table
from shoal.errors import ParameterError, UsageError
from shoal.guarantee.rounding import Number, exact, exact_text
from shoal.guarantee.unit import Unit
from shoal.language.cells import CellSpec, TableAxis
from shoal.language.column import MeasuredColumn, column_of
from shoal.language.condition.predicate import Predicate
from shoal.language.condition.ranks import ListedRanks, attribute_of, describe_treatment, domain_of, ranked_domain
from shoal.mechanism.base import Sensitivity
from shoal.policy.text.problem import excerpt
from shoal.query.questions.base import (
    Query,
    Question,
    axes_of,
    cell_of_rows,
    check_unit,
    labels_of,
    normalize_groups,
    normalize_where,
    parse_condition,
)
from shoal.query.questions.count import Groups
from shoal.query.questions.moments import NUMBERS, TIMES, Bounded, ColumnGrid, normalize_bounds

FINEST = 1_000_000
"""The largest denominator of q."""
CONFIDENCE = Fraction(19, 20)
"""How often an interval contains the quantiles of the rows, at least."""
MOST_GROUPS = 10_000
PURPOSE = "have a quantile"
RANK = "rows too many on one side of the answer"
"""The rank error: by how many the rows below it exceed a share q of all, or those above it a share 1 - q."""
GEOMETRIC = "geometric"
PERCENT = 1
"""How far apart geometric candidates are."""
_LARGEST = (1 << 63) - 1
Ints = npt.NDArray[np.int64]
_TRUTH = {"true": True, "yes": True, "false": False, "no": False}


def _share(value: Number, name: str) -> Fraction:
    share = exact(value, name)
    if not 0 <= share <= 1:
        raise ParameterError(f"{name} is not between 0 and 1", came=value, allowed="0 to 1")
    if share.denominator > FINEST:
        raise ParameterError(
            f"{name} has too large a denominator", came=value, allowed=f"a denominator of at most {FINEST:,}"
        )
    return share


@dataclass(frozen=True)
class Quantile(Question):
    """A quantile of a column: the value with a share q of the rows at or below it; the median at q = 1/2.

    The answer is drawn by the exponential mechanism among all declared values, with an interval that contains the quantiles
    of the rows with at least 95 %. Half of epsilon is for the value, a quarter for each end.

    Arguments  attribute: a number, decimal, date, time or ordinal with a declared domain, or arithmetic on numbers:
               `income - tax`.
               q: the share, from 0 to 1.
               where: a condition, as for `Count`; every row if not given.
               by: attributes to group by, as for `Count`; the answer is one quantile for each group.
               bounds: (low, high): values beyond count as the nearest end; fewer candidates are less error.
               interval: whether to draw an interval, too; if not, all of epsilon is for the value.
               candidates: "geometric" for candidates that are each a hundredth above the one before; all declared values if not
               given.
    Raises     ParameterError where q is not between 0 and 1 or its denominator is above a million; when it is priced or asked,
               UsageError where the attribute has no ordered, bounded domain.

    >>> Quantile("income", "0.5").q
    Fraction(1, 2)
    """

    word: ClassVar[str] = "quantile"
    attribute: str
    q: Number
    where: str | None = None
    by: Groups = None
    bounds: Bounded = None
    interval: bool = True
    candidates: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "q", _share(self.q, "q"))
        if self.candidates not in (None, GEOMETRIC):
            raise UsageError("quantile: no such candidates", came=excerpt(self.candidates), allowed=GEOMETRIC)
        given: Any = self.interval
        if isinstance(given, str) and given.lower() in _TRUTH:
            object.__setattr__(self, "interval", _TRUTH[given.lower()])
        elif not isinstance(given, bool):
            raise UsageError("quantile: 'interval' is not true or false", came=excerpt(given), allowed="true, false")

    def to_saved(self) -> dict[str, Any]:
        saved = super().to_saved()
        return saved if self.interval else {key: value for key, value in saved.items() if key != "interval"}

    @classmethod
    def from_saved(cls, options: object) -> Self:
        """A saved question, which has the key `interval` where it asks for one."""
        return cls.from_options({"interval": False, **options} if isinstance(options, Mapping) else options)

    def normalize(self, schema: Schema) -> Self:
        where = parse_condition(self.where, schema)
        changed: dict[str, Any] = {
            "where": normalize_where(self.where, schema),
            "by": normalize_groups(self.by, schema),
        }
        if not _is_ordinal(schema, self.attribute):
            column = column_of(schema, self.attribute, PURPOSE, (*NUMBERS, *TIMES, Type.ORDINAL), where)
            changed |= {"attribute": column.text, "bounds": normalize_bounds(column, self.bounds)}
        return replace(self, **changed)

    def resolve(self, schema: Schema, unit: Unit) -> RankQuery:
        q, share = exact(self.q), Fraction(1, 2 if self.interval else 1)
        targets = [RankTarget("quantile", q, 0, share)]
        if self.interval:
            targets += [RankTarget("low", q, -1, share / 2), RankTarget("high", q, 1, share / 2)]
        where = parse_condition(self.where, schema)
        candidates = _candidates(schema, self.attribute, where, self.bounds)
        if self.candidates is not None:
            candidates = GeometricCandidates.of(candidates, self.attribute)
        axes = None if self.by is None else _few_axes(schema, self.by)
        return RankQuery(self.canonical(schema), check_unit(unit, schema), where, candidates, tuple(targets), axes)


@dataclass(frozen=True)
class Bounds(Question):
    """Two values between which at least a share of the rows lies, with at least 95 %: `bounds` for a mean or a sum.

    Each end is drawn by the exponential mechanism among all declared values, for half of epsilon, so far down or up that at most
    half of what is left of the share lies beyond it. How many rows lie beyond is not told.

    Arguments  attribute: a number, decimal, date or time with a declared domain, or arithmetic on numbers.
               share: the share of the rows, from 0 to 1.
               where: a condition, as for `Count`; every row if not given.
    Raises     ParameterError where the share is not between 0 and 1; when it is priced or asked, UsageError where the attribute
               has no bounded domain.

    >>> Bounds("income").to_saved()
    {'kind': 'bounds', 'attribute': 'income', 'share': '0.95'}
    """

    word: ClassVar[str] = "bounds"
    attribute: str
    share: Number = Fraction(19, 20)
    where: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "share", _share(self.share, "the share"))

    def normalize(self, schema: Schema) -> Self:
        where = parse_condition(self.where, schema)
        column = column_of(schema, self.attribute, PURPOSE, (*NUMBERS, *TIMES), where)
        return replace(self, attribute=column.text, where=normalize_where(self.where, schema))

    def resolve(self, schema: Schema, unit: Unit) -> RankQuery:
        beyond, half = (1 - exact(self.share)) / 2, Fraction(1, 2)
        targets = RankTarget("low", beyond, -1, half), RankTarget("high", 1 - beyond, 1, half)
        where = parse_condition(self.where, schema)
        column_of(schema, self.attribute, PURPOSE, (*NUMBERS, *TIMES), where)
        candidates = _candidates(schema, self.attribute, where, None)
        said = (
            f"in at least 95 of 100 cases a share of {exact_text(exact(self.share))} of the rows or more lies between the ends",
        )
        return RankQuery(self.canonical(schema), check_unit(unit, schema), where, candidates, targets, None, said)


def _is_ordinal(schema: Schema, name: str) -> bool:
    return name in schema.by_name and attribute_of(schema, name, PURPOSE).type is Type.ORDINAL


def _few_axes(schema: Schema, by: tuple[CellSpec, ...]) -> tuple[TableAxis, ...]:
    axes = axes_of(schema, by)
    if prod(map(len, axes)) > MOST_GROUPS:
        raise UsageError("too many groups", came=f"{prod(map(len, axes)):,}", allowed=f"{MOST_GROUPS:,}")
    return axes


# --- candidates -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Candidates(ABC):
    """All values that may be chosen, as ranks from `low` to `high`; they follow from the policy and the question alone."""

    @property
    @abstractmethod
    def low(self) -> int:
        """The rank of the first."""

    @property
    @abstractmethod
    def high(self) -> int:
        """The rank of the last."""

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The attributes that are read."""

    @property
    @abstractmethod
    def scope(self) -> tuple[str, ...]:
        """What is done to values before they are ranked."""

    @abstractmethod
    def ranks(self, counts: Counts) -> tuple[Ints, npt.NDArray[np.bool_]]:
        """The rank of each distinct tuple, from low to high, and whether it has a value."""

    @abstractmethod
    def value(self, rank: int) -> Any:
        """The value at a rank, as a plain value."""

    def last_value(self, rank: int) -> Any:
        """The largest value that is ranked with the candidate at a rank: the candidate, unless values are rounded down to it."""
        return self.value(rank)

    @property
    def count(self) -> int:
        """How many there are."""
        return self.high - self.low + 1


@dataclass(frozen=True)
class GridCandidates(Candidates):
    """Every step of the grid of a column."""

    grid: ColumnGrid

    @property
    def low(self) -> int:
        return self.grid.low

    @property
    def high(self) -> int:
        return self.grid.high

    @property
    def names(self) -> tuple[str, ...]:
        return self.grid.column.names

    @property
    def scope(self) -> tuple[str, ...]:
        return self.grid.scope

    def ranks(self, counts: Counts) -> tuple[Ints, npt.NDArray[np.bool_]]:
        return self.grid.steps(counts), self.grid.column.present(counts)

    def value(self, rank: int) -> Any:
        at = rank * self.grid.step
        if self.grid.column.type is Type.INTEGER:
            return int(at)
        return self.grid.value(Fraction(rank))


@dataclass(frozen=True)
class GeometricCandidates(Candidates):
    """Steps of the grid of a column that are each a hundredth above the one before; values are rounded down to them."""

    fine: GridCandidates
    steps: tuple[int, ...]

    @classmethod
    def of(cls, fine: Candidates, text: str) -> GeometricCandidates:
        """The geometric ones among all candidates of a column; UsageError where it is no number or may be below zero."""
        if not isinstance(fine, GridCandidates) or fine.grid.column.type not in NUMBERS or fine.low < 0:
            raise UsageError(
                f"'{text}' has no geometric candidates",
                allowed="numbers from 0 up",
                fix="leave `candidates` out, or give bounds from 0 up",
            )
        found = [fine.low]
        while found[-1] < fine.high:
            found.append(min(max(found[-1] + 1, found[-1] * (100 + PERCENT) // 100), fine.high))
        return cls(fine, tuple(found))

    @property
    def low(self) -> int:
        return 0

    @property
    def high(self) -> int:
        return len(self.steps) - 1

    @property
    def names(self) -> tuple[str, ...]:
        return self.fine.names

    @property
    def scope(self) -> tuple[str, ...]:
        text = self.fine.grid.column.text
        return (
            *self.fine.scope,
            f"values of '{text}' are rounded down to {len(self.steps):,} candidates, {PERCENT} % apart",
        )

    def ranks(self, counts: Counts) -> tuple[Ints, npt.NDArray[np.bool_]]:
        steps, present = self.fine.ranks(counts)
        edges = np.array(self.steps, dtype=object if self.steps[-1] > _LARGEST else np.int64)
        return np.searchsorted(edges, np.asarray(steps, dtype=edges.dtype), side="right").astype(np.int64) - 1, present

    def value(self, rank: int) -> Any:
        return self.fine.value(self.steps[rank])

    def last_value(self, rank: int) -> Any:
        return self.fine.value(self.steps[rank + 1] - 1 if rank < self.high else self.steps[rank])


@dataclass(frozen=True)
class ListedCandidates(Candidates):
    """Every value that the policy lists, in its order, from one rank to another."""

    attribute: Attribute
    first: int
    last: int

    @property
    def low(self) -> int:
        return self.first

    @property
    def high(self) -> int:
        return self.last

    @property
    def names(self) -> tuple[str, ...]:
        return (self.attribute.name,)

    @property
    def scope(self) -> tuple[str, ...]:
        return describe_treatment(self.attribute)

    @cached_property
    def _domain(self) -> ListedRanks:
        domain = domain_of(self.attribute, PURPOSE)
        return ListedRanks(self.attribute, 0, len(domain.values) - 1 if isinstance(domain, Values) else 0)

    def ranks(self, counts: Counts) -> tuple[Ints, npt.NDArray[np.bool_]]:
        place = counts.columns.index(self.attribute.name)
        own, codes = self._domain.ranks_of(counts.values[place]), counts.codes[place]
        return np.append(np.clip(own, self.first, self.last), self.first)[codes], codes >= 0

    def value(self, rank: int) -> Any:
        found = self._domain.values[rank]
        if self.attribute.type is Type.INTEGER:
            return int(found)
        return float(point(Type.DECIMAL, found)) if self.attribute.type is Type.DECIMAL else found


def _candidates(schema: Schema, text: str, where: Predicate, bounds: Bounded) -> Candidates:
    """The candidates of a column: those that rows which satisfy the condition can have, within the bounds."""
    single = f"attribute '{text}' has a domain with a single value"
    if text in schema.by_name:
        attribute = attribute_of(schema, text, PURPOSE)
        listed = attribute.type is Type.ORDINAL or (
            attribute.type in (*NUMBERS, *TIMES) and isinstance(domain_of(attribute, PURPOSE), Values)
        )
        if attribute.type is Type.ORDINAL and bounds is not None:
            raise UsageError(f"attribute '{text}' is of type ordinal, whose quantile takes no bounds", fix="use where")
        if listed and bounds is None:
            domain = ranked_domain(attribute, PURPOSE)
            whole = (0, 0) if domain is None else (domain.low, domain.high)
            first, last = where.hull(text) or whole
            if first == last:  # a condition that leaves a single value narrows nothing
                first, last = whole
            if first == last:
                raise UsageError(single, fix="count rows instead")
            return ListedCandidates(attribute, first, last)
    column: MeasuredColumn = column_of(schema, text, PURPOSE, (*NUMBERS, *TIMES, Type.ORDINAL), where)
    if column.low == column.high:
        raise UsageError(single, fix="count rows instead")
    return GridCandidates(ColumnGrid.of(column, bounds, most=1 << 64))


# --- resolved under a policy ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RankTarget:
    """One value to choose: a quantile (side 0), or a value below it (-1) or above it (1), with its share of epsilon."""

    name: str
    q: Fraction
    side: int
    share: Fraction


@dataclass(frozen=True)
class Runs:
    """Candidates in runs of one score: the first rank of each run, its length, and how many rows lie below it and through it."""

    starts: list[int]
    sizes: list[int]
    below: Ints
    through: Ints
    rows: int


@dataclass(frozen=True)
class RankQuery(Query):
    """Values chosen among all candidates by the ranks of the rows, for each target and each group."""

    where: Predicate
    candidates: Candidates
    targets: tuple[RankTarget, ...]
    axes: tuple[TableAxis, ...] | None = None
    said: tuple[str, ...] = ()

    @cached_property
    def columns(self) -> tuple[str, ...]:
        axes = () if self.axes is None else (axis.attribute.name for axis in self.axes)
        return tuple(sorted({*self.candidates.names, *self.where.columns, *axes}))

    @property
    def scope(self) -> tuple[str, ...]:
        return (*super().scope, *self.candidates.scope, *self.said)

    @property
    def groups(self) -> int:
        """How many groups there are; one without groups."""
        return 1 if self.axes is None else prod(map(len, self.axes))

    @property
    def cell_labels(self) -> Iterator[tuple[tuple[str, str], ...]]:
        """For each group the attributes with their labels."""
        return iter([()]) if self.axes is None else labels_of(self.axes)

    def linf(self, target: RankTarget) -> int:
        """How far one unit changes the scores of a target, added up over the groups."""
        a, b = target.q.numerator, target.q.denominator
        if self.unit.neighbours == "add_remove":
            return self.unit.max_rows * max(a, b - a)
        return self.unit.max_rows * (b if self.axes is None else 2 * max(a, b - a))

    def sensitivity(self, target: RankTarget) -> Sensitivity:
        """The sensitivity of the scores, one number for all of them, as the exponential mechanism takes it."""
        return Sensitivity(self.linf(target), self.unit, multiples_of=1)

    def options(self, target: RankTarget) -> int:
        """How many options a target chooses among: the candidates, and for an end one more."""
        return self.candidates.count + (1 if target.side else 0)

    def shift(self, target: RankTarget, epsilon: Fraction) -> int:
        """How far an end is moved, in units of the score: what it is off by in all but 1 of 40 cases, and one more."""
        if not target.side:
            return 0
        each = 2 * self.linf(target) / float(epsilon * target.share)
        sure = log(self.options(target)) - log((1 - float(CONFIDENCE)) / 2)
        return ceil(each * sure * (1 + 1e-9)) + 1

    def rank_error(self, target: RankTarget, epsilon: Fraction) -> float:
        """By how many rows the choice is off at most, in 95 of 100 cases; of an end, beyond where it was aimed."""
        each = 2 * self.linf(target) / float(epsilon * target.share)
        return each * (log(self.options(target)) - log(1 - float(CONFIDENCE))) / target.q.denominator

    # --- the rows -------------------------------------------------------------------------------------------------

    def runs(self, table: Table) -> list[Runs]:
        """The runs of candidates, for each group."""
        counts = table.count_by(self.columns)
        ranks, present = self.candidates.ranks(counts)
        kept = self.where.mask(counts) & present
        ranks, often = ranks[kept], counts.counts[kept]
        if self.axes is None:
            return [self._runs(ranks, often)]
        cell = cell_of_rows(self.axes, counts)[kept]
        order = np.argsort(cell, kind="stable")
        edges = np.searchsorted(cell[order], np.arange(self.groups + 1))
        return [
            self._runs(ranks[order[edges[i] : edges[i + 1]]], often[order[edges[i] : edges[i + 1]]])
            for i in range(self.groups)
        ]

    def _runs(self, ranks: Ints, often: Ints) -> Runs:
        different, place = np.unique(ranks, return_inverse=True)
        held = np.zeros(len(different), dtype=np.int64)
        np.add.at(held, place, often)
        total = np.concatenate([[0], np.cumsum(held)])
        found: list[tuple[int, int, int, int]] = []
        at, last = self.candidates.low, self.candidates.high
        for i, rank in enumerate(different.tolist()):
            if rank > at:  # the candidates before this value
                found.append((at, rank - at, total[i], total[i]))
            found.append((rank, 1, total[i], total[i + 1]))
            at = rank + 1
        if at <= last:
            found.append((at, last - at + 1, total[-1], total[-1]))
        starts, sizes, below, through = zip(*found, strict=True)
        return Runs(list(starts), list(sizes), np.array(below, np.int64), np.array(through, np.int64), int(total[-1]))

    def scores(self, runs: Runs, target: RankTarget, shift: int) -> tuple[Ints, list[int], list[int]]:
        """The score of each run, its length and its first rank; for an end the open one comes first."""
        a, b = target.q.numerator, target.q.denominator
        low = b * runs.below - a * runs.rows - target.side * shift
        high = a * runs.rows - b * runs.through + target.side * shift
        found = -np.maximum(np.maximum(low, high), 0)
        if not target.side:
            return found, runs.sizes, runs.starts
        open_end = -max((a if target.side < 0 else b - a) * runs.rows - shift, 0)
        rank = self.candidates.low if target.side < 0 else self.candidates.high
        return np.concatenate([[open_end], found]), [1, *runs.sizes], [rank, *runs.starts]
