"""JSON lines: one object on each line, all with the same keys, none with values inside values.

No line decides how another one is read. A line that has other keys than the first, a key twice or a list as a value gets the file
refused as a whole: whoever reads on would have to guess.
"""

from __future__ import annotations

import decimal
import itertools
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from shoal.engine.read.csv_file import refuse_mark, utf8_blocks
from shoal.engine.read.foreign.spelling import PLAIN, text_batches
from shoal.engine.read.source import Spelling, Stamp, StoredColumns
from shoal.errors import DataError
from shoal.progress import Stage, silent

if TYPE_CHECKING:
    import pyarrow as pa

LONGEST_LINE: Final = 1 << 24
"""Bytes that one line may have."""
COUNTED: Final = ", counted from 1 without empty lines"


class _BrokenLineError(Exception):
    """A line is not what it should be; says what, and nothing of what stands in it."""


class _Record(dict[str, Any]):
    """An object of JSON in which no key stands twice."""


def open_json_lines(
    path: Path, encoding: str = "utf-8", names: Sequence[str] = (), stage: Stage = silent
) -> StoredColumns:
    """Open JSON lines. A file without a line is a table without rows, where it is known which columns it should have."""
    import pyarrow as pa

    stamp = Stamp.of([path])
    refuse_mark(path, encoding)
    rows, found = 0, None
    for record in _records(path, encoding, None, stage):
        rows += 1
        found = tuple(record) if found is None else found
    if found is None and not names:
        raise DataError("the file is empty", came=path.name, allowed="lines with one JSON object each")
    columns = tuple(names) if found is None else found

    def speller(places: Sequence[int], spellings: Sequence[Spelling]) -> Iterator[pa.RecordBatch]:
        keys = [columns[place] for place in places]
        records = _records(path, encoding, columns)
        yield from text_batches(([record[key] for key in keys] for record in records), spellings)

    def opener(places: Sequence[int]) -> Iterator[pa.RecordBatch]:
        return speller(places, [PLAIN] * len(places))

    kinds = tuple(itertools.repeat(pa.string(), len(columns)))
    return StoredColumns(path.name, columns, kinds, rows, stamp, opener, counted=COUNTED, speller=speller)


def _records(path: Path, encoding: str, columns: tuple[str, ...] | None, stage: Stage = silent) -> Iterator[_Record]:
    """The objects of the file in order; DataError at the first line that is none, or has other keys than the first."""
    keys = None if columns is None else set(columns)
    for number, line in enumerate(_lines(path, encoding, stage), start=1):
        try:
            record = _read(line)
            keys = set(record) if keys is None else keys
            wrong = None if record.keys() == keys else "a line has other keys than the first"
        except _BrokenLineError as error:
            wrong = str(error)
        except (ValueError, RecursionError, decimal.InvalidOperation):
            wrong = "a line is no JSON"
        if wrong is not None:
            raise DataError(
                wrong,
                came=f"{path.name}, row {number}{COUNTED}",
                allowed="one JSON object on each line, all with the same keys, with texts, numbers, true, false or null",
                fix="write a missing value as null, and give what lies inside a value columns of its own",
            )
        yield record


def _read(line: bytes) -> _Record:
    record = json.loads(line, object_pairs_hook=_pairs, parse_float=decimal.Decimal, parse_constant=_refuse_constant)
    if not isinstance(record, _Record):
        raise _BrokenLineError("a line is no JSON object")
    for value in record.values():
        if isinstance(value, (_Record, list)):
            raise _BrokenLineError("a line has values inside a value")
        if isinstance(value, str) and not value.isascii():
            value.encode()  # half of a surrogate pair is a ValueError
    return record


def _pairs(pairs: list[tuple[str, Any]]) -> _Record:
    record = _Record(pairs)
    if len(record) != len(pairs):
        raise _BrokenLineError("a line has a key twice")
    return record


def _refuse_constant(_: str) -> None:
    raise _BrokenLineError("a line has NaN or Infinity, which are no JSON")


def _lines(path: Path, encoding: str, stage: Stage) -> Iterator[bytes]:
    """The lines that are not empty, in UTF-8."""
    held = b""
    for block in itertools.chain(utf8_blocks(path, encoding, stage), (b"\n",)):
        *whole, held = (held + block).split(b"\n")
        for line in whole:
            if line.strip():
                yield line
        if len(held) > LONGEST_LINE:
            raise DataError("a line is too long", came=path.name, allowed=f"{LONGEST_LINE:,} bytes")
