"""What every question is, and what it becomes under a policy.

A `Question` is a frozen value that a person wrote. Resolved against the schema and the unit of privacy of a policy it is a
`Query`, whose sensitivity and error are known before any row is read. There are three kinds, by how they are answered:

    VectorQuery      a vector of numbers in whole steps of a grid, to which noise is added
    RankQuery        values chosen among all declared ones, by a score that the rows give to each
    PersonQuery      the value of one person, refined from the prior of the analyst

All are frozen, have an `identity` (one text for one meaning) and the `columns` that they read, and depend on no row.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import prod
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from shoal.data.schema import Role, Schema
from shoal.data.type import spell
from shoal.engine.base import Counts, Table
from shoal.errors import UsageError
from shoal.guarantee.rounding import exact_text
from shoal.guarantee.unit import Unit
from shoal.language.cells import CellSpec, TableAxis, read_groups
from shoal.language.condition.predicate import Predicate
from shoal.language.condition.ranks import number
from shoal.mechanism.base import Sensitivity, to_values
from shoal.policy.text.problem import excerpt, nearest


@dataclass(frozen=True)
class Question(ABC):
    """One question that a person wrote; `where` leaves rows out before anything is counted or added."""

    word: ClassVar[str]
    """The name of the question in batch files and on the command line."""

    def __post_init__(self) -> None:
        for key in ("attribute", "where"):
            given = getattr(self, key, None)
            needed = any(each.name == key and each.default is MISSING for each in fields(self))
            if (given is not None or needed) and not isinstance(given, str):
                raise UsageError(f"{self.word}: '{key}' is not a text", came=excerpt(given), allowed="a text")
        if hasattr(self, "by"):
            object.__setattr__(self, "by", read_groups(self.by))
        if hasattr(self, "bounds"):
            object.__setattr__(self, "bounds", _read_bounds(self.word, self.bounds))

    @abstractmethod
    def resolve(self, schema: Schema, unit: Unit) -> Query:
        """The query that the question means under a policy; UsageError where the policy does not allow it. No row is read."""

    @abstractmethod
    def normalize(self, schema: Schema) -> Self:
        """The same question with every part in its one spelling."""

    def canonical(self, schema: Schema) -> str:
        """The identity of the question: one text for one meaning, as far as normalising goes.

        It is relative to the schema: bounds that the domain implies are left out.
        """
        return json.dumps(self.normalize(schema).to_saved(), ensure_ascii=False, sort_keys=True, separators=(",", ":"))

    # --- as plain values -----------------------------------------------------------------------------------------

    def to_saved(self) -> dict[str, Any]:
        """The question as plain values, for a file."""
        found = {each.name: _plain(getattr(self, each.name)) for each in fields(self)}
        return {"kind": self.word, **{key: value for key, value in found.items() if value is not None}}

    @classmethod
    def from_options(cls, options: object) -> Self:
        """A question from the options of a batch file: a mapping, or a bare text for the key that comes first."""
        known = [each.name for each in fields(cls)]
        if options is None:
            options = {}
        if isinstance(options, str):
            options = {known[0]: options}
        if not isinstance(options, Mapping):
            raise UsageError(f"{cls.word}: not a mapping of options", came=excerpt(options), allowed=", ".join(known))
        for key in options:
            if key not in known:
                allowed = ", ".join(known)
                raise UsageError(
                    f"{cls.word}: unknown key", came=excerpt(key), allowed=allowed, fix=nearest(str(key), known)
                )
        for each in fields(cls):
            if each.default is MISSING and each.name not in options:
                raise UsageError(f"{cls.word}: the key '{each.name}' is missing")
        return cls(**options)

    @classmethod
    def from_saved(cls, options: object) -> Self:
        """A question from its saved form."""
        return cls.from_options(options)


def _plain(value: Any) -> Any:
    if isinstance(value, Fraction):
        return exact_text(value)
    if isinstance(value, CellSpec | Question):
        return value.to_saved()
    return [_plain(each) for each in value] if isinstance(value, tuple) else value


def _read_bounds(word: str, given: Any) -> tuple[str | None, str | None] | None:
    """Two ends as texts, either of which may be left open; also the value of an answer to `Bounds`."""
    if given is None:
        return None
    ends: Any = [given.get("low"), given.get("high")] if isinstance(given, Mapping) else given
    if not isinstance(ends, list | tuple) or len(ends) != 2 or all(end is None for end in ends):
        raise UsageError(f"{word}: 'bounds' are not two ends", came=excerpt(given), allowed="(low, high)")
    low, high = (end if end is None else exact_text(end) if isinstance(end, Fraction) else spell(end) for end in ends)
    return low, high


def normalize_groups(by: tuple[CellSpec, ...] | None, schema: Schema) -> tuple[CellSpec, ...] | None:
    """The attributes to group by, each with its cells in their one spelling."""
    return None if by is None else tuple(cells.axis(schema).spec for cells in by)


MOST_CELLS = 4_000_000
"""A table with more cells is not made."""


def axes_of(schema: Schema, cells: Sequence[CellSpec]) -> tuple[TableAxis, ...]:
    """The axes of a table; UsageError where it would have too many cells."""
    axes = tuple(each.axis(schema) for each in cells)
    count = prod(map(len, axes))
    if count > MOST_CELLS:
        raise UsageError(
            "a table with too many cells",
            came=f"{count:,}",
            allowed=f"{MOST_CELLS:,}",
            fix="use coarser levels or edges",
        )
    return axes


def cell_of_rows(axes: Sequence[TableAxis], counts: Counts) -> npt.NDArray[np.int64]:
    """The cell of each distinct tuple, the last attribute fastest."""
    cell = np.zeros(len(counts), dtype=np.int64)
    for axis in axes:
        place = counts.columns.index(axis.attribute.name)
        cell = cell * len(axis) + axis.codes(counts.values[place], counts.codes[place])
    return cell


def parse_condition(where: str | None, schema: Schema) -> Predicate:
    """The condition of a question; without one, every row satisfies it."""
    return Predicate.everything() if where is None else Predicate.parse(where, schema)


def normalize_where(where: str | None, schema: Schema) -> str | None:
    """A condition in its one spelling; None for a condition that every row satisfies."""
    found = parse_condition(where, schema)
    return None if found.always else found.canonical()


def check_unit(unit: Unit, schema: Schema) -> Unit:
    """The unit of privacy, refused where its column is not an identifier of the policy."""
    if unit.column is not None:
        attribute = schema.by_name.get(unit.column)
        if attribute is None or attribute.role is not Role.IDENTIFIER:
            raise UsageError(
                "the column that identifies persons is not an identifier of the policy",
                came=unit.column,
                allowed="a column with role: identifier",
            )
    return unit


def sum_sensitivity(unit: Unit, low: int, high: int, *, always: bool) -> int:
    """The sensitivity of a sum to which each row adds `low` to `high`, or nothing where it is left out.

    add_remove   max(|low|, |high|) for each row
    replace_one  the largest minus the least that a row can add; nothing is among it, unless `always` every row takes part and
                 the unit is one row: then high − low
    """
    if unit.neighbours == "add_remove":
        return unit.max_rows * max(abs(low), abs(high))
    if always and unit.whose == "row":
        return high - low
    return unit.max_rows * (max(high, 0) - min(low, 0))


# --- resolved under a policy ------------------------------------------------------------------------------------------

Steps = npt.NDArray[Any]
"""Whole numbers: int64, or Python's own where they might not fit."""


