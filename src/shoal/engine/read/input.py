"""The input that rows are read from: a file, a folder of files, a database or a frame, recognized and brought to one form."""

from __future__ import annotations

import datetime as dt
import decimal
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.data.plain_file import near_path
from shoal.data.schema import STANDARD, Attribute, FileFormat, Role, Schema
from shoal.data.type import Type
from shoal.engine.read.csv_file import COUNTED, read_header
from shoal.engine.read.foreign import DATABASES, STATISTICAL
from shoal.engine.read.foreign.address import is_address, show_address
from shoal.engine.read.foreign.compressed import PACKINGS, inner_ending, is_packed
from shoal.engine.read.source import (
    STEP,
    Opener,
    Spelling,
    Stamp,
    StoredColumns,
    refuse_expansion,
    refuse_lost_part,
    refuse_special,
)
from shoal.engine.read.storage import Storage, mark_of, plain, plain_type, reads, storage_of
from shoal.errors import DataError, NextCommand, ShoalError
from shoal.progress import Stage, silent

if TYPE_CHECKING:
    import pyarrow as pa

LONGEST_NAME = 60
"""Letters of a column's name that a note shows."""
MOST_NAMES = 12
CSV = (".csv", ".tsv", ".txt", ".tab")
PARQUET = (".parquet", ".pq")
ARROW = (".arrow", ".feather", ".ipc", ".arrows")
JSON_LINES = (".jsonl", ".ndjson")
WORKBOOKS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
NUMBERS = (int, float, np.signedinteger, np.float32)
"""Numbers that Arrow joins in one column without changing any. Beside other numbers it reads a float16 of .1 as 0, and an
unsigned 2^64 - 1 as -1."""
FAMILIES: tuple[Any, ...] = (bool, str, dt.datetime, dt.date, NUMBERS, decimal.Decimal)
"""Kinds of Python objects, each before those that it also counts as."""
TEXT = CSV + JSON_LINES
"""Endings of lines of text, which may be compressed: `.csv.gz`."""
BINARY = PARQUET + ARROW + WORKBOOKS + STATISTICAL + DATABASES
ALLOWED = (
    f"a path that ends in {', '.join(TEXT)} (and perhaps {', '.join(PACKINGS)} after it), "
    f"{', '.join(BINARY)}, a folder of Parquet files, the address of a database "
    "(postgresql://ann@db.example.org/clinic), or a frame"
)


