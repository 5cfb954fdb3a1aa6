"""The file of a ledger: what may be opened as one, how a new one appears whole or not at all, and who can read it."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

from shoal.errors import LedgerError

COMPANIONS = ("-journal", "-wal", "-shm")
"""What SQLite keeps beside a database while it writes, and finds there after a crash."""

_FULL = (errno.ENOSPC, errno.EDQUOT)
_MAKE_ROOM = "the disk is full, or what you may use of it: make room there"
"""What to do where the ledger's file system has no more room."""

_NO_LINKS = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EXDEV, errno.ENOENT, errno.EINVAL, errno.EISDIR}
"""What a file system says that cannot make a file without a name, or link to one."""


def exists(path: Path) -> bool:
    """Whether something is at a path; LedgerError where that cannot be found out."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError) as error:
        raise _unusable(path, error) from None
    return True


def refuse_special(path: Path) -> int:
    """Refuse what is no plain file, or has a companion that is none; the size of the file.

    A pipe or a device would be waited for, or read without end, before anybody could say what is wrong.
    """
    try:
        found = path.stat()
    except (OSError, ValueError) as error:
        raise _unusable(path, error) from None
    if not stat.S_ISREG(found.st_mode):
        raise LedgerError(
            "the ledger is no file",
            came=path,
            allowed="a plain file, or a link to one",
            fix="name another with --ledger",
        )
    for ending in COMPANIONS:
        beside = path.with_name(path.name + ending)
        with suppress(FileNotFoundError):
            if not stat.S_ISREG(os.lstat(beside).st_mode):
                raise LedgerError(
                    "what lies beside the ledger is no file, so the ledger is not opened",
                    came=beside,
                    allowed="the journal that SQLite leaves after a crash, or nothing",
                    fix="find out who put it there, and take it away",
                )
    return found.st_size


def warnings(path: Path) -> tuple[str, ...]:
    """A sentence where others than the owner and the group of a ledger can read or change it."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return ()
    can = [word for bit, word in ((stat.S_IROTH, "read"), (stat.S_IWOTH, "change")) if mode & bit]
    if not can:
        return ()
    what = f"everybody on this machine can {' and '.join(can)} the ledger {path}"
    return (f"{what}, which holds the key of the fingerprints and the answers; `chmod o-rwx` takes that away",)


def create(path: Path, content: bytes) -> bool:
    """Make the file with this content, for its owner alone; False where another process was faster.

    It appears whole: a process that is killed leaves nothing under the name, and nothing that is there is replaced.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not a path"
        raise LedgerError(
            "the ledger's folder cannot be made",
            came=f"{path.parent}: {reason}",
            fix="name a ledger in another folder with --ledger or SHOAL_LEDGER",
        ) from None
    try:
        try:
            _link_unnamed(path, content)
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            _link_named(path, content)
        _sync_folder(path.parent)
    except FileExistsError:
        return False
    except (OSError, ValueError) as error:
        raise _unusable(path, error) from None
    return True


def _link_unnamed(path: Path, content: bytes) -> None:
    """Write a file that has no name, then give it one: a kill in between leaves nothing at all."""
    flag = getattr(os, "O_TMPFILE", None)
    if flag is None:
        raise OSError(errno.ENOSYS, "no files without a name")
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        handle = os.open(path.parent, flag | os.O_RDWR, 0o600)
        try:
            _write(handle, content)
            os.link(f"/proc/self/fd/{handle}", path.name, dst_dir_fd=folder)  # without a folder Python follows no link
        finally:
            os.close(handle)
    finally:
        os.close(folder)


def _link_named(path: Path, content: bytes) -> None:
    """The same with a name of its own first, where files without one are not to be had."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name[:80]}.", suffix=".new", dir=path.parent)
    try:
        try:
            _write(handle, content)
        finally:
            os.close(handle)
        os.link(name, path)
    finally:
        Path(name).unlink()


def _write(handle: int, content: bytes) -> None:
    left = memoryview(content)
    while left:
        left = left[os.write(handle, left) :]
    os.fsync(handle)


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _unusable(path: Path, error: Exception) -> LedgerError:
    if isinstance(error, ValueError):
        return LedgerError("the ledger's path is none", came=repr(str(path)), fix="name another with --ledger")
    reason = getattr(error, "strerror", None) or type(error).__name__
    full = getattr(error, "errno", None) in _FULL
    return LedgerError(
        "the ledger cannot be read or written",
        came=f"{path}: {reason}",
        fix=f"{_MAKE_ROOM}; nothing was entered" if full else "check the path and its permissions",
    )
