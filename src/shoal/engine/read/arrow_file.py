"""Arrow files: read into memory of our own, so that what was validated is what is used."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.engine.read.arrow_layout import check_layout, is_stream
from shoal.engine.read.source import STEP, Stamp, StoredColumns, refuse_rows
from shoal.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa


def open_arrow(path: Path) -> StoredColumns:
    """Open an Arrow file (IPC; Feather of version 2 is the same), or a file that holds a stream of Arrow."""
    stamp = Stamp.of([path])
    _refuse_old(path)
    streamed = is_stream(path)

    with _open(path, [], streamed) as opened:
        shape = opened.schema
    rows = check_layout(path, shape, ())
    refuse_rows(path.name, rows)

    def opener(places: Sequence[int]) -> Iterator[pa.RecordBatch]:
        check_layout(path, shape, places)
        read = sorted(places)
        with _open(path, read, streamed) as opened:
            held = opened if streamed else map(opened.get_batch, range(opened.num_record_batches))
            for each in held:
                batch = each.select([read.index(place) for place in places])
                batch.validate(full=True)  # before it is cut: a piece is validated by itself, and not the whole
                for start in range(0, batch.num_rows, STEP):
                    yield batch.slice(start, STEP)

    return StoredColumns(path.name, tuple(shape.names), tuple(shape.types), rows, stamp, opener)


def _refuse_old(path: Path) -> None:
    """Raise DataError for a Feather file of version 1, which is another format."""
    with path.open("rb") as held:
        old = held.read(4) == b"FEA1"
    if old:
        raise DataError(
            "a Feather file of version 1 is not read",
            came=path.name,
            allowed="Feather of version 2, which is an Arrow file",
            fix="write it anew: pyarrow.feather.write_feather(pyarrow.feather.read_table(OLD), NEW)",
        )


def _open(path: Path, places: Sequence[int], streamed: bool) -> Any:
    """Open the file to read the columns at these positions (none: all).

    It is not mapped into memory, where it could change after it was validated.
    """
    import pyarrow as pa
    from pyarrow import ipc

    options = ipc.IpcReadOptions(included_fields=list(places), ensure_alignment=ipc.Alignment.DataTypeSpecific)
    opener = ipc.open_stream if streamed else ipc.open_file
    return opener(pa.OSFile(str(path)), options=options)
