"""How rows come to Spark, numbered from 0 over the input: files that its workers read, a frame of its own, or rows from here.

Parquet files are read by Spark itself, CSV files by Shoal's own strict reader on the workers, one file by one task. Any other
kind of file, and a frame of pandas, Polars or Arrow, is read on this machine and handed over.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import numpy as np
from pyspark import StorageLevel
from pyspark.sql import functions as F
from pyspark.sql import types as T

from shoal.data.schema import Attribute, FileFormat, Schema
from shoal.engine.base import is_spark_frame
from shoal.engine.read.csv_file import COUNTED
from shoal.engine.read.foreign.address import is_address
from shoal.engine.read.input import Input, match_schema, open_input
from shoal.engine.read.source import StoredColumns
from shoal.engine.spark import workers
from shoal.engine.spark.files import FileList, FileMarks, find_files, is_file_system, refuse_colons, refuse_drift
from shoal.engine.spark.session import SparkConnection, active_session_kept, explain
from shoal.errors import DataError, UsageError
from shoal.progress import Stage

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame, SparkSession

FILE, FIRST = "_shoal_file", "_shoal_first"
POSITION = (1 << 33) - 1
"""The bits of Spark's growing numbers that count rows within a partition."""


@dataclass(frozen=True)
class SparkInput:
    """An opened input: what was found (`opened`), and its rows as stored columns s0, s1, … with the number of each (r).

    `settled` says whether the rows are read once and for all; else every pass reads the files again.
    """

    opened: Input
    connection: SparkConnection
    frame: DataFrame
    settled: bool
    parsed: bool = False
    """Whether rows are lines, which take work to divide."""

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """The attributes that are read, in order."""
        return self.opened.attributes

    @property
    def form(self) -> FileFormat:
        """How its text is written, as the policy says."""
        return self.opened.form

    @property
    def counted_from(self) -> str:
        """How a message says where the numbers of rows begin."""
        return self.opened.counted_from

    def cells(self, rows: Mapping[int, Sequence[int]]) -> dict[int, list[Any]]:
        """Read what is stored in some rows, of the columns at these positions. For the custodian alone."""
        wanted = sorted({number for numbers in rows.values() for number in numbers})
        shown = [F.col("r"), *(F.col(f"s{place}") for place in rows)]
        chosen = self.frame.where(F.col("r").isin(wanted)).select(*shown)
        found = {row["r"]: row for row in self.connection.attempt(chosen.collect)}
        return {place: [found[number][f"s{place}"] for number in numbers] for place, numbers in rows.items()}


def open_spark_input(data: object, schema: Schema, session: SparkSession, stage: Stage) -> SparkInput:
    """Recognize an input and compare its columns with the schema.

    Raises     DataError where the input cannot be read or its columns do not fit the schema
    """
    if is_spark_frame(data):
        return _open_frame(data, schema, session)
    if isinstance(data, Path) or (isinstance(data, str) and (not is_address(data) or is_file_system(data))):
        files = find_files(session, data)
        if files is not None:
            return (_open_parquet if files.parquet else _open_csv)(files, schema, session, stage)
    return _hand_over(open_input(data, schema, stage), session)


# --- rows that are read here -------------------------------------------------------------------------------------------


def _hand_over(opened: Input, session: SparkSession) -> SparkInput:
    import pyarrow as pa

    connection = SparkConnection(session, FileMarks(opened.stamp))
    kinds = tuple(pa.large_string() if kind == pa.uint64() else kind for kind in opened.kinds)
    shape = pa.schema([*((f"s{i}", _carried(kind)) for i, kind in enumerate(kinds)), ("r", pa.int64())])

    def numbered() -> Iterator[pa.RecordBatch]:
        first = 0
        for batch in opened.batches():
            rows = pa.array(np.arange(first, first + batch.num_rows))
            first += batch.num_rows
            held = [_carry(column, kind) for column, kind in zip(batch.columns, kinds, strict=True)]
            yield pa.RecordBatch.from_arrays([*held, rows], schema=shape)

    table = pa.Table.from_batches(numbered(), shape)
    frame = from_arrow(session, table)
    return SparkInput(replace(opened, kinds=kinds), connection, frame, settled=True)


