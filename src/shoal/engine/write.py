"""How rows leave an engine: as CSV or Parquet files, whole or not at all, the same bytes for the same rows.

A Parquet table of many rows is a folder of parts: Parquet files whose rows, one file after the other, are those of the table.

    table.parquet/part-00000.parquet
    table.parquet/part-00001.parquet
    ...
"""

from __future__ import annotations

import io
import itertools
import os
import re
import secrets
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import numpy as np
import numpy.typing as npt

from shoal.engine.arrow_array import number_array
from shoal.errors import UsageError, VerificationError
from shoal.files.exchange import appear, sync_folder

if TYPE_CHECKING:
    import pyarrow as pa

BATCH_ROWS = 1 << 18
"""Rows in a batch, and so in a row group of a Parquet file."""
PART_ROWS = 1 << 25
"""Rows up to which a Parquet table is one file, and about how many each part of a larger one has.

How many rows are published is public, so whether there are parts tells nothing else.
"""
NOTE = b"shoal"
"""The key of the one note that a Parquet file may carry: what its rows are, where they are nobody's."""
FORMULA_SIGNS = "=+-@\t\r＝＋－＠"
"""Signs with which a formula begins where a spreadsheet opens a CSV file; the last four are wide, as in Japanese."""
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_NEEDS_QUOTES = '[",\r\n]'


def reads_as_formula(text: str) -> bool:
    """Whether a spreadsheet that opens a CSV file may take this cell for a formula; a number is none.

    >>> [reads_as_formula(text) for text in ("=1+1", "-5 to 0", "-5", "a=b", "@home")]
    [True, True, False, False, True]
    """
    return text[:1] in tuple(FORMULA_SIGNS) and _NUMBER.fullmatch(text) is None


def formula_columns(labels: Mapping[str, Iterable[str]]) -> tuple[str, ...]:
    """Give the names of the columns that may show a label which a spreadsheet takes for a formula, of all labels by column.

    A name that begins in that way counts as well: it stands in the header.

    >>> formula_columns({"age": ["0-9", "10+"], "change": ["-5 to 0", "0 to 5"]})
    ('change',)
    """
    return tuple(
        name
        for name, shown in labels.items()
        if reads_as_formula(name) or any(reads_as_formula(label) for label in shown)
    )


def write_file(path: Path, shape: pa.Schema, batches: Iterator[pa.RecordBatch], verify: Callable[[], None]) -> None:
    """Write batches to a file, CSV or Parquet by its suffix; a Parquet table of more than `PART_ROWS` rows to a folder of parts.

    `verify` is called before the file or the folder gets its name, and may refuse.
    """
    writers = {".csv": _write_csv_file, ".parquet": _write_parquet_file}
    writer = writers.get(path.suffix.lower())
    if writer is None:
        raise UsageError("cannot write this kind of file", came=path.suffix, allowed=" or ".join(writers))
    writer(path, shape, batches, verify)


def _write_csv_file(
    path: Path, shape: pa.Schema, batches: Iterator[pa.RecordBatch], verify: Callable[[], None]
) -> None:
    with whole_or_nothing(path) as part:
        _write_csv(part, shape, batches)
        verify()


def _write_parquet_file(
    path: Path, shape: pa.Schema, batches: Iterator[pa.RecordBatch], verify: Callable[[], None]
) -> None:
    """Write parts straight to their files; one part alone is the table."""
    with _temporary_folder(path) as made:
        number = -1
        for number, some in enumerate(_divide(batches, PART_ROWS)):
            _write_parquet(made / part_name(number), shape, some)
            _sync_file(made / part_name(number))
        verify()
        if number:
            _name_folder(made, path)
        else:
            _name_file(made / part_name(0), path)


def encode_part(shape: pa.Schema, batches: Iterable[pa.RecordBatch]) -> bytes:
    """Give a whole Parquet file of these batches: the same bytes that `write_file` writes of them."""
    held = io.BytesIO()
    _write_parquet(held, shape, batches)
    return held.getvalue()


