"""Generalization schemes: one level for each attribute, the same for all records (full-domain generalization)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from shoal.anonymize.generalize.base import Partition, Recoding, level_rule
from shoal.chance.source import Source
from shoal.data.hierarchy.level import Level, ValueLevel
from shoal.data.schema import Schema
from shoal.engine.base import Counts, Table
from shoal.progress import Stage


@dataclass(frozen=True)
class Scheme(Recoding):
    """One level for each published attribute; an attribute that `indices` does not name keeps its values.

    >>> from shoal.data.domain import Interval
    >>> from shoal.data.hierarchy.build import hierarchy
    >>> from shoal.data.schema import Attribute, Role, Type
    >>> domain = Interval(0, 99)
    >>> ages = hierarchy({"intervals": [10]}, Type.INTEGER, domain)
    >>> age = Attribute("age", Role.QUASI, Type.INTEGER, domain, ages)
    >>> Scheme(Schema((age,)), {"age": 1}).rules()["age"]["labels"][:2]
    ['[0, 10)', '[10, 20)']
    """

    schema: Schema
    indices: Mapping[str, int]

    @property
    def levels(self) -> dict[str, Level]:
        """The level of each attribute."""
        found: dict[str, Level] = {}
        for attribute in self.schema.published:
            wanted = self.indices.get(attribute.name, 0)
            found[attribute.name] = attribute.hierarchy.level(wanted) if attribute.hierarchy else ValueLevel()
        return found

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self.levels)

    def finish(self, recoded: Table) -> Table:
        return recoded

    def losses(self, name: str) -> Mapping[str, float] | float:
        hierarchy = self.schema[name].hierarchy
        return hierarchy.label_losses(self.indices.get(name, 0)) if hierarchy is not None else 0.0

    def rules(self) -> dict[str, dict[str, Any]]:
        return {
            name: level_rule(self.schema[name], self.indices.get(name, 0), level) for name, level in self.levels.items()
        }


@dataclass(frozen=True)
class FixedScheme(Partition):
    """The scheme that the policy names.

    Promise   the levels are those of the policy and cost nothing.
    Requires  levels that were fixed without the data.
    Reads     nothing.
    """

    scheme: Scheme

    @property
    def columns(self) -> tuple[str, ...]:
        return self.scheme.columns

    @property
    def epsilon(self) -> Fraction:
        return Fraction(0)

    @property
    def theorems(self) -> tuple[str, ...]:
        return ()

    @property
    def levels(self) -> Mapping[str, Level]:
        return self.scheme.levels

    def decide(self, counts: Counts, source: Source, stage: Stage = lambda _: None) -> Scheme:  # noqa: ARG002
        return self.scheme

    def settle(self, table: Table, source: Source, stage: Stage = lambda _: None) -> Scheme:  # noqa: ARG002
        return self.scheme

    def words(self) -> str:
        levels = ", ".join(f"{name} {level}" for name, level in self.scheme.indices.items())
        return f"Levels (0 is the value itself): {levels}."

    def to_json(self) -> dict[str, Any]:
        return {"kind": "levels"}
