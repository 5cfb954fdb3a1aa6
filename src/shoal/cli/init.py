"""`shoal init`: a first policy for a table, with a reason for each column, for a person to read and confirm."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shoal.cli.terminal import output, progress
from shoal.cli.terminal.command import command, json_option, ledger_option
from shoal.cli.terminal.table_source import data_argument
from shoal.engine.read.foreign.address import has_secret
from shoal.files.write import free_name_like

if TYPE_CHECKING:
    from shoal.draft.draft import Draft, DraftedColumn

_FILE = click.Path(path_type=Path)
BY_NAME = "by its name "


@command(
    "init",
    examples=(
        "shoal init visits.csv --out visits",
        "shoal init visits.csv --schema-only --out visits-by-name",
    ),
    next_step=(
        "Read policy.yaml, correct it, confirm what was read off the table; then see what it promises.",
        "shoal policy confirm policy.yaml",
        "shoal plan policy.yaml",
    ),
)
@data_argument
@click.option(
    "--out",
    metavar="FOLDER",
    type=_FILE,
    default=Path(),
    help="Where policy.yaml and hierarchies/ go; here if left out.",
)
@click.option("--dataset", metavar="NAME", help="The name of the table in the ledger; that of the file if left out.")
@click.option("--schema-only", is_flag=True, help="Look at names and types alone, and at no value.")
@click.option(
    "--codebook",
    metavar="FILE",
    type=_FILE,
    help="What columns and codes mean: CSV, JSON, DDI, a sheet, or labels of SPSS, Stata.",
)
@click.option("--population", metavar="FILE", type=_FILE, help="A public table to take domains from.")
@click.option("--hierarchies", metavar="FOLDER", type=_FILE, help="Hierarchy files as ARX has them, matched by name.")
@click.option("--settings", metavar="FILE", type=_FILE, help="An ARX project (.deid), or key variables as CSV or JSON.")
@click.option("--sheet", metavar="NAME", help="The sheet of a workbook.")
@click.option("--table", metavar="NAME", help="The table of a database.")
@click.option("--query", metavar="SQL", help="The query that a database answers with the table.")
@ledger_option
@click.option("--new-ledger", is_flag=True, help="Begin a new ledger at that path, with nothing spent.")
@click.option("--force", is_flag=True, help="Replace files that are there.")
@json_option
def init(
    data: Path | str, out: Path, new_ledger: bool, ledger: str | None, force: bool, as_json: bool, **options: Any
) -> None:
    """Draft a policy for the table DATA, a file or the address of a database: types, roles, domains and hierarchies.

    Every proposal has a reason. What is read off the rows is marked as profiled until a person confirms it, and the ledger
    notes that somebody looked.
    """
    from shoal.draft.request import draft

    with progress.stages() as show:
        found = draft(
            data,
            ledger=ledger,
            new_ledger=new_ledger,
            check=lambda made: made.refuse_overwriting(out, force=force),
            stage=show,
            **options,
        )
        written = found.save(out, force=force)
    output.note_effect(f"the draft was written: {written}")
    if as_json:
        output.print_json(_fields(found, written, _next(found, written, data, ledger)))
        return
    _print(found, written, _next(found, written, data, ledger))


def _print(found: Draft, written: Path, following: list[str]) -> None:
    head = ("column", "type", "role", "why")
    output.print_table(head, [_row(column) for column in found.columns])
    output.print_line()
    for sentence in found.sentences():
        output.print_paragraph(sentence)
    output.print_line()
    files = found.files()
    beside = f", {output.count_text(len(files), 'hierarchy file')}" if files else ""
    output.print_paragraph(f"Written: {written}{beside}. Read it line by line, and correct what is wrong.")
    output.print_line()
    output.print_line("Next:")
    for line in following:
        output.print_line(f"  {line}")


def _row(column: DraftedColumn) -> tuple[str, str, str, str]:
    # Most reasons are names: on the screen that is said in one word.
    why = column.reason.replace(BY_NAME, "name: ", 1) if column.reason.startswith(BY_NAME) else column.reason
    return (column.name, column.type.value if column.type else "-", column.role.value, why)


def _next(found: Draft, written: Path, data: Path | str, ledger: str | None) -> list[str]:
    """What to type after a draft, to the release, with the names as they were typed."""
    policy = shlex.quote(str(written))
    if not any(column.published for column in found.columns):
        return [
            f"give a column in {written} a role that is published, such as quasi, then: shoal policy check {policy}"
        ]
    if not found.complete:
        return [f"fill in what is missing in {written}, then: shoal policy check {policy}"]
    open_codes = any(column.candidates for column in found.columns)
    confirm = [f"shoal policy confirm {policy}"] if found.profiled or open_codes else []
    return [*confirm, f"shoal plan {policy}", _release(found, policy, data, ledger)]


def _release(found: Draft, policy: str, data: Path | str, ledger: str | None) -> str:
    """The command of a release; an address that holds more than the database is not repeated."""
    table = "DATA" if has_secret(str(data)) else shlex.quote(str(data))
    folder = shlex.quote(free_name_like(f"{found.dataset}-release"))
    book = "" if ledger is None else f" --ledger {'URL' if has_secret(ledger) else shlex.quote(ledger)}"
    return f"shoal release {policy} {table} --out {folder}{book}"


def _fields(found: Draft, written: Path, following: list[str]) -> dict[str, Any]:
    return {
        "policy": str(written),
        "files": [str(written.parent / name) for name in found.files()],
        **found.to_json(),
        "next": following,
    }
