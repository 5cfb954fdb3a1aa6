"""Many narrow tables from the same rows: what engines refuse, which columns are needed, and how each table is counted."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.data.hierarchy.level import Level
from shoal.engine.base import ABSENT, Array, Ask, RowMask
from shoal.engine.tuple_counts import Tally
from shoal.errors import UsageError

Coarse = tuple[str, Level]
"""A column at a level."""
STEP = 1 << 18
"""Rows whose masks are asked for at a time: what lies between stays in the cache."""
MEMORY = 1 << 29
"""Bytes of codes that are held in memory; more lie in a file."""
CELLS = 1 << 33
"""Codes that may be held at a time; asks that need more are answered in more than one pass."""


def refuse_asks(columns: Sequence[str], asks: Sequence[Ask]) -> None:
    """Raise where nothing is asked for, or a column that is not there."""
    if not asks:
        raise UsageError("ask for which tables?", came="none", allowed="at least one")
    for ask in asks:
        if not ask.levels:
            raise UsageError("a table without columns was asked for", fix="name at least one column and its level")
        for name in ask.levels:
            if name not in columns:
                raise UsageError("no such column", came=name, allowed=", ".join(columns))


def passes(asks: Sequence[Ask], rows: int) -> Iterator[tuple[list[Ask], list[Coarse]]]:
    """Asks in their order, as many at a time as there is room for the columns they need; each column once."""
    some: list[Ask] = []
    needed: dict[Coarse, None] = {}
    for ask in asks:
        more = dict.fromkeys(ask.levels.items())
        if some and len(needed | more) * rows > CELLS:
            yield some, list(needed)
            some, needed = [], {}
        some.append(ask)
        needed |= more
    yield some, list(needed)


@dataclass
class Codes:
    """Columns of small integers by the number of the row: `values[code - 1]`, or nothing where the code is 0.

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
    def of(cls, folder: str, rows: int) -> Codes:
        """Room for so many numbers; what is too much for memory goes to the folder."""
        return cls(folder, rows, np.zeros(rows, dtype=np.bool_))

    def add_numbered(self, values: Sequence[Array], batches: Iterable[tuple[list[npt.NDArray[Any]], Any]]) -> None:
        """More columns of the same rows, in any order, with their numbers."""
        first = len(self.columns)
        self.values += values
        self.columns += [self._room(len(each) + 1) for each in values]
        for codes, numbers in batches:
            at = _run(numbers)
            self.there[at] = True
            for column, some in zip(self.columns[first:], codes, strict=True):
                column[at] = some

    def add_counted(self, values: Sequence[Array], batches: Iterable[tuple[list[npt.NDArray[Any]], Any]]) -> None:
        """The columns of rows that have no numbers."""
        none = [np.zeros(0, dtype=np.uint8) for _ in values], np.zeros(0, dtype=np.int64)
        parts = [none, *batches]
        self.values += values
        self.columns += [np.concatenate(column) for column in zip(*(codes for codes, _ in parts), strict=True)]
        self.counts = np.concatenate([counts for _, counts in parts])

    def _room(self, size: int) -> npt.NDArray[Any]:
        """A column for so many different codes; its file has no name, and is gone with the array."""
        kind = np.min_scalar_type(size - 1)
        self.held += self.rows * kind.itemsize
        if self.held <= MEMORY:
            return np.zeros(self.rows, dtype=kind)
        with tempfile.TemporaryFile(dir=self.folder) as file:
            return np.memmap(file, dtype=kind, mode="w+", shape=(self.rows,))

    def counted(
        self, places: Sequence[int], mask: RowMask | None
    ) -> tuple[list[npt.NDArray[np.int32]], npt.NDArray[np.int64]]:
        """The different tuples of these columns in order, and how often each occurs among the rows that take part."""
        tally = Tally([len(self.values[place]) + 1 for place in places])
        chosen = [self.columns[place] for place in places]
        if self.counts is not None:
            tally.add(chosen, self.counts)
            return tally.result(first=ABSENT)
        gaps = not self.there.all()
        for start in range(0, self.rows, STEP):
            some = slice(start, min(start + STEP, self.rows))
            kept = self.there[some] if mask is None else mask(start, some.stop - start)
            at = np.flatnonzero(kept & self.there[some] if gaps else kept)
            tally.add([column[some].take(at) for column in chosen])
        return tally.result(first=ABSENT)


def _run(numbers: npt.NDArray[np.int64]) -> slice | npt.NDArray[np.int64]:
    """Numbers that follow each other as a slice."""
    count = len(numbers)
    if count and int(numbers[-1]) - int(numbers[0]) == count - 1 and bool((np.diff(numbers) == 1).all()):
        return slice(int(numbers[0]), int(numbers[0]) + count)
    return numbers
