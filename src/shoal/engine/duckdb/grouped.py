"""A table held in memory as its distinct rows and how often each occurs: what is left of rows that became labels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from shoal.data.hierarchy.level import Level
from shoal.data.schema import Schema
from shoal.data.type import Type
from shoal.engine.base import ABSENT, Array, Ask, Counts, Place, RowMask, RowWords, Table
from shoal.engine.column import Column, natural
from shoal.engine.digest import Contents, Digest
from shoal.engine.duckdb.codes import Coded
from shoal.engine.relabel import indices_of, numbers_of, refuse_unknown, relabelled
from shoal.engine.tuple_counts import Tally
from shoal.engine.write import files
from shoal.engine.write.batches import expanded
from shoal.errors import UsageError

if TYPE_CHECKING:
    import pyarrow as pa

    from shoal.engine.duckdb.table import DuckDBTable

Codes = npt.NDArray[np.int32]


@dataclass(frozen=True)
class GroupedTable:
    """Distinct rows in order: column j of row i holds `values[j][codes[j][i]]`, or nothing where the code is ABSENT.

    Values are sorted, and are the labels of a column where they can be listed. Few verbs need what DuckDB can do
    better: for those the rows are handed back to the engine they came from.
    """

    origin: DuckDBTable
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
            raise UsageError("count by which columns?", came="none", allowed="at least one")
        chosen = self.select(columns)
        pairs = [_occurring(*each) for each in zip(chosen.parts, chosen.values, chosen.codes, strict=True)]
        values, codes = zip(*pairs, strict=True)
        return Counts(tuple(columns), values, codes, chosen.counts)

    def at_least(self, columns: Sequence[str], k: int) -> Table:
        self._glance()
        places = [self._place(name) for name in columns]
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

    def relabel(self, known: Sequence[Sequence[str]], place: Place, labels: Sequence[Sequence[str]]) -> Table:
        self._glance()
        parts = relabelled(self.columns, known, labels)
        rows = [code - ABSENT for code in self.codes], self.counts
        return boxed(self.origin, parts, Coded(self.values, iter([rows])), known, place, labels)

    def distinct(self, column: str) -> Array:
        self._glance()
        place = self._place(column)
        used = np.unique(self.codes[place])
        return np.asarray(self.values[place][used[used != ABSENT]])

    def collect(self, columns: Sequence[str]) -> dict[str, Array]:
        import pyarrow as pa

        types = {name: self.parts[self._place(name)].type for name in columns}
        table = pa.Table.from_batches(list(self.batches()), self._shape)
        return {name: natural(table[name].unify_dictionaries(), kind) for name, kind in types.items()}

    def select(self, columns: Sequence[str]) -> GroupedTable:
        self._glance()
        places = [self._place(name) for name in columns]
        chosen = replace(self, parts=tuple(self.parts[p] for p in places), values=tuple(self.values[p] for p in places))
        if places == list(range(len(self.parts))):
            return chosen
        tally = Tally([len(values) + 1 for values in chosen.values])
        tally.add([self.codes[place] - ABSENT for place in places], self.counts)
        codes, counts = tally.result(first=ABSENT)
        return replace(chosen, codes=tuple(codes), counts=counts)

    def batches(self, *, sort: bool = True) -> Iterator[pa.RecordBatch]:  # noqa: ARG002 - there is one order
        import pyarrow as pa

        self._glance()
        places = pa.RecordBatch.from_arrays([pa.array(np.arange(len(self.counts)))], names=["place"])
        for piece in expanded(places, self.counts, files.ROWS):
            at = piece["place"].to_numpy()
            yield pa.RecordBatch.from_arrays(self._shown(at), schema=self._shape)

    def digest(self) -> bytes:
        return self.contents().whole

    def contents(self) -> Contents:
        self._glance()
        made = Digest([(part.name, part.type) for part in self.parts])
        made.add(self._shown(np.arange(len(self.counts))), self.counts)
        return made.contents()

    def write(self, path: Path, *, sort: bool = True) -> None:
        files.write(Path(path), self._shape, self.batches(sort=sort), self._glance)

    # --- what the engine does with the rows once it has them back -----------------------------------------------

    def keep(self, mask: RowMask) -> Table:
        return self.stored().keep(mask)

    def at_most_per(self, column: str, most: int, words: RowWords) -> Table:
        return self.stored().at_most_per(column, most, words)

    def recode(self, levels: Mapping[str, Level]) -> Table:
        return self.stored().recode(levels)

    def at_once(self, asks: Sequence[Ask]) -> list[Table]:
        return self.stored().at_once(asks)

    def quantiles(self, column: str, at: Sequence[float]) -> Array:
        return self.stored().quantiles(column, at)

    def chunk(self, order: Sequence[str], size: int, name: str) -> Table:
        return self.stored().chunk(order, size, name)

    def means_by(self, group: str, columns: Sequence[str]) -> dict[str, Array]:
        return self.stored().means_by(group, columns)

    def attach(self, name: str, values: Array) -> Table:
        return self.stored().attach(name, values)

    def stored(self) -> DuckDBTable:
        """The same rows in the engine's own form."""
        every = np.arange(len(self.counts))
        held = [
            self._values(place, every) if part.labels is None else _labels(self.codes[place], len(part.labels))
            for place, part in enumerate(self.parts)
        ]
        query = self.origin.session.store_counted(held, self.counts)
        return replace(self.origin, parts=self.parts, query=query, counted=True, dense=False)

    # --- inside ------------------------------------------------------------------------------------------------

    @property
    def _shape(self) -> pa.Schema:
        import pyarrow as pa

        return pa.schema([(part.name, part.arrow_type()) for part in self.parts])

    def _glance(self) -> None:
        self.origin.session.source.stamp.glance()

    def _place(self, name: str) -> int:
        if name not in self.columns:
            raise UsageError("no such column", came=name, allowed=", ".join(self.columns))
        return self.columns.index(name)

    def _shown(self, at: npt.NDArray[np.int64]) -> list[pa.Array]:
        """Some of the distinct rows as they leave the engine."""
        shown = []
        for place, part in enumerate(self.parts):
            if part.labels is None:
                shown.append(self._values(place, at))
                continue
            codes = self.codes[place][at]
            absent = codes == ABSENT
            shown.append(part.coded(np.where(absent, 0, codes), absent if absent.any() else None))
        return shown

    def _values(self, place: int, at: npt.NDArray[np.int64]) -> pa.Array:
        """A column of values at some of the distinct rows; only values that occur are brought to Arrow's form."""
        import pyarrow as pa

        part, codes = self.parts[place], self.codes[place][at]
        values, found = _occurring(part, self.values[place], codes)
        return pa.array(values, part.arrow_type()).take(pa.array(found, mask=found == ABSENT))


