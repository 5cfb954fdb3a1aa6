"""Text that is compressed: its bytes one block after the other, unpacked as they are read, never to a disk."""

from __future__ import annotations

import gzip
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path, PurePosixPath
from typing import Final

from shoal.data.archive import list_size
from shoal.engine.read.source import refuse_expansion
from shoal.errors import DataError, UsageError
from shoal.progress import Stage, report_progress, silent

BLOCK: Final = 1 << 22
"""Bytes that are read at a time."""
READING: Final = "reading the file"
"""The name of the stage."""
Part = tuple[bytes, int]
"""Bytes that were unpacked, and how much of the packed file was read by then."""
LONGEST_LIST: Final = 1 << 16
"""Bytes of the list of files in a zip archive that holds one table."""
_BROKEN: Final = (
    EOFError,
    OSError,
    RuntimeError,
    NotImplementedError,
    struct.error,
    ValueError,
    zipfile.BadZipFile,
    zlib.error,
)


def is_packed(path: Path) -> bool:
    """Whether a path names a compressed file, by its ending."""
    return path.suffix.lower() in PACKINGS


def inner_ending(path: Path) -> str:
    """The ending of the text inside: of `visits.csv.gz` and of a zip archive with `visits.csv` it is `.csv`."""
    if path.suffix.lower() == ".zip":
        with _opened(path) as archive:
            return PurePosixPath(_only_member(path, archive).filename).suffix.lower()
    return Path(path.stem).suffix.lower()


def blocks_of(path: Path, block_size: int = BLOCK, stage: Stage = silent) -> Iterator[bytes]:
    """The bytes of a file in blocks, unpacked where its ending says that they are packed.

    `stage` is told how much of the file, as it lies on the disk, was read.

    Raises  DataError where what is packed is cut short or altered, or unpacks to far more than its size
    """
    report, size, found = report_progress(stage, READING), path.stat().st_size, 0
    if not is_packed(path):
        with path.open("rb") as file:
            while block := file.read(block_size):
                found += len(block)
                report(found, size)
                yield block
        return
    blocks = PACKINGS[path.suffix.lower()](path, block_size)
    while (part := _next(blocks, path)) is not None:
        unpacked, place = part
        found += len(unpacked)
        refuse_expansion(path.name, size, found)
        report(place, size)
        yield unpacked


def _next(blocks: Iterator[Part], path: Path) -> Part | None:
    """The next block, or None at the end. What a library says of broken bytes is not repeated: it may quote them."""
    try:
        return next(blocks, None)
    except _BROKEN:
        pass
    raise DataError(
        "the file cannot be unpacked: it was cut short or altered, or is packed in another way",
        came=path.name,
        fix="get it again, or unpack it and name what was inside",
    )


def _gzip(path: Path, block_size: int) -> Iterator[Part]:
    with path.open("rb") as packed, gzip.open(packed, "rb") as file:
        while block := file.read(block_size):
            yield block, packed.tell()


def _zstandard(path: Path, block_size: int) -> Iterator[Part]:
    import pyarrow as pa

    with pa.OSFile(str(path)) as file, pa.CompressedInputStream(file, "zstd") as stream:
        while block := stream.read(block_size):
            yield block, file.tell()


def _zip(path: Path, block_size: int) -> Iterator[Part]:
    with _opened(path) as archive, archive.open(_only_member(path, archive)) as file:
        while block := file.read(block_size):
            yield block, 0 if archive.fp is None else archive.fp.tell()


PACKINGS: Final[dict[str, Callable[[Path, int], Iterator[Part]]]] = {".gz": _gzip, ".zst": _zstandard, ".zip": _zip}
"""How the bytes of a file with each ending are unpacked."""


def _opened(path: Path) -> closing[zipfile.ZipFile]:
    try:
        if list_size(path) <= LONGEST_LIST:
            return closing(zipfile.ZipFile(path))
        wrong = "the archive holds more than one file"
    except (*_BROKEN, UsageError):
        wrong = "the file is no zip archive, or an altered one"
    raise DataError(wrong, came=path.name, allowed="a zip archive with one file", fix="pack the table alone")


def _only_member(path: Path, archive: zipfile.ZipFile) -> zipfile.ZipInfo:
    """The one file of an archive. Nothing is written to where its name leads, and a name that leads elsewhere is refused."""
    files = [entry for entry in archive.infolist() if not entry.is_dir()]
    if len(files) != 1:
        raise DataError(
            "the archive does not hold one file",
            came=f"{path.name} with {len(files):,} files",
            allowed="a zip archive with one file",
            fix="pack the table alone, or unpack it and name the file",
        )
    (file,) = files
    if file.flag_bits & 0x1:
        raise DataError("the file in the archive needs a password", came=path.name, fix="unpack it, and name the file")
    name = PurePosixPath(file.filename.replace("\\", "/"))
    if name.is_absolute() or ".." in name.parts or ":" in file.filename:
        raise DataError(
            "the name of the file in the archive leads elsewhere", came=path.name, fix="pack the table again"
        )
    return file
