"""Packed releases: an archive of `shoal share` is unpacked into a temporary folder, within bounds.

An archive comes from a stranger. Names that lead out of the folder, links, devices, names said twice, passwords and archives that
unpack to more than is allowed are refused before anything is written, and what is read is counted as it is written. An archive
inside an archive is a file like others and stays packed.
"""

from __future__ import annotations

import shutil
import stat
import struct
import unicodedata
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from weakref import finalize

from shoal.errors import UsageError, VerificationError
from shoal.files.work_folder import WorkFolder

BESIDE = frozenset({"README.txt", "verifier.py"})
"""The files beside the folder of the release; neither is unpacked, both are kept to be compared."""
MOST_FILES = 100_000
"""Files of a release: a view has two, and no release has 50,000 views."""
MOST_BYTES = 1 << 35
"""32 GiB, of all files together: a table of 10^8 rows takes a few."""
MOST_BESIDE = 1 << 22
"""4 MiB for a file beside the release; the verifier has an eighth of one."""
LARGEST_LIST = 1 << 26
"""64 MiB for the archive's own list of its files."""
LONGEST_NAME = 1000
_BLOCK = 1 << 20
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_END = 22  # bytes of the record at the end of an archive, before its comment
_UNKNOWN = 0xFFFFFFFF


def is_archive(path: Path) -> bool:
    """Whether a path is a zip file."""
    try:
        return path.is_file() and zipfile.is_zipfile(path)
    except (OSError, ValueError):
        return False


