"""Rows in memory as small integers: the distinct rows of a table, each with how often it occurs; the same for every engine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from shoal.data.hierarchy.level import Level
from shoal.data.schema import Schema
from shoal.data.type import Type
from shoal.engine.arrow_array import number_array, number_values
from shoal.engine.base import (
    ABSENT,
    Array,
    Assignment,
    ClassCounts,
    Counts,
    RecodeRequest,
    RowMask,
    RowWords,
    Table,
)
from shoal.engine.column import (
    Column,
    assign_numbers,
    indices_of,
    refuse_known,
    refuse_unknown,
    relabelled_columns,
    to_numpy,
)
from shoal.engine.digest import Contents, Digest
from shoal.engine.runs import Ordering, RunTotals
from shoal.engine.tuple_counts import TupleCounter, sum_by_code
from shoal.engine.write import BATCH_ROWS, expand, write_file
from shoal.errors import UsageError

if TYPE_CHECKING:
    import pyarrow as pa

Rows = tuple[list[npt.NDArray[Any]], npt.NDArray[np.int64] | None]
"""The codes of some rows, column by column, and what was carried along."""


class Origin(Protocol):
    """The table of an engine that rows were grouped from: it says what they mean, and takes them back."""

    @property
    def schema(self) -> Schema:
        """What the columns of the input mean."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What the custodian should know about how the input was read."""

    def verify_quickly(self) -> None:
        """Raise DataError where the input changed since it was opened."""

    def store_counted(self, parts: tuple[Column, ...], columns: Sequence[pa.Array], counts: Array) -> Table:
        """Store rows and how often each occurs, as a table of the engine; labels are given by their codes."""


@dataclass(frozen=True)
class CodedRows:
    """Rows as codes: column j of a row holds `values[j][code - 1]`, or is missing where the code is 0. Rows come in any order."""

    values: tuple[Array, ...]
    batches: Iterator[Rows]

    @property
    def sizes(self) -> list[int]:
        """How many different codes each column may have."""
        return [len(values) + 1 for values in self.values]


Codes = npt.NDArray[np.int32]


