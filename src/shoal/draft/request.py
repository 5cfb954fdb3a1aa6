"""One request for a draft: the table is opened and looked at, and the ledger notes the look before anything is shown."""

from __future__ import annotations

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
        opened.stored.names, codebook=codebook, population=population, hierarchies=hierarchies, settings=settings
    )
    opened = replace(opened, notes=(*opened.notes, *notes))
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