class UnpackedRelease:
    """A temporary folder with the release of an archive; it is deleted when it is closed or when the object is collected.

    `beside` has what lies beside the release, by its name.
    """

    def __init__(self, path: Path) -> None:
        self.beside: dict[str, bytes] = {}
        _refuse_long_list(path)
        try:
            work = WorkFolder.temporary("release")
        except OSError as error:
            raise UsageError(
                "there is no folder to unpack this archive into",
                came=error.strerror or type(error).__name__,
                fix="set TMPDIR to a folder that can be written to",
            ) from None
        self.close = finalize(self, _remove, work)
        self._folder = work.path / "unpacked"
        try:
            self._folder.mkdir()
            with zipfile.ZipFile(path) as archive:
                self.beside = _unpack(archive, self._folder)
        except (
            zipfile.BadZipFile,
            zipfile.LargeZipFile,
            zlib.error,
            struct.error,
            NotImplementedError,
            RuntimeError,
            EOFError,
            UnicodeError,
            ValueError,
            OverflowError,
            OSError,
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


def _remove(work: WorkFolder) -> None:
    """Remove what was unpacked; what cannot be removed now is left for the next command that sweeps."""
    with suppress(OSError):
        work.remove()


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


def list_size(path: Path) -> int:
    """Bytes of an archive's own list of its files, as the end of the archive says; none where it is no archive.

    Raises  UsageError where the file cannot be read
    """
    try:
        with path.open("rb") as file:
            whole = file.seek(0, 2)
            file.seek(max(0, whole - _END - (1 << 16) - 76))
            tail = file.read()
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise UsageError(
            "the archive cannot be read", came=f"{path} ({why})", fix="name a file that is there"
        ) from None
    at = tail.rfind(b"PK\5\6")
    size = struct.unpack_from("<I", tail, at + 12)[0] if 0 <= at <= len(tail) - _END else 0
    if size == _UNKNOWN:
        longer = tail.rfind(b"PK\6\6")
        size = struct.unpack_from("<Q", tail, longer + 40)[0] if 0 <= longer <= len(tail) - 56 else LARGEST_LIST + 1
    return int(size)


def _refuse_long_list(path: Path) -> None:
    """Refuse an archive whose list of files is too long, before it is read."""
    if list_size(path) > LARGEST_LIST:
        raise _refusal(f"its list of files is longer than {LARGEST_LIST:,} bytes")


def _unpack(archive: zipfile.ZipFile, target: Path) -> dict[str, bytes]:
    """Unpack the release; what lies beside it."""
    every = archive.infolist()
    if len(every) > MOST_FILES:
        raise _refusal(f"it unpacks to more than is allowed: {len(every):,} files, where the limit is {MOST_FILES:,}")
    files = [entry for entry in every if not entry.is_dir()]
    beside = [entry for entry in files if entry.filename in BESIDE]
    entries = [entry for entry in files if entry.filename not in BESIDE]
    _refuse(entries, beside, [entry for entry in every if entry.is_dir()])
    _refuse_without_space(target, sum(entry.file_size for entry in entries))
    left = MOST_BYTES
    for entry in entries:
        path = target / PurePosixPath(entry.filename)
        path.parent.mkdir(parents=True, exist_ok=True)
        with archive.open(entry) as packed, path.open("xb") as file:
            while block := packed.read(_BLOCK):
                left -= len(block)
                if left < 0:
                    raise _too_much(MOST_BYTES)
                file.write(block)
    return {entry.filename: _read_beside(archive, entry) for entry in beside}


def _read_beside(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    with archive.open(entry) as packed:
        found = packed.read(MOST_BESIDE + 1)
    if len(found) > MOST_BESIDE:
        raise _too_much(MOST_BESIDE)
    return found


def _refuse(entries: list[zipfile.ZipInfo], beside: list[zipfile.ZipInfo], folders: list[zipfile.ZipInfo]) -> None:
    """Refuse what `shoal share` does not write, before anything is unpacked."""
    names = [entry.filename for entry in entries]
    if sum(entry.file_size for entry in entries) > MOST_BYTES:
        raise _too_much(MOST_BYTES)
    both = [*names, *(entry.filename for entry in beside)]
    if len({unicodedata.normalize("NFKC", name).casefold() for name in both}) != len(both):
        raise _refusal("a name occurs twice")
    for entry in (*entries, *beside):
        kind = stat.S_IFMT(entry.external_attr >> 16)
        if kind not in (0, stat.S_IFREG):
            raise _refusal("an entry is no plain file")
        if entry.flag_bits & 0x1:
            raise _refusal("an entry needs a password")
        if entry.compress_type not in _METHODS:
            raise _refusal("an entry is packed in another way than by deflating")
    for name in names:
        if len(name.split("/")) < 2 or not _stays_inside(name):
            raise _refusal("a name leads out of its folder")
    parents = {parent.as_posix() for name in names for parent in PurePosixPath(name).parents}
    if parents & set(names):
        raise _refusal("a name is that of a file and of a folder")
    if any(entry.filename.rstrip("/") not in parents for entry in folders):
        raise _refusal("it holds an empty folder")
    tops = {name.partition("/")[0] for name in names}
    if len(tops) != 1 or f"{next(iter(tops))}/certificate.json" not in names:
        raise UsageError(
            "this archive holds no release", allowed="one folder with certificate.json, as `shoal share` packs it"
        )


def _stays_inside(name: str) -> bool:
    """Whether a name leads nowhere else, on any system, and can be seen."""
    parts = name.split("/")
    plain = len(name) <= LONGEST_NAME and name.isprintable() and "\\" not in name and ":" not in name
    return plain and all(part not in ("", ".", "..") and len(part.encode()) <= 255 for part in parts)


def _refuse_without_space(target: Path, needed: int) -> None:
    """UsageError where the temporary folder has not the space for what an archive says it unpacks to."""
    free = shutil.disk_usage(target).free
    if needed > free:
        raise UsageError(
            "there is too little space to unpack this archive",
            came=f"{free:,} bytes in {target.parent.parent}",
            allowed=f"{needed:,}",
            fix="set TMPDIR to a folder with more space",
        )


def _too_much(most: int) -> VerificationError:
    return _refusal(f"it unpacks to more than is allowed: the limit is {most:,} bytes")


def _refusal(why: str) -> VerificationError:
    return VerificationError(
        f"this archive is not one that `shoal share` writes: {why}",
        fix="do not unpack it; ask the custodian for it again",
    )
