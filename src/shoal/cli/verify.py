"""`shoal verify`: recompute everything in a release folder that can be recomputed."""

from __future__ import annotations

from pathlib import Path

import click

from shoal.cli import screen


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--all", "everything", is_flag=True, help="List every check, not only a summary.")
@click.option("--json", "as_json", is_flag=True, help="Answer in JSON.")
@click.pass_context
def verify(context: click.Context, folder: Path, everything: bool, as_json: bool) -> None:
    """Verify a release FOLDER: hashes, groups of at least k, labels, delta, the curve, the composition.

    Exit code 3 when anything does not agree. The one-file verifier in `shoal share` needs Python alone.
    """
    from shoal.publish.verify import verify as check

    with screen.busy("verifying"):
        checks = check(folder)
    failed = [each for each in checks if each.agrees is False]
    if as_json:
        listed = [{"name": each.name, "agrees": each.agrees, "detail": each.detail} for each in checks]
        screen.answer({"folder": str(folder), "agrees": not failed, "checks": listed})
    else:
        shown = checks if everything else failed
        for each in shown:
            screen.line(f"{'ok    ' if each.agrees else 'FAILED'}  {each.name}: {each.detail}")
        screen.line(
            f"{len(checks)} checks, {len(failed)} failed: do not rely on this folder"
            if failed
            else f"{len(checks)} checks, all agree: this folder is what its certificate says"
        )
    if failed:
        context.exit(3)
