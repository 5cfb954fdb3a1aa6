"""What every certificate begins and ends with, whatever it promises."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoal import __version__
from shoal.guarantee.theorem import theorem
from shoal.publish.base import AnyPlan
from shoal.publish.verifier import KNOWN_VERSION as VERSION
from shoal.publish.verifier import seal

HOW_TO_VERIFY = (
    "run `shoal verify FOLDER`, or the one-file verifier `python verifier.py FOLDER` (standard library alone)"
)


def opening(plan: AnyPlan, date: str) -> dict[str, Any]:
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


def sealed(content: dict[str, Any], plan: AnyPlan, files: Mapping[str, str]) -> dict[str, Any]:
    """The content with the plan, the files, how to verify it, and the seal over all of it."""
    whole = {**content, "plan": plan.lock.sha256, "files": dict(sorted(files.items())), "verify": HOW_TO_VERIFY}
    return {**whole, "seal": seal(whole)}


def theorem_entry(name: str, how: Mapping[str, str]) -> dict[str, Any]:
    """A theorem as a certificate states it, each premise with how it was checked."""
    known = theorem(name)
    return {
        "name": name,
        "title": known.title,
        "source": known.source,
        "statement": known.statement,
        "premises": [
            {"text": premise.text, "checked": how.get(premise.text, "checked by the program when planning")}
            for premise in known.premises
        ],
    }
