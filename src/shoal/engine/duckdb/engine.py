"""The DuckDB engine: each table has a private DuckDB connection, which checks the input once and then answers queries."""

from __future__ import annotations

import contextlib
import errno
import itertools
import tempfile
import weakref
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from shoal.data.domain import Pattern, Values
from shoal.data.schema import Attribute, Missing, Schema
from shoal.data.type import Type
from shoal.engine.arrow_array import bytes_array, number_array, number_values, text_array, text_values
from shoal.engine.base import Array, RowMask, RowWords, Table
from shoal.engine.column import DTYPES, Column, arrow_type
from shoal.engine.duckdb import sql
from shoal.engine.duckdb.coded_text import CodedText, TextCoder
from shoal.engine.duckdb.held_signals import HeldSignals
from shoal.engine.duckdb.table import DuckDBTable
from shoal.engine.read.input import Input, open_input
from shoal.engine.read.source import STEP
from shoal.engine.read.violations import LOOKED_AT, Violation, ViolationCounts, is_tolerated, refuse, refuse_domain
from shoal.errors import DataError, ShoalError
from shoal.files.work_folder import WorkFolder
from shoal.progress import Stage, report_progress, silent

if TYPE_CHECKING:
    import pyarrow as pa

MEMORY = "1GB"
FEW = 200_000
PART = 1 << 20
"""Rows of a stream that are stored at a time; fewer are stored as they are."""
PACKED = "packed"
"""The database in memory whose tables are packed."""
CODED = 1 << 17
"""Rows of text from which on texts are numbered; fewer are stored as they are."""
WEIGHT = "CAST(sum(n) AS BIGINT)"
"""The rows of some texts."""
NUMBERED = "numbered"
"""The view of the rows as numbers of texts."""
TOGETHER = 16
"""Columns whose distinct values are found in one pass."""
T = TypeVar("T")


@dataclass(frozen=True)
class DuckDB:
    """The DuckDB engine: each table that it opens has its own connection, memory limit and temporary folder.

    Arguments  `memory`: how much memory DuckDB may use, such as "4GB"; `threads`: how many threads, or None for DuckDB's choice;
               `stage`: is told how far reading a table has come; `counted`: rows are counted by their values and little else
               is asked of them, so the rows of a large file of text are held as the numbers of their texts
    Raises     nothing by itself; `scan` raises what `Engine.scan` says

    >>> import pyarrow as pa
    >>> from shoal.data.schema import Attribute, Role, Schema, Type
    >>> schema = Schema((Attribute("age", Role.QUASI, Type.INTEGER),))
    >>> table = DuckDB(threads=1).scan(pa.table({"age": [31, 31, 64]}), schema)
    >>> table.count_by(["age"]).counts.tolist()
    [2, 1]
    """

    memory: str = MEMORY
    threads: int | None = None
    name: str = "duckdb"
    is_local: bool = True
    stage: Stage = field(default=silent, compare=False, repr=False)
    counted: bool = False

    def scan(self, data: object, schema: Schema) -> Table:
        opened = open_input(data, schema, self.stage)
        alone = 1 if opened.rows < FEW else None  # a small table is done before a second thread has begun
        connection = Connection(opened, self.memory, self.threads or alone, self.stage, counted=self.counted)
        columns = tuple(Column(attribute.name, attribute.type) for attribute in connection.input.attributes)
        return DuckDBTable(connection, schema, columns, connection.check_input(), dense=True)


@dataclass(frozen=True)
class CodedInput:
    """Rows as numbers of texts; `query` is the input's, `values[i]` has the numbers (k) and values (v) of column i."""

    query: str
    values: list[str]
    columns: list[CodedText]


@dataclass(frozen=True)
class _StoredTexts:
    """The table that holds the different texts of a column as values, and the numbers of the rows."""

    name: str
    column: CodedText