@dataclass(frozen=True)
class Input:
    """An opened input: the columns that the schema asks for, in the schema's order, and how to read them, as often as needed.

    `kinds` are plain Arrow types (`storage.plain_type`). What does not lie in memory is read once: an engine keeps what it
    has checked.
    """

    name: str
    attributes: tuple[Attribute, ...]
    kinds: tuple[pa.DataType, ...]
    rows: int
    stamp: Stamp
    places: tuple[int, ...]
    opener: Opener
    notes: tuple[str, ...] = ()
    counted_from: str = ", counted from 1"
    """How a message says where the numbers of rows begin."""
    form: FileFormat = STANDARD
    """How its text is written, as the policy says."""
    in_memory: bool = False
    """Whether the rows lie in memory already, as those of a frame do."""
    parsed: bool = False
    """Whether Arrow made the rows of lines, whose text it checked to be UTF-8: no length or offset in them comes from a file."""

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Read all rows in order, as columns c0, c1, …, each in its plain type."""
        import pyarrow as pa

        shape = pa.schema([(f"c{place}", kind) for place, kind in enumerate(self.kinds)])
        seen = texts = 0
        size = sum(mark[0] for _, mark in self.stamp.marks)
        stream = iter(self.opener(self.places))
        while (batch := self._next(stream)) is not None:
            seen += batch.num_rows
            texts += sum(column.nbytes for column in batch.columns if pa.types.is_string(column.type))
            if self.from_files:
                refuse_expansion(self.name, size, texts)
            yield pa.RecordBatch.from_arrays(batch.columns, schema=shape)
        if seen != self.rows:
            self.stamp.verify()
            raise DataError("the file was parsed differently from how its structure was checked", came=self.name)

    @property
    def from_files(self) -> bool:
        """Whether the rows lie in files, which can be read again only as long as they do not change."""
        return bool(self.stamp.marks)

    def cells(self, rows: Mapping[int, Sequence[int]]) -> dict[int, list[Any]]:
        """Read what is stored in some rows, numbered from 0, of the columns at these positions. For the custodian alone."""
        held: dict[int, dict[int, Any]] = {place: {} for place in rows}
        last = max((number for numbers in rows.values() for number in numbers), default=-1)
        first = 0
        for batch in self.batches():
            for place, numbers in rows.items():
                here = [number for number in numbers if first <= number < first + batch.num_rows]
                held[place].update({number: _python_value(batch.column(place)[number - first]) for number in here})
            first += batch.num_rows
            if first > last:
                break
        return {place: [held[place][number] for number in numbers] for place, numbers in rows.items()}

    def _next(self, stream: Iterator[pa.RecordBatch]) -> pa.RecordBatch | None:
        """Read the next batch in plain types. The message of a reader that fails may quote a cell, so it is not repeated."""
        import pyarrow as pa

        try:
            batch = next(stream, None)
            if batch is None:
                return None
            if not (self.in_memory or self.parsed):  # a frame was validated when it was opened
                batch.validate(full=True)
            return pa.RecordBatch.from_arrays([plain(column) for column in batch.columns], names=batch.schema.names)
        except ShoalError as error:
            failed: ShoalError = error
        except MemoryError:
            failed = out_of_memory(self.name)
        except Exception:  # noqa: BLE001 - whatever a reader makes of a hostile file
            failed = _unreadable(self.name)
        self.stamp.verify()
        raise failed


def _python_value(cell: pa.Scalar) -> Any:
    """Give a stored value as a Python value; a time that Python cannot hold, as its text."""
    try:
        return cell.as_py()
    except (ValueError, OverflowError):
        return str(cell)


def out_of_memory(name: str) -> DataError:
    """Say that reading took more memory than the system gives."""
    return DataError(
        "reading the table takes more memory than the system gives",
        came=name,
        fix="close other programs or use a machine with more memory; a small file may have been made to unpack to a large one",
    )


def _unreadable(name: str) -> DataError:
    return DataError("the file cannot be read", came=name, fix="check that it is whole and what its name says it is")


def open_input(data: object, schema: Schema, stage: Stage = silent) -> Input:
    """Recognize an input and compare its columns with the schema.

    A table without rows is a table: whether a release or an answer appears must not depend on one row.

    Arguments  `data`: a path, an address of a database or a frame; `schema`: what its columns mean; `stage`: is told what is done
               before the first row is read
    Raises     DataError where the input cannot be read or its columns do not fit the schema
    """
    asked = _columns_to_read(schema)
    return match_schema(_open(data, schema.file, schema.names, [attribute.name for attribute in asked], stage), schema)


def match_schema(found: StoredColumns, schema: Schema) -> Input:
    """Compare the columns that were found with the schema.

    Arguments  `found`: the columns of an input; `schema`: what they mean
    Raises     DataError where a column is missing or its values cannot be read as declared
    """
    asked = _columns_to_read(schema)
    _refuse_names(
        found.name, found.names, [attribute.name for attribute in asked], parsed=found.parsed, form=schema.file
    )
    places = tuple(found.names.index(attribute.name) for attribute in asked)
    kinds = tuple(found.kinds[place] for place in places)
    _refuse_types(found, asked, kinds)
    return Input(
        name=found.name,
        attributes=asked,
        kinds=tuple(plain_type(kind) for kind in kinds),
        rows=found.rows,
        stamp=found.stamp,
        places=places,
        opener=_spelled_opener(found, asked, schema.file),
        notes=(*_not_read(found, schema, asked), *_behind_query(found, schema.file)),
        counted_from=found.counted,
        form=schema.file,
        in_memory=found.in_memory,
        parsed=found.parsed,
    )


def recognize(
    data: object, form: FileFormat = STANDARD, names: Sequence[str] = (), stage: Stage = silent
) -> StoredColumns:
    """Recognize an input by its ending, its address or its class, and find its columns; nothing is known of what they mean.

    Arguments  `data`: a path, an address of a database or a frame; `form`: how it is written; `names`: the columns that are
               wanted, where some are: they tell which delimiter the header has, and others of a frame are left empty;
               `stage`: is told what is done
    Raises     DataError where the input cannot be read, or lacks a column of `names`
    """
    found = _open(data, form, names, names or None, stage)
    _refuse_names(found.name, found.names, names, parsed=found.parsed, form=form)
    return found


def _spelled_opener(found: StoredColumns, asked: Sequence[Attribute], form: FileFormat) -> Opener:
    """How to read the columns that are asked for: cells that are no text are spelled as the policy says text is."""
    speller = found.speller
    if speller is None:
        return found.opener
    spellings = [
        Spelling(mark_of(attribute, form) if attribute.type is Type.DECIMAL else ".", attribute.format)
        for attribute in asked
    ]
    return lambda places: speller(places, spellings)


def _open(
    data: object, form: FileFormat, declared: Sequence[str], wanted: Sequence[str] | None, stage: Stage
) -> StoredColumns:
    name = "the input"
    if isinstance(data, str | Path):
        name = show_address(data) if isinstance(data, str) and is_address(data) else str(data)
    return _open_silently(lambda: _recognize(data, form, declared, wanted, stage), name)


def _not_read(found: StoredColumns, schema: Schema, asked: Sequence[Attribute]) -> tuple[str, ...]:
    """Say for the custodian which columns were not read, and why."""
    taken, known = {attribute.name for attribute in asked}, {attribute.name for attribute in schema.attributes}
    unnamed = [name for name in found.names if name not in known]
    dropped = [name for name in found.names if name in known and name not in taken]
    lists = (("the policy does not name", unnamed), ("the policy drops", dropped))
    return tuple(
        f"{found.name}: {len(names)} column{'s' * (len(names) > 1)} not read, which {why}: {_list_names(names)}"
        for why, names in lists
        if names
    )


def _behind_query(found: StoredColumns, form: FileFormat) -> tuple[str, ...]:
    """Say for the custodian what a promise about a query's rows says of the rows that lie behind it."""
    if form.query is None:
        return ()
    note = (
        f"{found.name}: the promise is about the rows that the query gives. It holds for those behind it if no person's row "
        "decides which rows of others there are or what they say: no LIMIT, DISTINCT, aggregate or window, no join of people "
        "with people"
    )
    return (note,)


