"""Thrift's compact protocol, in which Parquet writes its footer and page headers: read into lists that can be altered and written
again.

A struct is a list of fields [number, kind, value], in order; a list is [kind, values]. Nothing is known of what the numbers
mean, so any field can be altered, dropped, added or repeated.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Any

STOP, TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(13)
Struct = list[list[Any]]


@dataclass
class Reader:
    """Reads values one after the other from bytes."""

    data: bytes
    at: int = 0

    def byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def varint(self) -> int:
        shift = found = 0
        while True:
            one = self.byte()
            found |= (one & 127) << shift
            shift += 7
            if one < 128:
                return found

    def zigzag(self) -> int:
        found = self.varint()
        return (found >> 1) ^ -(found & 1)

    def value(self, kind: int) -> Any:
        if kind in (TRUE, FALSE):
            return kind == TRUE
        if kind == BYTE:
            return self.byte()
        if kind in (I16, I32, I64):
            return self.zigzag()
        if kind == DOUBLE:
            self.at += 8
            if self.at > len(self.data):
                raise IndexError(self.at)
            return struct.unpack("<d", self.data[self.at - 8 : self.at])[0]
        if kind == BINARY:
            size = self.varint()
            self.at += size
            return self.data[self.at - size : self.at]
        if kind in (LIST, SET):
            head = self.byte()
            size = head >> 4 if head >> 4 < 15 else self.varint()
            inner = head & 15
            return [inner, [self.byte() == 1 if inner in (TRUE, FALSE) else self.value(inner) for _ in range(size)]]
        if kind == STRUCT:
            return self.struct()
        raise ValueError(kind)

    def struct(self) -> Struct:
        found: Struct = []
        number = 0
        while (head := self.byte()) != STOP:
            number = number + (head >> 4) if head >> 4 else self.zigzag()
            found.append([number, head & 15, self.value(head & 15)])
        return found


@dataclass
class Writer:
    """Writes what `Reader` read."""

    made: bytearray = field(default_factory=bytearray)

    def varint(self, value: int) -> None:
        while value > 127:
            self.made.append(value & 127 | 128)
            value >>= 7
        self.made.append(value)

    def zigzag(self, value: int) -> None:
        self.varint(((value << 1) ^ (value >> 63)) & (1 << 64) - 1)

    def value(self, kind: int, value: Any) -> None:
        if kind == BYTE:
            self.made.append(value & 255)
        elif kind in (I16, I32, I64):
            self.zigzag(value)
        elif kind == DOUBLE:
            self.made += struct.pack("<d", value)
        elif kind == BINARY:
            self.varint(len(value))
            self.made += value
        elif kind in (LIST, SET):
            inner, values = value
            self.made.append(inner | (min(len(values), 15) << 4))
            if len(values) >= 15:
                self.varint(len(values))
            for each in values:
                if inner in (TRUE, FALSE):
                    self.made.append(1 if each else 2)
                else:
                    self.value(inner, each)
        elif kind == STRUCT:
            self.struct(value)

    def struct(self, fields: Struct) -> None:
        last = 0
        for number, kind, value in fields:
            written = kind if kind not in (TRUE, FALSE) else TRUE if value else FALSE
            if 0 < number - last < 16:
                self.made.append(written | (number - last) << 4)
            else:
                self.made.append(written)
                self.zigzag(number)
            self.value(kind, value)
            last = number
        self.made.append(STOP)


def read_struct(data: bytes) -> Struct:
    """Read one struct from the beginning of these bytes."""
    return Reader(data).struct()


def write_struct(fields: Struct) -> bytes:
    """Write one struct."""
    writer = Writer()
    writer.struct(fields)
    return bytes(writer.made)


def get(fields: Struct, *path: int) -> Any:
    """Give the value at a path of field numbers, and of positions in lists between them."""
    found: Any = fields
    for step in path:
        if found and isinstance(found[0], int):  # a list
            found = found[1][step]
        else:
            found = next(value for number, _, value in found if number == step)
    return found


def put(fields: Struct, number: int, kind: int, value: Any) -> None:
    """Set one field of a struct; None takes it away."""
    fields[:] = [each for each in fields if each[0] != number]
    if value is not None:
        fields.append([number, kind, value])
        fields.sort(key=lambda each: each[0])


def split_parquet(content: bytes) -> tuple[bytes, Struct]:
    """Give the pages of a Parquet file and its footer."""
    size = int.from_bytes(content[-8:-4], "little")
    return content[: -8 - size], read_struct(content[-8 - size : -8])


def join_parquet(pages: bytes, footer: Struct) -> bytes:
    """Give the Parquet file with these pages and this footer."""
    written = write_struct(footer)
    return pages + written + len(written).to_bytes(4, "little") + b"PAR1"
