"""Rows in batches of one fixed length, so that what is written depends on the rows and not on how they came."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pyarrow as pa


def evened(pieces: Iterable[pa.RecordBatch], rows: int) -> Iterator[pa.RecordBatch]:
    """The same rows in batches of one fixed length, but the last."""
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


def expanded(batch: pa.RecordBatch, counts: npt.NDArray[np.int64], rows: int) -> Iterator[pa.RecordBatch]:
    """Each row as often as its count says, at most `rows` at a time."""
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    for start in range(0, total, rows):
        stop = min(start + rows, total)
        first, last = np.searchsorted(ends, (start, stop - 1), side="right")
        some = counts[first : last + 1].copy()
        some[0] = ends[first] - start
        some[-1] -= ends[last] - stop
        yield batch.take(np.repeat(np.arange(first, last + 1), some))
