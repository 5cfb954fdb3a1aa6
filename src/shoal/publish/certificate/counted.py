"""The certificate of a release whose guarantee is counted: what holds, how it came about, and what it does not promise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoal.guarantee.rounding import exact, exact_text
from shoal.guarantee.theorem import PremiseAnswer
from shoal.ledger.state import Account
from shoal.publish.certificate.opening import opening, sealed, theorem_entry
from shoal.publish.certificate.premises import built, checked, stated
from shoal.publish.plan.counted import SyntacticPlan


def counted_answers(plan: SyntacticPlan) -> dict[str, PremiseAnswer]:
    """For each premise that a plan of this kind may cite, how this plan meets it."""
    each_row = plan.unit.column is None
    return {
        "groups-of-k": checked("counted before anything was shown"),
        "one-record-each": stated(
            "the policy makes each row a unit of its own; whose rows they are, only the custodian can know"
        )
        if each_row
        else built(f"one row of each {plan.unit.name} was kept"),
        "uniform-permutations": built("drawn with a new key from the operating system, which was destroyed"),
        "order-of-file": built("records take the places of a drawn order before they are grouped"),
        "quasi-declared": stated("by the roles in the policy"),
        "parted-attributes": stated("by the roles in the policy"),
        "nothing-of-others": stated("nobody can check it: it is the condition"),
    }


def certificate(
    plan: SyntacticPlan, file: str, files: Mapping[str, str], account: Account, date: str
) -> dict[str, Any]:
    """The certificate of a table that has been written; `account` is the dataset's before this release."""
    first, clustering, schema = plan.claims[0], plan.method.clustering, plan.policy.schema
    content: dict[str, Any] = {
        **opening(plan, date),
        "guarantee": {
            "kind": first.guarantee.kind,
            "k": plan.k,
            "l": clustering.requirement.l,
            "t": None if clustering.requirement.t is None else exact_text(clustering.requirement.t),
            "unit": plan.unit.to_saved(),
            "status": first.status.value,
        },
        "method": plan.method.name,
        "grouping": {
            "name": clustering.grouping,
            "gain": exact_text(clustering.gain) if clustering.grouping == "vmdav" else None,
            "crowds": plan.crowds(),
        },
        "theorems": [theorem_entry(name, counted_answers(plan)) for name in first.theorems],
        "not_promised": list(plan.not_promised),
        "tables": [
            {
                "file": file,
                "k": plan.k,
                "columns": [attribute.name for attribute in schema.published],
                "quasi": [attribute.name for attribute in schema.quasi],
                "confidential": [attribute.name for attribute in schema.confidential],
                "shows": plan.method.rules(schema),
            }
        ],
        "ledger": {
            "unbounded_releases": account.unbounded,
            "charges": len(account.costs),
            "epsilon": exact_text(sum((cost.epsilon for cost in account.costs), start=exact(0))),
            "delta": exact_text(sum((cost.delta for cost in account.costs), start=exact(0))),
        },
    }
    return sealed(content, plan, files)
