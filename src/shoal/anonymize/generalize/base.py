"""What every partition of the domain shares: how it comes about, what that costs, and the recoding it settles on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, Self

from shoal.chance.source import Source
from shoal.data.hierarchy.level import Level
from shoal.engine.base import Counts, Table

Stage = Callable[[str], None]
"""Told the name of each stage as it begins, and a `StageProgress` of it as it goes on."""


class StageProgress(str):
    """How far a stage has come: a text such as `choosing the recoding (12 %)` that also knows its parts."""

    __slots__ = ("done", "name", "total")

    name: str
    done: int
    total: int

    def __new__(cls, name: str, done: int, total: int) -> Self:
        """So many of `total` steps are done."""
        made = super().__new__(cls, f"{name} ({100 * done // max(total, 1)} %)")
        made.name, made.done, made.total = name, done, total
        return made


class Recoding(ABC):
    """A map from records to labels that no longer changes: from the policy, or settled by a mechanism that was paid."""

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """The columns it labels, in order."""

    @property
    @abstractmethod
    def levels(self) -> Mapping[str, Level]:
        """What each column is recoded to first; boxes are made of these labels."""

    @abstractmethod
    def finish(self, recoded: Table) -> Table:
        """The labels that are shown, from a table that was recoded to `levels`."""

    def apply(self, table: Table) -> Table:
        """The table as labels, and nothing else."""
        return self.finish(table.recode(self.levels))

    @abstractmethod
    def losses(self, name: str) -> Mapping[str, float] | float:
        """The loss of each label of a column, from 0 (one value) to 1 (the whole domain); one number if all are alike."""

    @abstractmethod
    def rules(self) -> dict[str, dict[str, Any]]:
        """The rule of each column as plain values that a stranger can read and check."""


class Partition(ABC):
    """How the recoding comes about, before any row is seen, and what it costs."""

    steps: int
    """By how many rows neighbours differ, where that is paid for."""

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """The columns it will label, in order."""

    @property
    @abstractmethod
    def epsilon(self) -> Fraction:
        """The most that settling costs the unit: 0 where the data are not looked at."""

    @property
    def rate(self) -> Fraction:
        """The rate of the separate sample that it is settled on; 1 for the whole table."""
        return Fraction(1)

    @property
    @abstractmethod
    def theorems(self) -> tuple[str, ...]:
        """The results that the cost rests on."""

    @property
    @abstractmethod
    def levels(self) -> Mapping[str, Level]:
        """What each column is recoded to before the table is counted for a decision."""

    @abstractmethod
    def decide(self, counts: Counts, source: Source, stage: Stage = lambda _: None) -> Recoding:
        """The recoding, from the counts of the whole table's tuples; the source's bits are used for this alone."""

    def settle(self, table: Table, source: Source, stage: Stage = lambda _: None) -> Recoding:
        """Decide on the whole table, never on the sample that is published."""
        return self.decide(table.recode(self.levels).count_by(self.columns), source, stage)

    def work(self) -> str | None:
        """What to expect of a decision that takes long, known before any row is seen; None where it does not."""
        return None

    @abstractmethod
    def words(self) -> str:
        """One sentence for a person who reviews the plan."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """What a certificate says about it: plain values, known before any row is seen."""
