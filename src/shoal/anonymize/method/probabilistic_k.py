"""Probabilistic k-anonymity: values are permuted inside clusters of at least k, so that none is known to be a person's own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from shoal.anonymize.aggregate import cluster_sizes, shuffle
from shoal.anonymize.cluster.clustering import Clustering, confidential_column
from shoal.anonymize.cluster.diversify import merge_runs
from shoal.anonymize.cluster.mdav import Labels
from shoal.anonymize.method.microaggregation import (
    ALL,
    MaskedMicrodata,
    bound_to_one_row,
    refuse_constant,
    refuse_few,
    refuse_no_quasi,
)
from shoal.chance.source import Source
from shoal.data.schema import Schema
from shoal.engine.base import Table
from shoal.errors import PreconditionError
from shoal.guarantee.claim import Claim, Status, make_claim
from shoal.guarantee.syntactic import LDiversity, ProbabilisticK, TCloseness
from shoal.guarantee.unit import Unit
from shoal.progress import Stage, report_progress

LIMIT = (
    "the intruder knows of the person only what was parted from these values, nothing of the others in the group, and of no "
    "dependence between the two; every value stays visible, and where a group's are equal or near each other, so is what is shown"
)
HIDDEN = "counted on the groups before they were hidden: the table does not show them"


@dataclass(frozen=True)
class Swap:
    """Permute uniformly inside clusters: all quasi-identifiers together, or (ranking) each confidential attribute alone.

    Promise   ProbabilisticK(k) by theorem `probabilistic-k`, on the condition in LIMIT. Every column keeps its values, so
              means, variances and one-way tables stay exact; relations between the columns that are separated are blurred.
    Requires  a confidential attribute; a quasi-identifier unless ranking; one row of each person; at least 2k records.
    Reads     what is permuted, and the confidential attributes where l or t is asked for.
    """

    clustering: Clustering
    unit: Unit
    own_k: Mapping[str, int] = field(default_factory=dict)
    """With ranking: the k of confidential attributes that have one of their own (SC13 §3.4, informed intruders)."""

    name = "probabilistic-k"

    @property
    def alone(self) -> bool:
        """Whether each confidential attribute is permuted by itself."""
        return self.clustering.grouping == "ranking"

    def k(self, attribute: str) -> int:
        """The least size of the clusters in which this attribute is permuted."""
        return self.own_k.get(attribute, self.clustering.k)

    def smallest(self, schema: Schema) -> int:
        """The k that holds for all confidential attributes."""
        return min(self.k(attribute.name) for attribute in schema.confidential) if self.alone else self.clustering.k

    def check(self, schema: Schema) -> None:
        """Refuse a schema that the method cannot treat, before any row is read."""
        if not self.alone:
            refuse_no_quasi(schema)
        if not schema.confidential:
            raise PreconditionError(
                "probabilistic-k",
                "there is no confidential attribute from which the quasi-identifiers could part",
                fix="give an attribute the role confidential",
            )

    def claims(self, schema: Schema) -> tuple[Claim, ...]:
        """The claims of a release by this method, with their conditions."""
        required = self.clustering.requirement
        found = [
            make_claim(ProbabilisticK(self.smallest(schema)), None, Status.CONDITION, ("probabilistic-k",), (LIMIT,))
        ]
        if required.l is not None:
            found.append(make_claim(LDiversity(required.l, "distinct"), None, Status.CHECKED, (), (HIDDEN,)))
        if required.t is not None:
            found.append(make_claim(TCloseness(required.t, "emd"), None, Status.CHECKED, (), (HIDDEN,)))
        return tuple(found)

    def rules(self, schema: Schema) -> dict[str, str]:
        """What each published attribute shows."""
        moved = schema.confidential if self.alone else schema.quasi
        names = {attribute.name for attribute in moved}
        how = "permuted in groups of its own" if self.alone else "permuted with the quasi-identifiers"
        return {a.name: how if a.name in names else "as it is" for a in schema.published}

    def load_kernels(self, schema: Schema, rows: int) -> tuple[str, ...]:
        """Compile what a table of so many rows takes; notes for the custodian where that fails."""
        return self.clustering.load_kernels(rows, len(schema.quasi))

    def run(self, table: Table, source: Source, stage: Stage = lambda _: None) -> MaskedMicrodata:
        """The records with their values permuted, in the order of the input, which only the custodian may see."""
        self.check(table.schema)
        table = bound_to_one_row(table, self.unit, source, stage)
        schema = table.schema
        alone = [self.k(attribute.name) for attribute in schema.confidential] if self.alone else [self.clustering.k]
        refuse_few(table.rows(), max(alone))
        made = self._each_alone(table, source, stage) if self.alone else self._together(table, source, stage)
        return MaskedMicrodata(made.table.select([a.name for a in schema.published]), made.groups, table)

    def _together(self, table: Table, source: Source, stage: Stage) -> MaskedMicrodata:
        """MDAV-SWAP: the quasi-identifiers of a cluster change places as whole records."""
        quasi, hidden = table.schema.quasi, table.schema.confidential
        values = table.collect([attribute.name for attribute in (*quasi, *hidden)])
        refuse_constant(quasi, values, "they are alike already")
        refuse_constant(hidden, values, "nobody can be kept from knowing it")
        stage("grouping")
        labels = self.clustering.clusters(quasi, values, source, report_progress(stage, "grouping"))
        if not self.clustering.requirement.nothing:
            stage("joining groups")
            confidential = [confidential_column(one, values[one.name]) for one in hidden]
            labels = self.clustering.merge(
                labels, quasi, values, confidential, source, report_progress(stage, "joining groups")
            )
        self._check_sizes(labels, self.clustering.k)
        stage("permuting")
        order = shuffle(np.arange(len(labels)), labels, source.stream("quasi-identifiers"))
        moved = table
        for attribute in quasi:
            moved = moved.attach(attribute.name, values[attribute.name][order])
        return MaskedMicrodata(moved, {ALL: labels}, table)

    def _each_alone(self, table: Table, source: Source, stage: Stage) -> MaskedMicrodata:
        """IR-SWAP: each confidential attribute in runs of its own ranks, permuted with a key of its own."""
        groups: dict[str, Labels] = {}
        moved = table
        for attribute in table.schema.confidential:
            stage(f"permuting {attribute.name}")
            values = table.collect([attribute.name])
            refuse_constant([attribute], values, "nobody can be kept from knowing it")
            chance = source.stream(f"attribute {attribute.name}")
            labels = replace(self.clustering, k=self.k(attribute.name)).clusters_by_rank(table, attribute, chance)
            if self.clustering.requirement.l is not None:
                labels = merge_runs(
                    labels, confidential_column(attribute, values[attribute.name]), self.clustering.requirement
                )
            self._check_sizes(labels, self.k(attribute.name))
            groups[attribute.name] = labels
            order = shuffle(np.arange(len(labels)), labels, chance)
            moved = moved.attach(attribute.name, values[attribute.name][order])
        return MaskedMicrodata(moved, groups, table)

    def _check_sizes(self, labels: Labels, k: int) -> None:
        if int(cluster_sizes(labels, labels).min()) < k:
            raise PreconditionError("probabilistic-k", "a group is smaller than k", fix="please report this fault")
