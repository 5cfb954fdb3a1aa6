"""Writing files: whole or not at all, and never over an existing file unless that is asked for."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from shoal.errors import UsageError


def refuse_overwriting(path: Path, *, force: bool) -> None:
    """Raise UsageError, before any work is done, if the file exists and may not be replaced, or cannot be written."""
    if path.is_dir():
        raise UsageError("a folder stands where a file should go", came=path, fix="name a file")
    if path.exists() and not force:
        raise UsageError("the file exists", came=path, fix="choose another name, or say --force to replace it")
    if not path.parent.is_dir():
        raise UsageError("the folder of the file does not exist", came=path, fix="make the folder first")


def write(path: Path, content: bytes | str, *, force: bool) -> Path:
    """Write a file under a temporary name in the same folder, then rename it.

    Arguments  `path`: the file; `content`: bytes, or text in UTF-8; `force`: replace a file that exists
    Raises     UsageError where the file exists, is a folder, or its folder does not exist
    """
    refuse_overwriting(path, force=force)
    data = content.encode() if isinstance(content, str) else content
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(0o666 & ~_umask())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return path


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
