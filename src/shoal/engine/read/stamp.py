"""Whether files are still what they were when they were opened: a release reads them more than once."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from shoal.errors import DataError

SMALL = 1 << 24
"""Up to this many bytes a file's content is compared too; above, its size, time and place on the disk."""

Mark = tuple[int, int, int, bytes]


@dataclass(frozen=True)
class Stamp:
    """Size, time of change, inode and (for small files) a hash of each file, taken before the first read."""

    marks: tuple[tuple[Path, Mark], ...]

    @classmethod
    def of(cls, files: Iterable[Path]) -> Stamp:
        """Taken now."""
        return cls(tuple((file, _mark(file)) for file in files))

    def verify(self) -> None:
        """Raise if a file has changed since; called before and after every pass."""
        self._compare(lambda file, mark: _mark(file) == mark)

    def glance(self) -> None:
        """The same by size, time and inode alone: for tables that hold all their rows and read the files no more."""
        self._compare(lambda file, mark: _status(file) == mark[:3])

    def _compare(self, equal: Callable[[Path, Mark], bool]) -> None:
        for file, mark in self.marks:
            try:
                same = equal(file, mark)
            except OSError:
                same = False
            if not same:
                raise DataError(
                    "the file changed while it was read",
                    came=file.name,
                    fix="make a copy that nobody writes to, and start again",
                )


def _mark(file: Path) -> Mark:
    size, time, inode = _status(file)
    return size, time, inode, hashlib.blake2b(file.read_bytes()).digest() if size <= SMALL else b""


def _status(file: Path) -> tuple[int, int, int]:
    status = file.stat()
    return status.st_size, status.st_mtime_ns, status.st_ino
