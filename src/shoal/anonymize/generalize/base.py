"""Partitions and recodings: how the rules of a release come about, what that costs, and what they then do to records.

A partition is fixed or chosen before the release; it ends in a recoding, which is a map from records to labels.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from shoal.chance.source import Source
from shoal.data.domain import Interval, Pattern, Values
from shoal.data.hierarchy.level import GroupLevel, IntervalLevel, Level, MaskLevel, TopLevel, ValueLevel
from shoal.data.schema import Attribute, Type
from shoal.engine.base import Counts, Table
from shoal.progress import Stage


class Recoding(ABC):
    """A map from records to labels: fixed by the policy, or the outcome of a mechanism that was paid for."""

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """The columns that it labels, in order."""

    @property
    @abstractmethod
    def levels(self) -> Mapping[str, Level]:
        """The level to which each column is recoded first; the labels that are shown are made of the labels of these levels."""

    @abstractmethod
    def finish(self, recoded: Table) -> Table:
        """The table with the labels that are shown, from one that was recoded to `levels`."""

    def apply(self, table: Table) -> Table:
        """The table with labels in place of all values, and no other column."""
        return self.finish(table.recode(self.levels))

    @abstractmethod
    def losses(self, name: str) -> Mapping[str, float] | float:
        """The loss of each label of a column, from 0 (one value) to 1 (the whole domain); one number where all are equal."""

    @abstractmethod
    def rules(self) -> dict[str, dict[str, Any]]:
        """The rule of each column as plain values, which a stranger can read and check."""


class Partition(ABC):
    """How a recoding comes about: known before any row is read, with what it costs.

    Every partition says in its docstring what it promises, what it requires and what it reads.
    """

    steps: int
    """The number of rows by which neighbouring tables differ; the price is for all of them."""

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """The columns that the recoding will label, in order."""

    @property
    @abstractmethod
    def epsilon(self) -> Fraction:
        """The most that deciding costs the unit of privacy: 0 where no data are read."""

    @property
    def rate(self) -> Fraction:
        """The rate of the separate sample on which the recoding is decided; 1 for the whole table."""
        return Fraction(1)

    @property
    @abstractmethod
    def theorems(self) -> tuple[str, ...]:
        """The names of the theorems on which the cost rests."""

    @property
    @abstractmethod
    def levels(self) -> Mapping[str, Level]:
        """The level to which each column is recoded before the table is counted for the decision."""

    @abstractmethod
    def decide(self, counts: Counts, source: Source, stage: Stage = lambda _: None) -> Recoding:
        """The recoding, from the counts of all tuples; the bits of the source are used for nothing else."""

    def settle(self, table: Table, source: Source, stage: Stage = lambda _: None) -> Recoding:
        """The recoding, decided on this table, which is never the sample that is published."""
        return self.decide(table.recode(self.levels).count_by(self.columns), source, stage)

    def load_kernels(self, rows: int) -> tuple[str, ...]:  # noqa: ARG002 - for partitions that compile something
        """Compile what deciding and labelling so many rows takes, before anything is charged; notes where that fails."""
        return ()

    def work(self) -> str | None:
        """A sentence about a decision that takes long, known before any row is read; None where it does not."""
        return None

    @abstractmethod
    def words(self) -> str:
        """One sentence for a person who reviews the plan."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """What a certificate says about the partition: plain values, known before any row is read."""


# --- rules: what a level does, for a stranger to check -----------------------------------------------------------------


def level_rule(attribute: Attribute, index: int, level: Level) -> dict[str, Any]:
    """The rule of one attribute at one level: its labels, and the values that they stand for."""
    loss = attribute.hierarchy.losses[index] if attribute.hierarchy else 0.0
    return {
        "attribute": attribute.name,
        "type": attribute.type.value,
        "domain": attribute.domain.words() if attribute.domain else None,
        "level": index,
        "loss": f"{loss:.6f}",
        **_kind_of_rule(attribute, level),
    }


def _kind_of_rule(attribute: Attribute, level: Level) -> dict[str, Any]:
    if isinstance(level, ValueLevel):
        listed = attribute.domain.values if isinstance(attribute.domain, Values) else None
        ends = attribute.domain if isinstance(attribute.domain, Interval) else None
        return {
            "kind": "keep",
            "labels": list(listed) if listed and attribute.type is not Type.BOOLEAN else None,
            "low": None if ends is None else str(ends.low),
            "high": None if ends is None else str(ends.high),
            "pattern": attribute.domain.pattern if isinstance(attribute.domain, Pattern) else None,
        }
    if isinstance(level, TopLevel):
        return {"kind": "whole", "labels": [level.label]}
    if isinstance(level, GroupLevel):
        return {"kind": "groups", "labels": list(level.labels), "table": dict(level.table)}
    if isinstance(level, IntervalLevel):
        return {"kind": "cuts", "labels": list(level.labels), "edges": [str(edge) for edge in level.edges]}
    if isinstance(level, MaskLevel):
        return {"kind": "masked", "labels": None, "side": level.side, "kept": level.kept, "letter": level.letter}
    raise TypeError(type(level).__name__)
