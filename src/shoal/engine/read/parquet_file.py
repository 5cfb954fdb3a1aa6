"""Parquet files: every value is read and none is concluded from what the footer says of values.

A footer has the smallest and the largest value of each column, how many are missing, filters and indexes. Whoever writes the
file writes them, so a reader that leaves pages out because of them can be told anything. Here whole columns are decoded, page
after page; a page that carries a checksum is compared with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.engine.read.parquet_layout import Leaf, contradiction, read_layout
from shoal.engine.read.source import STEP, Stamp, StoredColumns, refuse_rows
from shoal.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa

MOST_SHARED = 1 << 30
"""Bytes that the rows which are handled at a time may take, if each has a copy of a text that it shares with the one before."""


def open_parquet(name: str, files: Sequence[Path]) -> StoredColumns:
    """Open Parquet files with the same columns, as one table."""
    files = [file.absolute() for file in files]
    stamp = Stamp.of(files)
    layouts = [read_layout(file) for file in files]
    shapes: list[pa.Schema] = []
    for file in files:
        with _open(file) as opened:
            shapes.append(opened.schema_arrow)
    shape = shapes[0]
    rows = sum(layout.rows for layout in layouts)
    if any(each.names != shape.names or each.types != shape.types for each in shapes):
        raise DataError("the files of the folder do not have the same columns", came=name)
    refuse_rows(name, rows)

    def opener(places: Sequence[int]) -> Iterator[pa.RecordBatch]:
        wanted = [shape.names[place] for place in places]
        for layout in layouts:
            with _open(layout.file) as opened:
                shared = layout.check_pages(_leaves(opened), set(wanted))
            step = max(1, min(STEP, MOST_SHARED // max(shared.prefixes, 1)))
            old = [name for name in wanted if name in layout.old_times]
            with _open(layout.file, shared.coded) as opened, _open(layout.file, shared.coded, unit="us") as coarse:
                # A row group at a time: read as one run, a group with a value too many would shift the groups behind it.
                for number, group in enumerate(layout.groups):
                    batches = _read_group(opened, number, group.rows, wanted, step, layout.file.name)
                    if old:
                        again = _read_group(coarse, number, group.rows, old, step, layout.file.name)
                        batches = _compare_times(batches, again, layout.file.name)
                    yield from batches

    return StoredColumns(name, tuple(shape.names), tuple(shape.types), rows, stamp, opener)


def _open(file: Path, coded: Iterable[str] = (), unit: str = "ns") -> Any:
    """Open a file. Columns that are coded keep their dictionary: how long their texts are together is known before they are
    copied. Times of the old kind (INT96) are read in the unit.
    """
    import pyarrow as pa
    from pyarrow import parquet

    return parquet.ParquetFile(
        pa.OSFile(str(file)),
        read_dictionary=sorted(coded),
        pre_buffer=False,
        coerce_int96_timestamp_unit=unit,
        page_checksum_verification=True,
        arrow_extensions_enabled=False,
    )


def _compare_times(
    fine: Iterator[pa.RecordBatch], coarse: Iterator[pa.RecordBatch], name: str
) -> Iterator[pa.RecordBatch]:
    """Compare times of the old kind in nanoseconds with the same in microseconds: where they differ, nanoseconds ran over.

    They count from 1677 to 2262. The year 9999, which often stands for no end, would silently be another year.
    """
    for batch, other in zip(fine, coarse, strict=True):
        for column in other.schema.names:
            nanoseconds, microseconds = (each[column].cast("int64").fill_null(0).to_numpy() for each in (batch, other))
            if not (nanoseconds // 1000 == microseconds).all():
                raise DataError(
                    "some times lie beyond what the old kind of times in Parquet (INT96) can count in nanoseconds",
                    came=name,
                    allowed="1677 to 2262",
                    fix="write the column as a timestamp in microseconds",
                )
        yield batch


def _leaves(opened: Any) -> list[Leaf]:
    every = [opened.schema.column(place) for place in range(len(opened.schema))]
    return [Leaf(column.path, column.max_definition_level > 0) for column in every]


def _read_group(
    opened: Any, number: int, rows: int, wanted: list[str], step: int, name: str
) -> Iterator[pa.RecordBatch]:
    seen = 0
    for batch in opened.iter_batches(step, row_groups=[number], columns=wanted):
        seen += batch.num_rows
        yield batch.select(wanted)
    if seen != rows:
        raise contradiction(name)
