"""How rows leave an engine: as CSV or Parquet files, whole or not at all, the same bytes for the same rows."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from shoal.engine.arrow_array import number_array
from shoal.errors import UsageError
from shoal.files.exchange import sync_folder

if TYPE_CHECKING:
    import pyarrow as pa

BATCH_ROWS = 1 << 18
"""Rows in a batch, and so in a row group of a Parquet file."""
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
    """Write batches to a file, CSV or Parquet by its suffix. `verify` is called before the file gets its name, and may refuse."""
    writers = {".csv": _write_csv, ".parquet": _write_parquet}
    writer = writers.get(path.suffix.lower())
    if writer is None:
        raise UsageError("cannot write this kind of file", came=path.suffix, allowed=" or ".join(writers))
    with whole_or_nothing(path) as part:
        writer(part, shape, batches)
        verify()


@contextmanager
def whole_or_nothing(path: Path) -> Iterator[Path]:
    """Give a temporary path beside the target, which becomes the target on success and is removed on failure."""
    part = path.with_name(f".{path.name}.{secrets.token_hex(8)}.part")
    try:
        yield part
        with part.open("rb") as file:
            os.fsync(file.fileno())
        part.replace(path)
        sync_folder(path.parent)
    finally:
        part.unlink(missing_ok=True)


def _write_parquet(path: Path, shape: pa.Schema, batches: Iterator[pa.RecordBatch]) -> None:
    """Write Parquet: one row group a batch, zstd. The file does not note dictionaries: text reads as text.

    Of the notes of a shape the file has our own, under the key `shoal`, and no other.
    """
    from pyarrow import parquet

    notes = {key: value for key, value in (shape.metadata or {}).items() if key == NOTE}
    with parquet.ParquetWriter(path, shape, compression="zstd", store_schema=False) as writer:
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
