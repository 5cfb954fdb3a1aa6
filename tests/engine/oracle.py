"""The oracle engine: rows as Python values in lists, one obvious line for each operation; slow and plainly right.

The contract suite compares every engine with it. It shares with them how inputs are opened and how files are written,
and nothing of how values are read, checked, recoded, counted and ordered.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.data.hierarchy.level import MISSING, Level, TopLevel, ValueLevel
from shoal.data.schema import Schema
from shoal.data.type import Type
from shoal.engine.base import (
    Array,
    Assignment,
    ClassCounts,
    Counts,
    Engine,
    RecodeRequest,
    RowMask,
    RowWords,
    Table,
    open_engine,
)
from shoal.engine.column import (
    DTYPES,
    UNKNOWN,
    Column,
    assign_numbers,
    column_of,
    group_means,
    labels_of,
    quantile_ranks,
    recoded_column,
    refuse_known,
    refuse_uncovered,
    refuse_unknown,
    relabelled_columns,
)
from shoal.engine.digest import Contents, digest
from shoal.engine.read.input import Input, open_input
from shoal.engine.runs import Ordering, RunTotals
from shoal.engine.tuple_counts import refuse_requests
from shoal.engine.write import BATCH_ROWS, write_file
from shoal.errors import UsageError
from tests.engine.oracle_read import read_columns

if TYPE_CHECKING:
    import pyarrow as pa

Value = Any
"""int, float, bool, str, date, datetime, or None where it is missing."""
Row = tuple[Value, ...]


def _order(row: Row) -> list[tuple[bool, Value]]:
    """Missing first, then by value."""
    return [(value is not None, value) for value in row]


def engine_named(name: str = "duckdb") -> Engine:
    """The oracle under its name, every other engine under its own."""
    return OracleEngine() if name == "oracle" else open_engine(name)


@dataclass(frozen=True)
class OracleEngine:
    """Opens tables as lists of Python values."""

    name: str = "oracle"
    is_local: bool = True

    def scan(self, data: object, schema: Schema) -> Table:
        opened = open_input(data, schema)
        columns = tuple(Column(attribute.name, attribute.type) for attribute in opened.attributes)
        rows = list(zip(*read_columns(opened), strict=True))
        opened.stamp.verify()
        return OracleTable(opened, schema, columns, rows, list(range(len(rows))))


@dataclass(frozen=True)
class OracleTable:
    """Rows, and their numbers in the input; without numbers the rows are in the order of their values."""

    input: Input
    schema: Schema
    parts: tuple[Column, ...]
    held: list[Row]
    numbers: list[int] | None

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(part.name for part in self.parts)

    @property
    def types(self) -> Mapping[str, Type]:
        return {part.name: part.type for part in self.parts}

    @property
    def notes(self) -> tuple[str, ...]:
        return self.input.notes

    def rows(self) -> int:
        self.input.stamp.verify()
        return len(self.held)

    def keep(self, mask: RowMask) -> OracleTable:
        if self.numbers is None:
            raise UsageError(
                "these rows have no numbers of the input any more", fix="keep rows before `suppress_below` or `relabel`"
            )
        kept = mask(0, self.input.rows)
        return self._only([bool(kept[number]) for number in self.numbers])

    def limit_per(self, column: str, most: int, words: RowWords) -> Table:
        if self.numbers is None:
            raise UsageError(
                "these rows have no numbers of the input any more", fix="choose rows before `suppress_below`"
            )
        word = words(0, self.input.rows).tolist()
        values = self._column(column)
        chosen = [False] * len(values)
        seen: Counter[Value] = Counter()
        for place in sorted(range(len(values)), key=lambda place: word[self.numbers[place]]):  # type: ignore[index]
            seen[values[place]] += 1
            chosen[place] = seen[values[place]] <= most
        return self._only(chosen)

    def recode(self, levels: Mapping[str, Level]) -> OracleTable:
        parts, columns = [], []
        for name, level in levels.items():
            part = recoded_column(self.schema.by_name.get(name), self._part(name), level)
            parts.append(part)
            columns.append(_labels(name, self._column(name), self._part(name).type, level))
        return self._as(parts, columns)

    def count_by(self, columns: Sequence[str]) -> Counts:
        self.input.stamp.verify()
        if not columns:
            raise UsageError("no column to count by", came="none", allowed="at least one")
        counted = Counter(zip(*(self._column(name) for name in columns), strict=True))
        tuples = sorted(counted, key=_order)
        values, codes = [], []
        for place, name in enumerate(columns):
            part = self._part(name)
            listed = part.labels or sorted({row[place] for row in tuples} - {None})
            where = {value: code for code, value in enumerate(listed)} | {None: -1}
            values.append(_array(listed, part.type))
            codes.append(np.array([where[row[place]] for row in tuples], dtype=np.int32))
        counts = np.array([counted[row] for row in tuples], dtype=np.int64)
        return Counts(tuple(columns), tuple(values), tuple(codes), counts)

    def class_sizes(self, columns: Sequence[str]) -> dict[int, int]:
        return dict(sorted(Counter(self.count_by(columns).counts.tolist()).items()))

    def suppress_below(self, columns: Sequence[str], k: int) -> Table:
        keys = list(zip(*(self._column(name) for name in columns), strict=True))
        counted = Counter(keys)
        often = self._only([counted[key] >= k for key in keys])
        if set(columns) != set(self.columns):
            return often
        return replace(often, held=sorted(often.held, key=_order), numbers=None)

    def relabel(self, known: Sequence[Sequence[str]], place: Assignment, labels: Sequence[Sequence[str]]) -> Table:
        self.input.stamp.verify()
        parts = relabelled_columns(self.columns, known, labels)
        numbers = assign_numbers(place, self._indices(known), len(labels[0])).tolist()
        rows = [tuple(new[number] for new in labels) for number in numbers]
        return replace(self, parts=parts, held=sorted(rows, key=_order), numbers=None)

    def count_classes(
        self, known: Sequence[Sequence[str]], assign: Assignment, classes: int, columns: Sequence[str] = ()
    ) -> ClassCounts:
        self.input.stamp.verify()
        refuse_known(self.columns, known)
        places = [self._index(name) for name in columns]
        indices = self._indices(known)
        numbers = assign_numbers(assign, indices, classes).tolist()
        rows = np.zeros(classes, dtype=np.int64)
        tables = tuple(np.zeros((classes, len(known[place])), dtype=np.int64) for place in places)
        for row, number in enumerate(numbers):
            rows[number] += 1
            for place, table in zip(places, tables, strict=True):
                table[number, indices[place][row]] += 1
        return ClassCounts(rows, tables)

    def _indices(self, known: Sequence[Sequence[str]]) -> list[Array]:
        """The index of each row's label in `known`, column by column."""
        indices = []
        for name, listed in zip(self.columns, known, strict=True):
            label = dict(
                zip([None, *self.distinct(name).tolist()], [MISSING, *labels_of(self.distinct(name))], strict=True)
            )
            index = {text: number for number, text in enumerate(listed)}
            found = [index.get(label[value], UNKNOWN) for value in self._column(name)]
            indices.append(np.array(found, dtype=np.int32))
            refuse_unknown(name, indices[-1])
        return indices

    def recode_many(self, requests: Sequence[RecodeRequest]) -> list[Table]:
        refuse_requests(self.columns, requests)
        return [self._answer(request) for request in requests]

    def distinct(self, column: str) -> Array:
        return _array(sorted(set(self._column(column)) - {None}), self._part(column).type)

    def quantiles(self, column: str, at: Sequence[float]) -> Array:
        part = self._part(column)
        if not part.type.numeric:
            raise UsageError("quantiles need numbers, dates or times", came=f"'{column}' of type {part.type.value}")
        values = sorted(value for value in self._column(column) if value is not None)
        if not values:
            raise UsageError("quantiles of a column without values", came=column)
        return _array([values[rank - 1] for rank in quantile_ranks(at, len(values))], part.type)

    def chunk(self, order: Sequence[str], size: int, name: str) -> Table:
        keys = list(zip(*(self._column(column) for column in order), strict=True))
        places = sorted(range(len(keys)), key=lambda place: _order(keys[place]))  # a stable sort: ties by row number
        last = max(len(keys) // size - 1, 0)
        groups = np.zeros(len(keys), dtype=np.int64)
        groups[places] = np.minimum(np.arange(len(keys)) // size, last)
        return self.attach(name, groups)

    def means_by(self, group: str, columns: Sequence[str]) -> dict[str, Array]:
        for column in columns:
            if self._part(column).type not in (Type.INTEGER, Type.DECIMAL):
                raise UsageError("means need numbers", came=f"'{column}' of type {self._part(column).type.value}")
        collected = self.collect([group, *columns])
        return group_means([(collected[group], [collected[column] for column in columns])], columns)

    def total_runs(
        self, columns: Sequence[str], ordering: Ordering, size: int, counted: Sequence[int | None]
    ) -> RunTotals:
        held = self.collect(columns)
        found = ordering([held[name] for name in columns])
        keys = list(zip(*(key.tolist() for key in found.keys), strict=True))
        ranked = sorted(range(len(keys)), key=lambda row: keys[row])
        runs = max(len(keys) // size, 1) if keys else 0
        members = [ranked[i * size : (i + 1) * size if i < runs - 1 else None] for i in range(runs)]
        sums, counts = [], []
        for codes, values in zip(found.codes, counted, strict=True):
            own = [codes[rows].tolist() for rows in members]
            sums.append(np.array([sum(run) for run in own], dtype=np.int64) if values is None else None)
            table = None
            if values is not None:
                listed = [[run.count(value) for value in range(values)] for run in own]
                table = np.array(listed, dtype=np.int64).reshape(runs, values)
            counts.append(table)
        return RunTotals(tuple(sums), tuple(counts))

    def collect(self, columns: Sequence[str]) -> dict[str, Array]:
        self.input.stamp.verify()
        return {name: _array(self._column(name), self._part(name).type) for name in columns}

    def attach(self, name: str, values: Array) -> Table:
        part, held = column_of(name, values)
        if len(held) != len(self.held):
            raise UsageError(
                "the new column has another length", came=len(held), allowed=f"{len(self.held)}, one for each row"
            )
        columns = dict(zip(self.columns, self._columns(), strict=True)) | {name: held.to_pylist()}
        parts = {part.name: part for part in self.parts} | {name: part}
        numbers = list(range(len(self.held))) if self.numbers is None else self.numbers
        return replace(
            self, parts=tuple(parts.values()), held=list(zip(*columns.values(), strict=True)), numbers=numbers
        )

    def select(self, columns: Sequence[str]) -> Table:
        return self._as([self._part(name) for name in columns], [self._column(name) for name in columns])

    def batches(self, *, sort: bool = True) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        self.input.stamp.verify()
        rows = sorted(self.held, key=_order) if sort else self.held
        shape = pa.schema([(part.name, part.arrow_type()) for part in self.parts])
        for start in range(0, len(rows), BATCH_ROWS):
            some = zip(*rows[start : start + BATCH_ROWS], strict=True)
            shown = [_arrow(list(column), part) for column, part in zip(some, self.parts, strict=True)]
            yield pa.RecordBatch.from_arrays(shown, schema=shape)

    def digest(self) -> bytes:
        return self.contents().whole

    def contents(self) -> Contents:
        self.input.stamp.verify()
        kinds = [(part.name, part.type) for part in self.parts]
        each = ([_arrow([row[i]], part) for i, part in enumerate(self.parts)] for row in self.held)
        return digest(kinds, each).contents()

    def write(self, path: Path, *, sort: bool = True) -> None:
        import pyarrow as pa

        shape = pa.schema([(part.name, part.arrow_type()) for part in self.parts])
        write_file(Path(path), shape, self.batches(sort=sort), self.input.stamp.verify)

    def _answer(self, request: RecodeRequest) -> OracleTable:
        coarse = self.recode(request.levels)
        rows = (coarse if request.mask is None else coarse.keep(request.mask)).held
        return replace(coarse, held=sorted(rows, key=_order), numbers=None)

    def _part(self, name: str) -> Column:
        return self.parts[self._index(name)]

    def _index(self, name: str) -> int:
        if name not in self.columns:
            raise UsageError("no such column", came=name, allowed=", ".join(self.columns))
        return self.columns.index(name)

    def _column(self, name: str) -> list[Value]:
        place = self._index(name)
        return [row[place] for row in self.held]

    def _columns(self) -> list[list[Value]]:
        return [[row[place] for row in self.held] for place in range(len(self.parts))]

    def _only(self, kept: list[bool]) -> OracleTable:
        rows = [row for row, keep in zip(self.held, kept, strict=True) if keep]
        numbers = self.numbers and [number for number, keep in zip(self.numbers, kept, strict=True) if keep]
        return replace(self, held=rows, numbers=numbers)

    def _as(self, parts: Sequence[Column], columns: Sequence[list[Value]]) -> OracleTable:
        rows: list[Row] = list(zip(*columns, strict=True))
        rows = rows if self.numbers is not None else sorted(rows, key=_order)
        return replace(self, parts=tuple(parts), held=rows)


def _labels(name: str, values: list[Value], kind: Type, level: Level) -> list[Value]:
    """The labels of one column."""
    if isinstance(level, ValueLevel):
        return values
    if isinstance(level, TopLevel):
        return [level.label for _ in values]
    there = [value for value in values if value is not None]
    labels = iter(level.apply(_array(there, kind)).tolist())
    shown = [MISSING if value is None else next(labels) for value in values]
    refuse_uncovered(name, sum(label is None for label in shown))
    return shown


def _array(values: Sequence[Value], kind: Type) -> Array:
    """Python values as an array of the type's own dtype; masked where something is missing."""
    absent = np.array([value is None for value in values], dtype=bool)
    filler: dict[str, Value] = {"int64": 0, "float64": 0.0, "bool": False}
    zero = filler.get(DTYPES[kind], None if DTYPES[kind] == "object" else dt.date(1970, 1, 1))
    array = np.empty(len(values), dtype=object)
    array[:] = [zero if value is None else value for value in values]
    typed = array.astype(DTYPES[kind])
    return np.ma.MaskedArray(typed, absent) if absent.any() else typed


def _arrow(values: list[Value], part: Column) -> pa.Array:
    import pyarrow as pa

    if part.labels is None:
        return pa.array(values, part.arrow_type())
    code = {label: place for place, label in enumerate(part.labels)} | {None: 0}
    absent = np.array([value is None for value in values], dtype=bool)
    return part.dictionary_array(
        np.array([code[value] for value in values], dtype=np.int64), absent if absent.any() else None
    )
