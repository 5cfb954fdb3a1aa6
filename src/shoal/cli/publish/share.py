"""`shoal share`: pack the public files of a release, and nothing else."""

from __future__ import annotations

from pathlib import Path

import click

from shoal.cli.terminal import output, progress
from shoal.cli.terminal.command import command, json_option
from shoal.cli.terminal.leftovers import recover_folder


@command(
    "share",
    examples=("shoal share visits-2026", "shoal share visits-2026 --out for-the-archive.zip --force"),
    next_step=(
        "Whoever gets the file checks it, with Shoal or with the verifier.py in it.",
        "shoal verify visits-2026.zip",
    ),
)
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--out", metavar="FILE", type=click.Path(path_type=Path), help="The zip file; FOLDER.zip when left out.")
@click.option("--force", is_flag=True, help="Replace a file that is there.")
@json_option
def share(folder: Path, out: Path | None, force: bool, as_json: bool) -> None:
    """Verify a release FOLDER and pack its public files, and a verifier that needs Python alone, into a zip file."""
    from shoal.publish.share import pack

    recover_folder(folder)
    with progress.stages("verifying") as stage:
        packed = pack(folder, out, force=force, stage=stage)
    output.note_effect(f"the release was packed: {packed}")
    if as_json:
        output.print_json({"file": str(packed), "bytes": packed.stat().st_size})
    else:
        output.print_line(f"packed in {packed}")