def write_parts(path: Path, parts: Iterable[bytes], verify: Callable[[], None]) -> None:
    """Write encoded parts to a folder that appears whole or not at all; one part is in memory at a time.

    The rows of all parts, one after the other, are in the order that one file would have. `verify` is called before the folder
    gets its name, and may refuse.

    Raises  UsageError where something has the folder's name already, where a part has no rows, and where there is none
    """
    if os.path.lexists(path):
        raise _occupied(path)
    with _temporary_folder(path) as made:
        number = 0
        for content in parts:
            _refuse_empty(content, path)
            (made / part_name(number)).write_bytes(content)
            _sync_file(made / part_name(number))
            number += 1
        if not number:
            raise UsageError(
                "a folder of parts has one at least", came=path.name, fix="write a table without rows as a file"
            )
        verify()
        _name_folder(made, path)


def part_name(number: int) -> str:
    """The file name of a part; parts are numbered from 0 without a gap.

    >>> part_name(0), part_name(12)
    ('part-00000.parquet', 'part-00012.parquet')
    """
    return f"part-{number:05d}.parquet"


def table_files(listed: Collection[str], name: str) -> tuple[str, ...]:
    """The files of a table among those that a release lists: the one of its name, or its parts in their order.

    >>> table_files({"table.csv", "policy.lock.yaml"}, "table.csv")
    ('table.csv',)
    >>> table_files({"table.parquet/part-00001.parquet", "table.parquet/part-00000.parquet"}, "table.parquet")
    ('table.parquet/part-00000.parquet', 'table.parquet/part-00001.parquet')

    Raises  VerificationError where the folder of the table lists something else beside parts without a gap
    """
    if name in listed:
        return (name,)
    numbered = (f"{name}/{part_name(number)}" for number in itertools.count())
    parts = tuple(itertools.takewhile(listed.__contains__, numbered))
    if parts and len(parts) != sum(each.startswith(f"{name}/") for each in listed):
        raise VerificationError(
            f"the parts of table '{name}' are not numbered from 0 without a gap", fix="run `shoal verify` on the folder"
        )
    return parts or (name,)


def files_of(path: Path) -> list[Path]:
    """The files of a table that was written here: the file itself, or its parts in their order."""
    return sorted(path.iterdir()) if path.is_dir() else [path]


@contextmanager
def whole_or_nothing(path: Path) -> Iterator[Path]:
    """Give a temporary path beside the target, which becomes the target on success and is removed on failure."""
    part = _temporary(path)
    try:
        yield part
        _sync_file(part)
        _name_file(part, path)
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def _temporary_folder(path: Path) -> Iterator[Path]:
    """Give a folder beside the target to write files into; what is left of it at the end is removed."""
    made = _temporary(path)
    made.mkdir()
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _temporary(path: Path) -> Path:
    return path.with_name(f".{path.name}.{secrets.token_hex(8)}.part")


def _sync_file(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())


def _name_file(made: Path, path: Path) -> None:
    """Give a file its name, in the place of a file that has it; a folder that has it stays."""
    if path.is_dir() and not path.is_symlink():
        raise _occupied(path)
    made.replace(path)
    sync_folder(path.parent)


def _name_folder(made: Path, path: Path) -> None:
    """Give a folder its name, if nothing has it."""
    sync_folder(made)
    try:
        appear(made, path)
    except FileExistsError:
        raise _occupied(path) from None


def _occupied(path: Path) -> UsageError:
    return UsageError(
        "something stands where the table should go", came=path, fix="choose another name, or move it away"
    )


def _refuse_empty(content: bytes, path: Path) -> None:
    """Raise UsageError for a part that is no Parquet file with rows."""
    import pyarrow as pa
    from pyarrow import parquet

    try:
        rows = parquet.read_metadata(pa.BufferReader(content)).num_rows
    except (pa.ArrowException, OSError):
        rows = 0
    if not rows:
        raise UsageError("a part of a table is a Parquet file with rows", came=path.name, fix="leave out what has none")


def _divide(batches: Iterable[pa.RecordBatch], rows: int) -> Iterator[Iterator[pa.RecordBatch]]:
    """Give batches in parts of so many rows (but the last), one part at least; each is read to its end before the next."""
    stream = (batch for batch in batches if batch.num_rows)
    ahead = next(stream, None)

    def part() -> Iterator[pa.RecordBatch]:
        nonlocal ahead
        left = rows
        while ahead is not None and left:
            some, size = ahead.slice(0, left), ahead.num_rows
            ahead = ahead.slice(left) if size > left else None
            left -= some.num_rows
            yield some
            ahead = next(stream, None) if ahead is None else ahead

    yield part()
    while ahead is not None:
        yield part()


