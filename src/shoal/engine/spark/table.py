"""Tables in Spark: lazy frames over a session, with labels as small integers until rows leave the engine.

What comes to this machine is counted tuples, class counts and columns that a caller collects, each bounded by Spark's
`spark.driver.maxResultSize`, never the rows of a release: those leave as files that the workers encode.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial, wraps
from inspect import isfunction, isgeneratorfunction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from pyspark.sql import Window
from pyspark.sql import functions as F

from shoal.data.domain import Values
from shoal.data.hierarchy.level import MISSING, GroupLevel, IntervalLevel, Level, MaskLevel, TopLevel, ValueLevel
from shoal.data.schema import Schema
from shoal.data.type import Type
from shoal.engine import write as writing
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
    UNKNOWN,
    Column,
    column_of,
    edges_of,
    encode,
    interval_codes,
    quantile_ranks,
    recoded_column,
    refuse_known,
    refuse_uncovered,
    refuse_unknown,
    relabelled_columns,
    to_numpy,
)
from shoal.engine.digest import Contents
from shoal.engine.grouped import GroupedTable, label_classes
from shoal.engine.runs import Ordering, RunTotals, run_count
from shoal.engine.spark import sql, workers
from shoal.engine.spark.read import SparkInput, from_arrow, number_parts
from shoal.engine.spark.session import explain
from shoal.engine.tuple_counts import ColumnAtLevel, TupleCounter, refuse_requests
from shoal.errors import UsageError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame

SEARCHED = 64
"""From so many edges on a value finds its interval in a worker's Python, and before by an expression."""
MANY = 1 << 22
"""Distinct rows of one result that are held in memory; more stay with the workers."""
LISTED = 1 << 20
"""Distinct values of a column that are sent to workers as a list; more are joined."""


