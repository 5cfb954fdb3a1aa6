"""Locks on questions: who asks the same question at the same moment waits, and finds the answer on record.

The lock of a question is one of a fixed number of files in a folder beside the ledger, chosen by its hash. Two questions that
share a file wait for each other in vain, which costs time and nothing else. The operating system frees a lock when its process
ends, however it ends.
"""

from __future__ import annotations

import hashlib
import os
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from shoal.errors import LedgerError

FILES = 256
"""How many files there are: few enough to be left lying, enough that questions seldom meet."""


def lock_folder(ledger: Path) -> Path:
    """Where the locks of a ledger are: beside the file itself, whichever link to it was named."""
    file = Path(os.path.realpath(ledger))
    return file.with_name(file.name + ".locks")


@contextmanager
def hold(ledger: Path, names: Iterable[str]) -> Iterator[None]:
    """Wait until nobody else holds one of these names, then hold them all until the end of the block.

    Every process takes the files in the same order, so no two can wait for each other.
    """
    places = sorted({int.from_bytes(hashlib.sha256(name.encode()).digest()[:2]) % FILES for name in names})
    with ExitStack() as stack:
        try:
            folder, mode = _folder(ledger)
            for place in places:
                handle = _open(folder / f"{place:03}", mode)
                stack.callback(os.close, handle)
                _lock(handle)
        except OSError as error:
            raise LedgerError(
                "the question cannot be locked, so it might be paid twice",
                came=f"{lock_folder(ledger)}: {error.strerror or type(error).__name__}",
                fix="let the folder be written to by all who may write to the ledger; nothing was charged",
            ) from None
        yield


def _folder(ledger: Path) -> tuple[Path, int]:
    """The folder of the locks, made where it is missing; for all who may write to the ledger, and the mode of its files."""
    folder = lock_folder(ledger)
    shared = stat.S_IMODE(ledger.stat().st_mode) & 0o666
    mode = (shared | 0o600) & ~0o006
    try:
        folder.mkdir(mode=0o700)
        folder.chmod(mode | ((mode & 0o444) >> 2))
    except FileExistsError:
        if not stat.S_ISDIR(folder.lstat().st_mode):
            raise NotADirectoryError(20, "no folder") from None
    return folder, mode


def _open(path: Path, mode: int) -> int:
    flags = os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        handle = os.open(path, flags | os.O_CREAT | os.O_EXCL, mode)
        if hasattr(os, "fchmod"):
            os.fchmod(handle, mode)
    except FileExistsError:
        handle = os.open(path, flags)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(22, "no plain file")
    return handle


def _lock(handle: int) -> None:
    """Wait for the lock of an open file; a file system without locks is left without."""
    if sys.platform == "win32":
        import msvcrt

        while True:
            try:
                msvcrt.locking(handle, msvcrt.LK_LOCK, 1)
            except OSError:
                continue
            return
    else:
        import errno
        import fcntl

        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
        except OSError as error:
            if error.errno not in (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP):
                raise
