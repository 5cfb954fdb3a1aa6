"""Workbooks (Excel and OpenDocument): one sheet, whose first row that holds something has the names of the columns.

The columns of a workbook have no type, so every cell is spelled by its own kind (`spelling`). A cell that is empty, one with an
error such as #DIV/0!, and a formula whose result was not stored are missing; a row without any cell is no row.

The library keeps the cells of a sheet in memory once, as a rectangle: two cells in far corners would take all of it. So where the
cells lie is looked at before it is asked, every byte of the archive is held against its checksum, and XML must be well formed.
What is left can still crash the library (a number in a workbook may ask it for any memory), so a process that may crash reads the
sheet first.
"""

from __future__ import annotations

import contextlib
import difflib
import itertools
import os
import re
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from xml.parsers import expat

from shoal.data.archive import list_size
from shoal.engine.read.foreign.spelling import PLAIN, spell_as, text_batches
from shoal.engine.read.source import Spelling, Stamp, StoredColumns, load_library, refuse_expansion
from shoal.errors import DataError, NextCommand
from shoal.progress import Progress, Stage, report_progress, silent

if TYPE_CHECKING:
    import pyarrow as pa

MOST_CELLS: Final = 1 << 27
"""Cells of the rectangle around all cells of a sheet: each takes some 32 bytes."""
LONGEST_LIST: Final = 1 << 22
"""Bytes of the list of parts in a workbook."""
MOST_MEMORY, MOST_SECONDS = 1 << 33, 600
"""Bytes and seconds that the process which tries a sheet out may take."""
COUNTED: Final = ", counted from 1 after the header without empty rows"
_CONTAINER: Final = bytes.fromhex("d0cf11e0a1b11ae1")
"""How the files of older programs begin, in which Excel also keeps what it has encrypted."""
_ENCRYPTED: Final = "EncryptedPackage".encode("utf-16-le")
_BLOCK: Final = 1 << 22
_OVERLAP: Final = 1 << 10
_ROW: Final = re.compile(rb"<(?:\w+:)?row\b[^>]*?\sr\s*=\s*[\"']([0-9]{1,9})")
_CELL: Final = re.compile(rb"<(?:\w+:)?c\b[^>]*?\sr\s*=\s*[\"']([A-Za-z]{1,7})([0-9]{1,9})")
_REPEATED: Final = re.compile(rb"number-(rows|columns)-repeated\s*=\s*[\"']([0-9]{1,18})")


_NOTES = re.compile(
    r"read.?me|lies.?mich|lisez.?moi|\b(about|codebook|contents?|cover|dictionary|explanations?|index|info|information|instructions?|"
    r"legend|metadata|notes?|codes?|labels?|variables?|value.?labels?|anleitung|deckblatt|erl(ä|ae)uterung(en)?|hinweise?|inhalt|inhaltsverzeichnis|legende|notiz(en)?|"
    r"kodierung|codierung|variablen(liste)?|codeplan|l(é|e)gende|notice|sommaire|leyenda|notas|portada|instrucciones)\b"
)
"""Names of sheets that hold words about a table, and not the table."""


def list_sheets(path: Path, *, checked: bool = False) -> tuple[str, ...]:
    """The sheets that are not hidden, those first whose names say that they hold words about a table.

    `checked` says that the workbook was opened before, so that it is not tried again.
    """
    if not checked:
        if path.suffix.lower() != ".xls":
            _refuse_protected(path)
            _refuse_burst(path, silent)
        _try_out(path, None)
    calamine = load_library("python_calamine", "workbooks")
    seen = calamine.SheetVisibleEnum.Visible
    names = _guard(
        path, calamine, lambda book: [each.name for each in _sheets_of_cells(book, calamine) if each.visible == seen]
    )
    return tuple(sorted(names, key=lambda name: not says_of_a_table(name)))


def says_of_a_table(sheet: str) -> bool:
    """Whether the name of a sheet says that it holds words about a table, and not the table."""
    return _NOTES.search(sheet.casefold()) is not None


