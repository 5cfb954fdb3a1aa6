"""The run of a release by groups: bucketize, group, write; the ledger notes it as unbounded before it appears."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.anonymize.cluster.bucket.buckets import Buckets
from shoal.anonymize.method.t_closeness import COUNT, GROUP, LinkedMicrodata
from shoal.chance.source import Source
from shoal.data.domain import Interval
from shoal.data.hierarchy.level import MISSING
from shoal.data.schema import Attribute
from shoal.engine.base import Table
from shoal.errors import DataError, UsageError
from shoal.ledger.ledger import Ledger
from shoal.progress import Stage
from shoal.publish.certificate.bucketized import GroupFigures, bucket_file, certificate
from shoal.publish.folder import (
    LOCK,
    group_file,
    hashes,
    read_hierarchies,
    rule_text,
    write_certificate,
    write_hierarchies,
    write_text,
)
from shoal.publish.handbook.files import try_handbook
from shoal.publish.plan.bucketized import GroupPlan
from shoal.publish.run.charge import UnboundedJob
from shoal.publish.run.release import today

if TYPE_CHECKING:
    from shoal.publish.report.document import MethodSections


class GroupJob(UnboundedJob):
    """The run of a plan by groups."""

    plan: GroupPlan

    modules = ("narwhals",)
    report_modules = ("shoal.publish.report.bucketized",)

    def __init__(self, plan: GroupPlan) -> None:
        self.plan = plan
        self.made: LinkedMicrodata | None = None
        self.hierarchies: dict[str, bytes] = {}

    @property
    def note(self) -> str:
        return f"{self.plan.method.name}, k = {self.plan.k}"

    def cells(self, rows: int) -> int:
        return rows * (len(self.plan.policy.schema.published) + 2)

    def expected_bytes(self, rows: int) -> int:
        return self.cells(rows) * (16 if self.plan.format == "csv" else 8)

    def prepare(self, rows: int, ledger: Ledger) -> list[str]:
        """Compile what takes long, and draw the certificate."""
        plan = self.plan
        self.hierarchies = read_hierarchies(plan.policy)
        secret = [one.name for one in plan.policy.schema.confidential] if plan.show == "bucket" else []
        figures = GroupFigures(dict.fromkeys(secret, ("*",)), None, GROUP, COUNT)
        draft = certificate(plan, figures, {LOCK: plan.lock.sha256}, ledger.account(plan.policy.dataset), today())
        try_handbook(draft.to_json(), plan.lock.text)
        return list(plan.method.load_kernels(plan.schema, rows))

    def write(
        self, table: Table, folder: Path, source: Source | None, ledger: Ledger, stage: Stage
    ) -> tuple[dict[str, Any], int]:
        """Write the tables, the rules of the buckets, the lock and the certificate; the key is gone when this returns."""
        plan = self.plan
        with source.stream("release") if source is not None else Source.secure() as chance:
            self.made = made = plan.method.run(table, chance, stage)
        stage("writing")
        for name, own in published_tables(plan, made):
            own.write(folder / group_file(name, plan.format))
        for buckets in made.buckets:
            place = folder / bucket_file(plan, buckets.attribute)
            place.parent.mkdir(exist_ok=True)
            write_text(place, rule_text(bucket_rule(plan.policy.schema[buckets.attribute], buckets)))
        write_text(folder / LOCK, plan.lock.text)
        write_hierarchies(folder, self.hierarchies)
        account = ledger.account(plan.policy.dataset)
        drafted = certificate(plan, figures_of(plan, made), hashes(folder), account, today())
        return write_certificate(folder, drafted, stage).to_json(), made.original.rows()

    def report(self, table: Table, public: Path, content: dict[str, Any], stage: Stage) -> dict[str, Any]:  # noqa: ARG002
        """Write what the groups hold, and how alike their records are."""
        from shoal.publish.report.bucketized import group_report

        if self.made is None:
            raise UsageError("a report before the table was written")
        return group_report(self.plan, table, self.made, content)

    def sections(self, values: Mapping[str, Any]) -> MethodSections:
        from shoal.publish.report.bucketized import group_sections

        return group_sections(values)


def figures_of(plan: GroupPlan, made: LinkedMicrodata) -> GroupFigures:
    """What the certificate says of the groups that were made."""
    reached = made.achieved_t if plan.t is not None and plan.form == "linked" else None
    if isinstance(reached, float):
        raise DataError("a group lacks a bucket", fix="this is a fault of ours: please report it")
    labels = {one.attribute: one.labels for one in made.buckets}
    return GroupFigures(labels, reached, made.group_column, made.count_column)


def published_tables(plan: GroupPlan, made: LinkedMicrodata) -> Iterator[tuple[str, Table]]:
    """The tables that go out, by their names; a missing value has its own label among buckets."""
    names = [name for name, _ in plan.table_columns()]
    tables = [made.records, made.confidential] if made.permuted is None else [made.permuted]
    for name, own in zip(names, tables, strict=True):
        shown = own
        for buckets in made.buckets if own is not made.records else ():
            values = own.collect([buckets.attribute])[buckets.attribute]
            shown = shown.attach(buckets.attribute, np.ma.filled(np.ma.asarray(values), MISSING))
        yield name, shown


def bucket_rule(attribute: Attribute, buckets: Buckets) -> dict[str, Any]:
    """What the buckets of an attribute are, as plain values: edges of numbers, dates and times, else the values of each."""
    head = {
        "attribute": attribute.name,
        "type": attribute.type.value,
        "domain": attribute.domain.words() if isinstance(attribute.domain, Interval) else None,
    }
    if attribute.type.numeric:
        return {**head, "kind": "cuts", "labels": list(buckets.labels), "edges": list(buckets.edges)}
    held = zip(buckets.labels, buckets.values, strict=True)
    table = {value: label for label, values in held for value in values}
    return {**head, "kind": "groups", "labels": list(buckets.labels), "table": table}
