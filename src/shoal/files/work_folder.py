"""A folder that a run works in, and that a stranger can tell to be dead: nothing that a killed process leaves stays for good.

    PATH/                  for its owner alone (mode 0700)
        shoal.lock         locked as long as the process lives; its first line is the mark
        shoal.journal      what the run is about and how far it has come, rewritten whole each time
        ...                what the run writes

Nothing is removed that is a link, belongs to another user, is locked, or lacks the mark. An empty folder of such a name, and one
that holds an empty lock alone, are what a kill leaves before the mark is written.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import shutil
import stat
import tempfile
import time
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self, TypeVar

from shoal.errors import UsageError
from shoal.files.exchange import sync_folder
from shoal.files.process_lock import Held, is_own, is_same_file, open_plain, try_lock

_MARK = b"a work folder of shoal; the next command that needs its place removes it\n"
VERSION = 1
LOCK, JOURNAL = "shoal.lock", "shoal.journal"
_NEXT = JOURNAL + ".next"
_NOT_EMPTY = (errno.ENOTEMPTY, errno.EEXIST)
_OWN_NAMES = {LOCK, JOURNAL, _NEXT}
_MOST_BYTES = 1 << 20
_ATTEMPTS, _PAUSE = 8, 0.02  # a look at a lock holds it for a moment
_TEMPORARY = re.compile(r"shoal-[a-z]+-[a-z0-9_]+")


class WorkFolder:
    """A folder that this process alone works in, until it is removed or the process ends."""

    def __init__(self, path: Path, handles: tuple[int, ...], journal: Mapping[str, Any]) -> None:
        self.path = path
        self.close = weakref.finalize(self, _close, handles)
        """Let the lock go and leave the folder as it is, for the next command to find."""
        self._journal = dict(journal)

    @classmethod
    def claim(cls, path: Path, facts: Mapping[str, Any]) -> Self:
        """Make the folder, or take one over that a dead run left empty, and note what it is for.

        Raises  UsageError where a living process has it, where a dead run left something in it, or where it is none of ours;
                OSError where it cannot be made
        """
        for _ in range(_ATTEMPTS):
            new = _make(path)
            if not new and _has_content(path):
                raise _occupied(path)
            folder = cls._lock(path, new=new)
            if folder is not None:
                return _begin(folder, facts)
        raise _busy(path)

    @classmethod
    def take_over(cls, path: Path) -> Self:
        """Lock the folder of a dead run; its journal says how far the run came.

        Raises  UsageError where a living process has it, or where it is none of ours; FileNotFoundError where it is gone
        """
        for _ in range(_ATTEMPTS):
            path.lstat()
            folder = cls._lock(path)
            if folder is not None:
                return folder
        raise _busy(path)

    @classmethod
    def temporary(cls, purpose: str) -> Self:
        """A new folder in the system's folder for temporary files, for spills and for archives that are unpacked."""
        place = temporary_place()
        for _ in range(_ATTEMPTS):
            made = Path(tempfile.mkdtemp(prefix=f"shoal-{purpose}-", dir=place))
            folder = cls._lock(made, new=True)  # None where another process has just swept it away
            if folder is not None:
                return _begin(folder, {"purpose": purpose})
        raise _busy(place)

    @property
    def facts(self) -> dict[str, Any]:
        """What was noted; empty where the run died before it noted anything."""
        return {name: value for name, value in self._journal.items() if name != "version"}

    @property
    def is_empty(self) -> bool:
        """Whether nothing was written into it and nothing is noted: its run died when it began, or when it had ended."""
        return not self._journal and _names(self.path) <= _OWN_NAMES

    def note(self, **facts: Any) -> None:
        """Add facts to the journal, durably: it is written beside the old one, then takes its place."""
        changed = {**self._journal, **facts, "version": VERSION}
        content = (json.dumps(changed, indent=1) + "\n").encode()
        beside = self.path / _NEXT
        beside.unlink(missing_ok=True)
        handle = open_plain(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(self.path / JOURNAL)
        sync_folder(self.path)
        self._journal = changed

    def remove(self) -> None:
        """Remove the folder: what was written first, the journal and the lock last, so that a kill leaves what can be removed.

        Once it is closed it may be another's, so nothing is done.
        """
        if not self.close.alive:
            return
        try:
            _empty(self.path, keep=_OWN_NAMES)
            if os.name == "nt":  # where an open file cannot be removed
                self.close()
            for name in (_NEXT, JOURNAL, LOCK):
                (self.path / name).unlink(missing_ok=True)
            self.path.rmdir()
        except FileNotFoundError:
            pass  # somebody removed it by hand
        except OSError as error:
            if error.errno not in _NOT_EMPTY:  # another process claims it already
                raise
        finally:
            self.close()

    @classmethod
    def _lock(cls, path: Path, *, new: bool = False) -> Self | None:
        """The folder with its lock taken; None where it vanished or changed meanwhile, or is locked for a moment by a look.

        A folder that this process made (`new`) is its own also where the file system has no locks.
        """
        handles: list[int] = []
        try:
            _refuse_other(path)
            held = _take(path, handles)
            if held is Held.UNKNOWN and not new:
                raise UsageError(
                    "the file system has no locks, so whether the run that left this folder is alive cannot be told",
                    came=path,
                    fix="remove the folder if no run of shoal is working on it",
                )
            if held is not Held.ANOTHER and is_same_file(handles[-1], path / LOCK):
                journal = {} if new else _read_journal(path)
                own, handles = tuple(handles), []
                return cls(path, own, journal)
        except FileNotFoundError:
            return None
        except OSError:
            if new:
                _discard(path)
            raise
        finally:
            _close(tuple(handles))
        if held is Held.ANOTHER:
            time.sleep(_PAUSE)
        return None


Folder = TypeVar("Folder", bound=WorkFolder)


def _begin(folder: Folder, facts: Mapping[str, Any]) -> Folder:
    """Write the first journal; a folder that has none is removed."""
    try:
        folder.note(**facts)
    except BaseException:
        try:
            folder.remove()
        except OSError:  # no handle is left to list the folder with
            _discard(folder.path)
        raise
    return folder


def is_abandoned(path: Path) -> bool:
    """Whether a folder is a work folder of this user's whose process is dead; no for anything else."""
    return _holder(path) is Held.OURS


def is_alive(path: Path) -> bool:
    """Whether a folder is a work folder of this user's whose process is alive; no where that cannot be told."""
    return _holder(path) is Held.ANOTHER


def _holder(path: Path) -> Held | None:
    """Who has the lock of a work folder now: we, where nobody had it; None for what is no such folder of this user's."""
    handles: list[int] = []
    try:
        _refuse_other(path)
        return _take(path, handles, make=False)
    except (OSError, UsageError):
        return None
    finally:
        _close(tuple(handles))


def temporary_place() -> Path:
    """The folder for temporary files.

    Raises  UsageError where TMPDIR names one that cannot be used: Python would take another without a word, on another disk
            perhaps, where records are not to lie; OSError where there is none
    """
    if named := os.environ.get("TMPDIR"):
        wrong = (
            "is not there"
            if not os.path.lexists(named)
            else "is no folder"
            if not Path(named).is_dir()
            else None
            if os.access(named, os.W_OK | os.X_OK)
            else "cannot be written to"
        )
        if wrong:
            raise UsageError(
                f"TMPDIR names {named}, which {wrong}",
                fix="set TMPDIR to a folder that you alone can write to, on a disk with room",
            )
    return Path(tempfile.gettempdir())


@contextmanager
def temporary_folder(purpose: str) -> Iterator[Path]:
    """A folder for spills and unpacked archives; it is gone afterwards, and after a kill with the next sweep."""
    folder = WorkFolder.temporary(purpose)
    try:
        yield folder.path
    finally:
        folder.remove()


def sweep_temporary() -> list[str]:
    """Remove the temporary folders of this user's dead runs; one sentence for each."""
    said = []
    place = Path(tempfile.gettempdir())
    try:
        names = sorted(entry.name for entry in os.scandir(place) if _TEMPORARY.fullmatch(entry.name))
    except OSError:
        return []
    for path in (place / name for name in names):
        if is_abandoned(path):
            with contextlib.suppress(OSError, UsageError):
                WorkFolder.take_over(path).remove()
                said.append(f"removed a temporary folder that a run left when it was killed: {path}")
    return said


def _take(path: Path, handles: list[int], *, make: bool = True) -> Held:
    """Try to lock a folder and the file in it; what was opened is added to `handles`, the lock file last.

    The folder itself is locked as well where the system can, so that a lock file that somebody deleted frees nothing.
    """
    held = Held.UNKNOWN
    if hasattr(os, "O_DIRECTORY"):
        handles.append(os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW))
        if (held := try_lock(handles[-1])) is Held.ANOTHER:
            return held
    if not make and not (path / LOCK).exists():
        return held
    handles.append(open_plain(path / LOCK, os.O_RDWR | (os.O_CREAT if make else 0)))
    found = try_lock(handles[-1])
    if make and found is not Held.ANOTHER and os.fstat(handles[-1]).st_size < len(_MARK):
        os.ftruncate(handles[-1], 0)
        os.write(handles[-1], _MARK)
    return held if found is Held.UNKNOWN else found


