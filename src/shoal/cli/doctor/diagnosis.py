"""One thing that was looked at: how it is, and what to do where something is to be done."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any


class Health(Enum):
    """How something is: as it should be, worth knowing, or to be mended."""

    FINE = "ok"
    NOTE = "note"
    WRONG = "to do"


@dataclass(frozen=True)
class Diagnosis:
    """One thing that was looked at."""

    part: str
    """What it belongs to: software, folders, machine, ledger or leftovers."""
    state: Health
    words: str
    fix: str | None = None
    """What to do, or why nothing need be done; None where all is well."""
    repair: Callable[[], list[str]] | None = field(default=None, repr=False, compare=False)
    """Mends it, and says in sentences what was done; what --fix runs."""

    def to_json(self) -> dict[str, Any]:
        """The finding as plain values."""
        return {
            "part": self.part,
            "state": self.state.value,
            "words": self.words,
            "fix": self.fix,
            "can_be_fixed": self.repair is not None,
        }


def fine(part: str, words: str) -> Diagnosis:
    """Something is as it should be."""
    return Diagnosis(part, Health.FINE, words)


def note(part: str, words: str, fix: str) -> Diagnosis:
    """Something is worth knowing; nothing need be done."""
    return Diagnosis(part, Health.NOTE, words, fix)


def wrong(part: str, words: str, fix: str, repair: Callable[[], list[str]] | None = None) -> Diagnosis:
    """Something is to be mended."""
    return Diagnosis(part, Health.WRONG, words, fix, repair)


def mending(folders: Sequence[Path], url: str | None) -> str:
    """The whole command that mends; an address that may hold a password is not repeated."""
    words = ["shoal", "doctor", *(str(folder) for folder in folders if folder != Path())]
    if url is not None:
        words += ["--ledger", "URL" if "@" in url else url]
    return f"`{shlex.join([*words, '--fix'])}`"
