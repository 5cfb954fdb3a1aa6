"""Writing files: whole or not at all, and never over an existing file unless that is asked for."""

from __future__ import annotations

import hashlib
import itertools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from shoal.errors import UsageError
from shoal.files.exchange import appear, sync_names
from shoal.files.process_lock import Held, is_same_file, open_plain, try_lock

_ATTEMPTS = 8
_LONGEST_NAME = 255  # bytes, on every file system in use


def refuse_overwriting(path: Path, *, force: bool) -> None:
    """Raise UsageError, before any work is done, if the file exists and may not be replaced, or cannot be written."""
    sweep_unfinished(path)
    if path.is_dir():
        raise UsageError("a folder stands where a file should go", came=path, fix="name a file")
    if os.path.lexists(path) and not force:
        raise UsageError("the file exists", came=path, fix="choose another name, or say --force to replace it")
    if path.exists() and not path.is_file():
        raise UsageError("what stands there is no plain file, so it is not replaced", came=path, fix="name a file")
    if not path.parent.is_dir():
        raise UsageError("the folder of the file does not exist", came=path, fix="make the folder first")


def free_name(path: str) -> str:
    """A path beside this one at which nothing stands."""
    bare = path.rstrip("/\\")
    ending = "" if os.path.isdir(bare) else Path(bare).suffix  # noqa: PTH112
    stem = bare.removesuffix(ending)
    return next(name for number in itertools.count(2) if not os.path.lexists(name := f"{stem}-{number}{ending}"))


def free_name_like(path: str) -> str:
    """The path itself, or one beside it where something stands at it."""
    return free_name(path) if os.path.lexists(path) else path


def write(path: Path, content: bytes | str, *, force: bool, private: bool = False) -> Path:
    """Write a file under a hidden name in the same folder, then rename it.

    Arguments  `path`: the file; `content`: bytes, or text in UTF-8; `force`: replace a file that exists;
               `private`: for its owner alone
    Raises     UsageError where the file exists, is a folder, or its folder does not exist
    """
    refuse_overwriting(path, force=force)
    data = content.encode() if isinstance(content, str) else content
    with unfinished_file(path, force=force, private=private) as file:
        file.write(data)
    return path


@contextmanager
def unfinished_file(path: Path, *, force: bool, private: bool = False) -> Iterator[BinaryIO]:
    """A file to write into, which gets its name when the block ends and is gone if the block fails.

    Until then it is hidden beside its place, locked; what a killed process leaves there is overwritten by the next one.
    """
    hidden = hidden_name(path)
    with os.fdopen(_claim(hidden, path), "r+b") as file:  # its lock is held until it has its name, or is gone
        try:
            file.truncate()
            yield file
            file.flush()
            hidden.chmod((0o600 if private else 0o666) & ~_umask())
            os.fsync(file.fileno())
            _finish(hidden, path, force=force)
        except BaseException:
            hidden.unlink(missing_ok=True)
            raise


def sweep_unfinished(path: Path) -> None:
    """Remove what a killed process left of a file that it was writing; nothing where a living one writes it."""
    hidden = hidden_name(path)
    try:
        handle = open_plain(hidden, os.O_RDWR)
    except OSError:
        return
    try:
        if try_lock(handle) is Held.OURS and is_same_file(handle, hidden):
            hidden.unlink(missing_ok=True)
    finally:
        os.close(handle)


def hidden_name(path: Path) -> Path:
    """Where a file is written before it has its name: the same place for the same file, each time."""
    name = f".{path.name}.shoal-part"
    if len(os.fsencode(name)) > _LONGEST_NAME:
        name = f".{hashlib.sha256(os.fsencode(path.name)).hexdigest()}.shoal-part"
    return path.with_name(name)


def _claim(hidden: Path, path: Path) -> int:
    """The hidden file, opened and locked; UsageError where another process writes the same file at this moment."""
    for _ in range(_ATTEMPTS):
        try:
            handle = open_plain(hidden, os.O_RDWR | os.O_CREAT)
        except PermissionError as error:
            raise UsageError(
                "the file cannot be written", came=f"{path} ({error.strerror})", fix="choose another place"
            ) from None
        held = try_lock(handle)
        if held is not Held.ANOTHER and is_same_file(handle, hidden):
            return handle
        os.close(handle)
        if held is Held.ANOTHER:
            break
    raise UsageError(
        "another process is writing this file", came=path, fix="wait for it to end, or choose another name"
    )


def _finish(hidden: Path, path: Path, *, force: bool) -> None:
    if force:
        hidden.replace(path)
        sync_names(path)
        return
    try:
        appear(hidden, path)
    except FileExistsError:
        refuse_overwriting(path, force=force)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
