"""Names that change hands at once: a folder appears where nothing was, or changes places with the one that is there.

Linux does both in one step (renameat2). Elsewhere the fallbacks take two or three renames, in an order in which a kill at any
point leaves every folder whole under some name, and `finish_exchange` completes what a kill interrupted.
"""

from __future__ import annotations

import ctypes
import errno
import functools
import os
import stat
from collections.abc import Callable
from pathlib import Path

_NO_REPLACE, _EXCHANGE = 1, 2  # RENAME_NOREPLACE and RENAME_EXCHANGE of renameat2(2)
_HERE = -100  # AT_FDCWD: paths are relative to the working folder
_UNSUPPORTED = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP)


def appear(made: Path, target: Path) -> None:
    """Give a folder or file its name; FileExistsError, and nothing is changed, if anything has that name already."""
    if not _rename(made, target, _NO_REPLACE):
        _appear_in_steps(made, target)
    sync_names(made, target)


def exchange(made: Path, target: Path) -> None:
    """Let two folders change places at once: afterwards `made` holds what `target` held."""
    if not _rename(made, target, _EXCHANGE):
        target.rename(_aside(made))
        finish_exchange(made, target)
    sync_names(made, target)


def finish_exchange(made: Path, target: Path) -> None:
    """Complete an exchange in steps that was interrupted; where none was, nothing is done."""
    aside = _aside(made)
    if not _is_there(aside):
        return
    if not _is_there(target):
        made.rename(target)
    aside.rename(made)


def sync_names(*paths: Path) -> None:
    """Force the names of files and folders to the disk: the folders that hold them."""
    for folder in sorted({path.absolute().parent for path in paths}):
        sync_folder(folder)


def sync_folder(folder: Path) -> None:
    """Force the names in a folder to the disk, where the system knows how."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except PermissionError:  # a folder that may be written to and not read; on Windows, any folder
        return
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise
    finally:
        os.close(handle)


def _aside(made: Path) -> Path:
    """Where the old folder waits while an exchange is made in steps."""
    return made.with_name(made.name + ".aside")


def _is_there(path: Path) -> bool:
    """Whether anything has this name, a link that leads nowhere included."""
    return os.path.lexists(path)


def _appear_in_steps(made: Path, target: Path) -> None:
    """A file by a second name, which never replaces; a folder by a look and a rename, which replaces an empty folder at most."""
    if stat.S_ISDIR(made.lstat().st_mode):
        if _is_there(target):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target))
        made.rename(target)
        return
    target.hardlink_to(made)
    made.unlink()


def _rename(made: Path, target: Path, flag: int) -> bool:
    """Whether the system could rename with this flag; OSError where it knows how and refuses."""
    call = _renameat2()
    if call is None:
        return False
    if call(_HERE, os.fsencode(made), _HERE, os.fsencode(target), flag) == 0:
        return True
    code = ctypes.get_errno()
    if code in _UNSUPPORTED:
        return False
    raise OSError(code, os.strerror(code), str(made), None, str(target))


@functools.cache
def _renameat2() -> Callable[..., int] | None:
    """The call of the system's library; None where it has none."""
    try:
        call = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError, TypeError):
        return None
    call.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
    call.restype = ctypes.c_int
    found: Callable[..., int] = call
    return found