class Connection:
    """A DuckDB connection and the input that it reads; closed, with its folder removed, when the last table that uses it is
    gone.
    """

    def __init__(
        self, opened: Input, memory: str, threads: int | None, stage: Stage = silent, *, counted: bool = False
    ) -> None:
        self.input = opened
        self._counted = counted
        self._memory = memory
        self._numbers = itertools.count()
        self.stage = stage
        self._stream = _Stream(opened, stage)
        self.coded: CodedInput | None = None
        self._spill = _make_spill_folder()
        self.folder = str(self._spill.path)
        self._connection: Any = None
        try:
            self._connection = self._attempt(lambda: _connect(self._settings(threads)))
            self._attempt(self._set_up)
        except BaseException:
            _close(self._connection, self._spill)
            raise
        self._end = weakref.finalize(self, _close, self._connection, self._spill)

    def _settings(self, threads: int | None) -> dict[str, Any]:
        return {
            "memory_limit": self._memory,
            "temp_directory": self.folder,
            # What spills is unreadable once this process is gone. DuckDB's own cipher draws its key from a generator that is
            # not made for secrets, hence the second name; without it, what spills is plain text.
            "temp_file_encryption": True,
            "force_mbedtls_unsafe": "true",
            # What a query no longer needs goes back to the system, and not to the next query alone.
            "allocator_flush_threshold": "16MB",
            "allocator_bulk_deallocation_flush_threshold": "16MB",
            "preserve_insertion_order": False,  # every order that matters is asked for
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "allow_community_extensions": False,
            "allow_persistent_secrets": False,
            "python_enable_replacements": False,
            # Queries name the large side of a join first. DuckDB knows no size of a stream, and would turn it round.
            "disabled_optimizers": "join_order,build_side_probe_side",
        } | ({"threads": threads} if threads else {})

    def _set_up(self) -> None:
        """Set what a connection has to be open for; afterwards nothing can be set, and no file opened but to spill."""
        run = self._connection.execute
        # A bar would be drawn on standard output, which carries the answer alone. In a notebook there is none, and DuckDB
        # refuses the setting.
        if run("SELECT current_setting('enable_progress_bar')").fetchall()[0][0]:
            run("SET enable_progress_bar = false")
        run(f"ATTACH ':memory:' AS {PACKED} (COMPRESS)")
        self._connection.register("stream", self._stream)  # DuckDB asks it for its columns
        run("SET enable_external_access = false")
        run("SET lock_configuration = true")

    # --- asking ----------------------------------------------------------------------------------------------

    def one(self, query: str) -> Any:
        """Run a query and give the first value of the first row."""
        return self._attempt(lambda: self._connection.execute(query).fetchall()[0][0])

    def arrow(self, query: str) -> pa.Table:
        """Run a query and give all rows."""
        return self._attempt(lambda: self._connection.sql(query).to_arrow_table())

    def batches(self, query: str) -> Generator[pa.RecordBatch]:
        """Run a query and give its rows in batches."""
        reader: Any = self._attempt(lambda: self._connection.sql(query).to_arrow_reader(STEP))
        finished = False
        try:
            while (batch := self._attempt(lambda: next(reader, None))) is not None:
                yield batch
            finished = True
        finally:
            if not finished:
                self._connection.abort()
                with contextlib.suppress(Exception):  # what it says of its end is no news
                    reader.close()

    def _attempt(self, work: Callable[[], T]) -> T:
        """Run some work after a check that the files have not changed. A message of DuckDB may quote a cell, so it is dropped.

        What went wrong in the stream is raised here: DuckDB is told that the stream has ended.
        """
        self.input.stamp.verify()
        signals = HeldSignals(lambda: None if self._connection is None else self._connection.interrupt())
        failure: ShoalError | None = None
        done: list[T] = []
        try:
            with signals:
                done.append(work())
        except ShoalError:
            signals.deliver()
            raise
        except Exception as error:  # noqa: BLE001 - DuckDB, Arrow and the system raise many kinds, of hostile tables too
            failure = self._explain(error)
        try:
            signals.deliver()
        except BaseException:
            done.clear()  # an open result would live as long as the interrupt, and no other query could be run
            raise
        failure = self._stream.failure or failure
        if failure is None:
            return done[0]
        self.input.stamp.verify()
        raise failure

    def _explain(self, error: Exception) -> DataError:
        """Say what an error means: memory, space, or a table that cannot be read."""
        import duckdb

        if _is_full(error):
            return out_of_space(self.folder)
        if isinstance(error, duckdb.OutOfMemoryException | MemoryError):
            return DataError(
                "the table needs more memory than the engine may use",
                came=self._memory,
                fix='allow the engine more, as in `DuckDB(memory="4GB")`, or close other programs',
            )
        return DataError("the table cannot be read", came=self.input.name, fix="check that the file is whole")

    # --- storing what queries need ---------------------------------------------------------------------------

    def store(self, query: str) -> str:
        """Store the rows of a query as a table, and give the table's name."""
        name = f"stored{next(self._numbers)}"
        self._attempt(lambda: self._connection.execute(f"CREATE TABLE {name} AS {query}").fetchall())
        return name

    def store_stream(self, query: str) -> str:
        """Store the rows of a query that reads the stream once: many of them some at a time, packed as a file would be.

        Packed rows take a tenth of the memory, and are read faster.
        """
        if self.input.rows <= PART:
            return self.store(query)
        name, parts = f"{PACKED}.stored{next(self._numbers)}", _StreamParts(self._stream, PART)
        self._attempt(lambda: self._connection.register("part", parts))
        try:
            some = query.replace(" FROM stream", " FROM part")
            self._attempt(lambda: self._connection.execute(f"CREATE TABLE {name} AS {some}").fetchall())
            while not parts.ended:
                self._attempt(lambda: self._connection.execute(f"CHECKPOINT {PACKED}").fetchall())
                self._attempt(lambda: self._connection.execute(f"INSERT INTO {name} {some}").fetchall())
            self._attempt(lambda: self._connection.execute(f"CHECKPOINT {PACKED}").fetchall())
        finally:
            self._unregister("part")
        return name

    def store_values(self, query: str, columns: Sequence[str]) -> list[tuple[str, pa.ChunkedArray]]:
        """Store the distinct values of each column (v), numbered from 1 in order (code); give each table's name and values."""
        run = self._connection.execute

        def work() -> Iterator[tuple[str, pa.ChunkedArray]]:
            for start in range(0, len(columns), TOGETHER):  # in one pass: the query may hold joins, or read a stream
                some = columns[start : start + TOGETHER]
                every = f"stored{next(self._numbers)}"
                shown = f"SELECT {', '.join(some)}, grouping_id({', '.join(some)}) AS alone FROM ({query})"
                sets = ", ".join(f"({x})" for x in some)
                run(f"CREATE TABLE {every} AS {shown} GROUP BY GROUPING SETS ({sets})").fetchall()
                for x, number in sql.grouping_bits(some).items():
                    name = f"stored{next(self._numbers)}"
                    code = f"CAST(row_number() OVER (ORDER BY {x}) AS UINTEGER) AS code"
                    there = f"FROM {every} WHERE alone = {number} AND {x} IS NOT NULL"
                    run(f"CREATE TABLE {name} AS SELECT {x} AS v, {code} {there}").fetchall()
                    yield name, self._connection.sql(f"SELECT v FROM {name} ORDER BY code").to_arrow_table()["v"]
                self.drop(every)

        return self._attempt(lambda: list(work()))

    def drop(self, name: str) -> None:
        """Drop a stored table, now or, where a query that was stopped still has it, with the connection.

        It is called when something went wrong as well, and never puts an error of its own in the place of that.
        """
        import duckdb

        signals = HeldSignals()
        with signals, contextlib.suppress(duckdb.Error):
            self._connection.execute(f"DROP TABLE {name}").fetchall()
        signals.deliver()

    def store_arrow(self, held: Any, query: str) -> str:
        """Store the rows of a query over Arrow data, which the query calls `given`."""
        self._connection.register("given", held)
        try:
            return self.store(query)
        finally:
            self._unregister("given")

    def _unregister(self, name: str) -> None:
        """Let go of what a query read; where that fails, something else has failed before, and is told."""
        import duckdb

        with contextlib.suppress(duckdb.Error):
            self._connection.unregister(name)

    def store_texts(self, texts: list[str]) -> str:
        """Store a list of texts as one column (v)."""
        import pyarrow as pa

        return self.store_arrow(pa.table({"v": text_array(texts)}), "SELECT v FROM given")

    def store_map(self, codes: Mapping[str, int], kind: str) -> str:
        """Store a map from texts (leaf) to small integers (code)."""
        import pyarrow as pa

        held = pa.table({"leaf": text_array(codes), "code": number_array(np.array([*codes.values()], dtype=np.int64))})
        return self.store_arrow(held, f"SELECT leaf, CAST(code AS {kind}) AS code FROM given")

    def store_edges(self, codes: Mapping[Any, int], kind: Type, code_kind: str) -> str:
        """Store the code from each edge up (edge, code), edges in the type of a column."""
        import pyarrow as pa

        edges = pa.array(np.array(list(codes), dtype=object).astype(DTYPES[kind]), arrow_type(kind))
        held = pa.table({"edge": edges, "code": number_array(np.array([*codes.values()], dtype=np.int64))})
        return self.store_arrow(
            held, f"SELECT CAST(edge AS {sql.TYPES[kind]}) AS edge, CAST(code AS {code_kind}) AS code FROM given"
        )

    def store_counted(self, columns: Sequence[pa.Array], counts: Array) -> str:
        """Store columns (c0, c1, …) and how often each row occurs (n); give the query that reads them."""
        import pyarrow as pa

        given = pa.table([*columns, number_array(counts)], names=[*sql.names(len(columns)), "n"])
        return f"SELECT * FROM {self.store_arrow(given, 'SELECT * FROM given')}"

    def store_column(self, values: pa.Array) -> str:
        """Store a column in row order: position (p) and value (v)."""
        import pyarrow as pa

        held = pa.table({"p": number_array(np.arange(len(values))), "v": values})
        return self.store_arrow(held, "SELECT p, v FROM given")

    def store_mask(self, mask: RowMask, bits: int) -> str:
        """Store which rows of the input are kept, as bit strings of 2^bits rows each (part, bits)."""
        import pyarrow as pa

        size = 1 << bits
        starts = range(0, self.input.rows, size)
        packed = [np.packbits(mask(start, min(size, self.input.rows - start))).tobytes() for start in starts]
        held = pa.table({"part": number_array(np.arange(len(starts))), "bits": bytes_array(packed)})
        return self.store_arrow(held, "SELECT part, CAST(bits AS BIT) AS bits FROM given")

    def store_words(self, words: RowWords, step: int) -> str:
        """Store a random word (w) for every row (r) of the input."""
        import pyarrow as pa

        def parts() -> Iterator[pa.RecordBatch]:
            for start in range(0, self.input.rows, step):
                stop = min(start + step, self.input.rows)
                yield pa.RecordBatch.from_arrays(
                    [number_array(np.arange(start, stop)), number_array(words(start, stop - start))], schema=shape
                )

        shape = pa.schema([("r", pa.int64()), ("w", pa.uint64())])
        return self.store_arrow(pa.RecordBatchReader.from_batches(shape, parts()), "SELECT r, w FROM given")

    # --- the input -------------------------------------------------------------------------------------------

    def check_input(self) -> str:
        """Check every row against the schema, and give the query for the input with columns c0, c1, … and r."""
        attributes = self.input.attributes
        for attribute in attributes:
            refuse_domain(attribute)
        form = self.input.form
        read = [sql.read_value(f"s{i}", kind, attributes[i], form) for i, kind in enumerate(self.input.kinds)]
        shown = [f"{value} AS v{i}" for i, (value, _) in enumerate(read)]
        shown += [f"{wrong} AS u{i}" for i, (_, wrong) in enumerate(read) if wrong != sql.NEVER]
        typed = f"SELECT {', '.join([*shown, 'r'])} FROM stream"
        coded = self._code_texts(read)
        if coded is not None:
            typed = self._store_coded(coded)
        elif not self.input.in_memory:
            # A file or a database is read once, and what was checked is what is used afterwards. It spills if it is large.
            typed = f"SELECT * FROM {self.store_stream(typed)}"
        sources = [typed for _ in attributes] if coded is None else [f"FROM {each.name}" for each in coded]
        outside = [
            self._outside(f"v{i}", attribute, sources[i], "count(*)" if coded is None else WEIGHT)
            for i, attribute in enumerate(attributes)
        ]
        asked = []
        for i, attribute in enumerate(attributes):
            out, rows = outside[i]
            final = sql.apply_outside_rule(f"v{i}", attribute, out)
            asked.append("FALSE" if read[i][1] == sql.NEVER else f"u{i}")
            asked.append(f"{final} IS NULL" if attribute.missing is Missing.REFUSE else "FALSE")
            asked.append("FALSE" if out == sql.NEVER or rows is not None else out)
        self.stage("checking the rows")
        found = self._count_violations(typed, asked) if coded is None else self._count_coded(coded, asked)
        findings = [
            ViolationCounts(attribute, found[3 * i], found[3 * i + 1], found[3 * i + 2] if rows is None else rows)
            for i, (attribute, (_, rows)) in enumerate(zip(attributes, outside, strict=True))
        ]
        finals = [sql.apply_outside_rule(f"v{i}", attribute, outside[i][0]) for i, attribute in enumerate(attributes)]

        def rows_of(place: int, violation: Violation) -> list[int]:
            wrong = {
                Violation.UNREADABLE: f"u{place}",
                Violation.OUTSIDE: outside[place][0],
                Violation.MISSING: f"{finals[place]} IS NULL",
            }
            return self._rows(typed, wrong[violation])

        refuse(findings, self.input, rows_of)
        # Where nothing lies outside, nothing is left to clamp or suppress.
        settled = [
            sql.apply_outside_rule(f"v{i}", finding.attribute, outside[i][0]) if finding.outside else f"v{i}"
            for i, finding in enumerate(findings)
        ]
        query = f"SELECT {', '.join(f'{value} AS c{i}' for i, value in enumerate(settled))}, r FROM ({typed})"
        if coded is not None:
            values = [f"SELECT k, {value} AS v FROM {each.name}" for value, each in zip(settled, coded, strict=True)]
            self.coded = CodedInput(query, values, [each.column for each in coded])
        return query

    def _count_violations(self, typed: str, asked: Sequence[str]) -> Sequence[int]:
        """Count the rows for which each condition holds; DataError where there are not as many rows as the file says."""
        # A column that nothing is asked about is read all the same: a broken page shows here, not later.
        every = [f"max(hash(v{i}))" for i in range(len(self.input.attributes))]
        counted = ["count(*)", *("0" if each == sql.NEVER else f"count_if({each})" for each in asked), *every]
        found = self._attempt(
            lambda: self._connection.execute(f"SELECT {', '.join(counted)} FROM ({typed})").fetchall()[0]
        )
        if found[0] != self.input.rows:
            raise DataError("the table has another number of rows than its file says", came=self.input.name)
        return list(found[1 : len(asked) + 1])

    # --- rows of text ------------------------------------------------------------------------------------------

    def _code_texts(self, read: Sequence[tuple[str, str]]) -> list[_StoredTexts] | None:
        """Read a file of text as the numbers of its texts, and each different text as its declared type.

        None where more is asked than counts (values are looked up by each query), where the input is another, has few rows, or
        has a column with too many different texts: it is stored as it is.
        """
        if (
            not (self._counted and self.input.from_files)
            or self.input.rows < CODED
            or any(str(kind) != "string" for kind in self.input.kinds)
        ):
            return None
        coder = TextCoder(len(read))
        for batch in self._stream._number_rows():  # one by one: an interrupt waits for a batch, and not for the file
            self._attempt(lambda batch=batch: coder.add(batch))  # type: ignore[misc]
            if coder.is_large:
                return None
        self._attempt(coder.end)
        if coder.is_large:
            return None
        return [self._store_texts_read(i, column, *read[i]) for i, column in enumerate(coder.columns)]

    def _store_texts_read(self, i: int, column: CodedText, value: str, wrong: str) -> _StoredTexts:
        """Store the different texts of a column by number (k), as values, whether they do not read as one, and their rows (n)."""
        import pyarrow as pa

        given = pa.table({f"s{i}": column.texts_and_missing(), "n": pa.array(column.counts())})
        given = given.append_column("k", pa.array(np.arange(given.num_rows), pa.uint32()))
        unread = "" if wrong == sql.NEVER else f", {wrong} AS u{i}"
        return _StoredTexts(self.store_arrow(given, f"SELECT k, n, {value} AS v{i}{unread} FROM given"), column)

    def _store_coded(self, coded: Sequence[_StoredTexts]) -> str:
        """Let queries read the numbers of the texts of every row where they lie, and give the query for the values."""
        import pyarrow as pa

        names = sql.names(len(coded), "k")
        numbers = [pa.chunked_array(each.column.parts, pa.from_numpy_dtype(each.column.number_type)) for each in coded]
        rows = pa.table([*numbers, pa.array(np.arange(self.input.rows))], names=[*names, "r"])
        self._attempt(lambda: self._connection.register(NUMBERED, rows))
        shown = ", ".join(f"d{i}.* EXCLUDE (k, n)" for i in range(len(coded)))
        joins = " ".join(f"JOIN {each.name} d{i} ON d{i}.k = t.k{i}" for i, each in enumerate(coded))
        return f"SELECT {shown}, t.r FROM {NUMBERED} t {joins}"

    def _count_coded(self, coded: Sequence[_StoredTexts], asked: Sequence[str]) -> list[int]:
        """Count the rows for which each condition holds, three for each column, by the different texts of the column."""
        found: list[int] = []
        for i, each in enumerate(coded):
            counted = [f"CAST(coalesce(sum(n) FILTER (WHERE {one}), 0) AS BIGINT)" for one in asked[3 * i : 3 * i + 3]]
            row = self.arrow(
                f"SELECT {', '.join(f'{one} AS x{at}' for at, one in enumerate(counted))} FROM {each.name}"
            )
            found += [int(column[0].as_py()) for column in row.columns]
        return found

    def _outside(self, v: str, attribute: Attribute, typed: str, count: str) -> tuple[str, int | None]:
        """Give the SQL that says whether a value lies outside its domain, and in how many rows one does where that is known."""
        domain = attribute.domain
        if isinstance(domain, Values):
            return sql.outside(v, attribute, self.store_texts(list(domain.values)), inside=True), None
        if isinstance(domain, Pattern):
            most = None if is_tolerated(attribute) else LOOKED_AT
            wrong, rows = self._mismatches(domain, v, typed, count, collect=most)
            return sql.outside(v, attribute, self.store_texts(wrong), inside=False), rows
        return sql.outside(v, attribute, None, inside=True), None

    def _rows(self, typed: str, wrong: str) -> list[int]:
        """Find the numbers of the first rows for which the condition `wrong` holds."""
        found = self.arrow(f"SELECT r FROM ({typed}) WHERE {wrong} ORDER BY r LIMIT {LOOKED_AT}")
        return [int(number) for number in found["r"].to_pylist()]

    def _mismatches(
        self, domain: Pattern, v: str, typed: str, count: str, *, collect: int | None
    ) -> tuple[list[str], int]:
        """Find the texts that do not match the pattern, with Python's regular expressions, and in how many rows they occur.

        Of texts that are refused anyway, no more are collected than a message needs.
        """
        wrong: list[str] = []
        rows = 0
        query = f"SELECT CAST({v} AS VARCHAR) AS v, {count} AS n FROM ({typed}) WHERE {v} IS NOT NULL GROUP BY 1"
        for batch in self.batches(query):
            texts = text_values(batch["v"])
            bad = ~domain.inside(texts)
            rows += int(number_values(batch["n"])[bad].sum())
            if collect is None or len(wrong) < collect:
                wrong.extend(texts[bad].tolist())
        return wrong, rows


