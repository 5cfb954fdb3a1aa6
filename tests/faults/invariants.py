"""What holds after a kill, a fault or a race, and what holds after the next command: looked at from outside."""

from __future__ import annotations

import re
import shutil
import sqlite3
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from shoal.ledger.event import Event
from shoal.ledger.ledger import Ledger
from shoal.publish.verify.release import verify
from tests.faults.journeys import FORENAME, GIVEN, LEDGER, Place
from tests.faults.server import Done

SAID = re.compile(r"\b(removed|finished|recorded|noted|recovered)\b")
"""A command that cleans up says so with one of these words."""
PRIVATE = re.compile(r"(\.holder|shoal-work|shoal-[a-z]+-|\.sqlite)")
"""What is the owner's alone: the custodian's folder, work folders, temporary folders, ledgers."""


@dataclass(frozen=True)
class Books:
    """What a ledger holds: its events in order, and the names of the work folders of runs that have not ended."""

    events: tuple[Event, ...]
    works: tuple[str, ...] = ()

    def of(self, kind: str) -> list[Event]:
        """The events of one kind."""
        return [event for event in self.events if event.kind == kind]

    @property
    def charges(self) -> int:
        """How often something was charged."""
        return len(self.of("charge"))

    @property
    def seals(self) -> set[str]:
        """The seals of the releases that are noted."""
        return {str(event.payload["certificate"]) for event in self.of("release")}


@contextmanager
def _copy_of(path: Path) -> Iterator[Path]:
    """A copy of a ledger with its journal, so that looking at it changes nothing."""
    with tempfile.TemporaryDirectory(prefix="test-ledger-") as folder:
        for file in path.parent.glob(f"{path.name}*"):
            if file.is_file():
                shutil.copy2(file, folder)
        yield Path(folder, path.name)


def books(place: Place) -> Books | None:
    """The ledger's events after its chain and its database have been checked; None where there is no ledger yet."""
    path = place.folder / LEDGER
    if not path.exists():
        return None
    with _copy_of(path) as copy:
        with sqlite3.connect(copy) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master")}
            runs = connection.execute("SELECT work FROM runs").fetchall() if "runs" in tables else []
        connection.close()
        if "events" not in tables:
            return None  # it was being made
        with Ledger(str(copy)) as ledger:
            ledger.verify()
            return Books(tuple(ledger.events()), tuple(Path(work).name for (work,) in runs))


def assert_whole(folder: Path) -> None:
    """A release that is there satisfies both verifiers."""
    import contextlib
    import io

    from shoal.publish.verify import standalone

    wrong = [check.name for check in verify(folder) if check.agrees is False]
    assert wrong == [], f"{folder} fails {wrong}"
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        code = standalone.main([str(folder)])
    assert code == 0, printed.getvalue()


def assert_target_whole(target: Path) -> None:
    """A release folder verifies; a zip file holds one that does."""
    if target.suffix == ".zip":
        import zipfile

        with zipfile.ZipFile(target) as archive:
            assert archive.testzip() is None
        wrong = [check.name for check in verify(target) if check.agrees is False]
        assert wrong == [], f"{target} fails {wrong}"
    else:
        assert_whole(target)


def entries(place: Place) -> set[str]:
    """The names in the place."""
    return {path.name for path in place.folder.iterdir()}


def leftovers(place: Place, allowed: set[str] | frozenset[str] = frozenset()) -> list[str]:
    """Whatever lies there that neither was given nor is a result: work folders, halves, temporary files, foreign names."""
    usual = GIVEN | {"out", "out.holder", "out.zip", f"{LEDGER}.locks"} | allowed
    found = sorted(entries(place) - usual)
    for folder in ("tmp", "home"):
        found += sorted(path.relative_to(place.folder).as_posix() for path in (place.folder / folder).rglob("*"))
    return [
        name for name in found if not name.startswith(("home/.cache", "home/.config")) and not _is_probe(place, name)
    ]


def _is_probe(place: Place, name: str) -> bool:
    """Whether this is not ours to remove: the few letters by which Python tries whether a folder can be written to, and the
    journal by which SQLite undoes what was cut off, which its next writer removes.
    """
    path = place.folder / name
    trial = re.fullmatch(r"tmp/[a-z0-9_]{8}", name) and path.is_file() and path.read_bytes() in {b"", b"blat"}
    return bool(trial) or name == f"{LEDGER}-journal"


def assert_private(place: Place) -> None:
    """Nobody else can read what is the owner's alone, nor any file with a name of the original in it."""
    for path in place.folder.rglob("*"):
        if path.is_symlink() or path.is_dir() or _is_closed(path, place.folder):
            continue
        about = path.relative_to(place.folder).as_posix()
        assert not PRIVATE.search(about), f"others can read {about}"
        assert FORENAME.encode() not in path.read_bytes(), f"others can read names of the original in {about}"


def assert_no_names(place: Place) -> None:
    """The names of the original are in the original alone."""
    for path in place.folder.rglob("*"):
        if path.is_file() and path.suffix != ".csv":
            assert FORENAME.encode() not in path.read_bytes(), f"names of the original in {path}"
    for path in place.out.rglob("*.csv"):
        assert FORENAME.encode() not in path.read_bytes()


def _is_closed(path: Path, top: Path) -> bool:
    """Whether the mode of a file, or of a folder above it, keeps others out."""
    if not path.lstat().st_mode & (stat.S_IRGRP | stat.S_IROTH):
        return True
    above = [parent for parent in path.parents if parent.is_relative_to(top) and parent != top]
    return any(not parent.stat().st_mode & (stat.S_IXGRP | stat.S_IXOTH) for parent in above)


def seal_of(folder: Path) -> str:
    """The seal of a release that is there."""
    import json

    return str(json.loads((folder / "certificate.json").read_text(encoding="utf-8"))["seal"])


def assert_no_trace_back(done: Done) -> None:
    """No command ends in a traceback or an unexpected error."""
    assert "Traceback" not in done.said, done.said
    assert "unexpected" not in done.said, done.said
