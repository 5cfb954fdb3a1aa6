"""`shoal export`: one table of a verified release for another program, with its labels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from shoal.cli.terminal import output, progress
from shoal.cli.terminal.command import command, json_option
from shoal.cli.terminal.leftovers import recover_folder


@command(
    "export",
    examples=(
        "shoal export visits-2026 visits.dta",
        "shoal export visits-2026 visits.parquet --intervals columns --sets codes",
    ),
    next_step=(
        "The file has no certificate. Whoever wants to verify needs the release itself.",
        "shoal share visits-2026",
    ),
)
@click.argument("folder", type=click.Path(path_type=Path))
@click.argument("target")
@click.option("--which", metavar="NAME", help="Which table of the release, where there are several.")
@click.option("--table", "into", metavar="NAME", help="The name of the new table, where TARGET is a database.")
@click.option(
    "--intervals",
    type=click.Choice(["text", "columns", "struct"]),
    default="text",
    show_default=True,
    help="Intervals as labels, as two more columns, or as a struct (Parquet).",
)
@click.option(
    "--sets",
    type=click.Choice(["text", "codes"]),
    default="text",
    show_default=True,
    help="Sets of values as labels, or by the codes of the codebook.",
)
@json_option
def export(
    folder: Path, target: str, which: str | None, into: str | None, intervals: Any, sets: Any, as_json: bool
) -> None:
    """Verify a release FOLDER and write one of its tables to TARGET with labels: .csv, .parquet, .dta, .sav, or a database."""
    from shoal.publish.export import export as write

    recover_folder(folder)
    with progress.stages("verifying") as stage:
        made = write(folder, target, table=which, into=into, intervals=intervals, sets=sets, stage=stage)
    output.note_effect(f"the table was written: {made.target}")
    if as_json:
        told = {"target": made.target, "table": made.table, "rows": made.rows, "columns": list(made.columns)}
        output.print_json(told)
    else:
        rows = f"{made.rows:,} row{'s' * (made.rows != 1)}"
        output.print_line(f"{made.table}: {rows}, {len(made.columns)} columns, written to {made.target}")