def _list_names(names: Sequence[str]) -> str:
    shown = ", ".join(_printable(name) for name in names[:MOST_NAMES])
    return shown if len(names) <= MOST_NAMES else f"{shown}, …"


def _printable(name: str) -> str:
    """Give a column's name in a form that fits in a line of text."""
    text = name if name.isprintable() else ascii(name)
    return text if len(text) <= LONGEST_NAME else f"{text[:LONGEST_NAME]}…"


def _columns_to_read(schema: Schema) -> tuple[Attribute, ...]:
    return tuple(attribute for attribute in schema.attributes if attribute.role is not Role.DROP)


def _open_silently(work: Callable[[], StoredColumns], name: str) -> StoredColumns:
    """Open an input; the message of a reader that fails may quote a cell, so it is replaced."""
    failed: ShoalError | None = None
    try:
        return work()
    except ShoalError as error:
        failed = error
    except FileNotFoundError:
        failed = DataError("there is no such file", came=name, fix=_nearest(name), step=_with_path(name))
    except PermissionError:
        failed = DataError("the file may not be read", came=name, fix="ask for the permission to read it")
    except MemoryError:
        failed = out_of_memory(name)
    except Exception:  # noqa: BLE001, S110 - whatever a reader makes of a hostile file
        pass
    if failed is not None:
        raise failed
    raise DataError(
        "the input cannot be read", came=name, fix="check that the file is whole and what its name says it is"
    )


