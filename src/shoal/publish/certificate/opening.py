"""What every certificate begins and ends with, whatever it promises."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoal import __version__
from shoal.errors import PreconditionError
from shoal.guarantee.theorem import Premise, PremiseAnswer, PremiseStatus, theorem
from shoal.publish.plan.base import Plan
from shoal.publish.verify.standalone import KNOWN_VERSION as VERSION
from shoal.publish.verify.standalone import seal

HOW_TO_VERIFY = (
    "run `shoal verify FOLDER`, or the one-file verifier `python verifier.py FOLDER` (standard library alone)"
)


def opening(plan: Plan, date: str) -> dict[str, Any]:
    """Which dataset, when, by what, and the promise in words and as claims."""
    first = plan.claims[0]
    return {
        "version": VERSION,
        "dataset": plan.policy.dataset,
        "date": date,
        "software": {"shoal": __version__},
        "sentence": first.words(),
        "words": plan.sentences(),
        "status": first.status.value,
        "claims": [claim.to_saved() for claim in plan.claims],
    }


def sealed(content: dict[str, Any], plan: Plan, files: Mapping[str, str]) -> dict[str, Any]:
    """The content with the plan, the files, how to verify it, and the seal over all of it."""
    whole = {**content, "plan": plan.lock.sha256, "files": dict(sorted(files.items())), "verify": HOW_TO_VERIFY}
    return {**whole, "seal": seal(whole)}


def theorem_entry(name: str, answers: Mapping[str, PremiseAnswer]) -> dict[str, Any]:
    """A theorem as a certificate states it, each premise with how it is met; a premise without an answer is an error."""
    known = theorem(name)
    return {
        "name": name,
        "title": known.title,
        "source": known.citation,
        "statement": known.statement,
        "premises": [_premise(name, premise, answers) for premise in known.premises],
    }


def _premise(name: str, premise: Premise, answers: Mapping[str, PremiseAnswer]) -> dict[str, str]:
    answer = answers.get(premise.key)
    if answer is None or (answer.how is PremiseStatus.CHECKED and premise.enforced_by == "custodian"):
        raise PreconditionError(
            name,
            "the plan does not say how this premise is met",
            came=premise.text,
            allowed=", ".join(how.value for how in PremiseStatus),
            fix="this is a fault of ours: please report it",
        )
    return {"id": premise.key, "text": premise.text, "how": answer.how.value, "checked": answer.detail}
