"""What runs in the Python processes of Spark's workers, on batches of Arrow: the row mask, counting, digests, parts of a table.

A function that is sent to workers carries what it needs with it. The key of a row mask travels inside such a function, which
Spark hands on as bytes: it stands in no expression, and so in no plan, log or user interface.
"""

from __future__ import annotations

import pickle
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from pyspark.sql import functions as F

from shoal.chance.row_mask import RowMask as KeyedMask
from shoal.data.domain import Pattern
from shoal.data.schema import FileFormat
from shoal.data.type import Type
from shoal.engine.arrow_array import number_values
from shoal.engine.base import ABSENT, Array, Assignment, RowMask, RowWords
from shoal.engine.column import Column, assign_numbers, group_means, indices_of, labels_of, to_numpy
from shoal.engine.digest import Digest
from shoal.engine.read.csv_file import CsvFile, read_header
from shoal.engine.runs import Ordering, RunShares, RunTotals, run_shares
from shoal.engine.spark.session import MARK, pack_error, unpack_error
from shoal.engine.tuple_counts import TupleCounter, sum_by_code
from shoal.engine.write import BATCH_ROWS, encode_part, expand, rebatch
from shoal.errors import DataError, ShoalError, UsageError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame

Batches = Iterable["pa.RecordBatch"]
Work = Callable[[Batches], Iterator["pa.RecordBatch"]]
"""What `mapInArrow` runs on the batches of a partition."""
NEAR = 4
"""Numbers of rows are near each other where they take up at most so many times as many places as there are rows."""
HELD = 1 << 18
"""Rows that a worker holds for each table before it counts equal ones together."""
MOST_SENT = 1 << 20
"""Bytes of a function from which on Spark would put it on the disk of every worker: none that carries a key is so long."""
SIGN = np.uint64(1 << 63)
ByNumber = Callable[[int, int], npt.NDArray[Any]]


def map_batches(frame: DataFrame, work: Work, shape: str) -> DataFrame:
    """Run some work on the batches of every partition."""
    mark = MARK  # a worker has one of its own

    def run(batches: Batches) -> Iterator[pa.RecordBatch]:
        try:
            yield from work(batches)
        except ShoalError as error:
            raise RuntimeError(pack_error(error, mark)) from None

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what PySpark says about pandas, which takes no part
        return frame.mapInArrow(run, shape)


def _function(work: Callable[[Any], Any], kind: str) -> Callable[[SparkColumn], SparkColumn]:
    """Make an expression of some work on a column, given and returned as an Arrow array."""
    functions: Any = F  # its types lag behind
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made: Callable[[SparkColumn], SparkColumn] = functions.arrow_udf(work, kind, functions.ArrowUDFType.SCALAR)
    return made


# --- the random sample -------------------------------------------------------------------------------------------------


def portable(numbered: RowMask | RowWords) -> ByNumber:
    """Give a mask or words in a form that may be sent to workers; one with a key is marked as such by its owner."""
    owner = getattr(numbered, "__self__", None)
    if isinstance(owner, KeyedMask):
        return getattr(owner.portable(), numbered.__name__)  # type: ignore[no-any-return]
    return numbered


