"""What a named result is: its statement, where it comes from, and the premises with the line that enforces each."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class How(Enum):
    """How a premise is known to be met in one release; there is no fourth way, and no default."""

    CHECKED = "checked by the program"
    BUILT = "met by the way it was made"
    STATED = "said by the custodian"
    """Nobody else can know it."""


@dataclass(frozen=True)
class PremiseAnswer:
    """How one plan meets one premise, in a closed word and in a sentence."""

    how: How
    detail: str


@dataclass(frozen=True)
class Premise:
    """A condition of a theorem and the function that raises when it does not hold ('holder' if only a person can know).

    The `key` is its short name, by which a plan answers for it.
    """

    key: str
    text: str
    enforced_by: str


@dataclass(frozen=True)
class Theorem:
    """A named result."""

    name: str
    title: str
    source: str
    statement: str
    premises: tuple[Premise, ...]


def premise(key: str, text: str, enforced_by: str) -> Premise:
    """A premise; a name that does not begin with `shoal.` is one of `guarantee/`."""
    named = enforced_by == "holder" or enforced_by.startswith("shoal.")
    return Premise(key, text, enforced_by if named else f"shoal.guarantee.{enforced_by}")
