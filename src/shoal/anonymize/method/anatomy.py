"""Anatomy (Xiao, Tao 2006): two linked tables, in whose groups no confidential value is frequent, or values are neighbours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from shoal.anonymize.aggregate import cluster_sizes
from shoal.anonymize.cluster.anatomy import anatomize, confidential_runs, join_groups, join_runs
from shoal.anonymize.cluster.bucket.buckets import RankedColumn
from shoal.anonymize.cluster.columns import Scale, columns_of, points
from shoal.anonymize.cluster.mdav import Labels, mdav
from shoal.anonymize.method.microaggregation import bound_to_one_row, refuse_constant, refuse_few
from shoal.anonymize.method.t_closeness import (
    FORMS,
    Array,
    Form,
    LinkedMicrodata,
    link,
    number_groups,
    refuse_no_confidential,
    relation_claim,
    relation_rules,
)
from shoal.chance.source import Source
from shoal.data.schema import Schema
from shoal.engine.base import Table
from shoal.errors import InfeasibleError, ParameterError, PreconditionError, UsageError
from shoal.guarantee.claim import Claim, Status, make_claim
from shoal.guarantee.rounding import whole
from shoal.guarantee.syntactic import LDiversity
from shoal.guarantee.unit import Unit
from shoal.progress import Stage, report_progress

AnatomyGrouping = Literal["random", "confidential"]
GROUPINGS: tuple[AnatomyGrouping, ...] = get_args(AnatomyGrouping)


@dataclass(frozen=True)
class Anatomy:
    """Publish quasi-identifiers with a group number, and beside it what confidential values each group has.

    With `grouping="random"`, plain Anatomy: groups of l records or a few more with different values, joined at random where k is
    larger. With "confidential", groups of k records whose confidential values are neighbours (SC13 Algorithm 7.1; of
    several attributes, near by MDAV), joined with the next where l is given.

    Promise   KAnonymousRelation(k) and, with l, LDiversity(l, frequency) by theorem `anatomy-diversity`, counted on the published
              tables. None of it is differential privacy.
    Requires  a confidential attribute that varies, for l one alone, no value of which has more than 1/l of the records; one row
              of each person; at least two groups.
    Reads     the confidential attributes.
    """

    l: int | None  # noqa: E741 - the literature's letter
    k: int | None
    unit: Unit
    grouping: AnatomyGrouping = "random"
    form: Form = "linked"

    name = "anatomy"

    def __post_init__(self) -> None:
        if self.grouping not in GROUPINGS:
            raise UsageError("unknown grouping", came=self.grouping, allowed=", ".join(GROUPINGS))
        if self.form not in FORMS:
            raise UsageError("unknown form", came=self.form, allowed=", ".join(FORMS))
        for name, value in (("l", self.l), ("k", self.k)):
            if value is not None:
                whole(value, name, 2)
        if self.grouping == "random" and self.l is None:
            raise ParameterError(
                "Anatomy without an l", allowed="l >= 2", fix="say l, or grouping: confidential with k"
            )
        if self.grouping == "confidential" and self.k is None:
            raise ParameterError("groups of neighbouring values without a k", allowed="k >= 2", fix="say k")

    @property
    def least(self) -> int:
        """The least size of a group: k, or l where it is larger, since so many values differ."""
        return max(self.k or 0, self.l or 0)

    def check(self, schema: Schema) -> None:
        """Refuse a schema that the method cannot treat, before any row is read."""
        refuse_no_confidential(schema, "anatomy-diversity")
        if self.l is not None and len(schema.confidential) != 1:
            raise PreconditionError(
                "anatomy-diversity",
                "groups are made diverse in one confidential attribute",
                came=", ".join(attribute.name for attribute in schema.confidential),
                allowed="one confidential attribute where l is asked for",
                fix="give the others another role, or take method: t-closeness",
            )

    def claims(self, schema: Schema) -> tuple[Claim, ...]:  # noqa: ARG002 - as other methods take it
        """The claims of a release by this method, with their conditions."""
        found = [relation_claim(self.least, self.form, "anatomy-diversity", repeated=False)]
        if self.l is not None and self.form == "linked":
            claim = LDiversity(self.l, "frequency")
            found.append(make_claim(claim, None, Status.CHECKED, ("anatomy-diversity",), (), "none needed"))
        return tuple(found)

    def rules(self, schema: Schema) -> dict[str, str]:
        """What each published attribute shows."""
        return relation_rules(schema, self.form, "value")

    def load_kernels(self, schema: Schema, rows: int) -> tuple[str, ...]:  # noqa: ARG002 - as other methods take it
        """Compile nothing: no loop is long."""
        return ()

    def run(self, table: Table, source: Source, stage: Stage = lambda _: None) -> LinkedMicrodata:
        """The tables of the release; the rows of records stand in the order of the input, which only the custodian may see."""
        self.check(table.schema)
        table = bound_to_one_row(table, self.unit, source, stage)
        refuse_few(table.rows(), self.least)
        hidden = table.schema.confidential
        values = table.collect([attribute.name for attribute in hidden])
        for attribute in hidden:
            refuse_constant([attribute], values, "there is nothing to keep from anybody")
        stage("grouping")
        order = source.stream("order of records").permutation(table.rows())
        drawn = {name: own[order] for name, own in values.items()}
        found = (
            self._runs(table.schema, drawn, stage)
            if self.grouping == "confidential"
            else self._random(table.schema, drawn, source)
        )
        if int(cluster_sizes(found, found).min()) < self.least or int(found.max()) < 1:
            raise PreconditionError("anatomy-diversity", "a group is smaller than k", fix="please report this fault")
        labels = number_groups(found, order, source)
        return link(table, labels, values, self.form, (), source, stage)

    def _random(self, schema: Schema, values: dict[str, Array], source: Source) -> Labels:
        """Plain Anatomy; a missing value is a value."""
        (attribute,) = schema.confidential
        codes = RankedColumn.of(attribute, values[attribute.name]).ranks + 1
        l = self.l or 2  # noqa: E741
        found = anatomize(np.unique(codes, return_inverse=True)[1].astype(np.int64), l, source.stream("groups"))
        groups, each = int(found.max()) + 1, -(-self.least // l)
        if groups < 2 * each:
            raise InfeasibleError(
                "too few records: groups of l would be joined until fewer than two were left",
                came=f"{len(found):,} records, l = {l}, k = {self.least:,}",
                allowed=f"k up to {l * (groups // 2):,} with this l",
                fix="choose a smaller k",
            )
        return join_groups(found, each, source) if each > 1 else found

    def _runs(self, schema: Schema, values: dict[str, Array], stage: Stage) -> Labels:
        """Algorithm 7.1; missing values come first."""
        k = self.k or 2
        if len(schema.confidential) > 1:
            places = points(columns_of(schema.confidential, values), Scale.DEVIATION)
            return mdav(places, k, progress=report_progress(stage, "grouping"))
        (attribute,) = schema.confidential
        ranks = RankedColumn.of(attribute, values[attribute.name]).ranks
        found = confidential_runs(np.argsort(ranks, kind="stable"), k)
        return found if self.l is None else join_runs(found, ranks + 1, self.l)
