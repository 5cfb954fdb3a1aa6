"""Whether bytes are well-formed CSV (RFC 4180), found in one vectorized pass that also counts the records.

A parser that guesses at a stray quote or pads a short record shifts values into other columns, and no two
parsers guess alike. So nothing is parsed before this pass has seen every byte: quotes enclose whole fields,
every record has as many fields as the header, every quote is closed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from shoal.errors import DataError

QUOTE, DELIMITER, LF, CR, NUL = 1, 2, 3, 4, 5
COUNTED = ", counted from 1 after the header"
"""What a message says of a row's number."""
Positions = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Survey:
    """What a well-formed file holds: records after the header, line ends inside quotes, the longest record in bytes."""

    records: int
    multiline: bool
    longest: int


def survey(blocks: Iterable[bytes], delimiter: str, quote: str | None, fields: int, name: str) -> Survey:
    """Look at every byte of UTF-8 text without its mark; DataError at the first fault of structure."""
    walk = _Walk(_table(delimiter, quote), fields, name)
    for block in blocks:
        if block:
            walk.step(np.frombuffer(block, dtype=np.uint8))
    return walk.end()


def _table(delimiter: str, quote: str | None) -> Bytes:
    """What each byte means."""
    table = np.zeros(256, dtype=np.uint8)
    for byte, meaning in ((quote, QUOTE), (delimiter, DELIMITER), ("\n", LF), ("\r", CR), ("\0", NUL)):
        if byte is not None:
            table[ord(byte)] = meaning
    return table


@dataclass
class _Walk:
    """The pass itself; carries over from block to block whatever a record or a quote needs."""

    table: Bytes
    fields: int
    name: str
    offset: int = 0  # of this block in the file
    inside: int = 0  # 1 within quotes
    last: int = LF  # the meaning of the byte before this block; a file begins as a line does
    closing: bool = False  # that byte closed a quote
    start: int = 0  # where the current record begins
    delimiters: int = 0  # in the current record so far
    records: int = -1  # the header is none
    longest: int = 0
    multiline: bool = False
    ragged: list[int] = field(default_factory=list)
    crs: int = 0  # line ends that begin with a CR
    pairs: int = 0  # those of them that are CR LF
    lfs: int = 0  # line ends that are an LF

    def step(self, block: Bytes) -> None:
        meaning = self.table[block]
        at = np.flatnonzero(meaning)
        kind = meaning[at]
        if (kind == NUL).any():
            raise DataError(
                "the file holds NUL bytes, so it is no text in the encoding it was read as",
                came=self.name,
                fix="save it as CSV in UTF-8, or say in the policy what it is, such as `file: {encoding: utf-16-le}`",
            )
        quotes = kind == QUOTE
        before = (self.inside + np.cumsum(quotes) - quotes) & 1
        previous = np.where(at > 0, meaning[at - 1], self.last)
        walked = replace(self, ragged=[])
        stray = self._stray(meaning, at[quotes], before[quotes], previous[quotes])
        if stray is not None:  # walk up to it once more, to say in which row it is
            if stray:
                walked.step(block[:stray])
            walked.refuse("a quote stands inside a cell that is not quoted as a whole")
        outside = (before == 0) & ~quotes
        ends = outside & ((kind == CR) | ((kind == LF) & (previous != CR)))
        self.multiline = self.multiline or bool((~outside & ((kind == CR) | (kind == LF))).any())
        second = outside & (kind == LF) & (previous == CR)  # of CR LF
        self.crs += int((ends & (kind == CR)).sum())
        self.lfs += int((ends & (kind == LF)).sum())
        self.pairs += int(second.sum())
        self._records(at, ends, second, np.cumsum(outside & (kind == DELIMITER)))
        self.inside = int((self.inside + quotes.sum()) & 1)
        self.last = int(meaning[-1])
        self.offset += len(block)

    def _stray(self, meaning: Bytes, at: Positions, before: npt.NDArray[Any], previous: Bytes) -> int | None:
        """Where the first quote is that does not belong there, if one is.

        An opening quote begins a cell (or follows a closing one: a doubled quote); a closing one ends it.
        """
        opening = before == 0
        closing = at[~opening]
        inner = closing[closing + 1 < len(meaning)]
        wrong = [*at[opening][previous[opening] == 0][:1], *inner[meaning[inner + 1] == 0][:1]]
        if self.closing and int(meaning[0]) == 0:
            wrong.append(np.int64(0))
        self.closing = bool(len(closing)) and int(closing[-1]) == len(meaning) - 1
        return int(min(wrong)) if wrong else None

    def _records(
        self, at: Positions, ends: npt.NDArray[np.bool_], second: npt.NDArray[np.bool_], delimiters: Positions
    ) -> None:
        """Count the fields of each record that ends in this block."""
        total = int(delimiters[-1]) if len(delimiters) else 0
        stops = at[ends] + self.offset
        # Where a record begins: after its line end, and after the LF of a CR LF (which may be in the next block).
        skip = np.concatenate([at[ends], at[second]]) + self.offset + 1
        starts = np.sort(skip)
        begin = np.empty(len(stops), dtype=np.int64)
        if len(stops):
            place = np.searchsorted(starts, stops, side="right")
            begin = np.where(place > 0, starts[np.maximum(place - 1, 0)], self.start) if len(starts) else begin
        here = np.diff(delimiters[ends], prepend=-self.delimiters)
        self._count(begin, stops, here)
        if len(starts):
            self.start = max(self.start, int(starts[-1]))
        self.delimiters = total - int(delimiters[ends][-1]) if len(stops) else self.delimiters + total

    def _count(self, begin: Positions, stops: Positions, delimiters: Positions) -> None:
        blank = (begin == stops) & (self.fields > 1)  # with one column, an empty line is a missing value
        number = self.records + np.cumsum(~blank)
        wrong = (delimiters + 1 != self.fields) & ~blank
        self.ragged.extend(number[wrong].tolist()[:2])
        if len(stops):
            self.records = int(number[-1])
            self.longest = max(self.longest, int((stops - begin).max()))

    def end(self) -> Survey:
        if self.inside:
            self.refuse("a quote is never closed")
        if self.offset > self.start:
            stop = np.array([self.offset])
            self._count(np.array([self.start]), stop, np.array([self.delimiters]))
        if self.ragged:
            raise DataError(
                "rows have another number of cells than the header",
                came=f"{self.name}, the first of them in row {self.ragged[0]}{COUNTED}",
                allowed=f"{self.fields} cell{'s' * (self.fields != 1)}",
                fix="quote cells that hold the delimiter, and check that `file: {delimiter: ...}` in the policy is right",
            )
        if self.fields == 1 and sum(map(bool, (self.lfs, self.pairs, self.crs - self.pairs))) > 1:
            # An empty line is a row here, so an LF alone would be a row of its own or the end of the row before.
            raise DataError(
                "lines of a file with one column end in several ways, so that an empty line may be a row or none",
                came=self.name,
                allowed="LF, CR LF or CR, the same in every line",
                fix="save the file again as CSV from the program that made it",
            )
        return Survey(max(0, self.records), self.multiline, self.longest)

    def refuse(self, wrong: str) -> NoReturn:
        """Say what is wrong with the row that is being walked over."""
        row = self.records + 1
        raise DataError(
            wrong,
            came=f"{self.name}, in the header line" if row < 1 else f"{self.name}, in row {row}{COUNTED}",
            allowed="a cell in quotes as a whole, with quotes inside it doubled",
            fix="save the file again as CSV from the program that made it, or say in the policy which sign quotes cells: "
            "`file: {quote: none}` if none does",
        )
