"""What a named result is: its statement, where it comes from, and the premises with the line that enforces each."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Premise:
    """A condition of a theorem and the function that raises when it does not hold ('holder' if only a person can know)."""

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


def premise(text: str, enforced_by: str) -> Premise:
    """A premise; a name that does not begin with `shoal.` is one of `guarantee/`."""
    named = enforced_by == "holder" or enforced_by.startswith("shoal.")
    return Premise(text, enforced_by if named else f"shoal.guarantee.{enforced_by}")
