"""Database files of SQLite, whose columns have no types that bind: each value is spelled by its own kind."""

from __future__ import annotations

import contextlib
import itertools
import sqlite3
import urllib.parse
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from shoal.data.schema import STANDARD, FileFormat
from shoal.engine.read.foreign.relation import choose_relation, quote_name
from shoal.engine.read.foreign.spelling import PLAIN, text_batches
from shoal.engine.read.source import Spelling, Stamp, StoredColumns, refuse_rows
from shoal.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa

MOST_BYTES: Final = 1 << 28
"""Bytes that one value may have."""
ROWS: Final = 1000
"""Rows that are fetched at a time."""
T = TypeVar("T")
_ALLOWED: Final = frozenset(
    {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
)


def open_sqlite(path: Path, form: FileFormat = STANDARD) -> StoredColumns:
    """Open a table, a view or a query of an SQLite file; every column is text, and an empty text is missing."""
    import pyarrow as pa

    beside = [path.with_name(path.name + ending) for ending in ("-wal", "-journal")]
    unfinished = [file for file in beside if file.exists() and file.stat().st_size]
    stamp = Stamp.of([path, *unfinished])
    connect = partial(_connect, path, unfinished=bool(unfinished))

    def look() -> tuple[str, tuple[str, ...], int]:
        with contextlib.closing(connect()) as connection:
            relation = choose_relation(form, _tables(connection), path.name)
            described = connection.execute(f"SELECT * FROM {relation} LIMIT 0").description
            counted = connection.execute(f"SELECT count(*) FROM {relation}").fetchone()[0]
            return relation, tuple(column[0] for column in described), counted

    relation, names, rows = _attempt(path, form, look)
    refuse_rows(path.name, rows)

    def speller(places: Sequence[int], spellings: Sequence[Spelling]) -> Iterator[pa.RecordBatch]:
        if not places:
            return
        asked = ", ".join(quote_name(names[place]) for place in places)
        with contextlib.closing(_attempt(path, form, connect)) as connection:
            cursor = _attempt(path, form, lambda: connection.execute(f"SELECT {asked} FROM {relation}"))
            yield from text_batches(fetch(cursor), spellings)

    def fetch(cursor: sqlite3.Cursor) -> Iterator[tuple[Any, ...]]:
        while held := _attempt(path, form, lambda: cursor.fetchmany(ROWS)):
            if any(isinstance(cell, bytes) for row in held for cell in row):
                raise DataError(
                    "a column holds bytes that are no text",
                    came=path.name,
                    fix="leave the column out of the policy, or give it with a query that converts it",
                )
            yield from held

    def opener(places: Sequence[int]) -> Iterator[pa.RecordBatch]:
        return speller(places, [PLAIN for _ in places])

    kinds = tuple(itertools.repeat(pa.string(), len(names)))
    return StoredColumns(path.name, names, kinds, rows, stamp, opener, speller=speller)


def _connect(path: Path, *, unfinished: bool) -> sqlite3.Connection:
    """Open the file to read alone. Where nothing lies beside it, it is not locked and nothing is made beside it: that it does
    not change meanwhile, its stamp tells.
    """
    where = urllib.parse.quote(str(path.absolute()))
    connection = sqlite3.connect(
        f"file:{where}?mode=ro{'' if unfinished else '&immutable=1'}",
        uri=True,
        isolation_level=None,
        check_same_thread=False,
    )
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MOST_BYTES)
    for setting in ("trusted_schema = OFF", "cell_size_check = ON", "query_only = ON", "mmap_size = 0"):
        connection.execute(f"PRAGMA {setting}")
    connection.execute("BEGIN")
    connection.set_authorizer(_authorize)
    return connection


def _authorize(action: int, *_: Any) -> int:
    """Allow what reads, and nothing that writes, attaches another file or changes a setting."""
    return sqlite3.SQLITE_OK if action in _ALLOWED else sqlite3.SQLITE_DENY


def _tables(connection: sqlite3.Connection) -> dict[str, str]:
    found = connection.execute(
        "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name"
    )
    return {name: quote_name(name) for (name,) in found}


def _attempt(path: Path, form: FileFormat, work: Callable[[], T]) -> T:
    """Do some work; what SQLite says may quote a value, and is not repeated."""
    try:
        return work()
    except sqlite3.Error as error:
        asked = form.query is not None and isinstance(error, sqlite3.OperationalError | sqlite3.ProgrammingError)
    raise DataError(
        "the query of the policy cannot be run" if asked else "the table cannot be read",
        came=path.name,
        fix="try the query in SQLite's own shell; it is one SELECT that reads tables of this file"
        if asked
        else "check that the file is whole; `PRAGMA integrity_check` in SQLite's own shell tells",
    )