def _explained(table: type[SparkTable]) -> type[SparkTable]:
    """Let every operation speak of failures in our words, also those that arise before Spark runs anything."""

    def wrap(operation: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(operation)
        def run(*given: Any, **named: Any) -> Any:
            return explain(lambda: operation(*given, **named))

        return run

    for name, operation in list(vars(table).items()):
        if isfunction(operation) and not name.startswith("_") and not isgeneratorfunction(operation):
            setattr(table, name, wrap(operation))
    return table


@_explained
@dataclass(frozen=True)
class SparkTable:
    """A table as a frame whose columns are c0, c1, … and either r, the number of the row, or n, the count of equal rows."""

    input: SparkInput
    schema: Schema
    parts: tuple[Column, ...]
    frame: DataFrame
    count: int
    """The rows of the input."""
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
        return self.input.opened.notes

    def rows(self) -> int:
        if self.dense:
            self.input.connection.marks.verify()
            return self.count
        counted = self.frame.agg((F.sum("n") if self.counted else F.count("*")).alias("n"))
        return int(self._collect(counted)["n"][0].as_py() or 0)

    def keep(self, mask: RowMask) -> Table:
        self._needs_numbers()
        return replace(self, frame=self.frame.where(workers.keep_rows(mask, F.col("r"))), dense=False)

    def limit_per(self, column: str, most: int, words: RowWords) -> Table:
        self._needs_numbers()
        drawn = self.frame.withColumn("w", workers.row_words(words, F.col("r")))
        own = Window.partitionBy(self._at(column)).orderBy(F.col("w"), F.col("r"))
        kept = drawn.withColumn("i", F.row_number().over(own)).where(F.col("i") <= int(most)).drop("w", "i")
        return replace(self, frame=self.input.connection.hold(kept), dense=False)

    def recode(self, levels: Mapping[str, Level]) -> Table:
        return self._recode(list(levels.items()))

    def _recode(self, levels: Sequence[ColumnAtLevel]) -> SparkTable:
        """Recode columns to levels; unlike `recode`, a column may occur more than once."""
        frame, parts, shown = self.frame, [], []
        for place, (name, level) in enumerate(levels):
            old = self._part(name)
            x = F.col(f"c{self._index(name)}")
            new = recoded_column(self.schema.by_name.get(name), old, level)
            if isinstance(level, GroupLevel) or (isinstance(level, ValueLevel) and new.labels is not None):
                frame, code = self._look_up(frame, x, new, level, f"g{place}")
            else:
                code = _recoded(x, f"c{self._index(name)}", old, new, level)
            parts.append(new)
            shown.append(code.alias(f"k{place}"))
        made = frame.select(*shown, self._carried).toDF(*sql.names(len(parts)), self._carried)
        return replace(self, parts=tuple(parts), frame=made)

    def count_by(self, columns: Sequence[str]) -> Counts:
        _refuse_none(columns)
        found = self._collect(self._grouped(columns))
        values, codes = [], []
        for place, name in enumerate(columns):
            part, held = self._part(name), found.column(place)
            if part.labels is not None:
                values.append(np.array(part.labels, dtype=object))
                codes.append(held.fill_null(ABSENT).to_numpy() + 1)
            else:
                different, own = encode(held, part.type)
                values.append(different)
                codes.append(own.astype(np.int64) + 1)
        counter = TupleCounter([len(each) + 1 for each in values])
        counter.add(codes, found.column(len(columns)).to_numpy())
        distinct, often = counter.result(first=ABSENT)
        return Counts(tuple(columns), tuple(values), tuple(distinct), often)

    def class_sizes(self, columns: Sequence[str]) -> dict[int, int]:
        _refuse_none(columns)
        sizes = self._grouped(columns).groupBy("n").agg(F.count("*").alias("often"))
        found = self._collect(sizes)
        return dict(sorted(zip(found["n"].to_pylist(), found["often"].to_pylist(), strict=True)))

    def suppress_below(self, columns: Sequence[str], k: int) -> Table:
        if set(columns) == set(self.columns):
            grouped = self._grouped(self.columns, sql.names(len(self.parts))).where(F.col("n") >= int(k))
            return replace(self, frame=self.input.connection.hold(grouped), counted=True, dense=False)
        often = self._grouped(columns, [f"o{place}" for place in range(len(columns))]).where(F.col("n") >= int(k))
        same = [self._at(name).eqNullSafe(F.col(f"o{place}")) for place, name in enumerate(columns)]
        return replace(self, frame=self.frame.join(often.drop("n"), same, "left_semi"), dense=False)

    def relabel(self, known: Sequence[Sequence[str]], assign: Assignment, labels: Sequence[Sequence[str]]) -> Table:
        parts = relabelled_columns(self.columns, known, labels)
        return label_classes(self, parts, self.count_classes(known, assign, len(labels[0])).rows, labels)

    def count_classes(
        self, known: Sequence[Sequence[str]], assign: Assignment, classes: int, columns: Sequence[str] = ()
    ) -> ClassCounts:
        refuse_known(self.columns, known)
        places = [self._index(name) for name in columns]
        work = workers.count_classes(self.parts, known, assign, classes, places)
        counted = workers.map_batches(self._held_tuples, work, workers.CLASSES)
        found = self._collect(counted.groupBy("place", "key").agg(F.sum("n").alias("n")))
        place, key, often = (number_values(found[name]) for name in ("place", "key", "n"))
        if len(place) and int(place.min()) == workers.UNKNOWN:
            unlisted = self.parts[int(key[place == workers.UNKNOWN].min())]
            refuse_unknown(unlisted.name, np.array([UNKNOWN], dtype=np.int32))
        totals = np.zeros(classes, dtype=np.int64)
        totals[key[place == workers.TOTAL]] = often[place == workers.TOTAL]
        tables = []
        for each in places:
            table = np.zeros(classes * len(known[each]), dtype=np.int64)
            table[key[place == each]] = often[place == each]
            tables.append(table.reshape(classes, len(known[each])))
        return ClassCounts(totals, tuple(tables))

    @cached_property
    def _held_tuples(self) -> DataFrame:
        """The distinct rows and how often each occurs, computed once for all counts by class."""
        return self.input.connection.hold(self._grouped(self.columns))

    def recode_many(self, requests: Sequence[RecodeRequest]) -> list[Table]:
        refuse_requests(self.columns, requests)
        if any(request.mask is not None for request in requests):
            self._needs_numbers()
        made: list[Table] = []
        for some in _sendable(requests):
            made += self._recode_together(some)
        return made

    def _recode_together(self, requests: Sequence[RecodeRequest]) -> list[Table]:
        """Count the tables of some requests in one pass; those with very many tuples are left with the workers."""
        needed = list(dict.fromkeys(each for request in requests for each in request.levels.items()))
        at = {each: place for place, each in enumerate(needed)}
        recoded = self._recode(needed)
        values, frame = recoded._coded()
        places = [tuple(at[each] for each in request.levels.items()) for request in requests]
        asked = [
            workers.TupleRequest(own, None if request.mask is None else workers.portable(request.mask))
            for own, request in zip(places, requests, strict=True)
        ]
        work = workers.count_tuples(asked, [len(each) + 1 for each in values], self.counted)
        counted = (
            workers.map_batches(frame, work, workers.TUPLES).groupBy("request", "codes").agg(F.sum("n").alias("n"))
        )
        held = self.input.connection.hold(counted)
        sizes = self._collect(held.groupBy("request").agg(F.count("*").alias("often")))
        many = {
            request
            for request, often in zip(sizes["request"].to_pylist(), sizes["often"].to_pylist(), strict=True)
            if often > MANY
        }
        few = held.where(~F.col("request").isin(sorted(many))) if many else held
        found = self._collect(few)
        own_request = found["request"].to_numpy()
        flat, often = found["codes"].combine_chunks(), found["n"].to_numpy()
        offsets, codes = np.asarray(flat.offsets), np.asarray(flat.values)
        held.unpersist()
        made: list[Table] = []
        for number, request in enumerate(requests):
            if number in many:
                table = self if request.mask is None else self.keep(request.mask)
                own = table.recode(request.levels)
                made.append(own.suppress_below(own.columns, 1))
                continue
            rows = np.flatnonzero(own_request == number)
            width = len(places[number])
            tuples = codes[offsets[rows][:, None] + np.arange(width)] if len(rows) else np.zeros((0, width), np.int32)
            counter = TupleCounter([len(values[place]) + 1 for place in places[number]])
            counter.add([tuples[:, j] for j in range(width)], often[rows])
            distinct, counts = counter.result(first=ABSENT)
            parts = tuple(recoded.parts[place] for place in places[number])
            own_values = tuple(values[place] for place in places[number])
            made.append(GroupedTable(self, parts, own_values, tuple(distinct), counts))
        return made

    def _coded(self) -> tuple[list[Array], DataFrame]:
        """Give the values of every column, and the rows as codes among them from 1 (0: missing), with numbers or counts."""
        values, shown, frame = [], [], self.frame
        for place, part in enumerate(self.parts):
            x = F.col(f"c{place}")
            if part.labels is not None:
                values.append(np.array(part.labels, dtype=object))
                shown.append(F.coalesce(x + F.lit(1), F.lit(0)).cast("int").alias(f"k{place}"))
                continue
            different = self._distinct_column(place)
            values.append(to_numpy(different, part.type))
            if len(different) <= LISTED:
                code = workers.codes_of_values(_travelling(different))(x)
            else:
                frame, code = _joined(frame, x, different, f"m{place}")
            shown.append(code.alias(f"k{place}"))
        return values, frame.select(*shown, self._carried)

    def distinct(self, column: str) -> Array:
        part = self._part(column)
        found = self._distinct_column(self._index(column))
        if part.labels is not None:
            labels: Array = np.array(part.labels, dtype=object)
            return np.asarray(labels.take(found.to_numpy(zero_copy_only=False)))
        return to_numpy(found, part.type)

    def _distinct_column(self, place: int) -> pa.Array:
        """The different values of a column in order, as they travel."""
        x = F.col(f"c{place}")
        found = self._collect(self.frame.where(x.isNotNull()).select(x.alias("v")).distinct())["v"].combine_chunks()
        order = np.argsort(found.to_numpy(zero_copy_only=False), kind="stable")
        return found.take(order)

    def quantiles(self, column: str, at: Sequence[float]) -> Array:
        part = self._part(column)
        if not part.type.numeric:
            raise UsageError("quantiles need numbers, dates or times", came=f"'{column}' of type {part.type.value}")
        counted = self._grouped([column], ["v"]).where(F.col("v").isNotNull())
        ordered = self.input.connection.hold(counted.orderBy("v").withColumn("p", F.spark_partition_id()))
        try:
            sums = self._collect(ordered.groupBy("p").agg(F.sum("n").alias("n"))).to_pylist()
            total = sum(row["n"] for row in sums)
            if not total:
                raise UsageError("quantiles of a column without values", came=column)
            return self._at_ranks(
                ordered, sorted((row["p"], row["n"]) for row in sums), quantile_ranks(at, total), part
            )
        finally:
            ordered.unpersist()

    def _at_ranks(
        self, ordered: DataFrame, sums: Sequence[tuple[int, int]], ranks: Sequence[int], part: Column
    ) -> Array:
        """Find the values at some ranks among counted values that are sorted: each in the one partition that holds it."""
        numbered = number_parts(ordered, sums, F.col("p"), F.lit(0).cast("bigint"), "before")
        running = F.sum("n").over(Window.partitionBy("p").orderBy("v")) + F.col("before")
        upto = numbered.withColumn("upto", running)
        near = [(F.col("upto") >= rank) & (F.col("upto") - F.col("n") < rank) for rank in sorted(set(ranks))]
        chosen = upto.where(_any(near)).select("v", "upto").orderBy("upto")
        found = self._collect(chosen)
        place = np.searchsorted(found["upto"].to_numpy(), ranks, side="left")
        return to_numpy(found["v"].combine_chunks().take(place), part.type)

    def chunk(self, order: Sequence[str], size: int, name: str) -> Table:
        table = self._with_numbers()
        last = max(table.rows() // size - 1, 0)
        held = [f"c{table._index(column)}" for column in order]
        ranked = table._ranked([*held, "r"], "p")
        number = F.least(sql.divide(F.col("p"), int(size)), F.lit(last).cast("bigint"))
        return table._with(ranked, Column(name, Type.INTEGER), number)

    def _ranked(self, order: Sequence[str], name: str) -> DataFrame:
        """Number the rows in an order from 0 (`name`): they are sorted by ranges of values, and ranges counted."""
        ordered = self.frame.orderBy(*sql.order_by(order)).withColumn("i", F.monotonically_increasing_id())
        held = self.input.connection.hold(ordered)
        part = F.shiftrightunsigned("i", 33)
        sizes = self._collect(held.groupBy(part.alias("p")).agg(F.count("*").alias("n"))).to_pylist()
        place = F.col("i").bitwiseAND(F.lit((1 << 33) - 1))
        return number_parts(held, sorted((row["p"], row["n"]) for row in sizes), part, place, name).drop("i")

    def means_by(self, group: str, columns: Sequence[str]) -> dict[str, Array]:
        for column in columns:
            if self._part(column).type not in (Type.INTEGER, Type.DECIMAL):
                raise UsageError("means need numbers", came=f"'{column}' of type {self._part(column).type.value}")
        table = self._with_numbers()
        kinds = [table._part(name).type for name in (group, *columns)]
        shown = [table._at(name).alias(f"k{place}") for place, name in enumerate((group, *columns))]
        self._refuse_groups(table.frame.select(shown[0]))
        whole = table.frame.select(*shown, "r").repartition("k0").sortWithinPartitions("k0", "r").drop("r")
        shape = ", ".join(["g bigint", *(f"m{place} double" for place in range(len(columns)))])
        means = workers.map_batches(whole, workers.mean_of_groups(kinds), shape)
        found = self._collect(means.orderBy(F.col("g")))
        groups = found["g"].to_numpy()
        made = {name: np.full(int(groups[-1]) + 1 if len(groups) else 0, np.nan) for name in columns}
        for place, name in enumerate(columns):
            made[name][groups] = found[f"m{place}"].to_numpy(zero_copy_only=False)
        return made

    def _refuse_groups(self, groups: DataFrame) -> None:
        wrong = self._collect(groups.where(F.col("k0").isNull() | (F.col("k0") < 0)).limit(1))
        if wrong.num_rows:
            raise UsageError("groups are numbered 0, 1, 2, … and none is missing")

    def total_runs(
        self, columns: Sequence[str], ordering: Ordering, size: int, counted: Sequence[int | None]
    ) -> RunTotals:
        import pyarrow as pa

        chosen = self.select(columns)
        parts = chosen.parts
        # How many keys there are is what the ordering says of no rows.
        nothing = [to_numpy(pa.array([], part.arrow_type()), part.type) for part in parts]
        keys = sql.names(len(ordering(nothing).keys), "k")
        codes = sql.names(len(counted), "s")
        kinds = ", ".join([*(f"{key} double" for key in keys), *(f"{code} bigint" for code in codes), "n bigint"])
        coded = workers.map_batches(chosen.frame, workers.order_rows(parts, ordering, self.counted), kinds)
        # Equal rows are one line before they are sorted, so that a value which many rows share fills no range by itself.
        distinct = coded.groupBy(*keys, *codes).agg(F.sum("n").alias("n")).orderBy(*keys)
        ordered = self.input.connection.hold(distinct.select(F.spark_partition_id().alias("p"), *codes, "n"))
        try:
            sizes = self._collect(ordered.groupBy("p").agg(F.sum("n").alias("n"))).to_pylist()
            firsts, rows = {}, 0
            for each in sorted(sizes, key=lambda one: int(one["p"])):
                firsts[each["p"]] = rows
                rows += each["n"]
            lines = workers.map_batches(ordered, workers.divide_runs(firsts, rows, size, counted), workers.RUNS)
            added = lines.groupBy("run", "place", "code").agg(F.max("times").alias("times"), F.sum("n").alias("n"))
            return workers.read_totals(self._collect(added), run_count(rows, size), counted)
        finally:
            ordered.unpersist()

    def collect(self, columns: Sequence[str]) -> dict[str, Array]:
        import pyarrow as pa

        types = {name: self._part(name).type for name in columns}
        chosen = self.select(columns) if not self.counted else self
        shape = pa.schema([(part.name, part.arrow_type()) for part in chosen.parts])
        table = pa.Table.from_batches(list(chosen.batches(sort=False)), shape)
        return {name: to_numpy(table[name].unify_dictionaries(), kind) for name, kind in types.items()}

    def attach(self, name: str, values: Array) -> Table:
        import pyarrow as pa

        table = self._with_numbers()
        rows = table.rows()
        if len(values) != rows:
            raise UsageError("the new column has another length", came=len(values), allowed=f"{rows}, one for each row")
        if rows and values.strides == (0,) and values.dtype.kind == "i" and not np.ma.isMaskedArray(values):
            column, _ = column_of(name, values[:1])  # one number for every row: none of them comes from here
            return table._with(table.frame, column, F.lit(int(values[0])).cast("bigint"))
        column, held = column_of(name, values)
        carried = held.cast(sql.ARROW_TYPES.get(column.type, held.type))
        given = from_arrow(self.input.connection.session, pa.table({"p": pa.array(np.arange(rows)), "v": carried}))
        numbered = table.frame.withColumn("p", F.col("r")) if table.dense else table._ranked(["r"], "p")
        return table._with(numbered.join(given, "p"), column, F.col("v"))

    def select(self, columns: Sequence[str]) -> SparkTable:
        shown = [self._at(name).alias(f"k{place}") for place, name in enumerate(columns)]
        made = self.frame.select(*shown, self._carried).toDF(*sql.names(len(columns)), self._carried)
        return replace(self, parts=tuple(self._part(name) for name in columns), frame=made)

    def batches(self, *, sort: bool = True) -> Iterator[pa.RecordBatch]:
        held = sql.names(len(self.parts))
        carried = ["n"] if self.counted else []
        ordered = self.frame.orderBy(*sql.order_by(held)) if sort or self.counted else self.frame.orderBy("r")
        yield from workers.shown_batches(self.parts, self._stream(ordered.select(*held, *carried)), self.counted)

    def _stream(self, frame: DataFrame) -> Iterator[pa.RecordBatch]:
        """Give the rows of a frame in its order, a partition at a time."""
        rows = workers.map_batches(frame, workers.as_streams(), workers.STATE)
        found = self.input.connection.attempt(lambda: iter(rows.toLocalIterator(prefetchPartitions=True)))
        while (row := self.input.connection.attempt(lambda: next(found, None))) is not None:
            yield from workers.read_stream(bytes(row["state"]))

    def digest(self) -> bytes:
        return self.contents().whole

    def contents(self) -> Contents:
        shown = [*sql.names(len(self.parts)), *(["n"] if self.counted else [])]
        work = workers.digest_rows(self.parts, self.counted)
        states = self._collect(workers.map_batches(self.frame.select(*shown), work, workers.STATE))
        return workers.merge_digests(states["state"].to_pylist(), self.parts).contents()

    def write(self, path: Path, *, sort: bool = True) -> None:
        import pyarrow as pa

        path = Path(path)
        verify = self.input.connection.marks.verify
        if path.suffix.lower() == ".parquet" and sort and self.rows() > writing.PART_ROWS:
            writing.write_parts(path, self._encoded_parts(), verify)
            return
        shape = pa.schema([(part.name, part.arrow_type()) for part in self.parts])
        writing.write_file(path, shape, self.batches(sort=sort), verify)

    def _encoded_parts(self) -> Iterator[bytes]:
        """Give the sorted rows as files, each encoded by a worker; one at a time comes here."""
        held, size = sql.names(len(self.parts)), writing.PART_ROWS
        one = F.lit(1).cast("bigint").alias("n")
        frame = self.frame.select(*held, "n" if self.counted else one)
        # Each distinct row knows at which place of the table it begins and ends, and is divided where a part ends between.
        ordered = frame.orderBy(*sql.order_by(held)).withColumn("p", F.spark_partition_id())
        kept = self.input.connection.hold(ordered)
        sums = self._collect(kept.groupBy("p").agg(F.sum("n").alias("n"))).to_pylist()
        placed = number_parts(
            kept, sorted((row["p"], row["n"]) for row in sums), F.col("p"), F.lit(0).cast("bigint"), "before"
        )
        within = Window.partitionBy("p").orderBy(*sql.order_by(held)).rowsBetween(Window.unboundedPreceding, 0)
        ends = placed.withColumn("upto", F.col("before") + F.sum("n").over(within))
        first, last = (sql.divide(F.col("upto") - more, size) for more in (F.col("n"), F.lit(1)))
        spread = ends.withColumn("part", F.explode(F.sequence(first, last)))
        begin = F.greatest(F.col("upto") - F.col("n"), F.col("part") * size)
        own = F.least(F.col("upto"), (F.col("part") + 1) * size) - begin
        parts = -(-sum(row["n"] for row in sums) // size)
        divided = spread.select(*held, own.alias("n"), F.col("part").cast("int").alias("part"))
        sorted_parts = divided.repartitionById(parts, "part").sortWithinPartitions(*sql.order_by(held)).drop("part")
        rows = workers.map_batches(sorted_parts, workers.encode_parts(self.parts, counted=True), workers.STATE)
        found = self.input.connection.attempt(lambda: iter(rows.toLocalIterator()))
        while (row := self.input.connection.attempt(lambda: next(found, None))) is not None:
            yield bytes(row["state"])

    # --- inside --------------------------------------------------------------------------------------------------

    def verify_quickly(self) -> None:
        self.input.connection.marks.verify_quickly()

    def store_counted(self, parts: tuple[Column, ...], columns: Sequence[pa.Array], counts: Array) -> SparkTable:
        import pyarrow as pa

        carried = [
            column.cast(pa.int32())
            if part.labels is not None
            else column.cast(sql.ARROW_TYPES.get(part.type, column.type))
            for part, column in zip(parts, columns, strict=True)
        ]
        given = pa.table([*carried, pa.array(counts)], names=[*sql.names(len(columns)), "n"])
        frame = from_arrow(self.input.connection.session, given)
        return replace(self, parts=parts, frame=frame, counted=True, dense=False)

    @property
    def _carried(self) -> str:
        return "n" if self.counted else "r"

    def _collect(self, frame: DataFrame) -> pa.Table:
        found: pa.Table = self.input.connection.attempt(frame.toArrow)
        return found

    def _grouped(self, columns: Sequence[str], named: Sequence[str] | None = None) -> DataFrame:
        """The distinct tuples of these columns and how often each occurs (n)."""
        keys = named or sql.names(len(columns), "k")
        shown = [self._at(name).alias(own) for name, own in zip(columns, keys, strict=True)]
        often = F.sum("n") if self.counted else F.count("*")
        return self.frame.select(*shown, *(["n"] if self.counted else [])).groupBy(*keys).agg(often.alias("n"))

    def _part(self, name: str) -> Column:
        return self.parts[self._index(name)]

    def _at(self, name: str) -> SparkColumn:
        found: SparkColumn = F.col(f"c{self._index(name)}")
        return found

    def _index(self, name: str) -> int:
        if name not in self.columns:
            raise UsageError("no such column", came=name, allowed=", ".join(self.columns))
        return self.columns.index(name)

    def _needs_numbers(self) -> None:
        if self.counted:
            raise UsageError(
                "these rows have no numbers of the input any more", fix="keep rows before `suppress_below` or `relabel`"
            )

    def _with_numbers(self) -> SparkTable:
        """Give rows their numbers back; counted rows are numbered in the order of their values."""
        if not self.counted:
            return self
        held = sql.names(len(self.parts))
        spread = self.frame.select(*held, F.explode(F.sequence(F.lit(1).cast("bigint"), F.col("n"))).alias("r"))
        ranked = replace(self, frame=spread, counted=False)._ranked([*held, "r"], "p")
        count = self.rows()
        frame = ranked.select(*held, F.col("p").alias("r"))
        return replace(self, frame=frame, counted=False, dense=True, count=count)

    def _with(self, frame: DataFrame, column: Column, value: SparkColumn) -> SparkTable:
        """Add a column at the end, or in the position of the column that it replaces."""
        old = sql.names(len(self.parts))
        place = self.columns.index(column.name) if column.name in self.columns else len(old)
        shown: list[Any] = [*old]
        shown[place : place + 1] = [value.alias(f"k{place}")]
        parts = [*self.parts]
        parts[place : place + 1] = [column]
        made = frame.select(*shown, "r").toDF(*sql.names(len(parts)), "r")
        return replace(self, parts=tuple(parts), frame=made)

    def _look_up(
        self, frame: DataFrame, x: SparkColumn, new: Column, level: Level, name: str
    ) -> tuple[DataFrame, SparkColumn]:
        """Look a code up in a map that every worker has; where the level may not cover the column, one pass checks it."""
        import pyarrow as pa

        labels = new.labels or ()
        table = level.table if isinstance(level, GroupLevel) else {label: label for label in labels}
        code = {label: place for place, label in enumerate(labels)}
        leaf, found = f"{name}_leaf", F.col(f"{name}_code")
        given = pa.table(
            {
                leaf: pa.array(list(table), pa.string()),
                f"{name}_code": pa.array([code[label] for label in table.values()], pa.int32()),
            }
        )
        map_of = F.broadcast(from_arrow(self.input.connection.session, given))
        text = sql.as_text(x, self._part(new.name).type)
        domain = self.schema[new.name].domain
        if not (isinstance(domain, Values) and set(domain.values) <= set(table)):
            alone = self.frame.join(map_of, text == F.col(leaf), "left").where(found.isNull() & x.isNotNull())
            lost = self._collect(alone.agg((F.sum("n") if self.counted else F.count("*")).alias("n")))
            refuse_uncovered(new.name, int(lost["n"][0].as_py() or 0))
        joined = frame.join(map_of, text == F.col(leaf), "left")
        return joined, found if isinstance(level, ValueLevel) else F.coalesce(found, F.lit(code[MISSING]).cast("int"))


def _refuse_none(columns: Sequence[str]) -> None:
    if not columns:
        raise UsageError("no column to count by", came="none", allowed="at least one")


def _any(conditions: Sequence[SparkColumn]) -> SparkColumn:
    found = conditions[0]
    for each in conditions[1:]:
        found |= each
    return found


def _recoded(x: SparkColumn, name: str, old: Column, new: Column, level: Level) -> SparkColumn:
    """Give the expression of a recoded column that needs no map."""
    if isinstance(level, IntervalLevel):
        missing, codes = (new.labels or ()).index(MISSING), interval_codes(new, level)
        edges = edges_of(level, old.type)
        if len(edges) > SEARCHED:
            plain = np.array([sql.number_of(edge, old.type) for edge in edges.tolist()])
            return workers.search_edges(plain, codes, missing)(x)
        text = sql.interval_code(name, [sql.edge(edge, old.type) for edge in edges.tolist()], codes)
        found: SparkColumn = F.expr(f"CASE WHEN {name} IS NULL THEN {missing} ELSE {text} END").cast("int")
        return found
    if isinstance(level, TopLevel):
        return F.lit(0).cast("int")
    if isinstance(level, MaskLevel):
        return F.coalesce(sql.mask(x, level), F.lit(MISSING))
    return x


def _travelling(values: pa.Array) -> Array:
    """Sorted values in the form in which they travel, as NumPy has it."""
    return np.asarray(values.to_numpy(zero_copy_only=False))


def _joined(frame: DataFrame, x: SparkColumn, different: pa.Array, name: str) -> tuple[DataFrame, SparkColumn]:
    """Look codes up by a join, where there are too many values to send with a function."""
    import pyarrow as pa

    codes = pa.array(np.arange(1, len(different) + 1, dtype=np.int32))
    given = from_arrow(frame.sparkSession, pa.table({f"{name}_v": different, f"{name}_code": codes}))
    joined = frame.join(given, x == F.col(f"{name}_v"), "left")
    return joined, F.coalesce(F.col(f"{name}_code"), F.lit(0).cast("int"))


def _sendable(requests: Sequence[RecodeRequest]) -> Iterator[list[RecodeRequest]]:
    """Group requests, in their order, so that the keys of their masks are sent in functions that Spark keeps in memory."""
    some: list[RecodeRequest] = []
    size = 0
    for request in requests:
        own = 256 if request.mask is None else len(_dumped(request.mask)) + 256
        if some and size + own > workers.MOST_SENT // 2:
            yield some
            some, size = [], 0
        some.append(request)
        size += own
    yield some


def _dumped(mask: RowMask) -> bytes:
    from pyspark import cloudpickle

    dump = partial(cloudpickle.dumps, protocol=pickle.HIGHEST_PROTOCOL)
    return bytes(dump(workers.portable(mask)))