@dataclass(frozen=True)
class GroupedTable:
    """A table in memory, as its distinct rows in order and how often each occurs.

    Column j of row i holds `values[j][codes[j][i]]`, or is missing where the code is ABSENT. Values are sorted, and are
    the labels of a column where they can be listed. Operations that the engine does better store the rows there first.
    """

    origin: Origin
    parts: tuple[Column, ...]
    values: tuple[Array, ...]
    codes: tuple[Codes, ...]
    counts: npt.NDArray[np.int64]

    @property
    def schema(self) -> Schema:
        return self.origin.schema

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(part.name for part in self.parts)

    @property
    def types(self) -> Mapping[str, Type]:
        return {part.name: part.type for part in self.parts}

    @property
    def notes(self) -> tuple[str, ...]:
        return self.origin.notes

    def rows(self) -> int:
        self._glance()
        return int(self.counts.sum())

    def count_by(self, columns: Sequence[str]) -> Counts:
        if not columns:
            raise UsageError("no column to count by", came="none", allowed="at least one")
        chosen = self.select(columns)
        pairs = [_occurring(*each) for each in zip(chosen.parts, chosen.values, chosen.codes, strict=True)]
        values, codes = zip(*pairs, strict=True)
        return Counts(tuple(columns), values, codes, chosen.counts)

    def class_sizes(self, columns: Sequence[str]) -> dict[int, int]:
        if not columns:
            raise UsageError("no column to count by", came="none", allowed="at least one")
        sizes, often = np.unique(self.select(columns).counts, return_counts=True)
        return dict(zip(sizes.tolist(), often.tolist(), strict=True))

    def suppress_below(self, columns: Sequence[str], k: int) -> Table:
        self._glance()
        places = [self._index(name) for name in columns]
        often = self.counts
        if set(columns) != set(self.columns):
            group = np.zeros(len(often), dtype=np.int64)
            for place in places:
                keys = group * (len(self.values[place]) + 1) + (self.codes[place] - ABSENT)
                group = np.unique(keys, return_inverse=True)[1]
            totals = np.zeros(len(often), dtype=np.int64)
            np.add.at(totals, group, often)
            often = totals[group]
        kept = np.flatnonzero(often >= k)
        return replace(self, codes=tuple(code[kept] for code in self.codes), counts=self.counts[kept])

    def relabel(self, known: Sequence[Sequence[str]], assign: Assignment, labels: Sequence[Sequence[str]]) -> Table:
        self._glance()
        parts = relabelled_columns(self.columns, known, labels)
        rows = [code - ABSENT for code in self.codes], self.counts
        return relabel_rows(self.origin, parts, CodedRows(self.values, iter([rows])), known, assign, labels)

    def count_classes(
        self, known: Sequence[Sequence[str]], assign: Assignment, classes: int, columns: Sequence[str] = ()
    ) -> ClassCounts:
        self._glance()
        refuse_known(self.columns, known)
        rows = [code - ABSENT for code in self.codes], self.counts
        places = [self._index(name) for name in columns]
        return count_rows(self.parts, CodedRows(self.values, iter([rows])), known, assign, classes, places)

    def distinct(self, column: str) -> Array:
        self._glance()
        place = self._index(column)
        used = np.unique(self.codes[place])
        return np.asarray(self.values[place][used[used != ABSENT]])

    def collect(self, columns: Sequence[str]) -> dict[str, Array]:
        import pyarrow as pa

        types = {name: self.parts[self._index(name)].type for name in columns}
        table = pa.Table.from_batches(list(self.batches()), self._shape)
        return {name: to_numpy(table[name].unify_dictionaries(), kind) for name, kind in types.items()}

    def select(self, columns: Sequence[str]) -> GroupedTable:
        self._glance()
        places = [self._index(name) for name in columns]
        chosen = replace(self, parts=tuple(self.parts[p] for p in places), values=tuple(self.values[p] for p in places))
        if places == list(range(len(self.parts))):
            return chosen
        counter = TupleCounter([len(values) + 1 for values in chosen.values])
        counter.add([self.codes[place] - ABSENT for place in places], self.counts)
        codes, counts = counter.result(first=ABSENT)
        return replace(chosen, codes=tuple(codes), counts=counts)

    def batches(self, *, sort: bool = True) -> Iterator[pa.RecordBatch]:  # noqa: ARG002 - there is one order
        import pyarrow as pa

        self._glance()
        places = pa.RecordBatch.from_arrays([number_array(np.arange(len(self.counts)))], names=["place"])
        for piece in expand(places, self.counts, BATCH_ROWS):
            at = number_values(piece["place"])
            yield pa.RecordBatch.from_arrays(self._arrow_rows(at), schema=self._shape)

    def digest(self) -> bytes:
        return self.contents().whole

    def contents(self) -> Contents:
        self._glance()
        made = Digest([(part.name, part.type) for part in self.parts])
        made.add(self._arrow_rows(np.arange(len(self.counts))), self.counts)
        return made.contents()

    def write(self, path: Path, *, sort: bool = True) -> None:
        write_file(Path(path), self._shape, self.batches(sort=sort), self._glance)

    # --- operations that the engine does on the stored rows -------------------------------------------

    def keep(self, mask: RowMask) -> Table:
        return self.store().keep(mask)

    def limit_per(self, column: str, most: int, words: RowWords) -> Table:
        return self.store().limit_per(column, most, words)

    def recode(self, levels: Mapping[str, Level]) -> Table:
        return self.store().recode(levels)

    def recode_many(self, requests: Sequence[RecodeRequest]) -> list[Table]:
        return self.store().recode_many(requests)

    def quantiles(self, column: str, at: Sequence[float]) -> Array:
        return self.store().quantiles(column, at)

    def chunk(self, order: Sequence[str], size: int, name: str) -> Table:
        return self.store().chunk(order, size, name)

    def means_by(self, group: str, columns: Sequence[str]) -> dict[str, Array]:
        return self.store().means_by(group, columns)

    def total_runs(
        self, columns: Sequence[str], ordering: Ordering, size: int, counted: Sequence[int | None]
    ) -> RunTotals:
        return self.store().total_runs(columns, ordering, size, counted)

    def attach(self, name: str, values: Array) -> Table:
        return self.store().attach(name, values)

    def store(self) -> Table:
        """Store the rows in the engine, as a table of its own."""
        every = np.arange(len(self.counts))
        held = [
            self._values(place, every) if part.labels is None else _labels(self.codes[place], len(part.labels))
            for place, part in enumerate(self.parts)
        ]
        return self.origin.store_counted(self.parts, held, self.counts)

    # --- inside ------------------------------------------------------------------------------------------------

    @property
    def _shape(self) -> pa.Schema:
        import pyarrow as pa

        return pa.schema([(part.name, part.arrow_type()) for part in self.parts])

    def _glance(self) -> None:
        self.origin.verify_quickly()

    def _index(self, name: str) -> int:
        if name not in self.columns:
            raise UsageError("no such column", came=name, allowed=", ".join(self.columns))
        return self.columns.index(name)

    def _arrow_rows(self, at: npt.NDArray[np.int64]) -> list[pa.Array]:
        """Give some of the distinct rows as Arrow columns."""
        shown = []
        for place, part in enumerate(self.parts):
            if part.labels is None:
                shown.append(self._values(place, at))
                continue
            codes = self.codes[place][at]
            absent = codes == ABSENT
            shown.append(part.dictionary_array(np.where(absent, 0, codes), absent if absent.any() else None))
        return shown

    def _values(self, place: int, at: npt.NDArray[np.int64]) -> pa.Array:
        """Give a column of values at some of the distinct rows; only values that occur are converted to Arrow."""
        import pyarrow as pa

        part, codes = self.parts[place], self.codes[place][at]
        values, found = _occurring(part, self.values[place], codes)
        return pa.array(values, part.arrow_type()).take(number_array(found, found == ABSENT))


