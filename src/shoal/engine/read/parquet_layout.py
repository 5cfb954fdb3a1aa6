"""Where the pages of a Parquet file lie, by its footer and by their own headers, checked before any page is unpacked.

A reader that is told by a page that it holds one value more takes that value from its neighbour, and every row after it is
shifted in one column. So the pages of a column are walked through first: together they hold as many values as there are rows,
none unpacks to more than `LARGEST`, and none is a page of another column too. Nothing that is said of values (the smallest, the
largest, how many are missing) is looked at.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TypeVar

from shoal.engine.read.source import refuse_rows
from shoal.errors import DataError

LARGEST = 1 << 30
"""Bytes that one page may unpack to; writers make pages of about a million."""
LONG = 1 << 16
LONGEST_HEADER = 1 << 24
LONGEST_FOOTER = 1 << 28
END = b"PAR1"
DATA, INDEX, DICTIONARY, DATA_2 = range(4)
_STOP, _TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(13)
_SIZES = {_TRUE: 0, _FALSE: 0, _BYTE: 1, _DOUBLE: 8}
_DEEPEST = 16
_RUNS, _PREFIXES = 3, 7
"""The numbers of two encodings: runs and packed bits; texts that share their beginning with the text before."""
_OLD_TIMES, _TEXT = 3, 6
"""The numbers of two types: times as they were written once, and texts."""
T = TypeVar("T")


@dataclass(frozen=True)
class PageHeader:
    """What the header of one page says of it, and where the next page begins."""

    kind: int
    unpacked: int
    values: int
    rows: int | None
    levels: int | None
    encoding: int | None
    stop: int


@dataclass(frozen=True)
class Leaf:
    """A column of the file's schema without columns of its own: its path, and whether its values may be missing."""

    path: str
    optional: bool


@dataclass(frozen=True)
class ColumnChunk:
    """One column in one row group: its path, how many values it has, where its first page begins, and its bytes in all."""

    path: str
    kind: int
    values: int
    first: int
    size: int


@dataclass(frozen=True)
class RowGroup:
    """Some rows: how many, and their columns."""

    rows: int
    columns: tuple[ColumnChunk, ...]


@dataclass(frozen=True)
class WalkedPages:
    """Where the pages of a column end. Of texts also the bytes of the largest dictionary, and of the largest page in which a text
    begins as the text before it.
    """

    stop: int
    dictionary: int
    prefixes: int


@dataclass(frozen=True)
class SharedTexts:
    """Where a few bytes stand for many texts: columns with a dictionary of more than `LONG` bytes, and the bytes of the largest
    page in which a text begins as the text before it. No text is longer than its page.
    """

    coded: frozenset[str]
    prefixes: int


@dataclass(frozen=True)
class ParquetLayout:
    """The row groups of a file. `check_pages` walks through the pages of some columns."""

    file: Path
    groups: tuple[RowGroup, ...]

    @property
    def rows(self) -> int:
        """How many rows the row groups have together."""
        return sum(group.rows for group in self.groups)

    @property
    def old_times(self) -> frozenset[str]:
        """The columns whose times are of the old kind (INT96)."""
        return frozenset(column.path for group in self.groups for column in group.columns if column.kind == _OLD_TIMES)

    def check_pages(self, leaves: Sequence[Leaf], wanted: set[str]) -> SharedTexts:
        """Check the pages of these columns; DataError unless each holds as many values as its row group has rows.

        Gives which columns have rows that share long texts.

        `leaves` are the columns of the file's schema. A row group has them in this order: some readers find a column by its
        position, others by its path.
        """
        handle = os.open(self.file, os.O_RDONLY)
        coded, prefixes, spans = set(), 0, []
        try:
            size = os.fstat(handle).st_size
            for group in self.groups:
                if [column.path for column in group.columns] != [leaf.path for leaf in leaves]:
                    raise _unreadable(self.file.name)
                for column, leaf in zip(group.columns, leaves, strict=True):
                    if column.path in wanted:
                        if column.values != group.rows:
                            raise contradiction(self.file.name)
                        pages = walk_pages(handle, column, leaf, size, self.file.name)
                        coded |= {column.path} if pages.dictionary > LONG else set()
                        prefixes = max(prefixes, pages.prefixes)
                        spans.append((column.first, pages.stop))
                    else:
                        spans.append((column.first, column.first + column.size))
        finally:
            os.close(handle)
        used = sorted(span for span in spans if span[0] < span[1])
        if any(stop > start for (_, stop), (start, _) in pairwise(used)):
            raise DataError(
                "the file cannot be read: two of its columns have the same pages",
                came=self.file.name,
                fix="check that the file is whole, or write it anew",
            )
        return SharedTexts(frozenset(coded), prefixes)