def at_numbers(numbered: ByNumber, rows: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
    """Give what a mask or words say of the rows with these numbers, in their order."""
    if not len(rows):
        return numbered(0, 0)
    low, high = int(rows.min()), int(rows.max())
    if high - low < NEAR * len(rows):
        return numbered(low, high - low + 1)[rows - low]
    owner = getattr(numbered, "__self__", None)
    if isinstance(owner, KeyedMask):
        listed = owner.keep_rows if numbered.__name__ == "keep" else owner.words_rows
        return listed(rows)
    different, place = np.unique(rows, return_inverse=True)
    ends = np.flatnonzero(np.diff(different) > 1) + 1
    runs = np.split(different, ends)
    return np.concatenate([numbered(int(run[0]), len(run)) for run in runs])[place]


def keep_rows(mask: RowMask, number: SparkColumn) -> SparkColumn:
    """Give an expression that says whether a row is kept, by its number."""
    sent = portable(mask)

    def kept(rows: pa.Array) -> pa.Array:
        import pyarrow as pa

        return pa.array(at_numbers(sent, rows.to_numpy(zero_copy_only=False)), pa.bool_())

    return _function(kept, "boolean")(number)


def row_words(words: RowWords, number: SparkColumn) -> SparkColumn:
    """Give an expression for the random word of a row, by its number, as a signed number of the same order."""
    sent = portable(words)

    def drawn(rows: pa.Array) -> pa.Array:
        import pyarrow as pa

        found = at_numbers(sent, rows.to_numpy(zero_copy_only=False)).astype(np.uint64)
        return pa.array((found ^ SIGN).view(np.int64))

    return _function(drawn, "bigint")(number)


# --- reading -----------------------------------------------------------------------------------------------------------


def spell_decimals(x: SparkColumn, scale: int) -> SparkColumn:
    """Spell exact decimals as their shortest text, without an exponent."""
    text = x.cast("string")
    if scale > 6:  # below a millionth Java writes an exponent

        def plain(held: pa.Array) -> pa.Array:
            from decimal import Decimal

            import pyarrow as pa

            return pa.array([None if one is None else f"{Decimal(one):f}" for one in held.to_pylist()], pa.string())

        text = _function(plain, "string")(text)
    if scale <= 0:
        return text
    return F.regexp_replace(F.regexp_replace(text, r"(\.[0-9]*?)0+\z", "$1"), r"\.\z", "")


CSV_CHECK = "number bigint, names array<string>, delimiter string, records bigint, error string"


@dataclass(frozen=True)
class CsvHead:
    """What a pass over a CSV file found: the names of its columns, its delimiter, and how many records follow the header."""

    names: tuple[str, ...]
    delimiter: str
    records: int

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> CsvHead:
        """What a worker sent; its error is raised here."""
        if row["error"] is not None:
            raise unpack_error(row["error"]) or DataError("a file of the input cannot be read")
        return cls(tuple(row["names"]), row["delimiter"], row["records"])


def _each_file(batches: Batches, addresses: Sequence[str], local: bool) -> Iterator[tuple[int, Path]]:
    """The files of a task with their numbers; one that came by its content lies in a temporary file as long as it is read."""
    for batch in batches:
        if local:
            for number in batch.column(0).to_pylist():
                yield number, Path(addresses[number])
            continue
        place = {address: number for number, address in enumerate(addresses)}
        for address, content in zip(batch["path"].to_pylist(), batch["content"], strict=True):
            with tempfile.TemporaryDirectory() as folder:
                file = Path(folder) / address.rsplit("/", 1)[-1]
                file.write_bytes(content.as_buffer())
                yield place[address], file


def check_csv(addresses: Sequence[str], local: bool, form: FileFormat, declared: Sequence[str]) -> Work:
    """Check the structure of CSV files; an error is sent back in its parts, since Spark would wrap it in many others."""
    mark = MARK

    def check(batches: Batches) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        shape = pa.schema(
            [
                ("number", pa.int64()),
                ("names", pa.list_(pa.string())),
                ("delimiter", pa.string()),
                ("records", pa.int64()),
                ("error", pa.string()),
            ]
        )
        for number, file in _each_file(batches, addresses, local):
            names: tuple[str, ...] = ()
            delimiter, records, error = "", 0, None
            try:
                seen = read_header(file, form, declared)
                names, delimiter, records = seen.names, seen.delimiter, seen.structure.records
            except ShoalError as wrong:
                error = pack_error(wrong, mark)
            except OSError:
                error = pack_error(
                    DataError(
                        "a worker cannot open a file of the input",
                        came=file.name,
                        fix="put the files where every worker finds them under the same path, or in a file system of the cluster",
                    ),
                    mark,
                )
            yield pa.RecordBatch.from_arrays(
                [
                    pa.array([value], field.type)
                    for value, field in zip((number, list(names), delimiter, records, error), shape, strict=True)
                ],
                schema=shape,
            )

    return check


def parse_csv(
    addresses: Sequence[str], local: bool, form: FileFormat, head: CsvHead, places: Sequence[int], firsts: Sequence[int]
) -> Work:
    """Parse CSV files whose structure was checked: the columns at these positions as text, and the number of each row."""

    def parse(batches: Batches) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        names = [*(f"s{number}" for number in range(len(places))), "r"]
        for number, file in _each_file(batches, addresses, local):
            opened, first = CsvFile(file, head.delimiter, form.quote, form.encoding, head.names), firsts[number]
            for batch in opened.batches(places):
                rows = pa.array(np.arange(first, first + batch.num_rows))
                first += batch.num_rows
                yield pa.RecordBatch.from_arrays([*batch.columns, rows], names=names)
            if first != firsts[number + 1]:
                raise UsageError("a file was parsed differently from how its structure was checked")

    return parse


def mismatches(domain: Pattern) -> Callable[[SparkColumn], SparkColumn]:
    """Give an expression that says whether a text does not match the pattern, by Python's expressions; false where it is missing.

    Texts of records stand in no plan: what does not match is found where it lies.
    """

    def wrong(column: pa.Array) -> pa.Array:
        import pyarrow as pa

        coded = column.dictionary_encode()
        outside = np.append(~domain.inside(coded.dictionary.to_numpy(zero_copy_only=False)), False)
        return pa.array(outside[coded.indices.fill_null(-1).to_numpy(zero_copy_only=False)], pa.bool_())

    return _function(wrong, "boolean")


def find_mismatches(domain: Pattern) -> Work:
    """Of distinct texts (v) and how often each occurs (n), give those that do not match the pattern, by Python's expressions."""

    def find(batches: Batches) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for batch in batches:
            inside = domain.inside(batch.column(0).to_numpy(zero_copy_only=False))
            yield batch.filter(pa.array(~inside))

    return find


# --- counting ----------------------------------------------------------------------------------------------------------

TUPLES = "request int, codes array<int>, n bigint"


@dataclass(frozen=True)
class TupleRequest:
    """Which coded columns of a batch one table has, and which rows take part (None: all)."""

    places: tuple[int, ...]
    mask: ByNumber | None


def count_tuples(requests: Sequence[TupleRequest], sizes: Sequence[int], counted: bool) -> Work:
    """Count the tuples of many tables in one pass over coded rows; each batch has the codes, then the rows' numbers or counts."""
    sent = tuple(requests)

    def count(batches: Batches) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        counters = [TupleCounter([sizes[place] for place in each.places], HELD) for each in sent]
        for batch in batches:
            codes = [column.to_numpy(zero_copy_only=False) for column in batch.columns[:-1]]
            last = batch.columns[-1].to_numpy(zero_copy_only=False)
            for counter, each in zip(counters, sent, strict=True):
                chosen = [codes[place] for place in each.places]
                if counted:
                    counter.add(chosen, last)
                elif each.mask is None:
                    counter.add(chosen)
                else:
                    at = np.flatnonzero(at_numbers(each.mask, last))
                    counter.add([column.take(at) for column in chosen])
        for number, counter in enumerate(counters):
            columns, often = counter.result()
            for start in range(0, len(often), BATCH_ROWS):
                some = slice(start, start + BATCH_ROWS)
                rows = len(often[some])
                flat = np.stack([column[some] for column in columns], axis=1).reshape(-1)
                offsets = pa.array(np.arange(rows + 1, dtype=np.int32) * len(columns))
                codes = pa.ListArray.from_arrays(offsets, pa.array(flat, pa.int32()))
                yield pa.RecordBatch.from_arrays(
                    [pa.array(np.full(rows, number, dtype=np.int32)), codes, pa.array(often[some])],
                    names=["request", "codes", "n"],
                )

    return count


CLASSES = "place int, key bigint, n bigint"
TOTAL, UNKNOWN = -1, -2
"""What stands in the place of a column where a line counts all rows of a class, or says which column shows an unlisted label."""


def count_classes(
    parts: Sequence[Column],
    known: Sequence[Sequence[str]],
    assign: Assignment,
    classes: int,
    places: Sequence[int],
) -> Work:
    """Give distinct tuples, with how often each occurs, the number of their class: how many rows each class has (`key`: its
    number), and within it each label of the columns at some places (`key`: the number times the labels, plus the label's index).
    """
    listed = [
        None if part.labels is None else indices_of(np.array(part.labels, dtype=object), own)
        for part, own in zip(parts, known, strict=True)
    ]
    kinds = [part.type for part in parts]
    index = [{label: place for place, label in enumerate(own)} for own in known]

    def indices(batch: pa.RecordBatch) -> Iterator[npt.NDArray[np.int32]]:
        for place, column in enumerate(batch.columns[:-1]):
            each = listed[place]
            if each is not None:
                yield each[number_values(column, -1) + 1]
            else:
                yield _indices_of_values(column, kinds[place], index[place])

    def count(batches: Batches) -> Iterator[pa.RecordBatch]:
        totals = np.zeros(classes, dtype=np.int64)
        tables = [np.zeros(classes * len(known[place]), dtype=np.int64) for place in places]
        for batch in batches:
            found = list(indices(batch))
            unlisted = [place for place, each in enumerate(found) if len(each) and int(each.min()) < 0]
            if unlisted:
                yield _class_lines(UNKNOWN, np.array(unlisted[:1]), np.array([1]))
                return
            numbers, often = assign_numbers(assign, found, classes), number_values(batch.columns[-1])
            if not len(numbers):
                continue
            totals += sum_by_code(numbers, often, classes)
            home = numbers.astype(np.int64)
            for place, table in zip(places, tables, strict=True):
                np.add(table, sum_by_code(home * len(known[place]) + found[place], often, len(table)), out=table)
        for place, table in ((TOTAL, totals), *zip(places, tables, strict=True)):
            used = np.flatnonzero(table)
            yield _class_lines(place, used, table[used])

    return count


def _class_lines(place: int, keys: npt.NDArray[np.int64], often: npt.NDArray[np.int64]) -> pa.RecordBatch:
    import pyarrow as pa

    held = [
        pa.array(np.full(len(keys), place, dtype=np.int32)),
        pa.array(keys, pa.int64()),
        pa.array(often, pa.int64()),
    ]
    return pa.RecordBatch.from_arrays(held, names=["place", "key", "n"])


def _indices_of_values(column: pa.Array, kind: Type, index: Mapping[str, int]) -> npt.NDArray[np.int32]:
    """Give the index of each value's label; of a missing value, that of the label for missing values."""
    from shoal.data.hierarchy.level import MISSING

    coded = column.dictionary_encode()
    labels = [MISSING, *labels_of(np.asarray(to_numpy(coded.dictionary, kind)))]
    at = np.array([index.get(label, -1) for label in labels], dtype=np.int32)
    return np.asarray(at[coded.indices.fill_null(-1).to_numpy(zero_copy_only=False) + 1])


# --- digests, means and what leaves the engine -------------------------------------------------------------------------

STATE = "state binary"


def digest_rows(parts: Sequence[Column], counted: bool) -> Work:
    """Make the digest of the rows of a partition, to be merged with those of others."""
    columns = tuple(parts)

    def work(batches: Batches) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        made = Digest([(part.name, part.type) for part in columns])
        for batch in batches:
            shown = [part.to_arrow(held) for part, held in zip(columns, batch.columns, strict=False)]
            made.add(shown, batch.columns[-1].to_numpy(zero_copy_only=False) if counted else None)
        yield pa.RecordBatch.from_arrays([pa.array([pickle.dumps(made)], pa.binary())], names=["state"])

    return work


def merge_digests(states: Iterable[bytes], parts: Sequence[Column]) -> Digest:
    """Merge the digests of all partitions."""
    made = Digest([(part.name, part.type) for part in parts])
    for state in states:
        made.merge(pickle.loads(state))  # noqa: S301 - from our own workers
    return made


def mean_of_groups(kinds: Sequence[Type]) -> Work:
    """Compute means by group; a partition has whole groups, in their order, and the rows of each in row order."""

    def work(batches: Batches) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        names = [f"m{place}" for place in range(len(kinds) - 1)]
        found: dict[int, int] = {}

        def parts() -> Iterator[tuple[Array, list[Array]]]:
            for batch in batches:
                first, *others = [to_numpy(held, kind) for held, kind in zip(batch.columns, kinds, strict=True)]
                if np.ma.getmaskarray(first).any() or (len(first) and int(first.min()) < 0):
                    raise UsageError("groups are numbered 0, 1, 2, … and none is missing")
                for group in np.unique(np.asarray(first)).tolist():
                    found.setdefault(group, len(found))
                yield np.array([found[group] for group in np.asarray(first).tolist()], dtype=np.int64), others

        means = group_means(parts(), names)
        columns = [pa.array(list(found), pa.int64()), *(pa.array(means[name], pa.float64()) for name in names)]
        yield pa.RecordBatch.from_arrays(columns, names=["g", *names])

    return work


def as_streams() -> Work:
    """Give batches as bytes of Arrow's stream format, one for each batch: so they come to the driver without a row of Python."""

    def work(batches: Batches) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for batch in batches:
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, batch.schema) as writer:
                writer.write_batch(batch)
            yield pa.RecordBatch.from_arrays([pa.array([sink.getvalue().to_pybytes()], pa.binary())], names=["state"])

    return work


