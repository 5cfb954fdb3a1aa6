"""Verify a release by groups: its certificate is made again from the lock, its buckets looked at, and its groups counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

from shoal.data.domain import Interval, Values
from shoal.data.hierarchy.level import MISSING
from shoal.data.schema import Attribute, Outside, Role, Schema, Type
from shoal.data.type import point, text_at
from shoal.engine.base import Table
from shoal.errors import PolicyError
from shoal.guarantee.rounding import exact
from shoal.ledger.state import Account
from shoal.policy.policy import Policy
from shoal.publish.certificate.bucketized import GroupFigures, bucket_file
from shoal.publish.certificate.bucketized import certificate as make_certificate
from shoal.publish.certificate.model import BucketizedCertificate, GroupTableEntry
from shoal.publish.folder import group_file, rule_text
from shoal.publish.plan.bucketized import GroupPlan
from shoal.publish.plan.methods import plan as resolve
from shoal.publish.verify.compare import compare
from shoal.publish.verify.counted import in_published_order, read_published
from shoal.publish.verify.standalone import Check, read_text, strict_json

Cells = tuple[Any, ...]
Group = Counter[Cells]
"""How many records of a group show what."""


def group_checks(folder: Path, policy: Policy, certificate: BucketizedCertificate) -> list[Check]:
    """The certificate against the one that its locked plan makes, its rules read, and its tables read and counted."""
    resolved = resolve(policy)
    if not isinstance(resolved, GroupPlan):
        return [Check("lock-method", False, "makes no certificates of this kind", promise=True)]
    plan = in_published_order(resolved, [name for table in certificate.tables for name in table.columns])
    ledger, first, last = certificate.ledger, certificate.tables[0], certificate.tables[-1]
    account = Account(
        dataset=plan.policy.dataset, budget=None, neighbours=None, unit=None, costs=(), releases=0,
        unbounded=ledger.unbounded_releases, looks=0, sample_used=False,
    )  # fmt: skip
    reached = None if certificate.achieved_t is None else exact(certificate.achieved_t)
    names = (_own_name("group", first.group), _own_name("count", last.count))
    figures = GroupFigures(certificate.buckets, reached, *names)
    wanted = make_certificate(plan, figures, certificate.files, account, certificate.date)
    # What was spent before is not in the locked plan.
    wanted = wanted.model_copy(update={"ledger": ledger})
    checks = list(compare(certificate, wanted))
    if any(check.agrees is False for check in checks):
        return checks
    for name in certificate.buckets:
        fits = _is_rule(read_text(folder, bucket_file(plan, name)), plan.policy.schema[name], certificate.buckets[name])
        checks.append(
            Check(
                "buckets",
                fits,
                "declared values, divided in their order and called by what they are",
                promise=True,
                about=name,
            )
        )
    return [*checks, *_table_checks(folder, certificate, plan)]


def _own_name(name: str, told: str | None) -> str:
    """The name of a column that is ours: underscores tell it from columns of the policy, and nothing else may be said in it."""
    return told if told is not None and told.rstrip("_") == name else name


# --- buckets ----------------------------------------------------------------------------------------------------------


def _is_rule(text: str, attribute: Attribute, labels: Sequence[str]) -> bool:
    """Whether a rule says which values each bucket holds, in the one way in which we write it."""
    told = strict_json(text)
    if text != rule_text(told) or told["labels"] != list(labels):
        return False
    ends = attribute.domain if isinstance(attribute.domain, Interval) else None
    head = {"attribute": attribute.name, "type": attribute.type.value, "domain": None if ends is None else ends.words()}
    if attribute.type.numeric:
        wanted = {**head, "kind": "cuts", "labels": _interval_names(told["edges"]), "edges": told["edges"]}
        return bool(told == wanted and _are_edges(told["edges"], attribute, ends))
    table: Mapping[str, str] = told["table"]
    own = attribute.domain.values if isinstance(attribute.domain, Values) else ("false", "true")
    held = [[value for value in own if table.get(value) == label] for label in labels]
    if told != {**head, "kind": "groups", "labels": list(labels), "table": table} or set(table) != set(own):
        return False
    if attribute.type is Type.ORDINAL:
        in_order = [value for run in held for value in run] == list(own)
        return in_order and list(labels) == [
            run[0] if len(run) == 1 else f"[{run[0]}, {run[-1]}]" for run in held if run
        ]
    return all(_is_set_name(label, run) for label, run in zip(labels, held, strict=True))


def _are_edges(edges: Sequence[str], attribute: Attribute, ends: Interval | None) -> bool:
    """Whether edges rise, lie inside the declared domain, and are spelled as values of the attribute are."""
    kind = attribute.type
    try:
        places = [point(kind, edge) for edge in edges]
    except PolicyError:
        return False
    low, high = (None, None) if ends is None else (point(kind, ends.low), point(kind, ends.high))
    spelled = [text_at(kind, place) for place in places] == list(edges)
    inside = low is None or high is None or all(low < place <= high for place in places)
    return bool(places) and spelled and inside and all(one < other for one, other in pairwise(places))


def _interval_names(edges: Sequence[str]) -> list[str]:
    inner = [f"[{low}, {high})" for low, high in pairwise(edges)]
    return [f"< {edges[0]}", *inner, f">= {edges[-1]}"] if edges else []


def _is_set_name(label: str, values: Sequence[str]) -> bool:
    """Whether a set is called by its values, in whatever order: a lock does not keep that of values without one."""
    if len(values) < 2:
        return [label] == list(values)
    return label[:1] + label[-1:] == "{}" and sorted(label[1:-1].split(", ")) == sorted(", ".join(values).split(", "))


# --- tables -----------------------------------------------------------------------------------------------------------


def _table_checks(folder: Path, certificate: BucketizedCertificate, plan: GroupPlan) -> list[Check]:
    """The published tables, read as a stranger would and counted by code that shares nothing with the methods."""
    checks: list[Check] = []
    tables: list[Table] = []
    for entry, (name, _) in zip(certificate.tables, plan.table_columns(), strict=True):
        file = group_file(name, plan.format)
        read, own = read_published(folder, file, _schema_of(entry, plan), certificate.files)
        checks += own
        if read is None:
            return checks
        tables.append(read)
        for column in entry.recoding:
            shown = set(read.count_by([column]).tuples[0].tolist())
            known = {*certificate.buckets[column], MISSING}
            checks.append(Check("labels", shown <= known, "buckets of its rule", promise=True, about=column))
    rows = tables[0].rows()
    least = 2 * plan.k
    detail = f"{rows}; two groups have {least} or more"
    checks.append(Check("row-count", rows >= least, detail, promise=True, about=certificate.tables[0].file))
    if plan.form == "linked":
        return [*checks, *_linked_checks(certificate, plan, *tables)]
    unsaid = certificate.achieved_t is None
    return [*checks, Check("achieved-t", unsaid, "none is stated: nobody could count it", promise=True)]


def _schema_of(entry: GroupTableEntry, plan: GroupPlan) -> Schema:
    """The columns of a published table: numbers of groups, values as they are declared, labels as text."""

    def number(name: str | None) -> list[Attribute]:
        return [] if name is None else [Attribute(name, Role.OTHER, Type.INTEGER)]

    own = []
    for name in entry.columns:
        bare = replace(plan.policy.schema[name], hierarchy=None, outside=Outside.ERROR)
        own.append(Attribute(name, bare.role, Type.TEXT) if name in entry.recoding else bare)
    return Schema((*number(entry.group), *own, *number(entry.count)))


def _linked_checks(
    certificate: BucketizedCertificate, plan: GroupPlan, records: Table, confidential: Table
) -> list[Check]:
    """Groups, counted on the two tables: the same in both, at least k records, shares within t and 1/l."""
    group, count = str(certificate.tables[0].group), str(certificate.tables[1].count)
    counted = records.count_by([group])
    sizes = dict(zip(counted.tuples[0].tolist(), counted.counts.tolist(), strict=True))
    columns = [group, *certificate.tables[1].columns, count]
    lines = confidential.count_by(columns)
    held: dict[Any, Group] = {}
    once = True
    for row, times in zip(zip(*lines.tuples, strict=True), lines.counts.tolist(), strict=True):
        own = held.setdefault(row[0], Counter())
        once = once and times == 1 and isinstance(row[-1], int) and row[-1] > 0 and row[1:-1] not in own
        own[row[1:-1]] += row[-1] if isinstance(row[-1], int) else 0
    checks = [Check("group-counts", once, "each combination of a group once, with how many records", promise=True)]
    same = sizes == {number: own.total() for number, own in held.items()} and set(sizes) == set(
        range(1, len(sizes) + 1)
    )
    detail = f"{len(sizes):,} groups, numbered from 1, with as many records in both tables"
    checks.append(Check("linked-groups", same, detail, promise=True))
    if not (once and same):
        return checks
    smallest = min(sizes.values())
    checks.append(
        Check(
            "group-size", smallest >= plan.k, f"the smallest group has {smallest} records, k = {plan.k}", promise=True
        )
    )
    if plan.l is not None:
        largest = max(_largest_share(own, place) for own in held.values() for place in range(len(columns) - 2))
        fits = largest <= Fraction(1, plan.l)
        checks.append(Check("value-share", fits, f"{largest} at the most, and 1/{plan.l} is allowed", promise=True))
    reached = _largest_ratio(list(held.values())) if plan.t is not None else None
    if plan.t is not None:
        near = reached is not None and reached <= plan.t
        checks.append(
            Check("closeness", near, f"the farthest group has a ratio of {reached or 'infinity'}", promise=True)
        )
    told = None if certificate.achieved_t is None else exact(certificate.achieved_t)
    checks.append(Check("achieved-t", told == reached, "as it is counted here", promise=True))
    return checks


def _largest_share(held: Group, place: int) -> Fraction:
    """The largest share of one value of one attribute in a group."""
    values: Counter[Any] = Counter()
    for cells, many in held.items():
        values[cells[place]] += many
    return Fraction(max(values.values()), values.total())


def _largest_ratio(groups: Sequence[Group]) -> Fraction | None:
    """The largest ratio between a share in a group and in the table, either way; None where a group lacks a combination."""
    overall: Group = Counter()
    for held in groups:
        overall.update(held)
    if any(len(held) < len(overall) for held in groups):
        return None
    many = overall.total()
    ratios = {Fraction(times * many, held.total() * overall[cells]) for held in groups for cells, times in held.items()}
    return max(max(ratio, 1 / ratio) for ratio in ratios)
