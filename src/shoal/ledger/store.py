"""Where events are kept: one table in SQLite (or in PostgreSQL, by URL), appended to under an exclusive lock.

What was answered lies beside the events, in a table of its own under its hash: an event names the hash, so that the
chain stays light however large a table of counts an answer was. Runs that have been charged and have not ended are listed in
a third table, which is no part of the chain: it says where a killed run left something.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import sqlite3
import threading
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

from shoal.errors import LedgerError
from shoal.ledger import file as ledger_file
from shoal.ledger.database import Database, SqliteDatabase, Transaction, UrlDatabase, find_database, transaction
from shoal.ledger.event import VERSION, Event, Excerpt, Head, genesis
from shoal.ledger.state import refuse_cut_end

ENVIRONMENT = "SHOAL_LEDGER"
TABLES = {
    "meta": "CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
    "events": "CREATE TABLE events (number INTEGER PRIMARY KEY, time TEXT NOT NULL, dataset TEXT NOT NULL, "
    "kind TEXT NOT NULL, payload TEXT NOT NULL, previous TEXT NOT NULL, hash TEXT NOT NULL UNIQUE)",
    "answers": "CREATE TABLE answers (hash TEXT PRIMARY KEY, content BLOB NOT NULL)",
    "runs": "CREATE TABLE runs (number INTEGER PRIMARY KEY, dataset TEXT NOT NULL, work TEXT NOT NULL)",
}
"""Everything that the database of a ledger holds, in the words that it is made with."""

APPLICATION = 0x53484F4C
"""By this number in its header a file is known as a ledger that has a head and a list of runs."""

_BACKUP = "restore the ledger from a backup"
_NO_HEAD = (
    "this ledger has no head: it was written by an earlier version, or somebody removed it; "
    "a cut-off end would not show. Compare it with an export; the next entry gives it a head"
)
_MOST_ROWS = 64
_MOST_RUNS = 10_000
_LONGEST_PATH = 4_096
"""Bytes; no system opens a longer one."""
_KEY = 32
_DEEPEST = 50
"""Lists within lists of an event; those that are written have six at most."""
_DIGITS = 10


def default_url() -> str:
    """The ledger of this user, or the one that the environment names; a home that is missing is refused, and never made."""
    named = os.environ.get(ENVIRONMENT)
    if named:
        return named
    import platformdirs

    fix = f"name a ledger with --ledger or {ENVIRONMENT}, or set HOME"
    try:
        path, home = Path(platformdirs.user_data_dir("shoal")) / "ledger.sqlite", Path.home()
    except RuntimeError:  # a service account may have neither a home nor a name
        raise LedgerError("this user has no home, so there is no folder for a ledger", fix=fix) from None
    if path.is_relative_to(home) and not os.path.lexists(home):
        raise LedgerError("the home of this user is not there, so there is no folder for a ledger", came=home, fix=fix)
    return str(path)


@dataclass(frozen=True)
class Run:
    """A run that the ledger waits for: its charge, or its note as unbounded, and the folder that it works in."""

    number: int
    """The number of the event."""
    dataset: str
    work: str


class Store:
    """The database of events in order, appended and never changed, and of recorded answers."""

    def __init__(self, url: str, *, new: bool = False) -> None:
        path, address = find_database(url)
        self.url = url if "://" in url else str(path)
        self.path = path
        """The file; None for a database that is kept elsewhere."""
        self.is_new = False
        """Whether there was no ledger before."""
        begin = address is None or new  # a database that was emptied must not begin anew with nothing spent
        if path is not None:
            self.is_new = not ledger_file.exists(path) and ledger_file.create(path, _new_file())
            begin = ledger_file.refuse_special(path) == 0
            if begin and not new:
                raise _empty(path)
        self._database: Database = SqliteDatabase(path) if address is None else UrlDatabase(address)
        self._turn: AbstractContextManager[Any] = (
            threading.RLock() if path is None and address is None else nullcontext()
        )
        self._is_old = False
        with self._turn, self._translate_errors():
            with transaction(self._database, reading=True) as connection:
                found = self._tables(connection)
                if found:
                    self.genesis = self._checked(connection, found)
                    """What the first event is chained to."""
            if not found:
                self._begin_or_refuse(begin)

    def close(self) -> None:
        """Close the database."""
        self._database.close()

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the custodian should know of the ledger: who can read its file, and that it has no head."""
        headless = (_NO_HEAD,) if self._is_old else ()
        return headless if self.path is None else (*ledger_file.warnings(self.path), *headless)

    @property
    def secret(self) -> bytes:
        """The key under which tables are fingerprinted; it never leaves the ledger."""
        with self._reading() as connection:
            return _secret(_meta(connection))

    def events(self, since: int = 0) -> Excerpt:
        """The events in order, from number `since` on, and the head."""
        with self._reading() as connection:
            return _excerpt(connection, since)

    def content(self, sha256: str) -> bytes | None:
        """What was answered, by its hash; None if it is not there or is not what it was."""
        with self._reading() as connection:
            row = connection.execute("SELECT content FROM answers WHERE hash = :h", {"h": sha256}).fetchone()
        found = row[0] if row is not None and isinstance(row[0], bytes) else None
        return found if found is not None and hashlib.sha256(found).hexdigest() == sha256 else None

    def runs(self) -> list[Run]:
        """The runs that were charged or noted and have not ended, in order."""
        with self._reading() as connection:
            if "runs" not in self._tables(connection):
                return []  # a ledger from before, which gets its list when something is entered
            return _runs(connection)

    @contextmanager
    def exclusive(self, undone: str = "nothing was entered") -> Iterator[Appender]:
        """Read and append as one step that no other process can come between; durable when it ends without an error.

        `undone` are the words for a step that was not taken, which an error says where that is certain.
        """
        with self._turn:
            with self._translate_errors(undone):
                connection = self._database.begin()
            try:
                with self._translate_errors(undone):
                    try:
                        if self._is_old:
                            self._bring_up_to_date(connection)
                        writer = Appender(connection, self.genesis)
                        yield writer
                        writer.write_head()
                    except BaseException:
                        connection.rollback()
                        raise
                self._commit(connection, writer, undone)
                self._is_old = False
            finally:
                connection.close()

    def _commit(self, connection: Transaction, writer: Appender, undone: str) -> None:
        """Commit; if the database fails at that, look what has become of the step and say it."""
        try:
            connection.commit()
        except self._database.failures as error:
            reason = self._database.reason(error) or type(error).__name__
            with suppress(*self._database.failures):
                connection.rollback()
            last = writer.appended
            if last is None:
                raise self._failed(reason, undone) from None
            entered = self._holds(last)
            if entered is False:
                raise self._failed(reason, undone) from None
            entry = f"event {last.number} ({last.kind} of dataset '{last.dataset}')"
            if entered is None:
                wrong = "the ledger failed while it was written, and cannot be read now"
                fix = (
                    f"whether {entry} was entered is not known: look with `shoal ledger show` when it can be read again"
                )
            else:
                wrong = "the ledger reported an error while it was written, and holds the entry all the same"
                fix = f"{entry} stands; check the disk"
            raise LedgerError(wrong, came=f"{self.url}: {reason}", fix=fix) from None

    def _holds(self, event: Event) -> bool | None:
        """Whether an event is in the ledger, seen by another connection; None where that cannot be found out."""
        try:
            with transaction(self._database, reading=True) as connection:
                found = connection.execute("SELECT hash FROM events WHERE number = :n", {"n": event.number}).fetchone()
        except self._database.failures:
            return None
        return found is not None and found[0] == event.hash

    @contextmanager
    def _reading(self) -> Iterator[Transaction]:
        """A connection that reads and blocks no writer."""
        with self._turn, self._translate_errors(), transaction(self._database, reading=True) as connection:
            yield connection

    def _begin_or_refuse(self, begin: bool) -> None:
        """Begin a ledger where nothing is, if that is what was asked for."""
        if not begin:
            raise LedgerError(
                "the database holds no ledger",
                came=self.url,
                fix="restore the ledger from a backup, or name another with --ledger; --new-ledger of `shoal release`, "
                "`shoal dataset register` or `shoal ledger budget` begins one in a new file or an empty database",
            )
        with transaction(self._database) as connection:
            found = self._tables(connection)
            if not found:  # else another process was faster
                for statement in _statements(secrets.token_bytes(_KEY), self._database.is_sqlite):
                    connection.execute(statement)
                self.is_new = True
                found = self._tables(connection)
            self.genesis = self._checked(connection, found)

    def _tables(self, connection: Transaction) -> dict[str, str]:
        """The tables by name, each with the statement that made it; whatever no ledger has is refused where it is seen."""
        if not self._database.is_sqlite:
            return {name: TABLES[name] for name in self._database.table_names(connection) if name in TABLES}
        found: dict[str, str] = {}
        listed = "SELECT type, name, sql FROM sqlite_master"
        for place, (kind, name, made) in enumerate(connection.execute(listed)):
            if place > _MOST_ROWS:
                raise _foreign(self.url, "many tables")
            if kind == "table" and isinstance(name, str) and isinstance(made, str):
                found[name] = made
            elif kind != "index" or made is not None or not str(name).startswith("sqlite_autoindex_"):
                raise _foreign(self.url, f"{'an index' if kind == 'index' else f'a {kind}'} of its own")
        return found

    def _checked(self, connection: Transaction, found: dict[str, str]) -> str:
        """The genesis of a ledger whose tables and marks are all there and are ours."""
        if not found.get("meta", "").startswith("CREATE TABLE"):
            raise _foreign(self.url, "other tables")
        meta = _meta(connection)
        version = meta.get("version", "")
        if not (version.isascii() and version.isdigit() and len(version) < _DIGITS) or "secret" not in meta:
            raise LedgerError(
                "the ledger is not one of ours, or damaged", came=self.url, fix=f"{_BACKUP}, or name another"
            )
        if int(version) < VERSION:
            raise LedgerError(
                "the ledger was written by an older version, which knew tables by other fingerprints",
                came=f"form {version}",
                allowed=f"form {VERSION}",
                fix="keep it as a record, and begin a new one (`--ledger PATH --new-ledger`) with what is left of each budget; "
                "nothing was charged",
            )
        if int(version) > VERSION:
            raise LedgerError(
                "the ledger was written by a newer version",
                came=f"form {version}",
                allowed=f"form {VERSION}",
                fix="upgrade shoal; nothing was charged",
            )
        self._refuse_other_tables(found)
        marked = not self._database.is_sqlite or self._mark(connection)
        self._is_old = "head" not in meta
        if (self._database.is_sqlite and marked and self._is_old) or self._is_old == (
            "runs" in found
        ):  # they came together
            raise LedgerError(
                "a part of the ledger is missing",
                came=f"{self.url}: no {'head' if self._is_old else 'table of runs'}",
                fix=f"{_BACKUP}; what was spent is not known",
            )
        _head(meta)
        return genesis(_secret(meta))

    def _refuse_other_tables(self, found: dict[str, str]) -> None:
        for name, made in found.items():
            if TABLES.get(name) != made and not name.startswith("sqlite_stat"):
                raise _foreign(self.url, "a table of another form" if name in TABLES else "a table of its own")
        missing = [name for name in ("events", "answers") if name not in found]
        if missing:
            raise LedgerError(
                "a part of the ledger is missing",
                came=f"{self.url}: no table of {missing[0]}",
                fix=f"{_BACKUP}; what was spent is not known",
            )

    def _mark(self, connection: Transaction) -> bool:
        """Whether the header has our number; a number of somebody else is refused."""
        (number,) = connection.execute("PRAGMA application_id").fetchone()
        if number not in (0, APPLICATION):
            raise _foreign(self.url, "the mark of another program")
        return bool(number == APPLICATION)

    def _bring_up_to_date(self, connection: Transaction) -> None:
        """Give a ledger from before what it lacks: the list of runs, the head and the mark."""
        if "runs" not in self._tables(connection):
            connection.execute(TABLES["runs"])
        if "head" not in _meta(connection):
            last = _last(connection)
            head = Head(0, self.genesis) if last is None else Head(last.number, last.hash)
            connection.execute("INSERT INTO meta (name, value) VALUES ('head', :h)", {"h": head.to_text()})
        if self._database.is_sqlite:
            connection.execute(f"PRAGMA application_id = {APPLICATION}")

    @contextmanager
    def _translate_errors(self, undone: str | None = None) -> Iterator[None]:
        """Turn errors of the database into LedgerError; `undone` says what did not happen, where something was to happen."""
        try:
            yield
        except self._database.failures as error:
            reason = self._database.reason(error)
            if reason is None:
                raise LedgerError("the ledger cannot be opened", came=f"{self.url}: {type(error).__name__}") from None
            raise self._failed(reason, undone) from None
        except UnicodeDecodeError:  # a message of the database that quotes what is damaged
            raise self._failed("the database is damaged", undone) from None

    def _failed(self, reason: str, undone: str | None) -> LedgerError:
        if "locked" in reason:
            wrong, came, fix = (
                "the ledger is locked by another process",
                self.url,
                "wait until it has finished, then try again",
            )
        else:
            full = "disk is full" in reason
            wrong, came, fix = (
                "the ledger cannot be read or written",
                f"{self.url}: {reason}",
                "make room on the disk that the ledger is on"
                if full
                else "check the path, its permissions and the space on the disk, or restore a backup",
            )
        return LedgerError(wrong, came=came, fix=fix if undone is None else f"{fix}; {undone}")


