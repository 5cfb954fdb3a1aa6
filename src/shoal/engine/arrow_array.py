"""Arrow arrays from NumPy's and back, by their buffers: pyarrow's own conversions import pandas where that is installed.

That import takes half a CPU second, as long as all else that a question to a registered table needs. Casts, `is_null` and such
import pyarrow.compute, which takes 40 ms.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pyarrow as pa

_MOST_BYTES = (1 << 31) - 1
"""What an array of texts with offsets of 32 bits can hold."""
Array = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]


# --- to Arrow -----------------------------------------------------------------------------------------------------------


def number_array(values: Array, absent: Mask | None = None) -> pa.Array:
    """Give numbers of NumPy as an Arrow array, missing where `absent` says so; nothing is copied.

    >>> number_array(np.array([3, 1, 4]), np.array([False, True, False])).to_pylist()
    [3, None, 4]
    """
    import pyarrow as pa

    if values.dtype.kind not in "iuf" or not values.dtype.isnative:
        return pa.array(values, mask=absent)
    gone = None if absent is None or not absent.any() else pa.py_buffer(np.packbits(~absent, bitorder="little"))
    data = pa.py_buffer(np.ascontiguousarray(values))
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [gone, data])


def text_array(texts: Iterable[str | None]) -> pa.Array:
    """Give texts as an Arrow array; None is missing.

    >>> text_array(["a", None, "bc"]).to_pylist()
    ['a', None, 'bc']
    """
    import pyarrow as pa

    held = list(texts)
    there = np.array([text is not None for text in held], dtype=np.bool_)
    return _sized_array(
        [b"" if text is None else text.encode() for text in held], there, pa.string(), pa.large_string()
    )


def bytes_array(parts: Sequence[bytes]) -> pa.Array:
    """Give strings of bytes as an Arrow array.

    >>> bytes_array([b"a", b"bc"]).to_pylist()
    [b'a', b'bc']
    """
    import pyarrow as pa

    return _sized_array(parts, np.ones(len(parts), dtype=np.bool_), pa.binary(), pa.large_binary())


def _sized_array(parts: Sequence[bytes], there: Mask, kind: pa.DataType, large: pa.DataType) -> pa.Array:
    """An array of what has a length of its own; of the large kind where offsets of 32 bits do not reach."""
    import pyarrow as pa

    ends = np.cumsum([0, *map(len, parts)], dtype=np.int64)
    gone = None if there.all() else pa.py_buffer(np.packbits(there, bitorder="little"))
    few = ends[-1] <= _MOST_BYTES
    offsets = pa.py_buffer(ends.astype(np.int32) if few else ends)
    return pa.Array.from_buffers(kind if few else large, len(parts), [gone, offsets, pa.py_buffer(b"".join(parts))])


# --- from Arrow ---------------------------------------------------------------------------------------------------------


def missing_values(column: pa.Array | pa.ChunkedArray) -> Mask:
    """Say of each value whether it is missing.

    >>> missing_values(text_array(["a", None])).tolist()
    [False, True]
    """
    if not column.null_count:
        return np.zeros(len(column), dtype=np.bool_)
    whole = _whole(column)
    return ~_bits(whole, 0) if whole.buffers()[0] is not None else _bits(whole.is_null(), 1)


def number_values(column: pa.Array | pa.ChunkedArray, missing: float = 0) -> Array:
    """Give numbers or truth values as NumPy has them, and this number for a missing one; without any, nothing is copied.

    >>> number_values(number_array(np.array([3, 1]), np.array([False, True])), -1).tolist()
    [3, -1]
    """
    import pyarrow as pa

    whole = _whole(column)
    if pa.types.is_boolean(whole.type):
        values: Array = _bits(whole, 1)
    elif pa.types.is_integer(whole.type) or pa.types.is_floating(whole.type):
        kind = np.dtype(whole.type.to_pandas_dtype())
        held = np.frombuffer(whole.buffers()[1] or b"", dtype=kind)
        values = held[whole.offset : whole.offset + len(whole)]
    else:
        raise TypeError(f"no numbers: {whole.type}")
    if whole.null_count:
        values = values.copy()
        values[missing_values(whole)] = missing
    return values


def bare_numbers(column: pa.Array) -> pa.Array:
    """Give dates as days and times as microseconds, and other values as they are; nothing is copied.

    >>> bare_numbers(number_array(np.array([3], dtype=np.int32)).view("date32")).to_pylist()
    [3]
    """
    import pyarrow as pa

    bare = {pa.date32(): pa.int32(), pa.timestamp("us"): pa.int64()}.get(column.type)
    return column if bare is None else column.view(bare)


def large_texts(column: pa.Array) -> pa.Array:
    """Give an array of texts with offsets of 64 bits; nothing but the offsets is copied.

    >>> large_texts(text_array(["a", None, "bc"])[1:]).to_pylist()
    [None, 'bc']
    """
    import pyarrow as pa

    if pa.types.is_large_string(column.type):
        return column
    if not pa.types.is_string(column.type):
        return column.cast(pa.large_string())
    gone, ends, letters = column.buffers()
    many = column.offset + len(column)
    wide = (
        np.frombuffer(ends or b"", dtype=np.int32, count=many + 1).astype(np.int64) if many else np.zeros(1, np.int64)
    )
    held = [gone, pa.py_buffer(wide), letters or pa.py_buffer(b"")]
    return pa.Array.from_buffers(pa.large_string(), len(column), held, column.null_count, column.offset)


def text_values(column: pa.Array | pa.ChunkedArray) -> Array:
    """Give texts as an array of objects; None is a missing one.

    >>> text_values(text_array(["a", None])).tolist()
    ['a', None]
    """
    import pyarrow as pa

    whole = _whole(column)
    if not pa.types.is_string(whole.type) and not pa.types.is_large_string(whole.type):
        raise TypeError(f"no texts: {whole.type}")
    kind = np.int64 if pa.types.is_large_string(whole.type) else np.int32
    found = np.empty(len(whole), dtype=object)
    if not len(whole):
        return found
    ends = np.frombuffer(whole.buffers()[1], dtype=kind)[whole.offset : whole.offset + len(whole) + 1].tolist()
    letters = memoryview(whole.buffers()[2] or b"")
    found[:] = [str(letters[start:end], "utf-8") for start, end in pairwise(ends)]
    if whole.null_count:
        found[missing_values(whole)] = None
    return found


def _whole(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    import pyarrow as pa

    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _bits(column: pa.Array, place: int) -> Mask:
    """A buffer of bits as truth values."""
    held = np.frombuffer(column.buffers()[place] or b"", dtype=np.uint8)
    bits = np.unpackbits(held, bitorder="little", count=column.offset + len(column))
    return bits[column.offset :].astype(np.bool_)
