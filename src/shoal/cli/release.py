"""`shoal release`: from a policy and a table to a folder that a stranger can verify."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from shoal.cli import cells, screen

if TYPE_CHECKING:
    from shoal.publish.base import AnyPlan


@click.command()
@click.argument("policy", type=click.Path(path_type=Path))
@click.argument("data", type=click.Path(path_type=Path))
@click.option(
    "--out", required=True, metavar="DIR", type=click.Path(path_type=Path), help="The release folder to make."
)
@click.option("--ledger", metavar="URL", help="Where spending is kept; a path or sqlite:///path. Also SHOAL_LEDGER.")
@click.option(
    "--engine", type=click.Choice(["duckdb", "reference"]), default="duckdb", show_default=True, help="Where rows live."
)
@click.option("--lock", metavar="FILE", type=click.Path(path_type=Path), help="Refuse a policy edited after this lock.")
@click.option(
    "--dry-run", is_flag=True, help="Plan, open the table and the ledger, and stop before anything is charged."
)
@cells.show_values
@click.option("--no-report", is_flag=True, help="Leave out the holder's report.")
@click.option("--force", is_flag=True, help="Replace a release folder that is there.")
@click.option("--json", "as_json", is_flag=True, help="Answer in JSON.")
def release(
    policy: Path,
    data: Path,
    out: Path,
    ledger: str | None,
    engine: str,
    lock: Path | None,
    dry_run: bool,
    show_values: bool,
    no_report: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Publish DATA as POLICY asks, and certify it.

    The ledger is charged before the first random draw, and the charge stands whatever happens afterwards. The folder
    appears whole or not at all; the holder's report lies beside it, in DIR.holder, and is not for others.

    \b
    shoal release policy.yaml visits.csv --out visits-2026
    shoal verify visits-2026
    """  # noqa: D301 - Click reads the real character
    from shoal.cli.planned import hold_to_lock
    from shoal.cli.stages import stages
    from shoal.engine.open import engine as named
    from shoal.ledger.ledger import Ledger
    from shoal.policy.policy import Policy
    from shoal.publish.plan import plan
    from shoal.publish.run import release as run

    planned = plan(Policy.load(policy))
    if lock is not None:
        hold_to_lock(planned, lock)
    showing = cells.cells_of(data, planned.schema, show=show_values)
    if planned.work is not None:
        screen.note(planned.work)
    if dry_run:
        with showing:
            _rehearse(planned, data, out, ledger, engine, force, as_json)
        return
    try:
        with _tidy_end(), showing, Ledger(ledger) as book, stages() as stage:
            made = run(
                planned, data, out, ledger=book, engine=named(engine), force=force, report=not no_report, stage=stage
            )
    except KeyboardInterrupt:
        screen.warn(
            "interrupted: there is no release; if the ledger was charged, the charge stands (`shoal ledger show`)"
        )
        raise
    for note in made.notes:
        screen.warn(note)
    promised = made.certificate["guarantee"]
    if as_json:
        fields = {"kind": promised["kind"], "neighbours": promised.get("neighbours"), "status": promised["status"]}
        numbers = {name: planned_number(promised.get(name)) for name in ("epsilon", "delta")}
        numbers |= {"k": promised["k"]} if "k" in promised else {}
        screen.answer(
            {
                "out": str(made.folder),
                "holder": None if made.holder is None else str(made.holder),
                "rows_published": made.rows_published,
                "guarantee": {**fields, **numbers, "unit": promised["unit"]},
                "seal": made.certificate["seal"],
            }
        )
        return
    for sentence in planned.sentences():
        screen.paragraph(sentence)
    screen.line()
    empty = "" if made.rows_published else " (every group was smaller than k: a valid, empty release)"
    screen.line(f"{made.rows_published:,} rows published in {made.folder}{empty}")
    screen.line(f"certificate: {made.folder / 'certificate.html'}")
    if made.holder is not None:
        screen.line(f"for your eyes only: {made.holder / 'report.html'}")


def planned_number(text: str | None) -> float | None:
    """A number of the certificate; None where it has none."""
    from shoal.guarantee.rounding import exact

    return None if text is None else float(exact(text))


def _rehearse(
    planned: AnyPlan, data: Path, out: Path, ledger: str | None, engine: str, force: bool, as_json: bool
) -> None:
    from shoal.engine.open import engine as named
    from shoal.ledger.ledger import Ledger
    from shoal.publish.plan import Plan
    from shoal.publish.run import refuse_target

    refuse_target(out, force=force)
    with screen.busy("reading"):
        table = named(engine).scan(data, planned.schema)
        planned.check(table.schema)
    with Ledger(ledger) as book:
        account = book.account(planned.policy.dataset)
    fields = {
        **planned.to_json(),
        "dry_run": True,
        "out": str(out),
        "forecast": account.forecast(planned.cost) if isinstance(planned, Plan) and account.budget else None,
    }
    if as_json:
        screen.answer(fields)
        return
    for sentence in planned.sentences():
        screen.paragraph(sentence)
    screen.line()
    screen.line("The table fits the policy. Nothing was charged and nothing was written.")
    if fields["forecast"] == 0:
        screen.warn("the budget that is left does not cover this release: it would be refused")


@contextmanager
def _tidy_end() -> Iterator[None]:
    """Somebody who ends the program politely gets his folders cleaned up, as with Ctrl-C."""
    import signal
    import threading

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
