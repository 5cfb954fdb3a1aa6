"""Pack a release for others: the public files alone, after they have been verified, with the one-file verifier beside them."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

from shoal.errors import UsageError
from shoal.files.write import refuse_overwriting
from shoal.publish.folder import CERTIFICATE, PAGE, REPORT
from shoal.publish.verify.enclosure import enclosures
from shoal.publish.verify.release import require, verify

_WHEN = (1980, 1, 1, 0, 0, 0)  # a file's time says nothing about the run


def pack(folder: str | Path, out: str | Path | None = None, *, force: bool = False) -> Path:
    """Pack a release into a zip file: its public files, the one-file verifier and a note; the same bytes each time.

    Arguments  `folder` is a release folder; `out` the file, `folder`.zip when left out; `force` replaces a file that is there.
    Raises     UsageError for the custodian's folder or a file that is there; VerificationError for a release that fails a check.
    """
    where = Path(folder)
    if (where / REPORT).exists():
        raise UsageError(
            "this is the custodian's folder, which is not for others",
            came=where,
            fix="name the release folder beside it",
        )
    require(verify(where))
    target = Path(out) if out is not None else where.absolute().with_name(where.absolute().name + ".zip")
    refuse_overwriting(target, force=force)
    listed = json.loads((where / CERTIFICATE).read_text(encoding="utf-8"))["files"]
    name = where.absolute().name
    unfinished = target.with_name(f".{target.name}.unfinished")
    try:
        with zipfile.ZipFile(unfinished, "w", zipfile.ZIP_DEFLATED) as archive:
            for file in sorted([*listed, PAGE, CERTIFICATE]):
                _add(archive, f"{name}/{file}", (where / file).read_bytes())
            for file, content in enclosures(name).items():
                _add(archive, file, content)
        unfinished.replace(target)
    finally:
        unfinished.unlink(missing_ok=True)
    return target


def _add(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    entry = zipfile.ZipInfo(name, _WHEN)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = 0o644 << 16
    archive.writestr(entry, content)
