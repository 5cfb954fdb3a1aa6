"""`shoal doctor`: look at everything that a command depends on, and say what to do."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from shoal.cli.terminal import output, progress
from shoal.cli.terminal.command import command, json_option, ledger_option

if TYPE_CHECKING:
    from shoal.cli.doctor.diagnosis import Diagnosis

PARTS = ("software", "folders", "machine", "ledger", "leftovers")


@command(
    "doctor",
    examples=("shoal doctor", "shoal doctor releases --ledger ledger.sqlite --fix"),
    next_step=("Where nothing is to be done, publish.", "shoal release policy.yaml visits.csv --out visits-2026"),
)
@click.argument("folders", nargs=-1, metavar="[FOLDER]...", type=click.Path(path_type=Path))
@ledger_option
@click.option(
    "--fix",
    is_flag=True,
    help="Finish or remove what runs that died have left, and take the ledger away from everybody else.",
)
@json_option
@click.pass_context
def doctor(context: click.Context, folders: Sequence[Path], ledger: str | None, fix: bool, as_json: bool) -> None:
    """Check versions, folders, the machine, the ledger and what killed runs have left, and say what to do.

    Leftovers are looked for in the FOLDERs, in the current folder where none is given, and among temporary files. Nothing is
    charged and no table is opened. Exit code 3 if something is to be done.
    """
    from shoal.cli.doctor.diagnosis import Health

    _refuse_others(folders)
    with progress.spinner("looking"):
        found = _look(folders, ledger)
    mended = _mend(found) if fix else []
    if mended:
        output.note_effect("what is listed as mended was mended")
        found = _look(folders, ledger)
    left = [each for each in found if each.state is Health.WRONG]
    if as_json:
        output.print_json({"fine": not left, "mended": mended, "findings": [each.to_json() for each in found]})
    else:
        _print(found, mended, len(left))
    if left:
        context.exit(3)


def _refuse_others(folders: Sequence[Path]) -> None:
    """Refuse what is no folder; the name of a release that has not appeared is one where its work folder is there."""
    from shoal.errors import UsageError

    for folder in folders:
        name = folder.absolute().name
        if folder.is_dir() or (name and folder.absolute().with_name(f".{name}.shoal-work").is_dir()):
            continue
        raise UsageError(
            f"this is no folder: {folder}" if os.path.lexists(folder) else f"there is no folder {folder}",
            fix="name a release, or the folder that releases lie in",
        )


def _look(folders: Sequence[Path], ledger: str | None) -> list[Diagnosis]:
    from shoal.cli.doctor import ledger as books
    from shoal.cli.doctor import leftovers, machine, software

    return [
        *software.look(),
        *machine.look(folders),
        *books.look(ledger, folders),
        *leftovers.look(folders or (Path(),), ledger),
    ]


def _mend(found: Sequence[Diagnosis]) -> list[str]:
    """Mend what can be mended, each kind of repair once; what was done."""
    said: list[str] = []
    for each in found:
        if each.repair is not None:
            try:
                said += each.repair()
            except OSError as error:
                said.append(f"could not be mended: {each.words} ({error.strerror or type(error).__name__})")
    return list(dict.fromkeys(said))


def _print(found: Sequence[Diagnosis], mended: Sequence[str], left: int) -> None:

    for part in PARTS:
        own = [each for each in found if each.part == part]
        if not own:
            continue
        output.print_line(part, bold=True)
        for each in own:
            output.print_facts([(each.state.value.ljust(5), each.words)])
            if each.fix is not None:
                output.print_facts([("     ", each.fix)])
    if mended:
        output.print_line("mended", bold=True)
        for sentence in mended:
            output.print_facts([("done ", sentence)])
    output.print_line()
    things = output.count_text(left, "thing")
    output.print_line("nothing is to be done" if not left else f"{things} {'is' if left == 1 else 'are'} to be done")
