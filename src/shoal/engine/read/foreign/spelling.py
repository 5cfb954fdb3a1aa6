"""Cells that have a kind of their own in columns that have none, spelled as text, each by itself.

A workbook may hold a number, a date and a text in one column. Rows must not decide which of them the column is, so all of them
become text: as the policy says that text of this column is written, where it says so.
"""

from __future__ import annotations

import datetime as dt
import decimal
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from shoal.engine.read.foreign.cell import spell_cell
from shoal.engine.read.source import STEP, Spelling

if TYPE_CHECKING:
    import pyarrow as pa

LONGEST_NUMBER: Final = 40
"""Digits before or after the point up to which a decimal is written without an exponent."""
PLAIN: Final = Spelling()
"""Numbers as 1.5, dates as 2024-12-31."""


def spell_as(value: Any, how: Spelling = PLAIN) -> str | None:
    """Spell one cell: whole numbers without a fraction, dates as declared, an empty text as missing.

    >>> [spell_as(each) for each in (30.0, 0.1, True, dt.date(2024, 12, 31), "", None)]
    ['30', '0.1', 'true', '2024-12-31', None, None]
    >>> spell_as(1.5, Spelling(","))
    '1,5'
    """
    if value is None or isinstance(value, str):
        return value or None
    if isinstance(value, dt.date):
        return _spell_date(value, how)
    if isinstance(value, decimal.Decimal) and _is_long(value):
        return str(value).replace(".", how.decimal)
    return spell_cell(value, how.decimal)


def _is_long(value: decimal.Decimal) -> bool:
    """Whether a decimal is written with an exponent, because it would fill a page without one."""
    return value.is_finite() and max(value.adjusted(), -int(value.as_tuple().exponent)) > LONGEST_NUMBER


def _spell_date(value: dt.date, how: Spelling) -> str:
    when = value if isinstance(value, dt.datetime) else dt.datetime.combine(value, dt.time())
    told = how.format.spell(when) if how.format is not None else None
    if told is not None:
        return told
    return when.date().isoformat() if when.time() == dt.time() else when.isoformat(sep=" ")


def text_batches(rows: Iterable[Sequence[Any]], spellings: Sequence[Spelling]) -> Iterator[pa.RecordBatch]:
    """Give rows of cells as batches of columns of text, each column spelled in its own way."""
    import pyarrow as pa

    held: list[list[str | None]] = [[] for _ in spellings]
    names = [str(place) for place in range(len(spellings))]

    def batch() -> pa.RecordBatch:
        return pa.RecordBatch.from_arrays([pa.array(column, pa.string()) for column in held], names=names)

    count = 0
    for row in rows:
        for column, cell, how in zip(held, row, spellings, strict=True):
            column.append(spell_as(cell, how))
        count += 1
        if count == STEP:
            yield batch()
            count = 0
            for column in held:
                column.clear()
    if count:
        yield batch()
