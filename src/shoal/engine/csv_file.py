"""CSV files: what one looks like (encoding, delimiter, quotes), found out or said, and its columns as text."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from shoal.engine.csv_survey import Survey, survey
from shoal.errors import DataError, UsageError

if TYPE_CHECKING:
    import pyarrow as pa

EMPTY = ("",)
"""How a missing value is spelled, unless a `CsvFile` says otherwise: as nothing, quoted or not."""
DELIMITERS = (",", ";", "\t", "|")
QUOTES = ('"', "'")
ENCODINGS = ("utf-8", "utf-16-le", "utf-16-be", "cp1252", "latin-1")
BLOCK = 1 << 22
SAMPLE = 1 << 20
FEW = 1 << 16

_MARKS = (
    (codecs.BOM_UTF32_LE, None),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, None),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_UTF8_LETTER = re.compile(rb"[\xc3-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")
_NOT_CP1252 = re.compile(rb"[\x81\x8d\x8f\x90\x9d]")


@dataclass(frozen=True)
class CsvFile:
    """A CSV file with what a person says about it; what is left out is found out."""

    path: Path | str
    delimiter: str | None = None
    encoding: str | None = None
    quote: str | None = None
    missing: tuple[str, ...] = EMPTY

    def __post_init__(self) -> None:
        for value, name in ((self.delimiter, "delimiter"), (self.quote, "quote")):
            if value is not None and (len(value) != 1 or not value.isascii() or value in "\r\n\0"):
                raise UsageError(f"a {name} is one ASCII character", came=repr(value))
        if self.encoding is not None and self.encoding not in ENCODINGS:
            raise UsageError("no such encoding", came=self.encoding, allowed=", ".join(ENCODINGS))


@dataclass(frozen=True)
class Csv:
    """A CSV file that was looked at from its first byte to its last, ready to be read in row order."""

    path: Path
    delimiter: str
    quote: str
    encoding: str
    missing: tuple[str, ...]
    names: tuple[str, ...]

    @cached_property
    def survey(self) -> Survey:
        """Its structure; DataError if it has faults."""
        blocks = _utf8(self.path, self.encoding)
        return survey(blocks, self.delimiter, self.quote, len(self.names), self.path.name)

    def batches(self, wanted: Sequence[int]) -> Iterator[pa.RecordBatch]:
        """The columns at these places as text, missing where the cell is spelled so; named by their place."""
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        names = [str(place) for place in range(len(self.names))]
        chosen = [names[place] for place in wanted]
        reader = arrow_csv.open_csv(
            pa.OSFile(str(self.path))
            if self.encoding == "utf-8"
            else pa.PythonFile(_Recoded(self.path, self.encoding)),
            read_options=arrow_csv.ReadOptions(
                column_names=names, block_size=max(BLOCK, 2 * self.survey.longest + 1024)
            ),
            parse_options=arrow_csv.ParseOptions(
                delimiter=self.delimiter,
                quote_char=self.quote,
                double_quote=True,
                escape_char=False,
                newlines_in_values=self.survey.multiline,
                ignore_empty_lines=len(names) > 1,
            ),
            convert_options=arrow_csv.ConvertOptions(
                include_columns=chosen,
                column_types=dict.fromkeys(chosen, pa.string()),
                null_values=list(self.missing),
                strings_can_be_null=True,
                quoted_strings_can_be_null=True,
            ),
        )
        first = True
        for batch in reader:
            yield batch.slice(1) if first else batch  # the first record is the header
            first = False


def look(file: CsvFile, declared: Sequence[str]) -> Csv:
    """Find out what the file looks like; the delimiter is the one that shows most of the declared columns."""
    path = Path(file.path)
    encoding = file.encoding or _encoding(path)
    sample = b"".join(_blocks(_utf8(path, encoding), SAMPLE)).decode("utf-8", errors="ignore")
    if not sample.strip("\r\n\t ,;|"):
        raise DataError("the file is empty", came=path.name, allowed="a header, and a row for each record")
    if sample[0] in "\r\n":
        raise DataError("the first line is empty", came=path.name, allowed="a header with the names of the columns")
    ways = [
        (delimiter, quote)
        for quote in ([file.quote] if file.quote else QUOTES)
        for delimiter in ([file.delimiter] if file.delimiter else DELIMITERS)
    ]
    # max() takes the first of equals: a comma and a double quote unless something else shows more columns.
    few = sample if "\n" not in sample[:FEW] and "\r" not in sample[:FEW] else sample[:FEW]
    delimiter, quote = max(ways, key=lambda way: _promise(few, way[0], way[1], declared))
    names = _header(sample, delimiter, quote)
    if names is None:
        raise DataError("the header does not read as CSV", came=path.name, fix="check its quotes")
    return Csv(path, delimiter, quote, encoding, file.missing, names)


def _promise(sample: str, delimiter: str, quote: str, declared: Sequence[str]) -> tuple[int, ...]:
    """How well a delimiter and a quote explain the sample: declared names shown, lines that agree, columns.

    A single quote is an apostrophe more often than a quote, so it has to explain more, in a file without double ones.
    """
    names = _header(sample, delimiter, quote)
    if names is None:
        return (-1,)
    lines = csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter, quotechar=quote)
    agree = 0
    try:
        for _, record in zip(range(100), lines, strict=False):
            agree += len(record) == len(names)
    except csv.Error:
        agree = 0
    double = int(quote == '"')
    shown = len(set(names) & set(declared))
    return (shown, double * ('"' in sample), agree if len(names) > 1 else 0, len(names), double)


def _header(sample: str, delimiter: str, quote: str) -> tuple[str, ...] | None:
    try:
        return tuple(
            next(csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter, quotechar=quote, strict=True))
        )
    except (csv.Error, StopIteration):
        return None


def _encoding(path: Path) -> str:
    """By its mark; UTF-16 by its NULs; else UTF-8 if all of it is, else Windows' Western European if it can be."""
    with path.open("rb") as file:
        head = file.read(4096)
    for mark, encoding in _MARKS:
        if head.startswith(mark):
            if encoding is None:
                raise DataError("the file is in UTF-32, which is not read", came=path.name, fix="save it as UTF-8")
            return encoding
    even, odd = head[0::2].count(0), head[1::2].count(0)
    if len(head) > 1 and max(even, odd) > 0.4 * len(head) / 2 and min(even, odd) == 0:
        return "utf-16-le" if odd else "utf-16-be"
    return "utf-8" if _decodes(path, "utf-8") else _western(path)


