"""The ledger: whether it is there, can be read and written, is intact and private, and waits for runs that died."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from shoal.cli.doctor.diagnosis import Diagnosis, fine, mending, note, wrong
from shoal.errors import ShoalError

if TYPE_CHECKING:
    from shoal.ledger.ledger import Ledger

PART = "ledger"


def look(url: str | None, folders: Sequence[Path] = ()) -> Iterator[Diagnosis]:
    """Look at the ledger that is named, or at this user's; nothing is made where there is none.

    `folders` are those that were given, for the command that mends.
    """
    from shoal.ledger.store import default_url, file_of

    try:
        named = url or default_url()
        path = file_of(named)
    except ShoalError as error:
        say = note if url is None else wrong
        yield say(PART, f"the ledger cannot be found: {error.wrong}", error.fix or "name another with --ledger")
        return
    if path is not None and not path.exists():
        if url is None:
            yield note(PART, f"there is no ledger yet: {path}", "nothing need be done: the first release begins one")
        else:
            yield wrong(PART, f"there is no ledger here: {path}", "name the one that releases were charged to")
        return
    if path is not None:
        yield from _permissions(path)
    yield from _content(named, mending(folders, url))


def _permissions(path: Path) -> Iterator[Diagnosis]:
    """It holds the key of the fingerprints, so nobody but its owner should read it."""
    found = path.stat()
    mode = f"{stat.S_IMODE(found.st_mode):04o}"
    if can := _rights(found.st_mode, stat.S_IROTH, stat.S_IWOTH):
        yield wrong(
            PART,
            f"everybody on this machine can {can} the ledger: {path} has mode {mode}",
            f"chmod o-rwx {path}: it holds the key of the fingerprints, and what was answered",
            lambda: _make_private(path),
        )
    elif can := _rights(found.st_mode, stat.S_IRGRP, stat.S_IWGRP):
        yield note(
            PART,
            f"members of its group can {can} the ledger: {path} has mode {mode}",
            f"nothing need be done if they are its custodians; else chmod g-rwx {path}",
        )
    else:
        yield fine(PART, f"the ledger is its owner's alone: {path}")
    if hasattr(os, "geteuid") and found.st_uid != os.geteuid():
        yield note(
            PART, f"the ledger belongs to another user (number {found.st_uid})", "let that user run commands on it"
        )
    folder = path.parent.stat().st_mode
    if folder & stat.S_IWOTH and not folder & stat.S_ISVTX:
        yield wrong(
            PART,
            f"anybody can exchange the ledger, because anybody can write to its folder: {path.parent}",
            f"chmod o-w {path.parent}",
        )
    if not os.access(path, os.W_OK) or not os.access(path.parent, os.W_OK):
        yield wrong(
            PART,
            f"the ledger cannot be written to: {path}",
            "let its owner run commands that charge it, or give this account the right to write to it and to its folder",
        )


def _rights(mode: int, read: int, write: int) -> str:
    """What a mode allows, in words; empty where it allows neither."""
    return " and ".join(word for bit, word in ((read, "read"), (write, "change")) if mode & bit)


def _make_private(path: Path) -> list[str]:
    path.chmod(stat.S_IMODE(path.stat().st_mode) & ~stat.S_IRWXO)
    return [f"others than its owner and its group have no right to the ledger any more: {path}"]


def _content(url: str, say: str) -> Iterator[Diagnosis]:
    from shoal.ledger.ledger import Ledger

    try:
        with Ledger(url) as book:
            events = book.verify()
            yield fine(PART, f"{events} events, chain intact")
            yield from _time(book)
            yield from _runs(book, url, say)
    except ShoalError as error:
        yield wrong(PART, f"the ledger cannot be relied on: {error.wrong}", error.fix or "restore it from a copy")


def _time(book: Ledger) -> Iterator[Diagnosis]:
    """A clock that went back makes events that seem to come before earlier ones."""
    events = book.events()
    if not events:
        return
    last = events[-1].time
    try:
        when = datetime.fromisoformat(last)
    except ValueError:
        return
    if when.tzinfo is not None and when > datetime.now(UTC):
        yield wrong(
            PART, f"the clock stands before the last event of the ledger, of {last}", "set the clock of this machine"
        )


def _runs(book: Ledger, url: str, say: str) -> Iterator[Diagnosis]:
    from shoal.files.work_folder import is_abandoned

    for run in book.runs():
        work = Path(run.work)
        if is_abandoned(work) or not os.path.lexists(work):
            yield wrong(
                PART,
                f"a run on '{run.dataset}' was charged (entry {run.number}) and died before it ended: {work}",
                f"say {say}, or run any command on this ledger: what it left is finished or removed",
                lambda: _recover(url),
            )
        else:
            yield note(PART, f"a run on '{run.dataset}' is at work in {work}", "nothing need be done: let it end")


def _recover(url: str) -> list[str]:
    from shoal.ledger.ledger import Ledger
    from shoal.publish.run.recover import recover_runs

    with Ledger(url) as book:
        return recover_runs(book)
