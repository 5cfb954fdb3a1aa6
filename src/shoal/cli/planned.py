"""The part of `shoal plan` that resolves a policy: the promise in words and numbers, and its lock; no row is read."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from shoal.cli import screen
from shoal.errors import PolicyError, UsageError

if TYPE_CHECKING:
    from shoal.publish.plan.base import Plan
    from shoal.publish.plan.safe_k import SafeKPlan


def plan_policy(path: Path, lock: Path | None, page: Path | None, *, force: bool, as_json: bool) -> None:
    """Plan a policy file and say what it promises; write its lock and its page where they are asked for."""
    from shoal.page import files
    from shoal.policy.policy import Policy
    from shoal.publish.plan.methods import plan
    from shoal.publish.plan.safe_k import SafeKPlan

    if page is not None:
        files.refuse_overwriting(page, force=force)
    with screen.busy("planning"):
        found = plan(Policy.load(path))
    if page is not None:
        with screen.busy("drawing the plan"):
            files.write(page, found.page(), force=force)
        screen.note(f"the plan as a page: {page}")
    if lock is not None:
        _write_lock(found, lock, force=force)
    if as_json:
        screen.answer(found.to_json())
        return
    for sentence in found.sentences():
        screen.paragraph(sentence)
        screen.line()
    screen.table(("", "", ""), found.facts())
    screen.line()
    if isinstance(found, SafeKPlan) and found.views:
        screen.table(("view", "k", "beta"), _views(found))
        screen.line()
    screen.paragraph(found.recoding_words())
    if found.work is not None:
        screen.note(found.work)


MOST_VIEWS = 40


def _views(found: SafeKPlan) -> list[tuple[str, str, str]]:
    from shoal.guarantee.rounding import exact_text

    if found.chooser is not None:
        own = found.promise
        of = f"{len(found.views):,} of {len(found.chooser.candidates):,}, chosen on the table"
        return [(of, str(own.k), exact_text(own.beta))]
    shown = [
        (" × ".join(view.columns), str(own.k), exact_text(own.beta))
        for view in found.views[:MOST_VIEWS]
        for own in [view.method.promise]
    ]
    left = len(found.views) - MOST_VIEWS
    return [*shown, (f"and {left:,} more", "", "")] if left > 0 else shown


def _write_lock(found: Plan, path: Path, *, force: bool) -> None:
    from shoal.page import files

    when = datetime.now(UTC).isoformat(timespec="seconds")
    content = {"version": 1, "dataset": found.policy.dataset, "plan": found.lock.sha256, "locked": when}
    files.write(path, json.dumps(content, indent=1) + "\n", force=force)
    screen.note(f"locked in {path}: `shoal release --lock {path}` refuses a policy that means anything else")


def hold_to_lock(found: Plan, path: Path) -> None:
    """Refuse a plan that is not the one that was locked."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        locked = content["plan"]
    except (OSError, ValueError, KeyError, TypeError):
        raise UsageError(
            "the lock cannot be read", came=path, fix="make one with `shoal plan POLICY --lock FILE`"
        ) from None
    if locked != found.lock.sha256:
        raise PolicyError(
            "the policy was edited after it was locked",
            came=f"plan {found.lock.sha256[:16]}",
            allowed=f"plan {str(locked)[:16]}, locked {content.get('locked', 'earlier')}",
            fix="restore the policy, or review it again and lock it anew",
        )
