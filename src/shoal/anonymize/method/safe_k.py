"""Safe k-anonymization: a keyed random sample, labels fixed in advance, and no group under k."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from shoal.chance.source import Source
from shoal.data.level import Level
from shoal.data.schema import Schema
from shoal.engine.base import Table
from shoal.errors import PreconditionError
from shoal.guarantee.claim import Claim, Status
from shoal.guarantee.differential import ApproxDP
from shoal.guarantee.promise import Promise
from shoal.guarantee.syntactic import KAnonymity
from shoal.guarantee.unit import Unit

Stage = Callable[[str], None]
"""Told the name of each stage as it begins."""


@dataclass(frozen=True)
class SafeK:
    """Sample, label by levels fixed in advance, drop every tuple seen fewer than k times.

    Promise   ApproxDP by theorem `safe-k-tight` (or `safe-k-published`), for the unit; KAnonymity, checked on the output.
    Requires  a level for every published attribute, from the policy; a rate below one; a fresh sample, or a table that is
              itself one (`drawn_before`: the claim then carries that condition).
    Reads     the table once or twice.
    """

    promise: Promise
    levels: Mapping[str, Level]
    unit: Unit
    drawn_before: bool = False

    def check(self, schema: Schema) -> None:
        """The theorem's premise about the tuple: every published attribute is part of it, and nothing else is shown."""
        published = {attribute.name for attribute in schema.published}
        if set(self.levels) != published:
            raise PreconditionError(
                "safe-k-tight",
                "the tuple is not made of exactly the published attributes",
                came=", ".join(sorted(set(self.levels) ^ published)),
                fix="give every published attribute a level, or the role drop",
            )

    def claims(self, *, tuned: bool = False) -> tuple[Claim, ...]:
        """What holds for a release by this method; `tuned` when the plan was made after a look at the data."""
        plan = self.promise
        conditions: tuple[str, ...] = ()
        status = Status.TUNED if tuned else Status.PROVED
        if self.drawn_before:
            condition = (
                "the table was drawn from a larger population by keeping each person independently with probability at most "
                f"{float(plan.beta):g}, nothing else is ever computed from it, and nobody who knows that a person is in it "
                "is held off"
            )
            conditions = (condition,)
            status = Status.CONDITION
        if tuned and self.drawn_before:
            conditions = (*conditions, "the plan was not tuned on the data, though parts of it were drafted from them")
        dp = ApproxDP(plan.epsilon, plan.delta)
        return (
            Claim(dp, self.unit, status, plan.theorems, conditions),
            Claim(KAnonymity(plan.k), None, Status.CHECKED),
        )

    def run(self, table: Table, source: Source, stage: Stage = lambda _: None) -> Table:
        """One release: the labels of the sampled rows in groups of at least k, in an order that shows nothing."""
        self.check(table.schema)
        sampled = self.sample(table, source, stage)
        stage("grouping")
        recoded = sampled.recode(self.levels)
        return recoded.at_least(recoded.columns, self.promise.k)

    def sample(self, table: Table, source: Source, stage: Stage = lambda _: None) -> Table:
        """The rows that take part: at most m of each person, then each with probability beta."""
        mask = source.row_mask(self.promise.beta)
        if self.unit.whose == "person" and self.unit.column is not None:
            stage("choosing rows of each person")
            table = table.at_most_per(self.unit.column, self.unit.max_rows, mask.words)
        if self.drawn_before:
            return table
        stage("sampling")
        return table.keep(mask.keep)
