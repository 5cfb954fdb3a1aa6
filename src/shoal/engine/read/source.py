"""Where rows come from, before they are compared with a schema: plain files that do not change, and the columns found there."""

from __future__ import annotations

import hashlib
import importlib
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.data.codebook import Codebook
from shoal.data.date_format import DateFormat
from shoal.errors import DataError, UsageError

if TYPE_CHECKING:
    import pyarrow as pa

SMALL = 1 << 24
"""Up to this many bytes a file's content is compared too; above, its size, times and place on the disk."""
HELD = 1 << 22
"""Up to this many bytes the content of a single file is kept, and compared as it is: that takes a third of hashing it again."""
STEP = 1 << 16
"""Rows that are handed over at a time."""
MOST_ROWS = 1 << 32
"""Rows that a table may have: what is kept of each row lies in memory, and a few bytes of a file can claim any number."""
_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)

MOST_TEXT, EXPANSION = 1 << 30, 1000
"""Bytes of text that any file may unpack to, and how many more for each byte that it has: a few can stand for any number."""

Mark = tuple[int, int, int, int, bytes]
Opener = Callable[[Sequence[int]], Iterator["pa.RecordBatch"]]
Speller = Callable[[Sequence[int], Sequence["Spelling"]], Iterator["pa.RecordBatch"]]


@dataclass(frozen=True)
class Stamp:
    """Size, times of change, inode and (for small files) the content of each file or its hash, taken before the first read.

    The content may change without the time that programs set; the time of the inode's change is the system's own.
    """

    marks: tuple[tuple[Path, Mark], ...] = field(repr=False)

    @classmethod
    def of(cls, files: Iterable[Path]) -> Stamp:
        """Take the stamps of these files now; DataError where one is no plain file."""
        every = tuple(files)
        return cls(tuple((file, _mark(file, held=len(every) == 1)) for file in every))

    def verify(self) -> None:
        """Raise DataError where a file has changed since; called before and after every pass."""
        alone = len(self.marks) == 1
        self._compare(lambda file, mark: _mark(file, held=alone) == mark)

    def verify_quickly(self) -> None:
        """Raise DataError where a file changed in size, times or inode: for tables that read the files no more."""
        self._compare(lambda file, mark: _status(file) == mark[:-1])

    def _compare(self, equal: Callable[[Path, Mark], bool]) -> None:
        for file, mark in self.marks:
            try:
                same = equal(file, mark)
            except (OSError, DataError):
                same = False
            if not same:
                raise DataError(
                    "the file changed while it was read",
                    came=file.name,
                    fix="make a copy that nobody writes to, and start again",
                )


def refuse_special(file: Path) -> None:
    """Raise DataError where a path leads to something other than a plain file: opening a pipe would wait for a writer."""
    mode = file.stat().st_mode
    if not stat.S_ISREG(mode):
        kind = next((words for matches, words in _KINDS if matches(mode)), "something else")
        raise DataError(
            "the table is read from a plain file",
            came=f"{file.name}, {kind}",
            fix="write what it gives to a file, and name that",
        )


def refuse_lost_part(file: Path) -> None:
    """Raise DataError where a file of a folder is a link that leads nowhere: without it, rows would be left out."""
    if not file.exists():
        raise DataError(
            "a file of the folder is a link that leads nowhere",
            came=file.name,
            fix="restore the file, or remove the link",
        )


def _mark(file: Path, *, held: bool) -> Mark:
    status = _status(file)
    if status[0] > SMALL:
        return (*status, b"")
    content = file.read_bytes()
    return (*status, content if held and status[0] <= HELD else hashlib.blake2b(content).digest())


def _status(file: Path) -> tuple[int, int, int, int]:
    refuse_special(file)
    status = file.stat()
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino


@dataclass(frozen=True)
class Spelling:
    """How numbers and dates of one column are spelled where its cells have kinds of their own, as in a workbook."""

    decimal: str = "."
    format: DateFormat | None = None


@dataclass(frozen=True)
class StoredColumns:
    """All columns that were found, the number of rows, and how to read some of the columns by their positions.

    `parsed` says whether rows are lines that a delimiter divides, `counted` how a message says where numbers of rows begin,
    `codebook` has the labels that a file carries. Where cells have kinds of their own and columns have none, `speller` gives the
    columns as text, numbers and dates spelled as is asked for each column; `opener` spells them as 1.5 and 2024-12-31.
    """

    name: str
    names: tuple[str, ...]
    kinds: tuple[pa.DataType, ...]
    rows: int
    stamp: Stamp
    opener: Opener
    parsed: bool = False
    counted: str = ", counted from 1"
    codebook: Codebook | None = None
    speller: Speller | None = None
    in_memory: bool = False
    """Whether the rows lie in memory already, as those of a frame do."""


def load_library(module: str, what: str) -> Any:
    """Import a library that reads a kind of file; UsageError where it is not installed, with the command that installs it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        pass
    raise UsageError(
        f"{what} are read by a library that is not installed",
        came=f"no {module}",
        fix='install it: pip install "shoal[formats]"',
    )


def refuse_expansion(name: str, size: int, found: int) -> None:
    """Raise DataError where so many bytes of text were found in a file of this size that it was made to burst memory."""
    if found > MOST_TEXT + EXPANSION * size:
        raise DataError(
            "the texts of the file unpack to far more than its size",
            came=name,
            allowed=f"{EXPANSION:,} times as many bytes as it has",
            fix="check where the file comes from",
        )


def refuse_rows(name: str, rows: int) -> None:
    """Raise DataError where a file claims a negative number of rows, or more than a table may have."""
    if not 0 <= rows <= MOST_ROWS:
        raise DataError("the file claims a number of rows that no table has", came=name, allowed=f"0 to {MOST_ROWS:,}")