def _occurring(part: Column, values: Array, codes: Codes) -> tuple[Array, Codes]:
    """Values that occur and the codes by them; labels that can be listed stay as they are."""
    if part.labels is not None:
        return values, codes
    there = np.zeros(len(values) + 1, dtype=np.bool_)
    there[codes] = True  # ABSENT is -1: the last
    used = np.flatnonzero(there[:-1])
    place = np.full(len(values) + 1, ABSENT, dtype=np.int32)
    place[used] = np.arange(len(used), dtype=np.int32)
    return values[used], place[codes]


def _labels(codes: Codes, count: int) -> pa.Array:
    """Codes of labels in the smallest type, as the engine holds them."""
    import pyarrow as pa

    kind = np.min_scalar_type(max(count - 1, 0))
    absent = codes == ABSENT
    return pa.array(np.where(absent, 0, codes).astype(kind), mask=absent)


def boxed(
    origin: DuckDBTable,
    parts: tuple[Column, ...],
    rows: Coded,
    known: Sequence[Sequence[str]],
    place: Place,
    labels: Sequence[Sequence[str]],
) -> GroupedTable:
    """Rows under the labels of the numbers that they are given, as `relabel` says."""
    numbered = np.zeros(len(labels[0]), dtype=np.int64)
    index = [indices_of(values, listed) for values, listed in zip(rows.values, known, strict=True)]
    for codes, often in rows.batches:
        indices = [each[code] for each, code in zip(index, codes, strict=True)]
        for part, found in zip(parts, indices, strict=True):
            refuse_unknown(part.name, found)
        np.add.at(numbered, numbers_of(place, indices, len(numbered)), 1 if often is None else often)
    used = np.flatnonzero(numbered)
    tally = Tally([len(part.labels or ()) for part in parts])
    shown = [[new[number] for number in used.tolist()] for new in labels]
    tally.add([part.codes_of(new) for part, new in zip(parts, shown, strict=True)], numbered[used])
    distinct, counts = tally.result()
    values = tuple(np.array(part.labels, dtype=object) for part in parts)
    return GroupedTable(origin, parts, values, tuple(distinct), counts)
