"""Microaggregation: people who look alike stand together in groups of at least k, and each group shows one face."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from shoal.anonymize.aggregate.centroid import sizes
from shoal.anonymize.aggregate.show import Show, rule, shown
from shoal.anonymize.cluster.mdav import Labels
from shoal.anonymize.generalize.base import Stage
from shoal.anonymize.method.clusters import (
    Crowd,
    Masked,
    one_row_each,
    refuse_constant,
    refuse_few,
    refuse_no_quasi,
    secret,
    watched,
)
from shoal.chance.source import Source
from shoal.data.schema import Schema
from shoal.engine.base import Table
from shoal.errors import PreconditionError
from shoal.guarantee.claim import Claim, Status, make_claim
from shoal.guarantee.syntactic import KAnonymity, LDiversity, TCloseness
from shoal.guarantee.unit import Unit

ALL = "quasi-identifiers"


@dataclass(frozen=True)
class Microaggregation:
    """Group records by their quasi-identifiers, and show the centre (or a label) of each group instead of its records.

    Promise   KAnonymity(k) by theorem `microaggregation-k`, counted on the published table; with l or t, every group's
              confidential values are diverse, or close to the table's. None of it is differential privacy.
    Requires  a quasi-identifier; one row of each person; at least 2k records.
    Reads     the quasi-identifiers, and the confidential attributes where l or t is asked for.
    """

    crowd: Crowd
    show: Show
    unit: Unit

    name = "microaggregation"

    def check(self, schema: Schema) -> None:
        """What can be refused without a row."""
        refuse_no_quasi(schema)
        if self.crowd.grouping in ("ranking", "optimal") and len(schema.quasi) != 1:
            raise PreconditionError(
                "microaggregation-k",
                "ranks group one attribute at a time, and then records that share one group share nothing else",
                came=f"grouping: {self.crowd.grouping} for {len(schema.quasi)} quasi-identifiers",
                allowed="one quasi-identifier",
                fix="take grouping: mdav",
            )

    def claims(self) -> tuple[Claim, ...]:
        """What will hold, counted on the table."""
        wanted = self.crowd.wanted
        found = [make_claim(KAnonymity(self.crowd.k), None, Status.CHECKED, ("microaggregation-k",), (), "none needed")]
        if wanted.l is not None:
            found.append(make_claim(LDiversity(wanted.l, "distinct"), None, Status.CHECKED, (), (), "none needed"))
        if wanted.t is not None:
            found.append(make_claim(TCloseness(wanted.t, "emd"), None, Status.CHECKED, (), (), "none needed"))
        return tuple(found)

    def rules(self, schema: Schema) -> dict[str, str]:
        """What each published attribute shows."""
        quasi = {attribute.name for attribute in schema.quasi}
        return {a.name: rule(a, self.show) if a.name in quasi else "as it is" for a in schema.published}

    def run(self, table: Table, source: Source, stage: Stage = lambda _: None) -> Masked:
        """The records with their groups' faces; the order of rows is the input's, which nobody else may see."""
        self.check(table.schema)
        table = one_row_each(table, self.unit, source, stage)
        refuse_few(table.rows(), self.crowd.k)
        schema = table.schema
        names = [attribute.name for attribute in schema.quasi]
        values = table.collect(names)
        refuse_constant(schema.quasi, values, "they are alike already")
        stage("grouping")
        labels = self._groups(table, values, source, stage)
        if int(sizes(labels, labels).min()) < self.crowd.k:
            raise PreconditionError("microaggregation-k", "a group is smaller than k", fix="please report this fault")
        stage("recoding")
        shows = table
        for attribute in schema.quasi:
            shows = shows.attach(attribute.name, shown(attribute, values[attribute.name], labels, self.show))
        return Masked(shows.select([a.name for a in schema.published]), {ALL: labels}, table)

    def _groups(self, table: Table, values: dict[str, Any], source: Source, stage: Stage) -> Labels:
        schema = table.schema
        if self.crowd.grouping in ("ranking", "optimal"):
            labels = self.crowd.ranked(table, schema.quasi[0], source)
        else:
            labels = self.crowd.groups(schema.quasi, values, source, watched(stage, "grouping"))
        if self.crowd.wanted.nothing:
            return labels
        stage("joining groups")
        held = table.collect([attribute.name for attribute in schema.confidential])
        secrets = [secret(attribute, held[attribute.name]) for attribute in schema.confidential]
        return self.crowd.joined(labels, schema.quasi, values, secrets, source, watched(stage, "joining groups"))
