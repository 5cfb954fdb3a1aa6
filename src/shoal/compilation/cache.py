"""Machine code of compiled loops, kept for the next process where nobody else could have put it.

What lies in the cache is run, so a file is loaded only if it is this user's or the administrator's, in a folder that is this
user's or the administrator's, both writable by the owner alone, and if it is whole (its hash stands at its head). A cache
that is missing, damaged, full, locked away or not to be trusted costs the time of compiling and nothing else.

The folders that are looked at, in this order: the one that `NUMBA_CACHE_DIR` names, `__pycache__` beside this file, and
`shoal/kernels` in the user's folder for caches (`XDG_CACHE_HOME`, or `.cache` at home). A loop is loaded from the first that
has it and written to the first that takes it; the last is made where it is missing.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import secrets
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

SUFFIX = ".kernel"
MOST = 8
"""The most files of one loop in a folder, one for each version and processor; the oldest give way."""


def candidate_folders() -> Iterator[tuple[Path, bool]]:
    """The folders that may hold a cache, and whether one that is missing may be made."""
    if named := os.environ.get("NUMBA_CACHE_DIR"):
        yield Path(named), False
    yield Path(__file__).parent / "__pycache__", False
    with suppress(RuntimeError):  # no home at all
        named = os.environ.get("XDG_CACHE_HOME")
        base = Path(named) if named else Path.home() / ".cache"
        if base.is_absolute() and (named or base.parent.is_dir()):  # a home that is missing is not made
            yield base / "shoal" / "kernels", True


def cache_folder() -> Path | None:
    """The folder in which the next loop that is compiled is kept, or None where there is none."""
    for path, may_make in candidate_folders():
        with suppress(OSError), open_folder(path, make=may_make):
            if os.access(path, os.W_OK | os.X_OK):
                return path
    return None


@contextmanager
def open_folder(path: Path, *, make: bool = False) -> Iterator[int]:
    """A folder, held open so that it cannot be exchanged; OSError where it is missing or others could write to it."""
    if make:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.mkdir(exist_ok=True, mode=0o700)
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        _refuse_shared(os.fstat(folder))
        yield folder
    finally:
        os.close(folder)


def _refuse_shared(found: os.stat_result) -> None:
    """Raise where somebody else could have written this file or folder."""
    if found.st_uid not in (0, os.geteuid()) or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise PermissionError("others can write here")


class KernelCache:
    """The cache of one loop, as Numba asks for it: what was compiled for some argument types on such a processor."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._name = function.__name__
        # The constants that a loop was compiled with stand in its file too.
        self._source = hashlib.sha256(Path(function.__code__.co_filename).read_bytes()).hexdigest()

    @property
    def cache_path(self) -> None:
        """No single folder: see `candidate_folders`."""
        return

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """What was compiled for these types, or None; a file that is damaged or not to be trusted is as good as none."""
        from numba.core import compiler

        rebuild: Any = compiler.CompileResult._rebuild  # noqa: SLF001 - as Numba's own cache does
        try:
            target_context.refresh()
            name = self._file_name(sig, target_context.codegen())
            for path, _ in candidate_folders():
                with suppress(OSError), open_folder(path) as folder:
                    payload = _read(folder, name)
                    if payload is not None:
                        return rebuild(target_context, *pickle.loads(payload))  # noqa: S301 - ours: see `_read`
        except Exception:  # noqa: BLE001 - whatever is wrong with a cache, compiling is right
            return None
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep what was compiled in the first folder that takes it."""
        from numba.core import serialize

        dumps: Any = serialize.dumps
        with suppress(Exception):
            name = self._file_name(sig, data.codegen)
            payload = dumps(data._reduce())  # noqa: SLF001 - as Numba's own cache does
            for path, may_make in candidate_folders():
                with suppress(OSError), open_folder(path, make=may_make) as folder:
                    _write(folder, name, payload)
                    _prune(folder, self._name)
                    return

    def _file_name(self, sig: Any, codegen: Any) -> str:
        """The loop and everything that its machine code depends on."""
        from importlib.metadata import version

        parts = (sig, codegen.magic_tuple(), self._source, version("numba"), version("llvmlite"), sys.version)
        return f"{self._name}-{hashlib.sha256(repr(parts).encode()).hexdigest()[:32]}{SUFFIX}"


def _read(folder: int, name: str) -> bytes | None:
    """The content of a file that is whole and that nobody else could have written; None where it is damaged."""
    with os.fdopen(
        os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder), "rb"
    ) as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            return None
        _refuse_shared(found)
        content = file.read()
    head, payload = content[:32], content[32:]
    return payload if hashlib.sha256(payload).digest() == head else None


def _write(folder: int, name: str, payload: bytes) -> None:
    """Write a file whole or not at all: beside its place, then renamed; two processes at once write the same."""
    temporary = f".{name}.{secrets.token_hex(8)}"
    made = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644, dir_fd=folder)
    try:
        with os.fdopen(made, "wb") as file:
            file.write(hashlib.sha256(payload).digest())
            file.write(payload)
            os.fchmod(file.fileno(), 0o644)
        os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary, dir_fd=folder)
        raise


def _prune(folder: int, kernel: str) -> None:
    """Remove the oldest files of a loop beyond `MOST`, and what a killed process left of one that it wrote."""
    own = [name for name in os.listdir(folder) if name.startswith((f"{kernel}-", f".{kernel}-")) and SUFFIX in name]
    own.sort(key=lambda name: os.stat(name, dir_fd=folder, follow_symlinks=False).st_mtime)
    for name in own[:-MOST]:
        os.unlink(name, dir_fd=folder)
