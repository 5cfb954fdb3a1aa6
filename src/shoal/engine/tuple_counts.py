"""How often each tuple of small integers occurs: packed into machine words, sorted, and counted as runs; one or many tables."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.data.hierarchy.level import Level
from shoal.engine.base import ABSENT, Array, RecodeRequest, RowMask
from shoal.errors import UsageError

Words = npt.NDArray[np.uint64]
Numbers = npt.NDArray[np.int64]
Where = npt.NDArray[np.bool_]
WIDE, LATER = 64, 40
"""Bits of the first word and of every later one, which leaves room for the number of a row beside it."""
SPARSE = 4
"""Cells are worth it where there are fewer than 2^4 for each row."""
LEAD = 16
"""Bits by which NumPy sorts in one sweep."""
STEP = 1 << 16
HELD = 1 << 24
"""Rows that are held before equal ones are counted together, so that memory follows the tuples and not the rows."""
CELL_BITS = 20
"""Tuples of up to so many bits are counted where they point to, in a cell for each, and never sorted."""


@dataclass(frozen=True)
class _Field:
    """Where one column lies: in which word, how far from its right end, and how many bits wide."""

    word: int
    shift: int
    bits: int


class TupleCounter:
    """Counts tuples that come in batches; the codes of column j go from 0 to `sizes[j]` - 1.

    >>> counter = TupleCounter([3, 2])
    >>> counter.add([np.array([2, 0, 2]), np.array([1, 0, 1])])
    >>> columns, counts = counter.result()
    >>> [column.tolist() for column in columns], counts.tolist()
    ([[0, 2], [0, 1]], [1, 2])
    """

    def __init__(self, sizes: Sequence[int], held: int = HELD) -> None:
        self._fields = _fields([max(size - 1, 0).bit_length() for size in sizes])
        words = range(self._fields[-1].word + 1)
        self._bits = [sum(field.bits for field in self._fields if field.word == word) for word in words]
        self._words: list[list[Words]] = [[] for _ in words]
        self._counts: list[Numbers] | None = None  # one for each row, until equal ones are counted together
        self._rows, self._least, self._most = 0, held, held
        self._cells: Numbers | None = None  # how often each tuple occurred before, if there is a cell for each

    def add(self, columns: Sequence[npt.NDArray[Any]], counts: Numbers | None = None) -> None:
        """Add some tuples, each as often as its count says."""
        rows = len(columns[0])
        packed = [np.zeros(rows, dtype=np.uint64) for _ in self._words]
        for lane, column in zip(self._fields, columns, strict=True):
            packed[lane.word] |= column.astype(np.uint64) << np.uint64(lane.shift % WIDE)
        for word, part in zip(self._words, packed, strict=True):
            word.append(part)
        if counts is not None and self._counts is None:
            self._counts = [np.ones(self._rows, dtype=np.int64)]
        if self._counts is not None:
            self._counts.append(np.ones(rows, dtype=np.int64) if counts is None else counts)
        self._rows += rows
        if sum(self._bits) <= CELL_BITS and self._rows > min(self._most, 1 << CELL_BITS):
            self._cells = self._add_to_cells()
        elif self._rows > self._most:
            words, often = self._count_runs()
            self._words, self._counts, self._rows = [[word] for word in words], [often], len(often)
            self._most = max(self._least, 2 * self._rows)

    def result(self, first: int = 0) -> tuple[list[npt.NDArray[np.int32]], Numbers]:
        """Give the distinct tuples in order, column by column, and how often each occurs; the code 0 is returned as `first`."""
        words, counts = self._count_runs()
        columns = [np.empty(len(counts), dtype=np.int32) for _ in self._fields]
        for start in range(0, len(counts), STEP):  # what lies between stays in the cache
            some = slice(start, start + STEP)
            for lane, column in zip(self._fields, columns, strict=True):
                column[some] = words[lane.word][some] >> np.uint64(lane.shift % WIDE) & _low(lane.bits)
                column[some] += first
        return columns, counts

    def _count_runs(self) -> tuple[list[Words], Numbers]:
        """Count the tuples that are held: the distinct ones in order, and how often each occurs. Nothing is held afterwards."""
        bits = sum(self._bits)
        if self._cells is not None or (bits <= CELL_BITS and self._rows << SPARSE > 1 << bits):
            cells = self._add_to_cells()
            used = np.flatnonzero(cells)
            return [used.astype(np.uint64)], cells[used]
        words = []
        for place in range(len(self._words)):  # what was put together is let go at once
            words.append(np.concatenate([np.zeros(0, dtype=np.uint64), *self._words[place]]))
            self._words[place] = []
        counts = None if self._counts is None else np.concatenate(self._counts)
        self._counts = None
        if counts is not None:
            differs = _sort([*words, counts], len(words))
        elif len(words) == 1:
            words[0].sort()
            differs = _steps(words[0])
        elif len(words) == 2 and sum(self._bits) <= WIDE + LEAD:
            differs = _sort_two(words[0], words[1], self._bits[1])
        else:
            differs = _sort(words, len(words))
        starts = np.flatnonzero(differs)
        if counts is None:
            often = np.diff(starts, append=len(differs))
        else:
            often = np.add.reduceat(counts, starts) if len(starts) else counts
        if len(starts) < len(differs):
            for place in range(len(words)):
                words[place] = words[place][starts]
        return words, often

    def _add_to_cells(self) -> Numbers:
        """Add the tuples that are held to the cells. Nothing is held afterwards."""
        cells = np.zeros(1 << sum(self._bits), dtype=np.int64) if self._cells is None else self._cells
        keys = np.concatenate([np.zeros(0, dtype=np.uint64), *self._words[0]]).view(np.int64)
        if self._counts is None:
            cells += np.bincount(keys, minlength=len(cells))
        else:
            np.add.at(cells, keys, np.concatenate(self._counts))
        self._words, self._counts, self._rows = [[]], None, 0
        return cells


def sum_by_code(codes: npt.NDArray[Any], counts: Numbers | None, size: int) -> Numbers:
    """Add counts up by code, one for each row where there are none; sums below 2^53 are exact in the floats of bincount."""
    if counts is None or (len(counts) and counts.max() == 1):  # nothing to weigh
        return np.bincount(codes, minlength=size)
    return np.bincount(codes, weights=counts, minlength=size).astype(np.int64)


def _fields(widths: Sequence[int]) -> list[_Field]:
    """Lay columns side by side from the left of the first word, so that words compare as tuples do."""
    placed: list[tuple[int, int, int]] = []
    word, used = 0, 0
    for bits in widths:
        if used + bits > (LATER if word else WIDE):
            word, used = word + 1, 0
        used += bits
        placed.append((word, used, bits))
    full = {word: used for word, used, _ in placed}
    return [_Field(word, full[word] - used, bits) for word, used, bits in placed]


def _low(bits: int) -> np.uint64:
    return np.uint64((1 << bits) - 1)


def _steps(word: npt.NDArray[Any]) -> Where:
    """Say where a row differs from the one before; the first row does."""
    differs = np.ones(len(word), dtype=np.bool_)
    np.not_equal(word[1:], word[:-1], out=differs[1:])
    return differs


def _sort_two(first: Words, second: Words, bits: int) -> Where:
    """Sort rows in place by two words, the second so many bits wide, which are little more than one word together.

    The leading bits that do not fit distribute the rows into buckets, and each bucket is sorted by one word: three times as fast.
    """
    over = np.uint64(WIDE - bits)
    lead = (first >> over).astype(np.uint16)
    rest = first << np.uint64(bits) | second
    rest = rest[np.argsort(lead, kind="stable")]
    sizes = np.bincount(lead, minlength=1 << LEAD)
    for start, stop in pairwise([0, *np.cumsum(sizes).tolist()]):
        rest[start:stop].sort()
    lead = np.repeat(np.arange(1 << LEAD, dtype=np.uint16), sizes)
    first[:] = lead.astype(np.uint64) << over | rest >> np.uint64(bits)
    second[:] = rest & _low(bits)
    return _steps(rest) | _steps(lead)


def _sort(carried: Sequence[npt.NDArray[Any]], keys: int) -> Where:
    """Sort rows in place by the first `keys` arrays, the others carried along; where a row differs from the one before."""
    order = np.argsort(carried[0])
    for held in carried:
        held[:] = held[order]
    differs = _steps(carried[0])
    for place in range(1, keys):
        # Rows that are equal so far are sorted on, run by run: by the number of the run, then by the word.
        tied = ~differs
        tied[:-1] |= ~differs[1:]
        rows = np.flatnonzero(tied)
        runs = np.cumsum(differs[rows], dtype=np.uint64)
        word = carried[place][rows]
        fits = len(rows) < 1 << (WIDE - LATER)
        inner = np.argsort(runs << np.uint64(LATER) | word) if fits else np.lexsort((word, runs))
        for held in carried[place:]:
            held[rows] = held[rows[inner]]
        differs |= _steps(carried[place])
    return differs


ColumnAtLevel = tuple[str, Level]
"""The name of a column, and the level that it is recoded to."""
MASK_ROWS = 1 << 18
"""Rows whose mask is asked for at a time: what lies between stays in the cache."""
MEMORY = 1 << 29
"""Bytes of codes that are held in memory; more lie in a file."""
MOST_CODES = 1 << 33
"""Codes that may be held at a time; requests that need more are answered in more than one pass."""


def refuse_requests(columns: Sequence[str], requests: Sequence[RecodeRequest]) -> None:
    """Raise UsageError where there is no request, or one names no column or a column that is not there."""
    if not requests:
        raise UsageError("no table was requested", came="none", allowed="at least one")
    for request in requests:
        if not request.levels:
            raise UsageError("a request without columns", fix="name at least one column and its level")
        for name in request.levels:
            if name not in columns:
                raise UsageError("no such column", came=name, allowed=", ".join(columns))


def passes(requests: Sequence[RecodeRequest], rows: int) -> Iterator[tuple[list[RecodeRequest], list[ColumnAtLevel]]]:
    """Group requests in their order, as many at a time as there is room for the columns they need; each column once."""
    some: list[RecodeRequest] = []
    needed: dict[ColumnAtLevel, None] = {}
    for request in requests:
        more = dict.fromkeys(request.levels.items())
        if some and len(needed | more) * rows > MOST_CODES:
            yield some, list(needed)
            some, needed = [], {}
        some.append(request)
        needed |= more
    yield some, list(needed)


@dataclass
class CodeTable:
    """Columns of codes by row number: a cell holds `values[code - 1]`, or is missing where the code is 0.

    `there` says which numbers have a row. Rows without numbers are in any order, and `counts` says how often each
    occurs.
    """

    folder: str
    rows: int
    there: npt.NDArray[np.bool_]
    counts: npt.NDArray[np.int64] | None = None
    values: list[Array] = field(default_factory=list)
    columns: list[npt.NDArray[Any]] = field(default_factory=list)
    held: int = 0

    @classmethod
    def of(cls, folder: str, rows: int) -> CodeTable:
        """Make room for so many row numbers; what is too much for memory goes to the folder."""
        return cls(folder, rows, np.zeros(rows, dtype=np.bool_))

    def add_numbered(self, values: Sequence[Array], batches: Iterable[tuple[list[npt.NDArray[Any]], Any]]) -> None:
        """Add columns of the same rows, in any order, with their row numbers."""
        first = len(self.columns)
        self.values += values
        self.columns += [self._allocate(len(each) + 1) for each in values]
        for codes, numbers in batches:
            at = _as_slice(numbers)
            self.there[at] = True
            for column, some in zip(self.columns[first:], codes, strict=True):
                column[at] = some

    def add_rows(self, values: Sequence[Array], batches: Iterable[tuple[list[npt.NDArray[Any]], Any]]) -> None:
        """Add the columns of rows in any order: with counts, or once each and numbered as they come."""
        batches = iter(batches)
        first = next(batches, None)
        every = batches if first is None else itertools.chain([first], batches)
        if first is None or first[1] is not None:
            self.add_counted(values, every)
        else:
            self.add_numbered(values, _number_rows(codes for codes, _ in every))

    def add_counted(self, values: Sequence[Array], batches: Iterable[tuple[list[npt.NDArray[Any]], Any]]) -> None:
        """Add the columns of rows that have counts and no numbers."""
        none = [np.zeros(0, dtype=np.uint8) for _ in values], np.zeros(0, dtype=np.int64)
        parts = [none, *batches]
        self.values += values
        self.columns += [np.concatenate(column) for column in zip(*(codes for codes, _ in parts), strict=True)]
        self.counts = np.concatenate([counts for _, counts in parts])

    def chunks(self) -> Iterator[tuple[list[npt.NDArray[Any]], npt.NDArray[np.int64] | None]]:
        """Give the codes of some rows at a time, column by column, and how often each row occurs (None: once)."""
        count = int(self.there.sum()) if self.counts is None else len(self.counts)
        for start in range(0, count, MASK_ROWS):
            some = slice(start, min(start + MASK_ROWS, count))
            yield [column[some] for column in self.columns], None if self.counts is None else self.counts[some]

    def _allocate(self, size: int) -> npt.NDArray[Any]:
        """Allocate a column for so many different codes; its file has no name, and is gone with the array."""
        kind = np.min_scalar_type(size - 1)
        self.held += self.rows * kind.itemsize
        if self.held <= MEMORY:
            return np.zeros(self.rows, dtype=kind)
        with tempfile.TemporaryFile(dir=self.folder) as file:
            return np.memmap(file, dtype=kind, mode="w+", shape=(self.rows,))

    def count(
        self, places: Sequence[int], mask: RowMask | None
    ) -> tuple[list[npt.NDArray[np.int32]], npt.NDArray[np.int64]]:
        """Count the rows of each distinct tuple of these columns, among the rows that the mask keeps; tuples in order."""
        counter = TupleCounter([len(self.values[place]) + 1 for place in places])
        chosen = [self.columns[place] for place in places]
        if self.counts is not None:
            counter.add(chosen, self.counts)
            return counter.result(first=ABSENT)
        gaps = not self.there.all()
        for start in range(0, self.rows, MASK_ROWS):
            some = slice(start, min(start + MASK_ROWS, self.rows))
            kept = self.there[some] if mask is None else mask(start, some.stop - start)
            at = np.flatnonzero(kept & self.there[some] if gaps else kept)
            counter.add([column[some].take(at) for column in chosen])
        return counter.result(first=ABSENT)


def _number_rows(batches: Iterable[list[npt.NDArray[Any]]]) -> Iterator[tuple[list[npt.NDArray[Any]], Numbers]]:
    first = 0
    for codes in batches:
        yield codes, np.arange(first, first + len(codes[0]))
        first += len(codes[0])


def _as_slice(numbers: npt.NDArray[np.int64]) -> slice | npt.NDArray[np.int64]:
    """Turn row numbers that follow each other into a slice."""
    count = len(numbers)
    if count and int(numbers[-1]) - int(numbers[0]) == count - 1 and bool((np.diff(numbers) == 1).all()):
        return slice(int(numbers[0]), int(numbers[0]) + count)
    return numbers
