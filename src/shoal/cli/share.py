"""`shoal share`: pack the public files of a release, and nothing else."""

from __future__ import annotations

from pathlib import Path

import click

from shoal.cli import screen


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--out", metavar="FILE", type=click.Path(path_type=Path), help="The zip file; FOLDER.zip when left out.")
@click.option("--force", is_flag=True, help="Replace a file that is there.")
@click.option("--json", "as_json", is_flag=True, help="Answer in JSON.")
def share(folder: Path, out: Path | None, force: bool, as_json: bool) -> None:
    """Verify a release FOLDER and pack its public files with a verifier that needs Python alone.

    The holder's report stays where it is.
    """
    from shoal.publish.share import pack

    with screen.busy("verifying and packing"):
        packed = pack(folder, out, force=force)
    if as_json:
        screen.answer({"file": str(packed), "bytes": packed.stat().st_size})
    else:
        screen.line(f"packed in {packed}")
