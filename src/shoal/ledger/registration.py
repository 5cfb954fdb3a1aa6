"""A dataset that may be asked: its policy, where its table lies, and what is known about how the table was drawn."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from shoal.errors import PreconditionError
from shoal.guarantee.rounding import exact, exact_text
from shoal.guarantee.safe_k.curve import check_beta
from shoal.guarantee.unit import Unit


@dataclass(frozen=True)
class Registered:
    """What the `registered` event of a dataset holds; `policy` and `data` are paths, or None for what had no file."""

    dataset: str
    policy: str | None
    lock: str
    """The hash of the policy: a policy that means something else has to be registered anew."""
    data: str | None
    unit: Unit
    sampled: Fraction | None = None
    fingerprints: tuple[str, ...] = ()
    columns: tuple[tuple[str, int], ...] = ()
    """The fingerprint of each column, and the bits that it is worth."""

    def __post_init__(self) -> None:
        if self.sampled is None:
            return
        check_beta(self.sampled)
        if self.unit.neighbours != "add_remove":
            raise PreconditionError(
                "dependent-samples",
                "a sample is worth a larger budget when a unit is added or removed, not when one is replaced",
                came=self.unit.neighbours,
                allowed="add_remove",
                fix="leave the rate out, or set `neighbours: add_remove`",
            )

    @property
    def table(self) -> str:
        """The fingerprint of the table's content."""
        return self.fingerprints[0]

    def with_fingerprints(self, fingerprints: tuple[str, ...], columns: tuple[tuple[str, int], ...]) -> Registered:
        """The same, of a table that was looked at."""
        return replace(self, fingerprints=fingerprints, columns=columns)

    def to_saved(self) -> dict[str, Any]:
        """As plain values with exact text."""
        return {
            "policy": self.policy,
            "lock": self.lock,
            "data": self.data,
            "unit": self.unit.to_saved(),
            "sampled": None if self.sampled is None else exact_text(self.sampled),
            "fingerprints": list(self.fingerprints),
            "columns": [list(each) for each in self.columns],
        }

    @classmethod
    def from_saved(cls, dataset: str, saved: dict[str, Any]) -> Registered:
        """Back from an event."""
        sampled = None if saved["sampled"] is None else exact(saved["sampled"])
        unit = Unit.from_saved(saved["unit"])
        fingerprints, columns = tuple(saved["fingerprints"]), tuple((name, bits) for name, bits in saved["columns"])
        return cls(dataset, saved["policy"], saved["lock"], saved["data"], unit, sampled, fingerprints, columns)
