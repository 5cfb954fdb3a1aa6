"""Pack a release for others: the public files alone, after they have been verified, with the one-file verifier beside them.

What is packed is what was verified: each file is opened once, never through a link, and its bytes are hashed as they are packed.
"""

from __future__ import annotations

import hashlib
import os
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

from shoal.data.plain_file import advise, near_release
from shoal.errors import UsageError, VerificationError
from shoal.files.write import refuse_overwriting, unfinished_file
from shoal.progress import Stage, report_progress, silent, within
from shoal.publish.folder import CERTIFICATE, PAGE, REPORT
from shoal.publish.run.recover import recover_target
from shoal.publish.verify.enclosure import enclosures
from shoal.publish.verify.release import require, verify
from shoal.publish.verify.standalone import open_inside, strict_json

_WHEN = (1980, 1, 1, 0, 0, 0)  # a file's time says nothing about the run
_BLOCK = 1 << 20
_PORTABLE = re.compile(r"[^\x00-\x1f\x7f/\\:]{1,200}")


def pack(folder: str | Path, out: str | Path | None = None, *, force: bool = False, stage: Stage = silent) -> Path:
    """Pack a release into a zip file: its public files, the one-file verifier and a note; the same bytes each time.

    Arguments  `folder` is a release folder; `out` the file, `folder`.zip when left out; `force` replaces a file that is there;
               `stage` is told what is done.
    Raises     UsageError for the custodian's folder or a file that is there; VerificationError for a release that fails a check.
    """
    recover_target(folder)
    where = _release_folder(Path(folder))
    target = Path(out) if out is not None else where.with_name(f"{where.name}.zip")
    refuse_overwriting(target, force=force)
    if where in (target.absolute().resolve(), *target.absolute().resolve().parents):
        raise UsageError("the file would lie in the release itself", came=target, fix="choose another place")
    before = _read(where, CERTIFICATE)
    require(verify(where, within(stage, "verifying")))
    listed = strict_json(before.decode("utf-8"))
    name = where.name if _PORTABLE.fullmatch(where.name) and where.name.strip(". ") else "release"
    packed_bytes = _count_bytes(stage, sum((where / each).stat().st_size for each in listed["files"]))
    with unfinished_file(target, force=force) as file:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            for each in sorted([*listed["files"], PAGE, CERTIFICATE]):
                if each == PAGE:
                    _add(archive, f"{name}/{each}", _same_page(_read(where, PAGE), listed))
                elif each == CERTIFICATE:
                    _add(archive, f"{name}/{each}", before)
                else:
                    _copy(archive, f"{name}/{each}", where, each, listed["files"][each], packed_bytes)
            for each, content in enclosures(name).items():
                _add(archive, each, content)
        if _read(where, CERTIFICATE) != before:
            raise _changed(CERTIFICATE)
    return target


def _release_folder(folder: Path) -> Path:
    """The folder itself, under the name that it has, whatever path led to it."""
    if folder.is_symlink():
        raise UsageError("the folder is a link", came=folder, fix="name the place itself")
    where = folder.resolve()
    if (where / REPORT).exists():
        raise UsageError(
            "this is the custodian's folder, which is not for others",
            came=folder,
            fix="name the release folder beside it",
        )
    if not (where / CERTIFICATE).is_file():
        near = None if where.exists() else near_release(folder)
        raise UsageError(
            "this is no release folder",
            came=folder,
            **advise(folder, near, "name the folder that `shoal release` made"),
        )
    return where


def _open(where: Path, name: str) -> BinaryIO:
    """A plain file of the folder; no part of its name is a link, now or when it is opened."""
    try:
        return open_inside(where, name)
    except ValueError:
        raise _changed(name) from None


def _read(where: Path, name: str) -> bytes:
    with _open(where, name) as file:
        return file.read()


def _same_page(page: bytes, certificate: dict[str, Any]) -> bytes:
    """The page, if it is the one that was sealed."""
    own = certificate["seal"].encode("ascii")
    if hashlib.sha256(page.replace(own, b"0" * 64)).hexdigest() != certificate["wording"]["page_sha256"]:
        raise _changed(PAGE)
    return page


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _WHEN)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = 0o644 << 16
    return entry


def _add(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    archive.writestr(_entry(name), content)


def _count_bytes(stage: Stage, total: int) -> Callable[[int], None]:
    """What is told of each piece that was packed, and says how much that is of all."""
    report, done = report_progress(stage, "packing"), 0

    def add(size: int) -> None:
        nonlocal done
        done += size
        report(done, total)

    return add


def _copy(
    archive: zipfile.ZipFile, name: str, where: Path, file: str, sha256: str, packed_bytes: Callable[[int], None]
) -> None:
    """Pack a file block by block, and refuse it if its bytes are not those that were verified."""
    entry, digest = _entry(name), hashlib.sha256()
    with _open(where, file) as source:
        entry.file_size = os.fstat(source.fileno()).st_size
        with archive.open(entry, "w") as packed:
            while block := source.read(_BLOCK):
                digest.update(block)
                packed.write(block)
                packed_bytes(len(block))
    if digest.hexdigest() != sha256:
        raise _changed(file)


def _changed(name: str) -> VerificationError:
    return VerificationError(
        "a file of the release is no plain file, or changed while it was packed",
        came=name,
        fix="verify the release, and pack it again",
    )
