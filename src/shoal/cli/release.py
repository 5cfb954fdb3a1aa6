"""`shoal release`: from a policy and a table to a folder that a stranger can verify."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from shoal.cli import cells, released, screen

if TYPE_CHECKING:
    from shoal.publish.plan.base import Plan


@click.command()
@click.argument("policy", type=click.Path(path_type=Path))
@click.argument("data", type=click.Path(path_type=Path))
@click.option(
    "--out", required=True, metavar="DIR", type=click.Path(path_type=Path), help="The release folder to make."
)
@click.option("--ledger", metavar="URL", help="Where spending is kept; a path or sqlite:///path. Also SHOAL_LEDGER.")
@click.option("--new-ledger", is_flag=True, help="Begin a new ledger there, with nothing spent.")
@click.option("--again", is_flag=True, help="Pay once more for a release that the ledger knows: same plan, same table.")
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
    new_ledger: bool,
    again: bool,
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
    appears whole or not at all; the holder's report lies beside it, in DIR.holder, and is not for others. The same plan
    of the same table is refused unless --again is said: it would cost its full price once more. A ledger that was
    named and is not there is refused unless --new-ledger is said.

    \b
    shoal release policy.yaml visits.csv --out visits-2026
    shoal verify visits-2026
    """  # noqa: D301 - Click reads the real character
    from shoal.cli.planned import hold_to_lock
    from shoal.cli.stages import stages
    from shoal.engine.base import open_engine
    from shoal.ledger.location import open_ledger
    from shoal.policy.policy import Policy
    from shoal.publish.plan.methods import plan
    from shoal.publish.run.release import release as run

    planned = plan(Policy.load(policy))
    if lock is not None:
        hold_to_lock(planned, lock)
    showing = cells.cells_of(data, planned.schema, show=show_values)
    if planned.work is not None:
        screen.note(planned.work)
    if dry_run:
        with showing:
            _rehearse(planned, data, out, ledger, engine, force, new_ledger, as_json)
        return
    try:
        with _tidy_end(), showing, open_ledger(ledger, new=new_ledger) as book, stages() as stage:
            made = run(
                planned,
                data,
                out,
                ledger=book,
                engine=open_engine(engine),
                force=force,
                report=not no_report,
                again=again,
                stage=stage,
            )
    except KeyboardInterrupt:
        screen.warn(
            "interrupted: there is no release; if the ledger was charged, the charge stands (`shoal ledger show`)"
        )
        raise
    if as_json:
        for note in made.notes:
            screen.warn(note)
        screen.answer(released.fields(made))
    else:
        released.show(made, planned)


def _rehearse(
    planned: Plan, data: Path, out: Path, ledger: str | None, engine: str, force: bool, new: bool, as_json: bool
) -> None:
    """Everything that can be known before the charge; no ledger is made for it."""
    from shoal.engine.base import open_engine
    from shoal.engine.digest import file_digest
    from shoal.ledger.location import open_ledger, would_be_made
    from shoal.publish.plan.safe_k import SafeKPlan
    from shoal.publish.run.release import refuse_target, repeats

    refuse_target(out, force=force)
    with screen.busy("reading"):
        table = open_engine(engine).scan(data, planned.schema)
        planned.check(table.schema)
    forecast, repeat = None, None
    fresh = would_be_made(ledger) and (new or not _typed(ledger))
    if not fresh:
        with open_ledger(ledger, new=new) as book:
            account = book.account(planned.policy.dataset)
            repeat = repeats(planned, table, file_digest(data), book)
        forecast = account.forecast(planned.cost) if isinstance(planned, SafeKPlan) and account.budget else None
    fields = {
        **planned.to_json(),
        "dry_run": True,
        "out": str(out),
        "forecast": forecast,
        "new_ledger": fresh,
        "repeat": repeat,
        "for_the_holder_only": {"mark": released.MARK, "rows_in": table.rows(), "notes": list(table.notes)},
    }
    if as_json:
        screen.answer(fields)
        return
    for sentence in planned.sentences():
        screen.paragraph(sentence)
    screen.line()
    screen.line("The table fits the policy. Nothing was charged and nothing was written.")
    screen.note(f"for you alone: the table has {table.rows():,} rows")
    for note in table.notes:
        screen.note(note)
    if fresh:
        screen.note("there is no ledger yet: the release would begin a new one, with nothing spent")
    if repeat is not None:
        screen.warn(f"{repeat}; without --again it would be refused")
    if forecast == 0:
        screen.warn("the budget that is left does not cover this release: it would be refused")


def _typed(ledger: str | None) -> bool:
    import os

    from shoal.ledger.store import ENVIRONMENT

    return ledger is not None or bool(os.environ.get(ENVIRONMENT))


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
