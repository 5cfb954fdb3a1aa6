"""Cells that have a kind of their own in columns that have none, spelled as text, each by itself.

A workbook may hold a number, a date and a text in one column. Rows must not decide which of them the column is, so all of them
become text: as the policy says that text of this column is written, where it says so.
"""

from __future__ import annotations

import datetime as dt
import decimal
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from shoal.engine.read.source import STEP, Spelling
from shoal.engine.read.storage import EXACT

if TYPE_CHECKING:
    import pyarrow as pa

LONGEST_NUMBER: Final = 40
"""Digits before or after the point up to which a decimal is written without an exponent."""
PLAIN: Final = Spelling()
"""Numbers as 1.5, dates as 2024-12-31."""


def spell_cell(value: Any, how: Spelling = PLAIN) -> str | None:
    """Spell one cell: whole numbers without a fraction, dates as declared, an empty text as missing.

    >>> [spell_cell(each) for each in (30.0, 0.1, True, dt.date(2024, 12, 31), "", None)]
    ['30', '0.1', 'true', '2024-12-31', None, None]
    >>> spell_cell(1.5, Spelling(","))
    '1,5'
    """
    if value is None or isinstance(value, str):
        return value or None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        number = None if math.isnan(value) else _spell_float(value)
        return number if number is None else number.replace(".", how.decimal)
    if isinstance(value, decimal.Decimal):
        return _spell_decimal(value).replace(".", how.decimal)
    if isinstance(value, dt.date):
        return _spell_date(value, how)
    if isinstance(value, dt.timedelta):
        minutes, seconds = divmod(value.total_seconds(), 60)
        return f"{int(minutes) // 60}:{int(minutes) % 60:02d}:{seconds:02g}"
    return value.isoformat() if isinstance(value, dt.time) else str(value)


def _spell_float(value: float) -> str:
    """A float in its shortest spelling. From 2^53 up it is not exact, and is not spelled as if it were a whole number."""
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return str(int(value)) if value.is_integer() and abs(value) <= EXACT else repr(value)


def _spell_decimal(value: decimal.Decimal) -> str:
    """An exact decimal, without a fraction of zero and, up to a length, without an exponent."""
    if not value:
        return "0"
    short = _EXACTLY.normalize(value)
    digits = max(short.adjusted(), -int(short.as_tuple().exponent))
    return format(short, "f") if digits <= LONGEST_NUMBER else str(short)


_EXACTLY: Final = decimal.Context(prec=decimal.MAX_PREC, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN)
"""A context in which no digit is rounded away."""


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
            column.append(spell_cell(cell, how))
        count += 1
        if count == STEP:
            yield batch()
            count = 0
            for column in held:
                column.clear()
    if count:
        yield batch()
