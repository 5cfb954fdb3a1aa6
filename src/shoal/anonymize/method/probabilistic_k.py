"""Probabilistic k-anonymity: values change places inside groups of at least k, so that nobody's are known to be theirs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from shoal.anonymize.aggregate.centroid import sizes
from shoal.anonymize.aggregate.shuffle import shuffle
from shoal.anonymize.cluster.diversify import in_runs
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
from shoal.anonymize.method.microaggregation import ALL
from shoal.chance.source import Source
from shoal.data.schema import Schema
from shoal.engine.base import Table
from shoal.errors import PreconditionError
from shoal.guarantee.claim import Claim, Status, make_claim
from shoal.guarantee.syntactic import LDiversity, ProbabilisticK, TCloseness
from shoal.guarantee.unit import Unit

LIMIT = (
    "the intruder knows of the person only what was parted from these values, nothing of the others in the group, and of no "
    "dependence between the two; every value stays visible, and where a group's are equal or near each other, so is what is shown"
)
HIDDEN = "counted on the groups before they were hidden: the table does not show them"


@dataclass(frozen=True)
class Swap:
    """Permute uniformly inside groups: all quasi-identifiers together, or (ranking) each confidential attribute alone.

    Promise   ProbabilisticK(k) by theorem `probabilistic-k`, on the condition in LIMIT. Every column keeps its values, so
              means, variances and one-way tables stay exact; relations between the columns that part are blurred.
    Requires  a confidential attribute; a quasi-identifier unless ranking; one row of each person; at least 2k records.
    Reads     what is permuted, and the confidential attributes where l or t is asked for.
    """

    crowd: Crowd
    unit: Unit
    crowds: Mapping[str, int] = field(default_factory=dict)
    """With ranking: the k of confidential attributes that have one of their own (SC13 §3.4, informed intruders)."""

    name = "probabilistic-k"

    @property
    def alone(self) -> bool:
        """Whether each confidential attribute is permuted by itself."""
        return self.crowd.grouping == "ranking"

    def k(self, attribute: str) -> int:
        """The least group in which this attribute was mixed."""
        return self.crowds.get(attribute, self.crowd.k)

    def smallest(self, schema: Schema) -> int:
        """The k that holds for all confidential attributes."""
        return min(self.k(attribute.name) for attribute in schema.confidential) if self.alone else self.crowd.k

    def check(self, schema: Schema) -> None:
        """What can be refused without a row."""
        if not self.alone:
            refuse_no_quasi(schema)
        if not schema.confidential:
            raise PreconditionError(
                "probabilistic-k",
                "there is no confidential attribute from which the quasi-identifiers could part",
                fix="give an attribute the role confidential",
            )

    def claims(self, schema: Schema) -> tuple[Claim, ...]:
        """What will hold, and under which condition."""
        wanted = self.crowd.wanted
        found = [
            make_claim(ProbabilisticK(self.smallest(schema)), None, Status.CONDITION, ("probabilistic-k",), (LIMIT,))
        ]
        if wanted.l is not None:
            found.append(make_claim(LDiversity(wanted.l, "distinct"), None, Status.CHECKED, (), (HIDDEN,)))
        if wanted.t is not None:
            found.append(make_claim(TCloseness(wanted.t, "emd"), None, Status.CHECKED, (), (HIDDEN,)))
        return tuple(found)

    def rules(self, schema: Schema) -> dict[str, str]:
        """What each published attribute shows."""
        moved = schema.confidential if self.alone else schema.quasi
        names = {attribute.name for attribute in moved}
        how = "permuted in groups of its own" if self.alone else "permuted with the quasi-identifiers"
        return {a.name: how if a.name in names else "as it is" for a in schema.published}

    def run(self, table: Table, source: Source, stage: Stage = lambda _: None) -> Masked:
        """The records with their values exchanged; the order of rows is the input's, which nobody else may see."""
        self.check(table.schema)
        table = one_row_each(table, self.unit, source, stage)
        schema = table.schema
        alone = [self.k(attribute.name) for attribute in schema.confidential] if self.alone else [self.crowd.k]
        refuse_few(table.rows(), max(alone))
        made = self._each_alone(table, source, stage) if self.alone else self._together(table, source, stage)
        return Masked(made.table.select([a.name for a in schema.published]), made.groups, table)

    def _together(self, table: Table, source: Source, stage: Stage) -> Masked:
        """MDAV-SWAP: the quasi-identifiers of a group change places as whole records."""
        quasi, hidden = table.schema.quasi, table.schema.confidential
        values = table.collect([attribute.name for attribute in (*quasi, *hidden)])
        refuse_constant(quasi, values, "they are alike already")
        refuse_constant(hidden, values, "nobody can be kept from knowing it")
        stage("grouping")
        labels = self.crowd.groups(quasi, values, source, watched(stage, "grouping"))
        if not self.crowd.wanted.nothing:
            stage("joining groups")
            secrets = [secret(one, values[one.name]) for one in hidden]
            labels = self.crowd.joined(labels, quasi, values, secrets, source, watched(stage, "joining groups"))
        self._hold(labels, self.crowd.k)
        stage("permuting")
        order = shuffle(np.arange(len(labels)), labels, source.stream("quasi-identifiers"))
        moved = table
        for attribute in quasi:
            moved = moved.attach(attribute.name, values[attribute.name][order])
        return Masked(moved, {ALL: labels}, table)

    def _each_alone(self, table: Table, source: Source, stage: Stage) -> Masked:
        """IR-SWAP: each confidential attribute in runs of its own ranks, permuted with a key of its own."""
        groups: dict[str, Labels] = {}
        moved = table
        for attribute in table.schema.confidential:
            stage(f"permuting {attribute.name}")
            values = table.collect([attribute.name])
            refuse_constant([attribute], values, "nobody can be kept from knowing it")
            chance = source.stream(f"attribute {attribute.name}")
            labels = replace(self.crowd, k=self.k(attribute.name)).ranked(table, attribute, chance)
            if self.crowd.wanted.l is not None:
                labels = in_runs(labels, secret(attribute, values[attribute.name]), self.crowd.wanted)
            self._hold(labels, self.k(attribute.name))
            groups[attribute.name] = labels
            order = shuffle(np.arange(len(labels)), labels, chance)
            moved = moved.attach(attribute.name, values[attribute.name][order])
        return Masked(moved, groups, table)

    def _hold(self, labels: Labels, k: int) -> None:
        if int(sizes(labels, labels).min()) < k:
            raise PreconditionError("probabilistic-k", "a group is smaller than k", fix="please report this fault")