def open_workbook(path: Path, sheet: str | None = None, stage: Stage = silent) -> StoredColumns:
    """Open a sheet of a workbook: the one that is named, or the only one that is not hidden.

    Raises  DataError where there is no such sheet, cells are merged, or cells lie beside the named columns
    """
    import pyarrow as pa

    stamp = Stamp.of([path])
    if path.suffix.lower() != ".xls":
        _refuse_protected(path)
        _refuse_burst(path, stage)
    stage("trying to open the workbook")
    _try_out(path, sheet)
    stage("opening the workbook")
    held = _load(path, sheet)
    rows = _rows(held, path.name)
    header = next(rows, None)
    if header is None:
        raise DataError(
            "the sheet is empty",
            came=path.name,
            allowed="a first row with the names of the columns, and rows below it",
            fix="name the sheet that has the table: `--sheet NAME` of shoal init, or `file: {sheet: NAME}` in the policy",
        )
    filled = [place for place, cell in enumerate(header) if spell_as(cell) is not None]
    first, stop = filled[0], filled[-1] + 1
    names = tuple(spell_as(cell) or "" for cell in header[first:stop])
    _refuse_title(held, len(filled), path.name)
    _refuse_merged(held, first, stop, path.name)
    count, report = 0, report_progress(stage, "looking for cells beside the table")
    for count, row in enumerate(rows, start=1):
        report(count, held.height - 1)
        if any(spell_as(cell) is not None for cell in itertools.chain(row[:first], row[stop:])):
            raise DataError(
                "a row has cells beside the named columns",
                came=f"{path.name}, row {count}{COUNTED}",
                fix="name every column in the first row, and keep notes and totals on another sheet",
            )

    def speller(places: Sequence[int], spellings: Sequence[Spelling]) -> Iterator[pa.RecordBatch]:
        table = itertools.islice(_rows(held, path.name), 1, None)
        yield from text_batches(([row[first + place] for place in places] for row in table), spellings)

    def opener(places: Sequence[int]) -> Iterator[pa.RecordBatch]:
        return speller(places, [PLAIN] * len(places))

    kinds = tuple(itertools.repeat(pa.string(), len(names)))
    return StoredColumns(path.name, names, kinds, count, stamp, opener, counted=COUNTED, speller=speller)


def _refuse_title(held: Any, named: int, name: str) -> None:
    """Refuse a sheet whose first row has one cell and the next one several: a title stands above the names."""
    below = next(itertools.islice(_rows(held, name), 1, None), [])
    if named == 1 and sum(spell_as(cell) is not None for cell in below) > 1:
        raise DataError(
            "a row has cells beside the named columns: the first row of the sheet has one cell, and the row below it several",
            came=name,
            allowed="a first row with the names of all columns",
            fix="delete the rows above the names, such as a title, or keep them on another sheet",
        )


def _load(path: Path, sheet: str | None) -> Any:
    """The sheet, with all of its cells in memory. A library that panics says so in an error of no usual kind."""
    calamine = load_library("python_calamine", "workbooks")
    return _guard(path, calamine, lambda book: book.get_sheet_by_name(_choose(book, sheet, path.name, calamine)))


def _guard(path: Path, calamine: Any, ask: Callable[[Any], Any]) -> Any:
    """What is asked of a workbook; DataError where the library fails, in whatever way."""
    failed: BaseException
    try:
        return ask(calamine.CalamineWorkbook.from_path(str(path)))
    except calamine.PasswordError:
        raise _protected(path.name) from None
    except (KeyboardInterrupt, SystemExit, MemoryError, DataError):
        raise
    except BaseException as error:  # noqa: BLE001
        failed = error
    if isinstance(failed, OSError):
        raise failed
    raise _broken(path.name)


def _refuse_protected(path: Path) -> None:
    """Raise DataError where the archive was encrypted: then it lies in a container of another kind, under a name of its own."""
    with path.open("rb") as file:
        if file.read(len(_CONTAINER)) == _CONTAINER and _ENCRYPTED in file.read(_BLOCK):
            raise _protected(path.name)


def _protected(name: str) -> DataError:
    return DataError(
        "the workbook needs a password",
        came=name,
        fix="open it in the program that made it, save a copy without a password (in Excel: File, Info, Protect Workbook), and "
        "name the copy",
    )


