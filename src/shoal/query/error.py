"""How far an answer lies from what it is the answer to, and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

CONFIDENCE = 0.95
HARDLY = "no usable answer: the count does not stand out from its own noise"


@dataclass(frozen=True)
class Error:
    """How far one number of an answer lies from what it is the answer to (the offer's `scope` says what that is).

    Chance is that of the noise alone. `within` and `low` to `high` hold with a probability of at least 95 %, whatever the
    table is, for each number by itself; `at_once` for all numbers of the answer together.
    """

    name: str
    expected: float | None
    within: float | None
    how: Literal["exact", "bound", "digits", "later"] = field(default="exact", repr=False)
    """Whether the expected error is what it says, at most that, or right to three digits; or comes with the answer."""
    at_once: float | None = field(default=None, repr=False)
    """How far at most any number of the answer lies off, in 95 of 100 cases, in the units of this one."""
    low: Any = field(default=None, repr=False)
    high: Any = field(default=None, repr=False)
    """Between these the truth lies, by what was drawn; if any row takes part."""

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "of": self.name,
            "expected": self.expected,
            "within_95": self.within,
            "all_within_95": self.at_once,
            "low_95": self.low,
            "high_95": self.high,
            "how": self.how,
        }

    @classmethod
    def from_json(cls, saved: dict[str, Any]) -> Error:
        """As it was recorded."""
        told = (saved["of"], saved["expected"], saved["within_95"], saved.get("how", "exact"))
        return cls(*told, saved.get("all_within_95"), saved.get("low_95"), saved.get("high_95"))


@dataclass(frozen=True)
class Drawn:
    """An answer with the noisy numbers that it was computed from, its errors as they are now known, and a warning."""

    value: Any
    errors: tuple[Error, ...]
    parts: Any = None
    note: str | None = None