class Appender:
    """What may append to the store while it holds the exclusive lock."""

    def __init__(self, connection: Transaction, genesis: str) -> None:
        self._connection = connection
        self._genesis = genesis
        self._last: Event | None = None
        self._placed = False
        self.appended: Event | None = None
        """The last event that was added."""

    def events(self, since: int) -> Excerpt:
        """The events from number `since` on, of this very moment, and the head."""
        found = _excerpt(self._connection, since)
        if found.events:
            self._last, self._placed = found.events[-1], True
        return found

    def append(self, time: str, dataset: str, kind: str, payload: dict[str, Any]) -> Event:
        """Add an event to the chain; a chain whose end is cut off is refused, because a new end would hide that."""
        if not self._placed:
            self._last, self._placed = _last(self._connection), True
        if self.appended is None:
            refuse_cut_end(self._last or self._genesis, _head(_meta(self._connection)))
        event = Event.after(self._last or self._genesis, time, dataset, kind, payload)
        row = {**event.to_saved(), "payload": json.dumps(event.payload, sort_keys=True)}
        self._connection.execute(
            "INSERT INTO events (number, time, dataset, kind, payload, previous, hash) "
            "VALUES (:number, :time, :dataset, :kind, :payload, :previous, :hash)",
            row,
        )
        self._last = self.appended = event
        return event

    def write_head(self) -> None:
        """Note which event is the last."""
        if self.appended is not None:
            head = Head(self.appended.number, self.appended.hash)
            self._connection.execute("UPDATE meta SET value = :h WHERE name = 'head'", {"h": head.to_text()})

    def put(self, content: bytes) -> str:
        """Store the content of an answer under its hash; gives the hash."""
        sha256 = hashlib.sha256(content).hexdigest()
        known = self._connection.execute("SELECT 1 FROM answers WHERE hash = :h", {"h": sha256}).fetchone()
        if known is None:
            row = {"h": sha256, "c": content}
            self._connection.execute("INSERT INTO answers (hash, content) VALUES (:h, :c)", row)
        return sha256

    def runs(self) -> list[Run]:
        """The runs that have not ended, at this very moment."""
        return _runs(self._connection)

    def begin_run(self, number: int, dataset: str, work: str) -> None:
        """Note the folder in which the run of an event works; LedgerError where the list cannot be read."""
        _runs(self._connection)
        row = {"n": number, "d": dataset, "w": work}
        self._connection.execute("INSERT INTO runs (number, dataset, work) VALUES (:n, :d, :w)", row)

    def end_run(self, work: str) -> None:
        """Forget the runs that worked in this folder."""
        self._connection.execute("DELETE FROM runs WHERE work = :w", {"w": work})

    def end_runs(self, ended: Iterable[Run]) -> None:
        """Forget these very runs."""
        rows = [{"n": run.number, "w": run.work} for run in ended]
        if rows:
            self._connection.execute("DELETE FROM runs WHERE number = :n AND work = :w", rows)