def _broken(name: str) -> DataError:
    return DataError(
        "the workbook cannot be read",
        came=name,
        fix="check that it is whole and what its name says it is, or save it again from the program that made it",
    )


def _sheets_of_cells(book: Any, calamine: Any) -> list[Any]:
    """The sheets that are no charts or macros."""
    return [each for each in book.sheets_metadata if each.typ == calamine.SheetTypeEnum.WorkSheet]


def _choose(book: Any, sheet: str | None, name: str, calamine: Any) -> str:
    """The name of the sheet to read."""
    own = _sheets_of_cells(book, calamine)
    every = [each.name for each in own]
    seen = [each.name for each in own if each.visible == calamine.SheetVisibleEnum.Visible]
    if sheet is not None and sheet in every:
        return sheet
    listed = ", ".join(f"'{each}'" for each in every)
    if sheet is not None:
        raise DataError(
            "the workbook has no such sheet",
            came=f"{name} without '{sheet}'",
            allowed=listed or "a workbook with a sheet of cells",
            fix=_naming(_nearest_sheet(sheet, every)),
            step=NextCommand(replace=(sheet, _nearest_sheet(sheet, every)), only=("init",)) if every else None,
        )
    if len(seen) != 1:
        first = _likely_sheet(seen or every or ["..."])
        raise DataError(
            "the workbook has several sheets, and none is named"
            if seen
            else "the workbook has no sheet that can be seen",
            came=f"{name} with {listed}" if listed else name,
            allowed="one of its sheets",
            fix=_naming(first),
            step=NextCommand(add=("--sheet", first), only=("init",)) if every else None,
        )
    return str(seen[0])


def _likely_sheet(names: Sequence[str]) -> str:
    """The first sheet whose name does not say that it holds notes; no cell is read to find out."""
    return next((each for each in names if not says_of_a_table(each)), names[0])


def _nearest_sheet(name: str, every: Sequence[str]) -> str:
    """The sheet that a name was probably meant to be, or the first one."""
    small = {each.casefold(): each for each in reversed(every)}
    near = difflib.get_close_matches(name.casefold(), small, n=1)
    return small[near[0]] if near else every[0] if every else "..."


def _naming(sheet: str) -> str:
    """How a sheet is named, with an example."""
    return f"name it: `file: {{sheet: {sheet}}}` in the policy, --sheet '{sheet}' for `shoal init`"


def _rows(sheet: Any, name: str) -> Iterator[list[Any]]:
    """The rows that hold something, in order."""
    rows = iter(sheet.iter_rows())
    while True:
        failed = False
        row: list[Any] | None = None
        try:
            row = next(rows, None)
        except (KeyboardInterrupt, SystemExit, MemoryError):
            raise
        except BaseException:  # noqa: BLE001 - a date that there is not, or a panic of the library
            failed = True
        if failed:
            raise _broken(name)
        if row is None:
            return
        if any(spell_as(cell) is not None for cell in row):
            yield row


def _refuse_merged(sheet: Any, first: int, stop: int, name: str) -> None:
    """Raise where cells of the table are merged: all but one of them would be missing."""
    left = sheet.start[1]
    for (_, low), (_, high) in sheet.merged_cell_ranges or ():
        if low - left < stop and high - left >= first:
            raise DataError(
                "cells of the sheet are merged, so that all but one of them hold nothing",
                came=name,
                fix="separate them, and write the value into each",
            )


def _try_out(path: Path, sheet: str | None) -> None:
    """Raise where a process that reads the sheet as `_load` does comes to a bad end: the library may crash, and not raise."""
    load_library("python_calamine", "workbooks")
    command = [sys.executable, "-P", "-c", _TRIAL, str(MOST_MEMORY), str(path.absolute())]
    command += [] if sheet is None else [sheet]
    there = os.environ | {"PYTHONPATH": os.pathsep.join(each for each in sys.path if each)}
    with contextlib.suppress(subprocess.TimeoutExpired):
        done = subprocess.run(  # noqa: S603 - this interpreter and the text below
            command, check=False, stdin=subprocess.DEVNULL, capture_output=True, timeout=MOST_SECONDS, env=there
        )
        if not done.returncode:
            return
    raise _broken(path.name)