def read_stream(state: bytes) -> Iterator[pa.RecordBatch]:
    """Read batches from bytes of Arrow's stream format."""
    import pyarrow as pa

    yield from pa.ipc.open_stream(state)


def shown_batches(parts: Sequence[Column], batches: Batches, counted: bool) -> Iterator[pa.RecordBatch]:
    """Give rows in the Arrow types in which they leave the engine, counted ones as often as they occur."""
    import pyarrow as pa

    shape = pa.schema([(part.name, part.arrow_type()) for part in parts])
    width = len(parts)

    def pieces() -> Iterator[pa.RecordBatch]:
        for batch in batches:
            held = pa.RecordBatch.from_arrays(batch.columns[:width], names=[f"c{place}" for place in range(width)])
            if counted:
                yield from expand(held, batch.columns[width].to_numpy(zero_copy_only=False), BATCH_ROWS)
            else:
                yield held

    for batch in rebatch(pieces(), BATCH_ROWS):
        shown = [part.to_arrow(column) for part, column in zip(parts, batch.columns, strict=True)]
        yield pa.RecordBatch.from_arrays(shown, schema=shape)


def encode_parts(parts: Sequence[Column], counted: bool) -> Work:
    """Encode the sorted rows of a partition, which are a part of the table, as a Parquet file in memory."""
    columns = tuple(parts)

    def work(batches: Batches) -> Iterator[pa.RecordBatch]:
        import itertools

        import pyarrow as pa

        shape = pa.schema([(part.name, part.arrow_type()) for part in columns])
        shown = shown_batches(columns, batches, counted)
        first = next(shown, None)
        if first is not None:
            encoded = encode_part(shape, itertools.chain([first], shown))
            yield pa.RecordBatch.from_arrays([pa.array([encoded], pa.binary())], names=["state"])

    return work


