"""`shoal plan`: what a policy promises, in words and numbers, and its lock; no row is read."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shoal.cli.terminal import output, progress
from shoal.cli.terminal.command import Command, json_option
from shoal.errors import PolicyError, UsageError

if TYPE_CHECKING:
    from shoal.publish.plan.base import Plan

MOST_VIEWS = 40
"""Views that are listed."""


class PlanCommand(Command):
    """`shoal plan POLICY`; numbers in place of a policy are handed to `shoal solve`."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        from shoal.cli.guarantee.solve import FOUR, solve

        numbers = any(arg.split("=")[0] in FOUR for arg in args) and args[0].startswith("-")
        if numbers:
            return solve.make_context(solve.name, args, parent, **extra)
        return super().make_context(info_name, args, parent, **extra)


@click.command(
    "plan",
    cls=PlanCommand,
    examples=("shoal plan policy.yaml --page plan.html", "shoal plan policy.yaml --lock plan.lock"),
    next_step=("Try the plan on simulated tables.", "shoal rehearse policy.yaml"),
)
@click.argument("policy", type=click.Path(path_type=Path))
@click.option(
    "--lock", metavar="FILE", type=click.Path(path_type=Path), help="Write the plan's hash, for release --lock."
)
@click.option("--page", metavar="FILE", type=click.Path(path_type=Path), help="Write the plan as a page of HTML.")
@click.option("--force", is_flag=True, help="Replace FILE if it exists.")
@json_option
def plan(policy: Path, lock: Path | None, page: Path | None, force: bool, as_json: bool) -> None:
    """Say what a release under POLICY promises, before any row is read.

    Without a policy, three of --epsilon, --delta, --k and --beta: an alias of `shoal solve`.
    """
    from shoal.files.write import refuse_overwriting, write
    from shoal.policy.policy import Policy
    from shoal.publish.plan.methods import plan as make_plan

    if page is not None:
        refuse_overwriting(page, force=force)
    with progress.spinner("planning"):
        found = make_plan(Policy.load(policy))
    if page is not None:
        with progress.spinner("drawing the plan"):
            write(page, found.page(), force=force)
        output.note_effect(f"the page was written: {page}")
        output.note(f"the plan as a page: {page}")
    if lock is not None:
        _write_lock(found, lock, force=force)
    if as_json:
        output.print_json(found.to_json())
        return
    for sentence in found.sentences():
        output.print_paragraph(sentence)
        output.print_line()
    output.print_table(("", "", ""), found.facts())
    output.print_line()
    views = found.view_rows(MOST_VIEWS)
    if views:
        output.print_table(found.view_head, views)
        output.print_line()
    output.print_paragraph(found.recoding_words())
    for said in found.notes:
        output.note(said)
    if found.work is not None:
        output.note(found.work)


def _write_lock(found: Plan, path: Path, *, force: bool) -> None:
    from shoal.files.write import write

    when = datetime.now(UTC).isoformat(timespec="seconds")
    content = {"version": 1, "dataset": found.policy.dataset, "plan": found.lock.sha256, "locked": when}
    write(path, json.dumps(content, indent=1) + "\n", force=force)
    output.note_effect(f"the lock was written: {path}")
    output.note(f"locked in {path}: `shoal release --lock {path}` refuses a policy that means anything else")


def refuse_other_plan(found: Plan, path: Path) -> None:
    """Refuse a plan that is not the one that was locked."""
    try:
        from shoal.data.plain_file import LARGEST_LOCK, read_plain_file

        content = json.loads(read_plain_file(path, LARGEST_LOCK, UsageError).decode("utf-8"))
        locked = content["plan"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
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