_TRIAL: Final = """
import contextlib, sys
import python_calamine

with contextlib.suppress(ImportError, ValueError, OSError):
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[1]),) * 2)
with contextlib.suppress(python_calamine.PasswordError):
    book = python_calamine.CalamineWorkbook.from_path(sys.argv[2])
    seen = [each.name for each in book.sheets_metadata if each.visible == python_calamine.SheetVisibleEnum.Visible]
    named = [name for name in sys.argv[3:] if name in book.sheet_names] if sys.argv[3:] else seen[:1] if len(seen) == 1 else []
    for name in named:
        for _ in book.get_sheet_by_name(name).iter_rows():
            pass
"""
"""What that process does: it imports nothing of Shoal, and prints nothing that is read."""


# --- what a workbook may unpack to ------------------------------------------------------------------------------------


def _refuse_burst(path: Path, stage: Stage) -> None:
    """Raise where a part of the archive is altered, unpacks to too much, or spreads its cells too far apart."""
    try:
        if list_size(path) > LONGEST_LIST:
            raise _broken(path.name)
        with zipfile.ZipFile(path) as archive:
            _walk(archive, path, report_progress(stage, "checking the workbook"))
    except (zipfile.BadZipFile, zlib.error, expat.ExpatError, EOFError, NotImplementedError, RuntimeError, ValueError):
        pass
    else:
        return
    raise _broken(path.name)


def _walk(archive: zipfile.ZipFile, path: Path, report: Progress) -> None:
    names = [entry.filename for entry in archive.infolist()]
    if len(set(names)) != len(names):
        raise _broken(path.name)
    size, found, total = path.stat().st_size, 0, sum(entry.file_size for entry in archive.infolist())
    for entry in archive.infolist():
        box = _Box(path.name)
        parser = _well_formed(path.name)
        is_xml, tail = entry.filename.lower().endswith((".xml", ".rels")), b""
        with archive.open(entry) as part:
            while block := part.read(_BLOCK):
                found += len(block)
                refuse_expansion(path.name, size, found)
                report(found, total)
                if is_xml:
                    parser.Parse(block, False)
                    box.look(tail + block)
                    tail = block[-_OVERLAP:]
        if is_xml:
            parser.Parse(b"", True)


def _well_formed(name: str) -> Any:
    """A parser that raises where XML is not well formed, at which the library would wait for an end that never comes, or
    declares entities, which may unpack to any length.
    """

    def refuse(*_: object) -> None:
        raise _broken(name)

    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = refuse
    return parser


class _Box:
    """How far the cells of one part of a workbook reach, and what repeated cells of it come to."""

    def __init__(self, name: str) -> None:
        self.name, self.rows, self.columns, self.repeated = name, 1, 1, 0

    def look(self, block: bytes) -> None:
        """Look at the cells that a block has; DataError where they spread over too many."""
        cells = _CELL.findall(block)
        self.rows = max([self.rows, *map(int, {*_ROW.findall(block), *(row for _, row in cells)})])
        self.columns = max([self.columns, *map(_column_number, {letters for letters, _ in cells})])
        self.repeated += _repeated_cells(block)
        if self.rows * self.columns > MOST_CELLS or self.repeated > MOST_CELLS:
            raise DataError(
                "the cells of a sheet lie too far apart, or are too many",
                came=self.name,
                allowed=f"{MOST_CELLS:,} cells in the rectangle around them",
                fix="delete what lies far off the table, or save the table as CSV or Parquet",
            )


def _column_number(letters: bytes) -> int:
    number = 0
    for letter in letters.upper():
        number = 26 * number + letter - 64
    return number


def _repeated_cells(block: bytes) -> int:
    """The cells that rows of an OpenDocument sheet come to where they hold a value and are repeated."""
    total = 0
    for row in re.split(rb"<(?:\w+:)?table-row\b", block)[1:]:
        if b"value" not in row:
            continue
        across, down = 1, 1
        for kind, count in _REPEATED.findall(row):
            if kind == b"rows":
                down = int(count)
            else:
                across += int(count)
        total += across * down if across > 1 or down > 1 else 0
    return total