def _refuse_names(
    source: str, names: Sequence[str], asked: Sequence[str], *, parsed: bool, form: FileFormat = STANDARD
) -> None:
    """Raise DataError where names of columns are empty, doubled or not there.

    Names of the input are not quoted: in a file without a header they would be a record.
    """
    empty = [place for place, name in enumerate(names, start=1) if not name.strip()]
    if empty:
        raise DataError("columns without a name", came=f"{source}, column {_some(empty)}", fix="name them")
    twice = [place for place, name in enumerate(names, start=1) if names.index(name) + 1 != place]
    if twice:
        raise DataError(
            "columns have the name of an earlier column", came=f"{source}, column {_some(twice)}", fix="rename them"
        )
    missing = [name for name in asked if name not in names]
    if missing:
        raise DataError(
            "the table lacks columns that the policy names",
            came=f"{source} without {', '.join(repr(name) for name in missing)}",
            fix=_spelled(missing, names)
            + "check that this is the policy of this table, and that the file has a header"
            + (", and that `file: {delimiter: ...}` in the policy is right" if parsed else "")
            + "; `shoal init FILE --schema-only --out NEW` writes a policy with the names that the file has",
            step=NextCommand(take=source, instead=("init", source, *_part(form), "--schema-only", "--out", "by-name")),
        )


def _part(form: FileFormat) -> tuple[str, ...]:
    """The options of `shoal init` that name the part of a file or a database that a policy names."""
    parts = {"--sheet": form.sheet, "--table": form.table, "--query": form.query}
    return tuple(word for option, name in parts.items() if name is not None for word in (option, name))


def _spelled(missing: Sequence[str], names: Sequence[str]) -> str:
    """Columns that the file spells otherwise, in letters, blanks or points alone: so what is quoted is no value of a record."""
    known = {_letters(name): name for name in names}
    pairs = [(name, known[_letters(name)]) for name in missing if _letters(name) and _letters(name) in known]
    return "".join(f"the file spells '{name}' as '{_printable(other)}'; " for name, other in pairs[:MOST_NAMES])


def _letters(name: str) -> str:
    return "".join(each for each in name.casefold() if each.isalnum())


def _with_path(name: str) -> NextCommand | None:
    """The same command with the path of a file that has nearly this name, where there is one."""
    near = None if is_address(name) else near_path(Path(name))
    return None if near is None else NextCommand(replace=(name, str(near)))


def _nearest(name: str) -> str:
    """What to do about a path that leads nowhere: a file beside it that has nearly its name, or where the path begins."""
    if is_address(name):
        return "check the path"
    path = Path(name)
    if not path.absolute().parent.is_dir():
        return f"there is no folder {path.parent} either: check the path"
    near = near_path(path)
    if near is not None:
        return f"did you mean {near}? Check the path"
    return "check the path" if path.is_absolute() else f"check the path; it begins in {Path.cwd()}"


def _refuse_types(found: StoredColumns, asked: Sequence[Attribute], kinds: Sequence[pa.DataType]) -> None:
    for attribute, kind in zip(asked, kinds, strict=True):
        storage = storage_of(kind)
        if storage is Storage.NOTHING or storage in reads(attribute):
            continue
        if attribute.names:
            raise DataError(
                f"attribute '{attribute.name}': a column of this kind does not name people, because two names may be one value",
                came=f"{found.name} with {storage.value}",
                allowed=", ".join(sorted(readable.value for readable in reads(attribute))),
                fix="store the names as text, digit by digit as they were given",
            )
        raise DataError(
            f"attribute '{attribute.name}': the column cannot be read as {attribute.type.value}",
            came=f"{found.name} with {storage.value}",
            allowed=", ".join(sorted(readable.value for readable in reads(attribute))),
            fix="declare the type that the column has",
        )


def _some(places: Sequence[int]) -> str:
    return ", ".join(map(str, places[:5])) + (", …" if len(places) > 5 else "")