def _runs(connection: Transaction) -> list[Run]:
    """The list of runs; it is no part of the chain, so a row that Shoal cannot have written is refused by its shape."""
    found: list[Run] = []
    for number, dataset, work in connection.execute("SELECT number, dataset, work FROM runs ORDER BY number"):
        after = not found or found[-1].number < number
        if not (after and isinstance(dataset, str) and _is_place(work)) or len(found) == _MOST_RUNS:
            raise LedgerError(
                "the ledger's list of runs is damaged",
                allowed=f"at most {_MOST_RUNS:,} runs, each with the whole path of its folder",
                fix=_BACKUP,
            )
        found.append(Run(number, dataset, work))
    return found


def _is_place(work: object) -> bool:
    """Whether it can be the path of a work folder, on this system or on another."""
    return (
        isinstance(work, str)
        and "\0" not in work
        and len(work.encode(errors="surrogatepass")) <= _LONGEST_PATH
        and (PurePosixPath(work).is_absolute() or PureWindowsPath(work).is_absolute())
    )


def _excerpt(connection: Transaction, since: int) -> Excerpt:
    return Excerpt(_events(connection, since), _head(_meta(connection)))


def _events(connection: Transaction, since: int = 0) -> list[Event]:
    """The events from a number on; a file in which one comes twice, or holds no text, is damaged."""
    rows = connection.execute(
        "SELECT number, time, dataset, kind, payload, previous, hash FROM events WHERE number >= :since ORDER BY number",
        {"since": since},
    )
    found: list[Event] = []
    for number, *words in rows:
        after = isinstance(number, int) and (not found or found[-1].number < number)
        if not after or not all(isinstance(word, str) for word in words):
            raise LedgerError("an event of the ledger cannot be read", fix=_BACKUP)
        time, dataset, kind, payload, previous, hash_ = words
        found.append(Event(number, time, dataset, kind, _payload(number, payload), previous, hash_))
    return found


