"""k-anonymity by full-domain recoding: one level for each quasi-identifier, the best for the table; small classes suppressed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from shoal.anonymize.cluster.clustering import unused_name
from shoal.anonymize.generalize.lattice import Lattice
from shoal.anonymize.generalize.scheme import Scheme
from shoal.anonymize.generalize.search.best_scheme import BestRecoding, SearchOutcome, find_recoding
from shoal.anonymize.generalize.search.criteria import Mask, failing
from shoal.anonymize.generalize.search.loss import LOSS_NAMES, LossName
from shoal.anonymize.generalize.search.records import EncodedRecords, encode_records
from shoal.anonymize.generalize.search.requirement import Requirement
from shoal.anonymize.generalize.search.rounds import RecodedRows, published_classes
from shoal.anonymize.method.microaggregation import bound_to_one_row, refuse_constant
from shoal.chance.source import Source
from shoal.data.hierarchy.level import Level, ValueLevel
from shoal.data.schema import Attribute, Schema, Type
from shoal.engine.base import Counts, Table
from shoal.errors import InfeasibleError, ParameterError, PreconditionError, UsageError
from shoal.guarantee.claim import Claim, Randomness, Status, make_claim
from shoal.guarantee.rounding import exact_text
from shoal.guarantee.syntactic import (
    AlphaDeassociation,
    BetaLikeness,
    DeltaDisclosure,
    KAnonymity,
    KMap,
    LDiversity,
    RecursiveDiversity,
    Syntactic,
    TCloseness,
)
from shoal.guarantee.unit import Unit
from shoal.progress import Stage, report_progress

STAGE = "searching the recoding"
CHANCE: Randomness = "none needed"


@dataclass(frozen=True)
class RecodedMicrodata:
    """The outcome of a recoding: the records that are published with their labels, and what only the custodian sees.

    `table` is what will be published, in an order that only the custodian may see.
    """

    table: Table
    original: Table
    """All records before recoding; for the custodian alone."""
    rows: RecodedRows
    """The levels of each round, and the round of each of the original records; for the custodian alone."""
    search: SearchOutcome

    @property
    def levels(self) -> dict[str, int]:
        """The number of the level of each quasi-identifier; of the first round where there are several."""
        return dict(self.rows.levels[0])

    @property
    def levels_used(self) -> dict[str, tuple[int, ...]]:
        """The levels that the published records show of each quasi-identifier: several where recoding is local.

        Where 0 is the only one, the column holds values as they are; otherwise it holds labels, as text.
        """
        return self.rows.levels_used

    @property
    def kept(self) -> Mask:
        """Which of the original records are published, in their order; for the custodian alone."""
        return self.rows.kept

    @property
    def suppressed(self) -> int:
        """How many records are not published."""
        return int(np.count_nonzero(~self.kept))


@dataclass(frozen=True)
class FullDomain:
    """Recode each quasi-identifier to one level for all records, and suppress the classes that lack what is required.

    The levels are those of least loss on the table among all that suppress at most the allowed share of its records; `levels`
    pins some, `finest` and `coarsest` bound others, and `weights` say how much each attribute counts.

    Promise   KAnonymity(k) and what else is required, counted on the published table. None of it is differential privacy, and
              the levels themselves are chosen by looking at all records.
    Requires  a quasi-identifier; a confidential attribute where the requirement is about one; one row of each person; for
              k_map the population of which the table is part.
    Reads     the quasi-identifiers, and the confidential attributes where the requirement is about them.

    >>> FullDomain(Requirement(5), unit=Unit.row("add_remove")).guarantees()
    (KAnonymity(k=5),)
    """

    requirement: Requirement
    unit: Unit
    loss: LossName = "granularity"
    suppression: Fraction = Fraction(0)
    levels: Mapping[str, int] = field(default_factory=dict)
    finest: Mapping[str, int] = field(default_factory=dict)
    coarsest: Mapping[str, int] = field(default_factory=dict)
    weights: Mapping[str, Fraction] = field(default_factory=dict)
    local: bool = False

    name = "k-anonymity"

    def __post_init__(self) -> None:
        if self.loss not in LOSS_NAMES:
            raise UsageError("no such loss", came=self.loss, allowed=", ".join(LOSS_NAMES))
        if not 0 <= self.suppression < 1:
            raise ParameterError(
                "the share of records that may be suppressed is out of range",
                came=self.suppression,
                allowed="a fraction from 0 up, below 1",
            )

    def check(self, schema: Schema) -> None:
        """Refuse a schema that the method cannot treat, before any row is read."""
        if not schema.quasi:
            raise PreconditionError(
                "full-domain-k", "the policy names no quasi-identifier", fix="give an attribute the role quasi"
            )
        if self.requirement.is_confidential and not schema.confidential:
            raise PreconditionError(
                "full-domain-k",
                "something is required of confidential values, and no attribute is confidential",
                came=self.requirement.words(),
                fix="give an attribute the role confidential, or ask for k alone",
            )
        for attribute in schema.confidential if self.requirement.t is not None else ():
            self._refuse_distance(attribute)
        self.lattice(schema)

    def _refuse_distance(self, attribute: Attribute) -> None:
        asked = self.requirement.distance
        has_order = attribute.type.numeric or attribute.type is Type.ORDINAL
        if asked == "ordered" and not has_order:
            raise PreconditionError(
                "full-domain-k",
                f"attribute '{attribute.name}' has no order",
                came="distance: ordered",
                allowed="numbers, dates, times, or type: ordinal",
                fix="take distance: equal",
            )
        if asked == "hierarchical" and attribute.hierarchy is None:
            raise PreconditionError(
                "full-domain-k",
                f"attribute '{attribute.name}' has no hierarchy",
                came="distance: hierarchical",
                fix="declare one, or take distance: equal",
            )

    def lattice(self, schema: Schema) -> Lattice:
        """All schemes among which the best is searched, known before any row is read."""
        both = sorted(set(self.levels) & (set(self.finest) | set(self.coarsest)))
        if both:
            raise UsageError("a level that is pinned and bounded", came=", ".join(both), fix="say one of the two")
        return Lattice.of(
            schema.quasi,
            finest={**self.finest, **self.levels},
            coarsest={**self.coarsest, **self.levels},
            weights=self.weights,
            limit=1 << 200,  # nothing is left out: a search that cannot see all schemes says so
        )

    def guarantees(self) -> tuple[Syntactic, ...]:
        """What holds of every class of the published table."""
        required = self.requirement
        found: list[Syntactic] = [KAnonymity(required.k)]
        if required.l is not None:
            found.append(LDiversity(required.l, "distinct"))
        if required.entropy_l is not None:
            found.append(LDiversity(required.entropy_l, "entropy"))
        if required.recursive is not None:
            found.append(RecursiveDiversity(*required.recursive))
        if required.t is not None:
            found.append(TCloseness(required.t, "emd"))
        if required.alpha is not None:
            found.append(AlphaDeassociation(required.alpha))
        if required.beta is not None:
            found.append(BetaLikeness(required.beta, required.beta_form))
        if required.delta is not None:
            found.append(DeltaDisclosure(required.delta))
        if required.k_map is not None:
            found.append(KMap(required.k_map))
        return tuple(found)

    def claims(self, schema: Schema | None = None) -> tuple[Claim, ...]:
        """The claims of a release by this method; each is counted on the table."""
        del schema
        return tuple(
            make_claim(
                one, None, Status.CHECKED, ("population-k" if isinstance(one, KMap) else "full-domain-k",), (), CHANCE
            )
            for one in self.guarantees()
        )

    def rules(self, schema: Schema) -> dict[str, str]:
        """What each published attribute shows."""
        quasi = {attribute.name for attribute in schema.quasi}
        return {one.name: "level" if one.name in quasi else "as it is" for one in schema.published}

    def load_kernels(self, schema: Schema, rows: int) -> tuple[str, ...]:
        """Nothing is compiled."""
        del schema, rows
        return ()

    def run(
        self, table: Table, source: Source, stage: Stage = lambda _: None, population: Counts | None = None
    ) -> RecodedMicrodata:
        """The records with their labels, in the order of the input, which only the custodian may see.

        `population` counts everybody among whom the people of the table may be, by the quasi-identifiers in their order, as
        values and not as labels; for k_map.
        """
        schema = table.schema
        self.check(schema)
        self._check_population(schema, population)
        table = bound_to_one_row(table, self.unit, source, stage, "full-domain-k")
        self._refuse_few(table.rows())
        names = [attribute.name for attribute in schema.quasi]
        confidential = schema.confidential if self.requirement.is_confidential else ()
        values = table.collect([*names, *(attribute.name for attribute in confidential)])
        refuse_constant(schema.quasi, values, "there is nothing to recode")
        stage(STAGE)
        records = encode_records(
            schema.quasi,
            confidential,
            values,
            distance=self.requirement.distance,
            population=population,
        )
        found = find_recoding(
            self.lattice(schema),
            records,
            self.requirement,
            self.loss,
            self.weights,
            self.suppression,
            local=self.local,
            progress=report_progress(stage, STAGE),
        )
        recount(records, found, self.requirement, self.suppression)
        stage("recoding")
        return RecodedMicrodata(_publish(table, records, found.recoded), table, found.recoded, found.outcome)

    def _check_population(self, schema: Schema, population: Counts | None) -> None:
        if (population is None) != (self.requirement.k_map is None):
            raise UsageError(
                "a population without k_map, or k_map without a population",
                came=self.requirement.words(),
                fix="bring both or neither",
            )
        names = tuple(attribute.name for attribute in schema.quasi)
        if population is not None and population.columns != names:
            raise UsageError(
                "the population is counted by other columns than the quasi-identifiers",
                came=", ".join(population.columns),
                allowed=", ".join(names),
            )

    def _refuse_few(self, rows: int) -> None:
        if rows < self.requirement.k:
            raise InfeasibleError(
                "the table has fewer records than a class must have",
                came=f"{rows:,} records and k = {self.requirement.k:,}",
                allowed=f"k up to {rows:,}" if rows > 1 else "at least 2 records",
                fix="choose a smaller k, or bring more records",
            )

    def words(self) -> str:
        """One sentence for a person who reviews the plan."""
        share = exact_text(100 * self.suppression)
        return (
            f"The levels of least loss ({self.loss}) on the table under {self.requirement.words()}, with at most {share} % of "
            "the records suppressed."
        )


def recount(records: EncodedRecords, found: BestRecoding, required: Requirement, suppression: Fraction) -> None:
    """Count the classes of what is about to be published by the labels that it shows; an error where one lacks something."""
    made = published_classes(records, found.recoded, found.people)
    suppressed = int(np.count_nonzero(~found.recoded.kept))
    if not len(made.classes) or failing(made.classes, required).any() or suppressed > suppression * records.rows:
        raise PreconditionError(
            "full-domain-k",
            "the table to be published does not have what is required",
            came=required.words(),
            fix="please report this fault",
        )


def _publish(table: Table, records: EncodedRecords, recoded: RecodedRows) -> Table:
    """The records that are kept, each with the labels of its round."""
    schema = table.schema
    names = [attribute.name for attribute in schema.published]
    if len(recoded.levels) == 1:
        at = Scheme(schema, recoded.levels[0]).levels
        quasi = {attribute.name for attribute in schema.quasi}
        shown: dict[str, Level] = {name: at[name] if name in quasi else ValueLevel() for name in names}
        return keep_rows(table, recoded.kept).recode(shown)
    for attribute, values, codes in zip(schema.quasi, records.quasi.values, records.quasi.codes, strict=True):
        if recoded.levels_used[attribute.name] != (0,):
            labels, numbers = recoded.labels(attribute, values, codes.astype(np.int64)[records.of_row])
            table = table.attach(attribute.name, labels[numbers])
    return keep_rows(table, recoded.kept).select(names)


def keep_rows(table: Table, kept: Mask) -> Table:
    """The rows that are marked, given in their order, at least two of them; rows keep their order."""
    if kept.all():
        return table
    # Every suppressed row has a number of its own, and all others share one: numbers that occur once are suppressed.
    mark = unused_name(table, "kept")
    numbers: Any = np.where(kept, -1, np.arange(len(kept), dtype=np.int64))
    columns = table.columns
    return table.attach(mark, numbers).suppress_below([mark], 2).select(columns)