@dataclass(frozen=True)
class Query(ABC):
    """A question resolved against the schema and the unit of privacy of a policy."""

    identity: str
    unit: Unit

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """The columns that it reads, sorted."""

    @property
    def scope(self) -> tuple[str, ...]:
        """What the answer and its errors are about, where that is not every row and value as it is: by the policy alone."""
        column, most = self.unit.column, self.unit.max_rows
        if column is None:
            return ()
        rows = "1 row" if most == 1 else f"{most:,} rows"
        few = f"at most {rows} of each '{column}', chosen at random; further rows are not counted"
        return (f"{few}, so this is not the number, sum or rank over all rows of the table",)


Tails = Callable[[int], Steps]
"""The largest error of each component in steps, when so many components are to be within theirs at once."""


@dataclass(frozen=True)
class CellEstimate:
    """One number of an answer with its interval at a stated level: of the whole table, or of one group.

    The true value lies between `low` and `high` with at least that probability, for each number by itself (of a
    quotient, if any row takes part); between `all_low` and `all_high` for all numbers of the answer at once. None where
    nothing limits it.
    """

    part: int
    """The number of the question in a workload, from 0."""
    statistic: str
    labels: tuple[tuple[str, str], ...]
    """The attributes that were grouped by, each with the label of the group."""
    value: Any
    low: Any
    high: Any
    all_low: Any = None
    all_high: Any = None
    usable: bool = True
    """Whether the noisy count stands out from its own noise; if not, the value is of no use."""
    noisy: Mapping[str, int | float] = field(default_factory=dict)
    """The noisy count and sums from which the value was computed."""


