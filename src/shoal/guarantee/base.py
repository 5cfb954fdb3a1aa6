"""What every guarantee is: a frozen value that prints itself, compares by implication, and can be saved."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import fields
from fractions import Fraction
from typing import Any, ClassVar

from shoal.guarantee.rounding import exact_text


class Guarantee(ABC):
    """A statement about the output's distribution (differential) or about the output itself (syntactic)."""

    kind: ClassVar[str]
    composes: ClassVar[bool]

    @abstractmethod
    def words(self) -> str:
        """The guarantee in plain words: a sentence without its full stop."""

    @abstractmethod
    def implies(self, other: Guarantee) -> bool:
        """Whether whatever satisfies this is proved to satisfy the other; False when we cannot prove it."""

    def __ge__(self, other: object) -> bool:
        return self.implies(other) if isinstance(other, Guarantee) else NotImplemented

    def __le__(self, other: object) -> bool:
        return other.implies(self) if isinstance(other, Guarantee) else NotImplemented

    def to_saved(self) -> dict[str, Any]:
        """The guarantee as plain values with exact text for numbers; `shoal.guarantee.claim.load_guarantee` reads it back."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}  # type: ignore[arg-type]
        return {"kind": self.kind, **{name: _plain(value) for name, value in values.items()}}


def _plain(value: object) -> object:
    if isinstance(value, Fraction):
        return exact_text(value)
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Guarantee):
        return value.to_saved()
    return value
