"""Everything that a person names beside a table, read and put together: a codebook, a public table, settings, hierarchies."""

from __future__ import annotations

import os
from collections.abc import Sequence

from shoal.data.codebook import Codebook
from shoal.draft.codebook import read_codebook
from shoal.draft.draft import Beside
from shoal.draft.existing import Settings, match_hierarchies, read_settings
from shoal.draft.population import read_population
from shoal.errors import UsageError

Place = str | os.PathLike[str]


def read_sources(
    names: Sequence[str],
    *,
    codebook: Place | None = None,
    population: Place | None = None,
    hierarchies: Place | None = None,
    settings: Place | None = None,
    table_sheet: str | None = None,
) -> tuple[Beside, tuple[str, ...]]:
    """What stands beside a table with these columns, and notes for the person who named it.

    `table_sheet` is the sheet of the table, where the codebook lies in the same workbook.
    A codebook is asked first, then the settings, then the public table. Hierarchies of a folder come before those of a project.

    Raises     UsageError where a file cannot be read, or where settings speak of none of the columns.
    """
    given = None if settings is None else read_settings(settings)
    books: list[Codebook] = [] if codebook is None else [read_codebook(codebook, table_sheet)]
    books += [] if given is None else [given.codebook]
    books += [] if population is None else [read_population(population, names)]
    found = {} if given is None else {name: own for name, own in given.hierarchies.items() if name in names}
    found |= {} if hierarchies is None else match_hierarchies(hierarchies, names)
    notes = [] if given is None else _notes(given, names)
    for book in books[:1] if codebook is not None else ():
        notes += _unknown([column.name for column in book], names, book.source)
        if book.unread:
            notes.append(
                f"{book.source} has columns whose heads are not known, and they were not read: {_some(book.unread)}; known are "
                "column, label, type, values (1=male; 2=female), value, value_label, missing, low, high, format"
            )
    if hierarchies is not None and not found:
        notes.append(f"no hierarchy file in {hierarchies} has the name of a column")
    beside = Beside(
        tuple(books),
        {} if given is None else {name: role for name, role in given.roles.items() if name in names},
        found,
        None if given is None or given.unit not in names else given.unit,
    )
    return beside, tuple(notes)


def _notes(given: Settings, names: Sequence[str]) -> list[str]:
    if not set(given.roles) & set(names):
        raise UsageError(
            "the settings speak of none of the columns",
            came=f"{', '.join([*given.roles][:12])} in {given.source}",
            allowed=", ".join(names[:12]),
            fix="name the settings of this table",
        )
    return [*given.notes, *_unknown([*given.roles], names, given.source)]


def _unknown(said: Sequence[str], names: Sequence[str], source: str) -> list[str]:
    """A note of columns that a file speaks of and the table does not have."""
    other = [name for name in said if name not in set(names)]
    if not other:
        return []
    return [f"{source} speaks of columns that the table does not have: {_some(other)}"]


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")