@dataclass(frozen=True)
class LinearQuery(ABC):
    """A vector of sums over rows: its grid, its sensitivity, and its exact value.

    `steps` and `linf` have one entry for each component, or a single one for all. One unit changes a component by at most
    `linf` steps, and all of them together by `l1` steps where they are the cells of a table.
    """

    where: Predicate
    unit: Unit
    statistic: ClassVar[str | None] = None
    """The name of what is computed from the components, where they are not the answer themselves."""
    has_cells: ClassVar[bool] = False
    """Whether the components belong to cells of which a row lies in one."""

    @property
    def has_fixed_total(self) -> bool:
        """Whether its two components have a total that is the same for all neighbours (theorem `answer-sensitivity`)."""
        return False

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """The columns that it reads, sorted."""

    @property
    @abstractmethod
    def size(self) -> int:
        """The number of components."""

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The name of each component."""

    @property
    @abstractmethod
    def steps(self) -> tuple[Fraction, ...]:
        """The step of the grid of each component."""

    @property
    @abstractmethod
    def linf(self) -> tuple[int, ...]:
        """The L∞ sensitivity: how many steps one unit can change each component."""

    @property
    def l0_of_row(self) -> int:
        """How many components one row takes part in."""
        return self.size

    def l1(self, lengths: tuple[Fraction, ...]) -> Fraction:
        """The L1 sensitivity, given how long a step of each component is, or of all."""
        linf = [largest * step for largest, step in _pairs(self.linf, lengths)]
        return linf[0] * self.size if len(linf) == 1 else sum(linf, Fraction(0))

    @abstractmethod
    def truth(self, table: Table) -> Steps:
        """The exact value in steps."""

    @abstractmethod
    def finish(self, noisy: Sequence[int]) -> Any:
        """The answer as plain values, from the noisy components; the rows are not read again."""

    # --- the cells of the answer ----------------------------------------------------------------------------------

    @property
    def cell_labels(self) -> Iterator[tuple[tuple[str, str], ...]]:
        """For each cell the attributes with their labels; one cell without labels where there are no groups."""
        return iter([()])

    @property
    def cell_size(self) -> int:
        """The number of components of one cell."""
        return self.size

    def cell_value(self, noisy: Sequence[int]) -> Any:
        """The value of one cell from its noisy components."""
        return number(int(noisy[0]) * self.steps[0])

    def cell_interval(self, noisy: Sequence[int], off: Sequence[int]) -> tuple[Any, Any]:
        """The least and the largest value that the exact components of one cell give, where they are off by so much at most."""
        return tuple(number((int(noisy[0]) + sign * int(off[0])) * self.steps[0]) for sign in (-1, 1))  # type: ignore[return-value]

    def cell_usable(self, noisy: Sequence[int], off: Sequence[int]) -> bool:  # noqa: ARG002
        """Whether the noisy count of one cell stands out from its noise."""
        return True

    def cell_noisy(self, noisy: Sequence[int]) -> dict[str, int | float]:  # noqa: ARG002
        """The noisy count and sums of one cell, where the value is computed from them."""
        return {}

    @property
    def scope(self) -> tuple[str, ...]:
        """Which rows and values the sums are made of, where that is not all of them as they are."""
        return ()


@dataclass(frozen=True)
class VectorQuery(Query):
    """Linear queries as one vector on a grid, to which noise is added.

    session:  noise = M.for_target(target, sensitivity=query.sensitivity, grid=query.grid)
              query.finish(noise.draw_steps(query.values(query.truth(table)), source))

    `scaled_sensitivity` and `scaled_grid` measure every component in units of its own L∞ sensitivity, so that a mechanism with
    one scale for all (Laplace) gives a count and a sum of incomes each the noise that it needs. The steps are the same.

    `disjoint_parts` where no row satisfies the conditions of two parts, by the conditions alone: then the L1 sensitivity is
    that of the largest part under add_remove, and no more than that of the two largest under replace_one (SC13 Prop 4).
    """

    parts: tuple[LinearQuery, ...]
    disjoint_parts: bool = False

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return tuple(sorted({name for part in self.parts for name in part.columns}))

    @property
    def components(self) -> int:
        """How many numbers the vector has."""
        return sum(part.size for part in self.parts)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The name of each component."""
        return tuple(name for part in self.parts for name in part.names)

    @cached_property
    def grid(self) -> tuple[Fraction, ...]:
        """The step of each component, or one for all where they are alike."""
        return self._each([part.steps for part in self.parts])

    @cached_property
    def linf_steps(self) -> tuple[int, ...]:
        """The L∞ sensitivity of each component in steps; one for all where they are alike."""
        return self._each([part.linf for part in self.parts])

    @cached_property
    def sensitivity(self) -> Sensitivity:
        """The sensitivity of the vector, in the units of the answer."""
        return self._sensitivity([part.steps for part in self.parts])

    @cached_property
    def scaled_sensitivity(self) -> Sensitivity:
        """The sensitivity of the vector, each component in units of its own L∞ sensitivity."""
        return self._sensitivity([tuple(Fraction(1, largest) for largest in part.linf) for part in self.parts])

    @cached_property
    def scaled_grid(self) -> tuple[Fraction, ...]:
        """The step of each component in units of its own L∞ sensitivity."""
        return self._each([tuple(Fraction(1, largest) for largest in part.linf) for part in self.parts])

    @property
    def has_fixed_total(self) -> bool:
        """Whether its components are two whose total is the same for all neighbours."""
        return len(self.parts) == 1 and self.parts[0].has_fixed_total

    @property
    def is_table(self) -> bool:
        """Whether the components are the cells of one table, so that a row lies in one of them and all cost as one."""
        return len(self.parts) == 1 and self.parts[0].has_cells

    def truth(self, table: Table) -> Steps:
        """The exact value in steps, of a table with at most `unit.max_rows` rows of each person."""
        found = [part.truth(table) for part in self.parts]
        return found[0] if len(found) == 1 else np.concatenate(found)

    def values(self, steps: Steps) -> npt.NDArray[Any]:
        """Steps in the units of the answer, exactly."""
        return to_values(steps, self.grid)

    def finish(self, noisy: Steps) -> Any:
        """The answer as plain values, from the noisy vector in steps."""
        if len(noisy) != self.components:
            raise UsageError("an answer of another length", came=len(noisy), allowed=str(self.components))
        found, start = [], 0
        for part in self.parts:
            found.append(part.finish(np.asarray(noisy[start : start + part.size]).tolist()))
            start += part.size
        return found

    def estimates(self, noisy: Steps, tails: Tails) -> Iterator[CellEstimate]:
        """Every number of the answer with its intervals, in the order of parts and cells; the rows are not read."""
        start, many = 0, self.components
        for place, part in enumerate(self.parts):
            own, name = part.cell_size, part.statistic or part.names[0]
            for labels in part.cell_labels:
                cell = slice(start, start + own)
                found = [int(each) for each in noisy[cell]]
                ends = part.cell_interval(found, tails(own)[cell].tolist())
                at_once = ends if many == own else part.cell_interval(found, tails(many)[cell].tolist())
                usable, sums = part.cell_usable(found, tails(1)[cell].tolist()), part.cell_noisy(found)
                shown = name if part.statistic or not labels else "count"
                yield CellEstimate(place, shown, labels, part.cell_value(found), *ends, *at_once, usable, sums)
                start += own

    @property
    def scope(self) -> tuple[str, ...]:
        return (*super().scope, *dict.fromkeys(each for part in self.parts for each in part.scope))

    def _each(self, given: Sequence[tuple[Any, ...]]) -> tuple[Any, ...]:
        alike = {value for values in given for value in values}
        if len(alike) == 1:
            return (alike.pop(),)
        wide = [values * (part.size // len(values)) for part, values in zip(self.parts, given, strict=True)]
        return tuple(value for values in wide for value in values)

    def _sensitivity(self, lengths: Sequence[tuple[Fraction, ...]]) -> Sensitivity:
        """The sensitivity of the vector, given how long a step of each component is."""
        pairs = list(zip(self.parts, lengths, strict=True))
        linf = [tuple(largest * step for largest, step in _pairs(part.linf, own)) for part, own in pairs]
        l1 = [part.l1(own) for part, own in pairs]
        rows = self.unit.max_rows * (1 if self.unit.neighbours == "add_remove" else 2)
        l0 = [part.l0_of_row for part in self.parts]
        return Sensitivity(
            self._each(linf),
            self.unit,
            components=self.components,
            l0=min(self.components, rows * (max(l0) if self.disjoint_parts else sum(l0))),
            l1=self._l1_of_disjoint(pairs, l1) if self.disjoint_parts else sum(l1, Fraction(0)),
            multiples_of=self._each(lengths),  # exact values are whole steps: the grid rounds nothing away
        )

    def _l1_of_disjoint(
        self, pairs: Sequence[tuple[LinearQuery, tuple[Fraction, ...]]], l1: Sequence[Fraction]
    ) -> Fraction:
        """The L1 sensitivity where each row takes part in one part at most."""
        if self.unit.neighbours == "add_remove":
            return max(l1)
        removed = replace(self.unit, neighbours="add_remove")
        largest = sorted((replace(part, unit=removed).l1(own) for part, own in pairs), reverse=True)
        if self.unit.whose == "person":
            return 2 * largest[0]  # all rows of the one who goes and all of the one who comes
        return max(*l1, largest[0] + largest[1])


@dataclass(frozen=True)
class SingleQuery(VectorQuery):
    """A vector that answers one question: its answer is not a list."""

    def finish(self, noisy: Steps) -> Any:
        return super().finish(noisy)[0]


def _pairs(linf: tuple[int, ...], lengths: tuple[Fraction, ...]) -> list[tuple[int, Fraction]]:
    count = max(len(linf), len(lengths))
    wide = (each if len(each) == count else each * count for each in (linf, lengths))
    return list(zip(*wide, strict=True))


# --- sums over rows, of the whole table or of each group ----------------------------------------------------------------


@dataclass(frozen=True)
class RowSums(LinearQuery):
    """Sums to which each row that takes part adds whole steps between declared ends: the components of one cell."""

    @property
    @abstractmethod
    def ends(self) -> tuple[tuple[int, int], ...]:
        """The least and the most that one row adds to each component, if it takes part in it."""

    @property
    def always(self) -> bool:
        """Whether every row takes part, by the policy and the question alone; of the number of all rows no use is made."""
        return False

    @abstractmethod
    def amounts(self, counts: Counts) -> tuple[list[Steps], npt.NDArray[np.bool_]]:
        """What a row of each distinct tuple adds to each component, and whether it takes part at all."""

    @property
    def linf(self) -> tuple[int, ...]:
        return self._linf(always=self.always)

    def row_l1(self, lengths: tuple[Fraction, ...]) -> Fraction:
        """The most that the rows of one unit that comes or goes add to all components together."""
        removed = replace(self.unit, neighbours="add_remove")
        own = tuple(sum_sensitivity(removed, low, high, always=False) for low, high in self.ends)
        return sum((largest * step for largest, step in _pairs(own, lengths)), Fraction(0))

    def _linf(self, *, always: bool) -> tuple[int, ...]:
        return tuple(sum_sensitivity(self.unit, low, high, always=always and low < high) for low, high in self.ends)

    def truth(self, table: Table) -> Steps:
        return self.sums(table.count_by(self.columns), None, 1)

    def sums(self, counts: Counts, cell: npt.NDArray[np.int64] | None, cells: int) -> Steps:
        """The exact sums, cell by cell."""
        amounts, kept = self.amounts(counts)
        where = np.zeros(int(kept.sum()), dtype=np.int64) if cell is None else cell[kept]
        columns = [
            cell_sums(each[kept], counts.counts[kept], where, cells, max(abs(low), abs(high)))
            for each, (low, high) in zip(amounts, self.ends, strict=True)
        ]
        if all(column.dtype == np.int64 for column in columns):
            return np.stack(columns, axis=1).ravel()
        return np.stack([column.astype(object) for column in columns], axis=1).ravel()


_SMALL = 1 << 62


def cell_sums(weights: Steps, counts: Steps, cell: Steps, cells: int, most: int) -> Steps:
    """The exact sum of weight times count in each cell; `most` bounds a weight."""
    heavy, often = np.asarray(weights, dtype=np.int64), np.asarray(counts, dtype=np.int64)
    if most * max(int(often.sum()), 1) < _SMALL:
        found = np.zeros(cells, dtype=np.int64)
        np.add.at(found, cell, heavy * often)
        return found
    large = np.zeros(cells, dtype=object)
    np.add.at(large, cell, heavy.astype(object) * often.astype(object))
    return large


@dataclass(frozen=True)
class GroupedSums(LinearQuery):
    """The sums of every group of a table, group by group: a row lies in one group.

    Let a row that comes or goes move the components of its group by at most t in all. Then a unit of m rows moves all groups
    together by at most m t under add_remove. Under replace_one the old rows may lie in other groups than the new ones, so it is
    2 m t, whether or not every row takes part (theorem `answer-sensitivity`, one part for each group).
    """

    sums: RowSums
    axes: tuple[TableAxis, ...]
    has_cells: ClassVar[bool] = True

    @property
    def statistic(self) -> str | None:  # type: ignore[override]
        """The statistic of each group."""
        return self.sums.statistic or self.sums.names[0]

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return tuple(sorted({*(axis.attribute.name for axis in self.axes), *self.sums.columns}))

    @property
    def groups(self) -> int:
        """The number of groups."""
        return prod(map(len, self.axes))

    @property
    def size(self) -> int:
        return self.groups * self.sums.size

    @property
    def names(self) -> tuple[str, ...]:
        labels = (", ".join(each) for each in product(*(axis.labels for axis in self.axes)))
        return tuple(f"{name} of {label}" for label in labels for name in self.sums.names)

    @property
    def steps(self) -> tuple[Fraction, ...]:
        return self.sums.steps

    @property
    def linf(self) -> tuple[int, ...]:
        return replace(self.sums, unit=self.unit)._linf(always=False)  # noqa: SLF001 - a row may leave its group

    @property
    def l0_of_row(self) -> int:
        return self.sums.size

    def l1(self, lengths: tuple[Fraction, ...]) -> Fraction:
        total = replace(self.sums, unit=self.unit).row_l1(lengths)
        return total * (1 if self.unit.neighbours == "add_remove" else 2)

    def truth(self, table: Table) -> Steps:
        counts = table.count_by(self.columns)
        return self.sums.sums(counts, cell_of_rows(self.axes, counts), self.groups)

    def finish(self, noisy: Sequence[int]) -> dict[str, Any]:
        """The labels of each attribute, and the values group by group, the last attribute fastest."""
        own = self.cell_size
        values = [self.cell_value(noisy[at : at + own]) for at in range(0, len(noisy), own)]
        return {"attributes": {axis.attribute.name: list(axis.labels) for axis in self.axes}, "values": values}

    @property
    def scope(self) -> tuple[str, ...]:
        return self.sums.scope

    @property
    def cell_labels(self) -> Iterator[tuple[tuple[str, str], ...]]:
        return labels_of(self.axes)

    @property
    def cell_size(self) -> int:
        return self.sums.size

    def cell_value(self, noisy: Sequence[int]) -> Any:
        return self.sums.cell_value(noisy)

    def cell_interval(self, noisy: Sequence[int], off: Sequence[int]) -> tuple[Any, Any]:
        return self.sums.cell_interval(noisy, off)

    def cell_usable(self, noisy: Sequence[int], off: Sequence[int]) -> bool:
        return self.sums.cell_usable(noisy, off)

    def cell_noisy(self, noisy: Sequence[int]) -> dict[str, int | float]:
        return self.sums.cell_noisy(noisy)


def labels_of(axes: Sequence[TableAxis]) -> Iterator[tuple[tuple[str, str], ...]]:
    """For each cell of a table the attributes with their labels, the last attribute fastest."""
    names = [axis.attribute.name for axis in axes]
    for labels in product(*(axis.labels for axis in axes)):
        yield tuple(zip(names, labels, strict=True))


def grouped(sums: RowSums, by: tuple[CellSpec, ...] | None, schema: Schema) -> LinearQuery:
    """The sums of every group; of the whole table where there are no groups."""
    if by is None:
        return sums
    axes = axes_of(schema, by)
    if prod(map(len, axes)) * sums.size > MOST_CELLS:
        raise UsageError("too many groups", came=f"{prod(map(len, axes)):,}", allowed=f"{MOST_CELLS // sums.size:,}")
    return GroupedSums(sums.where, sums.unit, sums, axes)
