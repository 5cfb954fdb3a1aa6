"""One request for a draft: the table is opened and looked at, and the ledger notes the look before anything is shown."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from shoal.draft.draft import Draft, draft_table
from shoal.draft.opening import open_table
from shoal.draft.sources import read_sources
from shoal.errors import UsageError
from shoal.ledger.ledger import open_ledger, record_look
from shoal.progress import Stage, report_progress, silent


def draft(
    data: object,
    *,
    schema_only: bool = False,
    codebook: str | Path | None = None,
    population: str | Path | None = None,
    hierarchies: str | Path | None = None,
    settings: str | Path | None = None,
    dataset: str | None = None,
    sheet: str | None = None,
    table: str | None = None,
    query: str | None = None,
    ledger: str | Path | None = None,
    new_ledger: bool = False,
    check: Callable[[Draft], None] = lambda _: None,
    stage: Stage = silent,
) -> Draft:
    """Draft a policy for a table; see `shoal.draft`.

    `check` may refuse the draft before the look is noted; `stage` is told what is done.
    """
    opened = open_table(data, sheet=sheet, table=table, query=query, stage=stage)
    beside, notes = read_sources(
        opened.stored.names,
        codebook=codebook,
        population=population,
        hierarchies=hierarchies,
        settings=settings,
        table_sheet=opened.form.sheet if codebook is not None and _is_same_file(data, codebook) else None,
    )
    opened = replace(opened, notes=(*opened.notes, *notes, *_other_sheets(data, opened.form.sheet, codebook)))
    if schema_only:
        made = draft_table(opened, schema_only=True, beside=beside, dataset=dataset)
        check(made)
        return made
    named = None if ledger is None else str(ledger)
    open_ledger(named, new=new_ledger).close()  # a ledger that is not there is an error before anything is looked at
    made = draft_table(opened, beside=beside, dataset=dataset, progress=report_progress(stage, "looking at the rows"))
    if not made.rows:
        where = f"sheet '{opened.form.sheet}' of {made.source}" if opened.form.sheet is not None else made.source
        raise UsageError(
            "the table has no rows, so no domain can be read off it",
            came=f"{where}: {len(made.columns):,} column{'s' * (len(made.columns) != 1)} and no row",
            allowed="a table with rows, or `--schema-only` (`schema_only=True`), which drafts from names and types alone",
            fix="name the file or the sheet that holds the rows",
        )
    check(made)
    noted = record_look(made.dataset, "init", ledger=named, begin=True)
    return made if noted is None else made.with_look(noted)


def _is_same_file(data: object, codebook: str | Path) -> bool:
    """Whether the codebook lies in the file of the table."""
    if not isinstance(data, str | Path):
        return False
    try:
        return Path(data).samefile(codebook)
    except (OSError, ValueError):
        return False


def _other_sheets(data: object, sheet: str | None, codebook: str | Path | None) -> tuple[str, ...]:
    """A note of a sheet beside the table whose name says that it explains the table; no cell of it is read."""
    if sheet is None or codebook is not None or not isinstance(data, str | Path):
        return ()
    from shoal.engine.read.foreign.spreadsheet import list_sheets, says_of_a_table

    named = [each for each in list_sheets(Path(data), checked=True) if each != sheet and says_of_a_table(each)]
    if not named:
        return ()
    again = f"draft again with --codebook {shlex.quote(str(data))} and --force"
    return (f"sheet '{named[0]}' may say what columns and codes mean: {again}, and what it says counts as declared",)
