"""CSV files: read as the policy says they are written, with nothing but the header line looked at to decide how.

A file that is written otherwise is refused as a whole, and the message says which key of the policy would read it.
"""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from shoal.data.file_format import DELIMITERS, FileFormat
from shoal.engine.read.csv_structure import Survey, survey
from shoal.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa

BLOCK = 1 << 22
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
class Csv:
    """A CSV file whose header line was looked at, ready to be surveyed and read in row order."""

    path: Path
    delimiter: str
    quote: str | None
    encoding: str
    names: tuple[str, ...]

    @cached_property
    def survey(self) -> Survey:
        """Its structure; DataError if it has faults."""
        blocks = _utf8(self.path, self.encoding)
        return survey(blocks, self.delimiter, self.quote, len(self.names), self.path.name)

    def batches(self, wanted: Sequence[int]) -> Iterator[pa.RecordBatch]:
        """The columns at these places as text, missing where the cell is empty; named by their place."""
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        names = [str(place) for place in range(len(self.names))]
        chosen = [names[place] for place in wanted]
        reader = arrow_csv.open_csv(
            pa.OSFile(str(self.path))
            if self.encoding == "utf-8" and not self.survey.multiline
            else pa.PythonFile(_Recoded(self.path, self.encoding)),
            read_options=arrow_csv.ReadOptions(
                column_names=names, block_size=max(BLOCK, 2 * self.survey.longest + 1024)
            ),
            parse_options=arrow_csv.ParseOptions(
                delimiter=self.delimiter,
                quote_char=self.quote if self.quote is not None else False,
                double_quote=True,
                escape_char=False,
                newlines_in_values=self.survey.multiline,
                ignore_empty_lines=len(names) > 1,
            ),
            convert_options=arrow_csv.ConvertOptions(
                include_columns=chosen,
                column_types=dict.fromkeys(chosen, pa.string()),
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=True,
            ),
        )
        first = True
        for batch in reader:
            yield batch.slice(1) if first else batch  # the first record is the header
            first = False


def look(path: Path, form: FileFormat, declared: Sequence[str]) -> Csv:
    """Read the header line; where the policy names no delimiter, it is the one that shows most of the declared columns.

    What is decided here is a function of the policy and of the header line. No row is looked at.
    """
    _refuse_mark(path, form.encoding)
    line = _header_line(path, form.encoding)
    if not line.strip("\t ,;|"):
        raise DataError(
            "the first line is empty" if path.stat().st_size > len(codecs.BOM_UTF8) else "the file is empty",
            came=path.name,
            allowed="a header line with the names of the columns",
        )
    ways = [form.delimiter] if form.delimiter else [each for each in DELIMITERS if each != form.quote]
    # max() takes the first of equals: a comma, unless something else shows more columns.
    delimiter = max(ways, key=lambda way: len(set(_cells(line, way, form.quote) or ()) & set(declared)))
    names = _cells(line, delimiter, form.quote)
    if names is None:
        raise DataError(
            "the header line does not read as CSV",
            came=path.name,
            allowed="names on one line, in quotes as a whole or not at all",
            fix="correct its quotes, or say in the policy which sign quotes cells: `file: {quote: ...}`",
        )
    survey([line.encode()], delimiter, form.quote, len(names), path.name)
    return Csv(path, delimiter, form.quote, form.encoding, names)


def _refuse_mark(path: Path, encoding: str) -> None:
    """Raise where the file begins with the byte order mark of another encoding."""
    with path.open("rb") as file:
        head = file.read(4)
    for mark, marked in _MARKS:
        if not head.startswith(mark):
            continue
        if marked == "utf-32":
            raise DataError("the file is in UTF-32, which is not read", came=path.name, fix="save it as UTF-8")
        if marked != encoding:
            raise DataError(
                f"the file begins with the byte order mark of {marked}",
                came=path.name,
                allowed=f"{encoding}, as the policy says",
                fix=f"save the file as UTF-8, or write `file: {{encoding: {marked}}}` into the policy",
            )
        return


def _header_line(path: Path, encoding: str) -> str:
    """The letters up to the first line end."""
    held = ""
    for block in _utf8(path, encoding):
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
    """The cells of one line; None where a quote is not closed on it; the survey is stricter."""
    if quote is None:
        return tuple(line.split(delimiter))
    try:
        return tuple(next(csv.reader([line], delimiter=delimiter, quotechar=quote, strict=True)))
    except (csv.Error, StopIteration):
        return None


def _utf8(path: Path, encoding: str) -> Iterator[bytes]:
    """The file as UTF-8 without a byte order mark; DataError where it does not decode."""
    decoder = codecs.getincrementaldecoder(encoding)()
    first = True
    with path.open("rb") as file:
        last = False
        while not last:
            block = file.read(BLOCK)
            last = not block
            try:
                text = decoder.decode(block, final=last)
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


class _Recoded(io.RawIOBase):
    """A file as UTF-8 bytes, for a reader that wants a file; no piece of it ends between a CR and an LF.

    Arrow takes an LF away that begins a piece after a CR, inside quotes too: how long the rows before are would decide whether a
    cell keeps its LF.
    """

    def __init__(self, path: Path, encoding: str) -> None:
        self._blocks = _utf8(path, encoding)
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
