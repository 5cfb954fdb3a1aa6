"""`shoal audit`: a claim of differential privacy put to the test, by many runs on two neighbouring tables."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shoal.cli.terminal import numbers, output, progress
from shoal.cli.terminal.command import command, json_option
from shoal.cli.terminal.policy_file import load_policy

if TYPE_CHECKING:
    from shoal.lab.audit.catalogue import AuditCase, NamedAudit
    from shoal.lab.audit.result import AuditResult
    from shoal.lab.audit.search import PairSearch

ALPHA = 1e-6
"""The probability of refuting a sound mechanism above which a refutation is to be repeated before it is reported."""


@command(
    "audit",
    examples=("shoal audit policy.yaml --search", "shoal audit safe-k --runs 100000"),
    next_step=("See the names of all built-in audits.", "shoal audit --list"),
)
@click.argument("what", required=False, metavar="[POLICY|NAME]")
@click.option("--list", "only_list", is_flag=True, help="List the names and stop.")
@click.option("--runs", metavar="R", help="Runs on each table to count the event on; each audit has its own default.")
@click.option(
    "--alpha",
    metavar="A",
    default="1e-6",
    show_default=True,
    help="A sound mechanism is refuted with this probability at most.",
)
@click.option("--search", is_flag=True, help="Look for worse neighbours first, on runs of their own.")
@click.option("--seed", metavar="S", help="Repeat an audit; sessions draw from the operating system all the same.")
@click.option(
    "--workers", metavar="N", help="Processes that share the runs; one for each processor where runs are slow."
)
@json_option
@click.pass_context
def audit(
    context: click.Context, what: str | None, only_list: bool, runs: str | None, alpha: str, search: bool, seed: str | None,
    workers: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Try to refute a claim of differential privacy; exit code 3 if it is refuted.

    With a POLICY its own plan is run, at its own epsilon and delta, on two small tables made of values that the policy declares;
    no data are read and nothing is charged. With a NAME one of the built-in audits is run: our methods, and broken mechanisms
    that must be refuted. "Not refuted" is not "proved".
    """
    from shoal.lab.audit.catalogue import CATALOGUE

    if only_list or what is None:
        _list(as_json)
        return
    entry = CATALOGUE[what] if what in CATALOGUE else _of_policy(what)
    count = entry.runs if runs is None else numbers.read_whole(runs, "runs", 4)
    chance, error = (
        None if seed is None else numbers.read_whole(seed, "seed", 0),
        float(numbers.read_number(alpha, "alpha")),
    )
    with progress.spinner("planning"):
        case = entry.case()
    share = _workers(case) if workers is None else numbers.read_whole(workers, "workers")
    case, searched = _search(case, chance, share) if search else (case, None)
    result = _run(case, entry, count, error, chance, share)
    if as_json:
        output.print_json(_fields(entry, case, searched, result, chance))
    else:
        _print(entry, case, searched, result)
    if result.refuted:
        context.exit(3)


def _of_policy(what: str) -> NamedAudit:
    from shoal.errors import UsageError
    from shoal.lab.audit.catalogue import CATALOGUE
    from shoal.lab.audit.policy_case import policy_audit

    path = Path(what)
    if not path.exists():
        raise UsageError(
            "neither a policy file nor the name of an audit",
            came=what,
            allowed=f"the path of a policy, or one of {', '.join(CATALOGUE)}",
            fix="see `shoal audit --list`",
        )
    asked = load_policy(path)
    with progress.spinner("planning"):
        return policy_audit(asked)


def _workers(case: AuditCase) -> int:
    """One process for each processor where runs are slow; one alone where starting others takes longer than the runs."""
    return (os.cpu_count() or 1) if case.is_slow else 1


def _search(case: AuditCase, seed: int | None, workers: int) -> tuple[AuditCase, PairSearch]:
    from shoal.lab.audit.search import search_ticks

    steps, runs = case.search_size()
    with progress.bar("searching", search_ticks(steps, runs, by_law=case.law is not None)) as tick:
        return case.searched(seed=seed, workers=workers, tick=tick)


def _run(case: AuditCase, entry: NamedAudit, runs: int, alpha: float, seed: int | None, workers: int) -> AuditResult:
    from shoal.lab.audit.run import ticks_of

    with progress.bar("auditing", ticks_of(runs, entry.trials)) as tick:
        return case.run(runs, trials=entry.trials, alpha=alpha, seed=seed, workers=workers, tick=tick)


def _list(as_json: bool) -> None:
    from shoal.lab.audit.catalogue import ENTRIES

    if as_json:
        fields = [{"name": e.name, "title": e.title, "broken": e.is_broken, "runs": e.runs} for e in ENTRIES]
        output.print_json({"audits": fields})
        return
    for broken, words in (
        (False, "The claim holds: not refuted"),
        (True, "The claim is false: refuted within so many runs"),
    ):
        output.print_line(words, bold=True)
        rows = [(e.name, f"{e.runs:,}", e.title) for e in ENTRIES if e.is_broken == broken]
        output.print_table(("name", "runs", "what"), rows, right=(1,))
        output.print_line()


def _print(entry: NamedAudit, case: AuditCase, searched: PairSearch | None, result: AuditResult) -> None:
    output.print_paragraph(f"What was run: {entry.title}.")
    output.print_paragraph(f"On two neighbouring tables: {case.tables}.")
    output.print_paragraph(f"The claim: {case.claim.words()}.")
    if searched is not None:
        output.print_paragraph(searched.words())
    output.print_line()
    first, *rest = result.words()
    output.print_paragraph(first)
    for sentence in rest:
        output.print_paragraph(sentence)
    if entry.is_broken and not result.refuted:
        output.warn(f"this mechanism is broken, and {entry.runs:,} runs refute it; these did not")
    elif result.refuted and not entry.is_broken:
        output.warn(
            f"a claim that should hold was refuted, which happens to a sound mechanism with probability {result.alpha:g} at most"
            + (
                f": run it again with --alpha {ALPHA:g}"
                if result.alpha > ALPHA
                else ": please report it, as SECURITY.md says"
            )
        )


def _fields(
    entry: NamedAudit, case: AuditCase, searched: PairSearch | None, result: AuditResult, seed: int | None
) -> dict[str, Any]:
    found = (
        None
        if searched is None
        else {
            "tried": searched.tried,
            "start": _number(searched.start),
            "suggested": _number(searched.suggested),
            "by_law": searched.by_law,
        }
    )
    return {
        "name": entry.name,
        "title": entry.title,
        "broken": entry.is_broken,
        "tables": case.tables,
        "sizes": [len(table) for table in case.pair],
        "search": found,
        "seed": seed,
        **result.to_json(),
    }


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None
