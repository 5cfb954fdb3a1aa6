"""Microaggregation: near records stand together in clusters of at least k, and each cluster shows one value for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.anonymize.aggregate import Show, aggregate, aggregation_rule, cluster_sizes
from shoal.anonymize.cluster.clustering import Clustering, confidential_column
from shoal.anonymize.cluster.mdav import Labels
from shoal.chance.source import Source
from shoal.data.schema import Attribute, Schema
from shoal.engine.base import Table, bound_contributions
from shoal.errors import InfeasibleError, PreconditionError
from shoal.guarantee.claim import Claim, Status, make_claim
from shoal.guarantee.syntactic import KAnonymity, LDiversity, TCloseness
from shoal.guarantee.unit import Unit
from shoal.progress import Stage, report_progress

Array = npt.NDArray[Any]
ALL = "quasi-identifiers"


@dataclass(frozen=True)
class MaskedMicrodata:
    """The outcome of a method by clusters: the records in their order with what they show, and the cluster of each.

    `table` is what will be published, in an order that only the custodian may see.
    """

    table: Table
    groups: dict[str, Labels]
    """The cluster of each record, by the attributes that were treated together; for the custodian alone."""
    original: Table
    """The records before masking, in the same order; for the custodian alone."""


@dataclass(frozen=True)
class Microaggregation:
    """Cluster records by their quasi-identifiers, and show the centroid (or a label) of each cluster instead of its records.

    Promise   KAnonymity(k) by theorem `microaggregation-k`, counted on the published table; with l or t, the
              confidential values of every cluster are diverse, or close to the table's. None of it is differential privacy.
    Requires  a quasi-identifier; one row of each person; at least 2k records.
    Reads     the quasi-identifiers, and the confidential attributes where l or t is asked for.

    >>> Microaggregation(Clustering(5), "centroid", Unit.row("add_remove")).claims()[0].guarantee
    KAnonymity(k=5)
    """

    clustering: Clustering
    show: Show
    unit: Unit

    name = "microaggregation"

    def check(self, schema: Schema) -> None:
        """Refuse a schema that the method cannot treat, before any row is read."""
        refuse_no_quasi(schema)
        if self.clustering.grouping in ("ranking", "optimal") and len(schema.quasi) != 1:
            raise PreconditionError(
                "microaggregation-k",
                "ranks group one attribute at a time, and then records that share one group share nothing else",
                came=f"grouping: {self.clustering.grouping} for {len(schema.quasi)} quasi-identifiers",
                allowed="one quasi-identifier",
                fix="take grouping: mdav",
            )

    def claims(self) -> tuple[Claim, ...]:
        """The claims of a release by this method; each is counted on the table."""
        required = self.clustering.requirement
        found = [
            make_claim(KAnonymity(self.clustering.k), None, Status.CHECKED, ("microaggregation-k",), (), "none needed")
        ]
        if required.l is not None:
            found.append(make_claim(LDiversity(required.l, "distinct"), None, Status.CHECKED, (), (), "none needed"))
        if required.t is not None:
            found.append(make_claim(TCloseness(required.t, "emd"), None, Status.CHECKED, (), (), "none needed"))
        return tuple(found)

    def rules(self, schema: Schema) -> dict[str, str]:
        """What each published attribute shows."""
        quasi = {attribute.name for attribute in schema.quasi}
        return {a.name: aggregation_rule(a, self.show) if a.name in quasi else "as it is" for a in schema.published}

    def load_kernels(self, schema: Schema, rows: int) -> tuple[str, ...]:
        """Compile what a table of so many rows takes; notes for the custodian where that fails."""
        return self.clustering.load_kernels(rows, len(schema.quasi))

    def run(self, table: Table, source: Source, stage: Stage = lambda _: None) -> MaskedMicrodata:
        """The records with what their clusters show, in the order of the input, which only the custodian may see."""
        self.check(table.schema)
        table = bound_to_one_row(table, self.unit, source, stage)
        refuse_few(table.rows(), self.clustering.k)
        schema = table.schema
        names = [attribute.name for attribute in schema.quasi]
        values = table.collect(names)
        refuse_constant(schema.quasi, values, "they are alike already")
        stage("grouping")
        labels = self._clusters(table, values, source, stage)
        if int(cluster_sizes(labels, labels).min()) < self.clustering.k:
            raise PreconditionError("microaggregation-k", "a group is smaller than k", fix="please report this fault")
        stage("recoding")
        shows = table
        for attribute in schema.quasi:
            shows = shows.attach(attribute.name, aggregate(attribute, values[attribute.name], labels, self.show))
        return MaskedMicrodata(shows.select([a.name for a in schema.published]), {ALL: labels}, table)

    def _clusters(self, table: Table, values: dict[str, Any], source: Source, stage: Stage) -> Labels:
        schema = table.schema
        if self.clustering.grouping in ("ranking", "optimal"):
            labels = self.clustering.clusters_by_rank(table, schema.quasi[0], source)
        else:
            labels = self.clustering.clusters(schema.quasi, values, source, report_progress(stage, "grouping"))
        if self.clustering.requirement.nothing:
            return labels
        stage("joining groups")
        held = table.collect([attribute.name for attribute in schema.confidential])
        confidential = [confidential_column(attribute, held[attribute.name]) for attribute in schema.confidential]
        return self.clustering.merge(
            labels, schema.quasi, values, confidential, source, report_progress(stage, "joining groups")
        )


# --- what methods by clusters share -----------------------------------------------------------------------------------


def bound_to_one_row(
    table: Table, unit: Unit, source: Source, stage: Stage, theorem: str = "microaggregation-k"
) -> Table:
    """Contribution bounding for groups of k: one row of each unit, chosen at random; every row where rows are the unit.

    A group of k rows holds k units only where no unit has two rows. `theorem` is the result that rests on it.
    """
    if unit.whose != "person" or unit.column is None:
        return table
    if unit.max_rows > 1:
        raise PreconditionError(
            theorem,
            "a group of k rows hides no unit when several of them are one unit's",
            came=f"max_rows: {unit.max_rows}",
            allowed="one row of each unit",
            fix="set max_rows: 1",
        )
    stage("choosing rows of each unit")
    return bound_contributions(table, unit, source.row_mask(Fraction(1, 2)).words, theorem)


def refuse_few(rows: int, k: int) -> None:
    """Refuse tables that would be one cluster: nothing would be left in them."""
    if rows < 2 * k:
        raise InfeasibleError(
            "too few records: they would all stand in one group",
            came=f"{rows:,} records and k = {k:,}",
            allowed="at least 2k records",
            fix="choose a smaller k" if rows >= 4 else "bring more records",
        )


def refuse_constant(attributes: Sequence[Attribute], values: dict[str, Array], why: str) -> None:
    """Refuse attributes none of which varies: they cannot be clustered or permuted."""
    if attributes and not any(_varies(values[attribute.name]) for attribute in attributes):
        names = ", ".join(f"'{attribute.name}'" for attribute in attributes[:6])
        raise InfeasibleError(f"every record has the same {names}: {why}", fix="leave these attributes out")


def _varies(values: Array) -> bool:
    gone, data = np.ma.getmaskarray(values), np.ma.getdata(values)
    present = data[~gone]
    return bool(len(present) and (gone.any() or (present != present[0]).any()))


def refuse_no_quasi(schema: Schema) -> None:
    """Refuse a schema without quasi-identifiers: clusters are of records whose quasi-identifiers are near."""
    if not schema.quasi:
        raise PreconditionError(
            "microaggregation-k", "the policy names no quasi-identifier", fix="give an attribute the role quasi"
        )
