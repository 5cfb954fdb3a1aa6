"""Arrow files: read into memory of our own, so that what was validated is what is used."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.engine.read.arrow_layout import check_layout
from shoal.engine.read.source import STEP, Stamp, StoredColumns, refuse_rows

if TYPE_CHECKING:
    import pyarrow as pa


def open_arrow(path: Path) -> StoredColumns:
    """Open an Arrow file (IPC; Feather of version 2 is the same)."""
    stamp = Stamp.of([path])

    with _open(path, []) as opened:
        shape = opened.schema
    rows = check_layout(path, shape, ())
    refuse_rows(path.name, rows)

    def opener(places: Sequence[int]) -> Iterator[pa.RecordBatch]:
        check_layout(path, shape, places)
        read = sorted(places)
        with _open(path, read) as opened:
            for number in range(opened.num_record_batches):
                batch = opened.get_batch(number).select([read.index(place) for place in places])
                batch.validate(full=True)  # before it is cut: a piece is validated by itself, and not the whole
                for start in range(0, batch.num_rows, STEP):
                    yield batch.slice(start, STEP)

    return StoredColumns(path.name, tuple(shape.names), tuple(shape.types), rows, stamp, opener)


def _open(path: Path, places: Sequence[int]) -> Any:
    """Open the file to read the columns at these positions (none: all).

    It is not mapped into memory, where it could change after it was validated.
    """
    import pyarrow as pa
    from pyarrow import ipc

    options = ipc.IpcReadOptions(included_fields=list(places), ensure_alignment=ipc.Alignment.DataTypeSpecific)
    return ipc.open_file(pa.OSFile(str(path)), options=options)