def from_arrow(session: SparkSession, table: pa.Table) -> DataFrame:
    """Hand an Arrow table over to Spark."""
    shape = T.StructType([T.StructField(each.name, _spark_type(each.type)) for each in table.schema])
    with active_session_kept():
        return session.createDataFrame(table, shape) if table.num_rows else session.createDataFrame([], shape)


def _spark_type(kind: pa.DataType) -> Any:
    import pyarrow as pa

    known = {
        pa.string(): T.StringType(),
        pa.int64(): T.LongType(),
        pa.int32(): T.IntegerType(),
        pa.float64(): T.DoubleType(),
        pa.bool_(): T.BooleanType(),
    }
    return known[kind]


def _carried(kind: pa.DataType) -> pa.DataType:
    """The type in which stored values of a plain type travel: dates and times as whole numbers."""
    import pyarrow as pa

    if pa.types.is_date(kind):
        return pa.int32()
    if pa.types.is_timestamp(kind):
        return pa.int64()
    return pa.string() if pa.types.is_large_string(kind) else kind


def _carry(column: pa.Array, kind: pa.DataType) -> pa.Array:
    import pyarrow as pa

    return column.cast(_carried(kind)) if column.type != pa.uint64() else column.cast(pa.string())


# --- a frame of Spark --------------------------------------------------------------------------------------------------


def _open_frame(data: Any, schema: Schema, session: SparkSession) -> SparkInput:
    """Open a frame of Spark. It is computed once: what an earlier step of its own drew at random would change with each pass."""
    if not hasattr(data, "_jdf"):
        raise UsageError(
            "frames of Spark Connect are not read",
            came=f"{type(data).__module__}.{type(data).__name__}",
            fix="write the table as Parquet and name that, or use a session of the classic kind",
        )
    if data.isStreaming:
        raise UsageError(
            "frames of a stream are not read", came="one without an end", fix="write its rows as Parquet, and name that"
        )
    connection = SparkConnection(session, FileMarks())
    own = data.sparkSession
    names = ["`" + name.replace("`", "``") + "`" for name in data.schema.names]
    opened = match_schema(_found("the frame", data)[0], schema)
    # The frame is computed in its own session, by whose settings it means what its maker meant; then it is opened in ours.
    chosen = [F.col(names[place]).alias(f"x{at}") for at, place in enumerate(opened.places)]
    settled = connection.attempt(lambda: _settle(data.select(*chosen, _growing()), own))
    view = f"shoal_{secrets.token_hex(8)}"
    explain(lambda: settled.createGlobalTempView(view))
    try:
        frame = explain(lambda: session.table(f"global_temp.{view}"))
    finally:
        explain(lambda: session.catalog.dropGlobalTempView(view))
    columns = _found("the frame", frame)[1]
    shown = [columns[at].alias(f"s{at}") for at in range(len(chosen))]
    numbered = connection.attempt(lambda: _number_partitions(frame.select(*shown, "i")))
    return SparkInput(opened, connection, numbered, settled=True)


def _growing() -> SparkColumn:
    return F.monotonically_increasing_id().alias("i")


def _settle(frame: DataFrame, session: SparkSession) -> DataFrame:
    """Compute the rows of a frame once: into the session's checkpoint folder, or else where the workers are.

    Rows in a checkpoint folder outlive a worker. Elsewhere, rows that are lost with a worker are an error and not computed anew.
    """
    if session.sparkContext._jsc.sc().getCheckpointDir().isDefined():
        return frame.checkpoint(eager=True)
    return frame.localCheckpoint(eager=True, storageLevel=StorageLevel.DISK_ONLY)


