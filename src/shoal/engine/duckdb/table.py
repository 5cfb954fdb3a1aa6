"""Tables in DuckDB: lazy SQL over a private connection, with labels as small integers until rows leave the engine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from shoal.data.domain import Values
from shoal.data.hierarchy.level import MISSING, GroupLevel, IntervalLevel, Level, MaskLevel, TopLevel, ValueLevel
from shoal.data.schema import Schema
from shoal.data.type import Type
from shoal.engine.arrow_array import number_values
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
    column_of,
    edges_of,
    group_means,
    interval_codes,
    quantile_ranks,
    recoded_column,
    refuse_known,
    refuse_uncovered,
    relabelled_columns,
    to_numpy,
)
from shoal.engine.digest import Contents, Digest
from shoal.engine.duckdb import sql
from shoal.engine.duckdb.codes import read_coded_input, read_codes
from shoal.engine.grouped import CodedRows, GroupedTable, count_rows, relabel_rows
from shoal.engine.read.storage import WORDS
from shoal.engine.runs import Ordering, RunTotals, total_runs
from shoal.engine.tuple_counts import CodeTable, ColumnAtLevel, TupleCounter, passes, refuse_requests
from shoal.engine.write import BATCH_ROWS, expand, rebatch, write_file
from shoal.errors import UsageError
from shoal.progress import report_progress, silent

if TYPE_CHECKING:
    import pyarrow as pa

    from shoal.engine.duckdb.engine import Connection

SEARCHED = 128
"""From so many edges on a value finds its interval by a join with the edges, and before by an expression."""
TOGETHER = 64
"""Columns that are coded in one pass."""
MANY = 1 << 22
"""Distinct rows of one result that are held in memory; more are stored, where DuckDB can move them to its folder."""
BITS = 20
"""A row mask is held as bit strings of 2^20 rows each."""


@dataclass(frozen=True)
class DuckDBTable:
    """A table as a query whose columns are c0, c1, … and either r, the number of the row, or n, the count of equal rows."""

    connection: Connection
    schema: Schema
    parts: tuple[Column, ...]
    query: str
    counted: bool = False
    dense: bool = False  # r is 0, 1, 2, … without a gap

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(part.name for part in self.parts)

    @property
    def types(self) -> Mapping[str, Type]:
        return {part.name: part.type for part in self.parts}

    @property
    def notes(self) -> tuple[str, ...]:
        return self.connection.input.notes

    def rows(self) -> int:
        return int(self.connection.one(f"SELECT {self._count} FROM ({self.query}) t") or 0)

    def keep(self, mask: RowMask) -> Table:
        self._needs_numbers()
        bits = self.connection.store_mask(mask, BITS)
        low = (1 << BITS) - 1
        query = (
            f"SELECT t.* FROM ({self.query}) t JOIN {bits} m ON (t.r >> {BITS}) = m.part"
            f" WHERE get_bit(m.bits, CAST(t.r & {low} AS INTEGER)) = 1"
        )
        return replace(self, query=query, dense=False)

    def limit_per(self, column: str, most: int, words: RowWords) -> Table:
        self._needs_numbers()
        stored = self.connection.store_words(words, 1 << BITS)
        try:
            place = f"row_number() OVER (PARTITION BY {self._at(column)} ORDER BY w.w, t.r)"
            ranked = f"SELECT t.r AS r, {place} AS i FROM ({self.query}) t JOIN {stored} w ON w.r = t.r"
            kept = np.ones(self.connection.input.rows, dtype=np.bool_)
            with closing(self.connection.batches(f"SELECT r FROM ({ranked}) WHERE i > {int(most)}")) as batches:
                for batch in batches:
                    kept[number_values(batch["r"])] = False
        finally:
            self.connection.drop(stored)
        return self.keep(lambda start, count: kept[start : start + count])

    def recode(self, levels: Mapping[str, Level]) -> Table:
        return self._recode(list(levels.items()))

    def _recode(self, levels: Sequence[ColumnAtLevel]) -> DuckDBTable:
        """Recode columns to levels; unlike `recode`, a column may occur more than once."""
        parts, joins, shown = [], [], []
        for place, (name, level) in enumerate(levels):
            x, old = self._at(name), self._part(name)
            attribute = self.schema.by_name.get(name)
            new = recoded_column(attribute, old, level)
            if isinstance(level, GroupLevel) or (isinstance(level, ValueLevel) and new.labels is not None):
                code, join = self._look_up(x, new, level, f"g{place}")
                joins.append(join)
            elif isinstance(level, IntervalLevel) and len(level.edges) > SEARCHED:
                code, join = self._search(x, old, new, level, f"g{place}")
                joins.append(join)
            else:
                code = _recode_sql(x, old, new, level)
            parts.append(new)
            shown.append(f"{code} AS c{place}")
        carried = "t.n" if self.counted else "t.r"
        query = f"SELECT {', '.join([*shown, carried])} FROM ({self.query}) t {' '.join(joins)}"
        return replace(self, parts=tuple(parts), query=query)

    def count_by(self, columns: Sequence[str]) -> Counts:
        if not columns:
            raise UsageError("no column to count by", came="none", allowed="at least one")
        with self._codes_of(columns) as rows:
            counter = TupleCounter(rows.sizes)
            for codes, counts in rows.batches:
                counter.add(codes, counts)
        found, often = counter.result(first=ABSENT)
        return Counts(tuple(columns), rows.values, tuple(found), often)

    def class_sizes(self, columns: Sequence[str]) -> dict[int, int]:
        if not columns:
            raise UsageError("no column to count by", came="none", allowed="at least one")
        keys = ", ".join(self._at(name) for name in columns)
        sizes = f"SELECT {self._count} AS size FROM ({self.query}) t GROUP BY {keys}"
        found = self.connection.arrow(f"SELECT size, count(*) AS often FROM ({sizes}) GROUP BY size ORDER BY size")
        return dict(zip(found["size"].to_pylist(), found["often"].to_pylist(), strict=True))

    def suppress_below(self, columns: Sequence[str], k: int) -> Table:
        held = [self._at(name) for name in columns]
        keys = ", ".join(held)
        if set(columns) == set(self.columns):
            every = ", ".join(f"t.{x}" for x in sql.names(len(self.parts)))
            query = f"SELECT {every}, {self._count} AS n FROM ({self.query}) t GROUP BY {every} HAVING {self._count} >= {int(k)}"
            return replace(self, query=query, counted=True, dense=False)
        often = f"SELECT {keys} FROM ({self.query}) t GROUP BY {keys} HAVING {self._count} >= {int(k)}"
        same = " AND ".join(f"{x} IS NOT DISTINCT FROM o.{x[2:]}" for x in held)
        return replace(self, query=f"SELECT t.* FROM ({self.query}) t SEMI JOIN ({often}) o ON {same}", dense=False)

    def relabel(self, known: Sequence[Sequence[str]], assign: Assignment, labels: Sequence[Sequence[str]]) -> Table:
        parts = relabelled_columns(self.columns, known, labels)
        with self._codes_of(self.columns) as rows:
            return relabel_rows(self, parts, rows, known, assign, labels)

    def count_classes(
        self, known: Sequence[Sequence[str]], assign: Assignment, classes: int, columns: Sequence[str] = ()
    ) -> ClassCounts:
        refuse_known(self.columns, known)
        places = [self._index(name) for name in columns]
        self.connection.input.stamp.verify_quickly()
        rows = CodedRows(tuple(self._held_codes.values), self._held_codes.chunks())
        return count_rows(self.parts, rows, known, assign, classes, places)

    @cached_property
    def _held_codes(self) -> CodeTable:
        """The rows as codes, read once for all counts by class."""
        codes = CodeTable.of(self.connection.folder, self.connection.input.rows)
        with self._codes_of(self.columns) as rows:
            codes.add_rows(rows.values, rows.batches)
        return codes

    def recode_many(self, requests: Sequence[RecodeRequest]) -> list[Table]:
        refuse_requests(self.columns, requests)
        if any(request.mask is not None for request in requests):
            self._needs_numbers()
        made: list[Table] = []
        for some, needed in passes(requests, self.connection.input.rows):
            parts, codes = self._read_codes(needed)
            at = {each: place for place, each in enumerate(needed)}
            for request in some:
                places = [at[each] for each in request.levels.items()]
                found, counts = codes.count(places, request.mask)
                values = tuple(codes.values[place] for place in places)
                grouped = GroupedTable(self, tuple(parts[place] for place in places), values, tuple(found), counts)
                made.append(grouped if len(counts) <= MANY else grouped.store())
        return made

    def _read_codes(self, needed: Sequence[ColumnAtLevel]) -> tuple[list[Column], CodeTable]:
        """Read columns at levels as codes by row number, some columns in each pass."""
        codes = CodeTable.of(self.connection.folder, self.connection.input.rows)
        parts: list[Column] = []
        together = len(needed) if self.counted else TOGETHER  # without numbers, rows come in any order each time
        for start in range(0, len(needed), together):
            table = self._recode(needed[start : start + together])
            named = list(zip(sql.names(len(table.parts)), table.parts, strict=True))
            with read_codes(self.connection, table.query, named, "n" if self.counted else "r") as rows:
                (codes.add_counted if self.counted else codes.add_numbered)(rows.values, rows.batches)
            parts += table.parts
        return parts, codes

    def distinct(self, column: str) -> Array:
        part, x = self._part(column), self._at(column)
        found = self.connection.arrow(
            f"SELECT DISTINCT {x} AS v FROM ({self.query}) t WHERE {x} IS NOT NULL ORDER BY v"
        )
        if part.labels is not None:
            labels: Array = np.array(part.labels, dtype=object)
            return labels.take(np.asarray(found["v"]))
        return to_numpy(found["v"], part.type)

    def quantiles(self, column: str, at: Sequence[float]) -> Array:
        part, x = self._part(column), self._at(column)
        if not part.type.numeric:
            raise UsageError("quantiles need numbers, dates or times", came=f"'{column}' of type {part.type.value}")
        counted = f"SELECT {x} AS v, {self._count} AS m FROM ({self.query}) t WHERE {x} IS NOT NULL GROUP BY {x}"
        running = self.connection.store(f"SELECT v, sum(m) OVER (ORDER BY v) AS upto FROM ({counted})")
        try:
            total = int(self.connection.one(f"SELECT max(upto) FROM {running}") or 0)
            if not total:
                raise UsageError("quantiles of a column without values", came=column)
            picked = " UNION ALL ".join(
                f"SELECT {place} AS place, min(v) AS v FROM {running} WHERE upto >= {rank}"
                for place, rank in enumerate(quantile_ranks(at, total))
            )
            return to_numpy(self.connection.arrow(f"SELECT v FROM ({picked}) ORDER BY place")["v"], part.type)
        finally:
            self.connection.drop(running)

    def chunk(self, order: Sequence[str], size: int, name: str) -> Table:
        table = self._with_numbers()
        held = [table._at(column) for column in order]
        last = max(table.rows() // size - 1, 0)
        number = f"row_number() OVER (ORDER BY {sql.order_by([*held, 't.r'])}) - 1"
        return table._with(Column(name, Type.INTEGER), f"least(({number}) // {int(size)}, {last})", "")

    def means_by(self, group: str, columns: Sequence[str]) -> dict[str, Array]:
        for column in columns:
            if self._part(column).type not in (Type.INTEGER, Type.DECIMAL):
                raise UsageError("means need numbers", came=f"'{column}' of type {self._part(column).type.value}")
        table = self._with_numbers()
        kinds = [table._part(name).type for name in (group, *columns)]
        shown = ", ".join(table._at(name) for name in (group, *columns))
        batches = table.connection.batches(f"SELECT {shown} FROM ({table.query}) t ORDER BY t.r")

        def parts() -> Iterator[tuple[Array, list[Array]]]:
            for batch in batches:
                first, *others = [to_numpy(held, kind) for held, kind in zip(batch.columns, kinds, strict=True)]
                yield first, others

        return group_means(parts(), columns)

    def total_runs(
        self, columns: Sequence[str], ordering: Ordering, size: int, counted: Sequence[int | None]
    ) -> RunTotals:
        held = self.collect(columns)
        return total_runs(ordering([held.pop(name) for name in columns]), size, counted)

    def collect(self, columns: Sequence[str]) -> dict[str, Array]:
        import pyarrow as pa

        types = {name: self._part(name).type for name in columns}
        chosen = self.select(columns) if not self.counted else self
        shape = pa.schema([(part.name, part.arrow_type()) for part in chosen.parts])
        table = pa.Table.from_batches(list(chosen.batches(sort=False)), shape)
        return {name: to_numpy(table[name].unify_dictionaries(), kind) for name, kind in types.items()}

    def attach(self, name: str, values: Array) -> Table:
        column, held = column_of(name, values)
        table = self._with_numbers()
        rows = table.rows()
        if len(held) != rows:
            raise UsageError("the new column has another length", came=len(held), allowed=f"{rows}, one for each row")
        stored = table.connection.store_column(held)
        number = "t.r" if table.dense else "row_number() OVER (ORDER BY t.r) - 1"
        inner = f"SELECT t.*, {number} AS p FROM ({table.query}) t"
        return replace(table, query=inner)._with(column, "a.v", f"JOIN {stored} a ON a.p = t.p")

    def select(self, columns: Sequence[str]) -> DuckDBTable:
        shown = [f"{self._at(name)} AS c{place}" for place, name in enumerate(columns)]
        carried = "t.n" if self.counted else "t.r"
        query = f"SELECT {', '.join([*shown, carried])} FROM ({self.query}) t"
        return replace(self, parts=tuple(self._part(name) for name in columns), query=query)

    def batches(self, *, sort: bool = True) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        held = sql.names(len(self.parts))
        order = sql.order_by(held) if sort or self.counted else "r"
        carried = ["n"] if self.counted else []
        pieces = self.connection.batches(f"SELECT {', '.join([*held, *carried])} FROM ({self.query}) ORDER BY {order}")
        if self.counted:
            pieces = (
                more for piece in pieces for more in expand(piece.select(held), number_values(piece["n"]), BATCH_ROWS)
            )
        shape = pa.schema([(part.name, part.arrow_type()) for part in self.parts])
        for batch in rebatch(pieces, BATCH_ROWS):
            shown = [part.to_arrow(column) for column, part in zip(batch.columns, self.parts, strict=True)]
            yield pa.RecordBatch.from_arrays(shown, schema=shape)

    def digest(self) -> bytes:
        return self.contents().whole

    def contents(self) -> Contents:
        made = Digest([(part.name, part.type) for part in self.parts])
        held = sql.names(len(self.parts))
        carried = ["n"] if self.counted else []
        # Of all rows of the input it is known how many there are; of some of them, or of counted tuples, it is not.
        report, read = report_progress(self.connection.stage if self.dense else silent, "fingerprinting the rows"), 0
        for batch in self.connection.batches(f"SELECT {', '.join([*held, *carried])} FROM ({self.query})"):
            shown = [part.to_arrow(batch[x]) for x, part in zip(held, self.parts, strict=True)]
            made.add(shown, number_values(batch["n"]) if self.counted else None)
            read += batch.num_rows
            report(read, self.connection.input.rows)
        return made.contents()

    def write(self, path: Path, *, sort: bool = True) -> None:
        import pyarrow as pa

        shape = pa.schema([(part.name, part.arrow_type()) for part in self.parts])
        write_file(Path(path), shape, self.batches(sort=sort), self.connection.input.stamp.verify)

    def verify_quickly(self) -> None:
        self.connection.input.stamp.verify_quickly()

    def store_counted(self, parts: tuple[Column, ...], columns: Sequence[pa.Array], counts: Array) -> DuckDBTable:
        query = self.connection.store_counted(columns, counts)
        return replace(self, parts=parts, query=query, counted=True, dense=False)

    @property
    def _count(self) -> str:
        return "CAST(sum(t.n) AS BIGINT)" if self.counted else "count(*)"

    def _part(self, name: str) -> Column:
        return self.parts[self._index(name)]

    def _at(self, name: str) -> str:
        return f"t.c{self._index(name)}"

    def _index(self, name: str) -> int:
        if name not in self.columns:
            raise UsageError("no such column", came=name, allowed=", ".join(self.columns))
        return self.columns.index(name)

    def _codes_of(self, columns: Sequence[str]) -> AbstractContextManager[CodedRows]:
        coded = self.connection.coded
        if coded is not None and coded.query == self.query:  # all rows of the input as they are: nothing is looked up
            places = [self._index(name) for name in columns]
            return nullcontext(read_coded_input(self.connection, coded, [(i, self.parts[i]) for i in places]))
        parts = [(f"c{self._index(name)}", self._part(name)) for name in columns]
        return read_codes(self.connection, self.query, parts, "n" if self.counted else None)

    def _needs_numbers(self) -> None:
        if self.counted:
            raise UsageError(
                "these rows have no numbers of the input any more", fix="keep rows before `suppress_below` or `relabel`"
            )

    def _with_numbers(self) -> DuckDBTable:
        """Give rows their numbers back; counted rows are numbered in the order of their values."""
        if not self.counted:
            return self
        held = sql.names(len(self.parts))
        shown = ", ".join(held)
        spread = f"SELECT {shown}, unnest(range(n)) AS i FROM ({self.query})"
        query = f"SELECT {shown}, row_number() OVER (ORDER BY {sql.order_by(held)}) - 1 AS r FROM ({spread})"
        return replace(self, query=query, counted=False, dense=True)

    def _with(self, column: Column, value: str, join: str) -> DuckDBTable:
        """Add a column at the end, or in the position of the column that it replaces."""
        old = sql.names(len(self.parts))
        place = self.columns.index(column.name) if column.name in self.columns else len(old)
        shown = [f"t.{x}" for x in old]
        shown[place : place + 1] = [f"{value} AS c{place}"]
        parts = [*self.parts]
        parts[place : place + 1] = [column]
        query = f"SELECT {', '.join([*shown, 't.r'])} FROM ({self.query}) t {join}"
        return replace(self, parts=tuple(parts), query=query)

    def _look_up(self, x: str, new: Column, level: Level, name: str) -> tuple[str, str]:
        """Look a code up in a map table. Where the level may not cover the column, one pass checks that it does."""
        labels = new.labels or ()
        table = level.table if isinstance(level, GroupLevel) else {label: label for label in labels}
        code = {label: place for place, label in enumerate(labels)}
        stored = self.connection.store_map(
            {leaf: code[label] for leaf, label in table.items()}, sql.code_type(len(labels))
        )
        text = x if self._part(new.name).type in WORDS else f"CAST({x} AS VARCHAR)"
        join = f"LEFT JOIN {stored} {name} ON {name}.leaf = {text}"
        domain = self.schema[new.name].domain
        if not (isinstance(domain, Values) and set(domain.values) <= set(table)):
            lost = f"SELECT {self._count} FROM ({self.query}) t {join} WHERE {name}.code IS NULL AND {x} IS NOT NULL"
            refuse_uncovered(new.name, int(self.connection.one(lost) or 0))
        if isinstance(level, ValueLevel):
            return f"{name}.code", join
        return f"coalesce({name}.code, CAST({code[MISSING]} AS {sql.code_type(len(labels))}))", join

    def _search(self, x: str, old: Column, new: Column, level: IntervalLevel, name: str) -> tuple[str, str]:
        """Look the distinct values up in a table of many edges: one join, where an expression would be compiled for each edge."""
        codes = interval_codes(new, level)
        kind = sql.code_type(len(new.labels or ()))
        above = dict(zip(edges_of(level, old.type).tolist(), codes[1:], strict=True))  # of equal edges, the last
        stored = self.connection.store_edges(above, old.type, kind)
        distinct = f"SELECT DISTINCT {x} AS v FROM ({self.query}) t WHERE {x} IS NOT NULL"
        found = f"SELECT d.v, coalesce(e.code, {codes[0]}) AS code FROM ({distinct}) d ASOF LEFT JOIN {stored} e ON d.v >= e.edge"
        missing = (new.labels or ()).index(MISSING)
        return f"CAST(coalesce({name}.code, {missing}) AS {kind})", f"LEFT JOIN ({found}) {name} ON {name}.v = {x}"


def _recode_sql(x: str, old: Column, new: Column, level: Level) -> str:
    """Give the SQL of a recoded column that needs no map table."""
    if isinstance(level, IntervalLevel):
        labels = new.labels or ()
        codes = interval_codes(new, level)
        edges = [sql.literal(edge, old.type) for edge in edges_of(level, old.type).tolist()]
        code = f"CASE WHEN {x} IS NULL THEN {labels.index(MISSING)} ELSE {sql.interval_code(x, edges, codes)} END"
        return f"CAST({code} AS {sql.code_type(len(labels))})"
    if isinstance(level, TopLevel):
        return "CAST(0 AS UTINYINT)"
    if isinstance(level, MaskLevel):
        return f"coalesce({sql.mask(x, level)}, {sql.quote(MISSING)})"
    return x
