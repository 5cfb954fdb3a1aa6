"""The certificate of a release whose guarantee is counted: what holds, how it came about, and what it does not promise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoal import __version__
from shoal.guarantee.rounding import exact, exact_text
from shoal.guarantee.theorem import theorem
from shoal.ledger.ledger import Account
from shoal.publish.syntactic.plan import NOT_PROMISED, SyntacticPlan
from shoal.publish.verifier import KNOWN_VERSION as VERSION
from shoal.publish.verifier import seal

HOW_PREMISES_WERE_CHECKED = {
    "every group has at least k records": "counted by the program before anything was shown",
    "no person has two records": "one row of each person was kept, or each row is its own person, as the policy says",
    "permutations are uniform, drawn afresh and forgotten": "drawn with a new key from the operating system, which was "
    "destroyed",
    "the attributes that an intruder may know are declared quasi-identifiers": "said by the holder, in the policy",
    "the intruder knows nothing of the others in the group, nor of dependences": "nobody can check it: it is the condition",
}


def certificate(
    plan: SyntacticPlan, file: str, files: Mapping[str, str], account: Account, date: str
) -> dict[str, Any]:
    """The certificate of a table that has been written; `account` is the dataset's before this release."""
    first, crowd, schema = plan.claims[0], plan.method.crowd, plan.policy.schema
    content: dict[str, Any] = {
        "version": VERSION,
        "dataset": plan.policy.dataset,
        "date": date,
        "software": {"shoal": __version__},
        "sentence": first.words(),
        "words": plan.sentences(),
        "status": first.status.value,
        "claims": [claim.to_saved() for claim in plan.claims],
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
        "theorems": [_theorem(name) for name in first.theorems],
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
        "plan": plan.lock.sha256,
        "files": dict(sorted(files.items())),
        "verify": "run `shoal verify FOLDER`, or the one-file verifier `python verifier.py FOLDER` (standard library alone)",
    }
    return {**content, "seal": seal(content)}


def _theorem(name: str) -> dict[str, Any]:
    known = theorem(name)
    return {
        "name": name,
        "title": known.title,
        "source": known.source,
        "statement": known.statement,
        "premises": [
            {"text": premise.text, "checked": HOW_PREMISES_WERE_CHECKED[premise.text]} for premise in known.premises
        ],
    }
