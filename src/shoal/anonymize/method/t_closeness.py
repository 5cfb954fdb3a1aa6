"""t-closeness by bucketization (SC13 §7.2): groups of at least k whose buckets of confidential values look like the table's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from shoal.anonymize.aggregate import cluster_sizes, shuffle
from shoal.anonymize.cluster.bucket.buckets import Buckets, RankedColumn
from shoal.anonymize.cluster.bucket.distance import closeness
from shoal.anonymize.cluster.bucket.groups import near_groups, random_groups
from shoal.anonymize.cluster.bucket.joint import JointBuckets, joint_buckets
from shoal.anonymize.cluster.clustering import unused_name
from shoal.anonymize.cluster.columns import Scale, columns_of, points
from shoal.anonymize.cluster.mdav import Labels
from shoal.anonymize.kernel.remaining_points import is_much, loops
from shoal.anonymize.method.microaggregation import (
    bound_to_one_row,
    refuse_constant,
    refuse_few,
    refuse_no_quasi,
)
from shoal.anonymize.method.probabilistic_k import HIDDEN, LIMIT
from shoal.chance.source import Source
from shoal.compilation import load_kernels
from shoal.data.schema import Attribute, Role, Schema
from shoal.data.type import Type
from shoal.engine.base import Table, open_engine
from shoal.engine.column import column_of
from shoal.errors import ParameterError, PreconditionError, UsageError
from shoal.guarantee.claim import Claim, Status, make_claim
from shoal.guarantee.rounding import whole
from shoal.guarantee.syntactic import KAnonymousRelation, KnowledgeGain, ProbabilisticK, TCloseness
from shoal.guarantee.unit import Unit
from shoal.progress import Stage, report_progress

Array = npt.NDArray[Any]
Form = Literal["linked", "permuted"]
FORMS: tuple[Form, ...] = get_args(Form)
ShownValue = Literal["bucket", "value"]
SHOWN_VALUES: tuple[ShownValue, ...] = get_args(ShownValue)
Choice = Literal["near", "random"]
CHOICES: tuple[Choice, ...] = get_args(Choice)
GROUP = "group"
COUNT = "count"

MARGINAL = (
    "before the release the intruder believes of a person's confidential values what the whole table shows of them, and nothing "
    "of the others in the group; who knows more may gain more"
)
NOT_REPEATED = (
    "the intruder does not reason from which records were near enough to be grouped, which depends on their buckets"
)


@dataclass(frozen=True)
class LinkedMicrodata:
    """The outcome of a method by linked groups: the records, what each group has of the confidential values, or both permuted.

    `records` and `confidential` are published in the linked form, `permuted` in the other one; the rows of `records` and
    `permuted` stand in an order that only the custodian may see.
    """

    records: Table
    """What stays with a record, and the number of its group."""
    shown: Mapping[str, Array]
    """The bucket or value of each record, by confidential attribute, before any change of places; for the custodian alone."""
    permuted: Table | None
    """The records with buckets or values that changed places inside their groups; None in the linked form."""
    buckets: tuple[Buckets, ...]
    """The buckets of each confidential attribute; none where values are shown."""
    groups: Labels
    """The group of each record, numbered from 0; for the custodian alone where the form is permuted."""
    original: Table
    """The records before masking, in the same order; for the custodian alone."""
    achieved_t: Fraction | float
    """The largest ratio distance between a group and the table, of what is shown; infinite where a group lacks a value."""
    group_column: str = GROUP
    """The name of the column with the number of the group."""
    count_column: str = COUNT

    @cached_property
    def confidential(self) -> Table:
        """The number of a group, a bucket or value of each confidential attribute, and how many records of the group have it."""
        return _count_groups(self)


@dataclass(frozen=True)
class Bucketization:
    """Bucketize the confidential attributes, and group records so that every group's buckets have nearly the table's shares.

    Promise   KAnonymousRelation(k) and TCloseness(t, ratio) by theorem `bucket-closeness`, counted on the published tables;
              KnowledgeGain(t) by theorem `knowledge-gain`, on the condition in MARGINAL. None of it is differential privacy.
              With `show="value"` the relation is k-anonymous and nothing else is claimed.
    Requires  a quasi-identifier, confidential attributes that vary, one row of each person, at least 2k records, and a k and t
              for which counts of whole records exist.
    Reads     the quasi-identifiers and the confidential attributes.

    `choice` says which records make a group: those whose quasi-identifiers are near, or random ones, which say nothing of why
    they stand together.

    >>> Bucketization(Fraction(2), 6, "linked", "bucket", Unit.row("add_remove")).buckets_at_most
    3
    """

    t: Fraction
    k: int
    form: Form
    show: ShownValue
    unit: Unit
    choice: Choice = "near"

    name = "t-closeness"

    def __post_init__(self) -> None:
        whole(self.k, "k", 2)
        if self.t < 1:
            raise ParameterError(
                "t is too small", came=self.t, allowed="t >= 1: a ratio of two shares, 1 where all are equal"
            )
        for name, value, known in (
            ("form", self.form, FORMS),
            ("show", self.show, SHOWN_VALUES),
            ("choice", self.choice, CHOICES),
        ):
            if value not in known:
                raise UsageError(f"unknown {name}", came=value, allowed=", ".join(known))

    @property
    def buckets_at_most(self) -> int:
        """The most buckets of an attribute: floor(t) + 1."""
        return int(self.t) + 1

    def check(self, schema: Schema) -> None:
        """Refuse a schema that the method cannot treat, before any row is read."""
        refuse_no_quasi(schema)
        refuse_no_confidential(schema, "bucket-closeness")

    def claims(self, schema: Schema) -> tuple[Claim, ...]:  # noqa: ARG002 - as other methods take it
        """The claims of a release by this method, with their conditions."""
        found = [relation_claim(self.k, self.form, "bucket-closeness", repeated=self.choice == "near")]
        if self.show == "value":
            return tuple(found)
        hidden = (HIDDEN,) if self.form == "permuted" else ()
        randomness: Any = "operating system" if self.form == "permuted" else "none needed"
        found.append(
            make_claim(TCloseness(self.t, "ratio"), None, Status.CHECKED, ("bucket-closeness",), hidden, randomness)
        )
        limits = (MARGINAL, NOT_REPEATED) if self.choice == "near" else (MARGINAL,)
        found.append(make_claim(KnowledgeGain(self.t), None, Status.CONDITION, ("knowledge-gain",), limits))
        return tuple(found)

    def rules(self, schema: Schema) -> dict[str, str]:
        """What each published attribute shows."""
        return relation_rules(schema, self.form, self.show)

    def load_kernels(self, schema: Schema, rows: int) -> tuple[str, ...]:
        """Compile what a table of so many rows takes; notes for the custodian where that fails."""
        compiled = self.choice == "near" and is_much(rows, len(schema.quasi), self.k)
        return load_kernels(loops() if compiled else [])

    def run(self, table: Table, source: Source, stage: Stage = lambda _: None) -> LinkedMicrodata:
        """The tables of the release; the rows of records stand in the order of the input, which only the custodian may see."""
        self.check(table.schema)
        table = bound_to_one_row(table, self.unit, source, stage)
        refuse_few(table.rows(), self.k)
        schema = table.schema
        values = table.collect([attribute.name for attribute in (*schema.quasi, *schema.confidential)])
        for attribute in schema.confidential:
            refuse_constant([attribute], values, "there is nothing to keep from anybody")
        stage("bucketizing")
        order = source.stream("order of records").permutation(table.rows())
        columns = [RankedColumn.of(one, values[one.name][order]) for one in schema.confidential]
        made = joint_buckets(columns, self.k, self.t)
        stage("grouping")
        drawn = self._groups(schema, values, order, made, stage)
        self._refuse_broken(drawn, made)
        labels = number_groups(drawn, order, source)
        own = [codes[np.argsort(order)] for codes in made.own]
        if self.show == "value":
            return link(
                table, labels, {one.name: values[one.name] for one in schema.confidential}, self.form, (), source, stage
            )
        shown = {one.attribute: one.shown(codes) for one, codes in zip(made.buckets, own, strict=True)}
        return link(table, labels, shown, self.form, made.buckets, source, stage)

    def _groups(
        self, schema: Schema, values: Mapping[str, Array], order: Array, made: JointBuckets, stage: Stage
    ) -> Labels:
        if self.choice == "random":
            return random_groups(made.joint, made.kinds)
        drawn = {attribute.name: values[attribute.name][order] for attribute in schema.quasi}
        places = points(columns_of(schema.quasi, drawn), Scale.DEVIATION)
        return near_groups(places, made.joint, made.kinds, progress=report_progress(stage, "grouping"))

    def _refuse_broken(self, labels: Labels, made: JointBuckets) -> None:
        """What the theorem says, counted before anything is shown."""
        if int(cluster_sizes(labels, labels).min()) < self.k or made.closeness(labels) > self.t:
            raise PreconditionError(
                "bucket-closeness", "a group is smaller than k or farther than t", fix="please report this fault"
            )


# --- what methods by linked groups share ------------------------------------------------------------------------------


def refuse_no_confidential(schema: Schema, theorem: str) -> None:
    """Refuse a schema without a confidential attribute: there would be nothing to part from the quasi-identifiers."""
    if not schema.confidential:
        raise PreconditionError(
            theorem,
            "there is no confidential attribute from which the quasi-identifiers could part",
            fix="give an attribute the role confidential",
        )


def relation_claim(k: int, form: Form, theorem: str, *, repeated: bool) -> Claim:
    """The claim that who has which values is hidden among k: counted on linked tables, proved of permuted ones."""
    if form == "linked":
        return make_claim(KAnonymousRelation(k), None, Status.CHECKED, (theorem,), (), "none needed")
    limits = (LIMIT, NOT_REPEATED) if repeated else (LIMIT,)
    return make_claim(ProbabilisticK(k), None, Status.CONDITION, ("knowledge-gain",), limits)


def relation_rules(schema: Schema, form: Form, show: ShownValue) -> dict[str, str]:
    """What each published attribute shows, and where."""
    what = "bucket" if show == "bucket" else "as it is"
    how = f"{what}, in the table of groups" if form == "linked" else f"{what}, permuted inside hidden groups"
    return {a.name: how if a.role is Role.CONFIDENTIAL else "as it is" for a in schema.published}


def number_groups(drawn: Labels, order: Array, source: Source) -> Labels:
    """The groups of records in a drawn order, put back into the order of the input, with numbers that are drawn too."""
    names = source.stream("numbers of groups").permutation(int(drawn.max()) + 1).astype(np.int32)
    labels = np.empty_like(drawn)
    labels[order] = names[drawn]
    return labels


def link(
    table: Table,
    labels: Labels,
    shown: Mapping[str, Array],
    form: Form,
    buckets: tuple[Buckets, ...],
    source: Source,
    stage: Stage,
) -> LinkedMicrodata:
    """The tables that are published of groups: linked by a number, or with what is shown permuted inside the groups."""
    stage("recoding")
    schema = table.schema
    group, count = unused_name(table, GROUP), unused_name(table, COUNT)
    stays = [one.name for one in schema.published if one.role is not Role.CONFIDENTIAL]
    records = table.attach(group, labels.astype(np.int64) + 1).select([group, *stays])
    permuted = None
    if form == "permuted":
        order = shuffle(np.arange(len(labels)), labels, source.stream("confidential"))
        moved = table
        for name, values in shown.items():
            moved = moved.attach(name, values[order])
        permuted = moved.select([one.name for one in schema.published])
    return LinkedMicrodata(
        records, shown, permuted, buckets, labels, table, closeness(labels, _codes(shown)), group, count
    )


def _codes(shown: Mapping[str, Array]) -> npt.NDArray[np.int64]:
    """The number of what each record shows of all confidential attributes together."""
    joint = np.zeros(len(next(iter(shown.values()))), dtype=np.int64)
    for values in shown.values():
        gone = np.ma.getmaskarray(values)
        own = np.full(len(values), -1, dtype=np.int64)
        own[~gone] = np.unique(np.ma.getdata(values)[~gone], return_inverse=True)[1]
        joint = np.unique(joint * (int(own.max()) + 2) + own + 1, return_inverse=True)[1].astype(np.int64)
    return joint


def _count_groups(made: LinkedMicrodata) -> Table:
    """How many records of each group show what: a row for each combination that occurs in a group."""
    import pyarrow as pa

    codes, labels = _codes(made.shown), made.groups.astype(np.int64)
    _, first, many = np.unique(labels * (int(codes.max()) + 1) + codes, return_index=True, return_counts=True)
    shown = {name: own[first] for name, own in made.shown.items()}
    columns = {made.group_column: labels[first] + 1, **shown, made.count_column: many}
    held = {name: column_of(name, own)[1] for name, own in columns.items()}
    kinds = [made.original.schema[name] for name in shown]
    if made.buckets:
        kinds = [Attribute(one.name, one.role, Type.TEXT) for one in kinds]
    group, count = (Attribute(name, Role.OTHER, Type.INTEGER) for name in (made.group_column, made.count_column))
    return open_engine().scan(pa.table(held), Schema((group, *kinds, count)))
