"""Reading a small file that a person names: a plain one, no larger than its purpose needs, and nothing that never ends."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from shoal.errors import NextCommand, PolicyError, UsageError

LARGEST_HIERARCHY = 32 << 20
"""Bytes of a hierarchy file: a hundred for each of 200,000 values, and as much again."""
LARGEST_POPULATION = 64 << 20
"""Bytes of a population file: a million lines of counts."""
LARGEST_YAML = 8 << 20
"""Bytes of a file in YAML: a policy, a taxonomy, questions, marginals; the number of its letters is bounded too."""
LARGEST_LOCK = 1 << 16
"""Bytes of the file that `shoal plan --lock` writes."""


def read_plain_file(path: str | os.PathLike[str], most: int, error: type[UsageError] = PolicyError) -> bytes:
    """The bytes of a plain file; a pipe, a device or a folder is refused before it is waited for.

    Raises     OSError where there is no such file; `error` where it is not a plain file or has more than `most` bytes.
    """
    where = Path(path)
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
    handle = os.open(where, flags)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise error(
            "a file cannot be read: it is not a plain one",
            came=where,
            fix="name a file, not a folder, a pipe or a device",
        )
    with os.fdopen(handle, "rb") as file:
        found = file.read(most + 1)
    if len(found) > most:
        raise error("a file is too large", came=where, allowed=f"at most {most:,} bytes")
    return found


_NEAR = 0.6
"""How alike two names are, from 0 to 1, of which one is taken for a slip of the pen of the other."""
_MOST_BESIDE = 2_000
"""Files of a folder beyond which none is looked at: a hint is worth no long search."""


def near_path(path: str | os.PathLike[str], endings: Collection[str] = ()) -> Path | None:
    """What lies beside a path that leads nowhere and has nearly its name: alike without the ending, which says little.

    Reads      the names in the folder of the path, no file; of `endings` alone, where some are given.
    """
    where = Path(path)
    try:
        beside = sorted(each.name for each in where.absolute().parent.iterdir())
    except OSError:
        return None
    stem = where.stem.casefold()
    alike = [
        (SequenceMatcher(None, stem, Path(name).stem.casefold()).ratio(), name)
        for name in beside[:_MOST_BESIDE]
        if not endings or Path(name).suffix in endings
    ]
    likeness, name = max(alike, default=(0.0, ""), key=lambda each: (each[0], Path(each[1]).suffix == where.suffix))
    return where.with_name(name) if likeness >= _NEAR else None


def advise(path: str | os.PathLike[str], near: Path | None, otherwise: str = "check the path") -> dict[str, Any]:
    """What an error says about a path that leads nowhere: what was probably meant, and the command with it.

    >>> advise("vists.json", Path("visits.json"))["fix"], advise("x.json", None)
    ('did you mean visits.json?', {'fix': 'check the path'})
    """
    if near is None:
        return {"fix": otherwise}
    return {"fix": f"did you mean {near}?", "step": NextCommand(replace=(str(path), str(near)))}


def near_release(path: str | os.PathLike[str]) -> Path | None:
    """The release folder, or the file of a packed one, that lies beside a path that leads nowhere and has nearly its name."""
    near = near_path(path)
    if near is None or near.is_dir():
        return near if near is not None and (near / "certificate.json").is_file() else None
    return near if near.suffix == ".zip" else None
