"""The database of a ledger: a file, through Python's own SQLite, or one of PostgreSQL by its URL, through SQLAlchemy.

SQLAlchemy takes longer to load than a question takes to answer, and a file does not need it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import quote

from shoal.errors import LedgerError

if TYPE_CHECKING:
    import sqlalchemy as sa

PATIENCE = 30.0
"""Seconds to wait for another process to finish its entry."""

_LOCK = 0x53484F4C
"""The advisory lock of PostgreSQL that whoever writes to a ledger holds."""
_LOCK_TIMEOUT = "55P03"
"""What PostgreSQL calls a lock that was not got in time."""
_LONGEST_CELL = 1 << 28
_SETTINGS = ("trusted_schema=OFF", "cell_size_check=ON", "mmap_size=0", "synchronous=FULL")

Values = Mapping[str, object]


class Rows(Protocol):
    """What a statement found."""

    def __iter__(self) -> Iterator[Any]: ...

    def fetchone(self) -> Any: ...

    def fetchall(self) -> Any: ...


class Transaction(Protocol):
    """A transaction that has begun, on a connection of its own; `close` ends both, whatever has become of it."""

    def execute(self, statement: str, values: Values | Sequence[Values] | None = None) -> Rows:
        """Run a statement, for one row of named values or for several."""

    def commit(self) -> None:
        """Make it durable."""

    def rollback(self) -> None:
        """Take it back."""

    def close(self) -> None:
        """End the connection."""


class Database(Protocol):
    """Where the tables of a ledger lie."""

    is_sqlite: bool
    failures: tuple[type[Exception], ...]
    """What is raised where the database cannot do what it is asked."""

    def begin(self, *, reading: bool = False) -> Transaction:
        """Begin a transaction: one that reads blocks no writer, any other has the database for itself."""

    def table_names(self, transaction: Transaction) -> list[str]:
        """The tables that are there."""

    def reason(self, error: Exception) -> str | None:
        """What the database says of one of its failures; None where it was not even reached."""

    def close(self) -> None:
        """Close it."""


@contextmanager
def transaction(database: Database, *, reading: bool = False) -> Iterator[Transaction]:
    """A transaction that is committed where the block ends without an error; one that reads has nothing to commit."""
    begun = database.begin(reading=reading)
    try:
        yield begun
        if not reading:
            begun.commit()
    except BaseException:
        begun.rollback()
        raise
    finally:
        begun.close()


# --- SQLite ----------------------------------------------------------------------------------------------------------


class SqliteTransaction:
    """A transaction of SQLite."""

    def __init__(self, connection: sqlite3.Connection, *, reading: bool, keep: bool) -> None:
        self._connection = connection
        self._keep = keep
        try:
            connection.execute("BEGIN" if reading else "BEGIN IMMEDIATE")
        except BaseException:
            self.close()
            raise

    def execute(self, statement: str, values: Values | Sequence[Values] | None = None) -> Rows:
        """Run a statement, for one row of named values or for several."""
        if values is None or isinstance(values, Mapping):
            return self._connection.execute(statement, values or {})
        return self._connection.executemany(statement, values)

    def commit(self) -> None:
        """Make it durable."""
        self._connection.execute("COMMIT")

    def rollback(self) -> None:
        """Take it back; SQLite has done so itself after some failures."""
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")

    def close(self) -> None:
        """End the connection, which takes back what was not committed; a database in memory lives in its connection."""
        if not self._keep:
            self._connection.close()
        elif self._connection.in_transaction:
            self._connection.execute("ROLLBACK")


class SqliteDatabase:
    """A file, opened anew for each transaction; or, without a path, a database in the memory of this process."""

    is_sqlite = True
    failures: tuple[type[Exception], ...] = (sqlite3.Error,)

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._memory = _connect(":memory:", uri=False) if path is None else None

    def begin(self, *, reading: bool = False) -> Transaction:
        """Begin a transaction; a file that has gone in the meantime is not made again."""
        if self._path is None:
            if self._memory is None:
                raise sqlite3.ProgrammingError("the database is closed")
            return SqliteTransaction(self._memory, reading=reading, keep=True)
        connection = _connect(f"file:{quote(str(self._path))}?mode=rw", uri=True)
        return SqliteTransaction(connection, reading=reading, keep=False)

    def table_names(self, transaction: Transaction) -> list[str]:
        """The tables that are there."""
        return [name for (name,) in transaction.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]

    def reason(self, error: Exception) -> str | None:
        """What SQLite says."""
        return str(error)

    def close(self) -> None:
        """Forget what is in memory; a file is closed after each transaction."""
        if self._memory is not None:
            self._memory.close()
            self._memory = None


def _connect(name: str, *, uri: bool) -> sqlite3.Connection:
    connection = sqlite3.connect(name, uri=uri, timeout=PATIENCE, check_same_thread=False, isolation_level=None)
    try:
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST_CELL)
        for setting in _SETTINGS:
            connection.execute(f"PRAGMA {setting}")
    except BaseException:
        connection.close()
        raise
    return connection


# --- PostgreSQL ------------------------------------------------------------------------------------------------------


class UrlTransaction:
    """A transaction of PostgreSQL."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection
        try:
            connection.begin()
        except BaseException:
            connection.close()
            raise

    @property
    def connection(self) -> sa.Connection:
        """The connection of SQLAlchemy."""
        return self._connection

    def execute(self, statement: str, values: Values | Sequence[Values] | None = None) -> Rows:
        """Run a statement, for one row of named values or for several."""
        from sqlalchemy import text

        given = dict(values or {}) if values is None or isinstance(values, Mapping) else [dict(each) for each in values]
        return self._connection.execute(text(statement), given)

    def commit(self) -> None:
        """Make it durable; a connection that failed at it is not used again."""
        from sqlalchemy.exc import SQLAlchemyError

        try:
            self._connection.commit()
        except SQLAlchemyError:
            self._connection.invalidate()
            raise

    def rollback(self) -> None:
        """Take it back."""
        self._connection.rollback()

    def close(self) -> None:
        """Give the connection back."""
        self._connection.close()


