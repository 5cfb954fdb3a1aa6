"""CSV files, read as the policy says they are written; only the header line may decide anything else, and no row.

A file that is written otherwise is refused as a whole, and the message says which key of the policy would read it.

A parser that guesses at a stray quote or pads a short record shifts values into other columns, and no two parsers guess alike.
So nothing is parsed before one vectorized pass has checked every byte and found well-formed CSV (RFC 4180): quotes enclose
whole cells, every record has as many cells as the header, every quote is closed. The pass also counts the records.
"""

from __future__ import annotations

import codecs
import csv
import io
import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import numpy.typing as npt

from shoal.data.schema import DELIMITERS, FileFormat
from shoal.engine.read.foreign.compressed import blocks_of, is_packed
from shoal.errors import DataError
from shoal.progress import Stage, silent

if TYPE_CHECKING:
    import pyarrow as pa

QUOTE, DELIMITER, LF, CR, NUL = 1, 2, 3, 4, 5
COUNTED = ", counted from 1 after the header"
"""How a message says where row numbers begin."""
Positions = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class CsvStructure:
    """The structure of a well-formed file: how many records follow the header, whether cells hold line ends, and how many bytes
    the longest record has.
    """

    records: int
    multiline: bool
    longest: int


def check_structure(blocks: Iterable[bytes], delimiter: str, quote: str | None, fields: int, name: str) -> CsvStructure:
    """Check every byte of UTF-8 text (without a byte order mark); DataError at the first fault of structure."""
    walk = _Walk(_table(delimiter, quote), fields, name)
    rare = [sign.encode() for sign in (quote, "\r", "\0") if sign is not None]
    for block in blocks:
        if not block:
            continue
        letters = np.frombuffer(block, dtype=np.uint8)
        if walk.between_cells and not any(sign in block for sign in rare):
            walk.step_plain(letters)
        else:
            walk.step(letters)
    return walk.end()


def _table(delimiter: str, quote: str | None) -> Bytes:
    """Give the meaning of each byte."""
    table = np.zeros(256, dtype=np.uint8)
    for byte, meaning in ((quote, QUOTE), (delimiter, DELIMITER), ("\n", LF), ("\r", CR), ("\0", NUL)):
        if byte is not None:
            table[ord(byte)] = meaning
    return table


