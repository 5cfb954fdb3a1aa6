"""What runs that were killed have left: work folders beside releases, and temporary folders."""

from __future__ import annotations

import os
import re
import stat
import tempfile
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from shoal.cli.doctor.diagnosis import Diagnosis, fine, mending, note, wrong
from shoal.cli.terminal.output import count_text
from shoal.errors import ShoalError

PART = "leftovers"
SUFFIX = ".shoal-work"
"""How the name of a work folder ends; it begins with a dot and the name of the release."""
TEMPORARY = re.compile(r"shoal-[a-z]+-[a-z0-9_]+")
"""Names of temporary folders that can be told to be dead."""
MOST = 20
"""Folders that are listed one by one."""


def look(folders: Sequence[Path], url: str | None) -> Iterator[Diagnosis]:
    """Look into these folders, and beside them where one is a release; and into the folder for temporary files."""
    from shoal.files.work_folder import is_abandoned

    say = mending(folders, url)
    places = list(dict.fromkeys(place for folder in folders for place in (folder.absolute(), folder.absolute().parent)))
    found = [path for place in places for path in _entries(place) if path.name.endswith(SUFFIX)]
    dead = [path for path in found if is_abandoned(path)]
    for path in dead[:MOST]:
        yield wrong(
            PART,
            f"a run that was killed left a work folder: {path}",
            f"say {say}, or repeat the release: what it left is finished or removed; a charge stands",
            partial(_recover, path, url),
        )
    for path in [path for path in found if path not in dead][:MOST]:
        yield note(
            PART, f"a run is at work, or another user's has left a folder: {path}", "let it end, or ask its owner"
        )
    temporary = [path for path in _temporary() if TEMPORARY.fullmatch(path.name) and is_abandoned(path)]
    if temporary:
        listed = ", ".join(map(str, temporary[:3])) + (", ..." if len(temporary) > 3 else "")
        yield wrong(
            PART,
            f"runs that were killed left {count_text(len(temporary), 'temporary folder')}, which may hold records: {listed}",
            f"say {say}, or run any command on a ledger: they are removed",
            _sweep,
        )
    older = [path for path in _temporary() if _is_unmarked(path)]
    if older:
        yield note(
            PART,
            f"{count_text(len(older), 'temporary folder')} without a lock, which may hold records: {older[0]}, ...",
            "earlier versions made such folders: remove them by hand if no run of one is at work",
        )
    if not dead and not temporary:
        yield fine(
            PART, f"nothing was left by runs that died, in {', '.join(map(str, folders))} or among temporary files"
        )


def _entries(place: Path) -> list[Path]:
    try:
        return sorted(place / entry.name for entry in os.scandir(place))
    except OSError:
        return []


def _temporary() -> list[Path]:
    try:
        return [path for path in _entries(Path(tempfile.gettempdir())) if path.name.startswith("shoal-")]
    except OSError:
        return []


def _is_unmarked(path: Path) -> bool:
    """Whether a folder of this user's holds something and has no lock, as those of earlier versions had none."""
    try:
        found = path.lstat()
        own = not hasattr(os, "geteuid") or found.st_uid == os.geteuid()
        return (
            stat.S_ISDIR(found.st_mode)
            and own
            and bool(names := {each.name for each in path.iterdir()})
            and "shoal.lock" not in names
        )
    except OSError:
        return False


def _sweep() -> list[str]:
    from shoal.files.work_folder import sweep_temporary

    return sweep_temporary()


def _recover(path: Path, url: str | None) -> list[str]:
    """Finish or remove the work of a dead run; the ledger is the one that its journal names, or the one that was given."""
    from shoal.ledger.ledger import Ledger
    from shoal.publish.run.recover import recover

    try:
        if url is None:
            said = recover(path, None)
        else:
            with Ledger(url) as book:
                said = recover(path, book)
    except ShoalError as error:
        return [f"{path} could not be finished: {error}"]
    return [] if said is None else [said]
