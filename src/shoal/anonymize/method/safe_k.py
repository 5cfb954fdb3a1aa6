"""Safe k-anonymization: a secret random sample, labels that do not depend on it, and no class smaller than k."""

from __future__ import annotations

from dataclasses import dataclass

from shoal.anonymize.generalize.base import Partition, Recoding
from shoal.chance.source import Source
from shoal.data.schema import Schema
from shoal.engine.base import RowWords, Table, bound_contributions
from shoal.errors import PreconditionError
from shoal.guarantee.claim import UNTUNED, Claim, Status, Tuning, make_claim
from shoal.guarantee.differential import ApproxDP
from shoal.guarantee.rounding import text_near
from shoal.guarantee.safe_k.setting import Setting
from shoal.guarantee.syntactic import KAnonymity
from shoal.guarantee.unit import Unit
from shoal.progress import Stage


@dataclass(frozen=True)
class SafeK:
    """Decide the recoding on the whole table (for its price), sample, label, and suppress every class with fewer than k rows.

    Promise   ApproxDP by theorem `safe-k-tight` (or `safe-k-published`), for the unit, with `eps-safe-recoding` where the
              recoding was paid for; KAnonymity, checked on the output.
    Requires  a partition that labels every published attribute; a rate below one; a fresh sample, or a table that is
              itself one (`drawn_before`: the claim then carries that condition, and the recoding is fixed in advance).
    Reads     the published columns once or twice, and once more to decide a recoding.

    >>> from shoal.anonymize.generalize.scheme import FixedScheme, Scheme
    >>> from shoal.data.schema import Attribute, Role, Type
    >>> from shoal.guarantee.safe_k.setting import solve
    >>> setting = solve(epsilon=1, delta="1e-6", beta="0.3")
    >>> schema = Schema((Attribute("age", Role.QUASI, Type.INTEGER),))
    >>> SafeK(setting, FixedScheme(Scheme(schema, {"age": 0})), setting.unit)
    <SafeK: k = 17, beta = 0.3, FixedScheme>
    """

    promise: Setting
    partition: Partition
    unit: Unit
    drawn_before: bool = False

    def __repr__(self) -> str:
        drawn = ", the table is the sample" if self.drawn_before else ""
        return f"<SafeK: k = {self.promise.k}, beta = {text_near(self.promise.beta)}, {type(self.partition).__name__}{drawn}>"

    def __post_init__(self) -> None:
        if not self.unit.has_same_steps(self.promise.unit):
            raise PreconditionError(
                "group-privacy",
                "the numbers were solved for another unit than the one that is promised",
                came=self.unit.words(),
                allowed=self.promise.unit.words(),
                fix="solve them for the unit",
            )
        if self.partition.epsilon > 0 and self.partition.steps != self.promise.unit.steps:
            raise PreconditionError(
                "eps-safe-recoding",
                "the price of the recoding is for another number of rows than neighbours differ by",
                came=str(self.partition.steps),
                allowed=str(self.promise.unit.steps),
            )
        if self.drawn_before and self.promise.unit.max_rows > 1:
            raise PreconditionError(
                "safe-k-tight",
                "a table that is itself a sample of units holds all rows of a unit or none, and the theorem needs rows "
                "that come or go independently",
                came=self.unit.words(),
                allowed="one row of each unit",
            )
        if self.drawn_before and self.partition.epsilon > 0:
            raise PreconditionError(
                "eps-safe-recoding",
                "a table that is itself the sample would be looked at twice: to choose the recoding, and to publish it",
                came="`already` with a recoding that is chosen privately",
                allowed="recoding: {levels: ...}",
                fix="fix the levels in the policy, or draw a sample of your own",
            )
        if self.partition.epsilon > self.promise.epsilon_recoding:
            raise PreconditionError(
                "eps-safe-recoding",
                "the recoding costs more than the plan sets aside for it",
                came=f"{text_near(self.partition.epsilon)}",
                allowed=f"at most {text_near(self.promise.epsilon_recoding)}",
            )

    def check(self, schema: Schema) -> None:
        """Check a premise of the theorem: every published attribute is part of the tuple, and nothing else is shown.

        Raises     PreconditionError where it is not so.
        """
        published = {attribute.name for attribute in schema.published}
        columns = set(self.partition.columns)
        if columns != published:
            raise PreconditionError(
                "safe-k-tight",
                "the tuple is not made of exactly the published attributes",
                came=", ".join(sorted(columns ^ published)),
                fix="label every published attribute, or give it the role drop",
            )

    def claims(self, *, tuned: Tuning = UNTUNED) -> tuple[Claim, ...]:
        """The claims of a release by this method; `tuned` says what the plan may owe to the data."""
        plan = self.promise
        conditions: tuple[str, ...] = ()
        status = Status.TUNED if tuned else Status.PROVED
        if self.drawn_before:
            condition = (
                f"the table was drawn from a larger population by keeping each {self.unit.name} independently with probability "
                f"at most {text_near(plan.beta)}, nothing else is ever computed from it, and nobody who knows that one of them "
                "is in it is held off"
            )
            conditions = (condition,)
            status = Status.CONDITION
        if tuned.drafted and self.drawn_before:
            conditions = (*conditions, "the plan was not tuned on the data, though parts of it were drafted from them")
        if tuned.looked and self.drawn_before:
            seen = "the plan was not tuned on the data, though results on them were seen with another plan before"
            conditions = (*conditions, seen)
        dp = ApproxDP(plan.epsilon, plan.delta)
        return (
            make_claim(dp, self.unit, status, self.theorems, conditions),
            make_claim(KAnonymity(plan.k), None, Status.CHECKED),
        )

    @property
    def theorems(self) -> tuple[str, ...]:
        """The names of all theorems on which the promise rests."""
        return (*self.promise.theorems, *self.partition.theorems)

    def load_kernels(self, rows: int) -> tuple[str, ...]:
        """Compile what a table of so many rows takes, before anything is charged; notes for the custodian where that fails."""
        return self.partition.load_kernels(rows)

    def settle(self, table: Table, source: Source, stage: Stage = lambda _: None) -> Recoding:
        """The recoding, decided on the whole table with random bits of its own, before anything of the sample is drawn."""
        self.check(table.schema)
        if self.partition.epsilon == 0:
            return self.partition.settle(table, source, stage)
        stage("choosing the recoding")
        with source.stream("recoding") as chance:
            bounded = self.bound_contributions(table, chance, stage)
            if self.partition.rate < 1:  # a sample of its own, used for nothing else
                bounded = bounded.keep(chance.row_mask(self.partition.rate).keep)
            return self.partition.settle(bounded, chance, stage)

    def run(self, table: Table, recoding: Recoding, source: Source, stage: Stage = lambda _: None) -> Table:
        """One release: the labels of the sampled rows whose class has at least k of them."""
        self.check(table.schema)
        sampled = self.sample(table, source, stage)
        stage("grouping")
        labelled = recoding.apply(sampled)
        return labelled.suppress_below(labelled.columns, self.promise.k)

    def sample(self, table: Table, source: Source, stage: Stage = lambda _: None) -> Table:
        """The sampled rows: at most m rows of each unit, and of these each with probability beta."""
        table = self.bound_contributions(table, source, stage)
        if self.drawn_before:
            return table
        stage("sampling")
        return table.keep(source.row_mask(self.promise.beta).keep)

    def bound_contributions(self, table: Table, source: Source, stage: Stage) -> Table:
        """Contribution bounding: at most m rows of each unit, chosen at random."""
        return bound_rows(table, self.unit, source.row_mask(self.promise.beta).words, "safe-k-tight", stage)


def bound_rows(table: Table, unit: Unit, words: RowWords, theorem: str, stage: Stage) -> Table:
    """Contribution bounding as a stage of a run: at most m rows of each unit; the table as it is where a unit is a row."""
    if unit.whose != "person" or unit.column is None:
        return table
    stage("choosing rows of each unit")
    return bound_contributions(table, unit, words, theorem)