def codes_of_values(values: Array) -> Callable[[SparkColumn], SparkColumn]:
    """Give an expression for the code of a value among these sorted values, from 1; 0 where it is missing. For few values."""
    held = np.asarray(values)

    def coded(column: pa.Array) -> pa.Array:
        import pyarrow as pa

        different = column.dictionary_encode()
        own = np.asarray(different.dictionary.to_numpy(zero_copy_only=False))
        place = np.append(np.searchsorted(held, own.astype(held.dtype)) + 1, 0).astype(np.int32)
        return pa.array(place[different.indices.fill_null(ABSENT).to_numpy(zero_copy_only=False)])

    return _function(coded, "int")


def search_edges(edges: Array, codes: Sequence[int], missing: int) -> Callable[[SparkColumn], SparkColumn]:
    """Give an expression for the code of the interval that a number lies in, by binary search among many edges."""
    bounds, table = np.asarray(edges), np.asarray(codes, dtype=np.int32)

    def found(column: pa.Array) -> pa.Array:
        import pyarrow as pa

        absent = column.is_null().to_numpy(zero_copy_only=False)
        values = column.fill_null(0).to_numpy(zero_copy_only=False)
        place = table[np.searchsorted(bounds, values, side="right")]
        return pa.array(np.where(absent, np.int32(missing), place), pa.int32())

    return _function(found, "int")


