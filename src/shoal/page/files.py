"""Files appear whole or not at all, and never in place of another unless asked."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from shoal.errors import UsageError


def refuse_overwriting(path: Path, *, force: bool) -> None:
    """Raise before any work is done if the file is there and may not be replaced, or could not be written."""
    if path.is_dir():
        raise UsageError("a folder stands where a file should go", came=path, fix="name a file")
    if path.exists() and not force:
        raise UsageError("the file exists", came=path, fix="choose another name, or say --force to replace it")
    if not path.parent.is_dir():
        raise UsageError("the folder of the file does not exist", came=path, fix="make the folder first")


def write(path: Path, content: bytes | str, *, force: bool) -> Path:
    """Write under a temporary name in the same folder, then rename."""
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
