"""Where events are kept: one table in SQLite (or another database by URL), appended to under an exclusive lock.

What was answered lies beside the events, in a table of its own under its hash: an event names the hash, so that the
chain stays light however large a table of counts an answer was. Runs that have been charged and have not ended are listed in
a third table, which is no part of the chain: it says where a killed run left something.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import LedgerError
from shoal.ledger.event import VERSION, Event, genesis

if TYPE_CHECKING:
    from sqlalchemy import URL, Connection, Engine

ENVIRONMENT = "SHOAL_LEDGER"
PATIENCE = 30.0
"""Seconds to wait for another process to finish its entry."""


def default_url() -> str:
    """The ledger of this user, or the one that the environment names."""
    named = os.environ.get(ENVIRONMENT)
    if named:
        return named
    import platformdirs

    return str(Path(platformdirs.user_data_dir("shoal")) / "ledger.sqlite")


@dataclass(frozen=True)
class Run:
    """A run that the ledger waits for: its charge, or its note as unbounded, and the folder that it works in."""

    number: int
    """The number of the event."""
    dataset: str
    work: str


class Store:
    """The database of events in order, appended and never changed, and of recorded answers."""

    def __init__(self, url: str) -> None:
        address, path = _address(url)
        self.url = url if "://" in url else str(path)
        self.is_new = False
        """Whether there was no ledger before."""
        if path is not None:
            _for_its_owner(path)
        self._engine = _engine(address)
        self._reader = self._engine.execution_options(reading=True)
        with self._translate_errors(), self._engine.begin() as connection:
            self._prepare(connection)
            self.genesis = genesis(_secret(connection))
            """What the first event is chained to."""

    def close(self) -> None:
        """Close the database."""
        self._engine.dispose()

    @property
    def secret(self) -> bytes:
        """The key under which tables are fingerprinted; it never leaves the ledger."""
        with self._translate_errors(), self._engine.begin() as connection:
            return _secret(connection)

    def events(self, since: int = 0) -> list[Event]:
        """The events in order, from number `since` on."""
        with self._reading() as connection:
            return _events(connection, since)

    def content(self, sha256: str) -> bytes | None:
        """What was answered, by its hash; None if it is not there or is not what it was."""
        from sqlalchemy import text

        with self._reading() as connection:
            row = connection.execute(text("SELECT content FROM answers WHERE hash = :h"), {"h": sha256}).first()
        found = None if row is None else bytes(row[0])
        return found if found is not None and hashlib.sha256(found).hexdigest() == sha256 else None

    def runs(self) -> list[Run]:
        """The runs that were charged or noted and have not ended, in order."""
        from sqlalchemy import text

        with self._reading() as connection:
            rows = connection.execute(text("SELECT number, dataset, work FROM runs ORDER BY number")).all()
        return [Run(row[0], row[1], row[2]) for row in rows]

    @contextmanager
    def exclusive(self) -> Iterator[Appender]:
        """Read and append as one step that no other process can come between; durable when it ends without an error."""
        with self._translate_errors(), self._engine.begin() as connection:
            yield Appender(connection, self.genesis)

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        """A connection that reads and blocks no writer."""
        with self._translate_errors(), self._reader.begin() as connection:
            yield connection

    def _prepare(self, connection: Connection) -> None:
        from sqlalchemy import text

        connection.execute(text("CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL)"))
        connection.execute(
            text(
                "CREATE TABLE IF NOT EXISTS events (number INTEGER PRIMARY KEY, time TEXT NOT NULL, dataset TEXT NOT NULL, "
                "kind TEXT NOT NULL, payload TEXT NOT NULL, previous TEXT NOT NULL, hash TEXT NOT NULL UNIQUE)"
            )
        )
        connection.execute(text("CREATE TABLE IF NOT EXISTS answers (hash TEXT PRIMARY KEY, content BLOB NOT NULL)"))
        connection.execute(
            text(
                "CREATE TABLE IF NOT EXISTS runs (number INTEGER PRIMARY KEY, dataset TEXT NOT NULL, work TEXT NOT NULL)"
            )
        )
        meta = _meta(connection)
        self.is_new = not meta
        if not meta:
            rows = [{"n": "version", "v": str(VERSION)}, {"n": "secret", "v": secrets.token_hex(32)}]
            connection.execute(text("INSERT INTO meta (name, value) VALUES (:n, :v)"), rows)
        elif not meta.get("version", "").isdigit() or "secret" not in meta:
            raise LedgerError(
                "the ledger is not one of ours, or damaged", came=self.url, fix="name another with --ledger"
            )
        elif int(meta["version"]) < VERSION:
            raise LedgerError(
                "the ledger was written by an older version, which knew tables by other fingerprints",
                came=f"form {meta['version']}",
                allowed=f"form {VERSION}",
                fix="keep it as a record, and begin a new one (`--ledger PATH --new-ledger`) with what is left of each budget; "
                "nothing was charged",
            )
        elif int(meta["version"]) > VERSION:
            raise LedgerError(
                "the ledger was written by a newer version",
                came=f"form {meta['version']}",
                allowed=f"form {VERSION}",
                fix="upgrade shoal; nothing was charged",
            )

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        """Turn errors of the database into LedgerError."""
        from sqlalchemy.exc import DatabaseError, SQLAlchemyError

        try:
            yield
        except DatabaseError as error:
            reason = str(error.orig)
            if "locked" in reason:
                raise LedgerError(
                    "the ledger is locked by another process",
                    came=self.url,
                    fix="wait until it has finished, then try again",
                ) from None
            raise LedgerError(
                "the ledger cannot be read or written",
                came=f"{self.url}: {reason}",
                fix="check the path and its permissions; nothing was charged",
            ) from None
        except SQLAlchemyError as error:
            raise LedgerError("the ledger cannot be opened", came=f"{self.url}: {type(error).__name__}") from None


class Appender:
    """What may append to the store while it holds the exclusive lock."""

    def __init__(self, connection: Connection, genesis: str) -> None:
        self._connection = connection
        self._genesis = genesis
        self._last: Event | None = None
        self._placed = False

    def events(self, since: int) -> list[Event]:
        """The events from number `since` on, of this very moment."""
        found = _events(self._connection, since)
        if found:
            self._last, self._placed = found[-1], True
        return found

    def append(self, time: str, dataset: str, kind: str, payload: dict[str, Any]) -> Event:
        """Add an event to the chain."""
        from sqlalchemy import text

        if not self._placed:
            number = self._connection.execute(text("SELECT MAX(number) FROM events")).scalar()
            self._last = _events(self._connection, number)[-1] if number is not None else None
            self._placed = True
        event = Event.after(self._last or self._genesis, time, dataset, kind, payload)
        row = {**event.to_saved(), "payload": json.dumps(event.payload, sort_keys=True)}
        self._connection.execute(
            text(
                "INSERT INTO events (number, time, dataset, kind, payload, previous, hash) "
                "VALUES (:number, :time, :dataset, :kind, :payload, :previous, :hash)"
            ),
            row,
        )
        self._last = event
        return event

    def put(self, content: bytes) -> str:
        """Store the content of an answer under its hash; gives the hash."""
        from sqlalchemy import text

        sha256 = hashlib.sha256(content).hexdigest()
        known = self._connection.execute(text("SELECT 1 FROM answers WHERE hash = :h"), {"h": sha256}).first()
        if known is None:
            row = {"h": sha256, "c": content}
            self._connection.execute(text("INSERT INTO answers (hash, content) VALUES (:h, :c)"), row)
        return sha256

    def begin_run(self, number: int, dataset: str, work: str) -> None:
        """Note the folder in which the run of an event works."""
        from sqlalchemy import text

        row = {"n": number, "d": dataset, "w": work}
        self._connection.execute(text("INSERT INTO runs (number, dataset, work) VALUES (:n, :d, :w)"), row)

    def end_run(self, work: str) -> None:
        """Forget the runs that worked in this folder."""
        from sqlalchemy import text

        self._connection.execute(text("DELETE FROM runs WHERE work = :w"), {"w": work})


def _events(connection: Connection, since: int = 0) -> list[Event]:
    from sqlalchemy import text

    rows = connection.execute(
        text(
            "SELECT number, time, dataset, kind, payload, previous, hash FROM events WHERE number >= :since ORDER BY number"
        ),
        {"since": since},
    ).all()
    try:
        return [Event(r[0], r[1], r[2], r[3], json.loads(r[4]), r[5], r[6]) for r in rows]
    except ValueError:
        raise LedgerError("an event of the ledger cannot be read", fix="restore the ledger from a backup") from None


def _meta(connection: Connection) -> dict[str, str]:
    from sqlalchemy import text

    return {row[0]: row[1] for row in connection.execute(text("SELECT name, value FROM meta")).all()}


def _secret(connection: Connection) -> bytes:
    try:
        return bytes.fromhex(_meta(connection)["secret"])
    except (KeyError, ValueError):
        raise LedgerError(
            "the key of the ledger's fingerprints is damaged",
            fix="restore the ledger from a backup; nothing was charged",
        ) from None


def _address(url: str) -> tuple[URL, Path | None]:
    """Where the database is; and its file, where it is one. A path is taken letter by letter: ? and % are parts of it."""
    from sqlalchemy import URL, make_url
    from sqlalchemy.exc import SQLAlchemyError

    if "://" not in url:
        path = Path(url).expanduser().absolute()
        return URL.create("sqlite", database=str(path)), path
    try:
        address = make_url(url)
    except (SQLAlchemyError, ValueError) as error:
        raise _unknown(url, error) from None
    named = address.database
    if not address.drivername.startswith("sqlite") or not named or named == ":memory:":
        return address, None
    if named.startswith("file:"):
        raise LedgerError("a ledger in SQLite is named by its path", came=url, allowed="a path, or sqlite:///path")
    return address, Path(named)


def file_of(url: str) -> Path | None:
    """The file of a ledger; None for a database that is kept elsewhere."""
    return _address(url)[1]


def _for_its_owner(path: Path) -> None:
    """A new ledger is readable by its owner alone: it holds the key of the fingerprints."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not a path"
        raise LedgerError("the ledger's folder cannot be made", came=f"{path.parent}: {reason}") from None
    try:
        if not path.exists():
            path.touch(mode=0o600)
    except OSError:
        return  # the database says it better
    except ValueError:
        raise LedgerError("the ledger's path is none", came=repr(str(path)), fix="name another with --ledger") from None


def _unknown(url: str, error: Exception) -> LedgerError:
    return LedgerError(
        "no database understands this ledger's address",
        came=f"{url.split('://', maxsplit=1)[0]}: {type(error).__name__}",
        allowed="a path, or sqlite:///path",
    )


def _engine(address: URL) -> Engine:
    from sqlalchemy import create_engine, event
    from sqlalchemy.exc import SQLAlchemyError

    sqlite = address.drivername.startswith("sqlite")
    try:
        engine = create_engine(address, connect_args={"timeout": PATIENCE} if sqlite else {})
    except (SQLAlchemyError, ImportError) as error:
        raise _unknown(f"{address.drivername}://", error) from None
    if sqlite:

        @event.listens_for(engine, "connect")
        def _connect(connection: Any, _record: Any) -> None:
            connection.isolation_level = None  # we say BEGIN ourselves
            connection.execute("PRAGMA synchronous=FULL")

        @event.listens_for(engine, "begin")
        def _begin(connection: Connection) -> None:
            reading = connection.get_execution_options().get("reading", False)
            connection.exec_driver_sql("BEGIN" if reading else "BEGIN IMMEDIATE")

    return engine