class UrlDatabase:
    """A database of PostgreSQL by its URL, reached anew for each transaction: a connection does not outlive a fork."""

    is_sqlite = False

    def __init__(self, address: sa.URL) -> None:
        from sqlalchemy import create_engine
        from sqlalchemy.exc import SQLAlchemyError
        from sqlalchemy.pool import NullPool

        self.failures: tuple[type[Exception], ...] = (SQLAlchemyError,)
        try:
            self._engine = create_engine(address, poolclass=NullPool)
        except (SQLAlchemyError, ImportError) as error:
            raise unknown_address(f"{address.drivername}://", error) from None

    def begin(self, *, reading: bool = False) -> Transaction:
        """Begin a transaction: one that reads sees one moment, any other waits until no other writes.

        What a writer reads is read after the lock was got, so each of its statements sees what was committed until then.
        """
        level = "REPEATABLE READ" if reading else "READ COMMITTED"
        begun = UrlTransaction(self._engine.connect().execution_options(isolation_level=level))
        if not reading:
            try:
                begun.execute(f"SET LOCAL lock_timeout = {round(1000 * PATIENCE)}")
                begun.execute("SET LOCAL synchronous_commit = on")
                begun.execute(f"SELECT pg_advisory_xact_lock({_LOCK})")
            except BaseException:
                begun.close()
                raise
        return begun

    def table_names(self, transaction: Transaction) -> list[str]:
        """The tables that are there."""
        from sqlalchemy import inspect

        if not isinstance(transaction, UrlTransaction):
            raise TypeError(type(transaction).__name__)
        return list(inspect(transaction.connection).get_table_names())

    def reason(self, error: Exception) -> str | None:
        """What the database says; None where SQLAlchemy failed before it was reached."""
        from sqlalchemy.exc import DatabaseError

        if not isinstance(error, DatabaseError):
            return None
        return "the database is locked" if getattr(error.orig, "sqlstate", None) == _LOCK_TIMEOUT else str(error.orig)

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()


# --- which one -------------------------------------------------------------------------------------------------------


def find_database(url: str) -> tuple[Path | None, sa.URL | None]:
    """The file of a ledger, where it is one; else the address of its database, None for one in memory.

    A path is taken letter by letter: ? and % are parts of it.
    """
    if "://" not in url:
        return Path(url).expanduser().absolute(), None
    from sqlalchemy import make_url
    from sqlalchemy.exc import SQLAlchemyError

    try:
        address = make_url(url)
    except (SQLAlchemyError, ValueError) as error:
        raise unknown_address(url, error) from None
    named = address.database
    if not address.drivername.startswith("sqlite"):
        return None, _server(address)
    if (named or "").startswith("file:") or address.drivername not in ("sqlite", "sqlite+pysqlite"):
        raise LedgerError("a ledger in SQLite is named by its path", came=url, allowed="a path, or sqlite:///path")
    return (None, None) if not named or named == ":memory:" else (Path(named).absolute(), None)


def _server(address: sa.URL) -> sa.URL:
    """The address of a server that can keep a ledger; messages quote it, so that it holds no password."""
    if address.drivername not in ("postgresql", "postgresql+psycopg"):
        raise LedgerError(
            "no ledger is kept in a database of this kind",
            came=address.drivername,
            allowed="a path, sqlite:///path, or postgresql://host/database",
        )
    if address.password is not None or any("password" in name.lower() for name in address.query):
        raise LedgerError(
            "the address of a ledger holds a password, which messages and records would repeat",
            came=f"{address.drivername}://…",
            fix="leave it out, and keep it where PostgreSQL looks for it: in ~/.pgpass, or in PGPASSWORD",
        )
    return address.set(drivername="postgresql+psycopg")


def unknown_address(url: str, error: Exception) -> LedgerError:
    """The error for an address that no database understands."""
    return LedgerError(
        "no database understands this ledger's address",
        came=f"{url.split('://', maxsplit=1)[0]}: {type(error).__name__}",
        allowed="a path, or sqlite:///path",
    )