class _StreamParts:
    """A stream that is read once, so many rows or a little more by each query, until it has ended."""

    def __init__(self, stream: _Stream, rows: int) -> None:
        self._shape, self._rows = stream.shape, rows
        self._batches = stream._number_rows()
        self.ended = False

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        import pyarrow as pa

        return pa.RecordBatchReader.from_batches(self._shape, self._some()).__arrow_c_stream__(requested_schema)

    def _some(self) -> Iterator[pa.RecordBatch]:
        left = self._rows
        for batch in self._batches:
            yield batch
            left -= batch.num_rows
            if left <= 0:
                return
        self.ended = True


class _Stream:
    """An input as an Arrow stream with the number of each row, which DuckDB may open again for each query.

    A failure ends the stream and is kept: raised inside DuckDB, it would cross threads that are being stopped.
    """

    def __init__(self, opened: Input, stage: Stage) -> None:
        self._input = opened
        # A frame may be read by many queries, and none of them takes long.
        self._report = report_progress(silent if opened.in_memory else stage, "reading the rows")
        self.failure: ShoalError | None = None

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        import pyarrow as pa

        return pa.RecordBatchReader.from_batches(self.shape, self._number_rows()).__arrow_c_stream__(requested_schema)

    @property
    def shape(self) -> pa.Schema:
        """The columns of the stream: s0, s1, … and r."""
        import pyarrow as pa

        fields = [(f"s{place}", kind) for place, kind in enumerate(self._input.kinds)]
        return pa.schema([*fields, ("r", pa.int64())])

    def _number_rows(self) -> Iterator[pa.RecordBatch]:
        """The rows of the input with their numbers, from the first."""
        import pyarrow as pa

        first, shape = 0, self.shape
        try:
            for batch in self._input.batches():
                rows = number_array(np.arange(first, first + batch.num_rows))
                first += batch.num_rows
                self._report(first, self._input.rows)
                yield pa.RecordBatch.from_arrays([*batch.columns, rows], schema=shape)
        except ShoalError as error:
            self.failure = error