@dataclass
class _Walk:
    """The pass over all blocks, with what it carries from one block to the next."""

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

    @property
    def between_cells(self) -> bool:
        """Whether neither a quote nor a CR LF may go on in the next block."""
        return not self.inside and not self.closing and self.last not in (QUOTE, CR)

    def step_plain(self, block: Bytes) -> None:
        """Do what `step` does for a block without quotes, CRs and NUL bytes: every delimiter and every LF is what it seems."""
        delimiter = int(np.flatnonzero(self.table == DELIMITER)[0])
        for first in range(0, len(block), PIECE):
            piece = block[first : first + PIECE]
            lines = piece == ord("\n")
            at = np.flatnonzero(lines | (piece == delimiter))
            # Where every record is whole, each so-manieth sign is a line end, and there are no others.
            ends = np.arange(self.fields - 1 - self.delimiters, len(at), self.fields)
            whole = (
                self.delimiters < self.fields and np.count_nonzero(lines) == len(ends) and bool(lines[at[ends]].all())
            )
            if not whole:
                ends = np.flatnonzero(lines[at])
            stops = at[ends] + self.offset + first
            self.lfs += len(stops)
            if not len(stops):
                self.delimiters += len(at)
                continue
            if whole:  # nothing to count: no record has too few cells, and none is blank
                self.records += len(stops)
                self.longest = max(
                    self.longest, int(stops[0]) - self.start, int((stops[1:] - stops[:-1]).max(initial=1)) - 1
                )
            else:
                delimiters = np.diff(ends, prepend=-1) - 1
                delimiters[0] += self.delimiters
                self._count(np.concatenate([[self.start], stops[:-1] + 1]), stops, delimiters)
            self.start, self.delimiters = int(stops[-1]) + 1, len(at) - 1 - int(ends[-1])
        self.last = int(self.table[block[-1]])
        self.offset += len(block)

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
        stray = self._find_stray_quote(meaning, at[quotes], before[quotes], previous[quotes])
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

    def _find_stray_quote(self, meaning: Bytes, at: Positions, before: npt.NDArray[Any], previous: Bytes) -> int | None:
        """Find the first quote that neither begins nor ends a cell, if there is one.

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

    def end(self) -> CsvStructure:
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
        return CsvStructure(max(0, self.records), self.multiline, self.longest)

    def refuse(self, wrong: str) -> NoReturn:
        """Raise DataError for the row that the pass has reached."""
        row = self.records + 1
        raise DataError(
            wrong,
            came=f"{self.name}, in the header line" if row < 1 else f"{self.name}, in row {row}{COUNTED}",
            allowed="a cell in quotes as a whole, with quotes inside it doubled",
            fix="save the file again as CSV from the program that made it, or say in the policy which sign quotes cells: "
            "`file: {quote: none}` if none does",
        )


BLOCK = 1 << 22
PIECE = 1 << 18
"""Bytes that are looked at together: what lies between stays in the cache."""
LONGEST_HEADER = 1 << 24
"""Letters that a header line may have; a file whose first line is longer is no table with a header."""

_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


@dataclass(frozen=True)
class CsvFile:
    """A CSV file whose header line was read; its structure can be checked and its rows read in order."""

    path: Path
    delimiter: str
    quote: str | None
    encoding: str
    names: tuple[str, ...]

    stage: Stage = silent

    @cached_property
    def structure(self) -> CsvStructure:
        """The structure of the file; DataError where it is not well-formed CSV."""
        blocks = utf8_blocks(self.path, self.encoding, self.stage)
        return check_structure(blocks, self.delimiter, self.quote, len(self.names), self.path.name)

    def batches(self, wanted: Sequence[int]) -> Iterator[pa.RecordBatch]:
        """Read the columns at these positions as text, missing where the cell is empty; they are named by their position."""
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        names = [str(place) for place in range(len(self.names))]
        chosen = [names[place] for place in wanted]
        reader = arrow_csv.open_csv(
            pa.OSFile(str(self.path))
            if self.encoding == "utf-8" and not self.structure.multiline and not is_packed(self.path)
            else pa.PythonFile(_Utf8File(self.path, self.encoding)),
            read_options=arrow_csv.ReadOptions(
                use_threads=False,  # the streaming reader parses one block after the other anyway
                column_names=names,
                block_size=max(BLOCK, 2 * self.structure.longest + 1024),
            ),
            parse_options=arrow_csv.ParseOptions(
                delimiter=self.delimiter,
                quote_char=self.quote if self.quote is not None else False,
                double_quote=True,
                escape_char=False,
                newlines_in_values=self.structure.multiline,
                ignore_empty_lines=len(names) > 1,
            ),
            convert_options=arrow_csv.ConvertOptions(
                include_columns=chosen,
                column_types=dict.fromkeys(chosen, pa.string()),
                check_utf8=True,  # so what is read needs no validation beyond
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=True,
            ),
        )
        first = True
        for batch in reader:
            yield batch.slice(1) if first else batch  # the first record is the header
            first = False


def read_header(path: Path, form: FileFormat, declared: Sequence[str], stage: Stage = silent) -> CsvFile:
    """Read the header line; where the policy names no delimiter, take the one that shows most of the declared columns, or,
    where none is declared, most columns.

    The result depends on the policy and on the header line alone. No row is read; when the structure is, `stage` is told.
    """
    size = path.stat().st_size
    if size:  # what the system makes up (in /proc) has no size, and is not read
        refuse_mark(path, form.encoding)
    line = _header_line(path, form.encoding) if size else ""
    if not line.strip("\t ,;|"):
        raise DataError(
            "the first line is empty" if size > len(codecs.BOM_UTF8) else "the file is empty",
            came=path.name,
            allowed="a header line with the names of the columns",
            fix="write the table into the file again, with the names of its columns in the first line",
        )
    ways = [form.delimiter] if form.delimiter else [each for each in DELIMITERS if each != form.quote]
    # max() takes the first of equals: a comma, unless something else shows more columns.
    shown = {way: _cells(line, way, form.quote) or () for way in ways}
    delimiter = max(ways, key=lambda way: len(set(shown[way]) & set(declared)) if declared else len(shown[way]))
    names = _cells(line, delimiter, form.quote)
    if names is None:
        raise DataError(
            "the header line does not read as CSV",
            came=path.name,
            allowed="names on one line, in quotes as a whole or not at all",
            fix="correct its quotes, or say in the policy which sign quotes cells: `file: {quote: ...}`",
        )
    check_structure([line.encode()], delimiter, form.quote, len(names), path.name)
    return CsvFile(path, delimiter, form.quote, form.encoding, names, stage)


def refuse_mark(path: Path, encoding: str) -> None:
    """Raise where the file begins with the byte order mark of another encoding, or lacks the one that its encoding needs."""
    head = next(blocks_of(path), b"")[:4]
    marked = next((name for mark, name in _MARKS if head.startswith(mark)), None)
    if marked == "utf-32":
        raise DataError("the file is in UTF-32, which is not read", came=path.name, fix="save it as UTF-8")
    if encoding == "utf-16" and marked not in ("utf-16-le", "utf-16-be"):
        raise DataError(
            "the file begins with no byte order mark, so that nobody can say which of two bytes comes first",
            came=path.name,
            allowed="utf-16 with a byte order mark",
            fix="write `file: {encoding: utf-16-le}` or `utf-16-be` into the policy, whichever it is",
        )
    if marked not in (None, encoding) and encoding != "utf-16":
        raise DataError(
            f"the file begins with the byte order mark of {marked}",
            came=path.name,
            allowed=f"{encoding}, as the policy says",
            fix=f"save the file as UTF-8, or write `file: {{encoding: {marked}}}` into the policy",
        )


def _header_line(path: Path, encoding: str) -> str:
    """Read the letters up to the first line end."""
    held = ""
    for block in utf8_blocks(path, encoding):
        held += block.decode("utf-8")
        ends = [place for end in "\r\n" if (place := held.find(end)) >= 0]
        if ends:
            return held[: min(ends)]
        if len(held) > LONGEST_HEADER:
            raise DataError(
                "the first line is too long for a header", came=path.name, fix="check that it is a CSV file"
            )
    return held


def _cells(line: str, delimiter: str, quote: str | None) -> tuple[str, ...] | None:
    """Split one line into cells; None where a quote is not closed on it. `check_structure` is stricter."""
    if quote is None:
        return tuple(line.split(delimiter))
    try:
        return tuple(next(csv.reader([line], delimiter=delimiter, quotechar=quote, strict=True)))
    except (csv.Error, StopIteration):
        return None


def utf8_blocks(path: Path, encoding: str, stage: Stage = silent) -> Iterator[bytes]:
    """Read the file as UTF-8 without a byte order mark, in blocks; DataError where it does not decode."""
    decoder = codecs.getincrementaldecoder(encoding)()
    first = True
    for block in itertools.chain(blocks_of(path, BLOCK, stage), (b"",)):
        if encoding == "utf-8" and block.isascii() and not decoder.getstate()[0]:
            first = first and not block
            yield block
            continue
        try:
            text = decoder.decode(block, final=not block)
        except UnicodeDecodeError:
            text = None
        if text is None:
            raise _not_in(path, encoding)
        if first and text:
            text, first = text.removeprefix("\ufeff"), False
        yield text.encode()


def _not_in(path: Path, encoding: str) -> DataError:
    other = "windows-1252" if encoding == "utf-8" else "utf-8"
    return DataError(
        f"the file is not in {encoding}",
        came=path.name,
        allowed=f"{encoding}, as the policy says" if encoding != "utf-8" else "utf-8, unless the policy says otherwise",
        fix=f"save it as UTF-8, or say in the policy what it is, such as `file: {{encoding: {other}}}`",
    )


class _Utf8File(io.RawIOBase):
    """A file object that gives a file of any encoding as UTF-8 bytes; no piece of it ends between a CR and an LF.

    Arrow takes an LF away that begins a piece after a CR, inside quotes too: how long the rows before are would decide whether a
    cell keeps its LF.
    """

    def __init__(self, path: Path, encoding: str) -> None:
        self._blocks = utf8_blocks(path, encoding)
        self._rest = b""

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        pieces, length = [self._rest], len(self._rest)
        while size < 0 or length <= size:  # as much as is asked for: a row may not lie in three pieces
            block = next(self._blocks, None)
            if block is None:
                break
            pieces.append(block)
            length += len(block)
        held = b"".join(pieces)
        part = held if size < 0 else held[:size]
        if len(part) > 1 and part.endswith(b"\r") and held[len(part) : len(part) + 1] == b"\n":
            part = part[:-1]
        self._rest = held[len(part) :]
        return part
