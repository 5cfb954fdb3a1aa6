"""Tables back as frames, of the kind that came in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shoal.engine.base import Table
from shoal.engine.column import Column

if TYPE_CHECKING:
    import pyarrow as pa


def to_arrow(table: Table, *, sort: bool = True) -> pa.Table:
    """All rows as an Arrow table, sorted by their own values or in row order; labels as plain text."""
    import pyarrow as pa

    shape = pa.schema([(name, Column(name, kind).arrow_type()) for name, kind in table.types.items()])
    decoded = (
        pa.RecordBatch.from_arrays([_plain(column) for column in batch.columns], schema=shape)
        for batch in table.batches(sort=sort)
    )
    return pa.Table.from_batches(decoded, shape)


def frame_like(table: Table, like: object, *, sort: bool = True) -> Any:
    """All rows as a pandas, Polars or PyArrow frame, whichever `like` is; PyArrow if it is none of them."""
    import narwhals as nw
    import pyarrow as pa

    rows = to_arrow(table, sort=sort)
    given: Any = nw.from_native(like, pass_through=True)
    if isinstance(like, pa.Table | pa.RecordBatch) or not isinstance(given, nw.DataFrame | nw.LazyFrame):
        return rows
    frame = nw.from_arrow(rows, backend=given.implementation)
    return (frame.lazy() if isinstance(given, nw.LazyFrame) else frame).to_native()


def _plain(column: pa.Array) -> pa.Array:
    import pyarrow as pa

    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
