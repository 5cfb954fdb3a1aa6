"""A public table of the same columns, such as a published census, as a codebook: its values and ranges are public knowledge.

What is read off a table that everybody can have tells of nobody in the table that is to be published. So domains that come from
it are declared, with its name; a draft says where they are from. That the table is public, only the person knows who names it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from shoal.data.codebook import Codebook, CodedValue, ColumnDescription
from shoal.data.type import Type
from shoal.draft.opening import open_table
from shoal.draft.profile import ColumnProfile, profile_table
from shoal.draft.recognize.column import Recognition
from shoal.draft.recognize.table import recognize_table
from shoal.engine.read.storage import Storage
from shoal.errors import UsageError

MOST_LISTED = 5_000
"""Different values of a column that are taken for its list of values; more are names or texts."""


def read_population(path: str | os.PathLike[str], names: Iterable[str] | None = None) -> Codebook:
    """Read the domains of a public table: the values of categories, the lowest and the highest of numbers, years of dates.

    Arguments  `path`: any file that a table is read from; `names`: the columns that are wanted, all where it is left out
    Raises     UsageError where the table has no row, or none of the columns; DataError where it cannot be read
    """
    stored = open_table(Path(path)).stored
    wanted = set(stored.names if names is None else names)
    profile = profile_table(stored)
    if not profile.rows:
        raise UsageError("the public table has no rows", came=path, fix="name a table from which domains can be taken")
    source = f"the public table {Path(path).name}"
    own = stored.codebook
    columns = [
        own_words
        if own is not None and (own_words := own.get(column.name)) and own_words.values
        else _described(column, recognized)
        for column, recognized in zip(profile.columns, recognize_table(profile), strict=True)
        if column.name in wanted
    ]
    found = tuple(column for column in columns if column is not None)
    if not found:
        raise UsageError(
            "the public table says nothing of the columns that are wanted",
            came=f"{', '.join(stored.names[:12])} in {path}",
            fix="name a table with columns of the same names",
        )
    return Codebook(found, source)


def _described(column: ColumnProfile, recognized: Recognition) -> ColumnDescription | None:
    """The domain of a column of a public table; None where it has none that can be listed.

    What a draft of the public table itself would list is listed: codes such as 1 and 2 for the sexes, and words of a scale in
    their order.
    """
    if not column.present or column.near_unique:
        return None
    if recognized.type in (Type.CATEGORY, Type.ORDINAL) and column.counts is not None:
        listed = recognized.order or sorted(column.counts, key=_in_order)
        if len(listed) <= MOST_LISTED:
            return ColumnDescription(column.name, type=recognized.type, values=tuple(map(CodedValue, listed)))
    if column.years is not None:
        first, last = column.years
        return ColumnDescription(column.name, type=_moment(column), interval=(f"{first:04}-01-01", f"{last:04}-12-31"))
    if column.storage is Storage.BOOLEAN or "boolean" in column.readings:
        return ColumnDescription(column.name, type=Type.BOOLEAN)
    if column.numeric and not column.leading_zero and column.lowest is not None and column.highest is not None:
        kind = Type.INTEGER if column.whole else Type.DECIMAL
        return ColumnDescription(column.name, type=kind, interval=(_number(column.lowest), _number(column.highest)))
    values = sorted(column.values())
    if not values or len(values) > MOST_LISTED:
        return None
    return ColumnDescription(column.name, type=Type.CATEGORY, values=tuple(map(CodedValue, values)))


def _in_order(value: str) -> tuple[bool, float, str]:
    """Numbers by size, before other texts."""
    number = value.removeprefix("-").isdecimal()
    return not number, float(value) if number else 0.0, value


def _moment(column: ColumnProfile) -> Type:
    return (
        Type.DATE if column.storage is Storage.DATE or column.midnight or "date" in column.readings else Type.DATETIME
    )


def _number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else repr(float(value))