def read_layout(file: Path) -> ParquetLayout:
    """Read where the columns of a file lie; DataError where its footer is broken or contradicts itself."""
    handle = os.open(file, os.O_RDONLY)
    try:
        size = os.fstat(handle).st_size
        tail = os.pread(handle, 8, max(size - 8, 0))
        length = int.from_bytes(tail[:4], "little")
        if len(tail) < 8 or tail[4:] != END or length > min(size - 12, LONGEST_FOOTER):
            raise _unreadable(file.name)
        held = os.pread(handle, length, size - 8 - length)
    finally:
        os.close(handle)
    try:
        rows, groups = _parse_footer(_Cursor(held))
    except (_BrokenError, EOFError):
        groups = None
    if groups is None:
        raise _unreadable(file.name)
    for group in groups:
        refuse_rows(file.name, group.rows)
    found = ParquetLayout(file, groups)
    if found.rows != rows:
        raise contradiction(file.name)
    return found


def contradiction(name: str) -> DataError:
    """Say that a file has another number of rows than it claims."""
    return DataError(
        "the table has another number of rows than its file says", came=name, fix="check that the file is whole"
    )


def _unreadable(name: str) -> DataError:
    return DataError(
        "the file cannot be read as Parquet", came=name, fix="check that it is whole and what its name says it is"
    )


class _BrokenError(Exception):
    """The bytes are no header."""


class _Cursor:
    """A place in bytes from which numbers of Thrift's compact protocol are read."""

    def __init__(self, held: bytes) -> None:
        self.held = held
        self.at = 0

    def byte(self) -> int:
        if self.at >= len(self.held):
            raise EOFError
        self.at += 1
        return self.held[self.at - 1]

    def number(self) -> int:
        found = 0
        for shift in range(0, 70, 7):
            one = self.byte()
            found |= (one & 127) << shift
            if one < 128:
                return found
        raise _BrokenError

    def signed(self) -> int:
        found = self.number()
        return (found >> 1) ^ -(found & 1)

    def jump(self, size: int) -> None:
        self.at += size
        if self.at > len(self.held):
            raise EOFError

    def fields(self) -> Iterator[tuple[int, int]]:
        """The number and kind of each field of a struct; whoever asks reads or skips the value."""
        number = 0
        while (head := self.byte()) != _STOP:
            number = number + (head >> 4) if head >> 4 else self.signed()
            yield number, head & 15

    def binary(self) -> bytes:
        size = self.number()
        self.jump(size)
        return self.held[self.at - size : self.at]

    def each(self, wanted: int, read: Callable[[], T]) -> list[T]:
        """Read the members of a list, which are all of the kind that is wanted."""
        head = self.byte()
        if head & 15 != wanted:
            raise _BrokenError
        return [read() for _ in range(head >> 4 if head >> 4 < 15 else self.number())]

    def skip(self, kind: int, depth: int = 0) -> None:
        if depth > _DEEPEST:
            raise _BrokenError
        if kind in (_TRUE, _FALSE, _BYTE, _DOUBLE):
            self.jump(_SIZES[kind])
        elif kind in (_I16, _I32, _I64):
            self.number()
        elif kind == _BINARY:
            self.jump(self.number())
        elif kind in (_LIST, _SET):
            head = self.byte()
            for _ in range(head >> 4 if head >> 4 < 15 else self.number()):
                if head & 15 in (_TRUE, _FALSE):
                    self.byte()
                else:
                    self.skip(head & 15, depth + 1)
        elif kind == _STRUCT:
            for _, inner in self.fields():
                self.skip(inner, depth + 1)
        else:
            raise _BrokenError


def _parse_footer(cursor: _Cursor) -> tuple[int, tuple[RowGroup, ...]]:
    rows, groups = -1, []
    for number, kind in cursor.fields():
        if (number, kind) == (3, _I64):
            rows = cursor.signed()
        elif (number, kind) == (4, _LIST):
            groups = cursor.each(_STRUCT, lambda: _parse_group(cursor))
        else:
            cursor.skip(kind)
    return rows, tuple(groups)


def _parse_group(cursor: _Cursor) -> RowGroup:
    rows, columns = -1, []
    for number, kind in cursor.fields():
        if (number, kind) == (3, _I64):
            rows = cursor.signed()
        elif (number, kind) == (1, _LIST):
            columns = cursor.each(_STRUCT, lambda: _parse_column(cursor))
        else:
            cursor.skip(kind)
    return RowGroup(rows, tuple(columns))


