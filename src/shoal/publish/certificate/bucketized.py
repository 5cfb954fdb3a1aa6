"""The certificate of a release by groups: what holds of them, the buckets, the tables, and what it does not promise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from shoal.guarantee.rounding import exact_text
from shoal.guarantee.theorem import PremiseAnswer
from shoal.ledger.state import Account
from shoal.publish.certificate.counted import counted_answers, note_entry
from shoal.publish.certificate.model import (
    BucketizedCertificate,
    BucketizedPromiseEntry,
    GroupFormEntry,
    GroupTableEntry,
)
from shoal.publish.certificate.seal import (
    by_construction,
    by_custodian,
    by_program,
    opening_fields,
    seal_certificate,
)
from shoal.publish.folder import group_file, rule_file
from shoal.publish.plan.bucketized import GroupPlan


@dataclass(frozen=True)
class GroupFigures:
    """What the certificate of a release by groups says that only the table could say."""

    buckets: Mapping[str, Sequence[str]]
    """The labels of the buckets of each confidential attribute, in their order; empty where values are shown."""
    achieved_t: Fraction | None
    """The largest ratio of all groups; None where none is promised, or groups are not shown."""
    group_column: str
    count_column: str


def group_answers(plan: GroupPlan) -> dict[str, PremiseAnswer]:
    """For each premise that a plan of this kind may cite, how this plan meets it."""
    return {
        **counted_answers(plan),
        "counts-within-bounds": by_program("counted for every group before anything was shown"),
        "close-groups": by_program("counted for every group before anything was shown")
        if plan.t is not None
        else by_construction("t is not claimed, and nothing that is claimed rests on it"),
        "bucket-of-value": by_construction("a value lies in one bucket, and its label is published")
        if plan.show == "bucket"
        else by_construction("a value lies in one bucket; values are published here, so t is not claimed"),
        "eligible-values": by_program("counted before records were grouped")
        if plan.l is not None
        else by_construction("no l is asked for, so nothing is said of shares"),
        "marginal-prior": by_custodian("nobody can check it: it is the condition"),
        "equal-assignments": by_custodian("nobody can check it: it is the condition"),
    }


def certificate(
    plan: GroupPlan, figures: GroupFigures, files: Mapping[str, str], account: Account, date: str
) -> BucketizedCertificate:
    """The certificate of tables that have been written; `account` is the dataset's before this release."""
    answers, first = group_answers(plan), plan.claims[0]
    opening = opening_fields(plan, files, date, answers, tuple(plan.not_promised))
    promise = {
        "kind": first.guarantee.kind,
        "k": plan.k,
        "l": plan.l,
        "t": None if plan.t is None else exact_text(plan.t),
        "unit": plan.unit.to_saved(),
        "status": first.status.value,
    }
    draft = BucketizedCertificate(
        **opening,
        guarantee=BucketizedPromiseEntry.read(promise),
        method="anatomy" if plan.method.name == "anatomy" else "t-closeness",
        grouping=GroupFormEntry.read({"name": plan.grouping, "form": plan.form, "show": plan.show}),
        buckets={name: tuple(labels) for name, labels in figures.buckets.items()},
        achieved_t=None if figures.achieved_t is None else exact_text(figures.achieved_t),
        tables=tuple(_table(plan, figures, number) for number in range(len(plan.table_columns()))),
        ledger=note_entry(account, plan.confirmed_lock.sha256),
    )
    return seal_certificate(draft)


def _table(plan: GroupPlan, figures: GroupFigures, number: int) -> GroupTableEntry:
    name, columns = plan.table_columns()[number]
    shows = plan.method.rules(plan.policy.schema)
    return GroupTableEntry(
        file=group_file(name, plan.format),
        group=figures.group_column if plan.form == "linked" else None,
        columns=columns,
        count=figures.count_column if name == "confidential" else None,
        shows={column: shows[column] for column in columns},
        recoding={
            column: bucket_file(plan, column) for column in columns if plan.show == "bucket" and plan.is_secret(column)
        },
    )


def bucket_file(plan: GroupPlan, column: str) -> str:
    """The file that says what the buckets of a confidential attribute are."""
    secret = sorted(one.name for one in plan.policy.schema.confidential)
    return rule_file(secret.index(column) + 1, column)