def _connect(settings: dict[str, Any]) -> Any:
    import duckdb

    return duckdb.connect(config=settings)


def _make_spill_folder() -> WorkFolder:
    try:
        return WorkFolder.temporary("spill")
    except OSError as error:
        full = _is_full(error)
    try:
        place = tempfile.gettempdir()
    except OSError:  # none of those that the system names can be written
        place = "none that can be written"
    if full:
        raise out_of_space(place)
    raise DataError(
        "the folder for temporary files cannot be written",
        came=place,
        fix="set TMPDIR to a folder that you may write to",
    )


def _is_full(error: Exception) -> bool:
    """Whether an error says that the disk or the quota is full; DuckDB says it in words alone."""
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return True
    return any(
        words in str(error) for words in ("No space left on device", "max_temp_directory_size", "quota exceeded")
    )


def out_of_space(folder: str) -> DataError:
    """Say that what spills does not fit on the disk."""
    return DataError(
        "the engine needs more disk space for what does not fit in memory",
        came=f"{folder}, which is full",
        fix="make room there, or set TMPDIR to a folder with more room",
    )


def _close(connection: Any, spill: WorkFolder) -> None:
    if connection is not None:
        connection.close()
    with contextlib.suppress(OSError):  # the next command removes it
        spill.remove()