def _number_partitions(frame: DataFrame) -> DataFrame:
    """Number the rows of a settled frame from 0, by Spark's growing numbers (i) and how many rows each partition has."""
    part = F.shiftrightunsigned("i", 33)
    counted = sorted(
        (row["p"], row["n"]) for row in frame.groupBy(part.alias("p")).agg(F.count("*").alias("n")).collect()
    )
    return number_parts(frame, counted, part, F.col("i").bitwiseAND(F.lit(POSITION))).drop("i")


def number_parts(
    frame: DataFrame, counted: Sequence[tuple[int, int]], part: SparkColumn, place: SparkColumn, name: str = "r"
) -> DataFrame:
    """Number rows (`name`) by the number of rows in each part, in the order of the parts, and the place of a row in its part."""
    first = dict(zip((p for p, _ in counted), accumulate((n for _, n in counted), initial=0), strict=False))
    if len(first) < 2:
        return frame.withColumn(name, place)
    import pyarrow as pa

    table = pa.table({FILE: pa.array(first, pa.int64()), FIRST: pa.array(first.values(), pa.int64())})
    firsts = F.broadcast(from_arrow(frame.sparkSession, table))
    joined = frame.withColumn(FILE, part).join(firsts, FILE)
    return joined.withColumn(name, F.col(FIRST) + place).drop(FILE, FIRST)


def _found(name: str, frame: DataFrame) -> tuple[StoredColumns, list[SparkColumn]]:
    """The columns of a frame as an input has them, and each in the type in which its values travel."""
    pairs = [_stored(field.dataType, F.col("`" + field.name.replace("`", "``") + "`")) for field in frame.schema.fields]

    def opener(_: Sequence[int]) -> Iterator[pa.RecordBatch]:
        raise UsageError("these rows are read by Spark's workers")

    names = tuple(frame.schema.names)
    return StoredColumns(name, names, tuple(kind for kind, _ in pairs), 0, FileMarks().local, opener), [
        x for _, x in pairs
    ]


def _stored(kind: Any, x: SparkColumn) -> tuple[pa.DataType, SparkColumn]:
    """The plain Arrow type of a column of Spark, and its values as they travel: dates and times as whole numbers."""
    import pyarrow as pa

    if isinstance(kind, T.DecimalType):
        return pa.large_string(), workers.spell_decimals(x, kind.scale)
    ways: Iterable[tuple[tuple[type, ...], pa.DataType, Any]] = (
        ((T.StringType, T.CharType, T.VarcharType), pa.string(), lambda: x.cast("string")),
        ((T.BooleanType,), pa.bool_(), lambda: x),
        ((T.ByteType, T.ShortType, T.IntegerType, T.LongType), pa.int64(), lambda: x.cast("bigint")),
        ((T.FloatType, T.DoubleType), pa.float64(), lambda: x.cast("double")),
        ((T.DateType,), pa.date32(), lambda: F.unix_date(x)),
        ((T.TimestampType,), pa.timestamp("us"), lambda: F.unix_micros(x)),
        ((T.TimestampNTZType,), pa.timestamp("us"), lambda: F.unix_micros(x.cast("timestamp"))),
        ((T.NullType,), pa.string(), lambda: x.cast("string")),
    )
    for kinds, plain, made in ways:
        if isinstance(kind, kinds):
            return plain, made()
    return pa.binary(), x


# --- Parquet -----------------------------------------------------------------------------------------------------------


