"""What a policy lets questions be asked about: attributes with their domains, and the levels of their hierarchies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from shoal.data.domain import Domain, Interval, Values
from shoal.data.schema import Attribute, Schema
from shoal.data.type import Type, spell
from shoal.policy.domain import BOOLEAN


@dataclass(frozen=True)
class Described:
    """One attribute as an analyst may know it, from the policy alone."""

    name: str
    type: str
    domain: Domain | None
    levels: tuple[tuple[int, int], ...]
    """Levels of the hierarchy that a histogram can name, each with its number of labels."""

    def words(self) -> str:
        """The domain in words."""
        return self.domain.words() if self.domain else "no domain: not for questions"

    def levels_words(self) -> str:
        """The levels as they are typed, each with its number of labels."""
        return ", ".join(f"@{level} {labels:,}" for level, labels in self.levels)

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        levels = [{"level": level, "labels": labels} for level, labels in self.levels]
        return {"name": self.name, "type": self.type, "domain": _domain(self.domain), "levels": levels}


def described(schema: Schema) -> tuple[Described, ...]:
    """Every attribute that questions may name."""
    return tuple(_described(each) for each in schema.published)


def _described(attribute: Attribute) -> Described:
    domain = BOOLEAN if attribute.type is Type.BOOLEAN else attribute.domain
    return Described(attribute.name, attribute.type.value, domain, _levels(attribute))


def _levels(attribute: Attribute) -> tuple[tuple[int, int], ...]:
    hierarchy = attribute.hierarchy
    if hierarchy is None:
        return ()
    found = [(index, hierarchy.labels(index)) for index in range(len(hierarchy))]
    return tuple((index, len(labels)) for index, labels in found if labels is not None)


def _domain(domain: Domain | None) -> dict[str, Any] | None:
    if domain is None:
        return None
    if isinstance(domain, Interval):
        return {"low": spell(domain.low), "high": spell(domain.high)}
    return {"values": list(domain.values)} if isinstance(domain, Values) else {"pattern": domain.words()}
