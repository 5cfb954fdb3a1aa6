"""A lock on a file that lasts as long as its process: a kill frees it, and a stranger can tell that it is free.

Where the file system knows no locks, nobody can tell whether a holder lives; `Held.UNKNOWN` says so.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from enum import Enum
from pathlib import Path

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_BUSY = (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES, errno.EDEADLK)
_UNSUPPORTED = (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL, errno.EBADF)


class Held(Enum):
    """Who holds a lock after an attempt to take it."""

    OURS = "ours"
    ANOTHER = "another"
    UNKNOWN = "unknown"


def try_lock(handle: int) -> Held:
    """Try to take the lock of an open file, without waiting."""
    try:
        if sys.platform == "win32":
            os.lseek(handle, 0, os.SEEK_SET)
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in _BUSY:
            return Held.ANOTHER
        if error.errno in _UNSUPPORTED:
            return Held.UNKNOWN
        raise
    return Held.OURS


def open_plain(path: Path, flags: int, mode: int = 0o600) -> int:
    """Open a plain file of this user's, never through a link and never a device; PermissionError for anything else."""
    nofollow = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        handle = os.open(path, flags | nofollow, mode)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO, errno.EISDIR):
            raise PermissionError(errno.EPERM, "no plain file", str(path)) from None
        raise
    found = os.fstat(handle)
    if not stat.S_ISREG(found.st_mode) or not is_own(found):
        os.close(handle)
        raise PermissionError(errno.EPERM, "no plain file of this user's", str(path))
    return handle


def is_own(found: os.stat_result) -> bool:
    """Whether a file belongs to the user that the process runs as."""
    return not hasattr(os, "geteuid") or found.st_uid == os.geteuid()


def is_same_file(handle: int, path: Path) -> bool:
    """Whether a name still stands for the file that was opened by it, and not for one that was made since."""
    try:
        return os.path.samestat(os.fstat(handle), path.lstat())
    except OSError:
        return False