def _open_parquet(files: FileList, schema: Schema, session: SparkSession, _: Stage) -> SparkInput:
    connection = SparkConnection(session, files.marks)
    refuse_colons(files)
    refuse_drift(session, files)
    # With an option of its own the plan is like no other: what somebody keeps of an earlier state of these files is not taken.
    reader = session.read.option("shoal", secrets.token_hex(8))
    frame = connection.attempt(lambda: reader.parquet(*map(_address, files.addresses)))
    found, columns = _found(files.name, frame)
    opened = match_schema(found, schema)
    hidden = frame.metadataColumn("_metadata")  # a column of the table may have this name too
    place, name = hidden.getField("row_index"), hidden.getField("file_path")
    chosen = [columns[at].alias(f"s{number}") for number, at in enumerate(opened.places)]
    if len(files.addresses) == 1:
        return SparkInput(opened, connection, frame.select(*chosen, place.alias("r")), settled=False)
    counted = connection.attempt(lambda: frame.groupBy(name.alias("f")).agg(F.count("*").alias("n")).collect())
    first, sizes = 0, {_plain_address(unquote(row["f"])): (row["f"], row["n"]) for row in counted}
    firsts: dict[str, int] = {}
    for address in files.addresses:
        held = sizes.pop(_plain_address(address), None)
        if held is not None:  # a file without rows has none to number
            firsts[held[0]], first = first, first + held[1]
    if sizes:
        raise DataError("Spark read other files than those that were found", came=files.name, fix="start again")
    import pyarrow as pa

    table = pa.table({FILE: pa.array(firsts, pa.string()), FIRST: pa.array(firsts.values(), pa.int64())})
    rows = frame.select(*chosen, place.alias("i"), name.alias(FILE))
    joined = rows.join(F.broadcast(from_arrow(session, table)), FILE)
    shown = [f"s{number}" for number in range(len(chosen))]
    return SparkInput(opened, connection, joined.select(*shown, (F.col(FIRST) + F.col("i")).alias("r")), settled=False)


def _address(address: str) -> str:
    """An address as Spark takes it: a path of this machine with its scheme, and no sign in it read as a pattern."""
    bare = address if "://" in address else f"file://{address}"
    return "".join(f"\\{sign}" if sign in "*?[]{}\\" else sign for sign in bare)


def _plain_address(address: str) -> str:
    """The path of a local file, or the address of another, however it is written."""
    return re.sub(r"^file:/+", "/", address)


# --- CSV ---------------------------------------------------------------------------------------------------------------


def _open_csv(files: FileList, schema: Schema, session: SparkSession, stage: Stage) -> SparkInput:
    """Open CSV files: their structure is checked first, file by file, and then they are parsed; both on the workers."""
    import pyarrow as pa

    connection = SparkConnection(session, files.marks)
    stage("checking the structure")
    contents = _csv_tasks(files, session)
    checked = workers.check_csv(files.addresses, files.is_local, schema.file, schema.names)
    found = connection.attempt(lambda: workers.map_batches(contents, checked, workers.CSV_CHECK).collect())
    heads = [workers.CsvHead.of(row.asDict()) for row in sorted(found, key=lambda row: row["number"])]
    for head, address in zip(heads, files.addresses, strict=True):
        if (head.names, head.delimiter) != (heads[0].names, heads[0].delimiter):
            raise DataError(
                "the files of the folder do not have the same columns",
                came=f"{files.name}: {address.rsplit('/', 1)[-1]} differs from the first file",
                fix="write all parts of the table with the same header line",
            )
    kinds = tuple(pa.string() for _ in heads[0].names)
    rows = sum(head.records for head in heads)
    stored = StoredColumns(
        files.name, heads[0].names, kinds, rows, FileMarks().local, lambda _: iter(()), parsed=True, counted=COUNTED
    )
    opened = match_schema(stored, schema)
    firsts = list(accumulate((head.records for head in heads), initial=0))
    parsed = workers.parse_csv(files.addresses, files.is_local, schema.file, heads[0], opened.places, firsts)
    shape = ", ".join([*(f"s{number} string" for number in range(len(opened.places))), "r bigint"])
    return SparkInput(opened, connection, workers.map_batches(contents, parsed, shape), settled=False, parsed=True)


def _csv_tasks(files: FileList, session: SparkSession) -> DataFrame:
    """A row for each file in a task of its own: its number, or, where workers cannot open it, its address and content."""
    count = len(files.addresses)
    if files.is_local:
        return session.range(0, count, 1, count)
    loaded = session.read.format("binaryFile").load([_address(each) for each in files.addresses])
    return loaded.select("path", "content").repartition(count, "path")
