"""Where the batches of an Arrow file lie and how large they are, by its own metadata, checked before anything is unpacked.

The metadata are tables of FlatBuffers. Arrow verifies that they are well formed, and believes what they say: that a column has no
missing value, so that the bits which say otherwise are never looked at, or that a few bytes unpack to any number.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.engine.read.source import refuse_rows
from shoal.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa

LARGEST = 1 << 31
"""Bytes that one batch may unpack to."""
MAGIC = b"ARROW1"
_SCHEMA, _DICTIONARY, _RECORDS = 1, 2, 3
_CONTINUES = b"\xff\xff\xff\xff"
"""What stands before the length of a message, in all but the oldest files."""
_CODECS = {0: "lz4", 1: "zstd"}


class _BrokenError(Exception):
    """The bytes are not what they should be."""


@dataclass(frozen=True)
class _Batch:
    """One batch: its rows, the length and the missing values of each column, and where its buffers lie in the file."""

    rows: int
    nodes: tuple[tuple[int, int], ...]
    buffers: tuple[tuple[int, int], ...]
    codec: str | None
    variadic: tuple[int, ...]


def check_layout(path: Path, shape: pa.Schema, wanted: Sequence[int]) -> int:
    """Check the batches of a file and what they say of the columns at these positions; give the number of rows.

    Raises  DataError where a batch lies outside the file, unpacks to more than `LARGEST`, or hides missing values
    """
    handle = os.open(path, os.O_RDONLY)
    try:
        rows = _check_batches(handle, shape, set(wanted), path.name)
    except (_BrokenError, struct.error, OverflowError):
        rows = None
    finally:
        os.close(handle)
    if rows is None:
        raise DataError(
            "the file cannot be read: its batches do not hold what it says",
            came=path.name,
            fix="check that the file is whole, or write it anew",
        )
    return rows


def _check_batches(handle: int, shape: pa.Schema, wanted: set[int], name: str) -> int:
    rows = 0
    for is_dictionary, batch in _batches(handle, os.fstat(handle).st_size):
        refuse_rows(name, batch.rows)
        if any(not 0 <= missing <= length for length, missing in batch.nodes):
            raise _BrokenError
        _check_sizes(handle, batch, name)
        if is_dictionary:
            _check_dictionary(handle, batch)
        else:
            rows += batch.rows
            _check_missing(handle, batch, shape, wanted)
    return rows


def is_stream(path: Path) -> bool:
    """Whether what a file holds is a stream of messages, and no file of Arrow with a footer."""
    with path.open("rb") as held:
        return held.read(len(MAGIC)) != MAGIC


def _batches(handle: int, size: int) -> Iterator[tuple[bool, _Batch]]:
    """The batches of dictionaries and of rows, in the order of the footer, or of the stream where there is none."""
    if os.pread(handle, len(MAGIC), 0) != MAGIC:
        yield from _stream(handle, size)
        return
    tail = os.pread(handle, 4 + len(MAGIC), max(size - 4 - len(MAGIC), 0))
    length = int.from_bytes(tail[:4], "little")
    if tail[4:] != MAGIC or length > size - len(tail) - len(MAGIC):
        raise _BrokenError
    footer = _Flat(os.pread(handle, length, size - len(tail) - length))
    for field, is_dictionary in ((2, True), (3, False)):
        start, count = footer.vector(footer.field(footer.root, field), 24)
        for place in range(start, start + 24 * count, 24):
            at, metadata, body = footer.get("<q", place), footer.get("<i", place + 8), footer.get("<q", place + 16)
            if not (at >= 0 and metadata > 0 and body >= 0 and at + metadata + body <= size):
                raise _BrokenError
            yield is_dictionary, _read_batch(os.pread(handle, metadata, at), at + metadata, body, is_dictionary)


def _stream(handle: int, size: int) -> Iterator[tuple[bool, _Batch]]:
    """The batches of a stream: the schema, then one message after the other, to the mark of its end.

    Arrow takes the end of the file for it as well, and so does not notice that a file was cut.
    """
    at, before = 0, 0
    while at < size:
        lead = os.pread(handle, 8, at)
        length = int.from_bytes(lead[4:] if lead[:4] == _CONTINUES else lead[:4], "little", signed=True)
        start = at + (8 if lead[:4] == _CONTINUES else 4)
        if length == 0:
            if start != size or not before:  # what stands behind the end would not be read
                raise _BrokenError
            return
        if length < 0 or start + length > size:
            raise _BrokenError
        held = os.pread(handle, start - at + length, at)
        message = _Flat(held[start - at :])
        kind, body = message.number("<B", message.root, 1, 0), message.number("<q", message.root, 3, 0)
        at = start + length + body
        if body < 0 or at > size or (kind == _SCHEMA) != (before == 0):
            raise _BrokenError
        before = kind
        if kind != _SCHEMA:
            yield kind == _DICTIONARY, _read_batch(held, start + length, body, kind == _DICTIONARY)
    raise _BrokenError


def _read_batch(held: bytes, start: int, body: int, is_dictionary: bool) -> _Batch:
    message = _Flat(held[8:] if held[:4] == _CONTINUES else held[4:])
    kind = message.number("<B", message.root, 1, 0)
    if kind != (_DICTIONARY if is_dictionary else _RECORDS):
        raise _BrokenError
    table = message.table(message.field(message.root, 2))
    if is_dictionary:
        table = message.table(message.field(table, 1))
    nodes = message.pairs(message.field(table, 1))
    buffers = message.pairs(message.field(table, 2))
    if any(offset < 0 or length < 0 or offset + length > body for offset, length in buffers):
        raise _BrokenError
    packed = message.field(table, 3)
    codec = None if packed is None else _CODECS.get(message.number("<b", message.table(packed), 0, 0), "")
    first, count = message.vector(message.field(table, 4), 8)
    return _Batch(
        message.number("<q", table, 0, 0),
        nodes,
        tuple((start + offset, length) for offset, length in buffers),
        codec,
        tuple(message.get("<q", first + 8 * place) for place in range(count)),
    )


def _check_sizes(handle: int, batch: _Batch, name: str) -> None:
    """Raise where the buffers of a batch claim to unpack to more than is allowed."""
    if batch.codec is None:
        return
    total = sum(max(_unpacked(handle, at, length), 0) for at, length in batch.buffers if length)
    if total > LARGEST:
        raise DataError(
            "a batch of the file unpacks to more than is read at a time",
            came=name,
            allowed=f"{LARGEST:,} bytes",
            fix="write the file in smaller batches",
        )


def _unpacked(handle: int, at: int, length: int) -> int:
    """The bytes that a packed buffer claims to unpack to; -1 says that it is not packed."""
    if length < 8:
        raise _BrokenError
    found = int(struct.unpack("<q", os.pread(handle, 8, at))[0])
    if found < -1:
        raise _BrokenError
    return found


def _check_missing(handle: int, batch: _Batch, shape: pa.Schema, wanted: set[int]) -> None:
    """Raise where a column that claims to have no missing value has bits that say otherwise: Arrow would not read them."""
    node = buffer = view = 0
    for place, field in enumerate(shape):
        nodes, buffers, views = _count(field.type)
        if place in wanted:
            length, missing = batch.nodes[node] if node < len(batch.nodes) else (-1, 0)
            if length != batch.rows:
                raise _BrokenError
            if not missing and buffers and buffer < len(batch.buffers):
                _refuse_gaps(_read_buffer(handle, *batch.buffers[buffer], batch.codec), length)
        extra = batch.variadic[view : view + views]
        if len(extra) < views or any(count < 0 for count in extra):
            raise _BrokenError
        node, buffer, view = node + nodes, buffer + buffers + sum(extra), view + views
    if (node, buffer, view) != (len(batch.nodes), len(batch.buffers), len(batch.variadic)):
        raise _BrokenError


def _check_dictionary(handle: int, batch: _Batch) -> None:
    """Raise where the values of a dictionary hide missing ones in the same way."""
    if batch.nodes and not batch.nodes[0][1] and batch.buffers:
        _refuse_gaps(_read_buffer(handle, *batch.buffers[0], batch.codec), batch.nodes[0][0])


def _read_buffer(handle: int, at: int, length: int, codec: str | None) -> bytes:
    import pyarrow as pa

    if not length or codec is None:
        return os.pread(handle, length, at)
    size = _unpacked(handle, at, length)
    held = os.pread(handle, length - 8, at + 8)
    if size < 0:
        return held
    try:
        return pa.Codec("lz4" if codec == "lz4" else codec).decompress(held, size, asbytes=True)  # type: ignore[no-any-return]
    except (pa.ArrowException, OSError, ValueError):
        raise _BrokenError from None


def _refuse_gaps(bits: bytes, length: int) -> None:
    if not bits:
        return
    held = np.unpackbits(np.frombuffer(bits, dtype=np.uint8)[: (length + 7) // 8], bitorder="little")[:length]
    if len(held) < length or not held.all():
        raise _BrokenError


def _count(kind: Any) -> tuple[int, int, int]:
    """How many columns, buffers and counts of views a column of this type takes, with those inside it."""
    import pyarrow as pa
    from pyarrow import types

    if isinstance(kind, pa.BaseExtensionType):
        return _count(kind.storage_type)
    own, views, inner = 2, 0, [kind.field(place).type for place in range(kind.num_fields)]
    if types.is_null(kind) or types.is_run_end_encoded(kind):
        own = 0
    elif types.is_struct(kind) or types.is_fixed_size_list(kind) or (types.is_union(kind) and kind.mode == "sparse"):
        own = 1
    elif types.is_string_view(kind) or types.is_binary_view(kind):
        views = 1
    elif _has_offsets(kind) or types.is_list_view(kind) or types.is_large_list_view(kind):
        own = 3
    if types.is_dictionary(kind):
        inner = []
    if types.is_run_end_encoded(kind):
        inner = [kind.run_end_type, kind.value_type]
    counts = [_count(one) for one in inner]
    return 1 + sum(c[0] for c in counts), own + sum(c[1] for c in counts), views + sum(c[2] for c in counts)


def _has_offsets(kind: Any) -> bool:
    from pyarrow import types

    return any(
        matches(kind) for matches in (types.is_string, types.is_large_string, types.is_binary, types.is_large_binary)
    )


class _Flat:
    """Tables of FlatBuffers in bytes; what lies outside the bytes is broken."""

    def __init__(self, held: bytes) -> None:
        self.held = held
        self.root = self.get("<I", 0)

    def get(self, form: str, at: int) -> int:
        if not 0 <= at <= len(self.held) - struct.calcsize(form):
            raise _BrokenError
        return int(struct.unpack_from(form, self.held, at)[0])

    def field(self, table: int, number: int) -> int | None:
        """Where a field of a table lies; None where the table does not have it."""
        entries = table - self.get("<i", table)
        at = 4 + 2 * number
        if at + 2 > self.get("<H", entries):
            return None
        offset = self.get("<H", entries + at)
        return table + offset if offset else None

    def number(self, form: str, table: int, number: int, default: int) -> int:
        at = self.field(table, number)
        return default if at is None else self.get(form, at)

    def table(self, at: int | None) -> int:
        if at is None:
            raise _BrokenError
        return at + self.get("<I", at)

    def vector(self, at: int | None, size: int) -> tuple[int, int]:
        """Where the members of a vector begin, each of this size, and how many there are; none where there is no vector."""
        if at is None:
            return 0, 0
        start = at + self.get("<I", at)
        count = self.get("<I", start)
        if start + 4 + count * size > len(self.held):
            raise _BrokenError
        return start + 4, count

    def pairs(self, at: int | None) -> tuple[tuple[int, int], ...]:
        """A vector of pairs of numbers."""
        start, count = self.vector(at, 16)
        return tuple(
            (self.get("<q", place), self.get("<q", place + 8)) for place in range(start, start + 16 * count, 16)
        )
