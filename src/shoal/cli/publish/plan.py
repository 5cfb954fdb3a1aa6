"""`shoal plan`: what a policy promises, in words and numbers, and its lock; no row is read."""

from __future__ import annotations

import json
import shlex
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shoal.cli.terminal import numbers, output, progress
from shoal.cli.terminal.command import Command, json_option
from shoal.cli.terminal.policy_file import load_plan, load_policy, words_of_kept_files
from shoal.errors import PolicyError, UsageError

if TYPE_CHECKING:
    from shoal.policy.policy import Policy
    from shoal.publish.compare import WayOutcome
    from shoal.publish.plan.base import NoiseBeside, Plan

MOST_VIEWS = 12
"""Narrow tables that are listed one by one; of more, those that are alike have one line."""
UNSEEN_LEDGER = (
    "a plan reads no ledger: earlier looks at the table (a draft, a check) are told by the certificate of a release"
)
WIDTH = 110
"""The longest line of the numbers of a plan; what they mean goes on in the next."""


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
    examples=(
        "shoal plan policy.yaml --page plan.html --lock plan.lock",
        "shoal plan policy.yaml --compare --rows 20000",
    ),
    next_step=("Try the plan on simulated tables.", "shoal rehearse policy.yaml"),
)
@click.argument("policy", type=click.Path(path_type=Path))
@click.option(
    "--lock", metavar="FILE", type=click.Path(path_type=Path), help="Write the plan's hash, for release --lock."
)
@click.option("--page", metavar="FILE", type=click.Path(path_type=Path), help="Write the plan as a page of HTML.")
@click.option("--force", is_flag=True, help="Replace FILE if it exists.")
@click.option(
    "--compare",
    is_flag=True,
    help="Compare ways to publish under the same promise, on simulated tables; instead of the plan.",
)
@click.option(
    "--rows",
    metavar="N",
    help="Rows that you expect, to compare the noise with; with --compare, of the simulated tables (else 20000).",
)
@click.option("--runs", metavar="R", help="With --compare: simulated tables, from 2 up; 2 when left out.")
@json_option
def plan(
    policy: Path,
    lock: Path | None,
    page: Path | None,
    force: bool,
    compare: bool,
    rows: str | None,
    runs: str | None,
    as_json: bool,
) -> None:
    """Say what a release under POLICY promises, before any row is read.

    Without a policy, three of --epsilon, --delta, --k and --beta: an alias of `shoal solve`.
    """
    from shoal.files.write import refuse_overwriting, write

    if compare:
        if lock is not None or page is not None:
            raise UsageError("--compare makes no plan", came="--lock or --page", fix="call `shoal plan` once for each")
        _compare(load_policy(policy), rows, runs, as_json=as_json)
        return
    if runs is not None:
        raise UsageError("--runs belongs to --compare", fix="say --compare, or try the plan with `shoal rehearse`")
    size = None if rows is None else numbers.read_whole(rows.replace("_", ""), "rows")
    if page is not None:
        refuse_overwriting(page, force=force)
    found = load_plan(policy)
    if page is not None:
        with progress.spinner("drawing the plan"):
            write(page, found.page(), force=force)
        output.note_effect(f"the page was written: {page}")
        output.note(f"the plan as a page: {page}")
    if lock is not None:
        _write_lock(found, lock, force=force)
    beside = found.noise_beside(size)
    if rows is not None and beside is None:
        raise UsageError(
            "--rows is what noise is compared with, and this plan adds none to counts",
            came=f"--rows {rows}",
            fix="say --compare, or try the plan with `shoal rehearse`",
        )
    if as_json:
        noise = None if beside is None else {"rows": size, "outweighs": beside.outweighs, "words": beside.words}
        output.print_json({**found.to_json(), "noise_beside": noise})
        return
    for sentence in found.sentences():
        said = _unconfirmed(found, policy) if sentence == found.drafted_words else sentence
        output.print_paragraph(said)
        output.print_line()
    output.print_table(("", "", ""), found.facts(), width=WIDTH)
    output.print_line()
    views = found.view_rows(MOST_VIEWS)
    if views:
        output.print_table(found.view_head, views)
        output.print_line()
    output.print_paragraph(found.recoding_words())
    _tell_notes(found, policy)
    if beside is not None:
        output.tell_paragraph(f"{'warning' if beside.outweighs else 'note'}: {beside.words}", further="  ")
    _tell_next(beside, str(policy), size)