def _write_parquet(target: Path | BinaryIO, shape: pa.Schema, batches: Iterable[pa.RecordBatch]) -> None:
    """Write Parquet: one row group a batch, zstd. The file does not note dictionaries: text reads as text.

    Of the notes of a shape the file has our own, under the key `shoal`, and no other.
    """
    from pyarrow import parquet

    notes = {key: value for key, value in (shape.metadata or {}).items() if key == NOTE}
    with parquet.ParquetWriter(target, shape, compression="zstd", store_schema=False) as writer:
        for batch in batches:
            writer.write_batch(batch, row_group_size=BATCH_ROWS)
        if notes:
            writer.add_key_value_metadata(notes)


def _write_csv(path: Path, shape: pa.Schema, batches: Iterator[pa.RecordBatch]) -> None:
    """Write CSV (RFC 4180) in UTF-8 with LF: quotes where needed, missing as nothing, empty text as two quotes.

    A missing value that is alone in its row is two quotes too: most readers skip an empty line.
    """
    import pyarrow as pa

    absent = '""' if len(shape) == 1 else ""
    with path.open("wb") as file:
        file.write(_lines([_cells(pa.array([name])) for name in shape.names], absent))
        for batch in batches:
            file.write(_lines([_cells(column) for column in batch.columns], absent))


def _lines(columns: list[pa.Array], absent: str) -> memoryview:
    from pyarrow import compute

    joined = compute.binary_join_element_wise(*columns, _text(","), null_handling="replace", null_replacement=absent)
    ended = compute.binary_join_element_wise(joined, _text(""), _text("\n"))
    # The letters of all texts lie one after the other in one buffer.
    offsets = np.frombuffer(ended.buffers()[1], dtype=np.int64)[ended.offset : ended.offset + len(ended) + 1]
    return memoryview(ended.buffers()[2])[int(offsets[0]) : int(offsets[-1])]


def _cells(column: pa.Array) -> pa.Array:
    """Give values as the text of CSV cells, quoted where they must be."""
    import pyarrow as pa
    from pyarrow import compute

    if pa.types.is_dictionary(column.type):
        return _cells(column.dictionary).take(column.indices)
    texts = column.cast(pa.large_string())
    if not pa.types.is_string(column.type):
        return texts
    special = compute.or_(compute.match_substring_regex(texts, _NEEDS_QUOTES), compute.equal(texts, _text("")))
    if not compute.any(special).as_py():
        return texts
    doubled = compute.replace_substring(texts, '"', '""')
    return compute.if_else(special, compute.binary_join_element_wise(_text('"'), doubled, _text('"'), _text("")), texts)


def _text(text: str) -> pa.Scalar:
    import pyarrow as pa

    return pa.scalar(text, pa.large_string())


def rebatch(pieces: Iterable[pa.RecordBatch], rows: int) -> Iterator[pa.RecordBatch]:
    """Give the same rows in batches of one fixed length (but the last), so that files do not depend on how rows came."""
    import pyarrow as pa

    held: list[pa.RecordBatch] = []
    size = 0
    for piece in pieces:
        held.append(piece)
        size += piece.num_rows
        while size >= rows:
            table = pa.Table.from_batches(held)
            yield table.slice(0, rows).combine_chunks().to_batches()[0]
            held, size = table.slice(rows).to_batches(), size - rows
    if size:
        yield pa.Table.from_batches(held).combine_chunks().to_batches()[0]


def expand(batch: pa.RecordBatch, counts: npt.NDArray[np.int64], rows: int) -> Iterator[pa.RecordBatch]:
    """Repeat each row as often as its count says, at most `rows` rows at a time."""
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    for start in range(0, total, rows):
        stop = min(start + rows, total)
        first, last = np.searchsorted(ends, (start, stop - 1), side="right")
        some = counts[first : last + 1].copy()
        some[0] = ends[first] - start
        some[-1] -= ends[last] - stop
        yield batch.take(number_array(np.repeat(np.arange(first, last + 1), some)))
