"""`shoal verify`: recompute everything in a release folder that can be recomputed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from shoal.cli import screen

if TYPE_CHECKING:
    from shoal.publish.verify.standalone import Check


WORDS = {True: "ok    ", False: "FAILED", None: "NOT VERIFIED"}


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--all", "everything", is_flag=True, help="List every check, not only a summary.")
@click.option("--json", "as_json", is_flag=True, help="Answer in JSON.")
@click.pass_context
def verify(context: click.Context, folder: Path, everything: bool, as_json: bool) -> None:
    """Verify a release FOLDER, or the zip file that `shoal share` made of it: everything in it is computed again and compared.

    Exit code 3 when anything does not agree. The one-file verifier in `shoal share` needs Python alone.
    """
    from shoal.publish.verify.release import verify as check

    with screen.busy("verifying"):
        checks = check(folder)
    failed = [each for each in checks if each.agrees is False]
    if as_json:
        listed = [{"name": each.name, "agrees": each.agrees, "detail": each.detail} for each in checks]
        screen.answer({"folder": str(folder), "agrees": not failed, "checks": listed})
    else:
        shown = checks if everything else [each for each in checks if not each.agrees]
        for each in shown:
            screen.line(f"{WORDS[each.agrees]}  {each.name}: {each.detail}")
        screen.line(_outcome(checks, len(failed)))
    if failed:
        context.exit(3)


def _outcome(checks: list[Check], failed: int) -> str:
    """The last line: how many agree, how many failed, and how many could not be made."""
    if failed:
        return f"{len(checks)} checks, {failed} failed: do not rely on this folder"
    unknown = sum(each.agrees is None for each in checks)
    if unknown:
        return f"{len(checks) - unknown} checks agree, none failed, {unknown} could not be made: they are listed above"
    return f"{len(checks)} checks, all agree: this folder is what its certificate says"