def _parse_column(cursor: _Cursor) -> ColumnChunk:
    found = ColumnChunk("", -1, -1, -1, 0)
    for number, kind in cursor.fields():
        if number == 1 and kind == _BINARY and cursor.binary():
            raise _BrokenError  # its pages lie in another file
        if (number, kind) == (3, _STRUCT):
            found = _parse_chunk(cursor)
        elif number != 1:
            cursor.skip(kind)
    return found


def _parse_chunk(cursor: _Cursor) -> ColumnChunk:
    path = ""
    numbers = {5: -1, 7: 0, 9: -1, 11: -1}
    stored = -1
    for number, kind in cursor.fields():
        if number in numbers and kind == _I64:
            numbers[number] = cursor.signed()
        elif (number, kind) == (1, _I32):
            stored = cursor.signed()
        elif (number, kind) == (3, _LIST):
            path = b".".join(cursor.each(_BINARY, cursor.binary)).decode(errors="replace")
        else:
            cursor.skip(kind)
    data, dictionary = numbers[9], numbers[11]
    if dictionary > data and numbers[5]:
        raise _BrokenError  # a dictionary comes first; some readers begin with it, others with what is said to be data
    return ColumnChunk(path, stored, numbers[5], dictionary if dictionary > 0 else data, numbers[7])


def walk_pages(file: int, column: ColumnChunk, leaf: Leaf, size: int, name: str) -> WalkedPages:
    """Read the headers of the pages of a column in an open file of this size; DataError unless they hold all values."""
    seen, start, dictionary, prefixes = 0, column.first, 0, 0
    while seen < column.values and start >= len(END):
        page = _read_header(file, start, size)
        if page is None or not 0 <= page.unpacked <= LARGEST or page.values < 0 or page.stop > size:
            raise _refusal(name)
        if page.kind in (DATA, DATA_2):
            seen += page.values
            # Bits that say which values are missing are packed in one way today. Readers disagree about pages that say otherwise.
            if page.rows not in (None, page.values) or (leaf.optional and page.levels not in (None, _RUNS)):
                raise _refusal(name)
        if column.kind == _TEXT and page.kind == DICTIONARY:
            dictionary = max(dictionary, page.unpacked)
        elif column.kind == _TEXT and page.encoding == _PREFIXES:
            prefixes = max(prefixes, page.unpacked)
        start = page.stop
    if seen != column.values:
        raise _refusal(name)
    return WalkedPages(start, dictionary, prefixes)


def _refusal(name: str) -> DataError:
    return DataError(
        "the file cannot be read: the pages of a column do not hold what it says",
        came=name,
        allowed=f"as many values as rows, and pages that unpack to {LARGEST:,} bytes at most",
        fix="check that the file is whole, or write it anew",
    )


def _read_header(file: int, start: int, stop: int) -> PageHeader | None:
    """Read the header that begins here; None where none does."""
    size = 256
    while True:
        size = min(size, stop - start)
        if size <= 0:
            return None
        held = os.pread(file, size, start)
        try:
            return _parse(_Cursor(held), start)
        except _BrokenError:
            return None
        except EOFError:
            if size >= min(LONGEST_HEADER, stop - start) or len(held) < size:
                return None
            size *= 16


def _parse(cursor: _Cursor, start: int) -> PageHeader:
    numbers = {1: -1, 2: -1, 3: -1}
    values, rows, levels, encoding = 0, None, None, None
    for number, kind in cursor.fields():
        if number in numbers and kind == _I32:
            numbers[number] = cursor.signed()
        elif number in (5, 7, 8) and kind == _STRUCT:
            for inner, inner_kind in cursor.fields():
                if inner == 1 and inner_kind == _I32:
                    values = cursor.signed()
                elif number == 8 and inner == 3 and inner_kind == _I32:
                    rows = cursor.signed()
                elif number == 5 and inner == 3 and inner_kind == _I32:
                    levels = cursor.signed()
                elif (number, inner) in ((5, 2), (8, 4)) and inner_kind == _I32:
                    encoding = cursor.signed()
                else:
                    cursor.skip(inner_kind)
        else:
            cursor.skip(kind)
    if numbers[3] < 0:
        raise _BrokenError
    return PageHeader(numbers[1], numbers[2], values, rows, levels, encoding, start + cursor.at + numbers[3])