def _recognize(
    data: object, form: FileFormat, declared: Sequence[str], wanted: Sequence[str] | None, stage: Stage
) -> StoredColumns:
    if not isinstance(data, str | Path):
        return _frame(data, wanted)
    if isinstance(data, str) and is_address(data):
        return _database(data, form)
    path = Path(data)
    if path.is_dir():
        return _parquet(path.name or str(path), parquet_files(path))
    suffix = path.suffix.lower()
    _refuse_parts(path, suffix, form)
    if suffix in TEXT + tuple(PACKINGS) + BINARY:
        refuse_special(path)
    ending = inner_ending(path) if is_packed(path) else suffix
    readers: tuple[tuple[str, tuple[str, ...], Callable[[], StoredColumns]], ...] = (
        (ending, CSV, lambda: _csv(path, form, declared, wanted or (), stage)),
        (ending, JSON_LINES, lambda: _json_lines(path, form, wanted or (), stage)),
        (suffix, PARQUET, lambda: _parquet(path.name, [path])),
        (suffix, ARROW, lambda: _arrow(path)),
        (suffix, WORKBOOKS, lambda: _workbook(path, form, stage)),
        (suffix, STATISTICAL, lambda: _statistical(path, form)),
        (suffix, DATABASES, lambda: _database(path, form)),
    )
    for found, endings, reader in readers:
        if found in endings:
            return reader()
    if not path.exists():
        raise FileNotFoundError(path)
    came = suffix or "a name without an ending"
    raise DataError(
        "this kind of file is not known",
        came=f"{came} with {ending or 'a name without an ending'} inside" if is_packed(path) else came,
        allowed=ALLOWED,
    )


def _refuse_parts(path: Path, suffix: str, form: FileFormat) -> None:
    """Raise DataError where a sheet, a table or a query is named and this kind of file has none."""
    parts = (("sheet", WORKBOOKS, "a workbook"), ("table", DATABASES, "a database"), ("query", DATABASES, "a database"))
    for part, endings, holder in parts:
        if getattr(form, part) is not None and suffix not in endings:
            raise DataError(
                f"only {holder} has a {part}",
                came=f"{path.name} with {part} in the request or the policy",
                fix=f"leave `--{part}` of shoal init out, or `{part}` of `file: {{...}}` in the policy",
                step=NextCommand(without_value=f"--{part}", only=("init",)),
            )


# Each kind of file has a module of its own, which is imported where there is such a file: a question to a CSV file starts sooner.


def _parquet(name: str, files: Sequence[Path]) -> StoredColumns:
    from shoal.engine.read.parquet_file import open_parquet

    return open_parquet(name, files)


def _arrow(path: Path) -> StoredColumns:
    from shoal.engine.read.arrow_file import open_arrow

    return open_arrow(path)


def _json_lines(path: Path, form: FileFormat, wanted: Sequence[str], stage: Stage) -> StoredColumns:
    from shoal.engine.read.foreign.json_lines import open_json_lines

    return open_json_lines(path, form.encoding, wanted, stage)


def _workbook(path: Path, form: FileFormat, stage: Stage) -> StoredColumns:
    from shoal.engine.read.foreign.spreadsheet import open_workbook

    return open_workbook(path, form.sheet, stage)


def _statistical(path: Path, form: FileFormat) -> StoredColumns:
    from shoal.engine.read.foreign.statistical import open_statistical

    return open_statistical(path, form)


def _database(data: str | Path, form: FileFormat) -> StoredColumns:
    from shoal.engine.read.foreign.database import open_database

    return open_database(data, form)


def _csv(path: Path, form: FileFormat, declared: Sequence[str], wanted: Sequence[str], stage: Stage) -> StoredColumns:
    import pyarrow as pa

    stamp = Stamp.of([path])
    seen = read_header(path, form, declared, stage)
    _refuse_names(path.name, seen.names, wanted, parsed=True)  # before rows are counted by a wrong delimiter
    rows = seen.structure.records
    kinds = tuple(itertools.repeat(pa.string(), len(seen.names)))
    return StoredColumns(path.name, seen.names, kinds, rows, stamp, seen.batches, parsed=True, counted=COUNTED)


def parquet_files(folder: Path) -> list[Path]:
    """List the Parquet files of a folder in the order of their names; names that begin with a dot or an underscore are left
    out.
    """
    files = [
        file
        for file in folder.rglob("*")
        if file.suffix.lower() in PARQUET and not any(p[0] in "._" for p in file.relative_to(folder).parts)
    ]
    if not files:
        raise DataError("the folder holds no Parquet files", came=folder.name or folder, allowed=ALLOWED)
    for file in files:
        refuse_lost_part(file)
    return sorted(files, key=lambda file: file.relative_to(folder).as_posix())


