"""Open a table that no policy describes yet, and find out how its file is written; what is found is written into the policy."""

from __future__ import annotations

import codecs
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from shoal.data.schema import DELIMITERS, STANDARD, FileFormat
from shoal.engine.read.csv_file import read_header
from shoal.engine.read.foreign.compressed import blocks_of, inner_ending, is_packed
from shoal.engine.read.input import CSV, recognize
from shoal.engine.read.source import StoredColumns
from shoal.errors import DataError
from shoal.policy.model.base import LONGEST_NAME
from shoal.progress import Stage, silent, within

_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_ENCODINGS = ("utf-8", "windows-1252", "iso-8859-1")
"""What is tried, in this order; every file decodes in the last one."""
_SHOWN = 5
"""Columns that a message lists."""
_NUMBER = re.compile(r"[+-]?[0-9]+([.,][0-9]+)*")


@dataclass(frozen=True)
class OpenedTable:
    """The columns of a table, how its file is written, and what a person should check about that."""

    stored: StoredColumns
    form: FileFormat
    notes: tuple[str, ...] = ()


def open_table(
    data: object,
    *,
    sheet: str | None = None,
    table: str | None = None,
    query: str | None = None,
    stage: Stage = silent,
) -> OpenedTable:
    """Open a file, a database or a frame.

    Arguments  `data`, a path, a URL or a frame; the sheet of a workbook, or the table or the query of a database;
               `stage`: is told what is done.
    Raises     DataError where it cannot be read; UsageError where more than one place is named.
    """
    form = replace(STANDARD, sheet=sheet, table=table, query=query)
    notes: tuple[str, ...] = ()
    if isinstance(data, str | Path) and _holds_text(Path(data)):
        form, notes = _form_of_text(Path(data), form, stage)
    found = recognize(data, form, stage=stage)
    _refuse_names(found)
    return OpenedTable(found, form, (*notes, *_doubts_of_header(found.names)))


def _refuse_names(found: StoredColumns) -> None:
    """Raise where a policy could not name a column, before any row is read. Names are not quoted, for they may be a record."""
    wrong = [
        place
        for place, name in enumerate(found.names, start=1)
        if name.strip() != name or not name.isprintable() or len(name) > LONGEST_NAME or name == "<<"
    ]
    if wrong:
        more = ", …" if len(wrong) > _SHOWN else ""
        raise DataError(
            "a policy cannot hold the names of some columns",
            came=f"{found.name}, column {', '.join(map(str, wrong[:_SHOWN]))}{more}",
            allowed=f"names without blanks around them, of letters that can be seen, at most {LONGEST_NAME} of them",
            fix="rename these columns in the table, then run `shoal init` again",
        )


def _doubts_of_header(names: Sequence[str]) -> tuple[str, ...]:
    """What is to be checked where names of columns are numbers; they are not quoted, for they may be a record."""
    numbers = sum(_NUMBER.fullmatch(name.strip()) is not None for name in names)
    if not numbers:
        return ()
    said = (
        f"{numbers} of the {len(names)} names of columns are numbers; if the table has no line with names, its first record was "
        "taken for one: write the names above it, and draft again with --force"
    )
    return (said,)


def _holds_text(path: Path) -> bool:
    """Whether a path names a CSV file, packed or not; what cannot be opened is left to the reader, which says why."""
    try:
        if not path.is_file() or path.stat().st_size == 0:
            return False
        return (inner_ending(path) if is_packed(path) else path.suffix.lower()) in CSV
    except (OSError, ValueError):
        return False


def _form_of_text(path: Path, form: FileFormat, stage: Stage) -> tuple[FileFormat, tuple[str, ...]]:
    """The encoding and the delimiter of a CSV file, and what is to be checked."""
    encoding = _encoding_of(path, within(stage, "finding the encoding"))
    notes: tuple[str, ...] = ()
    if encoding in _ENCODINGS[1:]:
        notes = (f"the file is not in UTF-8 and was read as {encoding}: check that letters with accents are right",)
    form = replace(form, encoding=encoding)
    counted = {sign: _count_names(path, replace(form, delimiter=sign)) for sign in DELIMITERS}
    delimiter = max(counted, key=lambda sign: counted[sign])
    return replace(form, delimiter=delimiter), notes


def _count_names(path: Path, form: FileFormat) -> int:
    """The columns that the header line has in this form; 0 where it does not read so."""
    try:
        return len(read_header(path, form, ()).names)
    except DataError:
        return 0


def _encoding_of(path: Path, stage: Stage) -> str:
    """The first encoding in which every byte is a letter; a byte order mark decides before."""
    head = next(blocks_of(path), b"")[:4]
    marked = next((name for mark, name in _MARKS if head.startswith(mark)), None)
    return marked or next(name for name in _ENCODINGS if _decodes(path, name, stage))


def _decodes(path: Path, encoding: str, stage: Stage) -> bool:
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        for block in blocks_of(path, stage=stage):
            decoder.decode(block)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True
