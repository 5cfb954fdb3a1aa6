"""The certificate of a release whose guarantee is counted: what holds, how it came about, and what it does not promise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoal.guarantee.rounding import exact, exact_text
from shoal.ledger.ledger import Account
from shoal.publish.opening import opening, sealed, theorem_entry
from shoal.publish.syntactic.plan import NOT_PROMISED, SyntacticPlan

HOW_PREMISES_WERE_CHECKED = {
    "every group has at least k records": "counted by the program before anything was shown",
    "no person has two records": "one row of each person was kept, or each row is its own person, as the policy says",
    "permutations are uniform, drawn afresh and forgotten": "drawn with a new key from the operating system, which was "
    "destroyed",
    "the attributes that an intruder may know are declared quasi-identifiers": "said by the holder, in the policy",
    "an intruder knows of a person only attributes that were parted from what they look for": "said by the holder, in the "
    "policy's roles",
    "the intruder knows nothing of the others in the group, nor of dependences": "nobody can check it: it is the condition",
}


def certificate(
    plan: SyntacticPlan, file: str, files: Mapping[str, str], account: Account, date: str
) -> dict[str, Any]:
    """The certificate of a table that has been written; `account` is the dataset's before this release."""
    first, crowd, schema = plan.claims[0], plan.method.crowd, plan.policy.schema
    content: dict[str, Any] = {
        **opening(plan, date),
        "guarantee": {
            "kind": first.guarantee.kind,
            "k": plan.k,
            "l": crowd.wanted.l,
            "t": None if crowd.wanted.t is None else exact_text(crowd.wanted.t),
            "unit": plan.unit.to_saved(),
            "status": first.status.value,
        },
        "method": plan.method.name,
        "grouping": {
            "name": crowd.grouping,
            "gain": exact_text(crowd.gain) if crowd.grouping == "vmdav" else None,
            "crowds": plan.crowds(),
        },
        "theorems": [theorem_entry(name, HOW_PREMISES_WERE_CHECKED) for name in first.theorems],
        "not_promised": list(NOT_PROMISED[plan.method.name]),
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
