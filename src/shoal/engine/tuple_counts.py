"""How often each tuple of small integers occurs: tuples packed into machine words, sorted, and counted as runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

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
CELLS = 20
"""Tuples of up to so many bits are counted where they point to, in a cell for each, and never sorted."""


@dataclass(frozen=True)
class _Field:
    """Where one column lies: in which word, how far from its right end, and how many bits wide."""

    word: int
    shift: int
    bits: int


class Tally:
    """Takes tuples in batches; column j counts from 0 to `sizes[j]` - 1. `result` has each tuple once, in order."""

    def __init__(self, sizes: Sequence[int], held: int = HELD) -> None:
        self._fields = _fields([max(size - 1, 0).bit_length() for size in sizes])
        words = range(self._fields[-1].word + 1)
        self._bits = [sum(field.bits for field in self._fields if field.word == word) for word in words]
        self._words: list[list[Words]] = [[] for _ in words]
        self._counts: list[Numbers] | None = None  # one for each row, until equal ones are counted together
        self._rows, self._least, self._most = 0, held, held
        self._cells: Numbers | None = None  # how often each tuple occurred before, if there is a cell for each

    def add(self, columns: Sequence[npt.NDArray[Any]], counts: Numbers | None = None) -> None:
        """Some rows, each as often as its count says."""
        rows = len(columns[0])
        packed = [np.zeros(rows, dtype=np.uint64) for _ in self._words]
        for field, column in zip(self._fields, columns, strict=True):
            packed[field.word] |= column.astype(np.uint64) << np.uint64(field.shift % WIDE)
        for word, part in zip(self._words, packed, strict=True):
            word.append(part)
        if counts is not None and self._counts is None:
            self._counts = [np.ones(self._rows, dtype=np.int64)]
        if self._counts is not None:
            self._counts.append(np.ones(rows, dtype=np.int64) if counts is None else counts)
        self._rows += rows
        if sum(self._bits) <= CELLS and self._rows > min(self._most, 1 << CELLS):
            self._cells = self._poured()
        elif self._rows > self._most:
            words, often = self._counted()
            self._words, self._counts, self._rows = [[word] for word in words], [often], len(often)
            self._most = max(self._least, 2 * self._rows)

    def result(self, first: int = 0) -> tuple[list[npt.NDArray[np.int32]], Numbers]:
        """The different tuples in their order, column by column, and how often each occurs; what came as 0 is now `first`."""
        words, counts = self._counted()
        columns = [np.empty(len(counts), dtype=np.int32) for _ in self._fields]
        for start in range(0, len(counts), STEP):  # what lies between stays in the cache
            some = slice(start, start + STEP)
            for field, column in zip(self._fields, columns, strict=True):
                column[some] = words[field.word][some] >> np.uint64(field.shift % WIDE) & _low(field.bits)
                column[some] += first
        return columns, counts

    def _counted(self) -> tuple[list[Words], Numbers]:
        """The different rows in order, and how often each occurs; takes what is held away."""
        bits = sum(self._bits)
        if self._cells is not None or (bits <= CELLS and self._rows << SPARSE > 1 << bits):
            cells = self._poured()
            used = np.flatnonzero(cells)
            return [used.astype(np.uint64)], cells[used]
        words = [np.concatenate([np.zeros(0, dtype=np.uint64), *word]) for word in self._words]
        counts = None if self._counts is None else np.concatenate(self._counts)
        self._words, self._counts = [[] for _ in words], None
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
        return [word[differs] for word in words], often

    def _poured(self) -> Numbers:
        """What is held, added to the cells; takes it away."""
        cells = np.zeros(1 << sum(self._bits), dtype=np.int64) if self._cells is None else self._cells
        keys = np.concatenate([np.zeros(0, dtype=np.uint64), *self._words[0]]).view(np.int64)
        if self._counts is None:
            cells += np.bincount(keys, minlength=len(cells))
        else:
            np.add.at(cells, keys, np.concatenate(self._counts))
        self._words, self._counts, self._rows = [[]], None, 0
        return cells


def _fields(widths: Sequence[int]) -> list[_Field]:
    """Columns side by side from the left of the first word, so that words compare as tuples do."""
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
    """Where a row differs from the one before; the first one does."""
    differs = np.ones(len(word), dtype=np.bool_)
    np.not_equal(word[1:], word[:-1], out=differs[1:])
    return differs


def _sort_two(first: Words, second: Words, bits: int) -> Where:
    """Sort rows in place by two words, the second so many bits wide, which are little more than one word together.

    What is too much goes ahead: rows are put into boxes by it, and each box is a word to sort. Three times as fast.
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