def _make(path: Path) -> bool:
    """Make a folder for its owner alone; whether it was not there before."""
    try:
        path.mkdir(mode=0o700)
    except FileExistsError:
        return False
    return True


def _discard(path: Path) -> None:
    """Remove a folder that could not be locked, where nothing is in it but the lock."""
    with contextlib.suppress(OSError):
        (path / LOCK).unlink(missing_ok=True)
        path.rmdir()


def _close(handles: tuple[int, ...]) -> None:
    for handle in handles:
        os.close(handle)


def _refuse_other(path: Path) -> None:
    """Raise unless this is a folder of this user's with our mark, or one so new that there is nothing in it to lose."""
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode):
        raise UsageError("something stands where a run would work", came=path, fix="move it away")
    if not is_own(found):
        raise UsageError("the work folder belongs to another user", came=path, fix="let its owner remove it")
    if os.name != "nt" and stat.S_IMODE(found.st_mode) & 0o077:  # we make them for their owner alone
        raise UsageError("a folder that is none of ours stands where a run would work", came=path, fix="move it away")
    if not any(_is_marked(path) for _ in range(3)):  # a run that begins makes the lock, then the mark, then the journal
        raise UsageError("a folder that is none of ours stands where a run would work", came=path, fix="move it away")


def _is_marked(path: Path) -> bool:
    """Whether a folder has our mark, or nothing in it; no also where a run began between the two looks at it."""
    try:
        marked = _read(path / LOCK, len(_MARK))
        return marked == _MARK or (_MARK.startswith(marked) and _names(path) == {LOCK})
    except FileNotFoundError:
        return not _names(path)
    except PermissionError:  # a link, a folder, a pipe
        return False


