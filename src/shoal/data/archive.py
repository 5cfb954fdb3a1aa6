"""Packed releases: an archive of `shoal share` is unpacked into a temporary folder, within bounds.

An archive comes from a stranger. Names that lead out of the folder, links, devices, names said twice, passwords and archives that
unpack to more than is allowed are refused before anything is written, and what is read is counted as it is written.
"""

from __future__ import annotations

import shutil
import stat
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from weakref import finalize

from shoal.errors import UsageError, VerificationError

BESIDE = frozenset({"README.txt", "verifier.py"})
"""The files beside the folder of the release; neither is unpacked."""
MOST_FILES = 20_000
MOST_BYTES = 1 << 35
"""32 GiB, of all files together."""
_BLOCK = 1 << 20


def is_archive(path: Path) -> bool:
    """Whether a path is a zip file."""
    return path.is_file() and zipfile.is_zipfile(path)


class UnpackedRelease:
    """A temporary folder with the release of an archive; it is deleted when it is closed or when the object is collected."""

    def __init__(self, path: Path) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="shoal-release-"))
        self.close = finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        try:
            with zipfile.ZipFile(path) as archive:
                _unpack(archive, self._folder)
        except (
            zipfile.BadZipFile,
            zipfile.LargeZipFile,
            zlib.error,
            NotImplementedError,
            RuntimeError,
            EOFError,
        ) as error:
            self.close()
            raise VerificationError(
                "the archive cannot be read", came=f"{path} ({type(error).__name__})", fix="get it again"
            ) from None
        except BaseException:
            self.close()
            raise

    @property
    def release(self) -> Path:
        """The one folder that was unpacked."""
        (folder,) = self._folder.iterdir()
        return folder


@contextmanager
def open_release(path: Path) -> Iterator[Path]:
    """The folder of a release: the path itself, or the folder of an archive, which is deleted afterwards."""
    if not is_archive(path):
        yield path
        return
    unpacked = UnpackedRelease(path)
    try:
        yield unpacked.release
    finally:
        unpacked.close()


def _unpack(archive: zipfile.ZipFile, target: Path) -> None:
    entries = [entry for entry in archive.infolist() if entry.filename not in BESIDE and not entry.is_dir()]
    _refuse(entries)
    left = MOST_BYTES
    for entry in entries:
        path = target / PurePosixPath(entry.filename)
        path.parent.mkdir(parents=True, exist_ok=True)
        with archive.open(entry) as packed, path.open("xb") as file:
            while block := packed.read(_BLOCK):
                left -= len(block)
                if left < 0:
                    raise _refusal("it unpacks to more than is allowed")
                file.write(block)


def _refuse(entries: list[zipfile.ZipInfo]) -> None:
    names = [entry.filename for entry in entries]
    if len(names) > MOST_FILES or sum(entry.file_size for entry in entries) > MOST_BYTES:
        raise _refusal("it unpacks to more than is allowed")
    if len({name.casefold() for name in names}) != len(names):
        raise _refusal("a name occurs twice")
    for entry in entries:
        parts = entry.filename.split("/")
        if len(parts) < 2 or any(
            part in ("", ".", "..") or "\\" in part or ":" in part or "\0" in part for part in parts
        ):
            raise _refusal("a name leads out of its folder")
        kind = stat.S_IFMT(entry.external_attr >> 16)
        if kind not in (0, stat.S_IFREG):
            raise _refusal("an entry is no plain file")
        if entry.flag_bits & 0x1:
            raise _refusal("an entry needs a password")
    tops = {name.partition("/")[0] for name in names}
    if len(tops) != 1 or f"{next(iter(tops))}/certificate.json" not in names:
        raise UsageError(
            "this archive holds no release", allowed="one folder with certificate.json, as `shoal share` packs it"
        )


def _refusal(why: str) -> VerificationError:
    return VerificationError(
        f"this archive is not one that `shoal share` writes: {why}",
        fix="do not unpack it; ask the custodian for it again",
    )
