"""`shoal verify`: recompute everything in a release folder that can be recomputed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from shoal.cli.terminal import output, progress
from shoal.cli.terminal.command import command, json_option
from shoal.cli.terminal.leftovers import recover_folder

if TYPE_CHECKING:
    from shoal.publish.verify.standalone import Check


WORDS = {True: "ok    ", False: "FAILED", None: "NOT VERIFIED"}


@command(
    "verify",
    examples=("shoal verify visits-2026", "shoal verify visits-2026.zip --all"),
    next_step=("Pack the public files for others.", "shoal share visits-2026"),
)
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--all", "everything", is_flag=True, help="List every check, not only a summary.")
@json_option
@click.pass_context
def verify(context: click.Context, folder: Path, everything: bool, as_json: bool) -> None:
    """Recompute what can be recomputed in a release FOLDER, or in its zip file; exit code 3 if anything differs."""
    from shoal.publish.verify.release import verify as check

    recover_folder(folder)
    with progress.stages() as stage:
        checks = check(folder, stage)
    failed = [each for each in checks if each.agrees is False]
    if as_json:
        listed = [{"name": each.name, "agrees": each.agrees, "detail": each.detail} for each in checks]
        left_open = [each.name for each in checks if each.agrees is None]
        unseen = [] if failed else _sealed(folder)[1]
        found = {"folder": str(folder), "agrees": not failed, "open": left_open, "unseen": unseen, "checks": listed}
        output.print_json(found)
    else:
        shown = checks if everything else [each for each in checks if not each.agrees]
        for each in shown:
            output.print_line(f"{WORDS[each.agrees]}  {each.name}: {each.detail}")
        output.print_line(_outcome(checks, len(failed)))
        if not failed:
            seal, unseen = _sealed(folder)
            for sentence in unseen:
                output.print_line(sentence)
            output.print_line(f"seal: {seal}; compare it with the one that the custodian published elsewhere")
    if failed:
        context.exit(3)


def _sealed(folder: Path) -> tuple[str, list[str]]:
    """The seal of a release that was verified, and what its promise rests on that no folder of its method shows."""
    from shoal.data.archive import open_release
    from shoal.publish.verify.standalone import LARGEST_LOCK, read_json, read_lock, read_text, unseen

    with open_release(folder) as where:
        lock = read_lock(read_text(where, "policy.lock.yaml", LARGEST_LOCK))
        return str(read_json(where, "certificate.json")["seal"]), unseen(lock)


def _outcome(checks: list[Check], failed: int) -> str:
    """The last line: how many agree, how many failed, and how many could not be made."""
    if failed:
        return f"{len(checks)} checks, {failed} failed: do not rely on this folder"
    unknown = sum(each.agrees is None for each in checks)
    if unknown:
        return f"{len(checks) - unknown} checks agree, none failed, {unknown} could not be made: they are listed above"
    return f"{len(checks)} checks, all agree: this folder is what its certificate says"