def _tell_next(beside: NoiseBeside | None, policy: str, rows: int | None) -> None:
    """Name the next command: the comparison, unless there is no noise or it is known to be small beside the counts."""
    file, release = shlex.quote(policy), f"shoal release {shlex.quote(policy)} DATA --out FOLDER"
    if beside is None or beside.outweighs is False:
        output.tell_paragraph(f"next: {release}", further="  ")
        return
    output.tell_paragraph(
        f"next: shoal plan {file} --compare --rows {'N' if rows is None else rows} (what other ways give"
        f"{', for the N rows that you expect' * (rows is None)}), then {release}",
        further="  ",
    )


def _unconfirmed(found: Plan, file: Path) -> str:
    """What nobody has confirmed, column by column as `shoal policy confirm` counts it; a certificate lists every key."""
    columns = found.policy.profiled_columns()
    return (
        f"What the policy says of {output.count_text(len(columns), 'column')} was read off the data, and nobody has confirmed it "
        f"(`shoal policy confirm {shlex.quote(str(file))}`): {', '.join(columns)}."
    )


def _tell_notes(found: Plan, policy: Path) -> None:
    """Say on the standard error what should be known beside the plan."""
    for said in found.warnings:
        output.tell_paragraph(f"warning: {said}", further="  ")
    unseen = [] if found.policy.profiled_keys() else [UNSEEN_LEDGER]
    perhaps = [each for each in (found.work, words_of_kept_files(found.policy, policy)) if each is not None]
    for said in (*found.notes, *perhaps, *unseen):
        output.tell_paragraph(f"note: {said}", further="  ")


def _compare(policy: Policy, rows: str | None, runs: str | None, *, as_json: bool) -> None:
    """Run every way of publishing on simulated tables, and print how far each is from them."""
    from shoal.publish import compare as comparing

    size = comparing.ROWS if rows is None else numbers.read_whole(rows.replace("_", ""), "rows")
    count = comparing.RUNS if runs is None else numbers.read_whole(runs, "runs")
    output.tell_paragraph(
        f"note: {comparing.WAYS} ways are run on {output.count_text(count, 'simulated table')} of {size:,} rows: a minute or two "
        "for ten columns and the usual numbers, more for wider tables; smaller --rows and --runs take less",
        further="  ",
    )
    with progress.bar("comparing", comparing.WAYS * count) as tick:
        found = comparing.compare(policy, rows=size, runs=count, tick=tick)
    if as_json:
        output.print_json(found.to_json())
        return
    what, recommended, limits = found.words()
    output.print_paragraph(what)
    output.print_line()
    head = ("way to publish", "distance of pairs", "", "distance of columns", "rows of people")
    output.print_table(head, [_way_row(way) for way in found.ways], right=(1, 3, 4))
    for way in found.ways:
        if way.why_not is not None:
            output.print_line()
            output.print_paragraph(f"{way.title}: {way.why_not}.")
    for sentence in (recommended, limits):
        output.print_line()
        output.print_paragraph(sentence)


def _way_row(way: WayOutcome) -> tuple[str, ...]:
    if way.pairs is None or way.singles is None or way.rows is None:
        return (way.title, "-", "", "-", "-")
    spread = f"({way.pairs.least:.3f} to {way.pairs.most:.3f})"
    return (
        way.title,
        f"{way.pairs.mean:.3f}",
        spread,
        f"{way.singles.mean:.3f}",
        f"{way.rows.mean:,.0f}" if way.real else "none",
    )


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