def _occurring(part: Column, values: Array, codes: Codes) -> tuple[Array, Codes]:
    """Restrict a column to the values that occur, and renumber its codes; labels that can be listed stay as they are."""
    if part.labels is not None:
        return values, codes
    there = np.zeros(len(values) + 1, dtype=np.bool_)
    there[codes] = True  # ABSENT is -1: the last
    used = np.flatnonzero(there[:-1])
    place = np.full(len(values) + 1, ABSENT, dtype=np.int32)
    place[used] = np.arange(len(used), dtype=np.int32)
    return values[used], place[codes]


def _labels(codes: Codes, count: int) -> pa.Array:
    """Give the codes of labels in the smallest integer type."""
    kind = np.min_scalar_type(max(count - 1, 0))
    absent = codes == ABSENT
    return number_array(np.where(absent, 0, codes).astype(kind), absent)


def count_rows(
    parts: Sequence[Column],
    rows: CodedRows,
    known: Sequence[Sequence[str]],
    assign: Assignment,
    classes: int,
    places: Sequence[int],
) -> ClassCounts:
    """Count rows by the class numbers that `assign` gives them, and by the labels of some columns (`Table.count_classes`)."""
    totals = np.zeros(classes, dtype=np.int64)
    tables = [np.zeros((classes, len(known[place])), dtype=np.int64) for place in places]
    index = [indices_of(values, listed) for values, listed in zip(rows.values, known, strict=True)]
    for codes, often in rows.batches:
        indices = [each[code] for each, code in zip(index, codes, strict=True)]
        for part, found in zip(parts, indices, strict=True):
            refuse_unknown(part.name, found)
        numbers = assign_numbers(assign, indices, classes)
        if not len(numbers):
            continue
        totals += sum_by_code(numbers, often, classes)
        home = numbers.astype(np.int64)
        for place, table in zip(places, tables, strict=True):
            keys = home * table.shape[1] + indices[place] if classes > 1 else indices[place]
            np.add(table, sum_by_code(keys, often, table.size).reshape(table.shape), out=table)
    return ClassCounts(totals, tuple(tables))


def relabel_rows(
    origin: Origin,
    parts: tuple[Column, ...],
    rows: CodedRows,
    known: Sequence[Sequence[str]],
    assign: Assignment,
    labels: Sequence[Sequence[str]],
) -> GroupedTable:
    """Give rows the labels of the class numbers that `assign` gives them (`Table.relabel`)."""
    return label_classes(origin, parts, count_rows(parts, rows, known, assign, len(labels[0]), ()).rows, labels)


def label_classes(
    origin: Origin, parts: tuple[Column, ...], numbered: npt.NDArray[np.int64], labels: Sequence[Sequence[str]]
) -> GroupedTable:
    """Give each class its labels; `numbered` says how many rows have each class number."""
    used = np.flatnonzero(numbered)
    counter = TupleCounter([len(part.labels or ()) for part in parts])
    shown = [[new[number] for number in used.tolist()] for new in labels]
    counter.add([part.codes_of(new) for part, new in zip(parts, shown, strict=True)], numbered[used])
    distinct, counts = counter.result()
    values = tuple(np.array(part.labels, dtype=object) for part in parts)
    return GroupedTable(origin, parts, values, tuple(distinct), counts)