def _western(path: Path) -> str:
    """Not UTF-8: Windows-1252 (Latin-1 with more letters), unless some of it is UTF-8 or undefined there."""
    mixed = undefined = False
    for block in _raw(path):
        mixed = mixed or _UTF8_LETTER.search(block) is not None
        undefined = undefined or _NOT_CP1252.search(block) is not None
    if mixed or undefined:
        raise DataError(
            "the encoding of the file is not clear: some bytes are not UTF-8"
            + (", others are" if mixed else ", nor Windows-1252"),
            came=path.name,
            fix="save it as UTF-8, or say which it is with CsvFile(path, encoding=...)",
        )
    return "cp1252"


def _decodes(path: Path, encoding: str) -> bool:
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        for block in _raw(path):
            decoder.decode(block)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def _raw(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            yield block


def _utf8(path: Path, encoding: str) -> Iterator[bytes]:
    """The file as UTF-8 without a byte order mark; DataError where it does not decode."""
    decoder = codecs.getincrementaldecoder(encoding)()
    first = True
    for block in _with_end(path):
        try:
            text = decoder.decode(block, final=not block)
        except UnicodeDecodeError:
            text = None
        if text is None:
            raise DataError(f"the file is not in {encoding}", came=path.name, fix="save it as UTF-8")
        if first and text:
            text, first = text.removeprefix("\ufeff"), False
        yield text.encode()


def _with_end(path: Path) -> Iterator[bytes]:
    yield from _raw(path)
    yield b""


def _blocks(blocks: Iterator[bytes], most: int) -> Iterator[bytes]:
    """The first blocks, until there are enough bytes."""
    size = 0
    for block in blocks:
        yield block[: most - size]
        size += len(block)
        if size >= most:
            return


class _Recoded(io.RawIOBase):
    """A file as UTF-8 bytes, for a reader that wants a file."""

    def __init__(self, path: Path, encoding: str) -> None:
        self._blocks = _utf8(path, encoding)
        self._rest = b""

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        while not self._rest:
            try:
                self._rest = next(self._blocks)
            except StopIteration:
                return b""
        part = self._rest if size < 0 else self._rest[:size]
        self._rest = self._rest[len(part) :]
        return part