def _frame(data: object, wanted: Sequence[str] | None) -> StoredColumns:
    """Open a frame in memory. The types of a frame without rows are ignored: pandas makes every such column one of floats."""
    import pyarrow as pa

    table = as_arrow(data, wanted)
    if not table.num_rows:
        table = pa.table([pa.nulls(0) for _ in table.column_names], names=table.column_names)

    read = [name for name in table.column_names if table.column_names.count(name) == 1]
    table.select([name for name in read if wanted is None or name in wanted]).validate(full=True)

    def opener(places: Sequence[int]) -> Iterator[pa.RecordBatch]:
        yield from table.select(list(places)).to_batches(max_chunksize=STEP)

    shape = table.schema
    return StoredColumns(
        "the frame", tuple(shape.names), tuple(shape.types), table.num_rows, Stamp(()), opener, in_memory=True
    )


def as_arrow(data: object, asked: Sequence[str] | None) -> pa.Table:
    """Convert a pandas, Polars or PyArrow frame, or an Arrow stream, to an Arrow table.

    Columns that are not in `asked` are converted as empty; where it is None, every column is converted. A stream is read once.
    """
    import narwhals as nw
    import pyarrow as pa

    if isinstance(data, pa.RecordBatch):
        return pa.Table.from_batches([data])
    if isinstance(data, pa.Table):
        return data
    unknown = False
    try:
        frame: Any = nw.from_native(data, pass_through=True)
        unknown = frame is data
        if unknown and hasattr(data, "__arrow_c_stream__"):
            return _read_stream(pa.RecordBatchReader.from_stream(data), asked)
        if not unknown:
            frame = frame.collect() if isinstance(frame, nw.LazyFrame) else frame
            names = [str(name) for name in frame.columns]
            read = [name for name in frame.columns if asked is None or name in asked]
            if not _mixes_objects(frame.select(read)):
                held = frame.select(read).to_arrow() if read else {}
                return pa.table([held[name] if name in read else pa.nulls(len(frame)) for name in names], names=names)
    except (pa.ArrowException, nw.exceptions.NarwhalsError, TypeError, ValueError, OverflowError):
        unknown = False
    if unknown:
        raise DataError("this kind of input is not known", came=type(data).__name__, allowed=ALLOWED)
    raise DataError(
        "the frame cannot be read",
        came=type(data).__name__,
        allowed="one name for each column, and values of one type in each",
        fix="give each column a type of its own; Arrow, pandas and Polars would take one from the rows",
    )


def _read_stream(stream: pa.RecordBatchReader, asked: Sequence[str] | None) -> pa.Table:
    """Read an Arrow stream, which can be read once, into memory: of columns that are not asked for, their names alone."""
    import pyarrow as pa

    names = stream.schema.names
    kept = [place for place, name in enumerate(names) if asked is None or name in asked]
    batches = [batch.select(kept) for batch in stream]
    held = pa.Table.from_batches(batches, pa.schema([stream.schema.field(place) for place in kept]))
    rows = sum(batch.num_rows for batch in batches)
    columns = [held.column(kept.index(place)) if place in kept else pa.nulls(rows) for place in range(len(names))]
    return pa.table(columns, names=names)


def _mixes_objects(frame: Any) -> bool:
    """Whether a column of Python objects holds more than one kind of them.

    Arrow would take the kind of the first, and cut times to days because one row holds a day.
    """
    if not frame.implementation.is_pandas_like():
        return False
    native = frame.to_native()
    return any(_count_kinds(native.iloc[:, place]) > 1 for place in range(native.shape[1]))


def _count_kinds(column: Any) -> int:
    """Count the kinds of objects that a column of pandas holds, missing ones left out; 1 where it has a type of its own.

    Of a column of categories, the categories are counted.
    """
    held = column.cat.categories if str(column.dtype) == "category" else column
    if str(held.dtype) != "object":
        return 1
    families = {
        next((family for family in FAMILIES if issubclass(kind, family)), kind)
        for kind in set(map(type, held[held.notna()]))
    }
    return len(families)
