"""The certificate of a release whose guarantee is counted: what holds, how it came about, and what it does not promise."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from shoal.guarantee.rounding import exact_text
from shoal.guarantee.theorem import PremiseAnswer
from shoal.ledger.state import Account
from shoal.publish.certificate.model import (
    CountedCertificate,
    CountedLedgerEntry,
    CountedPromiseEntry,
    CountedTableEntry,
    GroupingEntry,
)
from shoal.publish.certificate.safe_k import look_fields
from shoal.publish.certificate.seal import by_construction, by_custodian, by_program, opening_fields, seal_certificate
from shoal.publish.plan.base import Plan
from shoal.publish.plan.counted import SyntacticPlan


def counted_answers(plan: Plan) -> dict[str, PremiseAnswer]:
    """For each premise that a plan by groups of records may cite, how this plan meets it."""
    each_row = plan.unit.column is None
    return {
        "groups-of-k": by_program("counted before anything was shown"),
        "one-record-each": by_custodian(
            "the policy makes each row a unit of its own; whose rows they are, only the custodian can know"
        )
        if each_row
        else by_construction(f"one row of each {plan.unit.name} was kept"),
        "uniform-permutations": by_construction("drawn with a new key from the operating system, which was erased"),
        "order-of-file": by_construction("records take the places of a drawn order before they are grouped"),
        "quasi-declared": by_custodian("by the roles of the attributes in the policy"),
        "parted-attributes": by_custodian("by the roles of the attributes in the policy"),
        "nothing-of-others": by_custodian("nobody can check it: it is the condition"),
    }


def certificate(
    plan: SyntacticPlan, file: str, files: Mapping[str, str], account: Account, date: str
) -> CountedCertificate:
    """The certificate of a table that has been written; `account` is the dataset's before this release."""
    clustering, schema = plan.method.clustering, plan.policy.schema
    grouping = {
        "name": clustering.grouping,
        "gain": exact_text(clustering.gain) if clustering.grouping == "vmdav" else None,
        "k_by_attribute": plan.k_by_attribute(),
    }
    table = CountedTableEntry(
        file=file,
        k=plan.k,
        columns=tuple(attribute.name for attribute in schema.published),
        quasi=tuple(attribute.name for attribute in schema.quasi),
        confidential=tuple(attribute.name for attribute in schema.confidential),
        shows=plan.method.rules(schema),
    )
    draft = CountedCertificate(
        **opening_fields(plan, files, date, counted_answers(plan), tuple(plan.not_promised)),
        guarantee=_promise(plan),
        method="microaggregation" if plan.method.name == "microaggregation" else "probabilistic-k",
        grouping=GroupingEntry.read(grouping),
        tables=(table,),
        ledger=note_entry(account, plan.confirmed_lock.sha256),
    )
    return seal_certificate(draft)


def _promise(plan: SyntacticPlan) -> CountedPromiseEntry:
    first, wanted = plan.claims[0], plan.method.clustering.requirement
    return CountedPromiseEntry.read(
        {
            "kind": first.guarantee.kind,
            "k": plan.k,
            "l": wanted.l,
            "t": None if wanted.t is None else exact_text(wanted.t),
            "unit": plan.unit.to_saved(),
            "status": first.status.value,
        }
    )


def note_entry(account: Account, lock: str) -> CountedLedgerEntry:
    """The ledger of a dataset before a release that it notes as unbounded, as the certificate of this lock's plan states it."""
    return CountedLedgerEntry(
        unbounded_releases=account.unbounded,
        charges=len(account.costs),
        epsilon=exact_text(sum((cost.epsilon for cost in account.costs), start=Fraction(0))),
        delta=exact_text(sum((cost.delta for cost in account.costs), start=Fraction(0))),
        **look_fields(account, lock),
    )