# --- runs of rows in an order ------------------------------------------------------------------------------------------

RUNS = "run bigint, times bigint, place int, code bigint, n bigint"
ADDED = -1
"""What stands in the place of a code where the codes of a run are added up."""


def order_rows(parts: Sequence[Column], ordering: Ordering, counted: bool) -> Work:
    """Give the keys and codes of rows, and how many rows each stands for."""
    columns = tuple(parts)

    def order(batches: Batches) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for batch in batches:
            if not batch.num_rows:
                continue
            held = [to_numpy(part.to_arrow(x), part.type) for part, x in zip(columns, batch.columns[:-1], strict=True)]
            found = ordering(held)
            often = batch.columns[-1] if counted else pa.array(np.ones(batch.num_rows, dtype=np.int64))
            keys = [pa.array(np.asarray(key, dtype=np.float64)) for key in found.keys]
            codes = [pa.array(np.asarray(code, dtype=np.int64)) for code in found.codes]
            names = [*(f"k{j}" for j in range(len(keys))), *(f"s{j}" for j in range(len(codes))), "n"]
            yield pa.RecordBatch.from_arrays([*keys, *codes, often], names=names)

    return order


def divide_runs(firsts: Mapping[int, int], rows: int, size: int, counted: Sequence[int | None]) -> Work:
    """Add up sorted rows by run: each batch has the number of its range, the codes, and how many rows a line stands for.

    `firsts` says how many rows are before each range. A batch gives a few lines for each of its runs, and one line for all runs
    that equal rows fill.
    """
    begins = dict(firsts)

    def divide(batches: Batches) -> Iterator[pa.RecordBatch]:
        before = dict(begins)
        for batch in batches:
            ranges, *codes, often = (number_values(column) for column in batch.columns)
            for own in np.unique(ranges).tolist():
                mine = np.flatnonzero(ranges == own)
                counts = often[mine]
                upto = before[own] + np.cumsum(counts)
                shares = run_shares(upto - counts, counts, size, rows)
                before[own] = int(upto[-1])
                for place, values in enumerate(counted):
                    yield _run_lines(place, codes[place][mine][shares.place], shares, values)

    return divide