def _names(path: Path) -> set[str]:
    with os.scandir(path) as entries:
        return {entry.name for entry in entries}


def _has_content(path: Path) -> bool:
    """Whether a dead run left more than its lock in a folder; a folder that is none of ours is refused elsewhere."""
    try:
        return bool(_names(path) - {LOCK, _NEXT})
    except OSError:
        return False


def _read(path: Path, most: int) -> bytes:
    handle = open_plain(path, os.O_RDONLY)
    with os.fdopen(handle, "rb") as file:
        return file.read(most)


def _read_journal(path: Path) -> dict[str, Any]:
    """What a run noted; empty where it died before, UsageError where it was written by another version of Shoal."""
    try:
        found = json.loads(_read(path / JOURNAL, _MOST_BYTES))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or found.get("version") != VERSION:
        raise UsageError(
            "the journal of a run that died cannot be read",
            came=path / JOURNAL,
            fix="look at it and move its folder away",
        )
    return found


def _empty(path: Path, keep: set[str]) -> None:
    """Remove everything in a folder but some names; links are removed and not followed."""
    for name in sorted(_names(path) - keep):
        if stat.S_ISDIR((path / name).lstat().st_mode):
            shutil.rmtree(path / name)
        else:
            (path / name).unlink(missing_ok=True)


def _busy(path: Path) -> UsageError:
    return UsageError(
        "another run is working there at this moment", came=path, fix="wait for it to end, or name another place"
    )


def _occupied(path: Path) -> UsageError:
    try:
        _refuse_other(path)
    except FileNotFoundError:
        return _busy(path)
    if is_abandoned(path):
        return UsageError(
            "a run that died left a work folder", came=path, fix="let the next command finish or remove it"
        )
    return _busy(path)