def _payload(number: int, text: str) -> dict[str, Any]:
    try:
        payload = json.loads(text, parse_float=_refuse_float, parse_constant=_refuse_float)
    except (ValueError, RecursionError):
        payload = None
    if not isinstance(payload, dict) or not _is_shallow(payload, text):
        raise LedgerError(f"event {number} of the ledger cannot be read", fix=_BACKUP)
    return payload


def _refuse_float(text: str) -> float:
    raise ValueError(text)  # an event holds exact text


def _is_shallow(payload: dict[str, Any], text: str) -> bool:
    """Whether nothing nests deeper than events do; a text with few brackets is not looked through."""
    if text.count("[") + text.count("{") <= _DEEPEST:
        return True
    level: list[Any] = [payload]
    for _ in range(_DEEPEST):
        level = [
            inner
            for each in level
            for inner in (each.values() if isinstance(each, dict) else each)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return True
    return False


def _last(connection: Transaction) -> Event | None:
    (number,) = connection.execute("SELECT MAX(number) FROM events").fetchone()
    return None if number is None else _events(connection, number)[-1]


def _meta(connection: Transaction) -> dict[str, str]:
    rows = connection.execute(f"SELECT name, value FROM meta LIMIT {_MOST_ROWS}").fetchall()  # noqa: S608 - a number
    return {name: value for name, value in rows if isinstance(name, str) and isinstance(value, str)}


def _secret(meta: dict[str, str]) -> bytes:
    try:
        secret = bytes.fromhex(meta["secret"])
    except (KeyError, ValueError):
        secret = b""
    if len(secret) != _KEY:
        raise LedgerError("the key of the ledger's fingerprints is damaged", fix=_BACKUP)
    return secret


def _head(meta: dict[str, str]) -> Head | None:
    try:
        return Head.from_text(meta["head"]) if "head" in meta else None
    except ValueError:
        raise LedgerError("the head of the ledger is damaged", fix=f"{_BACKUP}; what was spent is not known") from None


def _statements(secret: bytes, sqlite: bool) -> list[str]:
    """What makes an empty database a ledger."""
    rows = {"version": str(VERSION), "secret": secret.hex(), "head": Head(0, genesis(secret)).to_text()}
    tables = TABLES.values() if sqlite else [each.replace(" BLOB ", " BYTEA ") for each in TABLES.values()]
    made = [*tables, *(f"INSERT INTO meta (name, value) VALUES ('{n}', '{v}')" for n, v in rows.items())]  # noqa: S608
    return [*made, f"PRAGMA application_id = {APPLICATION}"] if sqlite else made


def _new_file() -> bytes:
    """The file of a new ledger, with a fresh key and no event."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    try:
        for statement in _statements(secrets.token_bytes(_KEY), True):
            connection.execute(statement)
        return connection.serialize()
    finally:
        connection.close()


def _empty(path: Path) -> LedgerError:
    return LedgerError(
        "the file of the ledger is empty",
        came=path,
        allowed="a ledger; a new one is never empty, so something has emptied this file",
        fix="restore it from a backup: what was spent is not known. If there never was a ledger here, begin one with "
        "--new-ledger of `shoal release`, `shoal dataset register` or `shoal ledger budget`",
    )


def _foreign(url: str, what: str) -> LedgerError:
    return LedgerError(
        "the database is not one of ours, or was altered",
        came=f"{url}: it has {what}",
        fix=f"{_BACKUP}, or name another with --ledger",
    )


def file_of(url: str) -> Path | None:
    """The file of a ledger; None for a database that is kept elsewhere."""
    return find_database(url)[0]