def _run_lines(place: int, codes: Array, shares: RunShares, values: int | None) -> pa.RecordBatch:
    """The lines of one column, those of the same run and code added up."""
    import pyarrow as pa

    kind = np.full(len(codes), ADDED, dtype=np.int64) if values is None else codes
    amount = shares.rows * codes if values is None else shares.rows
    order = np.lexsort((kind, shares.run))
    run, kind, amount, times = shares.run[order], kind[order], amount[order], shares.times[order]
    new = np.flatnonzero(np.append(True, (run[1:] != run[:-1]) | (kind[1:] != kind[:-1])))
    columns = [
        pa.array(run[new]),
        pa.array(times[new]),
        pa.array(np.full(len(new), place, dtype=np.int32)),
        pa.array(kind[new]),
        pa.array(np.add.reduceat(amount, new)),
    ]
    return pa.RecordBatch.from_arrays(columns, names=["run", "times", "place", "code", "n"])


def read_totals(found: pa.Table, runs: int, counted: Sequence[int | None]) -> RunTotals:
    """The totals of all runs, from lines of which each says what some runs in a row have."""
    run, times, place, code, amount = (number_values(found[name]) for name in ("run", "times", "place", "code", "n"))
    sums: list[Array | None] = []
    counts: list[Array | None] = []
    for column, values in enumerate(counted):
        mine = np.flatnonzero(place == column)
        each = np.repeat(mine, times[mine])
        step = np.arange(len(each)) - np.repeat(np.cumsum(times[mine]) - times[mine], times[mine])
        table = np.zeros((runs, 1 if values is None else values), dtype=np.int64)
        table[run[each] + step, 0 if values is None else code[each]] = amount[each]
        sums.append(table[:, 0] if values is None else None)
        counts.append(None if values is None else table)
    return RunTotals(tuple(sums), tuple(counts))
